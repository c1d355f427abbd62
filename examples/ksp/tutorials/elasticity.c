static char help[] = "3-D linear elasticity: a block of two materials, clamped below and pressed from above.\n\
  -contrast <100>   : ratio between the stiffness of the two materials\n\
  -poisson <0.3>    : Poisson's ratio\n\
  -da_grid_x <n>    : nodes in a direction, 7 by default (also _y, _z)\n\n";

/*
  Trilinear hexahedra on a DMDA with three unknowns a node, so that the rows of a node have the same
  pattern and the matrix has block size 3. Clamped unknowns are eliminated symmetrically: CG with ICC or ILU.

  What you see: the iterations of CG, the true residual, and how far the top moves down.
*/

#include <petscdmda.h>

#include "report.h"

#define NODES   8
#define UNKNOWN 24

static const PetscInt corner[NODES][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};

/* Derivatives of the shape functions of a unit cube at a point, times 1/h. */
static void Gradients(const PetscReal point[3], PetscReal h, PetscReal gradient[NODES][3])
{
  for (PetscInt a = 0; a < NODES; a++) {
    PetscReal value[3], slope[3];

    for (PetscInt d = 0; d < 3; d++) {
      value[d] = corner[a][d] ? point[d] : 1.0 - point[d];
      slope[d] = (corner[a][d] ? 1.0 : -1.0) / h;
    }
    gradient[a][0] = slope[0] * value[1] * value[2];
    gradient[a][1] = value[0] * slope[1] * value[2];
    gradient[a][2] = value[0] * value[1] * slope[2];
  }
}

/* Stiffness of a cube of size h and Young's modulus 1: two Gauss points a direction. */
static void ElementMatrix(PetscReal h, PetscReal nu, PetscScalar K[UNKNOWN][UNKNOWN])
{
  const PetscReal lambda = nu / ((1.0 + nu) * (1.0 - 2.0 * nu)), mu = 0.5 / (1.0 + nu), offset = 0.5 / PetscSqrtReal(3.0);

  for (PetscInt r = 0; r < UNKNOWN; r++)
    for (PetscInt c = 0; c < UNKNOWN; c++) K[r][c] = 0.0;
  for (PetscInt q = 0; q < 8; q++) {
    const PetscReal point[3] = {0.5 + (q & 1 ? offset : -offset), 0.5 + (q & 2 ? offset : -offset), 0.5 + (q & 4 ? offset : -offset)};
    const PetscReal weight   = h * h * h / 8.0;
    PetscReal       g[NODES][3];

    Gradients(point, h, g);
    for (PetscInt a = 0; a < NODES; a++)
      for (PetscInt b = 0; b < NODES; b++) {
        const PetscReal dot = g[a][0] * g[b][0] + g[a][1] * g[b][1] + g[a][2] * g[b][2];

        for (PetscInt d = 0; d < 3; d++)
          for (PetscInt e = 0; e < 3; e++) K[3 * a + d][3 * b + e] += weight * (lambda * g[a][d] * g[b][e] + mu * (g[a][e] * g[b][d] + (d == e ? dot : 0.0)));
      }
  }
}

/* Adds all elements that begin at a node of this process, and presses on the top. */
static PetscErrorCode Assemble(DM da, Mat A, Vec b, PetscReal contrast, PetscReal nu)
{
  DMDALocalInfo info;
  PetscScalar   K[UNKNOWN][UNKNOWN], scaled[UNKNOWN * UNKNOWN];
  Vec           local;
  PetscScalar ****force;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  const PetscReal h = 1.0 / (info.mx - 1);
  ElementMatrix(h, nu, K);
  PetscCall(DMGetLocalVector(da, &local));
  PetscCall(VecSet(local, 0.0));
  PetscCall(DMDAVecGetArrayDOF(da, local, &force));
  for (PetscInt k = info.zs; k < PetscMin(info.zs + info.zm, info.mz - 1); k++) {
    for (PetscInt j = info.ys; j < PetscMin(info.ys + info.ym, info.my - 1); j++) {
      for (PetscInt i = info.xs; i < PetscMin(info.xs + info.xm, info.mx - 1); i++) {
        const PetscReal stiffness = ((3 * i / (info.mx - 1)) + (3 * j / (info.my - 1)) + (3 * k / (info.mz - 1))) % 2 ? contrast : 1.0;
        MatStencil      where[UNKNOWN];

        for (PetscInt a = 0; a < NODES; a++)
          for (PetscInt d = 0; d < 3; d++) {
            where[3 * a + d].i = i + corner[a][0];
            where[3 * a + d].j = j + corner[a][1];
            where[3 * a + d].k = k + corner[a][2];
            where[3 * a + d].c = d;
          }
        for (PetscInt r = 0; r < UNKNOWN; r++)
          for (PetscInt c = 0; c < UNKNOWN; c++) scaled[r * UNKNOWN + c] = stiffness * K[r][c];
        PetscCall(MatSetValuesStencil(A, UNKNOWN, where, UNKNOWN, where, scaled, ADD_VALUES));
        if (k + 1 < info.mz - 1) continue;
        for (PetscInt a = 4; a < NODES; a++) force[k + 1][j + corner[a][1]][i + corner[a][0]][2] -= 0.25 * h * h;
      }
    }
  }
  PetscCall(DMDAVecRestoreArrayDOF(da, local, &force));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(VecSet(b, 0.0));
  PetscCall(DMLocalToGlobal(da, local, ADD_VALUES, b));
  PetscCall(DMRestoreLocalVector(da, &local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The lowest layer does not move. */
static PetscErrorCode Clamp(DM da, Mat A, Vec b)
{
  DMDALocalInfo          info;
  ISLocalToGlobalMapping map;
  PetscInt              *rows, count = 0;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMGetLocalToGlobalMapping(da, &map));
  PetscCall(PetscMalloc1(3 * info.xm * info.ym, &rows));
  if (info.zs == 0)
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++)
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++)
        for (PetscInt d = 0; d < 3; d++) rows[count++] = 3 * ((j - info.gys) * info.gxm + i - info.gxs) + d - 3 * info.gzs * info.gxm * info.gym;
  PetscCall(ISLocalToGlobalMappingApply(map, count, rows, rows));
  PetscCall(MatZeroRowsColumns(A, count, rows, 1.0, NULL, NULL));
  PetscCall(PetscFree(rows));
  (void)b; /* no force acts on the lowest layer and it moves by zero */
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  DM        da;
  Mat       A;
  Vec       b, x;
  KSP       ksp;
  PetscReal contrast = 100.0, nu = 0.3, lowest;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-contrast", &contrast, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-poisson", &nu, NULL));
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, 7, 7, 7, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 3, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(Assemble(da, A, b, contrast, nu));
  PetscCall(Clamp(da, A, b));
  PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE));

  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(ReportSolve(ksp, b, x));
  PetscCall(VecMin(x, NULL, &lowest));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "deepest displacement %.4e\n", (double)lowest));

  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      requires: double !complex
      test:
         suffix: ilu
         args: -pc_type syncfree_ilu -pc_syncfree_ilu_strategy {{auto serial level_set sync_free blocks}} -pc_syncfree_ilu_threads 2
         output_file: output/elasticity_ilu.out
      test:
         suffix: icc
         args: -pc_type syncfree_icc -pc_syncfree_ilu_strategy {{serial blocks}} -pc_syncfree_ilu_threads 2
         output_file: output/elasticity_icc.out
      test:
         suffix: levels
         args: -pc_type syncfree_icc -pc_factor_levels 1
      test:
         suffix: parallel
         nsize: 2
         args: -pc_type {{bjacobi syncfree_icc}} -sub_pc_type syncfree_icc

TEST*/
