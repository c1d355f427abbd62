#pragma once

/// One triangle on the device: what the analysis knows of it, for all that solve it.

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

/// A triangle that a solver is made for. Patterns and levels that are wanted in host memory are copied or found when
/// they are first asked for.
template <class I> class DeviceTriangle {
public:
  ///   pattern  in host memory
  ///   source   entry k of the pattern has number source[k] of the factor's array; nullptr: number k
  ///   unit     the diagonal is 1
  DeviceTriangle(bool lower, const PatternView<I>& pattern, const I* source, bool unit)
      : lower(lower), unit(unit), source(source), pattern_(pattern), fetched_(true), n_(pattern.n), nnz_(pattern.nnz())
  {
  }
  ///   longest    entries in a row at most
  DeviceTriangle(bool lower, const DevicePattern<I>& on_device, std::int64_t longest, bool unit)
      : lower(lower), unit(unit), on_device(on_device), n_(on_device.n), nnz_(on_device.nnz), longest_(longest)
  {
  }

  bool lower, unit;
  const I* source = nullptr;
  DevicePattern<I> on_device = {};                 ///< or empty
  const DeviceLevels<I>* device_levels = nullptr;  ///< or nullptr
  const DeviceInodes<I>* nodes = nullptr;           ///< nullptr: none, or nobody looked
  MergePlanner<I>* merging = nullptr;                   ///< for a plan of `merged`, or nullptr
  PermutedRows<I>* by_level = nullptr;             ///< rows by level, for who needs them first; or nullptr
  Grid<I> grid = {};    ///< no star's where nobody looked
  Grid<I> grid_of_nodes = {};
  std::int64_t row_bandwidth = -1;  ///< typical_row_bandwidth(); -1: nobody looked
  CapturedSolves* captures = nullptr;  ///< of the object that the solver is for, or nullptr
  TileShape tile = {};  ///< for `tiled` on a star's grid; no cells: by the triangle

  /// Its pattern in host memory, where that is known.
  void show(const PatternView<I>& pattern)
  {
    pattern_ = pattern;
    fetched_ = true;
  }

  I n() const { return n_; }
  I nnz() const { return nnz_; }
  /// The three throw Failure and std::bad_alloc.
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
