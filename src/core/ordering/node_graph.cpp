/// A node's neighbours are found in two steps: the quotient of A, in whose rows columns ascend already, and its union
/// with its transpose.

#include "node_graph.hpp"

#include <algorithm>
#include <new>
#include <numeric>

#include "core/support/instantiate.hpp"

namespace syncfree {
namespace {

template <class I> bool same_node(const PatternView<I>& A, I i)
{
  const I length = A.row_begin[i + 1] - A.row_begin[i];
  const I *row = A.column + A.row_begin[i], *next = A.column + A.row_begin[i + 1];
  return A.row_begin[i + 2] - A.row_begin[i + 1] == length && std::equal(row, row + length, next);
}

template <class I> Array<I> find_nodes(const PatternView<I>& A)
{
  Array<I> begin(1, I(0));
  for (I i = 1; i < A.n; ++i)
    if (!same_node(A, i - 1)) begin.push_back(i);
  if (A.n > 0) begin.push_back(A.n);
  const auto nodes = static_cast<std::int64_t>(begin.size()) - 1;
  if (5 * nodes <= 4 * static_cast<std::int64_t>(A.n)) return begin;
  begin.resize(static_cast<std::size_t>(A.n) + 1);
  std::iota(begin.begin(), begin.end(), I(0));
  return begin;
}

template <class I> Array<I> node_of_rows(const Array<I>& begin)
{
  Array<I> node(static_cast<std::size_t>(begin.back()));
  for (std::size_t v = 0; v + 1 < begin.size(); ++v)
    std::fill(node.begin() + begin[v], node.begin() + begin[v + 1], static_cast<I>(v));
  return node;
}

/// Makes rows of a pattern in parallel: write(i, nullptr) returns the length of row i, write(i, place) stores it. False
/// if I cannot count the entries.
template <class I, class Write> bool make_rows(I rows, int threads, const Write& write, Graph<I>* out)
{
  out->row_begin.resize(static_cast<std::size_t>(rows) + 1);
  out->row_begin[0] = 0;
  for_parts(threads, parts_of(rows), [&](std::size_t part) {
    for (I i = first_of_part<I>(part); i < end_of_part(part, rows); ++i)
      out->row_begin[i + 1] = write(i, static_cast<I*>(nullptr));
  });
  if (!make_offsets(threads, &out->row_begin)) return false;
  out->column.resize(static_cast<std::size_t>(out->row_begin[rows]));
  for_parts(threads, parts_of(rows), [&](std::size_t part) {
    for (I i = first_of_part<I>(part); i < end_of_part(part, rows); ++i)
      write(i, out->column.data() + out->row_begin[i]);
  });
  return true;
}

/// The rows of a node have the same columns, so its first row is enough.
template <class I> bool make_quotient(const PatternView<I>& A, const Array<I>& begin, int threads, Graph<I>* Q)
{
  const Array<I> node = node_of_rows(begin);
  const auto write = [&](I v, I* place) {
    I last = -1, length = 0;
    for (I k = A.row_begin[begin[v]]; k < A.row_begin[begin[v] + 1]; ++k) {
      const I w = node[A.column[k]];
      if (w == last || w == v) continue;
      last = w;
      if (place) place[length] = w;
      ++length;
    }
    return length;
  };
  return make_rows(static_cast<I>(begin.size() - 1), threads, write, Q);
}

/// The union of two rows with ascending columns; its length.
template <class I> I unite(const I* a, const I* a_end, const I* b, const I* b_end, I* place)
{
  I length = 0;
  while (a < a_end || b < b_end) {
    const I next = b == b_end || (a < a_end && *a <= *b) ? *a : *b;
    a += a < a_end && *a == next;
    b += b < b_end && *b == next;
    if (place) place[length] = next;
    ++length;
  }
  return length;
}

template <class I> bool add_transpose(int threads, Graph<I>* Q)
{
  const PatternView<I> q = Q->pattern_view();
  Graph<I> T, both;
  Transposition<I>(q, threads).transpose_pattern(&T.row_begin, &T.column);
  const auto write = [&](I v, I* place) {
    const I *a = q.column, *b = T.column.data();
    return unite(a + q.row_begin[v], a + q.row_begin[v + 1], b + T.row_begin[v], b + T.row_begin[v + 1], place);
  };
  if (!make_rows(q.n, threads, write, &both)) return false;
  *Q = std::move(both);
  return true;
}

}  // namespace

template <class I> Status make_node_graph(PatternView<I> A, int threads, NodeGraph<I>* out)
try {
  NodeGraph<I> made;
  threads = worthwhile_threads(A.nnz(), threads);
  made.node_begin = find_nodes(A);
  if (!make_quotient(A, made.node_begin, threads, &made.graph)) return failed(Code::out_of_memory);
  const bool symmetric = Survey<I>(made.graph.pattern_view(), threads).symmetric();
  if (!symmetric && !add_transpose(threads, &made.graph))
    return failed(Code::out_of_memory, "the graph of A + A^T: its entries do not fit an index");
  *out = std::move(made);
  return {};
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

#define INSTANTIATE(I) template Status make_node_graph<I>(PatternView<I>, int, NodeGraph<I>*);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
