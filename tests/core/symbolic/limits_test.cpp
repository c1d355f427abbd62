/// Limits of the symbolic factorization: more entries than the index type can count, and long rows, where a poor order
/// of insertion takes minutes instead of milliseconds.

#include <gtest/gtest.h>

#include <ctime>

#include "core/support/instantiate.hpp"
#include "core/support/parallel.hpp"
#include "core/patterns.hpp"
#include "syncfree/factor.hpp"
#include "watchdog.hpp"

namespace syncfree {
/// Required by the source below; no test makes an order with such indices.
template <>
Status make_ordering<std::int16_t>(PatternView<std::int16_t>, const OrderingOptions&, int, Ordering<std::int16_t>*)
{
  return failed(Code::invalid_argument, "16-bit indices");
}
}  // namespace syncfree

/// The library's source a second time, in a namespace of its own, for 16-bit indices: a factor with 2^31 entries is too
/// large for a test.
namespace narrow {
using namespace syncfree;
}
#define syncfree narrow
#include "core/symbolic/symbolic.cpp"
#undef syncfree

namespace syncfree {
namespace {

/// Processor time, which does not include other programs on the same cores.
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Row 0 and column 0 full: level 1 fills the whole matrix.
template <class I> OwnedPattern<I> arrow(I n)
{
  return random_pattern<I>(0, n, 0, [](I, I) { return false; }, [](I i, I j) { return i == j || !i || !j; });
}

/// 255 * 256 / 2 = 32640 entries per triangle fit 16-bit offsets, 256 * 257 / 2 = 32896 do not.
TEST(SymbolicLimits, tell_when_the_factor_outgrows_its_indices)
{
  using I = std::int16_t;
  for (const auto& [kind, levels] : {std::pair{Kind::ilu, 1}, {Kind::icc, 1}, {Kind::ilu, 50}, {Kind::icc, 50}})
    for (I n : {I(256), I(257)}) {
      const OwnedPattern<I> A = arrow<I>(n);
      SymbolicOptions<I> options;
      options.kind = kind;
      options.levels = levels;
      FactorPattern<I> made;
      const Status status = narrow::make_factor_pattern(A.view(), options, &made, 1);
      if (n == 256) {
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(made.upper_begin.back(), 32640);
        continue;
      }
      EXPECT_EQ(status.code, Code::invalid_argument);
      EXPECT_NE(status.detail.find("16-bit"), std::string::npos) << status.detail;
      EXPECT_TRUE(made.upper_begin.empty());
    }
}

/// Blocks of `size` rows: the first column has entries in rows [a, size) and the first row in columns [1, b).
template <class I> OwnedPattern<I> arrows(I blocks, I size, I a, I b)
{
  std::vector<std::vector<I>> rows(blocks * size);
  for (I i = 0; i < blocks * size; ++i) {
    const I first = i / size * size;
    if (i - first >= a) rows[i].push_back(first);
    rows[i].push_back(i);
    for (I j = 1; i == first && j < b; ++j) rows[i].push_back(first + j);
  }
  return pattern_of(rows);
}

/// Each part of the rows can be counted, the sum cannot: 16 full blocks of 64 rows have 32256 entries per triangle, 17
/// have 34272. With 17 blocks and 2025 + 45 entries below the diagonal only L is too large; the search must fail
/// although U fits.
TEST(SymbolicLimits, tell_when_parts_of_the_factor_outgrow_indices_together)
{
  using I = std::int16_t;
  SymbolicOptions<I> options;
  options.levels = 1;
  for (const int threads : {1, 3}) {
    FactorPattern<I> made, none;
    ASSERT_TRUE(narrow::make_factor_pattern(arrows<I>(16, 64, 1, 64).view(), options, &made, threads).ok());
    EXPECT_EQ(made.lower_begin.back(), 32256);
    for (const auto& A : {arrows<I>(17, 64, 1, 64), arrows<I>(17, 91, 46, 46)}) {
      const Status status = narrow::make_factor_pattern(A.view(), options, &none, threads);
      EXPECT_NE(status.detail.find("16-bit"), std::string::npos) << status.detail;
      EXPECT_TRUE(none.upper_begin.empty());
    }
  }
}

/// Three parts of rows have too many entries; the fourth ends with two rows that lack their diagonals. The order in
/// which threads find these must not matter.
TEST(SymbolicLimits, too_many_entries_come_before_missing_diagonals_on_any_threads)
{
  using I = std::int16_t;
  OwnedPattern<I> A = arrows<I>(25, 64, 1, 64);
  for (int added = 0; added < 2; ++added) {
    A.column.push_back(A.n++);
    A.row_begin.push_back(static_cast<I>(A.column.size()));
  }
  std::vector<I> rows(A.n);
  std::iota(rows.begin(), rows.end(), I(0));
  std::vector<I> columns = rows;
  std::swap(columns[A.n - 1], columns[A.n - 2]);
  for (const int levels : {1, 50})
    for (const int threads : {1, 2, 3, 8}) {
      SymbolicOptions<I> options;
      options.levels = levels;
      options.row_order = rows.data();
      options.column_order = columns.data();
      FactorPattern<I> none;
      const Status status = narrow::make_factor_pattern(A.view(), options, &none, threads);
      EXPECT_EQ(status.code, Code::invalid_argument) << status.message();
      EXPECT_NE(status.detail.find("16-bit"), std::string::npos) << status.detail;
    }
}

/// A tridiagonal matrix has no fill at any level. Searches would take 1000 steps for each of 10^6 rows, minutes.
TEST(SymbolicLimits, a_high_level_costs_nothing_where_nothing_is_filled)
{
  using I = std::int32_t;
  constexpr I n = 1000000;
  std::vector<std::vector<I>> rows(n);
  for (I i = 0; i < n; ++i) {
    if (i > 0) rows[i].push_back(i - 1);
    rows[i].push_back(i);
    if (i + 1 < n) rows[i].push_back(i + 1);
  }
  const OwnedPattern<I> A = pattern_of(rows);
  SymbolicOptions<I> options;
  options.levels = 1000;
  for (const Kind kind : {Kind::ilu, Kind::icc}) {
    options.kind = kind;
    FactorPattern<I> made;
    const double start = processor_seconds();
    ASSERT_TRUE(syncfree::make_factor_pattern(A.view(), options, &made).ok());
    const double seconds = processor_seconds() - start;
    EXPECT_EQ(made.upper_begin.back(), n - 1);
    EXPECT_LT(seconds, 10);
  }
}

/// One row of 200,000 entries in random order. A linear search for each entry would take 10^10 steps; sorting takes
/// milliseconds, so ten seconds suffice also on a slow machine under sanitizers.
TEST(SymbolicLimits, a_full_row_in_random_order_is_no_trouble)
{
  using I = std::int32_t;
  constexpr I n = 200000;
  std::vector<std::vector<I>> rows(n);
  for (I i = 0; i + 1 < n; ++i) rows[i] = {i};
  rows[n - 1].resize(n);
  std::iota(rows[n - 1].begin(), rows[n - 1].end(), I(0));
  const OwnedPattern<I> A = pattern_of(rows);
  const std::vector<I> order = random_order<I>(1, n);
  for (Kind kind : {Kind::ilu, Kind::icc}) {
    SymbolicOptions<I> options;
    options.kind = kind;
    options.row_order = options.column_order = order.data();
    FactorPattern<I> made;
    const double start = processor_seconds();
    ASSERT_TRUE(syncfree::make_factor_pattern(A.view(), options, &made).ok());
    const double seconds = processor_seconds() - start;
    EXPECT_LT(seconds, 10);
    if (kind == Kind::icc) continue;  // IC stores only the part right of the diagonal
    EXPECT_EQ(made.lower_begin.back() + made.upper_begin.back(), n - 1);
  }
}

/// No path leads upwards: searches that continued from all lower rows would take n^3 / 6 steps for U, 20 seconds. The
/// searches for L's columns visit L only.
TEST(SymbolicLimits, a_full_lower_triangle_is_not_walked_through)
{
  using I = std::int32_t;
  const I n = short_run() ? 3000 : 5000;
  std::vector<std::vector<I>> rows(n);
  for (I i = 0; i < n; ++i)
    for (I j = 0; j <= i; ++j) rows[i].push_back(j);
  const OwnedPattern<I> A = pattern_of(rows);
  SymbolicOptions<I> options;
  options.levels = 3;
  FactorPattern<I> made;
  const double start = processor_seconds();
  ASSERT_TRUE(syncfree::make_factor_pattern(A.view(), options, &made).ok());
  const double seconds = processor_seconds() - start;
  EXPECT_EQ(made.lower_begin.back(), n * (n - 1) / 2);
  EXPECT_EQ(made.upper_begin.back(), 0);
  EXPECT_LT(seconds, 10);
}

}  // namespace
}  // namespace syncfree
