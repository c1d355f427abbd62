/// What fingerprint.hpp declares: multiplications by odd numbers and shifts, as in the usual hashes; parts of the
/// numbers on their own, then the parts one after the other.

#include "syncfree/fingerprint.hpp"

#include <algorithm>
#include <vector>

#include "instantiate.hpp"
#include "parallel.hpp"

namespace syncfree {
namespace {

/// Takes in words of 64 bits.
class Mixer {
public:
  void add(std::uint64_t word)
  {
    low_ = (low_ ^ word) * 0x9e3779b97f4a7c15u;
    low_ ^= low_ >> 32;
    high_ = (high_ + word) * 0xc2b2ae3d27d4eb4fu;
    high_ ^= high_ >> 29;
  }
  Fingerprint result() const { return {low_, high_}; }

private:
  std::uint64_t low_ = 0x243f6a8885a308d3u, high_ = 0x13198a2e03707344u;
};

template <class I> Fingerprint mix(const I* numbers, std::size_t count)
{
  Mixer mixer;
  mixer.add(count);
  std::size_t k = 0;
  const auto half = [&](std::size_t at) { return std::uint64_t{static_cast<std::uint32_t>(numbers[at])}; };
  if constexpr (sizeof(I) == 4)
    for (; k + 1 < count; k += 2) mixer.add(half(k) | half(k + 1) << 32);
  for (; k < count; ++k) mixer.add(static_cast<std::uint64_t>(numbers[k]));
  return mixer.result();
}

}  // namespace

template <class I> Fingerprint fingerprint(const I* numbers, std::size_t count, int threads)
{
  constexpr std::size_t size = 1 << 16;
  std::vector<Fingerprint> part((count + size - 1) / size);
  for_parts(threads, part.size(), [&](std::size_t p) {
    part[p] = mix(numbers + p * size, std::min(size, count - p * size));
  });
  Mixer all;
  all.add(count);
  for (const Fingerprint& one : part) all.add(one.low), all.add(one.high);
  return all.result();
}

template <class I> Fingerprint fingerprint(PatternView<I> A, int threads)
{
  const Fingerprint rows = fingerprint(A.row_begin, static_cast<std::size_t>(A.n) + (A.n > 0), threads);
  const Fingerprint columns = fingerprint(A.column, static_cast<std::size_t>(A.nnz()), threads);
  Mixer both;
  for (const std::uint64_t word : {rows.low, rows.high, columns.low, columns.high}) both.add(word);
  return both.result();
}

#define INSTANTIATE(I)                                                      \
  template Fingerprint fingerprint<I>(const I*, std::size_t, int); \
  template Fingerprint fingerprint<I>(PatternView<I>, int);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
