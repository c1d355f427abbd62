/*
  Matrices of linear finite elements on the mesh of tetrahedra.h, for mesh_diffusion.c and mesh_convection.c. The unknowns
  are values at the vertices inside of the cube; those on its boundary are zero and eliminated.

    -mesh_cells n                 the grid has n x n x n cells, so the matrix has (n - 1)^3 rows
    -mesh_numbering grid|random   rows in the order of the grid, x fastest, or in random order

  Every process makes the tetrahedra of the whole mesh and keeps what belongs to its rows.
*/
#pragma once

#include <petscmat.h>

#include "report.h"
#include "tetrahedra.h"

typedef struct {
  PetscInt cells;  /* along each axis */
  int64_t *number; /* row of every inner vertex of the grid */
} Mesh;

/* One tetrahedron: corner i's function is 1 there, 0 at the others, and has the gradient slope[i]. */
typedef struct {
  PetscReal slope[4][3], volume, middle[3];
} Element;

/* Computes the element matrix, K[i][j] for the test function i and the function j. */
typedef void (*ElementMatrix)(const Element *element, const void *context, PetscReal K[4][4]);

static inline PetscErrorCode MeshCreate(Mesh *mesh)
{
  const char *const numberings[] = {"grid", "random"};
  PetscInt          numbering = 0, n = 20;
  int64_t           rows, *order;

  PetscFunctionBeginUser;
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Mesh of tetrahedra", NULL);
  PetscCall(PetscOptionsInt("-mesh_cells", "Cells along each axis, at least 2", NULL, n, &n, NULL));
  PetscCall(PetscOptionsEList("-mesh_numbering", "Order of the rows", NULL, numberings, 2, numberings[0], &numbering, NULL));
  PetscOptionsEnd();
  PetscCheck(n >= 2, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-mesh_cells %" PetscInt_FMT " must be at least 2", n);
  mesh->cells = n;
  rows        = (int64_t)(n - 1) * (n - 1) * (n - 1);
  PetscCheck(27 * rows == (int64_t)(PetscInt)(27 * rows), PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-mesh_cells %" PetscInt_FMT ": too many nonzeros for this PETSc's indices", n);
  PetscCall(PetscMalloc1(rows, &mesh->number));
  PetscCall(PetscMalloc1(rows, &order));
  RandomOrder(rows, order);
  for (int64_t i = 0; i < rows; i++) mesh->number[i] = numbering == 1 ? order[i] : i;
  PetscCall(PetscFree(order));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode MeshDestroy(Mesh *mesh)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree(mesh->number));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscInt MeshRows(const Mesh *mesh)
{
  return (mesh->cells - 1) * (mesh->cells - 1) * (mesh->cells - 1);
}

/* Returns the row of a vertex, -1 on the boundary, where PETSc ignores what it is given. */
static inline PetscInt MeshRow(const Mesh *mesh, int64_t vertex)
{
  const int64_t inner = InnerVertex(mesh->cells, vertex);

  return inner < 0 ? -1 : (PetscInt)mesh->number[inner];
}

static inline void CrossProduct(const double a[3], const double b[3], double c[3])
{
  for (int d = 0; d < 3; d++) c[d] = a[(d + 1) % 3] * b[(d + 2) % 3] - a[(d + 2) % 3] * b[(d + 1) % 3];
}

static inline void MakeElement(const Mesh *mesh, const int64_t vertex[4], Element *element)
{
  double x[4][3], edge[3][3], normal[3][3], six_volumes = 0.0;

  for (int i = 0; i < 4; i++) VertexPosition(mesh->cells, vertex[i], x[i]);
  for (int d = 0; d < 3; d++) {
    for (int k = 0; k < 3; k++) edge[k][d] = x[k + 1][d] - x[0][d];
    element->middle[d] = (PetscReal)(0.25 * (x[0][d] + x[1][d] + x[2][d] + x[3][d]));
  }
  for (int k = 0; k < 3; k++) CrossProduct(edge[(k + 1) % 3], edge[(k + 2) % 3], normal[k]);
  for (int d = 0; d < 3; d++) six_volumes += edge[0][d] * normal[0][d];
  for (int d = 0; d < 3; d++) {
    for (int k = 0; k < 3; k++) element->slope[k + 1][d] = (PetscReal)(normal[k][d] / six_volumes);
    element->slope[0][d] = -element->slope[1][d] - element->slope[2][d] - element->slope[3][d];
  }
  element->volume = (PetscReal)(six_volumes / 6.0);
}

/* The integral of grad phi_i . grad phi_j */
static inline PetscReal Stiffness(const Element *e, int i, int j)
{
  return e->volume * (e->slope[i][0] * e->slope[j][0] + e->slope[i][1] * e->slope[j][1] + e->slope[i][2] * e->slope[j][2]);
}

static inline PetscErrorCode MeshCreateMatrix(const Mesh *mesh, ElementMatrix fill, const void *context, Mat *A)
{
  const PetscInt n = mesh->cells;
  PetscInt       begin, end;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, MeshRows(mesh), MeshRows(mesh)));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 27, NULL)); /* a vertex and at most 26 neighbours */
  PetscCall(MatMPIAIJSetPreallocation(*A, 27, NULL, 27, NULL));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (int64_t cell = 0; cell < (int64_t)n * n * n; cell++) {
    int64_t tetrahedron[6][4];

    CellTetrahedra(n, cell, tetrahedron);
    for (int t = 0; t < 6; t++) {
      Element   element;
      PetscInt  row[4];
      PetscReal K[4][4];

      MakeElement(mesh, tetrahedron[t], &element);
      fill(&element, context, K);
      for (int i = 0; i < 4; i++) row[i] = MeshRow(mesh, tetrahedron[t][i]);
      for (int i = 0; i < 4; i++) {
        const PetscScalar value[4] = {K[i][0], K[i][1], K[i][2], K[i][3]};

        if (row[i] >= begin && row[i] < end) PetscCall(MatSetValues(*A, 1, &row[i], 4, row, value, ADD_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets u = sin(pi x) sin(pi y) sin(pi z) at the vertices. */
static inline PetscErrorCode MeshFillSolution(const Mesh *mesh, Vec u)
{
  const int64_t n = mesh->cells, vertices = (n + 1) * (n + 1) * (n + 1);
  PetscInt      begin, end;
  PetscScalar  *value;

  PetscFunctionBeginUser;
  PetscCall(VecGetOwnershipRange(u, &begin, &end));
  PetscCall(VecGetArrayWrite(u, &value));
  for (int64_t vertex = 0; vertex < vertices; vertex++) {
    const PetscInt row = MeshRow(mesh, vertex);
    double         x[3];

    if (row < begin || row >= end) continue;
    VertexPosition(n, vertex, x);
    value[row - begin] = PetscSinReal(PETSC_PI * (PetscReal)x[0]) * PetscSinReal(PETSC_PI * (PetscReal)x[1]) * PetscSinReal(PETSC_PI * (PetscReal)x[2]);
  }
  PetscCall(VecRestoreArrayWrite(u, &value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves A x = A u for the u of MeshFillSolution() and says how it went; the residual is that of the equations. */
static inline PetscErrorCode MeshSolve(const Mesh *mesh, Mat A, KSPType type)
{
  Vec u, b, x;
  KSP ksp;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &u, &b));
  PetscCall(VecDuplicate(u, &x));
  PetscCall(MeshFillSolution(mesh, u));
  PetscCall(MatMult(A, u, b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, type));
  PetscCall(KSPSetTolerances(ksp, RTOL, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(SolveAndReport(ksp, b, x)); /* KSPSolve(), see report.h */
  PetscCall(ReportDifference(x, u, PetscSqrtReal(RTOL)));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}
