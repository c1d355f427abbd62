#pragma once

/// Matrices from files.

#include <string>
#include <vector>

#include "contender.hpp"

namespace bench {

/// Returns the file name of a path, without its endings.
std::string name_of_file(const std::string& path);

/// Reads a matrix in PETSc's binary or Matrix Market format, also if packed by gzip, and sets its symmetry, from which
/// entries may differ by rounding. Throws std::runtime_error with the reason if there is none.
///   most_unpacked  largest number of bytes of an unpacked file; 0: half of the free space in $TMPDIR or /tmp
MatOwner read_matrix(const std::string& path, double most_unpacked);

/// Returns why A cannot have an incomplete factor of this kind, whatever its values; empty if it can.
std::string unfit(Mat A, const std::string& kind);

/// Returns the kinds for which A is fit; prints why others are left out.
std::vector<std::string> those_that_fit(Mat A, const std::string& name, const std::vector<std::string>& kinds);

}  // namespace bench
