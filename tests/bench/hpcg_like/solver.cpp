/// Implements solver.hpp.

#include "solver.hpp"

#include <algorithm>
#include <cmath>

#include "../to_petsc.hpp"
#include "syncfree_petsc.h"

namespace bench::hpcg_like {
namespace {

constexpr const char* sell_on_device = "seqsellcuda";  // MATSEQSELLCUDA, which old PETSc versions lack

VecOwner like(Vec x)
{
  VecOwner y;
  ok(VecDuplicate(x, y.out()));
  return y;
}

/// Makes an AIJ matrix of `columns` columns where matrices are.
MatOwner make_matrix(const std::vector<PetscInt>& row_begin, const std::vector<PetscInt>& column,
                     const std::vector<PetscScalar>& value, std::int64_t columns)
{
  const auto rows = static_cast<PetscInt>(row_begin.size() - 1), all = static_cast<PetscInt>(columns);
  MatOwner B;
  ok(MatCreate(PETSC_COMM_SELF, B.out()));
  ok(MatSetSizes(B, rows, all, rows, all));
  ok(MatSetType(B, MATSEQAIJ));
  ok(MatSeqAIJSetPreallocationCSR(B, row_begin.data(), column.data(), value.data()));
  place(&B);
  return B;
}

/// Takes values at coarse points: a row for each of them.
MatOwner make_restriction(const Grid& g)
{
  std::vector<PetscInt> begin = {0}, column;
  for (const std::int64_t row : g.coarse_row) {
    column.push_back(static_cast<PetscInt>(row));
    begin.push_back(static_cast<PetscInt>(column.size()));
  }
  return make_matrix(begin, column, std::vector<PetscScalar>(column.size(), 1), g.A.n());
}

/// The transpose of the restriction. Most of its rows are empty, for which PETSc has compressed storage.
MatOwner make_prolongation(const Grid& g)
{
  std::vector<PetscInt> begin = {0}, column;
  for (std::int64_t row = 0; row < g.A.n(); ++row) {
    if (column.size() < g.coarse_row.size() && g.coarse_row[column.size()] == row)
      column.push_back(static_cast<PetscInt>(column.size()));
    begin.push_back(static_cast<PetscInt>(column.size()));
  }
  return make_matrix(begin, column, std::vector<PetscScalar>(column.size(), 1),
                     static_cast<std::int64_t>(g.coarse_row.size()));
}

/// Minus the rows of coarse points.
MatOwner make_restricted(const Grid& g)
{
  std::vector<PetscInt> begin = {0}, column;
  std::vector<PetscScalar> value;
  for (const std::int64_t row : g.coarse_row) {
    for (std::int64_t k = g.A.row_begin[row]; k < g.A.row_begin[row + 1]; ++k) {
      column.push_back(static_cast<PetscInt>(g.A.column[k]));
      value.push_back(-g.A.value[k]);
    }
    begin.push_back(static_cast<PetscInt>(column.size()));
  }
  return make_matrix(begin, column, value, g.A.n());
}

/// Makes a matrix of type SELL (sliced ELLPACK) where matrices are.
MatOwner make_sell(const Matrix& A)
{
  const auto n = static_cast<PetscInt>(A.n());
  std::vector<PetscInt> column;
  std::vector<PetscScalar> value;
  MatOwner B;
  ok(MatCreate(PETSC_COMM_SELF, B.out()));
  ok(MatSetSizes(B, n, n, n, n));
  ok(MatSetType(B, on_device ? sell_on_device : MATSEQSELL));
#if PETSC_VERSION_GE(3, 20, 0)
  if (!on_device) ok(MatSeqSELLSetSliceHeight(B, 8));  // PETSc with CUDA takes 16, too many for the CPU
#endif
  ok(MatSeqSELLSetPreallocation(B, 27, nullptr));
  for (PetscInt row = 0; row < n; ++row) {
    column.assign(A.column.begin() + A.row_begin[row], A.column.begin() + A.row_begin[row + 1]);
    value.assign(A.value.begin() + A.row_begin[row], A.value.begin() + A.row_begin[row + 1]);
    ok(MatSetValues(B, 1, &row, static_cast<PetscInt>(column.size()), column.data(), value.data(), INSERT_VALUES));
  }
  ok(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  ok(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  return B;
}

}  // namespace

Solver::Solver(const std::vector<Grid>& grids, const Variant& variant) : variant_(variant), levels_(grids.size())
{
  for (std::size_t k = 0; k < grids.size(); ++k) make_level(grids[k], &levels_[k]);
  if (variant.product == "sell") sell_ = make_sell(grids[0].A);
  product_ = sell_ ? sell_ : levels_[0].A;
  ok(MatCreateVecs(levels_[0].A, solution_.out(), nullptr));
  for (VecOwner* v : {&right_, &r_, &p_, &q_, &z_}) *v = like(solution_);
  const std::vector<double> b = right_hand_side(grids[0].A);
  PetscScalar* value;
  ok(VecGetArrayWrite(right_, &value));
  std::copy(b.begin(), b.end(), value);
  ok(VecRestoreArrayWrite(right_, &value));
}

void Solver::make_level(const Grid& grid, Level* level) const
{
  level->A = to_petsc(grid.A);
  place(&level->A);
  ok(MatSetFromOptions(level->A));
  ok(MatSetOption(level->A, MAT_USE_INODES, PETSC_FALSE));  // a grid of 2^3 points is one, but sweeps go row by row
  ok(MatCreateVecs(level->A, level->x.out(), level->b.out()));
  level->work = like(level->x);
  if (grid.coarse_row.empty()) return;
  level->restriction = make_restriction(grid);
  level->prolongation = make_prolongation(grid);
  if (!variant_.full_residual) level->restricted_A = make_restricted(grid);
}

double Solver::set_up()
{
  const double begin = now();
  for (Level& level : levels_) {
    ok(PCCreate(PETSC_COMM_SELF, level.sweeps.out()));
    ok(PCSetOptionsPrefix(level.sweeps, "bench_"));
    ok(PCSetOperators(level.sweeps, level.A, level.A));
    ok(PCSetType(level.sweeps, PCSYNCFREESOR));
    ok(PCSyncFreeSetStrategy(level.sweeps, variant_.strategy.c_str()));
    ok(PCSyncFreeSetThreads(level.sweeps, variant_.threads));
    ok(PCSetFromOptions(level.sweeps));
    ok(VecSet(level.b, 1.0));
    ok(PCApply(level.sweeps, level.b, level.x));
  }
  return now() - begin;
}

double Solver::dot(Vec x, Vec y)
{
  PetscScalar sum = 0;
  part(Part::dots, 0, [&] { ok(VecDot(x, y, &sum)); });
  return static_cast<double>(PetscRealPart(sum));
}

void Solver::restrict_residual(std::size_t level, Vec b, Vec x)
{
  const Level& fine = levels_[level];
  const Vec coarse = levels_[level + 1].b;
  if (variant_.full_residual) {
    ok(MatMult(fine.A, x, fine.work));
    ok(VecAYPX(fine.work, -1.0, b));
    ok(MatMult(fine.restriction, fine.work, coarse));
  } else {
    ok(MatMult(fine.restriction, b, coarse));
    ok(MatMultAdd(fine.restricted_A, x, coarse, coarse));
  }
}

void Solver::cycle(std::size_t level, Vec b, Vec x)
{
  const Level& here = levels_[level];
  part(Part::sweep_from_zero, level, [&] { ok(PCApply(here.sweeps, b, x)); });
  if (level + 1 == levels_.size()) return;
  const Level& coarse = levels_[level + 1];
  part(Part::restriction, level, [&] { restrict_residual(level, b, x); });
  cycle(level + 1, coarse.b, coarse.x);
  part(Part::prolongation, level, [&] { ok(MatMultAdd(here.prolongation, coarse.x, x, x)); });
  part(Part::sweep_from_guess, level, [&] {
    PetscInt done;
    PCRichardsonConvergedReason reason;
    ok(PCApplyRichardson(here.sweeps, b, x, here.work, 0, 0, 0, 1, PETSC_FALSE, &done, &reason));
  });
}

/// As HPCG's, but for two rearrangements: p = z + beta p is formed in the memory of z, which is not read again, and
/// norms come from dot products.
std::vector<double> Solver::solve()
{
  std::vector<double> norms;
  double last = 0;
  const auto multiply = [this](Vec x, Vec y) { part(Part::product, 0, [&] { ok(MatMult(product_, x, y)); }); };
  const auto update = [this](Vec y, double a, Vec x) {
    part(Part::updates, 0, [&] { ok(VecAXPY(y, static_cast<PetscScalar>(a), x)); });
  };
  ok(VecSet(solution_, 0.0));
  multiply(solution_, r_);
  part(Part::updates, 0, [&] { ok(VecAYPX(r_, -1.0, right_)); });
  norms.push_back(std::sqrt(dot(r_, r_)));
  for (int k = 0; k < iterations; ++k) {
    cycle(0, r_, z_);
    const double rz = dot(r_, z_);
    if (k > 0) update(z_, rz / last, p_);
    std::swap(p_, z_);
    multiply(p_, q_);
    const double alpha = rz / dot(p_, q_);
    update(solution_, alpha, p_);
    update(r_, -alpha, q_);
    norms.push_back(std::sqrt(dot(r_, r_)));
    last = rz;
  }
  return norms;
}

PartTimes Solver::time_parts()
{
  PartTimes times = {};
  times_ = &times;
  solve();
  times_ = nullptr;
  return times;
}

double Solver::true_residual()
{
  PetscReal norm;
  ok(MatMult(levels_[0].A, solution_, q_));
  ok(VecAYPX(q_, -1.0, right_));
  ok(VecNorm(q_, NORM_2, &norm));
  return static_cast<double>(norm);
}

double Solver::error()
{
  PetscReal largest;
  ok(VecSet(q_, -1.0));
  ok(VecAXPY(q_, 1.0, solution_));
  ok(VecNorm(q_, NORM_INFINITY, &largest));
  return static_cast<double>(largest);
}

double Solver::asymmetry()
{
  const VecOwner u = like(q_), v = like(q_);
  PetscReal size, norm;
  set_random(u);
  ok(MatMult(levels_[0].A, u, v));
  cycle(0, u, q_);
  cycle(0, v, z_);
  ok(VecNorm(u, NORM_2, &size));
  ok(VecNorm(z_, NORM_2, &norm));
  return std::abs(dot(v, q_) - dot(u, z_)) / static_cast<double>(size * norm);
}

std::string Solver::strategies() const
{
  std::string all;
  for (const Level& level : levels_) {
    const char *strategy, *backend;
    ok(PCSyncFreeGetRunningStrategy(level.sweeps, &strategy, &backend));
    all += (all.empty() ? "" : ", ") + std::string(strategy);
  }
  return all;
}

}  // namespace bench::hpcg_like
