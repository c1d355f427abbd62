#pragma once

/// One triangle on the device: results of the analysis, shared by all its solvers.

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "core/pattern/grid.hpp"
#include "cuda/analysis/pattern.hpp"
#include "syncfree/csr.hpp"
#include "syncfree/cuda/detail/device.hpp"
#include "syncfree/strategy.hpp"

namespace syncfree {
template <class I> struct LevelSets;
struct TileShape;
}  // namespace syncfree

namespace syncfree::cuda {

class CapturedSolves;
template <class I> struct DeviceInodes;
template <class I> struct DeviceLevels;
template <class I> class MergePlanner;
template <class I> struct RowBlocks;

/// Rows in level order, and the position of each row in that order.
template <class I> struct LevelPositions {
  DeviceArray<I> row, position;
};

/// A triangle for which a solver is made. Patterns and levels in host memory are copied or computed at the first
/// request; copies of the object share them.
template <class I> class DeviceTriangle {
public:
  ///   pattern  in host memory
  ///   source   value of entry k of the pattern is at source[k] of the factor's array; nullptr: at k
  ///   unit     the diagonal is 1
  DeviceTriangle(bool lower, const PatternView<I>& pattern, const I* source, bool unit);
  ///   longest  most entries in a row
  DeviceTriangle(bool lower, const DevicePattern<I>& on_device, std::int64_t longest, bool unit);

  bool lower, unit;
  int block_size = 1;  ///< of the dense blocks that rows and entries of the pattern are; n, levels and nnz count these
  bool transposed_blocks = false;  ///< a block's values are the transpose of those in the factor's array
  const I* source = nullptr;
  DevicePattern<I> on_device = {};                 ///< or empty
  const DeviceLevels<I>* device_levels = nullptr;  ///< or nullptr
  const DeviceInodes<I>* nodes = nullptr;          ///< nullptr: none, or not tested
  const RowBlocks<I>* blocks = nullptr;            ///< that warps can solve, or nullptr
  MergePlanner<I>* pending_plan = nullptr;  ///< of `merged`, which the first update of values ends, or nullptr
  std::int64_t most_merged = std::numeric_limits<std::int64_t>::max();  ///< bytes for groups of `merged`
  PermutedRows<I>* by_level = nullptr;      ///< rows in level order, or nullptr; the first user takes ownership
  LevelPositions<I>* positions = nullptr;   ///< or nullptr; the first users take ownership
  Grid<I> grid = {};                        ///< empty if the pattern is not a star stencil or was not tested
  Grid<I> grid_of_nodes = {};
  std::int64_t row_bandwidth = -1;     ///< typical_row_bandwidth(); -1: not computed
  CapturedSolves* captures = nullptr;  ///< captured solves of the object that owns the solver, or nullptr
  PlanForm form = PlanForm::any;       ///< in which it is solved
  const TileShape* tile = nullptr;     ///< for `tiled` on a star stencil's grid; nullptr: chosen from the triangle

  /// Sets the pattern in host memory, if the caller has it.
  void show(const PatternView<I>& pattern);
  /// Sets the levels in host memory, if the caller has them.
  void show_levels(LevelSets<I> levels);

  I n() const { return n_; }
  I nnz() const { return nnz_; }
  /// The number of levels. This and the following throw Failure and std::bad_alloc.
  I level_count() const;
  /// Returns the offsets of the levels into the rows in level order.
  std::vector<I> level_begins() const;
  /// Returns the rows in level order.
  DeviceArray<I> rows_in_level_order() const;
  /// Returns the position of each row in an order, which is rows_in_level_order().
  DeviceArray<I> positions_in_level_order(const I* order) const;
  const PatternView<I>& pattern() const;
  const LevelSets<I>& levels() const;
  std::int64_t longest() const;

private:
  struct OnHost;
  std::shared_ptr<OnHost> host_;
  I n_, nnz_;
  mutable std::int64_t longest_ = -1;
};

}  // namespace syncfree::cuda
