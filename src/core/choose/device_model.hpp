#pragma once

/// What `auto` takes a device to be: the constants of its model, which is in strategy.cpp, tiling.cpp and
/// cuda/solve/wavefront/solve_wavefront.cu. Microseconds on an H200, if nothing else is said, of one triangle unless
/// they are said to be of both. `tests/bench/calibrate.sh` times a device and fits those of solves, but for tiles, and
/// of the plan of `merged`. A constant a line, as that wants it.

namespace syncfree {

struct DeviceModel {
  /// `level_order`: fitted on an H200 to 91 factors, where it is off by a seventh.
  double rows_begin = 0.3;
  double rows_level = 0.544;
  double rows_entry = 2e-5;

  /// The same by nodes: fitted on an H100 to 18 factors. An entry has a number, and a column with the others of its
  /// node.
  double nodes_begin = 0;
  double nodes_level = 0.734;
  double nodes_byte = 6.54e-7;

  /// `merged`, both triangles: fitted on an H200 to 104 factors, where it is off by a seventh. Entries are those of
  /// groups; for each group a part for the mean length of rows; and for each triangle the entries of its longest row.
  double merged_begin = 3.1;
  double merged_group = 0.572;
  double merged_length = 0.0038;
  double merged_entry = 3.4e-5;
  double merged_longest_row = 0.005;
  /// What groups take before they are known, by the root of levels times entries of a triangle, if they are good: of 91
  /// factors a fifth take less with 50 applies, four tenths of 55 with 1000; in the mean they take 0.013 and 0.01.
  double merged_good = 0.008;
  /// What its plan adds to a set-up, fitted on an H200 to 121 plans with up to 2,000,000 rows, told of 50 and of 1000
  /// applies, where it is off by two fifths: of entries, of the levels of the longest group, of the square of the rows
  /// of a run; and the part of the plan that is left when groups have been looked for.
  double merged_plan_begin = 530;
  double merged_plan_entry = 2.1e-4;
  double merged_plan_level = 6.6;
  double merged_plan_row_squared = 1.5e-6;
  double merged_plan_rest = 0.35;

  /// `tiled` by blocks of rows: a step with few entries a row, and with more; from block to block, where they run at
  /// once and where they do not. First those whose plan is made on the device: fitted on an H100 to 31 factors, of 886
  /// to 1,000,000 rows. Then grids that lack neighbours, planned on the host, and nodes that stand on no grid.
  double ghosts_begin = 4.2;
  double ghosts_short_step = 0.095;
  double ghosts_step = 0.136;
  double ghosts_hop = 0.53;
  double blocks_begin = 10;
  double blocks_short_step = 0.09;
  double blocks_long_step = 0.25;
  double blocks_hop = 0.8;
  double blocks_later_hop = 0.15;

  /// `tiled` by nodes: fitted on an H100 to elasticity with 3000 to 331,776 rows and to beams; lanes of a node are
  /// the square of its rows.
  double node_blocks_begin = 5.74;
  double node_blocks_level = 0.3;
  double node_blocks_lane = 1.59e-4;

  /// `tiled` by lines, in space and in a plane: fitted on an H100 to six grids, 16^3 to 128^3, and to eight, 30^2 to
  /// 1448^2, within 5 and 8 %. Steps; from bundle to bundle; and in space, where memory is what many blocks wait for,
  /// rows.
  double space_begin = 3.38;
  double space_step = 0.0954;
  double space_hop = 0.256;
  double space_row = 1.4e-5;
  double plane_begin = 2.33;
  double plane_step = 0.0475;
  double plane_hop = 0;

  /// Plans of `tiled` and their part of a refresh, of entries of both triangles: made on the device, of ghosts and of
  /// lines (an H100), of tiles, of nodes, and made on the host by one thread, and by the last, which all wait for.
  double ghosts_plan_begin = 300;
  double ghosts_plan_entry = 3e-4;
  double lines_plan_begin = 100;
  double lines_plan_entry = 5e-5;
  double tiles_plan_begin = 200;
  double tiles_plan_entry = 2e-4;
  double nodes_plan_begin = 700;
  double nodes_plan_entry = 5e-5;
  double host_plan_entry = 0.048;
  double host_plan_rest = 0.03;

  /// `tiled` by tiles, fitted to 14 grids, tiles and orders (9 %): a step of up to 32, 64, 96, 128 rows; a hop to
  /// another tile, the begin of a tile, what a multiprocessor does before it takes the next, also for each row, the
  /// begin of a solve.
  double tiles_step_32 = 0.08;
  double tiles_step_64 = 0.117;
  double tiles_step_96 = 0.15;
  double tiles_step_128 = 0.18;
  double tiles_hop = 0.5;
  double tiles_begin = 1.5;
  double tiles_end = 2;
  double tiles_row = 6e-4;
  double tiles_launch = 2;
};

constexpr DeviceModel device_model = {};

}  // namespace syncfree
