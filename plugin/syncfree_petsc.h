/*
  Public interface of the syncfree plugin for PETSc programs that link it or load it.

  A program that only uses options needs nothing from here:

    -dll_append /path/to/libsyncfree_ilu.so -pc_type syncfree_ilu
*/
#pragma once

#include <petscpc.h>

/* PC types and the matrix solver package that this plugin registers */
#define PCSYNCFREEILU     "syncfree_ilu"
#define PCSYNCFREEICC     "syncfree_icc"
#define PCSYNCFREESOR     "syncfree_sor"
#define MATSOLVERSYNCFREE "syncfree"

/*E
   PCSyncFreeILUStorageType - the precision in which the factor is stored

   Values:
+  `PC_SYNCFREE_ILU_STORAGE_FULL`   - in `PetscScalar`
-  `PC_SYNCFREE_ILU_STORAGE_SINGLE` - in single precision, while all sums stay in `PetscScalar`

   Level: intermediate

.seealso: `PCSyncFreeILUSetStorage()`
E*/
typedef enum {
  PC_SYNCFREE_ILU_STORAGE_FULL,
  PC_SYNCFREE_ILU_STORAGE_SINGLE
} PCSyncFreeILUStorageType;
PETSC_EXTERN const char *const PCSyncFreeILUStorageTypes[];

PETSC_EXTERN PetscErrorCode PCSyncFreeILURegister(void);

PETSC_EXTERN PetscErrorCode PCSyncFreeILUSetBackend(PC, const char[]);
PETSC_EXTERN PetscErrorCode PCSyncFreeILUGetBackend(PC, const char *[]);
PETSC_EXTERN PetscErrorCode PCSyncFreeILUSetStrategy(PC, const char[]);
PETSC_EXTERN PetscErrorCode PCSyncFreeILUGetStrategy(PC, const char *[]);
PETSC_EXTERN PetscErrorCode PCSyncFreeILUSetThreads(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCSyncFreeILUGetThreads(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCSyncFreeILUSetStorage(PC, PCSyncFreeILUStorageType);
PETSC_EXTERN PetscErrorCode PCSyncFreeILUGetStorage(PC, PCSyncFreeILUStorageType *);

PETSC_EXTERN PetscErrorCode MatSyncFreeGetFactors(Mat, Mat *, Mat *);
