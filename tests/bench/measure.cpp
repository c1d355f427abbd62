/// What measure.hpp declares.

#include "measure.hpp"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>

namespace bench {
namespace {

struct Times {
  std::vector<double> setup, destroy, refresh, apply;
  double wall = 0, processor = 0;  // of all turns
};

/// Seconds that the calling thread has run.
double processor_time()
{
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Seconds that all cores of the machine have run programs other than this one; 0 where the system does not say.
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

/// One matrix with its contenders, all of which are kept set up, since programs refresh and apply what they have.
class Comparison {
 public:
  Comparison(const Case& c, const std::vector<Setting>& settings, const Effort& effort) : case_(c), effort_(effort)
  {
    for (const Setting& s : settings) contenders_.emplace_back(s);
    times_.resize(settings.size());
    error_.resize(settings.size());
    x_.resize(settings.size());
    ok(MatCreateVecs(c.A, b_.out(), nullptr));
    for (VecOwner& x : x_) ok(VecDuplicate(b_, x.out()));
    set_random();
  }

  /// Sets everybody up and compares. Returns why PETSc itself has no factor.
  std::string prepare()
  {
    for (std::size_t c = 0; c < contenders_.size(); ++c) {
      const std::string failure = contenders_[c].prepare(case_.A);
      if (!failure.empty() && c == 0) return "PETSc's own ends in " + failure;
      if (!failure.empty()) complain(c, "failed where PETSc's own did not: " + failure);
      contenders_[c].apply(b_, x_[c]);
    }
    if (on_device && contenders_[0].setting().kind == "icc" && !(find_errors() <= effort_.tolerance))
      return "PETSc's own is another on the device, where it ignores shifts";
    compare();
    return "";
  }

  /// Applications in a turn: enough for ten milliseconds of PETSc's.
  void calibrate()
  {
    const double seconds = contenders_[0].time_apply(b_, x_[0], 1);
    applies_ = static_cast<int>(std::clamp(0.01 / seconds, 1.0, 100.0));
  }

  /// Doubling and halving is exact, so that every factor of all runs is good.
  void repeat(int repetition)
  {
    const std::size_t count = contenders_.size();
    ok(MatScale(case_.A, repetition % 2 ? 0.5 : 2.0));
    for (std::size_t turn = 0; turn < count; ++turn) {
      const std::size_t forward = (turn + static_cast<std::size_t>(repetition / 2)) % count;
      take_turn(repetition % 2 ? count - 1 - forward : forward);
    }
    compare();
  }

  std::vector<Result> results(int repetitions) const
  {
    std::vector<Result> all;
    for (std::size_t c = 0; c < contenders_.size(); ++c) {
      Result r;
      r.matrix = case_.matrix;
      r.n = case_.n;
      r.nnz = case_.nnz;
      r.setting = contenders_[c].setting();
      r.ran = contenders_[c].ran();
      r.repetitions = repetitions;
      r.setup = spread(times_[c].setup);
      r.destroy = spread(times_[c].destroy);
      r.refresh = spread(times_[c].refresh);
      r.apply = spread(times_[c].apply);
      r.bytes = contenders_[c].bytes();
      r.share = times_[c].processor / times_[c].wall;
      r.error = error_[c];
      all.push_back(r);
    }
    return all;
  }

 private:
  void take_turn(std::size_t c)
  {
    const double wall = now(), processor = processor_time();
    const auto [setup, destroy] = contenders_[c].time_setup(case_.A);
    times_[c].setup.push_back(setup);
    times_[c].destroy.push_back(destroy);
    times_[c].refresh.push_back(contenders_[c].time_refresh());
    times_[c].apply.push_back(contenders_[c].time_apply(b_, x_[c], applies_));
    times_[c].processor += processor_time() - processor;
    times_[c].wall += now() - wall;
  }

  /// Of all contenders; returns the largest, NaN if there is one.
  double find_errors()
  {
    VecOwner difference;
    PetscReal size, norm;
    double worst = 0;
    bool all_numbers = true;
    ok(VecDuplicate(b_, difference.out()));
    ok(VecNorm(x_[0], NORM_2, &size));
    for (std::size_t c = 1; c < contenders_.size(); ++c) {
      ok(VecCopy(x_[c], difference));
      ok(VecAXPY(difference, -1.0, x_[0]));
      ok(VecNorm(difference, NORM_2, &norm));
      const double error = size > 0 ? static_cast<double>(norm / size) : static_cast<double>(norm);
      error_[c] = std::isnan(error) ? error : std::max(error_[c], error);
      worst = std::max(worst, error);
      all_numbers = all_numbers && !std::isnan(error);
    }
    return all_numbers ? worst : std::numeric_limits<double>::quiet_NaN();
  }

  void compare()
  {
    find_errors();
    for (std::size_t c = 1; c < contenders_.size(); ++c)
      if (!(error_[c] <= effort_.tolerance)) disagree(c, error_[c]);
  }

  [[noreturn]] void disagree(std::size_t c, double error) const
  {
    char text[128];
    std::snprintf(text, sizeof text, "differs from PETSc's own by %.2e, tolerance %.2e", error, effort_.tolerance);
    complain(c, text);
  }

  [[noreturn]] void complain(std::size_t c, const std::string& problem) const
  {
    const Setting& s = contenders_[c].setting();
    throw std::runtime_error(case_.matrix + ", " + s.kind + ", " + s.label() + ": " + problem);
  }

  void set_random()
  {
    PetscRandom random;
    ok(PetscRandomCreate(PETSC_COMM_SELF, &random));
    ok(PetscRandomSetType(random, PETSCRANDER48));
    ok(PetscRandomSetInterval(random, -1.0, 1.0));
    ok(PetscRandomSetSeed(random, 1));
    ok(PetscRandomSeed(random));
    ok(VecSetRandom(b_, random));
    ok(PetscRandomDestroy(&random));
  }

  const Case& case_;
  const Effort& effort_;
  std::vector<Contender> contenders_;
  std::vector<Times> times_;
  std::vector<double> error_;
  VecOwner b_;
  std::vector<VecOwner> x_;
  int applies_ = 1;
};

}  // namespace

std::vector<Result> measure(const Case& c, const std::vector<Setting>& settings, const Effort& effort,
                            std::string* skipped)
{
  Comparison comparison(c, settings, effort);
  *skipped = comparison.prepare();
  if (!skipped->empty()) return {};
  comparison.calibrate();
  const double begin = now(), others = time_of_others(), budget = effort.seconds * static_cast<double>(settings.size());
  int done = 0;
  for (double spent = 0; done < effort.repetitions || spent < budget; spent = now() - begin) {
    effort.progress(std::min(spent / budget, static_cast<double>(done) / effort.repetitions));
    comparison.repeat(done++);
  }
  std::vector<Result> results = comparison.results(done);
  for (Result& r : results) r.others = std::max(0.0, (time_of_others() - others) / (now() - begin));
  return results;
}

}  // namespace bench
