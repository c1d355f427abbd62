/// What read_file.hpp declares. The formats are read as examples/ksp/tutorials/load.c reads them.

#include "read_file.hpp"

#include <petscviewer.h>
#include <unistd.h>

#include <cstdlib>

#include "matrix_file.h"

namespace bench {
namespace {

bool ends_with(const std::string& text, const std::string& end)
{
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// For the shell.
std::string quoted(const std::string& text)
{
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

/// A file that goes with its scope.
class Unpacked {
 public:
  explicit Unpacked(const std::string& packed)
  {
    const int file = mkstemp(path_);
    if (file < 0) throw std::runtime_error("cannot make a file in /tmp");
    close(file);
    if (std::system(("gzip -dc -- " + quoted(packed) + " > " + path_).c_str()) == 0) return;
    unlink(path_);
    throw std::runtime_error(packed + " does not unpack");
  }
  ~Unpacked() { unlink(path_); }
  Unpacked(const Unpacked&) = delete;
  const char* path() const { return path_; }

 private:
  char path_[32] = "/tmp/syncfree-bench-XXXXXX";
};

MatOwner load(const char path[])
{
  char message[MESSAGE_LENGTH];
  PetscBool market = PETSC_FALSE, vector = PETSC_FALSE, symmetric;
  PetscViewer viewer;
  MatOwner A;
  ok(Inspect(PETSC_COMM_SELF, path, message, &market, &vector));
  if (!message[0] && market) ok(LoadMarketMatrix(PETSC_COMM_SELF, path, message, A.out()));
  if (message[0]) throw std::runtime_error(message);
  if (!market) {
    ok(MatCreate(PETSC_COMM_SELF, A.out()));
    ok(MatSetType(A, MATSEQAIJ));
    ok(PetscViewerBinaryOpen(PETSC_COMM_SELF, path, FILE_MODE_READ, &viewer));
    ok(MatLoad(A, viewer));
    ok(PetscViewerDestroy(&viewer));
  }
  ok(MatIsSymmetric(A, 0.0, &symmetric));
  ok(MatSetOption(A, MAT_SYMMETRIC, symmetric));
  return A;
}

}  // namespace

std::string name_of_file(const std::string& path)
{
  std::string name = path.substr(path.find_last_of('/') + 1);
  for (const char* end : {".gz", ".petsc", ".mtx", ".bin", ".dat"})
    if (ends_with(name, end)) name.resize(name.size() - std::string(end).size());
  return name;
}

MatOwner read_matrix(const std::string& path)
{
  if (!ends_with(path, ".gz")) return load(path.c_str());
  return load(Unpacked(path).path());
}

std::string unfit(Mat A, const std::string& kind)
{
  PetscInt rows, columns, count;
  PetscBool known, symmetric;
  const PetscInt* column;
  ok(MatGetSize(A, &rows, &columns));
  if (rows != columns) return "not square";
  ok(MatIsSymmetricKnown(A, &known, &symmetric));
  if (kind == "icc" && !symmetric) return "not symmetric";
  for (PetscInt row = 0; row < rows; ++row) {
    ok(MatGetRow(A, row, &count, &column, nullptr));
    bool found = false;
    for (PetscInt k = 0; k < count; ++k) found = found || column[k] == row;
    ok(MatRestoreRow(A, row, &count, &column, nullptr));
    if (!found) return "no diagonal entry in row " + std::to_string(row);
  }
  return "";
}

}  // namespace bench
