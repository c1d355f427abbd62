/// The threads that serve for_parts. The caller posts a task with slots for helpers, works on parts itself and, when no
/// part is left, withdraws the slots that are still free: it waits for helpers that have started, never for one to
/// arrive. Such a helper can only wait for calls nested in its own body, so there is no circular wait.

#include "parallel.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>

#include "processors.hpp"
#include "syncfree/ready.hpp"

namespace syncfree {
namespace {

/// One call of for_parts; lives as long as the call.
struct Task {
  std::size_t count;
  const Parts& parts;
  std::atomic<std::size_t> next{0};
  std::atomic<bool> out_of_memory{false};
  int places = 0;               ///< free slots for helpers
  std::atomic<int> helpers{0};  ///< at work
  Task* older = nullptr;

  /// Terminates if an exception other than std::bad_alloc is thrown: no caller could catch it.
  void work() noexcept
  try {
    for (std::size_t part = next++; part < count; part = next++) parts.run(parts.body, part);
  } catch (const std::bad_alloc&) {
    out_of_memory = true;
  }
};

/// Spins until ready(), for at most some 100 microseconds, which is the time it takes to fall asleep and be woken.
template <class Ready> bool spin_a_while(const Ready& ready)
{
  constexpr int rounds = 16;
  for (int round = 0; round < rounds; ++round) {
    if (spin_until(ready)) return true;
    std::this_thread::yield();
  }
  return false;
}

/// Blocks signals in the calling thread during its lifetime; threads started meanwhile block them forever. The signals
/// of the application and its timers are delivered to threads that expect them. A fault is delivered to the thread that
/// caused it.
class SignalsBlocked {
public:
  SignalsBlocked()
  {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) sigdelset(&all, fault);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

private:
  sigset_t before_;
};

/// Threads that sleep while there is no task. They never end.
class Pool {
public:
  void execute_task(Task* task, int helpers)
  {
    post(task, helpers);
    for (int k = 0; k < helpers; ++k) posted_.notify_one();
    task->work();
    withdraw(task);
    const auto done = [task] { return task->helpers == 0; };
    if (spin_a_while(done)) return;
    std::unique_lock<std::mutex> lock(mutex_);
    left_.wait(lock, done);
  }

private:
  /// The mutex is held only for an instant, unless threads are started.
  std::unique_lock<std::mutex> lock()
  {
    wait_until([this] { return mutex_.try_lock(); });
    return std::unique_lock<std::mutex>(mutex_, std::adopt_lock);
  }

  void post(Task* task, int helpers)
  {
    SYNCFREE_MAY_SLEEP
    const auto locked = lock();
    start_threads(helpers);
    task->older = newest_;
    newest_ = task;
    task->places = helpers;
    places_ += helpers;
  }

  void withdraw(Task* task)
  {
    SYNCFREE_MAY_SLEEP
    const auto locked = lock();
    Task** link = &newest_;
    while (*link != task) link = &(*link)->older;
    *link = task->older;
    places_ -= task->places;
  }

  /// Starts threads until there are `wanted`, or as many as the system allows. A new thread inherits the affinity of
  /// the caller, which may be pinned to one processor.
  void start_threads(int wanted)
  {
    if (threads_ >= wanted) return;
    const SignalsBlocked blocked;
    const ProcessorSet processors = ProcessorSet::of_process();
    pthread_t thread;
    for (; threads_ < wanted && pthread_create(&thread, nullptr, serve, this) == 0; ++threads_) {
      if (processors.count_processors() > 0)
        pthread_setaffinity_np(thread, processors.mask_bytes(), processors.words());
      pthread_detach(thread);
    }
  }

  static void* serve(void* pool)
  {
    for (;;) static_cast<Pool*>(pool)->help();
  }

  void help()
  {
    Task* const task = join();
    task->work();
    SYNCFREE_MAY_SLEEP
    if (--task->helpers > 0) return;
    lock();  // *task may no longer exist: its caller saw helpers == 0, or sleeps
    left_.notify_all();
  }

  Task* join()
  {
    const auto posted = [this] { return places_ > 0; };
    spin_a_while(posted);
    SYNCFREE_MAY_SLEEP
    auto locked = lock();
    posted_.wait(locked, posted);
    Task* task = newest_;
    while (task->places == 0) task = task->older;
    --task->places;
    --places_;
    ++task->helpers;
    return task;
  }

  std::mutex mutex_;
  std::condition_variable posted_, left_;
  Task* newest_ = nullptr;
  std::atomic<int> places_{0};  ///< free slots of all tasks
  int threads_ = 0;
};

/// Never destroyed, because its threads sleep in it until the process ends; for the same reason its library must not be
/// unloaded.
union Kept {
  Pool pool;
  Kept() : pool() { pthread_atfork(nullptr, nullptr, start_anew); }
  ~Kept() {}

  /// Replaces the pool in the child of a fork, which has none of the threads.
  static void start_anew();
};
Kept kept;

void Kept::start_anew() { new (&kept.pool) Pool; }

}  // namespace

void run_parts(int threads, std::size_t count, const Parts& parts)
{
  Task task{count, parts};
  const int helpers = static_cast<int>(std::min(static_cast<std::size_t>(std::max(threads, 1)), count)) - 1;
  if (helpers > 0) kept.pool.execute_task(&task, helpers);
  else task.work();
  if (task.out_of_memory) throw std::bad_alloc();
}

}  // namespace syncfree
