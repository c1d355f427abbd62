#pragma once

/// From the trace of a loop to the plan for its execution: which iterations wait for which, how they are notified,
/// and to which arrays several threads add concurrently.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "syncfree/loop/graph.hpp"
#include "syncfree/loop/trace.hpp"

namespace syncfree {

/// How iterations are notified that others are done.
enum class Signal { none, flags, counts };

/// The plan of a loop. Threads take runs of `length` consecutive iterations. Iteration i
///   flags   waits for other[k], begin[i] <= k < begin[i + 1]
///   counts  waits for count[i] others and counts down other[k], begin[i] <= k < begin[i + 1]
template <class I, std::int64_t length> struct LoopPlan {
  static constexpr std::int64_t run_length = length;

  I iterations = -1;
  Signal signal = Signal::none;
  std::uint64_t shared = 0;  ///< as from find_shared()
  std::vector<std::int64_t> begin;
  std::vector<I> other;
  std::vector<std::int32_t> count;

  static I run_of(I i) { return static_cast<I>(i / run_length); }
  I runs() const { return iterations > 0 ? run_of(iterations - 1) + 1 : 0; }
  std::size_t loop_plan_bytes() const
  {
    return begin.size() * sizeof(std::int64_t) + other.size() * sizeof(I) + count.size() * sizeof(std::int32_t);
  }
};

/// Keeps the waits of a graph that threads need: for another run only the latest iteration, and only if the own run
/// has not yet waited for it. Throws std::bad_alloc.
///   cost  O(dependences)
template <class I, std::int64_t length>
void keep_waits_between_runs(const LoopGraph<I>& graph, LoopPlan<I, length>* plan)
{
  const I none = -1;
  std::vector<I> asked_by(plan->runs(), none), upto(plan->runs(), none);  // per run: which run waited last, up to where
  plan->begin.assign(1, 0);
  plan->begin.reserve(graph.begin.size());
  for (I i = 0; i < graph.iteration_count(); ++i) {
    const I own = plan->run_of(i);
    for (std::int64_t k = graph.begin[i + 1]; k-- > graph.begin[i];) {
      const I j = graph.on[k], run = plan->run_of(j);
      if (run == own || (asked_by[run] == own && upto[run] >= j)) continue;
      asked_by[run] = own;
      upto[run] = j;
      plan->other.push_back(j);
    }
    plan->begin.push_back(static_cast<std::int64_t>(plan->other.size()));
  }
}

/// Converts "waits for" lists to "is awaited by" lists with counts. Throws std::bad_alloc.
///   cost  O(waits)
template <class I, std::int64_t length> void turn_into_counts(LoopPlan<I, length>* plan)
{
  const std::vector<std::int64_t> begin = std::move(plan->begin);
  const std::vector<I> awaited = std::move(plan->other);
  plan->begin.assign(begin.size(), 0);
  plan->other.resize(awaited.size());
  plan->count.resize(begin.size() - 1);
  for (I j : awaited) ++plan->begin[j + 1];
  for (std::size_t i = 0; i + 1 < begin.size(); ++i) {
    plan->begin[i + 1] += plan->begin[i];
    plan->count[i] = static_cast<std::int32_t>(begin[i + 1] - begin[i]);
  }
  std::vector<std::int64_t> next(plan->begin.begin(), plan->begin.end() - 1);
  for (std::size_t i = 0; i + 1 < begin.size(); ++i)
    for (std::int64_t k = begin[i]; k < begin[i + 1]; ++k) plan->other[next[awaited[k]]++] = static_cast<I>(i);
}

/// True if each array that is read is read once per iteration, at an affine location.
template <class I> bool reads_are_affine(const LoopTrace<I>& trace)
{
  for (const ArrayTrace<I>& array : trace.arrays) {
    bool read = false;
    for (Access access : array.access) read = read || (access & reads);
    if (read && !find_affine(array, reads).holds) return false;
  }
  return true;
}

/// Exists if a reader can compute from the location which iteration it waits for: one array is written, each
/// iteration writes one entry of it, at location +-i + offset, and none reads an entry that a later one writes.
struct SentinelHandoff {
  bool holds = false;
  std::int64_t place = 0;  ///< place_in() of the array
  std::int64_t factor = 1, offset = 0;

  /// Returns the iteration that writes there; outside [0, iterations) if none does.
  SYNCFREE_HD std::int64_t writer(std::int64_t location) const { return (location - offset) * factor; }
};

/// True if an iteration reads what a later one writes.
template <class I> bool reads_ahead(const ArrayTrace<I>& array, const SentinelHandoff& hand_over)
{
  const auto iterations = static_cast<std::int64_t>(array.begin.size()) - 1;
  for (std::int64_t i = 0; i < iterations; ++i)
    for (std::int64_t k = array.begin[i]; k < array.begin[i + 1]; ++k) {
      const std::int64_t writer = hand_over.writer(array.location[k]);
      if ((array.access[k] & reads) && writer > i && writer < iterations) return true;
    }
  return false;
}

/// Finds the hand-over of a loop, if there is one.
///   cost  O(accesses)
template <class I> SentinelHandoff find_hand_over(const LoopTrace<I>& trace)
{
  constexpr Access changes = writes | adds;
  SentinelHandoff found;
  for (const ArrayTrace<I>& array : trace.arrays) {
    const bool changed = std::any_of(array.access.begin(), array.access.end(), [](Access a) { return a & changes; });
    if (!changed) continue;
    const Affine affine = find_affine(array, changes);
    const bool one_each = affine.holds && (affine.factor == 1 || affine.factor == -1);
    const SentinelHandoff here = {true, array.place, affine.factor, affine.offset};
    if (found.holds || !one_each || reads_ahead(array, here)) return {};
    found = here;
  }
  return found;
}

/// Makes the plan of a loop. Throws std::bad_alloc.
///   length  of the runs that threads take
///   cost    O(accesses + entries of the arrays), plus sorting the waits of each iteration
template <std::int64_t length, class I> LoopPlan<I, length> make_plan(const LoopTrace<I>& trace)
{
  const std::vector<AccessesByLocation<I>> arrays = sort_by_location(trace);
  LoopGraph<I> graph = find_dependences(trace.iterations, arrays);
  drop_implied(&graph);
  LoopPlan<I, length> plan;
  plan.iterations = trace.iterations;
  plan.shared = find_shared(arrays, length);
  keep_waits_between_runs(graph, &plan);
  if (plan.other.empty()) return plan;
  plan.signal = reads_are_affine(trace) ? Signal::counts : Signal::flags;
  if (plan.signal == Signal::counts) turn_into_counts(&plan);
  return plan;
}

}  // namespace syncfree
