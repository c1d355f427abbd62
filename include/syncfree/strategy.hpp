#pragma once

/// The list of strategies and the one place where `auto` is decided.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "syncfree/status.hpp"

namespace syncfree {

struct StrategyInfo {
  const char* name;     ///< as in -pc_syncfree_ilu_strategy
  const char* backend;  ///< "host", "kokkos" or "cuda"
  const char* summary;  ///< one line for -help and README
  bool reproducible;    ///< bitwise equal runs for a given strategy and thread count
};

/// All strategies of this build, in the order of the list; `auto` is not one of them. Backends may share a name.
const std::vector<StrategyInfo>& strategies();

/// nullptr if no strategy has that name; of several backends' the first of the list.
const StrategyInfo* find_strategy(const std::string& name);

/// nullptr if that backend has no strategy of that name.
const StrategyInfo* find_strategy(const std::string& name, const std::string& backend);

/// Why this build lacks a strategy that others have, as a clause; empty for every other name.
std::string why_not_built(const std::string& name);

/// The names that BlockOptions::table may have.
const std::vector<const char*>& block_table_names();

/// What the choice looks at.
struct ChoiceInput {
  std::int64_t nnz = 0;  ///< of both triangles
  bool on_device = false;
  int threads = 1;
  double blocks_speedup = 0;  ///< on the host: of the plan of row chunks of the lower triangle
  /// On the device: rows, levels of the lower triangle, entries of the longest row of both.
  std::int64_t rows = 0, levels = 0, longest = 0;
  int node_size = 0;             ///< rows of the nodes that `level_order` solves; 0: it solves rows
  std::int64_t node_levels = 0;  ///< of nodes
  bool tiled_inodes = false;  ///< does `tiled` solve them by planes or lines of a grid?
  bool regular = false;  ///< rows reach equally far, as on a grid
  bool may_have_tiles = true;  ///< rows, or nodes, are short enough for `tiled`, and no plan of it has failed
  /// Microseconds of the lower triangle by pencils of a grid, and by tiles of a star's grid; 0: there are none.
  double wavefront_time = 0, tiled_time = 0;
  bool tiled_on_device = false;  ///< plans of `tiled` are made there, from short rows
  /// Of `merged` for the lower triangle: groups (0: not worth the look), entries, levels of the longest group; and
  /// whether all groups are known by that, so that they are not looked for again.
  double merged_groups = 0, merged_entries = 0;
  std::int64_t merged_longest = 0;
  bool merged_is_known = false;
  std::int64_t expected_applies = 50;
};

/// Could `merged` pay for its plan, if its groups were as good as the better ones of those seen? Only then they are
/// worth to be looked for, which is most of the plan.
bool could_pay_to_merge(const ChoiceInput& input);

struct Choice {
  std::string strategy;
  std::string reason;  ///< one clause for the view: "one thread", "8 rows a level are too few for 4 threads"
};

/// The strategy that `auto` takes, with its reason.
Choice choose_strategy(const ChoiceInput& input);

/// A strategy that was planned and timed. Seconds.
struct Trial {
  std::string strategy;
  double plan, apply;
};

/// The one of some trials, at least one, that takes least for its plan and so many applies; its place and the choice
/// with all times in its reason.
std::size_t best_trial(const std::vector<Trial>& trials, std::int64_t expected_applies);
Choice choose_by_trials(const std::vector<Trial>& trials, std::int64_t expected_applies);

}  // namespace syncfree
