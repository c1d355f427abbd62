#pragma once

/*
  What every test program here shared: errors of PETSc become C++ exceptions whose
  text is PETSc's own message, objects destroy themselves, and a test may ask for an
  error instead of being ended by it.

  GoogleTest reports an exception as a failure of the test that threw it, so a test
  body reads `ok(KSPSolve(...))` and nothing more.
*/

#include <gtest/gtest.h>
#include <petscksp.h>

#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "syncfree_petsc.h"

#if PETSC_VERSION_LT(3, 19, 0)
#define PETSC_SUCCESS 0
#endif

/* Text of the last PETSc error since forget_errors(): all messages of the traceback. */
const std::string& last_error();
void forget_errors();

/* Installed by main(): records messages instead of printing them. */
PetscErrorCode record_error(MPI_Comm, int line, const char* function, const char* file, PetscErrorCode, PetscErrorType,
                            const char* message, void*);

/* Throws if a PETSc call failed. */
inline void ok(PetscErrorCode code)
{
  if ((int)code == 0) return;
  throw std::runtime_error("PETSc error " + std::to_string((int)code) + ": " + last_error());
}

/* A failure that a test expects: its code (0 if there was none) and its text. */
struct Refusal {
  int code = 0;
  std::string text;

  bool says(const std::string& word) const { return text.find(word) != std::string::npos; }
};

Refusal refused(const std::function<PetscErrorCode()>& call);

/* Is it that of a matrix for which `tiled` or `wavefront`, which was asked for, has no plan? */
bool has_no_plan(const std::string& strategy, const Refusal&);

/* A PETSc object that is destroyed with its scope. */
template <class Handle, PetscErrorCode (*destroy)(Handle*)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle handle) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept
  {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned()
  {
    if (handle_) (void)destroy(&handle_);
  }
  operator Handle() const { return handle_; }
  Handle* out() { return &handle_; }

 private:
  Handle handle_ = nullptr;
};

using MatOwner = Owned<Mat, MatDestroy>;
using VecOwner = Owned<Vec, VecDestroy>;
using PCOwner = Owned<PC, PCDestroy>;
using KSPOwner = Owned<KSP, KSPDestroy>;
using ISOwner = Owned<IS, ISDestroy>;
using ViewerOwner = Owned<PetscViewer, PetscViewerDestroy>;

using Numbers = std::vector<PetscScalar>;

/* Numbers in [-1, 1] (both parts in complex builds) that every run and machine repeats. */
class Random {
 public:
  explicit Random(unsigned long long seed) : state_(seed * 2654435761u + 88172645463325252ull) {}
  double uniform();                 /* [0, 1) */
  PetscScalar scalar();             /* [-1, 1) */
  PetscInt integer(PetscInt below); /* [0, below) */

 private:
  unsigned long long state_;
};

Numbers random_numbers(PetscInt n, unsigned long long seed);
VecOwner make_vector(const Numbers&);
VecOwner make_vector(PetscInt n);
Numbers entries(Vec);
MatOwner make_dense(PetscInt n, PetscInt columns, const Numbers&);
Numbers dense_entries(Mat);

/* The options database while a test runs: set on construction, gone afterwards. */
class Options {
 public:
  explicit Options(const std::string& text);
  ~Options();
  Options(const Options&) = delete;

 private:
  std::vector<std::string> names_;
};

/* ASCII view of a PC or a factor, as -ksp_view prints it. */
std::string view(PC);
std::string string_view(PC);

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/* Rows of the square matrix. */
PetscInt rows(Mat);

/* PETSc's machine epsilon, of which every tolerance is a multiple: single precision is tested as well. */
constexpr double eps = (double)PETSC_MACHINE_EPSILON;

inline double magnitude(const PetscScalar& v) { return (double)PetscAbsScalar(v); }

/* The strategies that are tested here: those of this build, without the device's where there is none, and of those that
   differ by a plan only one. */
const std::vector<std::string>& strategies();

/* Is it one of our own, on CPU threads? Others make use of a library that has its own threads and memory. */
bool on_host(const std::string& strategy);

/* Whatever number of threads it is given? */
bool on_one_thread(const std::string& strategy);

std::vector<std::string> host_strategies();

/* Each with each number of threads that makes a difference. */
std::vector<std::pair<std::string, int>> with_threads(const std::vector<std::string>& strategies,
                                                      const std::vector<int>& threads);
