/// Block ILU of matrices that are given by entries: it is that of the blocks which hold them and, where these are full,
/// the one by entries. What it copies, and what it refuses.

#include <algorithm>
#include <string>

#include "block_task.hpp"

namespace syncfree {
namespace {

template <class P> class BlocksOfEntriesOf : public testing::Test {};
TYPED_TEST_SUITE(BlocksOfEntriesOf, AllTypes);

/// ILU(0) by entries and by blocks: where all blocks are full, both keep the same entries.
TYPED_TEST(BlocksOfEntriesOf, of_full_blocks_is_the_factor_by_entries)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  for (int size : {2, 3, 5}) {
    auto task = make_task<T, I>(3, 4, 2, size);
    for (I i = 0; i < task.n(); ++i)
      for (I k = task.pattern.row_begin[i]; k < task.pattern.row_begin[i + 1]; ++k)
        for (int r = 0; r < size && task.pattern.column[k] == i; ++r)
          task.entry(k, r, r) += T(static_cast<float>(40 * size));
    const auto A = entries_of(task);
    auto by_entries = make_host_preconditioner<T, I>();
    ASSERT_TRUE(by_entries->analyse(A.pattern(), {}, {}).ok());
    ASSERT_TRUE(by_entries->refresh(A.view(), PivotRule()).ok());
    const auto by_blocks = make(task, options_of(size));
    const auto b = random_vector<T>(static_cast<std::size_t>(A.n), 5);
    std::vector<T> x(b.size()), y(b.size());
    for (Operation op : all_operations) {
      ASSERT_TRUE(by_entries->solve(op, b.data(), x.data(), {1, A.n, A.n}).ok());
      ASSERT_TRUE(by_blocks->solve(op, b.data(), y.data(), {1, A.n, A.n}).ok());
      for (std::size_t i = 0; i < x.size(); ++i)
        EXPECT_LT(static_cast<double>(std::abs(x[i] - y[i])), 100 * epsilon<T>()) << size << " " << i;
    }
  }
}

/// The matrix by entries, with every seventh value left out, has the factor of its blocks, bit by bit.
TYPED_TEST(BlocksOfEntriesOf, of_entries_is_the_factor_of_the_blocks_that_hold_them)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  for (bool permuted : {false, true}) {
    auto task = make_task<T, I>(3, 4, 2, 3);
    for (std::size_t k = 0; k < task.value.size(); k += 7)
      if (static_cast<double>(std::abs(task.value[k])) < 2) task.value[k] = T(0);
    if (permuted) task.row_order = task.column_order = random_order<I>(task.n(), 2);
    const auto A = entries_of(task);
    std::vector<I> order;
    for (I i : task.row_order)
      for (I r = 0; r < 3; ++r) order.push_back(3 * i + r);
    SymbolicOptions<I> symbolic;
    symbolic.row_order = symbolic.column_order = permuted ? order.data() : nullptr;
    auto p = make_host_blocked_preconditioner<T, I>();
    ASSERT_EQ(p->analyse(A.pattern(), symbolic, options_of(3)).message(), "success");
    ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
    EXPECT_EQ(p->summarize().padding, static_cast<std::int64_t>(task.value.size() - A.value.size()));
    EXPECT_GT(p->summarize().padding, 0);
    EXPECT_TRUE(permuted ? std::equal(order.begin(), order.end(), p->orders().row) : !p->orders().row);
    bool same = false;
    EXPECT_TRUE(p->has_pattern(A.pattern(), &same).ok() && same);
    const auto of_blocks = make(task, options_of(3));
    const auto b = random_vector<T>(static_cast<std::size_t>(A.n), 5);
    std::vector<T> x(b.size()), y(b.size());
    for (Operation op : all_operations) {
      ASSERT_TRUE(p->solve(op, b.data(), x.data(), {1, A.n, A.n}).ok());
      ASSERT_TRUE(of_blocks->solve(op, b.data(), y.data(), {1, A.n, A.n}).ok());
      EXPECT_EQ(x, y);
    }
  }
}

/// The values of full blocks are read where they are: the factor is bitwise that of the blocks, also of new values, in
/// an order and with fill, and the entries are not kept.
TYPED_TEST(BlocksOfEntriesOf, of_entries_without_padding_is_that_of_the_blocks)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  for (int size : {2, 3, 5, 9})
    for (int variant : {0, 1, 2}) {
      auto task = make_task<T, I>(3, 3, 2, size);
      task.levels = variant == 1 ? 1 : 0;
      if (variant == 2) task.row_order = task.column_order = random_order<I>(task.n(), 2);
      auto A = entries_of(task);
      ASSERT_EQ(A.value.size(), task.value.size());
      std::vector<I> order;
      for (I i : task.row_order)
        for (I r = 0; r < size; ++r) order.push_back(static_cast<I>(size) * i + r);
      SymbolicOptions<I> symbolic;
      symbolic.levels = task.levels;
      if (variant == 2) symbolic.row_order = symbolic.column_order = order.data();
      auto p = make_host_blocked_preconditioner<T, I>();
      ASSERT_EQ(p->analyse(A.pattern(), symbolic, options_of(size)).message(), "success");
      for (unsigned seed : {0u, 5u}) {
        auto values = make_task<T, I>(3, 3, 2, size, seed);
        task.value = values.value;
        A = entries_of(task);
        ASSERT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
        const auto of_blocks = make(task, options_of(size));
        EXPECT_EQ(p->values().lower, of_blocks->values().lower);
        EXPECT_EQ(p->values().upper, of_blocks->values().upper);
        EXPECT_EQ(p->values().inverse_pivot, of_blocks->values().inverse_pivot);
      }
      EXPECT_EQ(p->summarize().padding, 0);
      bool same = false;
      EXPECT_TRUE(p->has_pattern(A.pattern(), &same).ok() && same);
      std::swap(A.column[0], A.column[1]);
      EXPECT_TRUE(p->has_pattern(A.pattern(), &same).ok() && !same);
    }
}

/// Full blocks need no copy of the entries, neither of their values nor of their places: 12 bytes each by entries.
TEST(BlocksOfEntries, take_less_memory_than_the_factor_by_entries_where_they_are_full)
{
  using I = std::int32_t;
  auto task = make_task<double, I>(8, 8, 8, 3);
  const auto A = entries_of(task);
  const auto bytes_of = [&](std::unique_ptr<Preconditioner<double, I>> p, int size) {
    EXPECT_TRUE(p->analyse(A.pattern(), {}, options_of(size)).ok());
    EXPECT_TRUE(p->refresh(A.view(), PivotRule()).ok());
    const Summary s = p->summarize();
    return s.factor_bytes + s.plan_bytes;
  };
  EXPECT_LT(bytes_of(make_host_blocked_preconditioner<double, I>(), 3),
            bytes_of(make_host_preconditioner<double, I>(), 1));
}

TEST(BlocksOfEntries, refuse_sizes_orders_and_patterns_that_do_not_fit)
{
  using I = std::int32_t;
  auto task = make_task<double, I>(3, 2, 2, 3), other = make_task<double, I>(2, 2, 2, 3);
  const auto A = entries_of(task), B = entries_of(other);
  auto p = make_host_blocked_preconditioner<double, I>();
  const Status size = p->analyse(A.pattern(), {}, options_of(5));
  EXPECT_EQ(size.code, Code::invalid_argument);
  EXPECT_NE(size.message().find("block size 5 does not divide"), std::string::npos) << size.message();
  const auto order = random_order<I>(A.n, 3);
  SymbolicOptions<I> symbolic;
  symbolic.row_order = symbolic.column_order = order.data();
  EXPECT_EQ(p->analyse(A.pattern(), symbolic, options_of(3)).code, Code::invalid_argument);
  EXPECT_EQ(p->refresh(A.view(), PivotRule()).code, Code::invalid_argument);
  ASSERT_TRUE(p->analyse(A.pattern(), {}, options_of(3)).ok());
  bool same = true;
  EXPECT_TRUE(p->has_pattern(B.pattern(), &same).ok() && !same);
  ASSERT_TRUE(p->refresh(A.view(), PivotRule()).ok());
  EXPECT_EQ(p->refresh(B.view(), PivotRule()).code, Code::another_pattern);
  std::vector<double> x(static_cast<std::size_t>(A.n));
  EXPECT_EQ(p->solve_forward_half(x.data(), x.data()).code, Code::invalid_argument) << "solved after a failed refresh";
}

}  // namespace
}  // namespace syncfree
