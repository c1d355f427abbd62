#pragma once

/*
  The life of a preconditioner as a list of PETSc calls, for tests in which one call after the other is made to fail.
  A call that failed is made again, and the life goes on with the same objects: it must end with the same numbers.
*/

#include "matrices.hpp"

class Life {
 public:
  struct Call {
    const char* name;
    std::function<PetscErrorCode()> make;
  };

  /* A PC of this type, or PCILU and PCICC with our factored matrix; for the device where that is asked for. */
  Life(const char* type, const std::string& options, bool device = false);

  const std::vector<Call>& calls() const { return calls_; }

  /* Made of what the calls returned, in order */
  const std::vector<Numbers>& results() const { return results_; }

 private:
  void add_set_up(const std::string& type);
  void add_applications(const std::string& type);
  void add(const char* name, std::function<PetscErrorCode()> make) { calls_.push_back({name, std::move(make)}); }
  void add_result(const char* name, std::function<PetscErrorCode()> make);
  PetscErrorCode keep(Vec);

  Options options_;
  MatOwner A_, B_, X_;
  VecOwner b_, x_;
  ViewerOwner viewer_;
  PCOwner pc_;
  std::vector<Call> calls_;
  std::vector<Numbers> results_;
  std::size_t kept_ = 0;
};

/* Makes the calls; after(name, code) is told of the first of a call that fails, before it is made again. */
void live(Life&, const std::function<void(const char*, PetscErrorCode)>& after);

/* The results of two lives, to rounding */
void expect_same(const std::vector<Numbers>& found, const std::vector<Numbers>& expected);

/* Error messages of its scope are not kept, which would allocate. */
class Quiet {
 public:
  Quiet();
  ~Quiet();
  Quiet(const Quiet&) = delete;
};

/* Are there a device and a PETSc that can use it? */
bool has_device();
