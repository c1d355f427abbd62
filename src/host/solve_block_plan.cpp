/// `column_block`, `row_block`, `recursive_block`: execute the device's plans (core/plan/block_plan.hpp) one block
/// after the other on one thread, so that plans can be tested on any machine. The kernels that a plan names matter only
/// on the device.

#include <new>

#include "core/plan/block_plan.hpp"
#include "core/support/instantiate.hpp"
#include "strategies.hpp"

namespace syncfree {
namespace {

template <class I> BlockPlan<I> plan_blocks(const PatternView<I>& pattern, bool lower, BlockShape shape,
                                            const BlockOptions& options)
{
  BlockTable table;
  BlockPlan<I> plan;
  if (!read_block_options(options, &table).ok() || !make_block_plan(pattern, lower, shape, table, &plan).ok())
    throw std::bad_alloc();
  return plan;
}

template <class T, class V, class I> class BlockPlanSolver : public TriangularSolver<T, V, I> {
public:
  BlockPlanSolver(const char* name, BlockShape shape, TriangleView<V, I> triangle, const BlockOptions& options)
      : name_(name), triangle_(triangle), plan_(plan_blocks(triangle.pattern, triangle.lower, shape, options)),
        work_(triangle.pattern.n)
  {
  }

  void solve_triangle(const T* b, T* x, const Columns<I>& columns, bool conjugate) override
  {
    for (I c = 0; c < columns.count; ++c, b += columns.b_leading, x += columns.x_leading) {
      for (std::size_t p = 0; p < work_.size(); ++p) work_[p] = b[plan_.row[p]];
      for (const Block<I>& block : plan_.blocks) conjugate ? process_block<true>(block) : process_block<false>(block);
      for (std::size_t p = 0; p < work_.size(); ++p) x[plan_.row[p]] = work_[p];
    }
  }

  void update_values(const V* value, const V* inverse_diagonal) override
  {
    triangle_.value = value;
    triangle_.inverse_diagonal = inverse_diagonal;
  }

  Description describe_solver() const override
  {
    return {name_, 1, plan_.block_plan_bytes() + work_.size() * sizeof(T)};
  }

private:
  template <bool conjugated> static T widen_value(const V& v)
  {
    if constexpr (conjugated) return conjugate(static_cast<T>(v));
    else return static_cast<T>(v);
  }

  template <bool conjugated> void process_block(const Block<I>& block)
  {
    const PatternView<I> pattern = plan_.pattern_of(block);
    const I* source = plan_.source.data() + block.entry;
    const T* from = work_.data() + block.first_column;
    for (I r = 0; r < block.stored; ++r) {
      const I row = block.only_filled() ? plan_.stored_row[block.stored_row + r] : r;
      const std::size_t p = static_cast<std::size_t>(block.first_row) + row;
      T sum = work_[p];
      for (I k = pattern.row_begin[r]; k < pattern.row_begin[r + 1]; ++k)
        sum -= multiply(widen_value<conjugated>(triangle_.value[source[k]]), from[pattern.column[k]]);
      if (block.triangle() && triangle_.inverse_diagonal)
        sum = multiply(sum, widen_value<conjugated>(triangle_.inverse_diagonal[plan_.row[p]]));
      work_[p] = sum;
    }
  }

  const char* name_;
  TriangleView<V, I> triangle_;
  BlockPlan<I> plan_;
  std::vector<T> work_;
};

}  // namespace

#define DEFINE(name, shape)                                                                                        \
  template <class T, class V, class I>                                                                             \
  std::unique_ptr<TriangularSolver<T, V, I>> make_##name(TriangleView<V, I> triangle, const SolverOptions& options) \
  {                                                                                                                \
    return std::make_unique<BlockPlanSolver<T, V, I>>(#name, shape, triangle, options.blocks);                     \
  }
DEFINE(column_block, BlockShape::column)
DEFINE(row_block, BlockShape::row)
DEFINE(recursive_block, BlockShape::recursive)
#undef DEFINE

#define INSTANTIATE_ONE(name, T, V, I) \
  template std::unique_ptr<TriangularSolver<T, V, I>> make_##name<T, V, I>(TriangleView<V, I>, const SolverOptions&);
#define INSTANTIATE(T, V, I)             \
  INSTANTIATE_ONE(column_block, T, V, I) \
  INSTANTIATE_ONE(row_block, T, V, I)    \
  INSTANTIATE_ONE(recursive_block, T, V, I)
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree
