static char help[] = "3-D linear elasticity: a heterogeneous block is pressed from above between smooth walls.\n\
Conjugate gradients, three unknowns a point; any -pc_type, for example syncfree_icc.\n\
-compare prints what ILU by entries and by dense blocks need.\n\n";

/*
  Trilinear hexahedra on a DMDA. Find the displacement u with

     integral of lambda (div u)(div w) + 2 mu e(u) : e(w)  =  - pressure * integral over the top of w_z   for all w,

  where the normal displacement is zero on the walls and the floor. These unknowns are eliminated symmetrically, so the
  matrix is symmetric and positive definite, with block size 3.

  -material layers: the stiffness depends on the height only. The exact solution is then u = (0, 0, g(z)) with
  g' = -pressure / (lambda + 2 mu), which trilinear elements represent without error: the program checks it.
  -material ball: a stiff ball in a soft cube.

  Output: the iterations of CG and its converged reason, the true residual, and for layers the error of the solution.
  With -times N also N times of set-up, application and solve in seconds. With -compare what ILU by entries and by dense
  blocks need, see compare.h; the blocks of this matrix are full, so both are the same ILU(0).
*/

#include <petscdm.h>
#include <petscdmda.h>

#include "compare.h"

typedef enum {
  MATERIAL_LAYERS,
  MATERIAL_BALL
} Material;
static const char *const Materials[] = {"layers", "ball", "Material", "MATERIAL_", NULL};

typedef struct {
  Material  material;
  PetscReal contrast; /* Young's modulus: stiff / soft */
  PetscReal ratio;    /* Poisson's ratio */
  PetscReal pressure;
} Block;

#define NODES    8
#define UNKNOWNS 24 /* per element */

/* Returns Young's modulus of the element whose lowest corner is (i, j, k). */
static PetscReal Stiffness(const Block *block, const DMDALocalInfo *info, PetscInt i, PetscInt j, PetscInt k)
{
  const PetscReal x = (i + 0.5) / (info->mx - 1), y = (j + 0.5) / (info->my - 1), z = (k + 0.5) / (info->mz - 1);
  PetscBool       stiff;

  if (block->material == MATERIAL_LAYERS) stiff = (PetscBool)((PetscInt)(4 * z) % 2 == 1);
  else stiff = (PetscBool)(PetscSqr(x - 0.5) + PetscSqr(y - 0.5) + PetscSqr(z - 0.5) < 0.09);
  return stiff ? block->contrast : 1.0;
}

/* Returns Lame's constants for Young's modulus 1. */
static void Lame(const Block *block, PetscReal *lambda, PetscReal *mu)
{
  *lambda = block->ratio / ((1.0 + block->ratio) * (1.0 - 2.0 * block->ratio));
  *mu     = 0.5 / (1.0 + block->ratio);
}

/* Computes the gradients of the eight trilinear functions at a point of [-1, 1]^3, for a box with edges h. */
static void Gradients(const PetscReal point[3], const PetscReal h[3], PetscReal gradient[NODES][3])
{
  for (PetscInt n = 0; n < NODES; n++) {
    for (PetscInt d = 0; d < 3; d++) {
      gradient[n][d] = 1.0 / h[d];
      for (PetscInt e = 0; e < 3; e++) {
        const PetscReal sign = (n >> e) & 1 ? 1.0 : -1.0;

        gradient[n][d] *= e == d ? sign : 0.5 * (1.0 + sign * point[e]);
      }
    }
  }
}

/* Computes the stiffness matrix of an element for Young's modulus 1; unknowns are ordered by node, then component. */
static void ElementMatrix(const Block *block, const PetscReal h[3], PetscReal K[UNKNOWNS][UNKNOWNS])
{
  PetscReal lambda, mu, gradient[NODES][3];

  Lame(block, &lambda, &mu);
  for (PetscInt r = 0; r < UNKNOWNS; r++)
    for (PetscInt c = 0; c < UNKNOWNS; c++) K[r][c] = 0.0;
  for (PetscInt q = 0; q < 8; q++) { /* Gauss points */
    const PetscReal g = 1.0 / PetscSqrtReal(3.0), weight = h[0] * h[1] * h[2] / 8.0;
    const PetscReal point[3] = {q & 1 ? g : -g, q & 2 ? g : -g, q & 4 ? g : -g};

    Gradients(point, h, gradient);
    for (PetscInt r = 0; r < UNKNOWNS; r++) {
      for (PetscInt c = 0; c < UNKNOWNS; c++) {
        const PetscReal *a = gradient[r / 3], *b = gradient[c / 3];
        const PetscInt   i = r % 3, j = c % 3;

        K[r][c] += weight * (lambda * a[i] * b[j] + mu * a[j] * b[i]);
        if (i == j) K[r][c] += weight * mu * (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]);
      }
    }
  }
}

/* Tests whether the component of the displacement is zero at this point, on a wall or the floor. */
static PetscBool IsFixed(const DMDALocalInfo *info, PetscInt i, PetscInt j, PetscInt k, PetscInt component)
{
  if (component == 0) return (PetscBool)(i == 0 || i == info->mx - 1);
  if (component == 1) return (PetscBool)(j == 0 || j == info->my - 1);
  return (PetscBool)(k == 0);
}

/* Adds the element whose lowest corner is (i, j, k); fixed unknowns keep their diagonal entry only. */
static PetscErrorCode AddElement(const Block *block, const DMDALocalInfo *info, PetscReal K[UNKNOWNS][UNKNOWNS], PetscInt i, PetscInt j, PetscInt k, Mat A)
{
  const PetscReal stiffness = Stiffness(block, info, i, j, k);
  PetscInt        node[NODES];
  PetscBool       fixed[UNKNOWNS];
  PetscScalar     values[UNKNOWNS][UNKNOWNS];

  PetscFunctionBeginUser;
  for (PetscInt n = 0; n < NODES; n++) {
    const PetscInt ni = i + (n & 1), nj = j + ((n >> 1) & 1), nk = k + ((n >> 2) & 1);

    node[n] = ((nk - info->gzs) * info->gym + nj - info->gys) * info->gxm + ni - info->gxs;
    for (PetscInt d = 0; d < 3; d++) fixed[3 * n + d] = IsFixed(info, ni, nj, nk, d);
  }
  for (PetscInt r = 0; r < UNKNOWNS; r++)
    for (PetscInt c = 0; c < UNKNOWNS; c++) values[r][c] = r != c && (fixed[r] || fixed[c]) ? 0.0 : stiffness * K[r][c];
  PetscCall(MatSetValuesBlockedLocal(A, NODES, node, NODES, node, &values[0][0], ADD_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillMatrix(const Block *block, DM da, Mat A)
{
  DMDALocalInfo info;
  PetscReal     K[UNKNOWNS][UNKNOWNS];

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  const PetscReal h[3] = {1.0 / (info.mx - 1), 1.0 / (info.my - 1), 1.0 / (info.mz - 1)};
  ElementMatrix(block, h, K);
  for (PetscInt k = info.zs; k < PetscMin(info.zs + info.zm, info.mz - 1); k++)
    for (PetscInt j = info.ys; j < PetscMin(info.ys + info.ym, info.my - 1); j++)
      for (PetscInt i = info.xs; i < PetscMin(info.xs + info.xm, info.mx - 1); i++) PetscCall(AddElement(block, &info, K, i, j, k, A));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Distributes the pressure on the top over its points: a quarter of each adjacent face. */
static PetscErrorCode FillLoad(const Block *block, DM da, Vec b)
{
  DMDALocalInfo   info;
  PetscScalar ****load;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMDAVecGetArrayDOF(da, b, &load));
  if (info.zs + info.zm == info.mz) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        const PetscInt faces = ((i > 0) + (i < info.mx - 1)) * ((j > 0) + (j < info.my - 1));

        load[info.mz - 1][j][i][2] = -block->pressure * 0.25 * (PetscReal)faces / ((PetscReal)(info.mx - 1) * (info.my - 1));
      }
    }
  }
  PetscCall(DMDAVecRestoreArrayDOF(da, b, &load));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Computes the exact solution for layers: a layer is compressed by pressure / (lambda + 2 mu) times its thickness. */
static PetscErrorCode FillSolution(const Block *block, DM da, Vec u)
{
  DMDALocalInfo   info;
  PetscScalar ****solution;
  PetscReal       lambda, mu;

  PetscFunctionBeginUser;
  Lame(block, &lambda, &mu);
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMDAVecGetArrayDOF(da, u, &solution));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++) {
    PetscReal height = 0.0;

    for (PetscInt e = 0; e < k; e++) height -= block->pressure / ((lambda + 2.0 * mu) * Stiffness(block, &info, 0, 0, e) * (info.mz - 1));
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++)
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) solution[k][j][i][2] = height;
  }
  PetscCall(DMDAVecRestoreArrayDOF(da, u, &solution));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets the rigid body modes, which only algebraic multigrid (-pc_type gamg) uses. */
static PetscErrorCode SetRigidMotions(DM da, Mat A)
{
  Vec          coordinates;
  MatNullSpace motions;

  PetscFunctionBeginUser;
  PetscCall(DMDASetUniformCoordinates(da, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0));
  PetscCall(DMGetCoordinates(da, &coordinates));
  PetscCall(MatNullSpaceCreateRigidBody(coordinates, &motions));
  PetscCall(MatSetNearNullSpace(A, motions));
  PetscCall(MatNullSpaceDestroy(&motions));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadOptions(Block *block)
{
  PetscFunctionBeginUser;
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Elastic block", NULL);
  PetscCall(PetscOptionsEnum("-material", "What the block is made of", NULL, Materials, (PetscEnum)block->material, (PetscEnum *)&block->material, NULL));
  PetscCall(PetscOptionsReal("-contrast", "Stiffness of the stiff material, the soft one has 1", NULL, block->contrast, &block->contrast, NULL));
  PetscCall(PetscOptionsReal("-poisson_ratio", "Poisson's ratio, below 0.5", NULL, block->ratio, &block->ratio, NULL));
  PetscCall(PetscOptionsReal("-pressure", "Pressure on the top", NULL, block->pressure, &block->pressure, NULL));
  PetscOptionsEnd();
  PetscCheck(block->ratio > -1.0 && block->ratio < 0.5, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "Poisson's ratio %g is not between -1 and 0.5", (double)block->ratio);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSolver(Mat A, KSP *ksp)
{
  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, KSPCG));
  PetscCall(KSPSetTolerances(*ksp, RTOL, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves with one variant and prints its line; the first one reports the solution. */
static PetscErrorCode Compare(Mat A, const Variant *variant, PetscBool report, Vec b, Vec x)
{
  Mat      P;
  KSP      ksp;
  Times    times;
  PetscInt iterations;

  PetscFunctionBeginUser;
  PetscCall(SelectVariant(variant, 3));
  PetscCall(MatConvert(A, variant->baij ? MATBAIJ : MATSAME, MAT_INITIAL_MATRIX, &P));
  PetscCall(CreateSolver(P, &ksp));
  PetscCall(WarmUp(ksp, b, x));
  PetscCall(TimedSolve(ksp, b, x, &times));
  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  if (report) PetscCall(ReportSolve(ksp, b, x));
  if (report) PetscCall(PrintCompareHeader());
  PetscCall(PrintCompareLine(variant, ksp, b, 1, iterations, times.setup + times.solve));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  DM        da;
  Mat       A;
  Vec       u, b, x;
  KSP       ksp;
  PetscInt  variants = 0;
  PetscBool compare;
  Block     block = {MATERIAL_LAYERS, 100.0, 0.3, 1e-2};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(ReadOptions(&block));
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, 9, 9, 9, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 3, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(FillMatrix(&block, da, A));
  PetscCall(SetRigidMotions(da, A));
  PetscCall(DMCreateGlobalVector(da, &u));
  PetscCall(VecDuplicate(u, &b));
  PetscCall(VecDuplicate(u, &x));
  PetscCall(FillLoad(&block, da, b));

  PetscCall(GetCompare(&compare));
  if (compare) {
    PetscCall(CountVariants(A, &variants));
    for (PetscInt v = 0; v < variants; v++) PetscCall(Compare(A, &Variants[v], (PetscBool)(v == 0), b, x));
  } else {
    PetscCall(CreateSolver(A, &ksp));
    PetscCall(SolveAndReport(ksp, b, x)); /* KSPSolve(), see report.h */
    PetscCall(KSPDestroy(&ksp));
  }
  if (block.material == MATERIAL_LAYERS) {
    PetscCall(FillSolution(&block, da, u));
    PetscCall(ReportDifference(x, u, PetscSqrtReal(RTOL)));
  }

  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      test:
         suffix: icc
         args: -pc_type syncfree_icc -pc_syncfree_strategy {{serial level_set sync_free blocks loop}shared output} -pc_syncfree_threads 2
      test:
         suffix: ilu
         args: -pc_type syncfree_ilu -pc_syncfree_strategy {{serial blocks}shared output} -pc_syncfree_threads {{1 2}shared output}
      test:
         suffix: ball
         args: -material ball -pc_type syncfree_icc -pc_factor_levels {{0 1}separate output}
      test:
         suffix: single
         args: -material ball -pc_type syncfree_icc -pc_syncfree_factor_precision single
         output_file: output/elasticity_ball_pc_factor_levels-0.out
      test:
         suffix: shifted
         args: -poisson_ratio 0.45 -pc_type syncfree_icc -pc_factor_shift_type {{nonzero positive_definite none}separate output}
      test:
         suffix: bjacobi
         nsize: 2
         args: -material ball -pc_type bjacobi -sub_pc_type syncfree_icc
      test:
         suffix: direct
         nsize: 2
         args: -material ball -pc_type syncfree_icc
         output_file: output/elasticity_bjacobi.out
      test:
         suffix: fieldsplit
         args: -material ball -pc_type fieldsplit -pc_fieldsplit_type additive -fieldsplit_pc_type syncfree_icc -fieldsplit_ksp_type preonly
      test:
         suffix: gamg
         args: -material ball -pc_type gamg -mg_levels_ksp_type richardson -mg_levels_pc_type syncfree_icc -mg_levels_ksp_max_it 1
         filter: sed -E "s/iterations [0-9]+/iterations N/"
      test:
         suffix: sor
         nsize: {{1 2}separate output}
         # PETSc has inodes in host memory only
         args: -material ball -pc_type syncfree_sor -mat_type aij -dm_mat_type aij -mat_no_inode {{0 1}separate output}
      test:
         suffix: sor_smoother
         # two levels: PETSc 3.20 makes singular blocks on a third
         args: -material ball -pc_type gamg -pc_gamg_coarse_eq_limit 200 -mg_levels_pc_type syncfree_sor
         filter: sed -E "s/iterations [0-9]+/iterations N/; s/residual [0-9.e-]+$/residual R/"
      test:
         suffix: compare
         # on a device there are two lines
         args: -compare
         filter: grep -v BAIJ | sed -E "s/[0-9]+\.[0-9]+(e[-+][0-9]+)?/T/g; s/ +/ /g"

TEST*/
