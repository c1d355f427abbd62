/// Every host strategy against the oracle: the whole battery, all scalars, storages and indices, lower and upper,
/// conjugate, several columns, in place, teams of 1 to 8 threads.

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "../battery.hpp"
#include "../no_plan.hpp"
#include "../oracle.hpp"
#include "../ordered.hpp"
#include "../types.hpp"
#include "../watchdog.hpp"
#include "core/schedule/bandwidth.hpp"
#include "syncfree/schedule.hpp"
#include "syncfree/solver.hpp"
#include "syncfree/strategy.hpp"

namespace syncfree {
namespace {

std::vector<std::string> host_strategies()
{
  std::vector<std::string> names;
  for (const StrategyInfo& info : strategies())
    if (std::string(info.backend) == "host") names.push_back(info.name);
  return names;
}

/// Strategies that use one thread, whatever number is requested.
bool on_one_thread(const std::string& strategy)
{
  return strategy == "serial" || strategy == "merged" || strategy == "tiled" ||
         (strategy.size() > 6 && strategy.substr(strategy.size() - 6) == "_block");
}

template <class Scalar, class Storage, class Index> struct Combination {
  using T = Scalar;
  using V = Storage;
  using I = Index;
};

template <class R> const char* scalar_name()
{
  if (std::is_same_v<R, float>) return "float";
  if (std::is_same_v<R, double>) return "double";
  return std::is_same_v<R, std::complex<float>> ? "complex_float" : "complex_double";
}

struct CombinationName {
  template <class C> static std::string GetName(int)
  {
    return std::string(scalar_name<typename C::T>()) + "_in_" + scalar_name<typename C::V>() + "_index" +
           std::to_string(8 * sizeof(typename C::I));
  }
};

template <class T> T not_a_number() { return T(std::numeric_limits<real_t<T>>::quiet_NaN()); }
template <class T> T infinity() { return T(std::numeric_limits<real_t<T>>::infinity()); }

template <class C> class HostSolver : public testing::Test {
protected:
  using T = typename C::T;
  using V = typename C::V;
  using I = typename C::I;
  using Solver = TriangularSolver<T, V, I>;
  using Triangle = OwnedTriangle<V, I>;

  /// Returns nullptr if `tiled` has no plan, which on the host is the case if a row is too long.
  static std::unique_ptr<Solver> make(const std::string& strategy, const TriangleView<V, I>& triangle, int threads)
  {
    std::unique_ptr<Solver> solver;
    const std::int64_t n = triangle.pattern.n;
    const SolverOptions options{strategy, threads, false, {"paper", std::max<std::int64_t>(4, n / 8)}};
    const Status status = make_host_solver<T, V, I>(options, triangle, &solver);
    const bool is_too_long = strategy == "tiled" && longest_of(triangle.pattern, 1) > 13;
    EXPECT_EQ(has_no_plan(strategy, status), is_too_long) << status.message();
    EXPECT_TRUE(is_too_long || status.ok()) << status.message();
    return solver;
  }

  /// Returns the factors of A, and A's own triangles with the other kind of diagonal.
  static std::vector<Triangle> triangles(const std::string& matrix, std::uint64_t seed)
  {
    const OwnedCsr<T, I> A = make_battery_matrix<T, I>(matrix, seed);
    const OwnedCsr<T, I> F = oracle_ilu0(A);
    return {take_triangle<V>(F, true, true), take_triangle<V>(F, false, false), take_triangle<V>(A, true, false),
            take_triangle<V>(A, false, true, true)};
  }

  static std::vector<T> solve(Solver* solver, const std::vector<T>& b, bool conjugated)
  {
    std::vector<T> x(b.size(), not_a_number<T>());
    const I n = static_cast<I>(b.size());
    solver->solve_triangle(b.data(), x.data(), {1, n, n}, conjugated);
    return x;
  }
};

#define COMBINATION_OF(T, V, I) , Combination<T, V, I>
using Combinations = AllButFirst<void SYNCFREE_FOR_EACH_STORAGE(COMBINATION_OF)>::type;
TYPED_TEST_SUITE(HostSolver, Combinations, CombinationName);

/// Three right-hand sides of a triangle and the oracle's solutions.
template <class T, class V, class I> struct Expectation {
  static constexpr I columns = 3, b_gap = 5, x_gap = 2;  ///< the distance of columns exceeds n
  TriangleView<V, I> triangle;
  std::vector<T> b;
  std::vector<Solution<T>> solutions;
  Solution<T> conjugated;

  explicit Expectation(const TriangleView<V, I>& of) : triangle(of), b(random_vector<T>(columns * (n() + b_gap), 7))
  {
    for (I c = 0; c < columns; ++c) solutions.push_back(oracle_solve<T>(triangle, b.data() + c * (n() + b_gap), false));
    conjugated = oracle_solve<T>(triangle, b.data(), true);
  }
  I n() const { return triangle.pattern.n; }

  std::string check_single(TriangularSolver<T, V, I>* solver, bool conjugate) const
  {
    std::vector<T> x(n(), not_a_number<T>());
    solver->solve_triangle(b.data(), x.data(), {1, n(), n()}, conjugate);
    return difference(x.data(), conjugate ? conjugated : solutions[0]);
  }

  /// Solves columns with gaps, which must stay unchanged.
  std::string check_columns(TriangularSolver<T, V, I>* solver) const
  {
    const T untouched = T(-77);
    std::vector<T> x(columns * (n() + x_gap), untouched);
    for (I c = 0; c < columns; ++c) std::fill_n(x.begin() + c * (n() + x_gap), n(), not_a_number<T>());
    solver->solve_triangle(b.data(), x.data(), {columns, n() + b_gap, n() + x_gap}, false);
    for (I c = 0; c < columns; ++c) {
      const std::string wrong = difference(x.data() + c * (n() + x_gap), solutions[c]);
      if (!wrong.empty()) return "column " + std::to_string(c) + ": " + wrong;
      for (I k = n(); k < n() + x_gap; ++k)
        if (x[c * (n() + x_gap) + k] != untouched) return "wrote between the columns";
    }
    return "";
  }

  std::string check_in_place(TriangularSolver<T, V, I>* solver) const
  {
    std::vector<T> x = b;
    solver->solve_triangle(x.data(), x.data(), {columns, n() + b_gap, n() + b_gap}, false);
    for (I c = 0; c < columns; ++c) {
      const std::string wrong = difference(x.data() + c * (n() + b_gap), solutions[c]);
      if (!wrong.empty()) return "in place, column " + std::to_string(c) + ": " + wrong;
    }
    return "";
  }

  std::string check(TriangularSolver<T, V, I>* solver) const
  {
    std::string wrong = check_single(solver, false);
    if (wrong.empty() && is_complex_v<T>) wrong = check_single(solver, true);
    if (wrong.empty()) wrong = check_columns(solver);
    if (wrong.empty()) wrong = check_in_place(solver);
    return wrong;
  }
};

TYPED_TEST(HostSolver, agrees_with_oracle_on_every_battery_matrix_and_again_after_refresh)
{
  using T = typename TypeParam::T;
  using V = typename TypeParam::V;
  using I = typename TypeParam::I;
  for (const BatteryEntry& entry : battery()) {
    if (!entry.factorable || (short_run() && std::string(entry.name) == "n_100000")) continue;
    const auto first = this->triangles(entry.name, 0);
    const auto second = this->triangles(entry.name, 1);
    const bool large = first[0].n > 10000;
    const std::vector<int> sizes = large ? teams({2, 8}) : teams({1, 2, 3, 8});
    for (std::size_t k = 0; k < (large ? 2 : first.size()); ++k) {
      const Expectation<T, V, I> before(first[k].view()), after(second[k].view());
      for (const std::string& strategy : host_strategies())
        for (int threads : sizes) {
          if (on_one_thread(strategy) && threads != sizes.front()) continue;
          const std::string name = strategy + " with " + std::to_string(threads) + " threads, triangle " +
                                   std::to_string(k) + " of " + entry.name;
          Watchdog watchdog(name, patience);
          const auto solver = this->make(strategy, first[k].view(), threads);
          if (!solver) continue;
          ASSERT_EQ(before.check(solver.get()), "") << name;
          solver->update_values(second[k].view().value, second[k].view().inverse_diagonal);
          ASSERT_EQ(after.check(solver.get()), "") << name << " after refresh";
        }
    }
  }
}

/// Few levels, wide ones, and blocks: shapes that factors in natural order have not.
TYPED_TEST(HostSolver, agrees_with_oracle_on_the_factors_of_every_order)
{
  using T = typename TypeParam::T;
  using V = typename TypeParam::V;
  using I = typename TypeParam::I;
  for (const char* matrix : {"arrow_column", "random_wide", "poisson_ilu0"}) {
    const OwnedCsr<T, I> A = make_battery_matrix<T, I>(matrix);
    for (const auto& [ordering, options] : tested_orderings()) {
      if (options.abmc_rows == 3 || options.cyclic_colors == 2) continue;
      const OwnedCsr<T, I> F = oracle_ilu0(permuted(A, order_of(A.pattern(), options)));
      for (const bool lower : {true, false}) {
        const auto triangle = take_triangle<V>(F, lower, lower);
        const Expectation<T, V, I> expected(triangle.view());
        for (const std::string& strategy : host_strategies()) {
          const std::string name = strategy + ", " + matrix + ", " + ordering;
          Watchdog watchdog(name, patience);
          const auto solver = this->make(strategy, triangle.view(), 2);
          if (!solver) continue;
          ASSERT_EQ(expected.check(solver.get()), "") << name;
        }
      }
    }
  }
}

/// Values may come after the plan: a preconditioner plans in analyse() before it has any.
TYPED_TEST(HostSolver, takes_its_first_numbers_from_refresh)
{
  using T = typename TypeParam::T;
  for (const auto& triangle : this->triangles("random_wide", 0)) {
    TriangleView<typename TypeParam::V, typename TypeParam::I> empty = triangle.view();
    empty.value = empty.inverse_diagonal = nullptr;
    const auto b = random_vector<T>(triangle.n, 3);
    for (const std::string& strategy : host_strategies()) {
      const auto solver = this->make(strategy, empty, 2);
      if (!solver) continue;
      solver->update_values(triangle.view().value, triangle.view().inverse_diagonal);
      const auto x = this->solve(solver.get(), b, false);
      EXPECT_EQ(difference(x.data(), oracle_solve<T>(triangle.view(), b.data(), false)), "") << strategy;
    }
  }
}

/// One bad value affects exactly those components that depend on it, and no thread waits forever for them.
TYPED_TEST(HostSolver, spreads_nan_and_infinity_to_all_who_read_them_and_ends)
{
  using T = typename TypeParam::T;
  using V = typename TypeParam::V;
  for (const char* matrix : {"chain", "dense65", "random_wide", "random_band", "poisson_ilu0", "arrow_column"})
    for (auto triangle : this->triangles(matrix, 0))
      for (int where = 0; where < 4; ++where) {
        auto b = random_vector<T>(triangle.n, 5);
        const std::size_t middle = triangle.n / 2;
        if (where == 0) b[middle] = not_a_number<T>();
        if (where == 1) b[triangle.lower ? 0 : triangle.n - 1] = infinity<T>();
        if (where == 2) triangle.value[triangle.value.size() / 2] = not_a_number<V>();
        if (where == 3 && triangle.unit()) triangle.value[triangle.value.size() / 3] = infinity<V>();
        if (where == 3 && !triangle.unit()) triangle.inverse_diagonal[middle] = infinity<V>();
        const auto expected = oracle_solve<T>(triangle.view(), b.data(), false);
        ASSERT_TRUE(std::any_of(expected.x.begin(), expected.x.end(), [](const T& v) { return !is_finite(v); }));
        for (const std::string& strategy : host_strategies())
          for (int threads : teams({2, 8})) {
            if (on_one_thread(strategy) && threads == 8) continue;
            Watchdog watchdog(strategy + " with a bad number in " + matrix, patience);
            const auto solver = this->make(strategy, triangle.view(), threads);
            if (!solver) continue;
            const auto x = this->solve(solver.get(), b, false);
            ASSERT_EQ(difference(x.data(), expected), "") << strategy << " " << matrix << " " << where;
          }
      }
}

TYPED_TEST(HostSolver, forgets_the_nan_of_an_earlier_solve)
{
  using T = typename TypeParam::T;
  for (const auto& triangle : this->triangles("random_band", 0))
    for (const std::string& strategy : host_strategies()) {
      const auto solver = this->make(strategy, triangle.view(), 3);
      if (!solver) continue;
      const std::vector<T> bad(triangle.n, not_a_number<T>());
      for (const T& v : this->solve(solver.get(), bad, false)) ASSERT_FALSE(is_finite(v)) << strategy;
      const auto b = random_vector<T>(triangle.n, 9);
      const auto x = this->solve(solver.get(), b, false);
      EXPECT_EQ(difference(x.data(), oracle_solve<T>(triangle.view(), b.data(), false)), "") << strategy;
    }
}

TYPED_TEST(HostSolver, repeats_itself_bitwise_where_the_list_says_so)
{
  using T = typename TypeParam::T;
  const std::vector<int> sizes = teams({1, 3, 8});
  const int runs = short_run() ? 2 : 5;
  int tried = 0;
  for (const char* matrix : {"random_wide", "random_band", "dense65", "power_law"})
    for (const auto& triangle : this->triangles(matrix, 0)) {
      const auto b = random_vector<T>(triangle.n, 11);
      for (const StrategyInfo& info : strategies()) {
        if (!info.reproducible || std::string(info.backend) != "host") continue;
        for (int threads : sizes) {
          const auto solver = this->make(info.name, triangle.view(), threads);
          if (!solver) continue;
          const auto first = this->solve(this->make(info.name, triangle.view(), threads).get(), b, false);
          for (int run = 0; run < runs; ++run, ++tried) {
            const auto x = this->solve(solver.get(), b, false);
            ASSERT_EQ(std::memcmp(x.data(), first.data(), x.size() * sizeof(T)), 0) << info.name << " " << matrix;
          }
        }
      }
    }
  EXPECT_GE(tried, 3 * 4 * 4 * static_cast<int>(sizes.size()) * runs);  // at least serial, level_set and blocks
}

/// OpenMP may grant fewer threads than requested; the plan was made for more.
TYPED_TEST(HostSolver, solves_with_a_smaller_team_than_planned)
{
  using T = typename TypeParam::T;
  const int levels_before = omp_get_max_active_levels();
  for (const auto& triangle : this->triangles("random_wide", 0))
    for (const std::string& strategy : host_strategies())
      for (const bool alone : {true, false}) {
        Watchdog watchdog(strategy + " with a smaller team", patience);
        const auto solver = this->make(strategy, triangle.view(), 8);
        if (!solver) continue;
        const auto b = random_vector<T>(triangle.n, 13);
        if (alone) omp_set_max_active_levels(0);  // every team has one thread
        else omp_set_dynamic(1);                  // at most as many as there are cores
        const auto x = this->solve(solver.get(), b, false);
        omp_set_dynamic(0);
        omp_set_max_active_levels(levels_before);
        EXPECT_EQ(difference(x.data(), oracle_solve<T>(triangle.view(), b.data(), false)), "") << strategy;
      }
}

TYPED_TEST(HostSolver, says_which_strategy_runs_with_how_many_threads)
{
  for (const char* matrix : {"empty", "diagonal", "chain", "random_wide"})
    for (const auto& triangle : this->triangles(matrix, 0)) {
      for (const std::string& strategy : host_strategies()) {
        const auto solver = this->make(strategy, triangle.view(), 3);
        if (!solver) continue;
        const Description description = solver->describe_solver();
        EXPECT_EQ(description.strategy, strategy);
        EXPECT_EQ(description.threads, on_one_thread(strategy) ? 1 : 3);
        const bool plans = on_one_thread(strategy) ? strategy != "serial" && triangle.n > 0 : true;
        EXPECT_EQ(description.bytes > 0, plans) << strategy << " " << matrix;
      }
    }
}

TYPED_TEST(HostSolver, refuses_unknown_strategies_and_bad_thread_counts)
{
  const auto triangle = this->triangles("one", 0)[0];
  std::unique_ptr<typename TestFixture::Solver> solver;
  const auto make = [&](const char* name, int threads) {
    return make_host_solver<typename TypeParam::T>({name, threads}, triangle.view(), &solver);
  };
  EXPECT_EQ(make("no_such_strategy", 1).code, Code::unknown_strategy);
  EXPECT_EQ(make("no_such_strategy", 1).detail, "no_such_strategy");
  EXPECT_EQ(make("auto", 1).code, Code::unknown_strategy);
  EXPECT_EQ(make("", 1).code, Code::unknown_strategy);
  EXPECT_EQ(make("serial", 0).code, Code::invalid_argument);
  EXPECT_EQ(make("blocks", -1).code, Code::invalid_argument);
  const auto make_blocks = [&](const char* table, std::int64_t rows) {
    const SolverOptions options{"recursive_block", 1, false, {table, rows}};
    return make_host_solver<typename TypeParam::T>(options, triangle.view(), &solver);
  };
  EXPECT_EQ(make_blocks("nobody's", 1).code, Code::invalid_argument);
  EXPECT_NE(make_blocks("nobody's", 1).message().find("nobody's"), std::string::npos);
  EXPECT_EQ(make_blocks("paper", -1).code, Code::invalid_argument);
  EXPECT_EQ(solver, nullptr);
}

/// A natural ILU(0) uses A's pattern; a permuted one keeps a copy, counted as memory of the plan: 4 bytes per entry,
/// for both index types.
template <class T, class I> void expect_short_copy()
{
  const auto A = make_poisson<T, I>(6, 7, 8);
  const auto bytes = [&](const SymbolicOptions<I>& symbolic) {
    const auto p = make_host_preconditioner<T, I>();
    EXPECT_TRUE(p->analyse(A.pattern(), symbolic, {"serial", 1}).ok());
    return p->summarize().plan_bytes;
  };
  std::vector<I> same(A.n);
  std::iota(same.begin(), same.end(), 0);
  const std::size_t kept = 4 * A.column.size() + sizeof(I) * A.row_begin.size(), work = sizeof(T) * same.size();
  EXPECT_EQ(bytes({Kind::ilu, 0, false, same.data(), same.data()}), bytes({}) + kept + work);
}

TEST(HostPreconditioner, counts_what_it_keeps_of_a_pattern)
{
  expect_short_copy<double, std::int32_t>();
  expect_short_copy<std::complex<double>, std::int64_t>();
}

TEST(HostStrategies, include_those_of_the_manual)
{
  for (const char* name : {"serial", "level_set", "sync_free", "blocks", "column_block", "row_block", "recursive_block",
                           "merged", "tiled", "loop"})
    EXPECT_NE(find_strategy(name), nullptr) << name;
  EXPECT_EQ(find_strategy("auto"), nullptr);
}

/// The comparison that all other tests use must detect one wrong component.
TEST(Oracle, rejects_a_solution_with_one_wrong_component)
{
  const auto A = make_battery_matrix<double, std::int32_t>("random_band", 0);
  const auto L = take_triangle<double>(oracle_ilu0(A), true, true);
  const auto b = random_vector<double>(A.n, 1);
  const auto solution = oracle_solve<double>(L.view(), b.data(), false);
  EXPECT_EQ(difference(solution.x.data(), solution), "");
  for (std::size_t i : {std::size_t(0), b.size() / 2, b.size() - 1}) {
    auto x = solution.x;
    x[i] *= 1 + 1e-10;
    EXPECT_NE(difference(x.data(), solution), "");
    x[i] = not_a_number<double>();
    EXPECT_NE(difference(x.data(), solution), "");
  }
}

}  // namespace
}  // namespace syncfree
