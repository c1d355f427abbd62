#pragma once

/// 128 bits that stand for a pattern or an order: whether another is the same can be told without keeping it.

#include <cstddef>
#include <cstdint>

#include "syncfree/csr.hpp"

namespace syncfree {

/// Different numbers have equal fingerprints by accident only, once in 2^128 times or so; nothing is done against
/// somebody who looks for two.
struct Fingerprint {
  std::uint64_t low = 0, high = 0;

  bool operator==(const Fingerprint& other) const { return low == other.low && high == other.high; }
  bool operator!=(const Fingerprint& other) const { return !(*this == other); }
};

/// Of numbers in their order; the same for any number of threads. Throws std::bad_alloc.
template <class I> Fingerprint fingerprint(const I* numbers, std::size_t count, int threads);

/// Of row offsets and columns. Throws std::bad_alloc.
template <class I> Fingerprint fingerprint(PatternView<I> A, int threads);

}  // namespace syncfree
