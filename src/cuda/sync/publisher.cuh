#pragma once

/// Where a block puts numbers that another one reads.

#include <cstdint>

#include "syncfree/cuda/ready.cuh"

namespace syncfree::cuda {

/// Where a block puts the numbers that others read, by their places among its exported values: its mailbox, or, in a
/// chain, the ghosts of the next block of the cluster.
template <class N, bool chain> class Publisher {
public:
  using Mail = SentinelValue<N>;
  explicit __device__ Publisher(typename Mail::word* first) : first_(first) {}

  /// Whose place 0 is this one's place `exported`.
  __device__ Publisher from(std::uint32_t exported) const
  {
    return Publisher(first_ + static_cast<std::size_t>(Mail::words) * exported);
  }

  __device__ void put_if(bool wanted, std::uint32_t exported, const N& v) const
  {
    auto* place = first_ + static_cast<std::size_t>(Mail::words) * exported;
    if constexpr (chain) Mail::publish_anywhere_if(wanted, place, v);
    else Mail::publish_if(wanted, place, v);
  }

private:
  typename Mail::word* const first_;
};

}  // namespace syncfree::cuda
