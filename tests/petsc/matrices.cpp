/* Implements matrices.hpp. */

#include "matrices.hpp"

#include <map>

void Entries::add(PetscInt i, PetscInt j, PetscScalar v)
{
  for (auto& entry : row_[(std::size_t)i]) {
    if (entry.first != j) continue;
    entry.second += v;
    return;
  }
  row_[(std::size_t)i].emplace_back(j, v);
}

MatOwner Entries::matrix(PetscInt block_size) const
{
  MatOwner A;
  std::vector<PetscInt> length;
  for (const auto& row : row_) length.push_back((PetscInt)row.size());
  ok(MatCreate(PETSC_COMM_SELF, A.out()));
  ok(MatSetSizes(A, n_, n_, n_, n_));
  ok(MatSetBlockSize(A, block_size));
  ok(MatSetType(A, MATSEQAIJ));
  ok(MatSeqAIJSetPreallocation(A, 0, length.data()));
  for (PetscInt i = 0; i < n_; ++i)
    for (const auto& entry : row_[(std::size_t)i]) ok(MatSetValue(A, i, entry.first, entry.second, INSERT_VALUES));
  ok(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  ok(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  return A;
}

MatOwner poisson_2d(PetscInt nx, PetscInt ny, PetscScalar shift)
{
  Entries A(nx * ny);
  for (PetscInt y = 0; y < ny; ++y)
    for (PetscInt x = 0; x < nx; ++x) {
      const PetscInt i = y * nx + x;
      A.add(i, i, PetscScalar(4.0) + shift);
      if (x > 0) A.add(i, i - 1, -1.0);
      if (x < nx - 1) A.add(i, i + 1, -1.0);
      if (y > 0) A.add(i, i - nx, -1.0);
      if (y < ny - 1) A.add(i, i + nx, -1.0);
    }
  return A.matrix();
}

MatOwner poisson_3d(PetscInt nx, PetscInt ny, PetscInt nz)
{
  Entries A(nx * ny * nz);
  for (PetscInt z = 0; z < nz; ++z)
    for (PetscInt y = 0; y < ny; ++y)
      for (PetscInt x = 0; x < nx; ++x) {
        const PetscInt i = (z * ny + y) * nx + x;
        A.add(i, i, 6.0);
        if (x > 0) A.add(i, i - 1, -1.0);
        if (x < nx - 1) A.add(i, i + 1, -1.0);
        if (y > 0) A.add(i, i - nx, -1.0);
        if (y < ny - 1) A.add(i, i + nx, -1.0);
        if (z > 0) A.add(i, i - nx * ny, -1.0);
        if (z < nz - 1) A.add(i, i + nx * ny, -1.0);
      }
  return A.matrix();
}

MatOwner random_matrix(PetscInt n, PetscInt per_row, double dominance, bool symmetric, unsigned long long seed)
{
  Random random(seed);
  std::map<std::pair<PetscInt, PetscInt>, PetscScalar> off;
  for (PetscInt i = 0; i < n; ++i)
    for (PetscInt k = 0; k < per_row; ++k) {
      const PetscInt j = random.integer(n);
      if (i == j) continue;
      off[{i, j}] = random.scalar();
      if (symmetric) off[{j, i}] = off[{i, j}];
    }
  Entries A(n);
  std::vector<double> sum((std::size_t)n, 0.0);
  for (const auto& entry : off) {
    A.add(entry.first.first, entry.first.second, entry.second);
    sum[(std::size_t)entry.first.first] += magnitude(entry.second);
  }
  for (PetscInt i = 0; i < n; ++i)
    A.add(i, i, dominance > 0 ? PetscScalar(dominance * (sum[(std::size_t)i] + 0.1)) : random.scalar());
  return A.matrix();
}

/* Each pair of neighbours p, q adds B_pq = G^T G to the diagonal blocks and -B_pq to the two others. */
MatOwner elasticity_like(PetscInt nx, PetscInt ny, PetscInt nz, PetscInt block)
{
  Random random(7);
  const PetscInt n = nx * ny * nz;
  Entries A(n * block);
  const auto couple = [&](PetscInt p, PetscInt q) {
    Numbers G((std::size_t)(block * block));
    for (auto& g : G) g = PetscRealPart(random.scalar());
    for (PetscInt r = 0; r < block; ++r)
      for (PetscInt c = 0; c < block; ++c) {
        PetscScalar b = r == c ? 0.5 : 0.0;
        for (PetscInt k = 0; k < block; ++k) b += G[(std::size_t)(k * block + r)] * G[(std::size_t)(k * block + c)];
        A.add(p * block + r, p * block + c, b);
        A.add(q * block + r, q * block + c, b);
        A.add(p * block + r, q * block + c, -b);
        A.add(q * block + r, p * block + c, -b);
      }
  };
  for (PetscInt p = 0; p < n; ++p) {
    const PetscInt x = p % nx, y = p / nx % ny, z = p / (nx * ny);
    for (PetscInt r = 0; r < block; ++r)
      for (PetscInt c = 0; c < block; ++c) A.add(p * block + r, p * block + c, r == c ? 0.3 : 0.0);
    if (x < nx - 1) couple(p, p + 1);
    if (y < ny - 1) couple(p, p + nx);
    if (z < nz - 1) couple(p, p + nx * ny);
  }
  return A.matrix(block);
}

void new_values(Mat A, unsigned long long seed)
{
  const PetscInt* row_begin;
  PetscScalar* value;
  Random random(seed);
  ok(MatSeqAIJGetCSRAndMemType(A, &row_begin, nullptr, nullptr, nullptr));
  ok(MatSeqAIJGetArray(A, &value));
  for (PetscInt k = 0; k < row_begin[rows(A)]; ++k) value[k] *= PetscReal(1.0 + 0.05 * random.uniform());
  ok(MatSeqAIJRestoreArray(A, &value));
}

namespace {

MatOwner empty() { return Entries(0).matrix(); }

MatOwner one()
{
  Entries A(1);
  A.add(0, 0, -2.5);
  return A.matrix();
}

MatOwner diagonal()
{
  Entries A(9);
  for (PetscInt i = 0; i < 9; ++i) A.add(i, i, 1.0 + i);
  return A.matrix();
}

MatOwner grid_2d() { return poisson_2d(12, 9); }
MatOwner grid_3d() { return poisson_3d(5, 4, 5); }
MatOwner random_dominant() { return random_matrix(70, 4, 1.1, false, 1); }
MatOwner random_wild() { return random_matrix(70, 4, 0.0, false, 2); }
MatOwner random_symmetric() { return random_matrix(60, 3, 1.05, true, 3); }
MatOwner random_indefinite() { return random_matrix(60, 3, 0.0, true, 4); }
MatOwner elasticity() { return elasticity_like(3, 3, 3, 3); }
MatOwner nodes_of_five() { return elasticity_like(3, 2, 2, 5); }

/* Recirculating wind, upwind differences, on an nx x nx grid. */
MatOwner convection()
{
  const PetscInt nx = 11;
  const double h = 1.0 / (nx + 1), viscosity = 0.02;
  Entries A(nx * nx);
  for (PetscInt y = 0; y < nx; ++y)
    for (PetscInt x = 0; x < nx; ++x) {
      const PetscInt i = y * nx + x;
      const double s = (x + 1) * h, t = (y + 1) * h;
      const double u = 4 * s * (s - 1) * (1 - 2 * t), v = -4 * t * (t - 1) * (1 - 2 * s);
      const double west = -viscosity - h * PetscMax(u, 0), east = -viscosity + h * PetscMin(u, 0);
      const double south = -viscosity - h * PetscMax(v, 0), north = -viscosity + h * PetscMin(v, 0);
      A.add(i, i, -(west + east + south + north));
      if (x > 0) A.add(i, i - 1, west);
      if (x < nx - 1) A.add(i, i + 1, east);
      if (y > 0) A.add(i, i - nx, south);
      if (y < nx - 1) A.add(i, i + nx, north);
    }
  return A.matrix();
}

MatOwner arrow(PetscInt n, PetscInt head)
{
  Random random(11);
  Entries A(n);
  for (PetscInt i = 0; i < n; ++i) {
    A.add(i, i, i == head ? PetscScalar(n) : PetscScalar(2.0));
    if (i == head) continue;
    const PetscScalar v = random.scalar();
    A.add(i, head, v);
    A.add(head, i, v);
  }
  return A.matrix();
}

MatOwner arrow_first() { return arrow(40, 0); }
MatOwner arrow_last() { return arrow(40, 39); }

/* Nodes of 1, 2, 3, 4, 5, 6 rows with equal patterns, not symmetric: PETSc factors nodes together. */
MatOwner mixed_nodes()
{
  Random random(5);
  std::vector<PetscInt> begin = {0};
  for (PetscInt k = 0; k < 18; ++k) begin.push_back(begin.back() + 1 + k % 6);
  const PetscInt nodes = (PetscInt)begin.size() - 1;
  Entries A(begin.back());
  const auto block = [&](PetscInt p, PetscInt q) {
    for (PetscInt i = begin[(std::size_t)p]; i < begin[(std::size_t)p + 1]; ++i)
      for (PetscInt j = begin[(std::size_t)q]; j < begin[(std::size_t)q + 1]; ++j)
        A.add(i, j, i == j ? PetscScalar(9.0) : random.scalar());
  };
  for (PetscInt p = 0; p < nodes; ++p) {
    block(p, p);
    block(p, (p + 5) % nodes);
    block(p, (p * 7 + 3) % nodes == p ? (p + 1) % nodes : (p * 7 + 3) % nodes);
  }
  return A.matrix();
}

/* Laplacian minus a multiple of the identity inside its spectrum. */
MatOwner shifted_laplacian() { return poisson_2d(9, 8, -2.6); }

/* Pure Neumann problem: row sums zero, so the last pivot of a complete factorization is zero. */
MatOwner neumann()
{
  const PetscInt n = 30;
  Entries A(n);
  for (PetscInt i = 0; i < n; ++i)
    for (PetscInt j : {i - 1, i + 1})
      if (j >= 0 && j < n) {
        A.add(i, i, 1.0);
        A.add(i, j, -1.0);
      }
  return A.matrix();
}

/* [K B^T; B 0] with the zeros stored. */
MatOwner saddle_point()
{
  const PetscInt n = 24, m = 8;
  Entries A(n + m);
  for (PetscInt i = 0; i < n; ++i) {
    A.add(i, i, 3.0);
    if (i > 0) A.add(i, i - 1, -1.0);
    if (i < n - 1) A.add(i, i + 1, -1.0);
  }
  for (PetscInt k = 0; k < m; ++k) {
    A.add(n + k, n + k, 0.0);
    for (PetscInt i = 3 * k; i < 3 * k + 3; ++i) {
      A.add(n + k, i, 0.5);
      A.add(i, n + k, 0.5);
    }
  }
  return A.matrix();
}

/* The first diagonal value is zero, so that no elimination repairs it. */
MatOwner zero_first()
{
  Entries A(12);
  for (PetscInt i = 0; i < 12; ++i) {
    A.add(i, i, i == 0 ? 0.0 : 4.0);
    if (i > 0) A.add(i, i - 1, -1.0);
    if (i < 11) A.add(i, i + 1, -1.0);
  }
  return A.matrix();
}

/* Row 4 is zero on the diagonal and no other row reads it: exactly one pivot fails. */
MatOwner lonely_zero()
{
  Entries A(8);
  for (PetscInt i = 0; i < 8; ++i) A.add(i, i, i == 4 ? 0.0 : 2.0);
  A.add(4, 6, 1.0);
  A.add(7, 1, -1.0);
  return A.matrix();
}

}  // namespace

const std::vector<Sample>& samples()
{
  static const std::vector<Sample> all = {
      {"empty", "n = 0, a rank without rows", true, false, empty},
      {"one", "n = 1", true, false, one},
      {"diagonal", "nobody waits", true, true, diagonal},
      {"grid_2d", "5-point stencil", true, true, grid_2d},
      {"grid_3d", "7-point stencil", true, true, grid_3d},
      {"convection", "upwind, recirculating, not symmetric", false, false, convection},
      {"random_dominant", "pattern not symmetric", false, false, random_dominant},
      {"random_wild", "small pivots, large factors", false, false, random_wild},
      {"random_symmetric", "irregular rows, positive definite", true, true, random_symmetric},
      {"random_indefinite", "pivots of both signs", true, false, random_indefinite},
      {"elasticity", "nodes of three rows, which PETSc factors together", true, true, elasticity},
      {"nodes_of_five", "nodes longer than PETSc's longest, four", true, true, nodes_of_five},
      {"mixed_nodes", "nodes of one to six rows, not symmetric", false, false, mixed_nodes},
      {"arrow_first", "level 1 fills everything", true, true, arrow_first},
      {"arrow_last", "one row waits for all", true, true, arrow_last},
      {"shifted_laplacian", "indefinite: pivots pass through zero", true, false, shifted_laplacian},
      {"neumann", "singular: the last pivot is zero", true, false, neumann},
      {"saddle_point", "zero diagonal values that elimination repairs", true, false, saddle_point},
      {"zero_first", "a zero diagonal value that nothing repairs", true, false, zero_first},
      {"lonely_zero", "one failing pivot that no other row reads", false, false, lonely_zero},
  };
  return all;
}

const Sample& sample(const std::string& name)
{
  for (const auto& s : samples())
    if (name == s.name) return s;
  throw std::runtime_error("no sample is called " + name);
}
