/// Implements cuda/backend/choose_ordering.hpp: what the decision asks for is measured on the device.

#include "cuda/backend/choose_ordering.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/reorder/choice.hpp"
#include "core/support/instantiate.hpp"
#include "cuda/backend/grid_order.hpp"
#include "cuda/ordering/discarded_fill.hpp"
#include "cuda/solve/tiled/tiled.hpp"
#include "cuda/solve/wavefront/wavefront.hpp"
#include "syncfree/scalar.hpp"

namespace syncfree::cuda {
namespace {

/// Nanoseconds in which a device counts most_levels_in_doubt levels several times: the choice does not depend on time.
constexpr std::uint64_t patient = 20'000'000;

template <class T, class I> class DeviceProspects : public OrderingProspects {
public:
  DeviceProspects(const ValuesToChooseBy<T>& values, const OrderingRequest& request, PreparedMatrix<I>* A)
      : values_(values), request_(request), A_(*A), orderer_(A->rows.pattern)
  {
  }

  /// If the rows prove to be those of a star stencil, L and U are not made: the analysis makes them while it plans.
  GivenOrder look_at_given() override
  {
    GivenOrder given;
    ChoiceInput& f = given.input;
    const PatternView<I>& A = A_.A;
    f = describe_rows(A, 0);
    A_.grid_of_L = find_grid(A, true);
    const Grid<I>& grid = A_.grid_of_L;
    if (f.node_size == 0 && !grid.star && look_at_points(&f)) return given;
    if (f.node_size == 0 && grid.star && follows_grid(A_.rows.pattern, grid)) {
      f.levels = grid.levels();
      f.longest = grid.longest_of_star();
      describe_grid(A, grid, &f);
      time_grid(grid, &f);
    } else {
      split();
      given.has_more_levels = search_levels(&f);
      f.longest = std::max(pattern().counts.most_lower, pattern().counts.most_upper);
      const Grid<I> of_nodes = f.node_size > 0 ? find_grid(A, true, static_cast<I>(f.node_size)) : grid;
      describe_grid(A, of_nodes, &f);
      time_grid(of_nodes, &f);
      if (!grid.star && !is_star(of_nodes, f)) A_.regular = f.regular;
    }
    return given;
  }

  GivenLevels count_more_levels() override
  {
    A_.searches->of_L.lift_bound(most_levels_in_doubt);
    A_.searches->of_U.lift_bound(most_levels_in_doubt);
    const LevelBound bound = A_.searches->of_L.bound();
    return {bound.levels, bound.has_more};
  }

  double unsymmetry() override
  {
    sampler().begin_natural();
    return sampler().unsymmetry();
  }

  std::int64_t make(const OrderingOptions& options) override
  {
    A_.orderings.push_back({options, {}});
    DeviceOrdering<I>& made = A_.orderings.back().ordering;
    orderer_.make(options, &made);
    return static_cast<std::int64_t>(made.color_begin.size()) - 1;
  }

  double fill_of_given() override { return sampler().measure_natural().fill; }
  double fill_of_made() override { return sampler().measure(A_.orderings.back().ordering.order.data()).fill; }

  /// The pattern has a fault, or is not symmetric for IC: the analysis reports that.
  struct Unfit {};

private:
  const DeviceFactorPattern<I>& pattern() const { return *A_.split; }

  /// If the rows come level by level on a grid, and the analysis will give them its natural order: describes that.
  bool look_at_points(ChoiceInput* f)
  {
    const PatternView<I>& A = A_.A;
    GridPoints<I> points;
    if (!find_points_of_matrix(A, &points)) return false;
    const bool all = request_.strategy == "auto";
    const GridWishes wishes = {all, all, true, false, request_.expected_applies};
    const std::optional<GridProspect> found = find_fastest_axes<T, I>(points, nullptr, wishes);
    if (!found) return false;
    const int threads = f->threads;
    *f = found->input;
    f->threads = threads;
    A_.points = std::move(points);
    return true;
  }

  void split()
  {
    if (A_.split) return;
    DeviceFactorPattern<I> made;
    const auto meanwhile = [&] { A_.grid_of_U = find_grid(A_.A, false); };
    if (!cuda::split(request_.kind, A_.rows.pattern, &made, meanwhile)) throw Unfit();
    A_.split = std::move(made);
    A_.has_full_rows = true;
  }

  /// Begins the searches, and counts the levels of L up to most_counted_levels. Returns true if there are more.
  bool search_levels(ChoiceInput* f)
  {
    const RowCounts& counts = pattern().counts;
    const bool is_short = std::max(counts.most_lower, counts.most_upper) <= longest_with_inodes;
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));  // the triangles have been made
    A_.searches.emplace(pattern().lower(), pattern().upper(), A_.grid_of_L, A_.grid_of_U,
                        !A_.grid_of_L.star && is_short, static_cast<unsigned>(most_counted_levels), patient);
    const LevelBound bound = A_.searches->of_L.bound();
    f->levels = bound.levels;
    return bound.has_more;
  }

  /// By pencils or, of a star, by tiles.
  void time_grid(const Grid<I>& grid, ChoiceInput* f) const
  {
    if (f->node_size > 0 || grid.lines <= 1) return;
    f->wavefront_time = time_of_pencils<T, T>(grid, A_.A.n, f->longest, f->levels);
    if (f->wavefront_time > 0 || !is_star(grid, *f)) return;
    f->tiled_time = choose_star_tile<T, T>(grid).time;
  }

  FillSampler<T, I>& sampler()
  {
    if (sampler_) return *sampler_;
    split();
    if (!values_.on_device) copied_ = DeviceArray<T>(values_.value, static_cast<std::size_t>(A_.A.nnz()));
    const T* const value = values_.on_device ? values_.value : copied_.data();
    return sampler_.emplace(DeviceMatrix<T, I>{A_.rows.pattern, value, pattern().diagonal_source.data()});
  }

  const ValuesToChooseBy<T>& values_;
  const OrderingRequest& request_;
  PreparedMatrix<I>& A_;
  DeviceOrderer<I> orderer_;
  DeviceArray<T> copied_;
  std::optional<FillSampler<T, I>> sampler_;
};

/// Drops what an analysis in the chosen order does not need.
template <class I> void keep_what_is_needed(const std::optional<OrderingOptions>& chosen, PreparedMatrix<I>* A)
{
  if (!chosen) {
    A->orderings.clear();
    return;
  }
  A->searches.reset();
  A->split.reset();
  std::optional<DeviceOrdering<I>> made = A->take_ordering(*chosen);
  A->orderings.clear();
  if (made) A->orderings.push_back({*chosen, std::move(*made)});
}

}  // namespace

template <class T, class I>
Status choose_ordering_on_device(const PatternView<I>& A, const PatternView<I>& on_device,
                                 const ValuesToChooseBy<T>& values, const OrderingRequest& request,
                                 OrderingChoice* out, std::unique_ptr<PreparedMatrix<I>>* prepared)
try {
  const MatrixSize size = {A.n, A.nnz(), sizeof(T)};
  if (!needs_prediction(size, request)) {
    *out = decide_ordering(size, request, nullptr);
    return {};
  }
  MemoryPool* const pool = MemoryPool::of_device();
  const std::int64_t memory_before = pool ? pool->begin_peak() : 0;
  const Status status = check_row_offsets(A, request.threads);
  if (!status.ok()) return status;
  auto made = std::make_unique<PreparedMatrix<I>>(A, on_device);
  made->memory_before = memory_before;
  {
    DeviceProspects<T, I> prospects(values, request, made.get());
    *out = decide_ordering(size, request, &prospects);
  }
  keep_what_is_needed(out->ordering(), made.get());
  if (prepared) *prepared = std::move(made);
  return {};
} catch (const typename DeviceProspects<T, I>::Unfit&) {
  OrderingChoice choice;
  choice.reason = "the given order: its pattern cannot be factored";
  *out = choice;
  return {};
}

#define INSTANTIATE(T, I)                                                                                            \
  template Status choose_ordering_on_device<T, I>(const PatternView<I>&, const PatternView<I>&,                     \
                                                  const ValuesToChooseBy<T>&, const OrderingRequest&, OrderingChoice*, \
                                                  std::unique_ptr<PreparedMatrix<I>>*);
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree::cuda
