static char help[] = "3-D convection-diffusion with a recirculating flow, -eps lap u + v . grad u = f, on the unit cube.\n\
  -epsilon <1e-2>   : diffusion\n\
  -speed <1>        : size of the velocity\n\
  -da_grid_x <n>    : unknowns in a direction, 17 by default (also _y, _z)\n\n";

/*
  Upwind differences on a DMDA, boundary values eliminated. The flow turns in the x-y plane and rises and
  falls in z, so no ordering follows it everywhere and the matrix is not symmetric: GMRES with ILU.

  What you see: the iterations of GMRES, the true residual, and the error against a known solution.
*/

#include <petscdmda.h>

#include "report.h"

static void Velocity(PetscReal x, PetscReal y, PetscReal z, PetscReal v[3])
{
  v[0] = 4.0 * x * (1.0 - x) * (1.0 - 2.0 * y);
  v[1] = -4.0 * y * (1.0 - y) * (1.0 - 2.0 * x);
  v[2] = PetscSinReal(2.0 * PETSC_PI * x) * z * (1.0 - z);
}

static PetscErrorCode FillMatrix(DM da, Mat A, PetscReal epsilon, PetscReal speed)
{
  DMDALocalInfo info;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  const PetscInt  size[3] = {info.mx, info.my, info.mz};
  const PetscReal h[3]    = {1.0 / (info.mx + 1), 1.0 / (info.my + 1), 1.0 / (info.mz + 1)};
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        MatStencil  row = {k, j, i, 0}, column[7];
        PetscScalar value[7], diagonal = 0.0;
        PetscInt    count = 0;
        PetscReal   v[3];

        Velocity((i + 1) * h[0], (j + 1) * h[1], (k + 1) * h[2], v);
        for (PetscInt axis = 0; axis < 3; axis++) {
          for (PetscInt side = -1; side <= 1; side += 2) {
            PetscInt        there[3] = {i, j, k};
            const PetscReal wind     = PetscMax(-side * speed * v[axis], 0.0); /* what comes from this side */
            const PetscReal flux     = epsilon / (h[axis] * h[axis]) + wind / h[axis];

            there[axis] += side;
            diagonal += flux;
            if (there[axis] < 0 || there[axis] >= size[axis]) continue;
            column[count].i = there[0];
            column[count].j = there[1];
            column[count].k = there[2];
            column[count].c = 0;
            value[count++]  = -flux;
          }
        }
        column[count]  = row;
        value[count++] = diagonal;
        PetscCall(MatSetValuesStencil(A, 1, &row, count, column, value, INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  DM          da;
  Mat         A;
  Vec         u, b, x;
  KSP         ksp;
  PetscRandom random;
  PetscReal   epsilon = 1e-2, speed = 1.0, error, norm;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-epsilon", &epsilon, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-speed", &speed, NULL));
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 17, 17, 17, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(FillMatrix(da, A, epsilon, speed));
  PetscCall(DMCreateGlobalVector(da, &u));
  PetscCall(VecDuplicate(u, &b));
  PetscCall(VecDuplicate(u, &x));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(PetscRandomSetType(random, PETSCRANDER48));
  PetscCall(VecSetRandom(u, random));
  PetscCall(MatMult(A, u, b));

  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(ReportSolve(ksp, b, x));

  PetscCall(VecNorm(u, NORM_2, &norm));
  PetscCall(VecAXPY(x, -1.0, u));
  PetscCall(VecNorm(x, NORM_2, &error));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "error %.3e\n", (double)(error / norm)));

  PetscCall(PetscRandomDestroy(&random));
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
         args: -pc_type syncfree_ilu -pc_syncfree_ilu_strategy {{auto serial level_set sync_free blocks}} -pc_syncfree_ilu_threads {{1 2}}
         output_file: output/convection_ilu.out
      test:
         suffix: package
         args: -pc_type ilu -pc_factor_mat_solver_type syncfree
         output_file: output/convection_ilu.out
      test:
         suffix: levels
         args: -pc_type syncfree_ilu -pc_factor_levels 2 -pc_syncfree_ilu_strategy {{serial blocks}} -pc_syncfree_ilu_threads 2
      test:
         suffix: nd
         args: -pc_type syncfree_ilu -pc_factor_mat_ordering_type nd -pc_factor_levels 1 -pc_syncfree_ilu_strategy {{serial level_set}} -pc_syncfree_ilu_threads 2
      test:
         suffix: transpose
         args: -ksp_type bicg -pc_type syncfree_ilu
      test:
         suffix: right
         args: -ksp_pc_side right -pc_type syncfree_ilu
      test:
         suffix: parallel
         nsize: 2
         args: -pc_type {{bjacobi syncfree_ilu}} -sub_pc_type syncfree_ilu

TEST*/
