/*
  Damaged matrix files: whatever their bytes, the readers of examples/ksp/tutorials/matrix_file.h refuse a file with
  a message that names it, or make a matrix of it that PETSc can use. The files are mutants of good ones, the same in
  every run: SYNCFREE_MUTANTS of them, with the seed SYNCFREE_SEED.
*/

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "../watchdog.hpp"
#include "matrices.hpp"
#include "matrix_file.h"
#include "petsc_test.hpp"

namespace {

class Folder {
public:
  Folder()
  {
    if (!mkdtemp(path_.data())) path_.clear();
  }
  ~Folder()
  {
    unlink(file().c_str());
    unlink((file() + ".info").c_str()); /* written by PETSc's viewer */
    rmdir(path_.c_str());
  }
  std::string file() const { return path_ + "/matrix"; }

private:
  std::string path_ = testing::TempDir() + "/syncfree-reader-XXXXXX";
};

std::string bytes_of(const std::string& path)
{
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write(const std::string& path, const std::string& bytes)
{
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), (std::streamsize)bytes.size());
}

/* Writes a matrix file by PETSc's viewer. */
std::string binary(const std::string& path, bool with_vector)
{
  {
    MatOwner A = poisson_2d(4, 3);
    VecOwner b = make_vector(random_numbers(12, 1));
    ViewerOwner viewer;
    ok(PetscViewerBinaryOpen(PETSC_COMM_SELF, path.c_str(), FILE_MODE_WRITE, viewer.out()));
    ok(MatView(A, viewer));
    if (with_vector) ok(VecView(b, viewer));
  }
  return bytes_of(path);
}

std::vector<std::string> good_files(const std::string& path)
{
  const std::string head = "%%MatrixMarket matrix coordinate ";
  return {
    head + "real general\n3 3 5\n1 1 2\n2 2 2\n3 3 2\n1 2 1\n3 1 1\n",
    head + "real symmetric\n% lower triangle\n3 3 4\n1 1 2.5\n2 2 2e0\n3 3 2\n3 1 -1\n",
    head + "pattern general\n2 2 3\n1 1\n2 2\n2 1\n",
    head + "integer skew-symmetric\n3 3 2\n2 1 7\n3 1 -4\n",
    head + "complex hermitian\n2 2 3\n1 1 3 0\n2 2 4 0\n2 1 2 -1.5\n",
    binary(path, false),
    binary(path, true),
  };
}

/* A 32-bit number, big-endian */
std::string number(long long n)
{
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += (char)(n >> shift & 0xff);
  return bytes;
}

/* Makes one to four changes, most of them where the sizes are. */
std::string mutate(std::string bytes, Random* random)
{
  static const long long numbers[] = {-1, 0, 1, 5, 2147483647, -2147483648LL, 1211216, 1211214};
  static const char letters[] = {'9', '-', '\n', ' ', 'e', '\0', '\xff', '%'};
  const PetscInt changes[] = {1, 1, 1, 2, 4}, reach[] = {40, 200, 100000};
  for (PetscInt left = changes[random->integer(5)]; left > 0 && !bytes.empty(); left--) {
    const std::size_t at = (std::size_t)random->integer(std::min(reach[random->integer(3)], (PetscInt)bytes.size()));
    switch (random->integer(7)) {
    case 0: bytes[at] = (char)random->integer(256); break;
    case 1: bytes[at] = (char)(bytes[at] ^ (1 << random->integer(8))); break;
    case 2: bytes.erase(at, 1 + (std::size_t)random->integer(8)); break;
    case 3: bytes.insert(at, 1 + (std::size_t)random->integer(12), letters[random->integer(sizeof(letters))]); break;
    case 4: bytes.resize(at); break;
    case 5: /* replaces a number in a text */
      if (isdigit((unsigned char)bytes[at])) bytes[at] = (char)('0' + random->integer(10));
      break;
    default: bytes.replace(at - at % 4, 4, number(numbers[random->integer(8)])); break;
    }
  }
  return bytes;
}

/* Loads the matrix; returns none if the file is refused. */
MatOwner load(const std::string& path)
{
  char message[MESSAGE_LENGTH];
  PetscBool market = PETSC_FALSE, vector = PETSC_FALSE;
  MatOwner A;
  ok(Inspect(PETSC_COMM_SELF, path.c_str(), message, &market, &vector));
  if (!message[0] && market) ok(LoadMarketMatrix(PETSC_COMM_SELF, path.c_str(), message, A.out()));
  EXPECT_TRUE(!message[0] || contains(message, path)) << message;
  if (message[0] || market) return A;
  ViewerOwner viewer;
  ok(MatCreate(PETSC_COMM_SELF, A.out()));
  ok(MatSetType(A, MATSEQAIJ));
  ok(PetscViewerBinaryOpen(PETSC_COMM_SELF, path.c_str(), FILE_MODE_READ, viewer.out()));
  ok(MatLoad(A, viewer));
  if (!vector) return A;
  VecOwner b = make_vector(rows(A));
  (void)refused([&] { return VecLoad(b, viewer); }); /* its length may differ */
  return A;
}

/* Expects every column in range and only once in its row. */
void expect_sound(Mat A)
{
  PetscInt m, n, count;
  const PetscInt* column;
  ok(MatGetSize(A, &m, &n));
  for (PetscInt row = 0; row < m; ++row) {
    ok(MatGetRow(A, row, &count, &column, nullptr));
    for (PetscInt k = 0; k < count; ++k) {
      EXPECT_TRUE(column[k] >= 0 && column[k] < n) << column[k];
      EXPECT_TRUE(k == 0 || column[k - 1] < column[k]) << column[k];
    }
    ok(MatRestoreRow(A, row, &count, &column, nullptr));
  }
  if (m != n || testing::Test::HasFailure()) return; /* it may have more columns than fit in memory */
  VecOwner x = make_vector(Numbers((std::size_t)n, 1.0)), y = make_vector(n);
  ok(MatMult(A, x, y));
}

long setting(const char name[], long otherwise)
{
  const char* text = std::getenv(name);
  return text ? std::atol(text) : otherwise;
}

TEST(Readers, refuse_a_damaged_file_or_make_a_sound_matrix_of_it)
{
  const syncfree::Watchdog watchdog("reading mutants", syncfree::patience + (int)setting("SYNCFREE_MUTANTS", 0) / 50);
  const Folder folder;
  const std::vector<std::string> good = good_files(folder.file());
  const long count = setting("SYNCFREE_MUTANTS", 600);
  long read = 0;
  Random random((unsigned long long)setting("SYNCFREE_SEED", 1));
  for (const std::string& bytes : good) {
    write(folder.file(), bytes);
    const MatOwner A = load(folder.file());
    EXPECT_TRUE(A || (!PetscDefined(USE_COMPLEX) && contains(bytes, "complex"))) << bytes;
  }
  for (long k = 0; k < count && !HasFailure(); k++) {
    const std::string mutant = mutate(good[(std::size_t)random.integer((PetscInt)good.size())], &random);
    SCOPED_TRACE("mutant " + std::to_string(k) + ": " + testing::PrintToString(mutant));
    write(folder.file(), mutant);
    const MatOwner A = load(folder.file());
    if (A) expect_sound(A);
    read += !!A;
  }
  EXPECT_GT(read, count / 50) << "too few are read";
  EXPECT_GT(count - read, count / 4) << "too few are refused";
}

} // namespace
