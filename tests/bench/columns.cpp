/// Implements columns.hpp.

#include "columns.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "read_file.hpp"
#include "report.hpp"
#include "settings.hpp"
#include "to_petsc.hpp"

namespace bench {
namespace {

struct ColumnResult {
  Setting setting;
  std::string ran;
  int columns = 0, repetitions = 0;
  Spread one, all;    ///< PCApply() on one vector, PCMatApply() on all columns
  double error = 0;   ///< the largest |x - y| / |y| of a column, where y is PCApply()'s
  double others = 0;  ///< mean number of cores that other programs used meanwhile
  Vendor vendor;      ///< algorithms are those of one column
};

/// Returns PETSc's errors without printing them, during its lifetime.
class Silence {
 public:
  Silence() { ok(PetscPushErrorHandler(PetscReturnErrorHandler, nullptr)); }
  ~Silence() { (void)PetscPopErrorHandler(); }
  Silence(const Silence&) = delete;
};

/// Fills X with infinities, which no result can agree with.
void poison(Mat X, PetscInt columns)
{
  Vec x;
  for (PetscInt k = 0; k < columns; ++k) {
    ok(MatDenseGetColumnVecWrite(X, k, &x));
    ok(VecSet(x, std::numeric_limits<PetscReal>::infinity()));
    ok(MatDenseRestoreColumnVecWrite(X, k, &x));
  }
}

/// Returns |x - y| / |y| for column k of X; y becomes the difference.
double error_of(Mat X, PetscInt k, Vec y)
{
  Vec x;
  PetscReal size, norm;
  ok(VecNorm(y, NORM_2, &size));
  ok(MatDenseGetColumnVecRead(X, k, &x));
  ok(VecAXPY(y, -1.0, x));
  ok(MatDenseRestoreColumnVecRead(X, k, &x));
  ok(VecNorm(y, NORM_2, &norm));
  return static_cast<double>(size > 0 ? norm / size : norm);
}

/// Compares PCMatApply() with PCApply() of every column: returns the largest error, NaN if there is one.
double largest_error(Contender* contender, Mat B, Mat X, Vec work)
{
  PetscInt columns;
  Vec b;
  double worst = 0;
  ok(MatGetSize(B, nullptr, &columns));
  poison(X, columns);
  contender->apply_columns(B, X);
  for (PetscInt k = 0; k < columns; ++k) {
    ok(MatDenseGetColumnVecRead(B, k, &b));
    contender->apply(b, work);
    ok(MatDenseRestoreColumnVecRead(B, k, &b));
    const double error = error_of(X, k, work);
    if (std::isnan(error)) return error;
    worst = std::max(worst, error);
  }
  return worst;
}

/// Returns why PETSc's own PC cannot be compared, empty if it can. Uses matrices of its own, as an error would leave
/// them in use.
std::string why_not(Contender* contender, const Case& c, double tolerance)
{
  const Silence silence;
  try {
    const MatOwner B = products_with_random(c.A, 2), X = make_dense(static_cast<PetscInt>(c.n), 2);
    VecOwner work;
    ok(MatCreateVecs(c.A, work.out(), nullptr));
    return largest_error(contender, B, X, work) <= tolerance ? "" : "PCMatApply() does not do what PCApply() does";
  } catch (const std::exception&) {
    return "PCMatApply() ends in an error";
  }
}

/// The contenders of one matrix and kind, which stay set up for all numbers of columns.
class Race {
 public:
  Race(const Case& c, const std::vector<Setting>& settings, const Effort& effort) : case_(c), effort_(effort)
  {
    ok(MatCreateVecs(c.A, x_.out(), b_.out()));
    set_random(x_);
    ok(MatMult(c.A, x_, b_));
    for (const Setting& s : settings) enter(s);
  }

  /// Contenders that are left out, with the reason.
  const std::vector<std::string>& skips() const { return skips_; }

  std::vector<ColumnResult> run(PetscInt columns)
  {
    columns_ = columns;
    B_ = products_with_random(case_.A, columns);
    X_ = make_dense(static_cast<PetscInt>(case_.n), columns);
    for (Entrant& e : entrants_) rehearse(&e);
    const double begin = now(), others = time_of_others();
    const double budget = effort_.seconds * static_cast<double>(entrants_.size());
    for (int done = 0; anybody() && (done < effort_.repetitions || now() - begin < budget); ++done)
      for (std::size_t turn = 0; turn < entrants_.size(); ++turn)
        take_turn(&entrants_[whose_turn(turn, done, entrants_.size())]);
    return results(std::max(0.0, (time_of_others() - others) / (now() - begin)));
  }

 private:
  struct Entrant {
    Contender contender;
    Pace one, all;
    std::vector<double> one_times, all_times;
    double error = 0;
    bool done = false;  ///< after a slow repetition
  };

  void enter(const Setting& setting)
  {
    Contender contender(setting);
    const std::string failure = contender.has_no_plan(case_.A) ? "no plan" : contender.prepare(case_.A);
    std::string reason = failure.empty() ? "" : "ends in " + failure;
    if (failure.empty() && setting.strategy.empty()) reason = why_not(&contender, case_, effort_.tolerance);
    if (reason.empty()) entrants_.push_back({std::move(contender), {}, {}, {}, {}});
    else skips_.push_back(title(case_.matrix, setting) + " " + setting.label() + ": " + reason);
  }

  void apply_to_one(Entrant* e) { e->contender.apply(b_, x_); }
  void apply_to_all(Entrant* e) { e->contender.apply_columns(B_, X_); }

  void rehearse(Entrant* e)
  {
    compare(e);
    e->one = pace_of([&] { apply_to_one(e); }, effort_);
    e->all = pace_of([&] { apply_to_all(e); }, effort_);
    e->one_times.clear();
    e->all_times.clear();
    e->done = false;
  }

  /// Throws if a column differs from PCApply()'s.
  void compare(Entrant* e)
  {
    char text[128];
    e->error = largest_error(&e->contender, B_, X_, x_);
    if (e->error <= effort_.tolerance) return;
    std::snprintf(text, sizeof text, "a column of %d differs from PCApply()'s by %.2e, tolerance %.2e",
                  static_cast<int>(columns_), e->error, effort_.tolerance);
    const Setting& s = e->contender.setting();
    throw std::runtime_error(title(case_.matrix, s) + ", " + s.label() + ": " + text);
  }

  void take_turn(Entrant* e)
  {
    if (e->done) return;
    e->one_times.push_back(time_of(e->one.burst, [&] { apply_to_one(e); }));
    e->all_times.push_back(time_of(e->all.burst, [&] { apply_to_all(e); }));
    e->done = e->one.slow || e->all.slow;
  }

  bool anybody() const
  {
    return std::any_of(entrants_.begin(), entrants_.end(), [](const Entrant& e) { return !e.done; });
  }

  std::vector<ColumnResult> results(double others) const
  {
    std::vector<ColumnResult> all;
    for (const Entrant& e : entrants_)
      all.push_back({e.contender.setting(), e.contender.ran(), static_cast<int>(columns_),
                     static_cast<int>(e.all_times.size()), spread(e.one_times), spread(e.all_times), e.error, others,
                     vendor_of(e.contender.plan())});
    return all;
  }

  const Case& case_;
  const Effort& effort_;
  std::vector<Entrant> entrants_;
  std::vector<std::string> skips_;
  VecOwner b_, x_;
  MatOwner B_, X_;
  PetscInt columns_ = 0;
};

constexpr const char* header =
    "matrix,n,nnz,kind,levels,contender,strategy,threads,ran,columns,repetitions,apply_ms,apply_low_ms,apply_high_ms,"
    "columns_ms,columns_low_ms,columns_high_ms,error,others_cores,vendor,lower_algorithm,upper_algorithm";

class ColumnReport {
 public:
  explicit ColumnReport(const Options& o) : file_(open_csv(o, header)), origin_(origin_fields(o))
  {
    std::printf("\nmedians in ms: PCApply() on one column, PCMatApply() on k; x: speed on k against cusparse\n");
    std::printf("%-19s %9s %-20s %4s %9s %10s %9s %6s  %s\n", "matrix", "n", "contender", "k", "one", "k columns",
                "k / one", "x", "ran");
  }

  /// Prints the results of one number of columns.
  void add(const Case& c, const std::vector<ColumnResult>& results) const
  {
    const auto vendor = std::find_if(results.begin(), results.end(),
                                     [](const ColumnResult& r) { return r.setting.strategy == "cusparse"; });
    for (const ColumnResult& r : results) {
      char speed[32] = "-";
      if (vendor != results.end()) std::snprintf(speed, sizeof speed, "%.2f", vendor->all.median / r.all.median);
      std::printf("%-19s %9lld %-20s %4d %9.4f %10.4f %9.2f %6s  %s%s\n", title(c.matrix, r.setting).c_str(),
                  static_cast<long long>(c.n), r.setting.label().c_str(), r.columns, 1e3 * r.one.median,
                  1e3 * r.all.median, r.all.median / r.one.median, speed, r.ran.c_str(),
                  r.vendor.behind().c_str());
      if (file_) write(c, r);
    }
    std::fflush(stdout);
  }

 private:
  void write(const Case& c, const ColumnResult& r) const
  {
    FILE* file = file_.get();
    const Setting& s = r.setting;
    std::fprintf(file, "%s,%lld,%lld,%s,%d,%s,%s,%d,%s,%d,%d", csv_field(c.matrix).c_str(), static_cast<long long>(c.n),
                 static_cast<long long>(c.nnz), s.kind.c_str(), static_cast<int>(s.levels), s.label().c_str(),
                 s.strategy.c_str(), s.threads, csv_field(r.ran).c_str(), r.columns, r.repetitions);
    for (const Spread* spread : {&r.one, &r.all}) print_spread(file, *spread);
    std::fprintf(file, ",%.3e,%.2f", r.error, r.others);
    print_algorithms(file, r.vendor);
    std::fprintf(file, ",%s\n", origin_.c_str());
    std::fflush(file);
  }

  FileOwner file_;
  std::string origin_;
};

/// Appends to `skips` what was left out.
void measure_kind(const Case& c, const std::string& kind, const Options& o, const ColumnReport& report,
                  std::vector<std::string>* skips)
{
  const std::string reason = unfit(c.A, kind);
  if (!reason.empty()) return skips->push_back(c.matrix + " " + kind + ": " + reason);
  const Effort effort = effort_of(o);
  Race race(c, contenders(o, kind), effort);
  skips->insert(skips->end(), race.skips().begin(), race.skips().end());
  for (const std::int64_t columns : numbers("-bench_columns", o.columns))
    report.add(c, race.run(static_cast<PetscInt>(columns)));
}

}  // namespace

int run_columns(const Options& o, const std::vector<Job>& jobs)
{
  int failures = 0;
  std::vector<std::string> skips;
  const std::vector<std::string> wanted = kinds(o);
  (void)numbers("-bench_columns", o.columns);
  const ColumnReport report(o);
  for (const Job& job : jobs) try {
      MatOwner A = job.make();
      place(&A);
      const Case c = describe(job.name, A);
      for (const std::string& kind : wanted) measure_kind(c, kind, o, report, &skips);
    } catch (const std::exception& e) {
      ++failures;
      std::fprintf(stderr, "\nerror: %s\n", e.what());
    }
  for (const std::string& s : skips) std::printf("skipped: %s\n", s.c_str());
  return failures;
}

}  // namespace bench
