/*
  The main program of all *_test.cpp of this folder: starts PETSc, registers our types by the C
  call, and records errors instead of printing them.
*/

#include "petsc_test.hpp"

int main(int argc, char** argv)
{
  if (PetscInitialize(&argc, &argv, nullptr, nullptr)) return 2;
  if (PCSyncFreeRegister()) return 2;
  if (PetscPushErrorHandler(record_error, nullptr)) return 2;
  testing::InitGoogleTest(&argc, argv); /* after PETSc: the list of tests asks our library for its strategies */
  const int failed = RUN_ALL_TESTS();
  if (PetscPopErrorHandler()) return 2;
  return PetscFinalize() ? 2 : failed;
}
