/// Strategy `loop`: the triangular solve by rows as in a textbook, turned into a kernel by
/// include/syncfree/cuda/loop.cuh (Somo and Cheshmi 2025): a trace of the sequential loop finds which rows wait for
/// which.
///
/// A hand-written kernel has built in what the trace finds: this strategy measures the cost of finding it.

#include <memory>
#include <numeric>

#include "core/support/instantiate.hpp"
#include "cuda/analysis/stored_triangle.cuh"
#include "cuda/base/vectors.hpp"
#include "cuda/solve/solver.hpp"
#include "syncfree/cuda/loop.cuh"
#include "syncfree/loop/loops.hpp"
#include "syncfree/solver.hpp"

namespace syncfree::cuda {
namespace {

inline void throw_failure(const Status& status)
{
  if (!status.ok()) throw Failure{status};
}

template <class I> DeviceArray<I> natural_order(I n)
{
  Array<I> order(n);
  std::iota(order.begin(), order.end(), I(0));
  return DeviceArray<I>(order);
}

template <class T, class V, class I, bool lower> class LoopSolver : public DeviceSolver<T, I> {
public:
  using N = DeviceScalar<T>;

  explicit LoopSolver(const DeviceTriangle<I>& triangle)
      : triangle_(triangle, natural_order(triangle.n()), false), body_(make_body(triangle.pattern()))
  {
    throw_failure(loop_.trace(body_));
    const StoredView<V, I> L = triangle_.stored_view();
    body_.L = {L.n, L.begin, L.column};
  }

  void solve(const DeviceColumns<T>& v, SolveMode mode, cudaStream_t stream) override
  {
    if (is_complex_v<T> && mode.conjugate) solve_conjugated(v.b, v.x, stream);
    else solve_plain(as_device(v.b), as_device(v.x), stream);
  }

  void update_values(const T* value, const T* inverse_diagonal, UpdatePart part, cudaStream_t stream) override
  {
    if (part == UpdatePart::queued) return;
    triangle_.update_triangle(value, inverse_diagonal, stream);
  }

  PlanSummary summarize_plan() const override
  {
    const char* text = loop_.grain() == Grain::warp ? "a warp an iteration" : "a thread an iteration";
    return {text, triangle_.triangle_plan_bytes() + loop_.bytes(), triangle_.triangle_value_bytes()};
  }

private:
  using Body = TriangularSolveCsr<N, I, lower, DeviceScalar<V>>;

  Body make_body(const PatternView<I>& pattern) const
  {
    const StoredView<V, I> L = triangle_.stored_view();
    return Body(pattern, L.value, L.inverse_diagonal, nullptr, nullptr);
  }

  void solve_plain(const N* b, N* x, cudaStream_t stream)
  {
    Body body = body_;
    body.b_.data = b;
    body.x_.data = x;
    throw_failure(loop_.execute(body, stream));
  }

  /// conj(L)^-1 b = conj(L^-1 conj(b))
  void solve_conjugated(const T* b, T* x, cudaStream_t stream)
  {
    conjugate_vector(triangle_.n(), b, x, stream);
    solve_plain(as_device(x), as_device(x), stream);
    conjugate_vector<T>(triangle_.n(), x, x, stream);
  }

  StoredTriangle<T, V, I> triangle_;  ///< rows in their natural order
  Body body_;                         ///< b and x not set
  DeviceLoop<Body> loop_;
};

}  // namespace

template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_loop(const DeviceTriangle<I>& triangle, const SolverOptions&)
{
  if (triangle.lower) return std::make_unique<LoopSolver<T, V, I, true>>(triangle);
  return std::make_unique<LoopSolver<T, V, I, false>>(triangle);
}

#define INSTANTIATE(T, V, I)                                                              \
  template std::unique_ptr<DeviceSolver<T, I>> make_loop<T, V, I>(const DeviceTriangle<I>&, \
                                                            const SolverOptions&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree::cuda
