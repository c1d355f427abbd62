/// Levels of a triangle: depth(i) = 1 + max of depth(j) over the rows j that row i
/// reads, 0 if it reads none. Rows of one level do not read each other.

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>

#include "core/pattern/grid.hpp"
#include "core/support/instantiate.hpp"
#include "core/support/parallel.hpp"
#include "syncfree/array.hpp"
#include "syncfree/ready.hpp"
#include "syncfree/schedule.hpp"

namespace syncfree {
namespace {

template <class I> I depth_after(const PatternView<I>& T, I row, const I* depth)
{
  I d = 0;
  for (I k = T.row_begin[row]; k < T.row_begin[row + 1]; ++k) d = std::max<I>(d, depth[T.column[k]] + 1);
  return d;
}

/// Computes the depths of a part of the rows as they are on a grid in natural order.
template <class I> void depths_of_grid(const Grid<I>& grid, I n, bool lower, std::size_t part, I* depth)
{
  I step = first_of_part<I>(part), line = step / grid.line, cell = step % grid.line;
  const auto of_line = [&] { return line % grid.lines * grid.next_line + line / grid.lines * grid.next_plane; };
  for (I before = of_line(); step < end_of_part(part, n); ++step) {
    depth[lower ? step : n - 1 - step] = before + cell;
    if (++cell < grid.line) continue;
    cell = 0, ++line;
    before = of_line();
  }
}

/// Guesses the depths from the rows' positions on a grid in natural order, and verifies the guess: it is right if each
/// row's depth is one more than that of the deepest row it reads. Returns the number of levels, 0 if the guess is
/// wrong.
template <class I> I guess_depths(const PatternView<I>& T, bool lower, int threads, I* depth)
{
  constexpr I least_rows = 1 << 13;
  if (T.n < least_rows) return 0;
  const Grid<I> grid = find_grid(T, lower);
  if (!grid.may_have_levels(T.n)) return 0;
  for_parts(threads, parts_of(T.n), [&](std::size_t part) { depths_of_grid(grid, T.n, lower, part, depth); });
  std::atomic<bool> right{true};
  std::vector<I> deepest(parts_of(T.n), 0);
  for_parts(threads, parts_of(T.n), [&](std::size_t part) {
    I own = 0;
    for (I i = first_of_part<I>(part); i < end_of_part(part, T.n) && right.load(unordered); ++i) {
      if (depth_after(T, i, depth) != depth[i]) right.store(false, unordered);
      own = std::max(own, depth[i]);
    }
    deepest[part] = own;
  });
  return right.load(unordered) ? 1 + *std::max_element(deepest.begin(), deepest.end()) : 0;
}

}  // namespace

template <class I> I find_levels(PatternView<I> T, bool lower, I* depth)
{
  I levels = 0;
  for (I step = 0; step < T.n; ++step) {
    const I i = lower ? step : T.n - 1 - step;
    depth[i] = depth_after(T, i, depth);
    levels = std::max<I>(levels, depth[i] + 1);
  }
  return levels;
}

/// Counting sort: each part of the rows counts its own and places them after those of the parts before it.
template <class I> void sort_by_depth(const I* depth, I n, int threads, LevelSets<I>* sets)
{
  const std::size_t levels = static_cast<std::size_t>(sets->count);
  const std::size_t parts = levels * parts_of(n) > static_cast<std::size_t>(n) ? 1 : parts_of(n);
  const auto first = [&](std::size_t part) { return parts == 1 ? I(0) : first_of_part<I>(part); };
  const auto end = [&](std::size_t part) { return parts == 1 ? n : end_of_part(part, n); };
  std::vector<I> next(parts * levels, 0);
  for_parts(threads, parts, [&](std::size_t part) {
    for (I i = first(part); i < end(part); ++i) ++next[part * levels + static_cast<std::size_t>(depth[i])];
  });
  sets->level_begin.resize(levels + 1);
  I begin = 0;
  for (std::size_t level = 0; level < levels; ++level) {
    sets->level_begin[level] = begin;
    for (std::size_t part = 0; part < parts; ++part) {
      const I rows = next[part * levels + level];
      next[part * levels + level] = begin;
      begin += rows;
    }
  }
  sets->level_begin[levels] = begin;
  sets->row.resize(static_cast<std::size_t>(n));
  for_parts(threads, parts, [&](std::size_t part) {
    for (I i = first(part); i < end(part); ++i)
      sets->row[static_cast<std::size_t>(next[part * levels + static_cast<std::size_t>(depth[i])]++)] = i;
  });
}

template <class I> Status make_level_sets(PatternView<I> T, bool lower, LevelSets<I>* out, int threads)
try {
  Array<I> depth(static_cast<std::size_t>(T.n));
  LevelSets<I> sets;
  sets.count = guess_depths(T, lower, threads, depth.data());
  if (sets.count == 0) sets.count = find_levels(T, lower, depth.data());
  sort_by_depth(depth.data(), T.n, threads, &sets);
  *out = std::move(sets);
  return {};
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

template <class I> LevelCounts count_levels(const FactorPattern<I>& p)
{
  const std::unique_ptr<I[]> depth(new (std::nothrow) I[p.n]);
  if (!depth) return {};
  const I lower = find_levels(p.lower(), true, depth.get());
  return {lower, p.kind == Kind::icc ? lower : find_levels(p.upper(), false, depth.get())};
}

#define INSTANTIATE(I)                                  \
  template I find_levels<I>(PatternView<I>, bool, I*);  \
  template void sort_by_depth<I>(const I*, I, int, LevelSets<I>*); \
  template Status make_level_sets<I>(PatternView<I>, bool, LevelSets<I>*, int); \
  template LevelCounts count_levels<I>(const FactorPattern<I>&);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
