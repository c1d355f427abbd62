#pragma once

/*
  Common to all test programs of this folder: errors of PETSc become C++ exceptions with PETSc's
  own message as their text, objects destroy themselves, and a test may expect an error instead of
  being ended by it.

  GoogleTest reports an exception as a failure of the test that threw it, so a test body reads
  `ok(KSPSolve(...))` and nothing more.
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

/* Returns the text of the last PETSc error since forget_errors(): all messages of the traceback. */
const std::string& last_error();
void forget_errors();

/* Records messages instead of printing them; installed by main(). */
PetscErrorCode record_error(MPI_Comm, int line, const char* function, const char* file, PetscErrorCode, PetscErrorType,
                            const char* message, void*);

/* Throws if a PETSc call failed. */
inline void ok(PetscErrorCode code)
{
  if ((int)code == 0) return;
  throw std::runtime_error("PETSc error " + std::to_string((int)code) + ": " + last_error());
}

/* An expected failure: its code (0 if there was none) and its text. */
struct Refusal {
  int code = 0;
  std::string text;

  bool says(const std::string& word) const { return text.find(word) != std::string::npos; }
};

Refusal refused(const std::function<PetscErrorCode()>& call);

/* Returns true if the refusal says that the requested `tiled` or `wavefront` has no plan for this matrix. */
bool has_no_plan(const std::string& strategy, const Refusal&);

/* A PETSc object that is destroyed at the end of its scope. */
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

/* Random values in [-1, 1] (both parts in complex builds), the same in every run and on every machine. */
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

/* Options in PETSc's database during its lifetime. */
class Options {
 public:
  explicit Options(const std::string& text);
  ~Options();
  Options(const Options&) = delete;

 private:
  std::vector<std::string> names_;
};

/* Returns the ASCII view of a PC or a factor, as -ksp_view prints it. */
std::string view(PC);
std::string string_view(PC);

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/* Returns the number of rows of a square matrix. */
PetscInt rows(Mat);

/* PETSc's machine epsilon; every tolerance is a multiple of it, as single precision is tested, too. */
constexpr double eps = (double)PETSC_MACHINE_EPSILON;

inline double magnitude(const PetscScalar& v) { return (double)PetscAbsScalar(v); }

/* Lists the strategies to test: those of this build, without the device's if there is no device, and only one of those
   that differ in their plans only. */
const std::vector<std::string>& strategies();

/* Returns true for our own strategies on CPU threads. Others use a library with its own threads and memory. */
bool on_host(const std::string& strategy);

/* Returns true if the strategy uses one thread, whatever number is requested. */
bool on_one_thread(const std::string& strategy);

std::vector<std::string> host_strategies();

/* Combines each strategy with each number of threads that makes a difference. */
std::vector<std::pair<std::string, int>> with_threads(const std::vector<std::string>& strategies,
                                                      const std::vector<int>& threads);
