static char help[] = "3-D convection-diffusion, -eps lap u + v . grad u = f, on a mesh of tetrahedra.\n\
GMRES; any -pc_type, for example syncfree_ilu.\n\n";

/*
  Linear finite elements on the mesh of tetrahedra.h, see mesh.h. Convection is much stronger than diffusion, and each
  element has as much more diffusion as makes the entries of its convection off the diagonal at most zero (discrete
  upwinding: Kuzmin & Turek 2002, there for the whole matrix). The matrix is not symmetric.

  The flow enters at x = 0 and y = 0, turns as it rises, and never runs against the order of the grid, in which ILU(0)
  therefore carries the solution along: few iterations. Colors cut the flow into steps from color to color: with few
  colors twice the iterations and more, with many colors that follow the order (syncfree_cyclic) in between.

  Output: the iterations of GMRES and its converged reason, the true residual, and the error of the solution of the
  linear system, which is known: the right-hand side is A u. With -times N also N times of set-up, application and
  solve in seconds.
*/

#include <petscksp.h>

#include "mesh.h"

static void FillElement(const Element *element, const void *context, PetscReal K[4][4])
{
  const PetscReal epsilon = *(const PetscReal *)context, v[3] = {1.0, 1.0 - element->middle[2], element->middle[1]};
  PetscReal       convected[4]; /* the integral of phi_i v . grad phi_j, the same for every i */

  for (int j = 0; j < 4; j++) convected[j] = 0.25 * element->volume * (v[0] * element->slope[j][0] + v[1] * element->slope[j][1] + v[2] * element->slope[j][2]);
  for (int i = 0; i < 4; i++) {
    K[i][i] = epsilon * Stiffness(element, i, i) + convected[i];
    for (int j = 0; j < 4; j++) {
      const PetscReal more = PetscMax(0.0, PetscMax(convected[i], convected[j]));

      if (j == i) continue;
      K[i][j] = epsilon * Stiffness(element, i, j) + convected[j] - more;
      K[i][i] += more;
    }
  }
}

int main(int argc, char **argv)
{
  Mesh      mesh;
  Mat       A;
  PetscReal epsilon = 1e-4;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Convection-diffusion on a mesh", NULL);
  PetscCall(PetscOptionsReal("-epsilon", "Diffusion", NULL, epsilon, &epsilon, NULL));
  PetscOptionsEnd();
  PetscCall(MeshCreate(&mesh));
  PetscCall(MeshCreateMatrix(&mesh, FillElement, &epsilon, &A));
  PetscCall(MeshSolve(&mesh, A, KSPGMRES));
  PetscCall(MatDestroy(&A));
  PetscCall(MeshDestroy(&mesh));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      test:
         suffix: ilu
         args: -pc_type syncfree_ilu -pc_syncfree_strategy {{auto serial level_set sync_free blocks loop}shared output} -pc_syncfree_threads {{1 2}shared output}
      test:
         suffix: orderings
         args: -pc_type {{ilu syncfree_ilu}shared output} -pc_factor_mat_ordering_type {{rcm syncfree_multicolor syncfree_cyclic syncfree_abmc}separate output}
      test:
         suffix: colors
         args: -pc_type syncfree_ilu -pc_factor_mat_ordering_type syncfree_cyclic -pc_syncfree_cyclic_colors {{8 64}separate output} -pc_syncfree_strategy {{serial level_set blocks}shared output} -pc_syncfree_threads 2
      test:
         suffix: random
         args: -mesh_numbering random -pc_type syncfree_ilu -pc_factor_mat_ordering_type {{natural rcm}separate output}
      test:
         suffix: bjacobi
         nsize: 2
         args: -pc_type bjacobi -sub_pc_type syncfree_ilu -sub_pc_factor_mat_ordering_type rcm

TEST*/
