#pragma once

/// The matrices of the benchmark, made from a size: always the same for the same name and size.
///
/// All are symmetric, so that ILU and ICC meet the same matrix, with every diagonal entry stored. Off the
/// diagonal the numbers are random; the diagonal exceeds the moduli of its row by two per cent, so that
/// incomplete factors exist (H-matrices) and are good for something. The mesh has its true numbers.

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

/// Square, CSR, columns ascending.
struct Matrix {
  int block = 1;  ///< unknowns a node: rows of a node share their pattern
  std::vector<std::int64_t> row_begin = {0}, column;
  std::vector<double> value;

  std::int64_t n() const { return static_cast<std::int64_t>(row_begin.size()) - 1; }
  std::int64_t nnz() const { return static_cast<std::int64_t>(column.size()); }
};

struct Generator {
  const char* name;                   ///< as in -bench_matrices
  const char* summary;                ///< one line for -help
  Matrix (*make)(std::int64_t rows);  ///< at least `rows` rows, and few more
};

const std::vector<Generator>& generators();

/// nullptr if no generator has that name.
const Generator* find_generator(const std::string& name);

/// In [0, 1), the same for (i, j) and (j, i) and in every run.
double random_of(std::int64_t i, std::int64_t j, std::uint64_t seed);

/// Finite elements on a tetrahedral mesh, see mesh.cpp.
Matrix make_mesh(std::int64_t rows);

}  // namespace bench
