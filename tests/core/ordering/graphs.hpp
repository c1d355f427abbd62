#pragma once

/// Patterns for the tests of orderings, and their graph in the plainest form.

#include <string>
#include <utility>
#include <vector>

#include "core/patterns.hpp"

namespace syncfree {

/// couples[i][j]: A or A^T has the entry (i, j), i != j
template <class I> std::vector<std::vector<bool>> couplings(const PatternView<I>& A)
{
  std::vector<std::vector<bool>> couples(A.n, std::vector<bool>(A.n));
  for (I i = 0; i < A.n; ++i)
    for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k)
      if (A.column[k] != i) couples[i][A.column[k]] = couples[A.column[k]][i] = true;
  return couples;
}

/// Makes the pattern with a full diagonal and the entries given, and their mirror images if `mirrored`.
template <class I>
OwnedPattern<I> pattern_with(I n, const std::vector<std::pair<I, I>>& entries, bool mirrored = true)
{
  std::vector<std::vector<I>> rows(n);
  for (I i = 0; i < n; ++i) rows[i].push_back(i);
  for (const auto& [i, j] : entries) {
    rows[i].push_back(j);
    if (mirrored) rows[j].push_back(i);
  }
  for (auto& row : rows) {
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
  }
  return pattern_of(rows);
}

/// Makes a grid of x by y by z points with the diagonal: neighbours along the axes (star) or all (box).
template <class I> OwnedPattern<I> grid_pattern(I x, I y, I z, bool box)
{
  const auto lower = stencil_triangle<I>(x, y, z, box, true);
  std::vector<std::pair<I, I>> entries;
  for (I i = 0; i < lower.n; ++i)
    for (I k = lower.row_begin[i]; k < lower.row_begin[i + 1]; ++k) entries.emplace_back(i, lower.column[k]);
  return pattern_with(lower.n, entries);
}

/// Makes A(order, order).
template <class I> OwnedPattern<I> in_order(const OwnedPattern<I>& A, const std::vector<I>& order)
{
  std::vector<I> place(order.size());
  for (std::size_t r = 0; r < order.size(); ++r) place[order[r]] = static_cast<I>(r);
  std::vector<std::vector<I>> rows;
  for (const I row : order) {
    rows.emplace_back();
    for (I k = A.row_begin[row]; k < A.row_begin[row + 1]; ++k) rows.back().push_back(place[A.column[k]]);
    std::sort(rows.back().begin(), rows.back().end());
  }
  return pattern_of(rows);
}

/// Orders the points of a grid by their distance from the first corner, at random among equals.
template <class I> std::vector<I> order_by_levels(I x, I y, I z, unsigned seed)
{
  std::vector<I> order = random_order<I>(seed, x * y * z);
  const auto level = [&](I row) { return row % x + row / x % y + row / x / y; };
  std::stable_sort(order.begin(), order.end(), [&](I a, I b) { return level(a) < level(b); });
  return order;
}

template <class I> OwnedPattern<I> random_symmetric(unsigned seed, I n, unsigned percent)
{
  const auto upper = random_triangle<I>(seed, n, percent, false);
  std::vector<std::pair<I, I>> entries;
  for (I i = 0; i < n; ++i)
    for (I k = upper.row_begin[i]; k < upper.row_begin[i + 1]; ++k) entries.emplace_back(i, upper.column[k]);
  return pattern_with(n, entries);
}

/// Makes three unknowns for each row of a pattern: rows in nodes.
template <class I> OwnedPattern<I> in_threes(const OwnedPattern<I>& A)
{
  std::vector<std::vector<I>> rows(3 * A.n);
  for (I i = 0; i < 3 * A.n; ++i)
    for (I k = A.row_begin[i / 3]; k < A.row_begin[i / 3 + 1]; ++k)
      for (I d = 0; d < 3; ++d) rows[i].push_back(3 * A.column[k] + d);
  return pattern_of(rows);
}

/// Renames rows and columns at random.
template <class I> OwnedPattern<I> shuffled(const OwnedPattern<I>& A, unsigned seed)
{
  const auto name = random_order<I>(seed, A.n);
  std::vector<std::vector<I>> rows(A.n);
  for (I i = 0; i < A.n; ++i)
    for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k) rows[name[i]].push_back(name[A.column[k]]);
  for (auto& row : rows) std::sort(row.begin(), row.end());
  return pattern_of(rows);
}

template <class I> struct NamedPattern {
  std::string name;
  OwnedPattern<I> A;
  bool symmetric = true, diagonal = true;
};

/// Patterns with a reason each; none has more than 400 rows.
template <class I> std::vector<NamedPattern<I>> ordering_patterns()
{
  std::vector<std::pair<I, I>> arrow, two_lines;
  for (I i = 1; i < 200; ++i) arrow.emplace_back(0, i);
  for (I i = 0; i < 99; ++i)
    if (i % 50 != 49) two_lines.emplace_back(i, i + 1);
  return {{"none", pattern_of<I>({})},
          {"one", pattern_of<I>({{0}})},
          {"one_empty_row", pattern_of<I>({{}}), true, false},
          {"empty_rows", pattern_of<I>({{}, {1, 3}, {}, {1}, {}}), true, false},
          {"diagonal", pattern_with<I>(70, {})},
          {"line", line_pattern<I>(100), false},
          {"two_lines", pattern_with<I>(100, two_lines)},
          {"dense", random_symmetric<I>(1, 40, 100)},
          {"dense_row_first", pattern_with<I>(200, arrow)},
          {"dense_row_only", pattern_with<I>(200, arrow, false), false},
          {"grid_2d", grid_pattern<I>(13, 17, 1, false)},
          {"grid_3d", grid_pattern<I>(6, 7, 5, false)},
          {"box_3d", grid_pattern<I>(5, 6, 7, true)},
          {"box_3d_shuffled", shuffled(grid_pattern<I>(5, 6, 7, true), 3)},
          {"elasticity", in_threes(grid_pattern<I>(4, 5, 4, true))},
          {"elasticity_2d", in_threes(grid_pattern<I>(9, 11, 1, false))},
          {"random", random_symmetric<I>(2, 300, 2)},
          {"random_in_parts", random_symmetric<I>(3, 300, 0)},
          {"random_unsymmetric", random_matrix<I>(4, 300, 2), false},
          {"random_denser", random_matrix<I>(5, 150, 12), false}};
}

}  // namespace syncfree
