#pragma once

/// Shared by the two kernels of Su et al. 2020: one thread per row, rows in the order of a serial solve, one flag per
/// row.

#include "cuda/analysis/stored_triangle.cuh"
#include "cuda/solve/solver.hpp"
#include "syncfree/cuda/detail/wait_monitor.hpp"
#include "syncfree/cuda/ready/ticket.cuh"

namespace syncfree::cuda {

constexpr int flagged_threads = 256;

/// The row of this thread. Constructed by all threads of a thread block.
template <class I> struct FlaggedRow {
  bool live;
  unsigned launch;    ///< value of a flag when its row is done, from 1 on
  std::size_t position;  ///< in the order of a serial solve
  I i = 0, begin = 0, end = 0;

  template <class V> __device__ FlaggedRow(const StoredView<V, I>& L, TicketCounter* counter)
  {
    const BlockTicket ticket = take_ticket(counter);
    launch = static_cast<unsigned>(ticket.launch + 1);
    position = ticket.index * flagged_threads + threadIdx.x;
    live = position < static_cast<std::size_t>(L.n);
    if (!live) return;
    i = L.row[position];
    begin = L.begin[position];
    end = L.begin[position + 1];
  }
};

template <class T, class V, class I>
__device__ void finish_row(const StoredView<V, I>& L, const FlaggedRow<I>& row, const DeviceScalar<T>* b,
                           const DeviceScalar<T>& sum, bool conjugate, DeviceScalar<T>* x, unsigned* ready)
{
  DeviceScalar<T> value = b[row.i] - sum;
  if (L.inverse_diagonal) {
    const DeviceScalar<T> scale(L.inverse_diagonal[row.position]);
    value = product(value, conjugate ? conjugate_of(scale) : scale);
  }
  x[row.i] = value;
  store_release(ready + row.i, row.launch);
}

/// Gives the launch up and stores NaN for a row that cannot be computed, because an operand does not arrive.
template <class T, class I>
__device__ void finish_left_row(const FlaggedRow<I>& row, DeviceScalar<T>* x, unsigned* ready)
{
  give_up_launch(row.i);
  x[row.i] = quiet_nan<DeviceScalar<T>>();
  store_release(ready + row.i, row.launch);
}

template <class T, class V, class I> class FlaggedSolver : public DeviceSolver<T, I> {
public:
  using Kernel = void (*)(StoredView<V, I>, unsigned*, TicketCounter*, const DeviceScalar<T>*, DeviceScalar<T>*, bool);

  ///   name  as in TicketCounterMemory
  FlaggedSolver(const DeviceTriangle<I>& triangle, Kernel kernel, const char* name)
      : kernel_(kernel), triangle_(triangle, solve_order(triangle), false), ready_(triangle.n(), 0),
        counter_(name)
  {
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  }

  void solve(const DeviceColumns<T>& v, SolveMode mode, cudaStream_t stream) override
  {
    launch(kernel_, {blocks_for(triangle_.n(), flagged_threads), flagged_threads, 0, stream}, triangle_.stored_view(),
           ready_.data(), counter_.data(), as_device(v.b), as_device(v.x), mode.conjugate);
  }

  void update_values(const T* value, const T* inverse_diagonal, UpdatePart part, cudaStream_t stream) override
  {
    if (part == UpdatePart::queued) return;
    triangle_.update_triangle(value, inverse_diagonal, stream);
  }

  PlanSummary summarize_plan() const override
  {
    return {"", triangle_.triangle_plan_bytes() + ready_.bytes(), triangle_.triangle_value_bytes()};
  }

private:
  Kernel kernel_;
  StoredTriangle<T, V, I> triangle_;
  ResettableArray<unsigned> ready_;
  TicketCounterMemory counter_;
};

}  // namespace syncfree::cuda
