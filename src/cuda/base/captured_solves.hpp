#pragma once

/// Solves that CUDA graphs have captured. A replay is valid while the object's generation is that of the capture and
/// the object has values. A kernel after each captured solve checks this. An invalid replay still runs on memory kept
/// for it (syncfree/cuda/detail/graph_retention.hpp) and waits for no other work; then its x becomes NaN, and a word in
/// host memory reports it to the next call.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "syncfree/cuda/detail/device.hpp"
#include "syncfree/cuda/detail/graph_retention.hpp"
#include "syncfree/cuda/detail/mapped_word.hpp"
#include "syncfree/status.hpp"

namespace syncfree::cuda {

/// Output of a captured solve: columns at a distance of `leading` entries.
struct CapturedOutput {
  void* x;
  std::size_t rows, leading;
  int columns;
  std::size_t bytes_of_entry;
};

/// The captured solves of one object. Throws Failure and std::bad_alloc.
class CapturedSolves {
public:
  CapturedSolves() = default;
  ~CapturedSolves();

  /// Changes exactly when earlier captures become invalid.
  std::uint64_t generation() const { return generation_; }
  void make_void() { ++generation_; }

  /// True if a graph that holds solves exists; any_since(): one captured in that generation or later.
  bool any() const { return holds_.any(); }
  bool any_since(std::uint64_t generation) const { return any() && last_captured_ >= generation; }

  /// Keeps what a captured solve may use and the object releases.
  template <class P> void keep(P what, std::size_t bytes)
  {
    holds_.keep(std::move(what), bytes);
  }
  template <class P> void keep_for_graphs(P what) noexcept
  {
    holds_.keep_for_graphs(std::move(what));
  }
  std::size_t captured_bytes() const { return holds_.held_bytes(); }

  /// Makes replays find no values, or those of this generation, from this point of the stream on. No effect if nothing
  /// was captured.
  void take_numbers_away(cudaStream_t stream) { tell_replays(0, stream); }
  void bring_numbers(cudaStream_t stream) { tell_replays(valid(), stream); }

  /// Queues the check of a replay. Called after the last launch of a solve in a stream that is being captured.
  void end_captured(const CapturedOutput& output, cudaStream_t stream);

  /// Reports, once, whether an invalid solve has been replayed, as far as the device has executed.
  Status check_captures();

private:
  /// Lives as long as graphs that refer to it.
  struct Word {
    DeviceArray<unsigned long long> valid{1};  ///< generation + 1 of the values; 0: there are none
    MappedWord told;                             ///< not 0: an invalid solve was replayed
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
