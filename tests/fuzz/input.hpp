#pragma once

/// What the bytes of a fuzzer's input stand for: patterns, values, orders and options. Every byte string is an input;
/// where the bytes end, choices are 0 and values are pseudo-random.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "syncfree/factor.hpp"
#include "syncfree/options.hpp"
#include "syncfree/strategy.hpp"

namespace syncfree::fuzz {

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : next_(data), left_(size) {}

  int byte()
  {
    if (left_ == 0) return 0;
    --left_;
    return *next_++;
  }
  /// A choice in [0, count).
  int below(int count) { return byte() % count; }
  bool one_in(int count) { return below(count) == count - 1; }

  /// A byte of a value, which is not 0 for the whole rest of a matrix.
  int noise()
  {
    if (left_ > 0) return byte();
    seed_ = seed_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int>(seed_ >> 56);
  }

 private:
  const std::uint8_t* next_;
  std::size_t left_;
  std::uint64_t seed_ = 1;
};

/// A matrix whose arrays end where their last entry does, so that a read behind it is seen.
struct Matrix {
  int n = 0;
  std::vector<int> row_begin{0}, column;
  std::vector<double> value;
  bool dominant = false;  ///< the diagonal outweighs row and column

  PatternView<int> pattern() const { return {n, row_begin.data(), column.data()}; }
  CsrView<double, int> view() const { return {pattern(), value.data()}; }
  bool has_entry(int row, int col) const
  {
    return std::find(column.begin() + row_begin[row], column.begin() + row_begin[row + 1], col) !=
           column.begin() + row_begin[row + 1];
  }
};

using Entries = std::set<std::pair<int, int>>;

inline Matrix matrix_of(int n, const Entries& entries)
{
  Matrix A;
  A.n = n;
  A.row_begin.assign(static_cast<std::size_t>(n) + 1, 0);
  A.column.reserve(entries.size());
  for (const auto& [row, column] : entries) {
    ++A.row_begin[row + 1];
    A.column.push_back(column);
  }
  std::partial_sum(A.row_begin.begin(), A.row_begin.end(), A.row_begin.begin());
  return A;
}

inline Entries make_list(Bytes* in, int n)
{
  Entries entries;
  const bool symmetric = in->one_in(2);
  for (int left = in->byte(); left > 0; --left) {
    const int row = in->noise() % n, column = in->noise() % n;
    entries.emplace(row, column);
    if (symmetric) entries.emplace(column, row);
  }
  return entries;
}

/// The same diagonals in all rows, some of them of the places given.
inline Entries make_bands(Bytes* in, int n)
{
  Entries entries;
  for (int left = 1 + in->below(6); left > 0; --left) {
    const int distance = in->byte() % n - n / 2, every = 1 + in->below(4);
    for (int i = 0; i < n; ++i)
      if (i % every == 0 && i + distance >= 0 && i + distance < n) entries.emplace(i, i + distance);
  }
  return entries;
}

/// A star or box stencil on a grid of at most 80 points.
inline Entries make_grid(Bytes* in, int* n)
{
  const int x = 1 + in->below(9), y = 1 + in->below(80 / x > 9 ? 9 : 80 / x), z = 1 + in->below(80 / (x * y));
  const bool box = in->one_in(2);
  *n = x * y * z;
  Entries entries;
  for (int i = 0; i < *n; ++i)
    for (int d = 0; d < 27; ++d) {
      const int dx = d % 3 - 1, dy = d / 3 % 3 - 1, dz = d / 9 - 1;
      const int px = i % x + dx, py = i / x % y + dy, pz = i / (x * y) + dz;
      if (!box && std::abs(dx) + std::abs(dy) + std::abs(dz) > 1) continue;
      if (px >= 0 && px < x && py >= 0 && py < y && pz >= 0 && pz < z) entries.emplace(i, (pz * y + py) * x + px);
    }
  return entries;
}

/// A pattern with one flaw, which is the only reason to refuse it.
inline Matrix make_damaged_pattern(Bytes* in, int n)
{
  Entries entries = make_list(in, n);
  for (int i = 0; i < n; ++i) entries.emplace(i, i);
  Matrix A = matrix_of(n, entries);
  const int row = in->noise() % n, last = A.row_begin[row + 1] - 1;
  switch (in->noise() % 4) {
    case 0: A.column[last] = n + in->noise(); break;
    case 1: A.column[A.row_begin[row]] = -1 - in->noise(); break;
    case 2: A.column[last] = A.column[A.row_begin[row]]; break;
    default: A.row_begin[row] += 1 << (in->noise() % 31); break;
  }
  return A;
}

/// Offsets and columns of any values; there are as many columns as the last offset says.
inline Matrix make_unchecked_pattern(Bytes* in)
{
  const int first = in->byte();
  if (first >= 128) return make_damaged_pattern(in, first % 12 + 1);
  Matrix A;
  A.n = first % 12;
  std::vector<int> offsets{in->one_in(16) ? in->byte() - 128 : 0};
  for (int i = 0; i < A.n; ++i) {
    const int step = in->byte();
    const int length = std::min(step % 8, INT32_MAX - std::max(0, offsets.back()));
    offsets.push_back(step < 200 ? offsets.back() + length : step == 255 ? INT32_MAX - in->byte() : (step - 228) * 8);
  }
  const int last = offsets.back();
  if (last > 4096) offsets.back() = 4096;  // what is announced must be there
  A.column.resize(static_cast<std::size_t>(std::max(0, offsets.back())));
  for (int& column : A.column) {
    const int choice = in->noise();
    column = choice < 240 ? choice % (A.n + 2) - 1 : (choice - 248) * (1 << 28);
  }
  A.row_begin = std::vector<int>(offsets);
  return A;
}

/// Each entry becomes a dense block of `size` rows.
inline Entries expand(const Entries& entries, int size)
{
  Entries made;
  for (const auto& [row, column] : entries)
    for (int k = 0; k < size * size; ++k) made.emplace(row * size + k / size, column * size + k % size);
  return made;
}

/// Makes a pattern.
///   node_begin  [out] first rows of nodes, sometimes not those of the pattern; or empty
inline Matrix make_pattern(Bytes* in, std::vector<int>* node_begin)
{
  const int kind = in->below(5);
  node_begin->clear();
  if (kind == 4) return make_unchecked_pattern(in);
  int n = 1 + in->below(kind == 0 ? 9 : 40);
  Entries entries = kind == 2 ? make_grid(in, &n) : kind == 3 ? make_bands(in, n) : make_list(in, n);
  if (!in->one_in(8))
    for (int i = 0; i < n; ++i) entries.emplace(i, i);
  const int size = in->one_in(4) && n <= 30 ? 2 + in->below(2) : 1;
  if (size > 1) entries = expand(entries, size);
  for (int left = in->one_in(4) ? in->below(8) : 0; left > 0; --left) {
    const std::pair<int, int> place{in->byte() % (n * size), in->byte() % (n * size)};
    if (!entries.erase(place)) entries.insert(place);
  }
  if (in->one_in(4)) {
    const int step = in->one_in(4) ? in->byte() - 8 : size;
    for (int row = 0; row <= n * size && step > 0; row += step) node_begin->push_back(row);
    if (step <= 0) *node_begin = {0, step, n * size};
  }
  return matrix_of(n * size, entries);
}

/// True if the arrays are those of a pattern. Of those that are not, nothing behind an array is read.
inline bool is_valid(const Matrix& A)
{
  if (A.n > 0 && A.row_begin[0] != 0) return false;
  for (int i = 0; i < A.n; ++i)
    if (A.row_begin[i + 1] < A.row_begin[i]) return false;
  for (int i = 0; i < A.n; ++i)
    for (int k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k)
      if (A.column[k] < 0 || A.column[k] >= A.n || (k > A.row_begin[i] && A.column[k] <= A.column[k - 1])) return false;
  return true;
}

inline double make_wild_value(Bytes* in)
{
  static const double wild[] = {0, -0.0, 1, -1, 1e300, -1e300, 1e-300, 5e-324, 1e-14, 1e14, 1e-40, 1e39, INFINITY, NAN};
  const int choice = in->noise();
  if (choice < 128) return (choice - 64) / 16.0;
  if (choice < 240) return wild[choice % 14];
  std::uint64_t bits = 0;
  for (int k = 0; k < 8; ++k) bits = bits << 8 | static_cast<std::uint64_t>(in->noise());
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// Sets the values of a valid pattern: with a dominant diagonal, small, or any.
inline void make_values(Bytes* in, Matrix* A)
{
  const int mode = in->below(4);
  A->dominant = mode < 2;
  std::vector<double> value(A->column.size()), weight(static_cast<std::size_t>(A->n), 1);
  for (double& v : value) v = mode == 3 ? make_wild_value(in) : (in->noise() - 127.5) / 64;
  for (int i = 0; i < A->n; ++i)
    for (int k = A->row_begin[i]; k < A->row_begin[i + 1]; ++k)
      weight[i] += std::abs(value[k]), weight[A->column[k]] += std::abs(value[k]);
  for (int i = 0; i < A->n && A->dominant; ++i)
    for (int k = A->row_begin[i]; k < A->row_begin[i + 1]; ++k)
      if (A->column[k] == i) value[k] = std::copysign(weight[i], value[k]);
  A->value = std::move(value);
}

inline std::vector<double> make_vector(Bytes* in, std::size_t n, bool wild)
{
  std::vector<double> v(n);
  for (double& entry : v) entry = wild ? make_wild_value(in) : (in->noise() - 127.5) / 32;
  return v;
}

/// A permutation; sometimes an order that is none.
inline std::vector<int> make_order(Bytes* in, int n)
{
  std::vector<int> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  const bool reversed = in->one_in(4);
  if (reversed) std::reverse(order.begin(), order.end());
  for (int i = n - 1; i > 0 && !reversed; --i) std::swap(order[i], order[in->noise() % (i + 1)]);
  if (n > 0 && in->one_in(16)) order[in->byte() % n] = in->byte() - 16;
  return order;
}

inline SolverOptions make_options(Bytes* in)
{
  static const std::vector<std::string> names = [] {
    std::vector<std::string> made{"auto", "no_such_strategy"};
    for (const StrategyInfo& info : strategies())
      if (info.backend == std::string("host")) made.push_back(info.name);
    return made;
  }();
  SolverOptions options;
  options.strategy = names[in->below(static_cast<int>(names.size()))];
  const int threads = in->byte();
  options.threads = threads < 240 ? 1 : threads < 254 ? 2 : threads == 254 ? 0 : 100000;
  options.single_storage = in->one_in(8);
  const auto& tables = block_table_names();
  options.blocks.table = in->one_in(32) ? "no_such_table" : tables[in->below(static_cast<int>(tables.size()))];
  options.blocks.cut_rows = in->below(24);
  options.blocks.tile_rows = in->one_in(2) ? in->below(40) : 0;
  options.merge_fill = in->one_in(2) ? in->byte() / 16.0 : 4;
  options.expected_applies = in->one_in(4) ? in->byte() : 50;
  return options;
}

inline PivotRule make_rule(Bytes* in)
{
  static const Shift shifts[] = {Shift::none, Shift::nonzero, Shift::positive_definite, Shift::inblocks};
  static const double amounts[] = {2.220446049250313e-14, 0, 1e-3, 1, 1e-300, 1e10, -1, NAN};
  PivotRule rule;
  rule.shift = shifts[in->below(4)];
  rule.shift_amount = amounts[in->one_in(4) ? in->below(8) : 0];
  rule.zero_pivot = amounts[in->one_in(4) ? in->below(8) : 0];
  return rule;
}

/// Another pattern, mostly with as many entries; columns are in range, but not always ascending.
inline Matrix mutated(Bytes* in, Matrix A)
{
  const int entries = A.n > 0 ? static_cast<int>(A.column.size()) : 0;
  for (int left = in->noise() % 3; left >= 0 && entries > 0; --left) {
    const int at = in->noise() % entries, row = in->noise() % A.n;
    if (in->noise() % 2 == 0 && row > 0) {
      const int low = A.row_begin[row - 1], high = A.row_begin[row + 1];
      A.row_begin[row] = in->noise() % 2 == 0 ? low : low + in->noise() % (high - low + 1);
    } else {
      A.column[at] = in->noise() % A.n;
    }
  }
  if (in->noise() % 8 == 0 && entries > 1) {
    for (int& begin : A.row_begin) begin = std::min(begin, entries - 1);
    A.column = std::vector<int>(A.column.begin(), A.column.end() - 1);
    A.value = std::vector<double>(A.value.begin(), A.value.end() - 1);
  }
  return A;
}

}  // namespace syncfree::fuzz
