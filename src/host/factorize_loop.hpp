#pragma once

/// ILU(0) of the strategy `loop`: the textbook's loop over rows (syncfree/loop/loops.hpp), parallelized by
/// syncfree/loop/loop.hpp.

#include <vector>

#include "syncfree/factor.hpp"
#include "syncfree/loop/loop.hpp"
#include "syncfree/loop/loops.hpp"

namespace syncfree {

template <class T, class I> class LoopFactorization {
public:
  /// True if this is the ILU(0) of A in natural order, with a trace that is small enough to store.
  static bool suits(const FactorPattern<I>& pattern, const PatternView<I>& A);

  /// Prepares the ILU(0) of A in natural order; keeps a copy of A's pattern. Throws std::bad_alloc.
  LoopFactorization(PatternView<I> A, int threads);

  /// Factors A. Returns false if a pivot must be repaired or reported, or a shift found, which the other factorization
  /// does; the values are then unusable.
  ///   values  [out] arrays of the factor's sizes
  bool factorize_by_loop(const CsrView<T, I>& A, const PivotRule& rule, FactorValues<T>* values);

  int factor_threads() const { return threads_; }
  std::size_t factorization_bytes() const;

private:
  bool split_factors(const PivotRule& rule, FactorValues<T>* values) const;
  Ilu0Csr<T, I> body() { return {{n_, row_begin_.data(), column_.data()}, diagonal_.data(), a_.data()}; }

  I n_;
  int threads_;
  std::vector<I> row_begin_, column_, diagonal_;
  std::vector<T> a_;
  Loop<Ilu0Csr<T, I>> loop_;
};

}  // namespace syncfree
