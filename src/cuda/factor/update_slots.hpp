#pragma once

/// Destinations of the updates of a factorization, computed once for a pattern.
///
/// The slots of row i number its entries of L, its diagonal and its entries of U. For each entry (i, p) of L and each
/// entry (p, q) of U, in this order, there is one byte: the slot of (i, q), or `no_slot` if row i has no such entry.

#include "cuda/analysis/factor_pattern.hpp"
#include "cuda/base/granularity.hpp"
#include "syncfree/cuda/detail/device.hpp"

namespace syncfree::cuda {

constexpr unsigned char no_slot = 255;

/// The slots in the form that kernels use.
///   begin    by row: offset into slot
///   partner  by entry (i, p) of L, the position of (p, i) in U; for ILU it may be -1, and is nullptr unless only
///            pivots are updated
///   lowers   largest number of entries of L in a row
///   entries  the same for L, diagonal and U together
template <class I> struct SlotsView {
  const unsigned char* slot;
  const std::size_t* begin;
  const I* partner;
  int lanes, lowers, entries;
};

template <class I> class UpdateSlots {
public:
  UpdateSlots() = default;

  /// Makes nothing if a row has more than 255 entries, if a thread block's rows do not fit into shared memory, or if
  /// the table would be larger than two factors. Throws Failure.
  ///   number_bytes  size of a value
  UpdateSlots(const DeviceFactorPattern<I>& pattern, const Granularity& of_L, std::size_t number_bytes);

  bool made() const { return lanes_ > 0; }
  /// True if no entry but the diagonal is ever updated: then no three rows are all neighbours, as on a grid with a star
  /// stencil.
  bool only_pivots() const { return made() && only_pivots_; }
  SlotsView<I> slots_view() const { return {slot_.data(), begin_.data(), partner_.data(), lanes_, lowers_, entries_}; }
  std::size_t slot_bytes() const { return slot_.bytes() + begin_.bytes() + partner_.bytes(); }

private:
  bool only_pivots_ = false;
  int lanes_ = 0;  ///< per row
  int lowers_ = 0, entries_ = 0;
  DeviceArray<unsigned char> slot_;
  DeviceArray<std::size_t> begin_;
  DeviceArray<I> partner_;
};

}  // namespace syncfree::cuda
