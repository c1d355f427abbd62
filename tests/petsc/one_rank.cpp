/*
  One process alone runs out of memory: its k-th operator new after the registration fails, for every k in turn. A
  collective call must then end in an error on all processes, none may wait forever, and the same objects must stay
  usable.

    mpiexec -n 2 one_rank -type syncfree_ilu [-rank r] [-every n] [-dense n]

  Process r runs out of memory, by default the last one; a negative r stands for each in turn. With -every n only every
  n-th k beyond the first 40, or -dense, is used. At the end a pivot is zero on that process alone. With -type bjacobi
  and -sub_pc_type the blocks are ours; then the failure of one process is its own, as PETSc has it, and nobody waits.
  Prints `ALL n agreed`, n the number of failures, and lines that begin with ALONE, WRONG, LEFT or DEPTH for failed
  checks; DEPTH is the nesting depth of our log events according to PETSc, which is 0 if each has ended.
*/

#include <petscksp.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "syncfree_petsc.h"

#if PETSC_VERSION_LT(3, 19, 0)
#define PETSC_SUCCESS 0
#endif

static std::atomic<long> made, blocks, failing{-1}; /* calls, allocations in use, the call that fails */

static void* take(std::size_t size)
{
  if (failing >= 0 && made++ == failing) return nullptr;
  ++blocks;
  return std::malloc(size ? size : 1);
}

static void give(void* block)
{
  if (block) --blocks;
  std::free(block);
}

void* operator new(std::size_t size)
{
  void* const block = take(size);
  if (!block) throw std::bad_alloc();
  return block;
}
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return take(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return take(size); }
void operator delete(void* block) noexcept { give(block); }
void operator delete[](void* block) noexcept { give(block); }
void operator delete(void* block, std::size_t) noexcept { give(block); }
void operator delete[](void* block, std::size_t) noexcept { give(block); }

static PetscErrorCode SayNothing(MPI_Comm, int, const char*, const char*, PetscErrorCode code, PetscErrorType,
                                 const char*, void*)
{
  return code;
}

static long failures = 0;
static PetscMPIInt poor; /* the process that runs out of memory */

/* Makes a collective call, and repeats it if it failed. All processes must see an error, or none. */
template <class Call> static PetscErrorCode Together(const char name[], const Call& call)
{
  const PetscErrorCode code = call();
  int failed[] = {code != 0, code == 0}, any[2];

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Allreduce(failed, any, 2, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
  if (!any[0]) PetscFunctionReturn(PETSC_SUCCESS);
  if (failing >= 0 && failed[0] && code != PETSC_ERR_MEM) std::printf("WRONG CODE %d of %s\n", (int)code, name);
  if (any[1]) std::printf("ALONE: %s with allocation %ld, error %d here\n", name, failing.load(), (int)code);
  failing = -1;
  failures++;
  PetscCall(call());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes a call on each process independently: no process waits for another in it. */
template <class Call> static PetscErrorCode Alone(const char name[], const Call& call)
{
  const PetscErrorCode code = call();

  PetscFunctionBeginUser;
  if (code) {
    if (code != PETSC_ERR_MEM || failing < 0) std::printf("WRONG CODE %d of %s\n", (int)code, name);
    failing = -1;
    failures++;
    PetscCall(call());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MakeMatrix(Mat* A)
{
  PetscInt begin, end;
  const PetscInt n = 60, width = 6;

  PetscFunctionBeginUser;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, 5, nullptr, 5, nullptr, A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    PetscCall(MatSetValue(*A, i, i, 4.0, INSERT_VALUES));
    for (PetscInt j : {i - width, i - 1, i + 1, i + width})
      if (j >= 0 && j < n) PetscCall(MatSetValue(*A, i, j, -1.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The life of a preconditioner of ours for a parallel matrix. Sweeps exchange values, so their applications fail
   together. */
static PetscErrorCode Live(PC pc, const char type[], long k, Mat A, Vec b, Vec x, PetscViewer viewer)
{
  const auto apply = [&] { return PCApply(pc, b, x); };
  const bool sor = type[9] == 's';

  PetscFunctionBeginUser;
  failing = k;
  PetscCall(Together("PCSetType", [&] { return PCSetType(pc, type); }));
  PetscCall(Together("PCSetFromOptions", [&] { return PCSetFromOptions(pc); }));
  PetscCall(Together("PCSetUp", [&] { return PCSetUp(pc); }));
  PetscCall(sor ? Together("PCApply", apply) : Alone("PCApply", apply));
  PetscCall(MatScale(A, 2.0));
  PetscCall(Together("PCSetUp with new values", [&] { return PCSetUp(pc); }));
  PetscCall(sor ? Together("PCApply with new values", apply) : Alone("PCApply with new values", apply));
  PetscCall(Together("PCView", [&] { return PCView(pc, viewer); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The life of one for a block, made by PETSc's block Jacobi, which does not repeat a construction that failed */
static PetscErrorCode LiveInBlocks(PC pc, const char type[], long k, Mat A, Vec b, Vec x)
{
  const auto set_up = [&] {
    const PetscErrorCode code = PCSetUp(pc);
    return code ? code : PCSetUpOnBlocks(pc);
  };
  const auto apply = [&] { return PCApply(pc, b, x); };

  PetscFunctionBeginUser;
  PetscCall(PCSetType(pc, type));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSetUp(pc));
  failing = k;
  PetscCall(Alone("PCSetUpOnBlocks", set_up));
  PetscCall(Alone("PCApply", apply));
  PetscCall(MatScale(A, 2.0));
  PetscCall(Alone("PCSetUpOnBlocks with new values", set_up));
  PetscCall(Alone("PCApply with new values", apply));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reports whether the allocation was reached, and the norm of the last application's result. */
static PetscErrorCode LiveOnce(const char type[], long k, PetscViewer viewer, int* reached, PetscReal* norm)
{
  Mat A;
  Vec b, x;
  PC pc;
  PetscMPIInt rank;
  int hit;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MakeMatrix(&A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  made = 0;
  if (type[0] == 'b') PetscCall(LiveInBlocks(pc, type, rank == poor ? k : -1, A, b, x));
  else PetscCall(Live(pc, type, rank == poor ? k : -1, A, b, x, viewer));
  hit = rank == poor && made > k;
  failing = -1;
  PetscCallMPI(MPI_Allreduce(&hit, reached, 1, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
  PetscCall(VecNorm(x, NORM_2, norm));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A pivot that is zero on one process alone, with errors requested */
static PetscErrorCode LiveWithZeroPivot(const char type[])
{
  Mat A;
  Vec b, x;
  PC pc;
  PetscInt begin;
  PetscMPIInt rank, size;
  int failed, sum;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MakeMatrix(&A));
  PetscCall(MatGetOwnershipRange(A, &begin, nullptr));
  if (rank == poor) PetscCall(MatSetValue(A, begin, begin, 0.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, type));
  PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_NONE));
  PetscCall(PCSetErrorIfFailure(pc, PETSC_TRUE));
  failed = PCSetUp(pc) || PCApply(pc, b, x);
  PetscCallMPI(MPI_Allreduce(&failed, &sum, 1, MPI_INT, MPI_SUM, PETSC_COMM_WORLD));
  if (sum != size) std::printf("ALONE: %d of %d processes have an error for a zero pivot\n", sum, (int)size);
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PrintDepths()
{
  PetscFunctionBeginUser;
  for (const char* name : {"SyncFreeAnalysis", "SyncFreeNumeric", "SyncFreeSolve"}) {
    PetscLogEvent event;
    PetscEventPerfInfo info;
    PetscCall(PetscLogEventGetId(name, &event));
    PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
    if (info.depth || !info.count) std::printf("DEPTH %d of %s, count %d\n", info.depth, name, info.count);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fails every allocation of the process `poor` in turn. */
static PetscErrorCode Starve(const char type[], PetscInt every, PetscInt dense, PetscViewer viewer)
{
  PetscReal expected, norm;
  int reached = 1;

  PetscFunctionBeginUser;
  PetscCall(LiveOnce(type, 0, viewer, &reached, &expected));
  const long before = blocks;
  for (long k = 1; reached; k += k < dense ? 1 : every) {
    PetscCall(LiveOnce(type, k, viewer, &reached, &norm));
    if (blocks != before) std::printf("LEFT %ld blocks of allocation %ld\n", blocks.load() - before, k);
    if (PetscAbsReal(norm - expected) > 1e-6 * expected) std::printf("WRONG RESULT %g of allocation %ld\n", (double)norm, k);
  }
  if (type[0] != 'b') PetscCall(LiveWithZeroPivot(type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run()
{
  char type[32] = PCSYNCFREEILU;
  PetscInt every = 1, dense = 40, chosen;
  PetscViewer viewer;
  PetscMPIInt rank, size;
  long all;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  chosen = size - 1;
  PetscCall(PetscOptionsGetString(nullptr, nullptr, "-type", type, sizeof(type), nullptr));
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-every", &every, nullptr));
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-dense", &dense, nullptr));
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-rank", &chosen, nullptr));
  PetscCall(PetscLogDefaultBegin());
  PetscCall(PCSyncFreeRegister());
  PetscCall(PetscViewerASCIIOpen(PETSC_COMM_WORLD, "/dev/null", &viewer));
  PetscCall(PetscPushErrorHandler(SayNothing, nullptr));
  for (poor = 0; poor < size; poor++)
    if (chosen < 0 || chosen == poor) PetscCall(Starve(type, every, dense, viewer));
  PetscCall(PetscPopErrorHandler());
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(PrintDepths());
  PetscCallMPI(MPI_Allreduce(&failures, &all, 1, MPI_LONG, MPI_MAX, PETSC_COMM_WORLD));
  if (rank == 0) std::printf("ALL %ld agreed\n", all);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char** argv)
{
  if (PetscInitialize(&argc, &argv, nullptr, nullptr)) return 2;
  if (Run()) {
    std::printf("ERROR\n");
    std::fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return PetscFinalize() ? 2 : 0;
}
