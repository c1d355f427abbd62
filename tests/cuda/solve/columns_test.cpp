/// Several right-hand sides together: each solution equals that of a single solve, and nothing else is written.

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "../../battery.hpp"
#include "../../types.hpp"
#include "../../watchdog.hpp"
#include "../device_support.hpp"

namespace syncfree {
namespace {

constexpr I gap = 3;  ///< rows between two columns

double distance(const double* x, const double* truth, I n)
{
  double error = 0, size = 0;
  for (I i = 0; i < n; ++i) {
    error = std::max(error, std::isfinite(x[i]) ? std::abs(x[i] - truth[i]) : 1e300);
    size = std::max(size, std::abs(truth[i]));
  }
  return error / size;
}

/// Solves each column by a call of its own.
std::vector<double> one_by_one(Cuda& p, Operation operation, const DeviceVector& b, I n, I count)
{
  const DeviceVector x(static_cast<std::size_t>(n) * count);
  p.use(Memory::device, nullptr);
  for (I c = 0; c < count; ++c)
    EXPECT_EQ(p.solve(operation, b.data() + c * (n + gap), x.data() + c * n, {1, n, n}).message(), "success");
  return x.get();
}

/// The distance of columns differs between x and b.
void compare(Cuda& p, Operation operation, I n, I count)
{
  SCOPED_TRACE(testing::Message() << count << " columns, operation " << static_cast<int>(operation));
  const std::vector<double> poison(static_cast<std::size_t>(n + 2 * gap) * count, 77.0);
  const DeviceVector b(random_vector<double>(static_cast<std::size_t>(n + gap) * count, 5));
  DeviceVector x(poison);
  const auto truth = one_by_one(p, operation, b, n, count);
  for (int round = 0; round < (short_run() ? 2 : 3); ++round) {
    x.set(poison);
    ASSERT_EQ(p.solve(operation, b.data(), x.data(), {count, n + gap, n + 2 * gap}).message(), "success");
    const auto found = x.get();
    for (I c = 0; c < count; ++c) {
      const double* column = found.data() + static_cast<std::size_t>(c) * (n + 2 * gap);
      EXPECT_LE(distance(column, truth.data() + static_cast<std::size_t>(c) * n, n), 1e-12) << "column " << c;
      EXPECT_EQ(std::count(column + n, column + n + 2 * gap, 77.0), 2 * gap) << "wrote after the end of column " << c;
    }
  }
}

/// Analyses with the tiles that the strategy chooses by itself.
std::unique_ptr<Cuda> analysed_whole(const OwnedCsr<double, I>& A, const std::string& strategy)
{
  auto p = make_cuda_preconditioner<double, I>();
  const Status status = p->analyse(A.pattern(), {}, {strategy, 2});
  if (has_no_plan(strategy, status)) return nullptr;
  EXPECT_EQ(status.message(), "success");
  EXPECT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
  return p;
}

void compare_all(Cuda& p, OwnedCsr<double, I> A, const std::vector<I>& counts)
{
  for (const I count : counts) compare(p, Operation::none, A.n, count);
  compare(p, Operation::transpose, A.n, counts.back());
  for (double& v : A.value) v *= 3;
  p.use(Memory::host, nullptr);
  ASSERT_EQ(p.refresh(A.view(), PivotRule()).message(), "success");
  for (const I count : counts) compare(p, Operation::none, A.n, count);
}

std::vector<I> some_counts() { return short_run() ? std::vector<I>{7} : std::vector<I>{2, 3, 8, 35}; }

TEST(DeviceColumns, are_solved_as_one_by_one)
{
  const I n = short_run() ? 120 : 5000;
  const std::vector<std::string> few = {"level_order", "merged", "csc_sync_free"};
  const std::vector<std::string> names = short_run() ? few : device_strategies();
  for (const auto& A : {random_band(n, 3, n / 6, 0, 3), random_band(n, 15, n / 10, n / 4, 3),
                        random_band(33, 2, 5, 0, 3)}) {
    if (short_run() && A.n == 33) continue;
    for (const std::string& strategy : names) {
      if (is_left_out(strategy)) continue;
      SCOPED_TRACE(strategy);
      if (const auto p = analysed(A, strategy)) compare_all(*p, A, some_counts());
    }
  }
}

TEST(DeviceColumns, of_nodes_are_solved_as_one_by_one)
{
  for (const auto& [unknowns, reach] : {std::pair<I, I>{2, 3}, {3, 9}, {3, 40}}) {
    const auto A = line_of_points(short_run() ? 60 : 700, unknowns, reach);
    for (const char* strategy : {"level_order", "tiled"}) {
      const auto p = analysed(A, strategy);
      const bool has_nodes = p && p->summarize().plan.find("nodes") != std::string::npos;
      EXPECT_TRUE(has_nodes || reach > 9) << strategy;
      if (p) compare_all(*p, A, some_counts());
    }
  }
}

TEST(DeviceColumns, of_grids_are_solved_as_one_by_one)
{
  struct Grid {
    I x, y, z;
  };
  for (Grid g : {Grid{9, 8, 7}, Grid{33, 32, 31}, Grid{9, 190, 90}, Grid{301, 200, 1}, Grid{2000, 9, 9}}) {
    if (short_run() && g.x * g.y * g.z > 2000) continue;
    SCOPED_TRACE(testing::Message() << g.x << " x " << g.y << " x " << g.z);
    const auto A = make_poisson<double, I>(g.x, g.y, g.z);
    for (const char* strategy : {"wavefront", "tiled", "level_order", "merged"}) {
      if (is_left_out(strategy)) continue;
      SCOPED_TRACE(strategy);
      if (const auto p = analysed_whole(A, strategy)) compare_all(*p, A, some_counts());
    }
  }
}

TEST(DeviceColumns, of_planes_over_each_other_are_solved_as_one_by_one)
{
  if (short_run()) return;
  const auto A = box_of_points(110, 111, 4, 1);
  const auto p = analysed_whole(A, "tiled");
  EXPECT_NE(p->summarize().plan.find("in one place"), std::string::npos) << p->summarize().plan;
  compare_all(*p, A, {2, 3, 8});
}

template <class T> class DeviceColumnsOf : public testing::Test {};
TYPED_TEST_SUITE(DeviceColumnsOf, Scalars);

template <class T> void expect_as_one_by_one(const OwnedCsr<T, I>& A)
{
  const I n = A.n, count = 11;
  const DeviceVectorOf<T> b(random_vector<T>(static_cast<std::size_t>(n) * count, 5));
  for (const char* strategy : {"wavefront", "tiled", "level_order", "merged", "cusparse"})
    for (const bool single : {false, true})
      for (const Operation operation : {Operation::none, Operation::conjugate, Operation::adjoint}) {
        SCOPED_TRACE(testing::Message() << strategy << ", single storage " << single << ", operation "
                                        << static_cast<int>(operation));
        if (is_left_out(strategy)) continue;
        const auto p = make_cuda_preconditioner<T, I>();
        const Status status = p->analyse(A.pattern(), {}, {strategy, 2, single});
        if (has_no_plan(strategy, status)) continue;
        ASSERT_EQ(status.message(), "success");
        ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
        const DeviceVectorOf<T> x(static_cast<std::size_t>(n) * count), alone(static_cast<std::size_t>(n) * count);
        p->use(Memory::device, nullptr);
        for (std::size_t c = 0; c < count; ++c)
          ASSERT_TRUE(p->solve(operation, b.data() + c * n, alone.data() + c * n, {1, n, n}).ok());
        ASSERT_EQ(p->solve(operation, b.data(), x.data(), {count, n, n}).message(), "success");
        const std::vector<T> found = x.get(), truth = alone.get();
        double error = 0, size = 0;
        for (std::size_t i = 0; i < truth.size(); ++i) {
          error = std::max(error, static_cast<double>(std::abs(found[i] - truth[i])));
          size = std::max(size, static_cast<double>(std::abs(truth[i])));
          ASSERT_TRUE(std::isfinite(std::abs(found[i]))) << i;
        }
        EXPECT_LE(error, 20 * std::numeric_limits<real_t<T>>::epsilon() * size);
      }
}

/// Planes that share slots (aliases), in a size that depends on the scalar.
template <class T> OwnedCsr<T, I> planes_over_each_other()
{
  const I edge = sizeof(T) == 4 ? 170 : sizeof(T) == 8 ? 110 : 85;
  const auto A = box_of_points(edge, edge, 3, 1);
  OwnedCsr<T, I> B;
  B.n = A.n, B.row_begin = A.row_begin, B.column = A.column;
  B.value.assign(A.value.begin(), A.value.end());
  return B;
}

/// Scalars of 4, 8 and 16 bytes have different words and chunks; a factor in single storage has different panels.
TYPED_TEST(DeviceColumnsOf, every_scalar_are_solved_as_one_by_one)
{
  using T = TypeParam;
  expect_as_one_by_one(short_run() ? make_poisson<T, I>(9, 8, 7) : make_poisson<T, I>(33, 32, 31));
  expect_as_one_by_one(make_battery_matrix<T, I>("nodes"));
  expect_as_one_by_one(make_battery_matrix<T, I>("full_nodes"));
  if (!short_run()) expect_as_one_by_one(planes_over_each_other<T>());
}

/// One column of several contains a NaN; it must not affect its neighbours or the next solve.
TEST(DeviceColumns, do_not_disturb_each_other)
{
  const auto A = make_poisson<double, I>(short_run() ? 12 : 40, 12, 12);
  const I n = A.n, count = 5, bad = 2;
  const auto numbers = random_vector<double>(static_cast<std::size_t>(n) * count, 5);
  auto with_nan = numbers;
  with_nan[bad * n + n / 2] = std::nan("");
  const DeviceVector b(numbers), of_nan(with_nan), x(numbers.size());
  for (const char* strategy : {"wavefront", "tiled", "level_order", "merged"}) {
    if (is_left_out(strategy)) continue;
    SCOPED_TRACE(strategy);
    const auto p = analysed_whole(A, strategy);
    p->use(Memory::device, nullptr);
    const auto solved = [&](const DeviceVector& from) {
      EXPECT_EQ(p->solve(Operation::none, from.data(), x.data(), {count, n, n}).message(), "success");
      return x.get();
    };
    const auto first = solved(b);
    for (int round = 0; round < 3; ++round) {
      const auto found = solved(of_nan);
      EXPECT_FALSE(std::isfinite(found[bad * n + n / 2]));
      for (I c = 0; c < count; ++c) {
        if (c == bad) continue;
        EXPECT_TRUE(std::equal(&first[c * n], &first[c * n] + n, &found[c * n])) << "column " << c;
      }
      EXPECT_EQ(solved(b), first);
    }
  }
}

}  // namespace
}  // namespace syncfree
