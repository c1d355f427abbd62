#pragma once

/// The options of the command line, and the fields about the run in every row of a CSV file.

#include <petscsys.h>

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

struct Options {
  std::string matrices, files, sizes = "100000", strategies, threads = "1,2", kinds = "ilu,icc", csv;
  std::string mat_type = "aij";
  std::string problems = "poisson,convection", pcs = "ilu,jacobi,gamg,syncfree_ilu";  ///< for complete solves
  std::string columns;   ///< numbers of right-hand sides together; empty: applications to one
  std::string orderings;  ///< orderings whose iterations are counted; empty: applications
  std::string symbolic;  ///< levels of fill of symbolic factorizations; empty: applications
  std::string hpcg_like, hpcg_like_check = "32", hpcg_like_product = "aij";  ///< edges of grids; empty: applications
  std::string commit, machine, note;
  PetscInt levels = 0, repetitions = 5, most_iterations = 3000;
  PetscReal time = 2, slow = 0, tolerance = 1e4 * PETSC_MACHINE_EPSILON, gamg_rows = 1e9;
  PetscReal unpacked = 0;  ///< bytes of an unpacked .gz file, 0: half of the free space
  PetscBool solves = PETSC_FALSE, hpcg_like_full_residual = PETSC_FALSE;
};

PetscErrorCode read_options(Options* options);

/// refuse_unknown_options(), after read_options: throws std::runtime_error if an option begins with -bench_ and is
/// neither one of ours nor one that a PC or KSP may read later; the message lists ours. refuse_unread_options(), at the
/// end: throws if an option was never read.
void refuse_unknown_options();
void refuse_unread_options();

/// Splits "a,b,c" into its parts.
std::vector<std::string> split(const std::string& list);

/// Parses at least one number; throws an exception with the option's name and the bad text.
std::vector<std::int64_t> numbers(const char option[], const std::string& list);

/// Returns the thread counts of -bench_threads; on a device only the last, as threads only make plans there.
std::vector<std::int64_t> thread_counts(const Options& options);

/// Returns the device's name, else the processor's; "unknown" if the system does not report it.
std::string name_of_machine();

/// Converts text that may contain commas and quotes to a field of a CSV file.
std::string csv_field(const std::string& text);

}  // namespace bench
