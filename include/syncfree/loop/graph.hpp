#pragma once

/// Simplify: from the accesses of iterations to which of them must wait for which.
///
/// A loop is defined by its sequential execution. The accesses to an array entry form, in the order of iterations,
/// groups: consecutive readers, consecutive iterations that only add, and single iterations that write, or both read
/// and add. Members of a group may run in any order; each waits for all of the group before. That covers
///   - flow: a reader waits for the iteration that wrote, and for all that added;
///   - anti: an iteration that overwrites an entry waits for all that read its previous value;
///   - output: an iteration that overwrites waits for the one that wrote before.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "syncfree/loop/trace.hpp"

namespace syncfree {

/// Iteration i waits for on[k], begin[i] <= k < begin[i + 1]: ascending, distinct, all below i.
template <class I> struct LoopGraph {
  std::vector<std::int64_t> begin{0};
  std::vector<I> on;

  I iteration_count() const { return static_cast<I>(begin.size() - 1); }
};

/// The accesses to an array by location: location x is accessed by iteration[k], begin[x] <= k < begin[x + 1],
/// ascending.
template <class I> struct AccessesByLocation {
  std::int64_t place;  ///< place_in() of the array
  std::vector<std::int64_t> begin;
  std::vector<I> iteration;
  std::vector<Access> access;

  /// Throws std::bad_alloc.
  explicit AccessesByLocation(const ArrayTrace<I>& array)
      : place(array.place), begin(array.length + 1, 0), iteration(array.location.size()), access(array.location.size())
  {
    for (I x : array.location) ++begin[x + 1];
    for (std::int64_t x = 0; x < array.length; ++x) begin[x + 1] += begin[x];
    std::vector<std::int64_t> next(begin.begin(), begin.end() - 1);
    for (std::size_t i = 0; i + 1 < array.begin.size(); ++i)
      for (std::int64_t k = array.begin[i]; k < array.begin[i + 1]; ++k) {
        const std::int64_t to = next[array.location[k]]++;
        iteration[to] = static_cast<I>(i);
        access[to] = array.access[k];
      }
  }

  /// Calls visit(before, begin, end): the group of accesses [begin, end) waits for the group [before, begin).
  template <class Visit> void for_each_group(std::int64_t x, const Visit& visit) const
  {
    std::int64_t before = begin[x];
    for (std::int64_t first = begin[x], end; first < begin[x + 1]; before = first, first = end) {
      end = first + 1;
      if (access[first] == reads || access[first] == adds)
        while (end < begin[x + 1] && access[end] == access[first]) ++end;
      visit(before, first, end);
    }
  }
};

/// Calls depend(i, j) where iteration i waits for j because of this array; some pairs more than once. For large
/// groups not every pair is used: the first of the later group waits for all of the earlier, and the others of the
/// later wait for the first.
template <class I, class Depend> void for_each_dependence(const AccessesByLocation<I>& accesses, const Depend& depend)
{
  constexpr std::int64_t large = 8;
  for (std::size_t x = 0; x + 1 < accesses.begin.size(); ++x)
    accesses.for_each_group(x, [&](std::int64_t before, std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k) {
        const bool follows = k > begin && begin - before > large;
        const std::int64_t from = follows ? begin : before, to = follows ? begin + 1 : begin;
        for (std::int64_t l = from; l < to; ++l) depend(accesses.iteration[k], accesses.iteration[l]);
      }
    });
}

/// Sorts each list and removes duplicates.
template <class I> void drop_duplicates(LoopGraph<I>* graph)
{
  std::int64_t kept = 0;
  for (std::size_t i = 0; i + 1 < graph->begin.size(); ++i) {
    const auto begin = graph->on.begin() + graph->begin[i], end = graph->on.begin() + graph->begin[i + 1];
    std::sort(begin, end);
    graph->begin[i] = kept;
    for (auto j = begin; j != end; ++j)
      if (j == begin || *j != *(j - 1)) {
        const I copy = *j;  // the index written never exceeds the index read
        graph->on[kept++] = copy;
      }
  }
  graph->begin.back() = kept;
  graph->on.resize(kept);
}

/// Sorts the accesses of all arrays by location. Throws std::bad_alloc.
///   cost  O(accesses + entries of the arrays)
template <class I> std::vector<AccessesByLocation<I>> sort_by_location(const LoopTrace<I>& trace)
{
  return {trace.arrays.begin(), trace.arrays.end()};
}

/// Returns all dependences of a loop, each once. Throws std::bad_alloc.
///   cost  O(accesses), plus sorting each iteration's list
template <class I>
LoopGraph<I> find_dependences(I iterations, const std::vector<AccessesByLocation<I>>& arrays)
{
  LoopGraph<I> graph;
  graph.begin.assign(static_cast<std::size_t>(iterations) + 1, 0);
  for (const auto& array : arrays)
    for_each_dependence(array, [&](I i, I) { ++graph.begin[i + 1]; });
  for (std::size_t i = 0; i + 1 < graph.begin.size(); ++i) graph.begin[i + 1] += graph.begin[i];
  graph.on.resize(graph.begin.back());
  std::vector<std::int64_t> next(graph.begin.begin(), graph.begin.end() - 1);
  for (const auto& array : arrays)
    for_each_dependence(array, [&](I i, I j) { graph.on[next[i]++] = j; });
  drop_duplicates(&graph);
  return graph;
}

/// Drops the wait of i for j if one of the four latest iterations that i waits for itself waits for j. The dropped
/// wait remains implied: in an acyclic graph all edges that a longer path implies may be removed at once.
///   cost  O(dependences * log of the longest list); allocates nothing
template <class I> void drop_implied(LoopGraph<I>* graph)
{
  constexpr std::int64_t looked_at = 4;
  std::vector<std::int64_t>& begin = graph->begin;
  I* on = graph->on.data();
  const auto implied = [&](std::int64_t k, std::int64_t end) {
    for (std::int64_t l = std::max(k + 1, end - looked_at); l < end; ++l)
      if (std::binary_search(on + begin[on[l]], on + begin[on[l] + 1], on[k])) return true;
    return false;
  };
  const I none = -1;
  for (std::size_t i = begin.size() - 1; i-- > 0;)  // descending: the lists that are searched are still complete
    for (std::int64_t k = begin[i]; k < begin[i + 1]; ++k)
      if (implied(k, begin[i + 1])) on[k] = none;
  std::int64_t kept = 0;
  for (std::size_t i = 0; i + 1 < begin.size(); ++i) {
    const std::int64_t first = begin[i], end = begin[i + 1];
    begin[i] = kept;
    for (std::int64_t k = first; k < end; ++k)
      if (on[k] != none) on[kept++] = on[k];
  }
  begin.back() = kept;
  graph->on.resize(kept);
}

/// Returns a bit mask, by place_in(), of the arrays with an entry to which iterations of different runs of
/// `run_length` add in no fixed order.
///   cost  O(accesses); allocates nothing
template <class I>
std::uint64_t find_shared(const std::vector<AccessesByLocation<I>>& arrays, std::int64_t run_length)
{
  std::uint64_t shared = 0;
  for (const AccessesByLocation<I>& array : arrays)
    for (std::size_t x = 0; x + 1 < array.begin.size(); ++x)
      array.for_each_group(x, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
        const bool crosses = array.iteration[begin] / run_length != array.iteration[end - 1] / run_length;
        if (array.access[begin] == adds && crosses) shared |= std::uint64_t(1) << array.place;
      });
  return shared;
}

}  // namespace syncfree
