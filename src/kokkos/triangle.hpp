#pragma once

/// A triangle of the factor in sptrsv's format: CSR with the diagonal, which is last in the rows of a lower and first
/// in those of an upper triangle. Its transpose is again such a triangle.

#include <cstddef>

#include "kernels.hpp"
#include "syncfree/array.hpp"
#include "syncfree/csr.hpp"

namespace syncfree::kokkos {

template <class V> std::size_t array_bytes(const std::vector<V>& v) { return v.size() * sizeof(V); }

template <class T, class I> struct Csr {
  std::vector<I> begin, column;
  std::vector<Number<T>> value;

  I row_count() const { return static_cast<I>(begin.size()) - 1; }
  std::size_t csr_bytes() const { return array_bytes(begin) + array_bytes(column) + array_bytes(value); }
};

/// The pattern of a strict triangle with its diagonal inserted.
template <class T, class I> Csr<T, I> with_diagonal(const PatternView<I>& strict, bool lower)
{
  Csr<T, I> R;
  R.begin.reserve(strict.n + 1);
  R.begin.push_back(0);
  R.column.reserve(static_cast<std::size_t>(strict.nnz()) + strict.n);
  for (I i = 0; i < strict.n; ++i) {
    if (!lower) R.column.push_back(i);
    for (I k = strict.row_begin[i]; k < strict.row_begin[i + 1]; ++k) R.column.push_back(strict.column[k]);
    if (lower) R.column.push_back(i);
    R.begin.push_back(static_cast<I>(R.column.size()));
  }
  R.value.resize(R.column.size());
  return R;
}

/// Position of the diagonal of row i.
template <class T, class I> I diagonal_place(const Csr<T, I>& R, bool lower, I i)
{
  return lower ? R.begin[i + 1] - 1 : R.begin[i];
}

/// Sets the values of a triangle from those of the strict one and diagonal(i).
template <class T, class I, class Diagonal>
void set_values(Csr<T, I>* R, bool lower, const Array<T>& strict, const Diagonal& diagonal)
{
  std::size_t from = 0;
  for (I i = 0; i < R->row_count(); ++i)
    for (I k = R->begin[i]; k < R->begin[i + 1]; ++k)
      R->value[k] = to_kokkos<T>(k == diagonal_place(*R, lower, i) ? diagonal(i) : strict[from++]);
}

/// The values of the strict triangle.
template <class T, class I> Array<T> strict_values(const Csr<T, I>& R, bool lower)
{
  Array<T> strict;
  strict.reserve(R.value.size() - R.row_count());
  for (I i = 0; i < R.row_count(); ++i)
    for (I k = R.begin[i]; k < R.begin[i + 1]; ++k)
      if (k != diagonal_place(R, lower, i)) strict.push_back(from_kokkos<T>(R.value[k]));
  return strict;
}

/// The pattern of the transpose.
///   source  [out] position of each entry in R
template <class T, class I> Csr<T, I> transposed(const Csr<T, I>& R, std::vector<I>* source)
{
  Csr<T, I> S;
  S.begin.resize(R.begin.size());
  S.column.resize(R.column.size());
  S.value.resize(R.column.size());
  source->resize(R.column.size());
  for (I j : R.column) ++S.begin[j + 1];
  for (I i = 0; i < R.row_count(); ++i) S.begin[i + 1] += S.begin[i];
  std::vector<I> next(S.begin.begin(), S.begin.end());
  for (I i = 0; i < R.row_count(); ++i)
    for (I k = R.begin[i]; k < R.begin[i + 1]; ++k) {
      const I to = next[R.column[k]]++;
      S.column[to] = i;
      (*source)[to] = k;
    }
  return S;
}

/// A triangle and the plan of its solves.
template <class T, class I> class Triangle {
public:
  Triangle(Csr<T, I> matrix, bool lower) : matrix_(std::move(matrix))
  {
    using kernels_algorithm = KokkosSparse::Experimental::SPTRSVAlgorithm;
    handle_.create_sptrsv_handle(kernels_algorithm::SEQLVLSCHD_TP1, matrix_.row_count(), lower);
    kernels::sptrsv_symbolic(&handle_, unmanaged_view(matrix_.begin), unmanaged_view(matrix_.column));
  }

  Csr<T, I>& matrix() { return matrix_; }
  const Csr<T, I>& matrix() const { return matrix_; }

  /// x = Triangle^-1 b, for two different arrays of n values.
  void solve_by_sptrsv(std::vector<Number<T>>& b, std::vector<Number<T>>& x)
  {
    kernels::sptrsv_solve(&handle_, unmanaged_view(matrix_.begin), unmanaged_view(matrix_.column),
                          unmanaged_view(matrix_.value), unmanaged_view(b), unmanaged_view(x));
  }

  /// Bytes of the lists of rows by level.
  std::size_t level_list_bytes()
  {
    const auto plan = handle_.get_sptrsv_handle();
    return (plan->get_level_list().extent(0) + plan->get_nodes_per_level().extent(0) +
            plan->get_nodes_grouped_by_level().extent(0)) * sizeof(I);
  }

private:
  Csr<T, I> matrix_;
  Handle<T, I> handle_;
};

}  // namespace syncfree::kokkos
