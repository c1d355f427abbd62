#pragma once

/// A parallel loop for work on patterns.

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace syncfree {

/// Type-erased loop body.
struct Parts {
  void (*run)(const void* body, std::size_t part);
  const void* body;
};
void run_parts(int threads, std::size_t count, const Parts& parts);

/// Calls body(part) once for each part in [0, count), on at most `threads` threads; parts must not depend on each
/// other. If threads cannot be created, fewer do the work. Throws std::bad_alloc if a body did. Any thread may call it,
/// also from within a body: the threads are kept asleep between calls and shared by all calls.
template <class Body> void for_parts(int threads, std::size_t count, const Body& body)
{
  const auto run = [](const void* of, std::size_t part) { (*static_cast<const Body*>(of))(part); };
  run_parts(threads, count, {run, &body});
}

/// Number of threads worth using: waking a thread takes as long as processing some thousand entries of a pattern.
inline int worthwhile_threads(std::int64_t entries, int most)
{
  return static_cast<int>(std::min<std::int64_t>(most, 1 + entries / 20000));
}

/// Rows are divided into parts large enough to be worth a thread's time.
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
