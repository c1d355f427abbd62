/// Strategy `level_set`: the rows of a level in parallel, level after level.
///
/// A wide level is a kernel, a run of narrow ones a single thread block with barriers; all are nodes of one CUDA graph.
/// Arguments that differ between calls are in device memory, because a graph's arguments are fixed.

#include <algorithm>

#include "core/support/instantiate.hpp"
#include "cuda/analysis/stored_triangle.cuh"
#include "cuda/base/granularity.hpp"
#include "cuda/base/graph_recording.hpp"
#include "cuda/solve/solver.hpp"
#include "syncfree/solver.hpp"

namespace syncfree::cuda {
namespace {

constexpr int wide_threads = 256;
constexpr int run_threads = 1024;  ///< of the thread block for narrow levels: those with at most as many lanes

template <class T> struct Call {
  const DeviceScalar<T>* b;
  DeviceScalar<T>* x;
  bool conjugate;
};

template <class T> __global__ void set_call(Call<T> call, Call<T>* to) { *to = call; }

/// Solves the row at `position` with `lanes` lanes. Called by whole warps; does nothing if it is not live.
template <class T, class V, class I, int lanes>
__device__ void solve_row(const StoredView<V, I>& L, const Call<T>& call, std::size_t position, bool live)
{
  using N = DeviceScalar<T>;
  N sum(0);
  if (live)
    for (I k = L.begin[position] + threadIdx.x % lanes; k < L.begin[position + 1]; k += lanes) {
      const N value(L.value[k]);
      sum += product(call.conjugate ? conjugate_of(value) : value, call.x[L.column[k]]);
    }
  for (int offset = lanes / 2; offset; offset /= 2) sum += shfl_xor(sum, offset);
  if (!live || threadIdx.x % lanes != 0) return;
  const I row = L.row[position];
  N value = call.b[row] - sum;
  if (L.inverse_diagonal) {
    const N scale(L.inverse_diagonal[position]);
    value = product(value, call.conjugate ? conjugate_of(scale) : scale);
  }
  call.x[row] = value;
}

/// owns       `lanes` lanes own one row of the positions [first, end), which are a level
/// waits      for nothing: what it reads was written by earlier nodes
/// publishes  x of its rows, to later nodes
/// order      that of the graph
/// progress   no waits
/// result     reproducible: the order of additions depends on the row only
/// source     Anderson & Saad 1989; Saltz 1990
template <class T, class V, class I, int lanes>
__global__ void __launch_bounds__(wide_threads)
solve_wide_level(StoredView<V, I> L, const Call<T>* call, I first, I end)
{
  const std::size_t position = first + (blockIdx.x * static_cast<std::size_t>(wide_threads) + threadIdx.x) / lanes;
  solve_row<T, V, I, lanes>(L, *call, position, position < static_cast<std::size_t>(end));
}

/// owns       one thread block owns all rows of the levels [first, end); `lanes` lanes per row
/// waits      at a barrier after each level
/// publishes  x of its rows, to its own threads and to later nodes
/// order      that of the barrier, and of the graph
/// progress   all threads of the block reach every barrier
/// result     as solve_wide_level
/// source     as solve_wide_level
template <class T, class V, class I, int lanes>
__global__ void __launch_bounds__(run_threads)
solve_narrow_levels(StoredView<V, I> L, const Call<T>* call, const I* level_begin, I first, I end)
{
  for (I level = first; level < end; ++level) {
    const std::size_t position = level_begin[level] + threadIdx.x / lanes;
    solve_row<T, V, I, lanes>(L, *call, position, position < static_cast<std::size_t>(level_begin[level + 1]));
    __syncthreads();
  }
}

template <class T, class V, class I> class LevelSetSolver : public DeviceSolver<T, I> {
public:
  LevelSetSolver(const DeviceTriangle<I>& triangle, const LevelSets<I>& levels)
      : lanes_(choose_lanes_of_whole_rows(granularity_of(triangle))),
        triangle_(triangle, triangle.rows_in_level_order(), false), level_begin_(levels.level_begin), call_(1)
  {
    find_stages(levels);
    recording_.make([&](cudaStream_t stream) { walk(stream); });
  }

  void solve(const DeviceColumns<T>& v, SolveMode mode, cudaStream_t stream) override
  {
    launch(set_call<T>, {1, 1, 0, stream}, Call<T>{as_device(v.b), as_device(v.x), mode.conjugate}, call_.data());
    recording_.launch(stream, [&](cudaStream_t s) { walk(s); });
  }

  void update_values(const T* value, const T* inverse_diagonal, UpdatePart part, cudaStream_t stream) override
  {
    if (part == UpdatePart::queued) return;
    triangle_.update_triangle(value, inverse_diagonal, stream);
  }

  PlanSummary summarize_plan() const override
  {
    const auto wide = std::count_if(stages_.begin(), stages_.end(), [](const Stage& stage) { return stage.wide; });
    const std::string text = std::to_string(level_begin_.size() - 1) + " levels: " + std::to_string(wide) +
                             " kernels, " + std::to_string(stages_.size() - wide) + " runs of narrow levels";
    return {text, triangle_.triangle_plan_bytes() + level_begin_.bytes(), triangle_.triangle_value_bytes()};
  }

private:
  /// Levels [first, end): a wide one, or a run of narrow ones. first_position, end_position: positions of a wide one.
  struct Stage {
    I first, end;
    bool wide;
    I first_position, end_position;
  };

  void find_stages(const LevelSets<I>& levels)
  {
    for (I level = 0; level < levels.count; ++level) {
      const I begin = levels.level_begin[level], end = levels.level_begin[level + 1];
      const bool wide = static_cast<std::size_t>(end - begin) * lanes_ > run_threads;
      if (!wide && !stages_.empty() && !stages_.back().wide) stages_.back().end = level + 1;
      else stages_.push_back({level, level + 1, wide, begin, end});
    }
  }

  void walk(cudaStream_t stream)
  {
    with_lanes(lanes_, [&](auto lanes) { walk<lanes>(stream); });
  }

  template <int lanes> void walk(cudaStream_t stream)
  {
    for (const Stage& stage : stages_) {
      if (stage.wide)
        launch(solve_wide_level<T, V, I, lanes>,
               {blocks_for(static_cast<std::size_t>(stage.end_position - stage.first_position) * lanes, wide_threads),
                wide_threads, 0, stream},
               triangle_.stored_view(), call_.data(), stage.first_position, stage.end_position);
      else
        launch(solve_narrow_levels<T, V, I, lanes>, {1, run_threads, 0, stream}, triangle_.stored_view(), call_.data(),
               level_begin_.data(), stage.first, stage.end);
    }
  }

  int lanes_;
  StoredTriangle<T, V, I> triangle_;
  DeviceArray<I> level_begin_;
  DeviceArray<Call<T>> call_;
  std::vector<Stage> stages_;
  GraphRecording recording_;
};

}  // namespace

template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_level_set(const DeviceTriangle<I>& triangle, const SolverOptions&)
{
  return std::make_unique<LevelSetSolver<T, V, I>>(triangle, triangle.levels());
}

#define INSTANTIATE(T, V, I) \
  template std::unique_ptr<DeviceSolver<T, I>> make_level_set<T, V, I>(const DeviceTriangle<I>&, const SolverOptions&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree::cuda
