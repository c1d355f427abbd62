/*
  An apply in the steady state allocates nothing, and repetition leaks nothing.

  malloc and its relatives are replaced in this program, so that every call of the process is
  counted: those of our library, of PETSc (PetscMalloc() calls malloc or posix_memalign) and of
  operator new. They count and call glibc's own entry points. Allocations in use are counted, too,
  so that a leak of one is detected exactly instead of being estimated from the size of the
  process.
*/

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "factored.hpp"
#include "matrices.hpp"

namespace {

std::atomic<long long> calls, live_blocks;

void* counted(void* block)
{
  ++calls;
  if (block) ++live_blocks;
  return block;
}

void discounted(void* block)
{
  if (block) --live_blocks;
}

}  // namespace

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool counting = false;
#else
static const bool counting = true;

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

void* malloc(std::size_t size) { return counted(__libc_malloc(size)); }
void* calloc(std::size_t count, std::size_t size) { return counted(__libc_calloc(count, size)); }
void* memalign(std::size_t alignment, std::size_t size) { return counted(__libc_memalign(alignment, size)); }
void* aligned_alloc(std::size_t alignment, std::size_t size) { return counted(__libc_memalign(alignment, size)); }

int posix_memalign(void** block, std::size_t alignment, std::size_t size)
{
  *block = counted(__libc_memalign(alignment, size));
  return *block ? 0 : ENOMEM;
}

void* realloc(void* block, std::size_t size)
{
  discounted(block);
  return counted(__libc_realloc(block, size));
}

void free(void* block)
{
  discounted(block);
  __libc_free(block);
}
}
#endif

namespace {

/* Counts the calls of the allocator while f runs. */
template <class F>
long long allocations(const F& f)
{
  const long long before = calls.load();
  f();
  return calls.load() - before;
}

long long resident_pages()
{
  long long size = 0, resident = 0;
  FILE* file = std::fopen("/proc/self/statm", "r");
  if (!file) return 0;
  const int read = std::fscanf(file, "%lld %lld", &size, &resident);
  std::fclose(file);
  return read == 2 ? resident : 0;
}

TEST(Counter, sees_malloc_operator_new_and_petscmalloc)
{
  if (!counting) GTEST_SKIP() << "a sanitizer owns malloc in this build";
  EXPECT_EQ(1, allocations([] {
              void* volatile p = std::malloc(100);
              std::free(p);
            }));
  EXPECT_EQ(1, allocations([] {
              int* volatile p = new int[100];
              delete[] p;
            }));
  EXPECT_EQ(1, allocations([] {
              PetscScalar* p;
              ok(PetscMalloc1(100, &p));
              ok(PetscFree(p));
            }));
  /* and those of libraries: PETSc's own malloc for a new vector */
  EXPECT_GT(allocations([] { make_vector(10); }), 1);
  EXPECT_EQ(0, allocations([] {}));
}

class Allocations : public testing::TestWithParam<std::tuple<const char*, std::string, PetscInt>> {
 protected:
  void SetUp() override
  {
    if (!counting) GTEST_SKIP() << "a sanitizer owns malloc in this build";
    make(std::get<1>(GetParam()));
  }
  void make(const std::string& strategy)
  {
    ok(PCCreate(PETSC_COMM_SELF, pc_.out()));
    ok(PCSetOperators(pc_, A_, A_));
    ok(PCSetType(pc_, std::get<0>(GetParam())));
    ok(PCSyncFreeSetStrategy(pc_, strategy.c_str()));
    ok(PCSyncFreeSetThreads(pc_, std::get<2>(GetParam())));
    ok(PCSetUp(pc_));
  }
  /* Counts the allocations of ten calls after the first three. */
  template <class F>
  static long long steady(const F& f)
  {
    for (int k = 0; k < 3; ++k) f();
    return allocations([&] {
      for (int k = 0; k < 10; ++k) f();
    });
  }

  MatOwner A_ = poisson_3d(12, 11, 10);
  PetscInt n_ = rows(A_);
  PCOwner pc_;
  VecOwner b_ = make_vector(random_numbers(n_, 2)), x_ = make_vector(n_);
};

/* Host strategies only, as Kokkos allocates in every solve. */
class HostAllocations : public Allocations {};

TEST_P(HostAllocations, none_in_an_apply)
{
  EXPECT_EQ(0, steady([&] { ok(PCApply(pc_, b_, x_)); }));
}

TEST_P(HostAllocations, none_in_a_transposed_apply)
{
  EXPECT_EQ(0, steady([&] { ok(PCApplyTranspose(pc_, b_, x_)); }));
}

TEST_P(HostAllocations, none_in_the_symmetric_halves)
{
  EXPECT_EQ(0, steady([&] {
              ok(PCApplySymmetricLeft(pc_, b_, x_));
              ok(PCApplySymmetricRight(pc_, b_, x_));
            }));
}

TEST_P(HostAllocations, none_in_an_apply_to_several_vectors)
{
  MatOwner X = make_dense(n_, 4, random_numbers(4 * n_, 3)), Y = make_dense(n_, 4, random_numbers(4 * n_, 4));
  Mat F;
  ok(PCFactorGetMatrix(pc_, &F));
  EXPECT_EQ(0, steady([&] { ok(MatMatSolve(F, X, Y)); }));
}

TEST_P(HostAllocations, none_in_an_apply_after_new_values)
{
  for (int k = 0; k < 3; ++k) {
    new_values(A_, (unsigned)k);
    ok(PCSetUp(pc_));
    ok(PCApply(pc_, b_, x_));
  }
  new_values(A_, 9);
  ok(PCSetUp(pc_));
  EXPECT_EQ(0, allocations([&] { ok(PCApply(pc_, b_, x_)); })) << "the first apply after a refresh";
}

/* 1,000 refreshes and 10^5 applies; fewer with two threads, as other load on the cores makes each apply slow. */
TEST_P(Allocations, nothing_leaks_in_refreshes_and_applies)
{
  A_ = poisson_2d(6, 5);
  b_ = make_vector(random_numbers(30, 2));
  x_ = make_vector(30);
  pc_ = PCOwner();
  make(std::get<1>(GetParam()));
  const auto refresh = [&](int times) {
    for (int k = 0; k < times; ++k) {
      ok(MatScale(A_, k % 2 ? 2.0 : 0.5));
      ok(PCSetUp(pc_));
    }
  };
  const auto apply = [&](int times) {
    for (int k = 0; k < times; ++k) ok(PCApply(pc_, b_, x_));
  };
  PetscLogDouble petsc_before, petsc_after;
  refresh(20);
  apply(20);
  const long long before = live_blocks.load(), pages = resident_pages();
  ok(PetscMallocGetCurrentUsage(&petsc_before));
  refresh(1000);
  const long long apply_calls = allocations([&] { apply(std::get<2>(GetParam()) == 1 ? 100000 : 2000); });
  ok(PetscMallocGetCurrentUsage(&petsc_after));
  const long long after = live_blocks.load(), grown = resident_pages() - pages;
  if (on_host(std::get<1>(GetParam()))) {
    EXPECT_EQ(0, apply_calls);
  }
  EXPECT_EQ(before, after) << "blocks in use grew";
  EXPECT_EQ(petsc_before, petsc_after);
  EXPECT_LE(grown, 64) << "pages";
}

/* Complete lives: set-up, transposed apply, view, destruction. */
TEST_P(Allocations, nothing_is_left_behind_by_a_preconditioner)
{
  const auto life = [&] {
    pc_ = PCOwner();
    make(std::get<1>(GetParam()));
    ok(PCApply(pc_, b_, x_));
    ok(PCApplyTranspose(pc_, b_, x_));
    view(pc_);
    pc_ = PCOwner();
  };
  for (int k = 0; k < 3; ++k) life();
  const long long before = live_blocks.load();
  for (int k = 0; k < 20; ++k) life();
  const long long after = live_blocks.load();
  EXPECT_EQ(before, after);
}

std::string case_name(const testing::TestParamInfo<Allocations::ParamType>& info)
{
  return std::string(std::get<0>(info.param)) + "_" + std::get<1>(info.param) + "_" +
         std::to_string((int)std::get<2>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Petsc, HostAllocations,
                         testing::Combine(testing::Values(PCSYNCFREEILU, PCSYNCFREEICC),
                                          testing::ValuesIn(host_strategies()), testing::Values(1, 2)),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Petsc, Allocations,
                         testing::Combine(testing::Values(PCSYNCFREEILU, PCSYNCFREEICC),
                                          testing::ValuesIn(strategies()), testing::Values(1, 2)),
                         case_name);

}  // namespace
