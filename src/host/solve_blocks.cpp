/// `blocks`: one contiguous block of rows a thread. A dependency path crosses the border
/// between two blocks seldom, so threads walk their own rows level by level and wait only
/// at the borders, for the step of the other block that they really read.

#include "../core/instantiate.hpp"
#include "block_runner.hpp"
#include "strategies.hpp"

namespace syncfree {
namespace {

template <class I> RowBlocks<I> plan_blocks(const PatternView<I>& pattern, bool lower, int threads)
{
  RowBlocks<I> plan;
  if (!make_row_blocks(pattern, lower, threads, &plan).ok()) throw std::bad_alloc();
  return plan;
}

template <class T, class V, class I> class BlockSolver : public TriangularSolver<T, V, I> {
public:
  BlockSolver(TriangleView<V, I> triangle, int threads)
      : triangle_(triangle), plan_(plan_blocks(triangle.pattern, triangle.lower, threads)), runner_(plan_)
  {
  }

  void solve(const T* b, T* x, const Columns<I>& columns, bool conjugate) override
  {
    for_each_column<T>(triangle_, b, x, columns, conjugate, [this](auto row, const T* from, T* to) {
      runner_.run([=](I i, int) { row(i, from, to); });
    });
  }

  void refresh(const V* value, const V* inverse_diagonal) override
  {
    triangle_.value = value;
    triangle_.inverse_diagonal = inverse_diagonal;
  }

  Description describe() const override { return {"blocks", plan_.levels, plan_.blocks, plan_bytes(plan_)}; }

private:
  TriangleView<V, I> triangle_;
  RowBlocks<I> plan_;
  BlockRunner<I> runner_;
};

}  // namespace

template <class T, class V, class I>
std::unique_ptr<TriangularSolver<T, V, I>> make_blocks(TriangleView<V, I> triangle, int threads)
{
  return std::make_unique<BlockSolver<T, V, I>>(triangle, threads);
}

#define INSTANTIATE(T, V, I) \
  template std::unique_ptr<TriangularSolver<T, V, I>> make_blocks<T, V, I>(TriangleView<V, I>, int);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree
