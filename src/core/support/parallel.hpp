#pragma once

/// A loop on several threads, for pattern work.

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace syncfree {

/// What to do with a part.
struct Parts {
  void (*run)(const void* body, std::size_t part);
  const void* body;
};
void run_parts(int threads, std::size_t count, const Parts& parts);

/// body(part) for all parts below `count`, each once, on at most `threads` threads; parts must not depend on each
/// other. Where no thread can be had fewer do the work. Throws std::bad_alloc where a body did. Any thread may call it,
/// a body too: threads are kept, asleep, and shared by all calls.
template <class Body> void for_parts(int threads, std::size_t count, const Body& body)
{
  const auto run = [](const void* of, std::size_t part) { (*static_cast<const Body*>(of))(part); };
  run_parts(threads, count, {run, &body});
}

/// To wake a thread takes as long as some thousand entries of a pattern do.
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
