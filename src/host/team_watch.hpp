#pragma once

/// Does a team of threads pay? Its plan promises so for a machine that has nothing else to do. After three applies in
/// a row that took longer than one thread should, one thread does the next; if it is faster than each of the three it
/// does all that follow, else what it took is what one thread takes.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

namespace syncfree {

/// Seconds. Tests put another in its place.
inline double (*team_clock)() = [] {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
};

class TeamMonitor {
public:
  /// From now on. Nobody is watched before.
  ///   seconds  of an apply by one thread, estimated
  void start(double seconds)
  {
    *this = TeamMonitor();
    state_ = State::team;
    alone_ = seconds;
  }

  bool watches() const { return state_ == State::team || state_ == State::trial; }

  /// Is the next apply for one thread?
  bool alone() const { return state_ == State::trial || state_ == State::fallen_back; }
  bool fell_back() const { return state_ == State::fallen_back; }

  /// An apply took so long. Returns whether alone() has changed.
  bool note(double seconds)
  {
    const bool before = alone();
    if (state_ == State::team) note_team(seconds);
    else if (state_ == State::trial) note_trial(seconds);
    return alone() != before;
  }

  /// A clause for the view, behind why the team was taken.
  std::string reason() const
  {
    char words[128];
    std::snprintf(words, sizeof words, ", but %d applications took longer, %.3g ms for %.3g ms, and one thread goes on",
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
  int slow_ = 0;                  ///< in a row, by the team
  double team_ = 0, alone_ = 0;   ///< seconds: the fastest of those, and of one thread
};

}  // namespace syncfree
