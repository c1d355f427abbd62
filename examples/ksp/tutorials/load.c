static char help[] = "Solves with a matrix from a file, in PETSc binary or Matrix Market format.\n\
  -f <file>         : the matrix; a name that ends in .mtx is Matrix Market, any other PETSc binary\n\
  -rhs <file>       : right-hand side in PETSc binary; default: A times a random vector, whose error is then printed\n\
  -write <file>     : first writes a small nonsymmetric test matrix to this file, in the format of its name\n\n";

/*
  PETSc binary files do not say with which scalar and index size they were written: a file of a complex
  PETSc, or of one with 64-bit indices, is refused by PETSc or read wrongly in others; this program says so
  when the header does not fit. Packed files must be unpacked first (gunzip).

  What you see: size and entries of the matrix, iterations, and the true residual.
*/

#include "report.h"

static PetscErrorCode IsMatrixMarket(const char name[], PetscBool *yes)
{
  size_t length;

  PetscFunctionBeginUser;
  PetscCall(PetscStrlen(name, &length));
  *yes = PETSC_FALSE;
  if (length > 4) PetscCall(PetscStrcmp(name + length - 4, ".mtx", yes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A 2-D upwind convection-diffusion matrix of order 100. */
static PetscErrorCode WriteTestMatrix(const char name[])
{
  const PetscInt m = 10, n = m * m;
  PetscBool      market;

  PetscFunctionBeginUser;
  PetscCall(IsMatrixMarket(name, &market));
  if (market) {
    FILE *file;

    PetscCall(PetscFOpen(PETSC_COMM_SELF, name, "w", &file));
    PetscCall(PetscFPrintf(PETSC_COMM_SELF, file, "%%%%MatrixMarket matrix coordinate real general\n%% a test\n%d %d %d\n", (int)n, (int)n, (int)(5 * n - 4 * m)));
    for (PetscInt i = 0; i < n; i++) {
      if (i >= m) PetscCall(PetscFPrintf(PETSC_COMM_SELF, file, "%d %d -1.5\n", (int)(i + 1), (int)(i - m + 1)));
      if (i % m) PetscCall(PetscFPrintf(PETSC_COMM_SELF, file, "%d %d -2\n", (int)(i + 1), (int)i));
      PetscCall(PetscFPrintf(PETSC_COMM_SELF, file, "%d %d 5.5\n", (int)(i + 1), (int)(i + 1)));
      if ((i + 1) % m) PetscCall(PetscFPrintf(PETSC_COMM_SELF, file, "%d %d -1\n", (int)(i + 1), (int)(i + 2)));
      if (i + m < n) PetscCall(PetscFPrintf(PETSC_COMM_SELF, file, "%d %d -1\n", (int)(i + 1), (int)(i + m + 1)));
    }
    PetscCall(PetscFClose(PETSC_COMM_SELF, file));
  } else {
    Mat         A;
    PetscViewer viewer;

    PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 5, NULL, &A));
    for (PetscInt i = 0; i < n; i++) {
      if (i >= m) PetscCall(MatSetValue(A, i, i - m, -1.5, INSERT_VALUES));
      if (i % m) PetscCall(MatSetValue(A, i, i - 1, -2.0, INSERT_VALUES));
      PetscCall(MatSetValue(A, i, i, 5.5, INSERT_VALUES));
      if ((i + 1) % m) PetscCall(MatSetValue(A, i, i + 1, -1.0, INSERT_VALUES));
      if (i + m < n) PetscCall(MatSetValue(A, i, i + m, -1.0, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_SELF, name, FILE_MODE_WRITE, &viewer));
    PetscCall(MatView(A, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the first line of a Matrix Market file says of the entries behind it. */
typedef struct {
  PetscBool pattern, with_imaginary, symmetric, skew, hermitian;
} Banner;

static PetscErrorCode ReadBanner(FILE *file, const char name[], Banner *banner)
{
  char line[1024], object[64] = "", format[64] = "", field[64] = "", symmetry[64] = "";

  PetscFunctionBeginUser;
  PetscCheck(fgets(line, sizeof(line), file), PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s line 1: the file is empty", name);
  PetscCheck(sscanf(line, "%%%%MatrixMarket %63s %63s %63s %63s", object, format, field, symmetry) == 4, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "%s line 1: no Matrix Market banner", name);
  PetscCall(PetscStrtolower(format));
  PetscCall(PetscStrtolower(field));
  PetscCall(PetscStrtolower(symmetry));
  PetscBool coordinate, general, real, integer;
  PetscCall(PetscStrcmp(format, "coordinate", &coordinate));
  PetscCall(PetscStrcmp(field, "real", &real));
  PetscCall(PetscStrcmp(field, "integer", &integer));
  PetscCall(PetscStrcmp(field, "complex", &banner->with_imaginary));
  PetscCall(PetscStrcmp(field, "pattern", &banner->pattern));
  PetscCall(PetscStrcmp(symmetry, "general", &general));
  PetscCall(PetscStrcmp(symmetry, "symmetric", &banner->symmetric));
  PetscCall(PetscStrcmp(symmetry, "skew-symmetric", &banner->skew));
  PetscCall(PetscStrcmp(symmetry, "hermitian", &banner->hermitian));
  PetscCheck(coordinate, PETSC_COMM_SELF, PETSC_ERR_SUP, "%s line 1: format %s; only coordinate is sparse", name, format);
  PetscCheck(real || integer || banner->with_imaginary || banner->pattern, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "%s line 1: unknown field %s", name, field);
  PetscCheck(general || banner->symmetric || banner->skew || banner->hermitian, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "%s line 1: unknown symmetry %s", name, symmetry);
  PetscCheck(!banner->with_imaginary || PetscDefined(USE_COMPLEX), PETSC_COMM_SELF, PETSC_ERR_SUP, "%s line 1: complex entries need a PETSc with complex scalars", name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscScalar MakeScalar(double re, double im)
{
#if defined(PETSC_USE_COMPLEX)
  return PetscCMPLX(re, im);
#else
  (void)im;
  return re;
#endif
}

/* The whole file goes to the first process; the entries are stored as they come. */
static PetscErrorCode ReadMatrixMarket(const char name[], Mat *A)
{
  FILE   *file;
  char    line[1024];
  Banner  banner;
  long    rows = 0, columns = 0, entries = 0, number = 1, seen = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscFOpen(PETSC_COMM_SELF, name, "r", &file));
  PetscCall(ReadBanner(file, name, &banner));
  do {
    number++;
    PetscCheck(fgets(line, sizeof(line), file), PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s line %ld: no line with the sizes", name, number);
  } while (line[0] == '%' || line[0] == '\n' || line[0] == '\r');
  PetscCheck(sscanf(line, "%ld %ld %ld", &rows, &columns, &entries) == 3, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "%s line %ld: expected rows, columns and entries", name, number);
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, rows, columns, rows, columns));
  PetscCall(MatSetType(*A, MATSEQAIJ));
  PetscCall(MatSeqAIJSetPreallocation(*A, rows ? (PetscInt)(2 * entries / rows + 1) : 0, NULL));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  while (seen < entries) {
    long   i = 0, j = 0;
    double re = 1.0, im = 0.0;

    number++;
    PetscCheck(fgets(line, sizeof(line), file), PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s line %ld: the file ends after %ld of %ld entries", name, number, seen, entries);
    if (line[0] == '%' || line[0] == '\n' || line[0] == '\r') continue;
    const int got = sscanf(line, "%ld %ld %lf %lf", &i, &j, &re, &im), want = banner.pattern ? 2 : (banner.with_imaginary ? 4 : 3);
    PetscCheck(got >= want, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "%s line %ld: expected %d numbers, found %d", name, number, want, got);
    PetscCheck(i >= 1 && i <= rows && j >= 1 && j <= columns, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "%s line %ld: entry (%ld, %ld) outside the %ld x %ld matrix", name, number, i, j, rows, columns);
    if (banner.pattern) re = 1.0;
    PetscCall(MatSetValue(*A, i - 1, j - 1, MakeScalar(re, im), ADD_VALUES));
    if (i != j && banner.symmetric) PetscCall(MatSetValue(*A, j - 1, i - 1, MakeScalar(re, im), ADD_VALUES));
    if (i != j && banner.skew) PetscCall(MatSetValue(*A, j - 1, i - 1, MakeScalar(-re, -im), ADD_VALUES));
    if (i != j && banner.hermitian) PetscCall(MatSetValue(*A, j - 1, i - 1, MakeScalar(re, -im), ADD_VALUES));
    seen++;
  }
  PetscCall(PetscFClose(PETSC_COMM_SELF, file));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The length of a binary file must fit its header, or it was written by another kind of PETSc. */
static PetscErrorCode ReadBinary(const char name[], Mat *A)
{
  PetscViewer viewer;
  PetscInt    header[4];
  FILE       *file;
  int         count;

  PetscFunctionBeginUser;
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_SELF, name, FILE_MODE_READ, &viewer));
  PetscCall(PetscViewerBinaryRead(viewer, header, 4, &count, PETSC_INT));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCheck(header[0] == 1211216, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "%s is no matrix in PETSc binary format for %d-bit indices; if another PETSc wrote it, write it again with this one, or use Matrix Market", name, (int)(8 * sizeof(PetscInt)));
  PetscCall(PetscFOpen(PETSC_COMM_SELF, name, "r", &file));
  fseek(file, 0, SEEK_END);
  const double length = (double)ftell(file), expected = (4.0 + header[1] + header[3]) * sizeof(PetscInt) + (double)header[3] * sizeof(PetscScalar);
  PetscCall(PetscFClose(PETSC_COMM_SELF, file));
  PetscCheck(header[3] < 0 || length >= expected, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "%s has %.0f bytes but its header promises %.0f with %d-byte scalars; was it written with other scalars, or cut off?", name, length, expected, (int)sizeof(PetscScalar));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_SELF, name, FILE_MODE_READ, &viewer));
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetType(*A, MATSEQAIJ));
  PetscCall(MatLoad(*A, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckMatrix(Mat A, const char name[])
{
  PetscInt  rows, columns, row;
  PetscBool missing;
  MatInfo   info;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(A, &rows, &columns));
  PetscCheck(rows == columns, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "%s is %" PetscInt_FMT " x %" PetscInt_FMT "; a linear solve needs a square matrix", name, rows, columns);
  PetscCall(MatMissingDiagonal(A, &missing, &row));
  if (missing) PetscCall(PetscPrintf(PETSC_COMM_SELF, "row %" PetscInt_FMT " has no diagonal entry: incomplete factorizations need one, see -pc_factor_nonzeros_along_diagonal\n", row));
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt_FMT " rows, %.0f entries\n", rows, info.nz_used));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char        name[PETSC_MAX_PATH_LEN] = "", rhs[PETSC_MAX_PATH_LEN] = "";
  PetscBool   given, with_rhs, market;
  PetscMPIInt size;
  Mat         A;
  Vec         u, b, x;
  KSP         ksp;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCheck(size == 1, PETSC_COMM_WORLD, PETSC_ERR_WRONG_MPI_SIZE, "This example runs on one process");
  PetscCall(PetscOptionsGetString(NULL, NULL, "-write", name, sizeof(name), &given));
  if (given) PetscCall(WriteTestMatrix(name));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-f", name, sizeof(name), &given));
  PetscCheck(given, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "Name the matrix file with -f");
  PetscCall(IsMatrixMarket(name, &market));
  if (market) PetscCall(ReadMatrixMarket(name, &A));
  else PetscCall(ReadBinary(name, &A));
  PetscCall(CheckMatrix(A, name));

  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &u));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-rhs", rhs, sizeof(rhs), &with_rhs));
  if (with_rhs) {
    PetscViewer viewer;

    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_SELF, rhs, FILE_MODE_READ, &viewer));
    PetscCall(VecLoad(b, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
  } else {
    PetscRandom random;

    PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
    PetscCall(PetscRandomSetType(random, PETSCRANDER48));
    PetscCall(VecSetRandom(u, random));
    PetscCall(PetscRandomDestroy(&random));
    PetscCall(MatMult(A, u, b));
  }
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(ReportSolve(ksp, b, x));
  if (!with_rhs) {
    PetscReal error, norm;

    PetscCall(VecNorm(u, NORM_2, &norm));
    PetscCall(VecAXPY(x, -1.0, u));
    PetscCall(VecNorm(x, NORM_2, &error));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "error %.3e\n", (double)(norm > 0 ? error / norm : error)));
  }
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
      requires: double !complex
      args: -pc_type syncfree_ilu
      output_file: output/load_1.out
      test:
         suffix: binary
         args: -write matrix.petsc -f matrix.petsc -pc_syncfree_ilu_strategy {{serial blocks}} -pc_syncfree_ilu_threads 2
      test:
         suffix: market
         args: -write matrix.mtx -f matrix.mtx

TEST*/
