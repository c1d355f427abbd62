/// Implements inodes.hpp.

#include "inodes.hpp"

#include <new>

#include "core/support/instantiate.hpp"

namespace syncfree {
namespace {

/// A triangle's rows in the order of a serial solve.
template <class I> struct Steps {
  const PatternView<I>& T;
  bool lower;

  I row_at(I step) const { return lower ? step : T.n - 1 - step; }
  I entry_count(I step) const { return T.row_begin[row_at(step) + 1] - T.row_begin[row_at(step)]; }
  /// Returns the step that entry e reads; the farthest is entry 0.
  I reads(I step, I e) const
  {
    const I row = row_at(step);
    return lower ? T.column[T.row_begin[row] + e] : T.n - 1 - T.column[T.row_begin[row + 1] - 1 - e];
  }
  /// True if a step reads the one before it and all that that one reads.
  bool follows(I step) const
  {
    if (step == 0) return false;
    const I before = entry_count(step - 1);
    bool same = entry_count(step) == before + 1 && reads(step, before) == step - 1;
    for (I e = 0; same && e < before; ++e) same = reads(step, e) == reads(step - 1, e);
    return same;
  }
};

/// Fills in which inodes read which.
template <class I> void list_reads(const Steps<I>& steps, Inodes<I>* nodes)
{
  nodes->begin.resize(static_cast<std::size_t>(nodes->count) + 1);
  nodes->begin[0] = 0;
  for (I v = 0; v < nodes->count; ++v) {
    const I step = nodes->first[v], entries = steps.entry_count(step);
    I last = -1;
    for (I e = 0; e < entries; ++e) {
      const I node = nodes->before[steps.reads(step, e) + 1] - 1;
      if (node != last) nodes->column.push_back(node);
      last = node;
    }
    nodes->begin[v + 1] = static_cast<I>(nodes->column.size());
  }
}

}  // namespace

template <class I> Inodes<I> find_inodes(const PatternView<I>& T, bool lower)
{
  Inodes<I> nodes;
  const Steps<I> steps = {T, lower};
  const std::size_t n = static_cast<std::size_t>(T.n);
  Array<I> place(n);  // in the run of rows that follow each other
  NodeCounts counts = {};
  for (I s = 0; s < T.n; ++s) {
    place[s] = steps.follows(s) ? place[s - 1] + 1 : 0;
    for (int size = 2; size <= largest_node; ++size) counts[static_cast<std::size_t>(size) - 2] += place[s] % size == 0;
  }
  const int size = T.n == 0 ? 0 : choose_node_size(counts, static_cast<double>(T.n));
  if (size == 0) return nodes;
  nodes.size = size;
  nodes.before.resize(n + 1);
  for (I s = 0; s < T.n; ++s) {
    nodes.before[s] = static_cast<I>(nodes.first.size());
    if (place[s] % size == 0) nodes.first.push_back(s);
  }
  nodes.count = nodes.before[T.n] = static_cast<I>(nodes.first.size());
  nodes.first.push_back(T.n);
  list_reads(steps, &nodes);
  const Status status = make_level_sets<I>({nodes.count, nodes.begin.data(), nodes.column.data()}, true, &nodes.levels);
  if (!status.ok()) throw std::bad_alloc();  // its only error
  return nodes;
}

#define INSTANTIATE(I) template Inodes<I> find_inodes<I>(const PatternView<I>&, bool);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
