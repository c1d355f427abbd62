#pragma once

/// Host memory that kernels write to and the host reads without a call of CUDA: a later call sees what a launch has
/// to report, without waiting.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <mutex>
#include <vector>

#include "syncfree/cuda/detail/device.hpp"

namespace syncfree::cuda {

/// Pool of cache lines of such memory, for all devices, for the lifetime of the process.
class MappedLinePool {
public:
  static constexpr std::size_t bytes_of_line = 64;

  static MappedLinePool& of_process()
  {
    static MappedLinePool& lines = *new MappedLinePool;
    return lines;
  }

  /// Takes a line with uninitialized bytes. Returns CUDA's error if there is no such memory.
  cudaError_t take_line(void** line)
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const cudaError_t error = idle_.empty() ? make() : cudaSuccess;
    if (error != cudaSuccess) return error;
    *line = idle_.back();
    idle_.pop_back();
    return error;
  }

  void return_line(void* line)
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(line);  // does not allocate: make() has reserved the memory
  }

private:
  static constexpr std::size_t lines_of_page = 1024;

  MappedLinePool() = default;

  cudaError_t make()
  {
    idle_.reserve((pages_ + 1) * lines_of_page);
    void* page = nullptr;
    const cudaError_t error =
        cudaHostAlloc(&page, lines_of_page * bytes_of_line, cudaHostAllocPortable | cudaHostAllocMapped);
    if (error != cudaSuccess) return error;
    for (std::size_t k = 0; k < lines_of_page; ++k) idle_.push_back(static_cast<char*>(page) + k * bytes_of_line);
    ++pages_;
    return error;
  }

  std::mutex mutex_;
  std::vector<void*> idle_;
  std::size_t pages_ = 0;
};

/// A word, of 32 or 64 bits, in a line of its own. No kernel that may write to it may be running when it is destroyed.
/// Throws Failure.
template <class Word> class Mapped {
public:
  Mapped()
  {
    void* line;
    check(MappedLinePool::of_process().take_line(&line), "cudaHostAlloc");
    word_ = static_cast<Word*>(line);
    set(0);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() { MappedLinePool::of_process().return_line(word_); }

  Word* device_pointer() const { return word_; }  ///< for kernels
  Word get() const { return *static_cast<volatile const Word*>(word_); }
  void set(Word v) { *static_cast<volatile Word*>(word_) = v; }

private:
  Word* word_;
};

using MappedWord = Mapped<unsigned>;

}  // namespace syncfree::cuda
