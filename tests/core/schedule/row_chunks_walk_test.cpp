/// Row chunks as a team of threads processes them: no row is read before it is written and no thread waits forever,
/// however fast or slow each thread is. row_chunks_test.cpp checks the plan; this test simulates its execution.

#include <gtest/gtest.h>

#include "core/schedule/row_chunks.hpp"
#include "core/patterns.hpp"

namespace syncfree {
namespace {

/// Runs one thread as far as its waits allow, then the next in the given order, cyclically. So the first thread in the
/// order is always as early as possible, and the last as late as possible.
template <class I> class Walk {
public:
  Walk(const OwnedPattern<I>& T, bool lower, const RowChunks<I>& plan)
      : T_(T), lower_(lower), plan_(plan), finished_(plan.threads, 0), written_(T.n, false)
  {
  }

  void run(const std::vector<std::int32_t>& order)
  {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::int32_t t : order)
        while (may_start(t)) {
          take_step(t);
          moved = true;
        }
    }
    EXPECT_EQ(std::count(written_.begin(), written_.end(), false), 0) << "the team has stopped";
  }

private:
  bool may_start(std::int32_t t) const
  {
    const I s = plan_.thread_step[t] + finished_[t];
    if (s == plan_.thread_step[t + 1]) return false;
    for (I w = plan_.wait_begin[s]; w < plan_.wait_begin[s + 1]; ++w)
      if (finished_[plan_.wait[w].thread] < plan_.wait[w].steps) return false;
    return true;
  }

  void take_step(std::int32_t t)
  {
    const I s = plan_.thread_step[t] + finished_[t]++;
    for (I place = plan_.begin[s]; place < plan_.end[s]; ++place) {
      const I i = lower_ ? place : T_.n - 1 - place;
      EXPECT_FALSE(written_[i]) << "row " << i << " is walked twice";
      for (I k = T_.row_begin[i]; k < T_.row_begin[i + 1]; ++k)
        EXPECT_TRUE(written_[T_.column[k]]) << "row " << i << " reads " << T_.column[k] << " too early";
      written_[i] = true;
    }
  }

  const OwnedPattern<I>& T_;
  bool lower_;
  const RowChunks<I>& plan_;
  std::vector<I> finished_;
  std::vector<bool> written_;
};

template <class I> void walk(const OwnedPattern<I>& T, bool lower, std::int32_t threads)
{
  SCOPED_TRACE(std::string(lower ? "lower, " : "upper, ") + std::to_string(threads) + " threads");
  RowChunks<I> plan;
  ASSERT_TRUE(make_row_chunks(T.view(), lower, threads, &plan).ok());
  ASSERT_EQ(plan.threads, threads);
  std::vector<std::int32_t> order(threads);
  std::iota(order.begin(), order.end(), 0);
  Walk<I>(T, lower, plan).run(order);
  std::reverse(order.begin(), order.end());
  Walk<I>(T, lower, plan).run(order);
  for (unsigned seed = 0; seed < 3; ++seed) Walk<I>(T, lower, plan).run(random_order<std::int32_t>(seed, threads));
}

template <class I> class RowChunksWalk : public testing::Test {};
using Indices = testing::Types<std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(RowChunksWalk, Indices);

/// Up to 700 rows: more than the largest chunk, and many of the smallest.
TYPED_TEST(RowChunksWalk, is_safe_on_random_triangles)
{
  for (const bool lower : {true, false})
    for (unsigned seed = 0; seed < 14; ++seed) {
      const auto T = random_triangle<TypeParam>(seed, 1 + 53 * seed, 1 + seed % 3, lower);
      for (std::int32_t threads : {1, 2, 7, 64}) walk(T, lower, threads);
    }
}

/// Grids with some links removed, as after the elimination of boundary rows.
TYPED_TEST(RowChunksWalk, is_safe_on_ragged_grids)
{
  using I = TypeParam;
  for (const bool lower : {true, false})
    for (unsigned seed = 0; seed < 4; ++seed) {
      const auto grid = grid_triangle<I>(97, 40, lower);
      std::mt19937 random(seed);
      std::vector<std::vector<I>> rows(grid.n);
      for (I i = 0; i < grid.n; ++i)
        for (I k = grid.row_begin[i]; k < grid.row_begin[i + 1] && random() % 9 != 0; ++k)
          rows[i].push_back(grid.column[k]);
      for (std::int32_t threads : {2, 5}) walk(pattern_of(rows), lower, threads);
    }
}

TYPED_TEST(RowChunksWalk, of_no_rows_ends_at_once)
{
  for (const bool lower : {true, false})
    for (std::int32_t threads : {1, 3}) walk(OwnedPattern<TypeParam>(), lower, threads);
}

}  // namespace
}  // namespace syncfree
