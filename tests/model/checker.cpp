/// The search: coroutines, the tree of choices with its sleep sets, and the memory. See checker.hpp.

#include "checker.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <utility>

#include "choices.hpp"
#include "coroutine.hpp"
#include "sites.hpp"

namespace syncfree::model {
namespace {

struct Abandoned {};  ///< leaves a program in the middle

struct Store {
  std::uint64_t value;
  Knowledge message;  ///< what a load with acquire learns
};

struct Place {
  const void* address = nullptr;
  const char* name = "";
  bool alive = false, locked = false;
  std::vector<Store> stores;
  int last_seq_cst = 0;  ///< index of the last store with seq_cst
  std::array<std::uint16_t, most_threads> accesses{}, changes{}, plain{};  ///< by thread: time of the last one
  Knowledge passed_on;   ///< mutex: what who unlocks it last knew
  std::vector<int> waiting;  ///< condition: threads
};

struct Thread {
  Coroutine code;
  bool exists = false, daemon = false;
  Operation next;
  Knowledge known, acquirable, released;
  std::array<std::uint16_t, most_places> last_read{};
  int last_place = -1;   ///< loaded
  int place_before = -1; ///< loaded before that
  std::uint64_t awaited = 0;  ///< set of places of which it has read the latest store, without success
  bool may_expire = false, expiring = false, notified = false;
};

struct Step {
  int thread, site, place;
  std::uint64_t value;
};

constexpr int most_steps = 5000;

class Checker {
public:
  Result search(const std::function<void()>& program, const Options& options)
  {
    options_ = options;
    result_ = Result();
    choices_.start_search(options.most_preemptions);
    sites_.start_search(options.mutation);
    do {
      if (result_.executions + result_.redundant == options.most_executions) {
        result_.complete = false;
        break;
      }
      execute(program);
    } while (result_.violation.empty() && choices_.to_next_leaf());
    executing_ = false;
    result_.sites = sites_.take();
    return std::move(result_);
  }

  void run(std::vector<std::function<void()>> bodies)
  {
    for (std::size_t t = 0; t < bodies.size(); ++t) begin_thread(static_cast<int>(t) + 1, std::move(bodies[t]), false);
    while (step_one()) {}
    for (std::size_t t = 1; t <= bodies.size(); ++t) {
      thread_[0].known.join(thread_[t].known);
      thread_[t].exists = false;
    }
    ++thread_[0].known.clock[0];
  }

  void begin_daemon(std::function<void()> body)
  {
    int t = most_threads - 1;
    while (thread_[t].exists) --t;
    begin_thread(t, std::move(body), true);
  }

  void fail(const std::string& what)
  {
    note_violation(what);
    abandon();
  }

  int create(const void* address, std::uint64_t value, const char* name)
  {
    if (!executing_) return -1;
    if (places_ == most_places) std::terminate();
    Place& p = place_[places_];
    p.address = address;
    p.name = name;
    p.alive = true;
    p.locked = false;
    p.last_seq_cst = 0;
    p.accesses = p.changes = p.plain = {};
    p.passed_on = Knowledge();
    p.waiting.clear();
    p.stores.clear();
    p.stores.push_back({value, Knowledge()});
    if (running_ >= 0) p.plain[running_] = p.changes[running_] = p.accesses[running_] = now();
    return places_++;
  }

  ///   performed  other threads' stores count as over once this thread has read the last one
  void destroy(int place, bool performed)
  {
    if (!executing_ || place < 0 || leaving_ || !place_[place].alive) return;
    Place& p = place_[place];
    p.alive = false;
    if (performed ? me().known.floor[place] + 1u == p.stores.size() : me().known.covers(p.accesses)) return;
    note_violation(std::string(p.name) + ": ends while another thread uses it");
    leaving_ = true;
    if (running_ != 0) me().code.stop();  // else a destructor of the program, which must not throw
  }

  int place_of_address(const void* address, std::uint64_t value)
  {
    for (int p = 0; p < places_; ++p)
      if (place_[p].address == address && place_[p].alive) return p;
    const int place = create(address, value, "variable");
    place_[place].plain = place_[place].changes = place_[place].accesses = {};  // its creator is not known
    return place;
  }

  std::uint64_t load(int place, Order order, const char* operation, Caller caller)
  {
    Thread& t = me();
    if (t.expiring && t.last_place == place) return place_[place].stores[t.last_read[place]].value;
    t.expiring = false;
    const int site = sites_.note(caller, operation, &order);
    announce({Kind::load, place, -1, order == seq_cst, t.awaited != 0});
    touch(place, false);
    const int first = first_readable(place, order), last = static_cast<int>(place_[place].stores.size()) - 1;
    const int index = last - choose(last - first + 1);  // the latest first
    learn(place, index, order);
    t.place_before = t.last_place;
    t.last_place = place;
    t.last_read[place] = static_cast<std::uint16_t>(index);
    return done(site, place, place_[place].stores[index].value);
  }

  void store(int place, std::uint64_t value, Order order, const char* operation, Caller caller)
  {
    const int site = sites_.note(caller, operation, &order);
    begin({Kind::store, place, -1, order == seq_cst, false});
    touch(place, true);
    if (!sites_.drops(site)) append(place, value, order, nullptr);
    done(site, place, value);
  }

  std::uint64_t modify(int place, const std::function<std::uint64_t(std::uint64_t)>& change, Order order,
                       const char* operation, Caller caller)
  {
    const int site = sites_.note(caller, operation, &order);
    begin({Kind::rmw, place, -1, order == seq_cst, false});
    touch(place, true);
    const std::uint64_t old = place_[place].stores.back().value;
    learn(place, static_cast<int>(place_[place].stores.size()) - 1, order);
    if (!sites_.drops(site)) {
      const Knowledge sequence = place_[place].stores.back().message;
      append(place, change(old), order, &sequence);
    }
    done(site, place, old);
    return old;
  }

  bool exchange(int place, std::uint64_t& seen, std::uint64_t wanted, Order order, Caller caller)
  {
    const int site = sites_.note(caller, "compare_exchange", &order);
    begin({Kind::rmw, place, -1, order == seq_cst, false});
    touch(place, true);
    const std::vector<Store>& stores = place_[place].stores;
    const int first = first_readable(place, order), last = static_cast<int>(stores.size()) - 1;
    int index = last - choose(last - first + 1);
    const bool success = index == last && stores[last].value == seen;
    if (stores[index].value == seen && !success) abandon_as_redundant();  // would fail without a reason
    learn(place, index, success || order != release ? order : relaxed);
    if (success) {
      const Knowledge sequence = stores[last].message;
      append(place, wanted, order, &sequence);
    } else {
      seen = stores[index].value;
    }
    done(site, place, seen);
    return success;
  }

  void fence(Order order, Caller caller)
  {
    const int site = sites_.note(caller, "fence", &order);
    begin({Kind::fence, -1, -1, order == seq_cst, false});
    Thread& t = me();
    if (!sites_.drops(site) && order != relaxed) {
      if (acquires(order)) t.known.join(t.acquirable);
      if (order == seq_cst) {
        t.known.join_floors(seq_cst_);
        for (int p = 0; p < places_; ++p)
          t.known.floor[p] = std::max<std::uint16_t>(t.known.floor[p], place_[p].last_seq_cst);
        seq_cst_.join_floors(t.known);
      }
      if (releases(order)) t.released = t.known;
    }
    done(site, -1, 0);
  }

  std::uint64_t load_plain(int place)
  {
    Place& p = living(place);
    if (!me().known.covers(p.changes)) fail(std::string(p.name) + ": data race of a read with a write");
    p.accesses[running_] = now();
    return p.stores.back().value;
  }

  void store_plain(int place, std::uint64_t value)
  {
    Place& p = living(place);
    if (!me().known.covers(p.accesses)) fail(std::string(p.name) + ": data race of a write");
    p.accesses[running_] = p.changes[running_] = p.plain[running_] = now();
    p.stores.push_back({value, Knowledge()});
    me().known.floor[place] = static_cast<std::uint16_t>(p.stores.size() - 1);
  }

  void lock(int mutex)
  {
    // the fence or atomic operation before it tells one use of a mutex from another
    const int site = sites_.note({thread_site(), 0}, "lock", nullptr);
    if (sites_.drops(site)) return;
    begin({Kind::lock, mutex, -1, false, false});
    lock_now(mutex);
    done(-1, mutex, 0);
  }

  void unlock(int mutex)
  {
    if (sites_.drops_something() && !holds(mutex)) return;
    begin({Kind::unlock, mutex, -1, false, false});
    unlock_now(mutex);
    done(-1, mutex, 0);
  }

  void wait(int condition, int mutex)
  {
    begin({Kind::wait, condition, mutex, false, false});
    touch(condition, true);
    unlock_now(mutex);
    me().notified = false;
    place_[condition].waiting.push_back(running_);
    done(-1, condition, 0);
    announce({Kind::relock, condition, mutex, false, false});
    lock_now(mutex);
    done(-1, mutex, 0);
  }

  void notify(int condition, bool all, Caller caller)
  {
    const int site = sites_.note(caller, all ? "notify_all" : "notify_one", nullptr);
    begin({Kind::notify, condition, -1, false, false});
    touch(condition, true);
    std::vector<int>& waiting = place_[condition].waiting;
    if (!sites_.drops(site) && !waiting.empty()) {
      if (all) {
        for (const int t : waiting) thread_[t].notified = true;
        waiting.clear();
      } else {
        const auto one = waiting.begin() + choose(static_cast<int>(waiting.size()));
        thread_[*one].notified = true;
        waiting.erase(one);
      }
    }
    done(site, condition, 0);
  }

  bool pause(bool may_expire, int loads)
  {
    Thread& t = me();
    if (t.expiring) {
      if (!may_expire) t.expiring = false;  // the next poll may read another store
      return may_expire;
    }
    t.may_expire = may_expire && options_.spins_expire;
    if (t.may_expire && choose(2) == 1) return t.expiring = true;
    for (const int place : {t.last_place, loads == 2 ? t.place_before : t.last_place}) {
      if (place < 0 || t.last_read[place] + 1u < place_[place].stores.size())
        abandon_as_redundant();  // the poll might have read a later store at once
      t.awaited |= std::uint64_t(1) << place;
    }
    return false;
  }

private:
  void note_violation(const std::string& what)
  {
    if (!result_.violation.empty()) return;
    result_.violation = what;
    result_.trace = describe();
  }

  Thread& me() { return thread_[running_]; }
  std::uint16_t now() const { return thread_[running_].known.clock[running_]; }

  // --- coroutines

  void begin_thread(int t, std::function<void()> body, bool daemon)
  {
    Thread& thread = thread_[t];
    const std::uint16_t time = thread.known.clock[t];
    thread.code.set_body(std::move(body));
    thread.exists = true;
    thread.daemon = daemon;
    thread.may_expire = thread.expiring = thread.notified = false;
    thread.next = Operation();
    thread.known = me().known;
    thread.known.clock[t] = static_cast<std::uint16_t>(std::max(time, thread.known.clock[t]) + 1);
    thread.acquirable = thread.released = Knowledge();
    thread.last_place = thread.place_before = -1;
    thread.awaited = 0;
    ++me().known.clock[running_];
  }

  /// Lets a thread execute the operation it has announced and go on to its next one.
  void resume(int t)
  {
    running_ = t;
    thread_[t].code.resume();
    running_ = 0;
    if (leaving_) throw Abandoned();
  }

  void announce(const Operation& next)
  {
    if (running_ == 0) return;
    me().next = next;
    me().code.stop();
  }

  void begin(const Operation& next)
  {
    me().expiring = false;
    me().awaited = 0;
    announce(next);
  }

  void abandon()
  {
    leaving_ = true;
    if (running_ != 0) me().code.stop();
    throw Abandoned();
  }
  void abandon_as_redundant()
  {
    redundant_ = true;
    abandon();
  }

  // --- the tree of choices

  void execute(const std::function<void()>& program)
  {
    places_ = running_ = 0;
    choices_.start_at_root();
    steps_.clear();
    seq_cst_ = Knowledge();
    for (Thread& thread : thread_) {
      thread.exists = false;
      thread.known = thread.acquirable = thread.released = Knowledge();
    }
    thread_[0].known.clock[0] = 1;
    thread_[0].expiring = false;
    executing_ = true;
    leaving_ = redundant_ = false;
    try {
      program();
      ++result_.executions;
    } catch (const Abandoned&) {
      if (redundant_) ++result_.redundant;
    }
  }

  int choose(int count) { return choices_.choose(count); }

  bool enabled(const Thread& t) const
  {
    const Operation& next = t.next;
    switch (next.kind) {
      case Kind::load: return !next.awaits;
      case Kind::lock: return !place_[next.place].locked;
      case Kind::relock: return t.notified && !place_[next.other].locked;
      default: return true;
    }
  }

  bool step_one()
  {
    for (int t = 1; t < most_threads; ++t)
      if (thread_[t].exists && thread_[t].code.fresh()) resume(t);
    unsigned able = 0;
    bool all_done = true, may_expire = false;
    for (int t = 1; t < most_threads; ++t) {
      const Thread& thread = thread_[t];
      if (!thread.exists || thread.code.finished()) continue;
      if (!thread.daemon) all_done = false;
      if (thread.next.awaits && thread.may_expire) may_expire = true;
      if (enabled(thread)) able |= 1u << t;
    }
    if (able == 0) {
      if (all_done && !may_expire) return false;
      if (may_expire) abandon_as_redundant();  // a spin ends after some time: that is another branch
      fail("deadlock: a thread waits for ever");
    }
    if (steps_.size() > most_steps) fail("does not end");
    const int t = choices_.choose_thread(able, [this](int u) -> const Operation& { return thread_[u].next; });
    if (t < 0) abandon_as_redundant();
    if (choices_.at_leaf()) ++result_.states;
    resume(t);
    return true;
  }

  // --- memory

  Place& living(int place)
  {
    if (place < 0) std::terminate();
    Place& p = place_[place];
    if (!p.alive) fail(std::string(p.name) + ": is used after its end");
    return p;
  }

  /// Notes an atomic access: what was done without atomicity must happen before.
  void touch(int place, bool changes)
  {
    Place& p = living(place);
    if (!me().known.covers(p.plain)) fail(std::string(p.name) + ": data race with a plain write or its begin");
    p.accesses[running_] = now();
    if (changes) p.changes[running_] = now();
  }

  int first_readable(int place, Order order)
  {
    const int known = me().known.floor[place];
    if (order != seq_cst) return known;
    return std::max({known, place_[place].last_seq_cst, static_cast<int>(seq_cst_.floor[place])});
  }

  void learn(int place, int index, Order order)
  {
    Thread& t = me();
    t.known.floor[place] = std::max(t.known.floor[place], static_cast<std::uint16_t>(index));
    const Knowledge& message = place_[place].stores[index].message;
    if (acquires(order)) t.known.join(message);
    else t.acquirable.join(message);
  }

  void append(int place, std::uint64_t value, Order order, const Knowledge* sequence)
  {
    Thread& t = me();
    Place& p = place_[place];
    for (const Thread& other : thread_)
      if (other.exists && !other.code.finished() && other.next.awaits && (other.awaited >> place & 1))
        abandon_as_redundant();  // it might have polled now for the first time
    t.known.floor[place] = static_cast<std::uint16_t>(p.stores.size());
    if (order == seq_cst) p.last_seq_cst = static_cast<int>(p.stores.size());
    Knowledge message = releases(order) ? t.known : t.released;
    if (sequence) message.join(*sequence);
    p.stores.push_back({value, message});
  }

  void lock_now(int mutex)
  {
    touch(mutex, true);
    place_[mutex].locked = true;
    me().known.join(place_[mutex].passed_on);
    holder_[mutex] = running_;
  }
  void unlock_now(int mutex)
  {
    touch(mutex, true);
    place_[mutex].locked = false;
    place_[mutex].passed_on = me().known;
    holder_[mutex] = -1;
  }
  bool holds(int mutex) const { return holder_[mutex] == running_ && place_[mutex].locked; }

  std::uint64_t done(int site, int place, std::uint64_t value)
  {
    ++me().known.clock[running_];
    steps_.push_back({running_, site, place, value});
    return value;
  }

  // --- sites

  const char* thread_site() const
  {
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step)
      if (step->thread == running_ && step->site >= 0) return sites_.name(step->site).c_str();
    return "first";
  }

  std::string describe() const
  {
    std::string text;
    for (const Step& step : steps_) {
      char line[200];
      std::snprintf(line, sizeof line, "  thread %d: %s, place %d, value %lld\n", step.thread,
                    step.site < 0 ? "mutex or condition" : sites_.name(step.site).c_str(), step.place,
                    static_cast<long long>(step.value));
      text += line;
    }
    return text;
  }

public:
  static Checker& the()
  {
    static Checker checker;
    return checker;
  }
  bool executing() const { return executing_; }

private:
  Options options_;
  Result result_;
  std::array<Thread, most_threads> thread_;
  std::array<Place, most_places> place_;
  std::array<int, most_places> holder_{};
  Sites sites_;
  int places_ = 0, running_ = 0;
  Choices choices_;
  std::vector<Step> steps_;
  Knowledge seq_cst_;  ///< of fences
  bool executing_ = false, leaving_ = false, redundant_ = false;
};

}  // namespace

void in_parallel(std::vector<std::function<void()>> threads) { Checker::the().run(std::move(threads)); }
Result explore(const std::function<void()>& program, const Options& options)
{
  return Checker::the().search(program, options);
}
void require(bool holds, const char* what)
{
  if (!holds) Checker::the().fail(what);
}
bool pause_or_expire() { return Checker::the().pause(true, 1); }
void pause_for_ever(int loads) { Checker::the().pause(false, loads); }
void start_daemon(std::function<void()> body) { Checker::the().begin_daemon(std::move(body)); }

int create_place(void* address, std::uint64_t value, const char* name)
{
  return Checker::the().create(address, value, name);
}
void destroy_place(int place, bool performed) { Checker::the().destroy(place, performed); }
int place_of(const void* address, std::uint64_t value) { return Checker::the().place_of_address(address, value); }
std::uint64_t load(int place, Order order, const char* operation, Caller caller)
{
  return Checker::the().load(place, order, operation, caller);
}
void store(int place, std::uint64_t value, Order order, const char* operation, Caller caller)
{
  Checker::the().store(place, value, order, operation, caller);
}
std::uint64_t modify(int place, const std::function<std::uint64_t(std::uint64_t)>& change, Order order,
                     const char* operation, Caller caller)
{
  return Checker::the().modify(place, change, order, operation, caller);
}
bool compare_exchange(int place, std::uint64_t& seen, std::uint64_t wanted, Order order, Caller caller)
{
  return Checker::the().exchange(place, seen, wanted, order, caller);
}
void fence(Order order, Caller caller) { Checker::the().fence(order, caller); }
std::uint64_t load_plain(int place) { return Checker::the().load_plain(place); }
void store_plain(int place, std::uint64_t value) { Checker::the().store_plain(place, value); }
void lock(int mutex) { Checker::the().lock(mutex); }
void unlock(int mutex) { Checker::the().unlock(mutex); }
void wait(int condition, int mutex) { Checker::the().wait(condition, mutex); }
void notify(int condition, bool all, Caller caller) { Checker::the().notify(condition, all, caller); }

}  // namespace syncfree::model
