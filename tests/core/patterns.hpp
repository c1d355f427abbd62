#pragma once

/// Small patterns for the tests of the core: made by hand, or at random with fixed seeds.

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <random>
#include <vector>

#include "syncfree/array.hpp"
#include "syncfree/csr.hpp"

namespace syncfree {

/// Compares an array of the library with the expected values, for EXPECT_EQ.
template <class V> bool operator==(const Array<V>& a, const std::vector<V>& b)
{
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

/// A pattern that owns its arrays. Nothing is checked, as tests of the checks need invalid ones.
template <class I> struct OwnedPattern {
  I n = 0;
  std::vector<I> row_begin{0};
  std::vector<I> column;

  PatternView<I> view() const { return {n, row_begin.data(), column.data()}; }
};

/// Makes a pattern from one list of columns per row, unchecked.
template <class I> OwnedPattern<I> pattern_of(const std::vector<std::vector<I>>& rows)
{
  OwnedPattern<I> made;
  made.n = static_cast<I>(rows.size());
  for (const auto& row : rows) {
    made.column.insert(made.column.end(), row.begin(), row.end());
    made.row_begin.push_back(static_cast<I>(made.column.size()));
  }
  return made;
}

/// Makes a random pattern: entry (i, j) with a probability of `percent` % where allowed(i, j), always where forced(i,
/// j).
template <class I, class Allowed, class Forced>
OwnedPattern<I> random_pattern(unsigned seed, I n, unsigned percent, Allowed allowed, Forced forced)
{
  std::mt19937 random(seed);
  std::vector<std::vector<I>> rows(n);
  for (I i = 0; i < n; ++i)
    for (I j = 0; j < n; ++j) {
      const bool drawn = random() % 100 < percent;
      if (forced(i, j) || (drawn && allowed(i, j))) rows[i].push_back(j);
    }
  return pattern_of(rows);
}

/// Makes an unsymmetric n x n pattern with a full diagonal.
template <class I> OwnedPattern<I> random_matrix(unsigned seed, I n, unsigned percent)
{
  return random_pattern<I>(seed, n, percent, [](I, I) { return true; }, [](I i, I j) { return i == j; });
}

/// Makes a strictly lower or strictly upper triangle.
template <class I> OwnedPattern<I> random_triangle(unsigned seed, I n, unsigned percent, bool lower)
{
  return random_pattern<I>(seed, n, percent, [lower](I i, I j) { return lower ? j < i : j > i; },
                           [](I, I) { return false; });
}

/// As random_triangle(), but two of three rows read their direct neighbour, which makes long paths.
template <class I> OwnedPattern<I> random_deep_triangle(unsigned seed, I n, unsigned percent, bool lower)
{
  return random_pattern<I>(
      seed, n, percent, [lower](I i, I j) { return lower ? j < i : j > i; },
      [lower](I i, I j) { return lower ? j + 1 == i && i % 3 : j == i + 1 && i % 3; });
}

template <class I> std::vector<I> random_order(unsigned seed, I n)
{
  std::mt19937 random(seed);
  std::vector<I> order(n);
  std::iota(order.begin(), order.end(), I(0));
  for (I i = n; i > 1; --i) std::swap(order[i - 1], order[random() % static_cast<unsigned>(i)]);
  return order;
}

/// Makes a tridiagonal pattern in which every fifth row lacks its upper entry. A large n has enough rows for several
/// threads.
template <class I> OwnedPattern<I> line_pattern(I n)
{
  OwnedPattern<I> A;
  A.n = n;
  for (I i = 0; i < n; ++i) {
    for (I j = std::max<I>(i - 1, 0); j <= std::min<I>(n - 1, i + (i % 5 ? 1 : 0)); ++j) A.column.push_back(j);
    A.row_begin.push_back(static_cast<I>(A.column.size()));
  }
  return A;
}

/// Makes the strictly lower or upper triangle of a grid of x by y by z points, x fastest: neighbours along the axes
/// (star) or all neighbours (box).
template <class I> OwnedPattern<I> stencil_triangle(I x, I y, I z, bool box, bool lower)
{
  std::vector<std::vector<I>> rows(x * y * z);
  for (I row = 0; row < x * y * z; ++row)
    for (I k = -1; k <= 1; ++k)
      for (I j = -1; j <= 1; ++j)
        for (I i = -1; i <= 1; ++i) {
          const I p = row % x + i, q = row / x % y + j, r = row / x / y + k, column = (r * y + q) * x + p;
          const bool inside = p >= 0 && p < x && q >= 0 && q < y && r >= 0 && r < z;
          if (inside && (box || i * i + j * j + k * k == 1) && (lower ? column < row : column > row))
            rows[row].push_back(column);
        }
  return pattern_of(rows);
}

/// As stencil_triangle() for the 5-point grid of x by y points.
template <class I> OwnedPattern<I> grid_triangle(I x, I y, bool lower)
{
  return stencil_triangle<I>(x, y, 1, false, lower);
}

}  // namespace syncfree
