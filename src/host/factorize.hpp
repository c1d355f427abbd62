#pragma once

/// Numeric incomplete factorization on CPU threads.
///
/// Row i of the factor is row i of the permuted matrix minus multiples of the rows of U that
/// it has entries for, on the fixed pattern:
///   for p in L(i), ascending:  m = w_p / u_pp;  l_ip = m;  w_q -= m u_pq for q in U(p)
/// with w the row scattered to n entries. Entries outside the pattern are written too, which saves a branch, and never
/// read: each row first sets the entries of its own pattern.
/// For IC the entry w_p of row i is u_pi, found in row p of U, and only q >= i matter. One thread that takes rows in
/// order visits the entries of row p of U in order too; several threads need the position of each.

#include <vector>

#include "row_factorization.hpp"

namespace syncfree {

/// Work array of a thread.
template <class T> struct RowWorkspace : RowOutcome {
  Array<T> w;  ///< n entries
};

template <class T, class I> class Factorization final : public RowFactorization<T, I> {
public:
  /// Throws std::bad_alloc.
  ///   pattern, A, threads  as in RowFactorization
  Factorization(const FactorPattern<I>& pattern, const PatternView<I>& A, int threads);

  /// As RowFactorization.
  ///   errors  zero_pivot(row, |pivot|, tolerance), not_finite(row)
  Status factorize_rows(const CsrView<T, I>& A, const PivotRule& rule, FactorValues<T>* values,
                        PivotReport* report) override;

  std::size_t factorization_bytes() const override;

private:
  using RowFactorization<T, I>::pattern_;

  void find_mirror();
  Status attempt(const CsrView<T, I>& A, const PivotRule& rule, double shift, FactorValues<T>* values);

  std::vector<RowWorkspace<T>> work_;    ///< by thread
  std::vector<unsigned char> together_;  ///< pivots that are eliminated together, see find_together
  Array<I> mirror_;                      ///< IC on several threads: position of U(p, i) for each entry L(i, p)
  Array<I> next_;                        ///< IC on one thread: by row of U, the next entry to be visited
};

}  // namespace syncfree
