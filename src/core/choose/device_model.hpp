#pragma once

/// Constants of the device model by which `auto` chooses; the model is in estimate.cpp and
/// grid_times.cpp. Microseconds on an H200 for one triangle, unless stated otherwise.
/// `tests/bench/calibrate.sh` measures a device and fits the constants of the solves, except those of tiles, and of the
/// plan of `merged`. It requires one constant per line.

namespace syncfree {

struct DeviceModel {
  /// `level_order`: fitted on an H200 to 91 factors, with an error of a seventh; the term of a triangle's longest row
  /// to seven factors with rows of 139 to 4999 entries, timed twice, with an error of a tenth (a fifth without it).
  double rows_begin = 0.3;
  double rows_level = 0.544;
  double rows_entry = 2e-5;
  double rows_longest_row = 0.003;

  /// L and U in one launch, where levels are at most so many and have at least so many rows: fitted on an H200 to two
  /// colours of 7 points (100^3 and 200^3), eight of 27 (80^3), and two meshes in colours and cyclic orders, within a
  /// fifth. Terms: levels of both, entries of both, rows.
  double wide_levels = 64;
  double wide_level_rows = 4096;
  double wide_begin = 1;
  double wide_stage = 0.55;
  double wide_entry = 3.6e-6;
  double wide_row = 2.6e-5;

  /// Entries of a triangle's row in the mean above which polling saturates the L2 cache: wide levels are then as slow
  /// as narrow ones.
  double long_row = 16;

  /// Blocks of rows in colors, each solved by a warp, in place of wide_stage: a hop a color, and the rows of a block,
  /// one after the other. The hop was fitted on an H200 to two meshes with 14 and 7 colors, within a tenth.
  double warps_hop = 0.85;
  double warps_row = 0.025;

  /// Kernels that gather b and scatter x where rows have another order, which `level_order` in one launch needs not: an
  /// estimate from two launches of the host and from bytes.
  double orders_begin = 7;
  double orders_row = 2.5e-5;

  /// `level_order` by inodes: fitted on an H100 to 18 factors. An entry has a value, and a column index that it shares
  /// with its inode.
  double nodes_begin = 0;
  double nodes_level = 0.734;
  double nodes_byte = 6.54e-7;

  /// `merged`, both triangles: fitted on an H200 to 104 factors, with an error of a seventh. Entries are those of the
  /// groups; for each group there is a term with the mean row length; for each triangle, the entries of its longest
  /// row.
  double merged_begin = 3.1;
  double merged_group = 0.572;
  double merged_length = 0.0038;
  double merged_entry = 3.4e-5;
  double merged_longest_row = 0.005;
  /// Time of the groups before they are known: this factor times sqrt(levels * entries) of a triangle. Optimistic for
  /// factors without pencils and tiles (of 70 a quarter take less with 50 applies) and with them (eight of nine take
  /// 0.0165 to 0.026). The means of all are 0.013 with 50 applies and 0.01 with 1000.
  double merged_good = 0.01;
  double merged_on_grids = 0.015;
  double merged_usual = 0.013;
  /// Time that the plan of `merged` adds to a set-up, fitted on an H200 to 121 plans with up to 2,000,000 rows, for 50
  /// and for 1000 applies, with an error of two fifths; the first constant anew to 46 small ones, when plans were made
  /// with fewer waits. Terms: entries, the levels of the longest group, the square of the rows of a run; and the
  /// fraction of the plan that remains after its groups have been found.
  double merged_plan_begin = 200;
  double merged_plan_entry = 2.1e-4;
  double merged_plan_level = 6.6;
  double merged_plan_row_squared = 1.5e-6;
  double merged_plan_rest = 0.35;

  /// `tiled` by ranges of rows: a step with few entries per row, and with more; the hop from tile to tile, for tiles
  /// that run concurrently and for later ones. First the constants for plans made on the device: fitted on an H100 to
  /// 31 factors of 886 to 1,000,000 rows. Then those for grids that lack neighbours, planned on the host, and for
  /// inodes that are not on a grid.
  double ghosts_begin = 4.2;
  double ghosts_short_step = 0.095;
  double ghosts_step = 0.136;
  double ghosts_hop = 0.53;
  double blocks_begin = 10;
  double blocks_short_step = 0.09;
  double blocks_long_step = 0.25;
  double blocks_hop = 0.8;
  double blocks_later_hop = 0.15;

  /// `tiled` by inodes: fitted on an H100 to elasticity with 3000 to 331,776 rows and to beams; the lanes of an inode
  /// are the square of its rows.
  double node_blocks_begin = 5.74;
  double node_blocks_level = 0.3;
  double node_blocks_lane = 1.59e-4;

  /// `wavefront`, in space and in a plane: fitted on an H100 to six grids, 16^3 to 128^3, and to eight, 30^2 to 1448^2,
  /// within 5 and 8 %. Terms: steps; hops from pencil group to pencil group; and in space, where many thread blocks
  /// wait for memory, rows.
  double space_begin = 3.38;
  double space_step = 0.0954;
  double space_hop = 0.256;
  double space_row = 1.4e-5;
  double plane_begin = 2.33;
  double plane_step = 0.0475;
  double plane_hop = 0;

  /// Plans of `tiled` and `wavefront`, with their share of a refresh, per entry of both triangles: made on the device,
  /// for ghosts and for pencils (on an H100), for tiles, for inodes; and made on the host, the time divided by the
  /// threads and the serial rest.
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

  /// `tiled` by tiles of a grid, fitted to 14 grids, tiles and orders (9 %): a step of up to 32, 64, 96, 128 rows; a
  /// hop to another tile; the start of a tile; the time a multiprocessor needs before it takes the next tile, also per
  /// row; the start of a solve.
  double tiles_step_32 = 0.08;
  double tiles_step_64 = 0.117;
  double tiles_step_96 = 0.15;
  double tiles_step_128 = 0.18;
  double tiles_hop = 0.5;
  double tiles_begin = 1.5;
  double tiles_end = 2;
  double tiles_row = 6e-4;
  double tiles_launch = 2;

  /// Single storage: each byte less of the values saves time, but each level takes longer, as values are converted: by
  /// pencils, fitted on an H200 to 7 points on 40^3 to 300^3 and to 5 on 100^2 and 1000^2; by tiles, to 27 points on
  /// 67^3 and to dense blocks on 28^3. By `level_order` waits hide the bytes, unless reading takes half of the time;
  /// `kkt` with 207,646 rows and two levels, which the L2 cache holds, takes as long in either precision (R25).
  double single_byte = 2.5e-7;
  double single_pencils_level = 0.005;
  double single_tiles_level = 0.08;
  double l2_bytes = 5e7;

  /// The rest of an iteration of a Krylov method: a product with A by cuSPARSE and, with reductions that the host waits
  /// for, vector operations; fitted on an H200 to seven solves with CG and GMRES(30). Bytes of a product are those of
  /// entries with their columns and of three vectors; of the rest, those of one vector.
  double product_begin = 4;
  double product_byte = 3.9e-7;
  double rest_begin = 100;
  double rest_byte = 1.2e-5;

  /// L, U, levels, inodes and rows by level of a pattern in natural order: made on the host, by rows and entries, and
  /// made on the device. The former was timed on one core of an EPYC, for eight files of 1000 to 8081 rows, within a
  /// third; the latter is the sum of 33 launches of 4.5 us, 9 fills of 2 us and 12 waits of 4 to 10 us, as in a profile
  /// of sherman1 on an H200, and of 80 levels of 0.75 us, the median of 43 files below 10,000 rows.
  double host_analysis_row = 0.05;
  double host_analysis_entry = 0.003;
  double device_analysis = 310;

  /// A set-up on the device: in the given order, by entries and levels; what another order adds to one without levels;
  /// and what making an order and measuring its discarded fill takes, if it is then not chosen. Fitted on an H200 to
  /// four meshes, whose levels took 2.3 to 5.7 us each; what a look takes is an estimate. What `abmc` adds to both,
  /// joins, and `cyclic`, a search and a second coloring, was measured there on six and five meshes.
  double set_up_begin = 1000;
  double set_up_entry = 2.3e-4;
  double set_up_level = 3;
  double ordering_begin = 1400;
  double ordering_entry = 3e-4;
  double look_begin = 500;
  double look_entry = 2e-4;
  double joins_begin = 400;
  double joins_entry = 2.9e-4;
  double search_begin = 900;
};

constexpr DeviceModel device_model = {};

}  // namespace syncfree
