#pragma once

/// The processors that this process may use, and its CPU quota. What the system does not report limits nothing.

#include <sched.h>

#include <array>
#include <cstddef>
#include <string>

namespace syncfree {

/// Set of processors; processor p is bit p. Processors from 8192 on, the most that a kernel is configured for, are
/// ignored.
class ProcessorSet {
public:
  /// Processors of the main thread, of the calling thread and of OpenMP's places: with OMP_PROC_BIND the main thread is
  /// pinned to one place, which is not meant to restrict other threads.
  static ProcessorSet of_process();

  bool has(std::size_t processor) const { return CPU_ISSET_S(processor, mask_bytes(), words()); }
  ///   processor  below capacity()
  void add_processor(std::size_t processor) { CPU_SET_S(processor, mask_bytes(), words_.data()); }
  int count_processors() const { return CPU_COUNT_S(mask_bytes(), words()); }
  std::size_t capacity() const { return 8 * mask_bytes(); }

  std::size_t mask_bytes() const { return sizeof words_; }
  const cpu_set_t* words() const { return words_.data(); }

private:
  void add_those_of(int thread);
  void add_places_of_openmp();

  std::array<cpu_set_t, 8192 / CPU_SETSIZE> words_ = {};
};

/// Number of cores of a set of processors: hyperthreads of one core count once. Throws std::bad_alloc.
///   root  prefix of /sys
int count_cores(const ProcessorSet& processors, const std::string& root);

/// CPU quota, in processors, that the cgroup of this process and its parents grant (versions 1 and 2); 0 if there is no
/// limit. Throws std::bad_alloc.
///   root  prefix of /proc and /sys
double processor_quota(const std::string& root);

}  // namespace syncfree
