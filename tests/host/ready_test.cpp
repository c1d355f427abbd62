/// How threads wait: published data is visible, rounds need no reset, every thread is released, and more threads than
/// cores are allowed.

#include "syncfree/ready.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace syncfree {
namespace {

void with_team(int threads, const std::function<void(int)>& work)
{
  std::vector<std::thread> team;
  for (int t = 0; t < threads; ++t) team.emplace_back(work, t);
  for (std::thread& thread : team) thread.join();
}

TEST(WaitUntil, returns_at_once_when_ready_and_lets_others_run_when_not)
{
  int asked = 0;
  wait_until([&] { return ++asked == 1; });
  EXPECT_EQ(asked, 1);
  std::atomic<int> turn{0};
  with_team(8, [&](int t) {  // each waits for its turn: with two cores this is fast only if waiting threads yield
    for (int lap = 0; lap < 50; ++lap) {
      wait_until([&] { return turn.load() == 8 * lap + t; });
      turn.store(8 * lap + t + 1);
    }
  });
  EXPECT_EQ(turn.load(), 400);
}

TEST(StepCounters, shows_plain_data_written_before_finish)
{
  constexpr int workers = 4, steps = 500, rounds = 5;
  StepCounters progress(workers, steps);
  std::vector<StepCounters::Seen> seen(workers);
  std::vector<std::vector<int>> data(workers, std::vector<int>(steps, -1));
  int wrong = 0;
  std::atomic<int> wrong_sum{0};
  for (int round = 0; round < rounds; ++round) {
    progress.new_round();
    with_team(workers, [&](int t) {
      for (int s = 0; s < steps; ++s) {
        if (t > 0) {  // a wavefront: step s reads step s of the previous worker
          progress.wait_for_steps(t - 1, s + 1, &seen[t]);
          if (data[t - 1][s] != round * 1000 + s) ++wrong_sum;
        }
        data[t][s] = round * 1000 + s;
        progress.publish_steps(t, s + 1);
      }
    });
    wrong += wrong_sum.load();
  }
  EXPECT_EQ(wrong, 0);
}

TEST(StepCounters, does_not_take_an_earlier_round_for_this_one)
{
  StepCounters progress(2, 3);
  StepCounters::Seen known;
  for (int round = 0; round < 100; ++round) {
    progress.new_round();
    int written = 0;
    bool seen = true;
    with_team(2, [&](int t) {
      if (t == 0) {
        if (round % 10 == 0) std::this_thread::yield();
        written = 1;
        progress.publish_steps(0, 1);  // a thread may have fewer steps than the longest
      } else {
        progress.wait_for_steps(0, 1, &known);
        seen = written == 1;
      }
    });
    ASSERT_TRUE(seen) << round;
  }
}

TEST(Barrier, lets_nobody_pass_before_all_have_arrived)
{
  Barrier barrier;
  for (int team : {1, 2, 3, 8}) {
    std::vector<int> mine(team, 0);
    std::atomic<int> early{0};
    with_team(team, [&](int t) {
      for (int round = 1; round <= 200; ++round) {
        mine[t] = round;
        barrier.arrive_and_wait(team);
        for (int other : mine)
          if (other != round) ++early;
        barrier.arrive_and_wait(team);
      }
    });
    EXPECT_EQ(early.load(), 0) << team;
  }
}

TEST(Tickets, hand_out_every_piece_of_work_once_and_in_order_to_each)
{
  constexpr int threads = 4, run = 7, total = 7000;
  Tickets tickets;
  for (int round = 0; round < 3; ++round) {
    tickets.reset();
    std::vector<std::vector<std::int64_t>> taken(threads);
    with_team(threads, [&](int t) {
      for (std::int64_t k = tickets.take_tickets(run); k < total; k = tickets.take_tickets(run)) taken[t].push_back(k);
    });
    std::vector<int> count(total / run, 0);
    for (const auto& list : taken)
      for (std::size_t k = 0; k < list.size(); ++k) {
        ++count[list[k] / run];
        EXPECT_TRUE(k == 0 || list[k] > list[k - 1]);
      }
    EXPECT_EQ(count, std::vector<int>(total / run, 1));
  }
}

template <class T> void contribute(const T& value, int threads, const std::function<bool(const T&)>& right)
{
  constexpr int rounds = 200;
  Contributions<T> contributions;
  Barrier barrier;
  contributions.expect(3 * (threads - 1));
  std::atomic<int> wrong{0};
  with_team(threads, [&](int t) {
    for (int round = 0; round < rounds; ++round) {
      if (t == 0) {
        if (!right(contributions.wait_and_rearm(3 * (threads - 1)))) ++wrong;
      } else {
        for (int k = 0; k < 3; ++k) contributions.contribute(value);
      }
      barrier.arrive_and_wait(threads);
    }
  });
  EXPECT_EQ(wrong.load(), 0);
}

TEST(Contributions, add_up_whatever_the_order_and_arm_themselves_again)
{
  contribute<double>(1.0, 4, [](double sum) { return sum == 9; });
  contribute<float>(0.5f, 8, [](float sum) { return sum == 10.5f; });
  contribute<std::complex<double>>({1, -2}, 3, [](const std::complex<double>& sum) {
    return sum == std::complex<double>(6, -12);
  });
}

TEST(Contributions, of_nan_end_and_are_forgotten)
{
  contribute<double>(std::numeric_limits<double>::quiet_NaN(), 3, [](double sum) { return std::isnan(sum); });
  Contributions<double> contributions;
  contributions.expect(1);
  contributions.contribute(std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isinf(contributions.wait_and_rearm(1)));
  contributions.contribute(2);
  EXPECT_EQ(contributions.wait_and_rearm(0), 2);
  EXPECT_EQ(contributions.wait_and_rearm(0), 0);
}

/// Three threads add to one entry and count down; a fourth waits, reads the entry without atomics and clears it.
template <class T> void add_and_count_down(const T& value)
{
  constexpr int threads = 4, rounds = 300;
  Countdown missing;
  Barrier barrier;
  T sum(0);
  int wrong = 0;
  missing.expect(2 * (threads - 1));
  with_team(threads, [&](int t) {
    for (int round = 0; round < rounds; ++round) {
      if (t == 0) {
        missing.wait_and_rearm(2 * (threads - 1));
        wrong += sum != T(6) * value;
        sum = T(0);
      }
      for (int k = 0; t > 0 && k < 2; ++k) {
        add_atomically(&sum, value);
        missing.arrive();
      }
      barrier.arrive_and_wait(threads);
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Countdown, shows_what_was_added_to_a_plain_number_before_the_arrivals)
{
  add_and_count_down(1.5f);
  add_and_count_down(-0.25);
  add_and_count_down(std::complex<float>(1, -2));
  add_and_count_down(std::complex<double>(0, 3));
}

TEST(AddTo, takes_nan_and_ends)
{
  double sum = std::numeric_limits<double>::quiet_NaN();
  add_atomically(&sum, 1.0);
  EXPECT_TRUE(std::isnan(sum));
}

TEST(Minimum, is_the_least_of_what_all_threads_report)
{
  Minimum minimum;
  minimum.reset(1000000);
  with_team(4, [&](int t) {
    for (int k = 5000; k-- > 0;) minimum.lower_minimum(4 * k + t + 17);
  });
  EXPECT_EQ(minimum.read_minimum(), 17);
  minimum.lower_minimum(18);
  EXPECT_EQ(minimum.read_minimum(), 17);
}

}  // namespace
}  // namespace syncfree
