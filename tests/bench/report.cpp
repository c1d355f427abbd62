/// Implements report.hpp.

#include "report.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

namespace bench {
namespace {

constexpr const char* header =
    "matrix,n,nnz,kind,levels,contender,strategy,threads,ran,repetitions,setup_ms,setup_low_ms,setup_high_ms,"
    "destroy_ms,destroy_low_ms,destroy_high_ms,refresh_ms,refresh_low_ms,refresh_high_ms,apply_ms,apply_low_ms,"
    "apply_high_ms,memory_bytes,petsc_bytes,error,core_share,others_cores,lower_ms,upper_ms,spmv_ms,cg_ms,"
    "lower_levels,upper_levels,rows_a_level,entries_a_row,lower_nnz,longest,largest,mean,peak_bytes,plan,"
    "vendor,lower_algorithm,upper_algorithm,lower_analysis_ms,upper_analysis_ms,choice_ms";

std::string title(const Result& r) { return bench::title(r.matrix, r.setting); }

/// Prints nothing for 0, which means "not measured".
void print_or_nothing(FILE* file, double value)
{
  if (value > 0) std::fprintf(file, ",%.6g", value);
  else std::fputs(",", file);
}

void print_parts(FILE* file, const Result& r)
{
  for (const Spread* s : {&r.lower, &r.upper, &r.spmv, &r.cg}) print_or_nothing(file, 1e3 * s->median);
  const Shape& s = r.shape;
  for (const std::int64_t count : {s.lower_levels, s.upper_levels}) print_or_nothing(file, static_cast<double>(count));
  for (const double value : {s.rows_a_level, s.entries_a_row}) print_or_nothing(file, value);
  for (const std::int64_t count : {r.lower_nnz, r.longest}) std::fprintf(file, ",%lld", static_cast<long long>(count));
  std::fprintf(file, ",%.3e,%.3e", r.largest, r.mean);
  print_or_nothing(file, r.peak_bytes);
  std::fprintf(file, ",%s", csv_field(r.plan).c_str());
}

/// Speeds and memory relative to PETSc's.
struct Ratios {
  double setup, refresh, apply, memory;
};

Ratios ratios(const Result& r, const Result& petsc)
{
  return {petsc.setup.median / r.setup.median, petsc.refresh.median / r.refresh.median,
          petsc.apply.median / r.apply.median, r.bytes / petsc.bytes};
}

/// Geometric mean of values, and the worst of them with its name.
class Mean {
 public:
  explicit Mean(bool large_is_good = true) : large_is_good_(large_is_good) {}
  void add(double value, const std::string& name)
  {
    logarithms_ += std::log(value);
    if (count_++ == 0 || (value < worst_) == large_is_good_) worst_ = value, name_ = name;
  }
  std::string text() const
  {
    char numbers[64];
    std::snprintf(numbers, sizeof numbers, "%.2f, worst %.2f ", std::exp(logarithms_ / count_), worst_);
    return numbers + name_;
  }

 private:
  bool large_is_good_;
  double logarithms_ = 0, worst_ = 0;
  int count_ = 0;
  std::string name_;
};

struct Means {
  Mean setup, refresh, apply, memory = Mean(false);
};

}  // namespace

void Progress::begin(const std::string& matrix)
{
  matrix_ = matrix;
  done_ = kinds_ * begun_++;
  if (!isatty(2)) std::fprintf(stderr, "%d of %d: %s\n", begun_, matrices_, matrix.c_str());
  share_ = 0;
  show(0);
}

void Progress::next()
{
  ++done_;
  share_ = 0;
  show(0);
}

void Progress::show(double share)
{
  if (!isatty(2)) return;
  share_ = std::max(share_, std::min(share, 1.0));  // the number of repetitions may reduce it
  constexpr int width = 30;
  const int filled = std::clamp(static_cast<int>(width * (done_ + share_) / (matrices_ * kinds_)), 0, width);
  const std::string bar = std::string(filled, '#') + std::string(width - filled, '.');
  std::fprintf(stderr, "\r[%s] %d of %d: %-36.36s", bar.c_str(), begun_, matrices_, matrix_.c_str());
  std::fflush(stderr);
}

void Progress::end()
{
  if (isatty(2)) std::fprintf(stderr, "\r%-90s\r", "");
}

const char* const origin_header = "scalar_bytes,index_bytes,machine,commit,note";

std::string origin_fields(const Options& o)
{
  return std::to_string(sizeof(PetscScalar)) + "," + std::to_string(sizeof(PetscInt)) + "," + csv_field(o.machine) +
         "," + csv_field(o.commit) + "," + csv_field(o.note);
}

FileOwner open_csv(const Options& o, const char* columns)
{
  if (o.csv.empty()) return nullptr;
  FileOwner file(std::fopen(o.csv.c_str(), "w"));
  if (!file) throw std::runtime_error("cannot write " + o.csv);
  std::fprintf(file.get(), "%s,%s\n", columns, origin_header);
  return file;
}

void print_spread(FILE* file, const Spread& s)
{
  std::fprintf(file, ",%.6g,%.6g,%.6g", 1e3 * s.median, 1e3 * s.low, 1e3 * s.high);
}

void print_algorithms(FILE* file, const Vendor& v)
{
  if (v.ran()) std::fprintf(file, ",%s,%d,%d", v.version.c_str(), v.lower_algorithm, v.upper_algorithm);
  else std::fputs(",,,", file);
}

std::string title(const std::string& matrix, const Setting& s)
{
  std::string text = matrix + " " + s.kind;
  if (s.levels) text.append("(").append(std::to_string(s.levels)).append(")");
  return text;
}

CsvFile::CsvFile(const Options& o) : file_(open_csv(o, header)), origin_(origin_fields(o)) {}

void CsvFile::add(const std::vector<Result>& results)
{
  FILE* file = file_.get();
  if (!file) return;
  for (const Result& r : results) {
    const Setting& s = r.setting;
    std::fprintf(file, "%s,%lld,%lld,%s,%d,%s,%s,%d,\"%s\",%d", r.matrix.c_str(), static_cast<long long>(r.n),
                 static_cast<long long>(r.nnz), s.kind.c_str(), static_cast<int>(s.levels), s.label().c_str(),
                 s.strategy.c_str(), s.threads, r.ran.c_str(), r.repetitions);
    for (const Spread* spread : {&r.setup, &r.destroy, &r.refresh, &r.apply}) print_spread(file, *spread);
    std::fprintf(file, ",%.0f,%.0f,%.3e,%.3f,%.2f", r.bytes, results[0].bytes, r.error, r.share, r.others);
    print_parts(file, r);
    print_algorithms(file, r.vendor);
    for (const double t : {r.vendor.lower_analysis, r.vendor.upper_analysis, r.vendor.choice})
      print_or_nothing(file, 1e3 * t);
    std::fprintf(file, ",%s\n", origin_.c_str());
  }
  std::fflush(file);
}

void print_table(const std::vector<std::vector<Result>>& groups)
{
  std::printf("\nmedians in ms; x: times as fast as PETSc's own; memory: times PETSc's; error: against PETSc's\n");
  std::printf("%-19s %9s %-13s %9s %9s %9s %6s %6s %6s %6s %8s  %s\n", "matrix", "n", "contender", "set-up", "refresh",
              "apply", "x", "x", "x", "memory", "error", "ran");
  for (const auto& group : groups)
    for (const Result& r : group) {
      const Ratios x = ratios(r, group[0]);
      std::printf("%-19s %9lld %-13s %9.3f %9.3f %9.4f %6.2f %6.2f %6.2f %6.2f %8.1e  %s%s\n", title(r).c_str(),
                  static_cast<long long>(r.n), r.setting.label().c_str(), 1e3 * r.setup.median, 1e3 * r.refresh.median,
                  1e3 * r.apply.median, x.setup, x.refresh, x.apply, x.memory, r.error, r.ran.c_str(),
                  r.vendor.behind().c_str());
    }
}

void print_means(const std::vector<std::vector<Result>>& groups)
{
  std::map<std::string, Means> means;
  std::vector<std::string> order;
  for (const auto& group : groups)
    for (std::size_t c = 1; c < group.size(); ++c) {
      const std::string key = group[c].setting.kind + " " + group[c].setting.label();
      const std::string name = group[c].matrix + " " + std::to_string(group[c].n);
      const Ratios x = ratios(group[c], group[0]);
      if (!means.count(key)) order.push_back(key);
      Means& m = means[key];
      m.setup.add(x.setup, name);
      m.refresh.add(x.refresh, name);
      m.apply.add(x.apply, name);
      m.memory.add(x.memory, name);
    }
  if (order.empty()) return;
  std::printf("\ngeometric means: times as fast as PETSc's own, and times its memory\n");
  std::printf("%-17s %-34s %-34s %-34s %s\n", "", "set-up", "refresh", "apply", "memory");
  for (const std::string& key : order) {
    const Means& m = means[key];
    std::printf("%-17s %-34s %-34s %-34s %s\n", key.c_str(), m.setup.text().c_str(), m.refresh.text().c_str(),
                m.apply.text().c_str(), m.memory.text().c_str());
  }
}

void print_doubts(const std::vector<std::vector<Result>>& groups)
{
  const auto cores = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
  for (const auto& group : groups) {
    if (!(group[0].largest <= 1e6 && group[0].mean >= 1e-6))
      std::printf("warning: %s: |x| is %.1e on average and at most %.1e; 1e-6 to 1e6 is wanted\n",
                  title(group[0]).c_str(), group[0].mean, group[0].largest);
    int threads = 1;
    for (const Result& r : group) threads = std::max(threads, r.setting.threads);
    if (group[0].share < 0.97 || group[0].others + threads > cores + 0.1)
      std::printf("warning: %s: disturbed; other programs used %.1f of %.0f cores, PETSc's own got %.0f %% of one\n",
                  title(group[0]).c_str(), group[0].others, cores, 100 * group[0].share);
  }
}

}  // namespace bench
