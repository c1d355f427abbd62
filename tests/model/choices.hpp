#pragma once

/// The tree of the choices that an execution makes, searched depth-first, and the sleep sets of its threads.

#include <cstddef>
#include <vector>

namespace syncfree::model {

enum class Kind { start, load, store, rmw, fence, lock, unlock, wait, relock, notify };

/// The next operation of a thread, with the objects that it depends on.
struct Operation {
  Kind kind = Kind::start;
  int place = -1;
  int other = -1;  ///< a wait at a condition variable: the mutex
  bool seq_cst = false;
  bool awaits = false;  ///< a load that needs a later store than there is
};

/// False if the operations may change places: then one order of them is enough.
inline bool depend(const Operation& a, const Operation& b)
{
  if (a.kind == Kind::start || b.kind == Kind::start) return false;
  if (a.kind == Kind::fence || b.kind == Kind::fence) return a.seq_cst && b.seq_cst;
  const auto same = [](int p, int q) { return p >= 0 && p == q; };
  const bool meet =
    same(a.place, b.place) || same(a.place, b.other) || same(a.other, b.place) || same(a.other, b.other);
  return meet && (a.kind != Kind::load || b.kind != Kind::load);
}

class Choices {
public:
  ///   most_preemptions  how often an execution leaves a thread that could go on; -1: as often as it likes. With a
  ///                     limit there are no sleep sets: what they omit might be found within it nowhere else.
  void start_search(int most_preemptions)
  {
    path_.clear();
    limit_ = most_preemptions;
  }
  void start_at_root()
  {
    depth_ = 0;
    asleep_ = 0;
    preemptions_ = 0;
    last_ = -1;
  }

  /// Returns one of 0 to count - 1.
  int choose(int count)
  {
    if (count == 1) return 0;
    if (depth_ == path_.size()) path_.push_back({false, 0, count, 0, 0});
    return path_[depth_++].chosen;
  }

  /// Returns a thread of the set `able`, or -1 if all of these are asleep: another execution did the same.
  ///   next  operation of thread t
  template <class Next> int choose_thread(unsigned able, const Next& next)
  {
    const bool last_is_able = last_ >= 0 && (able >> last_ & 1);
    if (limit_ >= 0 && last_is_able && preemptions_ == limit_) able = 1u << last_;
    if (depth_ == path_.size()) {
      const unsigned awake = able & ~asleep_;
      if (awake == 0) return -1;
      path_.push_back({true, __builtin_ctz(awake), 0, able, asleep_});
    }
    const Choice& choice = path_[depth_++];
    asleep_ = 0;
    if (last_is_able && choice.chosen != last_) ++preemptions_;
    last_ = choice.chosen;
    if (limit_ >= 0) return choice.chosen;
    for (unsigned left = choice.asleep; left != 0; left &= left - 1) {
      const int t = __builtin_ctz(left);
      if (!depend(next(t), next(choice.chosen))) asleep_ |= 1u << t;
    }
    return choice.chosen;
  }

  /// True if the last choice was made for the first time.
  bool at_leaf() const { return depth_ == path_.size(); }

  /// Changes the last choice that has another alternative; false if there is none.
  bool to_next_leaf()
  {
    for (; !path_.empty(); path_.pop_back()) {
      Choice& last = path_.back();
      if (!last.of_thread) {
        if (++last.chosen < last.count) return true;
        continue;
      }
      last.asleep |= 1u << last.chosen;
      const unsigned left = last.able & ~last.asleep;
      if (left == 0) continue;
      last.chosen = __builtin_ctz(left);
      return true;
    }
    return false;
  }

private:
  struct Choice {
    bool of_thread;
    int chosen, count;      ///< of a value: one of 0 to count - 1
    unsigned able, asleep;  ///< of a thread: sets of threads; one that was chosen falls asleep
  };

  std::vector<Choice> path_;
  std::size_t depth_ = 0;
  unsigned asleep_ = 0;
  int limit_ = -1, preemptions_ = 0, last_ = -1;
};

}  // namespace syncfree::model
