/*
  What every example says about a solve: iterations, why it stopped, and the true residual, computed
  from the matrix and not taken from the Krylov method.
*/
#pragma once

#include <petscksp.h>

#if PETSC_VERSION_LT(3, 19, 0)
  #define PETSC_SUCCESS 0
#endif

static PetscErrorCode ReportSolve(KSP ksp, Vec b, Vec x)
{
  Mat                A;
  Vec                r;
  PetscInt           iterations;
  PetscReal          residual, norm;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, &residual));
  PetscCall(VecNorm(b, NORM_2, &norm));
  PetscCall(PetscPrintf(PetscObjectComm((PetscObject)ksp), "iterations %" PetscInt_FMT ", %s, true residual %.3e\n", iterations, KSPConvergedReasons[reason], (double)(norm > 0 ? residual / norm : residual)));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}
