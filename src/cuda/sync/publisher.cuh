#pragma once

/// Where a tile writes its exported values.

#include <cstdint>

#include "syncfree/cuda/ready/sentinel.cuh"

namespace syncfree::cuda {

/// Destination of a tile's exported values, by their index: its mailbox or, in a pipeline of tiles (`chain`), the
/// ghosts of the next thread block of the cluster.
template <class N, bool chain> class Publisher {
public:
  using Mail = SentinelValue<N>;
  explicit __device__ Publisher(typename Mail::word* first) : first_(first) {}

  /// Returns a publisher whose index 0 is index `exported` of this one.
  __device__ Publisher from(std::uint32_t exported) const
  {
    return Publisher(first_ + static_cast<std::size_t>(Mail::words) * exported);
  }

  __device__ void put_if(bool wanted, std::uint32_t exported, const N& v) const
  {
    auto* slot = first_ + static_cast<std::size_t>(Mail::words) * exported;
    if constexpr (chain) Mail::publish_anywhere_if(wanted, slot, v);
    else Mail::publish_if(wanted, slot, v);
  }

private:
  typename Mail::word* const first_;
};

}  // namespace syncfree::cuda
