/*
  Out of memory: each operator new of a preconditioner's life fails in turn. PETSc must get PETSC_ERR_MEM for it,
  nothing may leak, and the same objects must stay usable. operator new is replaced for the whole program.
*/

#include <atomic>
#include <cstdlib>
#include <new>

#include "block_matrix.hpp"
#include "life.hpp"

namespace {

std::atomic<long long> made, blocks; /* calls since the last arming; allocations in use */
std::atomic<long long> failing{-1};  /* index of the call that fails */

void* take(std::size_t size)
{
  if (failing.load() >= 0 && made++ == failing.load()) return nullptr;
  void* const block = std::malloc(size ? size : 1);
  if (block) ++blocks;
  return block;
}

void* take_aligned(std::size_t size, std::align_val_t alignment)
{
  if (failing.load() >= 0 && made++ == failing.load()) return nullptr;
  void* block = nullptr;
  if (posix_memalign(&block, (std::size_t)alignment, size ? size : 1)) return nullptr;
  ++blocks;
  return block;
}

void* or_throw(void* block)
{
  if (!block) throw std::bad_alloc();
  return block;
}

void give(void* block)
{
  if (block) --blocks;
  std::free(block);
}

}  // namespace

void* operator new(std::size_t size) { return or_throw(take(size)); }
void* operator new[](std::size_t size) { return or_throw(take(size)); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return take(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return take(size); }
void* operator new(std::size_t size, std::align_val_t a) { return or_throw(take_aligned(size, a)); }
void* operator new[](std::size_t size, std::align_val_t a) { return or_throw(take_aligned(size, a)); }
void* operator new(std::size_t size, std::align_val_t a, const std::nothrow_t&) noexcept { return take_aligned(size, a); }
void* operator new[](std::size_t size, std::align_val_t a, const std::nothrow_t&) noexcept
{
  return take_aligned(size, a);
}
void operator delete(void* block) noexcept { give(block); }
void operator delete[](void* block) noexcept { give(block); }
void operator delete(void* block, std::size_t) noexcept { give(block); }
void operator delete[](void* block, std::size_t) noexcept { give(block); }
void operator delete(void* block, std::align_val_t) noexcept { give(block); }
void operator delete[](void* block, std::align_val_t) noexcept { give(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { give(block); }
void operator delete[](void* block, std::size_t, std::align_val_t) noexcept { give(block); }

namespace {

/* Lets the call of index k from here on fail, none for -1. */
class Arming {
 public:
  explicit Arming(long long k)
  {
    made = 0;
    failing = k;
  }
  ~Arming() { failing = -1; }
  Arming(const Arming&) = delete;
};

struct Outcome {
  std::string call; /* the call that failed, "" if none did */
  PetscErrorCode code = (PetscErrorCode)0;
  std::vector<Numbers> results;
  bool reached = false; /* true if there was a k-th allocation */
};

/* Runs a life in which the k-th allocation fails, none for -1. */
Outcome live_with(const char* type, const std::string& options, bool device, long long k, PetscInt block_size)
{
  Outcome outcome;
  Life life(type, options, device, block_size);
  {
    const Quiet quiet;
    const Arming arming(k);
    live(life, [&](const char* call, PetscErrorCode code) {
      failing = -1;
      outcome.call = call;
      outcome.code = code;
    });
    outcome.reached = k >= 0 && made.load() > k;
  }
  outcome.results = life.results();
  return outcome;
}

/* Returns false if the library was linked with a C++ runtime of its own, as some compilers do. */
bool counts_allocations_of_the_library()
{
  PCOwner pc;
  ok(PCCreate(PETSC_COMM_SELF, pc.out()));
  ok(PCSetType(pc, PCSYNCFREEILU));
  const Quiet quiet;
  const Arming arming(0);
  return (int)PCSyncFreeSetStrategy(pc, "a_name_that_no_strategy_of_this_library_has") == (int)PETSC_ERR_MEM;
}

/* In CI such a skip is a failure, as the test would never run. */
#define SKIP_WITHOUT_COUNTS()                       \
  if (!counts_allocations_of_the_library()) {       \
    ASSERT_EQ(std::getenv("CI"), nullptr) << foreign; \
    GTEST_SKIP() << foreign;                        \
  }
const char* const foreign = "the library has an operator new of its own, which cannot be made to fail";

void expect_survives(const char* type, const std::string& options, bool device, PetscInt block_size = 1)
{
  SCOPED_TRACE(type);
  for (const int k : {-1, -1, 0}) live_with(type, options, device, k, block_size); /* objects made once per process */
  const std::vector<Numbers> expected = live_with(type, options, device, -1, block_size).results;
  long long failed = 0, k = 0;
  for (bool more = true; more; ++k) {
    const long long before = blocks.load();
    {
      const Outcome outcome = live_with(type, options, device, k, block_size);
      SCOPED_TRACE("allocation " + std::to_string(k) + " failed in " + outcome.call);
      more = outcome.reached;
      if (!outcome.call.empty()) {
        ++failed;
        /* on a device PETSc's own C++ code may have lacked memory */
        EXPECT_TRUE((int)outcome.code == (int)PETSC_ERR_MEM || (device && (int)outcome.code == (int)PETSC_ERR_LIB))
            << (int)outcome.code;
      }
      expect_same(outcome.results, expected);
      if (testing::Test::HasFatalFailure()) return;
    }
    if (blocks.load() == before) continue;
    const long long after = blocks.load(); /* made once per process, on a way that was not gone before? */
    live_with(type, options, device, k, block_size);
    ASSERT_EQ(blocks.load(), after) << "blocks are left of allocation " << k << ", " << after - before << " before";
  }
  EXPECT_GT(failed, 20) << "hardly any of " << k << " allocations was missed";
}

const std::string ilu = "-pc_syncfree_", package = " -pc_factor_mat_solver_type syncfree";

class OutOfMemory : public testing::TestWithParam<LifeCase> {};

TEST_P(OutOfMemory, is_an_error_and_the_objects_go_on)
{
  SKIP_WITHOUT_COUNTS();
  expect_survives(GetParam().type, GetParam().options, false, GetParam().block_size);
}

TEST_P(OutOfMemory, is_an_error_and_the_objects_go_on_on_a_device)
{
  if (!has_device()) GTEST_SKIP() << "no device";
  SKIP_WITHOUT_COUNTS();
  const std::string& options = GetParam().options;
  if (options.find("strategy") != std::string::npos) GTEST_SKIP() << "a strategy of the host";
  expect_survives(GetParam().type, options, true, GetParam().block_size);
}

INSTANTIATE_TEST_SUITE_P(
    Petsc, OutOfMemory,
    testing::Values(LifeCase{"ilu", PCSYNCFREEILU, ""}, LifeCase{"icc", PCSYNCFREEICC, ""},
                    LifeCase{"sor", PCSYNCFREESOR, ""},
                    LifeCase{"ilu_of_petsc", PCILU, package},
                    LifeCase{"icc_of_petsc", PCICC, package + " " + ilu + "threads 2"},
                    LifeCase{"rcm", PCSYNCFREEILU, "-pc_factor_mat_ordering_type rcm"},
                    LifeCase{"multicolor", PCSYNCFREEILU, "-pc_factor_mat_ordering_type syncfree_multicolor"},
                    LifeCase{"cyclic", PCILU, "-pc_factor_mat_ordering_type syncfree_cyclic" + package},
                    LifeCase{"abmc_icc", PCSYNCFREEICC, "-pc_factor_mat_ordering_type syncfree_abmc"},
                    LifeCase{"nd_icc", PCSYNCFREEICC, "-pc_factor_mat_ordering_type nd -pc_factor_levels 1"},
                    LifeCase{"levels", PCSYNCFREEILU, "-pc_factor_levels 2 -pc_factor_nonzeros_along_diagonal"},
                    LifeCase{"shifted", PCSYNCFREEILU, "-pc_factor_shift_type nonzero -pc_factor_zeropivot 0.9"},
                    LifeCase{"single", PCSYNCFREEILU, ilu + "factor_precision single " + ilu + "strategy sync_free"},
                    LifeCase{"level_set", PCSYNCFREEILU, ilu + "strategy level_set"},
                    LifeCase{"blocks", PCSYNCFREEILU, ilu + "strategy blocks"},
                    LifeCase{"dense_blocks", PCSYNCFREEILU, ilu + "block_size 4", 4},
                    LifeCase{"chosen_dense_blocks", PCSYNCFREEILU, "-pc_factor_mat_ordering_type rcm", 4},
                    LifeCase{"recursive_block", PCSYNCFREEICC, ilu + "strategy recursive_block " + ilu + "cut_rows 9"},
                    LifeCase{"merged", PCSYNCFREEILU, ilu + "strategy merged"},
                    LifeCase{"trials", PCSYNCFREEILU, ilu + "select trials"},
                    LifeCase{"sor_by_strategy", PCSYNCFREESOR, "-pc_syncfree_strategy level_set -pc_sor_symmetric"}),
    [](const auto& info) { return std::string(info.param.name); });

/* Without memory for the analysis or the values of chosen blocks, the factor is PETSc's by entries. */
TEST(OutOfMemory, of_chosen_blocks_leaves_entries)
{
  SKIP_WITHOUT_COUNTS();
  const MatOwner A = elasticity_like(3, 2, 2, 4);
  const auto set_up = [&](long long k, bool* reached) {
    Factored ours;
    ok(PCCreate(PETSC_COMM_SELF, ours.pc.out()));
    ok(PCSetOperators(ours.pc, A, A));
    ok(PCSetType(ours.pc, PCSYNCFREEILU));
    ok(PCSyncFreeSetThreads(ours.pc, 1));
    const Quiet quiet;
    const Arming arming(k);
    ours.refusal.code = PCSetUp(ours.pc);
    *reached = k >= 0 && made.load() > k;
    return ours;
  };
  bool reached = false;
  (void)set_up(-1, &reached);
  const Factored petsc = set_up_petsc(A, {});
  long long by_entries = 0, errors = 0;
  reached = true;
  for (long long k = 0; reached; ++k) {
    const Factored ours = set_up(k, &reached);
    SCOPED_TRACE("allocation " + std::to_string(k));
    if (ours.refusal.code) {
      EXPECT_EQ((int)ours.refusal.code, (int)PETSC_ERR_MEM);
      ++errors;
      continue;
    }
    const bool fell_back = contains(view(ours.pc), "syncfree block size: 1 (blocks of 4 rows: out of memory)");
    EXPECT_NE(fell_back, contains(view(ours.pc), "syncfree block size: 4 (dense blocks")) << view(ours.pc);
    by_entries += fell_back;
    expect_same_applies(petsc, ours, rows(A));
  }
  EXPECT_GT(by_entries, 20);
  EXPECT_GT(errors, 2) << "outside of the blocks there is none to fall back to";
}

TEST(OutOfMemory, of_a_name_that_is_unknown_is_an_error)
{
  SKIP_WITHOUT_COUNTS();
  PCOwner pc;
  ok(PCCreate(PETSC_COMM_SELF, pc.out()));
  ok(PCSetType(pc, PCSYNCFREEILU));
  const Quiet quiet;
  bool reached = true;
  for (int k = 0; reached; ++k) {
    PetscErrorCode strategy, backend;
    {
      const Arming arming(k);
      strategy = PCSyncFreeSetStrategy(pc, "a_name_that_no_strategy_of_this_library_has");
      backend = PCSyncFreeSetBackend(pc, "a_name_that_no_backend_of_this_library_has");
      reached = made.load() > k;
    }
    const bool missed = (int)strategy == (int)PETSC_ERR_MEM || (int)backend == (int)PETSC_ERR_MEM;
    EXPECT_EQ(missed, reached) << k;
    EXPECT_NE((int)strategy, 0);
    EXPECT_NE((int)backend, 0);
  }
}

}  // namespace
