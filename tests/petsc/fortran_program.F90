! A convection problem on 12 x 12 points in Fortran, solved with PETSc's ilu, with ours by PCSetType(), and with ours by
! -pc_type: the same iterations and a small error. Started with -dll_append L -ours_pc_type syncfree_ilu; prints OK.
program main
#include <petsc/finclude/petscksp.h>
  use petscksp
  implicit none

  PetscErrorCode ierr
  PetscInt its(3)
  PetscReal error(3)
  Mat A

  PetscCallA(PetscInitialize(ierr))
  PetscCallA(make_matrix(A, ierr))
  PetscCallA(solve(A, 1, its(1), error(1), ierr))
  PetscCallA(solve(A, 2, its(2), error(2), ierr))
  PetscCallA(solve(A, 3, its(3), error(3), ierr))
  if (any(its /= its(1)) .or. its(1) < 2) error stop 'the iterations differ'
  if (any(error > 1.d-4)) error stop 'the error is large'
  print '(a,i0)', 'OK, iterations: ', its(1)
  PetscCallA(MatDestroy(A, ierr))
  PetscCallA(PetscFinalize(ierr))

contains

  subroutine make_matrix(A, ierr)
    Mat A
    PetscErrorCode ierr
    PetscInt, parameter :: m = 12, n = m*m
    PetscInt i, entries(n) ! the null array has another name since PETSc 3.22

    entries = 5
    PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 0, entries, A, ierr))
    do i = 0, n - 1
      PetscCall(MatSetValue(A, i, i, 4.d0, INSERT_VALUES, ierr))
      if (mod(i, m) > 0) PetscCall(MatSetValue(A, i, i - 1, -1.2d0, INSERT_VALUES, ierr))
      if (mod(i + 1, m) > 0) PetscCall(MatSetValue(A, i, i + 1, -0.8d0, INSERT_VALUES, ierr))
      if (i >= m) PetscCall(MatSetValue(A, i, i - m, -1.d0, INSERT_VALUES, ierr))
      if (i + m < n) PetscCall(MatSetValue(A, i, i + m, -1.d0, INSERT_VALUES, ierr))
    end do
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY, ierr))
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY, ierr))
  end subroutine

  ! how: 1 PETSc's ilu, 2 ours by its name, 3 the type of -ours_pc_type
  subroutine solve(A, how, its, error, ierr)
    Mat A
    integer how
    PetscInt its
    PetscReal error
    PetscErrorCode ierr
    Vec b, x
    KSP ksp
    PC pc
    PCType made

    PetscCall(MatCreateVecs(A, x, b, ierr))
    PetscCall(VecSet(x, 1.d0, ierr))
    PetscCall(MatMult(A, x, b, ierr))
    PetscCall(KSPCreate(PETSC_COMM_SELF, ksp, ierr))
    PetscCall(KSPSetOperators(ksp, A, A, ierr))
    PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE, ierr))
    PetscCall(KSPGetPC(ksp, pc, ierr))
    select case (how)
    case (1)
      PetscCall(PCSetType(pc, 'ilu', ierr))
    case (2)
      call PCSetType(pc, 'syncfree_ilu', ierr)
    case (3)
      PetscCall(KSPSetOptionsPrefix(ksp, 'ours_', ierr))
      PetscCall(KSPSetFromOptions(ksp, ierr))
    end select
    PetscCall(PCGetType(pc, made, ierr))
    if (how > 1 .and. made /= 'syncfree_ilu') error stop 'the type is another'
    PetscCall(KSPSolve(ksp, b, x, ierr))
    PetscCall(KSPGetIterationNumber(ksp, its, ierr))
    PetscCall(VecShift(x, -1.d0, ierr))
    PetscCall(VecNorm(x, NORM_INFINITY, error, ierr))
    PetscCall(KSPDestroy(ksp, ierr))
    PetscCall(VecDestroy(b, ierr))
    PetscCall(VecDestroy(x, ierr))
  end subroutine
end program
