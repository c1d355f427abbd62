#pragma once

/// The options of a preconditioner.

#include <cstdint>
#include <string>
#include <tuple>

namespace syncfree {

/// How the block algorithms partition the triangle and which kernels they use.
struct BlockOptions {
  std::string table = "h200";   ///< thresholds: "h200", or "paper" for those of Lu et al. 2020
  std::int64_t cut_rows = 0;    ///< fewest rows of a sub-triangle; 0: from the table
  std::int64_t tile_rows = 0;   ///< `tiled`: rows of a tile; 0: chosen
};

/// Options of a preconditioner, fixed from analyse() on.
struct SolverOptions {
  std::string strategy = "auto";
  int threads = 1;
  bool single_storage = false;  ///< store the factor in single_t<T>, with `auto` on a GPU if faster; sums stay in T
  BlockOptions blocks = {};     ///< for column_block, row_block, recursive_block and tiled
  double merge_fill = 4;              ///< `merged`: entries at most, relative to the triangle with its diagonal
  std::int64_t expected_applies = 50;  ///< between refreshes; limits the plan cost of `auto` and the groups of `merged`
  bool trials = false;  ///< `auto` plans and times a few strategies instead of using its model
  double wait_limit = 60;  ///< seconds of waiting after which a GPU thread block gives its launch up; 0: none
  int block_size = 1;  ///< unknowns of a dense block (syncfree/blocks.hpp)
  /// Device: megabytes of factor and plan that `auto` and `merged` keep to; 0: by memory_limit_in_force(); infinity: no
  /// limit. `level_order` and other strategies by name may take more.
  double memory_limit = 0;

  /// All of them, to compare: an analysis serves other options only if these are equal.
  auto fields() const
  {
    return std::tie(strategy, threads, single_storage, blocks.table, blocks.cut_rows, blocks.tile_rows, merge_fill,
                    expected_applies, trials, wait_limit, block_size, memory_limit);
  }
  bool operator==(const SolverOptions& other) const { return fields() == other.fields(); }
};

}  // namespace syncfree
