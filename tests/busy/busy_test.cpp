/// Applies on a machine whose cores are all busy with other processes, compared with applies by one thread. Times are
/// medians of alternating applies. Other load disturbs them, so config/nightly.sh runs this test, not test.sh.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "factored.hpp"
#include "matrices.hpp"

namespace {

/// Busy loops in twice as many processes as there are processors.
class Crowd {
 public:
  Crowd()
  {
    for (unsigned k = 0; k < 2 * std::thread::hardware_concurrency(); ++k) {
      const pid_t child = fork();
      if (child == 0) {
        alarm(600);
        for (std::atomic<unsigned long> spins{0};; ++spins) {}
      }
      if (child > 0) children_.push_back(child);
    }
  }
  ~Crowd()
  {
    for (const pid_t child : children_) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }
  Crowd(const Crowd&) = delete;

 private:
  std::vector<pid_t> children_;
};

class Contender {
 public:
  Contender(Mat A, const std::string& text) : b_(make_vector(random_numbers(rows(A), 3))), x_(make_vector(rows(A)))
  {
    Options options(text);
    ok(PCCreate(PETSC_COMM_SELF, pc_.out()));
    ok(PCSetOperators(pc_, A, A));
    ok(PCSetType(pc_, PCSYNCFREEILU));
    ok(PCSetFromOptions(pc_));
    for (int k = 0; k < 5; ++k) ok(PCApply(pc_, b_, x_));
  }

  void take_turn()
  {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    ok(PCApply(pc_, b_, x_));
    times_.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }

  double median()
  {
    std::nth_element(times_.begin(), times_.begin() + static_cast<std::ptrdiff_t>(times_.size() / 2), times_.end());
    return times_[times_.size() / 2];
  }

 private:
  PCOwner pc_;
  VecOwner b_, x_;
  std::vector<double> times_;
};

/// Returns the ratio of the median times of two option strings.
double ratio(const std::string& name, Mat A, const std::string& first, const std::string& second)
{
  Contender a(A, first), b(A, second);
  for (int turn = 0; turn < 41; ++turn) {
    a.take_turn();
    b.take_turn();
  }
  std::printf("%-32s %8.3f ms, one thread %8.3f ms: %.2f\n", name.c_str(), 1e3 * a.median(), 1e3 * b.median(),
              a.median() / b.median());
  return a.median() / b.median();
}

class BusyMachine : public testing::Test {
 protected:
  void SetUp() override { unsetenv("OMP_NUM_THREADS"); }
  MatOwner A_ = poisson_2d(300, 300);
  Crowd crowd_;
};

const std::string one = "-pc_syncfree_threads 1";

TEST_F(BusyMachine, takes_with_the_default_about_as_long_as_with_one_thread)
{
  EXPECT_LE(ratio("default", A_, "", one), 1.3);
}

/// `auto` detects it. Strategies requested by name stay, and wait for threads that are not scheduled.
TEST_F(BusyMachine, takes_with_several_threads_at_most_four_times_as_long)
{
  const int cores = std::max(2, static_cast<int>(std::thread::hardware_concurrency()));
  for (const int threads : {cores, 2 * cores}) {
    const std::string option = "-pc_syncfree_threads " + std::to_string(threads);
    EXPECT_LE(ratio(option, A_, option, one), 4);
  }
}

}  // namespace
