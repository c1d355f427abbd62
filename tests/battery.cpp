/// Generators of the battery. A pattern depends on the entry's name only, values come from a hash of (seed, i, j), so a
/// refreshed matrix has the same pattern.

#include "battery.hpp"

#include <algorithm>
#include <complex>
#include <stdexcept>

#include "syncfree/scalar.hpp"

namespace syncfree {
namespace {

using Pattern = std::vector<std::vector<std::int64_t>>;  ///< columns of each row, any order

/// splitmix64: a hash of the key.
std::uint64_t mix(std::uint64_t key)
{
  key += 0x9e3779b97f4a7c15u;
  key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9u;
  key = (key ^ (key >> 27)) * 0x94d049bb133111ebu;
  return key ^ (key >> 31);
}

/// Returns a value in [0, 1).
double unit_random(std::uint64_t key) { return static_cast<double>(mix(key) >> 11) * 0x1p-53; }

template <class T> T random_scalar(std::uint64_t key)
{
  const auto part = [](std::uint64_t k) { return static_cast<real_t<T>>(2 * unit_random(k) - 1); };
  if constexpr (is_complex_v<T>) return {part(key), part(mix(key))};
  else return part(key);
}

template <class T> T entry_value(std::uint64_t seed, std::int64_t i, std::int64_t j)
{
  return random_scalar<T>(mix(mix(mix(seed) + static_cast<std::uint64_t>(i)) + static_cast<std::uint64_t>(j)));
}

Pattern diagonal_pattern(std::int64_t n)
{
  Pattern rows(n);
  for (std::int64_t i = 0; i < n; ++i) rows[i] = {i};
  return rows;
}

void add_symmetric(Pattern* rows, std::int64_t i, std::int64_t j)
{
  (*rows)[i].push_back(j);
  (*rows)[j].push_back(i);
}

/// Row i reads row i - 1, which makes as many levels as rows.
Pattern chain_pattern(std::int64_t n)
{
  Pattern rows = diagonal_pattern(n);
  for (std::int64_t i = 1; i < n; ++i) add_symmetric(&rows, i, i - 1);
  return rows;
}

Pattern dense_pattern(std::int64_t n)
{
  Pattern rows(n);
  for (auto& row : rows)
    for (std::int64_t j = 0; j < n; ++j) row.push_back(j);
  return rows;
}

/// First and last row full: one row of L and one of U read all others.
Pattern arrow_row_pattern(std::int64_t n)
{
  Pattern rows = diagonal_pattern(n);
  for (std::int64_t j = 1; j < n; ++j) rows[0].push_back(j);
  for (std::int64_t j = 0; j + 1 < n; ++j) rows[n - 1].push_back(j);
  return rows;
}

/// First and last column full: all rows of L read row 0 and all of U read row n - 1.
Pattern arrow_column_pattern(std::int64_t n)
{
  Pattern rows = diagonal_pattern(n);
  for (std::int64_t i = 1; i < n; ++i) rows[i].push_back(0);
  for (std::int64_t i = 0; i + 1 < n; ++i) rows[i].push_back(n - 1);
  return rows;
}

/// Makes a random pattern with about `degree` entries per row within `reach` of the diagonal.
Pattern random_pattern(std::int64_t n, int degree, std::int64_t reach)
{
  Pattern rows = diagonal_pattern(n);
  for (std::int64_t i = 0; i < n; ++i)
    for (int k = 0; k < degree; ++k) {
      const double u = unit_random(mix(static_cast<std::uint64_t>(i) * 64 + static_cast<std::uint64_t>(k)));
      const std::int64_t j = i - reach + static_cast<std::int64_t>(u * static_cast<double>(2 * reach + 1));
      if (j >= 0 && j < n) rows[i].push_back(j);
    }
  return rows;
}

/// A grid with lines of 317 rows plus random far links: waits cross thread blocks, wherever these are cut.
Pattern crossing_pattern(std::int64_t n)
{
  Pattern rows = diagonal_pattern(n);
  for (std::int64_t i = 0; i < n; ++i) {
    if (i % 317 != 0 && i % 3 == 0) add_symmetric(&rows, i, i - 1);
    if (i >= 317) add_symmetric(&rows, i, i - 317);
    if (i % 7 == 0) add_symmetric(&rows, i, static_cast<std::int64_t>(unit_random(i) * static_cast<double>(n)));
  }
  return rows;
}

/// A few rows with many entries, many with few, as in the graph of a network.
Pattern power_law_pattern(std::int64_t n)
{
  Pattern rows = diagonal_pattern(n);
  for (std::int64_t i = 1; i < n; ++i)
    for (int k = 0; k < 3; ++k) {
      const double u = unit_random(static_cast<std::uint64_t>(i) * 8 + static_cast<std::uint64_t>(k));
      const std::int64_t j = static_cast<std::int64_t>(static_cast<double>(i) * u * u * u);
      if (j < i) add_symmetric(&rows, i, j);
    }
  return rows;
}

/// Lower bidiagonal in the first half, upper in the second.
Pattern growth_pattern(std::int64_t n)
{
  Pattern rows = diagonal_pattern(n);
  for (std::int64_t i = 1; i < n / 2; ++i) rows[i].push_back(i - 1);
  for (std::int64_t i = n / 2; i + 1 < n; ++i) rows[i].push_back(i + 1);
  return rows;
}

Pattern grid_pattern(std::int64_t x, std::int64_t y, std::int64_t z)
{
  Pattern rows = diagonal_pattern(x * y * z);
  for (std::int64_t i = 0; i < x * y * z; ++i) {
    if (i % x != 0) add_symmetric(&rows, i, i - 1);
    if (i / x % y != 0) add_symmetric(&rows, i, i - x);
    if (i / (x * y) != 0) add_symmetric(&rows, i, i - x * y);
  }
  return rows;
}

/// Makes a grid of points with three unknowns each, every `odd`-th point with two, connected to all neighbours in a
/// box.
Pattern nodes_pattern(std::int64_t x, std::int64_t y, std::int64_t z, std::int64_t odd)
{
  std::vector<std::int64_t> first{0};
  for (std::int64_t p = 0; p < x * y * z; ++p) first.push_back(first.back() + (p % odd == odd - 1 ? 2 : 3));
  Pattern rows(first.back());
  for (std::int64_t p = 0; p < x * y * z; ++p)
    for (std::int64_t q = 0; q <= p; ++q) {
      const bool near = p % x - q % x <= 1 && q % x - p % x <= 1 && p / x % y - q / x % y <= 1 &&
                        q / x % y - p / x % y <= 1 && p / (x * y) - q / (x * y) <= 1;
      for (std::int64_t i = first[p]; near && i < first[p + 1]; ++i)
        for (std::int64_t j = first[q]; j < first[q + 1]; ++j) add_symmetric(&rows, i, j);
    }
  return rows;
}

void sort_rows(Pattern* rows)
{
  for (auto& row : *rows) {
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
  }
}

template <class T, class I> OwnedCsr<T, I> with_pattern(const Pattern& rows)
{
  OwnedCsr<T, I> A;
  A.n = static_cast<I>(rows.size());
  for (const auto& row : rows) {
    for (std::int64_t j : row) A.column.push_back(static_cast<I>(j));
    A.row_begin.push_back(static_cast<I>(A.column.size()));
  }
  A.value.resize(A.column.size());
  return A;
}

/// Sets off-diagonal (i, j) to value(i, j), and the diagonal to diagonal(i, sum of the row's magnitudes).
template <class T, class I, class Value, class Diagonal>
void set_values(OwnedCsr<T, I>* A, const Value& value, const Diagonal& diagonal)
{
  for (I i = 0; i < A->n; ++i) {
    real_t<T> sum = 0;
    for (I k = A->row_begin[i]; k < A->row_begin[i + 1]; ++k) {
      if (A->column[k] == i) continue;
      A->value[k] = value(i, A->column[k]);
      sum += std::abs(A->value[k]);
    }
    for (I k = A->row_begin[i]; k < A->row_begin[i + 1]; ++k)
      if (A->column[k] == i) A->value[k] = diagonal(i, sum);
  }
}

/// Sets random values, dominant by rows; the diagonal has any sign (or argument).
template <class T, class I> void set_dominant(OwnedCsr<T, I>* A, std::uint64_t seed)
{
  set_values(
      A, [=](I i, I j) { return entry_value<T>(seed, i, j); },
      [=](I i, real_t<T> sum) {
        const T direction = entry_value<T>(seed, i, i);
        const real_t<T> length = std::abs(direction);
        return length > 0 ? direction / length * (real_t<T>(1.5) * sum + real_t<T>(0.5)) : T(1);
      });
}

/// Sets multipliers of 2 (up to 2 % more for other seeds) in a bidiagonal matrix: |x| doubles from row to row.
template <class T, class I> void set_growth(OwnedCsr<T, I>* A, std::uint64_t seed)
{
  const T two = T(static_cast<real_t<T>>(2 + 0.01 * static_cast<double>(seed % 3)));
  set_values(A, [=](I, I) { return two; }, [](I, real_t<T>) { return T(1); });
}

/// Sets the values of a diffusion operator: symmetric, off-diagonals negative, every row diagonally dominant.
template <class T, class I> void set_diffusion(OwnedCsr<T, I>* A, std::uint64_t seed)
{
  const auto coefficient = [=](I i, I j) {
    const auto low = static_cast<std::uint64_t>(std::min(i, j)), high = static_cast<std::uint64_t>(std::max(i, j));
    return T(static_cast<real_t<T>>(-0.5 - unit_random(mix(mix(seed) + low) + high)));
  };
  set_values(A, coefficient, [](I, real_t<T> sum) { return T(sum * real_t<T>(1.001) + real_t<T>(0.001)); });
}

void remove_diagonal(Pattern* rows, std::int64_t i)
{
  auto& row = (*rows)[i];
  row.erase(std::remove(row.begin(), row.end(), i), row.end());
}

Pattern pattern_of(const std::string& name)
{
  if (name == "empty") return {};
  if (name == "one") return diagonal_pattern(1);
  if (name == "diagonal") return diagonal_pattern(100);
  if (name == "chain") return chain_pattern(1000);
  if (name == "dense65") return dense_pattern(65);
  if (name == "arrow_row") return arrow_row_pattern(700);
  if (name == "arrow_column") return arrow_column_pattern(700);
  if (name == "n_100000") return crossing_pattern(100000);
  if (name.rfind("n_", 0) == 0) return random_pattern(std::stoll(name.substr(2)), 4, 12);
  if (name == "poisson_ilu0") return grid_pattern(12, 11, 10);
  if (name == "random_wide") return random_pattern(2000, 5, 2000);
  if (name == "random_band") return random_pattern(1500, 10, 60);
  if (name == "nodes") return nodes_pattern(7, 5, 4, 6);
  if (name == "full_nodes") return nodes_pattern(5, 4, 6, 1000);
  if (name == "power_law") return power_law_pattern(2000);
  if (name == "growth") return growth_pattern(160);
  if (name == "growth_overflow") return growth_pattern(3000);
  if (name == "missing_diagonal" || name == "zero_pivot" || name == "unsorted") return random_pattern(200, 4, 20);
  throw std::invalid_argument("no battery matrix is called " + name);
}

}  // namespace

const std::vector<BatteryEntry>& battery()
{
  static const std::vector<BatteryEntry> list = {
      {"empty", "no rows at all"},
      {"one", "one row, nothing to wait for"},
      {"diagonal", "every row is free: one level"},
      {"chain", "as many levels as rows: no parallelism"},
      {"dense65", "full triangle, one row more than two warps or a word of bits"},
      {"arrow_row", "one row reads all others: work is as uneven as it can be"},
      {"arrow_column", "all rows read one: every waiter waits for the same row"},
      {"n_31", "one below a warp"},
      {"n_32", "a warp"},
      {"n_33", "one above a warp"},
      {"n_511", "one below a block of threads"},
      {"n_512", "a block of threads"},
      {"n_513", "one above a block of threads"},
      {"n_100000", "waits cross blocks, near and far"},
      {"poisson_ilu0", "the factor of a PDE: regular levels that grow and shrink"},
      {"random_wide", "reads anywhere: few levels, far waits"},
      {"random_band", "many entries near the diagonal: many levels"},
      {"nodes", "rows that read the same, two or three of them at each point of a mesh"},
      {"full_nodes", "three at each point of a grid, planes of which wait for the plane before only"},
      {"power_law", "a few very long rows and columns"},
      {"growth", "bidiagonal, multiplier 2: errors grow as fast as the solution"},
      {"growth_overflow", "the same until it overflows: infinities in the middle of a solve", true, true, true, false},
      {"missing_diagonal", "row 137 has no diagonal entry", true, false, false},
      {"zero_pivot", "row 137 has a pivot 0 and reads nobody", true, true, false},
      {"unsorted", "columns descend in row 137", false, true, false},
  };
  return list;
}

template <class T, class I> OwnedCsr<T, I> make_battery_matrix(const std::string& name, std::uint64_t seed)
{
  constexpr std::int64_t bad = 137;
  Pattern rows = pattern_of(name);
  if (name == "missing_diagonal") remove_diagonal(&rows, bad);
  sort_rows(&rows);
  if (name == "zero_pivot")
    rows[bad].erase(rows[bad].begin(), std::find(rows[bad].begin(), rows[bad].end(), bad));
  if (name == "unsorted") std::reverse(rows[bad].begin(), rows[bad].end());
  OwnedCsr<T, I> A = with_pattern<T, I>(rows);
  if (name.rfind("growth", 0) == 0) set_growth(&A, seed);
  else if (name == "poisson_ilu0") set_diffusion(&A, seed);
  else set_dominant(&A, seed);
  if (name == "zero_pivot") A.value[A.row_begin[bad]] = T(0);
  return A;
}

template <class T, class I> OwnedCsr<T, I> make_poisson(I x, I y, I z, std::uint64_t seed)
{
  Pattern rows = grid_pattern(x, y, z);
  sort_rows(&rows);
  OwnedCsr<T, I> A = with_pattern<T, I>(rows);
  set_diffusion(&A, seed);
  return A;
}

template <class T> std::vector<T> random_vector(std::size_t n, std::uint64_t seed)
{
  std::vector<T> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = random_scalar<T>(mix(seed) + i);
  return v;
}

#define INSTANTIATE(T, I)                                                                     \
  template OwnedCsr<T, I> make_battery_matrix<T, I>(const std::string&, std::uint64_t);       \
  template OwnedCsr<T, I> make_poisson<T, I>(I, I, I, std::uint64_t);
#define INSTANTIATE_SCALAR(T)       \
  INSTANTIATE(T, std::int32_t)      \
  INSTANTIATE(T, std::int64_t)      \
  template std::vector<T> random_vector<T>(std::size_t, std::uint64_t);
INSTANTIATE_SCALAR(float)
INSTANTIATE_SCALAR(double)
INSTANTIATE_SCALAR(std::complex<float>)
INSTANTIATE_SCALAR(std::complex<double>)

}  // namespace syncfree
