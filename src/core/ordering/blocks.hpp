#pragma once

/// Connected blocks of few rows, and the graph between them.

#include <cstdint>

#include "node_graph.hpp"
#include "syncfree/array.hpp"

namespace syncfree {

/// Blocks of nodes.
///   block  block of every node, numbered by their smallest nodes
///   graph  neighbours of every block, in any order
template <class I> struct NodeBlocks {
  Array<I> block;
  Graph<I> graph;
};

/// Joins neighbouring nodes to blocks of at most B rows each (a node of more rows is a block by itself). All blocks, at
/// first the nodes, do the following up to `join_rounds` + ceil(log2 B) times, and no more once nothing changes.
/// Each unmatched block prefers, of its unmatched neighbours with which it has at most B rows, the one of the largest
/// (links << 16) / rows, where `links` counts the edges between nodes of the two and `rows` the rows of both; then of
/// the largest mix_bits(mix_bits(smaller) + larger) of both numbers in this round; then the smallest. Two that
/// prefer each other are matched. After `match_passes` such passes matched pairs become one block, and blocks are
/// renumbered by their smallest nodes.
///   B       >= 1
///   cost    O(nnz log B) in practice, serial; O(nnz) memory; throws std::bad_alloc
///   source  handshakes: Fagginger Auer & Bisseling 2012; heavy edges: Karypis & Kumar 1998; why connected blocks:
///           Iwashita, Nakashima & Takahashi 2012
template <class I> NodeBlocks<I> join_nodes(const NodeGraph<I>& of, I B);

constexpr int join_rounds = 3, match_passes = 4;

/// Returns join_rounds + ceil(log2 B).
constexpr int rounds_of_joins(std::int64_t B)
{
  int rounds = join_rounds;
  for (std::int64_t b = 1; b < B; b *= 2) ++rounds;
  return rounds;
}

}  // namespace syncfree
