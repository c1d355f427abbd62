#pragma once

/// Levels of a triangle, which several backends share.
///
/// The level of a row is 0 if it reads no other row, else 1 + the highest level of the rows it reads. Rows of the
/// same level are independent.

#include <cstdint>
#include <vector>

#include "syncfree/array.hpp"
#include "syncfree/csr.hpp"
#include "syncfree/factor.hpp"
#include "syncfree/status.hpp"

namespace syncfree {

/// Rows sorted by level.
///   row          n rows, by level, ascending inside a level
///   level_begin  count + 1 offsets into row
template <class I> struct LevelSets {
  I count = 0;  ///< number of levels: 0 for n = 0
  Array<I> row;
  std::vector<I> level_begin;
};

/// Computes the level of every row.
///   T       strictly lower (lower = true, rows ascend) or strictly upper pattern (rows descend)
///   depth   [out] n entries in [0, levels)
///   returns number of levels: 0 for n = 0, 1 if no row reads another
///   cost    O(nnz), serial, allocates nothing
///   source  Anderson & Saad 1989
template <class I> I find_levels(PatternView<I> T, bool lower, I* depth);

/// Sorts rows by known levels in [0, sets->count) (counting sort, stable) on `threads` threads: sets->row and
/// sets->level_begin. Throws std::bad_alloc.
template <class I> void sort_by_depth(const I* depth, I n, int threads, LevelSets<I>* sets);

/// Computes the level sets of a triangle; the sort runs on `threads` threads.
template <class I> Status make_level_sets(PatternView<I> T, bool lower, LevelSets<I>* out, int threads = 1);

/// Numbers of levels of the two triangles of a factor.
struct LevelCounts {
  std::int64_t lower = 0, upper = 0;
};

/// Counts the levels of both triangles; zeros if there is no memory for it.
template <class I> LevelCounts count_levels(const FactorPattern<I>& pattern);

}  // namespace syncfree
