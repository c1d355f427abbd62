#pragma once

/// Numeric incomplete factorization on the device; the mathematics and the rules are those of core/symbolic/pivot.hpp
/// and of the host's cuda/factor/factorize.hpp, and so are the numbers but for rounding.

#include <functional>
#include <initializer_list>
#include <memory>
#include <utility>

#include "cuda/analysis/factor_pattern.hpp"
#include "cuda/analysis/levels.hpp"
#include "cuda/analysis/same_rows.hpp"
#include "cuda/factor/from_loop.hpp"
#include "cuda/factor/update_lists.hpp"
#include "cuda/factor/update_slots.hpp"
#include "cuda/solve/solver.hpp"
#include "syncfree/cuda/detail/device.hpp"
#include "syncfree/cuda/detail/wait_watch.hpp"
#include "syncfree/factor.hpp"

namespace syncfree::cuda {

/// What an attempt has found.
struct Outcome {
  static constexpr unsigned long long none = ~0ull;
  unsigned long long failure;  ///< of the lowest row that failed: 2 row, + 1 if its numbers are not finite; or none
  int repaired;                ///< pivots that the rule inblocks has changed
};

template <class T, class I> struct FactorView;

/// Throws Failure and std::bad_alloc.
template <class T, class I> class DeviceFactorization {
public:
  ///   pattern  must outlive this
  ///   levels   of L; must outlive this
  ///   single   numbers are rounded to single precision, if they have another; those that do not fit are failures
  DeviceFactorization(const DeviceFactorPattern<I>& pattern, const DeviceLevels<I>& levels, bool single);

  /// Pivots may be found by a solver of L, made for the same pattern, that can, where nothing else is updated: with
  /// c_ip = a_ip a_pi they are 1 / y_i, y_i = 1 / (a_ii - sum_p c_ip y_p). It must outlive this, and is to be refreshed
  /// after each run().
  void use(DeviceSolver<T, I>* solver_of_L)
  {
    if (slots_.only_pivots() && !single_ && solver_of_L && solver_of_L->solves_inverse()) solver_of_L_ = solver_of_L;
  }

  /// Row offsets and columns of A, which else are copied from the host when they are first needed.
  void take_rows(DevicePatternCopy<I> rows) { rows_ = std::move(rows); }

  /// What was taken, or has been copied since.
  PatternCopyView<I> rows() const { return rows_.view(); }

  /// What can do without pivot rules is done by this one; may be nullptr.
  void use(std::unique_ptr<LoopFactorization<T, I>> loop) { loop_ = std::move(loop); }

  /// What follows a factor.
  using OnFactored = std::function<void()>;

  /// Reads back one Outcome an attempt. Runs are bitwise equal.
  ///   A       the pattern that was analysed, values in device memory
  ///   report  [out] what the pivot rule did
  ///   sequel  puts into the stream's queue what needs the factor. It is called before it is known whether the first
  ///           attempt has succeeded, unless numbers have to be rounded first or a loop makes the factor; and after
  ///           a success that it was not called for. If the run fails, what it has made is of no use
  ///   errors  zero_pivot(row, |pivot|, tolerance), not_finite(row), as on the host
  Status run(const CsrView<T, I>& A, const PivotRule& rule, cudaStream_t stream, PivotReport* report,
             const OnFactored& on_factored);

  /// n, nnz(L), nnz(U) numbers in the pattern's order; valid after a successful run.
  const DeviceArray<T>& lower() const { return lower_; }
  const DeviceArray<T>& upper() const { return upper_; }
  const DeviceArray<T>& inverse_pivot() const { return inverse_pivot_; }

  std::size_t value_bytes() const { return lower_.bytes() + upper_.bytes() + inverse_pivot_.bytes(); }
  std::size_t plan_bytes() const
  {
    return rows_.bytes() + ready_.bytes() + slots_.bytes() + lists_.bytes() +
           (loop_ ? loop_->bytes() : 0);
  }

private:
  FactorView<T, I> view() const;
  void begin_attempt(std::initializer_list<DeviceArray<T>*> sentinel, cudaStream_t stream);
  /// early: called first, while the device is at work.
  /// Throws Failure where a wait was given up.
  Outcome look(cudaStream_t stream, const OnFactored& early) const;
  bool factor_by_entries(const T* value, const PivotRule& rule, cudaStream_t stream, const OnFactored& early);
  bool find_pivots(const T* value, const PivotRule& rule, cudaStream_t stream, const OnFactored& early);
  Status attempt(const T* value, const PivotRule& rule, double shift, cudaStream_t stream, const OnFactored& early,
                 int* repaired);
  double dominance_shift(const CsrView<T, I>& A, const PivotRule& rule, cudaStream_t stream);

  const DeviceFactorPattern<I>& pattern_;
  const DeviceLevels<I>& levels_;
  bool single_;
  DevicePatternCopy<I> rows_;     ///< of A, for positive_definite; may be made when first needed
  UpdateSlots<I> slots_;       ///< made where rows are short
  std::size_t occupancy_limit_bytes_ = 0;
  UpdateLists<I> lists_;       ///< made where they are long
  ResettableArray<unsigned> ready_;  ///< else: number of the attempt that has finished the row
  TicketCounterMemory counter_, entry_counter_;  ///< of attempts, and of launches entry by entry
  std::shared_ptr<WaitMonitor> watch_ = WaitMonitor::at_hand();
  DeviceArray<unsigned long long> top_;
  DeviceArray<Outcome> outcome_;
  DeviceArray<double> described_;
  DeviceArray<T> lower_, upper_, inverse_pivot_;
  unsigned attempts_ = 0;
  std::unique_ptr<LoopFactorization<T, I>> loop_;
  DeviceSolver<T, I>* solver_of_L_ = nullptr;
};

}  // namespace syncfree::cuda
