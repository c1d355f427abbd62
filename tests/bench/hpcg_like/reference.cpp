/// Implements reference.hpp: each step as its definition says, nothing fused, nothing left out.

#include "reference.hpp"

#include <cmath>

namespace bench::hpcg_like {
namespace {

using Vector = std::vector<double>;

Vector product(const Matrix& A, const Vector& x)
{
  Vector y;
  for (std::int64_t i = 0; i < A.n(); ++i) {
    double sum = 0;
    for (std::int64_t k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k) sum += A.value[k] * x[A.column[k]];
    y.push_back(sum);
  }
  return y;
}

double dot(const Vector& x, const Vector& y)
{
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

/// Computes y += a x.
void add(double a, const Vector& x, Vector* y)
{
  for (std::size_t i = 0; i < x.size(); ++i) (*y)[i] += a * x[i];
}

void relax_row(const Matrix& A, const Vector& b, std::int64_t i, Vector* x)
{
  double sum = b[i], diagonal = 0;
  for (std::int64_t k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k)
    if (A.column[k] == i) diagonal = A.value[k];
    else sum -= A.value[k] * (*x)[A.column[k]];
  (*x)[i] = sum / diagonal;
}

/// A symmetric Gauss-Seidel sweep: all rows forward, then all rows backward.
void sweep(const Matrix& A, const Vector& b, Vector* x)
{
  for (std::int64_t i = 0; i < A.n(); ++i) relax_row(A, b, i, x);
  for (std::int64_t i = A.n(); i-- > 0;) relax_row(A, b, i, x);
}

/// One cycle from zero.
Vector cycle(const std::vector<Grid>& grids, std::size_t level, const Vector& b)
{
  const Grid& g = grids[level];
  Vector x(b.size(), 0.0);
  sweep(g.A, b, &x);
  if (g.coarse_row.empty()) return x;
  Vector residual = b, coarse;
  add(-1, product(g.A, x), &residual);
  for (const std::int64_t row : g.coarse_row) coarse.push_back(residual[row]);
  const Vector correction = cycle(grids, level + 1, coarse);
  for (std::size_t c = 0; c < correction.size(); ++c) x[g.coarse_row[c]] += correction[c];
  sweep(g.A, b, &x);
  return x;
}

}  // namespace

std::vector<double> solve_by_reference(const std::vector<Grid>& grids)
{
  const Matrix& A = grids[0].A;
  Vector r = right_hand_side(A), x(r.size(), 0.0), p(r.size(), 0.0);
  std::vector<double> norms = {std::sqrt(dot(r, r))};
  double last = 1;
  for (int k = 0; k < iterations; ++k) {
    const Vector z = cycle(grids, 0, r);
    const double rz = dot(r, z), beta = k == 0 ? 0 : rz / last;
    for (std::size_t i = 0; i < p.size(); ++i) p[i] = z[i] + beta * p[i];
    const Vector q = product(A, p);
    const double alpha = rz / dot(p, q);
    add(alpha, p, &x);
    add(-alpha, q, &r);
    norms.push_back(std::sqrt(dot(r, r)));
    last = rz;
  }
  return norms;
}

}  // namespace bench::hpcg_like
