#pragma once

/// Processes wait for each other, by files in a folder that they share.

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace syncfree {

/// One of `count` processes that meet at named points: each writes a file POINT.NAME and waits for those of the others.
/// One that ends, or is late by more than `limit` seconds, is an error of the others at that point, which then go on.
class Meeting {
public:
  Meeting(std::filesystem::path folder, int count, double limit, std::string name)
      : folder_(std::move(folder)), count_(count), limit_(limit), name_(std::move(name))
  {
  }
  Meeting(const Meeting&) = delete;
  ~Meeting() { (void)write("ended"); }

  /// Returns an empty text once all are at the point, or what went wrong.
  std::string meet(const std::string& point)
  {
    const auto begin = std::chrono::steady_clock::now();
    if (!write(point)) return "no file can be written to " + folder_.string();
    for (;;) {
      const bool has_ended = number_at("ended") > 0;  // looked up first: one that came may end
      const int here = number_at(point);
      if (here >= count_) return {};
      if (has_ended) return "a process ended before it came to " + point;
      if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > limit_)
        return std::to_string(here) + " of " + std::to_string(count_) + " processes came to " + point + " in time";
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

private:
  bool write(const std::string& point) const { return std::ofstream(folder_ / (point + "." + name_)).good(); }
  int number_at(const std::string& point) const
  {
    std::error_code ignored;
    int count = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder_, ignored)) count += file.path().stem() == point;
    return count;
  }

  std::filesystem::path folder_;
  int count_;
  double limit_;
  std::string name_;
};

}  // namespace syncfree
