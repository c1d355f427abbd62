#pragma once

/// Orders of the rows of a matrix in which an incomplete factor has few levels, and a number that predicts what they
/// cost in iterations.
///
/// Rows of one colour are not coupled to each other, so ILU(0) and IC(0) of the permuted matrix have at most as many
/// levels as there are colours, or, of nodes and blocks, one for each of their rows. An order is a permutation: it is
/// used for rows and columns, and the factorization is that of the permuted matrix.
///
/// All orders are those of parallel algorithms with fixed priorities: they depend on the pattern only, not on the
/// number of threads or the index type, and are the same on the host and on a device (cuda/ordering/ordering.hpp).

#include <cstdint>

#include "syncfree/array.hpp"
#include "syncfree/csr.hpp"
#include "syncfree/status.hpp"

namespace syncfree {

/// How rows are coloured. "Neighbours" are those in the graph of A + A^T without diagonal, "nodes" consecutive rows
/// with the same columns, if there are many (core/ordering/node_graph.hpp); nodes, not rows, are coloured. Levels are
/// those of a breadth-first search of each component (core/ordering/breadth_first.hpp), from its smallest node; L is
/// the largest number of levels of a component.
///   multicolor  few colours. In a bipartite component two, its sides, which are the parities of the levels: the first
///               is that of the smaller sum of squared degrees, or else that of the smallest node. In others greedily
///               by (degree, mixed bits of the index): nodes of few neighbours get the first colours and dense rows the
///               last
///   cyclic      K colours, with which most dependences lead from higher to lower levels, as in a reverse
///               Cuthill-McKee order: a node of level l takes, in the order of (degree, mixed bits), the first free
///               colour from (L - 1 - l) s mod K on, cyclically. s is 3/4 of the number of colours that the graph of
///               the edges inside levels needs greedily in that order, rounded (half up), from 1 to K / 2 (rounded
///               down). A node whose neighbours have all K colours takes one beyond K
///   abmc        blocks of at most B rows, or of one node (core/ordering/blocks.hpp), coloured greedily by (degree,
///               mixed bits of the number)
/// Sources: colours: Schreiber & Tang 1982, Jones & Plassmann 1993; cyclic: Washio & Hayami 1994, Doi & Washio 1999;
/// blocks: Iwashita, Nakashima & Takahashi 2012; minimum degree inside them: Tinney & Walker 1967.
enum class OrderingKind { multicolor, cyclic, abmc };

constexpr std::int64_t most_cyclic_colors = 65536, most_abmc_rows = 1024;

struct OrderingOptions {
  OrderingKind kind = OrderingKind::multicolor;
  std::int64_t cyclic_colors = 16;  ///< K, 2 to most_cyclic_colors
  std::int64_t abmc_rows = 16;      ///< B, 1 to most_abmc_rows
};

/// Checks that the number that this kind uses, K or B, is in its range.
///   errors  invalid_argument
Status check_ordering_options(const OrderingOptions& options);

/// A permutation and its colours.
///   order        order[i] = row of A that becomes row i
///   color_begin  colours + 1 offsets into the new rows; no colour is empty. Inside a colour nodes are sorted by number
///                (multicolor) or by level, descending, and number (cyclic). Blocks are sorted by their smallest
///                nodes; inside a block the next node is always that of the fewest neighbours which come after it, in
///                blocks of later colours or left in its own; then that of the smallest number
///   block_begin  abmc: blocks + 1 offsets into the new rows; else empty
template <class I> struct Ordering {
  Array<I> order, color_begin, block_begin;
};

/// Makes an order.
///   A       n x n, already checked by check_pattern; diagonal entries may be missing
///   out     [out] unchanged on failure
///   threads of the host
///   errors  invalid_argument: K or B out of range; out_of_memory, also if the entries of A + A^T do not fit an index
///   cost    O(nnz log n), O(nnz) memory; only the graph of A + A^T is made on `threads` threads
template <class I>
Status make_ordering(PatternView<I> A, const OrderingOptions& options, int threads, Ordering<I>* out);

/// What measure_discarded_fill() found.
///   fill     the number; 0 if there is no fill to discard, or no row
///   rows     sampled rows that it is the mean of
///   skipped  sampled rows that are left out: their diagonal entry is missing, zero or not finite, or so is their sum
struct DiscardedFill {
  double fill = 0;
  std::int64_t rows = 0, skipped = 0;
};

/// Predicts how many iterations an order costs: the fill that ILU(0) discards, to first order in A,
///   fill^2 = mean over rows i of sum_j |w_ij|^2 / |a_ii a_jj|,  w_ij = sum_k a_ik a_kj / a_kk,
/// over the j for which (i, j) is no entry, and the k that come before both i and j in the order. Compare only numbers
/// of one matrix. Where a_jj or a_kk is missing or zero, the term is left out.
///   A       n x n, already checked by check_pattern
///   order   order[p] = row of A at position p, n entries; nullptr: natural order
///   out     [out] unchanged on failure
///   errors  out_of_memory
///   cost    O(n) + the lengths of the rows k for the sampled rows i. Row i is sampled if its mixed bits (as in
///           core/ordering/coloring.hpp) are divisible by n / 1000; of these, in the order of mixed bits, those that
///           together meet at most 2^24 entries, but at least one. Serial; O(n) memory. Rounded differently by other
///           compilers and processors, so compare two numbers with a tolerance
///   source  Duff & Meurant 1989: iterations follow the norm of what is discarded; D'Azevedo, Forsyth & Tang 1992
template <class T, class I>
Status measure_discarded_fill(CsrView<T, I> A, const I* order, DiscardedFill* out);

}  // namespace syncfree
