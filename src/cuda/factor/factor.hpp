#pragma once

/// A factor on the device: its values, and how they are made from those of A. What the factorizations by entries
/// (factorize.hpp) and by dense blocks (factorize_dense.hpp) share. With blocks, rows and entries of patterns are those
/// of blocks, and each value below is a block of values.

#include <cstddef>
#include <type_traits>
#include <utility>

#include "cuda/analysis/factor_pattern.hpp"
#include "cuda/analysis/pattern_copy.hpp"
#include "cuda/solve/solver.hpp"
#include "syncfree/cuda/detail/device.hpp"
#include "syncfree/factor.hpp"
#include "syncfree/scalar.hpp"

namespace syncfree::cuda {

/// Throws Failure and std::bad_alloc.
template <class T, class I> class DeviceFactor {
public:
  virtual ~DeviceFactor() = default;

  /// Lets a solver of L do a part of the work, if it can. The solver must be for the same pattern, must outlive this
  /// object and must be given new values after each begin_factorization().
  virtual void use(DeviceSolver<T, I>* solver_of_L) { (void)solver_of_L; }

  /// Queues the first attempt at factoring A. Factorizations are bitwise equal.
  ///   A        the pattern that was analysed, values in device memory, which must stay until end()
  ///   returns  true if work that needs the factor may be queued before end(); its results are unusable if end() fails
  ///            or says that it has made the factor again
  virtual bool begin_factorization(const CsrView<T, I>& A, const PivotRule& rule, cudaStream_t stream) = 0;

  /// Queues what tells the outcome of a factorization to the host; end() does so unless expect_outcome() was called.
  virtual void tell_outcome(cudaStream_t stream) { (void)stream; }
  /// Says that what tells the outcome has been queued in the stream of begin_factorization().
  virtual void expect_outcome() {}

  /// Waits for the outcome, and factors again as long as the pivot rule demands. Reads back one outcome per attempt.
  ///   report      [out] what the pivot rule did
  ///   made_again  [out] true if begin_factorization() returned false, or if the factor differs from the one that it
  ///               queued
  ///   errors      zero_pivot, not_finite, with the numbers that the host's factorization reports
  virtual Status end(PivotReport* report, bool* made_again) = 0;

  virtual std::size_t factor_plan_bytes() const = 0;

  /// Lets the next factorizations round values to single precision, or not.
  void store_in_single(bool single) { single_ = single && !std::is_same_v<T, single_t<T>>; }

  /// Takes row offsets and columns of A.
  void take_rows(DevicePatternCopy<I> rows) { rows_ = std::move(rows); }

  /// Returns the rows taken, or copied since.
  PatternCopyView<I> kept_rows() const { return rows_.pattern_copy_view(); }

  /// nnz(L), nnz(U) and n values in the pattern's order; valid after a successful end().
  const DeviceArray<T>& lower_values() const { return lower_; }
  const DeviceArray<T>& upper_values() const { return upper_; }
  const DeviceArray<T>& inverse_pivot() const { return inverse_pivot_; }

  std::size_t factor_value_bytes() const { return lower_.bytes() + upper_.bytes() + inverse_pivot_.bytes(); }

protected:
  ///   pattern  must outlive this
  ///   values   of a block
  ///   single   values are rounded to single precision; values out of its range are failures
  DeviceFactor(const DeviceFactorPattern<I>& pattern, std::size_t values, bool single);

  /// In single storage rounds all values to single precision, or the inverse pivots only.
  void round_values(bool only_pivots, cudaStream_t stream);

  const DeviceFactorPattern<I>& pattern_;
  bool single_;
  DevicePatternCopy<I> rows_;  ///< of A, if L and U do not hold them
  DeviceArray<T> lower_, upper_, inverse_pivot_;
};

}  // namespace syncfree::cuda
