/*
  The orderings that this library registers: with our PCs they give PETSc's factor in the same order, and PETSc's PCs
  take them, too.
*/

#include <algorithm>

#include "factored.hpp"
#include "matrices.hpp"
#include "syncfree/ordering.hpp"

namespace {

const std::vector<const char*> ours = {MATORDERINGSYNCFREEMULTICOLOR, MATORDERINGSYNCFREECYCLIC,
                                       MATORDERINGSYNCFREEABMC};

std::vector<PetscInt> indices(IS is)
{
  PetscInt n;
  const PetscInt* index;
  ok(ISGetLocalSize(is, &n));
  ok(ISGetIndices(is, &index));
  std::vector<PetscInt> all(index, index + n);
  ok(ISRestoreIndices(is, &index));
  return all;
}

std::vector<PetscInt> ordering_of(Mat A, MatOrderingType type)
{
  ISOwner row, column;
  ok(MatGetOrdering(A, type, row.out(), column.out()));
  EXPECT_EQ(indices(row), indices(column));
  return indices(row);
}

class OrderingsOf : public testing::TestWithParam<const char*> {
 protected:
  void compare(const Sample& s, const Request& request)
  {
    MatOwner A = s.make();
    const Factored theirs = set_up_petsc(A, request), mine = set_up_ours(A, request);
    ASSERT_EQ(theirs.refusal.code, mine.refusal.code) << theirs.refusal.text << mine.refusal.text;
    ASSERT_EQ(theirs.reason, mine.reason);
    if (!theirs.usable() || rows(A) == 0) return;
    const Pair pair = read_factors(theirs, mine, request);
    EXPECT_TRUE(agrees(pair.petsc, pair.ours));
    const Order order = order_of(A, request);
    const Numbers b = random_numbers(rows(A), 44);
    const Bounded x = expected_apply(pair.petsc, order, b);
    EXPECT_TRUE(agrees(x, applied(theirs, PCApply, b)));
    EXPECT_TRUE(agrees(x, applied(mine, PCApply, b)));
    EXPECT_TRUE(agrees(expected_transpose(pair.petsc, order, b), applied(mine, PCApplyTranspose, b)));
    compare_columns(mine, pair.petsc, order);
  }

  void compare_columns(const Factored& mine, const Factor& factor, const Order& order)
  {
    const PetscInt n = factor.n, columns = 3;
    const Numbers b = random_numbers(n * columns, 45);
    MatOwner X = make_dense(n, columns, b), Y = make_dense(n, columns, b);
    ok(PCMatApply(mine.pc, X, Y));
    const Numbers y = dense_entries(Y);
    for (PetscInt c = 0; c < columns; ++c)
      EXPECT_TRUE(agrees(expected_apply(factor, order, Numbers(b.begin() + c * n, b.begin() + (c + 1) * n)),
                         Numbers(y.begin() + c * n, y.begin() + (c + 1) * n)))
        << "column " << c;
  }
};

TEST_P(OrderingsOf, our_names_give_petscs_factor_in_the_same_order)
{
  for (const auto& s : samples())
    for (const bool icc : {false, true})
      for (const PetscInt levels : {0, 1}) {
        if (icc && !s.symmetric) continue;
        const Request request = {icc, default_shift(icc), GetParam(), levels};
        SCOPED_TRACE(std::string(s.name) + ", " + request.text());
        compare(s, request);
        if (HasFailure()) return;
      }
}

/* PETSc uses the inodes, and reads past the end of its arrays if an ordering separates their rows. */
TEST_P(OrderingsOf, our_names_keep_petscs_inodes_together)
{
  const auto node = [](PetscInt i) { return i % 5 == 1 ? i - 1 : i; }; /* four of five rows */
  Entries entries(200);
  for (PetscInt i = 0; i < 200; ++i)
    for (PetscInt j = 0; j < 200; ++j) {
      const PetscInt a = node(i), b = node(j);
      if (a == b || (a + b) % 13 == 0 || a - b == 7 || b - a == 7) entries.add(i, j, i == j ? 40.0 : -1.0 / (1.0 + (PetscReal)((i + 2 * j) % 5)));
    }
  static MatOwner made;
  made = entries.matrix();
  const Sample s = {"four_of_five", "few inodes", false, false, [] { return std::move(made); }};
  compare(s, {false, MAT_SHIFT_NONE, GetParam(), 0});
}

TEST_P(OrderingsOf, our_names_are_kept_or_made_anew_as_petscs_are)
{
  for (const bool reuse : {false, true}) {
    MatOwner A = poisson_2d(9, 11), B = random_matrix(99, 6, 2.0, true, 5);
    PCOwner pcs[2];
    for (const int k : {0, 1}) {
      ok(PCCreate(PETSC_COMM_SELF, pcs[k].out()));
      ok(PCSetOperators(pcs[k], A, A));
      ok(PCSetType(pcs[k], k ? PCSYNCFREEILU : PCILU));
      ok(PCFactorSetMatOrderingType(pcs[k], GetParam()));
      ok(PCFactorSetReuseOrdering(pcs[k], (PetscBool)reuse));
    }
    const auto expect_equal = [&](const char* when) {
      const Numbers b = random_numbers(99, 7);
      Numbers x[2];
      for (const int k : {0, 1}) {
        VecOwner from = make_vector(b), to = make_vector(99);
        ok(PCSetUp(pcs[k]));
        ok(PCApply(pcs[k], from, to));
        x[k] = entries(to);
      }
      for (std::size_t i = 0; i < b.size(); ++i)
        EXPECT_LE(magnitude(x[0][i] - x[1][i]), 1000 * eps * (1 + magnitude(x[0][i]))) << when << ", row " << i;
    };
    expect_equal("first");
    new_values(A, 4);
    for (PC pc : {(PC)pcs[0], (PC)pcs[1]}) ok(PCSetOperators(pc, A, A));
    expect_equal("new values");
    for (PC pc : {(PC)pcs[0], (PC)pcs[1]}) ok(PCSetOperators(pc, B, B));
    expect_equal("another pattern");
  }
}

PetscInt event_count(const char* event_name)
{
  PetscLogEvent event;
  PetscEventPerfInfo info;
  ok(PetscLogEventGetId(event_name, &event));
  ok(PetscLogEventGetPerfInfo(0, event, &info));
  return (PetscInt)info.count;
}

TEST_P(OrderingsOf, our_names_need_no_index_sets_of_our_types)
{
  ok(PetscLogDefaultBegin());
  for (const char* type : {PCSYNCFREEILU, PCSYNCFREEICC, PCILU}) {
    const PetscInt before = event_count("MatGetOrdering");
    MatOwner A = poisson_2d(9, 11), B = poisson_3d(5, 4, 5);
    PCOwner pc;
    ok(PCCreate(PETSC_COMM_SELF, pc.out()));
    ok(PCSetOperators(pc, A, A));
    ok(PCSetType(pc, type));
    ok(PCFactorSetMatOrderingType(pc, GetParam()));
    ok(PCSetUp(pc));
    EXPECT_TRUE(contains(view(pc), std::string("matrix ordering: ") + GetParam() + "\n")) << view(pc);
    new_values(A, 4);
    ok(PCSetUp(pc));
    ok(PCReset(pc));
    ok(PCSetOperators(pc, B, B));
    ok(PCSetUp(pc));
    EXPECT_TRUE(contains(view(pc), std::string("matrix ordering: ") + GetParam() + "\n")) << view(pc);
    EXPECT_EQ(type == std::string(PCILU) ? 2 : 0, event_count("MatGetOrdering") - before) << type;
  }
}

/* PETSc's type and ours, in the same order, and what is done to both. */
class Twins {
 public:
  Twins(Mat A, bool icc, MatOrderingType ordering)
  {
    for (const int k : {0, 1}) {
      ok(PCCreate(PETSC_COMM_SELF, pc_[k].out()));
      ok(PCSetOperators(pc_[k], A, A));
      ok(PCSetType(pc_[k], icc ? k ? PCSYNCFREEICC : PCICC : k ? PCSYNCFREEILU : PCILU));
      ok(PCFactorSetMatOrderingType(pc_[k], ordering));
    }
  }
  void both(const std::function<PetscErrorCode(PC)>& call)
  {
    for (const int k : {0, 1}) ok(call(pc_[k]));
  }
  void take(Mat A)
  {
    both([A](PC pc) { return PCSetOperators(pc, A, A); });
  }
  void expect_equal(const std::string& when)
  {
    Mat A;
    ok(PCGetOperators(pc_[0], nullptr, &A));
    const Numbers b = random_numbers(rows(A), 7);
    Numbers x[2];
    for (const int k : {0, 1}) {
      VecOwner from = make_vector(b), to = make_vector(rows(A));
      ok(PCSetUp(pc_[k]));
      ok(PCApply(pc_[k], from, to));
      x[k] = entries(to);
    }
    for (std::size_t i = 0; i < b.size(); ++i)
      ASSERT_LE(magnitude(x[0][i] - x[1][i]), 1000 * eps * (1 + magnitude(x[0][i]))) << when << ", row " << i;
  }

 private:
  PCOwner pc_[2];
};

TEST_P(OrderingsOf, our_names_are_reused_from_when_that_is_set)
{
  for (const bool icc : {false, true})
    for (const unsigned flags : {0u, 5u, 10u, 18u, 31u}) { /* bit s: the ordering is reused from step s on */
      MatOwner A[3] = {random_matrix(99, 6, 2.0, true, 5), poisson_2d(9, 11), random_matrix(99, 4, 2.0, true, 6)};
      Twins twins(A[0], icc, GetParam());
      for (const unsigned step : {0u, 1u, 2u, 3u, 4u}) {
        const PetscBool reuse = (PetscBool)(flags >> step & 1);
        twins.both([reuse](PC pc) { return PCFactorSetReuseOrdering(pc, reuse); });
        twins.take(A[step % 3]);
        twins.expect_equal("step " + std::to_string(step) + " of " + std::to_string(flags) + (icc ? ", icc" : ", ilu"));
        if (HasFailure()) return;
        new_values(A[step % 3], step);
        twins.expect_equal("new values");
      }
    }
}

/* The same matrix is given as another object. */
TEST_P(OrderingsOf, our_names_of_a_kept_order_are_not_taken_for_those_of_its_pattern)
{
  MatOwner A = random_matrix(99, 6, 2.0, true, 5), B = poisson_2d(9, 11), C = poisson_2d(9, 11);
  Twins twins(A, false, GetParam());
  const auto reuse = [&](PetscBool flag) {
    twins.both([flag](PC pc) { return PCFactorSetReuseOrdering(pc, flag); });
  };
  reuse(PETSC_TRUE);
  twins.expect_equal("first");
  twins.take(B);
  twins.expect_equal("kept");
  reuse(PETSC_FALSE);
  twins.take(C);
  twins.expect_equal("made anew");
  reuse(PETSC_TRUE);
  twins.take(B);
  twins.expect_equal("kept again");
}

TEST_P(OrderingsOf, our_names_may_have_nonzeros_moved_to_the_diagonal)
{
  const auto move = [](PC pc) { return PCFactorReorderForNonzeroDiagonal(pc, 1e-8); };
  MatOwner A = random_matrix(99, 6, 2.0, true, 5), B = poisson_2d(9, 11), C = random_matrix(99, 4, 2.0, true, 6);
  for (const bool reuse : {false, true}) {
    Twins first(A, false, GetParam()), later(A, false, GetParam());
    first.both(move);
    first.expect_equal("from the first set-up");
    later.expect_equal("before");
    later.both(move);
    for (Twins* twins : {&first, &later}) {
      twins->both([reuse](PC pc) { return PCFactorSetReuseOrdering(pc, (PetscBool)reuse); });
      twins->expect_equal("nothing has changed");
      for (Mat next : {(Mat)B, (Mat)C}) {
        twins->take(next);
        twins->expect_equal(reuse ? "another pattern, kept" : "another pattern");
      }
    }
  }
}

/* The analysis of a factor that the user holds is not taken over: another one is made, of the same order. Were its rows
   copied without their colors and blocks, another kernel would solve on a device. */
TEST_P(OrderingsOf, our_names_are_made_again_where_the_factor_is_held)
{
  MatOwner A = poisson_2d(12, 11), B;
  ok(MatDuplicate(A, MAT_COPY_VALUES, B.out()));
  ok(MatScale(B, 1.5));
  const auto& names = strategies();
  for (const std::string backend : {"host", "cuda"}) {
    if (backend == "cuda" && !std::count(names.begin(), names.end(), "level_order")) continue; /* no device */
    std::string said[2];
    Numbers found[2];
    for (const bool holds : {false, true}) {
      PCOwner pc;
      MatOwner held;
      Mat F;
      ok(PCCreate(PETSC_COMM_SELF, pc.out()));
      ok(PCSetType(pc, PCSYNCFREEILU));
      ok(PCSyncFreeSetBackend(pc, backend.c_str()));
      ok(PCFactorSetMatOrderingType(pc, GetParam()));
      ok(PCFactorSetReuseOrdering(pc, PETSC_TRUE));
      ok(PCSetOperators(pc, A, A));
      ok(PCSetUp(pc));
      if (holds) {
        ok(PCFactorGetMatrix(pc, &F));
        ok(PetscObjectReference((PetscObject)F));
        *held.out() = F;
      }
      ok(PCSetOperators(pc, B, B));
      VecOwner from = make_vector(random_numbers(rows(B), 3)), x = make_vector(rows(B));
      ok(PCApply(pc, from, x));
      said[holds] = view(pc), found[holds] = entries(x);
    }
    EXPECT_EQ(said[0], said[1]);
    EXPECT_EQ(found[0], found[1]);
  }
}

/* After an error the next set-up starts from the beginning. */
TEST_P(OrderingsOf, our_names_are_made_after_a_failure)
{
  for (const char* type : {PCSYNCFREEILU, PCSYNCFREEICC}) {
    Entries entries_of(99);
    for (PetscInt i = 0; i < 99; ++i) entries_of.add(i, (i + 1) % 99, 1.0);
    MatOwner A = poisson_2d(9, 11), holed = entries_of.matrix();
    PCOwner pc, fresh;
    for (PCOwner* p : {&pc, &fresh}) {
      ok(PCCreate(PETSC_COMM_SELF, p->out()));
      ok(PCSetType(*p, type));
      ok(PCFactorSetMatOrderingType(*p, GetParam()));
      ok(PCSetOperators(*p, A, A));
      ok(PCSetUp(*p));
    }
    ok(PCSetOperators(pc, holed, holed));
    EXPECT_TRUE(refused([&] { return PCSetUp(pc); }).says("diagonal"));
    ok(PCSetOperators(pc, A, A));
    const Numbers b = random_numbers(99, 3);
    Numbers x[2];
    for (const int k : {0, 1}) {
      VecOwner from = make_vector(b), to = make_vector(99);
      ok(PCApply(k ? pc : fresh, from, to));
      x[k] = entries(to);
    }
    EXPECT_EQ(x[0], x[1]);
  }
}

TEST_P(OrderingsOf, our_names_are_those_of_the_core)
{
  MatOwner A = elasticity_like(4, 4, 3, 3);
  const PetscInt *row, *column;
  PetscInt n;
  PetscBool done;
  using Index = std::conditional_t<sizeof(PetscInt) == 8, std::int64_t, std::int32_t>;
  syncfree::OrderingOptions options;
  options.kind = (syncfree::OrderingKind)(std::find(ours.begin(), ours.end(), std::string(GetParam())) - ours.begin());
  syncfree::Ordering<Index> core;
  ok(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &row, &column, &done));
  const syncfree::PatternView<Index> pattern = {(Index)n, (const Index*)row, (const Index*)column};
  ASSERT_TRUE(syncfree::make_ordering(pattern, options, 1, &core).ok());
  ok(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &row, &column, &done));
  EXPECT_EQ(ordering_of(A, GetParam()), std::vector<PetscInt>(core.order.begin(), core.order.end()));
}

/* PETSc's blocks have one ordering, of blocks. */
TEST_P(OrderingsOf, our_names_order_the_blocks_of_baij)
{
  MatOwner A = elasticity_like(4, 4, 3, 3), B;
  ok(MatConvert(A, MATSEQBAIJ, MAT_INITIAL_MATRIX, B.out()));
  EXPECT_EQ(ordering_of(B, GetParam()).size(), 48u);
  const Numbers b = random_numbers(rows(A), 8);
  Numbers x[2];
  for (const int k : {0, 1}) {
    PCOwner pc;
    VecOwner from = make_vector(b), to = make_vector(rows(A));
    ok(PCCreate(PETSC_COMM_SELF, pc.out()));
    ok(PCSetOperators(pc, B, B));
    ok(PCSetType(pc, PCLU)); /* its solution does not depend on the order */
    ok(PCFactorSetMatOrderingType(pc, k ? GetParam() : MATORDERINGNATURAL));
    ok(PCApply(pc, from, to));
    x[k] = entries(to);
  }
  for (std::size_t i = 0; i < b.size(); ++i)
    EXPECT_LE(magnitude(x[0][i] - x[1][i]), 1e4 * eps * (1 + magnitude(x[0][i]))) << i;
}

INSTANTIATE_TEST_SUITE_P(Petsc, OrderingsOf, testing::ValuesIn(ours),
                         [](const auto& info) { return std::string(info.param); });

/* Sets up a PC, with a prefix of its own and one of its matrix; 70000 colors are refused where the option counts. */
Refusal refused_with(PCType type, const std::string& text, const char* solver = nullptr)
{
  Options options(text);
  MatOwner A = poisson_2d(20, 20);
  ok(MatSetOptionsPrefix(A, "mine_"));
  PCOwner pc;
  ok(PCCreate(PETSC_COMM_SELF, pc.out()));
  ok(PCSetOptionsPrefix(pc, "of_"));
  ok(PCSetOperators(pc, A, A));
  ok(PCSetType(pc, type));
  if (solver) ok(PCFactorSetMatSolverType(pc, solver));
  return refused([&] {
    PetscFunctionBeginUser;
    PetscCall(PCSetFromOptions(pc));
    PetscCall(PCSetUp(pc));
    PetscFunctionReturn(PETSC_SUCCESS);
  });
}

TEST(OrderingOptionsOf, a_pc_of_ours_have_its_prefix_and_of_another_that_of_the_matrix)
{
  const std::string cyclic = "-of_pc_factor_mat_ordering_type syncfree_cyclic ";
  const std::string of_pc = cyclic + "-of_pc_syncfree_cyclic_colors 70000";
  const std::string of_matrix = cyclic + "-mine_pc_syncfree_cyclic_colors 70000";
  const std::string of_none = cyclic + "-pc_syncfree_cyclic_colors 70000";
  for (const char* type : {PCSYNCFREEILU, PCSYNCFREEICC}) {
    EXPECT_TRUE(refused_with(type, of_pc).says("-pc_syncfree_cyclic_colors 70000 must be at most 65536"));
    EXPECT_EQ(0, refused_with(type, of_matrix).code);
    EXPECT_EQ(0, refused_with(type, of_none).code);
  }
  for (const char* type : {PCILU, PCICC, PCLU, PCCHOLESKY}) {
    EXPECT_TRUE(refused_with(type, of_matrix).says("70000 must be at least 2 and at most 65536; set it with "
                                                   "-pc_syncfree_cyclic_colors"));
    EXPECT_EQ(0, refused_with(type, of_none).code);
  }
  EXPECT_TRUE(refused_with(PCILU, of_pc).says("70000"));
  EXPECT_TRUE(refused_with(PCILU, of_pc, MATSOLVERSYNCFREE).says("70000"));
  EXPECT_TRUE(refused_with(PCILU, of_matrix, MATSOLVERSYNCFREE).says("70000"));
}

TEST(OrderingOptionsOf, each_kind_are_refused_out_of_range)
{
  const std::string abmc = "-of_pc_factor_mat_ordering_type syncfree_abmc ", cyclic = "-of_pc_factor_mat_ordering_type syncfree_cyclic ";
  EXPECT_TRUE(refused_with(PCSYNCFREEILU, abmc + "-of_pc_syncfree_abmc_rows 1025").says("-pc_syncfree_abmc_rows 1025 must be at most 1024"));
  EXPECT_TRUE(refused_with(PCSYNCFREEILU, abmc + "-of_pc_syncfree_abmc_rows 0").says("-pc_syncfree_abmc_rows 0 must be at least 1"));
  EXPECT_TRUE(refused_with(PCSYNCFREEILU, cyclic + "-of_pc_syncfree_cyclic_colors 1").says("-pc_syncfree_cyclic_colors 1 must be at least 2"));
  EXPECT_TRUE(refused_with(PCILU, abmc + "-mine_pc_syncfree_abmc_rows -3").says("the number of rows of a block -3"));
  EXPECT_EQ(0, refused_with(PCSYNCFREEILU, abmc + "-of_pc_syncfree_abmc_rows 1").code);
  EXPECT_EQ(0, refused_with(PCSYNCFREEILU, cyclic + "-of_pc_syncfree_cyclic_colors 2").code);
}

TEST(OrderingOptionsOf, a_matrix_change_its_ordering)
{
  MatOwner A = poisson_2d(20, 20);
  const auto with = [&](const std::string& text, MatOrderingType type) {
    Options options(text);
    return ordering_of(A, type);
  };
  for (const auto& [type, option] : {std::pair(MATORDERINGSYNCFREECYCLIC, "-pc_syncfree_cyclic_colors "), std::pair(MATORDERINGSYNCFREEABMC, "-pc_syncfree_abmc_rows ")}) {
    const auto usual = with("", type);
    EXPECT_EQ(usual, with(option + std::string("16"), type));
    EXPECT_NE(usual, with(option + std::string("5"), type));
  }
}

TEST(OrderingsOfOurTypes, change_with_their_options_after_the_set_up)
{
  MatOwner A = poisson_2d(20, 20);
  PCOwner pc;
  ok(PCCreate(PETSC_COMM_SELF, pc.out()));
  ok(PCSetOperators(pc, A, A));
  ok(PCSetType(pc, PCSYNCFREEILU));
  ok(PCFactorSetMatOrderingType(pc, MATORDERINGSYNCFREECYCLIC));
  const Numbers b = random_numbers(400, 3);
  const auto apply = [&] {
    VecOwner from = make_vector(b), to = make_vector(400);
    ok(PCSetFromOptions(pc));
    ok(PCApply(pc, from, to));
    return entries(to);
  };
  const Numbers usual = apply();
  {
    Options options("-pc_syncfree_cyclic_colors 4");
    EXPECT_NE(usual, apply());
    EXPECT_TRUE(contains(view(pc), "syncfree options: -pc_syncfree_cyclic_colors 4\n")) << view(pc);
  }
  Options options("-pc_syncfree_cyclic_colors 16");
  EXPECT_EQ(usual, apply());
}

TEST(OrderingsOfMatrices, without_rows_are_empty_and_without_entries_or_square_shape_refused)
{
  for (const char* type : ours) {
    MatOwner none, wide, shell;
    ok(MatCreateSeqAIJ(PETSC_COMM_SELF, 0, 0, 0, nullptr, none.out()));
    ok(MatAssemblyBegin(none, MAT_FINAL_ASSEMBLY));
    ok(MatAssemblyEnd(none, MAT_FINAL_ASSEMBLY));
    EXPECT_TRUE(ordering_of(none, type).empty());
    ok(MatCreateSeqAIJ(PETSC_COMM_SELF, 3, 7, 1, nullptr, wide.out()));
    ok(MatAssemblyBegin(wide, MAT_FINAL_ASSEMBLY));
    ok(MatAssemblyEnd(wide, MAT_FINAL_ASSEMBLY));
    ISOwner row, column;
    EXPECT_TRUE(refused([&] { return MatGetOrdering(wide, type, row.out(), column.out()); }).says("quare matrix"));
    ok(MatCreateShell(PETSC_COMM_SELF, 5, 5, 5, 5, nullptr, shell.out()));
    EXPECT_TRUE(refused([&] { return MatGetOrdering(shell, type, row.out(), column.out()); }).says("shell"));
  }
}

}  // namespace
