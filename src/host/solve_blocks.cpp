/// `blocks`: substitution in natural order, cut into chunks of some hundred rows that are assigned to threads when the
/// plan is made. Inside a chunk the matrix streams as in `serial`; a thread waits only before a chunk, and only for
/// chunks of other threads that it reads. Sums are those of `serial`, so results do not depend on the number of
/// threads.

#include "chunk_runner.hpp"
#include "core/support/instantiate.hpp"
#include "strategies.hpp"

namespace syncfree {
namespace {

template <class I> RowChunks<I> plan_chunks(const PatternView<I>& pattern, bool lower, int threads)
{
  RowChunks<I> plan;
  if (!make_row_chunks(pattern, lower, threads, &plan).ok()) throw std::bad_alloc();
  return plan;
}

template <class T, class V, class I> class BlockSolver : public TriangularSolver<T, V, I> {
public:
  BlockSolver(TriangleView<V, I> triangle, int threads)
      : triangle_(triangle),
        chained_(reads_predecessors(triangle.pattern, triangle.lower)),
        plan_(plan_chunks(triangle.pattern, triangle.lower, threads)),
        runner_(plan_)
  {
  }

  void solve_triangle(const T* b, T* x, const Columns<I>& columns, bool conjugate) override
  {
    with_row<T>(triangle_, chained_, conjugate, [&](const auto& row) {
      runner_.run_chunks([&row, &columns, b, x](I begin, I end, int) { row.solve_rows(begin, end, b, x, columns); });
    });
  }

  void update_values(const V* value, const V* inverse_diagonal) override
  {
    triangle_.value = value;
    triangle_.inverse_diagonal = inverse_diagonal;
  }

  Description describe_solver() const override
  {
    return {"blocks", runner_.active_threads(), plan_.row_chunk_bytes()};
  }

  void work_alone(bool alone) override { runner_.restrict_to_caller(alone); }

private:
  TriangleView<V, I> triangle_;
  bool chained_;
  RowChunks<I> plan_;
  ChunkRunner<I> runner_;
};

}  // namespace

template <class T, class V, class I>
std::unique_ptr<TriangularSolver<T, V, I>> make_blocks(TriangleView<V, I> triangle, const SolverOptions& options)
{
  return std::make_unique<BlockSolver<T, V, I>>(triangle, options.threads);
}

#define INSTANTIATE(T, V, I) \
  template std::unique_ptr<TriangularSolver<T, V, I>> make_blocks<T, V, I>(TriangleView<V, I>, const SolverOptions&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree
