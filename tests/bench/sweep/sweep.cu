/// Times every kernel of the block algorithms alone, on problems for which it could be chosen: the data from which the
/// table "h200" of src/core/plan/block_plan.cpp was made. tests/bench/sweep.sh runs it and plots the results.
///
///   syncfree_sweep FILE.csv [COMMIT]
///
/// Lines are `part,matrix,rows,x,y,kernel,us`:
///   triangle   x entries per row, y levels
///   rectangle  x entries per row, y share of empty rows
///   whole      the triangle by one of the kernels, not cut
///   depth      x depth of cutting; kernel `table` as in recursive_block, `best` the sum over the blocks of the fastest
///              kernel's time for each alone
/// Microseconds of one solve or product, medians; every solution is compared with a serial one.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "../generate.hpp"
#include "core/plan/block_plan.hpp"
#include "cuda/solve/baselines/rectangle.cuh"
#include "cuda/solve/make_solver.hpp"
#include "triangles.hpp"

namespace {

using namespace syncfree;
using namespace syncfree::cuda;
using bench::I;
using bench::Rows;

const std::vector<BlockKernel> triangle_kernels = {BlockKernel::level_set, BlockKernel::sync_free,
                                                   BlockKernel::level_order, BlockKernel::vendor};
const std::vector<BlockKernel> rectangle_kernels = {BlockKernel::scalar_csr, BlockKernel::vector_csr,
                                                    BlockKernel::scalar_dcsr, BlockKernel::vector_dcsr};
constexpr double slow = 30000;  ///< us: longer calls are not timed twice

/// Returns the microseconds of one call of many: median of five runs.
double time_of(const std::function<void()>& call)
{
  cudaEvent_t begin, end;
  SYNCFREE_CUDA(cudaEventCreate(&begin));
  SYNCFREE_CUDA(cudaEventCreate(&end));
  const auto run = [&](int count) {
    float ms = 0;
    SYNCFREE_CUDA(cudaEventRecord(begin));
    for (int k = 0; k < count; ++k) call();
    SYNCFREE_CUDA(cudaEventRecord(end));
    SYNCFREE_CUDA(cudaEventSynchronize(end));
    SYNCFREE_CUDA(cudaEventElapsedTime(&ms, begin, end));
    return 1000.0 * ms / count;
  };
  double once = run(1);
  if (once < slow) {
    const int count = std::clamp(static_cast<int>(500 / run(1)), 1, 50);
    std::vector<double> times(5);
    for (double& t : times) t = run(count);
    std::nth_element(times.begin(), times.begin() + 2, times.end());
    once = times[2];
  }
  SYNCFREE_CUDA(cudaEventDestroy(begin));
  SYNCFREE_CUDA(cudaEventDestroy(end));
  return once;
}

/// A unit lower triangle with its values, a right-hand side and the solution.
struct Problem {
  explicit Problem(const Rows& L) : L(L), value(L.value), b_host(bench::random_numbers(L.n())), b(b_host), x(L.n())
  {
    truth = bench::solve_serially(L, b_host);
  }

  std::unique_ptr<DeviceSolver<double, I>> make(const SolverOptions& options) const
  {
    std::unique_ptr<DeviceSolver<double, I>> solver;
    const DeviceTriangle<I> triangle(true, {L.n(), L.begin.data(), L.column.data()}, nullptr, true);
    const Status status = make_device_solver(options, triangle, &solver);
    if (!status.ok()) throw Failure{status};
    solver->update_values(value.data(), nullptr, UpdatePart::whole, nullptr);
    return solver;
  }

  double time(const SolverOptions& options)
  {
    const auto solver = make(options);
    x.fill(0xfe, nullptr);
    solve_column(solver.get(), b.data(), x.data(), {}, nullptr);
    std::vector<double> found(L.n());
    x.read(found.data(), 0, found.size(), nullptr);
    for (std::size_t i = 0; i < found.size(); ++i)
      if (!(std::abs(found[i] - truth[i]) <= 1e-10 * (1 + std::abs(truth[i]))))
        throw std::runtime_error(options.strategy + " is wrong at row " + std::to_string(i));
    return time_of([&] { solve_column(solver.get(), b.data(), x.data(), {}, nullptr); });
  }

  const Rows& L;
  DeviceArray<double> value;
  std::vector<double> b_host, truth;
  DeviceArray<double> b, x;
};

SolverOptions forced(BlockKernel kernel)
{
  SolverOptions options;
  options.strategy = name_of(kernel);
  return options;
}

/// Times a rectangle that is subtracted from a vector repeatedly.
double time_rectangle(BlockKernel kernel, const Rows& S, const std::vector<I>& filled)
{
  const bool only_filled = kernel == BlockKernel::scalar_dcsr || kernel == BlockKernel::vector_dcsr;
  std::vector<I> begin = S.begin;
  if (only_filled) {
    begin = {0};
    for (const I r : filled) begin.push_back(S.begin[r + 1]);
  }
  const DeviceArray<I> begin_device(begin), column(S.column), stored_row(only_filled ? filled : std::vector<I>());
  const DeviceArray<double> value(S.value);
  DeviceArray<double> from(S.columns), to(S.n());
  from.fill(0, nullptr);
  to.fill(0, nullptr);
  const RectangleView<double, I> view{static_cast<I>(begin.size() - 1), begin_device.data(), column.data(),
                                      stored_row.data(), value.data()};
  return time_of([&] { subtract<double, double, I>(kernel, view, from.data(), to.data(), false, nullptr); });
}

/// Returns the fastest kernel's time for one block of a plan.
double time_best(const BlockPlan<I>& plan, const Block<I>& block)
{
  const PatternView<I> pattern = plan.pattern_of(block);
  const I* stored_row = plan.stored_row.data() + block.stored_row;
  Rows part;
  std::vector<I> filled;
  part.columns = block.columns;
  I stored = 0;
  for (I r = 0; r < block.rows; ++r) {
    if (!block.only_filled() || (stored < block.stored && stored_row[stored] == r)) {
      part.column.insert(part.column.end(), pattern.column + pattern.row_begin[stored],
                         pattern.column + pattern.row_begin[stored + 1]);
      ++stored;
    }
    if (static_cast<I>(part.column.size()) > part.begin.back()) filled.push_back(r);
    part.begin.push_back(static_cast<I>(part.column.size()));
  }
  bench::set_values(&part);
  double best = 1e300;
  if (block.triangle()) {
    if (block.levels <= 1) return 0;  // nothing to do with a unit diagonal
    Problem problem(part);
    for (const BlockKernel kernel : triangle_kernels) best = std::min(best, problem.time(forced(kernel)));
  } else {
    for (const BlockKernel kernel : rectangle_kernels) best = std::min(best, time_rectangle(kernel, part, filled));
  }
  return best;
}

class Sweep {
public:
  explicit Sweep(std::FILE* file) : file_(file) {}

  void triangles()
  {
    const I n = 200000;
    for (const int entries : {1, 2, 4, 8, 15, 30})
      for (const I levels : {2, 4, 8, 16, 32, 100, 300, 1000, 3000, 10000, 30000}) {
        const Rows L = bench::make_layered(n, entries, levels);
        Problem problem(L);
        for (const BlockKernel kernel : triangle_kernels)
          line("triangle", "layered", n, entries, levels, name_of(kernel), problem.time(forced(kernel)));
      }
  }

  void rectangles()
  {
    const I n = 200000;
    for (const double entries : {0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 24.0, 32.0, 64.0})
      for (const double empty : {0.0, 0.05, 0.1, 0.15, 0.25, 0.5, 0.75, 0.9, 0.97}) {
        std::vector<I> filled;
        const Rows S = bench::make_rectangle(n, entries, empty, &filled);
        for (const BlockKernel kernel : rectangle_kernels)
          line("rectangle", "random", n, entries, empty, name_of(kernel), time_rectangle(kernel, S, filled));
      }
  }

  /// Measures depths 0 to 8 while blocks keep 4000 rows.
  void depths()
  {
    for (const bench::Named& matrix : bench::twenty_triangles()) {
      const Rows L = matrix.make();
      std::fprintf(stderr, "%s, %d rows\n", matrix.name.c_str(), static_cast<int>(L.n()));
      Problem problem(L);
      for (const BlockKernel kernel : triangle_kernels)
        line("whole", matrix.name, L.n(), 0, 0, name_of(kernel), problem.time(forced(kernel)));
      SolverOptions options;
      options.strategy = "recursive_block";
      line("whole", matrix.name, L.n(), 0, 0, "recursive_block", problem.time(options));
      for (int depth = 0; depth <= 8 && (L.n() >> depth) >= 4000; ++depth) {
        options.blocks.cut_rows = L.n() >> depth;
        line("depth", matrix.name, L.n(), depth, 0, "table", problem.time(options));
        if (L.n() > 400000 && depth > 4) continue;  // set-ups of single blocks would take minutes
        line("depth", matrix.name, L.n(), depth, 0, "best", time_best_of_all(L, options.blocks));
      }
    }
  }

private:
  static double time_best_of_all(const Rows& L, const BlockOptions& options)
  {
    BlockTable table;
    BlockPlan<I> plan;
    const PatternView<I> pattern{L.n(), L.begin.data(), L.column.data()};
    if (!read_block_options(options, &table).ok() ||
        !make_block_plan(pattern, true, BlockShape::recursive, table, &plan).ok())
      throw std::runtime_error("no plan");
    double sum = 0;
    for (const Block<I>& block : plan.blocks) sum += time_best(plan, block);
    return sum;
  }

  void line(const char* part, const std::string& matrix, I rows, double x, double y, const char* kernel, double us)
  {
    std::fprintf(file_, "%s,%s,%d,%g,%g,%s,%.2f\n", part, matrix.c_str(), static_cast<int>(rows), x, y, kernel, us);
    std::fflush(file_);
  }

  std::FILE* file_;
};

}  // namespace

int main(int count, char** words)
try {
  if (count < 2) {
    std::fprintf(stderr, "usage: %s FILE.csv [COMMIT]\n", words[0]);
    return 2;
  }
  cudaDeviceProp device;
  SYNCFREE_CUDA(cudaGetDeviceProperties(&device, 0));
  std::FILE* file = std::fopen(words[1], "w");
  if (!file) throw std::runtime_error(std::string("cannot write ") + words[1]);
  const char* commit = count > 2 ? words[2] : "unknown";
  std::fprintf(file, "# %s, commit %s\npart,matrix,rows,x,y,kernel,us\n", device.name, commit);
  Sweep sweep(file);
  sweep.triangles();
  sweep.rectangles();
  sweep.depths();
  return std::fclose(file) ? 1 : 0;
} catch (const Failure& failure) {
  std::fprintf(stderr, "%s\n", failure.status.message().c_str());
  return 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
