#pragma once

/// Words of host memory that kernels write to and the host looks at without asking CUDA: what a launch has to report is
/// seen by a later call that waits for nothing.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <mutex>
#include <vector>

#include "syncfree/cuda/device.hpp"

namespace syncfree::cuda {

/// For all devices, for as long as the process lives.
class HostWords {
public:
  static HostWords& all()
  {
    static HostWords& words = *new HostWords;
    return words;
  }

  /// Throws Failure.
  unsigned* take()
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (idle_.empty()) make();
    unsigned* const word = idle_.back();
    idle_.pop_back();
    return word;
  }

  void put(unsigned* word)
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(word);  // for which make() has left room
  }

private:
  static constexpr std::size_t words_of_page = 64, step = 16;  ///< a word has a line of its own

  HostWords() = default;

  void make()
  {
    void* page = nullptr;
    idle_.reserve((made_ + 1) * words_of_page);
    SYNCFREE_CUDA(
        cudaHostAlloc(&page, words_of_page * step * sizeof(unsigned), cudaHostAllocPortable | cudaHostAllocMapped));
    for (std::size_t k = 0; k < words_of_page; ++k) idle_.push_back(static_cast<unsigned*>(page) + k * step);
    ++made_;
  }

  std::mutex mutex_;
  std::vector<unsigned*> idle_;
  std::size_t made_ = 0;
};

/// One of them. No kernel that may write to it is under way when it ends.
class HostWord {
public:
  HostWord() : word_(HostWords::all().take()) { set(0); }
  HostWord(const HostWord&) = delete;
  HostWord& operator=(const HostWord&) = delete;
  ~HostWord() { HostWords::all().put(word_); }

  unsigned* there() const { return word_; }  ///< for kernels
  unsigned get() const { return *static_cast<volatile const unsigned*>(word_); }
  void set(unsigned v) { *static_cast<volatile unsigned*>(word_) = v; }

private:
  unsigned* word_;
};

}  // namespace syncfree::cuda
