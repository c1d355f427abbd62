/*
  Published matrices, if their folder is present: ILU(0) and, for symmetric ones, IC(0) of each,
  PETSc's compared with ours with every strategy. The failed reason must be the same; the factor
  and the results of an apply must agree within the rounding bound of each entry (factors.hpp).

  The environment variable SYNCFREE_MATRICES names the folder; it contains NAME.petsc.gz (PETSc
  binary). Without it the tests are skipped and counted.
*/

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

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

/* Returns the output of `gzip -dc` for a file. */
std::string unpacked(const fs::path& path)
{
  const std::string command = "gzip -dc '" + path.string() + "'";
  std::string bytes;
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) throw std::runtime_error("cannot be run: " + command);
  std::vector<char> piece(1 << 20);
  while (std::size_t count = std::fread(piece.data(), 1, piece.size(), pipe)) bytes.append(piece.data(), count);
  if (pclose(pipe) != 0) throw std::runtime_error("failed: " + command);
  return bytes;
}

/* Reads values from PETSc's binary format, which is big-endian. */
class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}

  PetscInt integer() { return (PetscInt)(std::int32_t)take(4); }

  double number()
  {
    const std::uint64_t bits = take(8);
    double v;
    std::memcpy(&v, &bits, sizeof v);
    return v;
  }

  bool at_end() const { return position_ == bytes_.size(); }

 private:
  std::uint64_t take(int size)
  {
    std::uint64_t bits = 0;
    if (position_ + (std::size_t)size > bytes_.size()) throw std::runtime_error("the file is cut short");
    for (int i = 0; i < size; ++i) bits = bits << 8 | (unsigned char)bytes_[position_++];
    return bits;
  }

  const std::string& bytes_;
  std::size_t position_ = 0;
};

/* The files contain 32-bit indices and real values; MatLoad() reads them only in a PETSc of that configuration. */
MatOwner load(const std::string& name)
{
  const std::string bytes = unpacked(fs::path(std::getenv("SYNCFREE_MATRICES")) / (name + suffix));
  Reader file(bytes);
  if (file.integer() != MAT_FILE_CLASSID) throw std::runtime_error(name + " holds no matrix");
  const PetscInt m = file.integer(), n = file.integer(), nonzeros = file.integer();
  std::vector<PetscInt> begin = {0}, column((std::size_t)nonzeros);
  for (PetscInt i = 0; i < m; ++i) begin.push_back(begin.back() + file.integer());
  for (auto& j : column) j = file.integer();
  Numbers value((std::size_t)nonzeros);
  for (auto& v : value) v = (PetscReal)file.number();
  if (begin.back() != nonzeros || !file.at_end()) throw std::runtime_error(name + " is not what its header says");
  MatOwner A;
  ok(MatCreate(PETSC_COMM_SELF, A.out()));
  ok(MatSetSizes(A, m, n, m, n));
  ok(MatSetType(A, MATSEQAIJ));
  ok(MatSeqAIJSetPreallocationCSR(A, begin.data(), column.data(), value.data()));
  return A;
}

class Matrices : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override
  {
    if (GetParam() == "no_folder") GTEST_SKIP() << "SYNCFREE_MATRICES names no folder with *" << suffix;
    A_ = load(GetParam());
  }

  /* nothing to compare if PETSc itself refuses the matrix, for example for a missing diagonal entry */
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
