/*
  Set-up, refresh and apply of two builds of the plugin, alternated in one process on one GPU.

    compare_libraries -old OLD/libsyncfree_ilu.so -new NEW/libsyncfree_ilu.so [-repetitions 9] [-applies 60]
                      [-grids 7pt:128,27pt:80,5pt:1000,dof3:32] [-files A.petsc,B.petsc] [-use_gpu_aware_mpi 0]

  Build: mpicc -I$PETSC_DIR/include tests/bench/compare_libraries.c -o compare_libraries
             -L$PETSC_DIR/lib -lpetsc -lm -ldl

  Prints a line per matrix: medians in milliseconds of the old build, and the ratios of the new build's to them; then
  geometric means and the largest of each. Set-up is that of a new PC on a copy of the matrix; refresh is PCSetUp()
  after the values in device memory were marked as changed; apply is the mean of `applies` PCApply(). Files are
  PETSc's, uncompressed.

  Both libraries are loaded with RTLD_LOCAL. A name of a PC or of a solver package belongs to the library that
  registered it last, so each PC gets a name of its own, and the package is registered again before each set-up.
*/

#include <dlfcn.h>
#include <petscdevice.h>
#include <petscksp.h>

typedef struct {
  const char *name;                                 /* of the PC */
  PetscErrorCode (*create)(PC);
  PetscErrorCode (*get_factor)(Mat, MatFactorType, Mat *);
} Library;

typedef struct {
  PetscReal setup, refresh, apply;
} Times;

static PetscErrorCode Load(const char path[], Library *library)
{
  void *handle;
  PetscErrorCode (*enter)(void);

  PetscFunctionBegin;
  handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  PetscCheck(handle, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "%s", dlerror());
  *(void **)&enter = dlsym(handle, "PetscDLLibraryRegister_syncfree_ilu");
  PetscCheck(enter, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s is no build of the plugin", path);
  PetscCall(PetscFunctionListAdd(&PCList, "syncfree_ilu", NULL));
  PetscCall((*enter)());
  PetscCall(PetscFunctionListFind(PCList, "syncfree_ilu", &library->create));
  PetscCall(PCRegister(library->name, library->create));
  PetscCall(MatSolverTypeGet("syncfree", MATSEQAIJCUSPARSE, MAT_FACTOR_ILU, NULL, NULL, &library->get_factor));
  PetscCheck(library->create && library->get_factor, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s registers no syncfree_ilu for MATSEQAIJCUSPARSE", path);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Now(PetscReal *ms)
{
  PetscDeviceContext context;
  PetscLogDouble     seconds;

  PetscFunctionBegin;
  PetscCall(PetscDeviceContextGetCurrentContext(&context));
  PetscCall(PetscDeviceContextSynchronize(context));
  PetscCall(PetscTime(&seconds));
  *ms = (PetscReal)(1000 * seconds);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TimeOnce(const Library *library, Mat A, PetscInt applies, Times *times)
{
  Mat          B;
  PC           pc;
  Vec          b, x;
  PetscRandom  random;
  PetscScalar *values;
  PetscReal    begin, end;

  PetscFunctionBegin;
  PetscCall(MatSolverTypeRegister("syncfree", MATSEQAIJCUSPARSE, MAT_FACTOR_ILU, library->get_factor));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatCreateVecs(B, &b, &x));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(VecSetRandom(b, random));
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(MatMult(B, b, x)); /* copies B to the device */
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetType(pc, library->name));
  PetscCall(PCSetOperators(pc, B, B));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(Now(&begin));
  PetscCall(PCSetUp(pc));
  PetscCall(Now(&end));
  times->setup = end - begin;
  PetscCall(MatSeqAIJCUSPARSEGetArray(B, &values));
  PetscCall(MatSeqAIJCUSPARSERestoreArray(B, &values));
  PetscCall(Now(&begin));
  PetscCall(PCSetUp(pc));
  PetscCall(Now(&end));
  times->refresh = end - begin;
  for (PetscInt k = 0; k < 3; k++) PetscCall(PCApply(pc, b, x));
  PetscCall(Now(&begin));
  for (PetscInt k = 0; k < applies; k++) PetscCall(PCApply(pc, b, x));
  PetscCall(Now(&end));
  times->apply = (end - begin) / (PetscReal)applies;
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal Median(PetscReal values[], PetscInt count)
{
  (void)PetscSortReal(count, values);
  return values[count / 2];
}

/* ratio: the new build's medians divided by the old one's */
static PetscErrorCode Compare(const char name[], const Library library[2], Mat A, PetscInt repetitions, PetscInt applies, Times *ratio)
{
  PetscReal *value[2][3], median[2][3];
  PetscInt   n;

  PetscFunctionBegin;
  for (int l = 0; l < 2; l++)
    for (int e = 0; e < 3; e++) PetscCall(PetscMalloc1(repetitions, &value[l][e]));
  for (PetscInt r = -1; r < repetitions; r++)
    for (int k = 0; k < 2; k++) {
      const int l = (k + (r & 1)) % 2; /* the first of a pair is the second of the next */
      Times     times;

      PetscCall(TimeOnce(library + l, A, applies, &times));
      if (r < 0) continue; /* the warm-up loads modules and allocates memory */
      value[l][0][r] = times.setup, value[l][1][r] = times.refresh, value[l][2][r] = times.apply;
    }
  for (int l = 0; l < 2; l++)
    for (int e = 0; e < 3; e++) {
      median[l][e] = Median(value[l][e], repetitions);
      PetscCall(PetscFree(value[l][e]));
    }
  PetscCall(MatGetSize(A, &n, NULL));
  ratio->setup = median[1][0] / median[0][0], ratio->refresh = median[1][1] / median[0][1], ratio->apply = median[1][2] / median[0][2];
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-24s %9" PetscInt_FMT " %9.3f %6.3f %9.4f %6.3f %9.4f %6.3f\n", name, n, (double)median[0][0], (double)ratio->setup, (double)median[0][1], (double)ratio->refresh, (double)median[0][2], (double)ratio->apply));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes a grid of points with their neighbours, along the axes only for `star`, and dof unknowns per point. */
static PetscErrorCode MakeGrid(PetscInt edge, PetscInt planes, PetscBool star, PetscInt dof, Mat *A)
{
  const PetscInt n = edge * edge * planes * dof;
  PetscRandom    random;

  PetscFunctionBegin;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, (star ? 7 : 27) * dof, NULL, A));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetInterval(random, -1.0, -0.5));
  for (PetscInt z = 0; z < planes; z++)
    for (PetscInt y = 0; y < edge; y++)
      for (PetscInt x = 0; x < edge; x++)
        for (PetscInt own = 0; own < dof; own++) {
          const PetscInt row = ((z * edge + y) * edge + x) * dof + own;
          PetscInt       column[81], count = 0;
          PetscScalar    value[81];

          for (PetscInt w = PetscMax(z - 1, 0); w <= PetscMin(z + 1, planes - 1); w++)
            for (PetscInt v = PetscMax(y - 1, 0); v <= PetscMin(y + 1, edge - 1); v++)
              for (PetscInt u = PetscMax(x - 1, 0); u <= PetscMin(x + 1, edge - 1); u++) {
                if (star && PetscAbs(u - x) + PetscAbs(v - y) + PetscAbs(w - z) > 1) continue;
                for (PetscInt other = 0; other < dof; other++) {
                  column[count] = ((w * edge + v) * edge + u) * dof + other;
                  PetscCall(PetscRandomGetValue(random, value + count));
                  if (column[count] == row) value[count] = (star ? 7 : 27) * dof;
                  count++;
                }
              }
          PetscCall(MatSetValues(*A, 1, &row, count, column, value, INSERT_VALUES));
        }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatConvert(*A, MATSEQAIJCUSPARSE, MAT_INPLACE_MATRIX, A));
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MakeNamed(const char name[], Mat *A)
{
  char    *colon;
  char     kind[32];
  PetscInt edge;

  PetscFunctionBegin;
  PetscCall(PetscStrncpy(kind, name, sizeof(kind)));
  PetscCall(PetscStrchr(kind, ':', &colon));
  PetscCheck(colon, PETSC_COMM_SELF, PETSC_ERR_USER, "%s is no KIND:EDGE; kinds are 5pt, 9pt, 7pt, 27pt, dof2 and dof3", name);
  *colon = 0;
  PetscCall(PetscOptionsStringToInt(colon + 1, &edge));
  if (!strcmp(kind, "5pt")) PetscCall(MakeGrid(edge, 1, PETSC_TRUE, 1, A));
  else if (!strcmp(kind, "9pt")) PetscCall(MakeGrid(edge, 1, PETSC_FALSE, 1, A));
  else if (!strcmp(kind, "7pt")) PetscCall(MakeGrid(edge, edge, PETSC_TRUE, 1, A));
  else if (!strcmp(kind, "27pt")) PetscCall(MakeGrid(edge, edge, PETSC_FALSE, 1, A));
  else if (!strcmp(kind, "dof2")) PetscCall(MakeGrid(edge, edge, PETSC_TRUE, 2, A));
  else if (!strcmp(kind, "dof3")) PetscCall(MakeGrid(edge, edge, PETSC_FALSE, 3, A));
  else SETERRQ(PETSC_COMM_SELF, PETSC_ERR_USER, "There is no kind %s; there are 5pt, 9pt, 7pt, 27pt, dof2 and dof3", kind);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Read(const char path[], Mat *A)
{
  PetscViewer viewer;

  PetscFunctionBegin;
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_SELF, path, FILE_MODE_READ, &viewer));
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetType(*A, MATSEQAIJCUSPARSE));
  PetscCall(MatLoad(*A, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Library   library[2] = {{"old_build", NULL, NULL}, {"new_build", NULL, NULL}};
  char      path[2][PETSC_MAX_PATH_LEN], *names[64], *files[64];
  PetscInt  grids = 64, count = 64, repetitions = 9, applies = 60, compared = 0;
  PetscBool has_old, has_new;
  Times     sum = {0, 0, 0}, most = {0, 0, 0};

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-old", path[0], sizeof(path[0]), &has_old));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-new", path[1], sizeof(path[1]), &has_new));
  PetscCheck(has_old && has_new, PETSC_COMM_SELF, PETSC_ERR_USER, "-old and -new must name two builds of libsyncfree_ilu.so");
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repetitions", &repetitions, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-applies", &applies, NULL));
  PetscCheck(repetitions > 0 && applies > 0, PETSC_COMM_SELF, PETSC_ERR_USER, "-repetitions and -applies must be at least 1");
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-grids", names, &grids, NULL));
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-files", files, &count, NULL));
  for (int l = 0; l < 2; l++) PetscCall(Load(path[l], library + l));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-24s %9s %9s %6s %9s %6s %9s %6s\n", "matrix", "rows", "setup ms", "new", "refresh", "new", "apply", "new"));
  for (PetscInt k = 0; k < grids + count; k++) {
    char *name = k < grids ? names[k] : files[k - grids], *shown = name;
    Mat   A;
    Times ratio;

    if (k < grids) PetscCall(MakeNamed(name, &A));
    else {
      PetscCall(Read(name, &A));
      PetscCall(PetscStrrchr(name, '/', &shown));
    }
    PetscCall(Compare(shown, library, A, repetitions, applies, &ratio));
    sum.setup += PetscLogReal(ratio.setup), sum.refresh += PetscLogReal(ratio.refresh), sum.apply += PetscLogReal(ratio.apply);
    most.setup = PetscMax(most.setup, ratio.setup), most.refresh = PetscMax(most.refresh, ratio.refresh), most.apply = PetscMax(most.apply, ratio.apply);
    compared++;
    PetscCall(MatDestroy(&A));
    PetscCall(PetscFree(name));
  }
  if (compared > 0) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-24s %9s %9s %6.3f %9s %6.3f %9s %6.3f\n", "geometric mean", "", "", (double)PetscExpReal(sum.setup / compared), "", (double)PetscExpReal(sum.refresh / compared), "", (double)PetscExpReal(sum.apply / compared)));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-24s %9s %9s %6.3f %9s %6.3f %9s %6.3f\n", "most", "", "", (double)most.setup, "", (double)most.refresh, "", (double)most.apply));
  }
  PetscCall(PetscFinalize());
  return 0;
}
