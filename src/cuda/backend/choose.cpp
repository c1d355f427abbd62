/// Implements cuda/backend/choose.hpp.

#include "cuda/backend/choose.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "core/choose/estimate.hpp"
#include "core/schedule/bandwidth.hpp"
#include "core/support/instantiate.hpp"
#include "cuda/backend/pair_update.hpp"
#include "cuda/base/granularity.hpp"
#include "cuda/base/parallel_invoke.hpp"
#include "cuda/base/vectors.hpp"
#include "cuda/factor/factorize.hpp"
#include "cuda/factor/factorize_dense.hpp"
#include "cuda/solve/dense/dense_solver.hpp"
#include "cuda/solve/make_solver.hpp"
#include "cuda/solve/merged/rule.hpp"
#include "cuda/solve/tiled/tiled.hpp"
#include "cuda/solve/wavefront/wavefront.hpp"
#include "syncfree/memory_limit.hpp"

namespace syncfree::cuda {

template <class T, class I>
void make_solver(TriangleIndex which, const DeviceTriangle<I>& triangle, Analysis<T, I>* a, const char* strategy)
{
  if (triangle.block_size > 1) {
    a->solver[which] = a->single ? make_dense_block_solver<T, single_t<T>, I>(triangle, a->options)
                                 : make_dense_block_solver<T, T, I>(triangle, a->options);
    return;
  }
  SolverOptions chosen = a->options;
  chosen.single_storage = a->single;
  chosen.strategy = strategy ? strategy : a->choice.strategy;
  const Status status = make_device_solver(chosen, triangle, &a->solver[which]);
  if (!status.ok()) throw Failure{status};
}

template <class T, class I> void StrategyChooser<T, I>::choose_and_make()
{
  find_memory_limit();
  if (a_.by_blocks) return make_dense_blocks();
  confirm_tiles();
  if (is_auto() && a_.options.trials && task_.A.n > 0) {
    make_factorization();  // first: its memory counts
    choose_by_trials();
  } else {
    choose_by_model();
    make_chosen();
  }
  a_.choice.reason += limited_lists_;
}

template <class T, class V, class I> bool tiles_are_faster(const DeviceTriangle<I>& L, const DeviceTriangle<I>& U)
{
  return may_tile_points<T, V>(L) && may_tile_points<T, V>(U);
}

/// Returns false if there are no tiles.
template <class T, class V, class I>
bool make_point_tiles(const DeviceTriangle<I>& L, const DeviceTriangle<I>& U, Analysis<T, I>* a)
{
  auto of_L = make_point_tiles_solver<T, V>(L);
  auto of_U = of_L ? make_point_tiles_solver<T, V>(U) : nullptr;
  if (!of_U) return false;
  a->solver[lower] = std::move(of_L), a->solver[upper] = std::move(of_U);
  return true;
}

/// Dense blocks: by tiles of a grid's points, where there are some and they are faster, else level by level.
template <class T, class I> void StrategyChooser<T, I>::make_dense_blocks()
{
  using Single = single_t<T>;
  const bool forced = asks_for("tiled");
  std::string reason = asks_for("auto") ? "dense blocks" : "forced";
  const auto may_be_faster = [&] {
    return a_.single ? tiles_are_faster<T, Single>(L(), U()) : tiles_are_faster<T, T>(L(), U());
  };
  std::string storage = choose_storage_of_blocks("tiled");
  if (forced || (asks_for("auto") && may_be_faster())) {
    try {
      if (a_.single ? make_point_tiles<T, Single>(L(), U(), &a_) : make_point_tiles<T, T>(L(), U(), &a_)) {
        a_.choice = {"tiled", reason + storage, PlanForm::grid};
        make_dense_factorization();
        const std::string over = over_limit();
        if (over.empty()) return;
        a_.solver[lower].reset(), a_.solver[upper].reset();
        reason += over;
      } else {
        reason += "; tiled has no plan";
      }
    } catch (const Failure& failure) {
      if (forced || failure.status.code != Code::out_of_memory) throw;
      a_.solver[lower].reset(), a_.solver[upper].reset();
      reason += "; tiled has no memory";
    }
    if (forced) {
      Status status = failed(Code::no_plan, "tiles of dense blocks are those of a grid's points, up to 6 rows each, "
                                            "that read 13 others at most (4 from 4 rows on) and fit in shared memory");
      status.block_row = true;
      throw Failure{status};
    }
  }
  storage = choose_storage_of_blocks("level_order");
  a_.choice = {"level_order", reason + storage, PlanForm::rows};
  make_solver(lower, L(), &a_);
  make_solver(upper, U(), &a_);
  make_dense_factorization();
}

/// Decides in which precision dense blocks are stored, by the time that `level_order` takes for their entries. Returns
/// the clause for the view, or nothing.
template <class T, class I> std::string StrategyChooser<T, I>::choose_storage_of_blocks(const char* strategy)
{
  const ChoiceInput f = factor_sizes();
  if (f.single_saves == 0) return {};
  Estimate e = estimate_level_order(f);
  e.strategy = strategy;
  a_.single = single_pays(f, e);
  if (a_.factorization) a_.factorization->store_in_single(a_.single);
  return a_.single ? "" : stored_in_double;
}

template <class T, class I> void StrategyChooser<T, I>::make_dense_factorization()
{
  if (!task_.factorizes || a_.factorization) return;
  a_.factorization = std::make_unique<DeviceBlockFactorization<T, I>>(
      a_.pattern, a_.lower_levels, a_.options.block_size, a_.row_order.empty(), a_.single);
  a_.factorization->take_rows(std::move(found_.kept_rows));
}

// Memory

/// Returns the bytes of a triangle's rows in the order of their levels, without values, and of the mailboxes of a
/// launch for them and of their part of one for both triangles.
template <class T, class I> double bytes_of_rows(double rows, double entries)
{
  constexpr double of_launch = 2, of_pair = 3;  // values a row
  return 2 * (entries + rows) * sizeof(I) + (of_launch + of_pair) * rows * sizeof(T);
}

/// Finds the limit, and what of it is used whatever is chosen. By default it is that of ILU for IC, too, which has both
/// triangles here. Lists for the factorization get all that the solvers of `level_order` leave, before `merged`: they
/// make factorizations many times as fast, merging applies a few times.
template <class T, class I> void StrategyChooser<T, I>::find_memory_limit()
{
  const auto values = static_cast<double>(a_.block_values()), rows = static_cast<double>(a_.vector_size());
  const double of_both = values * (static_cast<double>(L().nnz()) + static_cast<double>(U().nnz()));
  const double diagonal = values * static_cast<double>(L().n());
  const double petsc = petsc_factor_bytes(rows, of_both + diagonal, sizeof(T), sizeof(I));
  a_.memory_limit = memory_limit_in_force(a_.options, petsc);
  if (!has_limit()) return;
  const Summary made = summarize_analysis(a_);
  const bool copies = !task_.on_device.row_begin;  // of values and vectors, from host memory
  const double vectors = (a_.work.empty() ? 1 : 0) + (task_.factorizes ? 0 : 1) + (copies ? 2 : 0);
  const double of_A = copies ? values * static_cast<double>(a_.nnz) : 0;
  base_bytes_ = static_cast<double>(made.factor_bytes) + static_cast<double>(made.plan_bytes) +
                (of_both + diagonal + of_A + vectors * rows) * sizeof(T);
  const double of_value = a_.single ? sizeof(single_t<T>) : sizeof(T);
  const double solvers = bytes_of_rows<T, I>(2 * rows, of_both) + (of_both + 2 * rows) * of_value;
  list_bytes_ = a_.memory_limit - base_bytes_ - solvers;
}

/// Returns the bytes of factor and plan with the solvers that are made.
template <class T, class I> double StrategyChooser<T, I>::bytes() const
{
  double sum = base_bytes_;
  if (a_.factorization) sum += static_cast<double>(a_.factorization->factor_plan_bytes());
  for (const auto& solver : a_.solver)
    if (solver) {
      const PlanSummary plan = solver->summarize_plan();
      sum += static_cast<double>(plan.plan_bytes) + static_cast<double>(plan.value_bytes);
    }
  return sum;
}

/// Returns a clause for the view if the solvers exceed the limit, and others may take their place.
template <class T, class I> std::string StrategyChooser<T, I>::over_limit() const
{
  const std::string& name = a_.choice.strategy;
  if (!has_limit() || !is_auto() || name == "level_order") return {};
  const double taken = bytes();
  return taken > a_.memory_limit ? "; " + over_memory_limit(name, taken, a_.memory_limit) : std::string();
}

/// Bounds the bytes of merged levels, for each triangle in proportion to its entries. Returns false if there is not
/// even room for these.
template <class T, class I> bool StrategyChooser<T, I>::limit_merging()
{
  if (!has_limit()) return true;
  const auto entries_of = [](const DeviceTriangle<I>& triangle) {
    return static_cast<double>(triangle.nnz()) + static_cast<double>(triangle.n());
  };
  const double rows = 2 * static_cast<double>(L().n()), unmerged = entries_of(L()) + entries_of(U());
  const auto of_entry =
      static_cast<double>(a_.single ? bytes_of_merged_entry<single_t<T>, I> : bytes_of_merged_entry<T, I>);
  const bool of_pair = task_.factorizes && a_.row_order.empty() && merged_gains_by_pair(L().n(), found_.longest());
  const double of_groups = sizeof(I) * (static_cast<double>(a_.levels.lower) + static_cast<double>(a_.levels.upper));
  const double around = bytes() + of_groups + bytes_of_merged_row<T, I>(of_pair) * rows;
  const double least = around + of_entry * unmerged;
  for (const TriangleIndex which : {lower, upper}) {
    DeviceTriangle<I>& triangle = which == lower ? L() : U();
    const double most = std::clamp((a_.memory_limit - around) / unmerged * entries_of(triangle), 0.0, 1e18);
    triangle.most_merged = a_.most_merged[which] = static_cast<std::int64_t>(most);
    if (triangle.pending_plan) triangle.pending_plan->limit_bytes(triangle.most_merged);
  }
  const bool has_room = least <= a_.memory_limit;
  if (!has_room) limited_ = "; " + over_memory_limit("merged", least, a_.memory_limit, true);
  return has_room;
}

// Pencils and tiles of grids

template <class T, class I> bool StrategyChooser<T, I>::wants_wavefront() const
{
  if (has_failed(PlanForm::pencils)) return false;
  return asks_for("wavefront") || (chooses() && a_.options.blocks.tile_rows == 0);
}

template <class T, class I>
double StrategyChooser<T, I>::time_of_wavefront(const Grid<I>& grid, std::int64_t longest, std::int64_t levels) const
{
  return a_.single ? time_of_pencils<T, single_t<T>>(grid, task_.A.n, longest, levels)
                   : time_of_pencils<T, T>(grid, task_.A.n, longest, levels);
}

template <class T, class I> TileChoice StrategyChooser<T, I>::find_tile(const Grid<I>& grid) const
{
  if (has_failed(PlanForm::grid)) return {};
  return a_.single ? choose_star_tile<T, single_t<T>>(grid) : choose_star_tile<T, T>(grid);
}

template <class T, class I> void StrategyChooser<T, I>::guess_tiles(const Grid<I>& grid)
{
  if (!grid.star) return;
  if (wants_wavefront()) wavefront_time_ = time_of_wavefront(grid, grid.longest_of_star(), 0);
  if (wavefront_time_ == 0 && wants_tiles()) tile_ = find_tile(grid);
}

/// Confirms the guess with the levels. Pencils require all neighbours of the grid, star tiles do not.
template <class T, class I> void StrategyChooser<T, I>::confirm_tiles()
{
  const Grid<I>& grid = L().grid;
  const I levels = a_.levels.lower;
  const bool may_be_star = grid.star && static_cast<double>(levels) <= grid.levels_bound();
  if (!may_be_star || has_failed(PlanForm::grid)) tile_ = {};
  if (tile_.shape.cells == 0) {
    const bool is_star = may_be_star && found_.longest() <= grid.longest_of_star();
    const bool may_be_swept = wants_wavefront() && a_.levels.upper == levels;
    wavefront_time_ = may_be_swept ? time_of_wavefront(grid, found_.longest(), levels) : 0;
    if (wavefront_time_ == 0 && is_star && wants_tiles()) tile_ = find_tile(grid);
  }
  L().tile = U().tile = &tile_.shape;
}

/// Of `auto`, where single storage was asked for: sets what values are stored in. What pencils and tiles fit into
/// shared memory depends on that.
template <class T, class I> void StrategyChooser<T, I>::store_in_single(bool single)
{
  if (single_saves() == 0 || a_.single == single) return;
  a_.single = single;
  if (a_.factorization) a_.factorization->store_in_single(single);
  inodes_fit_.reset();
  tile_ = {};
  confirm_tiles();
}

template <class T, class I> bool StrategyChooser<T, I>::wants_inodes() const
{
  if (a_.by_blocks) return false;
  const bool wanted = chooses() || asks_for("level_order") || asks_for("tiled");
  return wanted && !found_.L->grid.star && found_.longest() <= longest_with_inodes;
}

// Features

template <class T, class I> bool StrategyChooser<T, I>::is_regular()
{
  if (wavefront_time_ > 0 || tile_.time > 0) return true;
  const auto is_regular = [](const auto& rows) { return reaches_regularly(rows, true); };
  if (!found_.regular) found_.regular = found_.look_at(L(), is_regular);
  return *found_.regular;
}

/// True if both triangles probably have tiles of inodes; computed once because it cuts the rows into tiles.
template <class T, class I> bool StrategyChooser<T, I>::inodes_fit_tiles()
{
  const auto fit = [&](const DeviceTriangle<I>& triangle) {
    return triangle.nodes && (a_.single ? may_plan_tiles_of_inodes<T, single_t<T>>(triangle)
                                        : may_plan_tiles_of_inodes<T, T>(triangle));
  };
  if (!inodes_fit_) inodes_fit_ = fit(L()) && fit(U());
  return *inodes_fit_;
}

/// True if the device can plan tiles of the rows of both triangles.
template <class T, class I> bool StrategyChooser<T, I>::rows_fit_tiles() const
{
  const auto fit = [&](const DeviceTriangle<I>& triangle) {
    return a_.single ? may_plan_tiles_on_device<T, single_t<T>>(triangle) : may_plan_tiles_on_device<T, T>(triangle);
  };
  return fit(*found_.L) && fit(*found_.U);
}

/// Returns the first form, in the order of speed, that has not failed and probably has a plan.
template <class T, class I> PlanForm StrategyChooser<T, I>::form_of_tiles()
{
  if (tile_.time > 0) return PlanForm::grid;
  if (!has_failed(PlanForm::inodes) && inodes_fit_tiles()) return PlanForm::inodes;
  if (!has_failed(PlanForm::rows) && rows_fit_tiles()) return PlanForm::rows;
  return PlanForm::any;
}

template <class T, class I> ChoiceInput StrategyChooser<T, I>::factor_sizes() const
{
  ChoiceInput f;
  f.rows = static_cast<std::int64_t>(a_.vector_size());
  f.nnz = static_cast<std::int64_t>(a_.block_values()) *
          (static_cast<std::int64_t>(found_.L->nnz()) + found_.U->nnz());
  f.levels = (static_cast<std::int64_t>(a_.levels.lower) + a_.levels.upper + 1) / 2;
  f.single_saves = single_saves();
  return f;
}

template <class T, class I> ChoiceInput StrategyChooser<T, I>::features()
{
  ChoiceInput f = factor_sizes();
  f.on_device = true;
  f.threads = a_.options.threads;
  f.expected_applies = a_.options.expected_applies;
  f.memory_is_short = memory_is_short_;
  f.block_rows = a_.blocks.most;
  f.block_colors = a_.blocks.colors;
  if (L().nodes && U().nodes) {
    f.node_size = std::min(L().nodes->size, U().nodes->size);
    f.node_levels = std::max(L().nodes->levels.count, U().nodes->levels.count);
    f.inodes_on_grid = L().grid_of_nodes.lines > 1 && U().grid_of_nodes.lines > 1;
  }
  if (f.expected_applies == 0 || memory_is_short_) return f;  // the other features cost time and are not needed
  f.longest = found_.longest();
  f.wavefront_time = wavefront_time_;
  if (!a_.has_given_order() && !a_.row_order.empty()) f.orders_time = time_of_orders(f.rows);
  f.tiled_time = tile_.time;
  f.tiled_on_device = rows_fit_tiles() && !L().grid.star;
  f.regular = is_regular();
  f.tiled_form = f.regular ? form_of_tiles() : PlanForm::any;
  if (has_failed(PlanForm::groups) || !may_merge(f.rows, f.levels, f.longest) || !could_pay_to_merge(f)) return f;
  MergeForecast merged;
  try {
    merged = foresee_merging();
  } catch (const Failure& failure) {
    if (failure.status.code != Code::out_of_memory) throw;
    drop_merging();
  }
  f.merged_groups = merged.groups;
  f.merged_entries = merged.entries;
  f.merged_is_known = merged.of_all;
  f.merged_longest = merged.longest;
  return f;
}

// Merged levels

/// Searches for groups of merged levels; the plans reuse the result. The factorization is made meanwhile. Returns zeros
/// if memory is too short for any, and `auto` may take others.
template <class T, class I> MergeForecast StrategyChooser<T, I>::foresee_merging()
{
  if (is_auto() && !limit_merging()) return {};
  if (a_.pending_merge) L().by_level = U().by_level = nullptr;  // its rows end
  a_.pending_merge = std::make_unique<PendingMergePlans<I>>();
  begin_merging(&L(), &found_.lower_by_level, &a_.pending_merge->lower_rows, &a_.pending_merge->lower);
  begin_merging(&U(), &found_.upper_by_level, &a_.pending_merge->upper_rows, &a_.pending_merge->upper);
  make_factorization();
  if (!limit_merging() && is_auto()) {
    drop_merging();
    return {};
  }
  const MergeForecast found = a_.pending_merge->forecast_lower();
  if (found.short_of_memory) limited_ = "; merged has smaller groups to keep to the memory limit";
  return found;
}

/// Starts the search on rows sorted by level, or on the rows as they are if sorting would cost more than it saves.
///   made  the sorted rows, which are taken, or empty
template <class T, class I>
void StrategyChooser<T, I>::begin_merging(DeviceTriangle<I>* triangle, PermutedRows<I>* made, PermutedRows<I>* rows,
                                          std::optional<MergePlanner<I>>* planner)
{
  constexpr I many_rows = 1 << 19;
  const std::int64_t most = triangle->most_merged;
  const MergeRule rule =
      a_.single ? rule_of<single_t<T>, I>(a_.options, most) : rule_of<T, I>(a_.options, most);
  const I* row = triangle->device_levels->row.data();
  DevicePattern<I> pattern = triangle->on_device;
  if (triangle->n() < many_rows) {
    *rows = made->begin.empty() ? permute_rows<I>(pattern, nullptr, row, true, !triangle->lower) : std::move(*made);
    triangle->by_level = rows;
    pattern = {triangle->n(), triangle->nnz(), rows->begin.data(), rows->column.data()};
    row = nullptr;
  }
  planner->emplace(pattern, row, triangle->level_begins(), rule, triangle->longest());
  (*planner)->begin_search();
  triangle->pending_plan = &**planner;
}

/// Frees what is no longer needed first: after the analysis that would wait for the plans.
template <class T, class I> void StrategyChooser<T, I>::begin_plans_of_merged()
{
  if (MemoryPool* const pool = MemoryPool::of_device()) SYNCFREE_CUDA(pool->flush_deferred_frees());
  a_.pending_merge->begin_early();
}

template <class T, class I> void StrategyChooser<T, I>::drop_merging()
{
  L().pending_plan = U().pending_plan = nullptr;
  if (a_.pending_merge) a_.pending_merge->lower.reset(), a_.pending_merge->upper.reset();
}

// Choice by the model

template <class T, class I> void StrategyChooser<T, I>::choose_by_model()
{
  a_.choice = {a_.options.strategy, "forced"};
  limited_.clear();
  if (is_auto()) {
    a_.choice = choose_strategy(features());
    store_in_single(a_.choice.single);
  }
  L().form = U().form = a_.choice.form;
  if (asks_for("merged") && L().n() > 0) (void)foresee_merging();
  if (a_.choice.strategy != "merged") drop_merging();
  else if (a_.pending_merge) begin_plans_of_merged();
  a_.choice.reason += limited_;
}

/// Makes the solvers. Whether the form has a plan and memory, and keeps to the limit of memory, is known only then; if
/// not, `auto` chooses again: among the other forms, or `level_order` if memory is short.
template <class T, class I> void StrategyChooser<T, I>::make_chosen()
{
  for (std::string others;;) {
    try {
      make_solvers();
      const std::string over = over_limit();
      if (over.empty()) {
        a_.choice.reason += others;
        return;
      }
      drop_chosen();
      others += over;
    } catch (const Failure& failure) {
      others += rule_out(failure);
    }
    choose_by_model();
  }
}

/// Excludes the chosen form, or rethrows if no other may be chosen. Returns the clause for the view.
template <class T, class I> std::string StrategyChooser<T, I>::rule_out(const Failure& failure)
{
  const std::string name = a_.choice.strategy;
  const Code code = failure.status.code;
  const bool has_others = is_auto() && name != "level_order";
  if (!has_others || (code != Code::no_plan && code != Code::out_of_memory)) throw;
  memory_is_short_ = code == Code::out_of_memory;
  drop_chosen();
  return "; " + name + (memory_is_short_ ? " has no memory" : " has no plan");
}

/// Gives up the solvers of the chosen form, which is not chosen again.
template <class T, class I> void StrategyChooser<T, I>::drop_chosen()
{
  a_.solver[lower].reset(), a_.solver[upper].reset();
  failed_.push_back(a_.choice.form);
  store_in_single(false);
  confirm_tiles();
}

/// One thread for plans that the device makes: several would wait for each other inside CUDA.
template <class T, class I> int StrategyChooser<T, I>::threads_of_plans()
{
  const bool by_tiles = a_.choice.strategy == "tiled";
  if (by_tiles && tile_.time > 0) return few_threads();
  if (a_.choice.strategy == "wavefront") return 1;
  if (a_.choice.strategy == "merged" && a_.pending_merge) return 1;
  if (by_tiles && form_of_tiles() != PlanForm::any) return 1;
  // long rows are split on the host
  const auto splits = [](const DeviceTriangle<I>& triangle) {
    if (triangle.nodes || !triangle.device_levels) return false;
    const I levels = triangle.device_levels->count;
    const Granularity g = granularity_of(triangle.n(), triangle.nnz(), levels, triangle.longest());
    return splits_rows(g, choose_lanes(g));
  };
  return a_.choice.strategy == "level_order" && !splits(L()) && !splits(U()) ? 1 : a_.options.threads;
}

/// Computes the typical bandwidths from which a tile plan of a pattern that is not a star starts.
template <class T, class I> void StrategyChooser<T, I>::find_bandwidths()
{
  if (a_.choice.strategy != "tiled") return;
  for (DeviceTriangle<I>* triangle : {&L(), &U()})
    if (tile_.time == 0 || !triangle->grid.star)
      triangle->row_bandwidth = found_.look_at(
          *triangle, [&](const auto& rows) { return typical_row_bandwidth(rows, triangle->lower); });
}

template <class T, class I> void StrategyChooser<T, I>::make_solvers()
{
  find_bandwidths();
  parallel_invoke(threads_of_plans(), {[&] { make_solver(lower, L(), &a_); }, [&] { make_solver(upper, U(), &a_); },
                                       [&] { make_factorization(); }});
}

template <class T, class I> void StrategyChooser<T, I>::make_factorization()
{
  if (!task_.factorizes || a_.factorization) return;
  auto made = std::make_unique<DeviceFactorization<T, I>>(a_.pattern, a_.lower_levels, a_.single, list_bytes_);
  made->take_rows(std::move(found_.kept_rows));
  if (const auto refused = static_cast<double>(made->refused_list_bytes()); refused > 0) {
    const double taken = a_.memory_limit - list_bytes_ + refused;
    limited_lists_ = "; " + over_memory_limit("a faster factorization", taken, a_.memory_limit);
  }
  const bool by_loop = a_.choice.strategy == "loop" && a_.made.kind == Kind::ilu && found_.were_split();
  if (by_loop) made->use(make_loop_factorization<T>(task_.A, a_.pattern));
  a_.factorization = std::move(made);
}

#define INSTANTIATE(T, I)               \
  template class StrategyChooser<T, I>; \
  template void make_solver<T, I>(TriangleIndex, const DeviceTriangle<I>&, Analysis<T, I>*, const char*);
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree::cuda
