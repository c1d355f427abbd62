/// Levels of a triangle: depth(i) = 1 + max of depth(j) over the rows j that row i
/// reads, 0 if it reads none. Rows of one level do not read each other.

#include <algorithm>
#include <memory>
#include <new>

#include "instantiate.hpp"
#include "syncfree/schedule.hpp"

namespace syncfree {

template <class I> I find_levels(PatternView<I> T, bool lower, I* depth)
{
  I levels = 0;
  for (I step = 0; step < T.n; ++step) {
    const I i = lower ? step : T.n - 1 - step;
    I d = 0;
    for (I k = T.row_begin[i]; k < T.row_begin[i + 1]; ++k) d = std::max<I>(d, depth[T.column[k]] + 1);
    depth[i] = d;
    levels = std::max<I>(levels, d + 1);
  }
  return levels;
}

template <class I> Status make_level_sets(PatternView<I> T, bool lower, LevelSets<I>* out)
try {
  std::vector<I> depth(T.n);
  LevelSets<I> sets;
  sets.count = find_levels(T, lower, depth.data());
  sets.level_begin.assign(sets.count + 1, 0);
  for (I d : depth) ++sets.level_begin[d + 1];
  for (I d = 0; d < sets.count; ++d) sets.level_begin[d + 1] += sets.level_begin[d];
  sets.row.resize(T.n);
  std::vector<I> next(sets.level_begin.begin(), sets.level_begin.end());
  for (I i = 0; i < T.n; ++i) sets.row[next[depth[i]]++] = i;
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
  template Status make_level_sets<I>(PatternView<I>, bool, LevelSets<I>*); \
  template LevelCounts count_levels<I>(const FactorPattern<I>&);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
