/// Implements cuda/backend/grid_order.hpp.

#include "cuda/backend/grid_order.hpp"

#include <algorithm>
#include <limits>

#include "core/choose/estimate.hpp"
#include "core/plan/merge_plan.hpp"
#include "core/support/instantiate.hpp"
#include "cuda/solve/tiled/tiled.hpp"
#include "cuda/solve/wavefront/wavefront.hpp"
#include "syncfree/scalar.hpp"

namespace syncfree::cuda {
namespace {

/// What does not depend on the axes.
template <class I> ChoiceInput describe_points(const GridPoints<I>& points, const GridWishes& wishes)
{
  ChoiceInput f;
  f.on_device = true;
  f.rows = static_cast<std::int64_t>(points.point.size());
  f.nnz = 2 * entries_below(points);
  f.levels = grid_along(points, {0, 1, 2}).levels();
  f.longest = points.axes;
  f.expected_applies = wishes.expected_applies;
  return f;
}

/// True if the row of A with each point has the number of that point.
template <class I> bool are_natural(const GridPoints<I>& points, const GridAxes& axis, const I* order)
{
  const auto row_of = [order](I r) { return order ? order[r] : r; };
  I distance = 1;
  if (row_of(0) != 0) return false;
  for (int a = 0; a < points.axes; ++a) {
    if (row_of(points.first[axis[a]]) != distance) return false;
    distance *= points.side[axis[a]];
  }
  return true;
}

template <class T, class V, class I> void time_grid(const Grid<I>& grid, const GridWishes& wishes, ChoiceInput* f)
{
  if (wishes.wavefront) f->wavefront_time = time_of_pencils<T, V>(grid, static_cast<I>(f->rows), f->longest, f->levels);
  if (f->wavefront_time == 0 && wishes.tiles) f->tiled_time = choose_star_tile<T, V>(grid).time;
  f->regular = true;
}

/// Of pencils or tiles; infinity if there are none.
///   compares  all applications with the plan, if `auto` may take it
double time_on_grid(const ChoiceInput& f, bool compares)
{
  double least = std::numeric_limits<double>::infinity();
  if (f.wavefront_time == 0 && f.tiled_time == 0) return least;
  for (const Estimate& e : {estimate_wavefront(f), estimate_tiled(f)}) {
    const bool on_grid = e.form == (f.wavefront_time > 0 ? PlanForm::pencils : PlanForm::grid);
    if (on_grid && (e.applies() || !compares)) least = std::min(least, compares ? total_time(f, e) : e.apply);
  }
  return least;
}

}  // namespace

template <class T, class I>
std::optional<GridProspect> find_fastest_axes(const GridPoints<I>& points, const I* order, const GridWishes& wishes)
{
  const ChoiceInput given = describe_points(points, wishes);
  std::optional<GridProspect> best;
  double least = std::numeric_limits<double>::infinity();
  if (wishes.compares)
    least = static_cast<double>(given.expected_applies) *
            estimate_apply(given, may_merge(given.rows, given.levels, given.longest));
  GridAxes axis = {0, 1, 2};
  do {
    GridProspect next = {axis, given, are_natural(points, axis, order)};
    const Grid<I> grid = grid_along(points, axis);
    if (wishes.single_storage) time_grid<T, single_t<T>>(grid, wishes, &next.input);
    else time_grid<T, T>(grid, wishes, &next.input);
    if (!next.natural) next.input.orders_time = time_of_orders(given.rows);
    const double time = time_on_grid(next.input, wishes.compares);
    if (time >= least) continue;
    least = time;
    best = next;
  } while (std::next_permutation(axis.begin(), axis.begin() + points.axes));
  if (best && best->natural && !order) best.reset();
  return best;
}

#define INSTANTIATE(T, I) \
  template std::optional<GridProspect> find_fastest_axes<T, I>(const GridPoints<I>&, const I*, const GridWishes&);
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree::cuda
