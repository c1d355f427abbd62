#pragma once

/// L and U as their solvers of `level_order` store them, and where each finds rows of the other.

#include <vector>

#include "cuda/analysis/stored_triangle.cuh"
#include "cuda/base/granularity.hpp"
#include "syncfree/factor.hpp"

namespace syncfree::cuda {

/// With more levels, rows of U that poll in the launch of L slow it: in narrow levels, and where rows are long, so much
/// that two launches are faster. Measured on an H200.
constexpr double few_levels_of_pair = 32;

/// A triangle as its solver stores it.
///   n            rows without partial ones
///   nnz          entries
///   level_begin  offsets of the levels into the stored rows
template <class V, class I> struct LeveledRows {
  StoredView<V, I> rows;
  I n;
  std::size_t nnz;
  const std::vector<I>& level_begin;
  Granularity granularity;
  int lanes;
  LevelOrderBlocks blocks;

  std::size_t level_count() const { return level_begin.size() - 1; }
};

/// What a launch reads of a factor; `row` of L is the index in b, that of U the index in x.
///   place_in_U  by position in L: position of the same row in U; negative for partial rows
///   place_in_L  the reverse
///   finished    rows of U at positions below have no entries
template <class V, class I> struct LeveledFactor {
  StoredView<V, I> L, U;
  const I *place_in_U, *place_in_L;
  I finished;

  __device__ bool is_finished(I place) const { return place >= 0 && place < finished; }
  __device__ auto scale(std::size_t place, bool conjugate) const
  {
    const DeviceScalar<V> inverse = U.inverse_diagonal[place];
    return conjugate ? conjugate_of(inverse) : inverse;
  }
};

/// inverse[row[k]] = k; rows that are negative are partial ones.
template <class I> __global__ void invert_rows(std::size_t count, const I* row, I* inverse)
{
  const std::size_t k = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (k < count && row[k] >= 0) inverse[row[k]] = static_cast<I>(k);
}
/// to[k] = from[row[k]]; negative rows are copied.
template <class I> __global__ void map_rows(std::size_t count, const I* row, const I* from, I* to)
{
  const std::size_t k = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (k < count) to[k] = row[k] < 0 ? row[k] : from[row[k]];
}
template <class I> DeviceArray<I> mapped_rows(std::size_t count, const I* row, const I* from)
{
  DeviceArray<I> to(count);
  if (count > 0) launch(map_rows<I>, {blocks_for(count, 256), 256}, count, row, from, to.data());
  return to;
}

/// The indices of a LeveledFactor, made on the null stream.
template <class V, class I> class PairIndices {
  using Rows = LeveledRows<V, I>;

public:
  PairIndices(const Rows& L, const Rows& U, const Orders<I>& orders)
      : place_in_U_(places(L, U)), place_in_L_(places(U, L)), b_row_(names(L, orders.row)),
        x_row_(names(U, orders.column))
  {
  }

  LeveledFactor<V, I> factor_of(const Rows& L, const Rows& U) const
  {
    LeveledFactor<V, I> factor = {L.rows, U.rows, place_in_U_.data(), place_in_L_.data(), U.level_begin[1]};
    if (!b_row_.empty()) factor.L.row = b_row_.data(), factor.U.row = x_row_.data();
    return factor;
  }
  I* place_in_L() { return place_in_L_.data(); }
  std::size_t index_bytes() const
  {
    return place_in_U_.bytes() + place_in_L_.bytes() + b_row_.bytes() + x_row_.bytes();
  }

private:
  static DeviceArray<I> places(const Rows& from, const Rows& to)
  {
    DeviceArray<I> inverse(to.n);
    launch(invert_rows<I>, {blocks_for(to.rows.n, 256), 256}, to.rows.n, to.rows.row, inverse.data());
    return mapped_rows<I>(from.rows.n, from.rows.row, inverse.data());
  }
  static DeviceArray<I> names(const Rows& of, const I* order)
  {
    return mapped_rows<I>(order ? of.rows.n : 0, of.rows.row, order);
  }

  DeviceArray<I> place_in_U_, place_in_L_, b_row_, x_row_;
};

}  // namespace syncfree::cuda
