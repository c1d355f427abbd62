#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "core/ordering/graphs.hpp"
#include "core/ordering/sample.hpp"
#include "syncfree/ordering.hpp"
#include "syncfree/scalar.hpp"

namespace syncfree {
namespace {

template <class T> T value_at(unsigned seed, long i, long j)
{
  const auto unit = [&](unsigned salt) {
    return static_cast<double>((i * 37 + j * 101 + seed * 7 + salt) % 19) / 19 - 0.4;
  };
  const real_t<T> diagonal = i == j ? real_t<T>(2 + i % 3) : 0;
  if constexpr (is_complex_v<T>) return T(real_t<T>(unit(0)) + diagonal, real_t<T>(unit(5)));
  else return T(unit(0)) + diagonal;
}

template <class T, class I> std::vector<T> values_of(const OwnedPattern<I>& A, unsigned seed)
{
  std::vector<T> value;
  for (I i = 0; i < A.n; ++i)
    for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k) value.push_back(value_at<T>(seed, i, A.column[k]));
  return value;
}

/// From dense tables, all rows.
template <class T, class I> double dense_fill(const OwnedPattern<I>& A, const std::vector<T>& value, const I* order)
{
  using Wide = std::complex<double>;
  const I n = A.n;
  std::vector<std::vector<Wide>> a(n, std::vector<Wide>(n));
  std::vector<std::vector<bool>> has(n, std::vector<bool>(n));
  std::vector<I> place(n);
  for (I p = 0; p < n; ++p) place[order ? order[p] : p] = p;
  for (I i = 0; i < n; ++i)
    for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k) {
      const I p = place[i], q = place[A.column[k]];
      a[p][q] = Wide(real_part(value[k]), imaginary_part(value[k]));
      has[p][q] = true;
    }
  double sum = 0;
  I rows = 0;
  for (I i = 0; i < n; ++i) {
    if (a[i][i] == Wide(0)) continue;
    ++rows;
    for (I j = 0; j < n; ++j) {
      Wide w = 0;
      for (I k = 0; k < std::min(i, j); ++k)
        if (a[k][k] != Wide(0)) w += a[i][k] * a[k][j] / a[k][k];
      if (!has[i][j] && i != j && a[j][j] != Wide(0)) sum += std::norm(w) / std::abs(a[i][i] * a[j][j]);
    }
  }
  return rows ? std::sqrt(sum / rows) : 0;
}

template <class T, class I>
DiscardedFill fill_of(const OwnedPattern<I>& A, const std::vector<T>& value, const I* order = nullptr)
{
  DiscardedFill found;
  const Status status = measure_discarded_fill<T, I>({A.view(), value.data()}, order, &found);
  EXPECT_TRUE(status.ok()) << status.message();
  return found;
}

template <class Types> class DiscardedFillOf : public testing::Test {};
template <class T, class I> struct Pair {
  using Scalar = T;
  using Index = I;
};
#ifdef SYNCFREE_FEW_TYPES
using Pairs = testing::Types<Pair<double, std::int32_t>, Pair<std::complex<double>, std::int64_t>>;
#else
using Pairs = testing::Types<Pair<float, std::int32_t>, Pair<double, std::int64_t>,
                             Pair<std::complex<float>, std::int64_t>, Pair<std::complex<double>, std::int32_t>>;
#endif
TYPED_TEST_SUITE(DiscardedFillOf, Pairs);

TYPED_TEST(DiscardedFillOf, small_matrices_is_that_of_a_dense_computation)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  for (const auto& pattern : ordering_patterns<I>()) {
    const auto& A = pattern.A;
    const auto value = values_of<T>(A, 1);
    const auto random = random_order<I>(9, A.n);
    for (const I* order : {static_cast<const I*>(nullptr), random.data()}) {
      SCOPED_TRACE(pattern.name + (order ? ", at random" : ""));
      DiscardedFill found = fill_of(A, value, order);
      EXPECT_NEAR(found.fill, dense_fill(A, value, order), 1e-6 * (1 + found.fill));
      EXPECT_EQ(found.rows + found.skipped, A.n);
      EXPECT_EQ(found.skipped == 0, pattern.diagonal);
    }
  }
}

TYPED_TEST(DiscardedFillOf, three_rows_is_this)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const auto A = pattern_with<I>(3, {{0, 1}, {0, 2}});  // row 0 couples rows 1 and 2
  const std::vector<T> value = {4, 2, 1, 2, 8, 1, 2};
  DiscardedFill found = fill_of(A, value);
  EXPECT_NEAR(found.fill, std::sqrt(2 * 0.5 * 0.5 / 16 / 3), 1e-7) << "w_12 = w_21 = 2 1 / 4, a_11 a_22 = 16";
  const std::vector<I> last = {1, 2, 0};
  found = fill_of(A, value, last.data());
  EXPECT_EQ(found.fill, 0) << "eliminated last, row 0 couples nothing";
}

TYPED_TEST(DiscardedFillOf, rows_of_zero_diagonal_are_skipped_and_counted)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const auto A = grid_pattern<I>(6, 6, 1, false);
  auto value = values_of<T>(A, 2);
  for (const I i : {0, 7, 20})
    for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k)
      if (A.column[k] == i) value[k] = 0;
  DiscardedFill found = fill_of(A, value);
  EXPECT_EQ(found.skipped, 3);
  EXPECT_EQ(found.rows, 33);
  EXPECT_NEAR(found.fill, (dense_fill<T, I>(A, value, nullptr)), 1e-6);
  value.assign(value.size(), T(std::nan("")));
  found = fill_of(A, value);
  EXPECT_EQ(found.rows, 0);
  EXPECT_EQ(found.fill, 0);
}

TEST(DiscardedFillSample, is_close_to_all_rows_and_bounded_for_dense_rows)
{
  using I = std::int32_t;
  const auto grid = grid_pattern<I>(150, 100, 1, false);
  const std::vector<double> value(grid.column.size(), 1.0);
  DiscardedFill found = fill_of(grid, value);
  EXPECT_NEAR(static_cast<double>(found.rows), 1000, 150);
  EXPECT_NEAR(found.fill, std::sqrt(2.0), 0.02) << "each row has fill in two places";

  std::vector<std::pair<I, I>> arrow;
  const I n = 300000;
  for (I i = 1; i < n; ++i) arrow.emplace_back(0, i);
  const auto A = pattern_with<I>(n, arrow);
  const std::vector<double> ones(A.column.size(), 1.0);
  found = fill_of(A, ones);
  EXPECT_GE(found.rows, 50);
  EXPECT_LE(found.rows, 60) << "2^24 / n";
  EXPECT_NEAR(found.fill, std::sqrt(n - 2.0), 1e-6);
}

/// Rows of the sample that is left of rows that meet that many entries.
std::vector<int> limited(const std::vector<std::int64_t>& met)
{
  std::vector<SampledRow<int>> rows;
  for (std::size_t k = 0; k < met.size(); ++k) rows.push_back({static_cast<int>(k), met[k]});
  limit_sample(&rows);
  std::vector<int> left;
  for (const auto& r : rows) {
    EXPECT_EQ(r.met, met[static_cast<std::size_t>(r.row)]);
    left.push_back(r.row);
  }
  return left;
}

TEST(DiscardedFillSample, is_limited_by_the_entries_that_it_meets)
{
  constexpr std::int64_t most = most_sampled_entries;
  EXPECT_EQ(limited({1, 2, 3}), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(limited({most / 2, most, most / 2, 1, 0}), (std::vector<int>{0, 2, 4})) << "the others do not fit";
  EXPECT_EQ(limited({most + 1, most + 2}), std::vector<int>{0}) << "one row at least";
  EXPECT_EQ(limited({most + 1, 7}), std::vector<int>{1});
  EXPECT_EQ(limited({}), std::vector<int>{});
}

}  // namespace
}  // namespace syncfree
