#pragma once

/// CUDA's atomic functions on words in global or shared memory. They are relaxed: their results are read after a
/// barrier of the thread block, or by the next launch.

#include <type_traits>

namespace syncfree::cuda {

/// Each returns the previous value.
inline __device__ unsigned atomic_add(unsigned* word, unsigned v) { return atomicAdd(word, v); }
inline __device__ unsigned atomic_min(unsigned* word, unsigned v) { return atomicMin(word, v); }
inline __device__ unsigned atomic_max(unsigned* word, unsigned v) { return atomicMax(word, v); }

/// Stores `wanted` in an empty slot (-1). Returns the previous value: -1 if stored, otherwise the row in the slot.
template <class I> __device__ I claim(I* slot, I wanted)
{
  using Word = std::conditional_t<sizeof(I) == 8, unsigned long long, unsigned>;
  const Word nothing = ~Word(0);
  return static_cast<I>(atomicCAS(reinterpret_cast<Word*>(slot), nothing, static_cast<Word>(wanted)));
}

}  // namespace syncfree::cuda
