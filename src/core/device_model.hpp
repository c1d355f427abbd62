#pragma once

/// What `auto` takes a device to be: the constants of its model, which is in strategy.cpp, tiling.cpp and
/// cuda/solve_courier_lines.cu. Microseconds on an H200, of one triangle unless they are said to be of both.
/// `config/calibrate.sh` times a device and fits those of solves, but for tiles. A constant a line, as that wants it.

namespace syncfree {

struct DeviceModel {
  /// `level_order`: fitted to 54 factors and a dozen grids.
  double rows_begin = 2.5;
  double rows_level = 0.54;
  double rows_entry = 16e-6;

  /// The same by nodes. An entry has a number, and a column with the others of its node.
  double nodes_begin = 2.5;
  double nodes_level = 0.62;
  double nodes_byte = 7.69e-7;

  /// `merged`, both triangles: fitted to 55 factors, where it is off by a fifth. Entries are those of groups; for each
  /// group a part for the mean length of rows.
  double merged_begin = 5;
  double merged_group = 0.5;
  double merged_length = 0.005;
  double merged_entry = 2e-5;
  /// Its plan and part of a refresh: of entries, of the levels of the longest group, of the rows of a run; and the look
  /// at what it would be.
  double merged_plan_begin = 1160;
  double merged_plan_entry = 0.001;
  double merged_plan_level = 19;
  double merged_plan_row = 0.08;
  double merged_look = 800;

  /// `courier` by blocks of rows: a step with few entries a row, with as many as ghosts may be read, with more; from
  /// block to block, where they run at once and where they do not.
  double blocks_begin = 10;
  double blocks_short_step = 0.09;
  double blocks_step = 0.17;
  double blocks_long_step = 0.25;
  double blocks_hop = 0.8;
  double blocks_later_hop = 0.15;

  /// `courier` by nodes: fitted to grids of 24^3, 41^3 and 48^3 nodes of three rows; lanes of a node are the square of
  /// its rows.
  double node_blocks_begin = 10;
  double node_blocks_level = 0.24;
  double node_blocks_lane = 1.833e-4;

  /// `courier` by lines, in space and in a plane: fitted to five grids, 32^3 to 200^3, and to three, within a fifth.
  /// Steps; from bundle to bundle; and in space, where memory is what many blocks wait for, rows.
  double space_begin = 5;
  double space_step = 0.08;
  double space_hop = 0.49;
  double space_row = 1.2e-5;
  double plane_begin = 7;
  double plane_step = 0.041;
  double plane_hop = 0.5;

  /// Plans of `courier` and their part of a refresh, of entries of both triangles: made on the device, of tiles and
  /// lines, of nodes, and made on the host by one thread, and by the last, which all wait for.
  double plan_begin = 2000;
  double plan_entry = 2e-4;
  double tiles_plan_begin = 500;
  double tiles_plan_entry = 2e-4;
  double nodes_plan_begin = 700;
  double nodes_plan_entry = 5e-5;
  double host_plan_entry = 0.048;
  double host_plan_rest = 0.03;

  /// `courier` by tiles, fitted to 14 grids, tiles and orders (9 %): a step of up to 32, 64, 96, 128 rows; a hop to
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
  double tiles_launch = 3.6;
};

constexpr DeviceModel device_model = {};

}  // namespace syncfree
