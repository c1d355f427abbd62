#pragma once

/// A hang is a failure with a name.

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace syncfree {

/// Returns `seconds`, times the number in SYNCFREE_PATIENCE: under a tool of compute-sanitizer a kernel takes hundreds
/// of times as long.
inline int seconds_of_patience(int seconds)
{
  const char* const times = std::getenv("SYNCFREE_PATIENCE");
  const int factor = times ? std::atoi(times) : 1;
  return factor > 1 ? seconds * factor : seconds;
}

/// Ends the program with a message that names the test, if the object still lives after `given` seconds, see above: a
/// hang is a failure.
class Watchdog {
public:
  Watchdog(std::string name, int given)
      : guard_([this, name = std::move(name), seconds = seconds_of_patience(given)] {
          std::unique_lock<std::mutex> lock(mutex_);
          if (done_.wait_for(lock, std::chrono::seconds(seconds), [this] { return over_; })) return;
          std::fprintf(stderr, "[  FAILED  ] hang: %s did not end within %d s\n", name.c_str(), seconds);
          std::_Exit(1);
        })
  {
  }
  ~Watchdog()
  {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      over_ = true;
    }
    done_.notify_one();
    guard_.join();
  }

private:
  std::mutex mutex_;
  std::condition_variable done_;
  bool over_ = false;
  std::thread guard_;
};

inline constexpr int patience = 120;  ///< seconds; sanitizers slow a solve down by up to 50

/// Returns true for a shorter run, which config/test.sh requests under a sanitizer: no large matrix, one team of
/// threads instead of `all`.
inline bool short_run() { return std::getenv("SYNCFREE_SHORT") != nullptr; }
inline std::vector<int> teams(std::vector<int> all) { return short_run() ? std::vector<int>{3} : all; }

}  // namespace syncfree
