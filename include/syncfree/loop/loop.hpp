#pragma once

/// Sync-free loops: write the sequential loop once, run it in parallel.
///
///   Loop<LowerSolve> loop;
///   const Status traced = loop.trace(body);      // once for a pattern
///   const Status ran = loop.execute(body, threads);  // many times, with any values
///
/// Trace (syncfree/loop/trace.hpp) runs the body (syncfree/loop/body.hpp) to record what each iteration accesses,
/// simplify (syncfree/loop/graph.hpp) derives which iterations wait for which, and generate, in this file, puts three
/// steps around the same body: a check that waits, the iteration, a signal that it is done. There are two ways to
/// wait:
///   - flags: an iteration checks that each one that it waits for is done, and sets its own flag, in constant time;
///   - counts: an iteration waits until its own count is down to 0, in constant time, and decrements those of all
///     that wait for it.
/// Counts are used if each iteration reads one entry at an affine location, as in a solve by columns, whose other
/// accesses are additions; otherwise flags.
/// other accesses are additions; flags elsewhere.
///
/// Tickets hand out runs of consecutive iterations, in order. So an iteration only waits for one that has already
/// been taken; within a run, and for what its run has already waited for, no wait is needed.
///
/// On a GPU the same bodies run with syncfree/cuda/loop.cuh.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "syncfree/call_guard.hpp"
#include "syncfree/loop/body.hpp"
#include "syncfree/loop/plan.hpp"
#include "syncfree/loop/trace.hpp"
#include "syncfree/ready.hpp"
#include "syncfree/status.hpp"

namespace syncfree {

/// Calls work() on `threads` threads, or on fewer if no more are available: OpenMP's if the compiler supports OpenMP.
template <class Work> void with_team(int threads, const Work& work)
{
#if defined(_OPENMP)
#pragma omp parallel num_threads(threads)
  work();
#else
  std::vector<std::thread> others;
  try {
    for (int t = 1; t < threads; ++t) others.emplace_back(work);
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
  work();
  for (std::thread& other : others) other.join();
#endif
}

/// A traced loop. One run at a time. Not movable: other threads wait at its addresses.
template <class Body> class Loop {
public:
  using I = index_of<Body>;
  using Plan = LoopPlan<I, 64>;
  static_assert(std::is_signed_v<I>, "iterations are counted in a signed type");

  Loop() = default;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Traces and plans; keeps no pointer into the body's arrays. Afterwards execute() accepts bodies with the same index
  /// arrays and lengths.
  ///   errors  those of trace_loop; busy, with no effect; on failure the object is as after construction
  ///   cost    as trace_loop and make_plan
  ///   source  Somo and Cheshmi, SC25
  Status trace(const Body& body)
  try {
    const CallGuard::Call call(&busy_);
    if (!call.alone()) return failed(Code::busy);
    forget();
    LoopTrace<I> trace;
    const Status status = trace_loop(body, &trace);
    if (!status.ok()) return status;
    Plan plan = make_plan<Plan::run_length>(trace);
    if (plan.signal == Signal::flags) done_.emplace(static_cast<std::int32_t>(plan.runs()), plan.run_length);
    if (plan.signal == Signal::counts) make_counts(plan);
    plan_ = std::move(plan);
    return {};
  } catch (const std::bad_alloc&) {
    forget();
    return failed(Code::out_of_memory);
  }

  /// Runs the loop on `threads` threads, with the result of iterations in sequence. Results are bitwise those of the
  /// sequential loop if reproducible(), or on one thread; otherwise sums over several iterations are formed in any
  /// order. Never hangs, whatever the values. With OpenMP it allocates nothing.
  ///   errors  invalid_argument if the body has another number of iterations than the traced one; busy; out_of_memory
  ///           if there is no memory for the message
  Status execute(const Body& body, int threads)
  try {
    const CallGuard::Call call(&busy_);
    if (!call.alone()) return failed(Code::busy);
    if (body.iterations() != plan_.iterations)
      return failed(Code::invalid_argument, "a loop runs with the body it was traced with");
    if (threads <= 1 || plan_.runs() <= 1) run_alone(body);
    else if (plan_.shared == 0) run_team(body, threads, PlainAccessor());
    else run_team(body, threads, SharedAccessor<Body>(&body, plan_.shared));
    return {};
  } catch (const std::bad_alloc&) {
    return failed(Code::out_of_memory);
  }

  /// True if every run gives bitwise equal results.
  bool reproducible() const { return plan_.shared == 0; }
  const Plan& plan() const { return plan_; }
  std::size_t loop_bytes() const
  {
    const bool flags = plan_.signal == Signal::flags;
    return plan_.loop_plan_bytes() + plan_.count.size() * sizeof(Countdown) + (flags ? plan_.runs() * cache_line : 0);
  }

private:
  static constexpr std::size_t cache_line = 64;

  void forget()
  {
    plan_ = Plan();
    done_.reset();
    missing_.reset();
  }

  void make_counts(const Plan& plan)
  {
    missing_.reset(new Countdown[plan.count.size()]);
    for (std::size_t i = 0; i < plan.count.size(); ++i) missing_[i].expect(plan.count[i]);
  }

  void run_alone(const Body& body) const
  {
    PlainAccessor at;
    for (I i = 0; i < plan_.iterations; ++i) body(at, i);
  }

  template <class Accessor> void run_team(const Body& body, int threads, const Accessor& accessor)
  {
    tickets_.reset();
    if (done_) done_->new_round();
    with_team(threads, [&] {
      Accessor at = accessor;
      switch (plan_.signal) {
        case Signal::none: return execute_runs(body, at, [](I) {}, [](I) {});
        case Signal::flags:
          return execute_runs(body, at, [this](I i) { check_flags(i); }, [this](I i) { set_flag(i); });
        case Signal::counts:
          return execute_runs(body, at, [this](I i) { check_count(i); }, [this](I i) { count_down(i); });
      }
    });
  }

  template <class At, class Check, class Set>
  void execute_runs(const Body& body, At& at, const Check& check, const Set& set)
  {
    constexpr std::int64_t length = Plan::run_length;
    const std::int64_t n = plan_.iterations;
    for (std::int64_t begin = tickets_.take_tickets(length); begin < n; begin = tickets_.take_tickets(length)) {
      const I end = static_cast<I>(std::min(begin + length, n));
      for (I i = static_cast<I>(begin); i < end; ++i) {
        check(i);
        body(at, i);
        set(i);
      }
    }
  }

  static std::int64_t steps_to(I i) { return i % Plan::run_length + 1; }

  void check_flags(I i) const
  {
    for (std::int64_t k = plan_.begin[i]; k < plan_.begin[i + 1]; ++k) {
      StepCounters::Seen seen;
      done_->wait_for_steps(static_cast<std::int32_t>(plan_.run_of(plan_.other[k])), steps_to(plan_.other[k]), &seen);
    }
  }
  void set_flag(I i) { done_->publish_steps(static_cast<std::int32_t>(plan_.run_of(i)), steps_to(i)); }

  void check_count(I i)
  {
    if (plan_.count[i] > 0) missing_[i].wait_and_rearm(plan_.count[i]);
  }
  void count_down(I i)
  {
    for (std::int64_t k = plan_.begin[i]; k < plan_.begin[i + 1]; ++k) missing_[plan_.other[k]].arrive();
  }

  Plan plan_;
  std::optional<StepCounters> done_;          ///< flags: per run the number of iterations done
  std::unique_ptr<Countdown[]> missing_;  ///< counts
  Tickets tickets_;
  CallGuard busy_;
};

}  // namespace syncfree
