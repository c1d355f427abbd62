#pragma once

/// Patterns of meshes with several unknowns a point, and their inodes.

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "core/patterns.hpp"
#include "core/schedule/inodes.hpp"

namespace syncfree {

/// Makes a line of points; point p has unknowns[p modulo their count] unknowns and is coupled with points up to `reach`
/// away.
template <class I> OwnedPattern<I> points(I count, const std::vector<I>& unknowns, I reach)
{
  std::vector<I> first{0};
  for (I p = 0; p < count; ++p) first.push_back(first.back() + unknowns[p % unknowns.size()]);
  std::vector<std::vector<I>> rows(first.back());
  for (I p = 0; p < count; ++p)
    for (I i = first[p]; i < first[p + 1]; ++i)
      for (I j = first[std::max<I>(0, p - reach)]; j < first[std::min(count, p + reach + 1)]; ++j)
        if (p % 5 || j < first[p + 1] || j >= first[std::min(count, p + 2)]) rows[i].push_back(j);
  return pattern_of(rows);
}

/// Inodes as defined in core/schedule/inodes.hpp, by brute force.
template <class I> struct InodesByForce {
  int size = 0;
  std::vector<I> first, before, level_begin, row;

  InodesByForce(const PatternView<I>& T, bool lower)
  {
    const I n = T.n;
    const auto row_of = [&](I s) { return lower ? s : n - 1 - s; };
    const auto reads = [&](I s) {
      return std::set<I>(T.column + T.row_begin[row_of(s)], T.column + T.row_begin[row_of(s) + 1]);
    };
    std::vector<I> place(n);  // position in its inode
    std::set<I> last;
    for (I s = 0; s < n; ++s) {
      const std::set<I> own = reads(s);
      if (s > 0) last.insert(row_of(s - 1));
      place[s] = s > 0 && own == last ? place[s - 1] + 1 : 0;
      last = own;
    }
    for (int try_size = largest_node; try_size > 1 && size == 0; --try_size)
      if (try_size * std::count_if(place.begin(), place.end(), [=](I p) { return p % try_size == 0; }) <= 1.25 * n)
        size = try_size;
    if (size == 0) return;
    for (I s = 0; s < n; ++s) {
      before.push_back(static_cast<I>(first.size()));
      if (place[s] % size == 0) first.push_back(s);
    }
    const I count = static_cast<I>(first.size());
    before.push_back(count);
    first.push_back(n);
    std::vector<std::vector<I>> levels;
    std::vector<I> level(count);
    for (I v = 0; v < count; ++v) {
      for (const I j : reads(first[v])) level[v] = std::max(level[v], level[before[row_of(j) + 1] - 1] + 1);
      if (level[v] == static_cast<I>(levels.size())) levels.emplace_back();
      levels[level[v]].push_back(v);
    }
    for (const auto& one : levels) {
      level_begin.push_back(static_cast<I>(row.size()));
      row.insert(row.end(), one.begin(), one.end());
    }
    level_begin.push_back(count);
  }
};

/// Patterns and the size of their inodes, 0 if these do not pay off.
template <class I> std::vector<std::pair<OwnedPattern<I>, int>> patterns_with_inodes()
{
  return {
    {points<I>(300, {3}, 2), 3},    {points<I>(300, {2}, 3), 2},          {points<I>(90, {6}, 2), 3},
    {points<I>(200, {4}, 2), 2},    {points<I>(200, {3, 3, 2, 3}, 2), 3}, {points<I>(200, {1, 2, 3}, 2), 0},
    {points<I>(70, {5, 7, 9}, 1), 3}, {points<I>(1, {100}, 0), 3},        {points<I>(1, {2}, 0), 2},
    {points<I>(500, {1}, 1), 0},    {points<I>(1, {1}, 0), 0}};
}

}  // namespace syncfree
