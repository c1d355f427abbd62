#pragma once

/// Common to the tests of the backend cuda: device vectors, matrices, and their preconditioner.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "../no_plan.hpp"
#include "../oracle.hpp"
#include "syncfree/cuda.hpp"
#include "syncfree/cuda/detail/memory_pool.hpp"
#include "syncfree/strategy.hpp"

namespace syncfree {

using I = std::int32_t;
using Cuda = CudaPreconditioner<double, I>;

#define CUDA(call) ASSERT_EQ(call, cudaSuccess)

/// The calls on a stream as a CUDA graph that can be launched on it.
class Replay {
public:
  Replay(cudaStream_t stream, const std::function<void()>& calls) : stream_(stream)
  {
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    calls();
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    EXPECT_EQ(cudaGraphInstantiate(&graph_, graph, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  }
  Replay(const Replay&) = delete;
  ~Replay() { EXPECT_EQ(cudaGraphExecDestroy(graph_), cudaSuccess); }

  void run() const
  {
    EXPECT_EQ(cudaGraphLaunch(graph_, stream_), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  }

private:
  cudaStream_t stream_;
  cudaGraphExec_t graph_ = nullptr;
};

/// Takes each array from CUDA, for tools that track allocations or check their bounds.
class FollowedMemory : public testing::Environment {
  void SetUp() override
  {
    if (cuda::MemoryPool* pool = cuda::MemoryPool::of_device()) pool->keep_at_most(0);
  }
};

/// A device vector, filled with a NaN pattern unless values are given. Its initialisation is complete before it is used
/// on any stream.
template <class T> class DeviceVectorOf {
public:
  explicit DeviceVectorOf(std::size_t n) : n_(n)
  {
    EXPECT_EQ(cudaMalloc(&data_, n * sizeof(T)), cudaSuccess);
    fill_with_poison();
  }
  explicit DeviceVectorOf(const std::vector<T>& v) : DeviceVectorOf(v.size()) { set(v); }
  DeviceVectorOf(const DeviceVectorOf&) = delete;
  ~DeviceVectorOf() { cudaFree(data_); }

  void fill_with_poison() const
  {
    EXPECT_EQ(cudaMemset(data_, 0xfe, n_ * sizeof(T)), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  void set(const std::vector<T>& v)
  {
    EXPECT_EQ(cudaMemcpy(data_, v.data(), n_ * sizeof(T), cudaMemcpyHostToDevice), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  }
  std::vector<T> get() const
  {
    std::vector<T> v(n_);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(v.data(), data_, n_ * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    return v;
  }
  T* data() const { return static_cast<T*>(data_); }

private:
  std::size_t n_;
  void* data_ = nullptr;
};
using DeviceVector = DeviceVectorOf<double>;

/// Makes n rows with up to 2 * entries random columns within `band` of the diagonal, dominant by rows; if last > 0, row
/// n - 1 has up to `last` random columns instead.
inline OwnedCsr<double, I> random_band(I n, I entries, I band, I last, std::uint64_t seed)
{
  std::mt19937_64 random(7);
  const auto value = random_vector<double>(static_cast<std::size_t>(n) * (2 * entries + 1) + 2 * last, seed);
  OwnedCsr<double, I> A;
  A.n = n;
  for (I i = 0; i < n; ++i) {
    std::vector<I> columns = {i};
    const I from = i == n - 1 && last ? 0 : std::max(0, i - band), to = std::min(n - 1, i + band);
    const I count = i == n - 1 && last ? last : 2 * entries;
    for (I e = 0; e < count; ++e) columns.push_back(from + static_cast<I>(random() % (to - from + 1)));
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    for (I c : columns) {
      const double v = value[A.value.size()];
      A.column.push_back(c);
      A.value.push_back(c == i ? static_cast<double>(columns.size()) : v);
    }
    A.row_begin.push_back(static_cast<I>(A.column.size()));
  }
  return A;
}

/// Makes a line of points with `unknowns` unknowns each, coupled with points up to `reach` away.
inline OwnedCsr<double, I> line_of_points(I points, I unknowns, I reach)
{
  const I n = points * unknowns;
  const auto value = random_vector<double>(static_cast<std::size_t>(n) * unknowns * (2 * reach + 1), 3);
  OwnedCsr<double, I> A;
  A.n = n;
  for (I i = 0; i < n; ++i) {
    const I p = i / unknowns, first = std::max(0, p - reach), last = std::min(points - 1, p + reach);
    for (I j = first * unknowns; j < (last + 1) * unknowns; ++j) {
      A.column.push_back(j);
      A.value.push_back(i == j ? unknowns * (2 * reach + 1) : value[A.value.size()]);
    }
    A.row_begin.push_back(static_cast<I>(A.column.size()));
  }
  return A;
}

/// Makes waves of `length` rows each; a row is coupled with `entries` rows of the previous wave and of the next one.
/// Dominant by rows.
inline OwnedCsr<double, I> waves_of_rows(I waves, I length, I entries)
{
  const I n = waves * length;
  const auto value = random_vector<double>(static_cast<std::size_t>(n) * (2 * entries + 1), 3);
  OwnedCsr<double, I> A;
  A.n = n;
  for (I i = 0; i < n; ++i) {
    std::vector<I> columns = {i};
    for (const I wave : {i / length - 1, i / length + 1})
      for (I k = 0; wave >= 0 && wave < waves && k < entries; ++k)
        columns.push_back(wave * length + (7 * i + 31 * k) % length);
    std::sort(columns.begin(), columns.end());
    for (const I j : columns) {
      A.column.push_back(j);
      A.value.push_back(i == j ? 2 * entries + 1 : value[A.value.size()]);
    }
    A.row_begin.push_back(static_cast<I>(A.column.size()));
  }
  return A;
}

/// Makes an x by y by z grid of points with `unknowns` unknowns each, coupled with all neighbours in the box; dominant
/// by rows.
inline OwnedCsr<double, I> box_of_points(I x, I y, I z, I unknowns)
{
  OwnedCsr<double, I> A;
  A.n = x * y * z * unknowns;
  const auto value = random_vector<double>(static_cast<std::size_t>(A.n) * unknowns * 27, 3);
  const auto for_near = [](I at, I size, auto body) {
    for (I other = std::max(0, at - 1); other <= std::min(size - 1, at + 1); ++other) body(other);
  };
  for (I i = 0; i < A.n; ++i) {
    const I p = i / unknowns;
    for_near(p / (x * y), z, [&](I c) {
      for_near(p / x % y, y, [&](I b) {
        for_near(p % x, x, [&](I a) {
          for (I u = 0; u < unknowns; ++u) {
            A.column.push_back(((c * y + b) * x + a) * unknowns + u);
            A.value.push_back(A.column.back() == i ? unknowns * 27 : value[A.value.size()]);
          }
        });
      });
    });
    A.row_begin.push_back(static_cast<I>(A.column.size()));
  }
  return A;
}

/// Returns whether a tool cannot run the strategy: SYNCFREE_LEAVE_OUT names those, with spaces between them.
inline bool is_left_out(const std::string& name)
{
  const char* const names = std::getenv("SYNCFREE_LEAVE_OUT");
  return names && (" " + std::string(names) + " ").find(" " + name + " ") != std::string::npos;
}

/// Returns the strategies that have a plan for any matrix of short rows: all but wavefront, which requires a grid.
inline std::vector<std::string> device_strategies(bool only_reproducible = false)
{
  std::vector<std::string> names;
  for (const StrategyInfo& info : strategies()) {
    const bool wanted = std::string(info.backend) == "cuda" && info.name != std::string("wavefront");
    if (wanted && (info.reproducible || !only_reproducible) && !is_left_out(info.name)) names.push_back(info.name);
  }
  return names;
}

/// Returns nullptr if `tiled` has no plan.
inline std::unique_ptr<Cuda> analysed(const OwnedCsr<double, I>& A, const std::string& strategy = "level_order")
{
  auto p = make_cuda_preconditioner<double, I>();
  const BlockOptions blocks{"paper", A.n / 7 + 1, A.n / 7 + 1};  // so that small matrices are cut, too
  const Status status = p->analyse(A.pattern(), {}, {strategy, 1, false, blocks});
  if (has_no_plan(strategy, status)) return nullptr;
  EXPECT_EQ(status.message(), "success");
  EXPECT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
  return p;
}

/// Solves with L and U of the oracle.
inline std::vector<double> solution(const OwnedCsr<double, I>& A, const std::vector<double>& b)
{
  const auto F = oracle_ilu0(A);
  const auto y = oracle_solve<double>(take_triangle<double>(F, true, true).view(), b.data(), false);
  return oracle_solve<double>(take_triangle<double>(F, false, false).view(), y.x.data(), false).x;
}

inline void expect_near(const std::vector<double>& x, const std::vector<double>& truth, double tolerance = 1e-12)
{
  double error = 0, size = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    error = std::max(error, std::isfinite(x[i]) ? std::abs(x[i] - truth[i]) : 1e300);
    size = std::max(size, std::abs(truth[i]));
  }
  EXPECT_LE(error, tolerance * size);
}

inline void solve(Cuda& p, const DeviceVector& b, const DeviceVector& x, I n, cudaStream_t stream = nullptr)
{
  p.use(Memory::device, stream);
  ASSERT_EQ(p.solve(Operation::none, b.data(), x.data(), {1, n, n}).message(), "success");
}

inline OwnedCsr<double, I> dominant(const std::vector<std::vector<I>>& columns)
{
  OwnedCsr<double, I> A;
  A.n = static_cast<I>(columns.size());
  for (I row = 0; row < A.n; ++row) {
    const auto& own = columns[row];
    for (const I column : own) {
      A.column.push_back(column);
      A.value.push_back(column == row ? static_cast<double>(own.size()) : 0.5 + 0.25 * ((row + column) % 3));
    }
    A.row_begin.push_back(static_cast<I>(A.column.size()));
  }
  return A;
}

inline void expect_solves(Cuda* p, const OwnedCsr<double, I>& A)
{
  p->use(Memory::host, nullptr);  // A's values are in host memory; solve() below selects device memory
  ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
  const auto b = random_vector<double>(A.n, 5);
  const DeviceVector from(b), to(A.n);
  solve(*p, from, to, A.n);
  expect_near(to.get(), solution(A, b));
}

}  // namespace syncfree
