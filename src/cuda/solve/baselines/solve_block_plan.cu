/// Strategies `column_block`, `row_block`, `recursive_block`: a triangle is cut into smaller triangles and rectangles
/// (core/plan/block_plan.hpp), which are processed one after the other on one vector in the plan's order.
///
/// Each triangle has a solver of another strategy, each rectangle one of four sparse matrix-vector products. Together
/// they are one CUDA graph: the host does nothing between them.
///
/// Source: Lu et al. 2020, algorithms 4, 5 and 7.

#include <map>

#include "core/plan/block_plan.hpp"
#include "core/support/instantiate.hpp"
#include "cuda/analysis/stored_triangle.cuh"
#include "cuda/base/graph_recording.hpp"
#include "cuda/base/vectors.hpp"
#include "cuda/solve/baselines/rectangle.cuh"
#include "cuda/solve/make_solver.hpp"

namespace syncfree::cuda {
namespace {

constexpr int threads_a_block = 256;

/// x_i *= inverse_diagonal_i rounded to V: solves a triangle that is only a diagonal.
template <class T, class V>
__global__ void scale_rows(std::size_t n, const DeviceScalar<T>* inverse_diagonal, DeviceScalar<T>* x, bool conjugate)
{
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  const DeviceScalar<T> scale{DeviceScalar<V>(inverse_diagonal[i])};
  x[i] = product(x[i], conjugate ? conjugate_of(scale) : scale);
}

template <class T, class V, class I> class BlockPlanSolver : public DeviceSolver<T, I> {
public:
  BlockPlanSolver(BlockPlan<I> plan, const DeviceTriangle<I>& triangle, const SolverOptions& options)
      : unit_(triangle.unit), row_(plan.row), work_(plan.row.size()),
        inverse_diagonal_(triangle.unit ? 0 : plan.row.size())
  {
    if (triangle.source)
      for (I& source : plan.source) source = triangle.source[source];
    Rectangles rectangles;
    for (const Block<I>& block : plan.blocks) {
      ++count_[block.kernel];
      if (block.triangle()) add_triangle(plan, block, options);
      else add_rectangle(plan, block, &rectangles);
    }
    begin_ = DeviceArray<I>(rectangles.begin);
    column_ = DeviceArray<I>(rectangles.column);
    stored_row_ = DeviceArray<I>(rectangles.stored_row);
    source_ = DeviceArray<I>(rectangles.source);
    value_ = DeviceArray<V>(rectangles.source.size());
  }

  void solve(const DeviceColumns<T>& v, SolveMode mode, cudaStream_t stream) override
  {
    const bool conjugated = mode.conjugate && is_complex_v<T>;
    gather(n(), row_.data(), v.b, work_.data(), stream);
    recording_[conjugated].launch(stream, [&](cudaStream_t s) { walk(conjugated, s); });
    scatter(n(), row_.data(), work_.data(), v.x, stream);
  }

  void update_values(const T* value, const T* inverse_diagonal, UpdatePart part, cudaStream_t stream) override
  {
    if (part == UpdatePart::queued) return;
    gather_rounded(value_, source_.data(), value, stream);
    gather_rounded(inverse_diagonal_, row_.data(), inverse_diagonal, stream);
    for (Step& step : steps_)
      if (step.solver)
        step.solver->update_values(value, inverse_diagonal_.data() + step.first_row, UpdatePart::whole, stream);
    if (recording_[0].made()) return;
    recording_[0].make([&](cudaStream_t s) { walk(false, s); });
    if (is_complex_v<T>) recording_[1].make([&](cudaStream_t s) { walk(true, s); });
  }

  PlanSummary summarize_plan() const override
  {
    PlanSummary all;
    for (const auto& [kernel, count] : count_)
      all.text += (all.text.empty() ? "" : ", ") + std::to_string(count) + " " + name_of(kernel);
    all.plan_bytes = row_.bytes() + work_.bytes() + begin_.bytes() + column_.bytes() + stored_row_.bytes() +
                     source_.bytes();
    all.value_bytes = value_.bytes() + inverse_diagonal_.bytes();
    for (const Step& step : steps_) {
      const PlanSummary own = step.solver ? step.solver->summarize_plan() : PlanSummary();
      all.plan_bytes += own.plan_bytes;
      all.value_bytes += own.value_bytes;
    }
    return all;
  }

private:
  /// A block without its arrays, in the order of execution. `solver`: for triangles that are more than a diagonal.
  struct Step {
    BlockKernel kernel;
    std::size_t first_row, rows, first_column;
    I stored;
    std::size_t begin, entry, stored_row;  ///< of rectangles, in the arrays of the solver
    std::unique_ptr<DeviceSolver<T, I>> solver;
  };

  /// Entries of all rectangles, to be copied to the device.
  struct Rectangles {
    std::vector<I> begin, column, stored_row, source;
  };

  void add_triangle(const BlockPlan<I>& plan, const Block<I>& block, const SolverOptions& options)
  {
    Step step = begin_step(block);
    if (block.kernel != BlockKernel::diagonal) {
      SolverOptions leaf = options;
      leaf.strategy = name_of(block.kernel);
      const DeviceTriangle<I> part(true, plan.pattern_of(block), plan.source.data() + block.entry, unit_);
      const Status status = make_device_solver(leaf, part, &step.solver);
      if (!status.ok()) throw Failure{status};
    }
    steps_.push_back(std::move(step));
  }

  void add_rectangle(const BlockPlan<I>& plan, const Block<I>& block, Rectangles* all)
  {
    Step step = begin_step(block);
    step.begin = all->begin.size();
    step.entry = all->column.size();
    step.stored_row = all->stored_row.size();
    const PatternView<I> pattern = plan.pattern_of(block);
    const I* source = plan.source.data() + block.entry;
    all->begin.insert(all->begin.end(), pattern.row_begin, pattern.row_begin + block.stored + 1);
    all->column.insert(all->column.end(), pattern.column, pattern.column + pattern.nnz());
    all->source.insert(all->source.end(), source, source + pattern.nnz());
    if (block.only_filled()) {
      const I* row = plan.stored_row.data() + block.stored_row;
      all->stored_row.insert(all->stored_row.end(), row, row + block.stored);
    }
    steps_.push_back(std::move(step));
  }

  static Step begin_step(const Block<I>& block)
  {
    Step step{};
    step.kernel = block.kernel;
    step.first_row = block.first_row;
    step.rows = block.rows;
    step.first_column = block.first_column;
    step.stored = block.stored;
    return step;
  }

  void walk(bool conjugate, cudaStream_t stream)
  {
    for (Step& step : steps_) {
      T* rows = work_.data() + step.first_row;
      switch (step.kernel) {
        case BlockKernel::diagonal: scale(step, rows, conjugate, stream); break;
        case BlockKernel::scalar_csr:
        case BlockKernel::scalar_dcsr:
        case BlockKernel::vector_csr:
        case BlockKernel::vector_dcsr: multiply(step, rows, conjugate, stream); break;
        default: solve_column(step.solver.get(), rows, rows, {conjugate}, stream);
      }
    }
  }

  void scale(const Step& step, T* rows, bool conjugate, cudaStream_t stream)
  {
    if (unit_) return;
    launch(scale_rows<T, V>, {blocks_for(step.rows, threads_a_block), threads_a_block, 0, stream}, step.rows,
           as_device(inverse_diagonal_.data() + step.first_row), as_device(rows), conjugate);
  }

  void multiply(const Step& step, T* rows, bool conjugate, cudaStream_t stream)
  {
    const bool only_filled = step.kernel == BlockKernel::scalar_dcsr || step.kernel == BlockKernel::vector_dcsr;
    const RectangleView<V, I> view{step.stored, begin_.data() + step.begin, column_.data() + step.entry,
                                   only_filled ? stored_row_.data() + step.stored_row : nullptr,
                                   as_device(value_.data() + step.entry)};
    subtract<T, V, I>(step.kernel, view, work_.data() + step.first_column, rows, conjugate, stream);
  }

  I n() const { return static_cast<I>(row_.size()); }

  bool unit_;
  std::vector<Step> steps_;
  std::map<BlockKernel, int> count_;
  DeviceArray<I> row_;
  DeviceArray<T> work_;              ///< right-hand side, then solution, in the plan's order
  DeviceArray<T> inverse_diagonal_;  ///< in the plan's order
  DeviceArray<I> begin_, column_, stored_row_, source_;
  DeviceArray<V> value_;
  GraphRecording recording_[2];  ///< plain and conjugated
};

/// A triangle that was not cut: the solver of its only block, in the triangle's own order.
template <class T, class I> class UncutSolver : public DeviceSolver<T, I> {
public:
  UncutSolver(BlockKernel kernel, const DeviceTriangle<I>& triangle, SolverOptions options) : kernel_(kernel)
  {
    options.strategy = name_of(kernel);
    const Status status = make_device_solver(options, triangle, &solver_);
    if (!status.ok()) throw Failure{status};
  }

  void solve(const DeviceColumns<T>& v, SolveMode mode, cudaStream_t stream) override
  {
    solver_->solve(v, {mode.conjugate}, stream);
  }
  void update_values(const T* value, const T* inverse_diagonal, UpdatePart part, cudaStream_t stream) override
  {
    solver_->update_values(value, inverse_diagonal, part, stream);
  }
  PlanSummary summarize_plan() const override
  {
    PlanSummary own = solver_->summarize_plan();
    own.text = std::string("1 ") + name_of(kernel_);
    return own;
  }

private:
  BlockKernel kernel_;
  std::unique_ptr<DeviceSolver<T, I>> solver_;
};

template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_by_plan(BlockShape shape, const DeviceTriangle<I>& triangle,
                                                 const SolverOptions& options)
{
  BlockTable table;
  BlockPlan<I> plan;
  if (const Status status = read_block_options(options.blocks, &table); !status.ok()) throw Failure{status};
  const Status status = make_block_plan(triangle.pattern(), triangle.lower, shape, table, &plan);
  if (!status.ok()) throw Failure{status};
  if (plan.blocks.size() == 1 && plan.blocks[0].kernel != BlockKernel::diagonal)
    return std::make_unique<UncutSolver<T, I>>(plan.blocks[0].kernel, triangle, options);
  return std::make_unique<BlockPlanSolver<T, V, I>>(std::move(plan), triangle, options);
}

}  // namespace

#define DEFINE(name, shape)                                                                                            \
  template <class T, class V, class I>                                                                                 \
  std::unique_ptr<DeviceSolver<T, I>> make_##name(const DeviceTriangle<I>& triangle, const SolverOptions& options)     \
  {                                                                                                                    \
    return make_by_plan<T, V, I>(shape, triangle, options);                                                            \
  }
DEFINE(column_block, BlockShape::column)
DEFINE(row_block, BlockShape::row)
DEFINE(recursive_block, BlockShape::recursive)
#undef DEFINE

#define INSTANTIATE_ONE(name, T, V, I) \
  template std::unique_ptr<DeviceSolver<T, I>> make_##name<T, V, I>(const DeviceTriangle<I>&, const SolverOptions&);
#define INSTANTIATE(T, V, I)             \
  INSTANTIATE_ONE(column_block, T, V, I) \
  INSTANTIATE_ONE(row_block, T, V, I)    \
  INSTANTIATE_ONE(recursive_block, T, V, I)
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree::cuda
