#pragma once

/// The list of strategies: name, whether runs are bitwise reproducible, a one-line description.
/// src/host/make_solver.cpp turns each line of the host into a call of make_<name>, src/cuda/solve/make_solver.hpp each
/// of the device; `kokkos` is a preconditioner of its own. Device and Kokkos strategies are listed if the build has
/// them. A name may be in several lists: then the location of the matrix decides where it runs.

#define SYNCFREE_HOST_STRATEGIES(X)                                             \
  X(serial, true, "rows one after the other: the reference")                    \
  X(level_set, true, "all rows of a level at once, a barrier between levels")   \
  X(sync_free, false, "Liu et al. 2016 on threads: columns taken by ticket")    \
  X(blocks, true, "chunks of rows dealt out to threads, point-to-point waits")  \
  X(column_block, true, "the device's plan of that name, on one thread")        \
  X(row_block, true, "the device's plan of that name, on one thread")           \
  X(recursive_block, true, "the device's plan of that name, on one thread")     \
  X(merged, true, "levels merged by a plan for the device, on one thread")      \
  X(tiled, true, "the device's plan of that name, on one thread")             \
  X(loop, true, "the sequential loop, traced and run in parallel")

#ifdef SYNCFREE_HAVE_KOKKOS
#define SYNCFREE_KOKKOS_STRATEGIES(X) X(kokkos, true, "spiluk and sptrsv of Kokkos Kernels: a second opinion, slow")
#else
#define SYNCFREE_KOKKOS_STRATEGIES(X)
#endif

/// The device's strategies, whether this build has them or not.
#define SYNCFREE_ALL_CUDA_STRATEGIES(X)                                                            \
  X(level_order, true, "rows sorted by level, each number its own flag")                           \
  X(wavefront, true, "pencils of a grid, a lane each, that follow each other (KBA)")               \
  X(tiled, true, "a tile of rows a multiprocessor, solved in its shared memory")                   \
  X(merged, true, "levels merged into groups, each group solved as a level")                        \
  X(csc_sync_free, false, "Liu et al. 2016: a warp a column, sums added up as their parts come")   \
  X(csr_two_phase, true, "Su et al. 2020: a thread a row, rows of other warps first")              \
  X(csr_writing_first, true, "Su et al. 2020: a thread a row, written while others of a warp wait") \
  X(csc_level_order, false, "after Liu et al. 2016: columns sorted by level, lanes by length")      \
  X(csr_level_order, true, "after Su et al. 2020: rows sorted by level, lanes by granularity")     \
  X(level_set, true, "a kernel a level, in one graph")                                             \
  X(column_block, false, "Lu et al. 2020: triangles, each with all that is below it")              \
  X(row_block, false, "Lu et al. 2020: all that is left of a triangle, then the triangle")         \
  X(recursive_block, false, "Lu et al. 2020: halves with a square between, again and again")       \
  X(cusparse, false, "SpSV of cuSPARSE, the vendor's; SpSM for several columns")                    \
  X(loop, true, "the sequential loop, traced and run in parallel")

#ifdef SYNCFREE_HAVE_CUDA
#define SYNCFREE_CUDA_STRATEGIES(X) SYNCFREE_ALL_CUDA_STRATEGIES(X)
#else
#define SYNCFREE_CUDA_STRATEGIES(X)
#endif
