/// Implements solves.hpp.

#include "solves.hpp"

#include <algorithm>
#include <cstdio>

#include "measure.hpp"
#include "report.hpp"
#include "syncfree_petsc.h"
#include "to_petsc.hpp"

namespace bench {
namespace {

struct Problem {
  const char* name;
  const char* method;  ///< KSPType
  double speed;        ///< speed of the flow in each direction, in units of diffusion / mesh size
};

constexpr Problem problems[] = {{"poisson", KSPCG, 0}, {"convection", KSPGMRES, 10}};

/// A PC type, for gamg with the type of its smoothers after a slash, with strategy and threads if it is ours.
struct Entrant {
  std::string type, strategy;
  int threads = 1;

  std::string outer() const { return type.substr(0, type.find('/')); }
  std::string smoother() const { return type == outer() ? "" : type.substr(outer().size() + 1); }
  bool ours() const { return type == PCSYNCFREEILU || type == PCSYNCFREEICC; }
  std::string label() const { return ours() ? type + " " + strategy + "/" + std::to_string(threads) : type; }
};

struct Outcome {
  Entrant entrant;
  std::string ran, reason;
  int iterations = 0, repetitions = 0;
  double residual = 0;  ///< |b - A x| / |b|
  Spread setup, refresh, solve, matmult, apply;
};

/// Discretises -h^2 lap u + h^2 v . grad u with h v = (speed, speed, speed), with upwind differences.
Matrix make_flow(std::int64_t rows, double speed)
{
  const std::int64_t m = edge(rows, 3);
  const double upstream = -1 - speed, diagonal = 3 - 3 * upstream;
  Matrix A;
  A.symmetric = speed == 0;
  const auto put = [&A](bool inside, std::int64_t column, double value) {
    if (inside) A.column.push_back(column), A.value.push_back(value);
  };
  for (std::int64_t p = 0; p < m * m * m; ++p) {
    const std::int64_t x = p % m, y = p / m % m, z = p / (m * m);
    put(z > 0, p - m * m, upstream);
    put(y > 0, p - m, upstream);
    put(x > 0, p - 1, upstream);
    put(true, p, diagonal);
    put(x < m - 1, p + 1, -1);
    put(y < m - 1, p + m, -1);
    put(z < m - 1, p + m * m, -1);
    A.row_begin.push_back(A.nnz());
  }
  return A;
}

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

/// One preconditioner on one problem, with a KSP that is reused.
class Solver {
 public:
  Solver(const Problem& problem, Entrant entrant, Mat A, Vec b, const Options& options)
      : problem_(problem), entrant_(std::move(entrant)), A_(A), b_(b), options_(options)
  {
    ok(VecDuplicate(b, x_.out()));
    ok(VecDuplicate(b, y_.out()));
  }

  /// The first solve of its kind in the process, not timed.
  void rehearse()
  {
    const SmootherOption option(entrant_, thread_counts(options_).back());
    ksp_ = create();
    ok(KSPSetUp(ksp_));
    outcome_.entrant = entrant_;
    if (entrant_.ours()) outcome_.ran = strategy_that_ran(pc());
    const double seconds = solve();
    if (!converged_) solve_.push_back(seconds);  // all iterations were needed; once is enough
    const auto count = [](double seconds) { return static_cast<int>(std::clamp(0.01 / seconds, 1.0, 100.0)); };
    products_.count = count(time_of({1, true}, [this] { multiply(); }));
    applies_.count = count(time_of({1, true}, [this] { apply(); }));
  }

  void take_turn()
  {
    setup_.push_back(time_setup());
    double begin = now();
    ok(KSPSetOperators(ksp_, A_, A_));
    ok(KSPSetUp(ksp_));
    refresh_.push_back(now() - begin);
    if (converged_) solve_.push_back(solve());
    matmult_.push_back(time_of(products_, [this] { multiply(); }));
    apply_.push_back(time_of(applies_, [this] { apply(); }));
  }

  Outcome outcome()
  {
    outcome_.repetitions = static_cast<int>(setup_.size());
    outcome_.setup = spread(setup_);
    outcome_.refresh = spread(refresh_);
    outcome_.solve = spread(solve_);
    outcome_.matmult = spread(matmult_);
    outcome_.apply = spread(apply_);
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
    ok(KSPSetType(ksp, problem_.method));
    ok(KSPSetTolerances(ksp, 1e-8, 1e-50, 1e50, options_.most_iterations));
    ok(KSPGetPC(ksp, &pc));
    ok(PCSetType(pc, entrant_.outer().c_str()));
    if (entrant_.ours()) {
      ok(PCSyncFreeSetStrategy(pc, entrant_.strategy.c_str()));
      ok(PCSyncFreeSetThreads(pc, entrant_.threads));
    }
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
    KSPOwner ksp = create();
    const double begin = now();
    ok(KSPSetUp(ksp));
    return now() - begin;
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

  const Problem& problem_;
  Entrant entrant_;
  Mat A_;
  Vec b_;
  const Options& options_;
  VecOwner x_, y_;
  KSPOwner ksp_;
  bool converged_ = false;
  Burst products_, applies_;
  std::vector<double> setup_, refresh_, solve_, matmult_, apply_;
  Outcome outcome_;
};

std::vector<Entrant> entrants(const Options& o, std::int64_t rows)
{
  std::vector<Entrant> all;
  const std::string strategies = o.strategies.empty() ? "auto" : o.strategies;
  const auto threads = thread_counts(o);
  for (const std::string& type : split(o.pcs)) {
    Entrant e;
    e.type = type;
    if (!e.smoother().empty() && e.outer() != PCGAMG)
      throw std::runtime_error("-bench_pcs: '" + type + "' names a smoother, which only gamg has");
    if (e.outer() == PCGAMG && static_cast<double>(rows) > static_cast<double>(o.gamg_rows)) continue;
    if (!e.ours()) all.push_back(e);
    for (const std::string& strategy : split(e.ours() ? strategies : ""))
      for (const std::int64_t t : threads) {
        if (strategy == "serial" && t != threads.front()) continue;
        e.strategy = strategy;
        e.threads = static_cast<int>(t);
        all.push_back(e);
      }
  }
  return all;
}

/// Runs all preconditioners on one matrix: each once untimed, then in turn.
std::vector<Outcome> race(const Problem& problem, Mat A, std::int64_t rows, const Options& o)
{
  VecOwner b;
  std::vector<Solver> solvers;
  std::vector<Outcome> outcomes;
  ok(MatCreateVecs(A, nullptr, b.out()));
  ok(VecSet(b, 1.0));
  for (const Entrant& e : entrants(o, rows)) solvers.emplace_back(problem, e, A, b, o);
  for (Solver& s : solvers) s.rehearse();
  const double begin = now(), budget = static_cast<double>(o.time) * static_cast<double>(solvers.size());
  for (int done = 0; done < o.repetitions || now() - begin < budget; ++done) {
    ok(MatScale(A, done % 2 ? 0.5 : 2.0));
    for (std::size_t turn = 0; turn < solvers.size(); ++turn)
      solvers[(turn + static_cast<std::size_t>(done)) % solvers.size()].take_turn();
  }
  for (Solver& s : solvers) outcomes.push_back(s.outcome());
  return outcomes;
}

constexpr const char* header =
    "problem,n,nnz,method,pc,strategy,threads,ran,iterations,reason,residual,repetitions,setup_ms,setup_low_ms,"
    "setup_high_ms,refresh_ms,refresh_low_ms,refresh_high_ms,solve_ms,solve_low_ms,solve_high_ms,matmult_ms,apply_ms";

class SolveReport {
 public:
  explicit SolveReport(const Options& o) : file_(open_csv(o, header)), origin_(origin_fields(o))
  {
    std::printf("\nwhole solves, medians in ms\n%-11s %9s %-30s %6s %9s %9s %9s %9s %9s %9s  %s\n", "problem", "n",
                "PC", "its", "set-up", "refresh", "solve", "MatMult", "PCApply", "residual", "ended by");
  }

  void add(const Problem& problem, std::int64_t n, std::int64_t nnz, const Outcome& r) const
  {
    std::printf("%-11s %9lld %-30s %6d %9.3f %9.3f %9.3f %9.4f %9.4f %9.1e  %s\n", problem.name,
                static_cast<long long>(n), r.entrant.label().c_str(), r.iterations, 1e3 * r.setup.median,
                1e3 * r.refresh.median, 1e3 * r.solve.median, 1e3 * r.matmult.median, 1e3 * r.apply.median, r.residual,
                r.reason.c_str());
    FILE* file = file_.get();
    if (!file) return;
    std::fprintf(file, "%s,%lld,%lld,%s,%s,%s,%d,%s,%d,%s,%.3e,%d", problem.name, static_cast<long long>(n),
                 static_cast<long long>(nnz), problem.method, r.entrant.type.c_str(), r.entrant.strategy.c_str(),
                 r.entrant.threads, csv_field(r.ran).c_str(), r.iterations, r.reason.c_str(), r.residual,
                 r.repetitions);
    for (const Spread* s : {&r.setup, &r.refresh, &r.solve})
      print_spread(file, *s);
    std::fprintf(file, ",%.6g,%.6g,%s\n", 1e3 * r.matmult.median, 1e3 * r.apply.median, origin_.c_str());
    std::fflush(file);
  }

 private:
  FileOwner file_;
  std::string origin_;
};

void solve_problem(const Problem& problem, std::int64_t rows, const Options& o, const SolveReport& report)
{
  const Matrix matrix = make_flow(rows, problem.speed);
  MatOwner A = to_petsc(matrix);
  place(&A);
  for (const Outcome& r : race(problem, A, matrix.n(), o)) report.add(problem, matrix.n(), matrix.nnz(), r);
}

const Problem& find_problem(const std::string& name)
{
  for (const Problem& p : problems)
    if (name == p.name) return p;
  throw std::runtime_error("-bench_problems: no '" + name + "', there are poisson,convection");
}

}  // namespace

int run_solves(const Options& o)
{
  int failures = 0;
  std::vector<const Problem*> wanted;
  for (const std::string& name : split(o.problems)) wanted.push_back(&find_problem(name));
  const SolveReport report(o);
  for (const std::int64_t rows : numbers("-bench_sizes", o.sizes))
    for (const Problem* problem : wanted) try {
        solve_problem(*problem, rows, o, report);
      } catch (const std::exception& e) {
        ++failures;
        std::fprintf(stderr, "\nerror: %s, %lld rows: %s\n", problem->name, static_cast<long long>(rows), e.what());
      }
  return failures;
}

}  // namespace bench
