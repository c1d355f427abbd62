#pragma once

/*
  Random sequences of PETSc calls on a matrix and one long-lived PC. After each application the result is compared with
  that of a PC made afresh on a copy of the matrix, with the same options; see sequences_test.cpp.

  What an operation does follows from its seed and the matrix as it is, so any operation can be removed from a sequence:
  a sequence that fails is shrunk to the operations it fails with, and printed as a program in C.
*/

#include "matrices.hpp"

/* A type of PC, and where its matrix is. */
struct SequenceCase {
  const char *name, *type;
  bool package; /* PETSc's type, with our factored matrix */
  bool device_matrix;
  PetscInt block_size = 1; /* of the AIJ matrices whose rows it divides, most of which have full blocks; or of BAIJ */
  bool baij = false;       /* if `device_matrix`, with an operator on the device, for PETSc has no BAIJ there */

  bool is(PCType other) const { return std::string(type) == other; }
  bool sweeps() const { return is(PCSYNCFREESOR); }
  bool icc() const { return is(PCSYNCFREEICC) || is(PCICC); }
};

struct Operation {
  std::size_t kind; /* position in operations() */
  unsigned seed;
};

struct Sequence {
  unsigned long long seed = 0; /* of the first matrix and options */
  PetscInt most_rows = 24;
  bool plain = false; /* begins with the default options and strategy serial */
  std::vector<Operation> operations;
};

/* The options of a PC as they were requested. */
struct Requested {
  std::string strategy = "serial", backend = "auto", ordering = MATORDERINGNATURAL, direction = "symmetric";
  PetscInt threads = 1, levels = 0, sweeps = 1, block_size = PETSC_DECIDE;
  bool single = false, trials = false, diagonal_fill = false, reuse_ordering = false, reuse_fill = false, inodes = true;
  bool small_parts = true; /* so that small matrices are cut into blocks and tiles */
  bool errors = false;     /* PCSetErrorIfFailure(), which is no option */
  MatFactorShiftType shift = MAT_SHIFT_NONE;
  double omega = 1.0;

  /* Returns them as a text for PETSc's database. */
  std::string text(const SequenceCase&) const;
};

/* Gives a PC the matrix P. */
PetscErrorCode set_operators(const SequenceCase&, PC, Mat P);

/* Entries of a matrix; those at the same position are added. */
struct Triples {
  PetscInt n = 0;
  std::vector<PetscInt> row, column;
  Numbers value;

  void add(PetscInt i, PetscInt j, PetscScalar v) { row.push_back(i), column.push_back(j), value.push_back(v); }
};

/* Texts in C. */
std::string text(PetscInt);
std::string text(const PetscScalar&);
std::string text(const std::vector<PetscInt>&);
std::string text(const Numbers&);

/* A way to use a PC. */
struct Application {
  const char* name;
  PetscErrorCode (*use)(PC, Vec, Vec);
};
std::vector<Application> applications(const SequenceCase&);

/* A sequence while it runs: the matrix, the PC, and what is known about them. */
class Walk {
 public:
  explicit Walk(const SequenceCase&);

  /* Makes the first matrix and the PC. */
  void start(const Sequence&);

  /* Lists a call and throws if it failed. */
  void call(const std::string& listed, PetscErrorCode code);
  void list(const std::string& line) { listing_ += "  " + line + "\n"; }

  MatOwner make(const Triples&, const char* variable);
  PetscInt random_size(Random*) const;

  /* Gives the PC the matrix B, called B in the listing; the old one is kept as `other`, or destroyed. */
  void give(MatOwner B, bool keep);
  void set_operators(); /* PCSetOperators() with the matrix that it has */
  void reset();         /* PCReset(), PCSetOperators() */
  void reuse(bool);     /* PCSetReusePreconditioner() */

  /* Writes into the array of values, in the order in which the matrix stores them, or tells PETSc only that this was
     done, without values. */
  void write_array(const Numbers&);

  /* Changes options: after PCReset(), as some of them require, or of the PC as it is, by options or by setters. */
  void request_anew(const Requested&);
  void request(const Requested&, bool by_setters);

  /* Returns true if the PC keeps its factor although the matrix changes. */
  bool holds() const { return reuse_ && set_up_ && !kind.sweeps(); }

  /* Uses the PC and one made afresh, and compares. */
  void compare(const Application&, unsigned seed);
  void compare_views();
  void hold_factor();

  /* Returns what is wrong; empty if nothing is. */
  const std::string& failure() const { return failure_; }
  const std::string& listing() const { return listing_; }

  const SequenceCase kind;
  MatOwner A, other;
  PCOwner pc;
  Requested requested;

 private:
  struct Result {
    Refusal refusal;
    PCFailedReason reason = PC_NOERROR;
    PetscInt row = -1; /* of a zero pivot */
    Numbers x;
  };

  void set_options();
  void set_flags();
  void set_levels();
  void set_each(const Requested& last);
  void freeze();
  PCOwner make_afresh() const;
  bool can_be_set_up() const;
  Result result_of(PC, const Application&, unsigned seed) const;
  void judge(const char* name, const Result& expected, const Result& found);
  void expect_same(const std::string& name, const Requested&, const Numbers& expected, const Numbers& found);
  void look_after_factor(const Result&);
  void fail(const std::string& text);

  const Options matrix_options_;
  PetscInt most_rows_ = 0;
  bool reuse_ = false, set_up_ = false;
  MatOwner frozen_, ordered_; /* copies of the matrices that the factor and its ordering belong to */
  Requested in_force_;        /* options of the factor */
  MatOwner factor_;           /* a factored matrix that is held, its solution and options */
  Numbers solution_;
  Requested factor_request_;
  std::string failure_, listing_;
};

/* What a sequence is made of. */
struct OperationKind {
  const char* name;
  int weight; /* how often it is taken */
  void (*run)(Walk*, Random*);
};
const std::vector<OperationKind>& operations();
Requested random_request(const SequenceCase&, Random*);
Triples random_triples(PetscInt n, Random*, bool sound);

/* Makes the sequence that belongs to a seed. */
Sequence random_sequence(unsigned long long seed);

/* Runs a sequence and returns what is wrong; empty if nothing is. With `program`, its calls as a program in C. */
std::string run(const SequenceCase&, const Sequence&, std::string* program = nullptr);

/* Removes operations, rows and options as long as the sequence still fails. */
Sequence shrink(const SequenceCase&, Sequence);
