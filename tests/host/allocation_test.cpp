/// Memory: fails the k-th allocation, for every k; the object must stay usable and leak nothing. A solve in the steady
/// state allocates nothing. operator new is replaced for the whole program.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>
#include <type_traits>
#include <vector>

#include "../battery.hpp"
#include "../watchdog.hpp"
#include "syncfree/loop/loop.hpp"
#include "syncfree/loop/loops.hpp"
#include "syncfree/relaxation.hpp"
#include "syncfree/solver.hpp"
#include "syncfree/strategy.hpp"

namespace {

std::atomic<long> live{0};       ///< allocations not yet freed
std::atomic<long> made{0};       ///< allocations so far
std::atomic<long> countdown{0};  ///< the allocation that makes it 0 fails; never if it starts at 0

void* allocate(std::size_t bytes, std::size_t alignment)
{
  if (countdown.load() > 0 && countdown.fetch_sub(1) == 1) throw std::bad_alloc();
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* p = alignment > alignof(std::max_align_t) ? std::aligned_alloc(alignment, rounded) : std::malloc(bytes);
  if (!p) throw std::bad_alloc();
  ++live;
  ++made;
  return p;
}

void* allocate_or_null(std::size_t bytes) noexcept
try {
  return allocate(bytes ? bytes : 1, 1);
} catch (const std::bad_alloc&) {
  return nullptr;
}

void release(void* p)
{
  if (p) --live;
  std::free(p);
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes ? bytes : 1, 1); }
void* operator new[](std::size_t bytes) { return allocate(bytes ? bytes : 1, 1); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate_or_null(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return allocate_or_null(bytes); }
void* operator new(std::size_t bytes, std::align_val_t a) { return allocate(bytes, static_cast<std::size_t>(a)); }
void* operator new[](std::size_t bytes, std::align_val_t a) { return allocate(bytes, static_cast<std::size_t>(a)); }
void operator delete(void* p) noexcept { release(p); }
void operator delete[](void* p) noexcept { release(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { release(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { release(p); }
void operator delete(void* p, std::size_t) noexcept { release(p); }
void operator delete[](void* p, std::size_t) noexcept { release(p); }
void operator delete(void* p, std::align_val_t) noexcept { release(p); }
void operator delete[](void* p, std::align_val_t) noexcept { release(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { release(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { release(p); }

namespace syncfree {
namespace {

using T = std::complex<double>;
using I = std::int64_t;

constexpr int block_of_tests = 3;

struct Case {
  std::string strategy;
  Kind kind;
  bool single;
  bool permuted;
  int block_size = 1;
  bool copied = false;  ///< entries to blocks

  SolverOptions options() const
  {
    SolverOptions made{strategy, 2, single};
    made.block_size = block_size;
    return made;
  }
  std::unique_ptr<Preconditioner<T, I>> make() const
  {
    if (copied) return make_host_blocked_preconditioner<T, I>();
    return block_size > 1 ? make_host_block_preconditioner<T, I>() : make_host_preconditioner<T, I>();
  }
};

std::vector<Case> cases()
{
  std::vector<Case> list;
  for (const StrategyInfo& info : strategies())
    for (Kind kind : {Kind::ilu, Kind::icc})
      for (bool both : {false, true}) {  // single storage of a permuted factor
        const bool left_out = short_run() && both == (kind == Kind::icc);  // each storage with one of the kinds
        if (std::string(info.backend) == "host" && !left_out) list.push_back({info.name, kind, both, both});
      }
  for (const char* strategy : {"serial", "blocks"})
    for (bool both : {false, true}) {
      list.push_back({strategy, Kind::ilu, both, both, block_of_tests});
      list.push_back({strategy, Kind::ilu, both, false, block_of_tests, true});
    }
  return list;
}

struct Problem {
  OwnedCsr<T, I> A;
  std::vector<T> blocks;    ///< of block_of_tests unknowns, on A's pattern: A(i, j) times a block
  std::vector<I> reversed;  ///< A's rows in reversed order
};

Problem problem(I x, I y, I z)
{
  Problem p{make_poisson<T, I>(x, y, z), {}, {}};
  for (const T& value : p.A.value)
    for (int c = 0; c < block_of_tests; ++c)
      for (int r = 0; r < block_of_tests; ++r) p.blocks.push_back(value * (r == c ? 1.0 : 0.01));
  for (I i = p.A.n; i > 0; --i) p.reversed.push_back(i - 1);
  return p;
}

/// Wide enough that two threads share the factorization; small for `merged`, whose plan takes a hundred times as long
/// as others and is shared by threads anyway.
const Problem& problem_for(const Case& c)
{
  static const Problem wide = short_run() ? problem(8, 6, 12) : problem(8, 12, 24), small = problem(4, 5, 6);
  return c.strategy == "merged" ? small : wide;
}

CsrView<T, I> matrix_of(const Case& c)
{
  const Problem& p = problem_for(c);
  return {p.A.pattern(), c.block_size > 1 && !c.copied ? p.blocks.data() : p.A.value.data()};
}

SymbolicOptions<I> symbolic(const Case& c)
{
  SymbolicOptions<I> s;
  s.kind = c.kind;
  s.diagonal_fill = c.permuted;
  if (c.permuted) s.row_order = s.column_order = problem_for(c).reversed.data();
  return s;
}

/// Calls step with the k-th allocation failing, k = 1, 2, ..., until it needs fewer than k. After each failure check()
/// must find the object usable.
///   returns the number of failures
template <class Step, class Check> long fail_each(const Step& step, const Check& check)
{
  for (long k = 1;; ++k) {
    countdown = k;
    const Status status = step();
    const bool met = countdown == 0;
    countdown = 0;
    if (!met) {
      EXPECT_EQ(status.message(), "success");
      return k - 1;
    }
    if (status.code != Code::out_of_memory) ADD_FAILURE() << "allocation " << k << ": " << status.message();
    check(k);
  }
}

TEST(Allocation, failing_while_it_makes_an_order_leaves_a_usable_object)
{
  const OwnedCsr<T, I> A = make_poisson<T, I>(4, 5, 6);
  for (const OrderingKind kind : {OrderingKind::multicolor, OrderingKind::cyclic, OrderingKind::abmc}) {
    SymbolicOptions<I> s;
    s.ordering = OrderingOptions();
    s.ordering->kind = kind;
    const long before = live;
    {
      const auto p = make_host_preconditioner<T, I>();
      const long empty = live;
      const long failures = fail_each([&] { return p->analyse(A.pattern(), s, {"serial", 1, false}); },
                                      [&](long k) { ASSERT_EQ(live, empty) << "leak after failure " << k; });
      EXPECT_GT(failures, 20) << "the order and the pattern take more allocations";
      EXPECT_EQ(p->refresh(A.view(), PivotRule()).message(), "success");
    }
    EXPECT_EQ(live, before);
  }
}

TEST(Allocation, failing_anywhere_leaves_a_usable_object)
{
  for (const Case& c : cases()) {
    const CsrView<T, I> A = matrix_of(c);
    const I n = A.pattern.n * static_cast<I>(c.copied ? 1 : c.block_size);
    const auto b = random_vector<T>(n, 1);
    std::vector<T> x(n);
    const SymbolicOptions<I> s = symbolic(c);
    const SolverOptions options = c.options();
    const long before = live;
    {
      const auto p = c.make();
      const long empty = live;
      fail_each([&] { return p->analyse(A.pattern, s, options); },
                [&](long k) { ASSERT_EQ(live, empty) << "leak after failure " << k << " in analyse"; });
      const long first_refresh = fail_each([&] { return p->refresh(A, PivotRule()); },
                                           [&](long) {
                                             EXPECT_EQ(p->solve(Operation::none, b.data(), x.data(), {1, n, n}).code,
                                                       Code::invalid_argument);
                                           });
      EXPECT_GT(first_refresh, 0);
      const long transposes = fail_each([&] { return p->solve(Operation::transpose, b.data(), x.data(), {1, n, n}); },
                                        [&](long) {
                                          EXPECT_TRUE(p->solve(Operation::none, b.data(), x.data(), {1, n, n}).ok());
                                        });
      EXPECT_EQ(transposes > 0, c.kind == Kind::ilu);
      fail_each([&] { return p->refresh(A, PivotRule()); }, [](long) {});
      EXPECT_TRUE(p->solve(Operation::adjoint, b.data(), x.data(), {1, n, n}).ok());
      fail_each([&] { return p->analyse(A.pattern, s, options); },
                [&](long) { EXPECT_EQ(live, empty); });
    }
    EXPECT_EQ(live, before) << "leak, strategy " << c.strategy;
  }
}

/// As above, for a loop without a solver.
TEST(Allocation, failing_anywhere_in_the_trace_of_a_loop_leaves_it_untraced)
{
  const auto A = make_poisson<T, I>(5, 6, 7);
  std::vector<T> x(A.n), b(A.n, T(1));
  const ColumnsView<I> columns{A.n, A.row_begin.data(), A.column.data()};  // A is symmetric
  std::vector<I> diagonal(A.n);
  for (I i = 0; i < A.n; ++i)
    for (I k = A.row_begin[i]; k < A.row_begin[i + 1]; ++k)
      if (A.column[k] == i) diagonal[i] = k;
  const auto fail_in = [&](const auto& body) {
    const long before = live;
    {
      Loop<std::decay_t<decltype(body)>> loop;
      const long failures = fail_each([&] { return loop.trace(body); },
                                      [&](long k) {
                                        ASSERT_EQ(live, before) << "leak after failure " << k;
                                        ASSERT_EQ(loop.plan().iterations, -1);
                                      });
      EXPECT_GT(failures, 10);
      EXPECT_TRUE(loop.execute(body, 2).ok());
      const long made_before = made;
      EXPECT_TRUE(loop.execute(body, 2).ok());
      EXPECT_EQ(made, made_before) << "a run allocates nothing";
    }
    EXPECT_EQ(live, before);
  };
  const T* a = A.value.data();
  fail_in(SpmvCsr<T, I>(A.pattern(), a, b.data(), x.data()));
  fail_in(GaussSeidelCsr<T, I>(Sweep::symmetric, A.pattern(), diagonal.data(), a, b.data(), x.data()));  // flags
  fail_in(GaussSeidelCsc<T, I>(Sweep::forward, columns, diagonal.data(), a, b.data(), x.data()));        // counts
}

TEST(Allocation, sweeps_survive_the_failure_of_each_and_make_none_themselves)
{
  const auto A = make_poisson<T, I>(4, 5, 6);
  const std::vector<T> b = random_vector<T>(A.n, 1);
  const long before = live;
  for (const char* strategy : {"auto", "blocks", "sync_free"}) {
    const auto relaxation = make_host_relaxation<T, I>();
    long failures = 0;
    for (bool done = false; !done; ++failures) {
      countdown = failures + 1;
      Status status = relaxation->analyse(A.pattern(), {}, {strategy, 2});
      if (status.ok()) status = relaxation->refresh(A.view(), 1.1, 0, 0);
      done = countdown.exchange(0) > 0;
      ASSERT_EQ(status.code, done ? Code::ok : Code::out_of_memory) << strategy;
    }
    EXPECT_GT(failures, 10) << strategy;
    std::vector<T> x(A.n);
    EXPECT_TRUE(relaxation->relax(Sweep::symmetric, true, 2, b.data(), x.data()).ok());
    const long made_before = made;
    EXPECT_TRUE(relaxation->relax(Sweep::symmetric, true, 2, b.data(), x.data()).ok());
    EXPECT_EQ(made, made_before) << strategy;
  }
  EXPECT_EQ(live, before);
}

TEST(Allocation, a_refusal_that_finds_no_memory_for_its_words_is_still_one)
{
  std::vector<T> x(1);
  for (bool of_blocks : {false, true}) {
    const auto p = of_blocks ? make_host_block_preconditioner<T, I>() : make_host_preconditioner<T, I>();
    const std::function<Status()> refused[] = {
        [&] { return p->solve(Operation::none, x.data(), x.data(), {1, 1, 1}); },
        [&] { return p->solve_forward_half(x.data(), x.data()); },
        [&] { return p->solve_backward_half(x.data(), x.data()); },
        [&] { return p->refresh({}, PivotRule()); },
    };
    for (const auto& call : refused) {
      countdown = 1;
      const Status status = call();
      countdown = 0;
      EXPECT_EQ(status.code, Code::out_of_memory);
      EXPECT_EQ(call().code, Code::invalid_argument);
    }
  }
}

TEST(Allocation, a_solve_in_the_steady_state_makes_none)
{
  for (const Case& c : cases()) {
    const CsrView<T, I> A = matrix_of(c);
    const I n = A.pattern.n * static_cast<I>(c.copied ? 1 : c.block_size);
    const auto b = random_vector<T>(3 * static_cast<std::size_t>(n), 1);
    std::vector<T> x(3 * static_cast<std::size_t>(n));
    const auto p = c.make();
    ASSERT_TRUE(p->analyse(A.pattern, symbolic(c), c.options()).ok());
    ASSERT_TRUE(p->refresh(A, PivotRule()).ok());
    const auto solve_all = [&] {
      for (Operation op : {Operation::none, Operation::transpose, Operation::adjoint, Operation::conjugate})
        for (I columns : {1, 3}) ASSERT_TRUE(p->solve(op, b.data(), x.data(), {columns, n, n}).ok());
      ASSERT_TRUE(p->solve_forward_half(b.data(), x.data()).ok() || c.kind == Kind::icc);
      ASSERT_TRUE(p->solve_backward_half(b.data(), x.data()).ok() || c.kind == Kind::icc);
    };
    solve_all();
    const long before = made;
    solve_all();
    EXPECT_EQ(made, before) << c.strategy;
    ASSERT_TRUE(p->refresh(A, PivotRule()).ok());
    if (!c.single) { EXPECT_EQ(made, before) << "a refresh on the same pattern, " << c.strategy; }
  }
}

TEST(Allocation, a_thousand_refreshes_leak_nothing)
{
  const auto A = make_poisson<T, I>(3, 4, 5);
  std::vector<T> b(A.n, T(1)), x(A.n);
  for (bool single : {false, true}) {
    const auto p = make_host_preconditioner<T, I>();
    ASSERT_TRUE(p->analyse(A.pattern(), SymbolicOptions<I>(), {"serial", 1, single}).ok());
    ASSERT_TRUE(p->refresh(A.view(), PivotRule()).ok());
    ASSERT_TRUE(p->solve(Operation::transpose, b.data(), x.data(), {1, A.n, A.n}).ok());
    const long before = live;
    for (int k = 0; k < 1000; ++k) ASSERT_TRUE(p->refresh(A.view(), PivotRule()).ok());
    EXPECT_EQ(live, before);
  }
}

}  // namespace
}  // namespace syncfree
