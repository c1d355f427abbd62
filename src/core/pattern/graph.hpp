#pragma once

/// Square patterns, processed by several threads: offsets, transposes, symmetry.

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>
#include <vector>

#include "core/support/parallel.hpp"
#include "syncfree/array.hpp"
#include "syncfree/csr.hpp"

namespace syncfree {

/// A pattern that owns its arrays; the columns of a row ascend.
template <class I> struct Graph {
  Array<I> row_begin, column;

  PatternView<I> pattern_view() const
  {
    return {static_cast<I>(row_begin.empty() ? 0 : row_begin.size() - 1), row_begin.data(), column.data()};
  }
};

/// Replaces begin[i + 1] = length of row i by the row offsets. Returns false if I cannot count the entries.
///   begin   [in, out] n + 1 entries
template <class I> bool make_offsets(int threads, Array<I>* begin)
{
  const I n = static_cast<I>(begin->size() - 1);
  std::vector<std::size_t> before(parts_of(n) + 1, 0);
  for_parts(threads, parts_of(n), [&](std::size_t part) {
    std::size_t sum = 0;
    for (I i = first_of_part<I>(part); i < end_of_part(part, n); ++i) sum += static_cast<std::size_t>((*begin)[i + 1]);
    before[part + 1] = sum;
  });
  std::partial_sum(before.begin(), before.end(), before.begin());
  if (before.back() > static_cast<std::size_t>(std::numeric_limits<I>::max())) return false;
  (*begin)[0] = 0;
  for_parts(threads, parts_of(n), [&](std::size_t part) {
    I sum = static_cast<I>(before[part]);
    for (I i = first_of_part<I>(part); i < end_of_part(part, n); ++i) (*begin)[i + 1] = sum += (*begin)[i + 1];
  });
  return true;
}

/// Computes G^T. The thread that makes rows [a, b) of it visits the entries of G in columns [a, b): in most matrices
/// with a useful order, few parts of the rows have any.
template <class I> class Transposition {
public:
  Transposition(PatternView<I> G, int threads)
      : G_(G), threads_(threads), ranges_(ranges_of(G, threads)), first_(parts_of(G.n)), last_(parts_of(G.n))
  {
  }

  void transpose_pattern(Array<I>* row_begin, Array<I>* column)
  {
    row_begin->resize(static_cast<std::size_t>(G_.n) + 1);
    for_parts(threads_, parts_of(G_.n), [&](std::size_t part) { find_reach(part); });
    for_parts(threads_, ranges_, [&](std::size_t r) { count_columns(bound(r), bound(r + 1), row_begin->data() + 1); });
    make_offsets(threads_, row_begin);
    column->resize(static_cast<std::size_t>(G_.nnz()));
    for_parts(threads_, ranges_,
              [&](std::size_t r) { place_rows(bound(r), bound(r + 1), *row_begin, column->data()); });
  }

private:
  /// Several ranges for each thread, because their work differs; each range costs a check of every part.
  static std::size_t ranges_of(const PatternView<I>& G, int threads)
  {
    const std::size_t worth = static_cast<std::size_t>(G.nnz()) / rows_of_part + 1;
    return threads > 1 ? std::min(4 * static_cast<std::size_t>(threads), worth) : 1;
  }

  I bound(std::size_t range) const { return static_cast<I>(static_cast<std::size_t>(G_.n) * range / ranges_); }

  /// Stores the range of columns of the part's entries in first_ and last_.
  void find_reach(std::size_t part)
  {
    I first = G_.n, last = -1;
    for (I i = first_of_part<I>(part); i < end_of_part(part, G_.n); ++i)
      if (G_.row_begin[i] < G_.row_begin[i + 1]) {
        first = std::min(first, G_.column[G_.row_begin[i]]);
        last = std::max(last, G_.column[G_.row_begin[i + 1] - 1]);
      }
    first_[part] = first;
    last_[part] = last;
  }

  /// Calls use(i, j) for all entries with a <= j < b, row by row.
  template <class Use> void for_entries(I a, I b, const Use& use) const
  {
    for (std::size_t part = 0; part < parts_of(G_.n); ++part) {
      if (last_[part] < a || first_[part] >= b) continue;
      for (I i = first_of_part<I>(part); i < end_of_part(part, G_.n); ++i) {
        const I* k = G_.column + G_.row_begin[i];
        const I* const end = G_.column + G_.row_begin[i + 1];
        if (k < end && *k < a) k = end[-1] < a ? end : std::lower_bound(k, end, a);
        for (; k < end && *k < b; ++k) use(i, *k);
      }
    }
  }

  void count_columns(I a, I b, I* length) const
  {
    std::fill(length + a, length + b, I(0));
    for_entries(a, b, [=](I, I j) { ++length[j]; });
  }

  void place_rows(I a, I b, const Array<I>& row_begin, I* column) const
  {
    Array<I> next(row_begin.begin() + a, row_begin.begin() + b);
    I* const place = next.data();
    for_entries(a, b, [=](I i, I j) { column[place[j - a]++] = i; });
  }

  PatternView<I> G_;
  int threads_;
  std::size_t ranges_;
  std::vector<I> first_, last_;
};

/// True if (j, i) is an entry. A short row is scanned completely, which needs no branch per entry.
template <class I> bool has_entry(const PatternView<I>& G, I j, I i)
{
  const I begin = G.row_begin[j], end = G.row_begin[j + 1];
  if (end - begin > 32) return std::binary_search(G.column + begin, G.column + end, i);
  unsigned found = 0;
  for (I k = begin; k < end; ++k) found |= G.column[k] == i;
  return found != 0;
}

/// Position of the first entry of row i whose column is at least i. In short rows counting is faster than a search,
/// whose branches are unpredictable.
template <class I> I first_not_below(const PatternView<I>& A, I i)
{
  const I begin = A.row_begin[i], end = A.row_begin[i + 1];
  if (end - begin > 32) return static_cast<I>(std::lower_bound(A.column + begin, A.column + end, i) - A.column);
  I below = 0;
  for (I k = begin; k < end; ++k) below += A.column[k] < i;
  return begin + below;
}

/// Finds missing diagonal entries and tests whether the pattern is symmetric: it is if every entry below the diagonal
/// has its mirror image and there are as many entries above as below. Within a part of the rows, each row has a cursor
/// at the entry above the diagonal whose mirror image comes next.
template <class I> class Survey {
public:
  Survey(const PatternView<I>& G, int threads) : G_(G), missing_(parts_of(G.n), I(-1))
  {
    for_parts(threads, missing_.size(), [&](std::size_t part) { look_at(part); });
  }

  /// The first row without a diagonal entry, or -1.
  I missing() const
  {
    const auto found = std::find_if(missing_.begin(), missing_.end(), [](I row) { return row >= 0; });
    return found == missing_.end() ? I(-1) : *found;
  }
  bool symmetric() const { return mirrored_ && surplus_ == 0; }

private:
  void look_at(std::size_t part)
  {
    const I first = first_of_part<I>(part), end = end_of_part(part, G_.n);
    Array<I> cursor(static_cast<std::size_t>(end - first));
    std::int64_t surplus = 0;
    bool mirrored = mirrored_;
    for (I i = first; i < end; ++i) {
      const I diagonal = mirrored ? check_mirror_images(i, first, cursor.data(), &mirrored) : first_not_below(G_, i);
      const bool has_diagonal = diagonal < G_.row_begin[i + 1] && G_.column[diagonal] == i;
      if (!has_diagonal && missing_[part] < 0) missing_[part] = i;
      cursor[i - first] = diagonal + has_diagonal;
      surplus += (diagonal - G_.row_begin[i]) - (G_.row_begin[i + 1] - diagonal - has_diagonal);
    }
    if (!mirrored) mirrored_ = false;
    surplus_ += surplus;
  }

  /// Checks the mirror images of row i's entries below the diagonal. Returns the position of the first entry after
  /// those.
  I check_mirror_images(I i, I first, I* cursor, bool* mirrored) const
  {
    bool good = true;
    I k = G_.row_begin[i];
    for (; k < G_.row_begin[i + 1] && G_.column[k] < i; ++k) {
      const I j = G_.column[k];
      if (j < first) {
        good &= has_entry(G_, j, i);
        continue;
      }
      const I at = cursor[j - first]++;
      good &= at < G_.row_begin[j + 1] && G_.column[at] == i;
    }
    *mirrored = good;
    return k;
  }

  PatternView<I> G_;
  std::vector<I> missing_;  ///< by part
  std::atomic<bool> mirrored_{true};
  std::atomic<std::int64_t> surplus_{0};
};

}  // namespace syncfree
