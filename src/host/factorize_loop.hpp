#pragma once

/// ILU(0) of the strategy `loop`: the textbook's loop over rows (syncfree/loop/loops.hpp), made parallel by the
/// facility of syncfree/loop/loop.hpp.

#include <vector>

#include "syncfree/factor.hpp"
#include "syncfree/loop/loop.hpp"
#include "syncfree/loop/loops.hpp"

namespace syncfree {

template <class T, class I> class LoopFactorization {
public:
  /// Is this the ILU(0) of A in natural order, with a trace that is small enough to be kept?
  static bool suits(const FactorPattern<I>& pattern, const PatternView<I>& A);

  /// Keeps a copy of the pattern of A, whose ILU(0) in natural order it makes. Throws std::bad_alloc.
  LoopFactorization(PatternView<I> A, int threads);

  /// False where a pivot has to be repaired or reported, or a shift to be looked for, by the other factorization; the
  /// values are of no use then.
  ///   values  [out] arrays of the factor's sizes
  bool run(const CsrView<T, I>& A, const PivotRule& rule, FactorValues<T>* values);

  int threads() const { return threads_; }
  std::size_t bytes() const;

private:
  bool split(const PivotRule& rule, FactorValues<T>* values) const;
  Ilu0Csr<T, I> body() { return {{n_, row_begin_.data(), column_.data()}, diagonal_.data(), a_.data()}; }

  I n_;
  int threads_;
  std::vector<I> row_begin_, column_, diagonal_;
  std::vector<T> a_;
  Loop<Ilu0Csr<T, I>> loop_;
};

}  // namespace syncfree
