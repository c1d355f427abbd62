/// The threads that serve for_parts (src/core/support/parallel.cpp): the code itself, explored by the checker. Every
/// part is executed once, the caller sees what its helpers wrote, no helper uses a task that has ended, no wake-up is
/// lost. Spins of any length end at any poll or go on. Where a verdict is "holds", the order is stronger than needed:
/// the mutex orders places_, and parts are independent; a helper that is not woken is not needed.

#include "core/support/parallel.hpp"
#include "core/support/processors.hpp"
#include "mutations.hpp"

#include "standard.hpp"

namespace syncfree::model {
/// How many threads the system lets the pool start.
inline int threads_of_system = most_threads;
inline int started = 0;
template <class Body> int start_thread(Body body)
{
  if (started == threads_of_system) return EAGAIN;
  ++started;
  start_daemon(body);
  return 0;
}
}  // namespace syncfree::model

#define pthread_create(thread, attributes, function, argument) \
  ::syncfree::model::start_thread([pool = argument] { function(pool); })
#define pthread_detach(thread) (void)&thread
#define pthread_setaffinity_np(thread, bytes, set) (void)0
#define pthread_sigmask(how, set, before) (void)(before)
#define pthread_atfork(prepare, parent, child) (void)0
#include "core/support/parallel.cpp"
#include "standard_end.hpp"

namespace syncfree {

ProcessorSet ProcessorSet::of_process() { return {}; }

namespace {

using model::expect_verdicts;
using model::in_parallel;
using model::Options;
using model::Plain;
using model::require;

const char* name_of_member(void* address, std::size_t bytes, bool is_bool)
{
  const char* const at = static_cast<char*>(address);
  const char* const pool = reinterpret_cast<const char*>(&kept);
  if (at >= pool && at < pool + sizeof kept) return "places_";
  return is_bool ? "out_of_memory" : bytes == sizeof(int) ? "helpers" : "next";
}

class ModelOfPool : public testing::Test {
protected:
  ModelOfPool()
  {
    model::name_place = name_of_member;
    options_.spins_expire = true;
  }
  ~ModelOfPool() { model::name_place = names_before_; }

  static void begin(int threads_of_system)
  {
    model::threads_of_system = threads_of_system;
    model::started = 0;
    Kept::start_anew();
  }

  template <int parts> static void call(int threads)
  {
    Plain<int> done[parts];
    for_parts(threads, parts, [&](std::size_t part) { done[part].write(done[part].read() + 1); });
    for (const Plain<int>& part : done) require(part.read() == 1, "every part is done once");
  }

  /// Explores executions with at most this number of preemptions. (Without a limit two calls one after the other have
  /// 532,348 states in 27,362 executions, and hold.)
  void expect_to_hold(const std::function<void()>& program, int preemptions)
  {
    options_.most_preemptions = preemptions;
    model::expect_to_hold(program, options_);
  }

  Options options_;

private:
  decltype(model::name_place) names_before_ = model::name_place;
};

TEST_F(ModelOfPool, serves_a_call)
{
  expect_verdicts(
    [] {
      begin(1);
      in_parallel({[] { call<2>(2); }});
    },
    {
      "places_ += seq_cst -> relaxed: holds",
      "places_ load seq_cst -> relaxed: holds",
      "without execute_task notify_one: holds",
      "next ++ seq_cst -> relaxed: holds",
      "places_ -= seq_cst -> relaxed: holds",
      "helpers load seq_cst -> relaxed: helpers: ends while another thread uses it",
      "helpers load seq_cst -> acquire: holds",
      "out_of_memory load seq_cst -> relaxed: holds",
      "places_ -- seq_cst -> relaxed: holds",
      "helpers ++ seq_cst -> relaxed: holds",
      "helpers -- seq_cst -> relaxed: helpers: ends while another thread uses it",
      "helpers -- seq_cst -> acquire: helpers: ends while another thread uses it",
      "helpers -- seq_cst -> release: holds",
      "helpers -- seq_cst -> acq_rel: holds",
      "without helpers -- seq_cst lock: deadlock: a thread waits for ever",
      "without help notify_all: deadlock: a thread waits for ever"}, options_);
}

TEST_F(ModelOfPool, serves_two_calls_one_after_the_other)
{
  expect_to_hold(
    [] {
      begin(1);
      in_parallel({[] {
        call<2>(2);
        call<2>(2);
      }});
    },
    4);
}

TEST_F(ModelOfPool, serves_two_callers_with_one_helper)
{
  expect_to_hold(
    [] {
      begin(1);
      in_parallel({[] { call<2>(2); }, [] { call<2>(2); }});
    },
    3);
}

TEST_F(ModelOfPool, serves_a_call_with_two_helpers)
{
  expect_to_hold(
    [] {
      begin(2);
      in_parallel({[] { call<3>(3); }});
    },
    2);
}

TEST_F(ModelOfPool, needs_no_helper)
{
  model::expect_to_hold(
    [] {
      begin(0);
      in_parallel({[] { call<2>(2); }, [] { call<2>(2); }});
    },
    options_);
}

TEST_F(ModelOfPool, tells_the_caller_that_a_helper_had_no_memory)
{
  expect_verdicts(
    [] {
      begin(1);
      in_parallel({[] {
        bool thrown = false;
        try {
          for_parts(2, 2, [](std::size_t part) {
            if (part == 1) throw std::bad_alloc();
          });
        } catch (const std::bad_alloc&) {
          thrown = true;
        }
        require(thrown, "the caller is told");
      }});
    },
    {
      "places_ += seq_cst -> relaxed: holds",
      "places_ load seq_cst -> relaxed: holds",
      "without execute_task notify_one: holds",
      "next ++ seq_cst -> relaxed: holds",
      "out_of_memory = seq_cst -> relaxed: holds",
      "without out_of_memory = seq_cst: the caller is told",
      "places_ -= seq_cst -> relaxed: holds",
      "helpers load seq_cst -> relaxed: helpers: ends while another thread uses it",
      "helpers load seq_cst -> acquire: holds",
      "out_of_memory load seq_cst -> relaxed: holds",
      "places_ -- seq_cst -> relaxed: holds",
      "helpers ++ seq_cst -> relaxed: holds",
      "helpers -- seq_cst -> relaxed: helpers: ends while another thread uses it",
      "helpers -- seq_cst -> acquire: helpers: ends while another thread uses it",
      "helpers -- seq_cst -> release: holds",
      "helpers -- seq_cst -> acq_rel: holds",
      "without helpers -- seq_cst lock: deadlock: a thread waits for ever",
      "without help notify_all: deadlock: a thread waits for ever"}, options_);
}

}  // namespace
}  // namespace syncfree
