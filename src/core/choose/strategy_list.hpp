#pragma once

/// The list of strategies: name, whether runs are bitwise reproducible, a one-line description.
/// src/host/make_solver.cpp turns each line of the host into a call of make_<name>, src/cuda/solve/make_solver.hpp each
/// of the device; `kokkos` is a preconditioner of its own. Device and Kokkos strategies are listed if the build has
/// them. A name may be in several lists: then the location of the matrix decides where it runs.

#define SYNCFREE_HOST_STRATEGIES(X)                                                   \
  X(serial, true, "rows one after the other: the reference")                          \
  X(level_set, true, "all rows of a level at once, with a barrier between levels")    \
  X(sync_free, false, "Liu et al. 2016 on threads: columns taken by ticket")          \
  X(blocks, true, "chunks of rows distributed to threads, with point-to-point waits") \
  X(column_block, true, "the device's plan of that name, on one thread")              \
  X(row_block, true, "the device's plan of that name, on one thread")                 \
  X(recursive_block, true, "the device's plan of that name, on one thread")           \
  X(merged, true, "levels merged by a plan for the device, on one thread")            \
  X(tiled, true, "the device's plan of that name, on one thread")                     \
  X(loop, true, "the sequential loop, traced and run in parallel")

#ifdef SYNCFREE_HAVE_KOKKOS
#define SYNCFREE_KOKKOS_STRATEGIES(X) X(kokkos, true, "spiluk and sptrsv of Kokkos Kernels, for comparison")
#else
#define SYNCFREE_KOKKOS_STRATEGIES(X)
#endif

/// The device's strategies, whether this build has them or not.
#define SYNCFREE_ALL_CUDA_STRATEGIES(X)                                                          \
  X(level_order, true, "rows sorted by level, a value is its own flag")                          \
  X(wavefront, true, "pencils of a grid, one lane each, as a pipeline (KBA)")                    \
  X(tiled, true, "a tile of rows per multiprocessor, solved in shared memory")                   \
  X(merged, true, "levels merged into groups, each group solved as a level")                     \
  X(csc_sync_free, false, "Liu et al. 2016: a warp per column, adds to sums of later rows")      \
  X(csr_two_phase, true, "Su et al. 2020: a thread per row, operands of earlier warps first")    \
  X(csr_writing_first, true, "Su et al. 2020: a thread per row, stored as soon as it is ready")  \
  X(csc_level_order, false, "after Liu et al. 2016: columns sorted by level, lanes by length")   \
  X(csr_level_order, true, "after Su et al. 2020: rows sorted by level, lanes by granularity")   \
  X(level_set, true, "a kernel per level, in one CUDA graph")                                    \
  X(column_block, false, "Lu et al. 2020: each triangle, then all entries below it")             \
  X(row_block, false, "Lu et al. 2020: all entries left of a triangle, then the triangle")       \
  X(recursive_block, false, "Lu et al. 2020: two halves and a square between them, recursively") \
  X(cusparse, false, "SpSV of cuSPARSE; SpSM for several columns")                               \
  X(loop, true, "the sequential loop, traced and run in parallel")

#ifdef SYNCFREE_HAVE_CUDA
#define SYNCFREE_CUDA_STRATEGIES(X) SYNCFREE_ALL_CUDA_STRATEGIES(X)
#else
#define SYNCFREE_CUDA_STRATEGIES(X)
#endif
