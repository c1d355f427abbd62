/// `serial`: forward or backward substitution, row after row in natural order. The truth
/// that the other strategies are compared with, and the fastest for one thread.

#include "../core/instantiate.hpp"
#include "strategies.hpp"

namespace syncfree {
namespace {

template <class T, class V, class I> class SerialSolver : public TriangularSolver<T, V, I> {
public:
  explicit SerialSolver(TriangleView<V, I> triangle) : triangle_(triangle)
  {
    description_.strategy = "serial";
    description_.levels = triangle.pattern.n;
  }

  void solve(const T* b, T* x, const Columns<I>& columns, bool conjugate) override
  {
    const I n = triangle_.pattern.n;
    const bool lower = triangle_.lower;
    for_each_column<T>(triangle_, b, x, columns, conjugate, [=](auto row, const T* from, T* to) {
      if (lower)
        for (I i = 0; i < n; ++i) row(i, from, to);
      else
        for (I i = n; i-- > 0;) row(i, from, to);
    });
  }

  void refresh(const V* value, const V* inverse_diagonal) override
  {
    triangle_.value = value;
    triangle_.inverse_diagonal = inverse_diagonal;
  }

  Description describe() const override { return description_; }

private:
  TriangleView<V, I> triangle_;
  Description description_;
};

}  // namespace

template <class T, class V, class I>
std::unique_ptr<TriangularSolver<T, V, I>> make_serial(TriangleView<V, I> triangle, int)
{
  return std::make_unique<SerialSolver<T, V, I>>(triangle);
}

#define INSTANTIATE(T, V, I) \
  template std::unique_ptr<TriangularSolver<T, V, I>> make_serial<T, V, I>(TriangleView<V, I>, int);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree
