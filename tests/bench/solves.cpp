/// Implements solves.hpp.

#include "solves.hpp"

#include <cstdio>

#include "measure.hpp"
#include "race.hpp"
#include "report.hpp"
#include "to_petsc.hpp"

namespace bench {
namespace {

struct Problem {
  const char* name;
  const char* method;  ///< KSPType
  double speed;        ///< speed of the flow in each direction, in units of diffusion / mesh size
};

constexpr Problem problems[] = {{"poisson", KSPCG, 0}, {"convection", KSPGMRES, 10}};

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

std::vector<Entrant> entrants(const Options& o, std::int64_t rows)
{
  std::vector<Entrant> all;
  for (const std::string& type : split(o.pcs))
    for (const Entrant& e : entrants_of(type, o, rows)) all.push_back(e);
  return all;
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
  VecOwner b;
  ok(MatCreateVecs(A, nullptr, b.out()));
  ok(VecSet(b, 1.0));
  for (const Outcome& r : race({problem.method}, entrants(o, matrix.n()), A, b, o))
    report.add(problem, matrix.n(), matrix.nnz(), r);
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
