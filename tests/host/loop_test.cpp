/// Small sync-free loops: what the trace records and refuses, which iterations wait for which, and random loops that
/// must give the result of sequential execution.

#include "syncfree/loop/loop.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "../loop_script.hpp"
#include "../watchdog.hpp"
#include "syncfree/loop/loops.hpp"

namespace syncfree {
namespace {

LoopGraph<int> graph_of(const Script::Table& table, int entries)
{
  LoopTrace<int> trace;
  EXPECT_TRUE(trace_loop(script_of(table, entries), &trace).ok());
  return find_dependences(trace.iterations, sort_by_location(trace));
}

Ints waits_of(const LoopGraph<int>& graph, int i)
{
  return Ints(graph.on.begin() + graph.begin[i], graph.on.begin() + graph.begin[i + 1]);
}

/// Computes after[i][j]: i waits for j, directly or through others.
std::vector<std::vector<bool>> closure(const LoopGraph<int>& graph)
{
  const int n = graph.iteration_count();
  std::vector<std::vector<bool>> after(n, std::vector<bool>(n, false));
  for (int i = 0; i < n; ++i)
    for (int j : waits_of(graph, i)) {
      after[i][j] = true;
      for (int k = 0; k < j; ++k) after[i][k] = after[i][k] || after[j][k];
    }
  return after;
}

/// The 4 x 4 lower triangle with entries (1,0), (2,1), (3,0), (3,2), by rows and by columns.
struct Example {
  Ints begin{0, 0, 1, 2, 4}, column{0, 1, 0, 2};
  Ints column_begin{0, 2, 3, 4, 4}, row{1, 3, 2, 3};
  PatternView<int> L() const { return {4, begin.data(), column.data()}; }
  ColumnsView<int> columns() const { return {4, column_begin.data(), row.data()}; }
};

template <class Body> LoopTrace<int> traced(const Body& body)
{
  LoopTrace<int> trace;
  const Status status = trace_loop(body, &trace);
  EXPECT_TRUE(status.ok()) << status.message();
  return trace;
}

const double* no_data = nullptr;
double* no_output = nullptr;

TEST(LoopTrace, takes_down_the_sets_of_a_solve_by_rows_without_any_numbers)
{
  const Example e;
  const auto trace = traced(LowerSolveCsr<double, int>(e.L(), no_data, no_data, no_data, no_output));
  ASSERT_EQ(trace.arrays.size(), 1u) << "arrays that are only read do not matter";
  const ArrayTrace<int>& x = *trace.find("x");
  EXPECT_EQ(x.begin, (std::vector<std::int64_t>{0, 1, 3, 5, 8}));
  EXPECT_EQ(x.location, (Ints{0, 0, 1, 1, 2, 0, 2, 3}));
  EXPECT_EQ(x.access, (std::vector<Access>{writes, reads, writes, reads, writes, reads, reads, writes}));
  EXPECT_EQ(trace.find("l"), nullptr);
}

TEST(LoopTrace, takes_down_the_additions_of_a_solve_by_columns)
{
  const Example e;
  const double d = 1;
  const auto trace = traced(LowerSolveCsc<double, int>(e.columns(), no_data, &d, no_output));
  const ArrayTrace<int>& x = *trace.find("x");
  const Access own = reads | writes;
  EXPECT_EQ(x.begin, (std::vector<std::int64_t>{0, 3, 5, 7, 8}));
  EXPECT_EQ(x.location, (Ints{0, 1, 3, 1, 2, 2, 3, 3}));
  EXPECT_EQ(x.access, (std::vector<Access>{own, adds, adds, own, adds, own, adds, own}));
}

TEST(LoopTrace, has_each_entry_once_an_iteration_in_order)
{
  Script::Table table;
  table.line({{reads, 5}, {adds, 2}, {reads, 5}, {writes, 2}, {adds, 0}, {adds, 0}});
  table.line({});
  const auto trace = traced(script_of(table, 6));
  const ArrayTrace<int>& x = *trace.find("x");
  EXPECT_EQ(x.begin, (std::vector<std::int64_t>{0, 3, 3}));
  EXPECT_EQ(x.location, (Ints{0, 2, 5}));
  EXPECT_EQ(x.access, (std::vector<Access>{adds, adds | writes, reads}));
}

TEST(LoopTrace, refuses_an_access_outside_an_array_by_name_index_and_iteration)
{
  for (const int outside : {-1, 6, 1000000}) {
    Script::Table table;
    table.line({{reads, 5}});
    table.line({{reads, 0}, {adds, outside}, {writes, -7}});
    LoopTrace<int> trace;
    const Status status = trace_loop(script_of(table, 6), &trace);
    EXPECT_EQ(status.code, Code::invalid_argument);
    EXPECT_EQ(status.row, 1);
    EXPECT_EQ(status.column, outside) << "the first";
    EXPECT_EQ(status.message(), "invalid argument: iteration 1 of a loop accesses x[" + std::to_string(outside) +
                                    "], but x has 6 entries");
  }
}

TEST(LoopTrace, refuses_an_access_outside_an_array_that_is_only_read)
{
  const Example e;
  LowerSolveCsr<double, int> body(e.L(), no_data, no_data, no_data, no_output);
  body.b_.length = 2;
  LoopTrace<int> trace;
  const Status status = trace_loop(body, &trace);
  EXPECT_EQ(status.row, 2);
  EXPECT_NE(status.detail.find("b[2], but b has 2"), std::string::npos) << status.detail;
}

/// Its array is a copy, which the trace does not recognise.
struct Stranger {
  InOut<double> x_;
  int iterations() const { return 1; }
  template <class At> void operator()(At& at, int) const
  {
    const InOut<double> copy = x_;
    at[copy][0] = 1;
  }
};

TEST(LoopTrace, refuses_an_array_that_is_no_member_of_the_body)
{
  LoopTrace<int> trace;
  const Status status = trace_loop(Stranger{{nullptr, 1, "z"}}, &trace);
  EXPECT_EQ(status.code, Code::invalid_argument);
  EXPECT_NE(status.detail.find("array z is not a member"), std::string::npos) << status.detail;
}

/// Bodies whose type declares whether they compile. Each has x, which is traced, and a pattern.
struct WithArrays {
  InOut<double> x_;
  Input<double> a_;
  const int* pattern;
  int iterations() const { return 1; }
};
#define BODY(Name, expression)                                                   \
  struct Name : WithArrays {                                                     \
    template <class At> auto operator()(At& at, int i) const->decltype(void(expression)) \
    {                                                                            \
      (void)(expression);                                                        \
    }                                                                            \
  };
BODY(Textbook, at[x_][i] = (at[a_][i] - 2 * at[x_][pattern[i]] * 0.5) / at[x_][0] + sqrt(load(at[x_][1])))
BODY(ComparesEntries, at[x_][i] < at[x_][0])
BODY(ComparesInputs, at[a_][i] > 0.0)
BODY(ComparesForEquality, load(at[x_][i]) == 0.0)
BODY(Branches, at[a_][i] ? 1 : 0)
BODY(BranchesOnEntry, load(at[x_][i]) && true)
BODY(Indexes, pattern[at[a_][i]])
BODY(IndexesByEntry, at[x_][at[x_][i]])
BODY(Casts, static_cast<int>(at[a_][i]))
BODY(CastsToNumber, static_cast<double>(load(at[x_][i])))
BODY(WritesInput, at[a_][i] = 1.0)
#undef BODY

template <class Body> constexpr bool compiles = std::is_invocable_v<const Body&, LoopTracer<Body, int>&, int>;

TEST(LoopTrace, does_not_compile_where_accesses_may_depend_on_numbers)
{
  EXPECT_TRUE(compiles<Textbook>);
  EXPECT_FALSE(compiles<ComparesEntries>);
  EXPECT_FALSE(compiles<ComparesInputs>);
  EXPECT_FALSE(compiles<ComparesForEquality>);
  EXPECT_FALSE(compiles<Branches>);
  EXPECT_FALSE(compiles<BranchesOnEntry>);
  EXPECT_FALSE(compiles<Indexes>);
  EXPECT_FALSE(compiles<IndexesByEntry>);
  EXPECT_FALSE(compiles<Casts>);
  EXPECT_FALSE(compiles<CastsToNumber>);
  EXPECT_FALSE(compiles<WritesInput>);
  using Entry = Element<SharedPlace<double>>;
  EXPECT_FALSE((std::is_copy_constructible_v<Entry>));
  EXPECT_FALSE((std::is_convertible_v<Entry&, double>)) << "auto v = x[j] is of no use";
  EXPECT_TRUE((std::is_convertible_v<Entry, double>));
  EXPECT_TRUE((std::is_invocable_v<const ComparesInputs&, PlainAccessor&, int>)) << "it is the tracer that refuses";
}

TEST(Affine, is_one_entry_an_iteration_at_equal_distances)
{
  const auto affine = [](const std::vector<Ints>& read) {
    Script::Table table;
    for (const Ints& line : read) {
      std::vector<std::pair<Access, int>> accesses{{adds, 7}};
      for (int j : line) accesses.emplace_back(reads, j);
      table.line(accesses);
    }
    return find_affine(*traced(script_of(table, 100)).find("x"), reads);
  };
  EXPECT_TRUE(affine({{3}, {5}, {7}, {9}}).holds);
  EXPECT_EQ(affine({{3}, {5}, {7}, {9}}).factor, 2);
  EXPECT_EQ(affine({{3}, {5}, {7}, {9}}).offset, 3);
  EXPECT_EQ(affine({{9}, {8}, {7}}).factor, -1);
  EXPECT_EQ(affine({{4}, {4}, {4}}).factor, 0);
  EXPECT_TRUE(affine({{42}}).holds);
  EXPECT_FALSE(affine({{3}, {5}, {8}}).holds);
  EXPECT_FALSE(affine({{3}, {4, 5}, {5}}).holds);
  EXPECT_FALSE(affine({{0}, {}, {2}}).holds);
  EXPECT_FALSE(affine({{}, {}}).holds);
}

TEST(Affine, are_the_writes_of_a_solve_by_rows_and_the_reads_of_one_by_columns)
{
  const Example e;
  const auto by_rows = traced(LowerSolveCsr<double, int>(e.L(), no_data, no_data, no_data, no_output));
  EXPECT_TRUE(find_affine(*by_rows.find("x"), writes).holds);
  EXPECT_FALSE(find_affine(*by_rows.find("x"), reads).holds);
  const auto by_columns = traced(UpperSolveCsc<double, int>(e.columns(), no_data, no_data, no_output));
  EXPECT_FALSE(find_affine(*by_columns.find("x"), adds).holds);
  EXPECT_EQ(find_affine(*by_columns.find("x"), reads).factor, -1);
  EXPECT_EQ(find_affine(*by_columns.find("x"), reads).offset, 3);
}

/// Each entry has one writer and no iteration reads it earlier, so the entry a reader reads identifies the iteration it
/// waits for.
TEST(SentinelHandoff, is_found_in_solves_by_rows)
{
  const Example e;
  const auto lower = find_hand_over(traced(LowerSolveCsr<double, int>(e.L(), no_data, no_data, no_data, no_output)));
  EXPECT_TRUE(lower.holds);
  EXPECT_EQ(lower.writer(2), 2);
  const Ints begin{0, 2, 3, 4, 4}, column{1, 3, 2, 3};
  const PatternView<int> U{4, begin.data(), column.data()};
  const auto backward = find_hand_over(traced(UpperSolveCsr<double, int>(U, no_data, no_data, no_data, no_output)));
  EXPECT_TRUE(backward.holds);
  EXPECT_EQ(backward.writer(3), 0);
  EXPECT_EQ(backward.writer(1), 2);
  const auto upper = find_hand_over(traced(UpperSolveCsr<double, int>(e.L(), no_data, no_data, no_data, no_output)));
  EXPECT_FALSE(upper.holds) << "rows of a lower triangle, from the last on: they read ahead";
  EXPECT_FALSE(find_hand_over(traced(UpperSolveCsc<double, int>(e.columns(), no_data, no_data, no_output))).holds);
}

TEST(SentinelHandoff, needs_one_array_one_writer_of_an_entry_and_no_reader_ahead)
{
  const auto holds = [](const std::vector<std::vector<std::pair<Access, int>>>& lines) {
    Script::Table table;
    for (const auto& line : lines) table.line(line);
    LoopTrace<int> trace = traced(script_of(table, 100));
    trace.arrays.erase(std::remove_if(trace.arrays.begin(), trace.arrays.end(),
                                      [](const ArrayTrace<int>& array) { return array.name != "x"; }),
                       trace.arrays.end());
    return find_hand_over(trace).holds;
  };
  EXPECT_TRUE(holds({{{writes, 9}}, {{reads, 9}, {writes, 8}}, {{reads, 9}, {reads, 50}, {writes, 7}}}));
  EXPECT_TRUE(holds({{{reads, 3}, {adds, 3}}, {{reads, 3}, {adds, 4}}})) << "one's own entry may be read and added to";
  EXPECT_FALSE(holds({{{writes, 0}}, {{writes, 2}}, {{writes, 4}}})) << "every other entry";
  EXPECT_FALSE(holds({{{writes, 0}, {reads, 1}}, {{writes, 1}}})) << "reads ahead";
  EXPECT_FALSE(holds({{{writes, 0}}, {{writes, 0}}})) << "two writers";
  EXPECT_FALSE(holds({{{writes, 0}}, {{reads, 0}}})) << "one without an entry of its own";
  const Example e;
  LoopTrace<int> trace = traced(LowerSolveCsr<double, int>(e.L(), no_data, no_data, no_data, no_output));
  trace.arrays.push_back(trace.arrays.front());
  EXPECT_FALSE(find_hand_over(trace).holds) << "two arrays";
}

TEST(LoopGraph, has_flow_anti_and_output_dependences)
{
  Script::Table table;
  table.line({{writes, 0}});              // 0
  table.line({{reads, 0}});               // 1: flow
  table.line({{reads, 0}});               // 2: flow; readers do not conflict
  table.line({{writes, 0}});              // 3: anti, and output through it
  table.line({{writes, 0}});              // 4: output
  table.line({{reads, 1}, {writes, 1}});  // 5
  table.line({{reads, 1}, {adds, 1}});    // 6: reads what it adds to
  const auto graph = graph_of(table, 2);
  const std::vector<Ints> expected{{}, {0}, {0}, {1, 2}, {3}, {}, {5}};
  for (int i = 0; i < graph.iteration_count(); ++i) EXPECT_EQ(waits_of(graph, i), expected[i]) << i;
}

TEST(LoopGraph, lets_additions_come_in_any_order_and_their_reader_wait_for_all)
{
  Script::Table table;
  table.line({{writes, 0}});            // 0
  table.line({{adds, 0}});              // 1
  table.line({{adds, 0}, {adds, 1}});   // 2
  table.line({{adds, 0}});              // 3
  table.line({{reads, 0}});             // 4
  table.line({{adds, 0}, {reads, 1}});  // 5: after the reader
  const auto graph = graph_of(table, 2);
  const std::vector<Ints> expected{{}, {0}, {0}, {0}, {1, 2, 3}, {2, 4}};
  for (int i = 0; i < graph.iteration_count(); ++i) EXPECT_EQ(waits_of(graph, i), expected[i]) << i;
}

/// Row i of Gauss-Seidel reads x_j, j > i, before row j overwrites it.
TEST(LoopGraph, makes_gauss_seidel_wait_for_the_readers_of_what_it_overwrites)
{
  const Ints begin{0, 2, 3, 4}, column{0, 2, 1, 2}, diagonal{0, 2, 3};  // entry (0, 2), but not (2, 0)
  const PatternView<int> A{3, begin.data(), column.data()};
  const auto graph = [&](Sweep sweep) {
    const auto trace = traced(GaussSeidelCsr<double, int>(sweep, A, diagonal.data(), no_data, no_data, no_output));
    return find_dependences(trace.iterations, sort_by_location(trace));
  };
  EXPECT_EQ(waits_of(graph(Sweep::forward), 2), (Ints{0})) << "anti";
  EXPECT_EQ(waits_of(graph(Sweep::backward), 2), (Ints{0})) << "flow: iteration 2 is row 0";
  const auto symmetric = graph(Sweep::symmetric);
  EXPECT_EQ(waits_of(symmetric, 3), (Ints{2})) << "row 2 again";
  EXPECT_EQ(waits_of(symmetric, 5), (Ints{0, 3}));
}

/// Compares with the definition: two iterations conflict if they touch the same entry, unless both only read or both
/// only add.
TEST(LoopGraph, orders_all_that_is_in_conflict_and_as_a_rule_nothing_else)
{
  for (unsigned seed = 0; seed < 60; ++seed) {
    const int entries = 1 + seed % 7 * 3, lines = 70;
    const auto table = random_table(seed, lines, entries, 3);
    const auto trace = traced(script_of(table, entries));
    const ArrayTrace<int>& x = *trace.find("x");
    std::vector<std::vector<int>> touch(lines, std::vector<int>(entries, 0));
    for (int i = 0; i < lines; ++i)
      for (auto k = x.begin[i]; k < x.begin[i + 1]; ++k) touch[i][x.location[k]] = x.access[k];
    const auto graph = graph_of(table, entries);
    const auto after = closure(graph);
    for (int i = 0; i < lines; ++i)
      for (int j = 0; j < i; ++j) {
        bool conflict = false;
        for (int e = 0; e < entries; ++e) {
          const int both = touch[i][e] | touch[j][e];
          conflict = conflict || (touch[i][e] && touch[j][e] && both != reads && both != adds);
        }
        const auto waits = waits_of(graph, i);
        const bool large = entries == 1;  // large groups may wait through a leader
        ASSERT_TRUE(!conflict || after[i][j]) << "seed " << seed << ": " << i << " must wait for " << j;
        ASSERT_TRUE(conflict || large || !std::count(waits.begin(), waits.end(), j)) << seed << " " << i << " " << j;
      }
  }
}

TEST(LoopGraph, grows_by_sums_not_products_of_large_groups)
{
  Script::Table table;
  for (int round = 0; round < 4; ++round)
    for (int i = 0; i < 500; ++i) table.line({{round % 2 ? adds : reads, 0}});
  const auto graph = graph_of(table, 1);
  EXPECT_LE(graph.on.size(), 4u * 1000);
  const auto after = closure(graph);
  for (int i = 500; i < 2000; ++i) ASSERT_TRUE(after[i][i / 500 * 500 - 1] && after[i][i / 500 * 500 - 500]) << i;
}

TEST(LoopGraph, drops_what_others_imply)
{
  Script::Table table;
  table.line({{writes, 0}});
  table.line({{reads, 0}, {writes, 1}});
  table.line({{reads, 0}, {reads, 1}, {writes, 2}});
  table.line({{reads, 0}, {reads, 1}, {reads, 2}});
  auto graph = graph_of(table, 3);
  EXPECT_EQ(graph.on.size(), 6u);
  drop_implied(&graph);
  const std::vector<Ints> expected{{}, {0}, {1}, {2}};
  for (int i = 0; i < 4; ++i) EXPECT_EQ(waits_of(graph, i), expected[i]) << i;
}

TEST(LoopGraph, orders_the_same_after_implied_waits_are_dropped)
{
  std::size_t dropped = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    auto graph = graph_of(random_table(seed, 90, 6 + seed, 4), 6 + seed);
    const auto before = closure(graph);
    const std::size_t all = graph.on.size();
    drop_implied(&graph);
    dropped += all - graph.on.size();
    ASSERT_EQ(closure(graph), before) << seed;
  }
  EXPECT_GT(dropped, 100u);
}

TEST(Loop, runs_random_loops_as_their_text_says)
{
  const Watchdog watchdog("a random loop", patience);
  int flags = 0, shared = 0;
  for (unsigned seed = 0; seed < 48; ++seed) {
    const int entries = seed % 3 ? 40 + 100 * static_cast<int>(seed) : 5;
    const auto table = random_table(seed, 700, entries, 3, seed % 4 ? 3 : 2);
    const auto expected = numbers_of(table, entries, in_sequence);
    Loop<Script> loop;
    ASSERT_TRUE(loop.trace(script_of(table, entries)).ok());
    flags += loop.plan().signal == Signal::flags;
    shared += !loop.reproducible();
    for (int threads : {1, 2, 4, 7}) {
      const auto run_loop = [&](const Script& body) { ASSERT_TRUE(loop.execute(body, threads).ok()); };
      for (int again = 0; again < 3; ++again)
        ASSERT_EQ(numbers_of(table, entries, run_loop), expected) << seed << " on " << threads << " threads";
    }
  }
  EXPECT_EQ(flags, 48);
  EXPECT_GT(shared, 20);
  EXPECT_LE(shared, 36) << "nobody adds in each fourth";
}

/// Every iteration adds to random entries and reads its own: uses counters.
TEST(Loop, runs_random_loops_whose_reads_are_affine)
{
  const Watchdog watchdog("a random loop of additions", patience);
  const int lines = 900;
  for (unsigned seed = 0; seed < 12; ++seed) {
    const auto table = random_table_of_affine_reads(seed, lines);
    const auto expected = numbers_of(table, lines, in_sequence);
    Loop<Script> loop;
    ASSERT_TRUE(loop.trace(script_of(table, lines)).ok());
    ASSERT_EQ(loop.plan().signal, Signal::counts);
    for (int threads : {1, 2, 4, 7})
      ASSERT_EQ(numbers_of(table, lines, [&](const Script& body) { ASSERT_TRUE(loop.execute(body, threads).ok()); }),
                expected)
          << seed << " on " << threads << " threads";
  }
}

TEST(Loop, waits_for_nobody_where_nobody_needs_to)
{
  Script::Table table;
  for (int i = 0; i < 300; ++i) table.line({{writes, i}, {adds, 300}});
  Loop<Script> loop;
  ASSERT_TRUE(loop.trace(script_of(table, 301)).ok());
  EXPECT_EQ(loop.plan().signal, Signal::none);
  EXPECT_FALSE(loop.reproducible()) << "x[300]";
  EXPECT_EQ(loop.plan().shared, std::uint64_t(1) << 4) << "x, the fifth word, and not seen";
}

/// One wait for several values of another run, and none for values that the run has waited for already.
TEST(Loop, keeps_one_wait_for_several_of_another_run)
{
  Script::Table table;
  for (int i = 0; i < 64; ++i) table.line({{writes, i}});
  table.line({{reads, 3}, {reads, 60}, {writes, 64}});
  table.line({{reads, 59}, {reads, 64}});
  table.line({{reads, 61}});
  Loop<Script> loop;
  ASSERT_TRUE(loop.trace(script_of(table, 65)).ok());
  EXPECT_EQ(loop.plan().other, (Ints{60, 61}));
  EXPECT_EQ(loop.plan().begin[65], 1);
  EXPECT_EQ(loop.plan().begin[66], 1);
}

/// The first iteration of each run is slow and writes at its end; the first of the next run reads that value.
TEST(Loop, waits_for_the_first_iteration_of_a_run_as_for_others)
{
  const Watchdog watchdog("first iterations", patience);
  const int runs = 6, slow = 100000, entries = runs + 3;
  Script::Table table;
  for (int i = 0; i < 64 * runs; ++i) {
    std::vector<std::pair<Access, int>> line;
    for (int k = 0; i % 64 == 0 && k < slow; ++k) line.emplace_back(reads, k == 0 ? i / 64 : runs + 1);
    line.emplace_back(writes, i % 64 == 0 ? i / 64 + 1 : runs + 2);
    table.line(line);
  }
  Loop<Script> loop;
  ASSERT_TRUE(loop.trace(script_of(table, entries)).ok());
  const auto expected = numbers_of(table, entries, in_sequence);
  for (int again = 0; again < 20; ++again)
    ASSERT_EQ(numbers_of(table, entries, [&](const Script& body) { ASSERT_TRUE(loop.execute(body, 2).ok()); }),
              expected);
}

TEST(Loop, refuses_to_run_untraced_or_with_another_number_of_iterations)
{
  Script::Table table, longer;
  table.line({{writes, 0}});
  longer = table;
  longer.line({{writes, 0}});
  Loop<Script> loop;
  EXPECT_EQ(loop.execute(script_of(table, 1), 1).code, Code::invalid_argument);
  ASSERT_TRUE(loop.trace(script_of(table, 1)).ok());
  EXPECT_EQ(loop.execute(script_of(longer, 1), 2).code, Code::invalid_argument);
  EXPECT_EQ(loop.trace(script_of(longer, 0)).code, Code::invalid_argument);
  EXPECT_EQ(loop.execute(script_of(table, 1), 1).code, Code::invalid_argument)
    << "a failed trace forgets the one before";
}

TEST(Loop, takes_another_pattern_when_it_is_traced_again)
{
  Loop<Script> loop;
  for (unsigned seed : {1, 2, 3}) {
    const auto table = random_table(seed, 300 * static_cast<int>(seed), 50, 3);
    ASSERT_TRUE(loop.trace(script_of(table, 50)).ok());
    EXPECT_EQ(numbers_of(table, 50, [&](const Script& body) { ASSERT_TRUE(loop.execute(body, 3).ok()); }),
              numbers_of(table, 50, in_sequence));
  }
}

}  // namespace
}  // namespace syncfree
