/// Fails the k-th allocation, for every k: the core must report it, leave the result unchanged and leak nothing
/// (checked by the leak check of the address sanitizer). operator new is replaced for the whole program; it behaves as
/// usual unless a test arms it.

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "core/schedule/row_chunks.hpp"
#include "patterns.hpp"
#include "syncfree/factor.hpp"
#include "syncfree/ordering.hpp"
#include "syncfree/schedule.hpp"

namespace {

/// Allocations of this thread that still succeed; negative: all.
thread_local long allowed = -1;
thread_local bool refused = false;

void* allocate(std::size_t size)
{
  if (allowed == 0) {
    refused = true;
    throw std::bad_alloc();
  }
  if (allowed > 0) --allowed;
  if (void* p = std::malloc(size > 0 ? size : 1)) return p;
  throw std::bad_alloc();
}

void* allocate_or_null(std::size_t size) noexcept
try {
  return allocate(size);
} catch (const std::bad_alloc&) {
  return nullptr;
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate_or_null(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate_or_null(size); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

namespace syncfree {
namespace {

/// Calls make(&out) with 0, 1, 2, ... allocations allowed until none is refused. A call that does not depend on the
/// refused allocation (std::stable_sort) may succeed; a call that fails must leave `out` in the state that `same`
/// accepts.
template <class Out, class Make, class Same> void fail_every_allocation(const Make& make, const Same& same)
{
  int failures = 0;
  for (long k = 0; k < 10000; ++k) {
    Out out = Out();
    refused = false;
    allowed = k;
    const Status status = make(&out);
    allowed = -1;
    if (!refused) {
      EXPECT_TRUE(status.ok()) << status.message();
      EXPECT_FALSE(same(out)) << "success without a result";
      EXPECT_GT(failures, 0) << "no allocation was ever refused";
      return;
    }
    if (status.ok()) continue;
    ++failures;
    EXPECT_EQ(status.code, Code::out_of_memory) << "allocation " << k;
    EXPECT_TRUE(same(out)) << "allocation " << k;
  }
  FAIL() << "allocates without end";
}

using I = std::int32_t;

TEST(FailingAllocation, leaves_no_half_factor_pattern)
{
  const auto none = [](I, I) { return false; };
  const auto symmetric = random_pattern<I>(0, 40, 0, none, [](I i, I j) { return i / 3 == j / 3; });
  const auto order = random_order<I>(4, 40);
  for (const auto& A : {random_matrix<I>(3, 40, 10), symmetric})
    for (Kind kind : {Kind::ilu, Kind::icc})
      for (int levels : {0, 2, 20})
        for (bool permuted : {false, true}) {
          SymbolicOptions<I> options;
          options.kind = kind;
          options.levels = levels;
          if (permuted) options.row_order = options.column_order = order.data();
          fail_every_allocation<FactorPattern<I>>(
              [&](FactorPattern<I>* out) { return make_factor_pattern(A.view(), options, out); },
              [](const FactorPattern<I>& out) { return out.n == 0 && out.upper_begin.empty() && out.natural(); });
        }
}

TEST(FailingAllocation, leaves_no_half_ordering)
{
  const auto A = random_matrix<I>(3, 40, 10);
  for (const OrderingKind kind : {OrderingKind::multicolor, OrderingKind::cyclic, OrderingKind::abmc})
    fail_every_allocation<Ordering<I>>(
        [&](Ordering<I>* out) { return make_ordering(A.view(), OrderingOptions{kind}, 1, out); },
        [](const Ordering<I>& out) { return out.order.empty() && out.color_begin.empty(); });
  const std::vector<double> value(A.column.size(), 1.0);
  fail_every_allocation<DiscardedFill>(
      [&](DiscardedFill* out) { return measure_discarded_fill<double, I>({A.view(), value.data()}, nullptr, out); },
      [](const DiscardedFill& out) { return out.rows == 0; });
}

TEST(FailingAllocation, leaves_no_half_level_sets)
{
  const auto T = random_triangle<I>(5, 40, 10, true);
  fail_every_allocation<LevelSets<I>>([&](LevelSets<I>* out) { return make_level_sets(T.view(), true, out); },
                                      [](const LevelSets<I>& out) { return out.count == 0 && out.row.empty(); });
}

TEST(FailingAllocation, leaves_no_half_row_chunks)
{
  const auto same = [](const RowChunks<I>& out) { return out.threads == 0 && out.begin.empty() && out.wait.empty(); };
  for (const bool lower : {true, false})
    for (const auto& T : {grid_triangle<I>(100, 30, lower), random_triangle<I>(6, 60, 10, lower)})
      fail_every_allocation<RowChunks<I>>([&](RowChunks<I>* out) { return make_row_chunks(T.view(), lower, 3, out); },
                                          same);
}

}  // namespace
}  // namespace syncfree
