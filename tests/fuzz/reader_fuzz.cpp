/// Fuzz target: the bytes are a matrix file, in Matrix Market or PETSc's binary format. read_matrix() of
/// tests/bench/read_file.cpp throws with a reason, or returns a matrix of which every entry can be used; PETSc itself
/// reports nothing, since the readers look at a file before PETSc does.

#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "../bench/read_file.hpp"

namespace {

void require(bool holds, const char* what)
{
  if (holds) return;
  std::fprintf(stderr, "required, but does not hold: %s\n", what);
  std::abort();
}

/// A file in memory.
class File {
 public:
  File(const std::uint8_t* data, std::size_t size) : file_(memfd_create("matrix", 0))
  {
    require(file_ >= 0 && write(file_, data, size) == static_cast<ssize_t>(size), "a file in memory");
  }
  ~File() { close(file_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

/// Every column is in range and only once in its row; the matrix multiplies.
void require_sound(Mat A)
{
  PetscInt m, n, count;
  const PetscInt* column;
  const PetscScalar* value;
  double sum = 0;
  bench::ok(MatGetSize(A, &m, &n));
  require(m >= 0 && n >= 0, "sizes are not negative");
  for (PetscInt row = 0; row < m; ++row) {
    bench::ok(MatGetRow(A, row, &count, &column, &value));
    for (PetscInt k = 0; k < count; ++k) {
      require(column[k] >= 0 && column[k] < n, "columns are in range");
      require(k == 0 || column[k - 1] < column[k], "columns ascend");
      sum += std::abs(PetscRealPart(value[k]));
    }
    bench::ok(MatRestoreRow(A, row, &count, &column, &value));
  }
  require(!(sum < 0), "values can be read");
  (void)bench::unfit(A, "icc");
}

PetscErrorCode give_up(MPI_Comm, int line, const char* function, const char* file, PetscErrorCode code, PetscErrorType,
                       const char* message, void*)
{
  std::fprintf(stderr, "PETSc's error %d in %s, %s:%d: %s\n", static_cast<int>(code), function, file, line, message);
  std::abort();
}

}  // namespace

/// PETSc and MPI leave things behind at their end, which are no leaks of the readers.
extern "C" const char* __asan_default_options()
{
  return "detect_leaks=0";
}

extern "C" int LLVMFuzzerInitialize(int*, char***)
{
  bench::ok(PetscInitializeNoArguments());
  bench::ok(PetscPopSignalHandler());
  bench::ok(PetscPushErrorHandler(give_up, nullptr));
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
  const File file(data, size);
  bench::MatOwner A;
  try {
    A = bench::read_matrix(file.path(), 0);
  } catch (const std::runtime_error& error) {
    require(std::string(error.what()).find(file.path()) != std::string::npos, "a reason names the file");
  }
  if (A) require_sound(A);
  return 0;
}
