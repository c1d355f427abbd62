/*
  Layouts of parallel matrices: an operator whose rows are distributed over the processes in another way than before,
  and the row indices in messages, which are those of the parallel matrix.

    mpiexec -n 2 layouts

  Each process prints a line that begins with WRONG for each failed check, and then OK.
*/

#include <petscksp.h>

#include <cstdio>
#include <cstring>
#include <limits>
#include <string>

#include "syncfree_petsc.h"

#if PETSC_VERSION_LT(3, 19, 0)
#define PETSC_SUCCESS 0
#endif

static constexpr PetscInt n = 40, width = 6;
static PetscMPIInt rank;
static std::string message; /* the last error message */

static PetscErrorCode Record(MPI_Comm, int, const char*, const char*, PetscErrorCode code, PetscErrorType type,
                             const char* text, void*)
{
  if (type == PETSC_ERROR_INITIAL) message.clear();
  if (text) message += text;
  return code;
}

static void Expect(bool holds, const std::string& what)
{
  if (!holds) std::printf("WRONG on process %d: %s\n", (int)rank, what.c_str());
}

/* The fault of one row: none, no diagonal entry, only a zero on the diagonal, a NaN on the diagonal */
enum class Fault { none, missing, zero, nan };

static PetscErrorCode FillRow(Mat A, PetscInt i, Fault fault, PetscInt bad)
{
  const bool alone = fault == Fault::zero;
  const PetscReal diagonal = i != bad || fault == Fault::none ? 4 : alone ? 0 : std::numeric_limits<PetscReal>::quiet_NaN();

  PetscFunctionBeginUser;
  if (i != bad || fault != Fault::missing) PetscCall(MatSetValue(A, i, i, diagonal, INSERT_VALUES));
  for (PetscInt j : {i - width, i - 1, i + 1, i + width})
    if (j >= 0 && j < n && !(alone && (i == bad || j == bad))) PetscCall(MatSetValue(A, i, j, -1.0, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first process owns `first` rows, the last one the others; a single process owns all of them. */
static PetscErrorCode MakeMatrix(MPI_Comm comm, PetscInt first, Fault fault, PetscInt bad, Mat* A)
{
  PetscMPIInt size;
  PetscInt begin, end;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  const PetscInt mine = size == 1 ? n : rank ? n - first : first;
  PetscCall(MatCreateAIJ(comm, mine, mine, n, n, 5, nullptr, 5, nullptr, A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) PetscCall(FillRow(*A, i, fault, bad));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MakePC(Mat A, PCType type, const char options[], PC* pc)
{
  PetscFunctionBeginUser;
  PetscCall(PetscOptionsClear(nullptr));
  PetscCall(PetscOptionsInsertString(nullptr, options));
  PetscCall(PCCreate(PetscObjectComm((PetscObject)A), pc));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSetType(*pc, type));
  PetscCall(PCSetFromOptions(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Apply(PC pc, Mat A, Vec* x)
{
  Vec b;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(PCApply(pc, b, *x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Expects the results of a new PC from a used one. */
static PetscErrorCode CompareWithNew(PC used, Mat A, PCType type, const char options[], PetscInt first)
{
  PC made;
  Vec x, y;
  PetscBool same;

  PetscFunctionBeginUser;
  PetscCall(MakePC(A, type, options, &made));
  PetscCall(Apply(used, A, &x));
  PetscCall(Apply(made, A, &y));
  PetscCall(VecEqual(x, y, &same));
  Expect(same, std::string(type) + " " + options + ", " + std::to_string((int)first) + " rows on the first process");
  PetscCall(PCDestroy(&made));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReplaceLayouts(PCType type, const char options[])
{
  Mat A, B;
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(MakeMatrix(PETSC_COMM_WORLD, n / 2, Fault::none, -1, &A));
  PetscCall(MakePC(A, type, options, &pc));
  PetscCall(CompareWithNew(pc, A, type, options, n / 2));
  for (PetscInt first : {15, 25, 25, 0}) {
    PetscCall(MakeMatrix(PETSC_COMM_WORLD, first, Fault::none, -1, &B));
    PetscCall(MatHeaderReplace(A, &B));
    PetscCall(CompareWithNew(pc, A, type, options, first));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Expects a message with these words on the process that owns the row, the last one if there are several. */
static PetscErrorCode RefuseRow(MPI_Comm comm, PCType type, const char options[], Fault fault, PetscInt bad,
                                const std::string& words)
{
  Mat A;
  Vec b, x;
  PC pc;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(MakeMatrix(comm, 25, fault, bad, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(MakePC(A, type, options, &pc));
  PetscCall(PCSetErrorIfFailure(pc, PETSC_TRUE));
  message.clear();
  const bool failed = PCSetUp(pc) || PCApply(pc, b, x);
  Expect(failed, std::string("no error of ") + type);
  const bool told = message.find(words) != std::string::npos;
  Expect(told || (size > 1 && rank == 0), std::string(type) + " " + options + ": '" + words + "' is not in: " + message);
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RefuseRows()
{
  const std::string place = "(global row 28; row 3 is local to process 1)";
  const std::string alone = "(in a sequential matrix on process " + std::to_string(rank) + ", such as a block of -pc_type bjacobi)";
  const std::string none = "-pc_factor_shift_type none", order = none + " -pc_factor_mat_ordering_type ";

  PetscFunctionBeginUser;
  for (const char* type : {PCSYNCFREEILU, PCSYNCFREEICC, PCSYNCFREESOR})
    for (Fault fault : {Fault::missing, Fault::zero, Fault::nan}) {
      const bool sor = !std::strcmp(type, PCSYNCFREESOR);
      PetscCall(RefuseRow(PETSC_COMM_WORLD, type, sor ? "" : none.c_str(), fault, 28, "row 3"));
      PetscCall(RefuseRow(PETSC_COMM_WORLD, type, sor ? "" : none.c_str(), fault, 28, place));
      PetscCall(RefuseRow(PETSC_COMM_SELF, type, sor ? "" : none.c_str(), fault, 3, alone));
      if (sor || fault == Fault::missing) continue;
      for (const char* name : {"rcm", "syncfree_multicolor"}) {
        PetscCall(RefuseRow(PETSC_COMM_WORLD, type, (order + name).c_str(), fault, 28, "(global row 28; row "));
        PetscCall(RefuseRow(PETSC_COMM_WORLD, type, (order + name).c_str(), fault, 28, " is local to process 1, in the order of the factorization)"));
      }
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run()
{
  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PCSyncFreeRegister());
  PetscCall(PetscPushErrorHandler(Record, nullptr));
  PetscCall(ReplaceLayouts(PCSYNCFREEILU, ""));
  PetscCall(ReplaceLayouts(PCSYNCFREEILU, "-pc_factor_reuse_ordering -pc_factor_reuse_fill"));
  PetscCall(ReplaceLayouts(PCSYNCFREEILU, "-pc_factor_mat_ordering_type rcm"));
  PetscCall(ReplaceLayouts(PCSYNCFREEILU, "-pc_factor_mat_ordering_type rcm -pc_factor_reuse_ordering"));
  PetscCall(ReplaceLayouts(PCSYNCFREEILU, "-pc_factor_mat_ordering_type syncfree_cyclic"));
  PetscCall(ReplaceLayouts(PCSYNCFREEILU, "-pc_factor_mat_ordering_type syncfree_multicolor -pc_factor_reuse_ordering"));
  PetscCall(ReplaceLayouts(PCSYNCFREEICC, "-pc_factor_levels 1"));
  PetscCall(ReplaceLayouts(PCSYNCFREEICC, "-pc_factor_mat_ordering_type syncfree_abmc"));
  PetscCall(ReplaceLayouts(PCSYNCFREESOR, ""));
  PetscCall(RefuseRows());
  PetscCall(PetscPopErrorHandler());
  PetscCall(PetscSynchronizedPrintf(PETSC_COMM_WORLD, "OK\n"));
  PetscCall(PetscSynchronizedFlush(PETSC_COMM_WORLD, PETSC_STDOUT));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char** argv)
{
  if (PetscInitialize(&argc, &argv, nullptr, nullptr)) return 2;
  if (Run()) {
    std::printf("WRONG: %s\n", message.c_str());
    std::fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return PetscFinalize() ? 2 : 0;
}
