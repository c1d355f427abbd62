#pragma once

/*
  The life of a preconditioner as a list of PETSc calls, for tests that let each call fail in turn. A call that
  failed is repeated, and the life continues with the same objects: it must end with the same values.
*/

#include "matrices.hpp"

class Life {
 public:
  struct Call {
    const char* name;
    std::function<PetscErrorCode()> make;
  };

  /* Uses a PC of this type, or PCILU and PCICC with our factored matrix; on the device if requested. The matrix has full
     blocks of `block_size` rows. */
  Life(const char* type, const std::string& options, bool device = false, PetscInt block_size = 1);

  const std::vector<Call>& calls() const { return calls_; }

  /* Results of the calls, in order. */
  const std::vector<Numbers>& results() const { return results_; }

 private:
  void add_set_up(const std::string& type);
  void add_applications(const std::string& type);
  bool has_blocks() const;
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

/* The type of a PC, its options, and the block size of its matrix, as a parameter of tests. */
struct LifeCase {
  const char *name, *type;
  std::string options;
  PetscInt block_size = 1;
};

inline void PrintTo(const LifeCase& c, std::ostream* out) { *out << c.name; }

/* Makes the calls. after(name, code) is called after the first attempt at a failing call, before it is repeated. */
void live(Life&, const std::function<void(const char*, PetscErrorCode)>& after);

/* Compares the results of two lives, to rounding. */
void expect_same(const std::vector<Numbers>& found, const std::vector<Numbers>& expected);

/* Drops error messages in its scope, as storing them would allocate. */
class Quiet {
 public:
  Quiet();
  ~Quiet();
  Quiet(const Quiet&) = delete;
};

/* Returns true if there is a device and a PETSc that can use it. */
bool has_device();
