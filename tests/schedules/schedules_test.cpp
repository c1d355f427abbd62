/// Solves and factorizations by threads that sleep at random (random_sleeps.hpp): SYNCFREE_SOLVES, or as many as
/// SYNCFREE_SECONDS (16) allow, over the small matrices of the battery, every strategy of the host and teams of 2 to 4
/// threads. A reproducible strategy must give the bits of its first solve, the others a solution within the oracle's
/// bound. The library of this program is compiled with SYNCFREE_RANDOM_SLEEPS.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "../battery.hpp"
#include "../no_plan.hpp"
#include "../oracle.hpp"
#include "../types.hpp"
#include "../watchdog.hpp"
#include "random_sleeps.hpp"
#include "syncfree/relaxation.hpp"
#include "syncfree/solver.hpp"
#include "syncfree/strategy.hpp"

namespace syncfree {
namespace {

/// Several orders of magnitude, from delays at most places to hardly any.
constexpr std::uint64_t rarities[] = {2, 16, 128};

template <class T> bool same_bits(const std::vector<T>& a, const std::vector<T>& b)
{
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <class T, class I> OwnedTriangle<T, I> copy_triangle(const Preconditioner<T, I>& p, bool lower)
{
  const FactorPattern<I>& pattern = p.pattern();
  const FactorValues<T> values = p.values();
  const auto copy = [](const auto& array) {
    return std::vector<std::decay_t<decltype(array[0])>>(array.begin(), array.end());
  };
  if (lower) return {true, pattern.n, copy(pattern.lower_begin), copy(pattern.lower_column), copy(values.lower), {}};
  return {false, pattern.n, copy(pattern.upper_begin), copy(pattern.upper_column), copy(values.upper),
          copy(values.inverse_pivot)};
}

/// What is solved again and again: a matrix by one strategy and one number of threads.
template <class T, class I> class Repeated {
public:
  Repeated(const char* matrix, const StrategyInfo& strategy, int threads)
      : name_(std::string(matrix) + " by " + strategy.name + " with " + std::to_string(threads) + " threads"),
        reproducible_(strategy.reproducible), A_(make_battery_matrix<T, I>(matrix)),
        options_{strategy.name, threads, false, {"paper", std::max<std::int64_t>(4, A_.n / 8)}},
        b_(random_vector<T>(static_cast<std::size_t>(A_.n), 5)), x_(b_.size())
  {
  }

  const std::string& name() const { return name_; }

  /// Returns false if the strategy has no plan for the matrix, or fails.
  bool begin()
  {
    solver_ = make_host_preconditioner<T, I>();
    const Status status = solver_->analyse(A_.pattern(), {}, options_);
    if (has_no_plan(options_.strategy, status)) return false;
    EXPECT_EQ(status.message(), "success");
    if (!refresh()) return false;
    lower_ = oracle_solve<T>(copy_triangle(*solver_, true).view(), b_.data(), false);
    upper_ = oracle_solve<T>(copy_triangle(*solver_, false).view(), b_.data(), false);
    solve();
    first_ = x_;
    factor_ = factor();
    return true;
  }

  /// Returns what differs, or an empty text.
  std::string solve_again()
  {
    if (reproducible_) {
      solve();
      return same_bits(x_, first_) ? "" : "other bits";
    }
    EXPECT_TRUE(solver_->solve_forward_half(b_.data(), x_.data()).ok());
    const std::string wrong = difference(x_.data(), lower_);
    if (!wrong.empty()) return wrong + " of L";
    EXPECT_TRUE(solver_->solve_backward_half(b_.data(), x_.data()).ok());
    return difference(x_.data(), upper_);
  }

  /// Analyses and factors anew, with the factor's bits; later solves still have the bits of the first.
  std::string factor_again()
  {
    EXPECT_EQ(solver_->analyse(A_.pattern(), {}, options_).message(), "success");
    if (!refresh()) return "no factor";
    return same_bits(factor(), factor_) ? "" : "another factor";
  }

private:
  bool refresh()
  {
    const Status status = solver_->refresh(A_.view(), PivotRule());
    EXPECT_EQ(status.message(), "success") << name_;
    return status.ok();
  }
  void solve() { EXPECT_TRUE(solver_->solve(Operation::none, b_.data(), x_.data(), {1, A_.n, A_.n}).ok()); }

  std::vector<T> factor() const
  {
    const FactorValues<T> values = solver_->values();
    std::vector<T> all(values.lower.begin(), values.lower.end());
    all.insert(all.end(), values.upper.begin(), values.upper.end());
    all.insert(all.end(), values.inverse_pivot.begin(), values.inverse_pivot.end());
    return all;
  }

  std::string name_;
  bool reproducible_;
  OwnedCsr<T, I> A_;
  SolverOptions options_;
  std::vector<T> b_, x_, first_, factor_;
  Solution<T> lower_, upper_;
  std::unique_ptr<Preconditioner<T, I>> solver_;
};

template <class T, class I> std::vector<std::unique_ptr<Repeated<T, I>>> all_repeated()
{
  std::vector<std::unique_ptr<Repeated<T, I>>> all;
  for (const BatteryEntry& entry : battery()) {
    if (!entry.factorable || !entry.bounded || entry.name == std::string("n_100000")) continue;
    for (const StrategyInfo& strategy : strategies()) {
      if (strategy.backend != std::string("host")) continue;
      for (const int threads : {2, 3, 4}) {
        auto one = std::make_unique<Repeated<T, I>>(entry.name, strategy, threads);
        const Watchdog watchdog(one->name(), patience);
        if (one->begin()) all.push_back(std::move(one));
      }
    }
  }
  return all;
}

double setting(const char* name, double otherwise)
{
  const char* text = std::getenv(name);
  return text ? std::atof(text) : otherwise;
}

/// Tells when enough has been done of what is counted.
class Effort {
public:
  explicit Effort(double share)
      : wanted_(share * setting("SYNCFREE_SOLVES", 0)), seconds_(share * setting("SYNCFREE_SECONDS", 16))
  {
  }
  bool continues() const
  {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin_;
    return wanted_ > 0 ? static_cast<double>(done_) < wanted_ : taken.count() < seconds_;
  }
  void count(long more) { done_ += more; }
  long done() const { return done_; }

private:
  double wanted_, seconds_;
  long done_ = 0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

template <class P> class Schedules : public testing::Test {};
TYPED_TEST_SUITE(Schedules, AllTypes);

TYPED_TEST(Schedules, do_not_change_a_solution_or_a_factor)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  constexpr int solves_in_turn = 10;
  const auto all = all_repeated<T, I>();
  ASSERT_GT(all.size(), 300u);
  const std::uint64_t before = schedules::delays;
  Effort effort(0.4);
  for (std::size_t turn = 0; effort.continues() && !testing::Test::HasFailure(); ++turn)
    for (std::size_t k = 0; k < all.size() && effort.continues(); ++k) {
      Repeated<T, I>& one = *all[k];
      const Watchdog watchdog(one.name(), patience);
      schedules::rarity = rarities[(turn + k) % std::size(rarities)];
      for (int solve = 0; solve < solves_in_turn; ++solve)
        ASSERT_EQ(one.solve_again(), "") << one.name() << ", solve " << turn * solves_in_turn + solve;
      ASSERT_EQ(one.factor_again(), "") << one.name();
      effort.count(solves_in_turn);
    }
  std::printf("%ld solves, %llu delays\n", effort.done(), static_cast<unsigned long long>(schedules::delays - before));
  EXPECT_GT(schedules::delays - before, static_cast<std::uint64_t>(effort.done()));
}

TEST(SchedulesOfSweeps, do_not_change_x)
{
  using I = std::int32_t;
  const std::uint64_t before = schedules::delays;
  Effort effort(0.2);
  for (std::size_t turn = 0; effort.continues() && !testing::Test::HasFailure(); ++turn)
    for (const char* matrix : {"poisson_ilu0", "random_band", "nodes"})
      for (const char* strategy : {"level_set", "blocks"}) {
        const Watchdog watchdog(std::string(matrix) + " by " + strategy, patience);
        const auto A = make_battery_matrix<double, I>(matrix);
        const std::vector<double> b = random_vector<double>(static_cast<std::size_t>(A.n), 5);
        std::vector<double> first;
        for (const int threads : {2, 3, 4}) {
          const auto sweeps = make_host_relaxation<double, I>();
          ASSERT_EQ(sweeps->analyse(A.pattern(), {}, {strategy, threads}).message(), "success");
          ASSERT_EQ(sweeps->refresh(A.view(), 1.5, 0, 0).message(), "success");
          for (int time = 0; time < 10; ++time) {
            schedules::rarity = rarities[static_cast<std::size_t>(time) % std::size(rarities)];
            std::vector<double> x(b.size());
            ASSERT_TRUE(sweeps->relax(Sweep::symmetric, true, 1, b.data(), x.data()).ok());
            if (first.empty()) first = x;
            ASSERT_TRUE(same_bits(x, first)) << matrix << " by " << strategy << " with " << threads << " threads";
          }
          effort.count(10);
        }
      }
  std::printf("%ld sweeps, %llu delays\n", effort.done(), static_cast<unsigned long long>(schedules::delays - before));
  EXPECT_GT(schedules::delays, before);
}

}  // namespace
}  // namespace syncfree
