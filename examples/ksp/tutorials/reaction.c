static char help[] = "Brusselator in 3-D, two species that diffuse and react: implicit time steps.\n\
Any -pc_type, for example syncfree_ilu, or fieldsplit with syncfree_ilu for each species.\n\n";

/*
  u_t = D lap u + 1 - 4 u + u^2 v + f,    v_t = D lap v + 3 u - u^2 v + g    in the unit cube, no flux at the boundary.

  Cell-centred finite volumes on a DMDA with two unknowns per cell, Crank-Nicolson steps of fixed size, Newton's method
  with the exact Jacobian. This example shows how an analysis is reused: the pattern of the Jacobian does not change, so
  there is one analysis, then new values in every Newton step of every time step.

  The sources f, g are such that u = 1 + a/4 and v = 3 + a/2 with a = exp(-t) cos(pi x) cos(pi y) cos(pi z) solve the
  equations. The cosine is an eigenfunction of the finite volume operator, which only changes its rate of decay, by a
  factor that f and g contain. So the error is that of the time steps alone: a quarter when the step is halved.

  Output: the time steps and their converged reason, the Newton steps, the linear solves and their iterations, the
  largest true residual of a linear solve, and the error at the end.
*/

#include <petscdm.h>
#include <petscdmda.h>
#include <petscts.h>

#include "report.h"

typedef struct {
  PetscScalar u, v;
} Species;

typedef struct {
  PetscReal diffusion, step;
} Brusselator;

/* Returns a(t) in a cell. */
static PetscReal Wave(const DMDALocalInfo *info, PetscReal t, PetscInt i, PetscInt j, PetscInt k)
{
  return PetscExpReal(-t) * PetscCosReal(PETSC_PI * (i + 0.5) / info->mx) * PetscCosReal(PETSC_PI * (j + 0.5) / info->my) * PetscCosReal(PETSC_PI * (k + 0.5) / info->mz);
}

/* Returns the factor by which the discrete -lap multiplies the cosine. */
static PetscReal Decay(const DMDALocalInfo *info)
{
  const PetscInt size[3] = {info->mx, info->my, info->mz};
  PetscReal      decay   = 0.0;

  for (PetscInt d = 0; d < 3; d++) decay += 2.0 * (1.0 - PetscCosReal(PETSC_PI / size[d])) * size[d] * size[d];
  return decay;
}

static Species Reaction(Species s)
{
  Species r;

  r.u = 1.0 - 4.0 * s.u + s.u * s.u * s.v;
  r.v = 3.0 * s.u - s.u * s.u * s.v;
  return r;
}

static Species Solution(PetscReal wave)
{
  Species s;

  s.u = 1.0 + 0.25 * wave;
  s.v = 3.0 + 0.5 * wave;
  return s;
}

/* Returns f and g. */
static Species Source(const Brusselator *b, PetscReal decay, PetscReal wave)
{
  const Species r = Reaction(Solution(wave));
  Species       s;

  s.u = 0.25 * wave * (b->diffusion * decay - 1.0) - r.u;
  s.v = 0.5 * wave * (b->diffusion * decay - 1.0) - r.v;
  return s;
}

/* Adds -D lap of one cell: its differences from the existing neighbours. */
static void AddDiffusion(const Brusselator *b, const DMDALocalInfo *info, Species ***x, const PetscInt cell[3], Species *f)
{
  const PetscInt size[3] = {info->mx, info->my, info->mz};
  const Species  here    = x[cell[2]][cell[1]][cell[0]];

  for (PetscInt axis = 0; axis < 3; axis++) {
    const PetscReal scale = b->diffusion * size[axis] * size[axis];

    for (PetscInt side = -1; side <= 1; side += 2) {
      PetscInt there[3] = {cell[0], cell[1], cell[2]};

      there[axis] += side;
      if (there[axis] < 0 || there[axis] >= size[axis]) continue;
      f->u += scale * (here.u - x[there[2]][there[1]][there[0]].u);
      f->v += scale * (here.v - x[there[2]][there[1]][there[0]].v);
    }
  }
}

static PetscErrorCode FillFunction(const Brusselator *b, const DMDALocalInfo *info, PetscReal t, Species ***x, Species ***rate, Species ***f)
{
  const PetscReal decay = Decay(info);

  PetscFunctionBeginUser;
  for (PetscInt k = info->zs; k < info->zs + info->zm; k++) {
    for (PetscInt j = info->ys; j < info->ys + info->ym; j++) {
      for (PetscInt i = info->xs; i < info->xs + info->xm; i++) {
        const PetscInt cell[3] = {i, j, k};
        const Species  r = Reaction(x[k][j][i]), s = Source(b, decay, Wave(info, t, i, j, k));

        f[k][j][i].u = rate[k][j][i].u - r.u - s.u;
        f[k][j][i].v = rate[k][j][i].v - r.v - s.v;
        AddDiffusion(b, info, x, cell, &f[k][j][i]);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FormIFunction(TS ts, PetscReal t, Vec X, Vec Xdot, Vec F, void *context)
{
  DM            da;
  DMDALocalInfo info;
  Vec           local;
  Species    ***x, ***rate, ***f;

  PetscFunctionBeginUser;
  PetscCall(TSGetDM(ts, &da));
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMGetLocalVector(da, &local));
  PetscCall(DMGlobalToLocalBegin(da, X, INSERT_VALUES, local));
  PetscCall(DMGlobalToLocalEnd(da, X, INSERT_VALUES, local));
  PetscCall(DMDAVecGetArrayRead(da, local, &x));
  PetscCall(DMDAVecGetArrayRead(da, Xdot, &rate));
  PetscCall(DMDAVecGetArray(da, F, &f));
  PetscCall(FillFunction((const Brusselator *)context, &info, t, x, rate, f));
  PetscCall(DMDAVecRestoreArray(da, F, &f));
  PetscCall(DMDAVecRestoreArrayRead(da, Xdot, &rate));
  PetscCall(DMDAVecRestoreArrayRead(da, local, &x));
  PetscCall(DMRestoreLocalVector(da, &local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Computes the two rows of a cell: the species are coupled in the diagonal block only. */
static PetscErrorCode FillRows(const Brusselator *b, const DMDALocalInfo *info, PetscReal shift, const PetscInt cell[3], Species s, Mat P)
{
  const PetscInt size[3] = {info->mx, info->my, info->mz};
  PetscReal      sum     = shift;

  PetscFunctionBeginUser;
  MatStencil row[2] = {
    {cell[2], cell[1], cell[0], 0},
    {cell[2], cell[1], cell[0], 1}
  };
  for (PetscInt axis = 0; axis < 3; axis++) {
    const PetscScalar flux = b->diffusion * size[axis] * size[axis], negative = -flux;

    for (PetscInt side = -1; side <= 1; side += 2) {
      PetscInt   there[3] = {cell[0], cell[1], cell[2]};
      MatStencil column;

      there[axis] += side;
      if (there[axis] < 0 || there[axis] >= size[axis]) continue;
      sum += PetscRealPart(flux);
      column.i = there[0];
      column.j = there[1];
      column.k = there[2];
      for (column.c = 0; column.c < 2; column.c++) PetscCall(MatSetValuesStencil(P, 1, &row[column.c], 1, &column, &negative, INSERT_VALUES));
    }
  }
  const PetscScalar block[4] = {sum + 4.0 - 2.0 * s.u * s.v, -s.u * s.u, -3.0 + 2.0 * s.u * s.v, sum + s.u * s.u};
  PetscCall(MatSetValuesStencil(P, 2, row, 2, row, block, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FormIJacobian(TS ts, PetscReal t, Vec X, Vec Xdot, PetscReal shift, Mat J, Mat P, void *context)
{
  DM            da;
  DMDALocalInfo info;
  Species    ***x;

  PetscFunctionBeginUser;
  PetscCall(TSGetDM(ts, &da));
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMDAVecGetArrayRead(da, X, &x));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        const PetscInt cell[3] = {i, j, k};

        PetscCall(FillRows((const Brusselator *)context, &info, shift, cell, x[k][j][i], P));
      }
    }
  }
  PetscCall(DMDAVecRestoreArrayRead(da, X, &x));
  PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  if (J != P) {
    PetscCall(MatAssemblyBegin(J, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(J, MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillSolution(DM da, PetscReal t, Vec X)
{
  DMDALocalInfo info;
  Species    ***x;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMDAVecGetArray(da, X, &x));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++)
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++)
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) x[k][j][i] = Solution(Wave(&info, t, i, j, k));
  PetscCall(DMDAVecRestoreArray(da, X, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateGrid(DM *da)
{
  const PetscInt here[4] = {1, 1, 1, 1}, there[4] = {1, 0, 0, 1}; /* coupling of the species, in a cell and between cells */

  PetscFunctionBeginUser;
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 8, 8, 8, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 2, 1, NULL, NULL, NULL, da));
  PetscCall(DMSetFromOptions(*da));
  PetscCall(DMSetUp(*da));
  PetscCall(DMDASetFieldName(*da, 0, "u"));
  PetscCall(DMDASetFieldName(*da, 1, "v"));
  PetscCall(DMDASetBlockFills(*da, here, there));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateStepper(DM da, Mat J, Brusselator *b, LinearSolves *sums, TS *ts)
{
  TSAdapt adapt;
  SNES    snes;
  KSP     ksp;

  PetscFunctionBeginUser;
  PetscCall(TSCreate(PETSC_COMM_WORLD, ts));
  PetscCall(TSSetDM(*ts, da));
  PetscCall(TSSetType(*ts, TSCN));
  PetscCall(TSSetIFunction(*ts, NULL, FormIFunction, b));
  PetscCall(TSSetIJacobian(*ts, J, J, FormIJacobian, b));
  PetscCall(TSSetTimeStep(*ts, b->step));
  PetscCall(TSSetMaxTime(*ts, 1.0));
  PetscCall(TSSetMaxSteps(*ts, 100000));
  PetscCall(TSSetExactFinalTime(*ts, TS_EXACTFINALTIME_MATCHSTEP));
  PetscCall(TSGetAdapt(*ts, &adapt));
  PetscCall(TSAdaptSetType(adapt, TSADAPTNONE));
  PetscCall(TSSetFromOptions(*ts));
  PetscCall(TSGetSNES(*ts, &snes));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPSetPostSolve(ksp, CountSolve, sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Report(TS ts, const LinearSolves *sums)
{
  PetscInt          steps, newton;
  TSConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(TSGetStepNumber(ts, &steps));
  PetscCall(TSGetSNESIterations(ts, &newton));
  PetscCall(TSGetConvergedReason(ts, &reason));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "time steps %" PetscInt_FMT ", %s\nNewton steps %" PetscInt_FMT "\n", steps, TSConvergedReasons[reason], newton));
  PetscCall(ReportSolves(PETSC_COMM_WORLD, sums, 1e-3));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  DM           da;
  Mat          J;
  Vec          x, exact;
  TS           ts;
  PetscReal    end;
  Brusselator  brusselator = {1.0, 0.02};
  LinearSolves sums        = {0, 0, 0, 0.0};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Brusselator", NULL);
  PetscCall(PetscOptionsReal("-diffusion", "D, the same for both species", NULL, brusselator.diffusion, &brusselator.diffusion, NULL));
  PetscCall(PetscOptionsReal("-step", "Size of a time step; the time ends at 1", NULL, brusselator.step, &brusselator.step, NULL));
  PetscOptionsEnd();
  PetscCall(CreateGrid(&da));
  PetscCall(DMCreateMatrix(da, &J));
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(VecDuplicate(x, &exact));
  PetscCall(CreateStepper(da, J, &brusselator, &sums, &ts));
  PetscCall(FillSolution(da, 0.0, x));
  PetscCall(TSSolve(ts, x));
  PetscCall(Report(ts, &sums));
  PetscCall(TSGetSolveTime(ts, &end));
  PetscCall(FillSolution(da, end, exact));
  PetscCall(ReportDifference(x, exact, 1e-3));

  PetscCall(TSDestroy(&ts));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&exact));
  PetscCall(MatDestroy(&J));
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
         suffix: package
         args: -pc_type ilu -pc_factor_mat_solver_type syncfree
         output_file: output/reaction_ilu.out
      test:
         suffix: levels
         args: -pc_type syncfree_ilu -pc_factor_levels 1 -pc_factor_mat_ordering_type rcm -step 0.1
      test:
         suffix: fieldsplit
         args: -pc_type fieldsplit -pc_fieldsplit_type multiplicative -fieldsplit_u_pc_type syncfree_ilu -fieldsplit_v_pc_type syncfree_ilu -fieldsplit_u_ksp_type preonly -fieldsplit_v_ksp_type preonly -step 0.05
      test:
         suffix: bjacobi
         nsize: 2
         args: -pc_type bjacobi -sub_pc_type syncfree_ilu -step 0.05
      test:
         suffix: direct
         nsize: 2
         args: -pc_type syncfree_ilu -step 0.05
         output_file: output/reaction_bjacobi.out
      # in single precision the number of iterations depends on rounding
      test:
         suffix: asm
         requires: double
         nsize: 3
         args: -pc_type asm -sub_pc_type syncfree_ilu -step 0.1

TEST*/
