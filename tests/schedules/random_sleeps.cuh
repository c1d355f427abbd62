#pragma once

/// What the folder ready does at random before a device thread waits, publishes or takes a ticket, where the library is
/// compiled with SYNCFREE_RANDOM_SLEEPS. A hash of the clock, the warp and the place in the source decides; it is the
/// same for all threads of a converged warp, which stays so.

#define SYNCFREE_MAY_NANOSLEEP ::syncfree::cuda::may_nanosleep(__LINE__);

namespace syncfree::cuda {

inline __device__ unsigned mix_bits(unsigned h)
{
  h = (h ^ h >> 16) * 0x85ebca6bu;
  h = (h ^ h >> 13) * 0xc2b2ae35u;
  return h ^ h >> 16;
}

/// Sleeps in one of 4 to 512 cases, a rate that changes every millisecond; mostly for less than a microsecond.
inline __device__ void may_nanosleep(unsigned place)
{
  const long long now = clock64();
  const unsigned warp = blockIdx.x * 64 + threadIdx.x / 32;
  const unsigned random = mix_bits(static_cast<unsigned>(now) ^ mix_bits(warp + 0x9e3779b9u * place));
  const unsigned rarity = 4u << (mix_bits(static_cast<unsigned>(now >> 21)) & 7);
  if (random % rarity != 0) return;
  const unsigned length = random >> 12;
  __nanosleep(length % 16 == 0 ? length >> 4 & 0x3fff : length >> 4 & 0x3ff);
}

}  // namespace syncfree::cuda
