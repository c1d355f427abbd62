static char help[] = "Reaction and diffusion of two substances (Gray-Scott) on a torus, implicit in time.\n\
  -da_grid_x <n>       : cells in a direction, 24 by default (also _y)\n\
  -ts_max_steps <20>   : time steps\n\n";

/*
  Each time step solves a nonlinear system, each Newton step of it a linear one: many Jacobians on one
  pattern. The preconditioner analyses the pattern once.

  What you see: time steps, Newton steps, linear iterations of all of them, and the mean of both substances.
*/

#include <petscdmda.h>
#include <petscts.h>

#if PETSC_VERSION_LT(3, 19, 0)
  #define PETSC_SUCCESS 0
#endif

typedef struct {
  PetscScalar u, v;
} Cell;

static const PetscReal feed = 0.024, kill = 0.06, diffusion[2] = {8e-5, 4e-5}, width = 2.5;

/* u_t - D lap u + u v^2 - feed (1 - u) = 0,  v_t - D lap v - u v^2 + (feed + kill) v = 0 */
static PetscErrorCode Residual(TS ts, PetscReal t, Vec U, Vec Udot, Vec F, void *ctx)
{
  DM            da;
  DMDALocalInfo info;
  Vec           local;
  Cell        **u, **udot, **f;

  PetscFunctionBeginUser;
  (void)t;
  (void)ctx;
  PetscCall(TSGetDM(ts, &da));
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMGetLocalVector(da, &local));
  PetscCall(DMGlobalToLocal(da, U, INSERT_VALUES, local));
  PetscCall(DMDAVecGetArrayRead(da, local, &u));
  PetscCall(DMDAVecGetArrayRead(da, Udot, &udot));
  PetscCall(DMDAVecGetArray(da, F, &f));
  const PetscReal sx = PetscSqr(info.mx / width), sy = PetscSqr(info.my / width);
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++)
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      const Cell        c = u[j][i], w = u[j][i - 1], e = u[j][i + 1], s = u[j - 1][i], n = u[j + 1][i];
      const PetscScalar reaction = c.u * c.v * c.v;

      f[j][i].u = udot[j][i].u - diffusion[0] * (sx * (w.u + e.u - 2.0 * c.u) + sy * (s.u + n.u - 2.0 * c.u)) + reaction - feed * (1.0 - c.u);
      f[j][i].v = udot[j][i].v - diffusion[1] * (sx * (w.v + e.v - 2.0 * c.v) + sy * (s.v + n.v - 2.0 * c.v)) - reaction + (feed + kill) * c.v;
    }
  PetscCall(DMDAVecRestoreArray(da, F, &f));
  PetscCall(DMDAVecRestoreArrayRead(da, Udot, &udot));
  PetscCall(DMDAVecRestoreArrayRead(da, local, &u));
  PetscCall(DMRestoreLocalVector(da, &local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Jacobian(TS ts, PetscReal t, Vec U, Vec Udot, PetscReal shift, Mat J, Mat P, void *ctx)
{
  DM            da;
  DMDALocalInfo info;
  Cell        **u;

  PetscFunctionBeginUser;
  (void)t;
  (void)Udot;
  (void)ctx;
  PetscCall(TSGetDM(ts, &da));
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(MatZeroEntries(P));
  PetscCall(DMDAVecGetArrayRead(da, U, &u));
  const PetscReal sx = PetscSqr(info.mx / width), sy = PetscSqr(info.my / width);
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++)
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      const Cell        c        = u[j][i];
      const PetscScalar local[2] = {c.v * c.v + feed, feed + kill - 2.0 * c.u * c.v};
      const PetscScalar cross[2] = {2.0 * c.u * c.v, -c.v * c.v};

      for (PetscInt d = 0; d < 2; d++) {
        MatStencil  row = {0, j, i, d}, column[6] = {{0, j, i - 1, d}, {0, j, i + 1, d}, {0, j - 1, i, d}, {0, j + 1, i, d}, {0, j, i, d}, {0, j, i, 1 - d}};
        PetscScalar value[6] = {-diffusion[d] * sx, -diffusion[d] * sx, -diffusion[d] * sy, -diffusion[d] * sy, shift + 2.0 * diffusion[d] * (sx + sy) + local[d], cross[d]};

        PetscCall(MatSetValuesStencil(P, 1, &row, 6, column, value, INSERT_VALUES));
      }
    }
  PetscCall(DMDAVecRestoreArrayRead(da, U, &u));
  PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  if (J != P) {
    PetscCall(MatAssemblyBegin(J, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(J, MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A square of the second substance in the middle. */
static PetscErrorCode Start(DM da, Vec U)
{
  DMDALocalInfo info;
  Cell        **u;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMDAVecGetArray(da, U, &u));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++)
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      const PetscBool inside = (PetscBool)(PetscAbsInt(2 * i - info.mx) < info.mx / 4 && PetscAbsInt(2 * j - info.my) < info.my / 4);

      u[j][i].v = inside ? 0.25 * PetscSqr(PetscCosReal(i) * PetscCosReal(j)) : 0.0;
      u[j][i].u = 1.0 - 2.0 * u[j][i].v;
    }
  PetscCall(DMDAVecRestoreArray(da, U, &u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  DM          da;
  TS          ts;
  Mat         J;
  Vec         U;
  PetscInt    steps, newton, linear, n;
  PetscScalar mean[2];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_PERIODIC, DMDA_STENCIL_STAR, 24, 24, PETSC_DECIDE, PETSC_DECIDE, 2, 1, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &J));
  PetscCall(DMCreateGlobalVector(da, &U));
  PetscCall(Start(da, U));
  PetscCall(TSCreate(PETSC_COMM_WORLD, &ts));
  PetscCall(TSSetDM(ts, da));
  PetscCall(TSSetType(ts, TSBEULER));
  PetscCall(TSSetIFunction(ts, NULL, Residual, NULL));
  PetscCall(TSSetIJacobian(ts, J, J, Jacobian, NULL));
  PetscCall(TSSetTimeStep(ts, 10.0));
  PetscCall(TSSetMaxSteps(ts, 20));
  PetscCall(TSSetMaxTime(ts, 1e6));
  PetscCall(TSSetExactFinalTime(ts, TS_EXACTFINALTIME_STEPOVER));
  PetscCall(TSSetFromOptions(ts));
  PetscCall(TSSolve(ts, U));
  PetscCall(TSGetStepNumber(ts, &steps));
  PetscCall(TSGetSNESIterations(ts, &newton));
  PetscCall(TSGetKSPIterations(ts, &linear));
  PetscCall(VecGetSize(U, &n));
  PetscCall(VecStrideSumAll(U, mean));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "time steps %" PetscInt_FMT ", Newton steps %" PetscInt_FMT ", linear iterations %" PetscInt_FMT ", means %.6f %.6f\n", steps, newton, linear, (double)PetscRealPart(mean[0]) / (n / 2), (double)PetscRealPart(mean[1]) / (n / 2)));
  PetscCall(VecDestroy(&U));
  PetscCall(MatDestroy(&J));
  PetscCall(TSDestroy(&ts));
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
         output_file: output/reaction_ilu.out
      test:
         suffix: levels
         args: -pc_type syncfree_ilu -pc_factor_levels 1 -pc_factor_mat_ordering_type rcm -pc_factor_reuse_ordering
      test:
         suffix: fieldsplit
         args: -ts_max_steps 5 -pc_type fieldsplit -pc_fieldsplit_block_size 2 -fieldsplit_pc_type syncfree_ilu
      test:
         suffix: parallel
         nsize: 2
         args: -ts_max_steps 8 -pc_type {{bjacobi syncfree_ilu}} -sub_pc_type syncfree_ilu

TEST*/
