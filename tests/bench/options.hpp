#pragma once

/// What the command line says, and what stands in every row of a CSV file about the run.

#include <petscsys.h>

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

struct Options {
  std::string matrices, files, sizes = "100000", strategies, threads = "1,2", kinds = "ilu,icc", csv;
  std::string mat_type = "aij";
  std::string problems = "poisson,convection", pcs = "ilu,jacobi,gamg,syncfree_ilu";  ///< of whole solves
  std::string columns;   ///< numbers of right-hand sides together; empty: applications to one
  std::string symbolic;  ///< levels of fill of symbolic factorizations; empty: applications
  std::string commit, machine, note;
  PetscInt levels = 0, repetitions = 5, most_iterations = 3000;
  PetscReal time = 2, slow = 0, tolerance = 1e4 * PETSC_MACHINE_EPSILON, gamg_rows = 1e9;
  PetscReal unpacked = 0;  ///< bytes of a .gz file, 0: half of what is free
  PetscBool solves = PETSC_FALSE;
};

PetscErrorCode read_options(Options* options);

/// After read_options: throws std::runtime_error where an option begins with -bench_ and is not one of ours, nor one
/// that a PC or KSP may read later. The second function, at the end: where one is left that nothing has read.
void refuse_unknown_options();
void refuse_unread_options();

/// The parts of "a,b,c".
std::vector<std::string> split(const std::string& list);

/// At least one, or the option's name and the bad text in an exception.
std::vector<std::int64_t> numbers(const char option[], const std::string& list);

/// Of -bench_threads; on a device only the last, for plans are all that threads make there.
std::vector<std::int64_t> thread_counts(const Options& options);

/// The device's name, else the processor's; "unknown" where the system does not say.
std::string name_of_machine();

/// Text that may hold commas and quotes, as a field of a CSV file.
std::string csv_field(const std::string& text);

}  // namespace bench
