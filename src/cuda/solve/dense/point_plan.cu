/// Makes the plans of point_tiles.cuh: points sorted by tile and level, ghosts by what reads them.

#include <algorithm>
#include <vector>

#include "core/support/instantiate.hpp"
#include "cuda/analysis/levels.hpp"
#include "cuda/base/flag.cuh"
#include "cuda/base/scan.cuh"
#include "cuda/base/sort.cuh"
#include "cuda/base/thread_id.cuh"
#include "cuda/solve/dense/point_tiles.cuh"
#include "syncfree/cuda/detail/launch.hpp"

namespace syncfree::cuda {
namespace {

constexpr unsigned threads_a_block = 256;

template <class... Parameters, class... Arguments>
void launch_for(std::size_t count, void (*kernel)(Parameters...), Arguments... arguments)
{
  if (count > 0) launch(kernel, {blocks_for(count, threads_a_block), threads_a_block}, arguments...);
}

/// Returns how many of `count` ascending words are less than `than`.
template <class Word> __device__ std::uint32_t count_less(const Word* word, std::uint32_t count, Word than)
{
  std::uint32_t begin = 0, end = count;
  while (begin < end) {
    const std::uint32_t middle = begin + (end - begin) / 2;
    if (word[middle] < than) begin = middle + 1;
    else end = middle;
  }
  return begin;
}

template <class I>
__global__ void key_points(std::uint32_t n, const I* row, PointTiling tiling, std::uint32_t* tile, std::uint32_t* rank)
{
  const auto r = static_cast<std::uint32_t>(this_thread());
  if (r >= n) return;
  tile[r] = static_cast<std::uint32_t>(tiling.tile_of(row[r]));
  rank[r] = r;
}

/// What is known of positions. `rank`: place in level order; `tile`, `rank` ascend by tile, then by rank.
///   level_begin  `levels` + 1 offsets into the rows in level order
template <class I> struct Positions {
  std::uint32_t n, levels;
  const std::uint32_t *tile, *rank;
  const I *row_of_rank, *level_begin;

  __device__ std::uint32_t level_of_rank(std::uint32_t r) const
  {
    return count_less(level_begin + 1, levels, static_cast<I>(r + 1));
  }
};

/// Numbers block rows, and lists where groups and steps begin.
///   position_of_row, name      [out]
///   begins_group, begins_step  [out] by position 1 or 0; one more, 0
template <class I>
__global__ void place_points(Positions<I> P, int points_a_group, std::uint32_t* position_of_row, std::uint32_t* name,
                             std::uint32_t* begins_group, std::uint32_t* begins_step)
{
  const auto p = static_cast<std::uint32_t>(this_thread());
  if (p == P.n) begins_group[p] = begins_step[p] = 0;
  if (p >= P.n) return;
  const std::uint32_t rank = P.rank[p], tile = P.tile[p];
  const auto row = static_cast<std::uint32_t>(P.row_of_rank[rank]);
  name[p] = row;
  position_of_row[row] = p;
  const auto first_rank = static_cast<std::uint32_t>(P.level_begin[P.level_of_rank(rank)]);
  const std::uint32_t of_tile = count_less(P.tile, p, tile);
  const std::uint32_t begin = of_tile + count_less(P.rank + of_tile, p - of_tile, first_rank);  // of this level
  begins_group[p] = (p - begin) % static_cast<std::uint32_t>(points_a_group) == 0;
  begins_step[p] = p == begin;
}

template <class I> struct Reads {
  DevicePattern<I> pattern;
  const std::uint32_t *name, *position_of_row, *tile, *rank;

  /// Calls body(entry, position that it reads) for the entries of the block row at a position.
  template <class Body> __device__ void for_reads(std::uint32_t p, Body body) const
  {
    const std::uint32_t row = name[p];
    for (I k = pattern.row_begin[row]; k < pattern.row_begin[row + 1]; ++k)
      body(k, position_of_row[pattern.column[k]]);
  }
};

/// Counts what a position reads of other tiles, and marks it there. Raises `later` if it reads a later tile, or its own
/// or a later step of its tile.
///   step  by position, steps that begin before it; one more
template <class I>
__global__ void count_reads(std::uint32_t n, Reads<I> A, const std::uint32_t* step, std::uint32_t* count,
                            unsigned char* exported, unsigned* later)
{
  const auto p = static_cast<std::uint32_t>(this_thread());
  if (p == n) count[p] = 0;
  if (p >= n) return;
  std::uint32_t reads = 0;
  A.for_reads(p, [&](I, std::uint32_t from) {
    const bool is_own = A.tile[from] == A.tile[p];
    if (is_own ? step[from + 1] >= step[p + 1] : A.tile[from] > A.tile[p]) set_flag_once(later);
    if (is_own) return;
    exported[from] = 1;
    ++reads;
  });
  count[p] = reads;
}

/// Lists these reads: by tile and the rank of what is read.
template <class I>
__global__ void list_reads(std::uint32_t n, Reads<I> A, const std::uint32_t* first, std::uint64_t* key,
                           std::uint32_t* index)
{
  const auto p = static_cast<std::uint32_t>(this_thread());
  if (p >= n) return;
  std::uint32_t at = first[p];
  A.for_reads(p, [&](I, std::uint32_t from) {
    if (A.tile[from] == A.tile[p]) return;
    key[at] = std::uint64_t{A.tile[p]} * n + A.rank[from];
    index[at] = at;
    ++at;
  });
}

/// is_first[k]: no earlier read of that tile reads the same; one more, 0
__global__ void mark_first_reads(std::uint32_t count, const std::uint64_t* key, std::uint32_t* is_first)
{
  const auto k = static_cast<std::uint32_t>(this_thread());
  if (k == count) is_first[k] = 0;
  if (k < count) is_first[k] = k == 0 || key[k] != key[k - 1];
}

/// Numbers ghosts.
///   number          by read in the order of keys: different ones before
///   ghost_of_read   [out] by read
///   rank_of_ghost   [out]
__global__ void number_ghosts(std::uint32_t count, std::uint32_t n, const std::uint64_t* key,
                              const std::uint32_t* index, const std::uint32_t* number, std::uint32_t* ghost_of_read,
                              std::uint32_t* rank_of_ghost)
{
  const auto k = static_cast<std::uint32_t>(this_thread());
  if (k >= count) return;
  const std::uint32_t ghost = number[k + 1] - 1;
  ghost_of_read[index[k]] = ghost;
  if (number[k + 1] != number[k]) rank_of_ghost[ghost] = static_cast<std::uint32_t>(key[k] % n);
}

template <class I>
__global__ void place_ghosts(std::uint32_t count, const I* row_of_rank, const std::uint32_t* position_of_row,
                             std::uint32_t* ghost)
{
  const auto k = static_cast<std::uint32_t>(this_thread());
  if (k < count) ghost[k] = position_of_row[row_of_rank[ghost[k]]];
}

/// Where groups and steps begin: by position, those that begin before it; one more.
struct Begins {
  const std::uint32_t *group, *step;
};

/// Makes the tiles.
__global__ void make_tiles(std::uint32_t tiles, std::uint32_t n, const std::uint32_t* tile_of_position, Begins begins,
                           std::uint32_t reads, const std::uint64_t* key, const std::uint32_t* number, PointTile* tile)
{
  const auto t = static_cast<std::uint32_t>(this_thread());
  if (t >= tiles) return;
  const auto first_of = [&](std::uint32_t which) { return count_less(tile_of_position, n, which); };
  const auto first_ghost_of = [&](std::uint32_t which) {
    return reads == 0 ? 0 : number[count_less(key, reads, std::uint64_t{which} * n)];
  };
  const std::uint32_t first = first_of(t), end = first_of(t + 1), ghosts = first_ghost_of(t);
  const std::uint32_t group = begins.group[first], step = begins.step[first];
  tile[t] = {first, end - first, group, begins.group[end] - group, ghosts, first_ghost_of(t + 1) - ghosts,
             begins.step[end] - step};
}

/// Makes the groups; thread p, that which begins at position p.
///   units  [out] by group
__global__ void make_groups(std::uint32_t n, std::size_t bytes_a_point, const std::uint32_t* tile_of_position,
                            const PointTile* tile, Begins begins, const unsigned char* exported, PointGroup* out,
                            std::uint32_t* units)
{
  const auto p = static_cast<std::uint32_t>(this_thread());
  const std::uint32_t* const group = begins.group;
  if (p >= n || group[p + 1] == group[p]) return;
  const std::uint32_t first_step = begins.step[tile[tile_of_position[p]].first_position];
  const std::uint32_t step = begins.step[p + 1];
  PointGroup made = {p, 0, 0, 0, static_cast<std::uint16_t>(step - 1 - first_step), 0};
  for (std::uint32_t q = p; begins.step[p] != step && q < n && begins.step[q + 1] == step; ++q)
    made.of_step = static_cast<std::uint16_t>(made.of_step + (group[q + 1] != group[q]));
  for (std::uint32_t q = p; q < n && (q == p || group[q + 1] == group[q]); ++q, ++made.points)
    made.exported = static_cast<std::uint16_t>(made.exported | exported[q] << made.points);
  out[group[p]] = made;
  units[group[p]] = units_of_group(made.points, bytes_a_point);
}

__global__ void place_values(std::uint32_t groups, const std::uint32_t* first_unit, PointGroup* group)
{
  const auto g = static_cast<std::uint32_t>(this_thread());
  if (g < groups) group[g].first_unit = first_unit[g];
}

/// Stores what each position reads, in the order of ranks.
template <class I, int near>
__global__ void fill_slots(std::uint32_t n, Reads<I> A, const PointTile* tile, const std::uint32_t* first_read,
                           const std::uint32_t* ghost_of_read, std::uint32_t size, PointSlots<near>* slots, I* source)
{
  const auto p = static_cast<std::uint32_t>(this_thread());
  if (p >= n) return;
  const PointTile own = tile[A.tile[p]];
  std::uint32_t rank[near] = {}, read = first_read[p];
  std::uint16_t slot[near] = {};
  I entry[near] = {};
  int count = 0;
  A.for_reads(p, [&](I k, std::uint32_t from) {
    const bool is_own = A.tile[from] == A.tile[p];
    const std::uint32_t in_tile = first_slot + (is_own ? from - own.first_position
                                                       : own.points + ghost_of_read[read++] - own.first_ghost);
    int at = count++;
    for (; at > 0 && rank[at - 1] > A.rank[from]; --at)
      rank[at] = rank[at - 1], slot[at] = slot[at - 1], entry[at] = entry[at - 1];
    rank[at] = A.rank[from], slot[at] = static_cast<std::uint16_t>(in_tile * size), entry[at] = k;
  });
  const int missing = near - count;
  PointSlots<near> made = {};
  for (int j = 0; j < near; ++j) {
    source[std::size_t{p} * near + j] = j < missing ? I(-1) : entry[j - missing];
    if (j >= missing) made.slot[j] = slot[j - missing];
  }
  slots[p] = made;
}

/// Ghosts of all tiles.
///   first_read, ghost_of_read  by position; by read: index in `rank`
///   key, number                by read in the order of keys; ghosts before
struct Ghosts {
  std::uint32_t reads = 0;
  DeviceArray<std::uint32_t> first_read, ghost_of_read, number;
  DeviceArray<std::uint64_t> key;
};

template <class I>
void find_ghosts(std::uint32_t n, std::uint32_t tiles, const Reads<I>& A, const I* row_of_rank, Ghosts* out,
                 DeviceArray<std::uint32_t>* ghost)
{
  out->reads = add_up_and_read(out->first_read);
  if (out->reads == 0) return;
  const std::uint32_t reads = out->reads;
  const DeviceArray<std::uint64_t> key(reads);
  const DeviceArray<std::uint32_t> index(reads), sorted_index(reads);
  out->key = DeviceArray<std::uint64_t>(reads);
  launch_for(n, list_reads<I>, n, A, out->first_read.data(), key.data(), index.data());
  sort_pairs(key.data(), out->key, index, sorted_index, bits_of(std::uint64_t{tiles} * n));
  out->number = DeviceArray<std::uint32_t>(std::size_t{reads} + 1);
  launch_for(std::size_t{reads} + 1, mark_first_reads, reads, out->key.data(), out->number.data());
  *ghost = DeviceArray<std::uint32_t>(add_up_and_read(out->number));
  out->ghost_of_read = DeviceArray<std::uint32_t>(reads);
  launch_for(reads, number_ghosts, reads, n, out->key.data(), sorted_index.data(), out->number.data(),
             out->ghost_of_read.data(), ghost->data());
  launch_for(ghost->size(), place_ghosts<I>, static_cast<std::uint32_t>(ghost->size()), row_of_rank, A.position_of_row,
             ghost->data());
}

}  // namespace

template <class I>
bool make_point_plan(const DeviceTriangle<I>& triangle, const PointTiling& tiling, const PointFormat& format,
                     PointPlan<I>* out)
{
  const auto n = static_cast<std::uint32_t>(triangle.n());
  const DeviceLevels<I>& levels = *triangle.device_levels;
  const auto tiles = static_cast<std::uint32_t>(tiling.tiles());
  const int points_a_group = points_a_warp(triangle.block_size);
  PointPlan<I> plan;
  plan.tiling = tiling, plan.near = format.near;

  const DeviceArray<std::uint32_t> unsorted(n), ranks(n), tile_of(n), rank(n), position_of_row(n);
  launch_for(n, key_points<I>, n, levels.row.data(), tiling, unsorted.data(), ranks.data());
  sort_pairs(unsorted.data(), tile_of, ranks, rank, bits_of(tiles));
  const Positions<I> positions = {n, static_cast<std::uint32_t>(levels.count), tile_of.data(), rank.data(),
                                  levels.row.data(), levels.begin.data()};
  plan.name = DeviceArray<std::uint32_t>(n);
  const DeviceArray<std::uint32_t> group(std::size_t{n} + 1), step(std::size_t{n} + 1);
  launch_for(std::size_t{n} + 1, place_points<I>, positions, points_a_group, position_of_row.data(), plan.name.data(),
             group.data(), step.data());
  exclusive_sum_in_place(group);
  exclusive_sum_in_place(step);
  const Begins begins = {group.data(), step.data()};

  const Reads<I> reads = {triangle.on_device, plan.name.data(), position_of_row.data(), tile_of.data(), rank.data()};
  Ghosts ghosts;
  ghosts.first_read = DeviceArray<std::uint32_t>(std::size_t{n} + 1);
  DeviceArray<unsigned char> exported(n);
  exported.fill(0, nullptr);
  const Flag later;
  launch_for(std::size_t{n} + 1, count_reads<I>, n, reads, step.data(), ghosts.first_read.data(),
             exported.data(), later.data());
  if (later.is_raised()) return false;
  find_ghosts(n, tiles, reads, levels.row.data(), &ghosts, &plan.ghost);

  plan.tile = DeviceArray<PointTile>(tiles);
  launch_for(tiles, make_tiles, tiles, n, tile_of.data(), begins, ghosts.reads, ghosts.key.data(),
             ghosts.number.data(), plan.tile.data());
  plan.group = DeviceArray<PointGroup>(read_total(group));
  DeviceArray<std::uint32_t> units(plan.group.size() + 1);
  units.fill(0, nullptr);
  launch_for(n, make_groups, n, format.bytes_a_point, tile_of.data(), plan.tile.data(), begins, exported.data(),
             plan.group.data(), units.data());
  plan.units = add_up_and_read(units);
  const auto groups = static_cast<std::uint32_t>(plan.group.size());
  launch_for(groups, place_values, groups, units.data(), plan.group.data());
  std::vector<PointTile> made(tiles);
  plan.tile.read(made.data(), 0, tiles, nullptr);
  for (const PointTile& tile : made) {
    plan.most_slots = std::max(plan.most_slots, first_slot + tile.points + tile.ghosts);
    plan.most_ghosts = std::max(plan.most_ghosts, tile.ghosts);
    plan.most_groups = std::max(plan.most_groups, tile.groups);
    plan.most_steps = std::max(plan.most_steps, tile.steps);
  }
  if (plan.most_slots * static_cast<std::uint32_t>(triangle.block_size) > 0xffff) return false;
  if (plan.most_slots * format.result_bytes + plan.bytes_of_steps() > format.memory) return false;

  plan.source = DeviceArray<I>(std::size_t{n} * static_cast<std::size_t>(format.near));
  const auto size = static_cast<std::uint32_t>(triangle.block_size);
  with_near(format.near, [&](auto entries) {
    using Slots = PointSlots<entries.value>;
    plan.slots = DeviceArray<unsigned char>(n * sizeof(Slots));
    launch_for(n, fill_slots<I, entries.value>, n, reads, plan.tile.data(), ghosts.first_read.data(),
               ghosts.ghost_of_read.data(), size, reinterpret_cast<Slots*>(plan.slots.data()), plan.source.data());
  });
  SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  *out = std::move(plan);
  return true;
}

#define INSTANTIATE(I)                                                                                             \
  template bool make_point_plan<I>(const DeviceTriangle<I>&, const PointTiling&, const PointFormat&, PointPlan<I>*);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree::cuda
