#pragma once

/// Colourings that do not depend on the number of threads: a vertex takes its colour when all neighbours of higher
/// priority have theirs, so a loop over the vertices by priority and rounds of all free vertices (Jones & Plassmann
/// 1993) give the same colours. The priorities are fixed and partly random: on meshes there are some tens of rounds; at
/// worst, where degrees ascend along a path, sqrt(2 n).

#include <cstdint>

#include "syncfree/array.hpp"
#include "syncfree/csr.hpp"

namespace syncfree {

/// Colours in [0, count); no two neighbours have the same.
template <class I> struct Coloring {
  Array<I> color;
  I count = 0;
};

/// Bits of an index, mixed; a bijection, so different indices have different ones (Steele, Lea & Flood 2014).
constexpr std::uint64_t mix_bits(std::uint64_t index)
{
  index += 0x9e3779b97f4a7c15u;
  index = (index ^ (index >> 30)) * 0xbf58476d1ce4e5b9u;
  index = (index ^ (index >> 27)) * 0x94d049bb133111ebu;
  return index ^ (index >> 31);
}

/// Vertices by degree, then by mix_bits(): those of few neighbours first. They get the first colours, as in a minimum
/// degree order, and a dense row one of the last.
///   G     symmetric, without diagonal
///   cost  O(n log n); throws std::bad_alloc, as all functions here
template <class I> Array<I> order_by_degree(PatternView<I> G);

/// Each vertex takes the least colour that no neighbour before it in `order` has.
///   cost  O(nnz); at most 1 + the highest degree colours
template <class I> Coloring<I> color_greedily(PatternView<I> G, const Array<I>& order);

/// Each vertex takes the first free colour of target, target + 1, ... K - 1, 0, ... target - 1, or, if neighbours
/// before it have all of these, the least free colour from K on.
///   target  in [0, K)
///   cost    O(nnz + n + K)
template <class I>
Coloring<I> color_near_targets(PatternView<I> G, const Array<I>& order, const Array<I>& target, I K);

/// Renumbers the colours so that each is used, in the same order.
template <class I> void drop_empty_colors(Coloring<I>* of);

}  // namespace syncfree
