/// The list of strategies, and which of them `auto` chooses.

#include "syncfree/strategy.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/choose/estimate.hpp"

namespace syncfree {
namespace {

ChoiceInput large_problem_on(int threads, double speedup)
{
  ChoiceInput input;
  input.nnz = 6000000;
  input.threads = threads;
  input.blocks_speedup = speedup;
  return input;
}

TEST(Strategies, have_names_of_their_own_that_find_them)
{
  std::set<std::string> names;
  for (const StrategyInfo& info : strategies()) {
    EXPECT_TRUE(names.insert(info.backend + std::string(" ") + info.name).second) << info.name;
    EXPECT_EQ(find_strategy(info.name, info.backend), &info);
    EXPECT_STRNE(info.summary, "");
    EXPECT_TRUE((std::set<std::string>{"host", "kokkos", "cuda"}).count(info.backend)) << info.backend;
  }
}

TEST(Strategies, of_other_builds_are_missing_for_a_reason)
{
  EXPECT_EQ(why_not_built("kokkos").empty(), find_strategy("kokkos") != nullptr);
  for (const char* name : {"auto", "serial", "no such strategy", ""}) EXPECT_EQ(why_not_built(name), "") << name;
  const std::string message = failed(Code::unknown_strategy, "kokkos").message();
  EXPECT_EQ(message, "unknown strategy kokkos" + (find_strategy("kokkos") ? "" : ": " + why_not_built("kokkos")));
}

TEST(Strategies, begin_with_the_reference)
{
  ASSERT_FALSE(strategies().empty());
  EXPECT_STREQ(strategies().front().name, "serial");
  EXPECT_TRUE(strategies().front().reproducible);
}

/// `sync_free` adds in order of arrival.
TEST(Strategies, of_the_host_are_reproducible_but_for_sync_free)
{
  for (const StrategyInfo& info : strategies())
    EXPECT_TRUE(info.backend != std::string("host") || info.reproducible == (info.name != std::string("sync_free")));
}

TEST(Strategies, may_share_a_name_if_their_backends_differ)
{
  ASSERT_NE(find_strategy("level_set"), nullptr);
  EXPECT_STREQ(find_strategy("level_set")->backend, "host");
  EXPECT_EQ(find_strategy("level_set", "kokkos"), nullptr);
  EXPECT_EQ(find_strategy("level_set", "cuda") != nullptr, find_strategy("level_order") != nullptr);
}

TEST(Strategies, are_not_found_by_auto_or_by_parts_of_a_name)
{
  for (const char* name : {"auto", "", "seria", "serial ", "Serial"}) EXPECT_EQ(find_strategy(name), nullptr) << name;
}

TEST(Auto, is_serial_on_one_thread_whatever_the_plan_promises)
{
  for (int threads : {1, 0}) {
    const Choice choice = choose_strategy(large_problem_on(threads, 8));
    EXPECT_EQ(choice.strategy, "serial");
    EXPECT_EQ(choice.reason, "one thread");
  }
}

TEST(Auto, is_serial_where_there_is_little_to_do)
{
  ChoiceInput input = large_problem_on(4, 3.9);
  input.nnz = 300;
  const Choice choice = choose_strategy(input);
  EXPECT_EQ(choice.strategy, "serial");
  EXPECT_NE(choice.reason.find("300 entries"), std::string::npos) << choice.reason;
}

TEST(Auto, is_serial_where_threads_would_wait_for_each_other)
{
  EXPECT_EQ(choose_strategy(large_problem_on(4, 1.0)).strategy, "serial");
  EXPECT_EQ(choose_strategy(large_problem_on(4, 0)).strategy, "serial");
}

TEST(Auto, takes_blocks_where_they_promise_something_and_says_how_much)
{
  const Choice choice = choose_strategy(large_problem_on(4, 3.4));
  EXPECT_EQ(choice.strategy, "blocks");
  EXPECT_NE(choice.reason.find("3.4 times"), std::string::npos) << choice.reason;
}

ChoiceInput on_device(std::int64_t rows, std::int64_t levels, std::int64_t longest, std::int64_t applies)
{
  ChoiceInput input;
  input.on_device = true;
  input.rows = rows;
  input.nnz = 6 * rows;
  input.levels = levels;
  input.longest = longest;
  input.regular = true;
  input.threads = 16;
  input.expected_applies = applies;
  return input;
}

TEST(Auto, takes_row_blocks_on_a_device_where_they_pay)
{
  const Choice choice = choose_strategy(on_device(100000, 1000, 5, 50));
  EXPECT_EQ(choice.strategy, "tiled");
  EXPECT_NE(choice.reason.find("level_order "), std::string::npos) << choice.reason;
  EXPECT_EQ(choose_strategy(on_device(100000, 1000, 5, 1)).strategy, "level_order") << "a plan is not paid for by one";
  ChoiceInput mesh = on_device(100000, 1000, 5, 50);
  mesh.regular = false;
  EXPECT_EQ(choose_strategy(mesh).strategy, "level_order") << "chains cross the blocks";
}

TEST(Auto, takes_no_tiles_where_there_are_none)
{
  ChoiceInput input = on_device(100000, 1000, 5, 50);
  input.tiled_time = 1;
  ASSERT_EQ(choose_strategy(input).strategy, "tiled");
  input.tiled_form = PlanForm::any;
  EXPECT_EQ(choose_strategy(input).strategy, "level_order");
  EXPECT_TRUE(could_pay_to_merge(input)) << "tiled is not what merging has to beat";
}

TEST(Trials, are_won_by_who_takes_least_for_plan_and_applies)
{
  const std::vector<Trial> trials = {{"level_order", 1e-3, 6e-4}, {"merged", 1e-2, 1e-4}, {"tiled", 1, 9e-5}};
  EXPECT_EQ(best_trial(trials, 10), 0u);
  EXPECT_EQ(best_trial(trials, 50), 1u);
  EXPECT_EQ(best_trial(trials, 1000000), 2u);
  /* a 7-point grid of 1000 rows, an H200: 1.3 and 1.47 ms for plan and 50 applies, 2.21 and 2.08 for 100 */
  EXPECT_EQ(best_trial({{"tiled", 3.9e-4, 1.82e-5}, {"merged", 8.6e-4, 1.22e-5}}, 50), 1u);
  EXPECT_EQ(best_trial({{"merged", 8.6e-4, 1.22e-5}, {"tiled", 3.9e-4, 1.82e-5}}, 50), 0u);
  EXPECT_EQ(best_trial({{"tiled", 3.9e-4, 1.82e-5}, {"merged", 9.1e-4, 1.22e-5}}, 50), 0u) << "not close";
  const Choice choice = choose_by_trials(trials, 50);
  EXPECT_EQ(choice.strategy, "merged");
  EXPECT_EQ(choice.reason,
            "trials: level_order 600 us, plan 1 ms; merged 100 us, plan 10 ms; tiled 90 us, plan 1e+03 ms");
}

/// `powerlaw` with 5000 rows, timed on an H200: 44 us by level_order, 30 by merged.
TEST(Auto, counts_the_entries_of_the_longest_row)
{
  ChoiceInput input = on_device(5000, 27, 12, 50);
  input.nnz = 49328;
  const double of_short_rows = estimate_level_order(input).apply;
  input.longest = 1564;
  EXPECT_NEAR(estimate_level_order(input).apply, 44, 5);
  EXPECT_LT(of_short_rows, 32);
  input.regular = false;
  EXPECT_TRUE(could_pay_to_merge(input));
}

/// A strategy whose plan pays for itself almost, or just so, is taken if its applies are the faster ones.
TEST(Auto, takes_the_faster_applies_where_times_are_close)
{
  const auto chosen = [](double apply, double plan, const std::vector<Estimate>& others) {
    ChoiceInput input;
    input.expected_applies = 50;
    std::vector<Estimate> all = {{"level_order", PlanForm::rows, 40, 0}, {"merged", PlanForm::groups, apply, plan}};
    all.insert(all.end(), others.begin(), others.end());
    return std::string(choose_estimate(input, all).strategy);
  };
  EXPECT_EQ(chosen(20, 1290, {}), "merged") << "2290 us of 2000, but in twice the applies 3290 of 4000";
  EXPECT_EQ(chosen(20, 1310, {}), "level_order") << "2310 of 2000 are not close";
  EXPECT_EQ(chosen(31, 460, {}), "level_order") << "2010 of 2000, but 9 us an apply are not noticed";
  EXPECT_EQ(chosen(31, 440, {}), "merged");
  EXPECT_EQ(chosen(20, 900, {{"tiled", PlanForm::rows, 1, 10, "no plan"}}), "merged") << "tiled does not apply";
  EXPECT_EQ(chosen(20, 1290, {{"tiled", PlanForm::rows, 30, 200}}), "tiled") << "2290 are not close to 1700";
}

/// The groups of grids hardly pay beside pencils; on an H200 an application of 5 points on 100 x 100 takes 28 us by
/// wavefront, 39 by merged, whose search would double the set-up.
TEST(Auto, does_not_look_at_merging_beside_pencils_as_it_does_elsewhere)
{
  ChoiceInput input = on_device(10000, 199, 2, 50);
  input.nnz = 39600;
  EXPECT_TRUE(could_pay_to_merge(input));
  input.wavefront_time = 13.5;
  EXPECT_FALSE(could_pay_to_merge(input));
}

TEST(Auto, looks_at_merging_only_where_its_plan_could_pay)
{
  EXPECT_TRUE(could_pay_to_merge(on_device(100000, 3000, 5, 50)));
  EXPECT_FALSE(could_pay_to_merge(on_device(100000, 300, 5, 1)));
  EXPECT_FALSE(could_pay_to_merge(on_device(4000000, 300, 5, 50)));
  ChoiceInput wide = on_device(884736, 666, 13, 50);
  wide.nnz = 22600000;
  EXPECT_FALSE(could_pay_to_merge(wide)) << "a plan of so many rows a level";
}

/// A small grid, whose tiles have little parallelism.
TEST(Auto, looks_at_merging_beside_tiles_where_both_are_slow)
{
  ChoiceInput small = on_device(2500, 99, 2, 1000), large = on_device(2146689, 385, 3, 1000);
  small.nnz = 9800;
  small.tiled_time = 8;
  large.tiled_time = 90;
  EXPECT_TRUE(could_pay_to_merge(small));
  EXPECT_FALSE(could_pay_to_merge(large)) << "a plan of so many rows a level";
  small.expected_applies = 20;
  EXPECT_FALSE(could_pay_to_merge(small));
}

/// Elasticity with three unknowns at each point: inodes have a third of the levels, and of the values read.
TEST(Auto, knows_what_nodes_are_worth)
{
  ChoiceInput input = on_device(331776, 990, 41, 50);
  input.nnz = 26000000;
  input.regular = false;
  input.merged_groups = 250;
  input.merged_entries = 14500000;
  input.merged_longest = 12;
  input.expected_applies = 10;
  EXPECT_EQ(choose_strategy(input).strategy, "level_order");
  input.expected_applies = 1000;
  EXPECT_EQ(choose_strategy(input).strategy, "merged");
  input.node_size = 3;
  input.node_levels = 330;
  EXPECT_EQ(choose_strategy(input).strategy, "level_order");
  input.regular = input.inodes_on_grid = true;
  input.tiled_form = PlanForm::inodes;
  EXPECT_EQ(choose_strategy(input).strategy, "tiled");
  input.expected_applies = 6;
  EXPECT_EQ(choose_strategy(input).strategy, "level_order");
  EXPECT_FALSE(could_pay_to_merge(input));
}

/// The device makes tile plans of grids, so the threads of the host do not matter.
TEST(Auto, takes_tiles_of_a_grid_for_a_few_applies_on_one_thread)
{
  ChoiceInput input = on_device(2146689, 385, 3, 12);
  input.threads = 1;
  EXPECT_EQ(choose_strategy(input).strategy, "level_order");
  input.tiled_time = 100;
  EXPECT_EQ(choose_strategy(input).strategy, "tiled");
}

/// The device also makes plans for other patterns with short rows.
TEST(Auto, takes_blocks_for_a_few_applies_where_the_device_makes_their_plan)
{
  ChoiceInput input = on_device(884736, 666, 13, 50);
  input.nnz = 22600000;
  EXPECT_EQ(choose_strategy(input).strategy, "level_order");
  input.tiled_on_device = true;
  EXPECT_EQ(choose_strategy(input).strategy, "tiled");
}

/// The plan of a wavefront costs almost nothing.
TEST(Auto, takes_a_wavefront_for_fewer_applies_than_tiles)
{
  ChoiceInput input = on_device(2146689, 385, 3, 2);
  input.tiled_time = 100;
  EXPECT_EQ(choose_strategy(input).strategy, "level_order");
  input.wavefront_time = 100;
  EXPECT_EQ(choose_strategy(input).strategy, "wavefront");
  input.levels = 13;
  EXPECT_EQ(choose_strategy(input).strategy, "level_order") << "few levels are done as fast without";
}

/// The form that an estimate names, for each kind of input, and the reason where a strategy does not apply.
TEST(Estimates, name_form_and_reason)
{
  ChoiceInput input = on_device(100000, 1000, 5, 50);
  EXPECT_EQ(estimate_level_order(input).form, PlanForm::rows);
  EXPECT_EQ(estimate_tiled(input).form, PlanForm::rows);
  EXPECT_TRUE(estimate_tiled(input).applies());
  EXPECT_EQ(estimate_wavefront(input).why_not,
            "the rows are not the points of a grid with pencils, or no plan could be made");
  EXPECT_EQ(estimate_merged(input).why_not, "merging the levels cannot pay for its search");
  input.node_size = 3;
  input.node_levels = 334;
  input.tiled_form = PlanForm::inodes;
  EXPECT_EQ(estimate_level_order(input).form, PlanForm::inodes);
  EXPECT_EQ(estimate_tiled(input).form, PlanForm::inodes);
  input.tiled_time = 10;
  input.tiled_form = PlanForm::grid;
  EXPECT_EQ(estimate_tiled(input).form, PlanForm::grid);
  EXPECT_DOUBLE_EQ(estimate_tiled(input).apply, 20) << "both triangles";
  input.wavefront_time = 9;
  EXPECT_EQ(estimate_wavefront(input).form, PlanForm::pencils);
  EXPECT_EQ(estimate_tiled(input).why_not, "wavefront is faster");
  input.levels = 13;
  EXPECT_EQ(estimate_wavefront(input).why_not, "levels are so few that a solve by levels is as fast");
}

TEST(Estimates, count_colors_where_warps_solve_blocks)
{
  ChoiceInput input = on_device(100000, 100, 7, 50);
  const double by_levels = estimate_level_order(input).apply;
  input.block_rows = 16, input.block_colors = 8;
  const Estimate blocks = estimate_level_order(input);
  EXPECT_EQ(blocks.form, PlanForm::rows);
  EXPECT_LT(3 * blocks.apply, by_levels);
  input.levels = 400;
  EXPECT_GT(estimate_level_order(input).apply, 2 * blocks.apply) << "fill couples blocks of one color";
  input.node_size = 3, input.node_levels = 134;
  EXPECT_EQ(estimate_level_order(input).form, PlanForm::rows) << "nodes take a hop a level";
}

/// `waves4096`: 227 us on an H200.
TEST(Estimates, count_two_launches_where_rows_of_wide_levels_are_long)
{
  ChoiceInput input = on_device(151552, 37, 58, 50);
  input.nnz = 9401534;
  EXPECT_NEAR(estimate_level_order(input).apply, 227, 0.1 * 227);
  input.nnz = 20 * input.rows;
  EXPECT_LT(estimate_level_order(input).apply, 70) << "in one launch";
}

TEST(Estimates, let_warps_solve_blocks_of_a_few_rows)
{
  EXPECT_TRUE(warps_solve_blocks(16, 12000, 1000, 30));
  EXPECT_TRUE(warps_solve_blocks(32, 4000, 1000, 128));
  EXPECT_FALSE(warps_solve_blocks(0, 1000, 0, 1)) << "no blocks";
  EXPECT_FALSE(warps_solve_blocks(33, 30000, 1000, 30)) << "a row a lane";
  EXPECT_FALSE(warps_solve_blocks(4, 3999, 1000, 30)) << "lanes are idle";
  EXPECT_FALSE(warps_solve_blocks(16, 12000, 1000, 129)) << "a long row";
}

TEST(Auto, takes_level_order_where_memory_is_short)
{
  ChoiceInput input = on_device(2146689, 385, 3, 50);
  input.wavefront_time = 100;
  ASSERT_EQ(choose_strategy(input).strategy, "wavefront");
  ASSERT_EQ(choose_strategy(input).form, PlanForm::pencils);
  input.memory_is_short = true;
  const Choice choice = choose_strategy(input);
  EXPECT_EQ(choice.strategy, "level_order");
  EXPECT_EQ(choice.form, PlanForm::rows);
  EXPECT_EQ(choice.reason, "device memory is short");
}

/// `level_order` reads b and stores x in any order, other strategies do not.
TEST(Auto, counts_the_time_that_vectors_take_in_the_order_of_a_grid)
{
  ChoiceInput input = on_device(2146689, 385, 3, 50);
  input.wavefront_time = 100;
  const double pencils = estimate_wavefront(input).apply, by_levels = estimate_level_order(input).apply;
  input.orders_time = 60;
  EXPECT_DOUBLE_EQ(estimate_wavefront(input).apply, pencils + 60);
  EXPECT_DOUBLE_EQ(estimate_level_order(input).apply, by_levels);
  EXPECT_EQ(choose_strategy(input).strategy, "wavefront");
  input.orders_time = by_levels - pencils;
  EXPECT_EQ(choose_strategy(input).strategy, "level_order") << "the plan takes time, too";
  input.wavefront_time = 0, input.tiled_time = 10;
  const double tiles = estimate_tiled(input).apply;
  input.orders_time = 0;
  EXPECT_DOUBLE_EQ(estimate_tiled(input).apply, tiles - (by_levels - pencils));
  EXPECT_GT(time_of_orders(1000000), time_of_orders(1000));
}

ChoiceInput with_groups(std::int64_t levels, bool known)
{
  ChoiceInput input = on_device(100000, levels, 5, 50);
  input.regular = false;
  input.merged_groups = static_cast<double>(levels) / 15;
  input.merged_entries = 1e6;
  input.merged_is_known = known;
  input.merged_longest = 30;
  return input;
}

/// 7 points on x^3, or 5 points on x^2 if `plane`, with the predicted microseconds of a solve by pencils.
ChoiceInput grid_in_single(std::int64_t x, bool plane, double wavefront_time)
{
  const std::int64_t rows = plane ? x * x : x * x * x;
  ChoiceInput input = on_device(rows, plane ? 2 * x - 1 : 3 * x - 2, plane ? 2 : 3, 50);
  input.nnz = rows * (plane ? 4 : 6);
  input.wavefront_time = wavefront_time;
  input.single_saves = 4;
  return input;
}

const std::string in_double = "; stored in double precision: single would not be faster here";

bool ends_with_it(const Choice& c)
{
  return c.reason.size() > in_double.size() && c.reason.substr(c.reason.size() - in_double.size()) == in_double;
}

/// Timed on an H200: single storage gains 8 % at 100^3, and loses 4 % at 100^2.
TEST(SingleStorage, is_taken_for_large_grids)
{
  for (const ChoiceInput& large : {grid_in_single(100, false, 55), grid_in_single(300, false, 450)}) {
    const Choice choice = choose_strategy(large);
    EXPECT_EQ(choice.strategy, "wavefront");
    EXPECT_TRUE(choice.single);
    EXPECT_FALSE(ends_with_it(choice)) << choice.reason;
  }
  for (const ChoiceInput& small : {grid_in_single(30, false, 15), grid_in_single(100, true, 13.5),
                                   grid_in_single(1000, true, 98)}) {
    const Choice choice = choose_strategy(small);
    EXPECT_EQ(choice.strategy, "wavefront");
    EXPECT_FALSE(choice.single);
    EXPECT_TRUE(ends_with_it(choice)) << choice.reason;
  }
}

TEST(SingleStorage, is_not_mentioned_where_it_was_not_asked_for)
{
  ChoiceInput input = grid_in_single(300, false, 450);
  input.single_saves = 0;
  for (const std::int64_t applies : {0, 50}) {
    input.expected_applies = applies;
    EXPECT_FALSE(choose_strategy(input).single);
    EXPECT_EQ(choose_strategy(input).reason.find("precision"), std::string::npos);
  }
  input.memory_is_short = true;
  EXPECT_FALSE(choose_strategy(input).single);
}

TEST(SingleStorage, is_never_taken_for_merged)
{
  ChoiceInput input = with_groups(500, true);
  input.single_saves = 4;
  const Choice choice = choose_strategy(input);
  EXPECT_EQ(choice.strategy, "merged");
  EXPECT_FALSE(choice.single);
  EXPECT_TRUE(ends_with_it(choice)) << choice.reason;
  EXPECT_FALSE(single_pays(input, {"merged", PlanForm::groups, 1, 0}));
  EXPECT_FALSE(single_pays(input, {"cusparse", PlanForm::any, 1, 0}));
}

/// Levels hide what is read, colors do not.
TEST(SingleStorage, is_taken_for_levels_only_where_reading_takes_most_of_the_time)
{
  ChoiceInput levels = on_device(1000000, 298, 3, 50), colors = on_device(2000000, 2, 6, 50);
  levels.regular = colors.regular = false;
  levels.single_saves = colors.single_saves = 4;
  EXPECT_FALSE(choose_strategy(levels).single);
  EXPECT_EQ(choose_strategy(colors).strategy, "level_order");
  EXPECT_TRUE(choose_strategy(colors).single);
  colors.levels = 400;
  EXPECT_FALSE(choose_strategy(colors).single);
  colors.levels = 2, colors.rows = 207646, colors.nnz = 4800000;
  EXPECT_FALSE(choose_strategy(colors).single) << "the L2 cache holds it";
}

/// Steps of tiles take longer by more than those of pencils, and inodes have fewer of them.
TEST(SingleStorage, is_taken_for_tiles_of_many_entries_a_level)
{
  ChoiceInput input = on_device(884736, 666, 13, 50);
  input.nnz = 22600000, input.single_saves = 4;
  const Estimate rows = {"tiled", PlanForm::grid, 275, 0}, inodes = {"tiled", PlanForm::inodes, 275, 0};
  input.node_levels = 100;
  EXPECT_FALSE(single_pays(input, rows));
  EXPECT_TRUE(single_pays(input, inodes));
  input.single_saves = 40;
  EXPECT_TRUE(single_pays(input, rows));
}

TEST(SingleStorage, is_taken_where_memory_is_short)
{
  ChoiceInput input = grid_in_single(30, false, 15);
  input.memory_is_short = true;
  const Choice choice = choose_strategy(input);
  EXPECT_EQ(choice.reason, "device memory is short");
  EXPECT_TRUE(choice.single);
}

TEST(Auto, merges_levels_on_a_device_where_that_pays)
{
  ChoiceInput input = with_groups(500, false);
  EXPECT_EQ(choose_strategy(input).strategy, "merged");
  input.expected_applies = 1;
  EXPECT_EQ(choose_strategy(input).strategy, "level_order") << "a plan is not paid for by one";
  input.expected_applies = 50;
  input.merged_entries = 1e8;
  EXPECT_EQ(choose_strategy(input).strategy, "level_order") << "too many entries";
}

/// Returns the plan's milliseconds in a reason, or -1.
double named_plan(const std::string& reason)
{
  static const std::string words = ", plan ";
  const auto at = reason.find(words);
  return at == std::string::npos ? -1 : std::stod(reason.substr(at + words.size()));
}

/// Examining all levels is most of a plan's cost, a sample is not.
TEST(Auto, counts_what_has_still_to_be_planned)
{
  ChoiceInput all = with_groups(500, true), few = with_groups(500, false);
  all.expected_applies = few.expected_applies = 2;
  EXPECT_EQ(choose_strategy(all).strategy, "merged");
  EXPECT_EQ(choose_strategy(few).strategy, "level_order");
  few.expected_applies = 1000;
  const std::string reason = choose_strategy(all).reason, other = choose_strategy(few).reason;
  EXPECT_GT(named_plan(reason), 0) << reason;
  EXPECT_LT(2 * named_plan(reason), named_plan(other)) << reason << "; " << other;
}

/// A long row is solved by the lanes of one row, in any groups.
TEST(Auto, does_not_merge_levels_around_a_row_that_takes_longer)
{
  ChoiceInput input = with_groups(40, true);
  input.merged_entries = 5e5;
  input.expected_applies = 10000;
  EXPECT_EQ(choose_strategy(input).strategy, "merged");
  input.longest = 8192;
  EXPECT_EQ(choose_strategy(input).strategy, "level_order");
}

TEST(Auto, keeps_to_levels_on_a_device_where_they_are_few_or_a_row_is_long)
{
  EXPECT_EQ(choose_strategy(on_device(100000, 8, 5, 1000000)).strategy, "level_order");
  const Choice choice = choose_strategy(on_device(100000, 1000, 400, 1000000));
  EXPECT_EQ(choice.strategy, "level_order");
  EXPECT_NE(choice.reason.find("no other strategy"), std::string::npos) << choice.reason;
  EXPECT_EQ(choose_strategy(on_device(0, 0, 0, 50)).strategy, "level_order");
  EXPECT_EQ(choose_strategy(on_device(100000, 1000, 5, 0)).reason, "cheapest set-up");
}

/// The chosen strategy exists, and every input gives a reason, also with absurd values.
TEST(Auto, always_names_a_strategy_of_the_list_and_a_reason)
{
  for (int threads : {-1, 1, 2, 1000})
    for (double speedup : {0.0, 1.19, 1.21, 1e300})
      for (std::int64_t nnz : {std::int64_t(0), std::int64_t(19999), std::int64_t(20000), std::int64_t(1) << 62}) {
        ChoiceInput input = large_problem_on(threads, speedup);
        input.nnz = nnz;
        const Choice choice = choose_strategy(input);
        EXPECT_NE(find_strategy(choice.strategy), nullptr) << choice.strategy;
        EXPECT_NE(choice.strategy, "loop") << "it shows what the trace costs";
        EXPECT_FALSE(choice.reason.empty());
      }
}

}  // namespace
}  // namespace syncfree
