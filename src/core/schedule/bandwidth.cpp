/// Implements bandwidth.hpp.

#include "bandwidth.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "core/support/instantiate.hpp"

namespace syncfree {
namespace {

/// Bandwidths of a sample of the rows: of each row the mean distance of its far entries, those at least half as far as
/// the farthest. Rows that read nothing are left out.
template <class I, class Rows> std::vector<double> find_reaches(const Rows& A, bool lower, std::int64_t sample)
{
  std::vector<double> row_bandwidth;
  const auto look = [&](I row) {
    std::int64_t longest = 0, sum = 0, count = 0;
    const auto distance = [&](I k) { return std::abs(static_cast<std::int64_t>(row) - A.column[k]); };
    for_side(A, lower, row, [&](I k) { longest = std::max<std::int64_t>(longest, distance(k)); });
    for_side(A, lower, row, [&](I k) {
      if (2 * distance(k) >= longest) sum += distance(k), ++count;
    });
    if (count > 0) row_bandwidth.push_back(static_cast<double>(sum) / static_cast<double>(count));
  };
  for_sample(A.n, look, sample);
  return row_bandwidth;
}

/// The median; 0 for an empty vector.
double middle_of(std::vector<double> some)
{
  if (some.empty()) return 0;
  std::nth_element(some.begin(), some.begin() + some.size() / 2, some.end());
  return some[some.size() / 2];
}

/// True for reaches as reaches_regularly() describes them.
bool are_regular(const std::vector<double>& reaches)
{
  constexpr double most = 0.05;              // relative tolerance of the bandwidth
  constexpr double part = 0.7, fewer = 0.6;  // of the rows; `fewer` suffices if nearly no row has a larger bandwidth
  constexpr double beyond = 0.02;
  const double typical = middle_of(reaches), tolerance = std::max(1.0, most * typical);
  const auto part_of = [&](auto is_one) {
    const auto count = std::count_if(reaches.begin(), reaches.end(), is_one);
    return static_cast<double>(count) / static_cast<double>(std::max<std::size_t>(reaches.size(), 1));
  };
  const double further = part_of([&](double r) { return r > typical + tolerance; });
  return part_of([&](double r) { return std::abs(r - typical) <= tolerance; }) >= (further <= beyond ? fewer : part);
}

}  // namespace

template <class I> std::int64_t typical_row_bandwidth(const PatternView<I>& A, bool lower)
{
  return std::llround(middle_of(find_reaches<I>(A, lower, rows_for_bandwidth)));
}
template <class I> std::int64_t typical_row_bandwidth(const SampledRows<I>& A, bool lower)
{
  return std::llround(middle_of(find_reaches<I>(A, lower, rows_for_bandwidth)));
}

template <class I> bool reaches_regularly(PatternView<I> A, bool lower)
{
  return are_regular(find_reaches<I>(A, lower, rows_for_regularity));
}
template <class I> bool reaches_regularly(const SampledRows<I>& A, bool lower)
{
  return are_regular(find_reaches<I>(A, lower, rows_for_regularity));
}

#define INSTANTIATE(I)                                                          \
  template std::int64_t typical_row_bandwidth<I>(const PatternView<I>&, bool);  \
  template std::int64_t typical_row_bandwidth<I>(const SampledRows<I>&, bool);  \
  template bool reaches_regularly<I>(PatternView<I>, bool);                     \
  template bool reaches_regularly<I>(const SampledRows<I>&, bool);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
