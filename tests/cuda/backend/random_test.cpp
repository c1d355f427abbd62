/// Random matrices for SYNCFREE_SECONDS (5): 1 to 200,000 rows, of many shapes, factored and solved by random
/// strategies. L U must equal A on A's pattern and L U x = b, both to rounding, component by component, and x must be
/// the same in each of three solves. SYNCFREE_SEED (1) selects other matrices. Soak: nothing is left of any of them;
/// SYNCFREE_SOAK_TOGETHER=FOLDER:COUNT, with an empty folder, in each of COUNT processes that share the device.

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <random>
#include <utility>

#include <malloc.h>
#include <unistd.h>

#include "../../battery.hpp"
#include "../../meeting.hpp"
#include "../../watchdog.hpp"
#include "../device_support.hpp"

namespace syncfree {
namespace {

double setting(const char* name, double otherwise)
{
  const char* text = std::getenv(name);
  return text ? std::atof(text) : otherwise;
}

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

class Random {
public:
  explicit Random(unsigned seed) : engine_(seed) {}
  I below(std::int64_t n) { return static_cast<I>(engine_() % static_cast<std::uint64_t>(n)); }
  double between(double low, double high) { return std::uniform_real_distribution<double>(low, high)(engine_); }
  /// Returns a size, log-uniform: as many below 10 as from 10 to 100 and so on.
  I size(I most) { return static_cast<I>(std::exp(between(0, std::log(most + 0.9)))); }

private:
  std::mt19937_64 engine_;
};

using Pairs = std::vector<std::pair<I, I>>;

/// Adds neighbours on a grid with `dofs` unknowns per node: along the axes, or in a box.
void add_grid(Random* random, I n, bool box, I dofs, Pairs* pairs)
{
  const I nodes = n / dofs, x = 1 + random->below(std::max<I>(1, nodes));
  const I y = 1 + random->below(std::max<I>(1, nodes / x));
  const I z = std::max<I>(1, nodes / (x * y));
  for (I p = 0; p < x * y * z; ++p)
    for (I c = -1; c <= 1; ++c)
      for (I b = -1; b <= 1; ++b)
        for (I a = -1; a <= 1; ++a) {
          const I i = p % x + a, j = p / x % y + b, k = p / (x * y) + c;
          if ((!box && a * a + b * b + c * c > 1) || i < 0 || i >= x || j < 0 || j >= y || k < 0 || k >= z) continue;
          for (I r = 0; r < dofs; ++r)
            for (I s = 0; s < dofs; ++s) pairs->push_back({p * dofs + r, ((k * y + j) * x + i) * dofs + s});
        }
}

void add_band(Random* random, I n, I reach, I entries, Pairs* pairs)
{
  for (I i = 0; i < n; ++i)
    for (I e = 0; e < entries; ++e) {
      const I j = std::max(0, i - reach) + random->below(2 * reach);
      pairs->push_back({i, std::min(n - 1, j)});
    }
}

/// Adds rows and columns with entries all over the matrix.
void add_hubs(Random* random, I n, Pairs* pairs)
{
  for (I hub = 1 + random->below(6); hub > 0; --hub) {
    const I h = random->below(n), step = 1 + random->below(20);
    for (I i = random->below(step); i < n; i += step) {
      pairs->push_back({h, i});
      if (hub % 2) pairs->push_back({i, h});
    }
  }
}

Pairs random_pairs(Random* random, I n, std::string* shape)
{
  Pairs pairs;
  const char* names[] = {"star",      "box",   "nodes",    "band", "narrow band",
                         "scattered", "chain", "diagonal", "hubs", "grid and hubs"};
  const I kind = random->below(10);
  *shape = names[kind];
  if (kind == 0 || kind == 9) add_grid(random, n, false, 1, &pairs);
  if (kind == 1) add_grid(random, n, true, 1, &pairs);
  if (kind == 2) add_grid(random, n, true, 1 + random->below(std::min<I>(n, 4)), &pairs);
  if (kind == 3) add_band(random, n, 1 + random->below(n), 1 + random->below(12), &pairs);
  if (kind == 4) add_band(random, n, 1 + random->below(60), 1 + random->below(30), &pairs);
  if (kind == 5) add_band(random, n, n, random->below(5), &pairs);
  if (kind == 6) add_band(random, n, 1, 2, &pairs);
  if (kind == 8) add_band(random, n, 1 + random->below(n), 3, &pairs);
  if (kind >= 8) add_hubs(random, n, &pairs);
  return pairs;
}

/// Makes a matrix that is dominant by rows or, in a quarter of the cases, barely so and with rows and columns scaled by
/// powers of ten.
OwnedCsr<double, I> random_matrix(Random* random, I n, std::string* shape)
{
  Pairs pairs = random_pairs(random, n, shape);
  for (I i = 0; i < n; ++i) pairs.push_back({i, i});
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  const bool is_bad = random->below(4) == 0;
  if (is_bad) *shape += ", ill-conditioned";
  std::vector<double> scale(n, 1);
  for (double& s : scale) s = is_bad ? std::pow(10, random->between(-6, 6)) : 1;
  OwnedCsr<double, I> A;
  A.n = n;
  A.row_begin.assign(static_cast<std::size_t>(n) + 1, 0);
  for (const auto& [i, j] : pairs) {
    ++A.row_begin[i + 1];
    A.column.push_back(j);
    A.value.push_back(random->between(-1, 1));
  }
  for (I i = 0; i < n; ++i) A.row_begin[i + 1] += A.row_begin[i];
  for (I i = 0; i < n; ++i) {
    double sum = is_bad ? 1e-9 : 0.1;
    for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k)
      if (A.column[k] != i) sum += std::abs(A.value[k]);
    for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k) {
      if (A.column[k] == i) A.value[k] = sum;
      A.value[k] *= scale[i] * scale[A.column[k]];
    }
  }
  return A;
}

/// Computes the largest |b - L U x| / (|L| |U| |x|), by components.
double backward_error(const Cuda& p, const std::vector<double>& b, const std::vector<double>& x)
{
  const auto& pattern = p.pattern();
  const auto values = p.values();
  const PatternView<I> L = pattern.lower(), U = pattern.upper();
  std::vector<double> y(b.size()), size(b.size());
  for (I i = 0; i < L.n; ++i) {
    y[i] = x[i] / values.inverse_pivot[i];
    size[i] = std::abs(y[i]);
    for (I k = U.row_begin[i]; k < U.row_begin[i + 1]; ++k) {
      y[i] += values.upper[k] * x[U.column[k]];
      size[i] += std::abs(values.upper[k] * x[U.column[k]]);
    }
  }
  double worst = 0;
  for (I i = 0; i < L.n; ++i) {
    double rest = b[i] - y[i], all = size[i];
    for (I k = L.row_begin[i]; k < L.row_begin[i + 1]; ++k) {
      rest -= values.lower[k] * y[L.column[k]];
      all += std::abs(values.lower[k]) * size[L.column[k]];
    }
    if (!std::isfinite(rest)) return std::numeric_limits<double>::infinity();
    if (rest != 0) worst = std::max(worst, std::abs(rest) / all);
  }
  return worst;
}

/// Computes the largest |A - L U| / (|L| |U|), by entries of A.
double factor_error(const Cuda& p, const OwnedCsr<double, I>& A)
{
  const auto& pattern = p.pattern();
  const auto values = p.values();
  const PatternView<I> L = pattern.lower(), U = pattern.upper();
  std::vector<double> rest(A.n), size(A.n);
  std::vector<I> owner(A.n, -1);
  double worst = 0;
  for (I i = 0; i < A.n; ++i) {
    for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k)
      rest[A.column[k]] = A.value[k], size[A.column[k]] = 0, owner[A.column[k]] = i;
    const auto subtract = [&](I column, double v) {
      if (owner[column] == i) rest[column] -= v, size[column] += std::abs(v);
    };
    for (I k = L.row_begin[i]; k < L.row_begin[i + 1]; ++k) {
      const I q = L.column[k];
      subtract(q, values.lower[k] / values.inverse_pivot[q]);
      for (I u = U.row_begin[q]; u < U.row_begin[q + 1]; ++u) subtract(U.column[u], values.lower[k] * values.upper[u]);
    }
    subtract(i, 1 / values.inverse_pivot[i]);
    for (I u = U.row_begin[i]; u < U.row_begin[i + 1]; ++u) subtract(U.column[u], values.upper[u]);
    for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k) {
      const double error = std::abs(rest[A.column[k]]), all = size[A.column[k]];
      if (!std::isfinite(all)) return std::numeric_limits<double>::infinity();
      if (error > 0) worst = std::max(worst, error / all);
    }
  }
  return worst;
}

void solve_random_matrix(Random* random, I most_rows, const std::vector<std::string>& names)
{
  std::string shape;
  const I n = random->size(most_rows);
  const auto A = random_matrix(random, n, &shape);
  const std::string strategy = names[random->below(static_cast<std::int64_t>(names.size()))];
  SCOPED_TRACE(testing::Message() << shape << ", " << n << " rows, " << A.column.size() << " entries, " << strategy);
  const Watchdog watchdog(shape + ", " + strategy, patience);
  const auto begin = Clock::now();
  const auto p = make_cuda_preconditioner<double, I>();
  SolverOptions options{strategy, 2};
  options.expected_applies = random->below(2) ? 50 : 1000;
  Status status = p->analyse(A.pattern(), {}, options);
  if (has_no_plan(strategy, status)) {
    options.strategy = "auto";  // as the message recommends
    status = p->analyse(A.pattern(), {}, options);
  }
  ASSERT_EQ(status.message(), "success");
  PivotRule rule;
  rule.zero_pivot = 0;
  ASSERT_EQ(p->refresh(A.view(), rule).message(), "success");
  const auto numbers = random_vector<double>(static_cast<std::size_t>(n), static_cast<std::uint64_t>(n));
  const DeviceVector b(numbers);
  DeviceVector x(numbers.size());
  solve(*p, b, x, n);
  const std::vector<double> first = x.get();
  double longest = 0;
  for (I i = 0; i < n; ++i) longest = std::max<double>(longest, A.row_begin[i + 1] - A.row_begin[i]);
  const bool may_merge = options.strategy == "auto" || options.strategy == "merged";
  const double rounding = 4 * (longest + 4) * std::numeric_limits<double>::epsilon();
  const double taken = seconds_since(begin);
  if (taken > 2) std::printf("%.1f s: %s, %d rows, %s\n", taken, shape.c_str(), n, strategy.c_str());
  EXPECT_LE(factor_error(*p, A), rounding);
  EXPECT_LE(backward_error(*p, numbers, first), may_merge ? 1e-10 : rounding);
  for (int again = 0; again < 2; ++again) {
    x.set(random_vector<double>(static_cast<std::size_t>(n), 3));
    solve(*p, b, x, n);
    EXPECT_TRUE(x.get() == first) << "another solution in solve " << again + 2;
  }
}

TEST(RandomMatrices, are_factored_and_solved_to_rounding_and_always_alike)
{
  const double seconds = setting("SYNCFREE_SECONDS", short_run() ? 1 : 5);
  Random random(static_cast<unsigned>(setting("SYNCFREE_SEED", 1)));
  const std::vector<std::string> names = {"auto", "auto", "level_order", "wavefront", "tiled", "merged"};
  const auto begin = Clock::now();
  int count = 0;
  for (; seconds_since(begin) < seconds && !HasFailure(); ++count) {
    SCOPED_TRACE(testing::Message() << "matrix " << count);
    solve_random_matrix(&random, short_run() ? 2000 : 200000, names);
  }
  EXPECT_GT(count, 1);
  RecordProperty("matrices", count);
  std::printf("%d matrices\n", count);
}

/// Processes that measure the memory of the device together, or one alone.
class Together {
public:
  Together()
  {
    const char* text = std::getenv("SYNCFREE_SOAK_TOGETHER");
    if (!text) return;
    const std::string setting = text, count = setting.substr(setting.rfind(':') + 1);
    processes = std::atoi(count.c_str());
    EXPECT_GT(processes, 0) << "SYNCFREE_SOAK_TOGETHER is not FOLDER:COUNT";
    meeting_.emplace(setting.substr(0, setting.rfind(':')), processes, 60, std::to_string(getpid()));
  }
  void meet(const std::string& point)
  {
    if (!meeting_) return;
    EXPECT_EQ(meeting_->meet(point), "");
  }
  int processes = 1;

private:
  std::optional<Meeting> meeting_;
};

struct MemoryInUse {
  std::int64_t arrays = 0;      ///< bytes of the library's arrays on the device
  std::size_t device_free = 0;  ///< bytes, after all idle memory was returned
  long host = 0;                ///< resident bytes of the process
};

MemoryInUse memory_in_use(Together* together, const std::string& when)
{
  MemoryInUse now;
  auto& pool = *cuda::MemoryPool::of_device();
  EXPECT_EQ(pool.trim(), cudaSuccess);
  now.arrays = pool.begin_peak();
  std::size_t total = 0;
  together->meet("idle_" + when);
  EXPECT_EQ(cudaMemGetInfo(&now.device_free, &total), cudaSuccess);
  together->meet("measured_" + when);
  malloc_trim(0);
  std::ifstream("/proc/self/statm") >> now.host >> now.host;
  now.host *= sysconf(_SC_PAGESIZE);
  return now;
}

/// Lives of preconditioners for SYNCFREE_SECONDS, in a program that has the device for itself, or in several that have:
/// what they used after a quarter of that time, they use at the end; shorter runs compare the library's arrays only.
TEST(Soak, leaves_memory_as_it_was)
{
  const double seconds = setting("SYNCFREE_SECONDS", 5);
  Random random(static_cast<unsigned>(setting("SYNCFREE_SEED", 1)));
  Together together;
  std::vector<std::string> names = device_strategies(true);
  names.insert(names.end(), {"auto", "wavefront"});
  for (const std::string& name : names)  // each once: its kernels are loaded
    for (int time = 0; time < 2 && !HasFailure(); ++time) solve_random_matrix(&random, 3000, {name});
  together.meet("warm");
  const auto begin = Clock::now();
  const auto live_until = [&](double end) {
    int count = 0;
    for (; seconds_since(begin) < end && !HasFailure(); ++count)
      solve_random_matrix(&random, short_run() ? 2000 : 200000, {"auto", "auto", "wavefront", "tiled", "merged"});
    return count;
  };
  const int warm = live_until(0.25 * seconds);
  const MemoryInUse before = memory_in_use(&together, "before");
  const int more = live_until(seconds);
  const MemoryInUse after = memory_in_use(&together, "after");
  std::printf("%d + %d matrices; the device has %zu and then %zu MB free, the host uses %ld and then %ld MB\n", warm,
              more, before.device_free >> 20, after.device_free >> 20, before.host >> 20, after.host >> 20);
  EXPECT_GT(more, 1);
  EXPECT_EQ(after.arrays, before.arrays);
  if (seconds < 60) return;  // some kernels may not have been loaded before
  EXPECT_GE(after.device_free + (together.processes * std::size_t{8} << 20), before.device_free);
  EXPECT_LE(after.host, before.host + (64 << 20));
}

}  // namespace
}  // namespace syncfree
