#pragma once

/// Numeric incomplete factorization on the device; the mathematics and the rules are those of core/symbolic/pivot.hpp
/// and of the host's factorization (host/factorize.hpp), and so are the values up to rounding.

#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>

#include "core/symbolic/pivot.hpp"
#include "cuda/analysis/factor_pattern.hpp"
#include "cuda/analysis/levels.hpp"
#include "cuda/base/graph_recording.hpp"
#include "cuda/base/launch.hpp"
#include "cuda/factor/factor.hpp"
#include "cuda/factor/from_loop.hpp"
#include "cuda/factor/update_lists.hpp"
#include "cuda/factor/update_slots.hpp"
#include "cuda/solve/solver.hpp"
#include "syncfree/cuda/detail/device.hpp"
#include "syncfree/cuda/detail/mapped_word.hpp"
#include "syncfree/cuda/detail/wait_monitor.hpp"
#include "syncfree/factor.hpp"

namespace syncfree::cuda {

/// Result of an attempt.
struct Outcome {
  static constexpr unsigned long long none = ~0ull;
  unsigned long long failure;  ///< of the first row that failed: 2 given_row, + 1 if it is not finite; or none
  int repaired;                ///< pivots that the rule `inblocks` has changed
};

template <class T, class I> struct FactorView;

/// Throws Failure and std::bad_alloc.
template <class T, class I> class DeviceFactorization final : public DeviceFactor<T, I> {
public:
  ///   pattern  must outlive this
  ///   levels   of L; must outlive this
  ///   single   values are rounded to single precision; values out of its range are failures
  ///   most_list_bytes  of what lets long rows be factored entry by entry
  DeviceFactorization(const DeviceFactorPattern<I>& pattern, const DeviceLevels<I>& levels, bool single,
                      double most_list_bytes);
  ~DeviceFactorization() override
  {
    if (tells_) (void)MemoryPool::wait_for_device();
  }

  /// Lets a solver of L compute the pivots, if it can and no other entries are updated: with c_ip = a_ip a_pi they are
  /// 1 / y_i, y_i = 1 / (a_ii - sum_p c_ip y_p). The solver must be for the same pattern, must outlive this object and
  /// must be given new values after each begin_factorization().
  void use(DeviceSolver<T, I>* solver_of_L) override
  {
    if (slots_.only_pivots() && solver_of_L && solver_of_L->traits().inverse) solver_of_L_ = solver_of_L;
    repeats_ = false;
  }

  /// Uses `loop` for factors that need no remedy of the pivot rule; may be nullptr.
  void use(std::unique_ptr<LoopFactorization<T, I>> loop) { loop_ = std::move(loop); }

  bool begin_factorization(const CsrView<T, I>& A, const PivotRule& rule, cudaStream_t stream) override;

  void tell_outcome(cudaStream_t stream) override;
  void expect_outcome() override { tells_ = true; }

  /// Reads back one Outcome per attempt.
  ///   errors  zero_pivot(row, |pivot|, tolerance), not_finite(row), as on the host
  Status end(PivotReport* report, bool* made_again) override;

  /// See UpdateLists.
  std::size_t refused_list_bytes() const { return lists_.refused_bytes(); }

  std::size_t factor_plan_bytes() const override
  {
    return rows_.pattern_copy_bytes() + ready_.bytes() + slots_.slot_bytes() + lists_.list_bytes() +
           (loop_ ? loop_->factor_loop_bytes() : 0);
  }

private:
  /// Ways to a factor, in the order in which they are tried: a traced loop; all but the pivots at once, and the pivots
  /// by a solver of L; entry by entry; row by row, which alone applies the remedies of a pivot rule.
  enum class Method { loop, pivots, entries, rows };

  /// One factorization, between begin_factorization() and end().
  struct Task {
    CsrView<T, I> A;
    PivotRule rule;
    cudaStream_t stream;
    ShiftLoop shifts;
    Method method;
  };

  FactorView<T, I> factor_view() const;
  /// True if the last factorization has succeeded with what it queued first, and the same would be queued for A.
  bool would_repeat(const CsrView<T, I>& A, const PivotRule& rule) const;
  /// Queues the task's first attempt, recorded as a graph when it is the same for the second time: of a small factor
  /// launches take the host longer than the device. Returns false if that is impossible.
  bool queue_recorded();
  /// Queues the task's method, or the next one that applies.
  void queue_attempt(Task* task);
  void queue_rows(const Task& task);
  bool queue_entries(const Task& task);
  bool queue_pivots(const Task& task);
  void begin_attempt(std::initializer_list<DeviceArray<T>*> sentinel, cudaStream_t stream);
  /// Throws Failure if a wait was given up.
  Outcome read_outcome(cudaStream_t stream);
  Status status_of_rows(const Task& task, const Outcome& outcome);
  /// Returns the row with that number in the given order.
  I find_row(I given, cudaStream_t stream) const;
  double dominance_shift(const CsrView<T, I>& A, const PivotRule& rule, cudaStream_t stream);

  using DeviceFactor<T, I>::pattern_, DeviceFactor<T, I>::single_;
  using DeviceFactor<T, I>::rows_;  ///< also for positive_definite; may be made when first needed
  using DeviceFactor<T, I>::lower_, DeviceFactor<T, I>::upper_, DeviceFactor<T, I>::inverse_pivot_;

  const DeviceLevels<I>& levels_;
  UpdateSlots<I> slots_;       ///< made if rows are short
  std::size_t occupancy_limit_bytes_ = 0;
  UpdateLists<I> lists_;       ///< made if they are long
  ResettableArray<unsigned> ready_;  ///< otherwise: by row, number of the attempt that has finished it
  TicketCounterMemory counter_;                       ///< of attempts
  std::optional<TicketCounterMemory> entry_counter_;  ///< of launches entry by entry, if there are lists
  std::shared_ptr<WaitMonitor> watch_ = WaitMonitor::at_hand();
  DeviceArray<unsigned long long> top_;
  DeviceArray<Outcome> outcome_;
  Mapped<unsigned long long> told_failure_;
  MappedWord told_repaired_;
  bool tells_ = false;  ///< the outcome of what has been queued last is told, perhaps not yet
  DeviceArray<double> described_;
  unsigned attempts_ = 0;
  bool repeats_ = false;  ///< the last factorization has succeeded with what it queued first, which can be recorded
  bool may_record_;  ///< false for large factors, and once a graph was refused
  std::optional<GraphRecording> recording_;  ///< of a first attempt, with the last task's A and rule
  Method recorded_method_ = Method::rows;
  const bool overlaps_ = launches_can_overlap();
  std::unique_ptr<LoopFactorization<T, I>> loop_;
  DeviceSolver<T, I>* solver_of_L_ = nullptr;
  std::optional<Task> task_;
};

}  // namespace syncfree::cuda
