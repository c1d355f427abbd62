static char help[] = "Times set-up, refresh and application of every strategy beside PETSc's own ILU and ICC.\n\n";

/// A matrix is generated or read, PETSc's preconditioner and ours are set up on it through PETSc's interface, their
/// applications are compared, and then all are timed in turn in the same process. Set-up is PCSetUp() on a new PC,
/// refresh PCSetUp() after new values on the same pattern, apply PCApply(). One process; threads are those of the
/// plugin. With -bench_solves it times complete solves with KSP instead (solves.hpp), with -bench_symbolic the symbolic
/// factorization alone (symbolic.hpp), with -bench_orderings it compares orders of the rows (orderings.hpp), with
/// -bench_columns several right-hand sides together, compared with one (columns.hpp), with -bench_hpcg_like HPCG-like
/// solves (hpcg_like/run.hpp).
///
///   syncfree_bench -bench_matrices 7pt,5pt -bench_sizes 100000 -bench_threads 1,2 -bench_csv bench.csv
///
/// Other options of the preconditioners have the prefix bench_: -bench_pc_factor_mat_ordering_type rcm.

#include <sched.h>

#include <algorithm>
#include <cstdlib>

#include "columns.hpp"
#include "generate.hpp"
#include "hpcg_like/run.hpp"
#include "measure.hpp"
#include "options.hpp"
#include "orderings.hpp"
#include "read_file.hpp"
#include "report.hpp"
#include "settings.hpp"
#include "solves.hpp"
#include "symbolic.hpp"
#include "syncfree/strategy.hpp"
#include "syncfree_petsc.h"
#include "to_petsc.hpp"

#if PETSC_VERSION_LT(3, 19, 0)
#define PETSC_SUCCESS 0
#endif

namespace bench {
namespace {

std::string names_by_default()
{
  std::vector<Generator> list;
  for (const Generator& g : generators())
    if (g.by_default) list.push_back(g);
  return names_of(list);
}

/// Adds NAME in all sizes, or NAME:ROWS in that size.
void add_generated(const std::string& text, const std::string& sizes, std::vector<Job>* all)
{
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  const Generator* g = find_generator(name);
  if (!g) throw std::runtime_error("-bench_matrices: no '" + name + "', there are " + names_of(generators()));
  const std::string wanted = colon == std::string::npos ? sizes : text.substr(colon + 1);
  for (const std::int64_t rows : numbers(colon == std::string::npos ? "-bench_sizes" : "-bench_matrices", wanted))
    all->push_back({name, [g, rows] { return to_petsc(g->make(rows)); }});
}

std::vector<Job> jobs(const Options& o)
{
  std::vector<Job> all;
  const bool everything = o.matrices.empty() && o.files.empty();
  for (const std::string& text : split(everything ? names_by_default() : o.matrices))
    add_generated(text, o.sizes, &all);
  for (const std::string& path : split(o.files))
    all.push_back({name_of_file(path), [path, &o] { return read_matrix(path, static_cast<double>(o.unpacked)); }});
  return all;
}

void print_system(const Options& o)
{
  cpu_set_t cores;
  double load = 0;
  CPU_ZERO(&cores);
  const int count = sched_getaffinity(0, sizeof cores, &cores) ? 0 : CPU_COUNT(&cores);
  getloadavg(&load, 1);
  std::printf("PETSc %d.%d.%d, %d-byte scalars, %d-byte integers; %s; %d cores, load %.1f before\n",
              PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, PETSC_VERSION_SUBMINOR, static_cast<int>(sizeof(PetscScalar)),
              static_cast<int>(sizeof(PetscInt)), o.machine.c_str(), count, load);
  for (const std::int64_t t : numbers("-bench_threads", o.threads))
    if (t > count) std::printf("warning: %d threads on %d cores\n", static_cast<int>(t), count);
}

/// With -help, prints the lists after the options, and nothing runs.
bool print_help()
{
  PetscBool wanted;
  ok(PetscOptionsHasHelp(nullptr, &wanted));
  if (!wanted) return false;
  std::printf("Matrices:\n");
  for (const Generator& g : generators()) std::printf("  %-25s %s\n", g.name, g.summary);
  std::printf("Strategies:\n");
  for (const auto& s : syncfree::strategies()) std::printf("  %-17s %-6s %s\n", s.name, s.backend, s.summary);
  return true;
}

class Benchmark {
 public:
  explicit Benchmark(const Options& o)
      : options_(o), kinds_(kinds(o)), jobs_(jobs(o)), csv_(o), effort_(effort_of(o))
  {
    effort_.progress = [this](double share) { progress_.show(share); };
  }

  /// Returns the number of failed matrices; the error of each is printed on stderr.
  int run()
  {
    int failures = 0;
    for (const Job& job : jobs_) try {
        progress_.begin(job.name);
        measure_matrix(job);
      } catch (const std::exception& e) {
        ++failures;
        std::fprintf(stderr, "\nerror: %s\n", e.what());
      }
    progress_.end();
    print_table(groups_);
    print_means(groups_);
    print_doubts(groups_);
    for (const std::string& s : skips_) std::printf("skipped: %s\n", s.c_str());
    return failures;
  }

 private:
  void measure_matrix(const Job& job)
  {
    MatOwner A = job.make();
    place(&A);
    const Case c = describe(job.name, A);
    for (const std::string& kind : kinds_) measure_kind(c, kind);
  }

  void measure_kind(const Case& c, const std::string& kind)
  {
    std::vector<Result> results;
    std::string reason = unfit(c.A, kind);
    if (reason.empty()) {
      std::vector<Setting> fit;
      for (const Setting& s : contenders(options_, kind))
        if (!Contender(s).has_no_plan(c.A)) fit.push_back(s);
        else skips_.push_back(c.matrix + " " + kind + ": " + s.label() + " has no plan");
      results = measure(c, fit, effort_, &reason);
    }
    progress_.next();
    if (!reason.empty()) skips_.push_back(c.matrix + " " + kind + ": " + reason);
    if (results.empty()) return;
    csv_.add(results);
    groups_.push_back(results);
  }

  const Options& options_;
  std::vector<std::string> kinds_;
  std::vector<Job> jobs_;
  CsvFile csv_;
  Effort effort_;
  Progress progress_{static_cast<int>(jobs_.size()), static_cast<int>(kinds_.size())};
  std::vector<std::vector<Result>> groups_;
  std::vector<std::string> skips_;
};

/// Returns the number of failed matrices or problems.
int run(Options* options)
{
  if (options->mat_type != "aij" && options->mat_type != "baij" && options->mat_type != "aijcusparse")
    throw std::runtime_error("-bench_mat_type: '" + options->mat_type + "' is not aij, baij or aijcusparse");
  refuse_unknown_options();
  on_device = options->mat_type == "aijcusparse", in_blocks = options->mat_type == "baij";
  if (print_help()) return 0;
  if (options->machine.empty()) options->machine = name_of_machine();
  print_system(*options);
  if (options->solves) return run_solves(*options);
  if (!options->hpcg_like.empty()) return run_hpcg_like(*options);
  if (!options->symbolic.empty()) return run_symbolic(*options, jobs(*options));
  if (!options->orderings.empty()) return run_orderings(*options, jobs(*options));
  if (!options->columns.empty()) return run_columns(*options, jobs(*options));
  return Benchmark(*options).run();
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv)
{
  // Open MPI binds a program started without mpiexec to one core, with all its threads
  setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 0);
  setenv("PRTE_MCA_hwloc_default_binding_policy", "none", 0);
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, nullptr, help));
  PetscCall(PCSyncFreeRegister());
  int failed = 0;
  try {
    bench::Options options;
    PetscCall(bench::read_options(&options));
    failed = bench::run(&options) > 0;
    bench::refuse_unread_options();
  } catch (const std::exception& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "\nerror: %s\n", e.what());
    failed = 1;
  }
  PetscCall(PetscFinalize());
  return failed;
}
