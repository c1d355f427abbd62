/// Implements symbolic.hpp.

#include "symbolic.hpp"

#include <cmath>
#include <cstdio>
#include <map>
#include <type_traits>

#include "read_file.hpp"
#include "report.hpp"
#include "settings.hpp"
#include "syncfree/factor.hpp"

namespace bench {
namespace {

using Index = std::conditional_t<sizeof(PetscInt) == 8, std::int64_t, std::int32_t>;
using ISOwner = Owned<IS, ISDestroy>;

/// Accesses the rows of a matrix of the host during its lifetime.
class Rows {
 public:
  explicit Rows(Mat A) : A_(A)
  {
    PetscBool done;
    ok(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n_, &row_, &column_, &done));
    if (!done) throw std::runtime_error("the matrix gives no access to its rows");
  }
  ~Rows()
  {
    PetscBool done;
    (void)MatRestoreRowIJ(A_, 0, PETSC_FALSE, PETSC_FALSE, &n_, &row_, &column_, &done);
  }
  Rows(const Rows&) = delete;

  syncfree::PatternView<Index> view() const
  {
    return {static_cast<Index>(n_), reinterpret_cast<const Index*>(row_), reinterpret_cast<const Index*>(column_)};
  }

 private:
  Mat A_;
  PetscInt n_ = 0;
  const PetscInt *row_ = nullptr, *column_ = nullptr;
};

struct Task {
  std::string matrix, kind;
  std::int64_t levels, n, nnz;

  bool icc() const { return kind == "icc"; }
};

/// Returns seconds; sets the number of entries of the factor, for ICC of one triangle.
double time_petsc(Mat A, const Task& task, IS natural, std::int64_t* entries)
{
  MatOwner F;
  MatFactorInfo info;
  MatInfo counts;
  ok(MatFactorInfoInitialize(&info));
  info.levels = static_cast<PetscReal>(task.levels);
  info.fill = 1 + static_cast<PetscReal>(task.levels);
  ok(MatGetFactor(A, MATSOLVERPETSC, task.icc() ? MAT_FACTOR_ICC : MAT_FACTOR_ILU, F.out()));
  const double begin = now();
  if (task.icc()) ok(MatICCFactorSymbolic(F, A, natural, &info));
  else ok(MatILUFactorSymbolic(F, A, natural, natural, &info));
  const double seconds = now() - begin;
  ok(MatGetInfo(F, MAT_LOCAL, &counts));
  *entries = static_cast<std::int64_t>(counts.nz_used);
  return seconds;
}

double time_ours(const syncfree::PatternView<Index>& A, const Task& task, int threads, std::int64_t* entries)
{
  syncfree::SymbolicOptions<Index> options;
  syncfree::FactorPattern<Index> made;
  options.kind = task.icc() ? syncfree::Kind::icc : syncfree::Kind::ilu;
  options.levels = static_cast<int>(task.levels);
  const double begin = now();
  const syncfree::Status status = syncfree::make_factor_pattern(A, options, &made, threads);
  const double seconds = now() - begin;
  if (!status.ok()) throw std::runtime_error(status.message());
  *entries = static_cast<std::int64_t>(made.upper_column.size()) + task.n +
             (task.icc() ? 0 : static_cast<std::int64_t>(made.lower_column.size()));
  return seconds;
}

/// PETSc's, then ours with each number of threads, alternately: medians in seconds.
class Race {
 public:
  Race(const Task& task, const std::vector<std::int64_t>& threads)
      : task_(task), threads_(threads), times_(1 + threads.size())
  {
  }

  void run(Mat A, const Options& o)
  {
    ISOwner natural;
    ok(ISCreateStride(PETSC_COMM_SELF, static_cast<PetscInt>(task_.n), 0, 1, natural.out()));
    ok(ISSetIdentity(natural));
    const Rows rows(A);
    const double begin = now(), budget = static_cast<double>(o.time) * static_cast<double>(times_.size());
    for (int done = 0; done < o.repetitions || now() - begin < budget; ++done)
      for (std::size_t turn = 0; turn < times_.size(); ++turn)
        take_turn(A, rows.view(), natural, (turn + static_cast<std::size_t>(done)) % times_.size());
  }

  std::int64_t entries() const { return entries_; }
  int repetitions() const { return static_cast<int>(times_.front().size()); }
  Spread times(std::size_t who) const { return spread(times_[who]); }

 private:
  void take_turn(Mat A, const syncfree::PatternView<Index>& rows, IS natural, std::size_t who)
  {
    std::int64_t entries = 0;
    const double seconds = who == 0 ? time_petsc(A, task_, natural, &entries)
                                    : time_ours(rows, task_, static_cast<int>(threads_[who - 1]), &entries);
    if (entries_ < 0) entries_ = entries;
    if (entries != entries_) throw std::runtime_error(task_.matrix + ": PETSc's factor has another number of entries");
    times_[who].push_back(seconds);
  }

  const Task& task_;
  const std::vector<std::int64_t>& threads_;
  std::vector<std::vector<double>> times_;
  std::int64_t entries_ = -1;
};

class SymbolicReport {
 public:
  SymbolicReport(const Options& o, const std::vector<std::int64_t>& threads)
      : file_(open_csv(o, header)), threads_(threads), origin_(origin_fields(o))
  {
    std::printf("\nsymbolic factorization, medians in ms, and how many times PETSc's speed\n");
    std::printf("%-16s %-4s %2s %9s %11s %9s", "matrix", "kind", "k", "n", "entries", "petsc");
    for (const std::int64_t t : threads) std::printf(" %9d th", static_cast<int>(t));
    std::printf("\n");
  }

  void add(const Task& task, const Race& race)
  {
    const double petsc = race.times(0).median;
    std::printf("%-16s %-4s %2d %9lld %11lld %9.2f", task.matrix.c_str(), task.kind.c_str(),
                static_cast<int>(task.levels), static_cast<long long>(task.n), static_cast<long long>(race.entries()),
                1e3 * petsc);
    write(task, race, 0, "petsc");
    for (std::size_t k = 0; k < threads_.size(); ++k) {
      const double ours = race.times(k + 1).median;
      std::printf(" %6.2f %4.2fx", 1e3 * ours, petsc / ours);
      logs_[{task.kind, threads_[k]}].push_back(std::log(petsc / ours));
      write(task, race, k + 1, std::to_string(threads_[k]));
    }
    std::printf("\n");
    std::fflush(stdout);
  }

  void print_means() const
  {
    for (const auto& [of, logs] : logs_) {
      double sum = 0;
      for (const double l : logs) sum += l;
      std::printf("geometric mean over PETSc, %s, %d threads: %.2f of %d\n", of.first.c_str(),
                  static_cast<int>(of.second), std::exp(sum / static_cast<double>(logs.size())),
                  static_cast<int>(logs.size()));
    }
  }

 private:
  void write(const Task& task, const Race& race, std::size_t who, const std::string& name) const
  {
    if (!file_) return;
    const Spread s = race.times(who);
    std::fprintf(file_.get(), "%s,%s,%d,%lld,%lld,%lld,%s,%d,%.6g,%.6g,%.6g,%s\n", csv_field(task.matrix).c_str(),
                 task.kind.c_str(), static_cast<int>(task.levels), static_cast<long long>(task.n),
                 static_cast<long long>(task.nnz), static_cast<long long>(race.entries()), name.c_str(),
                 race.repetitions(), 1e3 * s.median, 1e3 * s.low, 1e3 * s.high, origin_.c_str());
    std::fflush(file_.get());
  }

  static constexpr const char* header =
      "matrix,kind,levels,n,nnz,entries,contender,repetitions,ms,low_ms,high_ms";

  FileOwner file_;
  const std::vector<std::int64_t>& threads_;
  std::string origin_;
  std::map<std::pair<std::string, std::int64_t>, std::vector<double>> logs_;
};

}  // namespace

int run_symbolic(const Options& o, const std::vector<Job>& jobs)
{
  int failures = 0;
  const auto threads = numbers("-bench_threads", o.threads), levels = numbers("-bench_symbolic", o.symbolic);
  const std::vector<std::string> wanted = kinds(o);
  SymbolicReport report(o, threads);
  for (const Job& job : jobs) try {
      const MatOwner A = job.make();
      MatInfo info;
      PetscInt n;
      ok(MatGetInfo(A, MAT_LOCAL, &info));
      ok(MatGetSize(A, &n, nullptr));
      for (const std::string& kind : those_that_fit(A, job.name, wanted))
        for (const std::int64_t k : levels) {
          const Task task = {job.name, kind, k, n, static_cast<std::int64_t>(info.nz_used)};
          Race race(task, threads);
          race.run(A, o);
          report.add(task, race);
        }
    } catch (const std::exception& e) {
      ++failures;
      std::fprintf(stderr, "\nerror: %s\n", e.what());
    }
  report.print_means();
  return failures;
}

}  // namespace bench
