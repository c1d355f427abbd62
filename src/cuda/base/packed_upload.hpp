#pragma once

/// Several arrays in one launch: copies from host memory, and fills. A copy or a fill by itself takes the host 2 to 9
/// us on an H200, of a small system as long as what is done with the array. The launch reads pinned memory, in which
/// the caller writes the arrays, so nothing waits. Throws Failure.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstring>
#include <mutex>
#include <type_traits>
#include <vector>

#include "syncfree/cuda/detail/device.hpp"

namespace syncfree::cuda {

/// Blocks of pinned memory for the lifetime of the process, for all devices: making one takes longer than a set-up of
/// a small system. Several threads have a block each.
class PinnedBlocks {
public:
  static constexpr std::size_t bytes_of_block = 1 << 18;

  static PinnedBlocks& of_process();
  /// Returns nullptr if there are too many, or none could be made.
  char* take_block();
  void return_block(char* block);

private:
  PinnedBlocks() = default;

  static constexpr std::size_t most_blocks = 64;
  std::mutex mutex_;
  std::vector<char*> idle_;
  std::size_t made_ = 0;
  bool failed_ = false;
};

/// Destroyed when the launch has ended, for which it waits unless the caller has.
class PackedUpload {
public:
  PackedUpload() = default;
  PackedUpload(const PackedUpload&) = delete;
  ~PackedUpload();

  /// Allocates *to. Returns host memory for its values, to be written before send_all().
  template <class V> V* add(DeviceArray<V>* to, std::size_t count)
  {
    static_assert(std::is_trivially_copyable_v<V>);
    *to = DeviceArray<V>(count);
    return static_cast<V*>(add_bytes(to->data(), to->bytes()));
  }
  template <class V> void add_copy(DeviceArray<V>* to, const V* from, std::size_t count)
  {
    V* const packed = add(to, count);
    if (count > 0) std::memcpy(packed, from, count * sizeof(V));
  }
  template <class Values> void add_copy(DeviceArray<typename Values::value_type>* to, const Values& from)
  {
    add_copy(to, from.data(), from.size());
  }
  /// Fills an array with bytes of that value.
  template <class V> void fill(const DeviceArray<V>& array, unsigned char byte)
  {
    fill_bytes(array.data(), array.bytes(), byte);
  }

  /// Queues everything, once. The arrays may be used in this stream.
  void send_all(cudaStream_t stream);
  /// The caller has waited for the stream.
  void note_end() { sent_ = false; }

private:
  /// Returns aligned host memory.
  void* add_bytes(void* to, std::size_t bytes);
  void fill_bytes(void* to, std::size_t bytes, unsigned char byte);

  /// A part of an array. from: nullptr: filled with bytes of the value `byte`
  struct Part {
    void* to;
    const void* from;
    std::size_t bytes;
    unsigned char byte;
    bool pinned;  ///< or filled by the launch
  };

  std::vector<Part> parts_;
  std::vector<char*> block_;
  std::vector<std::vector<char>> pageable_;  ///< of arrays for which there is no block
  std::size_t used_ = 0;                     ///< bytes of the last block
  cudaStream_t stream_ = nullptr;
  bool sent_ = false;
};

}  // namespace syncfree::cuda
