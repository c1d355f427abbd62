/*
  The pattern of a matrix may change after a preconditioner was set up, and PETSc does not report some changes: those
  that exchange the contents of the matrix (MatTranspose() in place, MatAXPY(), MatHeaderReplace()). After any change
  a PC must give the results of a new one, bit by bit, and repeat the analysis only if the pattern differs.
*/

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>

#include "matrices.hpp"

namespace {

constexpr PetscInt n = 40;

/* Makes a matrix with a strong diagonal, so that every factor exists, and up to 2 n more random entries; in rows of
   equal length if requested. */
MatOwner some_matrix(unsigned long long seed, bool equal_lengths = false)
{
  Random random(seed);
  Entries A(n);
  for (PetscInt i = 0; i < n; ++i) {
    A.add(i, i, 10.0 + random.uniform());
    for (PetscInt k = 0; k < 2; ++k) {
      const PetscInt row = equal_lengths ? i : random.integer(n), offset = 1 + k * n / 2 + random.integer(n / 2 - 1);
      A.add(row, (row + offset) % n, 0.3 * random.scalar());
    }
  }
  return A.matrix();
}

/* Makes an arrow: the first rows are full above the diagonal. Transposed it has as many entries, in rows of other
   lengths. */
MatOwner arrow()
{
  Entries A(n);
  for (PetscInt i = 0; i < n; ++i) {
    A.add(i, i, 10.0);
    for (PetscInt j = i + 1; j < n && i < 8; ++j) A.add(i, j, 0.3);
  }
  return A.matrix();
}

/* A type and its options, and where its matrix lives. */
struct Case {
  const char *name, *type, *options;
  bool device_matrix;
};

std::vector<Case> cases()
{
  std::vector<Case> all = {
    {"ilu", PCSYNCFREEILU, "-pc_syncfree_strategy serial", false},
    {"ilu_1", PCSYNCFREEILU, "-pc_syncfree_strategy serial -pc_factor_levels 1", false},
    {"ilu_rcm", PCSYNCFREEILU, "-pc_syncfree_strategy serial -pc_factor_mat_ordering_type rcm", false},
    {"ilu_multicolor", PCSYNCFREEILU, "-pc_syncfree_strategy serial -pc_factor_mat_ordering_type syncfree_multicolor", false},
    {"ilu_1_abmc", PCSYNCFREEILU, "-pc_syncfree_strategy serial -pc_factor_levels 1 -pc_factor_mat_ordering_type syncfree_abmc", false},
    {"icc", PCSYNCFREEICC, "-pc_syncfree_strategy serial", false},
    {"icc_cyclic", PCSYNCFREEICC, "-pc_syncfree_strategy serial -pc_factor_mat_ordering_type syncfree_cyclic", false},
    {"icc_1_rcm", PCSYNCFREEICC, "-pc_syncfree_strategy serial -pc_factor_levels 1 -pc_factor_mat_ordering_type rcm", false},
    {"loop", PCSYNCFREEILU, "-pc_syncfree_strategy loop -pc_syncfree_threads 2", false},
    {"ilu_package", PCILU, "-pc_factor_mat_solver_type syncfree -pc_syncfree_strategy serial", false},
    {"icc_package", PCICC, "-pc_factor_mat_solver_type syncfree -pc_syncfree_strategy serial", false},
    {"sor", PCSYNCFREESOR, "-pc_syncfree_strategy serial -pc_sor_symmetric", false},
    {"sor_no_inode", PCSYNCFREESOR, "-pc_syncfree_strategy serial -pc_syncfree_use_inodes 0", false},
  };
  if (!std::count(strategies().begin(), strategies().end(), "level_order")) return all;
  for (const bool device_matrix : {false, true}) {
    all.push_back({device_matrix ? "ilu_on_device" : "ilu_by_device", PCSYNCFREEILU, "-pc_syncfree_strategy level_order", device_matrix});
    all.push_back({device_matrix ? "ilu_1_rcm_on_device" : "ilu_1_rcm_by_device", PCSYNCFREEILU, "-pc_syncfree_strategy level_order -pc_factor_levels 1 -pc_factor_mat_ordering_type rcm", device_matrix});
    all.push_back({device_matrix ? "ilu_rcm_on_device" : "ilu_rcm_by_device", PCSYNCFREEILU, "-pc_syncfree_strategy level_order -pc_factor_mat_ordering_type rcm", device_matrix});
    all.push_back({device_matrix ? "ilu_multicolor_on_device" : "ilu_multicolor_by_device", PCSYNCFREEILU, "-pc_syncfree_strategy level_order -pc_factor_mat_ordering_type syncfree_multicolor", device_matrix});
    all.push_back({device_matrix ? "icc_cyclic_on_device" : "icc_cyclic_by_device", PCSYNCFREEICC, "-pc_syncfree_strategy level_order -pc_factor_mat_ordering_type syncfree_cyclic", device_matrix});
    all.push_back({device_matrix ? "icc_on_device" : "icc_by_device", PCSYNCFREEICC, "-pc_syncfree_strategy level_order", device_matrix});
  }
  all.push_back({"ilu_package_on_device", PCILU, "-pc_factor_mat_solver_type syncfree -pc_syncfree_strategy level_order", true});
  all.push_back({"sor_on_device", PCSYNCFREESOR, "-pc_syncfree_strategy level_order -pc_sor_symmetric", true});
  return all;
}

class Patterns : public testing::TestWithParam<Case> {
 protected:
  MatOwner place(MatOwner A) const
  {
    if (case_.device_matrix) ok(MatConvert(A, MATSEQAIJCUSPARSE, MAT_INPLACE_MATRIX, A.out()));
    return A;
  }
  PCOwner make_pc(Mat A) const
  {
    Options options(case_.options);
    PCOwner pc;
    ok(PCCreate(PETSC_COMM_SELF, pc.out()));
    ok(PCSetOperators(pc, A, A));
    ok(PCSetType(pc, case_.type));
    ok(PCSetFromOptions(pc));
    return pc;
  }
  Numbers apply(PC pc, Mat A) const
  {
    Options options(case_.options); /* the package reads them in PCSetUp() */
    VecOwner b = make_vector(random_numbers(rows(A), 17)), x = make_vector(rows(A));
    ok(PCApply(pc, b, x));
    return entries(x);
  }
  void expect_as_afresh(PC pc, Mat A, const std::string& what) const
  {
    const Numbers used = apply(pc, A), fresh = apply(make_pc(A), A);
    ASSERT_EQ(used.size(), fresh.size()) << what;
    ASSERT_TRUE(std::all_of(fresh.begin(), fresh.end(), [](const PetscScalar& v) { return std::isfinite(magnitude(v)); }));
    ASSERT_EQ(0, std::memcmp(used.data(), fresh.data(), used.size() * sizeof(PetscScalar))) << what;
  }
  bool is(PCType type) const { return std::string(case_.type) == type; }

  const Case case_ = GetParam();
};

PetscInt analyses()
{
  PetscLogEvent event;
  PetscEventPerfInfo info;
  ok(PetscLogEventGetId("SyncFreeAnalysis", &event));
  ok(PetscLogEventGetPerfInfo(0, event, &info));
  return (PetscInt)info.count;
}

/* Replaces A by another matrix; A stays the same object for all references to it. */
void replace(Mat A, MatOwner by) { ok(MatHeaderReplace(A, by.out())); }

/* Safety review 8f00001, finding 1: reads beyond the matrix's values, and an infinite factor. */
TEST_P(Patterns, a_matrix_transposed_in_place)
{
  MatOwner A = place(arrow());
  const PCOwner pc = make_pc(A);
  expect_as_afresh(pc, A, "new");
  for (int times = 0; times < 3; ++times) {
    ok(MatTranspose(A, MAT_INPLACE_MATRIX, A.out()));
    expect_as_afresh(pc, A, "transposed");
  }
}

/* The numbers of changes, rows and entries and the row lengths are equal: only the columns differ. */
TEST_P(Patterns, other_columns_in_rows_of_the_same_lengths)
{
  MatOwner A = place(some_matrix(1, true));
  const PCOwner pc = make_pc(A);
  expect_as_afresh(pc, A, "new");
  for (unsigned seed = 2; seed < 6; ++seed) {
    PetscObjectState before, after;
    ok(MatGetNonzeroState(A, &before));
    replace(A, place(some_matrix(seed, true)));
    ok(MatGetNonzeroState(A, &after));
    EXPECT_EQ(before, after) << "PETSc cannot tell the two apart";
    expect_as_afresh(pc, A, "replaced");
  }
}

/* A new copy is compared and found equal. */
TEST_P(Patterns, the_same_pattern_in_other_arrays_is_not_analysed_again)
{
  if (is(PCSYNCFREESOR)) GTEST_SKIP() << "its event counts comparisons, too";
  ok(PetscLogDefaultBegin());
  MatOwner A = place(some_matrix(1));
  const PCOwner pc = make_pc(A);
  expect_as_afresh(pc, A, "new");
  PetscInt before = analyses();
  for (unsigned seed = 0; seed < 3; ++seed) {
    MatOwner B = some_matrix(1);
    new_values(B, seed);
    ok(MatShift(B, 20.0));
    replace(A, place(std::move(B)));
    (void)apply(pc, A);
    EXPECT_EQ(before, analyses());
  }
  before = analyses();
  replace(A, place(some_matrix(9)));
  (void)apply(pc, A);
  EXPECT_EQ(before + 1, analyses());
  (void)apply(pc, A);
  ok(MatScale(A, 2.0));
  (void)apply(pc, A);
  EXPECT_EQ(before + 1, analyses());
  expect_as_afresh(pc, A, "at last");
}

/* The factored matrix of PCILU and PCICC cannot change its size; our PC types accept a new one. */
TEST_P(Patterns, another_size)
{
  if (is(PCILU) || is(PCICC)) GTEST_SKIP() << "PETSc refuses it";
  MatOwner A = place(poisson_2d(6, 6));
  const PCOwner pc = make_pc(A);
  expect_as_afresh(pc, A, "new");
  replace(A, place(poisson_2d(5, 4)));
  expect_as_afresh(pc, A, "smaller");
  replace(A, place(poisson_2d(9, 7)));
  expect_as_afresh(pc, A, "larger");
}

/* Found by sequences_test.cpp: PCSetFromOptions() had created a factored matrix of the old size, and PCSetUp() failed. */
TEST_P(Patterns, another_size_between_the_options_and_the_first_set_up)
{
  if (is(PCILU) || is(PCICC)) GTEST_SKIP() << "PETSc refuses it";
  MatOwner A = place(poisson_2d(6, 6));
  const PCOwner pc = make_pc(A);
  replace(A, place(poisson_2d(5, 4)));
  expect_as_afresh(pc, A, "smaller");
}

TEST_P(Patterns, a_reused_preconditioner_keeps_the_old_factor)
{
  if (is(PCSYNCFREESOR)) GTEST_SKIP() << "sweeps are over the matrix as it is";
  MatOwner A = place(arrow());
  const PCOwner pc = make_pc(A);
  const Numbers old = apply(pc, A);
  ok(PCSetReusePreconditioner(pc, PETSC_TRUE));
  ok(MatTranspose(A, MAT_INPLACE_MATRIX, A.out()));
  EXPECT_EQ(old, apply(pc, A));
  ok(PCSetReusePreconditioner(pc, PETSC_FALSE));
  expect_as_afresh(pc, A, "no longer");
}

/* ---- any sequence of changes ---- */

void assemble(Mat A)
{
  ok(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  ok(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
}

/* Inserts random entries by coordinates, as a program does to assemble a matrix on a device. */
void fill_by_coordinates(Mat A, Random* random)
{
  std::vector<PetscInt> row, column;
  Numbers value;
  const auto add = [&](PetscInt i, PetscInt j, PetscScalar v) { row.push_back(i), column.push_back(j), value.push_back(v); };
  for (PetscInt i = 0; i < n; ++i) {
    add(i, i, 10.0);
    add(i, random->integer(n), 0.2);
  }
  ok(MatSetPreallocationCOO(A, (PetscCount)row.size(), row.data(), column.data()));
  ok(MatSetValuesCOO(A, value.data(), INSERT_VALUES));
}

struct Walk {
  MatOwner A;
  PC pc;
  Random random;
  std::function<MatOwner(unsigned)> make;

  unsigned seed() { return (unsigned)random.integer(1000); }
};

struct Step {
  const char* name;
  void (*go)(Walk*);
};

const Step steps[] = {
  {"MatTranspose() in place", [](Walk* w) { ok(MatTranspose(w->A, MAT_INPLACE_MATRIX, w->A.out())); }},
  {"MatAXPY() with another pattern", [](Walk* w) { ok(MatAXPY(w->A, 0.01, w->make(w->seed()), DIFFERENT_NONZERO_PATTERN)); }},
  {"MatHeaderReplace()", [](Walk* w) { replace(w->A, w->make(w->seed())); }},
  {"a new entry",
   [](Walk* w) {
     ok(MatSetOption(w->A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
     ok(MatSetValue(w->A, w->random.integer(n), w->random.integer(n), 0.1, ADD_VALUES));
     assemble(w->A);
   }},
  {"MatZeroRows() that gives entries up",
   [](Walk* w) {
     const PetscInt row = w->random.integer(n);
     ok(MatSetOption(w->A, MAT_KEEP_NONZERO_PATTERN, PETSC_FALSE));
     ok(MatZeroRows(w->A, 1, &row, 9.0, nullptr, nullptr));
   }},
  {"MatScale()", [](Walk* w) { ok(MatScale(w->A, 1.01)); }},
  {"MatSetPreallocationCOO()", [](Walk* w) { fill_by_coordinates(w->A, &w->random); }},
  {"MatSeqAIJSetPreallocation()",
   [](Walk* w) {
     ok(MatSeqAIJSetPreallocation(w->A, 2, nullptr));
     for (PetscInt i = 0; i < n; ++i) {
       ok(MatSetValue(w->A, i, i, 10.0, ADD_VALUES));
       ok(MatSetValue(w->A, i, w->random.integer(n), 0.2, ADD_VALUES));
     }
     assemble(w->A);
   }},
  {"a copy as operator",
   [](Walk* w) {
     MatOwner B;
     ok(MatDuplicate(w->A, MAT_COPY_VALUES, B.out()));
     ok(MatShift(B, 0.5));
     ok(PCSetOperators(w->pc, B, B));
     w->A = std::move(B);
   }},
  {"another matrix as operator",
   [](Walk* w) {
     MatOwner B = w->make(w->seed());
     ok(PCSetOperators(w->pc, B, B));
     w->A = std::move(B);
   }},
  {"PCReset()",
   [](Walk* w) {
     ok(PCReset(w->pc));
     ok(PCSetOperators(w->pc, w->A, w->A));
   }},
};

TEST_P(Patterns, any_sequence_of_changes)
{
  for (unsigned seed = 1; seed <= 3; ++seed) {
    Walk walk{place(some_matrix(seed)), nullptr, Random(seed), [&](unsigned s) { return place(some_matrix(s)); }};
    const PCOwner pc = make_pc(walk.A);
    walk.pc = pc;
    expect_as_afresh(pc, walk.A, "new");
    std::string path;
    for (int k = 0; k < 25; ++k) {
      const PetscInt changes = 1 + walk.random.integer(2); /* before the PC sees the matrix again */
      for (PetscInt change = 0; change < changes; ++change) {
        const Step& step = steps[walk.random.integer((PetscInt)(sizeof(steps) / sizeof(steps[0])))];
        path += std::string("\n  ") + step.name;
        step.go(&walk);
      }
      expect_as_afresh(pc, walk.A, "seed " + std::to_string(seed) + path);
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Petsc, Patterns, testing::ValuesIn(cases()), [](const auto& info) { return std::string(info.param.name); });

/* ---- the package, without a PC ---- */

struct Symbolic {
  MatOwner F;
  ISOwner row, column;
  MatFactorInfo info;
  bool icc;

  Symbolic(Mat A, bool is_icc, MatOrderingType ordering, PetscInt levels) : icc(is_icc)
  {
    ok(MatFactorInfoInitialize(&info));
    info.levels = (PetscReal)levels;
    info.fill = 1.0;
    info.zeropivot = info.shiftamount = 100 * PETSC_MACHINE_EPSILON;
    ok(MatGetOrdering(A, ordering, row.out(), column.out()));
    make(A);
  }
  void make(Mat A)
  {
    Options options("-pc_syncfree_strategy serial");
    F = MatOwner();
    ok(MatGetFactor(A, MATSOLVERSYNCFREE, icc ? MAT_FACTOR_ICC : MAT_FACTOR_ILU, F.out()));
    ok(again(A));
  }
  PetscErrorCode again(Mat A) { return icc ? MatICCFactorSymbolic(F, A, row, &info) : MatILUFactorSymbolic(F, A, row, column, &info); }
  PetscErrorCode numeric(Mat A) { return icc ? MatCholeskyFactorNumeric(F, A, &info) : MatLUFactorNumeric(F, A, &info); }
  Numbers solve() const
  {
    VecOwner b = make_vector(random_numbers(n, 3)), x = make_vector(n);
    ok(MatSolve(F, b, x));
    return entries(x);
  }
};

/* A symbolic factorization of one matrix is used with another: it must give the factor of that one, in the order that
   was given with the first. */
TEST(FactorPatterns, the_numbers_of_another_pattern_are_those_of_its_own_factor)
{
  const MatOwner A = some_matrix(1), B = some_matrix(2);
  for (const bool icc : {false, true})
    for (const char* ordering : {MATORDERINGNATURAL, MATORDERINGRCM})
      for (const PetscInt levels : {0, 1}) {
        Symbolic used(A, icc, ordering, levels), afresh(A, icc, ordering, levels);
        afresh.make(B);
        ok(used.numeric(B));
        ok(afresh.numeric(B));
        EXPECT_EQ(afresh.solve(), used.solve()) << icc << ordering << levels;
        MatInfo mine, others;
        ok(MatGetInfo(used.F, MAT_LOCAL, &mine));
        ok(MatGetInfo(afresh.F, MAT_LOCAL, &others));
        EXPECT_EQ(others.nz_used, mine.nz_used);
        EXPECT_EQ(others.fill_ratio_needed, mine.fill_ratio_needed);
        afresh.make(A);
        ok(used.numeric(A));
        ok(afresh.numeric(A));
        EXPECT_EQ(afresh.solve(), used.solve()) << "and back";
      }
}

/* A pattern that cannot be factored is refused. An order given before is then lost, and has to be given again. */
TEST(FactorPatterns, a_pattern_without_a_factor_is_refused_in_words)
{
  Entries without(n);
  for (PetscInt i = 0; i < n; ++i) without.add(i, i == 5 ? 6 : i, 1.0);
  const MatOwner A = some_matrix(1), B = without.matrix();
  for (const bool icc : {false, true})
    for (const char* ordering : {MATORDERINGNATURAL, MATORDERINGRCM}) {
      const bool natural = std::string(ordering) == MATORDERINGNATURAL;
      Symbolic used(A, icc, ordering, 0);
      ok(used.numeric(A));
      const Numbers x = used.solve();
      const Refusal refusal = refused([&] { return used.numeric(B); });
      EXPECT_EQ((int)PETSC_ERR_ARG_WRONGSTATE, refusal.code);
      EXPECT_TRUE(refusal.says("missing diagonal")) << refusal.text;
      const Refusal later = refused([&] { return used.numeric(A); });
      EXPECT_EQ(natural ? 0 : (int)PETSC_ERR_ORDER, later.code) << later.text;
      if (!natural) {
        EXPECT_TRUE(later.says("symbolic factorization")) << later.text;
        ok(used.again(A));
        ok(used.numeric(A));
      }
      EXPECT_EQ(x, used.solve());
    }
}

/* Two matrices: the memory of an additional entry in a given order, minus that in the natural order, is the copy by
   which a refresh recognises the pattern. */
TEST(FactorPatterns, a_copy_takes_four_bytes_an_entry_whatever_the_index)
{
  const auto memory = [](Mat A, MatOrderingType ordering) {
    Symbolic factor(A, false, ordering, 0);
    ok(factor.numeric(A));
    MatInfo info;
    ok(MatGetInfo(factor.F, MAT_LOCAL, &info));
    return info.memory;
  };
  const auto entries_of = [](Mat A) {
    MatInfo info;
    ok(MatGetInfo(A, MAT_LOCAL, &info));
    return info.nz_used;
  };
  const MatOwner few = random_matrix(n, 3, 2.0, true, 1), many = random_matrix(n, 20, 2.0, true, 1);
  const auto cost = [&](MatOrderingType ordering) { return memory(many, ordering) - memory(few, ordering); };
  const double more = entries_of(many) - entries_of(few);
  ASSERT_GT(more, 0);
  EXPECT_EQ(4 * more, cost(MATORDERINGRCM) - cost(MATORDERINGNATURAL));
}

void count_a_change_of_numbers(Mat A)
{
  PetscScalar* value;
  ok(MatSeqAIJGetArray(A, &value));
  ok(MatSeqAIJRestoreArray(A, &value));
}

/* A program changes its own arrays without notifying the matrix: the error must report where it was detected, and which
   function to call. */
void change_arrays_in_secret(PCType type, bool resets)
{
  PetscInt row[] = {0, 3, 4, 5}, column[] = {0, 1, 2, 1, 2};
  PetscScalar value[] = {4.0, 1.0, 1.0, 4.0, 4.0};
  MatOwner A;
  PCOwner pc;
  ok(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, 3, 3, row, column, value, A.out()));
  ok(PCCreate(PETSC_COMM_SELF, pc.out()));
  ok(PCSetOperators(pc, A, A));
  ok(PCSetType(pc, type));
  VecOwner b = make_vector(random_numbers(3, 1)), x = make_vector(3);
  ok(PCApply(pc, b, x));
  row[1] = 1, row[2] = 3; /* rows {0}, {0, 1}, {1, 2} */
  column[1] = 0, column[2] = 1;
  value[1] = 1.0, value[2] = 4.0, value[3] = 1.0;
  count_a_change_of_numbers(A);
  const Refusal refusal = refused([&] { return PCApply(pc, b, x); });
  EXPECT_NE(0, refusal.code) << type;
  EXPECT_TRUE(refusal.says("nonzero pattern differs")) << refusal.text;
  EXPECT_TRUE(refusal.says("KSPReset() or PCReset(), then KSPSetOperators() or PCSetOperators()")) << refusal.text;
  if (resets) {
    ok(PCReset(pc));
    ok(PCSetOperators(pc, A, A));
  } else count_a_change_of_numbers(A);
  ok(PCApply(pc, b, x));
}

TEST(FactorPatterns, arrays_that_were_changed_in_secret_are_refused)
{
  for (const char* type : {PCSYNCFREEILU, PCSYNCFREEICC, PCSYNCFREESOR})
    for (const bool resets : {false, true}) change_arrays_in_secret(type, resets);
}

}  // namespace
