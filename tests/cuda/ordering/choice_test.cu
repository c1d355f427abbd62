/// Discarded fill, unsymmetry, bounds of levels and the choice of an order: the device finds what the host does.

#include <gtest/gtest.h>

#include <complex>
#include <cmath>
#include <string>
#include <vector>

#include "../../types.hpp"
#include "../../watchdog.hpp"
#include "../device_patterns.hpp"
#include "core/ordering/graphs.hpp"
#include "cuda/analysis/factor_pattern.hpp"
#include "cuda/analysis/levels.hpp"
#include "cuda/ordering/discarded_fill.hpp"
#include "syncfree/cuda.hpp"
#include "syncfree/ordering_choice.hpp"
#include "syncfree/schedule.hpp"

namespace syncfree::cuda {
namespace {

constexpr std::uint64_t patient = 60'000'000'000;  ///< nanoseconds, enough also under a sanitizer

template <class T, class I> std::vector<T> values_of(const OwnedPattern<I>& A, bool zeros)
{
  std::vector<T> value;
  for (I i = 0; i < A.n; ++i)
    for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k) {
      const I j = A.column[k];
      const double off = -0.2 - static_cast<double>((i * 37 + j * 101) % 19) / 19;
      value.push_back(T(i == j ? (zeros && i % 17 == 5 ? 0 : 4 + static_cast<double>(i % 3)) : off));
    }
  return value;
}

template <class T, class I> void expect_same_fill(const OwnedPattern<I>& A, bool zeros)
{
  const std::vector<T> value = values_of<T>(A, zeros);
  const std::vector<I> random = random_order<I>(7u, A.n);
  const OnDevice<I> rows(A);
  DeviceFactorPattern<I> p;
  ASSERT_TRUE(split(Kind::ilu, rows.view(), &p));
  const DeviceArray<T> values(value);
  const DeviceArray<I> order(random);
  FillSampler<T, I> sampler({rows.view(), values.data(), p.diagonal_source.data()});
  double unsymmetry = -1;
  ASSERT_TRUE((measure_unsymmetry<T, I>({A.view(), value.data()}, &unsymmetry).ok()));
  EXPECT_NEAR(sampler.unsymmetry(), unsymmetry, 1e-9);
  sampler.begin_natural();
  for (const bool natural : {true, false, true}) {  // the last once more with the same rows
    DiscardedFill found = sampler.measure(natural ? nullptr : order.data()), expected;
    const I* const on_host = natural ? nullptr : random.data();
    ASSERT_TRUE((measure_discarded_fill<T, I>({A.view(), value.data()}, on_host, &expected).ok()));
    EXPECT_NEAR(found.fill, expected.fill, 1e-6 * (1 + expected.fill)) << natural;
    EXPECT_EQ(found.rows, expected.rows);
    EXPECT_EQ(found.skipped, expected.skipped);
    if (!natural) continue;
    found = sampler.measure_natural();
    EXPECT_NEAR(found.fill, expected.fill, 1e-6 * (1 + expected.fill)) << "in its own stream";
    EXPECT_EQ(found.rows, expected.rows);
  }
}

template <class I> std::vector<OwnedPattern<I>> matrices()
{
  OwnedPattern<I> dense_row = grid_pattern<I>(25, 20, 1, false);
  std::vector<std::pair<I, I>> star;
  for (I j = 1; j < 700; ++j) star.emplace_back(0, j);
  return {pattern_with<I>(1, {}),  pattern_with<I>(40, {}),          grid_pattern<I>(12, 9, 7, true), dense_row,
          pattern_with<I>(700, star), random_symmetric<I>(3, 900, 2), grid_pattern<I>(90, 80, 1, false),
          in_threes(grid_pattern<I>(30, 30, 1, true)), shuffled(grid_pattern<I>(20, 20, 10, false), 4)};
}

/// A lattice in an order that winds through it.
template <class I> OwnedPattern<I> winding_mesh(I side)
{
  std::vector<std::pair<I, I>> entries;
  const auto number = [side](I x, I y) { return y * side + (y % 2 ? side - 1 - x : x); };
  for (I y = 0; y < side; ++y)
    for (I x = 0; x < side; ++x) {
      if (x + 1 < side) entries.emplace_back(number(x, y), number(x + 1, y));
      if (y + 1 < side) entries.emplace_back(number(x, y), number(x, y + 1));
    }
  return pattern_with(side * side, entries);
}

template <class T, class I> std::vector<T> dominant_values(const OwnedPattern<I>& A)
{
  std::vector<T> value;
  for (I i = 0; i < A.n; ++i)
    for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k)
      value.push_back(T(A.column[k] == i ? 0.1 + static_cast<double>(A.row_begin[i + 1] - A.row_begin[i]) : -1));
  return value;
}

/// The search finds the levels of the host.
template <class I> void expect_levels(LevelSearch<I>* search, const LevelSets<I>& levels)
{
  ASSERT_TRUE(search->sort());
  const LevelSets<I> found = download(search->take_levels());
  EXPECT_EQ(found.count, levels.count);
  EXPECT_EQ(plain(found.row), plain(levels.row));
  EXPECT_EQ(found.level_begin, levels.level_begin);
}

template <class Types> class OrderChoices : public testing::Test {};
TYPED_TEST_SUITE(OrderChoices, AllTypes);

TYPED_TEST(OrderChoices, measure_discarded_fill_as_the_host_does)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  for (const auto& A : matrices<I>())
    for (const bool zeros : {false, true}) {
      SCOPED_TRACE(std::to_string(A.n) + " rows");
      expect_same_fill<T, I>(A, zeros);
    }
}

TYPED_TEST(OrderChoices, bound_the_number_of_levels)
{
  using I = typename TypeParam::Index;
  for (const auto& A : matrices<I>()) {
    DeviceFactorPattern<I> p;
    ASSERT_TRUE(split(Kind::ilu, OnDevice<I>(A).view(), &p));
    FactorPattern<I> made;
    ASSERT_TRUE(make_factor_pattern(A.view(), {}, &made).ok());
    LevelSets<I> levels;
    ASSERT_TRUE(make_level_sets(made.lower(), true, &levels).ok());
    for (const bool guess : {false, true}) {
      const Grid<I> grid = guess ? find_grid(A.view(), true) : Grid<I>();
      const std::int64_t count = levels.count;
      for (const std::int64_t most : {std::int64_t{100000}, count, count / 2}) {
        if (most == 0) continue;
        SCOPED_TRACE(std::to_string(A.n) + " rows, most " + std::to_string(most));
        LevelSearch<I> search(p.lower(), true, grid, nullptr, patient, static_cast<unsigned>(most));
        const LevelBound found = search.bound();
        EXPECT_TRUE(guess || found.has_more == (count > most));
        EXPECT_TRUE(!found.has_more || count > most);
        EXPECT_EQ(found.levels, found.has_more ? most : count);
        search.lift_bound();
        const LevelBound all = search.bound();
        EXPECT_EQ(all.levels, count);
        EXPECT_FALSE(all.has_more);
        expect_levels(&search, levels);
        EXPECT_EQ(search.bound().levels, count) << "after the levels were taken";
        LevelSearch<I> paused(p.lower(), true, grid, nullptr, patient, static_cast<unsigned>(most));
        (void)paused.bound();
        expect_levels(&paused, levels);
      }
    }
  }
}

TYPED_TEST(OrderChoices, know_whether_levels_follow_a_grid)
{
  using I = typename TypeParam::Index;
  const OwnedPattern<I> box = grid_pattern<I>(12, 9, 7, false), mixed = shuffled(grid_pattern<I>(12, 9, 7, false), 4);
  const Grid<I> grid = find_grid(box.view(), true);
  ASSERT_TRUE(grid.star);
  EXPECT_EQ(grid.levels(), 12 + 9 + 7 - 2);
  EXPECT_TRUE(follows_grid(OnDevice<I>(box).view(), grid));
  EXPECT_TRUE(follows_grid(OnDevice<I>(pattern_with<I>(12 * 9 * 7, {})).view(), grid)) << "neighbours may be missing";
  EXPECT_FALSE(follows_grid(OnDevice<I>(mixed).view(), grid));
}

/// An analysis in the order that was chosen gives the same factor whether or not it takes over what the choice has
/// made.
TYPED_TEST(OrderChoices, hand_over_what_they_made_to_the_analysis)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  for (const Kind kind : {Kind::ilu, Kind::icc})
    for (const auto& A : {winding_mesh<I>(300), grid_pattern<I>(60, 60, 1, false), grid_pattern<I>(9, 9, 9, true),
                          random_symmetric<I>(3, 900, 2), winding_mesh<I>(25)}) {
      SCOPED_TRACE(std::to_string(A.n) + " rows");
      const std::vector<T> value = dominant_values<T>(A);
      const CsrView<T, I> view = {A.view(), value.data()};
      OrderingRequest request;
      request.kind = kind;
      std::vector<std::vector<T>> solutions;
      for (const bool follows : {false, true}) {
        request.analysis_follows = follows;
        const auto p = make_cuda_preconditioner<T, I>();
        OrderingChoice choice;
        ASSERT_TRUE(p->choose_ordering(view, {}, request, &choice).ok());
        SymbolicOptions<I> symbolic;
        symbolic.kind = kind;
        symbolic.ordering = choice.ordering();
        const Status analysed = p->analyse_on_device(A.view(), {}, symbolic, {});
        ASSERT_TRUE(analysed.ok()) << analysed.message();
        const Status refreshed = p->refresh(view, {});
        ASSERT_TRUE(refreshed.ok()) << refreshed.message();
        std::vector<T> b(static_cast<std::size_t>(A.n), T(1)), x(b.size());
        ASSERT_TRUE(p->solve(Operation::none, b.data(), x.data(), {}).ok());
        solutions.push_back(x);
        bool same = false;
        ASSERT_TRUE(p->has_pattern(A.view(), &same).ok());
        EXPECT_TRUE(same);
      }
      EXPECT_EQ(solutions[0], solutions[1]);
    }
}

/// What the choice has made of the natural order is of no use then.
TYPED_TEST(OrderChoices, hand_over_nothing_to_an_analysis_in_another_order)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const auto A = random_symmetric<I>(3, 900, 2), B = random_symmetric<I>(4, 900, 2);
  const std::vector<T> of_A = dominant_values<T>(A), of_B = dominant_values<T>(B);
  const std::vector<I> order = random_order<I>(7u, A.n);
  OrderingRequest request;
  request.analysis_follows = true;
  for (const bool same_matrix : {true, false}) {
    const CsrView<T, I> view = {same_matrix ? A.view() : B.view(), same_matrix ? of_A.data() : of_B.data()};
    std::vector<std::vector<T>> solutions;
    for (const bool chooses : {false, true}) {
      const auto p = make_cuda_preconditioner<T, I>();
      OrderingChoice choice;
      if (chooses) {
        ASSERT_TRUE(p->choose_ordering({A.view(), of_A.data()}, {}, request, &choice).ok());
        ASSERT_FALSE(choice.ordering()) << choice.reason;
      }
      SymbolicOptions<I> symbolic;
      if (same_matrix) symbolic.row_order = symbolic.column_order = order.data();
      ASSERT_TRUE(p->analyse_on_device(view.pattern, {}, symbolic, {}).ok());
      ASSERT_TRUE(p->refresh(view, {}).ok());
      std::vector<T> b(static_cast<std::size_t>(A.n), T(1)), x(b.size());
      ASSERT_TRUE(p->solve(Operation::none, b.data(), x.data(), {}).ok());
      solutions.push_back(x);
    }
    EXPECT_EQ(solutions[0], solutions[1]);
  }
}

TYPED_TEST(OrderChoices, are_those_of_the_host)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  for (const auto& A : {winding_mesh<I>(300), grid_pattern<I>(60, 60, 1, false), pattern_with<I>(0, {})}) {
    SCOPED_TRACE(std::to_string(A.n) + " rows");
    std::vector<T> value;
    for (I i = 0; i < A.n; ++i)
      for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k) value.push_back(T(A.column[k] == i ? 4.1 : -1));
    const CsrView<T, I> view = {A.view(), value.data()};
    OrderingChoice expected, found;
    ASSERT_TRUE((choose_ordering<T, I>(view, {}, 1, &expected).ok()));
    const auto preconditioner = make_cuda_preconditioner<T, I>();
    ASSERT_TRUE(preconditioner->choose_ordering(view, {}, {}, &found).ok());
    EXPECT_EQ(name_of(found.ordering()), name_of(expected.ordering())) << found.reason;
    ASSERT_EQ(found.candidates.size(), expected.candidates.size());
    for (std::size_t c = 0; c < found.candidates.size(); ++c) {
      EXPECT_EQ(found.candidates[c].levels, expected.candidates[c].levels);
      EXPECT_EQ(found.candidates[c].has_more, expected.candidates[c].has_more);
      EXPECT_NEAR(found.candidates[c].fill, expected.candidates[c].fill, 1e-6);
    }
    const OnDevice<I> rows(A);
    const DeviceArray<T> values(value);
    OrderingChoice there;
    preconditioner->use(Memory::device, nullptr);
    const PatternView<I> on_device = {A.n, rows.row_begin.data(), rows.column.data()};
    ASSERT_TRUE(preconditioner->choose_ordering({A.view(), values.data()}, on_device, {}, &there).ok());
    EXPECT_EQ(there.reason, found.reason);
  }
}

TYPED_TEST(OrderChoices, of_a_pattern_that_cannot_be_factored_is_the_given_order)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const I begin[] = {0, 1, 2}, column[] = {1, 0};  // no diagonal
  const T value[] = {T(1), T(1)};
  OrderingChoice found;
  ASSERT_TRUE(
      (make_cuda_preconditioner<T, I>()->choose_ordering({{2, begin, column}, value}, {}, {}, &found).ok()));
  EXPECT_FALSE(found.ordering());
  EXPECT_NE(found.reason.find("cannot be factored"), std::string::npos) << found.reason;
}

}  // namespace
}  // namespace syncfree::cuda
