#pragma once

/// Fill of bounded level by elimination, for levels at which searches for fill paths visit far more rows than a factor
/// has entries. A row is a linked list of ascending columns; the rows of U that it is eliminated with are merged into
/// it one after the other (Saad 2003, algorithm 10.6): entry (i, j) has the level
/// lev(i,j) = min(lev(i,j), lev(i,p) + lev(p,j) + 1). Rows depend on each other, so one thread does all the work.

#include <algorithm>
#include <vector>

#include "fill_search.hpp"
#include "syncfree/factor.hpp"

namespace syncfree {

/// The current row: columns in ascending order with their levels.
template <class I> class RowList {
public:
  explicit RowList(I n)
      : n_(n), next_(static_cast<std::size_t>(n) + 1, absent), level_(static_cast<std::size_t>(n))
  {
    next_[n] = n;
  }

  I first() const { return next_[n_]; }
  I next(I column) const { return next_[column]; }
  I end() const { return n_; }
  int level(I column) const { return level_[column]; }

  /// Inserts a column, or lowers its level.
  ///   from   a column of the list below `column`, or end()
  void insert_column(I column, int level, I from)
  {
    if (next_[column] != absent) {
      level_[column] = std::min(level_[column], level);
      return;
    }
    while (next_[from] < column) from = next_[from];
    next_[column] = next_[from];
    next_[from] = column;
    level_[column] = level;
  }

  void clear_row()
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
  Array<int> level_;
};

/// Computes both triangles, row by row.
template <class I> class RowMerging {
public:
  ///   needs_diagonal   true if a row without (i, i), as an entry or as fill, is a failure
  RowMerging(const PatternView<I>& G, int levels, bool needs_diagonal)
      : G_(G), levels_(levels), needs_diagonal_(needs_diagonal), list_(G.n)
  {
  }

  /// Makes both triangles of *made. After a failure *made holds the rows finished so far.
  ///   errors  missing_diagonal(row of G), invalid_argument if I cannot count the entries; throws std::bad_alloc
  Status eliminate_rows(FactorPattern<I>* made)
  {
    made->lower_begin.assign(1, 0);
    made->upper_begin.assign(1, 0);
    I missing = -1;
    for (I i = 0; i < G_.n; ++i) {
      load_row(i);
      for (I p = list_.first(); p < i; p = list_.next(p)) merge(p, *made);
      if (!emit(i, made) && missing < 0) missing = i;
      if (!counts(made->lower_column) || !counts(made->upper_column)) return too_many_entries<I>();
      made->lower_begin.push_back(static_cast<I>(made->lower_column.size()));
      made->upper_begin.push_back(static_cast<I>(made->upper_column.size()));
    }
    return needs_diagonal_ && missing >= 0 ? failed(Code::missing_diagonal, missing) : Status();
  }

private:
  /// Loads row i of G with level 0.
  void load_row(I i)
  {
    I from = list_.end();
    for (I k = G_.row_begin[i]; k < G_.row_begin[i + 1]; ++k) {
      list_.insert_column(G_.column[k], 0, from);
      from = G_.column[k];
    }
  }

  /// Merges row p of U into the list; p is one of its columns.
  void merge(I p, const FactorPattern<I>& made)
  {
    const int left = levels_ - list_.level(p);
    I from = p;
    for (I k = made.upper_begin[p]; left > 0 && k < made.upper_begin[p + 1]; ++k) {
      if (upper_level_[k] >= left) continue;
      list_.insert_column(made.upper_column[k], levels_ - left + upper_level_[k] + 1, from);
      from = made.upper_column[k];
    }
  }

  /// Appends the list to *made as row i and clears it. Returns false if it has no (i, i).
  bool emit(I i, FactorPattern<I>* made)
  {
    I j = list_.first();
    for (; j < i; j = list_.next(j)) made->lower_column.push_back(j);
    const bool has_diagonal = j == i;
    if (has_diagonal) j = list_.next(j);
    for (; j < list_.end(); j = list_.next(j)) {
      made->upper_column.push_back(j);
      upper_level_.push_back(list_.level(j));
    }
    list_.clear_row();
    return has_diagonal;
  }

  static bool counts(const Array<I>& column)
  {
    return column.size() <= static_cast<std::size_t>(std::numeric_limits<I>::max());
  }

  PatternView<I> G_;
  int levels_;
  bool needs_diagonal_;
  RowList<I> list_;
  Array<int> upper_level_;  ///< level of each entry of U
};

}  // namespace syncfree
