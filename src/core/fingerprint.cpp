/// What fingerprint.hpp declares.

#include "syncfree/fingerprint.hpp"

#include <algorithm>
#include <vector>

#include "instantiate.hpp"
#include "mixer.hpp"
#include "parallel.hpp"

namespace syncfree {

template <class I> Fingerprint fingerprint(const I* numbers, std::size_t count, int threads)
{
  constexpr std::size_t together = 64;
  std::vector<Fingerprint> part(fingerprint_parts(count));
  for_parts(threads, (part.size() + together - 1) / together, [&](std::size_t t) {
    for (std::size_t p = t * together; p < std::min(part.size(), (t + 1) * together); ++p)
      part[p] = mix_part(numbers, count, p);
  });
  return join_parts(part.data(), count);
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
