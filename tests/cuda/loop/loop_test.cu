/// Sync-free loops on the device: the kernels of syncfree/loop/loops.hpp give the result of sequential execution on the
/// host, with identical bits unless two iterations add to one entry (this file is compiled without contraction to fused
/// operations); random loops and chains inside warps do so, too; errors are the host's.

#include "syncfree/cuda/loop.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../../loop_problem.hpp"
#include "../../loop_script.hpp"
#include "../../types.hpp"
#include "../../watchdog.hpp"
#include "cuda/base/scalar.cuh"
#include "syncfree/loop/loops.hpp"

namespace syncfree::cuda {
namespace {

/// Copies of a body's arrays in device memory; arrays at the same address share one copy.
class Mirror {
public:
  template <class V> V* copy(V* host, std::int64_t count)
  {
    if (count == 0) return nullptr;
    const auto [place, fresh] = copies_.try_emplace(host);
    if (fresh) place->second = Bytes(reinterpret_cast<const char*>(host), count * sizeof(V));
    return reinterpret_cast<V*>(place->second.data());
  }
  template <class... Members> void move(Members&... members) { (move_one(members), ...); }

  /// Copies the values that kernels wrote back to the host's arrays.
  void fetch() const
  {
    for (void* host : written_) {
      const Bytes& copy = copies_.at(host);
      copy.read(static_cast<char*>(host), 0, copy.size(), nullptr);
    }
  }

private:
  using Bytes = DeviceArray<char>;

  template <class V, class T> void move_one(Input<V, T>& a) { a.data = copy(a.data, a.length); }
  template <class T> void move_one(InOut<T>& a)
  {
    if (a.length > 0) written_.push_back(a.data);
    a.data = copy(a.data, a.length);
  }
  template <class I> void move_one(PatternView<I>& p)
  {
    const I entries = p.nnz();
    p.row_begin = copy(p.row_begin, p.n + 1);
    p.column = copy(p.column, entries);
  }
  template <class I> void move_one(ColumnsView<I>& p)
  {
    const I entries = p.nnz();
    p.column_begin = copy(p.column_begin, p.n + 1);
    p.row = copy(p.row, entries);
  }

  std::map<const void*, Bytes> copies_;
  std::vector<void*> written_;
};

template <class T, class I> void move_to(Mirror* m, SpmvCsr<T, I>* k) { m->move(k->A, k->a_, k->x_, k->y_); }
template <class T, class I> void move_to(Mirror* m, SpmvCsc<T, I>* k) { m->move(k->A, k->a_, k->x_, k->y_); }
template <class T, class I, bool lower> void move_to(Mirror* m, TriangularSolveCsr<T, I, lower>* k)
{
  m->move(k->L, k->l_, k->d_, k->b_, k->x_);
}
template <class T, class I, bool lower> void move_to(Mirror* m, TriangularSolveCsc<T, I, lower>* k)
{
  m->move(k->L, k->l_, k->d_, k->x_);
}
template <class T, class I> void move_to(Mirror* m, GaussSeidelCsr<T, I>* k)
{
  m->move(k->A, k->a_, k->b_, k->x_);
  k->diagonal = m->copy(k->diagonal, k->A.n);
}
template <class T, class I> void move_to(Mirror* m, GaussSeidelCsc<T, I>* k)
{
  m->move(k->A, k->a_, k->r_, k->x_);
  k->diagonal = m->copy(k->diagonal, k->A.n);
}
template <class T, class I> void move_to(Mirror* m, Ilu0Csr<T, I>* k)
{
  m->move(k->A, k->a_);
  k->diagonal = m->copy(k->diagonal, k->A.n);
}
template <class T, class I> void move_to(Mirror* m, Ic0Csr<T, I>* k) { m->move(k->A, k->a_); }
void move_to(Mirror* m, Script* k)
{
  const int accesses = k->begin[k->lines];
  m->move(k->x_, k->seen_);
  k->begin = m->copy(k->begin, k->lines + 1);
  k->op = m->copy(k->op, accesses);
  k->where = m->copy(k->where, accesses);
}

/// Each iteration replaces its own value by one that depends on it and on those of earlier iterations.
struct Gather {
  int n;
  const int *begin, *where;
  InOut<double> x_;

  int iterations() const { return n; }
  template <class At> SYNCFREE_HD void operator()(At& at, int i) const
  {
    const auto x = at[x_];
    number_t<At, double> sum(i + 1);
    for (int k = begin[i]; k < begin[i + 1]; ++k) sum += x[where[k]];
    x[i] = 0.5 * x[i] + 0.015625 * sum;
  }
};
void move_to(Mirror* m, Gather* k)
{
  const int reads = k->begin[k->n];
  m->move(k->x_);
  k->begin = m->copy(k->begin, k->n + 1);
  k->where = m->copy(k->where, reads);
}

/// Runs the loop `times` times in a row on copies of the body's arrays.
template <class Body> Status run_on_device(DeviceLoop<Body>& loop, Body body, int times = 1)
{
  Mirror mirror;
  move_to(&mirror, &body);
  for (int k = 1; k < times; ++k) EXPECT_TRUE(loop.execute(body, nullptr).ok());
  Status last = loop.execute(body, nullptr);
  mirror.fetch();
  return last;
}

const char* name_of(Grain grain) { return grain == Grain::warp ? ", a warp an iteration" : ", a thread an iteration"; }

template <class T> bool all_finite(const std::vector<T>& v)
{
  return std::all_of(v.begin(), v.end(), [](const T& x) { return is_finite(x); });
}

/// A body whose kernels are compiled in this file, as the library's are compiled with other options.
template <class Body> struct OfThisFile : Body {};

template <class TypeParam> class DeviceLoopKernels : public testing::Test {
protected:
  using T = typename TypeParam::Scalar;
  using P = LoopProblem<T, typename TypeParam::Index>;
  using N = DeviceScalar<T>;
  using Out = LoopOutput<T>;

  /// Results that are rounded differently need not overflow in the same places.
  static bool agree(bool bitwise, const Out& a, const Out& b)
  {
    const bool same = same_numbers(a.x, b.x) && same_numbers(a.r, b.r);
    if (same || bitwise) return same;
    const bool finite = all_finite(a.x) && all_finite(a.r) && all_finite(b.x) && all_finite(b.r);
    return !finite || (close_numbers(a.x, b.x) && close_numbers(a.r, b.r, a.first_r));
  }

  /// Calls visit(name, make) like the function of the same name.
  template <class Visit> static void for_each_kernel(const Visit& visit)
  {
    syncfree::for_each_kernel<P, N>([&](const std::string& kernel, const auto& make) {
      visit(kernel, [&](const P& p, Out& out) { return OfThisFile<decltype(make(p, out))>{make(p, out)}; });
    });
  }

  /// Uses one trace for both sets of values.
  template <class Make>
  static void check(const std::string& name, const P& first, const P& second, const Make& make, Grain grain)
  {
    const Watchdog watchdog(name, patience);
    Out out, expected;
    DeviceLoop<decltype(make(first, out))> loop;
    const Status status = loop.trace(make(first, out), grain);
    ASSERT_TRUE(status.ok()) << name << ": " << status.message();
    const bool rounded_alike = !is_complex_v<T> || name.find("IC(0)") == std::string::npos;  // except complex roots
    const bool comparable = rounded_alike || name.find("growth") == std::string::npos;  // rounding errors grow, too
    for (const P* problem : {&first, &second, &first}) {
      run_in_sequence(make(*problem, expected));
      const Status ran = run_on_device(loop, make(*problem, out));
      ASSERT_TRUE(ran.ok()) << name << ": " << ran.message();
      if (comparable) ASSERT_TRUE(agree(loop.reproducible() && rounded_alike, out, expected)) << name;
    }
  }
};
#ifdef SYNCFREE_FEW_TYPES
using SomeTypes = AllTypes;
#else
using SomeTypes = testing::Types<Types<double, std::int32_t>, Types<float, std::int64_t>,
                                 Types<std::complex<double>, std::int32_t>>;
#endif
TYPED_TEST_SUITE(DeviceLoopKernels, SomeTypes);

TYPED_TEST(DeviceLoopKernels, equal_their_sequential_run_on_every_battery_matrix_and_again_with_new_numbers)
{
  using P = typename TestFixture::P;
  for (const BatteryEntry& entry : battery()) {
    if (!entry.factorable || (short_run() && std::string(entry.name) == "n_100000")) continue;
    const P first(make_battery_matrix<typename P::T, typename P::I>(entry.name, 0));
    const P second(make_battery_matrix<typename P::T, typename P::I>(entry.name, 1));
    TestFixture::for_each_kernel([&](const std::string& kernel, const auto& make) {
      for (const Grain grain : {Grain::thread, Grain::warp})
        this->check(kernel + " of " + entry.name + name_of(grain), first, second, make, grain);
    });
  }
}

/// A value that is not finite reaches all iterations that read it, and no thread waits forever for it.
TYPED_TEST(DeviceLoopKernels, end_with_nan_among_the_numbers)
{
  using P = typename TestFixture::P;
  using T = typename P::T;
  auto A = make_battery_matrix<T, typename P::I>("random_band");
  A.value[A.value.size() / 3] = T(std::numeric_limits<real_t<T>>::quiet_NaN());
  const P p(A);
  TestFixture::for_each_kernel([&](const std::string& kernel, const auto& make) {
    const Watchdog watchdog(kernel + " with NaN", patience);
    typename TestFixture::Out out, expected;
    run_in_sequence(make(p, expected));
    DeviceLoop<decltype(make(p, out))> loop;
    ASSERT_TRUE(loop.trace(make(p, out)).ok());
    ASSERT_TRUE(run_on_device(loop, make(p, out)).ok());
    for (std::size_t k = 0; k < out.x.size(); ++k)
      ASSERT_EQ(is_finite(out.x[k]), is_finite(expected.x[k])) << kernel << ", " << k;
  });
}

/// Compares with `times` sequential runs of the table.
void expect_as_text_says(DeviceLoop<Script>& loop, const Script::Table& table, int entries, int times = 1)
{
  const auto expected = numbers_of(table, entries, [times](const Script& body) {
    for (int k = 0; k < times; ++k) in_sequence(body);
  });
  const auto ours = numbers_of(table, entries, [&](const Script& body) {
    const Status ran = run_on_device(loop, body, times);
    EXPECT_TRUE(ran.ok()) << ran.message();
  });
  ASSERT_EQ(ours, expected);
}

TEST(DeviceLoop, runs_random_loops_as_their_text_says)
{
  const Watchdog watchdog("a random loop", patience);
  for (unsigned seed = 0; seed < 48; ++seed)
    for (const Grain grain : {Grain::thread, Grain::warp}) {
      SCOPED_TRACE(std::to_string(seed) + name_of(grain));
      const int entries = seed % 3 ? 40 + 100 * static_cast<int>(seed) : 5;
      const auto table = random_table(seed, 3000, entries, 3, seed % 4 ? 3 : 2);
      DeviceLoop<Script> loop;
      ASSERT_TRUE(loop.trace(script_of(table, entries), grain).ok());
      EXPECT_EQ(loop.signal(), Signal::flags);
      EXPECT_TRUE(seed % 4 || loop.reproducible()) << "nobody adds";
      for (int again = 0; again < 3; ++again) expect_as_text_says(loop, table, entries);
    }
}

/// Every iteration adds to random entries and reads its own: uses counters.
TEST(DeviceLoop, runs_random_loops_whose_reads_are_affine)
{
  const Watchdog watchdog("a random loop of additions", patience);
  const int lines = 3000;
  for (unsigned seed = 0; seed < 12; ++seed)
    for (const Grain grain : {Grain::thread, Grain::warp}) {
      SCOPED_TRACE(std::to_string(seed) + name_of(grain));
      const auto table = random_table_of_affine_reads(seed, lines);
      DeviceLoop<Script> loop;
      ASSERT_TRUE(loop.trace(script_of(table, lines), grain).ok());
      ASSERT_EQ(loop.signal(), Signal::counts);
      EXPECT_FALSE(loop.reproducible());
      for (int again = 0; again < 3; ++again) expect_as_text_says(loop, table, lines);
    }
}

/// The waiting iteration and its predecessor are in one warp, in neighbouring warps, in one thread block, and in two.
TEST(DeviceLoop, runs_chains_of_every_stride)
{
  const Watchdog watchdog("a chain", patience);
  const int lines = 2000;
  for (const int stride : {1, 2, 7, 31, 32, 33, 255, 256, 257})
    for (const Grain grain : {Grain::thread, Grain::warp}) {
      SCOPED_TRACE(std::to_string(stride) + name_of(grain));
      Script::Table flow, anti;
      for (int i = 0; i < lines; ++i) {
        flow.line({{writes, i}, {reads, std::max(i - stride, 0)}});
        anti.line({{reads, std::min(i + stride, lines)}, {writes, i}});
      }
      for (const Script::Table* table : {&flow, &anti}) {
        DeviceLoop<Script> loop;
        ASSERT_TRUE(loop.trace(script_of(*table, lines + 1), grain).ok());
        EXPECT_EQ(loop.grain(), grain);
        expect_as_text_says(loop, *table, lines + 1);
        expect_as_text_says(loop, *table, lines + 1);
      }
    }
}

/// Iteration i reads the values of the iterations earlier(i). Compares `times` launches in a row, bit by bit.
template <class Earlier> void expect_gathered(int n, int times, const Earlier& earlier)
{
  Ints begin{0}, where;
  for (int i = 0; i < n; ++i) {
    for (const int j : earlier(i)) where.push_back(j);
    begin.push_back(static_cast<int>(where.size()));
  }
  std::vector<double> expected(n, 1), x(n);
  const auto body = [&](std::vector<double>& v) { return Gather{n, begin.data(), where.data(), {v.data(), n, "x"}}; };
  for (int k = 0; k < times; ++k) run_in_sequence(body(expected));
  for (const Grain grain : {Grain::thread, Grain::warp}) {
    SCOPED_TRACE(name_of(grain));
    x.assign(n, 1);
    DeviceLoop<Gather> loop;
    ASSERT_TRUE(loop.trace(body(x), grain).ok());
    ASSERT_TRUE(loop.awaits());
    ASSERT_EQ(loop.grain(), grain);
    ASSERT_TRUE(run_on_device(loop, body(x), times).ok());
    ASSERT_EQ(x, expected);
  }
}

/// Predecessors are in the neighbouring lane, in the same warp, in the same thread block, and in earlier ones; all of
/// them are still pending, or most are complete.
TEST(DeviceLoop, waits_in_the_body_where_the_place_that_is_read_tells_for_whom)
{
  const Watchdog watchdog("a loop that waits in its body", patience);
  const int few = short_run() ? 1 : 30;
  for (const int stride : {1, 2, 7, 31, 32, 33, 255, 256, 257}) {
    SCOPED_TRACE(stride);
    expect_gathered(2000, few, [&](int i) { return i < stride ? Ints{} : Ints{i - stride}; });
  }
  expect_gathered(1000, few, [](int i) {
    Ints all;
    for (int j = std::max(i - i % 32 - 32, 0); j < i; ++j) all.push_back(j);
    return all;
  });
  std::mt19937 random(5);
  expect_gathered(3000, 10 * few, [&](int i) {
    Ints some;
    for (int k = 0; i > 0 && k < 3; ++k) some.push_back(static_cast<int>(random() % i));
    return some;
  });
}

TEST(DeviceLoop, takes_a_warp_where_waits_are_in_the_body_and_iterations_read_more_than_a_little)
{
  const auto grain = [](int reads) {
    const int n = 600;
    Ints begin{0}, where;
    for (int i = 0; i < n; ++i) {
      for (int j = std::max(0, i - reads); j < i; ++j) where.push_back(j);
      begin.push_back(static_cast<int>(where.size()));
    }
    DeviceLoop<Gather> loop;
    EXPECT_TRUE(loop.trace({n, begin.data(), where.data(), {nullptr, n, "x"}}).ok());
    EXPECT_TRUE(loop.awaits());
    return loop.grain();
  };
  EXPECT_EQ(grain(2), Grain::thread);
  EXPECT_EQ(grain(8), Grain::warp);
}

TEST(DeviceLoop, runs_iterations_that_wait_for_all_before_them_in_their_warp_and_in_the_warp_before)
{
  const Watchdog watchdog("iterations of one warp", patience);
  const int lines = 1000;
  Script::Table table;
  for (int i = 0; i < lines; ++i) {
    std::vector<std::pair<Access, int>> line{{writes, i}};
    for (int j = std::max(i - i % 32 - 32, 0); j < i; ++j) line.emplace_back(reads, j);
    table.line(line);
  }
  for (const Grain grain : {Grain::thread, Grain::warp}) {
    DeviceLoop<Script> loop;
    ASSERT_TRUE(loop.trace(script_of(table, lines), grain).ok());
    for (int again = 0; again < 10; ++again) expect_as_text_says(loop, table, lines);
  }
}

/// Each launch continues where the previous one ended; nothing is reset in between.
TEST(DeviceLoop, runs_again_and_again_without_a_pause)
{
  const Watchdog watchdog("many launches", patience);
  const int lines = 3000, entries = 300;
  for (const bool counts : {false, true}) {
    const auto table = counts ? random_table_of_affine_reads(5, lines) : random_table(5, lines, entries, 3);
    for (const Grain grain : {Grain::thread, Grain::warp}) {
      SCOPED_TRACE(name_of(grain));
      DeviceLoop<Script> loop;
      const int length = counts ? lines : entries;
      ASSERT_TRUE(loop.trace(script_of(table, length), grain).ok());
      ASSERT_EQ(loop.signal(), counts ? Signal::counts : Signal::flags);
      expect_as_text_says(loop, table, length, 300);
    }
  }
}

/// Also after the loop has been traced again or destroyed: the graph keeps the arrays it was captured with.
TEST(DeviceLoop, can_be_captured_and_replayed)
{
  const Watchdog watchdog("a captured loop", patience);
  const int lines = 1000, entries = 200, replays = 5;
  const auto table = random_table(3, lines, entries, 3), other = random_table(4, lines / 2, entries, 3);
  const auto expected = numbers_of(table, entries, [](const Script& body) {
    for (int k = 0; k < 4 * replays; ++k) in_sequence(body);
  });
  const auto ours = numbers_of(table, entries, [&](Script body) {
    DeviceLoop<Script> loop;
    ASSERT_TRUE(loop.trace(body).ok());
    Mirror mirror;
    move_to(&mirror, &body);
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    EXPECT_TRUE(loop.execute(body, stream).ok());
    ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
    for (int k = 0; k < replays; ++k) {
      EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
      EXPECT_TRUE(loop.execute(body, stream).ok());
    }
    ASSERT_TRUE(loop.trace(script_of(other, entries)).ok());
    for (int k = 0; k < replays; ++k) EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
    loop = DeviceLoop<Script>();
    for (int k = 0; k < replays; ++k) EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    mirror.fetch();
    EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  });
  EXPECT_EQ(ours, expected);
}

TEST(DeviceLoop, takes_a_warp_for_long_iterations_of_which_few_run_at_once)
{
  const int lines = 600;
  Script::Table independent, chain, dense;
  for (int i = 0; i < lines; ++i) {
    independent.line({{writes, i}});
    chain.line({{writes, i}, {reads, std::max(i - 1, 0)}});
    std::vector<std::pair<Access, int>> line{{writes, i}};
    for (int j = 0; j < i; ++j) line.emplace_back(reads, j);
    dense.line(line);
  }
  const auto grain = [&](const Script::Table& table, Grain wanted = Grain::chosen) {
    DeviceLoop<Script> loop;
    EXPECT_TRUE(loop.trace(script_of(table, lines), wanted).ok());
    return loop.grain();
  };
  EXPECT_EQ(grain(independent), Grain::thread);
  EXPECT_EQ(grain(independent, Grain::warp), Grain::thread) << "nobody waits";
  EXPECT_EQ(grain(chain), Grain::thread);
  EXPECT_EQ(grain(chain, Grain::warp), Grain::warp);
  EXPECT_EQ(grain(dense), Grain::warp);
  EXPECT_EQ(grain(dense, Grain::thread), Grain::thread);
}

TEST(DeviceLoop, refuses_what_the_host_refuses_in_its_words)
{
  Script::Table table, longer;
  table.line({{writes, 0}});
  longer = table;
  longer.line({{writes, 0}, {reads, 7}});
  DeviceLoop<Script> loop;
  const Status untraced = loop.execute(script_of(table, 1), nullptr);
  EXPECT_EQ(untraced.code, Code::invalid_argument);
  EXPECT_EQ(untraced.detail, "a loop runs with the body it was traced with");
  ASSERT_TRUE(loop.trace(script_of(table, 1)).ok());
  EXPECT_EQ(loop.execute(script_of(longer, 8), nullptr).code, Code::invalid_argument);
  expect_as_text_says(loop, table, 1);
  LoopTrace<int> trace;
  const Status theirs = trace_loop(script_of(longer, 7), &trace), ours = loop.trace(script_of(longer, 7));
  EXPECT_EQ(ours.code, Code::invalid_argument);
  EXPECT_EQ(ours.row, 1);
  EXPECT_EQ(ours.column, 7);
  EXPECT_EQ(ours.message(), theirs.message());
  EXPECT_EQ(loop.execute(script_of(table, 1), nullptr).code, Code::invalid_argument)
      << "a failed trace forgets the last";
}

TEST(DeviceLoop, takes_another_pattern_when_it_is_traced_again)
{
  const Watchdog watchdog("another pattern", patience);
  DeviceLoop<Script> loop;
  for (const int lines : {300, 5000, 0, 1, 257}) {
    SCOPED_TRACE(lines);
    const auto table = random_table(static_cast<unsigned>(lines), lines, 50, 3);
    ASSERT_TRUE(loop.trace(script_of(table, 50)).ok());
    expect_as_text_says(loop, table, 50);
    expect_as_text_says(loop, table, 50);
  }
}

}  // namespace
}  // namespace syncfree::cuda
