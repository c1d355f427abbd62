/// Chooses an order on the host, with times of a device.

#include <algorithm>
#include <new>
#include <vector>

#include "choice.hpp"
#include "core/choose/estimate.hpp"
#include "core/choose/grid_times.hpp"
#include "core/pattern/grid_order.hpp"
#include "core/schedule/bandwidth.hpp"
#include "core/support/instantiate.hpp"

namespace syncfree {
namespace {

/// A lower bound, without delays between pencil groups.
template <class I> PencilWork pencils_of(const Grid<I>& grid, const ChoiceInput& f)
{
  const double lines = static_cast<double>(grid.lines), planes = static_cast<double>(grid.planes);
  const bool in_space = planes > 1;
  return {in_space, static_cast<double>(f.levels), in_space ? lines / 8 : 0, in_space ? planes / 4 : lines / 32,
          static_cast<double>(f.rows)};
}

/// True if the rows are those of 5, 7 or 9 points.
template <class I> bool has_pencils(const Grid<I>& grid, const ChoiceInput& f)
{
  constexpr std::int64_t longest_of_9_points = 9 / 2 + 1;
  const bool is_9_points = grid.planes == 1 && grid.next_line == 2 && f.longest == longest_of_9_points;
  return is_star(grid, f) || (f.node_size == 0 && grid.lines > 1 && is_9_points);
}

struct Failed {
  Status status;
};

void check(Status status)
{
  if (!status.ok()) throw Failed{std::move(status)};
}

/// If rows come level by level on a grid, a device solves them in its natural order.
template <class I> void take_grid_of_levels(const PatternView<I>& A, Grid<I>* grid, ChoiceInput* f)
{
  GridPoints<I> points;
  if (!find_points_of_matrix(A, &points)) return;
  *grid = grid_along(points, {0, 1, 2});
  f->longest = points.axes;
  f->orders_time = time_of_orders(f->rows);
}

template <class T, class I> class HostProspects : public OrderingProspects {
public:
  HostProspects(const CsrView<T, I>& A, int threads) : A_(A), threads_(threads) {}

  GivenOrder look_at_given() override
  {
    GivenOrder given;
    const PatternView<I>& P = A_.pattern;
    ChoiceInput& f = given.input;
    f = describe_rows(P, longest_of(P, threads_));
    Grid<I> grid = find_grid(P, true, static_cast<I>(std::max(f.node_size, 1)));
    if (f.node_size == 0 && !grid.star) take_grid_of_levels(P, &grid, &f);
    const bool is_grid = f.node_size == 0 && grid.may_have_levels(P.n);
    if (f.orders_time > 0 || (is_grid && grid.star && follows_grid(grid))) f.levels = grid.levels();
    else f.levels = count_levels(is_grid ? P.n : most_counted_levels, &given.has_more_levels);
    describe_grid(P, grid, &f);
    if (has_pencils(grid, f)) f.wavefront_time = time_of_pencil_work(pencils_of(grid, f));
    return given;
  }

  GivenLevels count_more_levels() override
  {
    GivenLevels counted;
    counted.levels = count_levels(most_levels_in_doubt, &counted.has_more);
    return counted;
  }

  double unsymmetry() override
  {
    double found = 0;
    check(measure_unsymmetry(A_, &found));
    return found;
  }

  double fill_of_given() override { return fill_of(nullptr); }

  std::int64_t make(const OrderingOptions& options) override
  {
    check(make_ordering(A_.pattern, options, threads_, &made_));
    return static_cast<std::int64_t>(made_.color_begin.size()) - 1;
  }

  double fill_of_made() override { return fill_of(made_.order.data()); }

private:
  /// True if each row comes after those that it reads on the grid.
  bool follows_grid(const Grid<I>& grid) const
  {
    const PatternView<I>& P = A_.pattern;
    for (I i = 0; i < P.n; ++i)
      for (I k = P.row_begin[i]; k < P.row_begin[i + 1] && P.column[k] < i; ++k)
        if (grid.level_of_step(P.column[k]) >= grid.level_of_step(i)) return false;
    return true;
  }

  double fill_of(const I* order)
  {
    DiscardedFill found;
    check(measure_discarded_fill(A_, order, &found));
    return found.fill;
  }

  std::int64_t count_levels(std::int64_t most_wanted, bool* has_more) const
  {
    const PatternView<I>& P = A_.pattern;
    std::vector<std::int32_t> level(static_cast<std::size_t>(P.n));
    std::int32_t most = 0;
    for (I i = 0; i < P.n && !*has_more; ++i) {
      std::int32_t highest = 0;
      for (I k = P.row_begin[i]; k < P.row_begin[i + 1] && P.column[k] < i; ++k)
        highest = std::max(highest, level[P.column[k]]);
      level[i] = highest + 1;
      *has_more = highest >= most_wanted;
      if (!*has_more) most = std::max(most, level[i]);
    }
    return most;
  }

  const CsrView<T, I> A_;
  const int threads_;
  Ordering<I> made_;
};

}  // namespace

template <class T, class I>
Status choose_ordering(CsrView<T, I> A, const OrderingRequest& request, int threads, OrderingChoice* out)
try {
  HostProspects<T, I> prospects(A, threads);
  *out = decide_ordering({A.pattern.n, A.pattern.nnz(), sizeof(T)}, request, &prospects);
  return {};
} catch (const Failed& failure) {
  return failure.status;
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

#define INSTANTIATE(T, I) \
  template Status choose_ordering<T, I>(CsrView<T, I>, const OrderingRequest&, int, OrderingChoice*);
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree
