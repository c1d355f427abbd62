#pragma once

/// A loop on several threads, for pattern work.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace syncfree {

/// body(part) for all parts below `count`, each once, on at most `threads` threads; parts must not depend on each
/// other. Where no thread can be had fewer do the work. Throws std::bad_alloc where a body did.
template <class Body> void for_parts(int threads, std::size_t count, const Body& body)
{
  std::atomic<std::size_t> next{0};
  std::atomic<bool> out_of_memory{false};
  const auto work = [&] {
    try {
      for (std::size_t part = next++; part < count; part = next++) body(part);
    } catch (const std::bad_alloc&) {
      out_of_memory = true;
    }
  };
  std::vector<std::thread> others;
  for (std::size_t t = 1; t < static_cast<std::size_t>(threads) && t < count; ++t) {
    try {
      others.emplace_back(work);
    } catch (const std::system_error&) {
      break;
    } catch (const std::bad_alloc&) {
      break;
    }
  }
  work();
  for (std::thread& other : others) other.join();
  if (out_of_memory) throw std::bad_alloc();
}

/// To start a thread takes as long as some thousand entries of a pattern do.
inline int worthwhile_threads(std::int64_t entries, int most)
{
  return static_cast<int>(std::min<std::int64_t>(most, 1 + entries / 20000));
}

/// Rows in parts that are worth a thread's while.
constexpr std::size_t rows_of_part = 1 << 14;
template <class I> std::size_t parts_of(I rows)
{
  return (static_cast<std::size_t>(rows) + rows_of_part - 1) / rows_of_part;
}
template <class I> I first_of_part(std::size_t part) { return static_cast<I>(part * rows_of_part); }
template <class I> I end_of_part(std::size_t part, I rows)
{
  return static_cast<I>(std::min((part + 1) * rows_of_part, static_cast<std::size_t>(rows)));
}

}  // namespace syncfree
