/// Litmus tests on a device: threads pass values by the functions of the folder ready, many times, and count what is
/// wrong. They are those of tests/model/LITMUS.md, in its numbers where it has one. weaken.py builds this program again
/// for each memory order that it weakens, and tells which tests must notice.
///
///     stress [NAME...]      runs the tests named, or all; a line `NAME: n wrong` each; exit status 1 if n > 0

#include <cooperative_groups.h>
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "syncfree/cuda/ready.cuh"

namespace syncfree::cuda {
namespace {

using Count = unsigned long long;

void check(cudaError_t error, const char* what)
{
  if (error == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorString(error));
  std::fflush(stdout);
  std::_Exit(1);
}
#define CHECKED(call) check(call, #call)

/// Zeroed memory that host and device see.
template <class T> T* shared_by_all(std::size_t n)
{
  void* memory = nullptr;
  CHECKED(cudaMallocManaged(&memory, n * sizeof(T)));
  std::memset(memory, 0, n * sizeof(T));
  return static_cast<T*>(memory);
}

template <class T> T* on_device(std::size_t n, int byte = 0)
{
  void* memory = nullptr;
  CHECKED(cudaMalloc(&memory, n * sizeof(T)));
  CHECKED(cudaMemset(memory, byte, n * sizeof(T)));
  return static_cast<T*>(memory);
}

TicketCounter* make_counter()
{
  auto* const counter = shared_by_all<TicketCounter>(1);
  counter->limit = 500000000;  // nanoseconds: what waits longer is wrong
  return counter;
}

__device__ void expect(bool holds, Count* wrong)
{
  if (!holds) atomicAdd(wrong, Count(1));
}

constexpr unsigned apart = 32;  ///< words: a cache line for each

/// An ordinary read by way of the first-level cache, each time.
__device__ unsigned load_again(const unsigned* word)
{
  unsigned v;
  asm volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"(__cvta_generic_to_global(word)) : "memory");
  return v;
}

// 1: blocks in pairs. The reader's first-level cache holds the words of the round before: its second warp reads what
// stands next to them, as rows do that share a line.
__global__ void pass_by_flags(TicketCounter* counter, unsigned* flags, unsigned* data, unsigned rounds, Count* wrong)
{
  __shared__ unsigned long long over;
  if (threadIdx.x == 0) over = 0;
  const BlockTicket own = take_ticket(counter);
  const unsigned pair = static_cast<unsigned>(own.index / 2), lane = threadIdx.x % 32;
  const bool reads = own.index % 2 != 0;
  unsigned *const full = flags + 2 * apart * pair, *const empty = full + apart;
  unsigned* const word = data + apart * (32 * pair + lane);
  if (threadIdx.x >= 32) {
    unsigned beside = 0;
    while (reads && load_relaxed_block(&over) == 0) beside |= load_again(word + 1);
    return expect(beside == 0, wrong);
  }
  for (unsigned round = 1; round <= rounds; ++round) {
    if (reads && lane == 0) expect(wait_for(full, round, BoundedWait(round)), wrong);
    __syncwarp();
    if (reads) expect(*word == round, wrong);
    else *word = round;
    __syncwarp();
    if (lane == 0) store_release(reads ? empty : full, round);
    if (!reads && lane == 0) expect(wait_for(empty, round, BoundedWait(round)), wrong);
    __syncwarp();
  }
  if (lane == 0) store_relaxed_block(&over, 1);
}

// 2: flags of two publishers are polled without an order, then one fence. Each lane has its own.
__global__ void pass_by_fence(TicketCounter* counter, unsigned* flags, unsigned* data, unsigned rounds, Count* wrong)
{
  const BlockTicket own = take_ticket(counter);
  const unsigned role = own.index % 3, slot = 32 * static_cast<unsigned>(own.index / 3) + threadIdx.x;
  unsigned *const flag = flags + 3 * apart * slot, *const word = data + 2 * apart * slot;
  for (unsigned round = 1; round <= rounds; ++round) {
    if (role < 2) {
      word[apart * role] = round;
      store_release(flag + apart * role, round);
      expect(wait_for(flag + 2 * apart, round, BoundedWait(round)), wrong);
      continue;
    }
    const auto have_come = [=] { return load_relaxed(flag) == round && load_relaxed(flag + apart) == round; };
    expect(BoundedWait(round).until(have_come, [] {}), wrong);
    fence_acquire();
    expect(word[0] == round && word[apart] == round, wrong);
    store_release(flag + 2 * apart, round);
  }
}

// 3: two publishers of a part each, and one of two parts with one fence for both counts
__global__ void add_parts(TicketCounter* counter, unsigned* flags, double* sums, unsigned rounds, Count* wrong)
{
  const BlockTicket own = take_ticket(counter);
  const unsigned role = own.index % 4, slot = 32 * static_cast<unsigned>(own.index / 4) + threadIdx.x;
  unsigned *const count = flags + 3 * apart * slot, *const ready = count + 2 * apart;
  double* const sum = sums + apart * slot;
  for (unsigned round = 1; round <= rounds; ++round) {
    if (role == 3) {
      const auto have_come = [=] { return load_acquire(count) == 3 && load_acquire(count + apart) == 1; };
      expect(BoundedWait(round).until(have_come, [] {}), wrong);
      expect(sum[0] == 3.0 * round && sum[apart / 2] == round, wrong);
      sum[0] = sum[apart / 2] = 0;
      count[0] = count[apart] = 0;
      store_release(ready, round);
      continue;
    }
    red_add_part_relaxed(sum, static_cast<double>(round));
    if (role == 2) {
      red_add_part_relaxed(sum + apart / 2, static_cast<double>(round));
      fence_release();
      increment_relaxed(count);
      increment_relaxed(count + apart);
    } else {
      increment_release(count);
    }
    expect(wait_for(ready, round, BoundedWait(round)), wrong);
  }
}

/// The same between warps of a block, in shared memory.
__global__ void add_parts_in_block(TicketCounter* counter, unsigned rounds, Count* wrong)
{
  __shared__ unsigned count[32], ready[32];
  __shared__ double sum[32];
  (void)take_ticket(counter);
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (warp == 0) count[lane] = ready[lane] = 0, sum[lane] = 0;
  __syncthreads();
  for (unsigned round = 1; round <= rounds; ++round) {
    if (warp > 0) {
      red_add_part_relaxed(sum + lane, static_cast<double>(round));
      increment_release_block(count + lane);
      expect(BoundedWait(round).until([&] { return load_acquire_block(ready + lane) == round; }, [] {}), wrong);
      continue;
    }
    expect(BoundedWait(round).until([&] { return load_acquire_block(count + lane) == 3; }, [] {}), wrong);
    expect(sum[lane] == 3.0 * round, wrong);
    sum[lane] = 0;
    count[lane] = 0;
    increment_release_block(ready + lane);
  }
}

template <class N> struct Real {
  using type = N;
};
template <class R> struct Real<::cuda::std::complex<R>> {
  using type = R;
};
template <class R> struct Real<ColumnPack<R>> {
  using type = R;
};

/// All parts are v, but the last is a NaN with the sentinel's bits if `spoilt`.
template <class N> __device__ N number_of(unsigned v, bool spoilt)
{
  using R = typename Real<N>::type;
  N number = SentinelValue<N>::sentinel_value();
  R* const part = reinterpret_cast<R*>(&number);
  constexpr int count = sizeof(N) / sizeof(R);
  for (int k = 0; k < (spoilt ? count - 1 : count); ++k) part[k] = static_cast<R>(v);
  return number;
}
template <class N> __device__ bool is_number(const N& number, unsigned v, bool spoilt)
{
  using R = typename Real<N>::type;
  const R* const part = reinterpret_cast<const R*>(&number);
  constexpr int count = sizeof(N) / sizeof(R);
  bool right = true;
  for (int k = 0; k < count; ++k)
    right = right && (spoilt && k == count - 1 ? part[k] != part[k] : part[k] == static_cast<R>(v));
  return right;
}

// 4, 6: a chain of rows, one a thread of a block each, by values that are their own flags, in two boxes. Every seventh
// launch passes a NaN on.
template <class N>
__global__ void pass_values(TicketCounter* counter, typename SentinelValue<N>::word* boxes, unsigned n, Count* wrong)
{
  using Mail = SentinelValue<N>;
  const BlockTicket own = take_ticket(counter);
  trigger_dependent_launch();  // the next launch's tickets follow
  wait_for_primary_launch();
  const unsigned row = static_cast<unsigned>(own.index), launch = static_cast<unsigned>(own.launch);
  const std::size_t lane = threadIdx.x, lanes = blockDim.x;
  const auto slot = [&](unsigned box, unsigned i) { return boxes + ((box * n + i) * lanes + lane) * Mail::words; };
  const bool spoilt = launch % 7 == 6;
  N seen = number_of<N>(launch, spoilt);
  if (row > 0) {
    seen = Mail::poll(slot(launch & 1, row - 1));
    expect(BoundedWait(row).until([&] { return Mail::arrived(seen); },
                                  [&] { seen = Mail::poll(slot(launch & 1, row - 1)); }), wrong);
    expect(is_number(seen, launch + row - 1, spoilt), wrong);
  }
  Mail::clear(slot(~launch & 1, row));
  const N own_number = number_of<N>(launch + row, spoilt);
  if (lane % 2) Mail::publish(slot(launch & 1, row), own_number);
  else Mail::publish_if(true, slot(launch & 1, row), own_number);
}

// 5: the only reader clears
__global__ void pass_to_one(TicketCounter* counter, unsigned long long* box, Count* wrong)
{
  using Mail = SentinelValue<double>;
  const BlockTicket own = take_ticket(counter);
  const std::size_t slot = own.index / 2 * blockDim.x + threadIdx.x;
  const unsigned launch = static_cast<unsigned>(own.launch);
  if (own.index % 2 == 0) return Mail::publish(box + slot, launch);
  double seen = Mail::poll(box + slot);
  expect(BoundedWait(0).until([&] { return Mail::arrived(seen); }, [&] { seen = Mail::poll(box + slot); }), wrong);
  expect(seen == launch, wrong);
  Mail::clear(box + slot);
}

/// Values and a counter between two warps of a block; then a panel with a counter.
__global__ void pass_in_block(TicketCounter* counter, unsigned rounds, Count* wrong)
{
  using Mail = SharedSentinelValue<double>;
  __shared__ double slots[32], panel[32];
  __shared__ SharedCounter read, filled;
  (void)take_ticket(counter);
  const unsigned lane = threadIdx.x % 32;
  const auto wait_until_told = [&](const SharedCounter& told, unsigned n) {
    expect(BasicBoundedWait<OnGiveUp::leave_later>().until([&] { return told.read_count() >= n; }, [] {}), wrong);
  };
  if (threadIdx.x < 32) Mail::clear_shared(slots + lane);
  if (threadIdx.x == 0) read.start(), filled.start();
  __syncthreads();
  for (unsigned round = 1; round <= rounds; ++round) {
    if (threadIdx.x < 32) {
      wait_until_told(read, round - 1);
      panel[lane] = round;
      if (round % 2) Mail::store_shared(slots + lane, round);
      else Mail::store_ordinary_if(true, slots + lane, round);
      __syncwarp();
      if (lane == 0) filled.tell(round);
      __syncwarp();
      continue;
    }
    double seen = Mail::load_shared(slots + lane);
    expect(BasicBoundedWait<OnGiveUp::leave_later>().until([&] { return Mail::is_stored(seen); },
                                                          [&] { seen = Mail::load_shared(slots + lane); }), wrong);
    expect(seen == round, wrong);
    Mail::clear_shared(slots + lane);
    wait_until_told(filled, round);
    expect(panel[lane] == round, wrong);
    __syncwarp();
    if (lane == 0) read.tell(round);
    __syncwarp();
  }
}

// 8: a ring of two panels that are copied in bulk
__global__ void pass_panels(TicketCounter* counter, const unsigned* panels, unsigned rounds, Count* wrong)
{
  constexpr unsigned depth = 2, words = 256;
  __shared__ alignas(16) unsigned ring[depth][words];
  __shared__ Mbarrier full[depth], empty[depth];
  (void)take_ticket(counter);
  if (threadIdx.x == 0) {
    for (unsigned k = 0; k < depth; ++k) full[k].init(1), empty[k].init(1);
    fence_mbarrier_init();
  }
  __syncthreads();
  for (unsigned round = 0; round < rounds; ++round) {
    const unsigned at = round % depth, turn = round / depth;
    if (threadIdx.x == 32) {
      if (turn > 0) empty[at].wait((turn - 1) & 1);
      full[at].arrive_expect_tx(sizeof ring[at]);
      full[at].bulk_copy(ring[at], panels + words * (round % 64), sizeof ring[at]);
    } else if (threadIdx.x < 32) {
      full[at].wait(turn & 1);
      for (unsigned k = threadIdx.x; k < words; k += 32) expect(ring[at][k] == 1000 * (round % 64) + k, wrong);
      __syncwarp();
      if (threadIdx.x == 0) empty[at].arrive();
      __syncwarp();
    }
  }
}

/// The same with ordinary stores by a warp, which arrive() makes visible.
__global__ void pass_stores(TicketCounter* counter, unsigned rounds, Count* wrong)
{
  constexpr unsigned depth = 2;
  __shared__ unsigned ring[depth][32];
  __shared__ Mbarrier full[depth], empty[depth];
  (void)take_ticket(counter);
  if (threadIdx.x == 0) {
    for (unsigned k = 0; k < depth; ++k) full[k].init(32), empty[k].init(32);
    fence_mbarrier_init();
  }
  __syncthreads();
  for (unsigned round = 0; round < rounds; ++round) {
    const unsigned at = round % depth, turn = round / depth, lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
      if (turn > 0) empty[at].wait((turn - 1) & 1);
      ring[at][lane] = round;
      full[at].arrive();
    } else {
      full[at].wait(turn & 1);
      expect(ring[at][31 - lane] == round, wrong);
      empty[at].arrive();
    }
  }
}

// 9: three warps take steps in turn
__global__ void take_turns(TicketCounter* counter, unsigned steps, Count* wrong)
{
  __shared__ volatile unsigned value[32];
  (void)take_ticket(counter);
  const unsigned group = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (unsigned step = group; step < steps; step += 3) {
    if (step > 0) {
      named_barrier_sync(1 + group, 64);
      expect(value[31 - lane] == step - 1, wrong);
    }
    __syncwarp();
    value[lane] = step;
    if (step + 1 < steps) named_barrier_arrive(1 + (group + 1) % 3, 64);
  }
}

// 10: ghosts in the shared memory of the other block of a cluster
__global__ void __cluster_dims__(2, 1, 1) pass_in_cluster(TicketCounter* counter, unsigned rounds, Count* wrong)
{
  using Mail = SharedSentinelValue<double>;
  __shared__ double ghosts[32];
  (void)take_ticket(counter);
  const auto cluster = cooperative_groups::this_cluster();
  double* const there = cluster.map_shared_rank(ghosts, 1);
  for (unsigned round = 1; round <= rounds; ++round) {
    if (cluster.block_rank() == 1) Mail::clear_shared(ghosts + threadIdx.x);
    cluster_sync(2);
    if (cluster.block_rank() == 0) {
      SentinelValue<double>::publish_anywhere_if(true, reinterpret_cast<Count*>(there + threadIdx.x), round);
    } else {
      double seen = Mail::load_shared(ghosts + threadIdx.x);
      expect(BasicBoundedWait<OnGiveUp::leave_later>().until(
               [&] { return Mail::is_stored(seen); }, [&] { seen = Mail::load_shared(ghosts + threadIdx.x); }), wrong);
      expect(seen == round, wrong);
    }
    cluster_sync(2);
  }
}

/// A launch that begins while the one before is still writing.
__global__ void write_late(unsigned* word, unsigned value)
{
  trigger_dependent_launch();
  __nanosleep(20000);
  word[apart * threadIdx.x] = value;
}
__global__ void read_after_launch(const unsigned* word, unsigned value, Count* wrong)
{
  wait_for_primary_launch();
  expect(*static_cast<const volatile unsigned*>(word + apart * threadIdx.x) == value, wrong);
}

// 7: each ticket once
__global__ void draw_tickets(TicketCounter* counter, unsigned* drawn)
{
  const BlockTicket own = take_ticket(counter);
  if (threadIdx.x == 0) atomicAdd(drawn + own.index, 1u);
}

__global__ void reduce(unsigned long long* results, unsigned* word, unsigned* locked)
{
  const unsigned long long own = blockIdx.x * blockDim.x + threadIdx.x;
  red_min_relaxed(results, own + 5);
  red_max_relaxed(results + 1, own + 5);
  red_add_relaxed(results + 2, 1ull);
  red_or_relaxed(word, 1u << own % 32);
  unsigned seen = load_relaxed(locked);
  while (!compare_exchange_relaxed(locked, seen, seen + 1)) seen = load_relaxed(locked);
  (void)exchange_relaxed(results + 3, own);
}

unsigned processors()
{
  int device = 0, count = 0;
  CHECKED(cudaGetDevice(&device));
  CHECKED(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return static_cast<unsigned>(count);
}

template <class... Formal, class... Actual>
void launch_overlapping(void (*kernel)(Formal...), unsigned blocks, unsigned threads, Actual... actual)
{
  cudaLaunchAttribute overlaps = {};
  overlaps.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlaps.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.attrs = &overlaps;
  config.numAttrs = 1;
  CHECKED(cudaLaunchKernelEx(&config, kernel, static_cast<Formal>(actual)...));
}

bool is_wrong(const Count* wrong)
{
  CHECKED(cudaDeviceSynchronize());
  return *wrong != 0;
}

template <class N> void test_values(Count* wrong)
{
  const unsigned rows = processors(), lanes = 32;
  TicketCounter* const counter = make_counter();
  auto* const boxes = on_device<typename SentinelValue<N>::word>(2ull * rows * lanes * SentinelValue<N>::words, 0xff);
  for (int launch = 0; launch < 3000; ++launch) {
    launch_overlapping(pass_values<N>, rows, lanes, counter, boxes, rows, wrong);
    if (launch % 14 == 13 && is_wrong(wrong)) return;  // each launch may wait in vain
  }
}

struct Test {
  const char* name;
  void (*run)(Count* wrong);
};

const Test tests[] = {
  {"flags",
   [](Count* wrong) {
     const unsigned pairs = processors() / 2;
     pass_by_flags<<<2 * pairs, 64>>>(make_counter(), on_device<unsigned>(2 * apart * pairs),
                                      on_device<unsigned>(32 * apart * pairs), 20000, wrong);
   }},
  {"fence",
   [](Count* wrong) {
     const unsigned teams = processors() / 3;
     pass_by_fence<<<3 * teams, 32>>>(make_counter(), on_device<unsigned>(3 * apart * 32 * teams),
                                      on_device<unsigned>(2 * apart * 32 * teams), 10000, wrong);
   }},
  {"parts",
   [](Count* wrong) {
     const unsigned teams = processors() / 4;
     add_parts<<<4 * teams, 32>>>(make_counter(), on_device<unsigned>(3 * apart * 32 * teams),
                                  on_device<double>(apart * 32 * teams), 10000, wrong);
   }},
  {"parts_in_block",
   [](Count* wrong) { add_parts_in_block<<<processors(), 128>>>(make_counter(), 20000, wrong); }},
  {"values", test_values<double>},
  {"values_in_single", test_values<float>},
  {"complex_values", test_values<::cuda::std::complex<double>>},
  {"packs", test_values<ColumnPack<double>>},
  {"one_reader",
   [](Count* wrong) {
     const unsigned pairs = processors() / 2;
     TicketCounter* const counter = make_counter();
     auto* const box = on_device<unsigned long long>(pairs * 64, 0xff);
     for (int launch = 0; launch < 3000; ++launch) pass_to_one<<<2 * pairs, 64>>>(counter, box, wrong);
   }},
  {"in_block", [](Count* wrong) { pass_in_block<<<processors(), 64>>>(make_counter(), 50000, wrong); }},
  {"panels",
   [](Count* wrong) {
     auto* const panels = shared_by_all<unsigned>(64 * 256);
     for (unsigned k = 0; k < 64 * 256; ++k) panels[k] = 1000 * (k / 256) + k % 256;
     pass_panels<<<processors(), 64>>>(make_counter(), panels, 20000, wrong);
   }},
  {"stores", [](Count* wrong) { pass_stores<<<processors(), 64>>>(make_counter(), 50000, wrong); }},
  {"turns", [](Count* wrong) { take_turns<<<processors(), 96>>>(make_counter(), 99999, wrong); }},
  {"cluster",
   [](Count* wrong) { pass_in_cluster<<<processors() / 4 * 2, 32>>>(make_counter(), 20000, wrong); }},
  {"launches",
   [](Count* wrong) {
     auto* const word = on_device<unsigned>(32 * apart);
     for (unsigned launch = 1; launch <= 3000; ++launch) {
       write_late<<<1, 32>>>(word, launch);
       launch_overlapping(read_after_launch, 1, 32, static_cast<const unsigned*>(word), launch, wrong);
     }
   }},
  {"tickets",
   [](Count* wrong) {
     const unsigned blocks = 20000;
     TicketCounter* const counter = make_counter();
     auto* const drawn = shared_by_all<unsigned>(blocks);
     for (int launch = 0; launch < 10; ++launch) draw_tickets<<<blocks, 32>>>(counter, drawn);
     CHECKED(cudaDeviceSynchronize());
     for (unsigned k = 0; k < blocks; ++k) *wrong += drawn[k] != 10;
   }},
  {"reductions",
   [](Count* wrong) {
     auto* const results = shared_by_all<unsigned long long>(4);
     auto* const words = shared_by_all<unsigned>(2);
     results[0] = ~0ull;
     reduce<<<200, 256>>>(results, words, words + 1);
     CHECKED(cudaDeviceSynchronize());
     *wrong += (results[0] != 5) + (results[1] != 200 * 256 + 4) + (results[2] != 200 * 256) + (words[0] != ~0u) +
               (words[1] != 200 * 256) + (results[3] >= 200 * 256);
   }},
};

}  // namespace
}  // namespace syncfree::cuda

int main(int argc, char** argv)
{
  using namespace syncfree::cuda;
  const std::vector<std::string> wanted(argv + 1, argv + argc);
  auto* const wrong = shared_by_all<Count>(1);
  int run = 0, failed = 0;
  for (const Test& test : tests) {
    bool asked = wanted.empty();
    for (const std::string& name : wanted) asked = asked || name == test.name;
    if (!asked) continue;
    *wrong = 0;
    test.run(wrong);
    CHECKED(cudaGetLastError());
    CHECKED(cudaDeviceSynchronize());
    std::printf("%s: %llu wrong\n", test.name, *wrong);
    std::fflush(stdout);
    ++run;
    failed += *wrong != 0;
  }
  return run == 0 || failed > 0;
}
