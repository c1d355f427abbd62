#pragma once

/// The choice of a strategy for L and U on the device, and the making of exactly the form that was chosen. The rules
/// are in core/choose; this gathers what they need. Throws Failure and std::bad_alloc.

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/pattern/sampled_rows.hpp"
#include "core/plan/tiling.hpp"
#include "core/support/parallel.hpp"
#include "cuda/analysis/inodes.hpp"
#include "cuda/analysis/triangle.hpp"
#include "cuda/backend/grid_order.hpp"
#include "cuda/backend/setup.hpp"

namespace syncfree::cuda {

/// L and U and what the analysis has found out about them.
template <class I> struct FactorTriangles {
  std::optional<DeviceTriangle<I>> L, U;
  DeviceLevels<I> upper_levels;  ///< those of L are in Analysis
  DeviceInodes<I> lower_nodes, upper_nodes;
  PermutedRows<I> lower_by_level, upper_by_level;  ///< made on the host, until solvers or searches take them; or empty
  LevelPositions<I> lower_positions, upper_positions;  ///< likewise
  Grid<I> grid_of_L = {}, grid_of_U = {};  ///< guesses
  std::optional<bool> regular;             ///< whether rows have similar bandwidths, if that was tested
  PatternView<I> A;  ///< in host memory, if L and U were split from it in natural order on the device; otherwise empty
  SampledRows<I> sample_of_L, sample_of_U;  ///< if L and U were made on the device in another order; otherwise empty
  DevicePatternCopy<I> kept_rows;  ///< rows of A for the factorization, or empty

  bool were_split() const { return A.row_begin != nullptr; }

  /// Entries of the longest row of both triangles.
  std::int64_t longest() const { return std::max(L->longest(), U->longest()); }
  /// Calls use(rows) with rows in host memory: those of A if L and U were split from it, a sample, or the triangle's.
  template <class Use> auto look_at(const DeviceTriangle<I>& triangle, const Use& use) const
  {
    const SampledRows<I>& sample = triangle.lower ? sample_of_L : sample_of_U;
    if (!sample.row.empty()) return use(sample);
    return use(were_split() ? A : triangle.pattern());
  }
};

/// Makes the solver of one triangle.
///   strategy  nullptr: the chosen one
template <class T, class I>
void make_solver(TriangleIndex which, const DeviceTriangle<I>& triangle, Analysis<T, I>* a,
                 const char* strategy = nullptr);

template <class T, class I> class StrategyChooser {
public:
  StrategyChooser(const Task<I>& task, Analysis<T, I>* a, FactorTriangles<I>* found)
      : task_(task), a_(*a), found_(*found)
  {
  }

  /// True if the choice depends on more than the levels.
  bool chooses() const { return is_auto() && !a_.by_blocks && a_.options.expected_applies > 0; }
  /// True if inodes are wanted: `level_order` or `tiled` may run, and rows are not so long that they are split.
  bool wants_inodes() const;
  /// True if the rows by level probably are.
  bool wants_rows_by_level() const
  {
    const bool by_tiles = chooses() && found_.L->grid.star;
    return a_.by_blocks || asks_for("level_order") || asks_for("merged") || (is_auto() && !by_tiles);
  }
  /// Threads for host work that runs concurrently with the device.
  int few_threads() const { return worthwhile_threads(a_.nnz / 10, a_.options.threads); }
  /// True if tiles of a star stencil's grid may be chosen.
  bool wants_tiles() const
  {
    return !a_.by_blocks && (chooses() || asks_for("tiled")) && a_.options.blocks.tile_rows == 0;
  }
  /// True if pencils of a grid may be chosen.
  bool wants_wavefront() const;
  /// What may be chosen where rows turn out to be those of a grid in another order.
  GridWishes grid_wishes() const
  {
    return {wants_wavefront(), wants_tiles(), is_auto(), a_.single, a_.options.expected_applies};
  }
  /// Estimates pencils and tiles from the grid alone, which is still a guess. No tile is chosen if pencils apply.
  void guess_tiles(const Grid<I>& grid);

  /// Chooses a strategy and makes its solvers and the factorization. Call it when levels and inodes are known.
  void choose_and_make();

private:
  bool is_auto() const { return asks_for("auto"); }
  bool asks_for(const char* strategy) const { return a_.options.strategy == strategy; }
  DeviceTriangle<I>& L() { return *found_.L; }
  DeviceTriangle<I>& U() { return *found_.U; }

  bool has_failed(PlanForm form) const { return std::find(failed_.begin(), failed_.end(), form) != failed_.end(); }

  /// Bytes that single storage saves for a value, if it was asked for and `auto` decides whether it pays; else 0.
  int single_saves() const
  {
    return is_auto() && a_.options.single_storage ? static_cast<int>(sizeof(T) - sizeof(single_t<T>)) : 0;
  }
  /// ChoiceInput with the sizes of the factor, those of dense blocks by rows, and what single storage saves.
  ChoiceInput factor_sizes() const;
  void store_in_single(bool single);
  void choose_storage_of(const Trial& trial);
  std::string choose_storage_of_blocks(const char* strategy);

  void make_dense_blocks();
  void make_dense_factorization();
  void confirm_tiles();
  double time_of_wavefront(const Grid<I>& grid, std::int64_t longest, std::int64_t levels) const;
  TileChoice find_tile(const Grid<I>& grid) const;

  void choose_by_trials();
  std::vector<std::string> trial_strategies();
  struct TrialVectors;
  std::optional<Trial> time_strategy(const std::string& name, const TrialVectors& v);
  void solve_in_trial(PairSolver<T>* pair, const TrialVectors& v);

  void choose_by_model();
  ChoiceInput features();
  PlanForm form_of_tiles();
  bool is_regular();
  bool inodes_fit_tiles();
  bool rows_fit_tiles() const;
  MergeForecast foresee_merging();
  void begin_merging(DeviceTriangle<I>* triangle, PermutedRows<I>* made, PermutedRows<I>* rows,
                     std::optional<MergePlanner<I>>* planner);
  void begin_plans_of_merged();
  void drop_merging();

  bool has_limit() const { return a_.memory_limit < std::numeric_limits<double>::infinity(); }
  void find_memory_limit();
  double bytes() const;
  std::string over_limit() const;
  bool limit_merging();

  void make_chosen();
  void make_factorization();
  void make_solvers();
  std::string rule_out(const Failure& failure);
  void drop_chosen();
  int threads_of_plans();
  void find_bandwidths();

  const Task<I>& task_;
  Analysis<T, I>& a_;
  FactorTriangles<I>& found_;
  std::vector<PlanForm> failed_;  ///< forms that had no plan or no memory; they are not chosen again
  bool memory_is_short_ = false;
  double base_bytes_ = 0;       ///< of what is neither a solver nor the plan of the factorization
  double list_bytes_ = std::numeric_limits<double>::infinity();  ///< that UpdateLists may take
  std::string limited_;         ///< clauses for the view: what the memory limit prevented
  std::string limited_lists_;   ///< the same, of lists for the factorization
  std::optional<bool> inodes_fit_;
  double wavefront_time_ = 0;  ///< estimate, microseconds; 0: does not apply
  TileChoice tile_;
};

}  // namespace syncfree::cuda
