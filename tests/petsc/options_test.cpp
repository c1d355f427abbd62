/*
  The options of our PC types: each setter with its getter and its option, PETSc's PCFactor*
  functions and our own. They must have the same effect as in PCILU and PCICC, and the view must
  show it.
*/

#include <algorithm>

#include "factored.hpp"
#include "matrices.hpp"
#include "syncfree/strategy.hpp"

namespace {

PCOwner make_pc(Mat A, PCType type)
{
  PCOwner pc;
  ok(PCCreate(PETSC_COMM_SELF, pc.out()));
  ok(PCSetOperators(pc, A, A));
  ok(PCSetType(pc, type));
  return pc;
}

class OurTypes : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override
  {
    A_ = poisson_2d(7, 6);
    pc_ = make_pc(A_, GetParam());
  }
  void from_options(const std::string& text)
  {
    Options options(text);
    ok(PCSetFromOptions(pc_));
    EXPECT_EQ(unused_before_, unused()) << text;
  }
  static PetscInt unused()
  {
    PetscInt left;
    ok(PetscOptionsAllUsed(nullptr, &left));
    return left;
  }
  Mat factor()
  {
    Mat F;
    ok(PCFactorGetMatrix(pc_, &F));
    return F;
  }

  const PetscInt unused_before_ = unused();
  MatOwner A_;
  PCOwner pc_;
};

/* ---- our own ---- */

TEST_P(OurTypes, have_the_documented_defaults)
{
  const char* strategy;
  PetscInt threads;
  PCSyncFreePrecisionType storage;
  MatFactorShiftType shift;
  MatSolverType solver;
  PetscReal zero_pivot, amount;
  PetscInt levels;
  ok(PCSyncFreeGetStrategy(pc_, &strategy));
  EXPECT_STREQ("auto", strategy);
  ok(PCSyncFreeGetThreads(pc_, &threads));
  EXPECT_GE(threads, 1);
  ok(PCSyncFreeGetFactorPrecision(pc_, &storage));
  EXPECT_EQ(PC_SYNCFREE_PRECISION_SCALAR, storage);
  ok(PCFactorGetMatSolverType(pc_, &solver));
  EXPECT_STREQ(MATSOLVERSYNCFREE, solver);
  ok(PCFactorGetShiftType(pc_, &shift));
  EXPECT_EQ(default_shift(std::string(GetParam()) == PCSYNCFREEICC), shift);
  ok(PCFactorGetZeroPivot(pc_, &zero_pivot));
  ok(PCFactorGetShiftAmount(pc_, &amount));
  EXPECT_EQ(100 * PETSC_MACHINE_EPSILON, zero_pivot);
  EXPECT_EQ(100 * PETSC_MACHINE_EPSILON, amount);
  ok(PCFactorGetLevels(pc_, &levels));
  EXPECT_EQ(0, levels);
}

TEST_P(OurTypes, take_each_strategy_by_call_and_by_option_and_run_it)
{
  for (const auto& name : strategies()) {
    const char* strategy;
    ok(PCSyncFreeSetStrategy(pc_, "auto"));
    ok(PCSyncFreeSetStrategy(pc_, name.c_str()));
    ok(PCSyncFreeGetStrategy(pc_, &strategy));
    EXPECT_EQ(name, strategy);
    ok(PCSyncFreeSetStrategy(pc_, "auto"));
    from_options("-pc_syncfree_strategy " + name + " -pc_syncfree_threads 2");
    ok(PCSyncFreeGetStrategy(pc_, &strategy));
    EXPECT_EQ(name, strategy);
    ok(PCSetUp(pc_));
    const std::string text = view(pc_);
    EXPECT_TRUE(contains(text, name)) << text;
    if (on_host(name)) {
      EXPECT_TRUE(contains(text, on_one_thread(name) ? "threads: 1" : "threads: 2")) << text;
    }
    EXPECT_TRUE(contains(text, "forced")) << text;
  }
}

/* A strategy of other builds gets a different message than an unknown one. */
TEST_P(OurTypes, say_of_kokkos_that_it_runs_or_that_this_build_lacks_it)
{
  const Refusal by_call = refused([&] { return PCSyncFreeSetStrategy(pc_, "kokkos"); });
  Options options("-pc_syncfree_strategy kokkos");
  const Refusal by_option = refused([&] { return PCSetFromOptions(pc_); });
  if (by_call.code) {
    EXPECT_TRUE(by_call.says("SYNCFREE_KOKKOS")) << by_call.text;
    EXPECT_TRUE(by_option.says("SYNCFREE_KOKKOS")) << by_option.text;
    return;
  }
  EXPECT_EQ(0, by_option.code) << by_option.text;
  ok(PCSetUp(pc_));
  const bool icc = std::string(GetParam()) == PCSYNCFREEICC;
  EXPECT_TRUE(contains(view(pc_), icc ? "factored by the host: IC" : "factored by spiluk")) << view(pc_);
  ok(PCSyncFreeSetStrategy(pc_, "serial"));
  ok(PCSetUp(pc_));
  EXPECT_TRUE(contains(view(pc_), "syncfree strategy: serial (forced)")) << "the backend did not change\n" << view(pc_);
}

TEST_P(OurTypes, say_why_auto_took_its_strategy)
{
  ok(PCSyncFreeSetThreads(pc_, 1));
  ok(PCSetUp(pc_));
  const std::string text = view(pc_);
  EXPECT_TRUE(contains(text, "auto")) << text;
  EXPECT_TRUE(contains(text, "thread")) << text;
  EXPECT_FALSE(contains(text, "forced")) << text;
}

TEST_P(OurTypes, refuse_an_unknown_strategy_and_list_the_known_ones)
{
  const Refusal by_call = refused([&] { return PCSyncFreeSetStrategy(pc_, "fastest"); });
  EXPECT_NE(0, by_call.code);
  EXPECT_TRUE(by_call.says("fastest")) << by_call.text;
  for (const auto& name : strategies()) EXPECT_TRUE(by_call.says(name)) << by_call.text;
  Options options("-pc_syncfree_strategy fastest");
  const Refusal by_option = refused([&] { return PCSetFromOptions(pc_); });
  EXPECT_NE(0, by_option.code);
  for (const auto& name : strategies()) EXPECT_TRUE(by_option.says(name)) << by_option.text;
  EXPECT_TRUE(by_option.says("fastest")) << by_option.text;
  const char* strategy;
  ok(PCSyncFreeGetStrategy(pc_, &strategy));
  EXPECT_STREQ("auto", strategy) << "a refused call changed something";
}

TEST_P(OurTypes, take_a_backend_by_call_and_by_option_and_list_the_known_ones)
{
  const char* backend;
  ok(PCSyncFreeGetBackend(pc_, &backend));
  EXPECT_STREQ("auto", backend);
  ok(PCSyncFreeSetBackend(pc_, "host"));
  ok(PCSyncFreeGetBackend(pc_, &backend));
  EXPECT_STREQ("host", backend);
  ok(PCSetUp(pc_));
  from_options("-pc_syncfree_backend auto");
  ok(PCSyncFreeGetBackend(pc_, &backend));
  EXPECT_STREQ("auto", backend);
  Options options("-pc_syncfree_backend gpu");
  for (const Refusal& refusal : {refused([&] { return PCSyncFreeSetBackend(pc_, "gpu"); }),
                                 refused([&] { return PCSetFromOptions(pc_); })})
    for (const char* word : {"gpu", "auto", "host"}) EXPECT_TRUE(refusal.says(word)) << refusal.text;
  for (const char* name : {"cuda", "kokkos"}) {
    const Refusal refusal = refused([&] { return PCSyncFreeSetBackend(pc_, name); });
    EXPECT_TRUE(refusal.code == 0 || refusal.says("SYNCFREE_")) << refusal.text;
  }
}

TEST_P(OurTypes, refuse_a_strategy_of_another_backend)
{
  if (std::count(strategies().begin(), strategies().end(), "kokkos")) {
    ok(PCSyncFreeSetBackend(pc_, "kokkos"));
    ok(PCSyncFreeSetStrategy(pc_, "blocks"));
    const Refusal refusal = refused([&] { return PCSetUp(pc_); });
    for (const char* word : {"blocks", "host", "kokkos"}) EXPECT_TRUE(refusal.says(word)) << refusal.text;
  }
  ok(PCSyncFreeSetBackend(pc_, "host"));
  ok(PCSyncFreeSetStrategy(pc_, "blocks"));
  ok(PCSetUp(pc_));
}

/* A grid of 42 rows cut into blocks of 5 or more rows gives the same results. */
TEST_P(OurTypes, cut_where_the_options_say)
{
  ok(PCSetUp(pc_));
  const VecOwner b = make_vector(random_numbers(42, 3)), x = make_vector(42), y = make_vector(42);
  ok(PCApply(pc_, b, x));
  for (const char* strategy : {"column_block", "row_block", "recursive_block"}) {
    from_options("-pc_syncfree_backend host -pc_syncfree_cut_rows 5 -pc_syncfree_cut_table paper "
                 "-pc_syncfree_strategy " + std::string(strategy));
    ok(PCSetUp(pc_));
    EXPECT_TRUE(contains(view(pc_), strategy)) << view(pc_);
    ok(PCApply(pc_, b, y));
    const Numbers expected = entries(x), got = entries(y);
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_LE(magnitude(got[i] - expected[i]), 100 * eps * (1 + magnitude(expected[i]))) << strategy;
  }
  Options negative("-pc_syncfree_cut_rows -5");
  EXPECT_TRUE(refused([&] { return PCSetFromOptions(pc_); }).says("-5"));
}

/* On a device auto chooses a plan that pays; on the host the option has no effect. */
TEST_P(OurTypes, weigh_a_plan_against_the_applies_that_are_expected)
{
  A_ = poisson_2d(60, 60);
  pc_ = make_pc(A_, GetParam());
  const bool device = std::count(strategies().begin(), strategies().end(), "level_order");
  for (const std::string applies : {"1000000", "0"}) {
    from_options("-pc_syncfree_expected_applies " + applies + (device ? " -pc_syncfree_backend cuda" : ""));
    ok(PCSetUp(pc_));
    EXPECT_EQ(device && applies == "0", contains(view(pc_), "syncfree strategy: level_order")) << view(pc_);
  }
  Options negative("-pc_syncfree_expected_applies -1");
  EXPECT_TRUE(refused([&] { return PCSetFromOptions(pc_); }).says("-1"));
}

TEST_P(OurTypes, merge_no_more_than_they_may)
{
  Options less("-pc_syncfree_merge_fill 0.5");
  EXPECT_TRUE(refused([&] { return PCSetFromOptions(pc_); }).says("0.5"));
}

/* The limit applies to the kernels of a device; the view shows a limit other than the default. */
TEST_P(OurTypes, take_a_limit_for_waits)
{
  {
    Options negative("-pc_syncfree_wait_limit -1");
    EXPECT_TRUE(refused([&] { return PCSetFromOptions(pc_); }).says("-1"));
  }
  from_options("-pc_syncfree_wait_limit 7.5");
  ok(PCSetUp(pc_));
  EXPECT_EQ(contains(view(pc_), "syncfree wait limit: 7.5 s"), contains(view(pc_), "syncfree backend: cuda")) << view(pc_);
}

/* The environment overrides the option, and is read if a device is used. */
TEST_P(OurTypes, take_the_environments_limit_for_waits)
{
  if (!std::count(strategies().begin(), strategies().end(), "level_order")) GTEST_SKIP() << "no device";
  from_options("-pc_syncfree_backend cuda -pc_syncfree_wait_limit 7.5");
  setenv("SYNCFREE_WAIT_LIMIT", "soon", 1);
  const Refusal refusal = refused([&] { return PCSetUp(pc_); });
  EXPECT_TRUE(refusal.says("SYNCFREE_WAIT_LIMIT is 'soon'")) << refusal.text;
  setenv("SYNCFREE_WAIT_LIMIT", "30", 1);
  ok(PCSetUp(pc_));
  EXPECT_TRUE(contains(view(pc_), "syncfree wait limit: 30. s (SYNCFREE_WAIT_LIMIT)\n")) << view(pc_);
  unsetenv("SYNCFREE_WAIT_LIMIT");
}

/* The device's strategies are known without a device; a request for one, or for the backend, is refused with a
   message. */
TEST_P(OurTypes, run_the_device_or_say_that_it_is_missing)
{
  if (!syncfree::find_strategy("level_order")) {
    const Refusal refusal = refused([&] { return PCSyncFreeSetStrategy(pc_, "level_order"); });
    EXPECT_TRUE(refusal.says("SYNCFREE_CUDA") && refusal.says("takes one of auto, serial")) << refusal.text;
    return;
  }
  const bool device = std::count(strategies().begin(), strategies().end(), "level_order");
  for (const std::string what : {"strategy level_order", "backend cuda"}) {
    from_options("-pc_syncfree_" + what);
    const Refusal refusal = refused([&] { return PCSetUp(pc_); });
    EXPECT_EQ(device, refusal.code == 0) << what << "\n" << refusal.text;
    EXPECT_EQ(device, !refusal.says("Backend cuda is not available: ")) << refusal.text;
    from_options("-pc_syncfree_strategy auto -pc_syncfree_backend auto");
    ok(PCSetUp(pc_));
  }
}

#if defined(PETSC_HAVE_CUDA)
/* Data on the device stays there; data on the host is copied, and the view shows it. */
TEST_P(OurTypes, view_the_copies_that_a_forced_device_costs)
{
  if (!std::count(strategies().begin(), strategies().end(), "level_order")) GTEST_SKIP() << "no device";
  for (const bool resident : {true, false}) {
    MatOwner A;
    VecOwner b, x;
    ok(MatConvert(A_, resident ? MATSEQAIJCUSPARSE : MATSEQAIJ, MAT_INITIAL_MATRIX, A.out()));
    ok(MatCreateVecs(A, b.out(), x.out()));
    ok(VecSet(b, 1));
    pc_ = make_pc(A, GetParam());
    from_options("-pc_syncfree_backend cuda");
    ok(PCApply(pc_, b, x));
    EXPECT_TRUE(contains(view(pc_), resident ? "backend: cuda\n" : "backend: cuda (data copied from the host)\n"));
  }
}
#endif

TEST_P(OurTypes, take_threads_by_call_and_by_option_and_refuse_less_than_one)
{
  PetscInt threads;
  ok(PCSyncFreeSetThreads(pc_, 3));
  ok(PCSyncFreeGetThreads(pc_, &threads));
  EXPECT_EQ(3, threads);
  from_options("-pc_syncfree_threads 2");
  ok(PCSyncFreeGetThreads(pc_, &threads));
  EXPECT_EQ(2, threads);
  for (PetscInt bad : {0, -7}) {
    EXPECT_NE(0, refused([&] { return PCSyncFreeSetThreads(pc_, bad); }).code) << bad;
    Options options("-pc_syncfree_threads " + std::to_string((int)bad));
    EXPECT_NE(0, refused([&] { return PCSetFromOptions(pc_); }).code) << bad;
  }
  ok(PCSyncFreeGetThreads(pc_, &threads));
  EXPECT_EQ(2, threads) << "a refused call changed something";
}

TEST_P(OurTypes, take_their_default_threads_from_omp_num_threads)
{
  PetscInt threads;
  setenv("OMP_NUM_THREADS", "5,2", 1);
  ok(PCSyncFreeGetThreads(pc_, &threads));
  EXPECT_EQ(5, threads) << "the environment variable";
  {
    Options options("-omp_num_threads 3");
    ok(PCSyncFreeGetThreads(pc_, &threads));
    EXPECT_EQ(3, threads) << "the option is stronger than the variable";
    ok(PCSyncFreeSetThreads(pc_, 4));
    ok(PCSyncFreeGetThreads(pc_, &threads));
    EXPECT_EQ(4, threads) << "the call is stronger than the option";
  }
  ok(PCSyncFreeSetThreads(pc_, PETSC_DECIDE));
  unsetenv("OMP_NUM_THREADS");
  ok(PCSyncFreeGetThreads(pc_, &threads));
  EXPECT_EQ(1, threads);
}

TEST_P(OurTypes, take_the_storage_by_call_and_by_option)
{
  PCSyncFreePrecisionType storage;
  ok(PCSyncFreeSetFactorPrecision(pc_, PC_SYNCFREE_PRECISION_SINGLE));
  ok(PCSyncFreeGetFactorPrecision(pc_, &storage));
  EXPECT_EQ(PC_SYNCFREE_PRECISION_SINGLE, storage);
  ok(PCSetUp(pc_));
  const std::string stored = view(pc_);  // a GPU stores so small a factor in double precision, and says so
  EXPECT_TRUE(contains(stored, "factor precision: single") || contains(stored, "single would not be faster")) << stored;
  EXPECT_TRUE(contains(stored, "factor precision single\n")) << stored;
  from_options("-pc_syncfree_factor_precision scalar");
  ok(PCSyncFreeGetFactorPrecision(pc_, &storage));
  EXPECT_EQ(PC_SYNCFREE_PRECISION_SCALAR, storage);
  from_options("-pc_syncfree_factor_precision single");
  ok(PCSyncFreeGetFactorPrecision(pc_, &storage));
  EXPECT_EQ(PC_SYNCFREE_PRECISION_SINGLE, storage);
  Options options("-pc_syncfree_factor_precision half");
  EXPECT_NE(0, refused([&] { return PCSetFromOptions(pc_); }).code);
}

TEST_P(OurTypes, honour_a_change_of_settings_after_set_up)
{
  ok(PCSyncFreeSetStrategy(pc_, "serial"));
  ok(PCSetUp(pc_));
  ok(PCSyncFreeSetStrategy(pc_, "level_set"));
  ok(PCSyncFreeSetThreads(pc_, 2));
  VecOwner b = make_vector(random_numbers(42, 1)), x = make_vector(42);
  ok(PCApply(pc_, b, x));
  EXPECT_TRUE(contains(view(pc_), "strategy: level_set")) << view(pc_);
}

TEST_P(OurTypes, carry_options_with_a_prefix)
{
  const char* strategy;
  PetscInt levels;
  ok(PCSetOptionsPrefix(pc_, "sub_"));
  from_options("-sub_pc_syncfree_strategy blocks -sub_pc_factor_levels 2");
  ok(PCSyncFreeGetStrategy(pc_, &strategy));
  EXPECT_STREQ("blocks", strategy);
  ok(PCFactorGetLevels(pc_, &levels));
  EXPECT_EQ(2, levels);
}

/* ---- PETSc's ---- */

TEST_P(OurTypes, answer_petscs_setters_with_petscs_getters)
{
  PetscReal value;
  PetscInt levels;
  PetscBool flag;
  MatFactorShiftType shift;
  MatOrderingType ordering;
  ok(PCFactorSetZeroPivot(pc_, 1e-5));
  ok(PCFactorGetZeroPivot(pc_, &value));
  EXPECT_EQ((PetscReal)1e-5, value);
  ok(PCFactorSetShiftAmount(pc_, 0.25));
  ok(PCFactorGetShiftAmount(pc_, &value));
  EXPECT_EQ(0.25, value);
  for (auto type : shifts) {
    ok(PCFactorSetShiftType(pc_, type));
    ok(PCFactorGetShiftType(pc_, &shift));
    EXPECT_EQ(type, shift);
  }
  ok(PCFactorSetLevels(pc_, 3));
  ok(PCFactorGetLevels(pc_, &levels));
  EXPECT_EQ(3, levels);
  ok(PCFactorSetAllowDiagonalFill(pc_, PETSC_TRUE));
  ok(PCFactorGetAllowDiagonalFill(pc_, &flag));
  EXPECT_TRUE(flag);
  ok(PCFactorSetUseInPlace(pc_, PETSC_TRUE));
  ok(PCFactorGetUseInPlace(pc_, &flag));
  EXPECT_TRUE(flag);
  ok(PCFactorSetMatOrderingType(pc_, MATORDERINGRCM));
  ok(PCFactorSetFill(pc_, 2.5));
  ok(PCFactorSetReuseOrdering(pc_, PETSC_TRUE));
  ok(PCFactorSetReuseFill(pc_, PETSC_TRUE));
  ok(PCFactorSetPivotInBlocks(pc_, PETSC_TRUE));
  ok(PCFactorSetColumnPivot(pc_, 0.5));
  ok(PCSetUp(pc_));
  ok(MatFactorGetPreferredOrdering(factor(), std::string(GetParam()) == PCSYNCFREEICC ? MAT_FACTOR_ICC : MAT_FACTOR_ILU,
                                   &ordering));
  const std::string text = view(pc_);
  for (const char* part :
       {"3 levels of fill", "ordering: rcm", "fill ratio given 2.5", "Reusing fill", "Reusing reordering"})
    EXPECT_TRUE(contains(text, part)) << part << " is not in\n" << text;
}

TEST_P(OurTypes, accept_every_option_of_pcilu_and_leave_none_unused)
{
  from_options(
      "-pc_factor_levels 1 -pc_factor_mat_ordering_type rcm -pc_factor_shift_type inblocks -pc_factor_shift_amount 0.5 "
      "-pc_factor_zeropivot 1e-9 "
      "-pc_factor_fill 3 -pc_factor_reuse_fill -pc_factor_reuse_ordering -pc_factor_pivot_in_blocks "
      "-pc_factor_column_pivot 0.3");
  PetscInt levels;
  PetscReal amount, zero_pivot;
  MatFactorShiftType shift;
  ok(PCFactorGetLevels(pc_, &levels));
  ok(PCFactorGetShiftType(pc_, &shift));
  ok(PCFactorGetShiftAmount(pc_, &amount));
  ok(PCFactorGetZeroPivot(pc_, &zero_pivot));
  EXPECT_EQ(1, levels);
  EXPECT_EQ(MAT_SHIFT_INBLOCKS, shift);
  EXPECT_EQ((PetscReal)0.5, amount);
  EXPECT_EQ((PetscReal)1e-9, zero_pivot);
}

TEST_P(OurTypes, change_levels_after_set_up_as_pcilu_does)
{
  MatInfo before, after;
  ok(PCSetUp(pc_));
  ok(MatGetInfo(factor(), MAT_LOCAL, &before));
  ok(PCFactorSetLevels(pc_, 2));
  ok(PCSetUp(pc_));
  ok(MatGetInfo(factor(), MAT_LOCAL, &after));
  EXPECT_GT(after.nz_used, before.nz_used);
}

TEST_P(OurTypes, accept_in_place_out_of_place_and_say_so)
{
  from_options("-pc_factor_in_place");
  MatOwner before;
  ok(MatDuplicate(A_, MAT_COPY_VALUES, before.out()));
  ok(PCSetUp(pc_));
  PetscBool same;
  ok(MatEqual(A_, before, &same));
  EXPECT_TRUE(same) << "the matrix was overwritten";
  const std::string text = view(pc_);
  EXPECT_TRUE(contains(text, "in-place") && contains(text, "out of place")) << text;
  VecOwner b = make_vector(random_numbers(42, 1)), x = make_vector(42), r = make_vector(42);
  ok(PCApply(pc_, b, x));
  ok(MatMult(A_, x, r));
}

TEST_P(OurTypes, accept_a_solver_type_without_effect_and_say_so)
{
  MatSolverType solver;
  from_options("-pc_factor_mat_solver_type petsc");
  ok(PCFactorGetMatSolverType(pc_, &solver));
  EXPECT_STREQ(MATSOLVERSYNCFREE, solver);
  ok(PCFactorSetMatSolverType(pc_, MATSOLVERPETSC));
  ok(PCSetUp(pc_));
  ok(PCFactorGetMatSolverType(pc_, &solver));
  EXPECT_STREQ(MATSOLVERSYNCFREE, solver);
  ok(MatFactorGetSolverType(factor(), &solver));
  EXPECT_STREQ(MATSOLVERSYNCFREE, solver);
  const std::string text = view(pc_);
  EXPECT_TRUE(contains(text, "petsc was requested")) << text;
  EXPECT_TRUE(contains(text, "ignores it")) << text;
  ok(PCFactorSetMatSolverType(pc_, MATSOLVERSYNCFREE));
  EXPECT_FALSE(contains(view(pc_), "was requested"));
}

TEST_P(OurTypes, view_themselves_before_and_after_set_up)
{
  const std::string before = view(pc_);
  EXPECT_TRUE(contains(before, std::string("type: ") + GetParam())) << before;
  EXPECT_TRUE(contains(before, "levels of fill")) << before;
  ok(PCSetUp(pc_));
  const std::string after = view(pc_);
  for (const char* part : {"out-of-place factorization", "0 levels of fill", "ordering: natural",
                           "factor fill ratio given 1., needed 1.", "rows=42, cols=42", "syncfree", "memory"})
    EXPECT_TRUE(contains(after, part)) << part << " is not in\n" << after;
  EXPECT_TRUE(contains(string_view(pc_), "lvls=0,order=natural")) << string_view(pc_);
}

INSTANTIATE_TEST_SUITE_P(Petsc, OurTypes, testing::Values(PCSYNCFREEILU, PCSYNCFREEICC),
                         [](const auto& info) { return std::string(info.param); });

/* ---- only ILU has them ---- */

TEST(OurIlu, accepts_the_options_that_only_ilu_has)
{
  MatOwner A = poisson_2d(5, 5);
  PCOwner pc = make_pc(A, PCSYNCFREEILU);
  PetscInt before, after;
  ok(PetscOptionsAllUsed(nullptr, &before));
  Options options("-pc_factor_diagonal_fill -pc_factor_nonzeros_along_diagonal 1e-10");
  ok(PCSetFromOptions(pc));
  ok(PetscOptionsAllUsed(nullptr, &after));
  EXPECT_EQ(before, after);
  ok(PCSetUp(pc));
}

/* Rows 0 and 1 exchanged: a zero on the diagonal that the reordering removes, in PETSc and in our type. */
TEST(OurIlu, reorders_for_a_nonzero_diagonal_as_pcilu_does)
{
  Entries entries(4);
  for (PetscInt i = 2; i < 4; ++i) entries.add(i, i, 3.0);
  entries.add(0, 0, 0.0);
  entries.add(0, 1, 2.0);
  entries.add(1, 0, 2.0);
  entries.add(1, 1, 0.0);
  MatOwner A = entries.matrix();
  Numbers x[2];
  for (int ours = 0; ours < 2; ++ours) {
    PCOwner pc = make_pc(A, ours ? PCSYNCFREEILU : PCILU);
    PCFailedReason reason;
    ok(PCFactorReorderForNonzeroDiagonal(pc, 1e-10));
    ok(PCSetUp(pc));
    ok(PCGetFailedReason(pc, &reason));
    EXPECT_EQ(PC_NOERROR, reason);
    VecOwner b = make_vector({1.0, 2.0, 3.0, 4.0}), y = make_vector(4);
    ok(PCApply(pc, b, y));
    x[ours] = ::entries(y);
  }
  EXPECT_EQ(x[0], x[1]);
}

TEST(OurIlu, fills_a_missing_diagonal_where_pcilu_does)
{
  Entries entries(4);
  for (PetscInt i : {0, 1, 3}) entries.add(i, i, 4.0);
  entries.add(2, 0, 1.0);
  entries.add(0, 2, 1.0);
  MatOwner A = entries.matrix();
  for (const char* ordering : {MATORDERINGNATURAL, MATORDERINGRCM})
    for (PetscInt levels : {0, 1}) {
      const Request request = {false, MAT_SHIFT_NONE, ordering, levels, true};
      const Factored petsc = set_up_petsc(A, request), ours = set_up_ours(A, request);
      EXPECT_EQ(petsc.refusal.code, ours.refusal.code)
          << request.text() << ": PETSc: " << petsc.refusal.text << " ours: " << ours.refusal.text;
      EXPECT_EQ(petsc.reason, ours.reason) << request.text();
    }
}

/* PCILU ignores it without a message; an error that names the alternative is more useful. */
TEST(OurIlu, refuses_a_drop_tolerance_in_words)
{
  MatOwner A = poisson_2d(4, 4);
  PCOwner pc = make_pc(A, PCSYNCFREEILU);
  ok(PCFactorSetDropTolerance(pc, 0.1, 0.1, 5));
  const Refusal refusal = refused([&] { return PCSetUp(pc); });
  EXPECT_NE(0, refusal.code);
  EXPECT_TRUE(refusal.says("drop tolerance") && refusal.says("-pc_factor_levels")) << refusal.text;
}

/* ---- the calls on a PC that is not ours ---- */

TEST(OtherTypes, ignore_our_setters_and_refuse_our_getters)
{
  MatOwner A = poisson_2d(3, 3);
  PCOwner pc = make_pc(A, PCJACOBI);
  const char *strategy, *backend;
  PetscInt threads;
  PCSyncFreePrecisionType storage;
  ok(PCSyncFreeSetBackend(pc, "host"));
  EXPECT_NE(0, refused([&] { return PCSyncFreeGetBackend(pc, &backend); }).code);
  ok(PCSyncFreeSetStrategy(pc, "serial"));
  ok(PCSyncFreeSetThreads(pc, 2));
  ok(PCSyncFreeSetFactorPrecision(pc, PC_SYNCFREE_PRECISION_SINGLE));
  EXPECT_TRUE(refused([&] { return PCSyncFreeGetStrategy(pc, &strategy); }).says("jacobi"));
  EXPECT_NE(0, refused([&] { return PCSyncFreeGetThreads(pc, &threads); }).code);
  EXPECT_NE(0, refused([&] { return PCSyncFreeGetFactorPrecision(pc, &storage); }).code);
}

TEST(Registration, may_be_repeated)
{
  ok(PCSyncFreeRegister());
  ok(PCSyncFreeRegister());
  PCOwner pc;
  ok(PCCreate(PETSC_COMM_SELF, pc.out()));
  ok(PCSetType(pc, PCSYNCFREEICC));
}

}  // namespace
