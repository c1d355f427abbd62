// deal.II: -div(grad u) = 1 on the unit cube, u = 0 on its boundary, with trilinear elements and PETScWrappers.
//
//   ./dealii_poisson -dll_append $HOME/syncfree/lib/libsyncfree_ilu.so [-pc_type syncfree_ilu] [-ksp_view]
//
// deal.II hands the command line to PETSc, and its solvers read PETSc's options. Also on several processes.
#include <deal.II/base/function.h>
#include <deal.II/base/mpi.h>
#include <deal.II/base/quadrature_lib.h>
#include <deal.II/distributed/tria.h>
#include <deal.II/dofs/dof_handler.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_values.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/lac/affine_constraints.h>
#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/lac/full_matrix.h>
#include <deal.II/lac/petsc_precondition.h>
#include <deal.II/lac/petsc_solver.h>
#include <deal.II/lac/petsc_sparse_matrix.h>
#include <deal.II/lac/petsc_vector.h>
#include <deal.II/lac/sparsity_tools.h>
#include <deal.II/numerics/vector_tools.h>

#include <iostream>
#include <vector>

using namespace dealii;

void check(PetscErrorCode error) { AssertThrow(error == 0, ExcPETScError(error)); }

int main(int argc, char **argv)
{
  Utilities::MPI::MPI_InitFinalize mpi(argc, argv, 1);
  const MPI_Comm                   comm = MPI_COMM_WORLD;

  parallel::distributed::Triangulation<3> mesh(comm);
  GridGenerator::hyper_cube(mesh);
  mesh.refine_global(5);
  const FE_Q<3> element(1);
  DoFHandler<3> unknowns(mesh);
  unknowns.distribute_dofs(element);
  const IndexSet owned    = unknowns.locally_owned_dofs();
  const IndexSet relevant = DoFTools::extract_locally_relevant_dofs(unknowns);

  AffineConstraints<PetscScalar> boundary;
  boundary.reinit(relevant);
  VectorTools::interpolate_boundary_values(unknowns, 0, Functions::ZeroFunction<3, PetscScalar>(), boundary);
  boundary.close();
  DynamicSparsityPattern pattern(relevant);
  DoFTools::make_sparsity_pattern(unknowns, pattern, boundary, false);
  SparsityTools::distribute_sparsity_pattern(pattern, owned, comm, relevant);

  PETScWrappers::MPI::SparseMatrix matrix;
  PETScWrappers::MPI::Vector       b(owned, comm), x(owned, comm);
  matrix.reinit(owned, owned, pattern, comm);

  const QGauss<3>                      quadrature(2);
  FEValues<3>                          values(element, quadrature, update_values | update_gradients | update_JxW_values);
  const unsigned int                   n = element.n_dofs_per_cell();
  FullMatrix<PetscScalar>              cell_matrix(n, n);
  Vector<PetscScalar>                  cell_vector(n);
  std::vector<types::global_dof_index> indices(n);
  for (const auto &cell : unknowns.active_cell_iterators()) {
    if (!cell->is_locally_owned()) continue;
    values.reinit(cell);
    cell_matrix = 0;
    cell_vector = 0;
    for (const unsigned int q : values.quadrature_point_indices()) {
      for (unsigned int i = 0; i < n; i++) {
        for (unsigned int j = 0; j < n; j++) {
          cell_matrix(i, j) += values.shape_grad(i, q) * values.shape_grad(j, q) * values.JxW(q);
        }
        cell_vector(i) += values.shape_value(i, q) * values.JxW(q);
      }
    }
    cell->get_dof_indices(indices);
    boundary.distribute_local_to_global(cell_matrix, cell_vector, indices, matrix, b);
  }
  matrix.compress(VectorOperation::add);
  b.compress(VectorOperation::add);

  // deal.II has no class for our types: one of its own gets our type, then what the options say
  PETScWrappers::PreconditionNone preconditioner(matrix);
  check(PCSetType(preconditioner.get_pc(), "syncfree_icc"));
  check(PCSetFromOptions(preconditioner.get_pc()));
  SolverControl           control(1000, 1e-10 * b.l2_norm());
  PETScWrappers::SolverCG solver(control);
  solver.solve(matrix, x, b, preconditioner);

  PCType       type;
  const double largest = x.linfty_norm(); // on all processes
  check(PCGetType(preconditioner.get_pc(), &type));
  if (Utilities::MPI::this_mpi_process(comm) == 0) {
    std::cout << unknowns.n_dofs() << " rows, PC " << type << ", iterations: " << control.last_step()
              << ", largest value: " << largest << std::endl;
  }
}
