/// Refreshes of one object again and again: launches of factorizations, and of updates of `merged`, are recorded and
/// repeated.

#include <memory>
#include <string>
#include <vector>

#include "../../backward_error.hpp"
#include "../../watchdog.hpp"
#include "../device_support.hpp"

namespace syncfree {
namespace {

std::vector<double> solved(Cuda& p, I n)
{
  const DeviceVector b(random_vector<double>(static_cast<std::size_t>(n), 9)), x(static_cast<std::size_t>(n));
  solve(p, b, x, n);
  return x.get();
}

/// Returns the solution by an object made for these values.
std::vector<double> solved_afresh(const OwnedCsr<double, I>& A, const char* strategy, Kind kind)
{
  SymbolicOptions<I> symbolic;
  symbolic.kind = kind;
  const auto p = make_cuda_preconditioner<double, I>();
  p->use(Memory::host, nullptr);
  EXPECT_EQ(p->analyse(A.pattern(), symbolic, {strategy, 1}).message(), "success");
  EXPECT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
  return solved(*p, A.n);
}

/// Values of A with off-diagonal entries that depend on the round; symmetric if A is.
OwnedCsr<double, I> values_of(OwnedCsr<double, I> A, int round)
{
  for (I i = 0; i < A.n; ++i)
    for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k)
      if (A.column[k] != i) A.value[k] /= 1 + 0.25 * round * (1 + (i + A.column[k]) % 3);
  return A;
}

/// In the same memory each time, in which launches are repeated; then in other memory, by another rule, after a zero
/// pivot, and back.
TEST(DeviceRefreshes, are_those_of_new_objects)
{
  const Watchdog watchdog("refreshes", patience);
  const auto grid = make_poisson<double, I>(14, 16, 20);
  for (const Kind kind : {Kind::ilu, Kind::icc})
    for (const char* strategy : {"merged", "level_order", "wavefront", "tiled"}) {
      SCOPED_TRACE(std::string(strategy) + (kind == Kind::icc ? ", IC" : ", ILU"));
      const auto p = make_cuda_preconditioner<double, I>();
      SymbolicOptions<I> symbolic;
      symbolic.kind = kind;
      p->use(Memory::device, nullptr);
      ASSERT_EQ(p->analyse(grid.pattern(), symbolic, {strategy, 1}).message(), "success");
      DeviceVector first(grid.value), second(grid.value);
      int round = 0;
      const auto expect_as_new = [&](DeviceVector* memory, const PivotRule& rule) {
        const auto A = values_of(grid, ++round);
        memory->set(A.value);
        ASSERT_EQ(p->refresh({A.pattern(), memory->data()}, rule).message(), "success");
        EXPECT_EQ(solved(*p, A.n), solved_afresh(A, strategy, kind)) << "round " << round;
      };
      for (int k = 0; k < 5; ++k) expect_as_new(&first, PivotRule());
      for (int k = 0; k < 3; ++k) expect_as_new(&second, PivotRule());
      PivotRule rule;
      rule.zero_pivot = 1e-9;
      for (int k = 0; k < 3; ++k) expect_as_new(&second, rule);
      auto singular = values_of(grid, 1);
      singular.value[0] = 0;
      second.set(singular.value);
      EXPECT_EQ(p->refresh({grid.pattern(), second.data()}, rule).code, Code::zero_pivot);
      for (int k = 0; k < 3; ++k) expect_as_new(&second, rule);
    }
}

/// Values for which groups must become smaller while their launches are recorded.
TEST(DeviceRefreshes, follow_groups_that_become_smaller)
{
  const auto plain = chain_triangle<I>(700, 0.1), wild = chain_triangle<I>(700, 2);
  const auto A = matrix_of(plain);
  const auto p = make_cuda_preconditioner<double, I>();
  p->use(Memory::device, nullptr);
  ASSERT_EQ(p->analyse(A.pattern(), {}, {"merged", 1}).message(), "success");
  DeviceVector memory(A.value);
  for (const auto* T : {&plain, &plain, &plain, &wild, &wild, &wild, &plain, &plain}) {
    memory.set(matrix_of(*T).value);
    ASSERT_EQ(p->refresh({A.pattern(), memory.data()}, PivotRule()).message(), "success");
    const auto b = product(*T, random_vector<double>(static_cast<std::size_t>(A.n), 9));
    const DeviceVector from(b), to(b.size());
    solve(*p, from, to, A.n);
    EXPECT_LE(backward_error(*T, b, to.get()).by_row, 1e-10) << p->summarize().plan;
  }
}

/// Plans of `merged` go on after the analysis. Nothing waits for those of an object that is analysed again or
/// destroyed, and a first refresh may fail.
TEST(DeviceRefreshes, of_merged_may_be_the_first_after_others_failed)
{
  const Watchdog watchdog("pending plans", patience);
  const auto A = values_of(make_poisson<double, I>(14, 16, 20), 1);
  auto singular = A;
  singular.value[0] = 0;
  for (int round = 0; round < 8; ++round) {
    const auto p = make_cuda_preconditioner<double, I>(), dropped = make_cuda_preconditioner<double, I>();
    p->use(Memory::host, nullptr);
    for (Cuda* one : {p.get(), p.get(), dropped.get()})
      ASSERT_EQ(one->analyse(A.pattern(), {}, {"merged", 1}).message(), "success");
    for (int time = 0; time < round % 3; ++time)
      EXPECT_EQ(p->refresh(singular.view(), PivotRule()).code, Code::zero_pivot);
    ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
    EXPECT_EQ(solved(*p, A.n), solved_afresh(A, "merged", Kind::ilu));
  }
}

}  // namespace
}  // namespace syncfree
