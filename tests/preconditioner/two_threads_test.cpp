/// One object, two threads: a call is answered rightly or turned away, and none waits for ever.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "../battery.hpp"
#include "../oracle.hpp"
#include "../watchdog.hpp"
#include "backend.hpp"
#include "syncfree/strategy.hpp"

namespace syncfree {
namespace {

using I = std::int32_t;
using P = Preconditioner<double, I>;

/// What came of a thread's calls; the other thread looks at it.
struct Outcome {
  std::atomic<int> right{0}, turned_away{0}, wrong{0};
};

/// Solves, and now and then refreshes, until both threads have had an answer and one was turned away, or it takes long.
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
    std::this_thread::sleep_for(std::chrono::microseconds(100));  // the other one's turn
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
    ASSERT_EQ(p->analyse(A.pattern(), {}, {name, 2}).message(), "success");
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
