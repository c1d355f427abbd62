/// Several threads that are slower than one give way to it, and the view reports it; and `auto` reports the gain from
/// more threads. The clock is simulated.

#include "host/team_monitor.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "../battery.hpp"
#include "../watchdog.hpp"
#include "syncfree/relaxation.hpp"
#include "syncfree/solver.hpp"
#include "syncfree/threads.hpp"

namespace syncfree {
namespace {

using I = std::int32_t;

TEST(TeamMonitor, watches_nothing_before_it_is_started)
{
  TeamMonitor watch;
  EXPECT_FALSE(watch.watches());
  for (int k = 0; k < 10; ++k) EXPECT_FALSE(watch.record_apply(1e9));
  EXPECT_FALSE(watch.works_alone());
  EXPECT_FALSE(watch.has_fallen_back());
}

TEST(TeamMonitor, leaves_a_team_alone_that_is_slow_now_and_then)
{
  TeamMonitor watch;
  watch.start_watching(1);
  for (int k = 0; k < 30; ++k) {
    EXPECT_FALSE(watch.record_apply(k % 3 == 2 ? 0.9 : 50));
    EXPECT_FALSE(watch.works_alone());
  }
}

TEST(TeamMonitor, falls_back_after_three_slow_applies_if_one_thread_is_faster)
{
  TeamMonitor watch;
  watch.start_watching(1);
  EXPECT_FALSE(watch.record_apply(4));
  EXPECT_FALSE(watch.record_apply(3));
  EXPECT_TRUE(watch.record_apply(5)) << "one thread is tried";
  EXPECT_TRUE(watch.works_alone());
  EXPECT_FALSE(watch.has_fallen_back());
  EXPECT_FALSE(watch.record_apply(2)) << "and goes on";
  EXPECT_TRUE(watch.has_fallen_back());
  EXPECT_FALSE(watch.watches());
  EXPECT_FALSE(watch.record_apply(100));
  EXPECT_TRUE(watch.works_alone());
  const std::string reason = watch.reason();
  for (const char* part : {"3 applications", "3e+03 ms", "2e+03 ms", "one thread"})
    EXPECT_NE(reason.find(part), std::string::npos) << reason;
}

TEST(TeamMonitor, learns_what_one_thread_takes_where_it_is_slower_still)
{
  TeamMonitor watch;
  watch.start_watching(1);
  for (int k = 0; k < 3; ++k) watch.record_apply(3);
  EXPECT_TRUE(watch.record_apply(6)) << "the team is back";
  EXPECT_FALSE(watch.works_alone());
  for (int k = 0; k < 10; ++k) EXPECT_FALSE(watch.record_apply(5.5)) << "below what one thread took";
  for (int k = 0; k < 3; ++k) EXPECT_EQ(watch.record_apply(8), k == 2);
  watch.record_apply(7);
  EXPECT_TRUE(watch.has_fallen_back());
}

/// Each read of the clock advances it by `step` seconds.
double step = 0, made_up_time = 0;
double made_up_clock() { return made_up_time += step; }

class SlowTeams : public testing::Test {
protected:
  void SetUp() override
  {
    clock_ = team_clock;
    team_clock = made_up_clock;
  }
  void TearDown() override { team_clock = clock_; }

  const OwnedCsr<double, I> A_ = make_poisson<double, I>(20, 20, 20);
  const std::vector<double> b_ = random_vector<double>(static_cast<std::size_t>(A_.n), 5);

private:
  const Watchdog watchdog_{"slow teams", patience};
  double (*clock_)() = nullptr;
};

using Host = Preconditioner<double, I>;

std::vector<double> solved(Host* p, Operation op, const std::vector<double>& b)
{
  std::vector<double> x(b.size());
  const I n = static_cast<I>(b.size());
  EXPECT_TRUE(p->solve(op, b.data(), x.data(), {1, n, n}).ok());
  return x;
}

/// Makes three slow applies, then one that takes `alone` seconds.
void slow_down(Host* p, const std::vector<double>& b, double seconds, double alone)
{
  for (int k = 0; k < 3; ++k) {
    step = seconds;
    EXPECT_GT(p->summarize().threads, 1) << k;
    solved(p, Operation::none, b);
  }
  step = alone;
  solved(p, Operation::none, b);
}

TEST_F(SlowTeams, of_a_preconditioner_give_way_to_one_thread)
{
  for (const Kind kind : {Kind::ilu, Kind::icc}) {
    SymbolicOptions<I> symbolic;
    symbolic.kind = kind;
    const auto p = make_host_preconditioner<double, I>(), one = make_host_preconditioner<double, I>();
    ASSERT_TRUE(one->analyse(A_.pattern(), symbolic, {"auto", 1}).ok());
    ASSERT_TRUE(one->refresh(A_.view(), {}).ok());
    ASSERT_TRUE(p->analyse(A_.pattern(), symbolic, {"auto", 2}).ok());
    ASSERT_TRUE(p->refresh(A_.view(), {}).ok());
    const Summary before = p->summarize();
    ASSERT_EQ(before.strategy, "blocks") << before.reason;
    const auto x = solved(one.get(), Operation::none, b_), y = solved(one.get(), Operation::transpose, b_);
    slow_down(p.get(), b_, 1, 0.5);
    EXPECT_TRUE(p->fell_back());
    const Summary after = p->summarize();
    EXPECT_EQ(after.threads, 1);
    EXPECT_EQ(after.strategy, "blocks");
    EXPECT_EQ(after.reason.find(before.reason), 0U) << after.reason;
    EXPECT_NE(after.reason.find("3 applications took longer"), std::string::npos) << after.reason;
    EXPECT_EQ(solved(p.get(), Operation::none, b_), x) << "bit by bit";
    EXPECT_EQ(solved(p.get(), Operation::transpose, b_), y) << "triangles that were made afterwards";
    ASSERT_TRUE(p->refresh(A_.view(), {}).ok());
    EXPECT_EQ(solved(p.get(), Operation::none, b_), x) << "factored by one thread";
    EXPECT_FALSE(one->fell_back());
    ASSERT_TRUE(p->analyse(A_.pattern(), symbolic, {"auto", 2}).ok());
    EXPECT_FALSE(p->fell_back()) << "a new analysis is a new chance";
  }
}

TEST_F(SlowTeams, go_on_where_one_thread_is_slower)
{
  const auto p = make_host_preconditioner<double, I>();
  ASSERT_TRUE(p->analyse(A_.pattern(), {}, {"auto", 2}).ok());
  ASSERT_TRUE(p->refresh(A_.view(), {}).ok());
  slow_down(p.get(), b_, 1, 2);
  EXPECT_FALSE(p->fell_back());
  EXPECT_EQ(p->summarize().threads, 2);
}

TEST_F(SlowTeams, that_were_asked_for_by_name_stay)
{
  for (const char* name : {"blocks", "level_set", "sync_free"}) {
    const auto p = make_host_preconditioner<double, I>();
    ASSERT_TRUE(p->analyse(A_.pattern(), {}, {name, 2}).ok());
    ASSERT_TRUE(p->refresh(A_.view(), {}).ok());
    for (int k = 0; k < 10; ++k) {
      step = 100 - k;
      solved(p.get(), Operation::none, b_);
    }
    EXPECT_FALSE(p->fell_back()) << name;
    EXPECT_EQ(p->summarize().threads, 2) << name;
  }
}

/// A triangular solver on one thread, and on the team again.
TEST(Teams, solve_alone_with_the_same_numbers)
{
  const auto A = make_poisson<double, I>(20, 20, 5);
  const auto one = make_host_preconditioner<double, I>();
  ASSERT_TRUE(one->analyse(A.pattern(), {}, {"serial", 1}).ok());
  ASSERT_TRUE(one->refresh(A.view(), {}).ok());
  const auto& pattern = one->pattern();
  const auto values = one->values();
  const std::vector<double> b = random_vector<double>(static_cast<std::size_t>(A.n), 5);
  for (const char* name : {"blocks", "level_set", "sync_free", "serial", "loop"}) {
    std::unique_ptr<TriangularSolver<double, double, I>> solver;
    const TriangleView<double, I> upper = {false, pattern.upper(), values.upper.data(), values.inverse_pivot.data()};
    ASSERT_TRUE((make_host_solver<double, double, I>({name, 3}, upper, &solver).ok())) << name;
    solver->update_values(values.upper.data(), values.inverse_pivot.data());
    std::vector<double> x(b.size()), y(b.size());
    const auto near = [&] {
      for (std::size_t i = 0; i < x.size(); ++i)
        if (!(std::abs(x[i] - y[i]) <= 1e-12 * (1 + std::abs(x[i])))) return false;
      return true;
    };
    solver->solve_triangle(b.data(), x.data(), {1, A.n, A.n}, false);
    for (const bool alone : {true, false, true}) {
      solver->work_alone(alone);
      solver->solve_triangle(b.data(), y.data(), {1, A.n, A.n}, false);
      EXPECT_TRUE(near()) << name;
    }
    const std::string words = name;
    EXPECT_TRUE(words == "loop" || solver->describe_solver().threads == 1) << name;
  }
}

TEST_F(SlowTeams, of_sweeps_give_way_to_one_thread)
{
  const auto p = make_host_relaxation<double, I>();
  ASSERT_TRUE(p->analyse(A_.pattern(), {}, {"auto", 2}).ok());
  ASSERT_TRUE(p->refresh(A_.view(), 1, 0, 0).ok());
  ASSERT_EQ(p->summarize().strategy, "blocks") << p->summarize().reason;
  std::vector<double> x(b_.size()), first(b_.size());
  for (int k = 0; k < 4; ++k) {
    EXPECT_EQ(p->summarize().threads, k < 3 ? 2 : 1) << k;
    step = k < 3 ? 1 : 0.5;
    ASSERT_TRUE(p->relax(Sweep::symmetric, true, 2, b_.data(), x.data()).ok());
    if (k == 0) first = x;
    EXPECT_EQ(x, first) << "bit by bit";
  }
  EXPECT_TRUE(p->fell_back());
  EXPECT_EQ(p->summarize().threads, 1);
  EXPECT_NE(p->summarize().reason.find("3 applications took longer"), std::string::npos) << p->summarize().reason;
}

TEST(MoreThreads, are_what_one_thread_is_told_of)
{
  const auto A = make_poisson<double, I>(20, 20, 20), small = make_poisson<double, I>(5, 5, 5);
  const auto p = make_host_preconditioner<double, I>();
  const auto s = make_host_relaxation<double, I>();
  EXPECT_EQ(p->choice_with(2).strategy, "") << "nothing was analysed";
  EXPECT_EQ(s->choice_with(2).strategy, "");
  ASSERT_TRUE(p->analyse(A.pattern(), {}, {"auto", 1}).ok());
  ASSERT_TRUE(s->analyse(A.pattern(), {}, {"auto", 1}).ok());
  const auto q = make_host_preconditioner<double, I>();
  ASSERT_TRUE(q->analyse(A.pattern(), {}, {"auto", 2}).ok());
  EXPECT_EQ(p->choice_with(2).strategy, q->summarize().strategy);
  EXPECT_EQ(p->choice_with(2).reason, q->summarize().reason) << "what they get";
  EXPECT_EQ(s->choice_with(2).strategy, "blocks");
  EXPECT_EQ(q->choice_with(4).strategy, "") << "they have threads";
  ASSERT_TRUE(p->analyse(small.pattern(), {}, {"auto", 1}).ok());
  ASSERT_TRUE(s->analyse(small.pattern(), {}, {"auto", 1}).ok());
  EXPECT_EQ(p->choice_with(2).strategy, "serial") << "too small";
  EXPECT_EQ(s->choice_with(2).strategy, "serial");
  ASSERT_TRUE(p->analyse(A.pattern(), {}, {"serial", 1}).ok());
  EXPECT_EQ(p->choice_with(2).strategy, "") << "was not asked to choose";
}

TEST(MoreThreads, than_there_may_be_are_refused_in_words)
{
  const auto A = make_poisson<double, I>(4, 4, 4);
  for (const int threads : {0, -5, most_threads() + 1, 40000}) {
    const SolverOptions options = {"sync_free", threads};
    const Status factor = make_host_preconditioner<double, I>()->analyse(A.pattern(), {}, options);
    const Status sweeps = make_host_relaxation<double, I>()->analyse(A.pattern(), {}, options);
    std::unique_ptr<TriangularSolver<double, double, I>> solver;
    const Status solve = make_host_solver<double, double, I>(options, {true, A.pattern(), nullptr, nullptr}, &solver);
    for (const Status& status : {factor, sweeps, solve}) {
      EXPECT_EQ(status.code, Code::invalid_argument) << threads;
      EXPECT_NE(status.message().find("threads"), std::string::npos) << status.message();
    }
  }
}

}  // namespace
}  // namespace syncfree
