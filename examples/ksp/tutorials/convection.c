static char help[] = "3-D convection-diffusion in a recirculating flow, -eps lap u + v . grad u = f, on the unit cube.\n\
GMRES; any -pc_type, for example syncfree_ilu.\n\n";

/*
  Upwind differences on a DMDA of the interior points; the boundary values (zero) are eliminated. The flow rotates in the
  x-y plane, and rises and falls with x, so no ordering follows it everywhere, and the matrix is not symmetric.

  Output: the iterations of GMRES and its converged reason, the true residual, and the error of the solution
  u = sin(pi x) sin(pi y) sin(pi z) of the differential equation, which is the discretization error of upwind
  differences, proportional to the mesh width. With -times N also N times of set-up, application and solve in seconds.
*/

#include <petscdm.h>
#include <petscdmda.h>

#include "report.h"

typedef struct {
  PetscReal epsilon, speed;
} Flow;

static void Velocity(const Flow *flow, const PetscReal p[3], PetscReal v[3])
{
  v[0] = flow->speed * 4.0 * p[0] * (1.0 - p[0]) * (1.0 - 2.0 * p[1]);
  v[1] = -flow->speed * 4.0 * p[1] * (1.0 - p[1]) * (1.0 - 2.0 * p[0]);
  v[2] = flow->speed * PetscSinReal(2.0 * PETSC_PI * p[0]) * p[2] * (1.0 - p[2]);
}

static PetscReal Solution(const PetscReal p[3])
{
  return PetscSinReal(PETSC_PI * p[0]) * PetscSinReal(PETSC_PI * p[1]) * PetscSinReal(PETSC_PI * p[2]);
}

/* Returns -eps lap u + v . grad u of the solution above. */
static PetscReal Source(const Flow *flow, const PetscReal p[3])
{
  PetscReal v[3], f = 3.0 * flow->epsilon * PETSC_PI * PETSC_PI * Solution(p);

  Velocity(flow, p, v);
  for (PetscInt axis = 0; axis < 3; axis++) {
    PetscReal slope = PETSC_PI;

    for (PetscInt d = 0; d < 3; d++) slope *= d == axis ? PetscCosReal(PETSC_PI * p[d]) : PetscSinReal(PETSC_PI * p[d]);
    f += v[axis] * slope;
  }
  return f;
}

/* Computes one row: diffusion in both directions of each axis, convection from the upwind side. */
static PetscInt FillRow(const Flow *flow, const PetscInt point[3], const PetscInt size[3], MatStencil column[7], PetscScalar value[7])
{
  PetscReal p[3], v[3], diagonal = 0.0;
  PetscInt  count = 0;

  for (PetscInt d = 0; d < 3; d++) p[d] = (point[d] + 1.0) / (size[d] + 1.0);
  Velocity(flow, p, v);
  for (PetscInt axis = 0; axis < 3; axis++) {
    const PetscReal h = 1.0 / (size[axis] + 1.0);

    for (PetscInt side = -1; side <= 1; side += 2) {
      const PetscReal flux     = flow->epsilon / (h * h) + PetscMax(-side * v[axis], 0.0) / h;
      PetscInt        there[3] = {point[0], point[1], point[2]};

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
  column[count].i = point[0];
  column[count].j = point[1];
  column[count].k = point[2];
  column[count].c = 0;
  value[count++]  = diagonal;
  return count;
}

static PetscErrorCode ComputeMatrix(KSP ksp, Mat A, Mat P, void *context)
{
  DM            da;
  DMDALocalInfo info;

  PetscFunctionBeginUser;
  PetscCall(KSPGetDM(ksp, &da));
  PetscCall(DMDAGetLocalInfo(da, &info));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        const PetscInt point[3] = {i, j, k}, size[3] = {info.mx, info.my, info.mz};
        MatStencil     row = {k, j, i, 0}, column[7];
        PetscScalar    value[7];
        const PetscInt count = FillRow((const Flow *)context, point, size, column, value);

        PetscCall(MatSetValuesStencil(P, 1, &row, count, column, value, INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  if (A != P) {
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Computes the solution u and the right-hand side b at the grid points. */
static PetscErrorCode FillVectors(const Flow *flow, DM da, Vec u, Vec b)
{
  DMDALocalInfo  info;
  PetscScalar ***solution, ***source;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMDAVecGetArray(da, u, &solution));
  PetscCall(DMDAVecGetArray(da, b, &source));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        const PetscReal p[3] = {(i + 1.0) / (info.mx + 1.0), (j + 1.0) / (info.my + 1.0), (k + 1.0) / (info.mz + 1.0)};

        solution[k][j][i] = Solution(p);
        source[k][j][i]   = Source(flow, p);
      }
    }
  }
  PetscCall(DMDAVecRestoreArray(da, u, &solution));
  PetscCall(DMDAVecRestoreArray(da, b, &source));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Upwind differences add a diffusion of speed * h / 2; the other differences are of second order. */
static PetscReal DiscretizationError(const Flow *flow, DM da)
{
  PetscInt  mx, my, mz;
  PetscReal h;

  if (DMDAGetInfo(da, NULL, &mx, &my, &mz, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)) return 0.0;
  h = 1.0 / (PetscMin(mx, PetscMin(my, mz)) + 1.0);
  return 0.25 * PetscAbsReal(flow->speed) * h / flow->epsilon + 10.0 * h * h;
}

int main(int argc, char **argv)
{
  DM   da;
  Vec  u, b, x;
  KSP  ksp;
  Flow flow = {1e-2, 1.0};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Convection-diffusion", NULL);
  PetscCall(PetscOptionsReal("-epsilon", "Diffusion", NULL, flow.epsilon, &flow.epsilon, NULL));
  PetscCall(PetscOptionsReal("-speed", "Size of the velocity", NULL, flow.speed, &flow.speed, NULL));
  PetscOptionsEnd();
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 15, 15, 15, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateGlobalVector(da, &u));
  PetscCall(VecDuplicate(u, &b));
  PetscCall(VecDuplicate(u, &x));
  PetscCall(FillVectors(&flow, da, u, b));

  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetDM(ksp, da));
  PetscCall(KSPSetComputeOperators(ksp, ComputeMatrix, &flow));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPSetTolerances(ksp, RTOL, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(SolveAndReport(ksp, b, x)); /* KSPSolve(), see report.h */
  PetscCall(ReportDifference(x, u, DiscretizationError(&flow, da)));

  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      test:
         suffix: ilu
         args: -pc_type syncfree_ilu -pc_syncfree_strategy {{auto serial level_set sync_free blocks loop}shared output} -pc_syncfree_threads {{1 2}shared output}
      test:
         suffix: package
         args: -pc_type ilu -pc_factor_mat_solver_type syncfree
         output_file: output/convection_ilu.out
      test:
         suffix: single
         args: -pc_type syncfree_ilu -pc_syncfree_factor_precision single -pc_syncfree_strategy {{serial blocks}shared output}
         output_file: output/convection_ilu.out
      test:
         suffix: levels
         args: -pc_type syncfree_ilu -pc_factor_levels {{1 2}separate output} -pc_syncfree_strategy {{serial blocks}shared output} -pc_syncfree_threads 2
      test:
         suffix: orderings
         args: -pc_type syncfree_ilu -pc_factor_mat_ordering_type {{rcm nd qmd 1wd}separate output} -pc_factor_levels 1 -pc_syncfree_strategy {{serial level_set}shared output} -pc_syncfree_threads 2
      test:
         suffix: shifts
         args: -pc_type syncfree_ilu -pc_factor_shift_type {{nonzero positive_definite inblocks}separate output}
      test:
         suffix: transpose
         args: -ksp_type bicg -pc_type syncfree_ilu -pc_syncfree_strategy {{serial level_set sync_free blocks loop}shared output} -pc_syncfree_threads 2
      test:
         suffix: right
         args: -ksp_type bcgs -ksp_pc_side right -pc_type syncfree_ilu -epsilon 1e-3
      test:
         suffix: bjacobi
         nsize: 2
         args: -pc_type bjacobi -sub_pc_type syncfree_ilu -sub_pc_syncfree_threads 2
      test:
         suffix: direct
         nsize: 2
         args: -pc_type syncfree_ilu
         output_file: output/convection_bjacobi.out
      test:
         suffix: asm
         nsize: 3
         args: -pc_type asm -pc_asm_overlap 2 -sub_pc_type syncfree_ilu -sub_pc_factor_mat_ordering_type rcm
      test:
         suffix: times
         args: -times 2 -pc_type syncfree_ilu
      test:
         suffix: sor_forward
         args: -pc_type syncfree_sor -pc_sor_forward -pc_sor_omega {{0.9 1.1}separate output}
      test:
         suffix: sor_backward
         nsize: 2
         args: -pc_type syncfree_sor -pc_sor_local_backward -pc_sor_its {{1 3}separate output}

TEST*/
