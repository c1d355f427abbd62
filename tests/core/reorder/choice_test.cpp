/// Which order is chosen, from numbers and from matrices.

#include "core/reorder/choice.hpp"

#include <gtest/gtest.h>

#include <map>

#include "core/choose/estimate.hpp"
#include "core/ordering/graphs.hpp"

namespace syncfree {
namespace {

/// Numbers like those of a mesh of 128,000 rows; counts what was asked for.
class Numbers : public OrderingProspects {
public:
  std::int64_t levels = 4500;
  double unsymmetric = 0, given_fill = 0.06;
  std::map<OrderingKind, std::int64_t> colors = {
      {OrderingKind::multicolor, 12}, {OrderingKind::cyclic, 16}, {OrderingKind::abmc, 8}};
  std::map<OrderingKind, double> fill = {
      {OrderingKind::multicolor, 0.067}, {OrderingKind::cyclic, 0.065}, {OrderingKind::abmc, 0.062}};
  int node_size = 0, looked = 0, counted = 0, fills = 0;
  bool is_band = false;
  std::vector<OrderingKind> made;

  GivenOrder look_at_given() override
  {
    ++looked;
    GivenOrder given;
    ChoiceInput& f = given.input;
    f.on_device = true;
    f.rows = size.rows, f.nnz = size.entries - size.rows;
    f.longest = is_band ? 3 : 20;
    f.tiled_on_device = f.regular = is_band;
    if (is_band) f.tiled_form = PlanForm::rows;
    given.has_more_levels = levels > most_counted_levels;
    f.levels = std::min(levels, most_counted_levels);
    f.node_size = node_size;
    f.node_levels = node_size ? f.levels / node_size : 0;
    return given;
  }
  GivenLevels count_more_levels() override
  {
    ++counted;
    return {std::min(levels, most_levels_in_doubt), levels > most_levels_in_doubt};
  }
  double unsymmetry() override { return unsymmetric; }
  double fill_of_given() override { return ++fills, given_fill; }
  std::int64_t make(const OrderingOptions& options) override
  {
    made.push_back(options.kind);
    return colors[options.kind];
  }
  double fill_of_made() override { return ++fills, fill[made.back()]; }

  static OrderingRequest with_analysis()
  {
    OrderingRequest request;
    request.analysis_follows = true;
    return request;
  }

  MatrixSize size = {128000, 1866000, 8};
  OrderingRequest request = with_analysis();
  OrderingChoice decide() { return decide_ordering(size, request, this); }
};

OrderingKind kind_of(const OrderingChoice& choice) { return choice.ordering()->kind; }

TEST(OrderingChoiceOf, a_mesh_with_thousands_of_levels_is_colors)
{
  Numbers mesh;
  const OrderingChoice choice = mesh.decide();
  ASSERT_TRUE(choice.ordering());
  EXPECT_EQ(kind_of(choice), OrderingKind::multicolor);
  EXPECT_EQ(mesh.made, std::vector<OrderingKind>{OrderingKind::multicolor}) << "no other can be faster by far enough";
  EXPECT_NE(choice.reason.find("predicted at least "), std::string::npos) << choice.reason;
  EXPECT_GT(choice.gain_of(choice.chosen), 2);
  EXPECT_TRUE(choice.candidates[0].has_more);
  EXPECT_EQ(choice.candidates[0].levels, most_counted_levels);
  EXPECT_EQ(choice.candidates[1].levels, 12);
  EXPECT_DOUBLE_EQ(choice.candidates[1].iterations, std::sqrt(0.067 / 0.06));
}

TEST(OrderingChoiceOf, few_levels_is_the_given_order_without_a_look_at_others)
{
  Numbers mesh;
  mesh.levels = 4;
  const OrderingChoice choice = mesh.decide();
  EXPECT_FALSE(choice.ordering());
  EXPECT_EQ(choice.candidates.size(), 1u);
  EXPECT_TRUE(mesh.made.empty());
  EXPECT_EQ(mesh.fills, 0);
  EXPECT_NE(choice.reason.find("its application is fast"), std::string::npos) << choice.reason;
}

/// In tiles the 800 levels that are counted first would take less time than two products with so many entries.
TEST(OrderingChoiceOf, more_levels_than_were_counted_is_not_taken_for_fast)
{
  Numbers band;
  band.is_band = true;
  band.size = {5000000, 35000000, 8};
  band.levels = 5000000;
  EXPECT_EQ(band.decide().reason.find("its application is fast"), std::string::npos);
  EXPECT_EQ(band.counted, 1);
  band.levels = 900;
  const OrderingChoice few = band.decide();
  EXPECT_EQ(band.counted, 2) << "once again";
  EXPECT_FALSE(few.ordering());
  EXPECT_EQ(few.candidates[0].levels, 900);
  EXPECT_NE(few.reason.find("its application is fast"), std::string::npos) << few.reason;
}

/// Blocks of 256 rows take a hop a row.
TEST(OrderingChoiceOf, costly_colors_is_cyclic_and_of_costly_orders_the_given_one)
{
  Numbers mesh;
  mesh.request.sizes.abmc_rows = 256;
  mesh.colors[OrderingKind::multicolor] = 2;
  mesh.fill[OrderingKind::multicolor] = mesh.fill[OrderingKind::abmc] = 0.3;
  EXPECT_EQ(kind_of(mesh.decide()), OrderingKind::cyclic);
  EXPECT_EQ(mesh.counted, 0) << "more levels would not change the choice";
  mesh.request.expected_applies = 500;
  for (auto& [kind, fill] : mesh.fill) fill = 6;
  const OrderingChoice choice = mesh.decide();
  EXPECT_FALSE(choice.ordering());
  EXPECT_EQ(choice.candidates.size(), 3u) << "all but blocks were looked at";
  EXPECT_LT(choice.gain_of(choice.fastest()), 1.3);
  EXPECT_EQ(mesh.counted, 1);
}

/// Other orders than `multicolor` with many colours are not looked at.
TEST(OrderingChoiceOf, costly_colors_of_an_unstructured_mesh_is_the_given_order)
{
  Numbers mesh;
  mesh.fill[OrderingKind::multicolor] = 6;
  EXPECT_FALSE(mesh.decide().ordering());
  EXPECT_EQ(mesh.made, std::vector<OrderingKind>{OrderingKind::multicolor});
}

TEST(OrderingChoiceOf, orders_of_equal_times_is_that_of_fewest_iterations)
{
  Numbers mesh;
  mesh.request.sizes.abmc_rows = 256;
  mesh.colors[OrderingKind::multicolor] = 2;
  mesh.request.expected_applies = 500;
  mesh.fill = {{OrderingKind::multicolor, 0.24}, {OrderingKind::cyclic, 0.2}, {OrderingKind::abmc, 6}};
  EXPECT_EQ(kind_of(mesh.decide()), OrderingKind::cyclic);
  mesh.fill[OrderingKind::cyclic] = 0.26;
  EXPECT_EQ(kind_of(mesh.decide()), OrderingKind::multicolor);
}

/// A warp solves a block of at most 32 rows: then colors are hops. Otherwise each of its rows is a level.
TEST(OrderingChoiceOf, costly_colors_is_blocks_if_warps_solve_them)
{
  Numbers mesh;
  mesh.colors[OrderingKind::multicolor] = 2;
  mesh.request.expected_applies = 500;
  mesh.fill[OrderingKind::multicolor] = mesh.fill[OrderingKind::cyclic] = 0.3;
  const OrderingChoice small = mesh.decide();
  EXPECT_EQ(kind_of(small), OrderingKind::abmc);
  EXPECT_EQ(small.candidates[small.chosen].levels, 8 * 16);
  EXPECT_LT(small.candidates[small.chosen].apply, 40);
  for (const int rows : {4, 33}) {
    mesh.request.sizes.abmc_rows = rows;
    const OrderingCandidate blocks = mesh.decide().candidates.at(2);
    ASSERT_EQ(blocks.ordering->kind, OrderingKind::abmc);
    EXPECT_GT(blocks.apply, 0.5 * 2 * 8 * rows) << "a hop a level";
  }
}

/// Blocks are looked at where colors discard much more than the given order.
TEST(OrderingChoiceOf, cheap_colors_that_discard_much_more_is_blocks)
{
  Numbers mesh;
  mesh.levels = 300;
  mesh.given_fill = 0.04;
  mesh.fill[OrderingKind::abmc] = 0.035;
  mesh.fill[OrderingKind::cyclic] = 0.08;
  mesh.request.expected_applies = 500;
  EXPECT_EQ(kind_of(mesh.decide()), OrderingKind::abmc);
  mesh.fill[OrderingKind::abmc] = 0.067;
  EXPECT_EQ(kind_of(mesh.decide()), OrderingKind::multicolor) << "as many iterations, and slower";
  mesh.made.clear();
  mesh.given_fill = 0.06;
  EXPECT_EQ(kind_of(mesh.decide()), OrderingKind::multicolor);
  EXPECT_EQ(mesh.made, std::vector<OrderingKind>{OrderingKind::multicolor});
}

/// All levels of the given order are counted only if the choice depends on them: here it is 1.2 times as slow with 800.
TEST(OrderingChoiceOf, a_mesh_with_convection_depends_on_the_number_of_its_levels)
{
  Numbers mesh;
  mesh.size = {103823, 1505000, 8};
  mesh.unsymmetric = 0.76;
  mesh.given_fill = 0.0457;
  for (auto& [kind, fill] : mesh.fill) fill = 0.0819;
  mesh.levels = 1314;
  const OrderingChoice choice = mesh.decide();
  ASSERT_TRUE(choice.ordering()) << choice.reason;
  EXPECT_EQ(kind_of(choice), OrderingKind::multicolor);
  EXPECT_EQ(mesh.counted, 1);
  EXPECT_EQ(choice.candidates[0].levels, 1314);
  EXPECT_FALSE(choice.candidates[0].has_more);
  EXPECT_EQ(choice.candidates.size(), 3u);
  mesh.levels = 850;
  EXPECT_FALSE(mesh.decide().ordering());
}

TEST(OrderingChoiceOf, a_matrix_that_is_only_told_counts_levels_for_a_hint)
{
  Numbers mesh;
  mesh.levels = 2000;
  for (auto& [kind, fill] : mesh.fill) fill = 0.15;
  EXPECT_LT(mesh.decide().gain_of(1), 2);
  EXPECT_EQ(mesh.counted, 0);
  mesh.request.analysis_follows = false;
  EXPECT_GT(mesh.decide().gain_of(1), 2);
  EXPECT_EQ(mesh.counted, 1);
}

/// Colours that destroy the factor of a flow that follows the given order.
TEST(OrderingChoiceOf, convection_is_the_given_order_if_others_discard_more)
{
  Numbers mesh;
  for (auto& [kind, fill] : mesh.fill) fill = 4 * mesh.given_fill;
  EXPECT_TRUE(mesh.decide().ordering()) << "symmetric";
  mesh.unsymmetric = 0.9;
  const OrderingChoice choice = mesh.decide();
  EXPECT_FALSE(choice.ordering()) << choice.reason;
  EXPECT_NEAR(choice.candidates[1].iterations, std::pow(4, 0.5 + 1.5 * 0.9), 1e-9);
  for (auto& [kind, fill] : mesh.fill) fill = mesh.given_fill / 4;
  const OrderingChoice better = mesh.decide();
  EXPECT_EQ(better.candidates[1].iterations, 0.5) << "less fill is not trusted more than in a symmetric matrix";
}

TEST(OrderingChoiceOf, few_levels_of_a_short_set_up_is_the_given_order_without_a_look)
{
  Numbers mesh;
  mesh.levels = 300;
  mesh.size.rows = 1000000, mesh.size.entries = 7000000;
  EXPECT_FALSE(mesh.decide().ordering());
  EXPECT_TRUE(mesh.made.empty()) << "a look takes more than a fifth of a set-up";
  EXPECT_EQ(mesh.fills, 0);
}

TEST(OrderingChoiceOf, nodes_counts_their_rows_as_levels)
{
  Numbers mesh;
  mesh.node_size = 3;
  const OrderingChoice choice = mesh.decide();
  EXPECT_EQ(choice.candidates[1].levels, 36);
}

TEST(OrderingChoiceOf, requests_without_a_prediction_is_the_given_order_at_no_cost)
{
  const auto expect_given = [](const char* why, auto change) {
    Numbers mesh;
    change(&mesh);
    const OrderingChoice choice = mesh.decide();
    EXPECT_FALSE(choice.ordering());
    EXPECT_EQ(mesh.looked, 0) << why;
    EXPECT_TRUE(choice.candidates.empty());
    EXPECT_NE(choice.reason.find(why), std::string::npos) << choice.reason;
    EXPECT_EQ(choice.fastest(), 0u);
    EXPECT_EQ(choice.gain_of(0), 1);
  };
  expect_given("CPU threads", [](Numbers* m) { m->request.on_device = false; });
  expect_given("ILU(0)", [](Numbers* m) { m->request.fill_levels = 1; });
  expect_given("set-up", [](Numbers* m) { m->request.expected_applies = 0; });
  expect_given("strategy auto", [](Numbers* m) { m->request.strategy = "tiled"; });
  expect_given("no rows", [](Numbers* m) { m->size.rows = 0; });
}

/// With many levels another order pays at once: the set-up is shorter.
TEST(OrderingChoiceOf, few_applications_does_not_pay_for_a_look_unless_levels_are_many)
{
  Numbers mesh;
  mesh.request.expected_applies = 1;
  EXPECT_TRUE(mesh.decide().ordering());
  mesh = Numbers();
  mesh.request.expected_applies = 1;
  mesh.levels = 500;
  EXPECT_FALSE(mesh.decide().ordering());
  EXPECT_TRUE(mesh.made.empty());
}

TEST(OrderingNames, have_the_number_of_their_kind)
{
  EXPECT_EQ(name_of(std::nullopt), "given");
  EXPECT_EQ(name_of(OrderingOptions{OrderingKind::multicolor}), "multicolor");
  EXPECT_EQ(name_of(OrderingOptions{OrderingKind::cyclic, 5}), "cyclic 5");
  EXPECT_EQ(name_of(OrderingOptions{OrderingKind::abmc, 5, 7}), "abmc 7");
}

/// Points of a lattice in an order that winds through them, so that levels are many: a mesh stored badly.
template <class I> OwnedPattern<I> winding_mesh(I side)
{
  std::vector<std::pair<I, I>> entries;
  const auto number = [side](I x, I y) { return y * side + (y % 2 ? side - 1 - x : x); };
  for (I y = 0; y < side; ++y)
    for (I x = 0; x < side; ++x)
      for (const auto& [dx, dy] : {std::pair<I, I>(1, 0), {0, 1}, {1, 1}})
        if (x + dx < side && y + dy < side) entries.emplace_back(number(x, y), number(x + dx, y + dy));
  return pattern_with(side * side, entries);
}

template <class I> std::vector<double> laplacian_of(const OwnedPattern<I>& A, double flow)
{
  std::vector<double> value;
  for (I i = 0; i < A.n; ++i)
    for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k)
      value.push_back(A.column[k] == i ? 6.1 : A.column[k] < i ? -1 - flow : -1 + flow);
  return value;
}

OrderingChoice chosen_for(const OwnedPattern<std::int32_t>& A, const std::vector<double>& value)
{
  OrderingChoice choice;
  const Status status = choose_ordering<double, std::int32_t>({A.view(), value.data()}, {}, 2, &choice);
  EXPECT_TRUE(status.ok()) << status.message();
  return choice;
}

TEST(OrderingChoiceOf, a_winding_mesh_is_another_order_but_not_with_a_flow)
{
  const auto A = winding_mesh<std::int32_t>(250);
  const OrderingChoice choice = chosen_for(A, laplacian_of(A, 0));
  ASSERT_TRUE(choice.ordering()) << choice.reason;
  EXPECT_TRUE(choice.candidates[0].has_more);
  EXPECT_GT(choice.candidates[0].fill, 0);
  EXPECT_EQ(choice.unsymmetry, 0);
  const OrderingChoice flow = chosen_for(A, laplacian_of(A, 0.9));
  EXPECT_FALSE(flow.ordering()) << flow.reason;
  EXPECT_NEAR(flow.unsymmetry, 0.9, 1e-12);
}

TEST(OrderingChoiceOf, a_grid_is_its_natural_order)
{
  const auto A = grid_pattern<std::int32_t>(70, 70, 1, false);
  const OrderingChoice choice = chosen_for(A, laplacian_of(A, 0));
  EXPECT_FALSE(choice.ordering());
  EXPECT_EQ(choice.candidates[0].levels, 139);
}

/// Its levels are known though they are more than are counted elsewhere.
TEST(OrderingChoiceOf, a_grid_with_many_levels_is_its_natural_order)
{
  const auto A = grid_pattern<std::int32_t>(600, 300, 1, false);
  const OrderingChoice choice = chosen_for(A, laplacian_of(A, 0));
  EXPECT_FALSE(choice.ordering()) << choice.reason;
  EXPECT_EQ(choice.candidates[0].levels, 899);
  EXPECT_FALSE(choice.candidates[0].has_more);
}

/// A device solves it as the grid, but for the permutation of the vectors.
TEST(OrderingChoiceOf, a_grid_in_the_order_of_its_levels_is_that_order)
{
  const auto grid = grid_pattern<std::int32_t>(600, 300, 1, false);
  const auto A = in_order(grid, order_by_levels<std::int32_t>(600, 300, 1, 3));
  const OrderingChoice natural = chosen_for(grid, laplacian_of(grid, 0)), choice = chosen_for(A, laplacian_of(A, 0));
  EXPECT_FALSE(choice.ordering()) << choice.reason;
  EXPECT_EQ(choice.reason, natural.reason);
  EXPECT_EQ(choice.candidates[0].levels, 899);
  EXPECT_FALSE(choice.candidates[0].has_more);
  const double of_grid = natural.candidates[0].apply, apply = choice.candidates[0].apply;
  EXPECT_NEAR(apply, of_grid + time_of_orders(A.n), 0.2 * apply) << "the sides may come in another sequence";
  EXPECT_GT(apply, of_grid);
}

TEST(Unsymmetry, is_that_of_the_sampled_rows)
{
  const auto A = pattern_with<std::int32_t>(3, {{0, 1}, {2, 1}}, false);
  const std::vector<double> value = {5, 2, 5, -1, 5};  // a_01 = 2, a_21 = -1, without mirror images
  double found = -1;
  ASSERT_TRUE((measure_unsymmetry<double, std::int32_t>({A.view(), value.data()}, &found).ok()));
  EXPECT_EQ(found, 1);
  const auto B = pattern_with<std::int32_t>(2, {{0, 1}});
  const std::vector<double> of_B = {5, 3, 1, 5}, infinite = {5, INFINITY, 1, 5};
  ASSERT_TRUE((measure_unsymmetry<double, std::int32_t>({B.view(), of_B.data()}, &found).ok()));
  EXPECT_DOUBLE_EQ(found, 0.5);
  ASSERT_TRUE((measure_unsymmetry<double, std::int32_t>({B.view(), infinite.data()}, &found).ok()));
  EXPECT_EQ(found, 1);
  const auto diagonal = pattern_with<std::int32_t>(2, {});
  const std::vector<double> ones = {1, 1};
  ASSERT_TRUE((measure_unsymmetry<double, std::int32_t>({diagonal.view(), ones.data()}, &found).ok()));
  EXPECT_EQ(found, 0);
}

}  // namespace
}  // namespace syncfree
