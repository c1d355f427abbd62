/// The threads that for_parts keeps, together with an OpenMP that pins threads and an application that handles signals.

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "../watchdog.hpp"
#include "core/support/parallel.hpp"
#include "syncfree/ready.hpp"

namespace syncfree {
namespace {

constexpr int team = 4;

/// Runs look() concurrently on each helper thread of a team, not on the caller.
template <class Look> void on_each(const Look& look)
{
  std::atomic<int> begun{0};
  const pid_t caller = gettid();
  for_parts(team, team, [&](std::size_t) {
    ++begun;
    wait_until([&] { return begun == team; });
    if (gettid() != caller) look();
  });
}

/// Runs this program again, for one test in a process of its own.
///   processors  that it may run on
///   returns true if the test passed
bool passes_alone(const std::string& test, const std::map<std::string, std::string>& environment,
                  const cpu_set_t& processors)
{
  const pid_t child = fork();
  if (child == 0) {
    sched_setaffinity(0, sizeof processors, &processors);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    alarm(patience);
    execl("/proc/self/exe", "host_tests", ("--gtest_filter=" + test).c_str(), nullptr);
    _exit(1);
  }
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string list_of(const cpu_set_t& set)
{
  std::string list;
  for (int p = 0; p < CPU_SETSIZE; ++p)
    if (CPU_ISSET(p, &set)) list += std::to_string(p) + " ";
  return list;
}

class HelperThreads : public testing::Test {
protected:
  void SetUp() override { ASSERT_EQ(0, sched_getaffinity(0, sizeof all_, &all_)); }
  cpu_set_t all_;

private:
  const Watchdog watchdog_{"for_parts", patience};
};

/// The allowed processors are those of the process; SYNCFREE_PROCESSORS lists them if the main thread is pinned.
TEST_F(HelperThreads, may_run_wherever_the_process_may)
{
  const char* const expected = std::getenv("SYNCFREE_PROCESSORS");
  const std::string all = expected ? expected : list_of(all_);
  std::atomic<int> right{0};
  on_each([&] {
    cpu_set_t mine;
    right += sched_getaffinity(0, sizeof mine, &mine) == 0 && list_of(mine) == all;
  });
  EXPECT_EQ(right, team - 1);
}

TEST_F(HelperThreads, are_not_pinned_with_the_thread_that_openmp_pins)
{
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int p = 0; p < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++p)
    if (CPU_ISSET(p, &all_)) CPU_SET(p, &one);
  for (const cpu_set_t& set : {all_, one})
    for (const char* bind : {"true", "false", "close", "spread"})
      EXPECT_TRUE(passes_alone("HelperThreads.may_run_wherever_the_process_may",
                               {{"OMP_PROC_BIND", bind}, {"SYNCFREE_PROCESSORS", list_of(set)}}, set))
          << bind << " on " << list_of(set);
}

/// Returns a line of a thread's status file.
std::string status_line(const std::string& task, const std::string& name)
{
  std::ifstream file("/proc/self/task/" + task + "/status");
  for (std::string line; std::getline(file, line);)
    if (line.rfind(name, 0) == 0) return line.substr(name.size());
  return {};
}

bool has_signal(const std::string& mask, int signal)
{
  return !mask.empty() && (std::stoull(mask, nullptr, 16) >> (signal - 1) & 1) != 0;
}

TEST_F(HelperThreads, leave_signals_to_the_application)
{
  std::atomic<int> right{0};
  on_each([&] {
    const std::string blocked = status_line(std::to_string(gettid()), "SigBlk:");
    bool good = true;
    for (const int signal : {SIGALRM, SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD, SIGPROF, SIGRTMIN})
      good = good && has_signal(blocked, signal);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) good = good && !has_signal(blocked, fault);
    right += good;
  });
  EXPECT_EQ(right, team - 1);
  EXPECT_FALSE(has_signal(status_line(std::to_string(gettid()), "SigBlk:"), SIGTERM)) << "the caller's own mask";
}

}  // namespace
}  // namespace syncfree
