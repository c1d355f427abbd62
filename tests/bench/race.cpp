/// Implements race.hpp.

#include "race.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "syncfree_petsc.h"
#include "to_petsc.hpp"

namespace bench {
namespace {

std::string type_of(const std::string& ordering) { return ordering.substr(0, ordering.find(':')); }

Spread spread_or_nothing(const std::vector<double>& times) { return times.empty() ? Spread() : spread(times); }

/// Sets, during its lifetime, the PC type of the smoothers of a multigrid, unless it is empty, and the number of
/// threads of our types for which no call sets it.
class SmootherOption {
 public:
  SmootherOption(const Entrant& entrant, std::int64_t threads)
  {
    const std::string type = entrant.smoother();
    if (!type.empty()) set("-bench_mg_levels_pc_type", type);
    if (type == PCSYNCFREESOR) set_unless_given("-bench_mg_levels_pc_syncfree_threads", threads);
    if (type == PCSYNCFREEILU || type == PCSYNCFREEICC)
      set_unless_given("-bench_mg_levels_pc_syncfree_threads", threads);
    if (entrant.type == PCSYNCFREESOR) set_unless_given("-bench_pc_syncfree_threads", threads);
  }
  ~SmootherOption()
  {
    for (const std::string& name : names_) (void)PetscOptionsClearValue(nullptr, name.c_str());
  }
  SmootherOption(const SmootherOption&) = delete;

 private:
  void set(const std::string& name, const std::string& value)
  {
    ok(PetscOptionsSetValue(nullptr, name.c_str(), value.c_str()));
    names_.push_back(name);
  }
  void set_unless_given(const std::string& name, std::int64_t number)
  {
    PetscBool given;
    ok(PetscOptionsHasName(nullptr, nullptr, name.c_str(), &given));
    if (!given) set(name, std::to_string(number));
  }

  std::vector<std::string> names_;
};

/// During its lifetime glibc fills new memory, and what is freed, with bytes that are no NaN, if `wanted` and the user
/// does not choose the bytes. gamg needs it: on a GPU MatPtAP() of PETSc 3.20 to 3.26.1 copies host values that were
/// never written to cusparseSpGEMM, which does not end if they are NaN.
class NumbersInNewMemory {
 public:
  explicit NumbersInNewMemory(bool wanted) : wanted_(wanted && !std::getenv("MALLOC_PERTURB_")) { fill(0xc0); }
  ~NumbersInNewMemory() { fill(0); }
  NumbersInNewMemory(const NumbersInNewMemory&) = delete;

 private:
  /// Freed memory with this byte, new memory with its complement.
  void fill([[maybe_unused]] int byte) const
  {
#ifdef __GLIBC__
    if (wanted_) (void)mallopt(M_PERTURB, byte);
#endif
  }

  const bool wanted_;
};

/// One preconditioner on one matrix, with a KSP that is reused.
class Solver {
 public:
  Solver(const Method& method, Entrant entrant, Mat A, Vec b, const Options& options)
      : method_(method), entrant_(std::move(entrant)), A_(A), b_(b), options_(options)
  {
    ok(VecDuplicate(b, x_.out()));
    ok(VecDuplicate(b, y_.out()));
  }

  /// The first solve of its kind in the process, not timed.
  void rehearse()
  {
    const SmootherOption option(entrant_, thread_counts(options_).back());
    const NumberedOrdering ordering(entrant_.ordering);
    outcome_.entrant = entrant_;
    ksp_ = create();
    set_up(ksp_);
    if (entrant_.ours()) outcome_.ran = strategy_that_ran(pc());
    const double seconds = solve();
    if (!converged_) solve_.push_back(seconds);  // all iterations were needed; once is enough
    const auto count = [](double seconds) { return static_cast<int>(std::clamp(0.01 / seconds, 1.0, 100.0)); };
    products_.count = count(time_of({1, true}, [this] { multiply(); }));
    if (has_factor_) applies_.count = count(time_of({1, true}, [this] { apply(); }));
  }

  /// rehearse(), in which PETSc's own may end in an error, such as gamg on a matrix that is not for it. Returns whether
  /// it did not.
  bool can_run()
  {
    if (entrant_.ours()) return rehearse(), true;
    ok(PetscPushErrorHandler(PetscReturnErrorHandler, nullptr));
    try {
      rehearse();
    } catch (const std::exception&) {
      outcome_.reason = "error";
    }
    ok(PetscPopErrorHandler());
    return outcome_.reason != "error";
  }

  void take_turn()
  {
    setup_.push_back(time_setup());
    double begin = now();
    ok(KSPSetOperators(ksp_, A_, A_));
    set_up(ksp_);
    refresh_.push_back(now() - begin);
    if (converged_) solve_.push_back(solve());
    matmult_.push_back(time_of(products_, [this] { multiply(); }));
    if (has_factor_) apply_.push_back(time_of(applies_, [this] { apply(); }));
  }

  Outcome outcome()
  {
    outcome_.repetitions = static_cast<int>(setup_.size());
    outcome_.setup = spread_or_nothing(setup_);
    outcome_.refresh = spread_or_nothing(refresh_);
    outcome_.solve = spread_or_nothing(solve_);
    outcome_.matmult = spread_or_nothing(matmult_);
    outcome_.apply = spread_or_nothing(apply_);
    return outcome_;
  }

 private:
  KSPOwner create() const
  {
    KSPOwner ksp;
    PC pc;
    ok(KSPCreate(PETSC_COMM_SELF, ksp.out()));
    ok(KSPSetOptionsPrefix(ksp, "bench_"));
    ok(KSPSetOperators(ksp, A_, A_));
    ok(KSPSetType(ksp, method_.type));
    if (method_.unpreconditioned) ok(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    if (method_.unpreconditioned && method_.type == std::string(KSPGMRES)) ok(KSPSetPCSide(ksp, PC_RIGHT));
    ok(KSPSetTolerances(ksp, 1e-8, 1e-50, 1e50, options_.most_iterations));
    ok(KSPGetPC(ksp, &pc));
    ok(PCSetType(pc, entrant_.outer().c_str()));
    if (entrant_.ours()) {
      ok(PCSyncFreeSetStrategy(pc, entrant_.strategy.c_str()));
      ok(PCSyncFreeSetThreads(pc, entrant_.threads));
    }
    if (!entrant_.ordering.empty()) ok(PCFactorSetMatOrderingType(pc, type_of(entrant_.ordering).c_str()));
    ok(KSPSetFromOptions(ksp));
    return ksp;
  }

  PC pc() const
  {
    PC inner;
    ok(KSPGetPC(ksp_, &inner));
    return inner;
  }

  void multiply() { ok(MatMult(A_, b_, y_)); }
  void apply() { ok(PCApply(pc(), b_, y_)); }

  double time_setup() const
  {
    const SmootherOption option(entrant_, thread_counts(options_).back());
    const NumberedOrdering ordering(entrant_.ordering);
    KSPOwner ksp = create();
    const double begin = now();
    set_up(ksp);
    return now() - begin;
  }

  void set_up(KSP ksp) const
  {
    const NumbersInNewMemory filled(entrant_.outer() == PCGAMG);
    ok(KSPSetUp(ksp));
  }

  double solve()
  {
    KSPConvergedReason reason;
    PetscInt iterations;
    const double begin = now();
    ok(KSPSolve(ksp_, b_, x_));
    const double seconds = now() - begin;
    ok(KSPGetConvergedReason(ksp_, &reason));
    ok(KSPGetIterationNumber(ksp_, &iterations));
    converged_ = reason > 0;
    has_factor_ = reason != KSP_DIVERGED_PC_FAILED;
    outcome_.reason = KSPConvergedReasons[reason];
    outcome_.iterations = static_cast<int>(iterations);
    measure_residual();
    return seconds;
  }

  void measure_residual()
  {
    PetscReal residual, norm;
    ok(MatMult(A_, x_, y_));
    ok(VecAYPX(y_, -1.0, b_));
    ok(VecNorm(y_, NORM_2, &residual));
    ok(VecNorm(b_, NORM_2, &norm));
    outcome_.residual = static_cast<double>(residual / norm);
  }

  const Method& method_;
  Entrant entrant_;
  Mat A_;
  Vec b_;
  const Options& options_;
  VecOwner x_, y_;
  KSPOwner ksp_;
  bool converged_ = false, has_factor_ = true;
  Burst products_, applies_;
  std::vector<double> setup_, refresh_, solve_, matmult_, apply_;
  Outcome outcome_;
};

}  // namespace

bool Entrant::ours() const { return type == PCSYNCFREEILU || type == PCSYNCFREEICC; }

std::vector<Entrant> entrants_of(const std::string& type, const Options& o, std::int64_t rows)
{
  std::vector<Entrant> all;
  Entrant e;
  e.type = type;
  if (!e.smoother().empty() && e.outer() != PCGAMG)
    throw std::runtime_error("-bench_pcs: '" + type + "' names a smoother, which only gamg has");
  if (e.outer() == PCGAMG && static_cast<double>(rows) > static_cast<double>(o.gamg_rows)) return {};
  if (!e.ours()) return {e};
  const auto threads = thread_counts(o);
  for (const std::string& strategy : split(o.strategies.empty() ? "auto" : o.strategies))
    for (const std::int64_t t : threads) {
      if (strategy == "serial" && t != threads.front()) continue;
      e.strategy = strategy;
      e.threads = static_cast<int>(t);
      all.push_back(e);
    }
  return all;
}

NumberedOrdering::NumberedOrdering(const std::string& name) : type_(type_of(name))
{
  if (type_ == name) return;
  if (type_ == MATORDERINGSYNCFREECYCLIC) option_ = "-bench_pc_syncfree_cyclic_colors";
  else if (type_ == MATORDERINGSYNCFREEABMC) option_ = "-bench_pc_syncfree_abmc_rows";
  else throw std::runtime_error("-bench_orderings: '" + name + "' has a number, which " + type_ + " does not take");
  ok(PetscOptionsSetValue(nullptr, option_.c_str(), name.substr(type_.size() + 1).c_str()));
}

NumberedOrdering::~NumberedOrdering()
{
  if (!option_.empty()) (void)PetscOptionsClearValue(nullptr, option_.c_str());
}

std::vector<Outcome> race(const Method& method, const std::vector<Entrant>& entrants, Mat A, Vec b, const Options& o)
{
  std::vector<Solver> solvers;
  std::vector<Solver*> running;
  std::vector<Outcome> outcomes;
  solvers.reserve(entrants.size());
  for (const Entrant& e : entrants) {
    solvers.emplace_back(method, e, A, b, o);
    if (solvers.back().can_run()) running.push_back(&solvers.back());
  }
  const double begin = now(), budget = static_cast<double>(o.time) * static_cast<double>(running.size());
  for (int done = 0; !running.empty() && (done < o.repetitions || now() - begin < budget); ++done) {
    ok(MatScale(A, done % 2 ? 0.5 : 2.0));
    for (std::size_t turn = 0; turn < running.size(); ++turn)
      running[whose_turn(turn, done, running.size())]->take_turn();
  }
  for (Solver& s : solvers) outcomes.push_back(s.outcome());
  return outcomes;
}

}  // namespace bench
