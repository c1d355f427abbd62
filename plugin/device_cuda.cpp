/*
  PETSc's device arrays and CUDA stream, for the backend `cuda`. Without that backend, or with a PETSc without CUDA or
  older than 3.20, everything is on the host.
*/

#include "borrow.hpp"

#if defined(SYNCFREE_HAVE_CUDA) && defined(PETSC_HAVE_CUDA) && !PETSC_VERSION_LT(3, 20, 0)
  #include <petscdevice_cuda.h>
  #define SYNCFREE_DEVICE 1
#else
  #define SYNCFREE_DEVICE 0
#endif

namespace syncfree_plugin {

PetscErrorCode FindDevice(PetscBool *found, std::string *why)
{
  PetscFunctionBegin;
#if SYNCFREE_DEVICE
  static std::string reason;
  static const bool  there = syncfree::has_cuda_device(&reason);
  *found                   = (PetscBool)there;
  *why                     = reason;
#else
  *found = PETSC_FALSE;
  #if PETSC_VERSION_LT(3, 20, 0) && defined(PETSC_HAVE_CUDA)
  *why = "this PETSc is older than 3.20, from which on GPUs are used";
  #else
  *why = PetscDefined(HAVE_CUDA) ? "this library was built without CUDA" : "this PETSc was built without CUDA";
  #endif
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode IsOnDevice(Mat block, PetscBool *device)
{
  PetscBool bound = PETSC_FALSE;

  PetscFunctionBegin;
  *device = PETSC_FALSE;
  if (!SYNCFREE_DEVICE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompare((PetscObject)block, MATSEQAIJCUSPARSE, device));
  PetscCall(MatBoundToCPU(block, &bound));
  if (bound) *device = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GetDeviceValues(Mat block, const PetscScalar **value)
{
  PetscFunctionBegin;
#if SYNCFREE_DEVICE
  PetscCall(MatSeqAIJCUSPARSEGetArrayRead(block, value));
#else
  (void)block, (void)value;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RestoreDeviceValues(Mat block, const PetscScalar **value)
{
  PetscFunctionBegin;
#if SYNCFREE_DEVICE
  PetscCall(MatSeqAIJCUSPARSERestoreArrayRead(block, value));
#else
  (void)block, (void)value;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if SYNCFREE_DEVICE
  #if PETSC_VERSION_LT(3, 26, 0)
using DeviceIndex = int;
  #else
using DeviceIndex = PetscInt;
  #endif
#endif

PetscErrorCode GetDevicePattern(Mat block, Index n, syncfree::PatternView<Index> *pattern)
{
  PetscFunctionBegin;
#if SYNCFREE_DEVICE
  if (sizeof(DeviceIndex) == sizeof(Index)) {
    const DeviceIndex *row, *column;

    PetscCall(MatSeqAIJCUSPARSEGetIJ(block, PETSC_FALSE, &row, &column));
    *pattern = {n, reinterpret_cast<const Index *>(row), reinterpret_cast<const Index *>(column)};
  }
#else
  (void)block, (void)n, (void)pattern;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RestoreDevicePattern(Mat block, syncfree::PatternView<Index> *pattern)
{
  PetscFunctionBegin;
#if SYNCFREE_DEVICE
  auto *row    = reinterpret_cast<const DeviceIndex *>(pattern->row_begin);
  auto *column = reinterpret_cast<const DeviceIndex *>(pattern->column);

  PetscCall(MatSeqAIJCUSPARSERestoreIJ(block, PETSC_FALSE, &row, &column));
#else
  (void)block;
#endif
  *pattern = {};
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HasFullBlocksThere(const BorrowedMatrix &matrix, PetscInt size, bool *full)
{
  PetscFunctionBegin;
  *full = false;
#if SYNCFREE_DEVICE
  cudaStream_t stream = nullptr;

  PetscCall(PetscGetCurrentCUDAStream(&stream));
  const auto status = syncfree::test_full_blocks_on_device(matrix.Pattern(), matrix.there, (int)size, stream, full);
  if (!status.ok()) PetscCall(PetscInfo(matrix.block, "Dense blocks were not looked for: %s\n", status.message().c_str()));
#else
  (void)matrix, (void)size;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PredictTilesThere(const BorrowedMatrix &matrix, PetscInt size, bool *tiled)
{
  PetscFunctionBegin;
  *tiled = false;
#if SYNCFREE_DEVICE
  const auto status = syncfree::predict_tiles_of_blocks<PetscScalar>(matrix.Pattern(), (int)size, tiled);
  if (!status.ok()) PetscCall(PetscInfo(matrix.block, "Tiles of dense blocks were not predicted: %s\n", status.message().c_str()));
#else
  (void)matrix, (void)size;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode UseMemory(UsesDevice *object, PetscMemType type)
{
  PetscFunctionBegin;
#if SYNCFREE_DEVICE
  cudaStream_t stream = nullptr;

  if (!object) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  object->use(PetscMemTypeDevice(type) ? syncfree::Memory::device : syncfree::Memory::host, stream);
#else
  (void)object, (void)type;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace syncfree_plugin
