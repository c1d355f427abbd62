/// The checker itself: what C++20's memory model permits in well-known small programs, and what it forbids.

#include "checker.hpp"

#include <gtest/gtest.h>

#include <string>

namespace syncfree::model {
namespace {

/// Whether the program, which requires that an outcome does not occur, can have it.
bool permits(const std::function<void()>& program)
{
  return explore(program).violation == "the outcome";
}

TEST(Checker, passes_messages_by_release_and_acquire_only)
{
  const auto message = [](Order publish, Order observe) {
    return [=] {
      Atomic<int> data, flag;
      int seen = 1;
      in_parallel({[&] {
                     data.store(1, relaxed);
                     flag.store(1, publish);
                   },
                   [&] {
                     if (flag.load(observe) == 1) seen = data.load(relaxed);
                   }});
      require(seen == 1, "the outcome");
    };
  };
  EXPECT_FALSE(permits(message(release, acquire)));
  EXPECT_TRUE(permits(message(relaxed, acquire)));
  EXPECT_TRUE(permits(message(release, relaxed)));
  EXPECT_FALSE(permits(message(seq_cst, seq_cst)));
}

TEST(Checker, passes_messages_by_fences)
{
  const auto message = [](Order before, Order after) {
    return [=] {
      Plain<int> data;
      Atomic<int> flag;
      in_parallel({[&] {
                     data.write(1);
                     fence(before, {"publishing", 1});
                     flag.store(1, relaxed);
                   },
                   [&] {
                     if (flag.load(relaxed) != 1) return;
                     fence(after, {"observing", 2});
                     data.read();
                   }});
    };
  };
  EXPECT_EQ(explore(message(release, acquire)).violation, "");
  EXPECT_EQ(explore(message(acquire, acquire)).violation, "data: data race of a read with a write");
  EXPECT_EQ(explore(message(release, release)).violation, "data: data race of a read with a write");
}

TEST(Checker, continues_a_release_sequence_through_other_threads)
{
  const auto sequence = [](bool by_store) {
    return [=] {
      Plain<int> data;
      Atomic<int> count;
      in_parallel({[&] {
                     data.write(1);
                     count.store(1, release);
                   },
                   [&] {
                     if (by_store) count.store(5, relaxed);
                     else count.fetch_add(4, relaxed);
                   },
                   [&] {
                     if (count.load(acquire) == 5) data.read();
                   }});
    };
  };
  EXPECT_EQ(explore(sequence(false)).violation, "");
  EXPECT_NE(explore(sequence(true)).violation, "");
}

TEST(Checker, buffers_stores_unless_all_is_sequentially_consistent)
{
  const auto buffers = [](Order store, Order load, Order between) {
    return [=] {
      Atomic<int> x, y;
      int a = 0, b = 0;
      in_parallel({[&] {
                     x.store(1, store);
                     fence(between, {"first", 1});
                     a = y.load(load);
                   },
                   [&] {
                     y.store(1, store);
                     fence(between, {"second", 2});
                     b = x.load(load);
                   }});
      require(a + b > 0, "the outcome");
    };
  };
  EXPECT_FALSE(permits(buffers(seq_cst, seq_cst, relaxed)));
  EXPECT_FALSE(permits(buffers(relaxed, relaxed, seq_cst)));
  EXPECT_TRUE(permits(buffers(release, acquire, relaxed)));
  EXPECT_TRUE(permits(buffers(relaxed, relaxed, acq_rel)));
  EXPECT_TRUE(permits(buffers(seq_cst, acquire, relaxed)));
}

TEST(Checker, lets_readers_disagree_about_independent_writes)
{
  const auto writes = [](Order store, Order load) {
    return [=] {
      Atomic<int> x, y;
      int a = 0, b = 0, c = 0, d = 0;
      in_parallel({[&] { x.store(1, store); }, [&] { y.store(1, store); },
                   [&] {
                     a = x.load(load);
                     b = y.load(load);
                   },
                   [&] {
                     c = y.load(load);
                     d = x.load(load);
                   }});
      require(!(a == 1 && b == 0 && c == 1 && d == 0), "the outcome");
    };
  };
  EXPECT_FALSE(permits(writes(seq_cst, seq_cst)));
  EXPECT_TRUE(permits(writes(release, acquire)));
}

TEST(Checker, never_reads_one_place_backwards)
{
  EXPECT_FALSE(permits([] {
    Atomic<int> x;
    int a = 0, b = 0;
    in_parallel({[&] {
                   x.store(1, relaxed);
                   x.store(2, relaxed);
                 },
                 [&] {
                   a = x.load(relaxed);
                   b = x.load(relaxed);
                 }});
    require(a <= b, "the outcome");
  }));
}

TEST(Checker, knows_what_happens_before_through_a_third_thread)
{
  const auto chain = [](Order order) {
    return [=] {
      Atomic<int> x, y;
      Plain<int> data;
      in_parallel({[&] {
                     data.write(1);
                     x.store(1, release);
                   },
                   [&] {
                     if (x.load(order) == 1) y.store(1, release);
                   },
                   [&] {
                     if (y.load(acquire) == 1) data.read();
                   }});
    };
  };
  EXPECT_EQ(explore(chain(acquire)).violation, "");
  EXPECT_NE(explore(chain(relaxed)).violation, "");
}

TEST(Checker, executes_all_interleavings_and_no_more)
{
  // two threads of three operations on one place: 6! / (3! 3!) orders; on two places one order is enough
  const auto adds = [](bool one_place) {
    return [=] {
      Atomic<int> x, y;
      const auto add = [](Atomic<int>& to) {
        for (int k = 0; k < 3; ++k) to.fetch_add(1, relaxed);
      };
      in_parallel({[&] { add(x); }, [&] { add(one_place ? x : y); }});
    };
  };
  EXPECT_EQ(explore(adds(true)).executions, 20);
  EXPECT_EQ(explore(adds(false)).executions, 1);
}

TEST(Checker, notices_a_lost_wake_up_and_a_deadlock_of_locks)
{
  const auto sleep = [](bool locked) {
    return [=] {
      Mutex mutex;
      ConditionVariable condition;
      Atomic<bool> ready{false};
      in_parallel({[&] {
                     mutex.lock();
                     struct Lock {
                       Mutex* of;
                       Mutex* mutex() { return of; }
                     } lock{&mutex};
                     condition.wait(lock, [&] { return ready.load(); });
                     mutex.unlock();
                   },
                   [&] {
                     if (locked) mutex.lock();
                     ready.store(true);
                     if (locked) mutex.unlock();
                     condition.notify_one();
                   }});
    };
  };
  EXPECT_EQ(explore(sleep(true)).violation, "");
  EXPECT_EQ(explore(sleep(false)).violation, "deadlock: a thread waits for ever");
  EXPECT_EQ(explore([] {
              Mutex a, b;
              const auto both = [](Mutex& first, Mutex& second) {
                first.lock();
                second.lock();
                second.unlock();
                first.unlock();
              };
              in_parallel({[&] { both(a, b); }, [&] { both(b, a); }});
            }).violation,
            "deadlock: a thread waits for ever");
}

}  // namespace
}  // namespace syncfree::model
