/// The set-up of a preconditioner or relaxation on the device: analysis, choice of a strategy, plans.

#include "cuda/backend/setup.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/pattern/transpose.hpp"
#include "core/plan/tiling.hpp"
#include "core/schedule/bandwidth.hpp"
#include "core/support/instantiate.hpp"
#include "core/support/parallel.hpp"
#include "cuda/backend/pair_update.hpp"
#include "cuda/base/granularity.hpp"
#include "cuda/base/parallel_invoke.hpp"
#include "cuda/base/stream.hpp"
#include "cuda/solve/make_solver.hpp"
#include "cuda/solve/merged/plan.hpp"
#include "cuda/solve/merged/rule.hpp"
#include "cuda/solve/tiled/tiled.hpp"
#include "cuda/solve/wavefront/wavefront.hpp"
#include "syncfree/threads.hpp"

namespace syncfree::cuda {
namespace {

/// Makes the solver of one triangle.
///   strategy  nullptr: the chosen one
template <class T, class I>
void make_solver(TriangleIndex which, const DeviceTriangle<I>& triangle, Analysis<T, I>* a,
                 const char* strategy = nullptr)
{
  SolverOptions chosen = a->options;
  chosen.strategy = strategy ? strategy : a->choice.strategy;
  const Status status = make_device_solver(chosen, triangle, &a->solver[which]);
  if (!status.ok()) throw Failure{status};
}

/// Allocates the work vector if a solver cannot solve in place.
template <class T, class I> void make_work(Analysis<T, I>* a)
{
  for (const auto& solver : a->solver)
    if (solver && !solver->solves_in_place() && a->work.empty()) a->work = DeviceArray<T>(a->pattern.n);
}

template <class T, class I> class Analyser {
public:
  Analyser(const Task<I>& task, Analysis<T, I>* a) : task_(task), a_(*a) {}

  Status run()
  {
    Status status = check_row_offsets(task_.A, a_.options.threads);
    if (!status.ok()) return status;
    a_.nnz = task_.A.nnz();
    split_if_possible();
    if (!was_split_) status = make_on_host();
    if (!status.ok()) return status;
    a_.row_order = DeviceArray<I>(a_.made.row_order);
    a_.column_order = DeviceArray<I>(a_.made.column_order);
    if (!a_.made.natural()) a_.work = DeviceArray<T>(task_.A.n);
    if (is_auto() && a_.options.trials && task_.A.n > 0) {
      choose_by_trials();
      make_factorization();
    } else {
      take_tiles();
      choose();
      make_chosen();
    }
    if (a_.factorization) a_.factorization->use(a_.solver[lower].get());
    make_work(&a_);
    a_.made.drop_triangles();
    if (a_.choice.strategy != "merged") a_.merging.reset();
    if (a_.merging) a_.merging->upper_levels = std::move(upper_levels_);
    return {};
  }

private:
  /// True if the choice depends on more than the levels.
  bool chooses() const { return is_auto() && a_.options.expected_applies > 0; }
  bool is_regular()
  {
    if (wavefront_time_ > 0 || tile_.time > 0) return true;
    if (!regular_) regular_ = reaches_regularly(rows_of(*L_), true);
    return *regular_;
  }
  /// Threads for host work that runs concurrently with the device.
  int few_threads() const { return worthwhile_threads(a_.nnz / 10, a_.options.threads); }
  /// One thread for plans that the device makes: several would wait for each other inside CUDA.
  int threads_of_plans()
  {
    const bool by_tiles = a_.choice.strategy == "tiled";
    if (by_tiles && tile_.time > 0) return few_threads();
    if (a_.choice.strategy == "wavefront") return 1;
    if (a_.choice.strategy == "merged" && a_.merging) return 1;
    if (by_tiles && may_plan_tiles()) return 1;
    const bool in_level_order = a_.choice.strategy == "level_order" && !splits_rows(*L_) && !splits_rows(*U_);
    return in_level_order ? 1 : a_.options.threads;
  }
  /// True if long rows are split, which the host does.
  static bool splits_rows(const DeviceTriangle<I>& triangle)
  {
    if (triangle.nodes || !triangle.device_levels) return false;
    const I levels = triangle.device_levels->count;
    const Granularity g = granularity_of(triangle.n(), triangle.nnz(), levels, triangle.longest());
    return cuda::splits_rows(g, choose_lanes(g));
  }
  bool is_auto() const { return asks_for("auto"); }
  bool asks_for(const char* strategy) const { return a_.options.strategy == strategy; }

  bool may_split() const
  {
    const SymbolicOptions<I>& s = task_.symbolic;
    return s.levels == 0 && !s.row_order && !s.column_order && task_.A.n > 0;
  }

  /// Splits A into L and U on the device; meanwhile the host chooses tiles if A may be a star stencil.
  void split_if_possible()
  {
    if (!may_split()) return;
    const bool may_be_star = wants_tiles() && few_threads() > 1 && a_.nnz / 7 <= task_.A.n;
    const Grid<I> grid = may_be_star ? find_grid(task_.A, true) : Grid<I>();
    if (grid.star) {
      parallel_invoke(few_threads(), {[&] { was_split_ = split_on_device(); }, [&] { choose_tiles(grid); }});
    } else {
      was_split_ = split_on_device();
      choose_tiles(grid_of_L_);
    }
  }

  /// False if the pattern of A is invalid, or not symmetric for IC.
  bool split_on_device()
  {
    a_.made.kind = task_.symbolic.kind;
    a_.made.n = task_.A.n;
    PatternOnDevice<I> rows(task_.A, task_.on_device);
    if (!split(a_.made.kind, rows.pattern, &a_.pattern, [&] { look_at_rows(task_.A, task_.A); })) return false;
    if (a_.made.kind == Kind::icc) keep(std::move(rows));
    make_triangles();
    find_levels_and_nodes();
    return true;
  }

  /// Keeps a copy of the rows of A if L and U do not hold them (to recognise the pattern again), and for the
  /// positive-definite shift, which sums whole rows and is IC's default.
  void keep(PatternOnDevice<I> rows) { kept_rows_ = DevicePatternCopy<I>(std::move(rows)); }

  Status make_on_host()
  {
    Status status = check_pattern(task_.A, a_.options.threads);
    if (status.ok()) status = make_factor_pattern(task_.A, task_.symbolic, &a_.made, a_.options.threads);
    if (!status.ok()) return status;
    if (task_.A.n > 0) keep(PatternOnDevice<I>(task_.A, task_.on_device));
    a_.pattern = upload(a_.made, task_.A);
    make_triangles();
    L_->show(a_.made.lower());
    U_->show(a_.made.upper());
    look_at_rows(L_->pattern(), U_->pattern());
    find_levels_and_nodes();
    choose_tiles(grid_of_L_);
    return {};
  }

  void make_triangles()
  {
    L_.emplace(true, a_.pattern.lower(), a_.pattern.counts.most_lower, true);
    U_.emplace(false, a_.pattern.upper(), a_.pattern.counts.most_upper, false);
    L_->captures = U_->captures = a_.captures;
  }

  /// Returns rows in host memory: those of A if L and U were split from it, otherwise the triangle's.
  const PatternView<I>& rows_of(const DeviceTriangle<I>& triangle) const
  {
    return may_split() ? task_.A : triangle.pattern();
  }

  /// Finds the grid from a few rows in host memory; the result is a guess.
  void look_at_rows(const PatternView<I>& of_L, const PatternView<I>& of_U)
  {
    if (of_L.n == 0) return;
    grid_of_L_ = find_grid(of_L, true), grid_of_U_ = find_grid(of_U, false);
    if (chooses() && !grid_of_L_.star) regular_ = reaches_regularly(of_L, true);
  }

  /// Finds levels and inodes of L and U concurrently, in two streams.
  void find_levels_and_nodes()
  {
    if (L_->n() == 0) return;
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));  // the triangles have been made
    const Stream for_L, for_U, for_nodes_of_L, for_nodes_of_U;
    L_->grid = grid_of_L_, U_->grid = grid_of_U_;
    LevelSearch<I> of_L(L_->on_device, true, L_->grid, for_L.get()), of_U(U_->on_device, false, U_->grid, for_U.get());
    std::optional<InodeSearch<I>> nodes_of_L, nodes_of_U;
    if (wants_nodes()) {
      nodes_of_L.emplace(L_->on_device, true, for_nodes_of_L.get());
      nodes_of_U.emplace(U_->on_device, false, for_nodes_of_U.get());
    }
    take_levels(&of_L, &of_U);
    if (!nodes_of_L) return;
    find_nodes(*nodes_of_L, &*L_, &lower_nodes_);
    find_nodes(*nodes_of_U, &*U_, &upper_nodes_);
  }

  void take_levels(LevelSearch<I>* of_L, LevelSearch<I>* of_U)
  {
    const bool has_L = of_L->sort(), has_U = of_U->sort();
    if (has_L) of_L->count();
    if (has_U) of_U->count();
    const auto take = [](bool has, LevelSearch<I>* search, const DeviceTriangle<I>& triangle) {
      return has ? search->take() : upload(triangle.levels());
    };
    parallel_invoke(has_L || has_U ? 1 : a_.options.threads, {[&] { a_.lower_levels = take(has_L, of_L, *L_); },
                                                      [&] { upper_levels_ = take(has_U, of_U, *U_); }});
    L_->device_levels = &a_.lower_levels, U_->device_levels = &upper_levels_;
    a_.levels = {a_.lower_levels.count, upper_levels_.count};
  }

  /// True if `level_order` or `tiled` may run, unless rows are so long that they are split.
  bool wants_nodes() const
  {
    constexpr std::int64_t longest_row = 256;
    const bool wanted = chooses() || asks_for("level_order") || asks_for("tiled");
    return wanted && !L_->grid.star && longest() <= longest_row;
  }

  void find_nodes(const InodeSearch<I>& search, DeviceTriangle<I>* triangle, DeviceInodes<I>* nodes)
  {
    if (!search.find(nodes)) return;
    triangle->nodes = nodes;
    triangle->grid_of_nodes = find_grid(rows_of(*triangle), triangle->lower, static_cast<I>(nodes->size));
  }

  /// Entries of the longest row of both triangles.
  std::int64_t longest() const { return std::max(L_->longest(), U_->longest()); }

  bool wants_tiles() const { return (chooses() || asks_for("tiled")) && a_.options.blocks.tile_rows == 0; }
  bool wants_wavefront() const
  {
    return plans_wavefront_ && (asks_for("wavefront") || (chooses() && a_.options.blocks.tile_rows == 0));
  }

  double time_of_wavefront(const Grid<I>& grid, std::int64_t most, std::int64_t levels) const
  {
    return a_.options.single_storage ? time_of_pencils<T, single_t<T>>(grid, task_.A.n, most, levels)
                                     : time_of_pencils<T, T>(grid, task_.A.n, most, levels);
  }

  /// Estimates from the grid alone, which is still a guess. No tile is chosen if pencils apply.
  void choose_tiles(const Grid<I>& grid)
  {
    if (!grid.star) return;
    if (wants_wavefront()) wavefront_time_ = time_of_wavefront(grid, longest_of_star(grid), 0);
    if (wavefront_time_ == 0 && wants_tiles()) tile_ = find_tile(grid);
  }
  static std::int64_t longest_of_star(const Grid<I>& grid) { return grid.planes > 1 ? 3 : 2; }
  TileChoice find_tile(const Grid<I>& grid) const
  {
    return a_.options.single_storage ? choose_star_tile<T, single_t<T>>(grid) : choose_star_tile<T, T>(grid);
  }

  /// Confirms the estimate with the levels. Pencils require all neighbours of the grid, star tiles do not.
  void take_tiles()
  {
    const Grid<I>& grid = L_->grid;
    const I levels = a_.levels.lower;
    const bool may_be_star = grid.star && static_cast<double>(levels) <= grid.levels_bound();
    if (!may_be_star) tile_ = {};
    if (tile_.shape.cells == 0) {
      const bool is_star = may_be_star && longest() <= longest_of_star(grid);
      const bool may_be_swept = wants_wavefront() && a_.levels.upper == levels;
      wavefront_time_ = may_be_swept ? time_of_wavefront(grid, longest(), levels) : 0;
      if (wavefront_time_ == 0 && is_star && wants_tiles()) tile_ = find_tile(grid);
    }
    L_->tile = U_->tile = tile_.shape;
  }

  /// Computes the typical bandwidths from which a tile plan of a pattern that is not a star starts.
  void find_bandwidths()
  {
    if (a_.choice.strategy != "tiled") return;
    for (DeviceTriangle<I>* triangle : {&*L_, &*U_})
      if (tile_.time == 0 || !triangle->grid.star)
        triangle->row_bandwidth = typical_row_bandwidth(rows_of(*triangle), triangle->lower);
  }

  std::vector<std::string> candidates()
  {
    std::vector<std::string> names = {"level_order", "cusparse"};
    if (wavefront_time_ > 0) names.push_back("wavefront");
    else if (is_regular() && may_plan_tiles()) names.push_back("tiled");
    if (may_merge(L_->n(), a_.levels.lower, longest())) names.push_back("merged");
    return names;
  }

  /// Keeps the solvers of the fastest candidate. Skips a candidate that fails; throws only if all do.
  void choose_by_trials()
  {
    take_tiles();
    TrialVectors vectors(L_->n(), L_->nnz(), U_->nnz());
    std::vector<Trial> trials;
    std::array<std::unique_ptr<DeviceSolver<T, I>>, 4> best;
    Failure last;
    for (const std::string& name : candidates()) try {
        trials.push_back(try_out(name, vectors));
        if (best_trial(trials, a_.options.expected_applies) + 1 == trials.size()) std::swap(best, a_.solver);
      } catch (const Failure& failure) {
        last = failure;
      }
    if (trials.empty()) throw last;
    a_.solver = std::move(best);
    a_.choice = syncfree::choose_by_trials(trials, a_.options.expected_applies);
  }

  /// Placeholder values for the timing runs: non-zero, and small enough that solutions do not overflow.
  struct TrialVectors {
    DeviceArray<T> lower, upper, inverse_pivot, b, y, x;

    TrialVectors(I n, I below, I above) : lower(below), upper(above), inverse_pivot(n), b(n), y(n), x(n)
    {
      for (DeviceArray<T>* v : {&lower, &upper, &inverse_pivot, &b}) v->fill(0x3c, nullptr);
    }
  };

  Trial try_out(const std::string& name, const TrialVectors& v)
  {
    using Clock = std::chrono::steady_clock;
    const auto since = [](Clock::time_point begin) {
      SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
      return std::chrono::duration<double>(Clock::now() - begin).count();
    };
    auto& solver = a_.solver;
    a_.choice.strategy = name;
    const auto begin = Clock::now();
    find_bandwidths();
    parallel_invoke(a_.options.threads,
            {[&] { make_solver(lower, *L_, &a_); }, [&] { make_solver(upper, *U_, &a_); }});
    const PairUpdate<T, I> refresh(solver[lower].get(), solver[upper].get(), v.lower.data(), v.upper.data(),
                                      v.inverse_pivot.data(), nullptr);
    refresh.begin();
    refresh.end();
    Trial trial = {name, since(begin), std::numeric_limits<double>::max()};
    for (int round = 0; round < 3; ++round) {
      constexpr int applies = 4;
      const auto start = Clock::now();
      for (int k = 0; k < applies; ++k) {
        solver[lower]->solve(v.b.data(), v.y.data(), false, nullptr);
        solver[upper]->solve_next(v.y.data(), v.x.data(), false, nullptr);
      }
      trial.apply = std::min(trial.apply, since(start) / applies);
    }
    return trial;
  }

  /// Chooses the strategy; call take_tiles() first.
  void choose()
  {
    a_.choice = {a_.options.strategy, "forced"};
    if (is_auto()) a_.choice = choose_strategy(features());
    if (asks_for("merged") && L_->n() > 0) (void)foresee_merging();
    if (a_.choice.strategy != "merged") drop_merging();
  }

  /// Makes the solvers. Whether `tiled` and `wavefront` have a plan is known only then; if not, `auto` chooses among
  /// the other strategies.
  void make_chosen()
  {
    for (std::string others;;) {
      try {
        make_solvers();
        a_.choice.reason += others;
        return;
      } catch (const Failure& failure) {
        others += rule_out(failure);
      }
      choose();
    }
  }

  /// Excludes the chosen strategy, or rethrows if no other may be chosen. Returns the clause for the view.
  std::string rule_out(const Failure& failure)
  {
    const std::string name = a_.choice.strategy;
    const Code code = failure.status.code;
    const bool has_others = is_auto() && (name == "tiled" || name == "wavefront");
    if (!has_others || (code != Code::no_plan && code != Code::out_of_memory)) throw;
    a_.solver[lower].reset(), a_.solver[upper].reset();
    (name == "tiled" ? plans_tiles_ : plans_wavefront_) = false;
    if (name == "wavefront") take_tiles();
    return "; " + name + (code == Code::no_plan ? " has no plan" : " has no memory");
  }

  void make_solvers()
  {
    find_bandwidths();
    parallel_invoke(threads_of_plans(), {[&] { make_solver(lower, *L_, &a_); }, [&] { make_solver(upper, *U_, &a_); },
                                 [&] { make_factorization(); }});
  }

  /// True if the device can plan the tiles of rows.
  bool may_plan_rows(const DeviceTriangle<I>& triangle) const
  {
    return a_.options.single_storage ? may_plan_tiles_on_device<T, single_t<T>>(triangle)
                                     : may_plan_tiles_on_device<T, T>(triangle);
  }

  /// True if the triangle probably has tiles of inodes.
  bool may_plan_nodes(const DeviceTriangle<I>& triangle) const
  {
    return a_.options.single_storage ? may_plan_tiles_of_inodes<T, single_t<T>>(triangle)
                                     : may_plan_tiles_of_inodes<T, T>(triangle);
  }

  /// The same for both triangles, computed once because it cuts the rows into tiles.
  bool may_plan_nodes()
  {
    if (!plans_nodes_) plans_nodes_ = L_->nodes && U_->nodes && may_plan_nodes(*L_) && may_plan_nodes(*U_);
    return *plans_nodes_;
  }
  bool may_plan_nodes_on_grid()
  {
    return L_->grid_of_nodes.lines > 1 && U_->grid_of_nodes.lines > 1 && may_plan_nodes();
  }

  bool may_plan_tiles() { return (may_plan_rows(*L_) && may_plan_rows(*U_)) || may_plan_nodes(); }

  ChoiceInput features()
  {
    ChoiceInput f;
    f.on_device = true;
    f.threads = a_.options.threads;
    f.expected_applies = a_.options.expected_applies;
    f.rows = L_->n();
    f.nnz = static_cast<std::int64_t>(L_->nnz()) + U_->nnz();
    f.levels = a_.levels.lower;
    if (f.expected_applies == 0) return f;  // the remaining features cost time and are not needed
    f.longest = longest();
    if (L_->nodes && U_->nodes) {
      f.node_size = std::min(L_->nodes->size, U_->nodes->size);
      f.node_levels = std::max(L_->nodes->levels.count, U_->nodes->levels.count);
      f.tiled_inodes = may_plan_nodes_on_grid();
    }
    f.wavefront_time = wavefront_time_;
    f.tiled_time = tile_.time;
    f.tiled_on_device = may_plan_rows(*L_) && !L_->grid.star;
    f.regular = is_regular();
    f.may_have_tiles = plans_tiles_ && f.regular && may_plan_tiles();
    if (!may_merge(f.rows, f.levels, f.longest) || !could_pay_to_merge(f)) return f;
    const MergeForecast merged = foresee_merging();
    f.merged_groups = merged.groups;
    f.merged_entries = merged.entries;
    f.merged_is_known = merged.of_all;
    f.merged_longest = merged.longest;
    return f;
  }

  /// Searches for groups of merged levels; the plans reuse the result. The factorization is made meanwhile.
  MergeForecast foresee_merging()
  {
    a_.merging = std::make_unique<MergePlannerPair<I>>();
    begin_merging(&*L_, &a_.merging->lower_rows, &a_.merging->lower);
    begin_merging(&*U_, &a_.merging->upper_rows, &a_.merging->upper);
    make_factorization();
    return a_.merging->forecast();
  }

  /// Starts the search on rows sorted by level, or on the rows as they are if sorting would cost more than it saves.
  void begin_merging(DeviceTriangle<I>* triangle, PermutedRows<I>* rows, std::optional<MergePlanner<I>>* merging)
  {
    constexpr I many_rows = 1 << 19;
    const MergeRule rule = a_.options.single_storage ? rule_of<single_t<T>, I>(a_.options) : rule_of<T, I>(a_.options);
    const I* row = triangle->device_levels->row.data();
    DevicePattern<I> pattern = triangle->on_device;
    if (triangle->n() < many_rows) {
      *rows = permute_rows<I>(pattern, nullptr, row, true, !triangle->lower);
      triangle->by_level = rows;
      pattern = {triangle->n(), triangle->nnz(), rows->begin.data(), rows->column.data()};
      row = nullptr;
    }
    merging->emplace(pattern, row, level_begins(*triangle), rule, triangle->longest());
    (*merging)->begin();
    triangle->merging = &**merging;
  }

  void drop_merging()
  {
    L_->merging = U_->merging = nullptr;
    if (a_.merging) a_.merging->lower.reset(), a_.merging->upper.reset();
  }

  void make_factorization()
  {
    if (!task_.factorizes || a_.factorization) return;
    a_.factorization = std::make_unique<DeviceFactorization<T, I>>(a_.pattern, a_.lower_levels,
                                                                   a_.options.single_storage);
    a_.factorization->take_rows(std::move(kept_rows_));
    const bool by_loop = a_.choice.strategy == "loop" && a_.made.kind == Kind::ilu && was_split_;
    if (by_loop) a_.factorization->use(make_loop_factorization<T>(task_.A, a_.pattern));
  }

  const Task<I>& task_;
  Analysis<T, I>& a_;
  bool was_split_ = false;
  bool plans_tiles_ = true, plans_wavefront_ = true;  ///< false once a plan has failed
  std::optional<DeviceTriangle<I>> L_, U_;
  DeviceLevels<I> upper_levels_;
  DeviceInodes<I> lower_nodes_, upper_nodes_;
  std::optional<bool> regular_, plans_nodes_;
  DevicePatternCopy<I> kept_rows_;  ///< rows of A for the factorization, or empty
  Grid<I> grid_of_L_ = {}, grid_of_U_ = {};
  double wavefront_time_ = 0;  ///< estimate, microseconds; 0: does not apply
  TileChoice tile_;
};

}  // namespace

template <class T, class I> Status make_analysis(const Task<I>& task, Analysis<T, I>* a)
{
  const Status status = check_threads(a->options.threads);
  return status.ok() ? Analyser<T, I>(task, a).run() : status;
}

template <class I> MergeForecast MergePlannerPair<I>::forecast()
{
  MergeForecast of_L, of_U;
  const bool known = lower->forecast(&of_L);
  (void)upper->forecast(&of_U);
  return known ? of_L : MergeForecast();
}

template <class I> void MergePlannerPair<I>::begin_plans()
{
  if (std::exchange(begun, true)) return;
  lower->begin_groups();
  upper->begin_groups();
  lower->begin_columns();
  upper->begin_columns();
}

template <class T, class I> void begin_refresh(Analysis<T, I>* a, const PairUpdate<T, I>& solvers)
{
  if (a->merging) a->merging->begin_plans();
  solvers.begin();
  a->merging.reset();
}

/// Makes the solver of a transposed triangle with the strategy of the analysis, or with level_order if that has no plan
/// for the transpose: this happens during a solve, which must not fail.
template <class T, class I>
void make_transposed(TriangleIndex which, const DeviceTriangle<I>& triangle, Analysis<T, I>* a)
{
  try {
    make_solver(which, triangle, a);
  } catch (const Failure& failure) {
    if (failure.status.code != Code::no_plan) throw;
    make_solver(which, triangle, a, "level_order");
  }
}

template <class T, class I> void make_transposes(Analysis<T, I>* a)
{
  const auto transposed = [](const DevicePattern<I>& triangle) {
    return Transposed<I>(DeviceTriangle<I>(true, triangle, -1, true).pattern());
  };
  const Transposed<I> Lt = transposed(a->pattern.lower()), Ut = transposed(a->pattern.upper());
  DeviceTriangle<I> lower_one(true, Ut.pattern_view(), Ut.source.data(), false);
  DeviceTriangle<I> upper_one(false, Lt.pattern_view(), Lt.source.data(), true);
  lower_one.captures = upper_one.captures = a->captures;
  try {
    parallel_invoke(a->options.threads, {[&] { make_transposed(upper_transposed, lower_one, a); },
                                 [&] { make_transposed(lower_transposed, upper_one, a); }});
    make_work(a);
  } catch (...) {
    a->solver[upper_transposed].reset();
    a->solver[lower_transposed].reset();
    throw;
  }
}

#define INSTANTIATE(T, I)                                                      \
  template Status make_analysis<T, I>(const Task<I>&, Analysis<T, I>*); \
  template void begin_refresh<T, I>(Analysis<T, I>*, const PairUpdate<T, I>&); \
  template void make_transposes<T, I>(Analysis<T, I>*);
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree::cuda
