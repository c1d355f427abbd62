#pragma once

/// The list of strategies and the only place where `auto` decides.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "syncfree/status.hpp"

namespace syncfree {

struct StrategyInfo {
  const char* name;     ///< as in -pc_syncfree_strategy
  const char* backend;  ///< "host", "kokkos" or "cuda"
  const char* summary;  ///< one line, printed by syncfree_bench -help
  bool reproducible;    ///< bitwise equal results for a given strategy and thread count
};

/// All strategies of this build, in the order of the list, without `auto`. Several backends may use the same name.
const std::vector<StrategyInfo>& strategies();

/// Returns the strategy of that name, nullptr if there is none; the first of the list if several backends have it.
const StrategyInfo* find_strategy(const std::string& name);

/// Returns the strategy of that name and backend, nullptr if there is none.
const StrategyInfo* find_strategy(const std::string& name, const std::string& backend);

/// Returns, as a clause, why this build lacks a strategy that other builds have; empty for every other name.
std::string why_not_built(const std::string& name);

/// Valid values of BlockOptions::table.
const std::vector<const char*>& block_table_names();

/// How a strategy that `auto` may take lays out a triangle on the device. `any`: the first form that has a plan.
///   rows, inodes  `level_order` and `tiled`
///   grid          `tiled`, for a star stencil
///   pencils       `wavefront`
///   groups        `merged`
enum class PlanForm { any, rows, inodes, grid, pencils, groups };

/// Returns the enumerator's name.
const char* name_of(PlanForm form);

/// Input of the choice.
struct ChoiceInput {
  std::int64_t nnz = 0;  ///< of both triangles
  bool on_device = false;
  int threads = 1;
  double blocks_speedup = 0;  ///< host: estimated speedup of the plan of row chunks of the lower triangle
  /// Device: number of rows, levels of a triangle in the mean of both, entries of the longest row of both triangles.
  std::int64_t rows = 0, levels = 0, longest = 0;
  int node_size = 0;             ///< rows of the inodes that `level_order` solves; 0: it solves rows
  std::int64_t node_levels = 0;  ///< levels of the inodes
  std::int64_t block_rows = 0;   ///< of the largest block of rows, if `level_order` solves each by a warp; else 0
  std::int64_t block_colors = 0;  ///< of these blocks
  bool inodes_on_grid = false;  ///< the inodes are the points of a grid in its natural order
  bool regular = false;  ///< all rows have a similar bandwidth, as on a grid
  PlanForm tiled_form = PlanForm::rows;  ///< in which `tiled` has a plan; any: none
  /// Microseconds for the lower triangle with pencils of a grid, and with tiles of a star stencil's grid; 0: not
  /// applicable.
  double wavefront_time = 0, tiled_time = 0;
  double orders_time = 0;  ///< microseconds that b and x take in the order of a grid that rows were given, or 0
  bool tiled_on_device = false;  ///< plans of `tiled` are made on the device, as rows are short
  /// `merged` for the lower triangle: groups (0: not worth a search), entries, levels of the longest group; and
  /// whether these already give all groups, so that no further search is needed.
  double merged_groups = 0, merged_entries = 0;
  std::int64_t merged_longest = 0;
  bool merged_is_known = false;
  bool memory_is_short = false;  ///< the device had no memory for another strategy
  int single_saves = 0;  ///< bytes that single storage saves for a value; 0: it is not asked for, or saves nothing
  std::int64_t expected_applies = 50;
};

/// True if `merged` could win with optimistic groups. Searching for groups dominates its set-up, so do it only then.
bool could_pay_to_merge(const ChoiceInput& input);

struct Choice {
  std::string strategy;
  std::string reason;  ///< one clause for the view: "one thread", "8 rows a level are too few for 4 threads"
  PlanForm form = PlanForm::any;
  bool single = false;  ///< device: values are to be stored in single precision
};

/// The strategy that `auto` takes, with its reason.
Choice choose_strategy(const ChoiceInput& input);

/// A strategy that was planned and timed, in seconds.
struct Trial {
  std::string strategy;
  double plan, apply;
};

/// best_trial() returns the index of the trial with the least time for its plan and `expected_applies` applies; of two
/// within 15 %, of the one with the least for twice the applies, as a plan serves after a refresh, too. Trials are
/// compared one after the other with the best one before. At least one is required. choose_by_trials() returns that
/// choice with all times in its reason.
std::size_t best_trial(const std::vector<Trial>& trials, std::int64_t expected_applies);
Choice choose_by_trials(const std::vector<Trial>& trials, std::int64_t expected_applies);

}  // namespace syncfree
