static char help[] = "3-D diffusion with variable and jumping coefficients, -div(c grad u) = f, on the unit cube.\n\
  -jump <1e3>       : ratio between the coefficients of the two materials\n\
  -da_grid_x <n>    : unknowns in a direction, 17 by default (also _y, _z)\n\n";

/*
  Cell-centred finite volumes on a DMDA. The coefficient is smooth times a jump: cubes of a second
  material fill every other cell of a 4 x 4 x 4 pattern. Boundary values are eliminated, so the matrix is
  symmetric and positive definite: CG with ICC or ILU is the natural choice.

  What you see: the iterations of CG, the true residual, and the error against a known solution.
*/

#include <petscdmda.h>

#include "report.h"

static PetscReal Coefficient(PetscReal x, PetscReal y, PetscReal z, PetscReal jump)
{
  const PetscInt i = (PetscInt)(4 * x), j = (PetscInt)(4 * y), k = (PetscInt)(4 * z);

  return (1.0 + 0.5 * x * y + 0.25 * z) * ((i + j + k) % 2 ? jump : 1.0);
}

/* Flux between two cells: the harmonic mean of their coefficients. */
static PetscReal Mean(PetscReal a, PetscReal b)
{
  return 2.0 * a * b / (a + b);
}

static PetscErrorCode FillMatrix(DM da, Mat A, PetscReal jump)
{
  DMDALocalInfo  info;
  const PetscInt step[6][3] = {{0, 0, -1}, {0, -1, 0}, {-1, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  const PetscInt  size[3] = {info.mx, info.my, info.mz};
  const PetscReal h[3]    = {1.0 / info.mx, 1.0 / info.my, 1.0 / info.mz};
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        const PetscInt  cell[3] = {i, j, k};
        const PetscReal here    = Coefficient((i + 0.5) * h[0], (j + 0.5) * h[1], (k + 0.5) * h[2], jump);
        MatStencil      row = {k, j, i, 0}, column[7];
        PetscScalar     value[7], diagonal = 0.0;
        PetscInt        count = 0;

        for (PetscInt s = 0; s < 6; s++) {
          PetscInt       there[3], axis = step[s][0] ? 0 : (step[s][1] ? 1 : 2);
          for (PetscInt d = 0; d < 3; d++) there[d] = cell[d] + step[s][d];
          const PetscReal scale = h[0] * h[1] * h[2] / (h[axis] * h[axis]);
          if (there[axis] < 0 || there[axis] >= size[axis]) {
            diagonal += 2.0 * scale * here; /* the boundary is half a cell away */
            continue;
          }
          const PetscReal flux = scale * Mean(here, Coefficient((there[0] + 0.5) * h[0], (there[1] + 0.5) * h[1], (there[2] + 0.5) * h[2], jump));
          column[count].i      = there[0];
          column[count].j      = there[1];
          column[count].k      = there[2];
          column[count].c      = 0;
          value[count++]       = -flux;
          diagonal += flux;
        }
        column[count]  = row;
        value[count++] = diagonal;
        PetscCall(MatSetValuesStencil(A, 1, &row, count, column, value, INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillSolution(DM da, Vec u)
{
  DMDALocalInfo  info;
  PetscScalar ***array;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMDAVecGetArray(da, u, &array));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++)
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++)
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) array[k][j][i] = PetscSinReal(3.0 * (i + 0.5) / info.mx) * PetscCosReal(2.0 * (j + 0.5) / info.my) + (k + 0.5) / info.mz;
  PetscCall(DMDAVecRestoreArray(da, u, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  DM        da;
  Mat       A;
  Vec       u, b, x;
  KSP       ksp;
  PetscReal jump = 1e3, error, norm;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-jump", &jump, NULL));
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 17, 17, 17, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(FillMatrix(da, A, jump));
  PetscCall(DMCreateGlobalVector(da, &u));
  PetscCall(VecDuplicate(u, &b));
  PetscCall(VecDuplicate(u, &x));
  PetscCall(FillSolution(da, u));
  PetscCall(MatMult(A, u, b));

  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetDM(ksp, da)); /* lets -pc_type mg coarsen the grid; the matrix stays ours */
  PetscCall(KSPSetDMActive(ksp, PETSC_FALSE));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(ReportSolve(ksp, b, x));

  PetscCall(VecNorm(u, NORM_2, &norm));
  PetscCall(VecAXPY(x, -1.0, u));
  PetscCall(VecNorm(x, NORM_2, &error));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "error %.3e\n", (double)(error / norm)));

  PetscCall(KSPDestroy(&ksp));
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
      requires: double !complex
      test:
         suffix: ilu
         args: -pc_type syncfree_ilu -pc_syncfree_ilu_strategy {{auto serial level_set sync_free blocks}} -pc_syncfree_ilu_threads {{1 3}}
         output_file: output/poisson_ilu.out
      test:
         suffix: icc
         args: -pc_type syncfree_icc -pc_syncfree_ilu_strategy {{serial blocks}} -pc_syncfree_ilu_threads 2
         output_file: output/poisson_icc.out
      test:
         suffix: package
         args: -pc_type icc -pc_factor_mat_solver_type syncfree
         output_file: output/poisson_icc.out
      test:
         suffix: single
         args: -pc_type syncfree_icc -pc_syncfree_ilu_storage single
         output_file: output/poisson_icc.out
      test:
         suffix: rcm
         args: -pc_type syncfree_icc -pc_factor_mat_ordering_type rcm -pc_factor_levels 1
      test:
         suffix: parallel
         nsize: 3
         args: -pc_type {{bjacobi syncfree_icc}} -sub_pc_type syncfree_icc
      test:
         suffix: asm
         nsize: 2
         args: -ksp_type gmres -pc_type asm -sub_pc_type syncfree_ilu
      test:
         suffix: mg
         args: -pc_type mg -pc_mg_levels 2 -pc_mg_galerkin -mg_levels_pc_type syncfree_ilu -mg_levels_ksp_type richardson -ksp_type fgmres

TEST*/
