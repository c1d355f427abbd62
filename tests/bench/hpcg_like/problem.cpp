/// Implements problem.hpp.

#include "problem.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace bench::hpcg_like {
namespace {

Matrix make_operator(std::int64_t edge)
{
  Matrix A;
  const std::int64_t points = edge * edge * edge, pairs = 3 * edge - 2;  // neighbours on a line, with the point itself
  A.row_begin.reserve(static_cast<std::size_t>(points) + 1);
  A.column.reserve(static_cast<std::size_t>(pairs * pairs * pairs));
  A.value.reserve(static_cast<std::size_t>(pairs * pairs * pairs));
  const auto first = [](std::int64_t i) { return std::max<std::int64_t>(i - 1, 0); };
  const auto last = [edge](std::int64_t i) { return std::min(i + 1, edge - 1); };
  for (std::int64_t p = 0; p < points; ++p) {
    const std::int64_t x = p % edge, y = p / edge % edge, z = p / (edge * edge);
    for (std::int64_t k = first(z); k <= last(z); ++k)
      for (std::int64_t j = first(y); j <= last(y); ++j)
        for (std::int64_t i = first(x); i <= last(x); ++i) {
          const std::int64_t q = i + edge * (j + edge * k);
          A.column.push_back(q);
          A.value.push_back(q == p ? 26 : -1);
        }
    A.row_begin.push_back(A.nnz());
  }
  return A;
}

std::vector<std::int64_t> every_second_point(std::int64_t edge)
{
  std::vector<std::int64_t> row;
  for (std::int64_t k = 0; k < edge; k += 2)
    for (std::int64_t j = 0; j < edge; j += 2)
      for (std::int64_t i = 0; i < edge; i += 2) row.push_back(i + edge * (j + edge * k));
  return row;
}

}  // namespace

std::vector<Grid> make_grids(std::int64_t edge)
{
  constexpr std::int64_t coarsening = 1 << (levels - 1);
  if (edge % coarsening || edge < 2 * coarsening)
    throw std::runtime_error("-bench_hpcg_like or _check: " + std::to_string(edge) +
                             " is not a multiple of 8, at least 16");
  std::vector<Grid> grids;
  for (int level = 0; level < levels; ++level, edge /= 2) {
    Grid g;
    g.edge = edge;
    g.A = make_operator(edge);
    if (level + 1 < levels) g.coarse_row = every_second_point(edge);
    grids.push_back(std::move(g));
  }
  return grids;
}

std::vector<double> right_hand_side(const Matrix& A)
{
  std::vector<double> b;
  for (std::int64_t i = 0; i < A.n(); ++i) {
    const std::int64_t neighbours = A.row_begin[i + 1] - A.row_begin[i] - 1;
    b.push_back(26 - static_cast<double>(neighbours));
  }
  return b;
}

double count_flops(const std::vector<Grid>& grids)
{
  const auto n = static_cast<double>(grids[0].A.n()), nnz = static_cast<double>(grids[0].A.nnz());
  const double dots = (3 * iterations + 1) * 2 * n, updates = dots, products = (iterations + 1) * 2 * nnz;
  double cycle = 0;
  for (const Grid& g : grids) {
    const double product = 2 * static_cast<double>(g.A.nnz()), sweep = 2 * product;
    cycle += g.coarse_row.empty() ? sweep : sweep + product + sweep;
  }
  return dots + updates + products + iterations * cycle;
}

}  // namespace bench::hpcg_like
