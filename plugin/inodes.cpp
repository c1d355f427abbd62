/*
  Inodes of a sequential AIJ matrix: consecutive rows with the same columns, which PETSc's sweeps relax together.

  MatInodeGetInodeSizes() returns those that the last assembly found. MatSetOption() with MAT_USE_INODES and false leaves
  them as they are until the next assembly, but PETSc's sweeps do not use them any more, and there is no getter for that
  option. It is a flag in PETSc's private data of the matrix, whose type is in no installed header, and the position differs
  between PETSc versions and kinds. So it is determined at run time, from a small matrix of our own: the data contain the
  address that MatInodeGetInodeSizes() returns, and among the bytes before this address one changes from 1 to 0 when the
  option is set to false.
*/

#include "sor_impl.hpp"

#include <algorithm>
#include <cstring>

namespace syncfree_plugin {

/* Bytes. The flag is at most `reach` before the address of the sizes, which begins within the first `searched` (at 296
   to 352 in PETSc 3.18 and 3.26); the data are not smaller than that (456). */
static constexpr std::ptrdiff_t reach = 32, searched = 400;

/* Position of the flag in the data of an assembled matrix with inodes, or no_flag. Sets the option to false. */
static PetscErrorCode FindFlag(Mat A, std::ptrdiff_t *flag)
{
  PetscInt       nodes = 0, *sizes = nullptr, *word = nullptr;
  const char    *data;
  char           last[reach];
  std::ptrdiff_t at = 0, changed = 0;

  PetscFunctionBegin;
  *flag = no_flag;
  PetscCall(MatInodeGetInodeSizes(A, &nodes, &sizes, nullptr));
  if (!sizes) PetscFunctionReturn(PETSC_SUCCESS);
  data = static_cast<const char *>(A->data);
  for (; at < searched && word != sizes; at += (std::ptrdiff_t)sizeof(word)) std::memcpy(&word, data + at, sizeof(word));
  at -= (std::ptrdiff_t)sizeof(word);
  if (word != sizes || at < reach) PetscFunctionReturn(PETSC_SUCCESS);
  std::memcpy(last, data + at - reach, reach);
  PetscCall(MatSetOption(A, MAT_USE_INODES, PETSC_FALSE));
  for (std::ptrdiff_t k = 0; k < reach; k++) {
    const char now = data[at - reach + k];
    if (now == last[k]) continue;
    changed++;
    if (last[k] == 1 && now == 0) *flag = at - reach + k;
  }
  if (changed != 1) *flag = no_flag;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two equal rows; the prefix keeps the program's options away. */
static PetscErrorCode FillInode(Mat A)
{
  const PetscInt    both[]  = {0, 1};
  const PetscScalar value[] = {1, 1, 1, 1};

  PetscFunctionBegin;
  PetscCall(MatSetOptionsPrefix(A, "syncfree_inode_"));
  PetscCall(MatSetSizes(A, 2, 2, 2, 2));
  PetscCall(MatSetType(A, MATSEQAIJ));
  PetscCall(MatSeqAIJSetPreallocation(A, 2, nullptr));
  PetscCall(MatSetValues(A, 2, both, 2, both, value, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FindFlagOfPetsc(std::ptrdiff_t *flag)
{
  Mat            A;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, &A));
  ierr = FillInode(A);
  if (!ierr) ierr = FindFlag(A, flag);
  PetscCall(MatDestroy(&A));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode UsesNodes(Mat block, Sor *sor, bool *uses)
{
  PetscInt  nodes = 0, *sizes = nullptr;
  PetscBool device, bound = PETSC_FALSE;

  PetscFunctionBegin;
  *uses = false;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)block, &device, "seqaijcusparse", "seqaijhipsparse", "seqaijkokkos", ""));
  if (device) PetscCall(MatBoundToCPU(block, &bound));
  PetscCall(MatInodeGetInodeSizes(block, &nodes, &sizes, nullptr));
  if (!sizes || nodes == 0 || (device && !bound)) PetscFunctionReturn(PETSC_SUCCESS);
  if (sor->inode_flag == unknown_flag) PetscCall(FindFlagOfPetsc(&sor->inode_flag));
  *uses = sor->inode_flag == no_flag || static_cast<const char *>(block->data)[sor->inode_flag];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GetNodes(Mat block, std::vector<Index> *begin)
{
  PetscInt  nodes = 0, *sizes = nullptr;
  PetscBool offsets;

  PetscFunctionBegin;
  PetscCall(MatInodeGetInodeSizes(block, &nodes, &sizes, nullptr));
  offsets = (PetscBool)(sizes[0] == 0);
  begin->assign(1, 0);
  for (PetscInt k = 0; k < nodes; k++) begin->push_back(offsets ? (Index)sizes[k + 1] : (Index)(begin->back() + sizes[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace syncfree_plugin
