/// How host threads wait for each other (syncfree/ready.hpp, syncfree/call_guard.hpp): the code itself, explored by the
/// checker. Where a verdict is "holds", the order is stronger than needed (LITMUS.md, "Orders that are stronger").

#include "syncfree/status.hpp"

#include "standard.hpp"
#include "syncfree/call_guard.hpp"
#include "syncfree/ready.hpp"
#include "standard_end.hpp"

#include <string>
#include <vector>

#include "mutations.hpp"

namespace syncfree {
namespace {

using model::expect_verdicts;
using model::in_parallel;
using model::Options;
using model::Plain;
using model::require;

template <class R> R read_variable(const R* variable)
{
  model::load_plain(model::place_of(variable, model::bits_of(*variable)));
  return *variable;
}

TEST(ModelOfCounters, a_step_that_is_published_may_be_read)
{
  // three workers of two steps each, two rounds; each reads the others' rows, as chunk_runner.hpp does
  expect_verdicts(
    [] {
      StepCounters progress(3, 2);
      StepCounters::Seen seen[3][3];
      Plain<int> row[3];
      for (int round = 1; round <= 2; ++round) {
        progress.new_round();
        const auto work = [&](int t) {
          if (t > 0) {
            progress.wait_for_steps(t - 1, 1, &seen[t][t - 1]);
            require(row[t - 1].read() == round, "a row of this round");
          }
          if (t == 2) {
            progress.wait_for_steps(0, 1, &seen[t][0]);
            require(row[0].read() == round, "the first row of this round");
          }
          row[t].write(round);
          progress.publish_steps(t, 1);
          progress.publish_steps(t, 2);
        };
        in_parallel({[&] { work(0); }, [&] { work(1); }, [&] { work(2); }});
      }
    },
    {
      "publish_steps store release -> relaxed: data: data race of a read with a write",
      "without publish_steps store release: deadlock: a thread waits for ever",
      "operator() load acquire -> relaxed: data: data race of a read with a write"});
}

void meet_twice(int team)
{
  Barrier barrier;
  Plain<int> data[3];
  std::vector<std::function<void()>> threads;
  for (int t = 0; t < team; ++t)
    threads.push_back([&, t] {
      for (int stage = 1; stage <= 2; ++stage) {
        data[t].write(stage);
        barrier.arrive_and_wait(team);
        require(data[(t + 1) % team].read() == stage, "data of this stage");
        barrier.arrive_and_wait(team);
      }
    });
  in_parallel(threads);
}

TEST(ModelOfBarrier, orders_what_two_threads_write_before_and_read_after)
{
  expect_verdicts([] { meet_twice(2); }, {
      "arrive_and_wait fetch_add acq_rel -> relaxed: data: data race of a read with a write",
      "arrive_and_wait fetch_add acq_rel -> acquire: data: data race of a read with a write",
      "arrive_and_wait fetch_add acq_rel -> release: data: data race of a read with a write",
      "operator() load acquire -> relaxed: data: data race of a read with a write",
      "without arrive_and_wait store relaxed: deadlock: a thread waits for ever",
      "arrive_and_wait store release -> relaxed: data: data race of a read with a write",
      "without arrive_and_wait store release: deadlock: a thread waits for ever"});
}

TEST(ModelOfBarrier, orders_what_three_threads_write_before_and_read_after)
{
  model::expect_to_hold([] { meet_twice(3); });
}

/// sync_free (src/host/solve_sync_free.cpp): rows by ticket; row 2 adds rows 0 and 1; two solves. The sum itself is
/// taken by an exchange, which always finds the last addition in this model (checker.hpp), so x shows what is ordered.
void solve_by_contributions()
{
  Tickets tickets;
  Contributions<double> left[3];
  const int in_degree[] = {0, 0, 2};
  Plain<int> x[3];
  for (int i = 0; i < 3; ++i) left[i].expect(in_degree[i]);
  for (int solve = 1; solve <= 2; ++solve) {
    tickets.reset();
    const auto work = [&] {
      for (std::int64_t j = tickets.take_tickets(1); j < 3; j = tickets.take_tickets(1)) {
        const double sum = solve + left[j].wait_and_rearm(in_degree[j]);
        if (j == 2) require(x[0].read() == solve && x[1].read() == solve, "what was written before");
        x[j].write(static_cast<int>(sum));
        if (j < 2) left[2].contribute(sum);
      }
    };
    in_parallel({work, work});
    require(x[2].read() == 3 * solve, "the sum of all");
  }
}

TEST(ModelOfContributions, are_complete_when_their_count_is_zero)
{
  expect_verdicts(solve_by_contributions, {
      "without expect store relaxed: deadlock: a thread waits for ever",
      "without reset store relaxed: the sum of all",
      "operator() load acquire -> relaxed: data: data race of a read with a write",
      "arrive fetch_sub release -> relaxed: data: data race of a read with a write"});
}

TEST(ModelOfContributions, of_complex_numbers_are_complete_too)
{
  expect_verdicts(
    [] {
      Contributions<std::complex<double>> left;
      Plain<int> x;
      left.expect(2);
      in_parallel({[&] {
                     x.write(1);
                     left.contribute({1, 2});
                   },
                   [&] { left.contribute({3, 4}); },
                   [&] {
                     require(left.wait_and_rearm(2) == std::complex<double>(4, 6), "both parts of both");
                     require(x.read() == 1, "what was written before");
                   }});
    },
    {
      "without expect store relaxed: deadlock: a thread waits for ever",
      "operator() load acquire -> relaxed: data: data race of a read with a write",
      "arrive fetch_sub release -> relaxed: data: data race of a read with a write"});
}

TEST(ModelOfCountdown, shows_what_was_added_to_a_plain_number_before_the_arrivals)
{
  // the loops' counts (loop/loop.hpp): the waiting thread re-arms for the next round
  expect_verdicts(
    [] {
      Countdown missing;
      double sum = 0;
      Plain<int> data;
      missing.expect(2);
      for (int round = 1; round <= 2; ++round) {
        in_parallel({[&] {
                       data.write(round);
                       add_atomically(&sum, 1.0);
                       missing.arrive();
                     },
                     [&] {
                       add_atomically(&sum, 2.0);
                       missing.arrive();
                     },
                     [&] {
                       missing.wait_and_rearm(2);
                       require(data.read() == round && read_variable(&sum) == 3.0 * round, "both additions");
                     }});
      }
    },
    {
      "without expect store relaxed: deadlock: a thread waits for ever",
      "operator() load acquire -> relaxed: data: data race of a read with a write",
      "arrive fetch_sub release -> relaxed: data: data race of a read with a write"});
}

TEST(ModelOfCountdown, may_be_awaited_by_a_thread_that_stops_spinning)
{
  Options options;
  options.spins_expire = true;
  expect_verdicts(
    [] {
      Countdown missing;
      Plain<int> data;
      missing.expect(1);
      in_parallel({[&] {
                     data.write(1);
                     missing.arrive();
                   },
                   [&] {
                     missing.wait_and_rearm(1);
                     require(data.read() == 1, "what was written before");
                   }});
    },
    {
      "without expect store relaxed: deadlock: a thread waits for ever",
      "arrive fetch_sub release -> relaxed: data: data race of a read with a write",
      "operator() load acquire -> relaxed: data: data race of a read with a write"}, options);
}

TEST(ModelOfTickets, are_each_given_out_once_and_in_order)
{
  expect_verdicts(
    [] {
      Tickets tickets;
      Plain<int> taken[5];
      for (int region = 1; region <= 2; ++region) {
        tickets.reset();
        const auto work = [&] {
          std::int64_t last = -1;
          for (std::int64_t k = tickets.take_tickets(1); k < 3; k = tickets.take_tickets(1)) {
            require(k > last, "later ones are greater");
            taken[last = k].write(region);
          }
        };
        in_parallel({work, work});
        for (int k = 0; k < 3; ++k) require(taken[k].read() == region, "each is taken");
      }
    },
    {
      "without reset store relaxed: each is taken"});
}

TEST(ModelOfMinimum, is_the_least_of_what_all_threads_report)
{
  expect_verdicts(
    [] {
      Minimum minimum;
      minimum.reset(9);
      in_parallel({[&] { minimum.lower_minimum(5); }, [&] { minimum.lower_minimum(3); },
                   [&] { minimum.lower_minimum(4); }});
      require(minimum.read_minimum() == 3, "the least");
    },
    {
      "without reset store relaxed: the least"});
}

TEST(ModelOfCallGuard, lets_one_call_in_and_shows_it_what_the_last_one_did)
{
  model::name_place = [](void*, std::size_t, bool) { return "under_way_"; };
  expect_verdicts(
    [] {
      CallGuard guard;
      Plain<int> object(0);
      const auto call = [&] {
        const CallGuard::Call under_way(&guard);
        if (under_way.alone()) object.write(object.read() + 1);
      };
      in_parallel({call, call, call});
      require(object.read() >= 1 && CallGuard::Call(&guard).alone(), "one is alone, and so is the next after all");
    },
    {
      "Call exchange seq_cst -> relaxed: data: data race of a read with a write",
      "Call exchange seq_cst -> acquire: holds",
      "Call exchange seq_cst -> release: data: data race of a read with a write",
      "Call exchange seq_cst -> acq_rel: holds",
      "under_way_ = seq_cst -> relaxed: data: data race of a read with a write",
      "under_way_ = seq_cst -> release: holds",
      "without under_way_ = seq_cst: one is alone, and so is the next after all"});
}

}  // namespace
}  // namespace syncfree
