#pragma once

/// Preconditioners in complete solves of one system with KSP, timed in turn.
///
/// Set-up is KSPSetUp() on a new KSP, refresh KSPSetUp() after new values on the same pattern, solve KSPSolve() after
/// that, from zero, to a relative residual of 1e-8. Each is at least the second of its kind in the process, except a
/// solve that does not converge, which is not repeated. Clocks are read when the device is idle, and logging is off.

#include <string>
#include <vector>

#include "measure.hpp"
#include "options.hpp"

namespace bench {

/// A PC type, for gamg with the type of its smoothers after a slash; with strategy and threads if it is ours.
struct Entrant {
  std::string type, strategy;
  int threads = 1;
  std::string ordering;  ///< as in -bench_orderings; empty: the PC's default

  std::string outer() const { return type.substr(0, type.find('/')); }
  std::string smoother() const { return type == outer() ? "" : type.substr(outer().size() + 1); }
  bool ours() const;
  std::string label() const { return ours() ? type + " " + strategy + "/" + std::to_string(threads) : type; }
};

/// Lists the type for every strategy of -bench_strategies and number of threads if it is ours, else alone; none for
/// gamg if the matrix has more rows than -bench_gamg_rows.
std::vector<Entrant> entrants_of(const std::string& type, const Options& o, std::int64_t rows);

struct Method {
  const char* type;               ///< KSPType
  bool unpreconditioned = false;  ///< the residual's norm is the true one; GMRES is preconditioned from the right
};

struct Outcome {
  Entrant entrant;
  std::string ran;     ///< strategy of ours
  std::string reason;  ///< KSPConvergedReason; "error" if PETSc's own ended in one
  int iterations = 0, repetitions = 0;
  double residual = 0;                           ///< |b - A x| / |b|
  Spread setup, refresh, solve, matmult, apply;  ///< apply is 0 without a factor, and all are after an error

  bool converged() const { return reason.rfind("CONVERGED", 0) == 0; }
};

/// An ordering of -bench_orderings and, during its lifetime, its number: K of syncfree_cyclic:K, B of syncfree_abmc:B.
/// It is set for matrices and PCs with the prefix bench_.
class NumberedOrdering {
 public:
  explicit NumberedOrdering(const std::string& name);
  ~NumberedOrdering();
  NumberedOrdering(const NumberedOrdering&) = delete;

  const std::string& type() const { return type_; }

 private:
  std::string type_, option_;
};

/// Runs all entrants: each once untimed, then in turn, at least -bench_repetitions times. The values of A are scaled by
/// 2 and 1/2.
///   throws  std::runtime_error if one of ours ends in an error
std::vector<Outcome> race(const Method& method, const std::vector<Entrant>& entrants, Mat A, Vec b, const Options& o);

}  // namespace bench
