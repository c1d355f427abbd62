/// Estimates of the strategies, from features of the triangles and the constants of the device model.

#include "estimate.hpp"

#include <algorithm>
#include <cmath>

#include "device_model.hpp"

namespace syncfree {

/// With fewer levels a solve without tiles or pencils is as fast.
static constexpr std::int64_t least_levels = 14;
static constexpr const char* few_levels = "levels are so few that a solve by levels is as fast";

static constexpr const DeviceModel& model = device_model;

/// Few levels of many short rows, as colors are.
static bool has_wide_levels(const ChoiceInput& f)
{
  const auto levels = static_cast<double>(f.levels), rows = static_cast<double>(f.rows);
  return levels <= model.wide_levels && rows >= model.wide_level_rows * levels &&
         static_cast<double>(f.nnz) <= 2 * model.long_row * rows;
}

/// A block of more rows has not as many lanes, of less leaves most of them idle, and a long row is the work of few.
bool warps_solve_blocks(std::int64_t rows_of_largest, std::int64_t rows, std::int64_t blocks, std::int64_t longest)
{
  constexpr std::int64_t most_rows = 32, least_rows_in_mean = 4, longest_row = 128;
  return rows_of_largest > 0 && rows_of_largest <= most_rows && rows >= least_rows_in_mean * blocks &&
         longest <= longest_row;
}

/// Both triangles by blocks of rows, in one launch. Fill may couple blocks of one color; then levels bound the hops.
static double level_order_time_of_blocks(const ChoiceInput& f)
{
  const auto rows_of_block = static_cast<double>(f.block_rows);
  const double hops = std::max(static_cast<double>(f.block_colors), static_cast<double>(f.levels) / rows_of_block);
  return model.wide_begin + 2 * hops * (model.warps_hop + model.warps_row * rows_of_block) +
         model.wide_entry * static_cast<double>(f.nnz) + model.wide_row * static_cast<double>(f.rows);
}

/// Both triangles by rows, in one launch if levels are wide.
static double level_order_time_of_rows(const ChoiceInput& f)
{
  if (f.block_rows > 0) return level_order_time_of_blocks(f);
  const auto levels = static_cast<double>(f.levels), entries = static_cast<double>(f.nnz);
  const auto rows = static_cast<double>(f.rows);
  constexpr std::int64_t longest_of_fit = 5000;
  const double longest = 2 * model.rows_longest_row * static_cast<double>(std::min(f.longest, longest_of_fit));
  if (has_wide_levels(f))
    return longest + model.wide_begin + model.wide_stage * (2 * levels - 1) + model.wide_entry * entries +
           model.wide_row * rows;
  return longest + 2 * (model.rows_begin + model.rows_level * levels) + model.rows_entry * entries;
}

/// The rows of an inode share column indices and waits.
Estimate estimate_level_order(const ChoiceInput& f)
{
  const double rows = level_order_time_of_rows(f);
  if (f.node_size == 0) return {"level_order", PlanForm::rows, rows, 0};
  const double bytes = 8 + 4.0 / f.node_size;
  const double nodes = 2 * (model.nodes_begin + model.nodes_level * static_cast<double>(f.node_levels)) +
                       model.nodes_byte * bytes * static_cast<double>(f.nnz);
  if ((has_wide_levels(f) || f.block_rows > 0) && rows < nodes) return {"level_order", PlanForm::rows, rows, 0};
  return {"level_order", PlanForm::inodes, nodes, 0};
}

double time_of_orders(std::int64_t rows)
{
  return model.orders_begin + model.orders_row * static_cast<double>(rows);
}

/// Inodes on the lines or planes of a grid.
static Estimate tiled_times_of_inodes(const ChoiceInput& f)
{
  const double size = std::max(f.node_size, 1), nodes = static_cast<double>(f.rows) / size;
  const double solve = model.node_blocks_begin + model.node_blocks_level * static_cast<double>(f.node_levels) +
                       model.node_blocks_lane * size * size * nodes;
  return {"tiled", PlanForm::inodes, 2 * solve,
          model.nodes_plan_begin + model.nodes_plan_entry * static_cast<double>(f.nnz)};
}

/// Estimates the critical path: it crosses tiles at most as often as levels; tiles that cannot run concurrently follow
/// each other closely.
static double tiled_time_of_tiles(const ChoiceInput& f)
{
  const double n = static_cast<double>(f.rows), levels = static_cast<double>(f.levels);
  const double entries = static_cast<double>(f.nnz) / 2 / n, busy = n / levels / (entries > 16 ? 1.5 : 16);
  const double blocks = std::max({n / 16384, 1.0, busy}), hops = std::min({blocks, 132.0, levels});
  const double later = model.blocks_later_hop * std::max(blocks - 132, 0.0);
  const bool is_short = entries <= 5;
  if (f.tiled_on_device) {
    const double step = is_short ? model.ghosts_short_step : model.ghosts_step;
    return model.ghosts_begin + step * levels + model.ghosts_hop * hops + later;
  }
  const double step = is_short ? model.blocks_short_step : model.blocks_long_step;
  return model.blocks_begin + step * levels + model.blocks_hop * hops + later;
}

static Estimate tiled_times(const ChoiceInput& f)
{
  if (f.tiled_form == PlanForm::inodes && f.inodes_on_grid) return tiled_times_of_inodes(f);
  const auto entries = static_cast<double>(f.nnz);
  if (f.tiled_time > 0)
    return {"tiled", PlanForm::grid, 2 * f.tiled_time, model.tiles_plan_begin + model.tiles_plan_entry * entries};
  const double on_host = model.host_plan_entry * entries / std::clamp(f.threads, 1, 12) +
                         model.host_plan_rest * std::min(entries, 8e5);
  const double on_device = model.ghosts_plan_begin + model.ghosts_plan_entry * entries;
  return {"tiled", f.tiled_form, 2 * tiled_time_of_tiles(f), f.tiled_on_device ? on_device : on_host};
}

Estimate estimate_wavefront(const ChoiceInput& f)
{
  Estimate e = {"wavefront", PlanForm::pencils, 2 * f.wavefront_time + f.orders_time,
                model.lines_plan_begin + model.lines_plan_entry * static_cast<double>(f.nnz)};
  if (f.wavefront_time <= 0) e.why_not = "the rows are not the points of a grid with pencils, or no plan could be made";
  else if (f.levels < least_levels) e.why_not = few_levels;
  return e;
}

/// In a tile a long row is the work of one thread. Where `wavefront` applies, `tiled` is slower.
Estimate estimate_tiled(const ChoiceInput& f)
{
  if (f.rows == 0) return {"tiled", PlanForm::any, 0, 0, "there are no rows"};
  Estimate e = tiled_times(f);
  e.apply += f.orders_time;
  const double mean = static_cast<double>(f.nnz) / 2 / static_cast<double>(f.rows);
  if (estimate_wavefront(f).applies()) e.why_not = "wavefront is faster";
  else if (!f.regular) e.why_not = "dependences cross tiles, as rows differ in bandwidth";
  else if (f.tiled_form == PlanForm::any) e.why_not = "rows are too long for tiles, or no plan could be made";
  else if (f.levels < least_levels) e.why_not = few_levels;
  else if (static_cast<double>(f.longest) > 8 * mean + 8) e.why_not = "some rows are much longer than the mean";
  return e;
}

/// Runs of 64 levels are planned concurrently, the rows of one run sequentially, with bitsets over all rows of the run.
static double merged_plan_time(const ChoiceInput& f, double entries, std::int64_t longest)
{
  const double rows_of_run = static_cast<double>(f.rows) * std::min(1.0, 64 / static_cast<double>(f.levels));
  return model.merged_plan_begin + model.merged_plan_entry * entries +
         model.merged_plan_level * static_cast<double>(longest) +
         model.merged_plan_row_squared * rows_of_run * rows_of_run;
}

/// Time of both triangles without waits.
static double merged_time_of_rows(const ChoiceInput& f, double entries)
{
  return model.merged_begin + model.merged_entry * entries +
         2 * model.merged_longest_row * static_cast<double>(f.longest);
}

/// Estimate after the groups have been searched for, at least in a sample.
Estimate estimate_merged(const ChoiceInput& f)
{
  if (f.merged_groups <= 0) return {"merged", PlanForm::groups, 0, 0, "merging the levels cannot pay for its search"};
  const double groups = 2 * f.merged_groups, entries = 2 * f.merged_entries;
  const double length = f.merged_entries / static_cast<double>(f.rows);
  const double of_group = model.merged_group + model.merged_length * length;
  const double left = f.merged_is_known ? model.merged_plan_rest : 1;
  return {"merged", PlanForm::groups, merged_time_of_rows(f, entries) + of_group * groups + f.orders_time,
          left * merged_plan_time(f, entries, f.merged_longest)};
}

/// Estimate before the search, from the time of the groups relative to sqrt(levels * entries).
static Estimate estimate_unsearched_merged(const ChoiceInput& f, double relative_time)
{
  constexpr double fill = 3;
  constexpr std::int64_t levels_of_group = 30;
  const double entries = static_cast<double>(f.nnz) / 2;
  const double groups = relative_time * std::sqrt(static_cast<double>(f.levels) * entries);
  return {"merged", PlanForm::groups, merged_time_of_rows(f, 0) + groups,
          merged_plan_time(f, fill * 2 * entries, levels_of_group)};
}

Estimate choose_estimate(const ChoiceInput& f, const std::vector<Estimate>& estimates)
{
  constexpr double noticeable = 10;
  const Estimate* least = &estimates.front();
  for (const Estimate& e : estimates)
    if (e.applies() && total_time(f, e) < total_time(f, *least)) least = &e;
  const double most = close_times * total_time(f, *least);
  const Estimate* best = least;
  for (const Estimate& e : estimates)
    if (e.applies() && total_time(f, e) <= most && e.apply + noticeable <= least->apply &&
        total_time(f, e, 2) < total_time(f, *best, 2))
      best = &e;
  return *best;
}

bool could_pay_to_merge(const ChoiceInput& f)
{
  const Estimate wavefront = estimate_wavefront(f), tiled = estimate_tiled(f);
  const bool on_grid = wavefront.applies() || tiled.applies();
  const Estimate merged = estimate_unsearched_merged(f, on_grid ? model.merged_on_grids : model.merged_good);
  return choose_estimate(f, {estimate_level_order(f), wavefront, tiled, merged}).form == PlanForm::groups;
}

bool single_pays(const ChoiceInput& f, const Estimate& e)
{
  if (f.single_saves == 0) return false;
  const std::string name = e.strategy;
  const auto entries = static_cast<double>(f.nnz), rows = static_cast<double>(f.rows);
  const auto levels = static_cast<double>(e.form == PlanForm::inodes ? f.node_levels : f.levels);
  const double saved = model.single_byte * f.single_saves * entries;
  if (name == "wavefront") return saved > 2 * model.single_pencils_level * levels;
  if (name == "tiled") return saved > 2 * model.single_tiles_level * levels;
  const bool exceeds_l2 = 2 * f.single_saves * entries > model.l2_bytes;
  return name == "level_order" && exceeds_l2 && 2 * (model.wide_entry * entries + model.wide_row * rows) > e.apply;
}

double estimate_apply(const ChoiceInput& f, bool may_merge)
{
  double least = estimate_level_order(f).apply;
  for (const Estimate& other : {estimate_wavefront(f), estimate_tiled(f)})
    if (other.applies()) least = std::min(least, other.apply);
  if (may_merge) least = std::min(least, estimate_unsearched_merged(f, model.merged_usual).apply);
  return least;
}

}  // namespace syncfree
