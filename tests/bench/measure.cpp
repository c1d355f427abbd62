/// Implements measure.hpp.

#include "measure.hpp"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>

#include "to_petsc.hpp"

namespace bench {
namespace {

struct Times {
  std::vector<double> setup, destroy, refresh, apply, lower, upper, cg;
  std::vector<double> lower_analysis, upper_analysis, choice;  // of the vendor's solver
  double wall = 0, processor = 0;  // of all turns
};

/// Returns the seconds of processor time of the calling thread.
double processor_time()
{
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Counts the entries below the diagonal, and those of the longest row on one side of it.
void look_at_triangles(Mat A, Case* c)
{
  PetscInt rows, count;
  const PetscInt* column;
  ok(MatGetSize(A, &rows, nullptr));
  for (PetscInt row = 0; row < rows; ++row) {
    ok(MatGetRow(A, row, &count, &column, nullptr));
    const std::int64_t below = std::count_if(column, column + count, [row](PetscInt j) { return j < row; });
    const std::int64_t above = std::count_if(column, column + count, [row](PetscInt j) { return j > row; });
    c->lower_nnz += below;
    c->longest = std::max({c->longest, below, above});
    ok(MatRestoreRow(A, row, &count, &column, nullptr));
  }
}

bool too_long(double seconds, const Effort& effort) { return effort.slow > 0 && seconds > effort.slow; }

Spread spread_or_nothing(const std::vector<double>& times) { return times.empty() ? Spread() : spread(times); }

/// One matrix with its contenders, all of which stay set up, as programs refresh and apply the same objects.
class Comparison {
 public:
  Comparison(const Case& c, const std::vector<Setting>& settings, const Effort& effort) : case_(c), effort_(effort)
  {
    for (const Setting& s : settings) contenders_.emplace_back(s);
    state_.resize(settings.size());
    ok(MatCreateVecs(c.A, y_.out(), b_.out()));
    set_random(y_);
    ok(MatMult(c.A, y_, b_));
    for (State& s : state_) ok(VecDuplicate(b_, s.x.out()));
  }

  /// Sets up all contenders and compares them. Returns why PETSc itself has no factor.
  std::string prepare()
  {
    for (std::size_t c = 0; c < contenders_.size(); ++c) {
      const std::string failure = contenders_[c].prepare(case_.A);
      if (!failure.empty() && c == 0) return "PETSc's own ends in " + failure;
      if (!failure.empty() && on_device) return "ends in " + failure + ", for which PETSc's own does not look there";
      if (!failure.empty()) complain(c, "failed where PETSc's own did not: " + failure);
      calibrate(c);
    }
    if (!compare()) return "PETSc's own is another on the device, where it ignores shifts; ours is PETSc's of the host";
    measure_size();
    products_.count = count_for(time_of({1, true}, [this] { multiply(); }), effort_);
    return "";
  }

  /// Scaling by 2 and 1/2 is exact, so every factor of all runs is right, and so is an old x of PETSc's own after
  /// scaling. Returns why PETSc's own x is wrong: with cuSPARSE 12.9.4 it keeps old values of few rows.
  std::string repeat(int repetition)
  {
    const std::size_t count = contenders_.size();
    const double scale = repetition % 2 ? 0.5 : 2.0;
    ok(MatScale(case_.A, scale));
    if (state_[0].done) ok(VecScale(state_[0].x, 1 / scale));
    spmv_.push_back(time_of(products_, [this] { multiply(); }));
    for (std::size_t turn = 0; turn < count; ++turn) {
      const std::size_t c = whose_turn(turn, repetition, count);
      if (!state_[c].done) take_turn(c);
    }
    if (!compare()) return "PETSc's own is wrong on the device after a refresh; ours is PETSc's of the host";
    for (State& s : state_) s.done = s.done || s.pace.slow;
    return "";
  }

  /// Returns true if any contender is still timed repeatedly.
  bool anybody() const
  {
    return std::any_of(state_.begin(), state_.end(), [](const State& s) { return !s.done; });
  }

  std::vector<Result> results() const
  {
    std::vector<Result> all;
    for (std::size_t c = 0; c < contenders_.size(); ++c) all.push_back(result(c));
    if (all.size() > 1) all[0].shape = all[1].shape;  // the same triangles
    return all;
  }

 private:
  struct State {
    Times times;
    double error = 0, bytes = 0;
    VecOwner x;
    Pace pace;
    bool halves = false, done = false;  // done: after a slow repetition
  };

  void multiply() { ok(MatMult(case_.A, b_, y_)); }

  void calibrate(std::size_t c)
  {
    State& s = state_[c];
    s.pace = pace_of([&] { contenders_[c].apply(b_, s.x); }, effort_);
    s.halves = contenders_[c].has_halves();
    s.bytes = contenders_[c].bytes();  // before solves with L or U alone make mailboxes
  }

  void take_turn(std::size_t c)
  {
    State& s = state_[c];
    const double wall = now(), processor = processor_time();
    const Contender::SetUp made = contenders_[c].time_setup(case_.A);
    s.times.setup.push_back(made.setup);
    s.times.destroy.push_back(made.destroy);
    s.times.lower_analysis.push_back(made.vendor.lower_analysis);
    s.times.upper_analysis.push_back(made.vendor.upper_analysis);
    s.times.choice.push_back(made.vendor.choice);
    s.times.refresh.push_back(contenders_[c].time_refresh());
    if (const std::string failure = contenders_[c].failure(); !failure.empty())
      complain(c, "failed with new values: " + failure);
    if (s.halves) time_halves(c);
    s.times.apply.push_back(time_of(s.pace.burst, [&] { contenders_[c].apply(b_, s.x); }));
    if (!s.pace.slow) s.times.cg.push_back(time_of(s.pace.burst, [&] { multiply(), contenders_[c].apply(b_, s.x); }));
    s.times.processor += processor_time() - processor;
    s.times.wall += now() - wall;
    s.pace.slow = s.pace.slow || too_long(s.times.wall, effort_);
  }

  void time_halves(std::size_t c)
  {
    State& s = state_[c];
    s.times.lower.push_back(time_of(s.pace.burst, [&] { contenders_[c].apply_lower(b_, s.x); }));
    s.times.upper.push_back(time_of(s.pace.burst, [&] { contenders_[c].apply_upper(b_, s.x); }));
  }

  Result result(std::size_t c) const
  {
    const State& s = state_[c];
    Result r;
    r.matrix = case_.matrix;
    r.n = case_.n;
    r.nnz = case_.nnz;
    r.lower_nnz = case_.lower_nnz;
    r.longest = case_.longest;
    r.setting = contenders_[c].setting();
    r.ran = contenders_[c].ran();
    r.plan = contenders_[c].plan();
    r.vendor = vendor_of(r.plan);
    r.vendor.lower_analysis = spread(s.times.lower_analysis).median;
    r.vendor.upper_analysis = spread(s.times.upper_analysis).median;
    r.vendor.choice = spread(s.times.choice).median;
    r.repetitions = static_cast<int>(s.times.apply.size());
    r.shape = contenders_[c].shape();
    r.setup = spread(s.times.setup);
    r.destroy = spread(s.times.destroy);
    r.refresh = spread(s.times.refresh);
    r.apply = spread(s.times.apply);
    r.lower = spread_or_nothing(s.times.lower);
    r.upper = spread_or_nothing(s.times.upper);
    r.cg = spread_or_nothing(s.times.cg);
    r.spmv = spread(spmv_);
    r.bytes = s.bytes;
    r.peak_bytes = contenders_[c].peak_bytes();
    r.share = s.times.processor / s.times.wall;
    r.error = s.error;
    r.largest = largest_;
    r.mean = mean_;
    return r;
  }

  /// Measures PETSc's own x.
  void measure_size()
  {
    PetscReal largest, sum;
    ok(VecNorm(state_[0].x, NORM_INFINITY, &largest));
    ok(VecNorm(state_[0].x, NORM_1, &sum));
    largest_ = static_cast<double>(largest);
    mean_ = static_cast<double>(sum) / static_cast<double>(std::max<std::int64_t>(case_.n, 1));
  }

  /// Compares all contenders that had a turn; returns the largest error, NaN if there is one.
  double find_errors()
  {
    VecOwner difference;
    PetscReal size, norm;
    double worst = 0;
    bool all_numbers = true;
    ok(VecDuplicate(b_, difference.out()));
    ok(VecNorm(state_[0].x, NORM_2, &size));
    for (std::size_t c = 1; c < contenders_.size(); ++c) {
      State& s = state_[c];
      if (s.done) continue;
      ok(VecCopy(s.x, difference));
      ok(VecAXPY(difference, -1.0, state_[0].x));
      ok(VecNorm(difference, NORM_2, &norm));
      const double error = size > 0 ? static_cast<double>(norm / size) : static_cast<double>(norm);
      s.error = std::isnan(error) ? error : std::max(s.error, error);
      worst = std::max(worst, error);
      all_numbers = all_numbers && !std::isnan(error);
    }
    return all_numbers ? worst : std::numeric_limits<double>::quiet_NaN();
  }

  /// Returns true if our applications agree with PETSc's own on the host, which then becomes the reference. Errors are
  /// those of the last reference.
  bool agree_with_host()
  {
    MatOwner A;
    VecOwner b, x, own;
    Contender petsc(contenders_[0].setting());
    ok(MatConvert(case_.A, MATSEQAIJ, MAT_INITIAL_MATRIX, A.out()));
    ok(MatCreateVecs(A, x.out(), b.out()));
    ok(VecDuplicate(b_, own.out()));
    copy_numbers(b_, b);
    if (!petsc.prepare(A).empty()) return false;
    petsc.apply(b, x);
    ok(VecCopy(state_[0].x, own));
    copy_numbers(x, state_[0].x);
    const auto compare_anew = [this] {
      for (State& s : state_) s.error = 0;
      return find_errors() <= effort_.tolerance;
    };
    if (compare_anew()) return true;
    ok(VecCopy(own, state_[0].x));
    compare_anew();
    return false;
  }

  /// Copies between vectors of the host and of the device.
  static void copy_numbers(Vec from, Vec to)
  {
    PetscInt n;
    const PetscScalar* source;
    PetscScalar* target;
    ok(VecGetLocalSize(from, &n));
    ok(VecGetArrayRead(from, &source));
    ok(VecGetArrayWrite(to, &target));
    std::copy_n(source, n, target);
    ok(VecRestoreArrayWrite(to, &target));
    ok(VecRestoreArrayRead(from, &source));
  }

  /// Throws if ours differ. Returns false if PETSc's own differs, on the device, from what it is on the host.
  bool compare()
  {
    if (find_errors() <= effort_.tolerance) return true;
    if (on_device && agree_with_host()) return false;
    for (std::size_t c = 1; c < contenders_.size(); ++c)
      if (!(state_[c].error <= effort_.tolerance)) disagree(c, state_[c].error);
    return true;
  }

  /// Names the errors of the others, too: if all are alike, PETSc's own x is the one that differs.
  [[noreturn]] void disagree(std::size_t c, double error) const
  {
    char text[128];
    std::snprintf(text, sizeof text, "differs from PETSc's own by %.2e, tolerance %.2e; after %zu repetitions", error,
                  effort_.tolerance, spmv_.size());
    std::string problem = text;
    for (std::size_t other = 1; other < contenders_.size(); ++other) {
      if (other == c) continue;
      std::snprintf(text, sizeof text, ", %.40s by %.2e", contenders_[other].setting().label().c_str(),
                    state_[other].error);
      problem += text;
    }
    complain(c, problem);
  }

  [[noreturn]] void complain(std::size_t c, const std::string& problem) const
  {
    const Setting& s = contenders_[c].setting();
    throw std::runtime_error(case_.matrix + ", " + s.kind + ", " + s.label() + ": " + problem);
  }

  const Case& case_;
  const Effort& effort_;
  std::vector<Contender> contenders_;
  std::vector<State> state_;
  std::vector<double> spmv_;
  VecOwner b_, y_;
  Burst products_;
  double largest_ = 0, mean_ = 0;
};

}  // namespace

Case describe(const std::string& name, Mat A)
{
  PetscInt n;
  MatInfo info;
  ok(MatGetSize(A, &n, nullptr));
  ok(MatGetInfo(A, MAT_LOCAL, &info));
  Case c = {name, A, static_cast<std::int64_t>(n), static_cast<std::int64_t>(info.nz_used)};
  look_at_triangles(A, &c);
  return c;
}

Spread spread(std::vector<double> times)
{
  std::sort(times.begin(), times.end());
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(times.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, times.size() - 1);
    return times[below] + (place - static_cast<double>(below)) * (times[above] - times[below]);
  };
  return {at(0.25), at(0.5), at(0.75)};
}

int count_for(double seconds, const Effort& effort)
{
  return static_cast<int>(std::clamp(std::min(0.01, effort.seconds / 20) / seconds, 1.0, 100.0));
}

Pace pace_of(const std::function<void()>& work, const Effort& effort)
{
  double first = time_of({1, false}, work);
  if (too_long(first, effort) && !too_long(first / 4, effort))
    first = time_of({1, false}, work);  // it may include one-time work
  if (too_long(first, effort)) return {{1, false}, true};
  return {{count_for(time_of({1, false}, work), effort), true}, false};
}

std::size_t whose_turn(std::size_t turn, int repetition, std::size_t count)
{
  const std::size_t forward = (turn + static_cast<std::size_t>(repetition / 2)) % count;
  return repetition % 2 ? count - 1 - forward : forward;
}

double time_of_others()
{
  double part[8] = {}, all = 0;  // user, nice, system, idle, waiting, two kinds of interrupts, stolen
  std::ifstream file("/proc/stat");
  std::string word;
  rusage own;
  file >> word;
  for (double& p : part) file >> p;
  if (!file || word != "cpu" || getrusage(RUSAGE_SELF, &own)) return 0;
  for (const int k : {0, 1, 2, 5, 6, 7}) all += part[k];
  const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * t.tv_usec; };
  return all / static_cast<double>(sysconf(_SC_CLK_TCK)) - seconds(own.ru_utime) - seconds(own.ru_stime);
}

std::vector<Result> measure(const Case& c, const std::vector<Setting>& settings, const Effort& effort,
                            std::string* skipped)
{
  Comparison comparison(c, settings, effort);
  *skipped = comparison.prepare();
  if (!skipped->empty()) return {};
  const double begin = now(), others = time_of_others(), budget = effort.seconds * static_cast<double>(settings.size());
  int done = 0;
  for (double spent = 0; comparison.anybody() && (done < effort.repetitions || spent < budget); spent = now() - begin) {
    effort.progress(std::min(spent / budget, static_cast<double>(done) / effort.repetitions));
    *skipped = comparison.repeat(done++);
    if (!skipped->empty()) return {};
  }
  std::vector<Result> results = comparison.results();
  for (Result& r : results) r.others = std::max(0.0, (time_of_others() - others) / (now() - begin));
  return results;
}

}  // namespace bench
