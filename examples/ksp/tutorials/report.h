/*
  What every example says about a solve: iterations, why it stopped, and the true residual ||b - A x|| / ||b||,
  computed from the matrix and not taken from the Krylov method.

  The test harness masks floating-point numbers. So a number that is larger than it may be is followed by words,
  and those no mask hides.
*/
#pragma once

#include <petscdevice.h>
#include <petscksp.h>

#if PETSC_VERSION_LT(3, 19, 0) && !defined(PETSC_SUCCESS)
  #define PETSC_SUCCESS 0
#endif

/* What the examples solve to: in single precision rounding keeps residuals from falling as far as in double. */
#define RTOL PetscMax((PetscReal)1e-8, 100 * PETSC_MACHINE_EPSILON)

/* ||b - A x|| / ||b||, or ||A x|| where b is zero */
static inline PetscErrorCode TrueResidual(Mat A, Vec b, Vec x, PetscReal *residual)
{
  Vec       r;
  PetscReal norm;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, residual));
  PetscCall(VecNorm(b, NORM_2, &norm));
  if (norm > 0) *residual /= norm;
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* "error 1.2e-09", and loudly so where it is not below the bound (a NaN is not) */
static inline PetscErrorCode ReportError(MPI_Comm comm, const char what[], PetscReal error, PetscReal bound)
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(comm, "%s %.3e%s\n", what, (double)error, error <= bound ? "" : ": TOO LARGE"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ||x - u|| / ||u|| of a solution x where the right one is u; ||x - u|| if u is zero or empty */
static inline PetscErrorCode ReportDifference(Vec x, Vec u, PetscReal bound)
{
  Vec       difference;
  PetscReal error, norm;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(x, &difference));
  PetscCall(VecWAXPY(difference, -1.0, u, x));
  PetscCall(VecNorm(difference, NORM_2, &error));
  PetscCall(VecNorm(u, NORM_2, &norm));
  PetscCall(ReportError(PetscObjectComm((PetscObject)x), "error", norm > 0 ? error / norm : error, bound));
  PetscCall(VecDestroy(&difference));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ReportSolve(KSP ksp, Vec b, Vec x)
{
  MPI_Comm           comm = PetscObjectComm((PetscObject)ksp);
  Mat                A;
  PetscInt           iterations;
  PetscReal          residual, rtol;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetTolerances(ksp, &rtol, NULL, NULL, NULL));
  PetscCall(TrueResidual(A, b, x, &residual));
  PetscCall(PetscPrintf(comm, "iterations %" PetscInt_FMT ", %s\n", iterations, KSPConvergedReasons[reason]));
  /* the Krylov method tests the preconditioned residual, so the true one may be larger than rtol, within reason */
  PetscCall(ReportError(comm, "true residual", residual, reason > 0 ? PetscSqrtReal(rtol) : PETSC_MAX_REAL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The time, when the device has done what it was given */
static inline PetscErrorCode Now(PetscLogDouble *now)
{
  PetscFunctionBeginUser;
  *now = 0.0;
#if defined(PETSC_HAVE_DEVICE) && PETSC_VERSION_GE(3, 18, 0)
  if (PetscDeviceInitialized(PETSC_DEVICE_DEFAULT())) { /* else nobody used it, or there is none */
    PetscDeviceContext context;

    PetscCall(PetscDeviceContextGetCurrentContext(&context));
    PetscCall(PetscDeviceContextSynchronize(context));
  }
#endif
  PetscCall(PetscTime(now));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds since *begin, the slowest process counting; *begin becomes now. */
static inline PetscErrorCode Lap(MPI_Comm comm, PetscLogDouble *begin, PetscLogDouble *seconds)
{
  PetscLogDouble now, lap;

  PetscFunctionBeginUser;
  PetscCall(Now(&now));
  lap = now - *begin;
  PetscCallMPI(MPI_Allreduce(&lap, seconds, 1, MPI_DOUBLE, MPI_MAX, comm));
  PetscCall(PetscTime(begin));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The times of -times in seconds */
typedef struct {
  PetscLogDouble setup, refresh, apply, solve;
} Times;

/* PCSetUp() of all blocks, too */
static inline PetscErrorCode SetUp(PC pc)
{
  PetscFunctionBeginUser;
  PetscCall(PCSetUp(pc));
  PetscCall(PCSetUpOnBlocks(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Times a set-up anew (analysis and numbers), one with new values only, one application of the preconditioner, which is
   made twenty times, and the solve of A x = b. */
static inline PetscErrorCode TimedSolve(KSP ksp, Vec b, Vec x, Times *times)
{
  const PetscInt repeat = 20;
  MPI_Comm       comm   = PetscObjectComm((PetscObject)ksp);
  PC             pc;
  Mat            A, P;
  Vec            z;
  PetscLogDouble begin;

  PetscFunctionBeginUser;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCGetOperators(pc, &A, &P));
  PetscCall(PetscObjectReference((PetscObject)A));
  PetscCall(PetscObjectReference((PetscObject)P));
  PetscCall(VecDuplicate(b, &z));
  PetscCall(PCReset(pc));
  PetscCall(PCSetOperators(pc, A, P));
  PetscCallMPI(MPI_Barrier(comm));
  PetscCall(Now(&begin));
  PetscCall(SetUp(pc));
  PetscCall(Lap(comm, &begin, &times->setup));
  PetscCall(MatScale(P, -1.0)); /* twice: the same values, but PETSc takes them for new ones */
  PetscCall(MatScale(P, -1.0));
  PetscCall(Now(&begin));
  PetscCall(SetUp(pc));
  PetscCall(Lap(comm, &begin, &times->refresh));
  for (PetscInt i = 0; i < repeat; i++) PetscCall(PCApply(pc, b, z));
  PetscCall(Lap(comm, &begin, &times->apply));
  times->apply /= (PetscLogDouble)repeat;
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(Lap(comm, &begin, &times->solve));
  PetscCall(VecDestroy(&z));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same with a few iterations. On a device it loads the kernels, which is not to be timed. */
static inline PetscErrorCode WarmUp(KSP ksp, Vec b, Vec x)
{
  PetscReal rtol, atol, dtol;
  PetscInt  most;
  PetscBool stop;
  Times     ignored;

  PetscFunctionBeginUser;
  PetscCall(KSPSetUp(ksp)); /* assembles the matrix, where it is made by KSPSetComputeOperators() */
  PetscCall(KSPGetTolerances(ksp, &rtol, &atol, &dtol, &most));
  PetscCall(KSPGetErrorIfNotConverged(ksp, &stop));
  PetscCall(KSPSetTolerances(ksp, rtol, atol, dtol, PetscMin(most, 5)));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_FALSE));
  PetscCall(TimedSolve(ksp, b, x, &ignored));
  PetscCall(KSPSetTolerances(ksp, rtol, atol, dtol, most));
  PetscCall(KSPSetErrorIfNotConverged(ksp, stop));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* N of the option -times N; 1 if it has no number, 0 if it is not given */
static inline PetscErrorCode GetTimesWanted(PetscInt *wanted)
{
  PetscBool given;

  PetscFunctionBeginUser;
  *wanted = 1;
  PetscCall(PetscOptionsHasName(NULL, NULL, "-times", &given));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-times", wanted, NULL));
  PetscCheck(*wanted > 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-times %" PetscInt_FMT " must be at least 1", *wanted);
  if (!given) *wanted = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  KSPSolve() and ReportSolve(). With -times N also the times of N set-ups, applications and solves, a line for each, after
  a short warm-up; only one where a solve takes over a second.
*/
static inline PetscErrorCode SolveAndReport(KSP ksp, Vec b, Vec x)
{
  PetscInt wanted;
  Vec      z;
  Times    times;

  PetscFunctionBeginUser;
  PetscCall(GetTimesWanted(&wanted));
  if (wanted == 0) {
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(ReportSolve(ksp, b, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecDuplicate(b, &z));
  PetscCall(WarmUp(ksp, b, z));
  for (PetscInt i = 0; i < wanted && (i == 0 || times.solve < 1.0); i++) {
    PetscCall(TimedSolve(ksp, b, i == 0 ? x : z, &times));
    if (i == 0) PetscCall(ReportSolve(ksp, b, x));
    PetscCall(PetscPrintf(PetscObjectComm((PetscObject)ksp), "seconds: set-up %.5f, new values %.5f, apply %.6f, solve %.5f\n", times.setup, times.refresh, times.apply, times.solve));
  }
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sums over the linear solves inside SNES and TS; give CountSolve() to KSPSetPostSolve() with one of these. */
typedef struct {
  PetscInt  solves, iterations, failures;
  PetscReal worst; /* largest true residual */
} LinearSolves;

static inline PetscErrorCode CountSolve(KSP ksp, Vec b, Vec x, void *context)
{
  LinearSolves      *sums = (LinearSolves *)context;
  Mat                A;
  PetscInt           iterations;
  PetscReal          residual;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(TrueResidual(A, b, x, &residual));
  sums->solves++;
  sums->iterations += iterations;
  if (reason < 0) sums->failures++;
  if (!(residual <= sums->worst)) sums->worst = residual;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ReportSolves(MPI_Comm comm, const LinearSolves *sums, PetscReal bound)
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(comm, "linear solves %" PetscInt_FMT ", failed %" PetscInt_FMT ", iterations %" PetscInt_FMT "\n", sums->solves, sums->failures, sums->iterations));
  PetscCall(ReportError(comm, "worst true residual", sums->worst, bound));
  PetscFunctionReturn(PETSC_SUCCESS);
}
