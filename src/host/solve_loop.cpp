/// `loop`: the triangular solve by rows as a textbook writes it, parallelized by include/syncfree/loop/loop.hpp (Somo
/// and Cheshmi 2025): a trace of the sequential loop finds which rows depend on which.
///
/// A hand-written solver knows these dependences; this strategy measures the cost of finding them.

#include <algorithm>
#include <memory>
#include <new>

#include "core/support/instantiate.hpp"
#include "strategies.hpp"
#include "syncfree/loop/loop.hpp"
#include "syncfree/loop/loops.hpp"

namespace syncfree {
namespace {

template <class T, class V, class I, bool lower> class LoopSolver : public TriangularSolver<T, V, I> {
public:
  LoopSolver(TriangleView<V, I> triangle, int threads) : triangle_(triangle), threads_(threads)
  {
    if (!loop_.trace(body(nullptr, nullptr)).ok()) throw std::bad_alloc();  // a checked pattern stays in range
  }

  void solve_triangle(const T* b, T* x, const Columns<I>& columns, bool conjugate) override
  {
    for (I c = 0; c < columns.count; ++c, b += columns.b_leading, x += columns.x_leading) {
      if (is_complex_v<T> && conjugate) solve_conjugated(b, x);
      else solve_column(b, x);
    }
  }

  void update_values(const V* value, const V* inverse_diagonal) override
  {
    triangle_.value = value;
    triangle_.inverse_diagonal = inverse_diagonal;
  }

  Description describe_solver() const override { return {"loop", threads_, loop_.loop_bytes()}; }

private:
  using Body = TriangularSolveCsr<T, I, lower, V>;

  Body body(const T* b, T* x) const
  {
    return Body(triangle_.pattern, triangle_.value, triangle_.inverse_diagonal, b, x);
  }

  void solve_column(const T* b, T* x) { (void)loop_.execute(body(b, x), threads_); }

  /// conj(L)^-1 b = conj(L^-1 conj(b))
  void solve_conjugated(const T* b, T* x)
  {
    const I n = triangle_.pattern.n;
    std::transform(b, b + n, x, [](const T& v) { return syncfree::conjugate(v); });
    solve_column(x, x);
    std::transform(x, x + n, x, [](const T& v) { return syncfree::conjugate(v); });
  }

  TriangleView<V, I> triangle_;
  int threads_;
  Loop<Body> loop_;
};

}  // namespace

template <class T, class V, class I>
std::unique_ptr<TriangularSolver<T, V, I>> make_loop(TriangleView<V, I> triangle, const SolverOptions& options)
{
  if (triangle.lower) return std::make_unique<LoopSolver<T, V, I, true>>(triangle, options.threads);
  return std::make_unique<LoopSolver<T, V, I, false>>(triangle, options.threads);
}

#define INSTANTIATE(T, V, I) \
  template std::unique_ptr<TriangularSolver<T, V, I>> make_loop<T, V, I>(TriangleView<V, I>, const SolverOptions&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree
