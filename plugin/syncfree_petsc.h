/*
  Public interface of the syncfree plugin, for PETSc programs that link or load it.

  A program that uses options only does not need this file:

    -dll_append /path/to/libsyncfree_ilu.so -pc_type syncfree_ilu
*/
#pragma once

#include <petscpc.h>

/* PC types and the matrix solver package that this plugin registers */
#define PCSYNCFREEILU     "syncfree_ilu"
#define PCSYNCFREEICC     "syncfree_icc"
#define PCSYNCFREESOR     "syncfree_sor"
#define MATSOLVERSYNCFREE "syncfree"

/* Orderings that this plugin registers, for PCFactorSetMatOrderingType() and MatGetOrdering() */
#define MATORDERINGSYNCFREEMULTICOLOR "syncfree_multicolor"
#define MATORDERINGSYNCFREECYCLIC     "syncfree_cyclic"
#define MATORDERINGSYNCFREEABMC       "syncfree_abmc"
#define MATORDERINGSYNCFREEAUTO       "syncfree_auto"

/*E
   PCSyncFreePrecisionType - The precision in which the factor is stored

   Values:
+  `PC_SYNCFREE_PRECISION_SCALAR` - `PetscScalar`
-  `PC_SYNCFREE_PRECISION_SINGLE` - single precision; all sums are still computed in `PetscScalar`

   Level: intermediate

.seealso: `PCSYNCFREEILU`, `PCSYNCFREEICC`, `PCSyncFreeSetFactorPrecision()`, `PCSyncFreeGetFactorPrecision()`
E*/
typedef enum {
  PC_SYNCFREE_PRECISION_SCALAR,
  PC_SYNCFREE_PRECISION_SINGLE
} PCSyncFreePrecisionType;
PETSC_EXTERN const char *const PCSyncFreePrecisionTypes[];

PETSC_EXTERN PetscErrorCode PCSyncFreeRegister(void);
PETSC_EXTERN PetscErrorCode PCSyncFreeGetVersion(const char *[]);

PETSC_EXTERN PetscErrorCode PCSyncFreeSetBackend(PC, const char[]);
PETSC_EXTERN PetscErrorCode PCSyncFreeGetBackend(PC, const char *[]);
PETSC_EXTERN PetscErrorCode PCSyncFreeSetStrategy(PC, const char[]);
PETSC_EXTERN PetscErrorCode PCSyncFreeGetStrategy(PC, const char *[]);
PETSC_EXTERN PetscErrorCode PCSyncFreeSetThreads(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCSyncFreeGetThreads(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCSyncFreeSetFactorPrecision(PC, PCSyncFreePrecisionType);
PETSC_EXTERN PetscErrorCode PCSyncFreeGetFactorPrecision(PC, PCSyncFreePrecisionType *);
PETSC_EXTERN PetscErrorCode PCSyncFreeSetMemoryLimit(PC, PetscReal);
PETSC_EXTERN PetscErrorCode PCSyncFreeGetMemoryLimit(PC, PetscReal *);
PETSC_EXTERN PetscErrorCode PCSyncFreeGetRunningStrategy(PC, const char *[], const char *[]);

PETSC_EXTERN PetscErrorCode MatSyncFreeGetFactors(Mat, Mat *, Mat *);
