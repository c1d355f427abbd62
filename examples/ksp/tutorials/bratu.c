static char help[] = "3-D Bratu problem, -lap u = lambda exp(u) + f, on the unit cube: Newton's method.\n\
Any -pc_type, for example syncfree_ilu.\n\n";

/*
  Seven-point finite differences on a DMDA of the interior points; the boundary values (zero) are eliminated. Newton's
  method uses the exact Jacobian. Its pattern does not change, so the preconditioner is analysed once and gets new
  values in every step.

  With -manufactured (default), f is such that u = 64 x(1-x) y(1-y) z(1-z) is the solution. Second differences of
  parabolas are exact, so the program finds u up to Newton's tolerance on any grid. Without it, f = 0, the original
  Bratu problem, which has solutions for lambda below about 9.9.

  Output: the Newton steps and their converged reason, the linear solves and their iterations, the largest true residual
  of a linear solve, and the error of u.
*/

#include <petscdm.h>
#include <petscdmda.h>
#include <petscsnes.h>

#include "report.h"

typedef struct {
  PetscReal lambda;
  PetscBool manufactured;
} Bratu;

static PetscReal Parabola(PetscReal x)
{
  return 4.0 * x * (1.0 - x);
}

static PetscReal Solution(const DMDALocalInfo *info, PetscInt i, PetscInt j, PetscInt k)
{
  return Parabola((i + 1.0) / (info->mx + 1.0)) * Parabola((j + 1.0) / (info->my + 1.0)) * Parabola((k + 1.0) / (info->mz + 1.0));
}

/* Returns f such that Solution() is the solution. */
static PetscReal Source(const Bratu *bratu, const DMDALocalInfo *info, PetscInt i, PetscInt j, PetscInt k)
{
  const PetscReal x = Parabola((i + 1.0) / (info->mx + 1.0)), y = Parabola((j + 1.0) / (info->my + 1.0)), z = Parabola((k + 1.0) / (info->mz + 1.0));

  if (!bratu->manufactured) return 0.0;
  return 8.0 * (y * z + x * z + x * y) - bratu->lambda * PetscExpReal(x * y * z);
}

/* Squares of the inverse mesh widths */
static void Widths(const DMDALocalInfo *info, PetscReal w[3])
{
  w[0] = PetscSqr(info->mx + 1.0);
  w[1] = PetscSqr(info->my + 1.0);
  w[2] = PetscSqr(info->mz + 1.0);
}

/* Values outside the grid are boundary values: zero */
static PetscScalar Value(const DMDALocalInfo *info, PetscScalar ***u, PetscInt i, PetscInt j, PetscInt k)
{
  if (i < 0 || j < 0 || k < 0 || i >= info->mx || j >= info->my || k >= info->mz) return 0.0;
  return u[k][j][i];
}

static PetscErrorCode FormFunction(DMDALocalInfo *info, void *array, void *result, void *context)
{
  const Bratu   *bratu = (const Bratu *)context;
  PetscScalar ***u = (PetscScalar ***)array, ***f = (PetscScalar ***)result;
  PetscReal      w[3];

  PetscFunctionBeginUser;
  Widths(info, w);
  for (PetscInt k = info->zs; k < info->zs + info->zm; k++) {
    for (PetscInt j = info->ys; j < info->ys + info->ym; j++) {
      for (PetscInt i = info->xs; i < info->xs + info->xm; i++) {
        const PetscScalar here = u[k][j][i];

        f[k][j][i] = w[0] * (2.0 * here - Value(info, u, i - 1, j, k) - Value(info, u, i + 1, j, k));
        f[k][j][i] += w[1] * (2.0 * here - Value(info, u, i, j - 1, k) - Value(info, u, i, j + 1, k));
        f[k][j][i] += w[2] * (2.0 * here - Value(info, u, i, j, k - 1) - Value(info, u, i, j, k + 1));
        f[k][j][i] -= bratu->lambda * PetscExpScalar(here) + Source(bratu, info, i, j, k);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Computes one row of the Jacobian. Returns the number of entries. */
static PetscInt FillRow(const DMDALocalInfo *info, const PetscInt point[3], PetscScalar slope, MatStencil column[7], PetscScalar value[7])
{
  const PetscInt size[3] = {info->mx, info->my, info->mz};
  PetscReal      w[3];
  PetscInt       count = 0;

  Widths(info, w);
  for (PetscInt axis = 0; axis < 3; axis++) {
    for (PetscInt side = -1; side <= 1; side += 2) {
      PetscInt there[3] = {point[0], point[1], point[2]};

      there[axis] += side;
      if (there[axis] < 0 || there[axis] >= size[axis]) continue;
      column[count].i = there[0];
      column[count].j = there[1];
      column[count].k = there[2];
      column[count].c = 0;
      value[count++]  = -w[axis];
    }
  }
  column[count].i = point[0];
  column[count].j = point[1];
  column[count].k = point[2];
  column[count].c = 0;
  value[count++]  = 2.0 * (w[0] + w[1] + w[2]) - slope;
  return count;
}

static PetscErrorCode FormJacobian(DMDALocalInfo *info, void *array, Mat J, Mat P, void *context)
{
  const Bratu   *bratu = (const Bratu *)context;
  PetscScalar ***u     = (PetscScalar ***)array;

  PetscFunctionBeginUser;
  for (PetscInt k = info->zs; k < info->zs + info->zm; k++) {
    for (PetscInt j = info->ys; j < info->ys + info->ym; j++) {
      for (PetscInt i = info->xs; i < info->xs + info->xm; i++) {
        const PetscInt point[3] = {i, j, k};
        MatStencil     row = {k, j, i, 0}, column[7];
        PetscScalar    value[7];
        const PetscInt count = FillRow(info, point, bratu->lambda * PetscExpScalar(u[k][j][i]), column, value);

        PetscCall(MatSetValuesStencil(P, 1, &row, count, column, value, INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  if (J != P) {
    PetscCall(MatAssemblyBegin(J, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(J, MAT_FINAL_ASSEMBLY));
  }
  PetscCall(MatSetOption(P, MAT_SYMMETRIC, PETSC_TRUE));
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
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) array[k][j][i] = Solution(&info, i, j, k);
  PetscCall(DMDAVecRestoreArray(da, u, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Report(SNES snes, const LinearSolves *sums)
{
  PetscInt            steps;
  SNESConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(SNESGetIterationNumber(snes, &steps));
  PetscCall(SNESGetConvergedReason(snes, &reason));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Newton steps %" PetscInt_FMT ", %s\n", steps, SNESConvergedReasons[reason]));
  PetscCall(ReportSolves(PETSC_COMM_WORLD, sums, 1e-3));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  DM           da;
  Vec          u, x;
  SNES         snes;
  KSP          ksp;
  Bratu        bratu = {6.0, PETSC_TRUE};
  LinearSolves sums  = {0, 0, 0, 0.0};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Bratu problem", NULL);
  PetscCall(PetscOptionsReal("-lambda", "Strength of the reaction", NULL, bratu.lambda, &bratu.lambda, NULL));
  PetscCall(PetscOptionsBool("-manufactured", "Choose f so that the solution is known", NULL, bratu.manufactured, &bratu.manufactured, NULL));
  PetscOptionsEnd();
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 12, 12, 12, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateGlobalVector(da, &u));
  PetscCall(VecDuplicate(u, &x));

  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetDM(snes, da));
  PetscCall(DMDASNESSetFunctionLocal(da, INSERT_VALUES, FormFunction, &bratu));
  PetscCall(DMDASNESSetJacobianLocal(da, FormJacobian, &bratu));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPSetPostSolve(ksp, CountSolve, &sums));
  PetscCall(SNESSolve(snes, NULL, x));
  PetscCall(Report(snes, &sums));
  if (bratu.manufactured) {
    PetscCall(FillSolution(da, u));
    PetscCall(ReportDifference(x, u, 100 * RTOL));
  }

  PetscCall(SNESDestroy(&snes));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&x));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      test:
         suffix: ilu
         args: -pc_type syncfree_ilu -pc_syncfree_strategy {{serial level_set sync_free blocks}shared output} -pc_syncfree_threads 2
      test:
         suffix: icc
         args: -ksp_type cg -pc_type syncfree_icc
      test:
         suffix: package
         args: -pc_type ilu -pc_factor_mat_solver_type syncfree
         output_file: output/bratu_ilu.out
      test:
         suffix: lag
         args: -pc_type syncfree_ilu -snes_lag_preconditioner 2 -snes_lag_jacobian {{1 2}separate output}
      test:
         suffix: free
         args: -manufactured 0 -lambda 9 -pc_type syncfree_ilu -pc_factor_levels 1
      test:
         suffix: asm
         nsize: 2
         args: -pc_type asm -sub_pc_type syncfree_ilu
      test:
         suffix: bjacobi
         nsize: 3
         args: -pc_type bjacobi -sub_pc_type syncfree_ilu
      test:
         suffix: direct
         nsize: 3
         args: -pc_type syncfree_ilu
         output_file: output/bratu_bjacobi.out
      test:
         suffix: mg
         args: -da_grid_x 9 -da_grid_y 9 -da_grid_z 9 -ksp_type fgmres -pc_type mg -pc_mg_levels 2 -pc_mg_galerkin -mg_levels_ksp_type richardson -mg_levels_pc_type syncfree_ilu

TEST*/
