static char help[] = "Times set-up, refresh and application of every strategy beside PETSc's own ILU and ICC.\n\n";

/// A matrix is generated or read, PETSc's preconditioner and ours are set up on it through PETSc's interface, their
/// applications compared, and then all are timed in turn in the same process. Set-up is PCSetUp() on a new PC, refresh
/// PCSetUp() after new numbers on the same pattern, apply PCApply(). One process; threads are those of the plugin.
///
///   syncfree_bench -bench_matrices 7pt,5pt -bench_sizes 100000 -bench_threads 1,2 -bench_csv bench.csv
///
/// Other options of the preconditioners have the prefix bench_: -bench_pc_factor_mat_ordering_type rcm.

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>

#include "generate.hpp"
#include "measure.hpp"
#include "read_file.hpp"
#include "report.hpp"
#include "syncfree/strategy.hpp"
#include "syncfree_petsc.h"

#if PETSC_VERSION_LT(3, 19, 0)
#define PETSC_SUCCESS 0
#endif

namespace bench {
namespace {

struct Options {
  std::string matrices, files, sizes = "100000", strategies, threads = "1,2", kinds = "ilu,icc", csv;
  std::string mat_type = "aij";
  PetscInt levels = 0;
  PetscReal time = 2, tolerance = 1e4 * PETSC_MACHINE_EPSILON;
};

std::vector<std::string> split(const std::string& list)
{
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

template <class List>
std::string names(const List& list)
{
  std::string text;
  for (const auto& item : list) text += (text.empty() ? "" : ",") + std::string(item.name);
  return text;
}

/// The strategies that serve a matrix where it is; those of kokkos are there to compare answers with, not times.
std::string natural_strategies()
{
  std::vector<syncfree::StrategyInfo> list;
  for (const auto& s : syncfree::strategies())
    if (std::string(s.backend) == (on_device ? "cuda" : "host")) list.push_back(s);
  return names(list);
}

/// At least one, or the option's name and the bad text in an exception.
std::vector<std::int64_t> numbers(const char option[], const std::string& list)
{
  std::vector<std::int64_t> all;
  for (const std::string& text : split(list)) {
    char* end;
    const double value = std::strtod(text.c_str(), &end);  // 1e5 is a size
    if (*end || !(value >= 1) || value > std::numeric_limits<PetscInt>::max())
      throw std::runtime_error(std::string(option) + ": '" + text + "' is not a number >= 1");
    all.push_back(static_cast<std::int64_t>(value));
  }
  return all;
}

template <class Items>
PetscErrorCode read_string(Items PetscOptionsObject, const char option[], const std::string& text, std::string* value)
{
  char given[4096];
  PetscBool set;
  PetscFunctionBeginUser;
  PetscCall(PetscOptionsString(option, text.c_str(), nullptr, value->c_str(), given, sizeof(given), &set));
  if (set) *value = given;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode read_options(Options* o)
{
  PetscReal tolerance = o->tolerance;
  PetscFunctionBeginUser;
  PetscOptionsBegin(PETSC_COMM_SELF, nullptr, "Benchmark of syncfree_ilu and syncfree_icc", nullptr);
  PetscCall(read_string(PetscOptionsObject, "-bench_matrices", "Matrices to generate", &o->matrices));
  PetscCall(read_string(PetscOptionsObject, "-bench_files",
                        "Files with matrices, PETSc binary or Matrix Market, also .gz", &o->files));
  PetscCall(read_string(PetscOptionsObject, "-bench_sizes", "Rows of each, at least", &o->sizes));
  PetscCall(read_string(PetscOptionsObject, "-bench_mat_type", "Where matrices are: aij or aijcusparse", &o->mat_type));
  PetscCall(read_string(PetscOptionsObject, "-bench_strategies", "Strategies", &o->strategies));
  PetscCall(read_string(PetscOptionsObject, "-bench_threads", "Threads of each but serial", &o->threads));
  PetscCall(read_string(PetscOptionsObject, "-bench_kinds", "ilu, icc or both", &o->kinds));
  PetscCall(read_string(PetscOptionsObject, "-bench_csv", "File for the results", &o->csv));
  PetscCall(PetscOptionsInt("-bench_levels", "Levels of fill", nullptr, o->levels, &o->levels, nullptr));
  PetscCall(
      PetscOptionsReal("-bench_time", "Seconds for each contender of a matrix", nullptr, o->time, &o->time, nullptr));
  PetscCall(PetscOptionsReal("-bench_tolerance", "Relative error allowed against PETSc", nullptr, tolerance,
                             &o->tolerance, nullptr));
  PetscOptionsEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/// PETSc's own, then every strategy with every number of threads; with one thread all strategies do the same work,
/// so unless strategies are named only `auto` and `serial` run there.
std::vector<Setting> contenders(const Options& o, const std::string& kind)
{
  Setting setting;
  setting.kind = kind;
  setting.levels = o.levels;
  std::vector<Setting> all = {setting};
  const bool named = !o.strategies.empty();
  const auto threads = on_device ? std::vector<std::int64_t>{1} : numbers("-bench_threads", o.threads);
  for (const std::int64_t t : threads)
    for (const std::string& s : split(named ? o.strategies : "auto," + natural_strategies())) {
      if (s == "serial" && t != threads.front()) continue;
      if (!named && !on_device && t == 1 && s != "auto" && s != "serial") continue;
      setting.strategy = s;
      setting.threads = s == "serial" ? 1 : static_cast<int>(t);
      all.push_back(setting);
    }
  return all;
}

MatOwner to_petsc(const Matrix& A)
{
  const std::vector<PetscInt> row_begin(A.row_begin.begin(), A.row_begin.end());
  const std::vector<PetscInt> column(A.column.begin(), A.column.end());
  const std::vector<PetscScalar> value(A.value.begin(), A.value.end());
  const auto n = static_cast<PetscInt>(A.n());
  MatOwner B;
  ok(MatCreate(PETSC_COMM_SELF, B.out()));
  ok(MatSetSizes(B, n, n, n, n));
  ok(MatSetBlockSize(B, A.block));
  ok(MatSetType(B, MATSEQAIJ));
  ok(MatSeqAIJSetPreallocationCSR(B, row_begin.data(), column.data(), value.data()));
  ok(MatSetOption(B, MAT_SYMMETRIC, PETSC_TRUE));
  return B;
}

/// One matrix to measure and how to get it.
struct Job {
  std::string name;
  std::function<MatOwner()> make;
};

std::vector<Job> jobs(const Options& o)
{
  std::vector<Job> all;
  const bool everything = o.matrices.empty() && o.files.empty();
  for (const std::string& name : split(everything ? names(generators()) : o.matrices)) {
    const Generator* g = find_generator(name);
    if (!g) throw std::runtime_error("-bench_matrices: no '" + name + "', there are " + names(generators()));
    for (const std::int64_t rows : numbers("-bench_sizes", o.sizes))
      all.push_back({name, [g, rows] { return to_petsc(g->make(rows)); }});
  }
  for (const std::string& path : split(o.files))
    all.push_back({name_of_file(path), [path] { return read_matrix(path); }});
  return all;
}

Case describe(const std::string& name, Mat A)
{
  PetscInt n;
  MatInfo info;
  ok(MatGetSize(A, &n, nullptr));
  ok(MatGetInfo(A, MAT_LOCAL, &info));
  return {name, A, static_cast<std::int64_t>(n), static_cast<std::int64_t>(info.nz_used)};
}

void print_system(const Options& o)
{
  cpu_set_t cores;
  double load = 0;
  CPU_ZERO(&cores);
  const int count = sched_getaffinity(0, sizeof cores, &cores) ? 0 : CPU_COUNT(&cores);
  getloadavg(&load, 1);
  std::printf("PETSc %d.%d.%d, %d-byte scalars, %d-byte integers; %d cores, load %.1f before\n", PETSC_VERSION_MAJOR,
              PETSC_VERSION_MINOR, PETSC_VERSION_SUBMINOR, static_cast<int>(sizeof(PetscScalar)),
              static_cast<int>(sizeof(PetscInt)), count, load);
  for (const std::int64_t t : numbers("-bench_threads", o.threads))
    if (t > count) std::printf("warning: %d threads on %d cores\n", static_cast<int>(t), count);
}

/// With -help the lists follow the options, and nothing runs.
bool print_help()
{
  PetscBool wanted;
  ok(PetscOptionsHasHelp(nullptr, &wanted));
  if (!wanted) return false;
  std::printf("Matrices:\n");
  for (const Generator& g : generators()) std::printf("  %-12s %s\n", g.name, g.summary);
  std::printf("Strategies:\n");
  for (const auto& s : syncfree::strategies()) std::printf("  %-17s %-6s %s\n", s.name, s.backend, s.summary);
  return true;
}

class Benchmark {
 public:
  explicit Benchmark(const Options& o) : options_(o), kinds_(split(o.kinds)), jobs_(jobs(o)), csv_(o.csv)
  {
    for (const std::string& kind : kinds_)
      if (kind != "ilu" && kind != "icc") throw std::runtime_error("-bench_kinds: '" + kind + "' is not ilu or icc");
    if (o.mat_type != "aij" && o.mat_type != "aijcusparse")
      throw std::runtime_error("-bench_mat_type: '" + o.mat_type + "' is not aij or aijcusparse");
    effort_.seconds = static_cast<double>(o.time);
    effort_.tolerance = static_cast<double>(o.tolerance);
    effort_.progress = [this](double share) { progress_.show(share); };
  }

  void run()
  {
    print_system(options_);
    for (const Job& job : jobs_) {
      progress_.begin(job.name);
      MatOwner A = job.make();
      if (on_device) ok(MatConvert(A, MATAIJCUSPARSE, MAT_INPLACE_MATRIX, A.out()));
      const Case c = describe(job.name, A);
      for (const std::string& kind : kinds_) measure_kind(c, kind);
    }
    progress_.end();
    print_table(groups_);
    print_means(groups_);
    print_doubts(groups_);
    for (const std::string& s : skips_) std::printf("skipped: %s\n", s.c_str());
  }

 private:
  void measure_kind(const Case& c, const std::string& kind)
  {
    std::vector<Result> results;
    std::string reason = unfit(c.A, kind);
    if (reason.empty()) results = measure(c, contenders(options_, kind), effort_, &reason);
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

}  // namespace
}  // namespace bench

int main(int argc, char** argv)
{
  // Open MPI ties a program that was started without mpiexec to one core, with all its threads
  setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 0);
  setenv("PRTE_MCA_hwloc_default_binding_policy", "none", 0);
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, nullptr, help));
  PetscCall(PCSyncFreeILURegister());
  int failed = 0;
  try {
    bench::Options options;
    PetscCall(bench::read_options(&options));
    bench::on_device = options.mat_type == "aijcusparse";
    if (!bench::print_help()) bench::Benchmark(options).run();
  } catch (const std::exception& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "\nerror: %s\n", e.what());
    failed = 1;
  }
  PetscCall(PetscFinalize());
  return failed;
}
