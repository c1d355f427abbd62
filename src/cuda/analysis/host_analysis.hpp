#pragma once

/// The analysis of a small pattern in natural order, made on the host and packed for one launch: the device takes as
/// long for a thousand rows as for a hundred thousand, because its launches and waits take the host a quarter of a
/// millisecond. Results are those of factor_pattern.hpp, levels.hpp, inodes.hpp and pattern.hpp, entry for entry.
/// Throws Failure and std::bad_alloc.

#include <cstdint>

#include "cuda/analysis/factor_pattern.hpp"
#include "cuda/analysis/inodes.hpp"
#include "cuda/analysis/levels.hpp"
#include "cuda/analysis/triangle.hpp"
#include "cuda/base/packed_upload.hpp"
#include "syncfree/factor.hpp"
#include "syncfree/schedule.hpp"

namespace syncfree::cuda {

/// True if the host takes less time than the device, for all that this file packs.
///   rows, entries  of A
bool host_analyses_faster(std::int64_t rows, std::int64_t entries);

/// Packs a pattern made by make_factor_pattern() with SymbolicOptions::levels 0 and without orders.
///   A  checked
template <class I>
DeviceFactorPattern<I> pack_pattern(const FactorPattern<I>& made, const PatternView<I>& A, PackedUpload* upload);

template <class I> DeviceLevels<I> pack_levels(const LevelSets<I>& levels, PackedUpload* upload);

/// Packs the rows of a triangle by level, as level_ordered_rows() (stored_triangle.cuh) makes them.
///   levels     of T
///   positions  [out]
template <class I>
PermutedRows<I> pack_rows_by_level(const PatternView<I>& T, bool lower, const LevelSets<I>& levels,
                                   LevelPositions<I>* positions, PackedUpload* upload);

template <class I> DeviceInodes<I> pack_inodes(const Inodes<I>& nodes, PackedUpload* upload);

}  // namespace syncfree::cuda
