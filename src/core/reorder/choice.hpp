#pragma once

/// The decision of choose_ordering(), which host and device share; each measures in its own way.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/pattern/grid.hpp"
#include "core/schedule/bandwidth.hpp"
#include "syncfree/ordering_choice.hpp"
#include "syncfree/strategy.hpp"

namespace syncfree {

/// Levels of the given order are at first counted up to this number, which takes a device up to half a millisecond;
/// those of a grid are all known. If the choice depends on more, they are counted up to the second number.
constexpr std::int64_t most_counted_levels = 800, most_levels_in_doubt = 4000;

/// The given order: the input of choose_strategy() as far as it is known without plans.
struct GivenOrder {
  ChoiceInput input;
  bool has_more_levels = false;
};

/// A number of levels, or, if there are more, one that they exceed.
struct GivenLevels {
  std::int64_t levels = 0;
  bool has_more = false;
};

/// What the decision asks for, in this order. Each may throw.
class OrderingProspects {
public:
  virtual ~OrderingProspects() = default;
  virtual GivenOrder look_at_given() = 0;
  /// Counts on up to most_levels_in_doubt; later, and only if there are more than look_at_given() has counted.
  virtual GivenLevels count_more_levels() = 0;
  /// An order is made next, and then the fill of the given one is asked for: a device can measure it meanwhile.
  virtual double unsymmetry() = 0;
  /// Makes an order and returns the number of its colors.
  virtual std::int64_t make(const OrderingOptions& options) = 0;
  virtual double fill_of_given() = 0;
  /// Of the last order that was made.
  virtual double fill_of_made() = 0;
};

/// Size of a matrix: entries with the diagonal, bytes of a scalar.
struct MatrixSize {
  std::int64_t rows = 0, entries = 0;
  std::size_t scalar = 8;
};

/// Returns 2 or 3 if the rows that find_grid() would examine come in nodes of that many, else 0: a guess.
template <class I> int guess_node_size(const PatternView<I>& A)
{
  constexpr std::int64_t sampled = 64;
  const auto equal = [&](I a, I b) {
    const I *begin = A.column + A.row_begin[a], *end = A.column + A.row_begin[a + 1];
    return A.row_begin[b + 1] - A.row_begin[b] == end - begin && std::equal(begin, end, A.column + A.row_begin[b]);
  };
  for (const I size : {I(3), I(2)}) {
    if (A.n < size || A.n % size != 0) continue;
    const I nodes = A.n / size, stride = static_cast<I>(nodes / sampled) | 1;
    bool all = true;
    for (I node = 0; node < nodes && all; node += stride)
      for (I row = 1; row < size; ++row) all = all && equal(node * size, node * size + row);
    if (all) return static_cast<int>(size);
  }
  return 0;
}

/// Fills in what a few rows tell; the entries are those of both triangles.
template <class I> ChoiceInput describe_rows(const PatternView<I>& A, std::int64_t longest)
{
  ChoiceInput f;
  f.on_device = true;
  f.rows = A.n;
  f.nnz = std::max<std::int64_t>(0, A.nnz() - A.n);
  f.longest = longest / 2 + 1;  // of a triangle, if A is a mesh
  f.node_size = guess_node_size(A);
  return f;
}

/// True if the levels do not contradict that the rows are a star stencil's.
template <class I> bool is_star(const Grid<I>& grid, const ChoiceInput& f)
{
  return grid.star && static_cast<double>(f.levels) <= grid.levels_bound();
}

/// Fills in what the guessed grid tells, after the levels.
template <class I> void describe_grid(const PatternView<I>& A, const Grid<I>& grid, ChoiceInput* f)
{
  constexpr std::int64_t longest_in_tiles = 13;
  const bool star = is_star(grid, *f);
  if (f->node_size > 0) f->node_levels = (f->levels + f->node_size - 1) / f->node_size;
  f->inodes_on_grid = f->node_size > 0 && grid.lines > 1;
  f->tiled_on_device = !star && f->longest <= longest_in_tiles;
  f->regular = star || reaches_regularly(A, true);
  if (f->inodes_on_grid) f->tiled_form = PlanForm::inodes;
  else f->tiled_form = star || f->tiled_on_device ? PlanForm::rows : PlanForm::any;
}

/// False if the given order is the choice without anything to measure.
bool needs_prediction(const MatrixSize& A, const OrderingRequest& request);

/// Decides.
///   prospects  may be nullptr if nothing needs to be predicted
OrderingChoice decide_ordering(const MatrixSize& A, const OrderingRequest& request, OrderingProspects* prospects);

}  // namespace syncfree
