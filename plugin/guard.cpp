/*
  Errors of one call and of one process: what guard.hpp declares.
*/

#include "guard.hpp"

namespace syncfree_plugin {

PetscErrorCode OutOfMemory(const StackFrames &frames)
{
  frames.Restore();
  PetscFunctionBegin;
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "Out of memory of the host");
}

PetscErrorCode Unexpected(const StackFrames &frames, const char what[])
{
  frames.Restore();
  PetscFunctionBegin;
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_LIB, "C++ exception: %s", what);
}

PetscErrorCode Agree(MPI_Comm comm, PetscErrorCode mine, int *number)
{
  PetscMPIInt size;
  int         local[] = {(int)mine, number ? *number : 0}, worst[] = {local[0], local[1]};
  const char *text    = nullptr;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  if (size > 1) PetscCallMPI(MPI_Allreduce(local, worst, 2, MPI_INT, MPI_MAX, comm));
  PetscCall(mine);
  if (worst[0]) PetscCall(PetscErrorMessage((PetscErrorCode)worst[0], &text, nullptr));
  PetscCheck(!worst[0], PETSC_COMM_SELF, (PetscErrorCode)worst[0], "Another process failed: %s", text ? text : "see its own message");
  if (number) *number = worst[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace syncfree_plugin
