/// Stencils on grids, solids, bands and graphs. A generator lists the edges of a graph; values and diagonal come from
/// common functions.

#include "generate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace bench {
namespace {

/// splitmix64: one step makes unrelated values of consecutive ones.
std::uint64_t mix(std::uint64_t z)
{
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

using Offset = std::array<std::int64_t, 3>;

/// Sets the diagonal to slightly more than the sum of the moduli of the rest of the row.
void dominate(Matrix* A)
{
  for (std::int64_t i = 0; i < A->n(); ++i) {
    double sum = 0.05;
    std::int64_t diagonal = -1;
    for (std::int64_t k = A->row_begin[i]; k < A->row_begin[i + 1]; ++k)
      if (A->column[k] == i) diagonal = k;
      else sum += std::abs(A->value[k]);
    A->value[diagonal] = 1.02 * sum;
  }
}

void end_row(Matrix* A) { A->row_begin.push_back(A->nnz()); }

/// Couples nodes with the neighbours at `offsets` (ascending, including zero), with `block` unknowns per node.
template <class Value>
Matrix grid(Offset size, const std::vector<Offset>& offsets, int block, Value value_of)
{
  Matrix A;
  A.block = block;
  const std::int64_t nodes = size[0] * size[1] * size[2];
  for (std::int64_t p = 0; p < nodes; ++p) {
    const Offset here = {p % size[0], p / size[0] % size[1], p / (size[0] * size[1])};
    for (int r = 0; r < block; ++r) {
      for (const Offset& o : offsets) {
        const auto inside = [&](int d) { return here[d] + o[d] >= 0 && here[d] + o[d] < size[d]; };
        if (!inside(0) || !inside(1) || !inside(2)) continue;
        const std::int64_t q = p + o[0] + size[0] * (o[1] + size[1] * o[2]);
        for (int c = 0; c < block; ++c) {
          A.column.push_back(q * block + c);
          A.value.push_back(value_of(p, q, o, r, c));
        }
      }
      end_row(&A);
    }
  }
  dominate(&A);
  return A;
}

/// Lists offsets of at most one in each direction, of which at most `reach` are not zero.
std::vector<Offset> neighbours(int dimensions, int reach)
{
  std::vector<Offset> all;
  const std::int64_t depth = dimensions == 3;
  for (std::int64_t z = -depth; z <= depth; ++z)
    for (std::int64_t y = -1; y <= 1; ++y)
      for (std::int64_t x = -1; x <= 1; ++x)
        if (x * x + y * y + z * z <= reach) all.push_back({x, y, z});
  return all;
}

double negative(std::int64_t p, std::int64_t q, const Offset&, int, int) { return -0.5 - random_of(p, q, 1); }

Matrix stencil(std::int64_t rows, int dimensions, int reach)
{
  const std::int64_t m = edge(rows, dimensions);
  return grid({m, m, dimensions == 3 ? m : 1}, neighbours(dimensions, reach), 1, negative);
}

bool is_prime(std::int64_t m)
{
  for (std::int64_t d = 2; d * d <= m; ++d)
    if (m % d == 0) return false;
  return m > 1;
}

std::int64_t prime_behind(std::int64_t m)
{
  while (!is_prime(++m));
  return m;
}

/// Returns prime edges of a box that is not a cube: 131, 127 and 113 for 1,879,981 rows.
Offset edges_of_primes(std::int64_t rows)
{
  for (std::int64_t m = edge(rows, 3);; ++m) {
    const std::int64_t y = prime_behind(m), x = prime_behind(y);
    std::int64_t z = std::max<std::int64_t>(2, 11 * m / 12);
    while (!is_prime(z)) --z;
    if (x * y * z >= rows) return {x, y, z};
  }
}

Matrix make_7pt_primes(std::int64_t rows) { return grid(edges_of_primes(rows), neighbours(3, 1), 1, negative); }
Matrix make_27pt_primes(std::int64_t rows) { return grid(edges_of_primes(rows), neighbours(3, 3), 1, negative); }

/// Reverse Cuthill-McKee order, but for the order of neighbours: breadth first from the first row, and then reversed.
Matrix in_rcm_order(const Matrix& A)
{
  std::vector<std::int64_t> order = {0}, place(static_cast<std::size_t>(A.n()), -1);
  place[0] = 0;
  for (std::size_t next = 0; next < order.size(); ++next)
    for (std::int64_t k = A.row_begin[order[next]]; k < A.row_begin[order[next] + 1]; ++k) {
      const std::int64_t other = A.column[k];
      if (place[other] < 0) order.push_back(other);
      place[other] = 0;
    }
  std::reverse(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<std::int64_t>(i);
  Matrix B;
  B.block = A.block, B.symmetric = A.symmetric;
  for (const std::int64_t row : order) {
    std::vector<std::pair<std::int64_t, double>> entries;
    for (std::int64_t k = A.row_begin[row]; k < A.row_begin[row + 1]; ++k)
      entries.emplace_back(place[A.column[k]], A.value[k]);
    std::sort(entries.begin(), entries.end());
    for (const auto& [column, value] : entries) B.column.push_back(column), B.value.push_back(value);
    end_row(&B);
  }
  return B;
}

Matrix make_7pt(std::int64_t rows) { return stencil(rows, 3, 1); }
Matrix make_27pt(std::int64_t rows) { return stencil(rows, 3, 3); }
Matrix make_5pt(std::int64_t rows) { return stencil(rows, 2, 1); }
Matrix make_9pt(std::int64_t rows) { return stencil(rows, 2, 2); }
Matrix make_7pt_rcm(std::int64_t rows) { return in_rcm_order(make_7pt(rows)); }
Matrix make_5pt_rcm(std::int64_t rows) { return in_rcm_order(make_5pt(rows)); }

Matrix make_elasticity(std::int64_t rows)
{
  const std::int64_t m = edge((rows + 2) / 3, 3);
  return make_springs({m, m, m});
}

/// Several unknowns a point, each of which depends on all of the point and of its neighbours.
template <int unknowns> Matrix make_species(std::int64_t rows)
{
  const std::int64_t m = edge((rows + unknowns - 1) / unknowns, 3);
  return grid({m, m, m}, neighbours(3, 1), unknowns, [](std::int64_t p, std::int64_t q, const Offset&, int r, int c) {
    const double reaction = 0.4 * (random_of(unknowns * p + r, unknowns * q + c, 6) - 0.5);
    return r == c && p != q ? reaction - 0.5 - random_of(p, q, 6) : reaction;
  });
}

/// Draws `draws` entries per row from the `reach` rows before it.
Matrix band(std::int64_t rows, std::int64_t reach, std::int64_t draws)
{
  std::vector<std::vector<std::int64_t>> lower(rows);
  for (std::int64_t i = 1; i < rows; ++i)
    for (std::int64_t k = 0; k < draws; ++k) {
      const std::int64_t width = std::min(i, reach);
      lower[i].push_back(i - 1 - static_cast<std::int64_t>(random_of(i, -1 - k, 4) * static_cast<double>(width)));
    }
  return from_lower(std::move(lower));
}

Matrix make_banded(std::int64_t rows) { return band(rows, 2000, 20); }
Matrix make_narrow_band(std::int64_t rows) { return band(rows, 300, 30); }

Matrix make_chain(std::int64_t rows)
{
  std::vector<std::vector<std::int64_t>> lower(rows);
  for (std::int64_t i = 1; i < rows; ++i) lower[i].push_back(i - 1);
  return from_lower(std::move(lower));
}

/// Row r, counted from the end, has min(5000, 0.3 mean (1 - u)^-0.6) neighbours floor(r u^3) after it, so the hubs are
/// the last rows: fill-reducing orders put them there, and hubs at the beginning would make a factorization quadratic.
Matrix make_powerlaw(std::int64_t rows)
{
  constexpr double mean = 8;
  std::vector<std::vector<std::int64_t>> lower(rows);
  for (std::int64_t r = 1; r < rows; ++r) {
    const double length = std::min(5000.0, 0.3 * mean * std::pow(1.0 - random_of(r, -1, 5), -0.6));
    for (std::int64_t k = 0; k < static_cast<std::int64_t>(length); ++k) {
      const double u = random_of(r, -2 - k, 5);
      const auto hub = static_cast<std::int64_t>(static_cast<double>(r) * u * u * u);
      lower[rows - 1 - hub].push_back(rows - 1 - r);
    }
  }
  return from_lower(std::move(lower));
}

/// Waves of `length` rows in turn. A row has 32 draws from the rows of earlier waves: one from the previous wave, which
/// fixes the levels, the others from that wave or the last 256 rows. So all matrices have about as many entries per
/// row, and with 2000 to 3000 rows as few zeros as the matrices of Somo 2025.
template <std::int64_t length>
Matrix make_waves(std::int64_t rows)
{
  std::vector<std::vector<std::int64_t>> lower((rows + length - 1) / length * length);
  for (std::size_t row = length; row < lower.size(); ++row) {
    const auto i = static_cast<std::int64_t>(row), earlier = i - i % length;
    for (std::int64_t k = 0; k < 32; ++k) {
      const std::int64_t width = k == 0 ? length : std::min(earlier, std::max<std::int64_t>(length, 256));
      const auto back = static_cast<std::int64_t>(random_of(i, -1 - k, 10) * static_cast<double>(width));
      lower[row].push_back(earlier - 1 - back);
    }
  }
  return from_lower(std::move(lower));
}

}  // namespace

double random_of(std::int64_t i, std::int64_t j, std::uint64_t seed)
{
  const auto low = static_cast<std::uint64_t>(std::min(i, j)), high = static_cast<std::uint64_t>(std::max(i, j));
  return static_cast<double>(mix(mix(mix(seed) ^ low) ^ high) >> 11) * 0x1p-53;
}

std::int64_t edge(std::int64_t nodes, int dimensions)
{
  std::int64_t m = 1;
  while ((dimensions == 3 ? m * m * m : m * m) < nodes) ++m;
  return m;
}

/// Stiff along a spring and soft across: the block of two nodes at direction d is -k (d d^T + I / 5).
Matrix make_springs(const Offset& size)
{
  return grid(size, neighbours(3, 3), 3, [](std::int64_t p, std::int64_t q, const Offset& o, int r, int c) {
    if (p == q) return r == c ? 0.0 : 0.2 * (random_of(3 * p + r, 3 * p + c, 2) - 0.5);
    const double length = static_cast<double>(o[0] * o[0] + o[1] * o[1] + o[2] * o[2]);
    const double along = static_cast<double>(o[r] * o[c]) / length;
    return -(0.5 + random_of(p, q, 2)) * (along + (r == c ? 0.2 : 0.0));
  });
}

Matrix from_lower(std::vector<std::vector<std::int64_t>> lower)
{
  const auto n = static_cast<std::int64_t>(lower.size());
  std::vector<std::vector<std::int64_t>> upper(lower.size());
  for (std::int64_t i = 0; i < n; ++i) {
    auto& row = lower[i];
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    for (const std::int64_t j : row) upper[j].push_back(i);
  }
  Matrix A;
  for (std::int64_t i = 0; i < n; ++i) {
    for (const std::int64_t j : lower[i]) A.column.push_back(j);
    A.column.push_back(i);
    for (const std::int64_t j : upper[i]) A.column.push_back(j);
    for (std::int64_t k = A.row_begin[i]; k < A.nnz(); ++k) A.value.push_back(-0.5 - random_of(i, A.column[k], 3));
    end_row(&A);
  }
  dominate(&A);
  return A;
}

const std::vector<Generator>& generators()
{
  static const std::vector<Generator> all = {
      {"7pt", "7-point stencil on a cube", make_7pt, true},
      {"27pt", "27-point stencil on a cube", make_27pt, true},
      {"5pt", "5-point stencil on a square", make_5pt, true},
      {"9pt", "9-point stencil on a square", make_9pt, true},
      {"elasticity", "27-point stencil, three unknowns a node", make_elasticity, true},
      {"species", "7-point stencil, five unknowns a point, which react with each other", make_species<5>, false},
      {"species2", "the same, two unknowns a point", make_species<2>, false},
      {"species3", "the same, three unknowns a point", make_species<3>, false},
      {"species4", "the same, four unknowns a point", make_species<4>, false},
      {"species6", "the same, six unknowns a point", make_species<6>, false},
      {"species7", "the same, seven unknowns a point", make_species<7>, false},
      {"banded", "20 random neighbours before each row, at most 2000 away", make_banded, true},
      {"powerlaw", "graph with power-law degrees, hubs last", make_powerlaw, true},
      {"mesh", "finite elements on a tetrahedral mesh of random points, RCM order", make_mesh, true},
      {"chain", "tridiagonal: every row waits for the one before", make_chain, true},
      {"7pt_rcm", "7-point stencil on a cube, RCM order", make_7pt_rcm, false},
      {"5pt_rcm", "5-point stencil on a square, RCM order", make_5pt_rcm, false},
      {"7pt_primes", "7-point stencil on a box whose edges are primes", make_7pt_primes, false},
      {"27pt_primes", "27-point stencil on such a box", make_27pt_primes, false},
      {"narrow_band", "30 random neighbours before each row, at most 300 away", make_narrow_band, false},
      {"mesh_on_curve", "mesh, rows along a space-filling curve", make_mesh_on_curve, false},
      {"mesh_at_random", "mesh, rows in random order", make_mesh_at_random, false},
      {"tets_jumps", "finite elements on split cells, RCM order: diffusion with jumps", make_tets_jumps, false},
      {"tets_convection", "the same mesh, convection much stronger than diffusion", make_tets_convection, false},
      {"tets_elasticity", "the same mesh, elasticity, three unknowns a node", make_tets_elasticity, false},
      {"tets_elasticity_at_random", "elasticity, nodes in random order", make_tets_elasticity_at_random, false},
      {"kkt", "two levels: a diagonal block, then constraints on it (nlpkkt)", make_kkt, false},
      {"road", "planar, 3.2 entries a row (road_usa)", make_road, false},
      {"hubs", "32 rows that meet all others, short paths (mawi, wiki-Talk)", make_hubs, false},
      {"dense", "every entry on and below the diagonal (Dense)", make_dense, false},
      {"beam", "springs in a beam 9 nodes thick, three unknowns a node (Cantilever)", make_beam, false},
      {"two_rows", "two rows that meet all rows before them, else a band (FullChip)", make_two_rows, false},
      {"waves1", "32 entries a row before it, wavefronts of 1 row (for Somo 2025)", make_waves<1>, false},
      {"waves8", "the same, wavefronts of 8 rows", make_waves<8>, false},
      {"waves64", "the same, wavefronts of 64 rows", make_waves<64>, false},
      {"waves512", "the same, wavefronts of 512 rows", make_waves<512>, false},
      {"waves4096", "the same, wavefronts of 4096 rows", make_waves<4096>, false},
  };
  return all;
}

const Generator* find_generator(const std::string& name)
{
  for (const Generator& g : generators())
    if (name == g.name) return &g;
  return nullptr;
}

}  // namespace bench
