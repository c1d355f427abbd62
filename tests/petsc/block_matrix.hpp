#pragma once

/*
  Matrices of random dense blocks, and the comparison of two preconditioners on them.
*/

#include "../larger.hpp"
#include "factored.hpp"

#include <petsc/private/petscimpl.h> // PetscObjectStateGet()

/* Random dense blocks on a 7-point grid. Diagonal blocks dominate, by the diagonal that is `beside` their own; with a factor
   by entries of such a matrix results depend on rounding, unless that is 0. */
struct BlockMatrix {
  PetscInt x, y, z, size;
  unsigned long long seed = 1;
  PetscInt beside = 1;

  PetscInt points() const { return x * y * z; }

  /* Calls use(i, j) for the blocks. */
  template <class Use> void for_blocks(const Use& use) const
  {
    for (PetscInt i = 0; i < points(); ++i) {
      if (i >= x * y) use(i, i - x * y);
      if (i / x % y > 0) use(i, i - x);
      if (i % x > 0) use(i, i - 1);
      use(i, i);
      if (i % x < x - 1) use(i, i + 1);
      if (i / x % y < y - 1) use(i, i + x);
      if (i < x * y * (z - 1)) use(i, i + x * y);
    }
  }

  void fill(Mat A) const
  {
    Random random(seed);
    for_blocks([&](PetscInt i, PetscInt j) {
      Numbers block((std::size_t)(size * size));
      for (auto& v : block) v = random.scalar();
      for (PetscInt r = 0; r < size && i == j; ++r) block[(std::size_t)(r * size + (r + beside) % size)] += 10.0 * (double)size;
      ok(MatSetValuesBlocked(A, 1, &i, 1, &j, block.data(), INSERT_VALUES));
    });
    ok(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    ok(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  }

  MatOwner make(MatType type = MATSEQBAIJ) const
  {
    MatOwner A;
    const PetscInt n = points() * size;
    ok(MatCreate(PETSC_COMM_SELF, A.out()));
    ok(MatSetSizes(A, n, n, n, n));
    ok(MatSetType(A, type));
    ok(MatSetBlockSize(A, size));
    ok(MatSeqBAIJSetPreallocation(A, size, 7, nullptr));
    ok(MatMPIBAIJSetPreallocation(A, size, 7, nullptr, 0, nullptr));
    fill(A);
    return A;
  }
};

/* Sets a value of the block of a point and assembles. */
inline void set_value(Mat A, PetscInt row, PetscInt column, PetscScalar v)
{
  ok(MatSetValue(A, row, column, v, INSERT_VALUES));
  ok(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  ok(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
}

/* Returns a failure unless the entries agree to 1e-12 (in double precision) of the largest. */
inline testing::AssertionResult close(const Numbers& a, const Numbers& b)
{
  double most = 0, worst = 0;
  if (a.size() != b.size()) return testing::AssertionFailure() << a.size() << " and " << b.size() << " entries";
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, magnitude(a[i]));
    worst = syncfree::larger(worst, magnitude(a[i] - b[i]));
  }
  if (worst <= 4500 * eps * most) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "differ by " << worst << " of " << most;
}

/* Returns the state of the matrix that is factored: PETSc factors again when it has changed. */
inline PetscObjectState state_of_operator(PC pc)
{
  Mat A;
  PetscObjectState state;
  ok(PCGetOperators(pc, nullptr, &A));
  ok(PetscObjectStateGet((PetscObject)A, &state));
  return state;
}

inline void expect_same_applies(const Factored& petsc, const Factored& ours, PetscInt n)
{
  ASSERT_TRUE(petsc.usable()) << petsc.refusal.text;
  ASSERT_TRUE(ours.usable()) << ours.refusal.text;
  const Numbers b = random_numbers(n, 42);
  const PetscObjectState before = state_of_operator(ours.pc);
  EXPECT_TRUE(close(applied(petsc, PCApply, b), applied(ours, PCApply, b)));
  EXPECT_EQ(state_of_operator(ours.pc), before) << "factored again";
  EXPECT_TRUE(close(applied(petsc, PCApplyTranspose, b), applied(ours, PCApplyTranspose, b)));
}

