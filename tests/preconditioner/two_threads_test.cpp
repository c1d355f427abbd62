/// One object, two threads: each call succeeds with a right result or is refused, and none waits forever.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "../battery.hpp"
#include "../no_plan.hpp"
#include "../oracle.hpp"
#include "../watchdog.hpp"
#include "backend.hpp"
#include "syncfree/strategy.hpp"

namespace syncfree {
namespace {

using I = std::int32_t;
using P = Preconditioner<double, I>;

/// Results of a thread's calls, which the other thread reads.
struct Outcome {
  std::atomic<int> right{0}, turned_away{0}, wrong{0};
};

/// Solves, and every eighth time refreshes, until both threads have had a right result and one call was refused, or for
/// ten seconds.
void call(P* p, const OwnedCsr<double, I>& A, const std::vector<double>& b, const std::vector<double>& truth,
          Outcome* mine, const Outcome* other)
{
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::seconds(10);
  const auto seen = [&] { return mine->right > 0 && other->right > 0 && mine->turned_away + other->turned_away > 0; };
  for (int k = 0; !seen() && Clock::now() < end; ++k) {
    std::vector<double> x(b.size());
    const bool refreshes = k % 8 == 7;
    const Status status = refreshes ? p->refresh(A.view(), {}) : p->solve(Operation::none, b.data(), x.data(), {});
    if (status.code == Code::busy) {
      ++mine->turned_away;
      continue;
    }
    double error = 0;
    for (std::size_t i = 0; i < b.size() && !refreshes; ++i) error = std::max(error, std::abs(x[i] - truth[i]));
    ++(status.ok() && error <= 1e-10 ? mine->right : mine->wrong);
    std::this_thread::sleep_for(std::chrono::microseconds(100));  // lets the other thread run
  }
}

TEST(TwoThreads, get_the_right_answer_or_are_turned_away)
{
  const Watchdog watchdog("two threads with one object", patience);
  const auto A = make_poisson<double, I>(20, 20, short_run() ? 1 : 10);
  const std::vector<double> b(static_cast<std::size_t>(A.n), 1.0);
  for (const StrategyInfo& info : strategies()) {
    const std::string name = info.name;
    if (std::string(info.backend) != tested().name || name.find("block") != std::string::npos) continue;
    SCOPED_TRACE(name);
    const auto p = make_tested<double, I>();
    const Status analysed = p->analyse(A.pattern(), {}, {name, 2});
    if (has_no_plan(name, analysed)) continue;
    ASSERT_EQ(analysed.message(), "success");
    ASSERT_EQ(p->refresh(A.view(), {}).message(), "success");
    std::vector<double> truth(b.size());
    ASSERT_EQ(p->solve(Operation::none, b.data(), truth.data(), {}).message(), "success");
    Outcome one, two;
    std::thread other([&] { call(p.get(), A, b, truth, &two, &one); });
    call(p.get(), A, b, truth, &one, &two);
    other.join();
    EXPECT_EQ(one.wrong + two.wrong, 0);
    EXPECT_GT(one.right, 0);
    EXPECT_GT(two.right, 0);
    EXPECT_GT(one.turned_away + two.turned_away, 0);
    std::vector<double> x(b.size());
    EXPECT_EQ(p->solve(Operation::none, b.data(), x.data(), {}).message(), "success") << "afterwards all is well";
  }
}

}  // namespace
}  // namespace syncfree
