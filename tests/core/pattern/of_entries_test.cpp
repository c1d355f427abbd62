/// The preconditioner of entries on top of one of blocks that reports earlier solves, as one on a device does: such a
/// call does nothing else. And calls during a call.

#include "core/pattern/of_entries.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <functional>

namespace syncfree {
namespace {

using I = std::int32_t;

/// Solves set x to the value of the last refresh.
struct FakeBlocks : Preconditioner<double, I> {
  std::deque<Code> reports;          ///< of the next calls, which do nothing else
  std::function<void()> in_refresh;  ///< or empty
  bool analysed = false, factored = false;
  double value = 0;

  Status report()
  {
    if (reports.empty()) return {};
    const Code code = reports.front();
    reports.pop_front();
    return failed(code);
  }
  Status analyse(PatternView<I>, const SymbolicOptions<I>&, const SolverOptions& options) override
  {
    const Status told = report();
    if (!told.ok()) return told;
    factored = false;
    analysed = options.block_size > 0;
    return analysed ? Status() : failed(Code::invalid_argument, "size");
  }
  Status has_pattern(PatternView<I>, bool*) override { return report(); }
  Orders<I> orders() const override { return {}; }
  Status refresh(CsrView<double, I> A, const PivotRule&) override
  {
    const Status told = report();
    if (!told.ok()) return told;
    if (in_refresh) in_refresh();
    factored = analysed && A.value;
    if (factored) value = A.value[0];
    return factored ? Status() : failed(Code::another_pattern);
  }
  Status solve(Operation, const double*, double* x, const Columns<I>&) override { return give(x); }
  Status solve_forward_half(const double*, double* x) override { return give(x); }
  Status solve_backward_half(const double*, double* x) override { return give(x); }
  Status give(double* x) const
  {
    if (!factored) return failed(Code::invalid_argument, "no values");
    x[0] = value;
    return {};
  }
  Summary summarize() const override { return {}; }
  LevelCounts levels() const override { return {}; }
  const FactorPattern<I>& pattern() const override { return pattern_; }
  FactorValues<double> values() const override
  {
    FactorValues<double> made;
    if (factored) made.inverse_pivot.assign(1, value);
    return made;
  }

private:
  FactorPattern<I> pattern_;
};

class OfFakeBlocks : public PreconditionerOfEntries<double, I, Preconditioner<double, I>> {
public:
  OfFakeBlocks() : PreconditionerOfEntries(std::make_unique<FakeBlocks>()) {}

  FakeBlocks& fake() { return static_cast<FakeBlocks&>(blocks()); }
  int setting = 0;
  void use(int wanted)
  {
    set_alone([&] { setting = wanted; });
  }

  Status analyse(PatternView<I> A, const SymbolicOptions<I>& symbolic, const SolverOptions& options) override
  {
    return alone([&] { return analyse_entries(A, symbolic, options); });
  }
  Status has_pattern(PatternView<I> A, bool* same) override
  {
    *same = has_pattern_of(A);
    return {};
  }
  Status refresh(CsrView<double, I> A, const PivotRule& rule) override
  {
    return alone([&] { return refresh_entries(A, rule); });
  }

private:
  bool find_full_blocks(const PatternView<I>&, const SolverOptions&, BlockPattern<I>*) override { return false; }
  bool has_full_blocks(const PatternView<I>&, const BlockPattern<I>&) override { return false; }
  const double* copy_values(const BlockPattern<I>&, const double* value) override { return value; }
  Status analyse_blocks(const PatternView<I>& pattern, const SymbolicOptions<I>& symbolic,
                        const SolverOptions& options) override
  {
    return blocks().analyse(pattern, symbolic, options);
  }
  void drop_blocks() override {}
  std::size_t kept_bytes() const override { return 0; }
};

/// Four diagonal entries, in two blocks.
struct Diagonal {
  std::vector<I> row_begin = {0, 1, 2, 3, 4}, column = {0, 1, 2, 3};
  std::vector<double> value = {5, 6, 7, 8};

  PatternView<I> pattern() const { return {4, row_begin.data(), column.data()}; }
  CsrView<double, I> view() const { return {pattern(), value.data()}; }
};

SolverOptions of_size(int size)
{
  SolverOptions options;
  options.block_size = size;
  return options;
}

void expect_no_values(OfFakeBlocks* p)
{
  double x[4] = {77, 77, 77, 77};
  for (Operation op : {Operation::none, Operation::transpose})
    EXPECT_EQ(p->solve(op, x, x, {1, 4, 4}).code, Code::invalid_argument);
  EXPECT_EQ(p->solve_forward_half(x, x).code, Code::invalid_argument);
  EXPECT_EQ(p->solve_backward_half(x, x).code, Code::invalid_argument);
  EXPECT_EQ(x[0], 77) << "solved by an old factor";
  EXPECT_TRUE(p->values().inverse_pivot.empty());
}

void expect_recovery(OfFakeBlocks* p, const Diagonal& A)
{
  double x[4] = {77, 77, 77, 77};
  ASSERT_TRUE(p->analyse(A.pattern(), {}, of_size(2)).ok());
  expect_no_values(p);
  ASSERT_TRUE(p->refresh(A.view(), {}).ok());
  ASSERT_TRUE(p->solve(Operation::none, x, x, {1, 4, 4}).ok());
  EXPECT_EQ(x[0], 5);
  EXPECT_EQ(p->values().inverse_pivot.size(), 1u);
}

const std::deque<Code> some_reports[] = {
    {}, {Code::stale_capture}, {Code::wait_expired}, {Code::stale_capture, Code::wait_expired}};

TEST(PreconditionerOfEntries, has_no_factor_after_an_analysis_that_failed_while_the_blocks_had_something_to_report)
{
  const Diagonal A;
  for (const auto& reports : some_reports)
    for (int size : {3, 2}) {  // 3 does not divide 4: fails before the blocks are asked; with 2 they only report
      SCOPED_TRACE(testing::Message() << reports.size() << " reports, size " << size);
      if (reports.empty() && size == 2) continue;  // succeeds
      OfFakeBlocks p;
      expect_recovery(&p, A);
      p.fake().reports = reports;
      EXPECT_EQ(p.analyse(A.pattern(), {}, of_size(size)).code,
                reports.empty() ? Code::invalid_argument : reports.back());
      EXPECT_FALSE(p.fake().factored) << "a replay would use the old factor";
      expect_no_values(&p);
      EXPECT_EQ(p.refresh(A.view(), {}).code, Code::invalid_argument);
      expect_recovery(&p, A);
    }
}

TEST(PreconditionerOfEntries, has_no_factor_after_a_refresh_that_failed_while_the_blocks_had_something_to_report)
{
  const Diagonal A;
  Diagonal smaller;
  smaller.row_begin = {0, 1, 2};
  for (const auto& reports : some_reports)
    for (bool fits : {false, true}) {
      SCOPED_TRACE(testing::Message() << reports.size() << " reports, fits " << fits);
      if (reports.empty() && fits) continue;  // succeeds
      OfFakeBlocks p;
      expect_recovery(&p, A);
      p.fake().reports = reports;
      const CsrView<double, I> other = {{2, smaller.row_begin.data(), smaller.column.data()}, smaller.value.data()};
      const Code code = p.refresh(fits ? A.view() : other, {}).code;
      EXPECT_EQ(code, reports.empty() ? Code::another_pattern : fits ? reports.front() : reports.back());
      if (!fits) {
        EXPECT_FALSE(p.fake().factored) << "a replay would use the old factor";
      }
      expect_no_values(&p);
      p.fake().reports.clear();
      expect_recovery(&p, A);
    }
}

/// The guard does not ask which thread calls: here it is the same.
TEST(PreconditionerOfEntries, refuses_calls_and_settings_during_a_call)
{
  const Diagonal A;
  OfFakeBlocks p;
  double x[4] = {77, 77, 77, 77};
  expect_recovery(&p, A);
  p.use(1);
  EXPECT_EQ(p.setting, 1);
  std::vector<Code> inside;
  p.fake().in_refresh = [&] {
    inside = {p.solve(Operation::none, x, x, {1, 4, 4}).code, p.solve_forward_half(x, x).code,
              p.solve_backward_half(x, x).code, p.refresh(A.view(), {}).code,
              p.analyse(A.pattern(), {}, of_size(2)).code};
    p.use(2);
  };
  EXPECT_TRUE(p.refresh(A.view(), {}).ok());
  EXPECT_EQ(inside, std::vector<Code>(5, Code::busy));
  EXPECT_EQ(x[0], 77);
  EXPECT_EQ(p.setting, 1) << "was changed during a call";
  EXPECT_EQ(p.solve(Operation::none, x, x, {1, 4, 4}).code, Code::busy) << "the rejected setting is not reported";
  ASSERT_TRUE(p.solve(Operation::none, x, x, {1, 4, 4}).ok());
  EXPECT_EQ(x[0], 5);
}

}  // namespace
}  // namespace syncfree
