/// Factor and plan keep to the limit of memory: what `auto` takes, how `merged` is made, and what level_order may take.

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>

#include "../../watchdog.hpp"
#include "../device_support.hpp"
#include "syncfree/cuda.hpp"
#include "syncfree/memory_limit.hpp"

namespace syncfree {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Each row reads the row before it and one more, at random.
OwnedCsr<double, I> random_chain(I n, std::uint64_t seed)
{
  std::mt19937_64 random(seed);
  std::vector<std::vector<I>> columns(n);
  const auto read = [&](I row, I other) { columns[row].push_back(other), columns[other].push_back(row); };
  for (I row = 0; row < n; ++row) {
    columns[row].push_back(row);
    if (row > 0) read(row, row - 1);
    if (row > 40) read(row, row - 2 - static_cast<I>(random() % 30));
  }
  for (auto& own : columns) std::sort(own.begin(), own.end());
  return dominant(columns);
}

double megabytes(const Summary& s)
{
  return (static_cast<double>(s.factor_bytes) + static_cast<double>(s.plan_bytes)) / megabyte;
}

double petsc_bytes(const Summary& s)
{
  const auto rows = static_cast<double>(s.rows);
  return petsc_factor_bytes(rows, static_cast<double>(s.lower_nnz + s.upper_nnz) + rows, sizeof(double), sizeof(I));
}

/// Analyses A, checks a solve, and returns what is then taken.
Summary taken(const OwnedCsr<double, I>& A, const std::string& strategy, double limit, bool trials = false)
{
  const auto p = make_cuda_preconditioner<double, I>();
  SolverOptions options = {strategy, 2};
  options.expected_applies = 1000;
  options.memory_limit = limit;
  options.trials = trials;
  EXPECT_EQ(p->analyse(A.pattern(), {}, options).message(), "success");
  expect_solves(p.get(), A);
  return p->summarize();
}

bool says(const Summary& s, const std::string& words) { return s.reason.find(words) != std::string::npos; }

TEST(DeviceMemoryLimit, lets_auto_take_merged_only_where_it_has_room)
{
  if (short_run()) return;
  const auto A = random_chain(20000, 3);
  const Summary free = taken(A, "auto", infinity);
  EXPECT_EQ(free.strategy, "merged") << free.reason;
  EXPECT_EQ(free.memory_limit, infinity);
  EXPECT_FALSE(says(free, "memory")) << free.reason;
  const Summary none = taken(A, "auto", 1e-3);
  EXPECT_EQ(none.strategy, "level_order") << none.reason;
  EXPECT_EQ(none.memory_limit, 1e-3 * megabyte);
  EXPECT_TRUE(says(none, "; merged would take at least ")) << none.reason;
  EXPECT_TRUE(says(none, " MB, more than the limit of 0.001 MB")) << none.reason;
  EXPECT_LT(megabytes(none), megabytes(free));
  const Summary timed = taken(A, "auto", 1e-3, true);
  EXPECT_EQ(timed.strategy, "level_order") << timed.reason;
  EXPECT_TRUE(says(timed, "cusparse would take ")) << timed.reason;
}

/// Between level_order's memory and what merged takes without a limit there are plans with smaller groups.
TEST(DeviceMemoryLimit, makes_groups_of_merged_smaller)
{
  const auto A = random_chain(short_run() ? 3000 : 20000, 4);
  const Summary free = taken(A, "merged", infinity);
  const double least = megabytes(taken(A, "level_order", infinity));
  ASSERT_GT(megabytes(free), 1.5 * least);
  double before = megabytes(free);
  for (const double part : {0.7, 0.35}) {
    const double limit = least + part * (megabytes(free) - least);
    const Summary bounded = taken(A, "merged", limit);
    EXPECT_EQ(bounded.strategy, "merged");
    EXPECT_LE(megabytes(bounded), limit) << bounded.plan;
    EXPECT_GE(megabytes(bounded), 0.8 * limit) << bounded.plan;
    EXPECT_LT(megabytes(bounded), before) << bounded.plan;
    EXPECT_TRUE(says(bounded, "forced; merged has smaller groups to keep to the memory limit")) << bounded.reason;
    before = megabytes(bounded);
    const Summary chosen = taken(A, "auto", limit);
    if (chosen.strategy != "level_order") {
      EXPECT_LE(megabytes(chosen), limit) << chosen.plan;
    }
  }
}

/// What merged takes at least is foretold without the tables of the factorization.
TEST(DeviceMemoryLimit, foretells_what_merged_takes)
{
  const auto A = random_chain(short_run() ? 3000 : 20000, 6);
  const std::string reason = taken(A, "auto", 1e-3).reason, words = "merged would take at least ";
  const std::size_t at = reason.find(words);
  ASSERT_NE(at, std::string::npos) << reason;
  const double foretold = std::stod(reason.substr(at + words.size())), found = megabytes(taken(A, "merged", 1e-3));
  EXPECT_GE(found, 0.98 * foretold);
  EXPECT_LE(found, 1.15 * foretold);
}

/// A strategy by name is made whatever it takes; merged then merges nothing.
TEST(DeviceMemoryLimit, refuses_no_strategy_that_is_named)
{
  const auto A = random_chain(2000, 5);
  for (const char* strategy : {"level_order", "merged", "csc_sync_free", "cusparse"}) {
    const Summary s = taken(A, strategy, 1e-3);
    EXPECT_EQ(s.strategy, strategy) << s.reason;
    EXPECT_TRUE(says(s, "forced")) << s.reason;
    EXPECT_GT(megabytes(s), 1e-3);
  }
}

/// The last rows read every fifth row before them, all others four at random and the last row.
OwnedCsr<double, I> random_graph_with_hubs(I n, std::uint64_t seed)
{
  std::mt19937_64 random(seed);
  std::vector<std::vector<I>> columns(n);
  for (I row = 0; row < n; ++row) {
    const bool is_hub = row >= n - 8;
    for (I other = row % 5; is_hub && other < row; other += 5) columns[row].push_back(other);
    for (int k = 0; !is_hub && row > 0 && k < 4; ++k) columns[row].push_back(static_cast<I>(random() % row));
    columns[row].push_back(row);
    if (row < n - 1) columns[row].push_back(n - 1);
    std::sort(columns[row].begin(), columns[row].end());
    columns[row].erase(std::unique(columns[row].begin(), columns[row].end()), columns[row].end());
  }
  return dominant(columns);
}

/// Lists for the factorization of long rows get what level_order leaves, and the view says if that is too little.
TEST(DeviceMemoryLimit, leaves_room_for_lists_of_long_rows_first)
{
  const auto A = random_graph_with_hubs(short_run() ? 2000 : 20000, 10);
  for (const char* strategy : {"level_order", "auto"}) {
    const Summary free = taken(A, strategy, infinity), none = taken(A, strategy, 1e-3);
    const double least = megabytes(taken(A, "level_order", 1e-3)), most = megabytes(taken(A, "level_order", infinity));
    ASSERT_GT(most, 1.25 * least);
    EXPECT_FALSE(says(free, "faster factorization")) << free.reason;
    EXPECT_TRUE(says(none, "; a faster factorization would take ")) << none.reason;
    const Summary with = taken(A, strategy, 1.2 * most), without = taken(A, strategy, least + 0.5 * (most - least));
    EXPECT_FALSE(says(with, "faster factorization")) << with.reason;
    EXPECT_GE(megabytes(with), 0.999 * most) << with.plan;
    EXPECT_TRUE(says(without, "; a faster factorization would take ")) << without.reason;
    EXPECT_LT(megabytes(without), most) << without.plan;
  }
}

TEST(DeviceMemoryLimit, holds_by_default_for_what_auto_takes)
{
  const I n = short_run() ? 2000 : 20000;
  const std::vector<OwnedCsr<double, I>> matrices = {random_chain(n, 6), random_band(n, 15, 150, 0, 7),
                                                     random_band(n, 5, 1000, 0, 8), box_of_points(20, 20, 20, 3),
                                                     random_band(n / 4, 100, 300, 0, 9),
                                                     random_graph_with_hubs(5 * n, 10)};
  for (const auto& A : matrices) {
    const Summary s = taken(A, "auto", 0);
    EXPECT_EQ(s.memory_limit, std::max(6 * petsc_bytes(s), 64 * megabyte));
    EXPECT_LE(megabytes(s) * megabyte, s.memory_limit) << s.strategy << " of " << A.n << " rows: " << s.plan;
  }
}

/// Factors of both kinds store two triangles, so merged needs as much room for them.
TEST(DeviceMemoryLimit, is_the_same_for_ic)
{
  const auto A = make_poisson<double, I>(70, 70, 30);
  std::array<Summary, 2> found;
  for (const Kind kind : {Kind::ilu, Kind::icc}) {
    const auto p = make_cuda_preconditioner<double, I>();
    SymbolicOptions<I> symbolic;
    symbolic.kind = kind;
    ASSERT_EQ(p->analyse(A.pattern(), symbolic, {"auto", 1}).message(), "success");
    found[kind == Kind::icc] = p->summarize();
  }
  EXPECT_GT(found[0].memory_limit, 64 * megabyte);
  EXPECT_EQ(found[0].memory_limit, found[1].memory_limit);
}

}  // namespace
}  // namespace syncfree
