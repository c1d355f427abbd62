#pragma once

/// The values of ILU by spiluk, on the pattern that the core has computed.
///
/// spiluk computes fill and levels itself and then scatters all rows of a level at once, into an array of (rows of the
/// widest level) x n indices: 3 GB for 64^3. So its symbolic phase is given a chain, in which each row depends on the
/// one before: it plans one row after the other, with a single scattered row. The numeric phase accepts the given L and
/// U. On Serial, the only space of Debian's Kokkos, nothing is lost.

#include "syncfree/factor.hpp"
#include "triangle.hpp"

namespace syncfree::kokkos {

template <class T, class I> class Spiluk {
public:
  /// Copies A's pattern; keeps no pointer into A.
  Spiluk(const PatternView<I>& A, const FactorPattern<I>& pattern) : row_order_(pattern.row_order)
  {
    A_.begin.push_back(0);
    for (I i = 0; i < A.n; ++i) {
      const I row = pattern.natural() ? i : pattern.row_order[i];
      for (I k = A.row_begin[row]; k < A.row_begin[row + 1]; ++k)
        A_.column.push_back(pattern.natural() ? A.column[k] : pattern.column_place[A.column[k]]);
      A_.begin.push_back(static_cast<I>(A_.column.size()));
    }
    A_.value.resize(A_.column.size());
    plan_chain();
  }

  /// Computes the values of L and U; does not check the pivots.
  void compute_factors(const CsrView<T, I>& A, Csr<T, I>* L, Csr<T, I>* U)
  {
    copy_values(A);
    auto a_begin = unmanaged_view(A_.begin), a_column = unmanaged_view(A_.column);
    auto l_begin = unmanaged_view(L->begin), l_column = unmanaged_view(L->column);
    auto u_begin = unmanaged_view(U->begin), u_column = unmanaged_view(U->column);
    auto a_value = unmanaged_view(A_.value), l_value = unmanaged_view(L->value), u_value = unmanaged_view(U->value);
    kernels::spiluk_numeric(&handle_, I(0), a_begin, a_column, a_value, l_begin, l_column, l_value, u_begin, u_column,
                            u_value);
  }

  /// True for the value that spiluk substitutes for a pivot that is exactly 0.
  static bool is_replaced(const T& pivot) { return pivot == T(1e6); }

  /// Bytes of the matrix in the factor's order, the scattered row and the list of rows.
  std::size_t spiluk_bytes() const { return A_.csr_bytes() + array_bytes(row_order_) + 4 * array_bytes(A_.begin); }

private:
  void plan_chain()
  {
    const I n = A_.row_count();
    Csr<T, I> chain;
    std::vector<I> l_begin(n + 1), l_column(2 * n - 1), u_begin(n + 1), u_column(n);
    chain.begin.push_back(0);
    for (I i = 0; i < n; ++i) {
      if (i > 0) chain.column.push_back(i - 1);
      chain.column.push_back(i);
      chain.begin.push_back(static_cast<I>(chain.column.size()));
    }
    using KokkosSparse::Experimental::SPILUKAlgorithm;
    handle_.create_spiluk_handle(SPILUKAlgorithm::SEQLVLSCHD_TP1, n, 2 * n - 1, n);
    auto a0 = unmanaged_view(chain.begin), a1 = unmanaged_view(chain.column);
    auto l0 = unmanaged_view(l_begin), l1 = unmanaged_view(l_column);
    auto u0 = unmanaged_view(u_begin), u1 = unmanaged_view(u_column);
    kernels::spiluk_symbolic(&handle_, I(0), a0, a1, l0, l1, u0, u1);
  }

  /// Copies A's values in the factor's order of rows.
  void copy_values(const CsrView<T, I>& A)
  {
    for (I i = 0; i < A_.row_count(); ++i) {
      const T* from = A.value + A.pattern.row_begin[row_order_.empty() ? i : row_order_[i]];
      for (I k = A_.begin[i]; k < A_.begin[i + 1]; ++k) A_.value[k] = to_kokkos<T>(*from++);
    }
  }

  Csr<T, I> A_;
  std::vector<I> row_order_;
  Handle<T, I> handle_;
};

}  // namespace syncfree::kokkos
