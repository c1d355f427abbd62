#pragma once

/// Matrices from files.

#include <string>

#include "contender.hpp"

namespace bench {

/// Of a path: the name of the file, without its endings.
std::string name_of_file(const std::string& path);

/// The matrix in a file in PETSc's binary or Matrix Market format, also when it is packed by gzip; its symmetry is
/// known to it. Throws std::runtime_error with the reason if there is none.
///   most_unpacked  bytes that a packed file may have; 0: half of what is free where it goes, $TMPDIR or /tmp
MatOwner read_matrix(const std::string& path, double most_unpacked);

/// Why A cannot have an incomplete factor of this kind, whatever its numbers; empty if it can.
std::string unfit(Mat A, const std::string& kind);

}  // namespace bench
