/// Implements cuda/solve/tiled/plan.cuh. Rows are sorted by tile and level; then one thread block works on each tile.

#include "cuda/solve/tiled/plan.cuh"

#include <cub/block/block_scan.cuh>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/plan/tile_cut.hpp"
#include "core/support/instantiate.hpp"
#include "cuda/analysis/levels.hpp"
#include "cuda/analysis/row_table.cuh"
#include "cuda/base/sort.cuh"
#include "cuda/sync/atomics.cuh"
#include "syncfree/cuda/detail/launch.hpp"

namespace syncfree::cuda {
namespace {

constexpr unsigned threads_a_block = 512;
constexpr unsigned longest_row = row_capacities[ghost_sizes - 1];
constexpr unsigned parts_of_tile = 4;  ///< thread blocks per tile in kernels that treat rows independently
using Key = unsigned long long;

/// Measurements of a tile.
struct TileReport {
  unsigned levels, widest, steps, ghosts, exports, width[compute_groups];
};

/// Input of all kernels.
template <class I> struct Planning {
  DevicePattern<I> T;
  LineTiles<I> tiles;
  const Key* key;              ///< sort keys of the rows, ascending: tile, and level in the low bits
  const I* row;                ///< row of each key
  const std::uint32_t* first;  ///< first key of each tile; one entry more than there are tiles

  __device__ unsigned rows_of(unsigned tile) const { return first[tile + 1] - first[tile]; }
};

/// Finds the level of each row. level_begin has `levels` + 1 entries.
template <class I>
__global__ void find_depths(I n, I levels, const I* level_begin, const I* by_level, I* depth)
{
  const std::size_t k = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (k >= static_cast<std::size_t>(n)) return;
  I low = 0, high = levels;  // the last level that begins at k or before
  while (high - low > 1) {
    const I middle = low + (high - low) / 2;
    if (static_cast<std::size_t>(level_begin[middle]) <= k) low = middle;
    else high = middle;
  }
  depth[by_level[k]] = low;
}

template <class I> __global__ void make_keys(LineTiles<I> tiles, const I* depth, unsigned depth_bits, Key* key, I* row)
{
  const std::size_t k = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (k >= static_cast<std::size_t>(tiles.rows)) return;
  const I own = tiles.row_in_lines(static_cast<I>(k));
  row[k] = own;
  key[k] = static_cast<Key>(tiles.tile[k / static_cast<std::size_t>(tiles.line)]) << depth_bits |
           static_cast<Key>(depth[own]);
}

/// Returns the position after the last one of p's level.
inline __device__ unsigned end_of_level(const Key* key, unsigned p, unsigned rows)
{
  const Key own = key[p];
  unsigned low = p + 1, high = rows;
  while (low < high) {
    const unsigned middle = low + (high - low) / 2;
    if (key[middle] == own) low = middle + 1;
    else high = middle;
  }
  return low;
}

inline __device__ bool begins_level(const Key* key, unsigned p) { return p == 0 || key[p] != key[p - 1]; }

template <class I>
__global__ void __launch_bounds__(threads_a_block) measure_levels_of_tiles(Planning<I> plan, TileReport* report)
{
  const unsigned tile = blockIdx.x, rows = plan.rows_of(tile);
  const Key* key = plan.key + plan.first[tile];
  __shared__ unsigned levels, widest;
  if (threadIdx.x == 0) levels = widest = 0;
  __syncthreads();
  for (unsigned p = threadIdx.x; p < rows; p += threads_a_block) {
    if (!begins_level(key, p)) continue;
    atomic_add(&levels, 1u);
    atomic_max(&widest, end_of_level(key, p, rows) - p);
  }
  __syncthreads();
  if (threadIdx.x == 0) report[tile].levels = levels, report[tile].widest = widest;
}

/// Calls body(p, number) for all p below `count`, in chunks of a thread block's size, one after the other; number is
/// the sum of length(q) for all q < p. Returns the sum of all lengths. Called by all threads of a thread block.
template <class Length, class Body> __device__ unsigned number_positions(unsigned count, Length length, Body body)
{
  using Scan = cub::BlockScan<unsigned, threads_a_block>;
  __shared__ typename Scan::TempStorage storage;
  unsigned before = 0;
  for (unsigned begin = 0; begin < count; begin += threads_a_block) {
    const unsigned p = begin + threadIdx.x, own = p < count ? length(p) : 0;
    unsigned number, sum;
    Scan(storage).ExclusiveSum(own, number, sum);
    if (p < count) body(p, before + number);
    before += sum;
    __syncthreads();
  }
  return before;
}

/// Cuts the levels of each tile into steps of at most `most` rows.
///   step_begin  [out] first position of each step; a tile's steps are stored from the index of its first row on
template <class I>
__global__ void __launch_bounds__(threads_a_block)
cut_steps(Planning<I> plan, unsigned most, unsigned* step_begin, TileReport* report)
{
  const unsigned tile = blockIdx.x, rows = plan.rows_of(tile), first = plan.first[tile];
  const Key* key = plan.key + first;
  const auto steps_from = [&](unsigned p) {
    return begins_level(key, p) ? (end_of_level(key, p, rows) - p + most - 1) / most : 0;
  };
  const unsigned steps = number_positions(rows, steps_from, [&](unsigned p, unsigned number) {
    for (unsigned s = 0, own = steps_from(p); s < own; ++s) step_begin[first + number + s] = p + s * most;
  });
  __syncthreads();
  if (threadIdx.x != 0) return;
  report[tile].steps = steps;
  for (unsigned s = 0; s < compute_groups; ++s) {
    const auto begin = [&](unsigned step) { return step < steps ? step_begin[first + step] : rows; };
    report[tile].width[s] = begin(s + 1) - begin(s);
  }
}

/// Calls use(column, index) for the entries of other tiles in the row at p; index: rank of the read in the tile.
template <class I, class Use> __device__ void for_ghosts(const Planning<I>& plan, unsigned tile, unsigned p, Use use)
{
  const I row = plan.row[plan.first[tile] + p], begin = plan.T.row_begin[row], end = plan.T.row_begin[row + 1];
  for (I k = begin; k < end; ++k)
    if (plan.tiles.locate_row(plan.T.column[k]).tile != tile)
      use(plan.T.column[k], p * longest_row + static_cast<unsigned>(k - begin));
}

/// Finds the distinct ghosts of each tile.
///   wanted  by row, raised if another tile reads it
///   later   raised if a tile reads a later one
///   far     raised if a tile reads another one than its predecessor
template <class I>
__global__ void __launch_bounds__(threads_a_block)
collect_ghosts(Planning<I> plan, RowTables<I> ghosts, unsigned* wanted, unsigned* later, unsigned* far)
{
  const unsigned tile = blockIdx.x, rows = plan.rows_of(tile);
  for (unsigned p = blockIdx.y * threads_a_block + threadIdx.x; p < rows; p += gridDim.y * threads_a_block)
    for_ghosts(plan, tile, p, [&](I column, unsigned position) {
      set_flag_once(wanted + column);
      const auto other = plan.tiles.locate_row(column).tile;
      if (other > tile) set_flag_once(later);
      if (other + 1 != tile) set_flag_once(far);
      ghosts.insert_row(tile, column, position);
    });
}

/// Numbers ghosts in the order in which they are first read, and exported values in the order of their rows.
///   exported  [out] by row: index among its tile's exported values, or not_exported
template <class I>
__global__ void __launch_bounds__(threads_a_block)
number_ghosts_and_mail(Planning<I> plan, RowTables<I> ghosts, const unsigned* wanted, std::uint32_t* exported,
                       TileReport* report)
{
  const unsigned tile = blockIdx.x, rows = plan.rows_of(tile);
  const auto for_firsts = [&](unsigned p, auto body) {
    for_ghosts(plan, tile, p, [&](I column, unsigned position) {
      const std::size_t at = ghosts.find_slot(tile, column);
      if (ghosts.first[at] == position) body(at);
    });
  };
  const auto firsts = [&](unsigned p) {
    unsigned count = 0;
    for_firsts(p, [&](std::size_t) { ++count; });
    return count;
  };
  const unsigned ghosts_here = number_positions(rows, firsts, [&](unsigned p, unsigned number) {
    for_firsts(p, [&](std::size_t at) { ghosts.number[at] = number++; });
  });
  const auto row_at = [&](unsigned p) { return plan.row[plan.first[tile] + p]; };
  const auto is_wanted = [&](unsigned p) { return wanted[row_at(p)]; };
  const unsigned exports = number_positions(rows, is_wanted, [&](unsigned p, unsigned number) {
    exported[row_at(p)] = is_wanted(p) ? number : not_exported;
  });
  if (threadIdx.x == 0) report[tile].ghosts = ghosts_here, report[tile].exports = exports;
}

/// Renumbers the exported values of a pipeline of tiles in the order in which the next tile reads them.
template <class I>
__global__ void __launch_bounds__(threads_a_block)
number_exports_as_ghosts(RowTables<I> ghosts, std::uint32_t* exported)
{
  const std::size_t tile = blockIdx.x;
  for (unsigned k = blockIdx.y * threads_a_block + threadIdx.x; k < ghosts.size; k += gridDim.y * threads_a_block) {
    const I row = ghosts.row[tile * ghosts.size + k];
    if (row >= 0) exported[row] = ghosts.number[tile * ghosts.size + k];
  }
}

template <class I>
__global__ void __launch_bounds__(threads_a_block)
number_positions_of_rows(Planning<I> plan, std::uint16_t* position)
{
  const unsigned tile = blockIdx.x, rows = plan.rows_of(tile), first = plan.first[tile];
  for (unsigned p = blockIdx.y * threads_a_block + threadIdx.x; p < rows; p += gridDim.y * threads_a_block)
    position[plan.row[first + p]] = static_cast<std::uint16_t>(p);
}

/// Finds the largest distance from a ghost's position to the end of a level that reads it.
///   position  by row, in its tile
template <class I>
__global__ void __launch_bounds__(threads_a_block)
find_alias_shift(Planning<I> plan, const std::uint16_t* position, unsigned* distance)
{
  const unsigned tile = blockIdx.x, rows = plan.rows_of(tile);
  const Key* key = plan.key + plan.first[tile];
  int most = 1;
  for (unsigned p = blockIdx.y * threads_a_block + threadIdx.x; p < rows; p += gridDim.y * threads_a_block) {
    const auto end = static_cast<int>(end_of_level(key, p, rows));
    for_ghosts(plan, tile, p, [&](I column, unsigned) { most = max(most, end - static_cast<int>(position[column])); });
  }
  atomic_max(distance, static_cast<unsigned>(most));
}

/// Numbers the exported values of tiles if ghosts alias local values: an exported row's index is its position.
template <class I>
__global__ void number_exports_by_position(I n, const std::uint16_t* position, const unsigned* wanted,
                                        std::uint32_t* exported)
{
  const std::size_t row = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (row < static_cast<std::size_t>(n)) exported[row] = wanted[row] ? position[row] : not_exported;
}

/// Output arrays of a plan, and what all positions share.
template <class I> struct PlanArrays {
  const Tile* tile;
  unsigned char* panel;
  PanelShape shape;
  I *source, *row;
  std::uint32_t* ghost_sources;
  int row_capacity;
  std::uint32_t zero, first_ghost;  ///< slots
  const std::uint16_t* position;    ///< of rows in their tiles if ghosts alias local values, else nullptr
};

/// The steps of a tile.
struct Steps {
  const unsigned* begin;
  unsigned count, rows;

  __device__ unsigned begin_of(unsigned step) const { return step < count ? begin[step] : rows; }
  /// Returns the last step that begins at p or before.
  __device__ unsigned step_of(unsigned p) const
  {
    unsigned low = 0, high = count;
    while (high - low > 1) {
      const unsigned middle = low + (high - low) / 2;
      if (begin[middle] <= p) low = middle;
      else high = middle;
    }
    return low;
  }
};

/// The entries of one row sorted by the level of their columns; entries of one level keep their order.
template <class I> struct SortedEntries {
  I entry[longest_row], depth[longest_row];
  std::uint32_t slot[longest_row];
  int count = 0;

  __device__ void insert_entry(I k, I own_depth, std::uint32_t own_slot)
  {
    int j = count++;
    for (; j > 0 && depth[j - 1] > own_depth; --j) {
      entry[j] = entry[j - 1], depth[j] = depth[j - 1], slot[j] = slot[j - 1];
    }
    entry[j] = k, depth[j] = own_depth, slot[j] = own_slot;
  }
};

/// Fills in the fields, sources and rows of all positions.
template <class I>
__global__ void __launch_bounds__(threads_a_block)
fill_positions(Planning<I> plan, RowTables<I> ghosts, const I* depth, const unsigned* step_begin,
               const std::uint32_t* exported, PlanArrays<I> to)
{
  const unsigned tile = blockIdx.x;
  const Tile own = to.tile[tile];
  const Steps steps = {step_begin + plan.first[tile], own.steps, own.rows};
  const int units = TilePlan<I>::units_of(to.row_capacity), pairs = (to.row_capacity + 1) / 2;
  const unsigned all = own.panels * panel_rows;
  for (unsigned p = blockIdx.y * threads_a_block + threadIdx.x; p < all; p += gridDim.y * threads_a_block) {
    const I row = p < own.rows ? plan.row[plan.first[tile] + p] : I(-1);
    SortedEntries<I> entries;
    for (I k = row < 0 ? 0 : plan.T.row_begin[row]; k < (row < 0 ? 0 : plan.T.row_begin[row + 1]); ++k) {
      const I column = plan.T.column[k];
      const RowLocation location = plan.tiles.locate_row(column);
      const bool is_local = location.tile == tile;
      const auto ghost = [&] {
        return to.position ? to.position[column] : ghosts.number[ghosts.find_slot(tile, column)];
      };
      const std::uint32_t own_slot = to.position ? to.position[column] : location.slot;
      entries.insert_entry(k, depth[column], is_local ? own_slot : to.first_ghost + ghost());
    }
    const std::size_t panel = own.first_panel + p / panel_rows, cell = p % panel_rows;
    const std::size_t positions = to.shape.positions, at = panel * panel_rows + cell;
    auto* field = reinterpret_cast<std::uint16_t*>(to.panel + at / positions * to.shape.bytes);
    const auto set = [&](int f, std::uint32_t v) {
      field[(static_cast<std::size_t>(f / fields_per_unit) * positions + at % positions) * fields_per_unit +
            static_cast<std::size_t>(f % fields_per_unit)] = static_cast<std::uint16_t>(v);
    };
    const int last = units * fields_per_unit - 1;
    if (to.position) set(0, row < 0 ? 0 : static_cast<std::uint32_t>(row - own.first_row));
    else set(0, row < 0 ? to.zero : plan.tiles.locate_row(row).slot);
    for (int j = 0; j < last - 2; ++j)
      set(j + 1, j < entries.count ? entries.slot[j] : j < to.row_capacity ? to.zero : 0);
    const unsigned step = steps.step_of(p), next = steps.begin_of(step + compute_groups);
    const unsigned width = steps.begin_of(step + compute_groups + 1) - next;
    set(last - 1, next - steps.begin_of(step) | (width ? width - 1 : 0) << 9);
    set(last, row < 0 || exported[row] == not_exported ? no_ghost : exported[row]);
    for (int j = 0; j < 2 * pairs; ++j)
      to.source[((panel * pairs + static_cast<std::size_t>(j) / 2) * panel_rows + cell) * 2 + j % 2] =
          j < entries.count ? entries.entry[j] : I(-1);
    to.row[at] = row;
  }
}

/// Finds the mailbox slot of each ghost. Requires that all exported values are numbered.
template <class I>
__global__ void __launch_bounds__(threads_a_block)
find_sources_of_ghosts(Planning<I> plan, RowTables<I> ghosts, const std::uint32_t* exported, PlanArrays<I> to)
{
  const unsigned tile = blockIdx.x;
  for (unsigned k = blockIdx.y * threads_a_block + threadIdx.x; k < ghosts.size; k += gridDim.y * threads_a_block) {
    const std::size_t at = static_cast<std::size_t>(tile) * ghosts.size + k;
    const I row = ghosts.row[at];
    if (row < 0) continue;
    to.ghost_sources[to.tile[tile].first_ghost + ghosts.number[at]] =
        to.tile[plan.tiles.locate_row(row).tile].first_exported + exported[row];
  }
}

template <class I> class TilePlanner {
public:
  TilePlanner(const DeviceTriangle<I>& triangle, const TileRule& rule)
      : triangle_(triangle), rule_(rule), size_(size_of_ghosts(triangle.longest(), rule)), depth_(triangle.n())
  {
  }

  bool make_plan(const PanelShape& shape, TilePlan<I>* frame, TileArrays<I>* arrays)
  {
    find_depth();
    if (!cut_rows(frame)) return false;
    bool has_room = plan_blocks(frame);
    if (!has_room && overlaid_) {
      *frame = {};
      rule_.alias_slots = 0, position_ = {};
      if (!cut_rows(frame)) return false;
      has_room = plan_blocks(frame);
    }
    if (!has_room) throw Failure{no_tiles_for_ghosts(frame->slots, rule_.ghost_slots[size_], rule_)};
    take_reports(frame);
    fill(*frame, shape, arrays);
    return true;
  }

private:
  bool plan_blocks(TilePlan<I>* frame)
  {
    sort_rows();
    make_steps(frame);
    return collect(frame);
  }

  dim3 tiles() const { return dim3(static_cast<unsigned>(report_.size())); }
  dim3 parts() const { return dim3(static_cast<unsigned>(report_.size()), parts_of_tile); }

  void find_depth()
  {
    const DeviceLevels<I>& levels = *triangle_.device_levels;
    launch(find_depths<I>, {blocks_for(depth_.size(), threads_a_block), threads_a_block}, triangle_.n(), levels.count,
           levels.begin.data(), levels.row.data(), depth_.data());
  }

  bool cut_rows(TilePlan<I>* plan)
  {
    CutInput<I> in = {triangle_.n(),
                      triangle_.nnz(),
                      triangle_.lower,
                      triangle_.device_levels->count,
                      triangle_.row_bandwidth,
                      triangle_.longest(),
                      {}};
    if (rule_.tiles && rule_.rows == 0) in.grid = triangle_.grid;
    const auto depth_of = [this](std::int64_t row) {
      I depth;
      depth_.read(&depth, static_cast<std::size_t>(row), 1, nullptr);
      return depth;
    };
    measure_levels(depth_of, in.rows, in.lower, &in.grid);
    TileCut<I> made = cut(in, size_, rule_);
    if (made.has_tiles || !made.tiling.has_whole_lines()) return false;
    tiling_ = std::move(made.tiling);
    plan->row_capacity = row_capacities[size_];
    overlaid_ = made.aliased;
    panels_ = static_cast<std::size_t>(cut_into_tiles(tiling_, plan));
    report_.resize(plan->tiles.size());
    std::vector<std::uint32_t> first = {0};
    for (const Tile& tile : plan->tiles) first.push_back(first.back() + tile.rows);
    const LineTiles<I> lines = tiling_.line_tiles();
    first_ = DeviceArray<std::uint32_t>(first);
    line_tile_ = DeviceArray<std::uint32_t>(lines.tile, tiling_.lines());
    line_slot_ = DeviceArray<std::uint32_t>(lines.slot, tiling_.lines());
    reports_ = DeviceArray<TileReport>(report_.size());
    reports_.fill(0, nullptr);
    return true;
  }

  void sort_rows()
  {
    const std::size_t n = depth_.size();
    const int depth_bits = bits_of(static_cast<std::size_t>(triangle_.device_levels->count));
    const int bits = depth_bits + bits_of(report_.size());
    const DeviceArray<Key> key(n);
    const DeviceArray<I> row(n);
    key_ = DeviceArray<Key>(n), row_ = DeviceArray<I>(n);
    LineTiles<I> lines = tiling_.line_tiles();
    lines.tile = line_tile_.data(), lines.slot = line_slot_.data();
    view_ = {triangle_.on_device, lines, key_.data(), row_.data(), first_.data()};
    launch(make_keys<I>, {blocks_for(n, threads_a_block), threads_a_block}, lines, depth_.data(),
           static_cast<unsigned>(depth_bits), key.data(), row.data());
    sort_pairs(key.data(), key_, row, row_, bits);
  }

  void read_reports() { reports_.read(report_.data(), 0, report_.size(), nullptr); }

  void make_steps(TilePlan<I>* plan)
  {
    launch(measure_levels_of_tiles<I>, {tiles(), threads_a_block}, view_, reports_.data());
    read_reports();
    std::vector<std::uint32_t> levels;
    std::uint32_t widest = 0;
    for (const TileReport& report : report_) {
      levels.push_back(report.levels);
      widest = std::max<std::uint32_t>(widest, report.widest);
    }
    plan->warps = rule_.warps;
    if (!plan->warps) plan->warps = warps_for(plan->tiles, levels, widest, rule_.most_warps, rule_.rows_a_warp);
    plan->warps = std::min(plan->warps, rule_.most_warps_of(plan->row_capacity));
    step_begin_ = DeviceArray<unsigned>(depth_.size());
    launch(cut_steps<I>, {tiles(), threads_a_block}, view_, static_cast<unsigned>(rule_.rows_a_warp * plan->warps),
                                               step_begin_.data(), reports_.data());
  }

  /// Returns false if a tile reads a later one or has too many ghosts, or if ghosts cannot alias local values as
  /// planned.
  bool collect(TilePlan<I>* out)
  {
    TilePlan<I>& plan = *out;
    std::int64_t rows = 0;
    for (const Tile& tile : plan.tiles) rows = std::max<std::int64_t>(rows, tile.rows);
    const std::int64_t room = overlaid_ ? rows + 1 : rule_.ghost_slots[size_] - 1 - plan.slots;
    if (room < 0) return false;
    table_.most = static_cast<unsigned>(std::min(room, rows * plan.row_capacity));
    for (table_.size = 64; table_.size / 2 <= table_.most;) table_.size *= 2;
    const std::size_t all = table_.size * report_.size();
    table_row_ = DeviceArray<I>(all);
    table_first_ = DeviceArray<unsigned>(all), table_number_ = DeviceArray<unsigned>(all);
    exported_ = DeviceArray<std::uint32_t>(depth_.size());
    DeviceArray<unsigned> count(report_.size()), wanted(depth_.size());
    const Flag full, later, far;
    table_row_.fill(0xff, nullptr), table_first_.fill(0xff, nullptr);
    count.fill(0, nullptr), wanted.fill(0, nullptr);
    table_.row = table_row_.data(), table_.first = table_first_.data(), table_.number = table_number_.data();
    table_.count = count.data(), table_.full = full.data();
    launch(collect_ghosts<I>, {parts(), threads_a_block}, view_, table_, wanted.data(), later.data(), far.data());
    if (full.is_raised() || later.is_raised()) return false;
    launch(number_ghosts_and_mail<I>, {tiles(), threads_a_block}, view_, table_, wanted.data(), exported_.data(),
                                                            reports_.data());
    plan.is_chain = plan.tiles.size() > 1 && !far.is_raised();
    if (overlaid_) {
      if (!plan.is_chain) return false;
      set_alias_shift(static_cast<std::uint32_t>(rows), &plan);
      if (plan.numbers() > rule_.alias_slots) return false;
      launch(number_exports_by_position<I>, {blocks_for(depth_.size(), threads_a_block), threads_a_block},
             triangle_.n(), position_.data(), wanted.data(), exported_.data());
    } else if (plan.is_chain) {
      launch(number_exports_as_ghosts<I>, {parts(), threads_a_block}, table_, exported_.data());
    }
    read_reports();
    return true;
  }

  void set_alias_shift(std::uint32_t rows, TilePlan<I>* plan)
  {
    position_ = DeviceArray<std::uint16_t>(depth_.size());
    launch(number_positions_of_rows<I>, {parts(), threads_a_block}, view_, position_.data());
    DeviceArray<unsigned> distance(1);
    distance.fill(0, nullptr);
    launch(find_alias_shift<I>, {parts(), threads_a_block}, view_, position_.data(), distance.data());
    std::uint32_t found;
    distance.read(&found, 0, 1, nullptr);
    plan->set_alias_shift(found, rows);
  }

  /// Copies the reports into the tiles and assigns each tile its range of the plan's arrays.
  void take_reports(TilePlan<I>* plan)
  {
    std::int64_t steps = 0;
    for (std::size_t t = 0; t < report_.size(); ++t) {
      Tile& tile = plan->tiles[t];
      const TileReport& report = report_[t];
      tile.first_step = steps;
      tile.first_ghost = ghosts_;
      tile.first_exported = plan->exports;
      tile.steps = report.steps, tile.ghosts = report.ghosts;
      tile.exports = plan->alias_shift ? tile.rows : report.exports;
      std::copy_n(report.width, compute_groups, tile.width);
      plan->most_ghosts = std::max<std::uint32_t>(plan->most_ghosts, report.ghosts);
      plan->exports += tile.exports;
      steps += report.steps;
      ghosts_ += report.ghosts;
    }
  }

  void fill(const TilePlan<I>& plan, const PanelShape& shape, TileArrays<I>* out)
  {
    TileArrays<I> arrays(panels_, shape, plan.pairs(), static_cast<std::size_t>(ghosts_));
    arrays.tile = DeviceArray<Tile>(plan.tiles);
    const PlanArrays<I> to = {arrays.tile.data(), arrays.panel.data(), shape, arrays.source.data(),
                              arrays.row.data(), arrays.ghost_sources.data(), plan.row_capacity, plan.zero_slot(),
                              plan.first_ghost_slot(), position_.empty() ? nullptr : position_.data()};
    launch(fill_positions<I>, {parts(), threads_a_block}, view_, table_, depth_.data(), step_begin_.data(),
           exported_.data(), to);
    launch(find_sources_of_ghosts<I>, {parts(), threads_a_block}, view_, table_, exported_.data(), to);
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
    arrays.position = std::move(position_);
    *out = std::move(arrays);
  }

  const DeviceTriangle<I>& triangle_;
  TileRule rule_;
  const int size_;  ///< index into row_capacities
  Tiling<I> tiling_;
  bool overlaid_ = false;
  std::size_t panels_ = 0;
  std::int64_t ghosts_ = 0;
  std::vector<TileReport> report_;
  DeviceArray<I> depth_;                ///< by row
  DeviceArray<std::uint32_t> first_;    ///< of each tile, in the order of tiles
  DeviceArray<std::uint32_t> line_tile_, line_slot_;
  DeviceArray<TileReport> reports_;
  DeviceArray<Key> key_;
  DeviceArray<I> row_;
  DeviceArray<unsigned> step_begin_;
  DeviceArray<I> table_row_;
  DeviceArray<unsigned> table_first_, table_number_;
  DeviceArray<std::uint32_t> exported_;     ///< by row
  DeviceArray<std::uint16_t> position_;  ///< by row, in its tile; if ghosts alias local values
  Planning<I> view_ = {};
  RowTables<I> table_ = {};
};

}  // namespace

template <class I> bool may_plan_ghosts(const DeviceTriangle<I>& triangle, const TileRule& rule)
{
  return triangle.on_device.row_begin && triangle.device_levels && !triangle.source && triangle.n() > 0 &&
         size_of_ghosts(triangle.longest(), rule) >= 0;
}

template <class I>
bool make_ghost_plan(const DeviceTriangle<I>& triangle, const TileRule& rule, const PanelShape& shape,
                     TilePlan<I>* frame, TileArrays<I>* arrays)
{
  return TilePlanner<I>(triangle, rule).make_plan(shape, frame, arrays);
}

#define INSTANTIATE(I)                                                                                     \
  template bool may_plan_ghosts<I>(const DeviceTriangle<I>&, const TileRule&);                          \
  template bool make_ghost_plan<I>(const DeviceTriangle<I>&, const TileRule&, const PanelShape&, TilePlan<I>*, \
                                   TileArrays<I>*);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree::cuda
