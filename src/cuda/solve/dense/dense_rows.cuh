#pragma once

/// How `level_order` stores a triangle of dense blocks.
///
/// A block row is a dense matrix of the columns of all its blocks. If the diagonal is not 1, the first columns are
/// those of -inverse_i, whose operand is b_i, and the other blocks are inverse_i block_ik:
///
///   x_i = inverse_i b_i - sum_k (inverse_i block_ik) x_k
///
/// These products are made once, with the values. So the rows of a block row do not depend on each other, and once the
/// last operand has come there is nothing to do but one product and one sum. A block row is cut into tiles of up to six
/// rows, of which each has some lanes of a warp; a lane has every lanes-th column.

#include <cstddef>
#include <cstdint>

#include "cuda/base/scalar.cuh"

namespace syncfree::cuda {

constexpr int largest_tile = 6;  ///< rows

/// How block rows are cut.
struct DenseShape {
  int size;   ///< of a block
  int tile;   ///< rows of a tile; the last one of a block row may have fewer
  int tiles;  ///< of a block row
  int lanes;  ///< of a tile
  int batch;  ///< columns that a lane has in flight
};

/// Chooses the shape. Only with a warp for each tile a block row may have more columns than its lanes have in flight.
///   longest  most blocks in a block row, with the diagonal one
inline DenseShape shape_of_blocks(int size, std::int64_t longest)
{
  const int tiles = (size + largest_tile - 1) / largest_tile;
  const int tile = (size + tiles - 1) / tiles, long_batch = tile <= 4 ? 4 : 3;
  const std::int64_t columns = longest * size;
  DenseShape shape = {size, tile, tiles, 32, long_batch};
  if (tiles > 1) return shape;
  if (columns <= 2 * 16) shape.lanes = columns <= 2 * 8 ? 8 : 16, shape.batch = 2;
  else if (columns <= long_batch * 16) shape.lanes = 16;
  return shape;
}

/// Block rows by position in level order, n > 0.
///   begin    n + 1 offsets of blocks
///   column   position of a block's operand
///   name     index of the block row in b and x
///   operand  for U after L in one launch: position in L of the block row, whose values replace b; else nullptr
///   scaled   the diagonal is not 1
template <class V, class I> struct DenseRows {
  I n;
  const I *begin, *column, *name, *operand;
  const DeviceScalar<V>* value;
  bool scaled;
};

/// Where the values of a tile are: `lanes` columns at a time, row by row, so that their loads are coalesced.
template <class I> struct DenseTile {
  I columns;      ///< of all blocks of the block row
  I own;          ///< of these, columns of the diagonal block, which are the first
  I first_block;  ///< other than that
  int rows;
  std::size_t first_value;

  ///   position, which  of the block row, and of the tile in it
  __device__ DenseTile(const I* begin, bool scaled, const DenseShape& shape, std::size_t position, int which)
      : own(scaled ? shape.size : 0), first_block(begin[position]),
        rows(min(shape.tile, shape.size - which * shape.tile))
  {
    columns = own + (begin[position + 1] - first_block) * static_cast<I>(shape.size);
    const std::size_t blocks_before = static_cast<std::size_t>(first_block) + (scaled ? position : 0);
    first_value = blocks_before * shape.size * shape.size + static_cast<std::size_t>(which) * shape.tile * columns;
  }

  /// Returns the index of the value in row 0 of a column of that lane; row r has it r * row_step() further.
  __device__ std::size_t value_index(I column, int lane) const
  {
    return first_value + static_cast<std::size_t>(column - lane) * rows + lane;
  }
  template <int lanes> __device__ int row_step(I column, int lane) const
  {
    return static_cast<int>(min(static_cast<I>(lanes), columns - (column - lane)));
  }
};

/// Values of a factor as DeviceSolver::update_values() gets them.
///   source      by block of the rows in level order: its index in `value`
///   row         index of the block row in `inverse`
///   transposed  blocks are stored row by row
template <class N, class I> struct DenseSource {
  const N *value, *inverse;
  const I *source, *row;
  bool transposed;
};

/// Stores all values of the block rows; `lanes` threads a tile.
///   fixed  the size, or 0 if the compiler does not know it
template <class T, class V, class I, int lanes, int fixed>
__global__ void store_dense_values(DenseRows<V, I> A, DenseShape shape, DenseSource<DeviceScalar<T>, I> from,
                                   DeviceScalar<V>* to)
{
  using N = DeviceScalar<T>;
  if constexpr (fixed > 0) shape.size = shape.tile = fixed, shape.tiles = 1;
  const std::size_t thread = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  const std::size_t position = thread / lanes / shape.tiles;
  const int which = static_cast<int>(thread / lanes - position * shape.tiles), lane = threadIdx.x % lanes;
  if (position >= static_cast<std::size_t>(A.n)) return;
  const DenseTile<I> tile(A.begin, A.scaled, shape, position, which);
  const int size = shape.size, first_row = which * shape.tile, rows = fixed > 0 ? fixed : tile.rows;
  const int row_step = from.transposed ? size : 1, column_step = from.transposed ? 1 : size;
  const std::size_t values = static_cast<std::size_t>(size) * size;
  const N* const inverse = A.scaled ? from.inverse + from.row[position] * values + first_row * row_step : nullptr;
  for (I c = lane; c < tile.columns; c += lanes) {
    DeviceScalar<V>* const stored = to + tile.value_index(c, lane);
    const int step = tile.template row_step<lanes>(c, lane);
    if (c < tile.own) {
      const N* const column = inverse + static_cast<std::size_t>(c) * column_step;
      for (int r = 0; r < rows; ++r) stored[r * step] = DeviceScalar<V>(N(0) - column[r * row_step]);
      continue;
    }
    const I block = (c - tile.own) / size;
    const N* const column = from.value + from.source[tile.first_block + block] * values +
                            static_cast<std::size_t>(c - tile.own - block * size) * column_step;
    if (!A.scaled) {
      for (int r = 0; r < rows; ++r) stored[r * step] = DeviceScalar<V>(column[(first_row + r) * row_step]);
      continue;
    }
    const auto store_products = [&](const auto* of_column, int distance) {
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        N v(0);
#pragma unroll
        for (int k = 0; k < size; ++k)
          v += product(inverse[r * row_step + k * column_step], of_column[k * distance]);
        stored[r * step] = DeviceScalar<V>(v);
      }
    };
    if constexpr (fixed > 0) {
      N held[fixed];
#pragma unroll
      for (int k = 0; k < fixed; ++k) held[k] = column[k * row_step];
      store_products(held, 1);
    } else {
      store_products(column, row_step);
    }
  }
}

}  // namespace syncfree::cuda
