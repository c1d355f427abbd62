#pragma once

/// The beginning of an analysis, which the choice of an order needs, too.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/pattern/grid_order.hpp"
#include "cuda/analysis/factor_pattern.hpp"
#include "cuda/analysis/inodes.hpp"
#include "cuda/analysis/levels.hpp"
#include "cuda/analysis/pattern_copy.hpp"
#include "cuda/base/stream.hpp"
#include "cuda/ordering/ordering.hpp"
#include "syncfree/csr.hpp"
#include "syncfree/factor.hpp"

namespace syncfree::cuda {

/// Searches for levels and inodes of L and U, which run concurrently, each in its stream.
template <class I> struct TriangleSearches {
  Stream for_L, for_U, for_nodes_of_L, for_nodes_of_U;
  LevelSearch<I> of_L, of_U;
  std::optional<InodeSearch<I>> nodes_of_L, nodes_of_U;

  /// Begins when the triangles are complete.
  ///   most, patience  as for LevelSearch
  TriangleSearches(const DevicePattern<I>& L, const DevicePattern<I>& U, const Grid<I>& grid_of_L,
                   const Grid<I>& grid_of_U, bool wants_inodes, unsigned most = no_bound,
                   std::uint64_t patience = 0)
      : of_L(L, true, grid_of_L, for_L.get(), patience, most), of_U(U, false, grid_of_U, for_U.get(), patience, most)
  {
    if (!wants_inodes) return;
    nodes_of_L.emplace(L, true, for_nodes_of_L.get());
    nodes_of_U.emplace(U, false, for_nodes_of_U.get());
  }
};

/// A matrix that an analysis begins with.
///   A, on_device  row offsets are checked
///   rows          of A in device memory
///   split         L and U of A in natural order, if split() has made them: then the columns are checked
///   searches      begun for these
///   grid_of_L, grid_of_U, regular  guesses that the analysis would make, if there is a split
///   points        of the grid, if rows in natural order come level by level; else there are no axes
///   has_full_rows the columns are known to be without a fault
///   orderings     orders that were made
///   memory_before bytes of the process before all this
template <class I> struct PreparedMatrix {
  struct Made {
    OrderingOptions options;
    DeviceOrdering<I> ordering;
  };

  PatternView<I> A, on_device;
  PatternOnDevice<I> rows;
  std::optional<DeviceFactorPattern<I>> split;
  std::optional<TriangleSearches<I>> searches;
  Grid<I> grid_of_L = {}, grid_of_U = {};
  std::optional<bool> regular;
  GridPoints<I> points;
  bool has_full_rows = false;
  std::vector<Made> orderings;
  std::int64_t memory_before = 0;

  PreparedMatrix(const PatternView<I>& A, const PatternView<I>& on_device)
      : A(A), on_device(on_device), rows(A, on_device)
  {
  }

  bool is_of(const PatternView<I>& other, const PatternView<I>& other_on_device) const
  {
    return A.n == other.n && A.row_begin == other.row_begin && A.column == other.column &&
           on_device.row_begin == other_on_device.row_begin && on_device.column == other_on_device.column;
  }

  /// Returns the order if it was made, else none.
  std::optional<DeviceOrdering<I>> take_ordering(const OrderingOptions& options)
  {
    for (Made& made : orderings) {
      const OrderingOptions& o = made.options;
      const bool same = o.cyclic_colors == options.cyclic_colors && o.abmc_rows == options.abmc_rows;
      if (same && o.kind == options.kind) return std::move(made.ordering);
    }
    return std::nullopt;
  }
};

}  // namespace syncfree::cuda
