/// The threads that for_parts keeps: every part is done once, whichever thread calls, nested or not, and also after
/// fork() and at exit.

#include "core/support/parallel.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <new>
#include <thread>
#include <vector>

#include "syncfree/ready.hpp"
#include "watchdog.hpp"

namespace syncfree {
namespace {

std::size_t parts_done(int threads, std::size_t count)
{
  std::atomic<std::size_t> done{0};
  for_parts(threads, count, [&](std::size_t) { ++done; });
  return done;
}

/// Runs `parts` parts concurrently: none ends before the last has begun.
void meet(int parts)
{
  std::atomic<int> begun{0};
  for_parts(parts, static_cast<std::size_t>(parts), [&](std::size_t) {
    ++begun;
    wait_until([&] { return begun == parts; });
  });
}

/// Runs work() in a child process. Returns true if it returned true in time.
bool child_succeeds(const std::function<bool()>& work)
{
  const pid_t child = fork();
  if (child == 0) {
    alarm(patience);
    _exit(work() ? 0 : 1);
  }
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

double processor_seconds()
{
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](timeval t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

class ForParts : public testing::Test {
  const Watchdog watchdog_{"for_parts", patience};
};

TEST_F(ForParts, does_each_part_once)
{
  for (const int threads : {-1, 0, 1, 2, 3, 16})
    for (const std::size_t count : {0, 1, 2, 3, 17, 1000}) {
      std::vector<std::atomic<int>> done(count);
      for_parts(threads, count, [&](std::size_t part) { ++done[part]; });
      for (const auto& times : done) EXPECT_EQ(times, 1) << threads << " threads";
    }
}

TEST_F(ForParts, has_as_many_threads_at_work_as_asked_for_and_no_more)
{
  meet(16);
  std::atomic<int> now{0}, most{0};
  for (int round = 0; round < 20; ++round)
    for_parts(3, 200, [&](std::size_t) {
      const int here = ++now;
      for (int seen = most; seen < here && !most.compare_exchange_weak(seen, here);) {}
      std::this_thread::yield();
      --now;
    });
  EXPECT_LE(most, 3);
}

TEST_F(ForParts, keeps_its_threads)
{
  static std::atomic<int> made{0};
  thread_local int mine = 0;
  const auto mark = [] {
    if (mine == 0) mine = ++made;
  };
  for (int round = 0; round < 100; ++round) {
    meet(4);
    for_parts(4, 4, [&](std::size_t) { mark(); });
  }
  EXPECT_LE(made, 16) << "15 of another test, and this one";
}

TEST_F(ForParts, takes_many_tiny_calls)
{
  std::size_t done = 0;
  const std::size_t calls = short_run() ? 2000 : 20000;
  for (std::size_t call = 0; call < calls; ++call) done += parts_done(2 + static_cast<int>(call % 5), 3);
  EXPECT_EQ(done, 3 * calls);
}

TEST_F(ForParts, sleeps_between_calls)
{
  meet(8);
  const double before = processor_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_LT(processor_seconds() - before, 0.2) << "seconds of 7 threads that spin would be as many as cores are there";
}

TEST_F(ForParts, may_be_called_by_a_body)
{
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> done{0};
    for_parts(4, 5, [&](std::size_t) {
      for_parts(3, 7, [&](std::size_t) { for_parts(5, 6, [&](std::size_t) { ++done; }); });
    });
    EXPECT_EQ(done, 5 * 7 * 6);
  }
}

/// The helper of the outer loop is busy; the idle helpers help with the inner loop.
TEST_F(ForParts, has_helpers_for_inner_loops)
{
  for_parts(16, 2, [](std::size_t) { meet(4); });
}

TEST_F(ForParts, may_be_called_by_several_threads_at_once)
{
  std::atomic<std::size_t> done{0};
  std::vector<std::thread> callers;
  const std::size_t calls = short_run() ? 200 : 2000;
  for (int caller = 0; caller < 6; ++caller)
    callers.emplace_back([&, caller] {
      for (std::size_t call = 0; call < calls; ++call) done += parts_done(2 + caller, 10);
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(done, 6 * calls * 10);
}

/// All helpers work for one caller, until the other caller is done.
TEST_F(ForParts, waits_for_no_helper_that_has_not_begun)
{
  std::atomic<int> begun{0};
  std::atomic<bool> over{false};
  std::thread first([&] {
    for_parts(16, 16, [&](std::size_t) {
      ++begun;
      wait_until([&] { return over.load(); });
    });
  });
  wait_until([&] { return begun == 16; });
  for (int round = 0; round < 100; ++round) EXPECT_EQ(parts_done(16, 16), 16U);
  over = true;
  first.join();
}

TEST_F(ForParts, throws_bad_alloc_where_a_body_did_and_goes_on_afterwards)
{
  for (const int threads : {1, 2, 8})
    for (const std::size_t bad : {0, 5, 99}) {
      std::atomic<int> inside{0};
      const auto body = [&](std::size_t part) {
        ++inside;
        if (part == bad) {
          --inside;
          throw std::bad_alloc();
        }
        std::this_thread::yield();
        --inside;
      };
      EXPECT_THROW(for_parts(threads, 100, body), std::bad_alloc) << threads << " threads";
      EXPECT_EQ(inside, 0) << "somebody is still at work";
      EXPECT_EQ(parts_done(threads, 100), 100U);
    }
  EXPECT_THROW(for_parts(3, 3, [](std::size_t) { for_parts(2, 2, [](std::size_t) { throw std::bad_alloc(); }); }),
               std::bad_alloc);
}

TEST_F(ForParts, has_threads_in_the_child_of_a_fork)
{
  meet(4);
  EXPECT_TRUE(child_succeeds([] {
    meet(6);
    return child_succeeds([] {
      meet(3);
      return parts_done(6, 100) == 100;
    });
  }));
  meet(5);
}

TEST_F(ForParts, does_not_mind_a_fork_during_calls)
{
  std::atomic<bool> over{false};
  std::thread caller([&] {
    while (!over) parts_done(4, 8);
  });
  int good = 0;
  const int forks = short_run() ? 10 : 100;
  for (int k = 0; k < forks; ++k)
    good += child_succeeds([] {
      meet(3);
      return true;
    });
  over = true;
  caller.join();
  EXPECT_EQ(good, forks);
}

TEST_F(ForParts, does_all_itself_where_no_thread_can_be_had)
{
  EXPECT_TRUE(child_succeeds([] {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, std::size_t(1) << 46);  // more than the address space
    if (pthread_setattr_default_np(&attributes) != 0) return false;
    const auto caller = std::this_thread::get_id();
    std::atomic<int> done{0}, others{0};
    for_parts(8, 100, [&](std::size_t) { ++(std::this_thread::get_id() == caller ? done : others); });
    return done == 100 && others == 0;
  }));
}

/// Without a watchdog: a child does not have its thread, so LeakSanitizer of GCC 14 takes what that owns for a leak.
/// The child has an alarm.
TEST(ForPartsOfAChild, let_the_process_end)
{
  EXPECT_TRUE(child_succeeds([]() -> bool {
    std::atexit([] { parts_done(4, 10); });
    meet(4);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the helpers now sleep
    std::exit(0);
  }));
}

}  // namespace
}  // namespace syncfree
