#pragma once

/// Solves that CUDA graphs have captured. A replay of one is valid while the object's generation is that of the capture
/// and there are numbers. Behind each captured solve stands a kernel that looks: a replay that is void finds memory
/// that was kept for it (syncfree/cuda/detail/graph_holds.hpp) and waits for nobody else, then its x becomes NaN, and a
/// word of host memory tells the next call.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "syncfree/cuda/detail/device.hpp"
#include "syncfree/cuda/detail/graph_holds.hpp"
#include "syncfree/cuda/detail/host_word.hpp"
#include "syncfree/status.hpp"

namespace syncfree::cuda {

/// What a captured solve fills: columns that begin `leading` entries behind each other.
struct CapturedOutput {
  void* x;
  std::size_t rows, leading;
  int columns;
  std::size_t bytes_of_entry;
};

/// Of one object. Throws Failure and std::bad_alloc.
class CapturedSolves {
public:
  CapturedSolves() = default;
  ~CapturedSolves();

  /// Changes exactly where earlier captures become void.
  std::uint64_t generation() const { return generation_; }
  void make_void() { ++generation_; }

  /// Does a graph live that holds solves; that captured one in that generation or later?
  bool any() const { return holds_.any(); }
  bool any_since(std::uint64_t generation) const { return any() && last_captured_ >= generation; }

  /// What a captured solve may use and the object gives up.
  template <class P> void keep(P what, std::size_t bytes)
  {
    holds_.keep(std::move(what), bytes);
  }
  template <class P> void keep_behind(P what) noexcept
  {
    holds_.keep_behind(std::move(what));
  }
  std::size_t bytes() const { return holds_.bytes(); }

  /// From here on in the stream replays find no numbers, or those of this generation. Nothing where nothing was
  /// captured.
  void take_numbers_away(cudaStream_t stream) { tell_replays(0, stream); }
  void bring_numbers(cudaStream_t stream) { tell_replays(valid(), stream); }

  /// Behind the last launch of a solve in a stream that is recorded.
  void end_captured(const CapturedOutput& output, cudaStream_t stream);

  /// Has a void solve been replayed, as far as the device has come? Told once.
  Status look();

private:
  /// Lives as long as graphs that refer to it.
  struct Word {
    DeviceArray<unsigned long long> valid{1};  ///< generation + 1 of the numbers; 0: there are none
    MappedWord told;                             ///< not 0: a void solve was replayed
  };

  unsigned long long valid() const { return generation_ + 1; }
  void make_word();
  void tell_replays(unsigned long long valid, cudaStream_t stream);

  GraphRetention holds_;
  std::shared_ptr<Word> word_;  ///< from the first capture on
  std::uint64_t generation_ = 0, last_captured_ = 0;
  bool has_numbers_ = false;
};

}  // namespace syncfree::cuda
