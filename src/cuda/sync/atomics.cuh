#pragma once

/// CUDA's atomic functions, of words in memory of the device or of a block. They are relaxed: what they leave is read
/// behind a barrier of the block, or by the next launch.

#include <type_traits>

namespace syncfree::cuda {

/// Each returns what stood there.
inline __device__ unsigned atomic_add(unsigned* word, unsigned v) { return atomicAdd(word, v); }
inline __device__ unsigned atomic_min(unsigned* word, unsigned v) { return atomicMin(word, v); }
inline __device__ unsigned atomic_max(unsigned* word, unsigned v) { return atomicMax(word, v); }

/// What stood there: -1, and then `wanted` stands there now, or a row.
template <class I> __device__ I claim(I* place, I wanted)
{
  using Word = std::conditional_t<sizeof(I) == 8, unsigned long long, unsigned>;
  const Word nothing = ~Word(0);
  return static_cast<I>(atomicCAS(reinterpret_cast<Word*>(place), nothing, static_cast<Word>(wanted)));
}

}  // namespace syncfree::cuda
