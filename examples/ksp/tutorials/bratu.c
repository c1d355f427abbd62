static char help[] = "3-D Bratu problem, -lap u = lambda exp(u) on the unit cube, u = 0 on the boundary, by Newton's method.\n\
  -lambda <6>       : 0 to about 9.9; beyond that there is no solution\n\
  -da_grid_x <n>    : unknowns in a direction, 9 by default (also _y, _z)\n\n";

/*
  Every Newton step solves with a new Jacobian on the same pattern: the preconditioner analyses the
  pattern once and refreshes its numbers in each step.

  What you see: Newton steps, the linear iterations of all of them, and the maximum of the solution.
*/

#include <petscdmda.h>
#include <petscsnes.h>

#if PETSC_VERSION_LT(3, 19, 0)
  #define PETSC_SUCCESS 0
#endif

typedef struct {
  PetscReal lambda;
} Problem;

static PetscErrorCode Residual(DMDALocalInfo *info, PetscScalar ***u, PetscScalar ***f, Problem *problem)
{
  const PetscReal hx = 1.0 / (info->mx + 1), hy = 1.0 / (info->my + 1), hz = 1.0 / (info->mz + 1), volume = hx * hy * hz;

  PetscFunctionBeginUser;
  for (PetscInt k = info->zs; k < info->zs + info->zm; k++)
    for (PetscInt j = info->ys; j < info->ys + info->ym; j++)
      for (PetscInt i = info->xs; i < info->xs + info->xm; i++) {
        const PetscScalar c = u[k][j][i];
        const PetscScalar w = i > 0 ? u[k][j][i - 1] : 0.0, e = i < info->mx - 1 ? u[k][j][i + 1] : 0.0;
        const PetscScalar s = j > 0 ? u[k][j - 1][i] : 0.0, n = j < info->my - 1 ? u[k][j + 1][i] : 0.0;
        const PetscScalar b = k > 0 ? u[k - 1][j][i] : 0.0, t = k < info->mz - 1 ? u[k + 1][j][i] : 0.0;

        f[k][j][i] = volume * ((2.0 * c - w - e) / (hx * hx) + (2.0 * c - s - n) / (hy * hy) + (2.0 * c - b - t) / (hz * hz) - problem->lambda * PetscExpScalar(c));
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Jacobian(DMDALocalInfo *info, PetscScalar ***u, Mat J, Mat P, Problem *problem)
{
  const PetscReal h[3] = {1.0 / (info->mx + 1), 1.0 / (info->my + 1), 1.0 / (info->mz + 1)}, volume = h[0] * h[1] * h[2];
  const PetscInt  size[3] = {info->mx, info->my, info->mz};

  PetscFunctionBeginUser;
  for (PetscInt k = info->zs; k < info->zs + info->zm; k++)
    for (PetscInt j = info->ys; j < info->ys + info->ym; j++)
      for (PetscInt i = info->xs; i < info->xs + info->xm; i++) {
        MatStencil  row = {k, j, i, 0}, column[7];
        PetscScalar value[7], diagonal = -volume * problem->lambda * PetscExpScalar(u[k][j][i]);
        PetscInt    count = 0;

        for (PetscInt axis = 0; axis < 3; axis++)
          for (PetscInt side = -1; side <= 1; side += 2) {
            PetscInt        there[3] = {i, j, k};
            const PetscReal flux     = volume / (h[axis] * h[axis]);

            there[axis] += side;
            diagonal += flux;
            if (there[axis] < 0 || there[axis] >= size[axis]) continue;
            column[count].i = there[0];
            column[count].j = there[1];
            column[count].k = there[2];
            column[count].c = 0;
            value[count++]  = -flux;
          }
        column[count]  = row;
        value[count++] = diagonal;
        PetscCall(MatSetValuesStencil(P, 1, &row, count, column, value, INSERT_VALUES));
      }
  PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  if (J != P) {
    PetscCall(MatAssemblyBegin(J, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(J, MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  DM                  da;
  SNES                snes;
  KSP                 ksp;
  Vec                 u;
  Problem             problem = {6.0};
  PetscInt            steps, iterations;
  PetscReal           highest;
  SNESConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-lambda", &problem.lambda, NULL));
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 9, 9, 9, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMDASNESSetFunctionLocal(da, INSERT_VALUES, (PetscErrorCode(*)(DMDALocalInfo *, void *, void *, void *))Residual, &problem));
  PetscCall(DMDASNESSetJacobianLocal(da, (PetscErrorCode(*)(DMDALocalInfo *, void *, Mat, Mat, void *))Jacobian, &problem));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetDM(snes, da));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(DMCreateGlobalVector(da, &u));
  PetscCall(VecSet(u, 0.0));
  PetscCall(SNESSolve(snes, NULL, u));
  PetscCall(SNESGetIterationNumber(snes, &steps));
  PetscCall(SNESGetLinearSolveIterations(snes, &iterations));
  PetscCall(SNESGetConvergedReason(snes, &reason));
  PetscCall(VecMax(u, NULL, &highest));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Newton steps %" PetscInt_FMT ", linear iterations %" PetscInt_FMT ", %s, maximum %.5f\n", steps, iterations, SNESConvergedReasons[reason], (double)highest));
  PetscCall(VecDestroy(&u));
  PetscCall(SNESDestroy(&snes));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      requires: double !complex
      test:
         suffix: ilu
         args: -pc_type syncfree_ilu -pc_syncfree_ilu_strategy {{auto level_set sync_free blocks}} -pc_syncfree_ilu_threads 2
         output_file: output/bratu_ilu.out
      test:
         suffix: icc
         args: -ksp_type cg -pc_type syncfree_icc
      test:
         suffix: lag
         args: -snes_lag_preconditioner 2 -pc_type syncfree_ilu
      test:
         suffix: parallel
         nsize: 2
         args: -pc_type {{asm bjacobi}} -pc_asm_overlap 0 -sub_pc_type syncfree_ilu

TEST*/
