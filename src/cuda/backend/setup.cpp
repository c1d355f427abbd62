/// The set-up of a preconditioner or relaxation on the device: the analysis (choice and plans: choose.cpp).

#include "cuda/backend/setup.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "core/choose/estimate.hpp"
#include "core/pattern/grid_order.hpp"
#include "core/pattern/transpose.hpp"
#include "core/schedule/bandwidth.hpp"
#include "core/support/instantiate.hpp"
#include "cuda/analysis/host_analysis.hpp"
#include "core/support/parallel.hpp"
#include "cuda/backend/choose.hpp"
#include "cuda/backend/prepared.hpp"
#include "cuda/base/parallel_invoke.hpp"
#include "cuda/base/stream.hpp"
#include "cuda/ordering/ordering.hpp"
#include "syncfree/blocks.hpp"
#include "syncfree/threads.hpp"

namespace syncfree::cuda {
namespace {

/// Allocates the work vector if a solver cannot solve in place.
template <class T, class I> void make_work(Analysis<T, I>* a)
{
  for (const auto& solver : a->solver)
    if (solver && !solver->traits().in_place && a->work.empty()) a->work = DeviceArray<T>(a->vector_size());
}

template <class T, class I> void show_blocks(const Analysis<T, I>& a, DeviceTriangle<I>* L, DeviceTriangle<I>* U)
{
  if (a.blocks.count() > 0) L->blocks = U->blocks = &a.blocks;
}

/// Checks what is asked of a factorization by dense blocks, which `level_order` and `tiled` solve with.
Status check_block_options(Kind kind, const SolverOptions& options)
{
  if (options.block_size < 1) return check_block_size(0, options.block_size);
  if (kind != Kind::ilu) return failed(Code::invalid_argument, "dense blocks are factored as ILU, not as IC");
  const std::string& name = options.strategy;
  if (name == "auto" || name == "level_order" || name == "tiled") return {};
  if (!find_strategy(name, "cuda")) return failed(Code::unknown_strategy, name);
  return failed(Code::invalid_argument, "strategy " + name + " has no form for dense blocks of size " +
                                            std::to_string(options.block_size) +
                                            "; use level_order, tiled or auto, or factor by entries (block size 1)");
}

template <class T, class I> class Analyser {
public:
  Analyser(const Task<I>& task, Analysis<T, I>* a) : task_(task), a_(*a) {}

  Status make_analysis()
  {
    Status status = task_.prepared ? Status() : check_row_offsets(task_.A, a_.options.threads);
    if (!status.ok()) return status;
    a_.nnz = task_.A.nnz();
    a_.has_orders = task_.symbolic.row_order || task_.symbolic.ordering;
    if (is_for_host()) status = analyse_on_host();
    else if (!split_if_possible()) status = make_on_host();
    if (!status.ok()) return status;
    if (!a_.row_order.empty() || !a_.has_given_order()) a_.work = DeviceArray<T>(a_.vector_size());
    chooser_.choose_and_make();
    if (a_.factorization) a_.factorization->use(a_.solver[lower].get());
    make_work(&a_);
    a_.made.drop_triangles();
    if (a_.choice.strategy != "merged") a_.pending_merge.reset();
    if (a_.pending_merge) a_.pending_merge->upper_levels = std::move(found_.upper_levels);
    return {};
  }

private:
  /// True if the host makes L, U and all that analyse_on_host() makes of them in less time than the device. It does not
  /// look for a grid by levels.
  bool is_for_host() const
  {
    const SymbolicOptions<I>& s = task_.symbolic;
    const bool natural = !s.row_order && !s.column_order && !s.ordering;
    return s.levels == 0 && natural && !task_.prepared && task_.A.n > 0 && !may_come_by_levels(task_.A) &&
           host_analyses_faster(task_.A.n, a_.nnz);
  }

  /// Makes L, U, their levels and inodes on the host, and copies them to the device by one launch.
  Status analyse_on_host()
  {
    Status status = check_pattern(task_.A);
    if (status.ok()) status = make_factor_pattern(task_.A, task_.symbolic, &a_.made);
    if (!status.ok()) return status;
    a_.pattern = pack_pattern(a_.made, task_.A, &upload_);
    if (a_.made.kind == Kind::icc) keep_rows(take_rows());
    else found_.A = task_.A;
    make_triangles();
    found_.L->show(a_.made.lower());
    found_.U->show(a_.made.upper());
    look_at_rows(found_.L->pattern(), found_.U->pattern());
    found_.L->grid = found_.grid_of_L, found_.U->grid = found_.grid_of_U;
    found_.L->positions = &found_.lower_positions, found_.U->positions = &found_.upper_positions;
    a_.lower_levels = pack_triangle(&*found_.L, &found_.lower_by_level, &found_.lower_nodes);
    found_.upper_levels = pack_triangle(&*found_.U, &found_.upper_by_level, &found_.upper_nodes);
    upload_.send_all(nullptr);
    show_levels();
    if (found_.lower_nodes.size > 0) show_nodes(&*found_.L, &found_.lower_nodes);
    if (found_.upper_nodes.size > 0) show_nodes(&*found_.U, &found_.upper_nodes);
    chooser_.guess_tiles(found_.grid_of_L);
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));  // other streams use the arrays
    upload_.note_end();
    return {};
  }

  /// Packs what the host finds out about a triangle, but for its pattern. Returns the levels.
  DeviceLevels<I> pack_triangle(DeviceTriangle<I>* triangle, PermutedRows<I>* by_level, DeviceInodes<I>* nodes)
  {
    const PatternView<I>& pattern = triangle->pattern();
    LevelSets<I> levels;
    const Status status = make_level_sets(pattern, triangle->lower, &levels);
    if (!status.ok()) throw Failure{status};
    DeviceLevels<I> packed = pack_levels(levels, &upload_);
    if (chooser_.wants_rows_by_level()) {
      *by_level = pack_rows_by_level(pattern, triangle->lower, levels, triangle->positions, &upload_);
      triangle->by_level = by_level;
    }
    if (chooser_.wants_inodes()) *nodes = pack_inodes(find_inodes(pattern, triangle->lower), &upload_);
    triangle->show_levels(std::move(levels));
    return packed;
  }

  /// Makes L and U on the device. False if that is impossible, or the pattern or an order is invalid.
  bool split_if_possible()
  {
    const SymbolicOptions<I>& s = task_.symbolic;
    if (s.levels != 0 || task_.A.n == 0) return false;
    a_.made.kind = s.kind;
    a_.made.n = task_.A.n;
    const bool one_only = !s.row_order != !s.column_order, both_ways = s.ordering && s.row_order;
    if (one_only || both_ways) return false;
    return s.row_order || s.ordering ? split_permuted_on_device() : split_in_natural_order();
  }

  /// Splits A into L and U on the device; meanwhile the host chooses tiles if A may be a star stencil.
  bool split_in_natural_order()
  {
    if (was_split_before()) {
      take_split();
      chooser_.guess_tiles(found_.grid_of_L);
      return true;
    }
    bool was_split = false;
    const int threads = chooser_.few_threads();
    const bool may_be_star = chooser_.wants_tiles() && threads > 1 && a_.nnz / 7 <= task_.A.n;
    const Grid<I> grid = may_be_star ? find_grid(task_.A, true) : Grid<I>();
    if (grid.star) {
      parallel_invoke(threads, {[&] { was_split = split_on_device(); }, [&] { chooser_.guess_tiles(grid); }});
    } else {
      was_split = split_on_device();
      chooser_.guess_tiles(found_.grid_of_L);
    }
    return was_split;
  }

  bool was_split_before() const
  {
    return task_.prepared && task_.prepared->split && task_.prepared->split->kind == a_.made.kind;
  }

  /// Takes L, U and the searches for their levels from the choice of the order.
  void take_split()
  {
    PreparedMatrix<I>& from = *task_.prepared;
    a_.pattern = std::move(*from.split);
    found_.grid_of_L = from.grid_of_L, found_.grid_of_U = from.grid_of_U;
    if (chooser_.chooses()) found_.regular = from.regular;
    PatternOnDevice<I> rows = take_rows();
    follow_grid(rows);  // where there are points, nothing was searched
    keep_rows_or_A(std::move(rows));
    make_triangles();
    find_levels_and_nodes(from.searches ? &*from.searches : nullptr);
    from.searches.reset();  // its memory is for the plans
  }

  PatternOnDevice<I> take_rows()
  {
    if (task_.prepared) return std::move(task_.prepared->rows);
    return PatternOnDevice<I>(task_.A, task_.on_device);
  }

  /// False if the pattern of A is invalid, or not symmetric for IC.
  bool split_on_device()
  {
    PatternOnDevice<I> rows = take_rows();
    if (!split(a_.made.kind, rows.pattern, &a_.pattern, [&] { look_at_rows(task_.A, task_.A); })) return false;
    if (!found_.grid_of_L.star) follow_grid(rows);
    keep_rows_or_A(std::move(rows));
    make_triangles();
    find_levels_and_nodes();
    return true;
  }

  /// For look_at(), and to recognise the pattern again.
  void keep_rows_or_A(PatternOnDevice<I> rows)
  {
    if (a_.row_order.empty()) found_.A = task_.A;
    if (!a_.row_order.empty() || a_.made.kind == Kind::icc) keep_rows(std::move(rows));
  }

  /// False if the pattern of A or an order is invalid, or if the permuted matrix lacks a diagonal entry or, for IC, is
  /// not symmetric.
  bool split_permuted_on_device()
  {
    PatternOnDevice<I> rows = take_rows();
    const bool is_checked = task_.prepared && task_.prepared->has_full_rows;
    if (!is_checked && !has_full_rows(rows.pattern)) return false;
    const bool one_order = order_on_device(rows.pattern);
    const I* const row = a_.row_order.data();
    const I* const column = one_order ? row : a_.column_order.data();
    if (!split_permuted<I>(a_.made.kind, rows.pattern, {row, column}, &a_.pattern)) return false;
    if (one_order) a_.column_order = copy_of(a_.row_order);
    const bool on_grid = one_order && !task_.symbolic.ordering && follow_grid(rows);
    keep_rows_or_A(std::move(rows));
    make_triangles();
    if (has_no_grid()) {
      found_.regular = false;
    } else if (!on_grid) {
      found_.sample_of_L = sample_of(*found_.L, 1), found_.sample_of_U = sample_of(*found_.U, 1);
      look_at_rows(found_.sample_of_L, found_.sample_of_U);
    }
    find_levels_and_nodes();
    chooser_.guess_tiles(found_.grid_of_L);
    return true;
  }

  /// If the rows come level by level on a grid, and its natural order is predicted to be faster: gives L and U that
  /// order, in which they are the same factor.
  ///   rows  of A; L and U have been made in the order that was asked for, which they keep if memory is short
  bool follow_grid(const PatternOnDevice<I>& rows)
  {
    try {
      return take_order_of_grid(rows);
    } catch (const Failure& failure) {
      if (failure.status.code != Code::out_of_memory) throw;
    } catch (const std::bad_alloc&) {
    }
    return false;
  }

  bool take_order_of_grid(const PatternOnDevice<I>& rows)
  {
    const I* const order = task_.symbolic.row_order;
    GridPoints<I> points;
    if (!find_points(&points)) return false;
    const auto chosen = find_fastest_axes<T>(points, order, chooser_.grid_wishes());
    Array<I> given, row;
    if (!chosen || !order_by_points(points, chosen->axis, &given)) return false;
    if (order) row.resize(given.size());
    for_parts(worthwhile_threads(a_.nnz, a_.options.threads), order ? parts_of(a_.pattern.n) : 0, [&](std::size_t p) {
      for (I k = first_of_part<I>(p); k < end_of_part(p, a_.pattern.n); ++k) row[k] = order[given[k]];
    });
    if (!split_again(rows, order ? row : given, given)) return false;
    a_.grid = found_.grid_of_L = found_.grid_of_U = grid_along(points, chosen->axis);
    return true;
  }

  /// Finds the points of the rows in the order that was asked for, unless lengths of rows or the first rows show that
  /// there are none.
  bool find_points(GridPoints<I>* points)
  {
    const GridWishes wishes = chooser_.grid_wishes();
    const RowCounts& counts = a_.pattern.counts;
    const bool has_star_rows = counts.most_lower == counts.most_upper && counts.most_lower >= 2 &&
                               counts.most_lower <= 3 &&
                               a_.pattern.lower_column.size() == a_.pattern.upper_column.size();
    if (!task_.factorizes || !has_star_rows || a_.pattern.n < 4 || (!wishes.wavefront && !wishes.tiles)) return false;
    if (a_.row_order.empty()) {
      if (!task_.prepared) return find_grid_points(task_.A, points);
      *points = std::move(task_.prepared->points);
      return points->axes > 0;
    }
    const DevicePattern<I> L = a_.pattern.lower();
    if (!may_come_by_levels(fetch_rows<I>(L, {0, 1, 2}))) return false;
    return find_grid_points(DeviceTriangle<I>(true, L, counts.most_lower, true).pattern(), points);
  }

  /// Makes L and U with rows of A in another order, in which entries below the diagonal stay there. If others would
  /// join them, so that L would have more, returns false and changes nothing.
  ///   given  of each row, its number in the order that was asked for; the same array if that is the natural one
  bool split_again(const PatternOnDevice<I>& rows, const Array<I>& order, const Array<I>& given)
  {
    const bool natural = std::is_sorted(order.begin(), order.end());
    DeviceArray<I> new_order = natural ? DeviceArray<I>() : DeviceArray<I>(order);
    DeviceFactorPattern<I> made;
    const Orders<I> orders = {new_order.data(), new_order.data()};
    const bool was_split = natural ? split(a_.made.kind, rows.pattern, &made)
                                   : split_permuted<I>(a_.made.kind, rows.pattern, orders, &made);
    if (!was_split || made.lower_column.size() != a_.pattern.lower_column.size()) return false;
    made.given_row = &given == &order ? copy_of(new_order) : DeviceArray<I>(given);
    DeviceArray<I> columns = natural ? DeviceArray<I>() : copy_of(new_order);
    a_.pattern = std::move(made);
    a_.row_order = std::move(new_order), a_.column_order = std::move(columns);
    return true;
  }

  /// True for colours, which leave no grid, if no strategy is wanted that needs to know more about it.
  bool has_no_grid() const { return task_.symbolic.ordering && chooser_.chooses() && !a_.options.trials; }

  /// Makes the orders in device memory, or copies them to it. Returns true if there is only one, that of the rows.
  bool order_on_device(const DevicePattern<I>& A)
  {
    const SymbolicOptions<I>& s = task_.symbolic;
    const std::size_t n = static_cast<std::size_t>(task_.A.n);
    if (s.ordering) {
      DeviceOrdering<I> made;
      if (!take_ordering(&made)) make_ordering_on_device(A, *s.ordering, &made);
      a_.row_order = std::move(made.order);
      a_.blocks = std::move(made.blocks);
      return true;
    }
    a_.row_order = DeviceArray<I>(s.row_order, n);
    if (s.row_order == s.column_order || std::equal(s.row_order, s.row_order + n, s.column_order)) return true;
    a_.column_order = DeviceArray<I>(s.column_order, n);
    return false;
  }

  /// Returns false if the order has not been made yet.
  bool take_ordering(DeviceOrdering<I>* out)
  {
    std::optional<DeviceOrdering<I>> made;
    if (task_.prepared) made = task_.prepared->take_ordering(*task_.symbolic.ordering);
    if (made) *out = std::move(*made);
    return made.has_value();
  }

  static SampledRows<I> sample_of(const DeviceTriangle<I>& triangle, I node)
  {
    return fetch_rows(triangle.on_device, rows_to_examine(triangle.n(), triangle.lower, node));
  }

  /// Keeps a copy of the rows of A if L and U do not hold them (to recognise the pattern again), and for the
  /// positive-definite shift, which sums whole rows and is IC's default.
  void keep_rows(PatternOnDevice<I> rows) { found_.kept_rows = DevicePatternCopy<I>(std::move(rows)); }

  Status make_on_host()
  {
    Status status = check_pattern(task_.A, a_.options.threads);
    if (status.ok()) status = make_factor_pattern(task_.A, task_.symbolic, &a_.made, a_.options.threads);
    if (!status.ok()) return status;
    a_.row_order = DeviceArray<I>(a_.made.row_order);
    a_.column_order = DeviceArray<I>(a_.made.column_order);
    a_.blocks = upload_blocks<I>(a_.made.block_begin, static_cast<std::size_t>(a_.made.colors));
    if (task_.A.n > 0) keep_rows(PatternOnDevice<I>(task_.A, task_.on_device));
    a_.pattern = upload_pattern(a_.made, task_.A);
    make_triangles();
    found_.L->show(a_.made.lower());
    found_.U->show(a_.made.upper());
    if (has_no_grid()) found_.regular = false;
    else look_at_rows(found_.L->pattern(), found_.U->pattern());
    find_levels_and_nodes();
    chooser_.guess_tiles(found_.grid_of_L);
    return {};
  }

  void make_triangles()
  {
    found_.L.emplace(true, a_.pattern.lower(), a_.pattern.counts.most_lower, true);
    found_.U.emplace(false, a_.pattern.upper(), a_.pattern.counts.most_upper, false);
    found_.L->captures = found_.U->captures = a_.captures;
    found_.L->block_size = found_.U->block_size = a_.options.block_size;
    if (a_.by_blocks) a_.blocks = {};
    if (!warps_solve_blocks(a_.blocks.most, a_.pattern.n, a_.blocks.count(), found_.longest())) a_.blocks = {};
    show_blocks(a_, &*found_.L, &*found_.U);
  }

  /// Finds the grid from a few rows in host memory; the result is a guess.
  template <class Rows> void look_at_rows(const Rows& of_L, const Rows& of_U)
  {
    if (of_L.n == 0) return;
    found_.grid_of_L = find_grid(of_L, true), found_.grid_of_U = find_grid(of_U, false);
    if (chooser_.chooses() && !found_.grid_of_L.star) found_.regular = reaches_regularly(of_L, true);
  }

  /// Finds levels and inodes of L and U concurrently, in several streams.
  ///   searches  begun for these triangles, or nullptr
  void find_levels_and_nodes(TriangleSearches<I>* searches = nullptr)
  {
    DeviceTriangle<I>&L = *found_.L, &U = *found_.U;
    if (L.n() == 0) return;
    L.grid = found_.grid_of_L, U.grid = found_.grid_of_U;
    std::optional<TriangleSearches<I>> begun;
    if (!searches) {
      SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));  // the triangles have been made
      searches = &begun.emplace(L.on_device, U.on_device, L.grid, U.grid, chooser_.wants_inodes());
    }
    take_levels(&searches->of_L, &searches->of_U);
    if (!searches->nodes_of_L || !chooser_.wants_inodes()) return;
    find_nodes(*searches->nodes_of_L, &L, &found_.lower_nodes);
    find_nodes(*searches->nodes_of_U, &U, &found_.upper_nodes);
  }

  void take_levels(LevelSearch<I>* of_L, LevelSearch<I>* of_U)
  {
    of_L->lift_bound();
    of_U->lift_bound();
    const bool has_L = of_L->sort(), has_U = of_U->sort();
    const auto take = [](bool has, LevelSearch<I>* search, const DeviceTriangle<I>& triangle) {
      return has ? search->take_levels() : upload_levels(triangle.levels());
    };
    parallel_invoke(has_L || has_U ? 1 : a_.options.threads,
                    {[&] { a_.lower_levels = take(has_L, of_L, *found_.L); },
                     [&] { found_.upper_levels = take(has_U, of_U, *found_.U); }});
    show_levels();
  }

  void show_levels()
  {
    found_.L->device_levels = &a_.lower_levels, found_.U->device_levels = &found_.upper_levels;
    a_.levels = {a_.lower_levels.count, found_.upper_levels.count};
  }

  void find_nodes(const InodeSearch<I>& search, DeviceTriangle<I>* triangle, DeviceInodes<I>* nodes)
  {
    if (search.find(nodes)) show_nodes(triangle, nodes);
  }

  void show_nodes(DeviceTriangle<I>* triangle, DeviceInodes<I>* nodes)
  {
    triangle->nodes = nodes;
    if (has_no_grid()) return;
    const I size = static_cast<I>(nodes->size);
    SampledRows<I>& sample = triangle->lower ? found_.sample_of_L : found_.sample_of_U;
    if (!sample.row.empty()) sample = sample_of(*triangle, size);
    triangle->grid_of_nodes =
        found_.look_at(*triangle, [&](const auto& rows) { return find_grid(rows, triangle->lower, size); });
  }

  const Task<I>& task_;
  Analysis<T, I>& a_;
  FactorTriangles<I> found_;
  StrategyChooser<T, I> chooser_{task_, &a_, &found_};
  PackedUpload upload_;  ///< of analyse_on_host()
};

}  // namespace

template <class T, class I> Status make_analysis(const Task<I>& task, Analysis<T, I>* a)
{
  Status status = check_threads(a->options.threads);
  if (status.ok())
    status = a->by_blocks ? check_block_options(task.symbolic.kind, a->options) : check_no_blocks(a->options);
  if (!status.ok()) return status;
  const bool decides = a->options.strategy == "auto" && !std::is_same_v<T, single_t<T>>;
  a->single = a->options.single_storage && !decides;
  status = Analyser<T, I>(task, a).make_analysis();
  status.block_row = a->by_blocks && status.row >= 0;
  return status;
}

template <class I> MergeForecast PendingMergePlans<I>::forecast_lower()
{
  MergeForecast of_L, of_U;
  const bool known = lower->forecast(&of_L);
  (void)upper->forecast(&of_U);
  of_L.short_of_memory = of_L.short_of_memory || of_U.short_of_memory;
  return known ? of_L : MergeForecast();
}

template <class I> void PendingMergePlans<I>::begin_early()
{
  lower->begin_groups();
  upper->begin_groups();
  if (lower->has_groups() && upper->has_groups()) begin_plans();
}

template <class I> void PendingMergePlans<I>::begin_plans()
{
  if (std::exchange(begun, true)) return;
  lower->begin_groups();
  upper->begin_groups();
  lower->begin_offsets();
  upper->begin_offsets();
  lower->begin_columns();
  upper->begin_columns();
}

template <class I> void PendingMergePlans<I>::drop_plans()
{
  lower.reset(), upper.reset();
  lower_rows = {}, upper_rows = {};
}

template <class T, class I> void queue_update(Analysis<T, I>* a, const PairUpdate<T, I>& solvers)
{
  if (a->pending_merge) a->pending_merge->begin_plans();
  solvers.queue();
  if (a->pending_merge) a->pending_merge->drop_plans();
}

template <class T, class I> void follow_merged(Analysis<T, I>* a)
{
  const DeviceLevels<I> upper_levels = std::move(a->pending_merge->upper_levels);
  a->solver[lower].reset(), a->solver[upper].reset();
  a->pending_merge.reset();
  DeviceTriangle<I> L(true, a->pattern.lower(), a->pattern.counts.most_lower, true);
  DeviceTriangle<I> U(false, a->pattern.upper(), a->pattern.counts.most_upper, false);
  L.device_levels = &a->lower_levels, U.device_levels = &upper_levels;
  L.captures = U.captures = a->captures;
  show_blocks(*a, &L, &U);
  make_solver(lower, L, a, "level_order");
  make_solver(upper, U, a, "level_order");
  a->choice = {"level_order", a->choice.reason + "; merged has no memory", PlanForm::rows};
  if (a->factorization) a->factorization->use(a->solver[lower].get());
  make_work(a);
}

/// Makes the solver of a transposed triangle with the strategy of the analysis, or with level_order if that has no plan
/// for the transpose: this happens during a solve, which must not fail for that.
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
  lower_one.most_merged = a->most_merged[upper], upper_one.most_merged = a->most_merged[lower];
  lower_one.block_size = upper_one.block_size = a->options.block_size;
  lower_one.transposed_blocks = upper_one.transposed_blocks = a->by_blocks;
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
  template void queue_update<T, I>(Analysis<T, I>*, const PairUpdate<T, I>&); \
  template void follow_merged<T, I>(Analysis<T, I>*); \
  template void make_transposes<T, I>(Analysis<T, I>*);
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

#define INSTANTIATE_INDEX(I) template struct PendingMergePlans<I>;
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE_INDEX)

}  // namespace syncfree::cuda
