/// The kernels of syncfree/loop/loops.hpp on the battery: with threads they give the result of sequential execution,
/// with identical bits unless two threads add to one entry; that result equals the library's own factorization and
/// solves.

#include "syncfree/loop/loops.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "../battery.hpp"
#include "../loop_problem.hpp"
#include "../oracle.hpp"
#include "../types.hpp"
#include "../watchdog.hpp"
#include "syncfree/loop/loop.hpp"
#include "syncfree/solver.hpp"

namespace syncfree {
namespace {

template <class TypeParam> class LoopKernels : public testing::Test {
protected:
  using P = LoopProblem<typename TypeParam::Scalar, typename TypeParam::Index>;
  using Out = LoopOutput<typename P::T>;

  static bool agree(bool bitwise, const Out& a, const Out& b)
  {
    const bool same = same_numbers(a.x, b.x) && same_numbers(a.r, b.r);
    return same || (!bitwise && close_numbers(a.x, b.x) && close_numbers(a.r, b.r, a.first_r));
  }

  /// Uses one trace for both sets of values.
  template <class Make>
  static void check(const std::string& name, const P& first, const P& second, const Make& make)
  {
    const Watchdog watchdog(name, patience);
    Out out, expected;
    Loop<decltype(make(first, out))> loop;
    const Status status = loop.trace(make(first, out));
    ASSERT_TRUE(status.ok()) << name << ": " << status.message();
    for (const P* problem : {&first, &second}) {
      run_in_sequence(make(*problem, expected));
      for (int threads : teams({1, 2, 4})) {
        ASSERT_TRUE(loop.execute(make(*problem, out), threads).ok());
        ASSERT_TRUE(agree(loop.reproducible() || threads == 1, out, expected)) << name << ", threads: " << threads;
      }
    }
  }
};
TYPED_TEST_SUITE(LoopKernels, EachScalar);

TYPED_TEST(LoopKernels, equal_their_sequential_run_on_every_battery_matrix_and_again_with_new_numbers)
{
  using P = typename TestFixture::P;
  for (const BatteryEntry& entry : battery()) {
    if (!entry.factorable || (short_run() && std::string(entry.name) == "n_100000")) continue;
    const P first(make_battery_matrix<typename P::T, typename P::I>(entry.name, 0));
    const P second(make_battery_matrix<typename P::T, typename P::I>(entry.name, 1));
    for_each_kernel<P>([&](const std::string& kernel, const auto& make) {
      this->check(kernel + " of " + entry.name, first, second, make);
    });
  }
}

TYPED_TEST(LoopKernels, by_rows_are_bitwise_reproducible_and_by_columns_where_each_entry_has_one_who_adds)
{
  using P = typename TestFixture::P;
  for (const char* matrix : {"chain", "random_wide"}) {
    const P p(make_battery_matrix<typename P::T, typename P::I>(matrix));
    for_each_kernel<P>([&](const std::string& kernel, const auto& make) {
      typename TestFixture::Out out;
      Loop<decltype(make(p, out))> loop;
      ASSERT_TRUE(loop.trace(make(p, out)).ok());
      const bool by_columns = kernel.find("by columns") != std::string::npos;
      const bool symmetric = kernel.find("Gauss-Seidel 2") != std::string::npos;  // affine in each half only
      const bool product = kernel.find("product") != std::string::npos;
      const bool alone = std::string(matrix) == "chain" && !product && !symmetric;
      EXPECT_EQ(loop.reproducible(), !by_columns || alone) << kernel << " of " << matrix;
      const Signal expected = by_columns && !symmetric ? Signal::counts : Signal::flags;
      EXPECT_EQ(loop.plan().signal, product ? Signal::none : expected) << kernel << " of " << matrix;
    });
  }
}

/// A value that is not finite reaches all rows that read it, and no thread waits forever for it.
TYPED_TEST(LoopKernels, end_with_nan_among_the_numbers)
{
  using P = typename TestFixture::P;
  using T = typename P::T;
  for (const char* matrix : {"random_band", "poisson_ilu0"}) {
    auto A = make_battery_matrix<T, typename P::I>(matrix);
    A.value[A.value.size() / 3] = T(std::numeric_limits<real_t<T>>::quiet_NaN());
    const P p(A);
    for_each_kernel<P>([&](const std::string& kernel, const auto& make) {
      const Watchdog watchdog(kernel + " with NaN", patience);
      typename TestFixture::Out out, expected;
      run_in_sequence(make(p, expected));
      Loop<decltype(make(p, out))> loop;
      ASSERT_TRUE(loop.trace(make(p, out)).ok());
      ASSERT_TRUE(loop.execute(make(p, out), 3).ok());
      for (std::size_t k = 0; k < out.x.size(); ++k)
        ASSERT_EQ(is_finite(out.x[k]), is_finite(expected.x[k])) << kernel << " of " << matrix << ", " << k;
    });
  }
}

/// The solves agree with the oracle, whatever the order of their sums.
TYPED_TEST(LoopKernels, solve_as_the_oracle_does)
{
  using P = typename TestFixture::P;
  for (const BatteryEntry& entry : battery()) {
    if (!entry.factorable || std::string(entry.name) == "n_100000") continue;
    const P p(make_battery_matrix<typename P::T, typename P::I>(entry.name));
    const auto lower = oracle_solve<typename P::T>(p.L.view(), p.b.data(), false);
    const auto upper = oracle_solve<typename P::T>(p.U.view(), p.b.data(), false);
    for_each_kernel<P>([&](const std::string& kernel, const auto& make) {
      if (kernel.find("solve with") == std::string::npos) return;
      typename TestFixture::Out out;
      Loop<decltype(make(p, out))> loop;
      ASSERT_TRUE(loop.trace(make(p, out)).ok());
      ASSERT_TRUE(loop.execute(make(p, out), 4).ok());
      const bool with_l = kernel.find("with L") != std::string::npos;
      EXPECT_EQ(difference(out.x.data(), with_l ? lower : upper), "") << kernel << " of " << entry.name;
    });
  }
}

/// A symmetric sweep in one loop equals a forward and a backward sweep.
TYPED_TEST(LoopKernels, sweep_forward_and_then_backward_as_in_one_symmetric_sweep)
{
  using P = typename TestFixture::P;
  using T = typename P::T;
  using I = typename P::I;
  const P p(make_battery_matrix<T, I>("random_band"));
  std::vector<T> twice = p.start, once = p.start;
  const auto body = [&p](Sweep sweep, std::vector<T>& x) {
    return GaussSeidelCsr<T, I>(sweep, p.A.pattern(), p.row_diagonal.data(), p.A.value.data(), p.b.data(), x.data());
  };
  run_in_sequence(body(Sweep::forward, twice));
  run_in_sequence(body(Sweep::backward, twice));
  Loop<GaussSeidelCsr<T, I>> loop;
  ASSERT_TRUE(loop.trace(body(Sweep::symmetric, once)).ok());
  ASSERT_TRUE(loop.execute(body(Sweep::symmetric, once), 2).ok());
  EXPECT_TRUE(same_numbers(once, twice));
}

/// Factors A by the library's own factorization.
template <class T, class I> std::unique_ptr<Preconditioner<T, I>> factored(const OwnedCsr<T, I>& A, Kind kind)
{
  auto made = make_host_preconditioner<T, I>();
  SymbolicOptions<I> symbolic;
  symbolic.kind = kind;
  EXPECT_TRUE(made->analyse(A.pattern(), symbolic, {"serial", 1}).ok());
  EXPECT_TRUE(made->refresh(A.view(), PivotRule()).ok());
  return made;
}

TYPED_TEST(LoopKernels, factor_as_the_library_does)
{
  using P = typename TestFixture::P;
  using T = typename P::T;
  using I = typename P::I;
  for (const char* matrix : {"poisson_ilu0", "random_wide", "dense65"}) {
    const P p(make_battery_matrix<T, I>(matrix));
    std::vector<T> a = p.A.value;
    Loop<Ilu0Csr<T, I>> loop;
    ASSERT_TRUE(loop.trace(Ilu0Csr<T, I>(p.A.pattern(), p.row_diagonal.data(), a.data())).ok());
    ASSERT_TRUE(loop.execute(Ilu0Csr<T, I>(p.A.pattern(), p.row_diagonal.data(), a.data()), 3).ok());
    const auto factor = factored(p.A, Kind::ilu);
    const FactorValues<T> F = factor->values();
    std::vector<T> theirs;
    for (I i = 0; i < p.A.n; ++i) {
      const FactorPattern<I>& f = factor->pattern();
      theirs.insert(theirs.end(), F.lower.begin() + f.lower_begin[i], F.lower.begin() + f.lower_begin[i + 1]);
      theirs.push_back(T(1) / F.inverse_pivot[i]);
      theirs.insert(theirs.end(), F.upper.begin() + f.upper_begin[i], F.upper.begin() + f.upper_begin[i + 1]);
    }
    EXPECT_TRUE(close_numbers(a, theirs)) << matrix;
  }
}

/// U^T D U with unit U is L L^T with L = U^T D^(1/2).
TYPED_TEST(LoopKernels, factor_a_symmetric_matrix_as_the_library_does)
{
  using P = typename TestFixture::P;
  using T = typename P::T;
  using I = typename P::I;
  const P p(make_poisson<T, I>(9, 8, 7));
  std::vector<T> a = p.low.value, theirs;
  Loop<Ic0Csr<T, I>> loop;
  ASSERT_TRUE(loop.trace(Ic0Csr<T, I>(p.low.pattern(), a.data())).ok());
  ASSERT_TRUE(loop.execute(Ic0Csr<T, I>(p.low.pattern(), a.data()), 3).ok());
  const auto factor = factored(p.A, Kind::icc);
  const FactorValues<T> F = factor->values();
  for (I i = 0; i < p.A.n; ++i) {
    const FactorPattern<I>& f = factor->pattern();
    for (I k = f.lower_begin[i]; k < f.lower_begin[i + 1]; ++k)
      theirs.push_back(F.lower[k] / std::sqrt(F.inverse_pivot[f.lower_column[k]]));
    theirs.push_back(T(1) / std::sqrt(F.inverse_pivot[i]));
  }
  EXPECT_TRUE(close_numbers(a, theirs));
}

}  // namespace
}  // namespace syncfree
