/*
  What a program can ask about what runs: the strategy, the version, -pc_syncfree_view once an analysis, and where a
  device matrix is factored on the host.
*/

#include <petsc/private/matimpl.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <unistd.h>

#include "matrices.hpp"
#include "petsc_test.hpp"

namespace {

/* Our PC types and, as `ilu` and `icc`, PETSc's with our factor package */
class ReportOf : public testing::TestWithParam<const char*> {
 protected:
  void make(const std::string& text)
  {
    const bool package = *GetParam() == 'i';
    options_.reset(); /* clears the options, so before new ones are set */
    options_ = std::make_unique<Options>(text + (package ? " -pc_factor_mat_solver_type syncfree" : ""));
    pc_ = PCOwner();
    ok(PCCreate(PETSC_COMM_SELF, pc_.out()));
    ok(PCSetOperators(pc_, A_, A_));
    ok(PCSetType(pc_, GetParam()));
    ok(PCSetFromOptions(pc_));
  }
  void apply()
  {
    VecOwner b = make_vector(random_numbers(rows(A_), 1)), x = make_vector(rows(A_));
    ok(PCApply(pc_, b, x));
  }
  std::pair<std::string, std::string> running()
  {
    const char *strategy, *backend;
    ok(PCSyncFreeGetRunningStrategy(pc_, &strategy, &backend));
    ok(PCSyncFreeGetRunningStrategy(pc_, nullptr, nullptr));
    return {strategy ? strategy : "none", backend ? backend : "none"};
  }

  MatOwner A_ = poisson_2d(12, 9);
  PCOwner pc_;
  std::unique_ptr<Options> options_; /* the package reads them in the symbolic factorization */
};

TEST_P(ReportOf, a_pc_names_the_strategy_that_runs)
{
  using Names = std::pair<std::string, std::string>;
  for (const std::string name : {"auto", "blocks", "level_set"}) {
    make("-pc_syncfree_strategy " + name + " -pc_syncfree_threads 2");
    EXPECT_EQ(Names("none", "none"), running()) << "before the first analysis";
    apply();
    EXPECT_EQ(Names(name == "auto" ? "serial" : name, "host"), running());
  }
}

/* Counts the views of all analyses up to now. */
TEST_P(ReportOf, an_analysis_is_viewed_once)
{
  char path[] = "reportXXXXXX";
  close(mkstemp(path));
  const auto views = [&] {
    std::ifstream file(path);
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    int count = 0;
    for (std::size_t at = 0; (at = text.find("Syncfree ", at)) != std::string::npos; ++at) ++count;
    EXPECT_TRUE(count == 0 || (contains(text, "syncfree version: ") && contains(text, "serial"))) << text;
    return count;
  };
  make("");
  apply();
  EXPECT_EQ(0, views()) << "without the option";
  make("-pc_syncfree_view ascii:" + std::string(path) + "::append");
  apply();
  apply();
  EXPECT_EQ(1, views());
  new_values(A_, 3);
  apply();
  EXPECT_EQ(1, views()) << "new values are no new analysis";
  A_ = poisson_2d(9, 12);
  ok(PCSetOperators(pc_, A_, A_));
  apply();
  EXPECT_EQ(2, views());
  std::remove(path);
}

TEST_P(ReportOf, a_device_matrix_on_the_host_is_told)
{
  const auto line = "syncfree: device matrix processed on the host, with copies: type seqaijkokkos is not supported on "
                    "the device; use -mat_type aijcusparse\n";
  make("");
  apply();
  EXPECT_FALSE(contains(view(pc_), "device matrix")) << view(pc_);

  A_ = poisson_2d(12, 9);
  ok(PetscObjectChangeTypeName((PetscObject)(Mat)A_, "seqaijkokkos")); /* with the operations of seqaij */
#if defined(PETSC_HAVE_DEVICE)
  ((Mat)A_)->boundtocpu = PETSC_FALSE; /* as in a matrix of that type */
#endif
  make("");
  char path[] = "infoXXXXXX";
  close(mkstemp(path));
  ok(PetscInfoSetFile(path, "w"));
  ok(PetscInfoAllow(PETSC_TRUE));
  apply();
  apply();
  ok(PetscInfoAllow(PETSC_FALSE));
  ok(PetscInfoSetFile(nullptr, nullptr));
  EXPECT_TRUE(contains(view(pc_), line)) << view(pc_);
  std::ifstream file(std::string(path) + ".0");
  std::string text;
  int count = 0;
  while (std::getline(file, text)) count += contains(text, "Device matrix is processed on the host, with copies: type");
  EXPECT_EQ(1, count);
  std::remove(path);
  std::remove((std::string(path) + ".0").c_str());
  ok(PetscObjectChangeTypeName((PetscObject)(Mat)A_, MATSEQAIJ));
}

INSTANTIATE_TEST_SUITE_P(Petsc, ReportOf, testing::Values(PCSYNCFREEILU, PCSYNCFREEICC, PCSYNCFREESOR, PCILU, PCICC),
                         [](const auto& info) { return std::string(info.param); });

TEST(Report, of_other_pcs_is_refused)
{
  MatOwner A = poisson_2d(3, 3);
  const char *strategy = "unset", *backend = "unset";
  for (const char* type : {PCJACOBI, PCILU, PCSOR}) {
    PCOwner pc;
    ok(PCCreate(PETSC_COMM_SELF, pc.out()));
    ok(PCSetOperators(pc, A, A));
    ok(PCSetType(pc, type));
    ok(PCSetUp(pc));
    EXPECT_TRUE(refused([&] { return PCSyncFreeGetRunningStrategy(pc, &strategy, &backend); }).says("not for " + std::string(type)));
    EXPECT_EQ(nullptr, strategy);
  }
}

TEST(Report, an_unknown_viewer_is_an_error)
{
  MatOwner A = poisson_2d(3, 3);
  Options options("-pc_syncfree_view no_such_viewer");
  PCOwner pc;
  ok(PCCreate(PETSC_COMM_SELF, pc.out()));
  ok(PCSetOperators(pc, A, A));
  ok(PCSetType(pc, PCSYNCFREEILU));
  ok(PCSetFromOptions(pc));
  EXPECT_TRUE(refused([&] { return PCSetUp(pc); }).says("no_such_viewer"));
}

TEST(Report, the_version_is_that_of_the_view)
{
  const char* version;
  ok(PCSyncFreeGetVersion(&version));
  MatOwner A = poisson_2d(3, 3);
  PCOwner pc;
  ok(PCCreate(PETSC_COMM_SELF, pc.out()));
  ok(PCSetOperators(pc, A, A));
  ok(PCSetType(pc, PCSYNCFREEILU));
  ok(PCSetUp(pc));
  EXPECT_TRUE(contains(view(pc), "syncfree version: " + std::string(version) + "\n")) << view(pc);
}

}  // namespace
