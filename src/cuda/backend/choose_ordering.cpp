/// Implements cuda/backend/choose_ordering.hpp: what the decision asks for is measured on the device.

#include "cuda/backend/choose_ordering.hpp"

#include <algorithm>
#include <optional>

#include "core/reorder/choice.hpp"
#include "core/support/instantiate.hpp"
#include "cuda/analysis/factor_pattern.hpp"
#include "cuda/analysis/levels.hpp"
#include "cuda/analysis/pattern_copy.hpp"
#include "cuda/ordering/discarded_fill.hpp"
#include "cuda/ordering/ordering.hpp"
#include "cuda/solve/tiled/tiled.hpp"
#include "cuda/solve/wavefront/wavefront.hpp"
#include "syncfree/factor.hpp"
#include "syncfree/scalar.hpp"

namespace syncfree::cuda {
namespace {

template <class T, class I> class DeviceProspects : public OrderingProspects {
public:
  DeviceProspects(const PatternView<I>& A, const PatternView<I>& on_device, const T* value,
                  const OrderingRequest& request)
      : A_(A), request_(request), rows_(A, on_device), value_(value)
  {
  }

  GivenOrder look_at_given() override
  {
    if (!split(request_.kind, rows_.pattern, &pattern_)) throw Unfit();
    GivenOrder given;
    given.input = describe_rows(A_, 0);
    ChoiceInput& f = given.input;
    f.longest = std::max(pattern_.counts.most_lower, pattern_.counts.most_upper);
    const Grid<I> grid = find_grid(A_, true, static_cast<I>(std::max(f.node_size, 1)));
    const Grid<I> of_rows = f.node_size > 0 ? Grid<I>() : grid;
    const LevelBound bound = count_levels(pattern_.lower(), true, of_rows, most_counted_levels);
    f.levels = bound.levels;
    given.has_more_levels = bound.has_more;
    describe_grid(A_, grid, &f);
    if (is_star(grid, f)) time_star(grid, &f);
    return given;
  }

  double unsymmetry() override { return sampler().unsymmetry(); }
  double fill_of_given() override { return sampler().measure(nullptr).fill; }

  std::int64_t make(const OrderingOptions& options) override
  {
    make_ordering_on_device(rows_.pattern, options, &made_);
    return static_cast<std::int64_t>(made_.color_begin.size()) - 1;
  }

  double fill_of_made() override { return sampler().measure(made_.order.data()).fill; }

  /// The pattern has a fault, or is not symmetric for IC: the analysis reports that.
  struct Unfit {};

private:
  void time_star(const Grid<I>& grid, ChoiceInput* f) const
  {
    const bool single = request_.single_storage;
    f->wavefront_time = single ? time_of_pencils<T, single_t<T>>(grid, A_.n, f->longest, f->levels)
                               : time_of_pencils<T, T>(grid, A_.n, f->longest, f->levels);
    if (f->wavefront_time > 0) return;
    f->tiled_time = (single ? choose_star_tile<T, single_t<T>>(grid) : choose_star_tile<T, T>(grid)).time;
  }

  FillSampler<T, I>& sampler()
  {
    if (!sampler_) sampler_.emplace(DeviceMatrix<T, I>{rows_.pattern, value_, pattern_.diagonal_source.data()});
    return *sampler_;
  }

  const PatternView<I> A_;
  const OrderingRequest& request_;
  const PatternOnDevice<I> rows_;
  const T* const value_;
  DeviceFactorPattern<I> pattern_;
  std::optional<FillSampler<T, I>> sampler_;
  DeviceOrdering<I> made_;
};

}  // namespace

template <class T, class I>
OrderingChoice choose_ordering_on_device(const PatternView<I>& A, const PatternView<I>& on_device, const T* value,
                                         const OrderingRequest& request)
try {
  const MatrixSize size = {A.n, A.nnz(), sizeof(T)};
  if (!needs_prediction(size, request)) return decide_ordering(size, request, nullptr);
  DeviceProspects<T, I> prospects(A, on_device, value, request);
  return decide_ordering(size, request, &prospects);
} catch (const typename DeviceProspects<T, I>::Unfit&) {
  OrderingChoice choice;
  choice.reason = "the given order: its pattern cannot be factored";
  return choice;
}

#define INSTANTIATE(T, I)                                                                                       \
  template OrderingChoice choose_ordering_on_device<T, I>(const PatternView<I>&, const PatternView<I>&, const T*, \
                                                          const OrderingRequest&);
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree::cuda
