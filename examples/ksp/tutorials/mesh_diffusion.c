static char help[] = "3-D diffusion with jumping coefficients, -div(c grad u) = f, on a mesh of tetrahedra.\n\
Conjugate gradients; any -pc_type, for example syncfree_icc with -pc_factor_mat_ordering_type syncfree_multicolor.\n\n";

/*
  Linear finite elements on the mesh of tetrahedra.h, see mesh.h. The coefficient c is constant in each of 6 x 6 x 6
  boxes, at random between 1 and the jump (its logarithm evenly). The matrix is symmetric and positive definite.

  In the order of the grid and in RCM order the rows of a factor wait for each other in hundreds of levels; in an order of
  colors there are about ten, and the iterations are hardly more.

  Output: the iterations of CG and its converged reason, the true residual, and the error of the solution of the linear
  system, which is known: the right-hand side is A u. With -times N also N times of set-up, application and solve in seconds.
*/

#include <petscksp.h>

#include "mesh.h"

static void FillElement(const Element *element, const void *context, PetscReal K[4][4])
{
  const PetscReal jump = *(const PetscReal *)context;
  int64_t         box  = 0;
  PetscReal       c;

  for (int d = 0; d < 3; d++) box = 6 * box + (int64_t)(6.0 * element->middle[d]);
  c = PetscPowReal(jump, (PetscReal)(0.5 + 0.5 * TetrahedraRandom(box, 3)));
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) K[i][j] = c * Stiffness(element, i, j);
}

int main(int argc, char **argv)
{
  Mesh      mesh;
  Mat       A;
  PetscReal jump = 1e4;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Diffusion on a mesh", NULL);
  PetscCall(PetscOptionsReal("-jump", "Largest coefficient; the smallest is 1", NULL, jump, &jump, NULL));
  PetscOptionsEnd();
  PetscCall(MeshCreate(&mesh));
  PetscCall(MeshCreateMatrix(&mesh, FillElement, &jump, &A));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MeshSolve(&mesh, A, KSPCG));
  PetscCall(MatDestroy(&A));
  PetscCall(MeshDestroy(&mesh));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      test:
         suffix: icc
         args: -pc_type syncfree_icc -pc_syncfree_strategy {{auto serial level_set sync_free blocks loop}shared output} -pc_syncfree_threads {{1 2}shared output}
      test:
         suffix: orderings
         args: -pc_type {{icc syncfree_icc}shared output} -pc_factor_mat_ordering_type {{rcm nd syncfree_multicolor syncfree_cyclic syncfree_abmc}separate output} -mesh_numbering random
      test:
         suffix: levels
         args: -pc_type syncfree_icc -pc_factor_levels 1 -pc_factor_mat_ordering_type syncfree_multicolor -pc_syncfree_strategy {{serial level_set}shared output} -pc_syncfree_threads 2
      test:
         suffix: ilu
         args: -ksp_type gmres -pc_type {{ilu syncfree_ilu}shared output} -pc_factor_mat_ordering_type syncfree_multicolor -mesh_cells 12
      test:
         suffix: bjacobi
         nsize: 2
         args: -pc_type bjacobi -sub_pc_type syncfree_icc -sub_pc_factor_mat_ordering_type syncfree_multicolor
      test:
         suffix: own_direct
         nsize: 2
         args: -pc_type syncfree_icc -pc_factor_mat_ordering_type syncfree_multicolor
         output_file: output/mesh_diffusion_bjacobi.out

TEST*/
