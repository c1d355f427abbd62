#pragma once

/// Monitors whether several threads (the team) pay off. The plan predicts so for a machine without other load. After
/// three consecutive applies that took longer than one thread should, the next one runs on one thread; if it is faster
/// than each of the three, one thread does all further applies, else its time replaces the estimate for one thread.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

namespace syncfree {

/// Current time in seconds. Tests replace it.
inline double (*team_clock)() = [] {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
};

class TeamMonitor {
public:
  /// Starts monitoring; off before.
  ///   seconds  estimated time of an apply on one thread
  void start_watching(double seconds)
  {
    *this = TeamMonitor();
    state_ = State::team;
    alone_ = seconds;
  }

  bool watches() const { return state_ == State::team || state_ == State::trial; }

  /// True if the next apply is to run on one thread.
  bool works_alone() const { return state_ == State::trial || state_ == State::fallen_back; }
  bool has_fallen_back() const { return state_ == State::fallen_back; }

  /// Records the time of an apply. Returns whether works_alone() has changed.
  bool record_apply(double seconds)
  {
    const bool before = works_alone();
    if (state_ == State::team) note_team(seconds);
    else if (state_ == State::trial) note_trial(seconds);
    return works_alone() != before;
  }

  /// A clause for the view, which follows the reason for choosing several threads.
  std::string reason() const
  {
    char words[128];
    std::snprintf(words, sizeof words,
                  ", but %d applications took longer (%.3g ms, one thread %.3g ms): continuing with one thread",
                  slow_, 1e3 * team_, 1e3 * alone_);
    return words;
  }

private:
  enum class State { off, team, trial, fallen_back };
  static constexpr int patience = 3;

  void note_team(double seconds)
  {
    if (seconds <= alone_) {
      slow_ = 0;
      return;
    }
    team_ = slow_ == 0 ? seconds : std::min(team_, seconds);
    if (++slow_ == patience) state_ = State::trial;
  }

  void note_trial(double seconds)
  {
    const bool faster = seconds < team_;
    state_ = faster ? State::fallen_back : State::team;
    alone_ = seconds;
    if (!faster) slow_ = 0;
  }

  State state_ = State::off;
  int slow_ = 0;                  ///< consecutive slow applies of the team
  double team_ = 0, alone_ = 0;   ///< seconds: the fastest of the slow applies, and one thread
};

}  // namespace syncfree
