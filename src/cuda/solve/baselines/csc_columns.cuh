#pragma once

/// Shared by the two kernels after Liu et al. 2016: columns with their values, the number of contributions that each
/// row receives, and sums with the counts of contributions received, in this launch and all earlier ones.

#include "core/pattern/transpose.hpp"
#include "cuda/analysis/stored_triangle.cuh"
#include "cuda/solve/solver.hpp"
#include "syncfree/cuda/detail/launch.hpp"
#include "syncfree/cuda/detail/wait_monitor.hpp"

namespace syncfree::cuda {

template <class T> struct Sums {
  DeviceScalar<T>* sum;
  unsigned* count;
};

template <class T, class V, class I> class CscColumns : public DeviceSolver<T, I> {
public:
  ///   turned           the columns of the triangle
  ///   order, renumber  as in StoredTriangle, for columns
  ///   name             as in TicketCounterMemory
  CscColumns(const DeviceTriangle<I>& triangle, const Transposed<I>& turned, DeviceArray<I> order, bool renumber,
             const char* name)
      : triangle_(columns(triangle, turned, std::move(order), renumber)), degree_(degrees(triangle)),
        sum_(triangle.n(), 0), count_(triangle.n(), 0), counter_(name)
  {
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  }

  void update_values(const T* value, const T* inverse_diagonal, UpdatePart part, cudaStream_t stream) override
  {
    if (part == UpdatePart::queued) return;
    triangle_.update_triangle(value, inverse_diagonal, stream);
  }

  PlanSummary summarize_plan() const override
  {
    return {"", triangle_.triangle_plan_bytes() + degree_.bytes() + sum_.bytes() + count_.bytes(),
            triangle_.triangle_value_bytes()};
  }

protected:
  I n() const { return triangle_.n(); }
  StoredView<V, I> stored_view() const { return triangle_.stored_view(); }
  const unsigned* degree() const { return degree_.data(); }  ///< by row
  Sums<T> sums() const { return {as_device(sum_.data()), count_.data()}; }
  TicketCounter* counter() const { return counter_.data(); }

private:
  static StoredTriangle<T, V, I> columns(const DeviceTriangle<I>& triangle, const Transposed<I>& turned,
                                         DeviceArray<I> order, bool renumber)
  {
    std::vector<I> source = turned.source;
    if (triangle.source)
      for (I& k : source) k = triangle.source[k];
    return {{triangle.lower, turned.pattern_view(), source.data(), triangle.unit}, std::move(order), renumber};
  }

  static std::vector<unsigned> degrees(const DeviceTriangle<I>& triangle)
  {
    const PatternView<I>& rows = triangle.pattern();
    std::vector<unsigned> degree(rows.n);
    for (I i = 0; i < rows.n; ++i) degree[i] = static_cast<unsigned>(rows.row_begin[i + 1] - rows.row_begin[i]);
    return degree;
  }

  StoredTriangle<T, V, I> triangle_;
  DeviceArray<unsigned> degree_;
  ResettableArray<T> sum_;
  ResettableArray<unsigned> count_;
  TicketCounterMemory counter_;
};

}  // namespace syncfree::cuda
