/*
  Each call of the CUDA runtime that our library makes during a preconditioner's life fails in turn, by name: PETSc
  must get an error code or the right values, nothing may hang or abort, and the same objects must stay usable.

  The runtime's functions are replaced for the whole program. They pass on the calls of PETSc, which the return
  address distinguishes from ours. CUDA's headers are not needed for that: an enum of the runtime is an int, a handle
  is a pointer.
*/

#include <petscconf.h>

#if defined(PETSC_HAVE_CUDA)

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

#include "../watchdog.hpp"
#include "life.hpp"

namespace {

const int memory_allocation = 2, launch_failure = 719; /* values of cudaError_t */

std::map<std::string, long>* counts; /* calls of our library by name, while they are counted */
const char* failing_name = nullptr;
long failing_call = -1, calls_of_name = 0;
int kept_error = 0; /* the error that the runtime would keep for cudaGetLastError() */

bool is_ours(void* return_address)
{
  static void* const library = [] {
    Dl_info info = {};
    dladdr(reinterpret_cast<void*>(&PCSyncFreeRegister), &info);
    return info.dli_fbase;
  }();
  Dl_info info = {};
  return dladdr(return_address, &info) && info.dli_fbase == library;
}

/* Returns true if this call has to fail. */
bool fails(const char* name, void* return_address)
{
  if (!counts && !failing_name) return false;
  if (failing_name && std::strcmp(name, failing_name) != 0) return false;
  if (!is_ours(return_address)) return false;
  if (counts) ++(*counts)[name];
  return failing_name && calls_of_name++ == failing_call;
}

int failure_of(const char* name)
{
  kept_error = std::strstr(name, "Alloc") ? memory_allocation : launch_failure;
  return kept_error;
}

/* Calls the function that the replacement stands for. */
template <class... Parameters, class... Arguments>
int pass_on(void* function, int (*)(Parameters...), Arguments... arguments)
{
  return function ? reinterpret_cast<int (*)(Parameters...)>(function)(arguments...) : launch_failure;
}

struct Dim3 {
  unsigned x, y, z;
};

}  // namespace

#define REPLACED(name, parameters, ...)                                      \
  extern "C" int name parameters;                                            \
  extern "C" int name parameters                                             \
  {                                                                          \
    static void* const next = dlsym(RTLD_NEXT, #name);                       \
    if (fails(#name, __builtin_return_address(0))) return failure_of(#name); \
    return pass_on(next, &name, __VA_ARGS__);                                \
  }

using Size = std::size_t;

REPLACED(cudaMalloc, (void** p, Size n), p, n)
REPLACED(cudaMallocFromPoolAsync, (void** p, Size n, void* pool, void* stream), p, n, pool, stream)
REPLACED(cudaHostAlloc, (void** p, Size n, unsigned flags), p, n, flags)
REPLACED(cudaMemPoolCreate, (void** pool, const void* properties), pool, properties)
REPLACED(cudaMemPoolSetAttribute, (void* pool, int which, void* value), pool, which, value)
REPLACED(cudaMemGetInfo, (Size * free, Size* total), free, total)
REPLACED(cudaMemcpy, (void* to, const void* from, Size n, int kind), to, from, n, kind)
REPLACED(cudaMemcpyAsync, (void* to, const void* from, Size n, int kind, void* s), to, from, n, kind, s)
REPLACED(cudaMemsetAsync, (void* p, int value, Size n, void* s), p, value, n, s)
REPLACED(cudaStreamCreateWithFlags, (void** s, unsigned flags), s, flags)
REPLACED(cudaStreamCreateWithPriority, (void** s, unsigned flags, int priority), s, flags, priority)
REPLACED(cudaStreamSynchronize, (void* s), s)
REPLACED(cudaStreamWaitEvent, (void* s, void* event, unsigned flags), s, event, flags)
REPLACED(cudaStreamIsCapturing, (void* s, int* status), s, status)
REPLACED(cudaStreamBeginCapture, (void* s, int mode), s, mode)
REPLACED(cudaStreamEndCapture, (void* s, void** graph), s, graph)
REPLACED(cudaGraphInstantiate, (void** program, void* graph, unsigned long long flags), program, graph, flags)
REPLACED(cudaGraphLaunch, (void* program, void* s), program, s)
REPLACED(cudaEventCreateWithFlags, (void** event, unsigned flags), event, flags)
REPLACED(cudaEventRecord, (void* event, void* s), event, s)
REPLACED(cudaDeviceGetAttribute, (int* value, int which, int device), value, which, device)
REPLACED(cudaDeviceGetStreamPriorityRange, (int* least, int* greatest), least, greatest)
REPLACED(cudaGetDevice, (int* device), device)
REPLACED(cudaSetDevice, (int device), device)
REPLACED(cudaFuncGetAttributes, (void* attributes, const void* f), attributes, f)
REPLACED(cudaFuncSetAttribute, (const void* f, int which, int value), f, which, value)
REPLACED(cudaOccupancyMaxActiveClusters, (int* n, const void* f, const void* config), n, f, config)
REPLACED(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
         (int* n, const void* f, int size, Size bytes, unsigned flags), n, f, size, bytes, flags)
REPLACED(cudaLaunchKernelExC, (const void* config, const void* f, void** arguments), config, f, arguments)
REPLACED(cudaLaunchKernel, (const void* f, Dim3 grid, Dim3 block, void** arguments, Size bytes, void* s), f, grid, block,
         arguments, bytes, s)
REPLACED(__cudaLaunchKernel, (void* f, Dim3 grid, Dim3 block, void** arguments, Size bytes, void* s), f, grid, block,
         arguments, bytes, s)

extern "C" int cudaDeviceSynchronize();
extern "C" int cudaDeviceSynchronize()
{
  static void* const next = dlsym(RTLD_NEXT, "cudaDeviceSynchronize");
  if (fails("cudaDeviceSynchronize", __builtin_return_address(0))) return failure_of("cudaDeviceSynchronize");
  return pass_on(next, &cudaDeviceSynchronize);
}

extern "C" int cudaGetLastError();
extern "C" int cudaGetLastError()
{
  static void* const next = dlsym(RTLD_NEXT, "cudaGetLastError");
  const int ours = kept_error, real = pass_on(next, &cudaGetLastError);
  kept_error = 0;
  return ours ? ours : real;
}

extern "C" int cudaPeekAtLastError();
extern "C" int cudaPeekAtLastError()
{
  static void* const next = dlsym(RTLD_NEXT, "cudaPeekAtLastError");
  return kept_error ? kept_error : pass_on(next, &cudaPeekAtLastError);
}

namespace {

struct Outcome {
  std::string call;
  PetscErrorCode code = (PetscErrorCode)0;
  std::vector<Numbers> results;
  bool reached = false;
};

Outcome live_with(const LifeCase& c, const char* name, long k)
{
  Outcome outcome;
  Life life(c.type, c.options, true, c.block_size);
  const Quiet quiet;
  failing_call = k;
  calls_of_name = 0;
  failing_name = name;
  live(life, [&](const char* call, PetscErrorCode code) {
    failing_name = nullptr;
    outcome.call = call;
    outcome.code = code;
  });
  outcome.reached = name && calls_of_name > k;
  failing_name = nullptr;
  kept_error = 0;
  outcome.results = life.results();
  return outcome;
}

class CudaCalls : public testing::TestWithParam<LifeCase> {};

/* Fails the first seven calls of a name, then fewer and fewer: later ones belong to the same loops. */
void expect_survives(const LifeCase& c, const std::string& name, const std::vector<Numbers>& expected)
{
  for (long k = 0;; k += 1 + k / 6) {
    const syncfree::Watchdog watchdog(name + " failing for the time of index " + std::to_string(k), 60);
    const Outcome outcome = live_with(c, name.c_str(), k);
    if (!outcome.reached) return;
    SCOPED_TRACE(name + ", index " + std::to_string(k) + ", failed in " + outcome.call);
    const std::vector<int> codes = {0, PETSC_ERR_GPU, PETSC_ERR_MEM};
    EXPECT_TRUE(std::count(codes.begin(), codes.end(), (int)outcome.code)) << (int)outcome.code;
    expect_same(outcome.results, expected);
    if (testing::Test::HasFailure()) return;
  }
}

TEST_P(CudaCalls, that_fail_are_errors_and_the_objects_go_on)
{
  if (!has_device()) GTEST_SKIP() << "no device";
  const LifeCase& c = GetParam();
  live_with(c, nullptr, -1);
  std::map<std::string, long> called;
  counts = &called;
  const std::vector<Numbers> expected = live_with(c, nullptr, -1).results;
  counts = nullptr;
  EXPECT_GT(called["__cudaLaunchKernel"] + called["cudaLaunchKernel"] + called["cudaLaunchKernelExC"], 5);
  for (const auto& [name, count] : called) {
    std::printf("%s: %ld calls\n", name.c_str(), count);
    if (count) expect_survives(c, name, expected);
  }
}

const std::string blocks = "-pc_syncfree_block_size 4 -pc_syncfree_strategy ";

INSTANTIATE_TEST_SUITE_P(
    Petsc, CudaCalls,
    testing::Values(LifeCase{"ilu", PCSYNCFREEILU, ""}, LifeCase{"icc", PCSYNCFREEICC, ""},
                    LifeCase{"sor", PCSYNCFREESOR, ""},
                    LifeCase{"rcm", PCSYNCFREEILU, "-pc_factor_mat_ordering_type rcm"},
                    LifeCase{"level_order", PCSYNCFREEILU, "-pc_syncfree_strategy level_order"},
                    LifeCase{"csc_sync_free", PCSYNCFREEILU, "-pc_syncfree_strategy csc_sync_free"},
                    LifeCase{"tiled", PCSYNCFREEILU, "-pc_syncfree_strategy tiled"},
                    LifeCase{"dense_blocks", PCSYNCFREEILU, blocks + "level_order", 4},
                    LifeCase{"tiles_of_dense_blocks", PCSYNCFREEILU, blocks + "tiled", 4},
                    LifeCase{"chosen_dense_blocks", PCSYNCFREEILU, "", 4},
                    LifeCase{"merged", PCSYNCFREEICC, "-pc_syncfree_strategy merged"},
                    LifeCase{"cusparse", PCSYNCFREEILU, "-pc_syncfree_strategy cusparse"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace

#endif
