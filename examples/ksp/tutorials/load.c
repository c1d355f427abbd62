static char help[] = "Solves with a matrix from a file, in PETSc's binary or Matrix Market format.\n\
GMRES; any -pc_type, for example syncfree_ilu.\n\n";

/*
  The format is detected from the content of the file, not from its name. The right-hand side is read from -rhs, else
  from the same binary file if a vector follows the matrix; else it is A u with a random u (always the same), and the
  error of u is printed, too. An unusable file is an error with an explanation, see matrix_file.h; so is a matrix that is
  not square or lacks a diagonal entry, since ILU and ICC require all of them.

  Binary files depend on the configuration of PETSc: with 64-bit indices (PETSC_USE_64BIT_INDICES) integers have 64 bits,
  else 32, and scalars are real or complex, in the precision of PetscReal. So a binary file must be read with the same
  configuration that wrote it; a file of another one is an error, whose message names that configuration. Matrix Market
  files are the same for all configurations.

    ./load -matrix west0479.mtx -pc_type syncfree_ilu -pc_factor_levels 1
    mpiexec -n 4 ./load -matrix A.bin -rhs b.bin -pc_type asm -sub_pc_type syncfree_ilu

  With -generate n it first writes a matrix of n^3 rows into the file, as Matrix Market if its name ends in .mtx.

  Output: the size of the matrix, the iterations and their converged reason, the true residual, and the error if the
  solution is known. With -times N also N times of set-up, application and solve in seconds.
*/

#include <petscviewer.h>

#include "report.h"

#include "matrix_file.h"

typedef struct {
  char      matrix[PETSC_MAX_PATH_LEN], rhs[PETSC_MAX_PATH_LEN];
  PetscInt  generate;
  PetscBool symmetric, any_diagonal;
} Files;

static PetscErrorCode ReadOptions(Files *files)
{
  PetscFunctionBeginUser;
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "A matrix from a file", NULL);
  PetscCall(PetscOptionsString("-matrix", "File with the matrix", NULL, files->matrix, files->matrix, sizeof(files->matrix), NULL));
  PetscCall(PetscOptionsString("-rhs", "File with the right-hand side", NULL, files->rhs, files->rhs, sizeof(files->rhs), NULL));
  PetscCall(PetscOptionsInt("-generate", "Write a matrix of n^3 rows into the file first, 0: do not", NULL, files->generate, &files->generate, NULL));
  PetscCall(PetscOptionsBool("-symmetric", "Generate a symmetric matrix", NULL, files->symmetric, &files->symmetric, NULL));
  PetscCall(PetscOptionsBool("-allow_missing_diagonal", "Solve although diagonal entries are missing", NULL, files->any_diagonal, &files->any_diagonal, NULL));
  PetscOptionsEnd();
  PetscCheck(files->matrix[0], PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "Give a file with -matrix <file>");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates the matrix of diffusion on a cube of n^3 points, with convection along every axis unless symmetric. */
static PetscErrorCode Generate(PetscInt n, PetscBool symmetric, Mat *A)
{
  const PetscInt  stride[3] = {1, n, n * n};
  const PetscReal wind      = symmetric ? 0.0 : 0.75;

  PetscFunctionBeginUser;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n * n * n, n * n * n, 7, NULL, A));
  for (PetscInt row = 0; row < n * n * n; row++) {
    PetscCall(MatSetValue(*A, row, row, 6.5 + 3.0 * wind, INSERT_VALUES));
    for (PetscInt axis = 0; axis < 3; axis++) {
      const PetscInt here = row / stride[axis] % n;

      if (here > 0) PetscCall(MatSetValue(*A, row, row - stride[axis], -1.0 - wind, INSERT_VALUES));
      if (here < n - 1) PetscCall(MatSetValue(*A, row, row + stride[axis], -1.0, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Writes a real sequential matrix; the lower triangle if symmetric. */
static PetscErrorCode WriteMarket(const char path[], Mat A, PetscBool symmetric)
{
  FILE              *file;
  PetscInt           n, entries = 0, count;
  const PetscInt    *columns;
  const PetscScalar *values;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(A, &n, NULL));
  for (PetscInt pass = 0; pass < 2; pass++) { /* the first pass counts */
    if (pass == 1) PetscCall(PetscFOpen(PETSC_COMM_SELF, path, "w", &file));
    if (pass == 1) PetscCall(PetscFPrintf(PETSC_COMM_SELF, file, "%%%%MatrixMarket matrix coordinate real %s\n%" PetscInt_FMT " %" PetscInt_FMT " %" PetscInt_FMT "\n", symmetric ? "symmetric" : "general", n, n, entries));
    for (PetscInt row = 0; row < n; row++) {
      PetscCall(MatGetRow(A, row, &count, &columns, &values));
      for (PetscInt e = 0; e < count; e++) {
        if (symmetric && columns[e] > row) continue;
        if (pass == 0) entries++;
        else PetscCall(PetscFPrintf(PETSC_COMM_SELF, file, "%" PetscInt_FMT " %" PetscInt_FMT " %.17g\n", row + 1, columns[e] + 1, (double)PetscRealPart(values[e])));
      }
      PetscCall(MatRestoreRow(A, row, &count, &columns, &values));
    }
  }
  PetscCall(PetscFClose(PETSC_COMM_SELF, file));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Generates the file on process 0; the other processes wait. */
static PetscErrorCode GenerateFile(const Files *files)
{
  Mat         A;
  PetscViewer viewer;
  PetscMPIInt rank;
  size_t      length;

  PetscFunctionBeginUser;
  if (files->generate <= 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank == 0) {
    PetscCall(Generate(files->generate, files->symmetric, &A));
    PetscCall(PetscStrlen(files->matrix, &length));
    if (length > 4 && !strcmp(files->matrix + length - 4, ".mtx")) PetscCall(WriteMarket(files->matrix, A, files->symmetric));
    else {
      PetscCall(PetscViewerBinaryOpen(PETSC_COMM_SELF, files->matrix, FILE_MODE_WRITE, &viewer));
      PetscCall(MatView(A, viewer));
      PetscCall(PetscViewerDestroy(&viewer));
    }
    PetscCall(MatDestroy(&A));
  }
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Loads the matrix, and the vector that follows it in a binary file; else *b is NULL. */
static PetscErrorCode LoadMatrix(const char path[], Mat *A, Vec *b)
{
  char        message[MESSAGE_LENGTH];
  PetscBool   market = PETSC_FALSE, vector = PETSC_FALSE;
  PetscViewer viewer;

  PetscFunctionBeginUser;
  *b = NULL;
  PetscCall(Inspect(PETSC_COMM_WORLD, path, message, &market, &vector));
  if (!message[0] && market) PetscCall(LoadMarketMatrix(PETSC_COMM_WORLD, path, message, A));
  PetscCheck(!message[0], PETSC_COMM_WORLD, PETSC_ERR_FILE_UNEXPECTED, "%s", message);
  if (market) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, path, FILE_MODE_READ, &viewer));
  PetscCall(MatLoad(*A, viewer));
  if (vector) {
    PetscCall(MatCreateVecs(*A, NULL, b));
    PetscCall(VecLoad(*b, viewer));
  }
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Loads the right-hand side from its own file. */
static PetscErrorCode LoadRightHandSide(const char path[], Vec b)
{
  char        message[MESSAGE_LENGTH];
  PetscBool   ends;
  PetscViewer viewer;

  PetscFunctionBeginUser;
  PetscCall(PetscStrendswith(path, ".mtx", &ends));
  if (ends) {
    PetscCall(LoadMarketVector(path, message, b));
    PetscCheck(!message[0], PETSC_COMM_WORLD, PETSC_ERR_FILE_UNEXPECTED, "%s", message);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(InspectVector(PETSC_COMM_WORLD, path, message));
  PetscCheck(!message[0], PETSC_COMM_WORLD, PETSC_ERR_FILE_UNEXPECTED, "%s", message);
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, path, FILE_MODE_READ, &viewer));
  PetscCall(VecLoad(b, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Raises an error if the matrix is not square or, if required, lacks a diagonal entry; names the first such row. */
static PetscErrorCode CheckMatrix(Mat A, PetscBool any_diagonal)
{
  PetscInt        rows, columns, begin, end, count, first = PETSC_MAX_INT, missing;
  const PetscInt *column;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(A, &rows, &columns));
  PetscCheck(rows == columns, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ, "The matrix is not square: %" PetscInt_FMT " rows, %" PetscInt_FMT " columns", rows, columns);
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt row = begin; row < end && first == PETSC_MAX_INT; row++) {
    PetscInt e = 0;

    PetscCall(MatGetRow(A, row, &count, &column, NULL));
    while (e < count && column[e] != row) e++;
    if (e == count) first = row;
    PetscCall(MatRestoreRow(A, row, &count, &column, NULL));
  }
  PetscCallMPI(MPI_Allreduce(&first, &missing, 1, MPIU_INT, MPI_MIN, PETSC_COMM_WORLD));
  PetscCheck(any_diagonal || missing == PETSC_MAX_INT, PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONGSTATE, "Row %" PetscInt_FMT " (counting from 0) has no diagonal entry, which ILU and ICC need; -allow_missing_diagonal for other preconditioners", missing);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets b = A u with the same random u in every run, unless b was read from a file; then *u is NULL. */
static PetscErrorCode MakeRightHandSide(Mat A, Vec *b, Vec *u)
{
  PetscRandom random;

  PetscFunctionBeginUser;
  *u = NULL;
  if (*b) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreateVecs(A, u, b));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(PetscRandomSetType(random, PETSCRANDER48));
  PetscCall(PetscRandomSetSeed(random, 1));
  PetscCall(PetscRandomSeed(random));
  PetscCall(VecSetRandom(*u, random));
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(MatMult(A, *u, *b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat     A;
  Vec     u, b, x;
  KSP     ksp;
  MatInfo info;
  Files   files = {"", "", 0, PETSC_FALSE, PETSC_FALSE};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(ReadOptions(&files));
  PetscCall(GenerateFile(&files));
  PetscCall(LoadMatrix(files.matrix, &A, &b));
  PetscCall(CheckMatrix(A, files.any_diagonal));
  if (files.rhs[0] && !b) PetscCall(MatCreateVecs(A, NULL, &b));
  if (files.rhs[0]) PetscCall(LoadRightHandSide(files.rhs, b));
  PetscCall(MakeRightHandSide(A, &b, &u));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "entries %.0f\n", info.nz_used));

  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPSetTolerances(ksp, RTOL, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(SolveAndReport(ksp, b, x)); /* KSPSolve(), see report.h */
  if (u) PetscCall(ReportDifference(x, u, 10 * PetscSqrtReal(RTOL)));

  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      test:
         suffix: binary
         args: -generate 9 -matrix cube.bin -pc_type syncfree_ilu
      test:
         suffix: market
         args: -generate 9 -matrix cube.mtx -pc_type syncfree_ilu
         output_file: output/load_binary.out
      test:
         suffix: symmetric
         args: -generate 9 -symmetric -matrix {{cube.mtx cube.bin}shared output} -ksp_type cg -pc_type syncfree_icc
      test:
         suffix: parallel
         nsize: 3
         args: -generate 9 -matrix {{cube.mtx cube.bin}shared output} -pc_type asm -sub_pc_type syncfree_ilu
      test:
         suffix: no_file
         args: -matrix absent.mtx -petsc_ci_portable_error_output -error_output_stdout
         filter: Error: grep -o -E "absent.mtx: cannot be opened"

TEST*/
