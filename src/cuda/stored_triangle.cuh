#pragma once

/// A triangle's arrays on the device, in the order in which a strategy walks them.

#include <algorithm>
#include <utility>
#include <vector>

#include "number.cuh"
#include "solver.hpp"
#include "syncfree/schedule.hpp"

namespace syncfree::cuda {

/// Compressed rows (or columns) as a kernel sees them. The kernel's r-th row is row row[r] of the triangle.
///   inverse_diagonal  nullptr: 1; else by r
template <class V, class I> struct StoredView {
  I n;
  const I *begin, *column, *row;
  const Number<V> *value, *inverse_diagonal;
};

/// to[k] = from[source[k]], rounded to V
template <class T, class V, class I>
__global__ void take_numbers(std::size_t count, const I* source, const Number<T>* from, Number<V>* to)
{
  const std::size_t k = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (k < count) to[k] = Number<V>(from[source[k]]);
}

/// Compressed rows in host memory.
///   source  where the number of an entry stands in the factor's array
///   row     which row of the triangle the r-th one is
template <class I> struct HostRows {
  std::vector<I> begin{0}, column, source, row;
};

template <class T, class V, class I> class StoredTriangle {
public:
  StoredTriangle(const HostRows<I>& rows, bool unit)
      : begin_(rows.begin), column_(rows.column), source_(rows.source), row_(rows.row), value_(rows.column.size()),
        inverse_diagonal_(unit ? 0 : rows.row.size())
  {
  }

  void refresh(const T* value, const T* inverse_diagonal, cudaStream_t stream)
  {
    take(value_, source_.data(), value, stream);
    take(inverse_diagonal_, row_.data(), inverse_diagonal, stream);
  }

  I n() const { return static_cast<I>(row_.size()); }
  StoredView<V, I> view() const
  {
    return {n(),         begin_.data(), column_.data(), row_.data(), numbers(value_.data()),
            inverse_diagonal_.empty() ? nullptr : numbers(inverse_diagonal_.data())};
  }
  std::size_t plan_bytes() const { return begin_.bytes() + column_.bytes() + source_.bytes() + row_.bytes(); }
  std::size_t value_bytes() const { return value_.bytes() + inverse_diagonal_.bytes(); }

private:
  static void take(DeviceArray<V>& to, const I* source, const T* from, cudaStream_t stream)
  {
    if (to.empty()) return;
    take_numbers<T, V, I><<<blocks_for(to.size(), 256), 256, 0, stream>>>(to.size(), source, numbers(from),
                                                                           numbers(to.data()));
    check_launch("take_numbers");
  }

  DeviceArray<I> begin_, column_, source_, row_;
  DeviceArray<V> value_, inverse_diagonal_;
};

/// Rows in the given order, columns as they are.
template <class I> HostRows<I> rows_in_order(const DeviceTriangle<I>& triangle, std::vector<I> order)
{
  const PatternView<I>& p = triangle.pattern;
  HostRows<I> rows;
  rows.begin.reserve(order.size() + 1);
  rows.column.reserve(p.nnz());
  rows.source.reserve(p.nnz());
  for (I i : order) {
    for (I k = p.row_begin[i]; k < p.row_begin[i + 1]; ++k) {
      rows.column.push_back(p.column[k]);
      rows.source.push_back(triangle.source ? triangle.source[k] : k);
    }
    rows.begin.push_back(static_cast<I>(rows.column.size()));
  }
  rows.row = std::move(order);
  return rows;
}

/// Rows in the order in which a serial solve takes them.
template <class I> HostRows<I> rows_in_solve_order(const DeviceTriangle<I>& triangle)
{
  const I n = triangle.pattern.n;
  std::vector<I> order(n);
  for (I step = 0; step < n; ++step) order[step] = triangle.lower ? step : n - 1 - step;
  return rows_in_order(triangle, std::move(order));
}

/// Lanes a row, 1, 4, 8 or 32: enough for the mean row, a warp where some row is long.
template <class I> int choose_lanes(const HostRows<I>& rows)
{
  const std::size_t n = rows.row.size();
  if (n == 0) return 1;
  std::size_t longest = 0;
  for (std::size_t r = 0; r < n; ++r)
    longest = std::max(longest, static_cast<std::size_t>(rows.begin[r + 1] - rows.begin[r]));
  const std::size_t mean = (rows.column.size() + n - 1) / n;
  if (longest > 256 || mean > 24) return 32;
  return mean > 8 ? 8 : mean > 4 ? 4 : 1;
}

template <class I> LevelSets<I> level_sets_of(const DeviceTriangle<I>& triangle)
{
  LevelSets<I> levels;
  const Status status = make_level_sets(triangle.pattern, triangle.lower, &levels);
  if (!status.ok()) throw Failure{status};
  return levels;
}

}  // namespace syncfree::cuda
