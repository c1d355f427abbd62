/// Sweeps against a loop over the rows.

#include "syncfree/relaxation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "../battery.hpp"
#include "../types.hpp"
#include "../watchdog.hpp"

namespace syncfree {
namespace {

template <class C> class Relaxations : public testing::Test {};
using SomeTypes = testing::Types<Types<double, std::int32_t>, Types<float, std::int64_t>,
                                 Types<std::complex<double>, std::int64_t>, Types<std::complex<float>, std::int32_t>>;
TYPED_TEST_SUITE(Relaxations, SomeTypes);

/// The textbook's loop, with a node's block solved by elimination.
template <class T, class I> class Textbook {
public:
  Textbook(const OwnedCsr<T, I>& A, std::vector<I> node_begin, double omega, double shift)
      : A_(A), node_(std::move(node_begin)), omega_(static_cast<real_t<T>>(omega)),
        shift_(static_cast<real_t<T>>(shift))
  {
    if (node_.empty())
      for (I i = 0; i <= A.n; ++i) node_.push_back(i);
  }

  void relax(Sweep sweep, bool from_zero, I times, const std::vector<T>& b, std::vector<T>* x) const
  {
    if (from_zero) x->assign(b.size(), T(0));
    const I nodes = static_cast<I>(node_.size()) - 1;
    for (I t = 0; t < times; ++t) {
      for (I k = 0; sweep != Sweep::backward && k < nodes; ++k) relax_node(node_[k], node_[k + 1], b, x);
      for (I k = nodes; sweep != Sweep::forward && k > 0; --k) relax_node(node_[k - 1], node_[k], b, x);
    }
  }

private:
  void relax_node(I begin, I end, const std::vector<T>& b, std::vector<T>* x) const
  {
    const std::size_t size = static_cast<std::size_t>(end - begin);
    std::vector<std::vector<T>> D(size, std::vector<T>(size + 1, T(0)));
    for (I i = begin; i < end; ++i) {
      D[i - begin][size] = b[i];
      for (I k = A_.row_begin[i]; k < A_.row_begin[i + 1]; ++k) {
        const I j = A_.column[k];
        if (j >= begin && j < end) D[i - begin][j - begin] = A_.value[k] + (i == j ? T(shift_) : T(0));
        else D[i - begin][size] -= A_.value[k] * (*x)[j];
      }
    }
    for (std::size_t p = 0; p < size; ++p)
      for (std::size_t i = p + 1; i < size; ++i) {
        const T factor = D[i][p] / D[p][p];
        for (std::size_t j = p; j <= size; ++j) D[i][j] -= factor * D[p][j];
      }
    std::vector<T> solution(size);
    for (std::size_t i = size; i-- > 0;) {
      T sum = D[i][size];
      for (std::size_t j = i + 1; j < size; ++j) sum -= D[i][j] * solution[j];
      solution[i] = sum / D[i][i];
    }
    for (std::size_t i = 0; i < size; ++i)
      (*x)[begin + i] = (T(1) - T(omega_)) * (*x)[begin + i] + T(omega_) * solution[i];
  }

  const OwnedCsr<T, I>& A_;
  std::vector<I> node_;
  real_t<T> omega_, shift_;
};

template <class T> void expect_close(const std::vector<T>& x, const std::vector<T>& expected)
{
  real_t<T> largest = 0;
  for (const T& v : expected) largest = std::max(largest, std::abs(v));
  const real_t<T> most = 2000 * std::numeric_limits<real_t<T>>::epsilon() * largest;
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_LE(std::abs(x[i] - expected[i]), most) << "row " << i;
}

/// All sweeps, from zero and from given numbers.
template <class T, class I>
void compare(const OwnedCsr<T, I>& A, const std::vector<I>& nodes, double omega, double shift,
             const SolverOptions& options)
{
  SCOPED_TRACE(testing::Message() << options.strategy << ", omega " << omega << ", shift " << shift);
  const auto relaxation = make_host_relaxation<T, I>();
  Status status = relaxation->analyse(A.pattern(), nodes, options);
  ASSERT_TRUE(status.ok()) << status.message();
  status = relaxation->refresh(A.view(), omega, shift, 0);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(relaxation->summarize().strategy, options.strategy);
  const Textbook<T, I> textbook(A, nodes, omega, shift);
  const std::vector<T> b = random_vector<T>(A.n, 3);
  for (const Sweep sweep : {Sweep::forward, Sweep::backward, Sweep::symmetric})
    for (const auto& [from_zero, times] : {std::pair<bool, I>{true, 1}, {true, 3}, {false, 1}}) {
      SCOPED_TRACE(testing::Message() << "sweep " << static_cast<int>(sweep) << (from_zero ? " from zero" : "")
                                      << ", times " << times);
      std::vector<T> expected = random_vector<T>(A.n, 4), x = expected;
      if (from_zero) x.assign(A.n, T(std::numeric_limits<real_t<T>>::quiet_NaN()));
      textbook.relax(sweep, from_zero, times, b, &expected);
      relaxation->relax(sweep, from_zero, times, b.data(), x.data());
      expect_close(x, expected);
    }
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

/// A pattern of which each row stands `size` times, with dominant diagonals.
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

/// Rows of the diagonal block must be exchanged.
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
  relaxation->relax(Sweep::forward, true, 1, b, x);
  EXPECT_EQ(x[0], 2);
  EXPECT_EQ(x[1], 3);
}

TEST(Relaxation, takes_new_numbers_and_tells_of_zeros)
{
  OwnedCsr<double, int> A = make_poisson<double, int>(5, 4, 3);
  const auto relaxation = make_host_relaxation<double, int>();
  EXPECT_EQ(relaxation->refresh(A.view(), 1, 0, 0).code, Code::invalid_argument) << "nothing was analysed";
  ASSERT_TRUE(relaxation->analyse(A.pattern(), {}, {"auto", 2}).ok());
  ASSERT_TRUE(relaxation->refresh(A.view(), 1, 0, 0).ok());
  for (double& v : A.value) v *= 2;
  ASSERT_TRUE(relaxation->refresh(A.view(), 1, 0, 0).ok());
  const std::vector<double> b = random_vector<double>(A.n, 5);
  std::vector<double> x(A.n), expected(A.n);
  relaxation->relax(Sweep::symmetric, true, 1, b.data(), x.data());
  Textbook<double, int>(A, {}, 1, 0).relax(Sweep::symmetric, true, 1, b, &expected);
  expect_close(x, expected);

  for (int k = A.row_begin[7]; k < A.row_begin[8]; ++k)
    if (A.column[k] == 7) A.value[k] = 0;
  const Status zero = relaxation->refresh(A.view(), 1, 0, 0);
  EXPECT_EQ(zero.code, Code::zero_pivot);
  EXPECT_EQ(zero.row, 7);
  relaxation->relax(Sweep::forward, true, 1, b.data(), x.data());
  EXPECT_FALSE(std::isfinite(x[7]));
  EXPECT_TRUE(relaxation->refresh(A.view(), 1, 0.5, 0).ok()) << "the shift repairs it";
  EXPECT_EQ(relaxation->refresh(A.view(), 1, 1e-14, 1e-12).row, 7) << "below the least";
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
  EXPECT_NE(unlike.detail.find("row 2 has other columns than row 1"), std::string::npos) << unlike.detail;
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
