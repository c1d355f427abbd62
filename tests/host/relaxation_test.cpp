/// Sweeps compared with a loop over the rows.

#include "syncfree/relaxation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "../battery.hpp"
#include "../sweeps.hpp"
#include "../types.hpp"
#include "../watchdog.hpp"

namespace syncfree {
namespace {

template <class C> class Relaxations : public testing::Test {};
TYPED_TEST_SUITE(Relaxations, EachScalar);

template <class T, class I>
void compare(const OwnedCsr<T, I>& A, const std::vector<I>& nodes, double omega, double shift,
             const SolverOptions& options)
{
  expect_sweeps<T, I>(make_host_relaxation<T, I>().get(), A, nodes, omega, shift, options);
}

TYPED_TEST(Relaxations, are_those_of_a_loop_over_rows)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  for (const BatteryEntry& entry : battery()) {
    if (!entry.factorable || !entry.bounded || (short_run() && entry.name == std::string("n_100000"))) continue;
    SCOPED_TRACE(entry.name);
    const OwnedCsr<T, I> A = make_battery_matrix<T, I>(entry.name);
    compare<T, I>(A, {}, 1, 0, {"serial", 1});
    compare<T, I>(A, {}, 0.7, 0.37, {"sync_free", 2});
    compare<T, I>(A, {}, 1.1, 0, {"level_set", 3});
  }
}

/// Expands each entry of a pattern to a dense block of `size` rows, with dominant diagonals.
template <class T, class I> OwnedCsr<T, I> expand(const OwnedCsr<T, I>& A, I size, std::vector<I>* node_begin)
{
  OwnedCsr<T, I> made;
  made.n = A.n * size;
  for (I i = 0; i < A.n; ++i) {
    node_begin->push_back(i * size);
    for (I r = 0; r < size; ++r) {
      for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k)
        for (I c = 0; c < size; ++c) made.column.push_back(A.column[k] * size + c);
      made.row_begin.push_back(static_cast<I>(made.column.size()));
    }
  }
  node_begin->push_back(made.n);
  made.value = random_vector<T>(made.column.size(), 11);
  for (I i = 0; i < made.n; ++i)
    for (I k = made.row_begin[i]; k < made.row_begin[i + 1]; ++k)
      if (made.column[k] == i)
        made.value[k] = T(static_cast<real_t<T>>(2 * (made.row_begin[i + 1] - made.row_begin[i])));
  return made;
}

TYPED_TEST(Relaxations, take_the_rows_of_a_node_together)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  for (const I size : {I(1), I(2), I(3), I(5)}) {
    SCOPED_TRACE(size);
    std::vector<I> nodes;
    const OwnedCsr<T, I> A = expand(make_poisson<T, I>(4, 5, 6), size, &nodes);
    compare<T, I>(A, nodes, 1, 0, {"serial", 1});
    compare<T, I>(A, nodes, 0.9, 0.37, {"blocks", 2});
  }
}

/// The dense diagonal block needs a row exchange.
TEST(Relaxation, inverts_blocks_with_a_zero_in_front)
{
  OwnedCsr<double, int> A;
  A.n = 2;
  A.row_begin = {0, 2, 4};
  A.column = {0, 1, 0, 1};
  A.value = {0, 2, 4, 0};
  const auto relaxation = make_host_relaxation<double, int>();
  ASSERT_TRUE(relaxation->analyse(A.pattern(), {0, 2}, {"serial", 1}).ok());
  ASSERT_TRUE(relaxation->refresh(A.view(), 1, 0, 0).ok());
  const double b[] = {6, 8};
  double x[2];
  EXPECT_TRUE(relaxation->relax(Sweep::forward, true, 1, b, x).ok());
  EXPECT_EQ(x[0], 2);
  EXPECT_EQ(x[1], 3);
}

TEST(Relaxation, takes_new_numbers_and_tells_of_zeros)
{
  OwnedCsr<double, int> A = make_poisson<double, int>(5, 4, 3);
  const auto relaxation = make_host_relaxation<double, int>();
  EXPECT_EQ(relaxation->refresh(A.view(), 1, 0, 0).code, Code::invalid_argument) << "nothing was analysed";
  ASSERT_TRUE(relaxation->analyse(A.pattern(), {}, {"auto", 2}).ok());
  double nothing = 0;
  EXPECT_EQ(relaxation->relax(Sweep::forward, true, 1, &nothing, &nothing).code, Code::invalid_argument);
  ASSERT_TRUE(relaxation->refresh(A.view(), 1, 0, 0).ok());
  for (double& v : A.value) v *= 2;
  ASSERT_TRUE(relaxation->refresh(A.view(), 1, 0, 0).ok());
  const std::vector<double> b = random_vector<double>(A.n, 5);
  std::vector<double> x(A.n), expected(A.n);
  EXPECT_TRUE(relaxation->relax(Sweep::symmetric, true, 1, b.data(), x.data()).ok());
  Textbook<double, int>(A, {}, 1, 0).relax(Sweep::symmetric, true, 1, b, &expected);
  expect_close(x, expected);

  for (int k = A.row_begin[7]; k < A.row_begin[8]; ++k)
    if (A.column[k] == 7) A.value[k] = 0;
  const Status zero = relaxation->refresh(A.view(), 1, 0, 0);
  EXPECT_EQ(zero.code, Code::zero_pivot);
  EXPECT_EQ(zero.row, 7);
  EXPECT_TRUE(relaxation->relax(Sweep::forward, true, 1, b.data(), x.data()).ok());
  EXPECT_FALSE(std::isfinite(x[7]));
  EXPECT_TRUE(relaxation->refresh(A.view(), 1, 0.5, 0).ok()) << "the shift repairs it";
  EXPECT_EQ(relaxation->refresh(A.view(), 1, 1e-14, 1e-12).row, 7) << "below the least";
}

/// Anywhere in a row and in any row of a node; it is not reported as a zero, and no sweep runs with it.
TYPED_TEST(Relaxations, tell_of_a_number_that_is_not_finite)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  std::vector<I> nodes;
  const OwnedCsr<T, I> whole = expand(make_poisson<T, I>(2, 3, 2), I(3), &nodes);
  const real_t<T> infinity = std::numeric_limits<real_t<T>>::infinity();
  for (const std::vector<I>& begin : {std::vector<I>(), nodes})
    for (const int threads : {1, 2}) {
      const auto relaxation = make_host_relaxation<T, I>();
      ASSERT_TRUE(relaxation->analyse(whole.pattern(), begin, {"auto", threads}).ok());
      for (const T bad : {T(std::numeric_limits<real_t<T>>::quiet_NaN()), T(infinity), T(-infinity)})
        for (I row = 0; row < whole.n; ++row) {
          SCOPED_TRACE(std::to_string(row) + ", threads " + std::to_string(threads));
          OwnedCsr<T, I> A = whole;
          A.value[A.row_begin[row] + row % (A.row_begin[row + 1] - A.row_begin[row])] = bad;
          A.value.back() = bad;  // only the first row is reported
          const Status status = relaxation->refresh(A.view(), 1, 0, 1e-12);
          EXPECT_EQ(status.code, Code::not_finite);
          EXPECT_EQ(status.row, row);
          EXPECT_EQ(status.message(), "NaN or infinity in the matrix in row " + std::to_string(row));
          T nothing(0);
          EXPECT_EQ(relaxation->relax(Sweep::forward, true, 1, &nothing, &nothing).code, Code::invalid_argument);
        }
      EXPECT_TRUE(relaxation->refresh(whole.view(), 1, 0, 1e-12).ok()) << "it does not last";
    }
}

/// With nodes, too: the first node has two rows, the others one, and both matrices have the same number of entries.
TEST(Relaxation, knows_its_pattern_and_refuses_rows_of_another_length)
{
  OwnedCsr<double, int> A, B, C;
  A.n = B.n = C.n = 4;
  A.row_begin = {0, 3, 6, 7, 8}, A.column = {0, 1, 3, 0, 1, 3, 2, 3};
  B.row_begin = {0, 2, 4, 6, 8}, B.column = {0, 1, 0, 1, 0, 2, 2, 3};
  C.row_begin = A.row_begin, C.column = {0, 1, 2, 0, 1, 2, 2, 3};
  for (auto* of : {&A, &B, &C}) of->value = std::vector<double>(8, 1), of->value[0] = 3;
  for (const std::vector<int>& nodes : {std::vector<int>(), std::vector<int>{0, 2, 3, 4}}) {
    const auto relaxation = make_host_relaxation<double, int>();
    const auto has = [&](const OwnedCsr<double, int>& of, const std::vector<int>& with) {
      bool same = true;
      EXPECT_TRUE(relaxation->has_pattern(of.pattern(), with, &same).ok());
      return same;
    };
    EXPECT_FALSE(has(A, nodes)) << "nothing was analysed";
    ASSERT_TRUE(relaxation->analyse(A.pattern(), nodes, {"serial", 1}).ok());
    EXPECT_TRUE(has(A, nodes));
    EXPECT_FALSE(has(B, nodes)) << "other lengths";
    EXPECT_FALSE(has(C, nodes)) << "other columns";
    EXPECT_FALSE(has(A, nodes.empty() ? std::vector<int>{0, 2, 3, 4} : std::vector<int>())) << "other nodes";
    EXPECT_FALSE(has(A, {0, 1, 2, 4})) << "other nodes";
    const Status refused = relaxation->refresh(B.view(), 1, 0, 0);
    EXPECT_EQ(refused.code, Code::another_pattern);
    EXPECT_EQ(refused.row, 0);
    EXPECT_EQ(relaxation->refresh(make_poisson<double, int>(2, 2, 2).view(), 1, 0, 0).code, Code::another_pattern);
    EXPECT_TRUE(relaxation->refresh(A.view(), 1, 0, 0).ok());
  }
}

TEST(Relaxation, refuses_what_it_cannot_relax)
{
  OwnedCsr<double, int> A = make_poisson<double, int>(3, 3, 3);
  const auto relaxation = make_host_relaxation<double, int>();
  EXPECT_EQ(relaxation->analyse(A.pattern(), {}, {"nobody", 1}).code, Code::unknown_strategy);
  EXPECT_EQ(relaxation->analyse(A.pattern(), {}, {"serial", 0}).code, Code::invalid_argument);
  EXPECT_EQ(relaxation->analyse(A.pattern(), {0, 2, 27}, {"serial", 1}).code, Code::invalid_argument) << "unlike rows";
  EXPECT_EQ(relaxation->analyse(A.pattern(), {0, 1}, {"serial", 1}).code, Code::invalid_argument) << "not all rows";
  EXPECT_EQ(relaxation->analyse(A.pattern(), {0, 1000, 27}, {"serial", 1}).code, Code::invalid_argument) << "beyond";
  const Status unlike = relaxation->analyse(A.pattern(), {0, 1, 3, 27}, {"serial", 1});
  EXPECT_NE(unlike.detail.find("columns of row 2 differ from those of row 1"), std::string::npos) << unlike.detail;
  OwnedCsr<double, int> B;
  B.n = 2;
  B.row_begin = {0, 1, 2};
  B.column = {0, 0};
  B.value = {1, 1};
  const Status missing = relaxation->analyse(B.pattern(), {}, {"serial", 1});
  EXPECT_EQ(missing.code, Code::missing_diagonal);
  EXPECT_EQ(missing.row, 1);
  EXPECT_TRUE(relaxation->summarize().strategy.empty());
}

}  // namespace
}  // namespace syncfree
