/// `serial`: forward or backward substitution, row by row in natural order. The reference for the other strategies, and
/// the fastest on one thread.

#include <algorithm>

#include "core/support/instantiate.hpp"
#include "strategies.hpp"

namespace syncfree {
namespace {

/// Rows whose part of the matrix stays in the L1 cache while several columns are solved.
constexpr int rows_at_a_time = 256;

template <class T, class V, class I> class SerialSolver : public TriangularSolver<T, V, I> {
public:
  explicit SerialSolver(TriangleView<V, I> triangle)
      : triangle_(triangle), chained_(reads_predecessors(triangle.pattern, triangle.lower))
  {
  }

  void solve_triangle(const T* b, T* x, const Columns<I>& columns, bool conjugate) override
  {
    const I n = triangle_.pattern.n;
    with_row<T>(triangle_, chained_, conjugate, [&](const auto& row) {
      if (columns.count == 1) return row.solve_rows(0, n, b, x, columns);
      for (I s = 0; s < n; s += std::min<I>(rows_at_a_time, n - s))
        row.solve_rows(s, s + std::min<I>(rows_at_a_time, n - s), b, x, columns);
    });
  }

  void update_values(const V* value, const V* inverse_diagonal) override
  {
    triangle_.value = value;
    triangle_.inverse_diagonal = inverse_diagonal;
  }

  Description describe_solver() const override { return {"serial", 1, 0}; }

private:
  TriangleView<V, I> triangle_;
  bool chained_;
};

}  // namespace

template <class T, class V, class I>
std::unique_ptr<TriangularSolver<T, V, I>> make_serial(TriangleView<V, I> triangle, const SolverOptions&)
{
  return std::make_unique<SerialSolver<T, V, I>>(triangle);
}

#define INSTANTIATE(T, V, I) \
  template std::unique_ptr<TriangularSolver<T, V, I>> make_serial<T, V, I>(TriangleView<V, I>, const SolverOptions&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree
