#pragma once

/// Which processors this process may use, and how much of them. What the system does not tell limits nothing.

#include <sched.h>

#include <array>
#include <cstddef>
#include <string>

namespace syncfree {

/// Processor p is bit p. Those from 8192 on, the most that a kernel is configured for, are not seen.
class ProcessorSet {
public:
  /// Those of the main thread, of the calling thread and of OpenMP's places: with OMP_PROC_BIND the main thread is
  /// pinned to one place, which is no wish of the user for other threads.
  static ProcessorSet of_process();

  bool has(std::size_t processor) const { return CPU_ISSET_S(processor, bytes(), words()); }
  void add(std::size_t processor) { CPU_SET_S(processor, bytes(), words_.data()); }  ///< below end()
  int count() const { return CPU_COUNT_S(bytes(), words()); }
  std::size_t end() const { return 8 * bytes(); }

  std::size_t bytes() const { return sizeof words_; }
  const cpu_set_t* words() const { return words_.data(); }

private:
  void add_those_of(int thread);
  void add_places_of_openmp();

  std::array<cpu_set_t, 8192 / CPU_SETSIZE> words_ = {};
};

/// The cores of some processors: hyperthreads of one core count once.
///   root  before /sys
/// Throws std::bad_alloc, as the next one does.
int count_cores(const ProcessorSet& processors, const std::string& root);

/// Processors whose time the cgroup of this process and those above it grant, of versions 1 and 2; 0 where there is no
/// limit.
///   root  before /proc and /sys
double processor_quota(const std::string& root);

}  // namespace syncfree
