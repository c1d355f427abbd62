static char help[] = "3-D diffusion with variable and jumping coefficients, -div(c grad u) = f, on the unit cube.\n\
Conjugate gradients; any -pc_type, for example syncfree_icc or syncfree_ilu.\n\n";

/*
  Cell-centred finite volumes on a DMDA. The coefficient c is a smooth function times a jump: cubes of a second material
  fill every other cell of a 4 x 4 x 4 pattern. The flux between two cells uses the harmonic mean of their coefficients.
  The boundary values (zero) are eliminated, so the matrix is symmetric and positive definite.

  Output: the iterations of CG and its converged reason, the true residual, and the error of the known solution from
  which the right-hand side was computed. With -times N also N times of set-up, application and solve in seconds.
*/

#include <petscdm.h>
#include <petscdmda.h>

#include "report.h"

static PetscReal Coefficient(const PetscInt cell[3], const PetscInt size[3], PetscReal jump)
{
  const PetscReal x = (cell[0] + 0.5) / size[0], y = (cell[1] + 0.5) / size[1], z = (cell[2] + 0.5) / size[2];
  const PetscInt  pattern = (PetscInt)(4 * x) + (PetscInt)(4 * y) + (PetscInt)(4 * z);

  return (1.0 + 0.5 * x * y + 0.25 * z) * (pattern % 2 ? jump : 1.0);
}

/* Computes one row: the fluxes through the six faces of a cell. Returns the number of entries. */
static PetscInt FillRow(const PetscInt cell[3], const PetscInt size[3], PetscReal jump, MatStencil column[7], PetscScalar value[7])
{
  const PetscReal here     = Coefficient(cell, size, jump);
  PetscReal       diagonal = 0.0;
  PetscInt        count    = 0;

  for (PetscInt axis = 0; axis < 3; axis++) {
    const PetscReal scale = (PetscReal)size[axis] * size[axis] / ((PetscReal)size[0] * size[1] * size[2]); /* face area / distance */

    for (PetscInt side = -1; side <= 1; side += 2) {
      PetscInt  there[3] = {cell[0], cell[1], cell[2]};
      PetscReal other, flux;

      there[axis] += side;
      if (there[axis] < 0 || there[axis] >= size[axis]) {
        diagonal += 2.0 * scale * here; /* the boundary is at half a cell's distance */
        continue;
      }
      other             = Coefficient(there, size, jump);
      flux              = scale * 2.0 * here * other / (here + other);
      column[count].i   = there[0];
      column[count].j   = there[1];
      column[count].k   = there[2];
      column[count].c   = 0;
      value[count++]    = -flux;
      diagonal += flux;
    }
  }
  column[count].i = cell[0];
  column[count].j = cell[1];
  column[count].k = cell[2];
  column[count].c = 0;
  value[count++]  = diagonal;
  return count;
}

static PetscErrorCode ComputeMatrix(KSP ksp, Mat A, Mat P, void *context)
{
  const PetscReal jump = *(PetscReal *)context;
  DM              da;
  DMDALocalInfo   info;

  PetscFunctionBeginUser;
  PetscCall(KSPGetDM(ksp, &da));
  PetscCall(DMDAGetLocalInfo(da, &info));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        const PetscInt cell[3] = {i, j, k}, size[3] = {info.mx, info.my, info.mz};
        MatStencil     row = {k, j, i, 0}, column[7];
        PetscScalar    value[7];
        const PetscInt count = FillRow(cell, size, jump, column, value);

        PetscCall(MatSetValuesStencil(P, 1, &row, count, column, value, INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(P, MAT_SPD, PETSC_TRUE));
  if (A != P) {
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillSolution(DM da, Vec u)
{
  DMDALocalInfo  info;
  PetscScalar ***array;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMDAVecGetArray(da, u, &array));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        const PetscReal x = (i + 0.5) / info.mx, y = (j + 0.5) / info.my, z = (k + 0.5) / info.mz;

        array[k][j][i] = PetscSinReal(3.0 * x) * PetscCosReal(2.0 * y) + z;
      }
    }
  }
  PetscCall(DMDAVecRestoreArray(da, u, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateGrid(DM *da)
{
  PetscFunctionBeginUser;
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 16, 16, 16, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, da));
  PetscCall(DMSetFromOptions(*da));
  PetscCall(DMSetUp(*da));
  PetscCall(DMDASetInterpolationType(*da, DMDA_Q0)); /* unknowns are cell averages */
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  DM        da;
  Mat       A;
  Vec       u, b, x;
  KSP       ksp;
  PetscReal jump = 1e3;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Jumping diffusion", NULL);
  PetscCall(PetscOptionsReal("-jump", "Ratio between the coefficients of the two materials", NULL, jump, &jump, NULL));
  PetscOptionsEnd();
  PetscCall(CreateGrid(&da));
  PetscCall(DMCreateGlobalVector(da, &u));
  PetscCall(VecDuplicate(u, &b));
  PetscCall(VecDuplicate(u, &x));

  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetDM(ksp, da));
  PetscCall(KSPSetComputeOperators(ksp, ComputeMatrix, &jump));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetTolerances(ksp, RTOL, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(FillSolution(da, u));
  PetscCall(MatMult(A, u, b));
  PetscCall(SolveAndReport(ksp, b, x)); /* KSPSolve(), see report.h */
  PetscCall(ReportDifference(x, u, PetscSqrtReal(RTOL)));

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
         suffix: icc
         args: -pc_type syncfree_icc -pc_syncfree_strategy {{auto serial level_set sync_free blocks loop}shared output} -pc_syncfree_threads 2
      test:
         suffix: package_ilu
         args: -pc_type ilu -pc_factor_mat_solver_type syncfree
         output_file: output/poisson_ilu.out
      test:
         suffix: package_icc
         args: -pc_type icc -pc_factor_mat_solver_type syncfree
         output_file: output/poisson_icc.out
      test:
         suffix: single
         args: -pc_type syncfree_icc -pc_syncfree_factor_precision single -pc_syncfree_strategy {{serial level_set sync_free blocks loop}shared output}
         output_file: output/poisson_icc.out
      test:
         suffix: rcm
         args: -pc_type syncfree_icc -pc_factor_mat_ordering_type rcm -pc_factor_levels {{0 1}separate output}
      test:
         suffix: symmetric
         args: -ksp_type gmres -ksp_pc_side symmetric -pc_type syncfree_icc
      test:
         suffix: bjacobi
         nsize: 3
         args: -pc_type bjacobi -sub_pc_type syncfree_icc -sub_pc_syncfree_threads {{1 2}shared output}
      test:
         suffix: direct
         nsize: 3
         args: -pc_type syncfree_icc
         output_file: output/poisson_bjacobi.out
      # in single precision the number of iterations depends on rounding
      test:
         suffix: asm
         requires: double
         nsize: 2
         args: -ksp_type gmres -pc_type asm -sub_pc_type syncfree_ilu -sub_pc_factor_levels {{0 1}separate output}
      test:
         suffix: mg
         args: -ksp_type fgmres -pc_type mg -pc_mg_levels 3 -pc_mg_galerkin -mg_levels_ksp_type richardson -mg_levels_pc_type syncfree_ilu -mg_coarse_pc_type syncfree_icc -mg_coarse_ksp_type cg
      test:
         suffix: mg_parallel
         nsize: 2
         args: -ksp_type fgmres -pc_type mg -pc_mg_levels 2 -mg_levels_ksp_type richardson -mg_levels_pc_type bjacobi -mg_levels_sub_pc_type syncfree_icc -mg_coarse_pc_type redundant
      # lines of the view that PCILU and PCICC do not print
      test:
         suffix: own_view
         args: -pc_type {{syncfree_ilu syncfree_icc}separate output} -pc_syncfree_strategy blocks -pc_syncfree_threads 2 -pc_syncfree_factor_precision single -pc_factor_levels 1 -ksp_view -da_grid_x 8 -da_grid_y 8 -da_grid_z 8
         filter: grep -E -i "type: syncfree|levels of fill|strategy|precision|package used"
      test:
         suffix: own_view_detail
         args: -pc_type icc -pc_factor_mat_solver_type syncfree -pc_syncfree_strategy serial -ksp_view ::ascii_info_detail -da_grid_x 8 -da_grid_y 8 -da_grid_z 8
         filter: grep -E -i "strategy|precision|package used"
      test:
         suffix: sor
         args: -pc_type syncfree_sor -pc_syncfree_strategy {{serial level_set sync_free blocks}shared output} -pc_syncfree_threads 2
      test:
         suffix: sor_parallel
         nsize: 3
         args: -pc_type syncfree_sor -pc_sor_its 2 -pc_sor_lits 2
      test:
         suffix: sor_smoother
         nsize: {{1 2}separate output}
         args: -pc_type gamg -mg_levels_ksp_type richardson -mg_levels_pc_type syncfree_sor
         filter: sed -E "s/iterations [0-9]+/iterations N/"

TEST*/
