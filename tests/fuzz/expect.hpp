#pragma once

/// What must hold whatever the bytes are. A failure ends the process, by which the fuzzer knows it.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "input.hpp"
#include "syncfree/status.hpp"

namespace syncfree::fuzz {

inline void require(bool holds, const std::string& what)
{
  if (holds) return;
  std::fprintf(stderr, "required, but does not hold: %s\n", what.c_str());
  std::abort();
}

/// A failure has a sentence.
inline void require_words(const Status& status)
{
  require(status.ok() || !status.message().empty(), "an error has a message");
}

inline bool same_bits(const double* a, const double* b, std::size_t count)
{
  return count == 0 || std::memcmp(a, b, count * sizeof(double)) == 0;
}

template <class Vector> bool same_bits(const Vector& a, const Vector& b)
{
  return a.size() == b.size() && same_bits(a.data(), b.data(), a.size());
}

/// True if neither overflow nor underflow can spoil a bound of rounding errors.
template <class Vector> bool is_tame(const Vector& values)
{
  return std::all_of(values.begin(), values.end(), [](double v) {
    return v == 0 || (std::abs(v) > 1e-60 && std::abs(v) < 1e60);  // false for a NaN
  });
}

using Wide = long double;

/// A factor L U with its diagonals, by rows.
struct Factor {
  struct Entry {
    int column;
    Wide value;
  };
  std::vector<std::vector<Entry>> lower, upper;
  bool tame;

  Factor(const FactorPattern<int>& p, const FactorValues<double>& v)
      : lower(static_cast<std::size_t>(p.n)), upper(lower.size()),
        tame(is_tame(v.lower) && is_tame(v.upper) && is_tame(v.inverse_pivot))
  {
    for (int i = 0; i < p.n; ++i) {
      for (int k = p.lower_begin[i]; k < p.lower_begin[i + 1]; ++k) lower[i].push_back({p.lower_column[k], v.lower[k]});
      lower[i].push_back({i, 1});
      upper[i].push_back({i, 1 / static_cast<Wide>(v.inverse_pivot[i])});
      for (int k = p.upper_begin[i]; k < p.upper_begin[i + 1]; ++k) upper[i].push_back({p.upper_column[k], v.upper[k]});
      tame = tame && v.inverse_pivot[i] != 0;
    }
  }
};

/// A sum and the sum of the sizes of its terms.
struct Sum {
  Wide value = 0, size = 0;
};

/// y = T x or T^T x.
inline std::vector<Sum> product(const std::vector<std::vector<Factor::Entry>>& T, bool transposed,
                                const std::vector<Sum>& x)
{
  std::vector<Sum> y(x.size());
  for (std::size_t i = 0; i < T.size(); ++i)
    for (const auto& [j, t] : T[i]) {
      const std::size_t to = transposed ? static_cast<std::size_t>(j) : i, from = transposed ? i : j;
      y[to].value += t * x[from].value;
      y[to].size += std::abs(t) * x[from].size;
    }
  return y;
}

/// Requires L U x = b, or (L U)^T x = b, to rounding; x and b in the order of the factor.
///   by_norm  only relative to the largest row
inline void require_solution(const Factor& F, bool transposed, const std::vector<double>& b,
                             const std::vector<double>& x, bool by_norm)
{
  std::vector<Sum> y;
  for (const double v : x) y.push_back({v, std::abs(static_cast<Wide>(v))});
  y = product(transposed ? F.lower : F.upper, transposed, y);
  y = product(transposed ? F.upper : F.lower, transposed, y);
  Wide largest = 0;
  for (const Sum& s : y) largest = std::max(largest, s.size);
  const Wide g = (by_norm ? 1e4 : 8) * static_cast<Wide>(x.size() + 8) * 1.2e-16L;
  for (std::size_t i = 0; i < x.size(); ++i)
    require(std::abs(y[i].value - b[i]) <= g * (by_norm ? largest : y[i].size) + 1e-100L,
            "L U x = b to rounding, in row " + std::to_string(i));
}

/// Requires (L U)_ij = a_ij to rounding wherever the factor has an entry; for IC in the upper triangle.
///   place  row and column order of the factor
inline void require_factor(const Factor& F, const FactorPattern<int>& p, const Matrix& A, double rounding)
{
  const std::size_t n = F.lower.size();
  std::vector<Sum> row(n);
  std::vector<Wide> a(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::fill(row.begin(), row.end(), Sum());
    std::fill(a.begin(), a.end(), 0);
    for (const auto& [k, l] : F.lower[i])
      for (const auto& [j, u] : F.upper[k]) row[j].value += l * u, row[j].size += std::abs(l * u);
    const int from = p.natural() ? static_cast<int>(i) : p.row_order[i];
    for (int k = A.row_begin[from]; k < A.row_begin[from + 1]; ++k)
      a[p.natural() ? A.column[k] : p.column_place[A.column[k]]] = A.value[k];
    const auto compare = [&](int j) {
      require(std::abs(row[j].value - a[j]) <= rounding * static_cast<Wide>(n + 8) * (row[j].size + std::abs(a[j])),
              "(L U)(i, j) = a(i, j) to rounding, in row " + std::to_string(i) + ", column " + std::to_string(j));
    };
    for (const auto& [j, u] : F.upper[i]) compare(j);
    if (p.kind == Kind::ilu)
      for (const auto& [j, l] : F.lower[i]) compare(j);
  }
}

}  // namespace syncfree::fuzz
