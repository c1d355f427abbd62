/// Implements read_file.hpp. The formats are read as in examples/ksp/tutorials/load.c.

#include "read_file.hpp"

#include <petscviewer.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "matrix_file.h"

namespace bench {
namespace {

bool ends_with(const std::string& text, const std::string& end)
{
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Quotes a text for the shell.
std::string quoted(const std::string& text)
{
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

/// Returns the folder of temporary files.
std::string temporary_folder()
{
  const char* named = std::getenv("TMPDIR");
  return named && *named ? named : "/tmp";
}

/// Returns half of the free space of the folder: a few bytes can unpack to a thousand times as many.
double bytes_by_default(const std::string& folder)
{
  struct statvfs there;
  return statvfs(folder.c_str(), &there) ? 0 : 0.5 * static_cast<double>(there.f_bavail) * there.f_frsize;
}

/// Returns an error message, empty if there was no error.
std::string unpack(const std::string& packed, double most, FILE* to)
{
  FILE* const from = popen(("gzip -dc -- " + quoted(packed)).c_str(), "r");
  if (!from) return packed + ": gzip cannot be started";
  std::vector<char> bytes(1 << 16);
  double total = 0;
  std::string trouble;
  while (trouble.empty()) {
    const std::size_t count = std::fread(bytes.data(), 1, bytes.size(), from);
    if (count == 0) break;
    total += static_cast<double>(count);
    if (total > most) trouble = packed + " unpacks to more than " + std::to_string(std::llround(most)) +
                                " bytes; -bench_unpacked allows more, or run gunzip on it first";
    else if (std::fwrite(bytes.data(), 1, count, to) != count) trouble = packed + ": no room to unpack it";
  }
  const int status = pclose(from);
  return trouble.empty() && status ? packed + " does not unpack" : trouble;
}

/// A file that is removed at the end of its scope.
class Unpacked {
 public:
  Unpacked(const std::string& packed, double most)
  {
    const std::string folder = temporary_folder();
    path_ = folder + "/syncfree-bench-XXXXXX";
    const int file = mkstemp(path_.data());
    if (file < 0) throw std::runtime_error("cannot make a file in " + folder);
    FILE* const to = fdopen(file, "wb");
    std::string trouble = to ? unpack(packed, most > 0 ? most : bytes_by_default(folder), to) : "no memory";
    if (to && std::fclose(to) && trouble.empty()) trouble = packed + ": no room to unpack it";
    if (trouble.empty()) return;
    unlink(path_.c_str());
    throw std::runtime_error(trouble);
  }
  ~Unpacked() { unlink(path_.c_str()); }
  Unpacked(const Unpacked&) = delete;
  const char* path() const { return path_.c_str(); }

 private:
  std::string path_;
};

/// Entries written by other programs may differ from their mirror images by rounding.
PetscBool is_symmetric(Mat A)
{
  PetscReal norm;
  PetscBool symmetric;
  ok(MatNorm(A, NORM_INFINITY, &norm));
  ok(MatIsSymmetric(A, PetscIsInfOrNanReal(norm) ? 0 : 50 * PETSC_MACHINE_EPSILON * norm, &symmetric));
  return symmetric;
}

MatOwner load(const char path[])
{
  char message[MESSAGE_LENGTH];
  PetscBool market = PETSC_FALSE, vector = PETSC_FALSE;
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
  ok(MatSetOption(A, MAT_SYMMETRIC, is_symmetric(A)));
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

MatOwner read_matrix(const std::string& path, double most_unpacked)
{
  if (!ends_with(path, ".gz")) return load(path.c_str());
  return load(Unpacked(path, most_unpacked).path());
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

std::vector<std::string> those_that_fit(Mat A, const std::string& name, const std::vector<std::string>& kinds)
{
  std::vector<std::string> fit;
  for (const std::string& kind : kinds) {
    const std::string reason = unfit(A, kind);
    if (reason.empty()) fit.push_back(kind);
    else std::printf("skipped: %s %s: %s\n", name.c_str(), kind.c_str(), reason.c_str());
  }
  return fit;
}

}  // namespace bench
