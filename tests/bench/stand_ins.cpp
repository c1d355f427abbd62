/// Stand-ins for matrices measured by Liu et al. 2016 and Lu et al. 2020 that are too large to distribute: similar in
/// the properties that matter to a triangular solve, that is entries per row, levels, and the longest row.

#include <algorithm>
#include <utility>

#include "generate.hpp"

namespace bench {
namespace {

using Lower = std::vector<std::vector<std::int64_t>>;

/// Returns the nodes at most one away from p in each direction in a cube of edge m, including p.
std::vector<std::int64_t> cell_around(std::int64_t p, std::int64_t m)
{
  const std::int64_t x = p % m, y = p / m % m, z = p / (m * m);
  std::vector<std::int64_t> cell;
  for (std::int64_t c = std::max<std::int64_t>(z - 1, 0); c <= std::min(z + 1, m - 1); ++c)
    for (std::int64_t b = std::max<std::int64_t>(y - 1, 0); b <= std::min(y + 1, m - 1); ++b)
      for (std::int64_t a = std::max<std::int64_t>(x - 1, 0); a <= std::min(x + 1, m - 1); ++a)
        cell.push_back(a + m * (b + m * c));
  return cell;
}

}  // namespace

/// [D B; B^T D'] with diagonal D, D' and the 27-point pattern B.
Matrix make_kkt(std::int64_t rows)
{
  const std::int64_t m = edge((rows + 1) / 2, 3), half = m * m * m;
  Lower lower(2 * half);
  for (std::int64_t p = 0; p < half; ++p) lower[half + p] = cell_around(p, m);
  return from_lower(std::move(lower));
}

/// A square grid with 55 per cent of its edges: too few for a long path that never turns back.
Matrix make_road(std::int64_t rows)
{
  const std::int64_t m = edge(rows, 2);
  Lower lower(m * m);
  for (std::int64_t p = 0; p < m * m; ++p)
    for (const std::int64_t q : {p - m, p - 1})
      if (q >= 0 && (q == p - m || p % m) && random_of(p, q, 6) < 0.55) lower[p].push_back(q);
  return from_lower(std::move(lower));
}

/// Every row is coupled with one of 32 hubs, which are the last rows, and every other row also with one row anywhere
/// before it, so that paths grow as the logarithm of the rows.
Matrix make_hubs(std::int64_t rows)
{
  const std::int64_t hubs = std::min<std::int64_t>(32, rows / 2), others = rows - hubs;
  Lower lower(rows);
  for (std::int64_t i = 0; i < others; ++i) {
    const auto below = [&](std::int64_t bound, std::int64_t draw) {
      return static_cast<std::int64_t>(random_of(i, -draw, 7) * static_cast<double>(bound));
    };
    if (hubs > 0) lower[others + below(hubs, 1)].push_back(i);
    if (i % 2) lower[i].push_back(below(i, 2));
  }
  return from_lower(std::move(lower));
}

/// Nothing above the diagonal: so L is dense, but factoring it does not cost the rows cubed.
Matrix make_dense(std::int64_t rows)
{
  Matrix A;
  A.symmetric = false;
  for (std::int64_t i = 0; i < rows; ++i) {
    double sum = 0.05;
    for (std::int64_t j = 0; j < i; ++j) {
      A.column.push_back(j);
      A.value.push_back(-0.5 - random_of(i, j, 9));
      sum -= A.value.back();
    }
    A.column.push_back(i);
    A.value.push_back(1.02 * sum);
    A.row_begin.push_back(A.nnz());
  }
  return A;
}

Matrix make_beam(std::int64_t rows)
{
  constexpr std::int64_t thick = 9;
  return make_springs({thick, thick, (rows + 3 * thick * thick - 1) / (3 * thick * thick)});
}

/// Four draws per row in a band of 200; the middle and the last row are coupled with every row before them.
Matrix make_two_rows(std::int64_t rows)
{
  Lower lower(rows);
  for (std::int64_t i = 1; i < rows; ++i)
    if (i == rows / 2 || i == rows - 1) {
      for (std::int64_t j = 0; j < i; ++j) lower[i].push_back(j);
    } else {
      const auto width = static_cast<double>(std::min<std::int64_t>(i, 200));
      for (std::int64_t k = 0; k < 4; ++k)
        lower[i].push_back(i - 1 - static_cast<std::int64_t>(random_of(i, -1 - k, 8) * width));
    }
  return from_lower(std::move(lower));
}

}  // namespace bench
