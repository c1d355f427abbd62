/// Pattern of an incomplete factor.
///
/// Entry (i, j) of the permuted matrix has level 0. Eliminating with row p gives (i, j) the
/// level lev(i,p) + lev(p,j) + 1 if that is lower than what it has, and entries of a level
/// above k are dropped. In such an elimination rows depend on each other. Searches for fill paths do not: row i of U is
/// found by a search from i in the graph of the matrix, column j of L by a search from j in the transposed graph. But
/// the cost of a search grows with every level, even if nothing is left to fill; for high levels rows are merged
/// instead.

#include <algorithm>
#include <atomic>
#include <new>
#include <numeric>

#include "core/pattern/graph.hpp"
#include "core/support/instantiate.hpp"
#include "core/support/parallel.hpp"
#include "fill_elimination.hpp"
#include "fill_search.hpp"
#include "syncfree/factor.hpp"

namespace syncfree {
namespace {

/// Level 0: the matrix's rows, split at the diagonal.
template <class I> class Split {
public:
  ///   diagonal_fill   true if rows may lack their diagonal
  Split(const PatternView<I>& A, Kind kind, bool diagonal_fill, int threads)
      : A_(A), kind_(kind), diagonal_fill_(diagonal_fill), threads_(threads), lower_(parts_of(A.n) + 1, 0),
        upper_(parts_of(A.n) + 1, 0), missing_(parts_of(A.n), I(-1))
  {
  }

  /// Makes both triangles of *made.
  ///   errors  missing_diagonal(row of A)
  Status split_pattern(FactorPattern<I>* made)
  {
    made->lower_begin.resize(static_cast<std::size_t>(A_.n) + 1);
    made->upper_begin.resize(static_cast<std::size_t>(A_.n) + 1);
    made->lower_begin[0] = made->upper_begin[0] = 0;
    for_parts(threads_, parts_of(A_.n), [&](std::size_t part) { count_entries(part, made); });
    for (const I row : missing_)
      if (row >= 0) return failed(Code::missing_diagonal, row);
    std::partial_sum(lower_.begin(), lower_.end(), lower_.begin());
    std::partial_sum(upper_.begin(), upper_.end(), upper_.begin());
    if (kind_ == Kind::ilu) made->lower_column.resize(static_cast<std::size_t>(lower_.back()));
    made->upper_column.resize(static_cast<std::size_t>(upper_.back()));
    for_parts(threads_, parts_of(A_.n), [&](std::size_t part) { copy_entries(part, made); });
    if (kind_ == Kind::icc)
      Transposition<I>(made->upper(), threads_).transpose_pattern(&made->lower_begin, &made->lower_column);
    return {};
  }

private:
  /// Computes the offsets as if the part were the first, and the part's numbers of entries.
  void count_entries(std::size_t part, FactorPattern<I>* made)
  {
    I lower = 0, upper = 0;
    for (I i = first_of_part<I>(part); i < end_of_part(part, A_.n); ++i) {
      const I begin = A_.row_begin[i], end = A_.row_begin[i + 1], diagonal = first_not_below(A_, i);
      const bool has_diagonal = diagonal < end && A_.column[diagonal] == i;
      if (!has_diagonal && !diagonal_fill_) {
        missing_[part] = i;
        return;
      }
      made->lower_begin[i + 1] = lower += diagonal - begin;
      made->upper_begin[i + 1] = upper += end - diagonal - has_diagonal;
    }
    lower_[part + 1] = lower;
    upper_[part + 1] = upper;
  }

  void copy_entries(std::size_t part, FactorPattern<I>* made) const
  {
    I lower_to = lower_[part], upper_to = upper_[part];
    for (I i = first_of_part<I>(part); i < end_of_part(part, A_.n); ++i) {
      const I lower_end = made->lower_begin[i + 1] += lower_[part];
      const I upper_end = made->upper_begin[i + 1] += upper_[part];
      const I* from = A_.column + A_.row_begin[i];
      if (kind_ == Kind::ilu)
        for (I k = 0; k < lower_end - lower_to; ++k) made->lower_column[lower_to + k] = from[k];
      from = A_.column + A_.row_begin[i + 1] - (upper_end - upper_to);
      for (I k = 0; k < upper_end - upper_to; ++k) made->upper_column[upper_to + k] = from[k];
      lower_to = lower_end;
      upper_to = upper_end;
    }
  }

  const PatternView<I>& A_;
  Kind kind_;
  bool diagonal_fill_;
  int threads_;
  std::vector<I> lower_, upper_;  ///< by part, shifted by one: entries; then the part's first position
  std::vector<I> missing_;        ///< by part: the first row without a diagonal entry, or -1
};

/// Inverts an order; returns false if it is no permutation. The thread that fills a range of the inverse reads the
/// whole order.
template <class I> bool invert(const std::vector<I>& order, int threads, std::vector<I>* place)
{
  const I n = static_cast<I>(order.size());
  place->assign(order.size(), -1);
  std::atomic<std::size_t> placed{0};
  const std::size_t ranges = std::min(static_cast<std::size_t>(threads), parts_of(n));
  for_parts(threads, ranges, [&](std::size_t range) {
    const I begin = static_cast<I>(order.size() * range / ranges);
    const I end = static_cast<I>(order.size() * (range + 1) / ranges);
    std::size_t mine = 0;
    for (I i = 0; i < n; ++i)
      if (order[i] >= begin && order[i] < end && (*place)[order[i]] == -1) {
        (*place)[order[i]] = i;
        ++mine;
      }
    placed += mine;
  });
  return placed == order.size();
}

/// Highest level of fill that is computed by searches. On a chain (tridiagonal matrix), their worst case, they take
/// 0.15 s for 10^6 rows and merging takes 0.03 s; for 5 points in a plane both take the same time, for 7 points in
/// space merging takes six times as long.
constexpr int most_levels_searched = 12;

/// Makes the pattern from the graph of the permuted matrix.
template <class I> class PatternBuilder {
public:
  PatternBuilder(const PatternView<I>& A, const SymbolicOptions<I>& options, int threads)
      : A_(A), options_(options), threads_(threads)
  {
    out_.kind = options.kind;
    out_.n = A.n;
    out_.levels = options.levels;
  }

  Status build_pattern(FactorPattern<I>* out)
  {
    const bool split_checks =
        options_.levels == 0 && !options_.row_order && !options_.column_order && !options_.ordering;
    Status status = split_checks ? Status() : check_diagonal();
    if (status.ok()) status = take_orders();
    if (status.ok()) status = build();
    if (status.ok()) *out = std::move(out_);
    return status;
  }

private:
  Status check_diagonal()
  {
    const Survey<I> survey(A_, threads_);
    symmetric_ = survey.symmetric();
    return survey.missing() < 0 ? Status() : failed(Code::missing_diagonal, survey.missing());
  }

  Status take_orders()
  {
    if (options_.levels < 0) return failed(Code::invalid_argument, "levels of fill must not be negative");
    if (!options_.row_order != !options_.column_order)
      return failed(Code::invalid_argument, "row and column order must both be given, or neither");
    if (options_.ordering && options_.row_order)
      return failed(Code::invalid_argument, "orders must be given or made, not both");
    if (options_.ordering) return make_orders();
    if (!options_.row_order) return {};
    out_.row_order.assign(options_.row_order, options_.row_order + A_.n);
    out_.column_order.assign(options_.column_order, options_.column_order + A_.n);
    one_order_ = out_.row_order == out_.column_order;
    if (options_.kind == Kind::icc && !one_order_)
      return failed(Code::invalid_argument, "IC requires equal row and column orders");
    std::vector<I> row_place;
    if (!invert(out_.column_order, threads_, &out_.column_place) ||
        !(one_order_ || invert(out_.row_order, threads_, &row_place)))
      return failed(Code::invalid_argument, "an order is not a permutation");
    return {};
  }

  Status make_orders()
  {
    Ordering<I> made;
    const Status status = make_ordering(A_, *options_.ordering, threads_, &made);
    if (!status.ok()) return status;
    out_.row_order.assign(made.order.begin(), made.order.end());
    out_.column_order = out_.row_order;
    out_.block_begin.assign(made.block_begin.begin(), made.block_begin.end());
    out_.colors = static_cast<I>(made.color_begin.size()) - 1;
    (void)invert(out_.column_order, threads_, &out_.column_place);
    return {};
  }

  Status build()
  {
    if (!out_.natural()) permute();
    const PatternView<I> G = out_.natural() ? A_ : permuted_.pattern_view();
    Status status;
    const bool diagonal_fill = options_.diagonal_fill && !out_.natural();
    if (options_.levels == 0) status = Split<I>(G, options_.kind, diagonal_fill, threads_).split_pattern(&out_);
    else status = find_fill(G);
    if (status.code == Code::missing_diagonal && !out_.natural()) status.row = out_.row_order[status.row];
    return status;
  }

  /// Sets permuted_(i, column_place(j)) where A(row_order(i), j) is an entry.
  void permute()
  {
    Array<I>& begin = permuted_.row_begin;
    begin.resize(static_cast<std::size_t>(A_.n) + 1);
    for_rows([&](I i) {
      begin[i + 1] = A_.row_begin[out_.row_order[i] + 1] - A_.row_begin[out_.row_order[i]];
    });
    make_offsets(threads_, &begin);
    permuted_.column.resize(static_cast<std::size_t>(A_.nnz()));
    for_rows([&](I i) {
      const I* from = A_.column + A_.row_begin[out_.row_order[i]];
      I* const row = permuted_.column.data() + begin[i];
      const I length = begin[i + 1] - begin[i];
      for (I k = 0; k < length; ++k) row[k] = out_.column_place[from[k]];
      std::sort(row, row + length);
    });
  }

  Status find_fill(const PatternView<I>& G)
  {
    const bool symmetric = one_order_ ? symmetric_ : Survey<I>(G, threads_).symmetric();
    if (symmetric) return fill_symmetric(G);
    return options_.kind == Kind::icc ? fill_mirrored(G) : fill_unsymmetric(G);
  }

  bool searched() const { return options_.levels <= most_levels_searched; }
  bool needs_diagonal() const { return !one_order_ && !options_.diagonal_fill; }

  Status find_upper(const PatternView<I>& G)
  {
    FillSearch<I> search(G, options_.levels, needs_diagonal(), threads_);
    return search.search_rows(&out_.upper_begin, &out_.upper_column);
  }

  /// Makes both triangles of a symmetric pattern: L = U^T.
  Status fill_symmetric(const PatternView<I>& G)
  {
    if (!searched()) return merge_rows(G);
    Status status = find_upper(G);
    if (status.ok()) Transposition<I>(out_.upper(), threads_).transpose_pattern(&out_.lower_begin, &out_.lower_column);
    return status;
  }

  Status fill_unsymmetric(const PatternView<I>& G)
  {
    if (!searched()) return merge_rows(G);
    Status status = find_upper(G);
    if (!status.ok()) return status;
    Graph<I> columns;  // of G, then of L
    Transposition<I>(G, threads_).transpose_pattern(&columns.row_begin, &columns.column);
    Graph<I> lower;
    FillSearch<I> search(columns.pattern_view(), options_.levels, false, threads_);
    status = search.search_rows(&lower.row_begin, &lower.column);
    if (!status.ok()) return status;
    Transposition<I>(lower.pattern_view(), threads_).transpose_pattern(&out_.lower_begin, &out_.lower_column);
    return status;
  }

  Status merge_rows(const PatternView<I>& G)
  {
    return RowMerging<I>(G, options_.levels, needs_diagonal()).eliminate_rows(&out_);
  }

  /// Makes both triangles for the symmetric pattern of G's upper triangle and its mirror image.
  Status fill_mirrored(const PatternView<I>& G)
  {
    FactorPattern<I> triangles;
    triangles.n = G.n;
    Status status = Split<I>(G, Kind::icc, true, threads_).split_pattern(&triangles);
    if (!status.ok()) return status;
    const PatternView<I> L = triangles.lower(), U = triangles.upper();
    Graph<I> both;
    both.row_begin.resize(static_cast<std::size_t>(G.n) + 1);
    for_rows([&](I i) {
      both.row_begin[i + 1] = L.row_begin[i + 1] - L.row_begin[i] + U.row_begin[i + 1] - U.row_begin[i];
    });
    if (!make_offsets(threads_, &both.row_begin)) return too_many_entries<I>();
    both.column.resize(static_cast<std::size_t>(both.row_begin.back()));
    for_rows([&](I i) {
      I* const row = both.column.data() + both.row_begin[i];
      I* const end = std::copy(L.column + L.row_begin[i], L.column + L.row_begin[i + 1], row);
      std::copy(U.column + U.row_begin[i], U.column + U.row_begin[i + 1], end);
    });
    triangles = FactorPattern<I>();
    return fill_symmetric(both.pattern_view());
  }

  /// Calls use(i) for all rows.
  template <class Use> void for_rows(const Use& use) const
  {
    for_parts(threads_, parts_of(A_.n), [&](std::size_t part) {
      for (I i = first_of_part<I>(part); i < end_of_part(part, A_.n); ++i) use(i);
    });
  }

  const PatternView<I>& A_;
  const SymbolicOptions<I>& options_;
  int threads_;
  bool symmetric_ = false;  ///< A is symmetric; set if its diagonal was checked
  bool one_order_ = true;   ///< rows and columns have the same order
  Graph<I> permuted_;       ///< empty if the order is natural
  FactorPattern<I> out_;
};

}  // namespace

template <class I>
Status make_factor_pattern(PatternView<I> A, const SymbolicOptions<I>& options, FactorPattern<I>* out, int threads)
try {
  return PatternBuilder<I>(A, options, std::max(threads, 1)).build_pattern(out);
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

template <class I> std::int64_t count_operations(const FactorPattern<I>& pattern)
{
  std::int64_t operations = pattern.n;
  for (I p = 0; p < pattern.n; ++p) {
    const std::int64_t length = pattern.upper_begin[p + 1] - pattern.upper_begin[p];
    operations += length * (1 + 2 * length);
  }
  return operations;
}

#define INSTANTIATE(I)                                                     \
  template std::int64_t count_operations<I>(const FactorPattern<I>&); \
  template Status make_factor_pattern<I>(PatternView<I>, const SymbolicOptions<I>&, FactorPattern<I>*, int);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
