#pragma once

/// The matrices of the benchmark, generated from a size: always the same for the same name and size.
///
/// All but `dense` and `tets_convection` are symmetric, so that ILU and ICC get the same matrix, with every diagonal
/// entry stored. Off the diagonal the values are random; the diagonal exceeds the sum of the moduli of its row by two
/// per cent, so that incomplete factors exist (H-matrices) and are useful. The meshes have their true values.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace bench {

/// Square, CSR, columns ascending.
struct Matrix {
  int block = 1;          ///< unknowns per node: rows of a node share their pattern
  bool symmetric = true;  ///< true if the matrix is symmetric
  std::vector<std::int64_t> row_begin = {0}, column;
  std::vector<double> value;

  std::int64_t n() const { return static_cast<std::int64_t>(row_begin.size()) - 1; }
  std::int64_t nnz() const { return static_cast<std::int64_t>(column.size()); }
};

struct Generator {
  const char* name;                   ///< as in -bench_matrices
  const char* summary;                ///< one line for -help
  Matrix (*make)(std::int64_t rows);  ///< at least `rows` rows, and few more
  bool by_default;                    ///< used if no matrices are named; not the stand-ins for those of papers
};

const std::vector<Generator>& generators();

/// Returns nullptr if no generator has that name.
const Generator* find_generator(const std::string& name);

/// Returns a value in [0, 1), the same for (i, j) and (j, i) and in every run.
double random_of(std::int64_t i, std::int64_t j, std::uint64_t seed);

/// Returns the edge of the square or cube with at least `nodes` nodes.
std::int64_t edge(std::int64_t nodes, int dimensions);

/// Makes a symmetric matrix from the neighbours of every row among the rows before it, which may repeat; random values.
Matrix from_lower(std::vector<std::vector<std::int64_t>> lower);

/// Makes a lattice of springs on a grid of nodes, x fastest, three unknowns per node; size = nodes in x, y, z.
Matrix make_springs(const std::array<std::int64_t, 3>& size);

/// Finite elements on a tetrahedral mesh, see mesh.cpp.
Matrix make_mesh(std::int64_t rows);
Matrix make_mesh_on_curve(std::int64_t rows);
Matrix make_mesh_at_random(std::int64_t rows);
Matrix make_tets_jumps(std::int64_t rows);
Matrix make_tets_convection(std::int64_t rows);
Matrix make_tets_elasticity(std::int64_t rows);
Matrix make_tets_elasticity_at_random(std::int64_t rows);

/// Stand-ins for matrices of the papers that are too large to distribute, see stand_ins.cpp.
Matrix make_kkt(std::int64_t rows);
Matrix make_road(std::int64_t rows);
Matrix make_hubs(std::int64_t rows);
Matrix make_dense(std::int64_t rows);
Matrix make_beam(std::int64_t rows);
Matrix make_two_rows(std::int64_t rows);

}  // namespace bench
