/// Block ILU on the device compared with that on the host: values, solves, failures and what is refused. Results are
/// poisoned before each solve.

#include "../device_support.hpp"

#include <limits>

#include "../../host/block_task.hpp"
#include "../../types.hpp"
#include "../../watchdog.hpp"
#include "as_on_host.hpp"
#include "syncfree/blocks.hpp"
#include "syncfree/solver.hpp"

namespace syncfree {
namespace {

/// Blocks in the places of the entries of A.
BlockTask<double, I> task_of(const OwnedCsr<double, I>& A, int size)
{
  BlockTask<double, I> task{A, size, {}};
  task.fill(12);
  return task;
}

SolverOptions blocks_of(int size, const std::string& strategy = "auto") { return options_of(size, strategy); }

template <class T> double block_tolerance() { return 4500 * epsilon<T>(); }

/// Two columns, of each operation, with gaps between them.
template <class T, class I>
void expect_solves_of_host(Preconditioner<T, I>& ours, Preconditioner<T, I>& host, I n, double tolerance)
{
  const Columns<I> columns{2, n + 2, n + 1};
  const auto b = random_vector<T>(static_cast<std::size_t>(2 * (n + 2)), 5);
  for (Operation op : all_operations) {
    std::vector<T> x(static_cast<std::size_t>(2 * (n + 1)), T(77)), truth = x;
    ASSERT_EQ(ours.solve(op, b.data(), x.data(), columns).message(), "success");
    ASSERT_EQ(host.solve(op, b.data(), truth.data(), columns).message(), "success");
    SCOPED_TRACE(static_cast<int>(op));
    expect_same(x, truth, tolerance);
    EXPECT_EQ(x[static_cast<std::size_t>(n)], T(77)) << "wrote between two columns";
  }
}

/// Analyses, factors, solves; then once more with other values.
template <class T, class I>
void expect_host(BlockTask<T, I> task, const SymbolicOptions<I>& symbolic, double tolerance = block_tolerance<T>())
{
  SCOPED_TRACE(testing::Message() << "size " << task.size << ", levels " << symbolic.levels << ", order "
                                  << (symbolic.row_order != nullptr) << ", " << task.pattern.n << " block rows");
  auto ours = make_cuda_block_preconditioner<T, I>();
  auto host = make_host_block_preconditioner<T, I>();
  ASSERT_EQ(ours->analyse(task.pattern.pattern(), symbolic, blocks_of(task.size)).message(), "success");
  ASSERT_EQ(host->analyse(task.pattern.pattern(), symbolic, blocks_of(task.size)).message(), "success");
  bool same = false;
  ASSERT_TRUE(ours->has_pattern(task.pattern.pattern(), &same).ok());
  EXPECT_TRUE(same);
  for (unsigned seed : {11u, 23u}) {
    task.fill(seed);
    ASSERT_EQ(ours->refresh(task.view(), PivotRule()).message(), "success");
    ASSERT_EQ(host->refresh(task.view(), PivotRule()).message(), "success");
    expect_values_of_host(*ours, *host, tolerance);
    expect_solves_of_host(*ours, *host, task.rows(), tolerance);
    if (testing::Test::HasFailure()) return;
  }
}

template <class P> class DeviceBlockTest : public testing::Test {};
TYPED_TEST_SUITE(DeviceBlockTest, AllTypes);

TYPED_TEST(DeviceBlockTest, factors_and_solves_are_those_of_the_host)
{
  using T = typename TypeParam::Scalar;
  using J = typename TypeParam::Index;
  for (int size : {1, 2, 3, 4, 5, 6, 7, 8, 11})
    for (int levels : {0, 1, 2})
      for (bool permuted : {false, true}) {
        if (short_run() && (size == 1 || size > 7 || levels == 2 || permuted != (levels == 1))) continue;
        auto task = short_run() ? make_task<T, J>(4, 3, 2, size) : make_task<T, J>(5, 4, 3, size);
        task.levels = levels;
        if (permuted) task.row_order = task.column_order = random_order<J>(task.n(), 3);
        expect_host(task, task.symbolic());
        if (testing::Test::HasFailure()) return;
      }
}

/// Two neighbors are exchanged among the rows only: their diagonal blocks are those that couple them.
TYPED_TEST(DeviceBlockTest, follows_different_orders_of_rows_and_columns)
{
  using T = typename TypeParam::Scalar;
  using J = typename TypeParam::Index;
  for (int size : {2, 3, 7})
    for (int levels : {0, 1}) {
      if (short_run() && (size != 3 || levels == 1)) continue;
      auto task = make_task<T, J>(7, 3, 2, size);
      task.levels = levels;
      task.column_order.resize(static_cast<std::size_t>(task.n()));
      std::iota(task.column_order.begin(), task.column_order.end(), J(0));
      task.row_order = task.column_order;
      std::swap(task.row_order[4], task.row_order[5]);
      expect_host(task, task.symbolic(), 1000 * block_tolerance<T>());
    }
}

/// Many levels, with many rows each.
TEST(DeviceBlocks, of_large_grids_are_those_of_the_host)
{
  const I x = short_run() ? 6 : 24;
  for (int size : {3, 5, 8}) {
    const auto task = make_task<double, I>(x, x - 1, x - 2, size);
    expect_host(task, task.symbolic());
  }
}

/// Boxes of points, where rows update more than pivots.
TEST(DeviceBlocks, of_boxes_are_those_of_the_host)
{
  const auto box = short_run() ? box_of_points(4, 3, 3, 1) : box_of_points(12, 11, 10, 1);
  for (int size : {2, 3, 4, 5, 6, 7}) expect_host(task_of(box, size), SymbolicOptions<I>());
  SymbolicOptions<I> first;
  first.levels = 1;
  if (short_run()) return;
  expect_host(task_of(box_of_points(6, 5, 4, 1), 3), first);
}

/// Rows of more than 255 blocks, which have no table of updates; and rows that do not fit into shared memory.
TEST(DeviceBlocks, of_long_rows_are_those_of_the_host)
{
  expect_host(task_of(line_of_points(12, 1, 3), 40), SymbolicOptions<I>());
  expect_host(task_of(line_of_points(5, 1, 1), 97), SymbolicOptions<I>());
  if (short_run()) return;
  expect_host(task_of(line_of_points(300, 1, 150), 2), SymbolicOptions<I>());
  expect_host(task_of(line_of_points(60, 1, 60), 11), SymbolicOptions<I>());
}

/// Orders that the analysis makes.
TEST(DeviceBlocks, in_orders_of_points_are_those_of_the_host)
{
  for (const OrderingKind kind : {OrderingKind::multicolor, OrderingKind::cyclic, OrderingKind::abmc})
    for (int levels : {0, 1}) {
      SymbolicOptions<I> symbolic;
      symbolic.levels = levels;
      symbolic.ordering = OrderingOptions();
      symbolic.ordering->kind = kind;
      SCOPED_TRACE(static_cast<int>(kind));
      const I x = short_run() ? 5 : 9;
      expect_host(make_task<double, I>(x, x - 1, x - 2, 3), symbolic);
    }
}

TEST(DeviceBlocks, in_device_memory_need_no_copies)
{
  const auto task = make_task<double, I>(9, 8, 7, 3);
  const I n = task.rows();
  auto ours = make_cuda_block_preconditioner<double, I>();
  auto host = make_host_block_preconditioner<double, I>();
  ASSERT_EQ(ours->analyse(task.pattern.pattern(), {}, blocks_of(3)).message(), "success");
  ASSERT_EQ(host->analyse(task.pattern.pattern(), {}, blocks_of(3)).message(), "success");
  ASSERT_TRUE(host->refresh(task.view(), PivotRule()).ok());
  const DeviceVector value(task.value);
  ours->use(Memory::device, nullptr);
  ASSERT_EQ(ours->refresh({task.pattern.pattern(), value.data()}, PivotRule()).message(), "success");
  const std::size_t plan = ours->summarize().plan_bytes;
  const auto b = random_vector<double>(static_cast<std::size_t>(3 * n), 5);
  const DeviceVector from(b), to(b.size());
  for (Operation op : {Operation::none, Operation::transpose})
    for (I count : {1, 3}) {
      ASSERT_EQ(ours->solve(op, from.data(), to.data(), {count, n, n}).message(), "success");
      std::vector<double> truth(static_cast<std::size_t>(count * n));
      ASSERT_TRUE(host->solve(op, b.data(), truth.data(), {count, n, n}).ok());
      auto x = to.get();
      x.resize(truth.size());
      expect_same(x, truth, 1e-12);
    }
  const std::size_t vector = static_cast<std::size_t>(n) * sizeof(double);
  EXPECT_LT(ours->summarize().plan_bytes, plan + vector) << "copied a vector";
  ours->use(Memory::host, nullptr);
  std::vector<double> x(b.size());
  ASSERT_EQ(ours->solve(Operation::none, b.data(), x.data(), {1, n, n}).message(), "success");
  EXPECT_GE(ours->summarize().plan_bytes, plan + 2 * vector) << "copies are not counted";
}

TEST(DeviceBlocks, halves_are_those_of_the_host)
{
  for (bool permuted : {false, true}) {
    auto task = make_task<double, I>(9, 8, 7, 5);
    if (permuted) task.row_order = task.column_order = random_order<I>(task.n(), 2);
    auto ours = make_cuda_block_preconditioner<double, I>();
    auto host = make_host_block_preconditioner<double, I>();
    for (Preconditioner<double, I>* p : {static_cast<Preconditioner<double, I>*>(ours.get()), host.get()}) {
      ASSERT_EQ(p->analyse(task.pattern.pattern(), task.symbolic(), blocks_of(5)).message(), "success");
      ASSERT_EQ(p->refresh(task.view(), PivotRule()).message(), "success");
    }
    const auto b = random_vector<double>(static_cast<std::size_t>(task.rows()), 3);
    std::vector<double> x(b.size(), 77), truth(b.size());
    ASSERT_TRUE(ours->solve_forward_half(b.data(), x.data()).ok());
    ASSERT_TRUE(host->solve_forward_half(b.data(), truth.data()).ok());
    expect_same(x, truth, 1e-12);
    ASSERT_TRUE(ours->solve_backward_half(b.data(), x.data()).ok());
    ASSERT_TRUE(host->solve_backward_half(b.data(), truth.data()).ok());
    expect_same(x, truth, 1e-12);
  }
}

template <class P> class DeviceBlockDoubleTest : public testing::Test {};
TYPED_TEST_SUITE(DeviceBlockDoubleTest, DoubleTypes);

TYPED_TEST(DeviceBlockDoubleTest, single_storage_rounds_the_factor_only)
{
  using T = typename TypeParam::Scalar;
  using J = typename TypeParam::Index;
  for (int size : {2, 3, 9}) {
    const auto task = make_task<T, J>(5, 4, 3, size);
    SolverOptions options = blocks_of(size);
    auto host = make_host_block_preconditioner<T, J>();
    auto ours = make_cuda_block_preconditioner<T, J>();
    ASSERT_TRUE(host->analyse(task.pattern.pattern(), {}, options).ok());
    options.single_storage = true, options.strategy = "level_order";
    ASSERT_EQ(ours->analyse(task.pattern.pattern(), {}, options).message(), "success");
    ASSERT_TRUE(host->refresh(task.view(), PivotRule()).ok());
    ASSERT_EQ(ours->refresh(task.view(), PivotRule()).message(), "success");
    expect_values_of_host<T, J>(*ours, *host, 1e-6);
    expect_solves_of_host<T, J>(*ours, *host, task.rows(), 1e-5);
    const auto v = ours->values();
    for (const T& number : v.upper) ASSERT_EQ(number, T(static_cast<single_t<T>>(number))) << "is not rounded";
  }
}

/// A task one of whose diagonal blocks is changed, in block row 5; device and host then report the same.
template <class Change> void expect_failure_of_host(int size, const Change& change, Code code)
{
  auto task = short_run() ? make_task<double, I>(5, 4, 3, size) : make_task<double, I>(12, 11, 10, size);
  const auto good = task;
  auto ours = make_cuda_block_preconditioner<double, I>();
  auto host = make_host_block_preconditioner<double, I>();
  ASSERT_EQ(ours->analyse(task.pattern.pattern(), {}, blocks_of(size)).message(), "success");
  ASSERT_EQ(host->analyse(task.pattern.pattern(), {}, blocks_of(size)).message(), "success");
  for (I k = task.pattern.row_begin[5]; k < task.pattern.row_begin[6]; ++k)
    if (task.pattern.column[k] == 5) change(&task, k);
  const Status status = ours->refresh(task.view(), PivotRule()), truth = host->refresh(task.view(), PivotRule());
  EXPECT_EQ(status.code, code) << status.message();
  EXPECT_EQ(status.message(), truth.message());
  EXPECT_NE(status.message().find("block row 5"), std::string::npos) << status.message();
  std::vector<double> x(static_cast<std::size_t>(task.rows()), 1);
  EXPECT_EQ(ours->solve_forward_half(x.data(), x.data()).code, Code::invalid_argument) << "solved without a factor";
  ASSERT_EQ(ours->refresh(good.view(), PivotRule()).message(), "success") << "does not recover";
  ASSERT_TRUE(host->refresh(good.view(), PivotRule()).ok());
  expect_values_of_host<double, I>(*ours, *host, 1e-12);
}

TEST(DeviceBlockFailures, of_values_name_the_block_row_as_on_the_host)
{
  const auto nan = [](auto* task, I k) { task->entry(k, 1, 0) = std::numeric_limits<double>::quiet_NaN(); };
  const auto infinity = [](auto* task, I k) { task->entry(k + 1, 1, 0) = std::numeric_limits<double>::infinity(); };
  const auto singular = [](auto* task, I) {
    for (I r = task->pattern.row_begin[5]; r < task->pattern.row_begin[6]; ++r)
      for (int c = 0; c < task->size; ++c) task->entry(r, task->size - 1, c) = 0;  // the last row of the block row
  };
  for (int size : {2, 3, 4, 5, 6, 9}) {
    SCOPED_TRACE(size);
    expect_failure_of_host(size, nan, Code::not_finite);
    expect_failure_of_host(size, infinity, Code::not_finite);
    expect_failure_of_host(size, singular, Code::zero_pivot);
  }
}

/// Zeros where a pivot is looked for: PETSc's rule replaces it in blocks of some sizes, and the report says so.
TEST(DeviceBlockFailures, of_pivots_are_repaired_as_on_the_host)
{
  for (int size : {1, 2, 3, 4, 5, 6, 7, 8, 9, 15})
    for (const Shift shift : {Shift::none, Shift::inblocks})
      for (const double amount : {PivotRule().shift_amount, 0.0, 0.5}) {
        if (short_run() && (size == 1 || size > 7 || amount == 0.5)) continue;
        SCOPED_TRACE(testing::Message() << "size " << size << ", shift " << static_cast<int>(shift) << ", " << amount);
        auto task = make_task<double, I>(2, 1, 1, size);
        for (double& v : task.value) v = 0;
        for (I k : {0, 3})
          for (int r = 0; r < size; ++r) task.entry(k, r, r) = r == 0 && size > 1 && k == 0 ? 0 : 2 + r;
        PivotRule rule;
        rule.shift = shift;
        rule.shift_amount = amount;
        auto ours = make_cuda_block_preconditioner<double, I>();
        auto host = make_host_block_preconditioner<double, I>();
        ASSERT_EQ(ours->analyse(task.pattern.pattern(), {}, blocks_of(size)).message(), "success");
        ASSERT_EQ(host->analyse(task.pattern.pattern(), {}, blocks_of(size)).message(), "success");
        const Status status = ours->refresh(task.view(), rule), truth = host->refresh(task.view(), rule);
        ASSERT_EQ(status.message(), truth.message());
        if (!status.ok()) continue;
        EXPECT_EQ(ours->summarize().pivots.shifts, host->summarize().pivots.shifts);
        EXPECT_EQ(ours->summarize().pivots.shift_amount, host->summarize().pivots.shift_amount);
        expect_values_of_host<double, I>(*ours, *host, 1e-12);
      }
}

TEST(DeviceBlockFailures, of_the_analysis_name_block_rows_strategies_and_sizes)
{
  auto p = make_cuda_block_preconditioner<double, I>();
  const std::vector<I> row_begin = {0, 1, 2, 3}, column = {0, 0, 2};
  const PatternView<I> no_diagonal = {3, row_begin.data(), column.data()};
  const Status missing = p->analyse(no_diagonal, {}, blocks_of(2));
  EXPECT_EQ(missing.code, Code::missing_diagonal);
  EXPECT_NE(missing.message().find("diagonal block in block row 1"), std::string::npos) << missing.message();
  const auto task = make_task<double, I>(3, 2, 2, 2);
  const PatternView<I> A = task.pattern.pattern();
  EXPECT_EQ(p->analyse(A, {}, blocks_of(0)).code, Code::invalid_argument);
  const Status no_plan = p->analyse(A, {}, blocks_of(2, "tiled"));
  EXPECT_EQ(no_plan.code, Code::no_plan) << "so few points are no grid";
  EXPECT_EQ(no_plan.message(), "no plan: " + no_plan.detail + "; use level_order or auto");
  for (const char* strategy : {"merged", "cusparse", "wavefront", "loop"}) {
    const Status status = p->analyse(A, {}, blocks_of(2, strategy));
    EXPECT_EQ(status.code, Code::invalid_argument);
    EXPECT_NE(status.message().find("use level_order"), std::string::npos) << status.message();
  }
  EXPECT_EQ(p->analyse(A, {}, blocks_of(2, "fastest")).code, Code::unknown_strategy);
  SymbolicOptions<I> icc;
  icc.kind = Kind::icc;
  EXPECT_EQ(p->analyse(A, icc, blocks_of(2)).code, Code::invalid_argument);
  EXPECT_EQ(p->refresh(task.view(), PivotRule()).code, Code::invalid_argument) << "an analysis survived";
  ASSERT_EQ(p->analyse(A, {}, blocks_of(2, "level_order")).message(), "success");
  EXPECT_EQ(p->summarize().reason, "forced");
  for (Shift shift : {Shift::nonzero, Shift::positive_definite}) {
    PivotRule rule;
    rule.shift = shift;
    EXPECT_EQ(p->refresh(task.view(), rule).code, Code::invalid_argument);
  }
}

TEST(DeviceBlocks, report_what_runs)
{
  const auto task = make_task<double, I>(9, 8, 7, 3);
  auto p = make_cuda_block_preconditioner<double, I>();
  ASSERT_EQ(p->analyse(task.pattern.pattern(), {}, blocks_of(3)).message(), "success");
  ASSERT_EQ(p->refresh(task.view(), PivotRule()).message(), "success");
  const Summary s = p->summarize();
  EXPECT_EQ(s.strategy, "tiled");
  EXPECT_EQ(s.block_size, 3);
  EXPECT_EQ(s.rows, 3 * task.pattern.n);
  const auto blocks = static_cast<std::int64_t>(task.pattern.column.size());
  EXPECT_EQ(s.lower_nnz + s.upper_nnz + 9 * task.pattern.n, 9 * blocks);
  EXPECT_GE(s.factor_bytes, static_cast<std::size_t>(72 * blocks));
  EXPECT_EQ(p->levels().lower, 9 + 8 + 7 - 2);
  auto host = make_host_block_preconditioner<double, I>();
  ASSERT_TRUE(host->analyse(task.pattern.pattern(), {}, blocks_of(3)).ok());
  EXPECT_EQ(s.operations, host->summarize().operations);
}

/// Entries of points with several unknowns; every seventh off the diagonal is left out, so that blocks have holes.
OwnedCsr<double, I> with_holes(const OwnedCsr<double, I>& whole)
{
  OwnedCsr<double, I> A;
  A.n = whole.n;
  for (I i = 0; i < A.n; ++i) {
    for (I k = whole.row_begin[i]; k < whole.row_begin[i + 1]; ++k)
      if (k % 7 != 0 || whole.column[k] == i) A.column.push_back(whole.column[k]), A.value.push_back(whole.value[k]);
    A.row_begin.push_back(static_cast<I>(A.column.size()));
  }
  return A;
}

TEST(DeviceBlocksOfEntries, are_those_of_the_host)
{
  for (int size : {3, 5, 7})
    for (bool holes : {false, true})
      for (bool permuted : {false, true}) {
        SCOPED_TRACE(testing::Message() << "size " << size << ", holes " << holes << ", order " << permuted);
        if (short_run() && size == 5) continue;
        const I x = short_run() ? 4 : 6;
        const auto whole = box_of_points(x, x - 1, x - 2, static_cast<I>(size));
        auto A = holes ? with_holes(whole) : whole;
        std::vector<I> order;
        for (I i : random_order<I>(A.n / size, 2))
          for (I r = 0; r < size; ++r) order.push_back(size * i + r);
        SymbolicOptions<I> symbolic;
        symbolic.row_order = symbolic.column_order = permuted ? order.data() : nullptr;
        auto ours = make_cuda_blocked_preconditioner<double, I>();
        auto host = make_host_blocked_preconditioner<double, I>();
        ASSERT_EQ(ours->analyse(A.pattern(), symbolic, blocks_of(size)).message(), "success");
        ASSERT_EQ(host->analyse(A.pattern(), symbolic, blocks_of(size)).message(), "success");
        EXPECT_EQ(ours->summarize().padding, host->summarize().padding);
        EXPECT_EQ(ours->summarize().padding > 0, holes);
        EXPECT_TRUE(permuted ? std::equal(order.begin(), order.end(), ours->orders().row) : !ours->orders().row);
        bool same = false;
        EXPECT_TRUE(ours->has_pattern(A.pattern(), &same).ok() && same);
        for (const Memory memory : {Memory::device, Memory::host, Memory::device}) {
          for (double& v : A.value) v *= 1.5;
          const DeviceVector value(A.value);
          ours->use(memory, nullptr);
          ASSERT_EQ(ours->refresh({A.pattern(), memory == Memory::device ? value.data() : A.value.data()}, PivotRule())
                        .message(),
                    "success");
          ASSERT_EQ(host->refresh(A.view(), PivotRule()).message(), "success");
          ours->use(Memory::host, nullptr);
          expect_values_of_host<double, I>(*ours, *host, 1e-12);
          expect_solves_of_host<double, I>(*ours, *host, A.n, 1e-12);
        }
        if (HasFailure()) return;
      }
}

TEST(DeviceBlocksOfEntries, are_found_full_as_on_the_host)
{
  const auto whole = box_of_points(6, 5, 4, 6);
  auto other = whole;  // one entry in a row of its block is elsewhere
  other.column[other.column.size() - 1] = other.column[other.column.size() - 7] - 1;
  const auto& moved = other;
  for (const auto* A : {&whole, &moved}) {
    const DeviceVectorOf<I> row_begin(A->row_begin), column(A->column);
    for (int size : {1, 2, 3, 4, 6, 12})
      for (const PatternView<I>& there : {PatternView<I>{A->n, row_begin.data(), column.data()}, PatternView<I>()}) {
        bool full = false;
        ASSERT_EQ(test_full_blocks_on_device(A->pattern(), there, size, nullptr, &full).message(), "success");
        EXPECT_EQ(full, find_full_blocks<I>(A->pattern(), size, 1, nullptr)) << size;
        EXPECT_EQ(full, size == 1 || (A == &whole && 6 % size == 0)) << size;
      }
  }
}

/// The prediction sees a few rows, the analysis makes the plan from all.
TEST(DeviceBlocksOfEntries, are_solved_by_tiles_where_that_is_predicted)
{
  struct Case {
    const char* what;
    OwnedCsr<double, I> A;
    int size;
    bool tiled;
  };
  auto star = [](I x, I y, I z, int size) {
    auto task = make_task<double, I>(x, y, z, size);
    return entries_of(task);
  };
  const Case cases[] = {{"star", star(9, 8, 7, 2), 2, true},
                        {"star", star(9, 8, 7, 3), 3, true},
                        {"star", star(9, 8, 7, 5), 5, true},
                        {"plane", star(30, 21, 1, 3), 3, true},
                        {"box", box_of_points(9, 8, 7, 3), 3, true},
                        {"box, rows without a kernel", box_of_points(9, 8, 7, 5), 5, false},
                        {"star, blocks without a kernel", star(9, 8, 7, 7), 7, false},
                        {"line", line_of_points(300, 3, 2), 3, false}};
  for (const Case& c : cases)
    for (const bool single : {false, true}) {
      SCOPED_TRACE(testing::Message() << c.what << ", size " << c.size << ", single storage " << single);
      bool predicted = !c.tiled;
      ASSERT_EQ(predict_tiles_of_blocks<double>(c.A.pattern(), c.size, &predicted).message(), "success");
      EXPECT_EQ(predicted, c.tiled);
      SolverOptions options = blocks_of(c.size);
      options.single_storage = single;
      auto p = make_cuda_blocked_preconditioner<double, I>();
      ASSERT_EQ(p->analyse(c.A.pattern(), {}, options).message(), "success");
      EXPECT_EQ(p->summarize().strategy == "tiled", c.tiled);
    }
  auto bad = star(9, 8, 7, 3);
  bad.row_begin[7] = bad.row_begin[8] + 1;
  bool predicted = true;
  ASSERT_EQ(predict_tiles_of_blocks<double>(bad.pattern(), 3, &predicted).message(), "success");
  EXPECT_FALSE(predicted) << "the row offsets do not ascend";
}

/// A change that keeps the number of entries, in the first row of a block or in another.
TEST(DeviceBlocksOfEntries, notice_other_entries)
{
  const auto A = box_of_points(4, 3, 2, 3);
  auto p = make_cuda_blocked_preconditioner<double, I>();
  ASSERT_EQ(p->analyse(A.pattern(), {}, blocks_of(3)).message(), "success");
  for (const std::size_t k : {std::size_t{0}, A.column.size() - 1}) {
    auto other = A;
    other.column[k] = k == 0 ? A.n - 1 : 0;
    bool same = true;
    ASSERT_TRUE(p->has_pattern(other.pattern(), &same).ok());
    EXPECT_FALSE(same) << k;
  }
  bool same = false;
  EXPECT_TRUE(p->has_pattern(A.pattern(), &same).ok() && same);
}

TEST(DeviceBlocksOfEntries, refuse_sizes_orders_and_patterns_that_do_not_fit)
{
  const auto A = box_of_points(4, 3, 2, 3), B = box_of_points(3, 3, 2, 3);
  auto p = make_cuda_blocked_preconditioner<double, I>();
  ASSERT_TRUE(p->analyse(A.pattern(), {}, blocks_of(3)).ok());
  const Status size = p->analyse(A.pattern(), {}, blocks_of(5));
  EXPECT_EQ(size.code, Code::invalid_argument);
  EXPECT_NE(size.message().find("block size 5 does not divide"), std::string::npos) << size.message();
  EXPECT_EQ(p->refresh(A.view(), PivotRule()).code, Code::invalid_argument) << "an analysis survived";
  const auto order = random_order<I>(A.n, 3);
  SymbolicOptions<I> symbolic;
  symbolic.row_order = symbolic.column_order = order.data();
  EXPECT_EQ(p->analyse(A.pattern(), symbolic, blocks_of(3)).code, Code::invalid_argument);
  ASSERT_TRUE(p->analyse(A.pattern(), {}, blocks_of(3)).ok());
  bool same = true;
  EXPECT_TRUE(p->has_pattern(B.pattern(), &same).ok() && !same);
  ASSERT_TRUE(p->refresh(A.view(), PivotRule()).ok());
  EXPECT_EQ(p->refresh(B.view(), PivotRule()).code, Code::another_pattern);
  std::vector<double> x(static_cast<std::size_t>(A.n));
  EXPECT_EQ(p->solve_forward_half(x.data(), x.data()).code, Code::invalid_argument) << "solved after a failed refresh";
}

}  // namespace
}  // namespace syncfree
