#pragma once

/// Where the updates of a factorization go, found once for a pattern.
///
/// Row i is numbered by slots: its entries of L, its diagonal, its entries of U. For each entry (i, p) of L and each
/// entry (p, q) of U in turn there is one byte, the slot of (i, q), or `no_slot` where row i has no such entry.

#include "cuda/analysis/factor_pattern.hpp"
#include "cuda/base/granularity.hpp"
#include "syncfree/cuda/detail/device.hpp"

namespace syncfree::cuda {

constexpr unsigned char no_slot = 255;

/// As kernels see it.
///   begin    of a row in slot
///   partner  by entry (i, p) of L, the place of (p, i) in U; ILU: or -1, and nullptr where not only pivots are updated
///   lowers   entries of L that a row has at most
///   entries  of L, diagonal and U together
template <class I> struct SlotsView {
  const unsigned char* slot;
  const std::size_t* begin;
  const I* partner;
  int lanes, lowers, entries;
};

template <class I> class UpdateSlots {
public:
  UpdateSlots() = default;

  /// Makes nothing where a row has more than 255 entries or the table would be larger than two factors. Throws Failure.
  ///   number_bytes  of a number
  UpdateSlots(const DeviceFactorPattern<I>& pattern, const Granularity& of_L, std::size_t number_bytes);

  bool made() const { return lanes_ > 0; }
  /// Is no entry but the diagonal's ever updated? So it is where no three rows are all neighbours, as on a star's grid.
  bool only_pivots() const { return made() && only_pivots_; }
  SlotsView<I> view() const { return {slot_.data(), begin_.data(), partner_.data(), lanes_, lowers_, entries_}; }
  std::size_t bytes() const { return slot_.bytes() + begin_.bytes() + partner_.bytes(); }

private:
  bool only_pivots_ = false;
  int lanes_ = 0;  ///< that share a row
  int lowers_ = 0, entries_ = 0;
  DeviceArray<unsigned char> slot_;
  DeviceArray<std::size_t> begin_;
  DeviceArray<I> partner_;
};

}  // namespace syncfree::cuda
