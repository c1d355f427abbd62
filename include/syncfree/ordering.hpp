#pragma once

/// Orders of the rows of a matrix in which an incomplete factor has few levels, and a number that predicts what they
/// cost in iterations.
///
/// Rows of one colour are not coupled to each other, so ILU(0) and IC(0) of the permuted matrix have at most as many
/// levels as there are colours, or, of nodes and blocks, one for each of their rows. An order is a permutation: it is
/// used for rows and columns, and the factorization is that of the permuted matrix.
///
/// All orders are those of parallel algorithms with fixed priorities: they depend on the pattern only, not on the
/// number of threads or the index type.

#include <cstdint>

#include "syncfree/array.hpp"
#include "syncfree/csr.hpp"
#include "syncfree/status.hpp"

namespace syncfree {

/// How rows are coloured. "Neighbours" are those in the graph of A + A^T without its diagonal, "nodes" consecutive rows
/// with the same columns, if there are many (core/ordering/node_graph.hpp); nodes, not rows, are coloured. Positions and
/// levels are those of a reverse Cuthill-McKee order (core/ordering/cuthill_mckee.hpp).
///   multicolor  few colours. If no neighbours are in the same level, two: the parities of the levels. Else greedily by
///               (degree, mixed bits of the index): nodes of few neighbours get the first colours and dense rows the
///               last
///   cyclic      K colours, with which most dependences keep the direction of the reverse Cuthill-McKee order: a node
///               of level l of L takes the first free colour from (L - 1 - l) s mod K on, cyclically. s is 3/4 of the
///               number of colours that the neighbours inside the levels need, rounded, at least 1 and at most K / 2. A
///               node whose neighbours have all K colours takes one of further colours, beyond K
///   abmc        blocks of at most B rows (core/ordering/blocks.hpp), coloured greedily by (degree, mixed bits of the
///               number). Inside a block rows have the reverse Cuthill-McKee order
/// Sources: colours: Schreiber & Tang 1982, Jones & Plassmann 1993; cyclic: Washio & Hayami 1994, Doi & Washio 1999;
/// blocks: Iwashita, Nakashima & Takahashi 2012.
enum class OrderingKind { multicolor, cyclic, abmc };

struct OrderingOptions {
  OrderingKind kind = OrderingKind::multicolor;
  std::int64_t cyclic_colors = 16;  ///< K, 2 to 65536
  std::int64_t abmc_rows = 16;      ///< B, 1 to 1024
};

/// A permutation and its colours.
///   order        order[i] = row of A that becomes row i
///   color_begin  colours + 1 offsets into the new rows; no colour is empty. Inside a colour nodes and blocks have the
///                reverse Cuthill-McKee order of their first rows
///   block_begin  abmc: blocks + 1 offsets into the new rows; else empty
template <class I> struct Ordering {
  Array<I> order, color_begin, block_begin;
};

/// Makes an order.
///   A       n x n, already checked by check_pattern; diagonal entries may be missing
///   out     [out] unchanged on failure
///   errors  invalid_argument: K or B out of range; out_of_memory, also if the entries of A + A^T do not fit an index
///   cost    O(nnz log n), O(nnz) memory; only the graph of A + A^T is made on `threads` threads
template <class I>
Status make_ordering(PatternView<I> A, const OrderingOptions& options, int threads, Ordering<I>* out);

}  // namespace syncfree
