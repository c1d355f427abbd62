/// The discarded fill of sampled rows, summed up in double precision.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "core/support/instantiate.hpp"
#include "sample.hpp"
#include "syncfree/ordering.hpp"
#include "syncfree/ordering_choice.hpp"
#include "syncfree/scalar.hpp"

namespace syncfree {
namespace {

template <class T> using wide_t = std::conditional_t<is_complex_v<T>, std::complex<double>, double>;

template <class T, class I> class Sampler {
public:
  Sampler(const CsrView<T, I>& A, const I* order)
      : A_(A),
        place_(static_cast<std::size_t>(A.pattern.n)),
        entry_of_(place_.size(), I(-1)),
        fill_of_(place_.size(), I(-1)),
        fill_(place_.size())
  {
    for (I p = 0; p < A.pattern.n; ++p) place_[order ? order[p] : p] = p;
  }

  DiscardedFill measure()
  {
    DiscardedFill found;
    double sum = 0;
    for (const SampledRow<I>& sampled : sample()) {
      const double of_row = discarded_in(sampled.row);
      if (!std::isfinite(of_row)) ++found.skipped;
      else ++found.rows, sum += of_row;
    }
    if (found.rows) found.fill = std::sqrt(sum / static_cast<double>(found.rows));
    return found;
  }

  double unsymmetry() const
  {
    double apart = 0, sum = 0;
    for (const SampledRow<I>& sampled : sample())
      for_row(sampled.row, [&](I j, I at) {
        if (j == sampled.row) return;
        const wide_t<T> mine = wide_t<T>(A_.value[at]), mirrored = value_at(j, sampled.row);
        apart += std::abs(mine - mirrored);
        sum += std::abs(mine) + std::abs(mirrored);
      });
    if (!std::isfinite(sum)) return 1;
    return sum > 0 ? apart / sum : 0;
  }

private:
  const PatternView<I>& pattern() const { return A_.pattern; }

  template <class Use> void for_row(I i, const Use& use) const
  {
    for (I k = pattern().row_begin[i]; k < pattern().row_begin[i + 1]; ++k) use(pattern().column[k], k);
  }

  /// Zero if there is no entry
  wide_t<T> value_at(I i, I j) const
  {
    const I *begin = pattern().column + pattern().row_begin[i], *end = pattern().column + pattern().row_begin[i + 1];
    const I* at = std::lower_bound(begin, end, j);
    return at < end && *at == j ? wide_t<T>(A_.value[at - pattern().column]) : wide_t<T>(0);
  }
  wide_t<T> diagonal(I i) const { return value_at(i, i); }

  std::vector<SampledRow<I>> sample() const
  {
    std::vector<std::pair<std::uint64_t, I>> drawn;
    for (I i = 0; i < pattern().n; ++i) {
      const std::uint64_t bits = mix_bits(static_cast<std::uint64_t>(i));
      if (bits % sample_step(pattern().n) == 0) drawn.emplace_back(bits, i);
    }
    std::sort(drawn.begin(), drawn.end());
    std::vector<SampledRow<I>> rows;
    for (const auto& d : drawn) {
      std::int64_t met = 0;
      for_row(d.second, [&](I k, I) { met += pattern().row_begin[k + 1] - pattern().row_begin[k]; });
      rows.push_back({d.second, met});
    }
    limit_sample(&rows);
    return rows;
  }

  /// Not finite if the row's diagonal is zero or not finite
  double discarded_in(I i)
  {
    met_.clear();
    for_row(i, [&](I j, I) { entry_of_[j] = i; });
    for_row(i, [&](I k, I at) {
      const wide_t<T> pivot = diagonal(k);
      if (place_[k] < place_[i] && pivot != wide_t<T>(0)) eliminate(i, k, wide_t<T>(A_.value[at]) / pivot);
    });
    double sum = 0;
    for (const I j : met_) {
      const double size = std::abs(diagonal(j));
      if (size > 0) sum += std::norm(fill_[j]) / size;
    }
    const double size = std::abs(diagonal(i));
    return size > 0 && std::isfinite(size) ? sum / size : std::nan("");
  }

  void eliminate(I i, I k, wide_t<T> factor)
  {
    for_row(k, [&](I j, I at) {
      if (place_[j] <= place_[k] || entry_of_[j] == i || j == i) return;
      if (fill_of_[j] != i) {
        fill_of_[j] = i;
        fill_[j] = 0;
        met_.push_back(j);
      }
      fill_[j] += multiply(factor, wide_t<T>(A_.value[at]));
    });
  }

  CsrView<T, I> A_;
  Array<I> place_;
  Array<I> entry_of_, fill_of_;  ///< of each column, the last row with an entry, or with fill
  std::vector<wide_t<T>> fill_;
  std::vector<I> met_;  ///< columns with fill
};

}  // namespace

template <class T, class I> Status measure_discarded_fill(CsrView<T, I> A, const I* order, DiscardedFill* out)
try {
  *out = Sampler<T, I>(A, order).measure();
  return {};
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

template <class T, class I> Status measure_unsymmetry(CsrView<T, I> A, double* out)
try {
  *out = Sampler<T, I>(A, nullptr).unsymmetry();
  return {};
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

#define INSTANTIATE(T, I)                                                                      \
  template Status measure_discarded_fill<T, I>(CsrView<T, I>, const I*, DiscardedFill*); \
  template Status measure_unsymmetry<T, I>(CsrView<T, I>, double*);
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree
