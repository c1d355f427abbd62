static char help[] =
    "Solves a 2-D convection-diffusion or Poisson problem; what processes.py starts with all kinds of options.\n\n\
  -nx <n>           : grid points in each direction\n\
  -wind <w>         : strength of the convection, 0 for a symmetric matrix\n\
  -empty_rank <r>   : this rank owns no rows\n\
  -zero_rank <r>    : a row and column of this rank have nothing but a zero on the diagonal\n\
  -nan_rank <r>     : a NaN on the diagonal of this rank\n\
  -append <library> : loads a plugin by the C call\n\
  -solves <n>       : how often the values change and the system is solved again\n\
  -turn             : the first rank has entries above the diagonal only, and the matrix is transposed after each solve\n\
  -reset            : then the solver forgets the matrix\n\n";

#include <petscksp.h>

#if PETSC_VERSION_LT(3, 19, 0)
#define PETSC_SUCCESS 0
#endif

static PetscErrorCode LocalRows(PetscInt n, PetscInt* rows)
{
  PetscMPIInt rank, size;
  PetscInt empty = -1, place, sharing;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-empty_rank", &empty, NULL));
  sharing = size - (empty >= 0 ? 1 : 0);
  place = rank - (empty >= 0 && rank > empty ? 1 : 0);
  *rows = rank == empty ? 0 : n / sharing + (place < n % sharing ? 1 : 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fills one row of the upwind scheme; the wind blows along x. */
static PetscErrorCode FillRow(Mat A, PetscInt row, PetscInt nx, PetscReal wind, PetscBool more)
{
  PetscInt x = row % nx, y = row / nx, column[6], count = 0;
  PetscScalar value[6];

  PetscFunctionBeginUser;
  value[count] = 4.0 + wind;
  column[count++] = row;
  if (x > 0) {
    value[count] = -1.0 - wind;
    column[count++] = row - 1;
  }
  if (x < nx - 1) {
    value[count] = -1.0;
    column[count++] = row + 1;
  }
  if (y > 0) {
    value[count] = -1.0;
    column[count++] = row - nx;
  }
  if (y < nx - 1) {
    value[count] = -1.0;
    column[count++] = row + nx;
  }
  if (more && x < nx - 3) {
    value[count] = -0.5;
    column[count++] = row + 3;
  }
  PetscCall(MatSetValues(A, 1, &row, count, column, value, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Spoils a row in the middle of a rank's rows. For a NaN its left column is kept, so that later rows read it. */
static PetscErrorCode SpoilRow(Mat A, const char option[], PetscBool nan)
{
  PetscInt first, last, where = -1, row;
  PetscMPIInt rank;
  PetscScalar bad = 0.0;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetInt(NULL, NULL, option, &where, NULL));
  if (where < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  row = (first + last) / 2;
  PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
  PetscCall(MatSetOption(A, MAT_NO_OFF_PROC_ZERO_ROWS, PETSC_TRUE));
  if (nan) PetscCall(MatZeroRows(A, rank == where ? 1 : 0, &row, bad / bad, NULL, NULL));
  else PetscCall(MatZeroRowsColumns(A, rank == where ? 1 : 0, &row, 0.0, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MakeMatrix(Mat* A)
{
  PetscInt nx = 20, first, last, rows = 0;
  PetscReal wind = 1.0;
  PetscBool turn = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-nx", &nx, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-turn", &turn, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-wind", &wind, NULL));
  PetscCall(LocalRows(nx * nx, &rows));
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, rows, rows, nx * nx, nx * nx));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 6, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 6, NULL, 6, NULL));
  PetscCall(MatSetUp(*A)); /* for the types that were not preallocated */
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt row = first; row < last; row++) PetscCall(FillRow(*A, row, nx, wind, (PetscBool)(turn && first == 0)));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(SpoilRow(*A, "-zero_rank", PETSC_FALSE));
  PetscCall(SpoilRow(*A, "-nan_rank", PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prints one line per rank, which processes.py reads. */
static PetscErrorCode Report(KSP ksp, Mat A, Vec b, Vec x)
{
  KSPConvergedReason reason;
  PetscInt iterations;
  PetscMPIInt rank;
  PetscReal norm = 0, scale = 1;
  Vec r;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  if (reason > 0) {
    PetscCall(VecDuplicate(b, &r));
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAXPY(r, -1.0, b));
    PetscCall(VecNorm(r, NORM_2, &norm));
    PetscCall(VecNorm(b, NORM_2, &scale));
    PetscCall(VecDestroy(&r));
  }
  PetscCall(PetscSynchronizedPrintf(PETSC_COMM_WORLD, "RANK %d reason %s iterations %" PetscInt_FMT " residual %.3e\n",
                                    (int)rank, KSPConvergedReasons[reason], iterations, (double)(norm / scale)));
  PetscCall(PetscSynchronizedFlush(PETSC_COMM_WORLD, PETSC_STDOUT));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(void)
{
  Mat A;
  Vec b, x;
  KSP ksp;
  PetscInt solves = 1;
  PetscBool turn = PETSC_FALSE, reset = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-solves", &solves, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-turn", &turn, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-reset", &reset, NULL));
  PetscCall(MakeMatrix(&A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  for (PetscInt k = 0; k < solves; k++) {
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(Report(ksp, A, b, x));
    PetscCall(MatScale(A, 1.1));
    if (turn) PetscCall(MatTranspose(A, MAT_INPLACE_MATRIX, &A));
    if (reset) PetscCall(KSPReset(ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char** argv)
{
  char library[PETSC_MAX_PATH_LEN];
  PetscBool append;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-append", library, sizeof(library), &append));
  if (append) PetscCall(PetscDLLibraryAppend(PETSC_COMM_WORLD, &PetscDLLibrariesLoaded, library));
  PetscCall(Solve());
  PetscCall(PetscFinalize());
  return 0;
}
