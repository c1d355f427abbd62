#pragma once

/// How a fingerprint is made: multiplications by odd numbers and shifts, as in the usual hashes; parts of the numbers
/// on their own, on the host or on a device, then the parts of a block one after the other, and then the blocks.

#include <cstddef>
#include <cstdint>

#include "syncfree/fingerprint.hpp"
#include "syncfree/host_device.hpp"

namespace syncfree {

/// Takes in words of 64 bits.
class Mixer {
public:
  SYNCFREE_HD void add(std::uint64_t word)
  {
    low_ = (low_ ^ word) * 0x9e3779b97f4a7c15u;
    low_ ^= low_ >> 32;
    high_ = (high_ + word) * 0xc2b2ae3d27d4eb4fu;
    high_ ^= high_ >> 29;
  }
  SYNCFREE_HD void add(const Fingerprint& print)
  {
    add(print.low);
    add(print.high);
  }
  SYNCFREE_HD Fingerprint result() const { return {low_, high_}; }

private:
  std::uint64_t low_ = 0x243f6a8885a308d3u, high_ = 0x13198a2e03707344u;
};

constexpr std::size_t fingerprint_part = 1 << 7;  ///< numbers
constexpr std::size_t parts_together = 1 << 6;    ///< of which one is made

inline std::size_t fingerprint_parts(std::size_t count) { return (count + fingerprint_part - 1) / fingerprint_part; }
inline std::size_t fingerprint_blocks(std::size_t count)
{
  return (fingerprint_parts(count) + parts_together - 1) / parts_together;
}

/// Of one part of `count` numbers in all; of none, where it begins behind them.
template <class I> SYNCFREE_HD Fingerprint mix_part(const I* numbers, std::size_t count, std::size_t part)
{
  std::size_t k = part * fingerprint_part;
  const std::size_t end = k + fingerprint_part < count ? k + fingerprint_part : count;
  Mixer mixer;
  mixer.add(k < end ? end - k : 0);
  if (sizeof(I) == 4)
    for (; k + 1 < end; k += 2)
      mixer.add(static_cast<std::uint32_t>(numbers[k]) |
                static_cast<std::uint64_t>(static_cast<std::uint32_t>(numbers[k + 1])) << 32);
  for (; k < end; ++k) mixer.add(static_cast<std::uint64_t>(numbers[k]));
  return mixer.result();
}

/// Of a block's parts, parts_together of them.
SYNCFREE_HD inline Fingerprint mix_block(const Fingerprint* part)
{
  Mixer mixer;
  for (std::size_t p = 0; p < parts_together; ++p) mixer.add(part[p]);
  return mixer.result();
}

/// Of all blocks.
inline Fingerprint join_blocks(const Fingerprint* block, std::size_t count)
{
  Mixer all;
  all.add(count);
  for (std::size_t b = 0; b < fingerprint_blocks(count); ++b) all.add(block[b]);
  return all.result();
}

/// Of a pattern.
inline Fingerprint join_pattern(const Fingerprint& rows, const Fingerprint& columns)
{
  Mixer both;
  both.add(rows);
  both.add(columns);
  return both.result();
}

}  // namespace syncfree
