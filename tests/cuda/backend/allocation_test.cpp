/// Device memory: the k-th allocation fails, for every k. The status must name the bytes, nothing may leak, and the
/// object must be usable again. Memory that is full of something else changes no result. cudaMallocFromPoolAsync and
/// cudaFreeAsync are replaced for the whole program.

#include <dlfcn.h>

#include <cmath>
#include <map>

#include "../../battery.hpp"
#include "../../types.hpp"
#include "../device_support.hpp"
#include "syncfree/cuda/detail/memory_pool.hpp"

namespace {

std::map<void*, std::size_t> live;
int made = 0;
int failing = -1;  ///< number of allocations that succeed before one fails; -1: none fails
int dirt = -1;     ///< byte with which new memory is filled; -1: as it comes

template <class Function> Function* next_of(const char* name)
{
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

/// Fails twice: after the first failure the pool is asked to release memory, and the allocation is repeated.
extern "C" cudaError_t cudaMallocFromPoolAsync(void** place, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
  using Allocate = cudaError_t(void**, std::size_t, cudaMemPool_t, cudaStream_t);
  static const auto real = next_of<Allocate>("cudaMallocFromPoolAsync");
  static bool again = false;
  if (again || made++ == failing) {
    again = !again;
    return cudaErrorMemoryAllocation;
  }
  const cudaError_t error = real(place, bytes, pool, stream);
  if (error == cudaSuccess) live[*place] = bytes;
  return error == cudaSuccess && dirt >= 0 ? cudaMemsetAsync(*place, dirt, bytes, stream) : error;
}

extern "C" cudaError_t cudaFreeAsync(void* place, cudaStream_t stream)
{
  static const auto real = next_of<cudaError_t(void*, cudaStream_t)>("cudaFreeAsync");
  live.erase(place);
  return real(place, stream);
}

namespace syncfree {
namespace {

[[maybe_unused]] const testing::Environment* const followed = testing::AddGlobalTestEnvironment(new FollowedMemory);

std::size_t arrays_left()
{
  cuda::MemoryPool::of_device()->flush_deferred_frees();
  return live.size();
}

/// A complete life: analysis, refresh, solves with L U and its transpose in host memory.
Status use(Cuda& p, const OwnedCsr<double, I>& A, const std::string& strategy,
           const SymbolicOptions<I>& symbolic = {})
{
  std::vector<double> b(A.n, 1), x(A.n);
  p.use(Memory::host, nullptr);
  Status status = p.analyse(A.pattern(), symbolic, {strategy, 1, false, {"paper", A.n / 7 + 1}});
  if (status.ok()) status = p.refresh(A.view(), PivotRule());
  if (status.ok()) status = p.solve(Operation::none, b.data(), x.data(), {1, A.n, A.n});
  if (status.ok()) status = p.solve(Operation::transpose, b.data(), x.data(), {1, A.n, A.n});
  return status;
}

/// Fails each allocation in turn.
///   long_rows  whose factorization has another way, which needs less memory
void expect_reports(const OwnedCsr<double, I>& A, const std::string& strategy,
                    const SymbolicOptions<I>& symbolic = {}, bool long_rows = false)
{
  SCOPED_TRACE(strategy);
  failing = -1;
  bool has_pair_with_memory = false;
  {
    const auto p = make_cuda_preconditioner<double, I>();
    ASSERT_EQ(use(*p, A, strategy, symbolic).message(), "success");
    has_pair_with_memory = p->summarize().plan.find("both in one launch") != std::string::npos;
  }
  const std::size_t before = arrays_left();
  for (int k = 0, failures = 1; failures; ++k) {
    auto p = make_cuda_preconditioner<double, I>();
    made = 0;
    failing = k;
    const Status status = use(*p, A, strategy, symbolic);
    failures = made > k;
    const bool has_other_way =
        long_rows || strategy == "tiled" || strategy == "wavefront" || strategy == "cusparse";
    const bool has_pair = status.ok() && p->summarize().plan.find("both in one launch") != std::string::npos;
    if (failures && status.ok() && (has_other_way || (has_pair_with_memory && !has_pair))) {
      /* the plan was made on the host; one of the vendor's two algorithms found no memory; factored by rows; L and U in
         two launches */
    } else if (failures) {
      EXPECT_EQ(status.code, Code::out_of_memory) << k << ": " << status.message();
      EXPECT_NE(status.message().find("bytes"), std::string::npos) << status.message();
    } else {
      EXPECT_GT(k, 10) << "hardly anything was allocated";
      EXPECT_TRUE(status.ok()) << status.message();
    }
    failing = -1;
    if (failures) {
      EXPECT_EQ(use(*p, A, strategy, symbolic).message(), "success") << k;
    }
    p.reset();
    ASSERT_EQ(arrays_left(), before) << "after the failure of number " << k;
  }
}

TEST(Allocation, the_kth_that_fails_is_reported_and_leaks_nothing)
{
  const auto A = random_band(600, 3, 90, 0, 3);
  for (const std::string& strategy : device_strategies()) expect_reports(A, strategy);
}

/// One row is so long that it is sorted; without memory for its updates the factor is made row by row.
TEST(Allocation, of_orders_that_fails_is_reported_and_leaks_nothing)
{
  const auto A = random_band(900, 3, 90, 2000, 3);
  const auto row = random_order<I>(A.n, 1), column = random_order<I>(A.n, 1);
  SymbolicOptions<I> given, made;
  given.row_order = row.data(), given.column_order = column.data();
  made.ordering = OrderingOptions();
  for (const SymbolicOptions<I>& symbolic : {given, made}) expect_reports(A, "level_order", symbolic, true);
}

TEST(Allocation, of_nodes_that_fails_is_reported_and_leaks_nothing)
{
  const auto A = line_of_points(100, 3, 3);
  for (const char* strategy : {"level_order", "tiled"}) expect_reports(A, strategy);
}

/// `merged` makes the rest of its plan in the first refresh. If `auto` has chosen it and an array has no memory there,
/// `level_order` follows, the reason says so, and the solution is that of a preconditioner that had memory.
TEST(Allocation, of_merged_in_the_first_refresh_that_fails_is_followed_by_level_order)
{
  SolverOptions options = {"auto", 1};
  options.expected_applies = 1000000;
  int followed = 0;
  for (const auto& A :
       {random_band(600, 3, 90, 0, 3), random_band(20000, 1, 3, 0, 3), random_band(20000, 2, 40, 0, 5)}) {
    const std::vector<double> b(A.n, 1);
    const auto solved = [&](Cuda& p) {
      std::vector<double> x(A.n);
      EXPECT_TRUE(p.solve(Operation::none, b.data(), x.data(), {1, A.n, A.n}).ok());
      return x;
    };
    const std::size_t before = arrays_left();
    for (int k = 0, failures = 1; failures; ++k) {
      const auto p = make_cuda_preconditioner<double, I>();
      ASSERT_EQ(p->analyse(A.pattern(), {}, options).message(), "success");
      if (p->summarize().strategy != "merged") break;
      made = 0;
      failing = k;
      const Status status = p->refresh(A.view(), PivotRule());
      failures = made > k;
      failing = -1;
      ASSERT_TRUE(status.ok() || status.code == Code::out_of_memory) << status.message();
      if (!status.ok()) {
        // what the factorization itself lacks, no other strategy can mend
        ASSERT_TRUE(failures);
        ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
      } else if (p->summarize().strategy == "level_order") {
        EXPECT_NE(p->summarize().reason.find("merged has no memory"), std::string::npos) << p->summarize().reason;
        ++followed;
      }
      const std::vector<double> x = solved(*p);
      const auto other = make_cuda_preconditioner<double, I>();
      ASSERT_EQ(use(*other, A, "level_order").message(), "success");
      const std::vector<double> expected = solved(*other);
      for (I i = 0; i < A.n; ++i) ASSERT_NEAR(x[i], expected[i], 1e-11 * (1 + std::abs(expected[i]))) << k << ", " << i;
    }
    EXPECT_EQ(arrays_left(), before);
  }
  EXPECT_GT(followed, 0) << "auto took merged for none of the matrices, or its first refresh allocates nothing";
}

TEST(Allocation, of_sweeps_that_fails_is_reported_and_sweeps_allocate_nothing)
{
  const auto A = random_band(600, 3, 90, 0, 3);
  std::vector<double> b(A.n, 1), x(A.n);
  const std::size_t before = arrays_left();
  for (const std::string strategy : {"auto", "csc_sync_free", "merged"}) {
    SCOPED_TRACE(strategy);
    const auto relaxation = make_cuda_relaxation<double, I>();
    const auto use = [&] {
      Status status = relaxation->analyse(A.pattern(), {}, {strategy, 1});
      if (status.ok()) status = relaxation->refresh(A.view(), 1.2, 0, 0);
      return status.ok() ? relaxation->relax(Sweep::symmetric, true, 2, b.data(), x.data()) : status;
    };
    for (int k = 0, failures = 1; failures; ++k) {
      made = 0;
      failing = k;
      const Status status = use();
      failures = made > k;
      if (failures && status.ok() && strategy == "auto") continue;  // another form had memory
      EXPECT_EQ(status.code, failures ? Code::out_of_memory : Code::ok) << k << ": " << status.message();
    }
    failing = -1;
    made = 0;
    EXPECT_TRUE(relaxation->refresh(A.view(), 1.3, 0, 0).ok());
    EXPECT_TRUE(relaxation->relax(Sweep::backward, false, 2, b.data(), x.data()).ok());
    EXPECT_EQ(made, 0);
  }
  EXPECT_EQ(arrays_left(), before);
}

TEST(Allocation, solves_and_refreshes_allocate_nothing_the_second_time)
{
  const auto A = random_band(600, 3, 90, 0, 3);
  std::vector<double> b(A.n, 1), x(A.n);
  for (const std::string& strategy : device_strategies()) {
    auto p = make_cuda_preconditioner<double, I>();
    ASSERT_EQ(use(*p, A, strategy).message(), "success");
    made = 0;
    ASSERT_TRUE(p->refresh(A.view(), PivotRule()).ok());
    ASSERT_TRUE(p->solve(Operation::none, b.data(), x.data(), {1, A.n, A.n}).ok());
    ASSERT_TRUE(p->solve(Operation::transpose, b.data(), x.data(), {1, A.n, A.n}).ok());
    EXPECT_EQ(made, 0) << strategy;
  }
}

/// A solve that finds no memory for all columns together takes fewer at a time, or reports it.
TEST(Allocation, of_several_columns_that_fails_is_reported_and_fewer_columns_allocate_nothing)
{
  const auto A = make_poisson<double, I>(12, 11, 10);
  const I n = A.n, most = 8;
  std::vector<double> numbers(static_cast<std::size_t>(n) * most, 1);
  for (const std::string& strategy : device_strategies()) {
    SCOPED_TRACE(strategy);
    const std::size_t before = arrays_left();
    {
      const DeviceVector b(numbers), x(numbers.size());
      for (int k = 0, failures = 1; failures; ++k) {
        auto p = make_cuda_preconditioner<double, I>();
        ASSERT_TRUE(p->analyse(A.pattern(), {}, {strategy, 1}).ok());
        ASSERT_TRUE(p->refresh(A.view(), PivotRule()).ok());
        p->use(Memory::device, nullptr);
        const auto solved = [&](I columns) { return p->solve(Operation::none, b.data(), x.data(), {columns, n, n}); };
        made = 0;
        failing = k;
        const Status status = solved(most);
        failures = made > k;
        failing = -1;
        EXPECT_TRUE(status.ok() || (failures && status.code == Code::out_of_memory)) << k << ": " << status.message();
        const std::vector<double> with_less = x.get();
        ASSERT_EQ(solved(most).message(), "success") << k;
        const std::vector<double> found = x.get();
        ASSERT_EQ(solved(1).message(), "success");
        const std::vector<double> one = x.get();
        for (I i = 0; i < n; ++i) {
          ASSERT_NEAR(found[i], one[i], 1e-12) << i;
          if (status.ok()) {
            ASSERT_NEAR(with_less[i], one[i], 1e-12) << i;
          }
        }
        if (failures || strategy == "cusparse") continue;
        made = 0;
        for (const I columns : {8, 4, 2, 7}) ASSERT_TRUE(solved(columns).ok());
        EXPECT_EQ(made, 0);
      }
    }
    EXPECT_EQ(arrays_left(), before);
  }
}

/// Solves with L U and its transpose, in turn one column and five, before and after a refresh.
std::vector<double> results_of(const OwnedCsr<double, I>& A, const SolverOptions& options)
{
  const I n = A.n, most = 5;
  const auto b = random_vector<double>(static_cast<std::size_t>(n) * most, 5);
  std::vector<double> all, x(b.size());
  auto p = make_cuda_preconditioner<double, I>();
  const Status status = p->analyse(A.pattern(), {}, options);
  if (has_no_plan(options.strategy, status)) return all;
  EXPECT_EQ(status.message(), "success");
  for (int refresh = 0; refresh < 2; ++refresh) {
    EXPECT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
    for (const I columns : {1, most, 1})
      for (const Operation op : {Operation::none, Operation::transpose}) {
        EXPECT_EQ(p->solve(op, b.data(), x.data(), {columns, n, n}).message(), "success");
        all.insert(all.end(), x.begin(), x.begin() + static_cast<std::ptrdiff_t>(columns) * n);
      }
  }
  return all;
}

std::vector<double> sweeps_of(const OwnedCsr<double, I>& A, const std::string& strategy)
{
  const auto b = random_vector<double>(A.n, 5);
  std::vector<double> x(A.n);
  const auto relaxation = make_cuda_relaxation<double, I>();
  EXPECT_EQ(relaxation->analyse(A.pattern(), {}, {strategy, 1}).message(), "success");
  EXPECT_EQ(relaxation->refresh(A.view(), 1.2, 0, 0).message(), "success");
  EXPECT_EQ(relaxation->relax(Sweep::symmetric, true, 2, b.data(), x.data()).message(), "success");
  return x;
}

/// Ones, a large number, zeros, and 4.8e-4, which a wait takes for a value as it would one of an old mailbox. What was
/// freed comes back with the values of the last solver, too.
TEST(Allocation, of_memory_with_other_values_changes_no_result)
{
  const std::vector<OwnedCsr<double, I>> matrices = {
    random_band(600, 3, 90, 0, 3),    line_of_points(100, 3, 3),       make_poisson<double, I>(33, 32, 31),
    make_poisson<double, I>(61, 97, 1), box_of_points(12, 12, 20, 1), waves_of_rows(12, 600, 3)};
  std::vector<std::string> names = device_strategies();
  names.insert(names.end(), {"wavefront", "auto"});
  for (std::size_t k = 0; k < matrices.size(); ++k) {
    const OwnedCsr<double, I>& A = matrices[k];
    for (const std::string& strategy : names) {
      SCOPED_TRACE(testing::Message() << "matrix " << k << ", " << strategy);
      const auto exact = device_strategies(true);
      const bool reproducible = strategy == "auto" || strategy == "wavefront" ||
                                std::find(exact.begin(), exact.end(), strategy) != exact.end();
      const SolverOptions options{strategy, 1, false, {"paper", A.n / 7 + 1, A.n / 7 + 1}};
      const bool sweeps = k == 0 && (strategy == "auto" || strategy == "merged");
      dirt = -1;
      const auto first = results_of(A, options), swept = sweeps ? sweeps_of(A, strategy) : std::vector<double>();
      for (const int byte : {0xff, 0x7f, 0x00, 0x3f}) {
        dirt = byte;
        const auto found = results_of(A, options);
        ASSERT_EQ(found.size(), first.size());
        EXPECT_TRUE(!reproducible || found == first) << "filled with " << byte;
        expect_near(found, first);
        EXPECT_TRUE(!sweeps || sweeps_of(A, strategy) == swept) << "sweeps, filled with " << byte;
      }
      dirt = -1;
    }
  }
}

/// In this program, as no other test runs concurrently.
TEST(Allocation, says_how_much_memory_it_wanted)
{
  std::size_t free = 0, total = 0;
  CUDA(cudaMemGetInfo(&free, &total));
  void* hog = nullptr;
  CUDA(cudaMalloc(&hog, free - (std::size_t(64) << 20)));
  const auto A = random_band(2000000, 2, 1000, 0, 3);
  auto p = make_cuda_preconditioner<double, I>();
  Status status = p->analyse(A.pattern(), {}, {});
  EXPECT_EQ(status.code, Code::out_of_memory);
  EXPECT_NE(status.message().find("bytes"), std::string::npos) << status.message();
  void* other = nullptr;
  CUDA(cudaFree(hog));
  EXPECT_EQ(cudaMalloc(&other, free - (std::size_t(8) << 20)), cudaSuccess) << "leaked, or not given back";
  CUDA(cudaFree(other));
  status = p->analyse(A.pattern(), {}, {});
  EXPECT_TRUE(status.ok()) << status.message();
}

}  // namespace
}  // namespace syncfree
