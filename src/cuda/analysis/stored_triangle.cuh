#pragma once

/// A triangle's arrays on the device, in the order in which a strategy processes them.

#include <algorithm>

#include "cuda/analysis/triangle.hpp"
#include "cuda/base/granularity.hpp"
#include "cuda/base/scalar.cuh"
#include "syncfree/array.hpp"
#include "syncfree/cuda/detail/launch.hpp"

namespace syncfree::cuda {

/// Compressed rows (or columns) in device memory. The kernel's r-th row is row row[r] of the triangle; a negative one
/// is not a row of the triangle but a part of one (core/schedule/split_rows.hpp).
///   inverse_diagonal  nullptr: 1; else by r
template <class V, class I> struct StoredView {
  I n;
  const I *begin, *column, *row;
  const DeviceScalar<V> *value, *inverse_diagonal;
};

/// to[k] = from[source[k]], rounded to V, or `other` if the source is negative.
template <class T, class V, class I>
__global__ void gather_values(std::size_t count, const I* source, const DeviceScalar<T>* from, int other,
                              DeviceScalar<V>* to)
{
  using R = decltype(real_of(DeviceScalar<V>(0)));
  const std::size_t k = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (k < count) to[k] = source[k] < 0 ? DeviceScalar<V>(static_cast<R>(other)) : DeviceScalar<V>(from[source[k]]);
}

/// Fills all of `to` by gather_values.
template <class T, class V, class I>
void gather_rounded(DeviceArray<V>& to, const I* source, const T* from, cudaStream_t stream, int other = 0)
{
  if (to.empty()) return;
  launch(gather_values<T, V, I>, {blocks_for(to.size(), 256), 256, 0, stream}, to.size(), source, as_device(from),
         other, as_device(to.data()));
}

/// Returns the triangle's rows in a given order. The entry nearest the diagonal is last in each row, in an upper
/// triangle, too: its value arrives last, and the others are processed before.
///   order     n rows
///   renumber  columns are positions in that order, not rows
template <class I>
PermutedRows<I> permuted_rows(const DeviceTriangle<I>& triangle, const I* order, bool renumber)
{
  const DeviceArray<I> source(triangle.source, triangle.source ? triangle.nnz() : 0);
  const bool turn = !triangle.lower;
  if (triangle.on_device.row_begin) return permute_rows(triangle.on_device, source.data(), order, renumber, turn);
  const PatternView<I>& p = triangle.pattern();
  const DeviceArray<I> begin(p.row_begin, static_cast<std::size_t>(p.n) + 1), column(p.column, p.nnz());
  return permute_rows<I>({p.n, p.nnz(), begin.data(), column.data()}, source.data(), order, renumber, turn);
}

/// Returns them in level order, with columns renumbered. Moves from triangle.by_level if the triangle has it.
///   order  triangle.rows_in_level_order()
template <class I> PermutedRows<I> level_ordered_rows(const DeviceTriangle<I>& triangle, const I* order)
{
  const bool has_rows = triangle.by_level && !triangle.by_level->begin.empty();
  return has_rows ? std::move(*triangle.by_level) : permuted_rows(triangle, order, true);
}

/// The triangle's rows in a given order, with their values.
template <class T, class V, class I> class StoredTriangle {
public:
  ///   order     n rows
  ///   renumber  columns are positions in that order, not rows
  StoredTriangle(const DeviceTriangle<I>& triangle, DeviceArray<I> order, bool renumber)
      : StoredTriangle(triangle, std::move(order), [&](const I* row) { return permuted_rows(triangle, row, renumber); })
  {
  }

  /// Stores the triangle by level_ordered_rows().
  explicit StoredTriangle(const DeviceTriangle<I>& triangle)
      : StoredTriangle(triangle, triangle.rows_in_level_order(),
                       [&](const I* row) { return level_ordered_rows(triangle, row); })
  {
  }

  /// Sets the indices of the stored rows in b and x, negative for parts of rows. Initially the rows of the triangle.
  void name_rows(const Array<I>& names) { row_ = DeviceArray<I>(names); }

  void update_triangle(const T* value, const T* inverse_diagonal, cudaStream_t stream)
  {
    gather_rounded(value_, rows_.source.data(), value, stream, -1);
    gather_rounded(inverse_diagonal_, row_.data(), inverse_diagonal, stream, 1);
  }

  I n() const { return static_cast<I>(row_.size()); }
  std::size_t nnz() const { return value_.size(); }
  StoredView<V, I> stored_view() const
  {
    return {n(),         rows_.begin.data(), rows_.column.data(), row_.data(), as_device(value_.data()),
            inverse_diagonal_.empty() ? nullptr : as_device(inverse_diagonal_.data())};
  }
  std::size_t triangle_plan_bytes() const
  {
    return rows_.begin.bytes() + rows_.column.bytes() + rows_.source.bytes() + row_.bytes();
  }
  std::size_t triangle_value_bytes() const { return value_.bytes() + inverse_diagonal_.bytes(); }

private:
  template <class Rows>
  StoredTriangle(const DeviceTriangle<I>& triangle, DeviceArray<I> order, const Rows& rows)
      : row_(std::move(order)), rows_(rows(row_.data())), value_(triangle.nnz()),
        inverse_diagonal_(triangle.unit ? 0 : row_.size())
  {
  }

  DeviceArray<I> row_;
  PermutedRows<I> rows_;
  DeviceArray<V> value_, inverse_diagonal_;
};

/// order[r] = r, or n - 1 - r if `turn`
template <class I> __global__ void list_rows_in_sequence(I n, bool turn, I* order)
{
  const std::size_t r = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (r < static_cast<std::size_t>(n)) order[r] = turn ? n - 1 - static_cast<I>(r) : static_cast<I>(r);
}

/// Returns the rows in the order of a serial solve.
template <class I> DeviceArray<I> solve_order(const DeviceTriangle<I>& triangle)
{
  DeviceArray<I> order(triangle.n());
  launch(list_rows_in_sequence<I>, {blocks_for(order.size(), 256), 256}, triangle.n(), !triangle.lower, order.data());
  return order;
}

template <class I> Granularity granularity_of(const DeviceTriangle<I>& triangle)
{
  return granularity_of(triangle.n(), triangle.nnz(), triangle.level_count(), triangle.longest());
}

}  // namespace syncfree::cuda
