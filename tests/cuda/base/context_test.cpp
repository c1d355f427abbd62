/// Other uses of CUDA by the program: contexts with a part of the device, streams that are destroyed, and errors that
/// it has left.

#include <cuda.h>

#include "../../battery.hpp"
#include "../../watchdog.hpp"
#include "../device_support.hpp"
#include "syncfree/cuda/detail/context.hpp"

namespace syncfree {
namespace {

#if CUDART_VERSION >= 12050

#define DRIVER(function, ...)                                                                       \
  ([&] {                                                                                            \
    const auto found = cuda::driver_function<decltype(&function)>(#function, 12050); \
    return found ? found(__VA_ARGS__) : CUDA_ERROR_NOT_SUPPORTED;                                   \
  }())

/// A green context with a few multiprocessors of device 0, and a stream of it; not made if CUDA does not support it.
class GreenContext {
public:
  explicit GreenContext(unsigned multiprocessors)
  {
    CUdevResource all, part;
    CUdevResourceDesc description;
    CUdevice device = 0;
    unsigned groups = 1;
    EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
    made_ = DRIVER(cuDeviceGet, &device, 0) == CUDA_SUCCESS &&
            DRIVER(cuDeviceGetDevResource, device, &all, CU_DEV_RESOURCE_TYPE_SM) == CUDA_SUCCESS &&
            DRIVER(cuDevSmResourceSplitByCount, &part, &groups, &all, nullptr, 0u, multiprocessors) == CUDA_SUCCESS &&
            groups == 1 && DRIVER(cuDevResourceGenerateDesc, &description, &part, 1u) == CUDA_SUCCESS &&
            DRIVER(cuGreenCtxCreate, &green_, description, device, CU_GREEN_CTX_DEFAULT_STREAM) == CUDA_SUCCESS &&
            DRIVER(cuCtxFromGreenCtx, &context_, green_) == CUDA_SUCCESS &&
            DRIVER(cuGreenCtxStreamCreate, &stream_, green_, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS;
    if (made_) multiprocessors_ = part.sm.smCount;
  }
  GreenContext(const GreenContext&) = delete;
  ~GreenContext()
  {
    if (!made_) return;
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(DRIVER(cuStreamDestroy, stream_), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuGreenCtxDestroy, green_), CUDA_SUCCESS);
  }

  bool made() const { return made_; }
  unsigned multiprocessors() const { return multiprocessors_; }
  cudaStream_t stream() const { return stream_; }

  /// Makes the context current in this thread during its lifetime.
  class AtHand {
  public:
    explicit AtHand(const GreenContext& green)
    {
      EXPECT_EQ(DRIVER(cuCtxGetCurrent, &before_), CUDA_SUCCESS);
      EXPECT_EQ(DRIVER(cuCtxSetCurrent, green.context_), CUDA_SUCCESS);
    }
    ~AtHand() { EXPECT_EQ(DRIVER(cuCtxSetCurrent, before_), CUDA_SUCCESS); }

  private:
    CUcontext before_ = nullptr;
  };

private:
  bool made_ = false;
  unsigned multiprocessors_ = 0;
  CUgreenCtx green_ = nullptr;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
};

/// Planned in the primary context, in the green one or in both, launched in the green context and then again in the
/// primary one: right results without a hang. The matrices require clusters, or the whole device.
TEST(GreenContext, of_eight_multiprocessors_solves_rightly)
{
  const GreenContext green(8);
  if (!green.made()) GTEST_SKIP() << "this CUDA makes no green context of 8 multiprocessors";
  EXPECT_LT(green.multiprocessors(), 32u);
  const OwnedCsr<double, I> matrices[] = {make_poisson<double, I>(60, 50, 1), make_poisson<double, I>(20, 19, 18),
                                          random_band(20000, 3, 60, 0, 3), random_band(1000, 1, 1000, 0, 3),
                                          line_of_points(3000, 3, 3), waves_of_rows(12, 1500, 20)};
  auto names = device_strategies();
  names.push_back("wavefront");
  for (const auto& A : matrices)
    for (const std::string& strategy : names) {
      // the vendor's solve, planned for the whole device, did not end here on an H200 (7-point grid, 6840 rows)
      if (strategy == "loop" || strategy == "cusparse" || strategy.rfind("cs", 0) == 0) continue;
      const std::string what = strategy + " of " + std::to_string(A.n) + " rows in a green context";
      SCOPED_TRACE(what);
      const Watchdog watchdog(what, 30);
      const auto b = random_vector<double>(A.n, 5), truth = solution(A, b);
      const DeviceVector from(b), x(A.n);
      const auto solve_in = [&](Cuda& p, cudaStream_t stream) {
        solve(p, from, x, A.n, stream);
        EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
        expect_near(x.get(), truth);
      };
      const auto p = analysed(A, strategy);
      if (!p) continue;  // `tiled` without a plan
      solve_in(*p, nullptr);
      solve_in(*p, green.stream());
      std::unique_ptr<Cuda> q;
      {
        const GreenContext::AtHand there(green);
        solve_in(*p, green.stream());
        p->use(Memory::host, green.stream());
        EXPECT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
        solve_in(*p, green.stream());
        q = analysed(A, strategy);
        solve_in(*q, green.stream());
      }
      solve_in(*q, nullptr);
      solve_in(*p, nullptr);
    }
}

#endif

/// The library neither takes such an error for its own nor clears it.
TEST(Context, may_hold_an_old_error_of_the_program)
{
  const auto A = random_band(2000, 3, 300, 0, 3), B = random_band(2000, 3, 300, 0, 4);
  const auto b = random_vector<double>(A.n, 5);
  const DeviceVector from(b), x(A.n);
  for (const char* strategy : {"level_order", "merged", "tiled", "level_set", "csr_two_phase"}) {
    SCOPED_TRACE(strategy);
    const auto p = analysed(A, strategy);
    (void)cudaGetLastError();
    EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
    p->use(Memory::host, nullptr);
    EXPECT_EQ(p->refresh(B.view(), PivotRule()).message(), "success");
    solve(*p, from, x, A.n);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
    expect_near(x.get(), solution(B, b));
    EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
    p->use(Memory::host, nullptr);
    EXPECT_EQ(p->analyse(B.pattern(), {}, {strategy, 1}).message(), "success");
    (void)cudaGetLastError();
  }
}

/// CUDA reuses the handle of a destroyed stream, while work of that stream may still run.
TEST(Context, may_give_the_handle_of_a_stream_again)
{
  const Watchdog watchdog("streams that end", patience);
  const auto A = random_band(short_run() ? 1000 : 60000, 3, 900, 0, 3);
  const auto b = random_vector<double>(A.n, 5), truth = solution(A, b);
  const auto p = analysed(A);
  const DeviceVector from(b), x(A.n);
  for (int round = 0; round < 200; ++round) {
    cudaStream_t stream;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    solve(*p, from, x, A.n, stream);
    CUDA(cudaStreamDestroy(stream));  // does not wait for the stream's work
  }
  expect_near(x.get(), truth);
}

}  // namespace
}  // namespace syncfree
