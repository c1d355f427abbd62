#pragma once

/// One triangle on the device: results of the analysis, shared by all its solvers.

#include "core/pattern/grid.hpp"
#include "core/plan/tiling.hpp"
#include "cuda/analysis/inodes.hpp"
#include "cuda/analysis/pattern.hpp"
#include "syncfree/array.hpp"
#include "syncfree/csr.hpp"
#include "syncfree/cuda/detail/device.hpp"
#include "syncfree/schedule.hpp"

namespace syncfree::cuda {

class CapturedSolves;
template <class I> class MergePlanner;

/// A triangle for which a solver is made. Patterns and levels in host memory are copied or computed at the first
/// request.
template <class I> class DeviceTriangle {
public:
  ///   pattern  in host memory
  ///   source   value of entry k of the pattern is at source[k] of the factor's array; nullptr: at k
  ///   unit     the diagonal is 1
  DeviceTriangle(bool lower, const PatternView<I>& pattern, const I* source, bool unit)
      : lower(lower), unit(unit), source(source), pattern_(pattern), fetched_(true), n_(pattern.n), nnz_(pattern.nnz())
  {
  }
  ///   longest    most entries in a row
  DeviceTriangle(bool lower, const DevicePattern<I>& on_device, std::int64_t longest, bool unit)
      : lower(lower), unit(unit), on_device(on_device), n_(on_device.n), nnz_(on_device.nnz), longest_(longest)
  {
  }

  bool lower, unit;
  const I* source = nullptr;
  DevicePattern<I> on_device = {};                 ///< or empty
  const DeviceLevels<I>* device_levels = nullptr;  ///< or nullptr
  const DeviceInodes<I>* nodes = nullptr;           ///< nullptr: none, or not tested
  MergePlanner<I>* merging = nullptr;                   ///< for a plan of `merged`, or nullptr
  PermutedRows<I>* by_level = nullptr;             ///< rows in level order, or nullptr; the first user takes ownership
  Grid<I> grid = {};    ///< empty if the pattern is not a star stencil or was not tested
  Grid<I> grid_of_nodes = {};
  std::int64_t row_bandwidth = -1;  ///< typical_row_bandwidth(); -1: not computed
  CapturedSolves* captures = nullptr;  ///< captured solves of the object that owns the solver, or nullptr
  TileShape tile = {};  ///< for `tiled` on a star stencil's grid; no cells: chosen from the triangle

  /// Sets the pattern in host memory, if the caller has it.
  void show(const PatternView<I>& pattern)
  {
    pattern_ = pattern;
    fetched_ = true;
  }

  I n() const { return n_; }
  I nnz() const { return nnz_; }
  /// These three throw Failure and std::bad_alloc.
  const PatternView<I>& pattern() const;
  const LevelSets<I>& levels() const;
  std::int64_t longest() const;

private:
  mutable PatternView<I> pattern_;
  mutable bool fetched_ = false;
  I n_, nnz_;
  mutable std::int64_t longest_ = -1;
  mutable Array<I> begin_, column_;
  mutable LevelSets<I> levels_;
};

}  // namespace syncfree::cuda
