/// Implements triangles.hpp.

#include "triangles.hpp"

#include <algorithm>
#include <random>

#include "../generate.hpp"

namespace bench {
namespace {

/// Appends a row: columns sorted, each once.
void add_row(Rows* rows, std::vector<I>* columns)
{
  std::sort(columns->begin(), columns->end());
  columns->erase(std::unique(columns->begin(), columns->end()), columns->end());
  rows->column.insert(rows->column.end(), columns->begin(), columns->end());
  rows->begin.push_back(static_cast<I>(rows->column.size()));
}

Rows lower_part(const Matrix& A)
{
  Rows L;
  L.columns = static_cast<I>(A.n());
  for (I i = 0; i < static_cast<I>(A.n()); ++i) {
    for (std::int64_t k = A.row_begin[i]; k < A.row_begin[i + 1] && A.column[k] < i; ++k)
      L.column.push_back(static_cast<I>(A.column[k]));
    L.begin.push_back(static_cast<I>(L.column.size()));
  }
  set_values(&L);
  return L;
}

Named generated(const char* name, std::int64_t rows)
{
  return {std::string(name) + "_" + std::to_string(rows / 1000) + "k",
          [=] { return lower_part(find_generator(name)->make(rows)); }};
}

Named layered(I n, int entries, I levels)
{
  return {"layered_" + std::to_string(entries) + "_" + std::to_string(levels) + "_" + std::to_string(n / 1000) + "k",
          [=] { return make_layered(n, entries, levels); }};
}

}  // namespace

Rows make_layered(I n, int entries, I levels)
{
  std::mt19937_64 random(static_cast<std::uint64_t>(n) * 31 + static_cast<std::uint64_t>(entries * 7 + levels));
  const auto first_of = [&](I level) { return static_cast<I>(static_cast<std::int64_t>(n) * level / levels); };
  Rows L;
  L.columns = n;
  std::vector<I> columns;
  for (I level = 0; level < levels; ++level)
    for (I i = first_of(level); i < first_of(level + 1); ++i) {
      columns.clear();
      const I here = first_of(level), before = level ? first_of(level - 1) : 0;
      for (int e = 0; level > 0 && e < entries; ++e) {
        const I from = e == 0 ? before : 0;
        columns.push_back(from + static_cast<I>(random() % static_cast<std::uint64_t>(here - from)));
      }
      add_row(&L, &columns);
    }
  set_values(&L);
  return L;
}

Rows make_rectangle(I n, double entries, double empty, std::vector<I>* filled)
{
  std::mt19937_64 random(static_cast<std::uint64_t>(1000 * entries + 10 * empty));
  std::uniform_real_distribution<double> share(0, 1);
  const double in_row = entries / (1 - empty);
  Rows S;
  S.columns = n;
  std::vector<I> columns;
  for (I i = 0; i < n; ++i) {
    columns.clear();
    const bool has = share(random) >= empty;
    const int count = has ? std::max(1, static_cast<int>(in_row + share(random))) : 0;
    for (int e = 0; e < count; ++e)
      columns.push_back(static_cast<I>(random() % static_cast<std::uint64_t>(n)));
    if (count > 0) filled->push_back(i);
    add_row(&S, &columns);
  }
  set_values(&S);
  return S;
}

std::vector<Named> twenty_triangles()
{
  return {generated("7pt", 100000),      generated("7pt", 1000000),   generated("27pt", 100000),
          generated("27pt", 400000),     generated("5pt", 100000),    generated("5pt", 1000000),
          generated("9pt", 100000),      generated("9pt", 400000),    generated("elasticity", 100000),
          generated("banded", 100000),   generated("powerlaw", 100000), generated("powerlaw", 1000000),
          generated("mesh", 100000),     generated("mesh", 300000),   generated("chain", 100000),
          layered(500000, 3, 4),         layered(400000, 8, 16),      layered(1000000, 4, 8),
          layered(300000, 20, 32),       layered(1000000, 2, 64)};
}

void set_values(Rows* rows)
{
  rows->value.resize(rows->column.size());
  for (I i = 0; i < rows->n(); ++i) {
    const I count = rows->begin[i + 1] - rows->begin[i];
    for (I k = rows->begin[i]; k < rows->begin[i + 1]; ++k)
      rows->value[k] = (0.5 - random_of(i, rows->column[k], 3)) / std::max<I>(count, 1);
  }
}

std::vector<double> random_numbers(I n)
{
  std::vector<double> v(n);
  for (I i = 0; i < n; ++i) v[i] = 2 * random_of(i, i, 5) - 1;
  return v;
}

std::vector<double> solve_serially(const Rows& L, const std::vector<double>& b)
{
  std::vector<double> x = b;
  for (I i = 0; i < L.n(); ++i)
    for (I k = L.begin[i]; k < L.begin[i + 1]; ++k) x[i] -= L.value[k] * x[L.column[k]];
  return x;
}

}  // namespace bench
