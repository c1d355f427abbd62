/// Implements run.hpp.

#include "run.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "../measure.hpp"
#include "../report.hpp"
#include "reference.hpp"
#include "solver.hpp"

namespace bench {
namespace hpcg_like {
namespace {

/// What must hold for a rating; each number but the rate is relative and should be near rounding.
struct Checks {
  std::int64_t edge = 0;  ///< at which residuals were compared with the reference
  double reference = 0;   ///< largest relative difference of a residual's norm from the reference's
  double repetition = 0;  ///< the same of all runs from the first
  double residual = 0;    ///< | |b - A x| - |r| | / |b|, where r is CG's
  double asymmetry = 0;   ///< of the cycle
};

struct Rating {
  std::int64_t edge = 0, n = 0, nnz = 0;
  std::string strategies;
  double flops = 0, setup = 0;
  Spread solve;
  int repetitions = 0;
  std::vector<double> norms;
  double error = 0;  ///< of x
  PartTimes parts = {};
  Checks checks;

  double gflops() const { return flops / solve.median / 1e9; }
};

constexpr double comparison_tolerance = 1e-8;  ///< rounding errors grow with CG's iterations
constexpr double rounding_tolerance = 1e-10;

/// Returns the largest relative difference of two histories of norms. Where they are small, rounding errors have grown:
/// there differences are relative to 1e-6 of the first norm.
double difference(const std::vector<double>& norms, const std::vector<double>& wanted)
{
  double largest = 0;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const double one = std::abs(norms[k] - wanted[k]) / std::max(wanted[k], 1e-6 * wanted[0]);
    if (!(one <= largest)) largest = one;  // also a NaN
  }
  return largest;
}

/// Returns what does not hold; empty if the rating is valid.
std::string objections(const Checks& c)
{
  std::string text;
  const auto check = [&text](double value, double most, const char* what) {
    if (!(value <= most)) text += (text.empty() ? "" : "; ") + std::string(what);
  };
  check(c.reference, comparison_tolerance, "residuals differ from the reference's");
  check(c.repetition, comparison_tolerance, "residuals differ from run to run");
  check(c.residual, rounding_tolerance, "CG's residual is not b - A x");
  check(c.asymmetry, rounding_tolerance, "the cycle is not symmetric");
  return text;
}

/// Returns the sum over the grids in milliseconds an iteration.
double per_iteration(const PartTimes& times, Part part)
{
  double sum = 0;
  for (const auto& grid : times) sum += grid[static_cast<std::size_t>(part)];
  return 1e3 * sum / iterations;
}

std::string columns()
{
  std::string text = "edge,n,nnz,iterations,product,residual_rows,strategy,threads,ran,repetitions,flops,gflops,"
                     "solve_ms,solve_low_ms,solve_high_ms,setup_ms";
  for (const char* name : part_names) {
    std::string field = name;
    std::replace(field.begin(), field.end(), ' ', '_');
    text += "," + field + "_ms";
  }
  for (int k = 0; k <= iterations; k += 10) text += ",residual_" + std::to_string(k);
  return text + ",error,check_edge,from_reference,from_first_run,from_true_residual,asymmetry,valid";
}

class Report {
 public:
  explicit Report(const Options& o) : file_(open_csv(o, columns().c_str())), origin_(origin_fields(o)) {}

  void add(const Rating& r, const Variant& v) const
  {
    print_rating(r);
    print_parts(r);
    print_validity(r);
    if (file_) write(file_.get(), r, v);
  }

 private:
  static void print_rating(const Rating& r)
  {
    const auto edge = static_cast<long long>(r.edge);
    std::printf("\nHPCG-like, not HPCG: %lld^3, %d grids (%s), %d iterations in natural order\n", edge, levels,
                r.strategies.c_str(), iterations);
    std::printf("  rating    %.1f GFLOP/s: %.2f GFLOP in %.2f ms (median of %d, quartiles %.2f and %.2f)\n", r.gflops(),
                r.flops / 1e9, 1e3 * r.solve.median, r.repetitions, 1e3 * r.solve.low, 1e3 * r.solve.high);
    std::printf("  set-up    %.1f ms with the first sweeps, in no rating\n", 1e3 * r.setup);
    std::printf("  residual  %.6e of the first; largest error of x %.1e\n", r.norms.back() / r.norms.front(), r.error);
  }

  /// Prints milliseconds of an iteration by part and grid.
  static void print_parts(const Rating& r)
  {
    double sum = 0;
    std::printf("  ms an iteration, each part waited for; without these waits %.3f\n  %-16s", 1e3 * r.solve.median /
                iterations, "grid");
    for (int level = 0; level < levels; ++level) std::printf(" %7lld^3", static_cast<long long>(r.edge >> level));
    std::printf("       all\n");
    for (int part = 0; part < parts; ++part) {
      std::printf("  %-16s", part_names[part]);
      for (const auto& grid : r.parts) std::printf(" %9.4f", 1e3 * grid[static_cast<std::size_t>(part)] / iterations);
      const double all = per_iteration(r.parts, static_cast<Part>(part));
      std::printf(" %9.4f\n", all);
      sum += all;
    }
    std::printf("  %-56s %9.4f\n", "sum", sum);
  }

  static void print_validity(const Rating& r)
  {
    const std::string objection = objections(r.checks);
    std::printf("  %s: relative differences of residuals at %lld^3 from a serial reference %.1e, of runs %.1e, of CG's "
                "residual from b - A x %.1e; asymmetry %.1e\n",
                objection.empty() ? "VALID" : ("NOT VALID, " + objection).c_str(),
                static_cast<long long>(r.checks.edge), r.checks.reference, r.checks.repetition, r.checks.residual,
                r.checks.asymmetry);
    std::fflush(stdout);
  }

  void write(FILE* file, const Rating& r, const Variant& v) const
  {
    std::fprintf(file, "%lld,%lld,%lld,%d,%s,%s,%s,%d,%s,%d,%.0f,%.6g", static_cast<long long>(r.edge),
                 static_cast<long long>(r.n), static_cast<long long>(r.nnz), iterations, v.product.c_str(),
                 v.full_residual ? "all" : "coarse", v.strategy.c_str(), v.threads, csv_field(r.strategies).c_str(),
                 r.repetitions, r.flops, r.gflops());
    print_spread(file, r.solve);
    std::fprintf(file, ",%.6g", 1e3 * r.setup);
    for (int k = 0; k < parts; ++k) std::fprintf(file, ",%.6g", per_iteration(r.parts, static_cast<Part>(k)));
    for (int k = 0; k <= iterations; k += 10) std::fprintf(file, ",%.15e", r.norms[static_cast<std::size_t>(k)]);
    const Checks& c = r.checks;
    std::fprintf(file, ",%.3e,%lld,%.3e,%.3e,%.3e,%.3e,%s,%s\n", r.error, static_cast<long long>(c.edge), c.reference,
                 c.repetition, c.residual, c.asymmetry, objections(c).empty() ? "yes" : "no", origin_.c_str());
    std::fflush(file);
  }

  FileOwner file_;
  std::string origin_;
};

/// Solves once at a small edge; returns the largest relative difference of a residual's norm from the reference's.
double compare_with_reference(std::int64_t edge, const Variant& variant)
{
  const std::vector<Grid> grids = make_grids(edge);
  Solver solver(grids, variant);
  solver.set_up();
  return difference(solver.solve(), solve_by_reference(grids));
}

Rating rate(std::int64_t edge, const Variant& variant, const Options& o)
{
  Rating r;
  std::vector<Grid> grids = make_grids(edge);
  r.edge = edge, r.n = grids[0].A.n(), r.nnz = grids[0].A.nnz();
  r.flops = count_flops(grids);
  Solver solver(grids, variant);
  grids.clear();
  r.setup = solver.set_up();
  r.norms = solver.solve();  // not timed
  std::vector<double> times;
  for (const double begin = now(); static_cast<PetscInt>(times.size()) < o.repetitions || now() - begin < o.time;) {
    const double start = now();
    const std::vector<double> norms = solver.solve();
    times.push_back(now() - start);
    r.checks.repetition = std::max(r.checks.repetition, difference(norms, r.norms));
  }
  r.solve = spread(times);
  r.repetitions = static_cast<int>(times.size());
  r.strategies = solver.strategies();
  r.error = solver.error();
  r.checks.residual = std::abs(solver.true_residual() - r.norms.back()) / r.norms.front();
  r.parts = solver.time_parts();
  r.checks.asymmetry = solver.asymmetry();
  return r;
}

Variant variant_of(const Options& o)
{
  Variant v;
  if (o.hpcg_like_product != "aij" && o.hpcg_like_product != "sell")
    throw std::runtime_error("-bench_hpcg_like_product: '" + o.hpcg_like_product + "' is not aij or sell");
  if (sizeof(PetscReal) != sizeof(double)) throw std::runtime_error("-bench_hpcg_like needs double precision");
  v.product = o.hpcg_like_product;
  v.full_residual = o.hpcg_like_full_residual;
  if (!o.strategies.empty()) v.strategy = o.strategies;
  v.threads = static_cast<int>(thread_counts(o).back());
  return v;
}

}  // namespace
}  // namespace hpcg_like

int run_hpcg_like(const Options& o)
{
  namespace like = hpcg_like;
  int failures = 0;
  const like::Variant variant = like::variant_of(o);
  const like::Report report(o);
  for (const std::int64_t edge : numbers("-bench_hpcg_like", o.hpcg_like)) try {
      const std::int64_t check = std::min(edge, numbers("-bench_hpcg_like_check", o.hpcg_like_check).front());
      const double difference = like::compare_with_reference(check, variant);
      like::Rating r = like::rate(edge, variant, o);
      r.checks.edge = check, r.checks.reference = difference;
      report.add(r, variant);
      failures += !like::objections(r.checks).empty();
    } catch (const std::exception& e) {
      ++failures;
      std::fprintf(stderr, "\nerror: HPCG-like, %lld^3: %s\n", static_cast<long long>(edge), e.what());
    }
  return failures;
}

}  // namespace bench
