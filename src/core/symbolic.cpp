/// Which entries an incomplete factor has.
///
/// Entry (i, j) of the permuted matrix has level 0. Eliminating with row p gives (i, j) the
/// level lev(i,p) + lev(p,j) + 1 if that is lower than what it has, and entries of a level
/// above k are dropped. A row is built as a linked list in ascending order of columns, into
/// which the rows it is eliminated with are merged one after the other.

#include <algorithm>
#include <limits>
#include <new>
#include <numeric>

#include "instantiate.hpp"
#include "parallel.hpp"
#include "syncfree/factor.hpp"

namespace syncfree {
namespace {

/// The row at hand: columns in ascending order with their levels.
template <class I> class RowList {
public:
  explicit RowList(I n) : n_(n), next_(n + 1, absent), level_(n) { next_[n] = n; }

  I first() const { return next_[n_]; }
  I next(I column) const { return next_[column]; }
  I end() const { return n_; }
  int level(I column) const { return level_[column]; }
  bool has(I column) const { return next_[column] != absent; }

  /// Inserts or lowers a level. `from` is a column of the list below `column`, or end().
  void add(I column, int level, I from)
  {
    if (has(column)) {
      level_[column] = std::min(level_[column], level);
      return;
    }
    while (next_[from] < column) from = next_[from];
    next_[column] = next_[from];
    next_[from] = column;
    level_[column] = level;
  }

  void clear()
  {
    for (I j = first(); j < n_;) {
      const I following = next_[j];
      next_[j] = absent;
      j = following;
    }
    next_[n_] = n_;
  }

private:
  static constexpr I absent = -1;
  I n_;
  std::vector<I> next_;
  std::vector<int> level_;
};

/// L = U^T of an IC pattern.
template <class I> void transpose_upper(FactorPattern<I>* pattern)
{
  const I n = pattern->n;
  const I nnz = static_cast<I>(pattern->upper_column.size());
  pattern->lower_begin.assign(n + 1, 0);
  for (I j : pattern->upper_column) ++pattern->lower_begin[j + 1];
  for (I i = 0; i < n; ++i) pattern->lower_begin[i + 1] += pattern->lower_begin[i];
  pattern->lower_column.resize(nnz);
  std::vector<I> next(pattern->lower_begin.begin(), pattern->lower_begin.end());
  for (I i = 0; i < n; ++i)
    for (I k = pattern->upper_begin[i]; k < pattern->upper_begin[i + 1]; ++k)
      pattern->lower_column[next[pattern->upper_column[k]]++] = i;
}

/// Position of the first entry of row i in column i or behind. In short rows a count is faster than a search, whose
/// branches nobody can foresee.
template <class I> I first_not_below(const PatternView<I>& A, I i)
{
  const I begin = A.row_begin[i], end = A.row_begin[i + 1];
  if (end - begin > 32) return static_cast<I>(std::lower_bound(A.column + begin, A.column + end, i) - A.column);
  I below = 0;
  for (I k = begin; k < end; ++k) below += A.column[k] < i;
  return begin + below;
}

/// Level 0 in the natural order: A's rows, split at the diagonal.
template <class I> class Split {
public:
  Split(const PatternView<I>& A, Kind kind, int threads)
      : A_(A), kind_(kind), threads_(threads), lower_(parts_of(A.n) + 1, 0), upper_(parts_of(A.n) + 1, 0),
        missing_(parts_of(A.n), I(-1))
  {
  }

  Status run(FactorPattern<I>* out)
  {
    FactorPattern<I> made;
    made.kind = kind_;
    made.n = A_.n;
    made.lower_begin.resize(static_cast<std::size_t>(A_.n) + 1);
    made.upper_begin.resize(static_cast<std::size_t>(A_.n) + 1);
    made.lower_begin[0] = made.upper_begin[0] = 0;
    for_parts(threads_, parts_of(A_.n), [&](std::size_t part) { count(part, &made); });
    for (const I row : missing_)
      if (row >= 0) return failed(Code::missing_diagonal, row);
    std::partial_sum(lower_.begin(), lower_.end(), lower_.begin());
    std::partial_sum(upper_.begin(), upper_.end(), upper_.begin());
    if (kind_ == Kind::ilu) made.lower_column.resize(static_cast<std::size_t>(lower_.back()));
    made.upper_column.resize(static_cast<std::size_t>(upper_.back()));
    for_parts(threads_, parts_of(A_.n), [&](std::size_t part) { copy(part, &made); });
    if (kind_ == Kind::icc) transpose_upper(&made);
    *out = std::move(made);
    return {};
  }

private:
  /// Offsets as if the part were the first, and what it adds.
  void count(std::size_t part, FactorPattern<I>* made)
  {
    I lower = 0, upper = 0;
    for (I i = first_of_part<I>(part); i < end_of_part(part, A_.n); ++i) {
      const I begin = A_.row_begin[i], end = A_.row_begin[i + 1], diagonal = first_not_below(A_, i);
      if (diagonal == end || A_.column[diagonal] != i) {
        missing_[part] = i;
        return;
      }
      made->lower_begin[i + 1] = lower += diagonal - begin;
      made->upper_begin[i + 1] = upper += end - diagonal - 1;
    }
    lower_[part + 1] = lower;
    upper_[part + 1] = upper;
  }

  void copy(std::size_t part, FactorPattern<I>* made) const
  {
    I lower_to = lower_[part], upper_to = upper_[part];
    for (I i = first_of_part<I>(part); i < end_of_part(part, A_.n); ++i) {
      const I* from = A_.column + A_.row_begin[i];
      const I lower_end = made->lower_begin[i + 1] += lower_[part];
      const I upper_end = made->upper_begin[i + 1] += upper_[part];
      const I below = lower_end - lower_to;
      if (kind_ == Kind::ilu)
        for (I k = 0; k < below; ++k) made->lower_column[lower_to + k] = from[k];
      for (I k = 0; k < upper_end - upper_to; ++k) made->upper_column[upper_to + k] = from[below + 1 + k];
      lower_to = lower_end;
      upper_to = upper_end;
    }
  }

  const PatternView<I>& A_;
  Kind kind_;
  int threads_;
  std::vector<I> lower_, upper_;  ///< by part, one behind: entries; then where the part begins
  std::vector<I> missing_;        ///< by part: the first row without a diagonal entry, or -1
};

/// Builds the pattern row by row.
template <class I> class PatternBuilder {
public:
  PatternBuilder(const PatternView<I>& A, const SymbolicOptions<I>& options) : A_(A), options_(options), list_(A.n)
  {
    out_.kind = options.kind;
    out_.n = A.n;
    out_.levels = options.levels;
  }

  Status run(FactorPattern<I>* out)
  {
    Status status = check_diagonal();
    if (status.ok()) status = take_orders();
    if (!status.ok()) return status;
    reserve();
    if (options_.kind == Kind::ilu) status = build_lu();
    else status = build_cholesky();
    if (status.ok()) *out = std::move(out_);
    return status;
  }

private:
  Status check_diagonal() const
  {
    for (I i = 0; i < A_.n; ++i)
      if (!std::binary_search(A_.column + A_.row_begin[i], A_.column + A_.row_begin[i + 1], i))
        return failed(Code::missing_diagonal, i);
    return {};
  }

  Status take_orders()
  {
    if (options_.levels < 0) return failed(Code::invalid_argument, "levels of fill must not be negative");
    if (!options_.row_order != !options_.column_order)
      return failed(Code::invalid_argument, "row and column order must be given both or not at all");
    if (!options_.row_order) return {};
    out_.row_order.assign(options_.row_order, options_.row_order + A_.n);
    out_.column_order.assign(options_.column_order, options_.column_order + A_.n);
    if (options_.kind == Kind::icc && out_.row_order != out_.column_order)
      return failed(Code::invalid_argument, "IC needs equal row and column orders");
    std::vector<I> row_place;
    if (!invert(out_.row_order, &row_place) || !invert(out_.column_order, &out_.column_place))
      return failed(Code::invalid_argument, "an order is no permutation");
    return {};
  }

  static bool invert(const std::vector<I>& order, std::vector<I>* place)
  {
    const I n = static_cast<I>(order.size());
    place->assign(n, -1);
    for (I i = 0; i < n; ++i) {
      if (order[i] < 0 || order[i] >= n || (*place)[order[i]] != -1) return false;
      (*place)[order[i]] = i;
    }
    return true;
  }

  void reserve()
  {
    const I half = A_.nnz() / 2 + 1;
    out_.lower_begin.reserve(A_.n + 1);
    out_.upper_begin.reserve(A_.n + 1);
    out_.lower_column.reserve(half);
    out_.upper_column.reserve(half);
    out_.lower_begin.push_back(0);
    out_.upper_begin.push_back(0);
  }

  Status build_lu()
  {
    for (I i = 0; i < A_.n; ++i) {
      load_row(i, 0);
      if (options_.diagonal_fill) list_.add(i, 0, list_.end());
      eliminate_row(i);
      if (!list_.has(i)) return failed(Code::missing_diagonal, original_row(i));
      if (!emit_row(i)) return too_many();
    }
    return {};
  }

  static Status too_many()
  {
    return failed(Code::invalid_argument,
                  "the factor has more entries than " + std::to_string(8 * sizeof(I)) +
                      "-bit indices can count; lower the levels of fill or use wider indices");
  }

  I original_row(I i) const { return out_.natural() ? i : out_.row_order[i]; }

  /// Row i of the permuted matrix, columns from `least` on, at level 0. Sorted before it is linked: a long row in
  /// random order would be searched from its beginning for each entry.
  void load_row(I i, I least)
  {
    const I row = original_row(i);
    row_.clear();
    for (I k = A_.row_begin[row]; k < A_.row_begin[row + 1]; ++k) {
      const I j = out_.natural() ? A_.column[k] : out_.column_place[A_.column[k]];
      if (j >= least) row_.push_back(j);
    }
    if (!out_.natural()) std::sort(row_.begin(), row_.end());
    I from = list_.end();
    for (I j : row_) {
      list_.add(j, 0, from);
      from = j;
    }
  }

  void eliminate_row(I i)
  {
    if (options_.levels == 0) return;
    for (I p = list_.first(); p < i; p = list_.next(p))
      merge(out_.upper_begin[p], out_.upper_begin[p + 1], list_.level(p), p);
  }

  /// Merges entries [begin, end) of the upper rows; `level` is that of the entry eliminated.
  void merge(I begin, I end, int level, I from)
  {
    for (I k = begin; k < end; ++k) {
      const int fill = level + upper_level_[k] + 1;
      if (fill > options_.levels) continue;
      const I j = out_.upper_column[k];
      list_.add(j, fill, from);
      from = j;
    }
  }

  /// False if I cannot count the entries: offsets would wrap around.
  bool emit_row(I i)
  {
    I j = list_.first();
    for (; j < i; j = list_.next(j)) out_.lower_column.push_back(j);
    for (j = list_.next(j); j < list_.end(); j = list_.next(j)) {
      out_.upper_column.push_back(j);
      if (options_.levels > 0) upper_level_.push_back(list_.level(j));
    }
    constexpr std::size_t most = std::numeric_limits<I>::max();
    if (out_.lower_column.size() > most || out_.upper_column.size() > most) return false;
    out_.lower_begin.push_back(static_cast<I>(out_.lower_column.size()));
    out_.upper_begin.push_back(static_cast<I>(out_.upper_column.size()));
    list_.clear();
    return true;
  }

  /// Row k of U is eliminated with the rows p above it that hold column k. Those wait in a
  /// list by the first column they have not been used for yet.
  Status build_cholesky()
  {
    const I n = A_.n;
    std::vector<I> head(n, n), link(n), position(n);
    for (I k = 0; k < n; ++k) {
      load_row(k, k);
      list_.add(k, 0, list_.end());
      for (I p = head[k]; p < n;) {
        const I following = link[p];
        const I at = position[p];
        merge(at + 1, out_.upper_begin[p + 1], options_.levels > 0 ? upper_level_[at] : 0, list_.end());
        position[p] = at + 1;
        enqueue(p, &head, &link, position);
        p = following;
      }
      if (!emit_row(k)) return too_many();
      position[k] = out_.upper_begin[k];
      if (options_.levels > 0) enqueue(k, &head, &link, position);
    }
    transpose_upper(&out_);
    return {};
  }

  void enqueue(I p, std::vector<I>* head, std::vector<I>* link, const std::vector<I>& position) const
  {
    if (position[p] == out_.upper_begin[p + 1]) return;
    const I column = out_.upper_column[position[p]];
    (*link)[p] = (*head)[column];
    (*head)[column] = p;
  }

  const PatternView<I>& A_;
  const SymbolicOptions<I>& options_;
  RowList<I> list_;
  std::vector<I> row_;            ///< columns of the row that is loaded
  std::vector<int> upper_level_;  ///< level of each entry of U, where k > 0
  FactorPattern<I> out_;
};

}  // namespace

template <class I>
Status make_factor_pattern(PatternView<I> A, const SymbolicOptions<I>& options, FactorPattern<I>* out, int threads)
try {
  const bool natural = !options.row_order && !options.column_order;
  if (options.levels == 0 && natural) return Split<I>(A, options.kind, threads).run(out);
  return PatternBuilder<I>(A, options).run(out);
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

#define INSTANTIATE(I) \
  template Status make_factor_pattern<I>(PatternView<I>, const SymbolicOptions<I>&, FactorPattern<I>*, int);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
