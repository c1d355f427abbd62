/// L and U in one launch, as used for small factors.

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "../../watchdog.hpp"
#include "../device_support.hpp"
#include "syncfree/ordering.hpp"

namespace syncfree {
namespace {

bool has_pair(const Cuda& p) { return p.summarize().plan.find("both in one launch") != std::string::npos; }

/// Computes U^-1 L^-1 b with a launch for each.
std::vector<double> by_halves(Cuda& p, const DeviceVector& b, I n)
{
  const DeviceVector y(n), x(n);
  EXPECT_EQ(p.solve_forward_half(b.data(), y.data()).message(), "success");
  EXPECT_EQ(p.solve_backward_half(y.data(), x.data()).message(), "success");
  return x.get();
}

struct Case {
  OwnedCsr<double, I> A, other;  ///< with the same pattern
  const char* strategy;
};
/// Other values on the same pattern, dominant as before.
OwnedCsr<double, I> revalued(OwnedCsr<double, I> A)
{
  for (I i = 0; i < A.n; ++i)
    for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k)
      if (A.column[k] != i) A.value[k] *= -0.5;
  return A;
}
std::vector<Case> small_factors()
{
  std::vector<Case> all;
  for (const I n : {1, 33, 1000, 5000})
    for (const char* strategy : {"merged", "level_order"})
      all.push_back({random_band(n, 1, n, 0, 3), random_band(n, 1, n, 0, 4), strategy});
  for (const I entries : {3, 12})
    all.push_back({random_band(2000, entries, 300, 0, 3), random_band(2000, entries, 300, 0, 4), "merged"});
  for (const auto& A : {waves_of_rows(6, 3000, 4), waves_of_rows(6, 4201, 4), waves_of_rows(35, 4201, 3),
                        waves_of_rows(6, 4201, 40)})
    all.push_back({A, revalued(A), "level_order"});
  return all;
}

/// Many solves in a row, with new values between them.
TEST(DevicePair, is_its_halves_one_after_the_other)
{
  const int rounds = short_run() ? 2 : 20;
  for (const auto& [A, other, strategy] : small_factors()) {
    if (short_run() && A.n > 33) continue;
    SCOPED_TRACE(testing::Message() << A.n << " rows by " << strategy);
    const auto p = analysed(A, strategy);
    const auto b = random_vector<double>(A.n, 5), c = random_vector<double>(A.n, 6);
    const DeviceVector from(b), from_other(c), x(A.n), z(A.n);
    for (const auto* matrix : {&A, &other, &A}) {
      p->use(Memory::host, nullptr);
      ASSERT_EQ(p->refresh(matrix->view(), PivotRule()).message(), "success");
      ASSERT_TRUE(has_pair(*p)) << p->summarize().plan;
      p->use(Memory::device, nullptr);
      for (int round = 0; round < rounds; ++round) {
        ASSERT_EQ(p->solve(Operation::none, from.data(), x.data(), {1, A.n, A.n}).message(), "success");
        ASSERT_EQ(p->solve(Operation::none, from_other.data(), z.data(), {1, A.n, A.n}).message(), "success");
      }
      const auto found = x.get(), found_other = z.get();
      expect_near(found, by_halves(*p, from, A.n));
      expect_near(found_other, by_halves(*p, from_other, A.n));
      expect_near(found, solution(*matrix, b));
      ASSERT_EQ(p->solve(Operation::none, from.data(), x.data(), {1, A.n, A.n}).message(), "success");
      EXPECT_EQ(x.get(), found);
    }
  }
}

TEST(DevicePair, passes_on_what_is_not_a_number_and_forgets_it)
{
  const I n = short_run() ? 100 : 1000;
  for (const char* strategy : {"merged", "level_order"}) {
    const auto A = random_band(n, 1, n, 0, 3);
    const auto p = analysed(A, strategy);
    ASSERT_TRUE(has_pair(*p)) << p->summarize().plan;
    for (const std::uint64_t bits : {0xffffffffffffffffull, 0x7ff0000000000000ull}) {
      const auto b = random_vector<double>(A.n, 5);
      auto bad = b;
      std::memcpy(&bad[A.n / 2], &bits, sizeof bits);
      const DeviceVector from(bad), clean(b), x(A.n);
      solve(*p, from, x, A.n);
      EXPECT_FALSE(std::isfinite(x.get()[A.n / 2]));
      solve(*p, clean, x, A.n);
      expect_near(x.get(), solution(A, b));
    }
  }
}

/// A capture after a refresh; in the graph a copy precedes the solve.
TEST(DevicePair, can_be_captured_after_a_copy)
{
  const I n = short_run() ? 100 : 1000;
  const auto A = random_band(n, 1, n, 0, 3), B = random_band(n, 1, n, 0, 4);
  const auto b = random_vector<double>(A.n, 5);
  const DeviceVector original(b), from(A.n), x(A.n);
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  for (const char* strategy : {"merged", "level_order"})
    for (const bool solved : {false, true}) {
      SCOPED_TRACE(testing::Message() << strategy << (solved ? ", solved before" : ""));
      const auto p = analysed(A, strategy);
      ASSERT_TRUE(has_pair(*p)) << p->summarize().plan;
      if (solved) solve(*p, original, x, A.n, stream);
      const Replay replay(stream, [&] {
        for (int k = 0; k < 3; ++k) {
          CUDA(cudaMemcpyAsync(from.data(), original.data(), A.n * sizeof(double), cudaMemcpyDeviceToDevice, stream));
          solve(*p, from, x, A.n, stream);
        }
      });
      for (const auto* matrix : {&A, &B}) {
        p->use(Memory::host, stream);
        ASSERT_EQ(p->refresh(matrix->view(), PivotRule()).message(), "success");
        for (int round = 0; round < 3; ++round) {
          CUDA(cudaMemsetAsync(x.data(), 0xfe, A.n * sizeof(double), stream));
          replay.run();
          expect_near(x.get(), solution(*matrix, b));
        }
      }
    }
  CUDA(cudaStreamDestroy(stream));
}

/// The rows of A in few colors, in one order for rows and columns.
SymbolicOptions<I> in_colors(const OwnedCsr<double, I>& A, Ordering<I>* order)
{
  EXPECT_EQ(make_ordering(A.pattern(), {}, 1, order).message(), "success");
  SymbolicOptions<I> symbolic;
  symbolic.row_order = symbolic.column_order = order->order.data();
  return symbolic;
}

/// A preconditioner of A in few colors by `level_order`, with a pair.
std::unique_ptr<Cuda> analysed_in_colors(const OwnedCsr<double, I>& A)
{
  Ordering<I> order;
  auto p = make_cuda_preconditioner<double, I>();
  p->use(Memory::host, nullptr);
  EXPECT_EQ(p->analyse(A.pattern(), in_colors(A, &order), {"level_order", 1}).message(), "success");
  EXPECT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
  EXPECT_TRUE(has_pair(*p)) << p->summarize().plan;
  return p;
}

/// A whose rows 3, 20, 37, ... have diagonal entries only; other rows read them, or, if `both`, do not.
OwnedCsr<double, I> with_isolated_rows(const OwnedCsr<double, I>& A, bool both = true)
{
  const auto isolated = [](I row) { return row % 17 == 3; };
  OwnedCsr<double, I> B;
  B.n = A.n;
  B.row_begin = {0};
  for (I i = 0; i < A.n; ++i) {
    for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k) {
      const I j = A.column[k];
      if (j != i && (isolated(i) || (both && isolated(j)))) continue;
      B.column.push_back(j), B.value.push_back(A.value[k]);
    }
    B.row_begin.push_back(static_cast<I>(B.column.size()));
  }
  return B;
}

/// Narrow levels, wide ones, and such that are handed over as a whole; rows of one and of two lanes; colors of which
/// not all rows have entries in U; rows without entries in L and U.
TEST(DevicePair, gathers_and_scatters_where_rows_are_permuted)
{
  struct Colored {
    OwnedCsr<double, I> A;
    bool by_levels;
  };
  std::vector<Colored> all = {{make_poisson<double, I>(8, 7, 6), false},
                              {with_isolated_rows(make_poisson<double, I>(8, 7, 6)), false},
                              {with_isolated_rows(make_poisson<double, I>(8, 7, 6), false), false},
                              {make_poisson<double, I>(1, 1, 1), false},
                              {random_band(3000, 4, 2999, 0, 3), false}};
  if (!short_run()) {
    all.push_back({make_poisson<double, I>(40, 39, 38), false});
    all.push_back({box_of_points(40, 40, 40, 1), false});
    all.push_back({random_band(60000, 3, 59999, 0, 3), false});
    all.push_back({make_poisson<double, I>(80, 80, 80), true});
    for (const bool both : {false, true})
      all.push_back({with_isolated_rows(make_poisson<double, I>(80, 80, 80), both), true});
  }
  for (const auto& [A, by_levels] : all) {
    SCOPED_TRACE(testing::Message() << A.n << " rows");
    const auto p = analysed_in_colors(A);
    ASSERT_FALSE(testing::Test::HasFailure());
    EXPECT_EQ(p->summarize().plan.find("level after level") != std::string::npos, by_levels) << p->summarize().plan;
    p->use(Memory::device, nullptr);
    const auto b = random_vector<double>(A.n, 5);
    const DeviceVector from(b), x(A.n);
    std::vector<double> first;
    for (int round = 0; round < (short_run() ? 2 : 20); ++round) {
      CUDA(cudaMemset(x.data(), 0xff, A.n * sizeof(double)));
      ASSERT_EQ(p->solve(Operation::none, from.data(), x.data(), {1, A.n, A.n}).message(), "success");
      if (round == 0) first = x.get();
      ASSERT_EQ(x.get(), first) << "round " << round;
    }
    expect_near(first, by_halves(*p, from, A.n));
  }
}

/// Rows of the first color have no entries in L: what they pass on is b itself, also if it has the bits that mean "not
/// written yet".
TEST(DevicePair, passes_on_what_is_not_a_number_in_a_first_color)
{
  for (const auto& A : {make_poisson<double, I>(8, 7, 6), with_isolated_rows(make_poisson<double, I>(8, 7, 6))}) {
    const auto p = analysed_in_colors(A);
    ASSERT_FALSE(testing::Test::HasFailure());
    const auto b = random_vector<double>(A.n, 5);
    const DeviceVector clean(b), x(A.n);
    solve(*p, clean, x, A.n);
    const auto expected = x.get();
    expect_near(expected, by_halves(*p, clean, A.n));
    for (I i = 0; i < A.n; ++i) {
      auto bad = b;
      std::memset(&bad[i], 0xff, sizeof bad[i]);
      const DeviceVector from(bad);
      solve(*p, from, x, A.n);
      EXPECT_TRUE(std::isnan(x.get()[i])) << "row " << i;
    }
    solve(*p, clean, x, A.n);
    EXPECT_EQ(x.get(), expected);
  }
}

TEST(DevicePair, is_left_to_small_factors_in_the_natural_order)
{
  std::vector<I> order(1000);
  std::iota(order.rbegin(), order.rend(), I(0));
  SymbolicOptions<I> ordered;
  ordered.row_order = ordered.column_order = order.data();
  const auto A = random_band(1000, 1, 1000, 0, 3);
  const auto p = make_cuda_preconditioner<double, I>();
  p->use(Memory::host, nullptr);
  ASSERT_EQ(p->analyse(A.pattern(), ordered, {"merged", 1}).message(), "success");
  ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
  EXPECT_FALSE(has_pair(*p));
  EXPECT_FALSE(has_pair(*analysed(random_band(2000, 1, 2000, 1500, 3), "merged"))) << "a long row";
  EXPECT_FALSE(has_pair(*analysed(random_band(2000, 3, 30, 0, 3), "level_order"))) << "many levels";
  EXPECT_FALSE(has_pair(*analysed(random_band(1000, 1, 1000, 0, 3), "csr_level_order"))) << "flags";
}

/// Rows of U poll beside those of L.
TEST(DevicePair, has_fewer_lanes_where_levels_are_many_and_limited_blocks_where_rows_are_long)
{
  struct {
    I waves, length, entries;
    const char* plan;
  } const cases[] = {{6, 4201, 4, "both in one launch, 8 lanes"},
                     {35, 4201, 3, "both in one launch, 2 lanes"},
                     {6, 4201, 40, "both in one launch, 16 lanes"}};
  for (const auto& c : cases) {
    const std::string plan = analysed(waves_of_rows(c.waves, c.length, c.entries), "level_order")->summarize().plan;
    EXPECT_NE(plan.find(c.plan), std::string::npos) << plan;
  }
  EXPECT_FALSE(has_pair(*analysed(waves_of_rows(35, 4201, 20), "level_order"))) << "many levels of long rows";
  EXPECT_TRUE(has_pair(*analysed(random_band(80000, 1, 80000, 0, 3), "merged")));
  EXPECT_FALSE(has_pair(*analysed(random_band(80001, 1, 80001, 0, 3), "merged"))) << "many rows";
}

}  // namespace
}  // namespace syncfree
