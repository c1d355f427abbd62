/*
  Published matrices, where their folder is there: ILU(0) and, for symmetric ones, IC(0)
  of each, PETSc's against ours with every strategy. Same failed reason; the factor and
  what an apply gives agree within the rounding bound of each entry (factors.hpp).

  The folder is named by the environment variable SYNCFREE_MATRICES; it holds
  NAME.petsc.gz (PETSc binary). Without it the tests are skipped and counted.
*/

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "factored.hpp"

namespace {

namespace fs = std::filesystem;

const std::string suffix = ".petsc.gz";

std::vector<std::string> names()
{
  std::vector<std::string> all;
  const char* folder = std::getenv("SYNCFREE_MATRICES");
  std::error_code error;
  if (folder)
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      const std::string name = entry.path().filename().string();
      if (name.size() > suffix.size() && name.substr(name.size() - suffix.size()) == suffix)
        all.push_back(name.substr(0, name.size() - suffix.size()));
    }
  std::sort(all.begin(), all.end());
  if (all.empty()) all.push_back("no_folder");
  return all;
}

/* A folder of our own that goes with the program. */
class Scratch {
 public:
  Scratch()
  {
    char pattern[] = "/tmp/syncfree-matrices-XXXXXX";
    if (!mkdtemp(pattern)) throw std::runtime_error("no temporary folder");
    path_ = pattern;
  }
  ~Scratch()
  {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  fs::path path() const { return path_; }

 private:
  fs::path path_;
};

MatOwner load(const std::string& name)
{
  static const Scratch scratch;
  const fs::path packed = fs::path(std::getenv("SYNCFREE_MATRICES")) / (name + suffix), plain = scratch.path() / name;
  const std::string command = "gzip -dc '" + packed.string() + "' > '" + plain.string() + "'";
  if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
  ViewerOwner viewer;
  MatOwner A;
  ok(PetscViewerBinaryOpen(PETSC_COMM_SELF, plain.c_str(), FILE_MODE_READ, viewer.out()));
  ok(MatCreate(PETSC_COMM_SELF, A.out()));
  ok(MatSetType(A, MATSEQAIJ));
  ok(MatLoad(A, viewer));
  fs::remove(plain);
  return A;
}

class Matrices : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override
  {
    if (GetParam() == "no_folder") GTEST_SKIP() << "SYNCFREE_MATRICES names no folder with *" << suffix;
    A_ = load(GetParam());
  }

  /* nothing to compare where PETSc itself refuses the matrix, for example for a missing diagonal entry */
  void compare_all(const Request& request)
  {
    SCOPED_TRACE(request.text());
    const Factored petsc = set_up_petsc(A_, request);
    bool first = true;
    Factor factor;
    Bounded x, xt;
    const Numbers b = random_numbers(rows(A_), 12);
    const Order order = order_of(A_, request);
    for (const auto& strategy : strategies()) {
      SCOPED_TRACE(strategy);
      const Factored ours = set_up_ours(A_, request, strategy, 2);
      ASSERT_EQ(petsc.refusal.code, ours.refusal.code) << petsc.refusal.text << " / " << ours.refusal.text;
      ASSERT_EQ(petsc.reason, ours.reason) << PCFailedReasons[petsc.reason] << " and " << PCFailedReasons[ours.reason];
      if (!petsc.usable()) continue;
      if (first) {
        Pair pair = read_factors(petsc, ours, request);
        EXPECT_TRUE(agrees(pair.petsc, pair.ours));
        record(request, compare(pair.petsc, pair.ours));
        factor = std::move(pair.petsc);
        x = expected_apply(factor, order, b);
        xt = expected_transpose(factor, order, b);
        EXPECT_TRUE(agrees(x, applied(petsc, PCApply, b))) << "the test's own reading of PETSc's factor is wrong";
      }
      EXPECT_TRUE(agrees(x, applied(ours, PCApply, b)));
      EXPECT_TRUE(agrees(xt, applied(ours, PCApplyTranspose, b)));
      first = false;
    }
  }

  void record(const Request& request, const Difference& difference)
  {
    RecordProperty(request.icc ? "icc_worst_of_bound" : "ilu_worst_of_bound", std::to_string(difference.worst));
    RecordProperty(request.icc ? "icc_vacuous" : "ilu_vacuous",
                   std::to_string(difference.vacuous) + " of " + std::to_string(difference.entries));
  }

  MatOwner A_;
};

TEST_P(Matrices, agree_with_petsc)
{
  PetscBool symmetric;
  ok(MatIsSymmetric(A_, 1e-12, &symmetric));
  compare_all({false, MAT_SHIFT_NONE});
  if (symmetric) compare_all({true, MAT_SHIFT_POSITIVE_DEFINITE});
}

INSTANTIATE_TEST_SUITE_P(Published, Matrices, testing::ValuesIn(names()), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name)
    if (!std::isalnum((unsigned char)c)) c = '_';
  return name;
});

}  // namespace
