/// What fingerprint.hpp declares.

#include "syncfree/fingerprint.hpp"

#include <array>
#include <vector>

#include "instantiate.hpp"
#include "mixer.hpp"
#include "parallel.hpp"

namespace syncfree {

template <class I> Fingerprint fingerprint(const I* numbers, std::size_t count, int threads)
{
  std::vector<Fingerprint> block(fingerprint_blocks(count));
  for_parts(threads, block.size(), [&](std::size_t b) {
    std::array<Fingerprint, parts_together> part;
    for (std::size_t p = 0; p < parts_together; ++p) part[p] = mix_part(numbers, count, b * parts_together + p);
    block[b] = mix_block(part.data());
  });
  return join_blocks(block.data(), count);
}

template <class I> Fingerprint fingerprint(PatternView<I> A, int threads)
{
  return join_pattern(fingerprint(A.row_begin, static_cast<std::size_t>(A.n) + (A.n > 0), threads),
                      fingerprint(A.column, static_cast<std::size_t>(A.nnz()), threads));
}

#define INSTANTIATE(I)                                                      \
  template Fingerprint fingerprint<I>(const I*, std::size_t, int); \
  template Fingerprint fingerprint<I>(PatternView<I>, int);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
