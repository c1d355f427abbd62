/// The plan of `blocks`: every row once, no read without a wait, no cycle, and threads that run concurrently where the
/// matrix allows it.

#include "core/schedule/row_chunks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "battery.hpp"
#include "oracle.hpp"
#include "watchdog.hpp"

namespace syncfree {
namespace {

template <class I> OwnedTriangle<double, I> triangle(const std::string& matrix, bool lower)
{
  return take_triangle<double>(make_battery_matrix<double, I>(matrix), lower, true);
}

template <class I> RowChunks<I> plan_of(const OwnedTriangle<double, I>& T, int threads, int block_size = 1)
{
  RowChunks<I> plan;
  const Status status = make_row_chunks(T.pattern(), T.lower, threads, &plan, block_size);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(plan.threads, threads);
  return plan;
}

/// The thread and its step (from 1) of each position. Fails unless each position occurs once.
template <class I> struct Owners {
  std::vector<int> thread;
  std::vector<I> step;

  Owners(const RowChunks<I>& plan, I n) : thread(n, -1), step(n, 0)
  {
    for (int t = 0; t < plan.threads; ++t)
      for (I s = plan.thread_step[t]; s < plan.thread_step[t + 1]; ++s) {
        EXPECT_LT(plan.begin[s], plan.end[s]);
        EXPECT_TRUE(s == plan.thread_step[t] || plan.end[s - 1] <= plan.begin[s]) << "steps of a thread ascend";
        for (I place = plan.begin[s]; place < plan.end[s]; ++place) {
          EXPECT_EQ(thread[place], -1) << "place " << place << " is walked twice";
          thread[place] = t;
          step[place] = s - plan.thread_step[t] + 1;
        }
      }
    EXPECT_EQ(std::count(thread.begin(), thread.end(), -1), 0) << "a place is walked by nobody";
  }
};

/// Simulates the steps of each thread and checks that it has waited for all it reads.
template <class I> void check(const OwnedTriangle<double, I>& T, int threads, int block_size = 1)
{
  const RowChunks<I> plan = plan_of(T, threads, block_size);
  const Owners<I> owners(plan, T.n);
  const auto turn = [&](I i) { return T.lower ? i : T.n - 1 - i; };
  for (int t = 0; t < threads; ++t) {
    std::vector<std::int64_t> seen(threads, 0);
    for (I s = plan.thread_step[t]; s < plan.thread_step[t + 1]; ++s) {
      for (I w = plan.wait_begin[s]; w < plan.wait_begin[s + 1]; ++w) {
        const StepWait& wait = plan.wait[w];
        ASSERT_NE(wait.thread, t);
        ASSERT_GT(wait.steps, seen[wait.thread]) << "a wait that was waited for already";
        ASSERT_LE(plan.end[plan.thread_step[wait.thread] + wait.steps - 1], plan.begin[s]) << "a wait for later places";
        seen[wait.thread] = wait.steps;
      }
      for (I place = plan.begin[s]; place < plan.end[s]; ++place)
        for (I k = T.row_begin[turn(place)]; k < T.row_begin[turn(place) + 1]; ++k) {
          const I source = turn(T.column[k]);
          if (owners.thread[source] == t) ASSERT_LT(source, place);
          else ASSERT_LE(owners.step[source], seen[owners.thread[source]]) << "row at " << place << " reads too early";
        }
    }
  }
}

TEST(RowChunks, walk_every_row_once_and_wait_for_all_they_read)
{
  for (const BatteryEntry& entry : battery())
    for (const bool lower : {true, false})
      for (int threads : {1, 2, 3, 8, 40}) {
        if (!entry.sorted || (short_run() && std::string(entry.name) == "n_100000")) continue;
        SCOPED_TRACE(std::string(entry.name) + (lower ? " lower " : " upper ") + std::to_string(threads));
        check(triangle<std::int32_t>(entry.name, lower), threads);
        check(triangle<std::int64_t>(entry.name, lower), threads);
      }
}

/// Cubes of even and odd size, both triangles, and a plane.
TEST(RowChunks, keep_threads_busy_on_grids)
{
  for (const std::int32_t m : {40, 41}) {
    auto A = make_poisson<double, std::int32_t>(m, m, m);
    for (const bool lower : {true, false}) {
      const auto T = take_triangle<double>(A, lower, true);
      EXPECT_GT(plan_of(T, 2).speedup, 1.8) << m;
      EXPECT_GT(plan_of(T, 4).speedup, 2.9) << m;
      EXPECT_GT(plan_of(T, 8).speedup, 4.5) << m;
      check(T, 4);
    }
  }
  const auto plane = take_triangle<double>(make_poisson<double, std::int32_t>(500, 500, 1), true, true);
  EXPECT_GT(plan_of(plane, 4).speedup, 3.2);
}

/// Rows of dense blocks cost more than rows, so threads are of use on smaller grids.
TEST(RowChunks, of_dense_blocks_wait_for_all_they_read_and_keep_threads_busy)
{
  const auto A = make_poisson<double, std::int32_t>(10, 10, 10), large = make_poisson<double, std::int32_t>(30, 30, 30);
  for (const bool lower : {true, false}) {
    const auto T = take_triangle<double>(A, lower, true);
    for (const int block_size : {2, 5, 16, 600})
      for (const int threads : {1, 2, 4}) check(T, threads, block_size);
    EXPECT_GT(plan_of(T, 2, 5).speedup, 1.5 * plan_of(T, 2).speedup);
    EXPECT_GT(plan_of(T, 4, 5).serial_seconds, 20 * plan_of(T, 4).serial_seconds);
    for (const int block_size : {2, 3, 5, 7})
      EXPECT_GT(plan_of(take_triangle<double>(large, lower, true), 4, block_size).speedup, 2.8) << block_size;
  }
}

TEST(RowChunks, promise_nothing_on_a_chain)
{
  EXPECT_LE(plan_of(triangle<std::int32_t>("chain", true), 4).speedup, 1.0);
}

TEST(RowChunks, refuse_a_team_of_nobody_and_leave_the_plan_alone)
{
  const auto T = triangle<std::int32_t>("one", true);
  RowChunks<std::int32_t> plan;
  plan.threads = 77;
  EXPECT_EQ(make_row_chunks(T.pattern(), true, 0, &plan).code, Code::invalid_argument);
  EXPECT_EQ(plan.threads, 77);
}

}  // namespace
}  // namespace syncfree
