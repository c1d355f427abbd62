#pragma once

/// Sync-free loops on the device: the body of syncfree/loop/body.hpp, traced on the host as in
/// syncfree/loop/loop.hpp, runs as a kernel.
///
///   SpmvCsr<double, int> body(pattern, a, x, y);   // pattern in host memory; a, x, y in device memory
///   cuda::DeviceLoop<SpmvCsr<double, int>> loop;
///   const Status traced = loop.trace(body);        // once for a pattern; reads the pattern, not the values
///   body.A = pattern_on_device;
///   const Status ran = loop.execute(body, stream);  // many times, with any values
///
/// The kernel is three steps around the body: a flag checker, the iteration, a flag setter (Somo and Cheshmi). A
/// thread runs an iteration, or a warp does if there are too few to fill the device and each is long: then the lanes
/// share the checks and the signals, and the first lane runs the body. If the location that is read determines which
/// iteration to wait for (SentinelHandoff), an iteration begins at once and waits inside the body, at each entry that
/// has not arrived.
///
/// Bodies with complex values use ::cuda::std::complex, which the host compiler accepts, too.

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "syncfree/call_guard.hpp"
#include "syncfree/cuda/detail/device.hpp"
#include "syncfree/cuda/detail/graph_retention.hpp"
#include "syncfree/cuda/detail/launch.hpp"
#include "syncfree/cuda/detail/wait_monitor.hpp"
#include "syncfree/cuda/ready.cuh"
#include "syncfree/loop/body.hpp"
#include "syncfree/loop/plan.hpp"
#include "syncfree/loop/trace.hpp"
#include "syncfree/status.hpp"

namespace syncfree::cuda {

/// What runs an iteration. Both give the same results if a loop is reproducible.
enum class Grain { chosen, thread, warp };

/// How device threads add to an entry to which others may add concurrently.
struct AddOnDevice {
  template <class T> static SYNCFREE_HD void add([[maybe_unused]] T* entry, [[maybe_unused]] const T& v)
  {
    SYNCFREE_ON_DEVICE(red_add_part_relaxed(entry, v));
  }
};

/// A plan in device memory, as LoopPlan.
///   word     per iteration. flags: the launch in which it ended last, from 1; counts: how many of those that it
///            waits for have ended, in this launch and all before. Never reset
///   counter  for take_ticket()
template <class I> struct LoopView {
  I iterations;
  Signal signal;
  std::uint64_t shared;
  const std::int64_t* begin;
  const I* other;
  const std::int32_t* count;
  unsigned* word;
  TicketCounter* counter;
};

/// Flag checker and flag setter of one iteration, for one of its `lanes` threads.
template <class I, int lanes> class Waits {
public:
  /// Prepares the waits of iteration i.
  ///   launch  from 1
  __device__ Waits(const LoopView<I>& loop, I i, int lane, unsigned launch)
      : loop_(loop), i_(i), lane_(lane), launch_(launch)
  {
    if (loop.signal == Signal::none) return;
    next_ = loop.begin[i] + lane;
    end_ = loop.begin[i + 1];
    waits_ = loop.signal == Signal::flags ? next_ < end_ : lane == 0 && loop.count[i] > 0;
    if (loop.signal == Signal::counts && waits_) wanted_ = static_cast<unsigned>(loop.count[i]) * launch;
  }

  /// Polls once; true when all that this lane waits for has arrived. settle() is required between that and the
  /// iteration.
  __device__ bool poll_flags()
  {
    if (!waits_) return true;
    if (loop_.signal == Signal::counts) return load_relaxed(loop_.word + i_) == wanted_;
    while (next_ < end_) {
      if (!batch_arrived()) return false;
      next_ += batch * lanes;
    }
    return true;
  }

  __device__ void settle() const
  {
    if (waits_) fence_acquire();
    if (lanes > 1) __syncwarp();
  }

  /// Signals that the iteration has ended.
  __device__ void signal() const
  {
    if (lanes > 1) __syncwarp();
    if (loop_.signal == Signal::flags && lane_ == 0) store_release(loop_.word + i_, launch_);
    if (loop_.signal == Signal::counts) count_for_others();
  }

private:
  static constexpr int batch = 4;  ///< flags polled together

  __device__ bool batch_arrived() const
  {
    unsigned seen[batch];
#pragma unroll
    for (int e = 0; e < batch; ++e) {
      const std::int64_t k = next_ + e * lanes;
      seen[e] = k < end_ ? load_relaxed(loop_.word + loop_.other[k]) : launch_;
    }
    bool all = true;
#pragma unroll
    for (int e = 0; e < batch; ++e) all = all && seen[e] == launch_;
    return all;
  }

  __device__ void count_for_others() const
  {
    if (next_ >= end_) return;
    fence_release();
    for (std::int64_t k = next_; k < end_; k += lanes) increment_relaxed(loop_.word + loop_.other[k]);
  }

  const LoopView<I>& loop_;
  I i_;
  int lane_;
  unsigned launch_, wanted_ = 0;
  bool waits_ = false;
  std::int64_t next_ = 0, end_ = 0;
};

template <bool adds_together, class Body>
__device__ auto accessor_of([[maybe_unused]] const Body& body, [[maybe_unused]] std::uint64_t shared)
{
  if constexpr (adds_together) return SharedAccessor<Body, AddOnDevice>(&body, shared);
  else return PlainAccessor();
}

/// True if T has a NaN.
template <class T> constexpr bool has_nan = std::is_floating_point_v<T>;
template <class R> constexpr bool has_nan<::cuda::std::complex<R>> = true;

template <class T> __device__ T nan_of()
{
  if constexpr (std::is_floating_point_v<T>) return T(NAN);
  else return T(NAN, NAN);
}

/// An entry in an iteration that was given up (syncfree/cuda/ready/ticket.cuh): it is read and written as NaN.
template <class T> struct AbandonedEntry {
  using Number = T;
  T* entry;

  __device__ T load() const
  {
    if constexpr (has_nan<T>) return nan_of<T>();
    else return *entry;
  }
  __device__ void store(const T& v) const
  {
    if constexpr (has_nan<T>) *entry = nan_of<T>();
    else *entry = v;
  }
  __device__ void add(const T& v) const { store(v); }
};
template <class T> struct AbandonedArray {
  T* data;
  __device__ Element<AbandonedEntry<T>> operator[](std::int64_t k) const
  {
    return Element<AbandonedEntry<T>>({data + k});
  }
};
class AbandonedAccessor {
public:
  template <class T> using Number = T;
  template <class V, class T> __device__ auto operator[](const Input<V, T>& a) const { return PlainAccessor()[a]; }
  template <class T> __device__ AbandonedArray<T> operator[](const InOut<T>& a) const { return {a.data}; }
};

/// An entry of the array with a hand-over.
template <class T, class At> struct AwaitedEntry {
  using Number = T;
  T* entry;
  std::int64_t location;
  const At* at;  ///< nullptr: an entry of another array, which needs no wait

  __device__ T load() const
  {
    if (at && !at->await(location))
      if constexpr (has_nan<T>) return nan_of<T>();
    return *entry;
  }
  __device__ void store(const T& v) const { *entry = v; }
  __device__ void add(const T& v) const { *entry = load() + v; }
};

template <class T, class At> struct AwaitedArray {
  T* data;
  const At* at;
  __device__ Element<AwaitedEntry<T, At>> operator[](std::int64_t k) const
  {
    return Element<AwaitedEntry<T, At>>(AwaitedEntry<T, At>{data + k, k, at});
  }
};

/// Waits for an entry's writer when the entry is read; flag checker and accessor in one.
template <class Body, class I> class AwaitingAccessor {
public:
  template <class T> using Number = T;

  __device__ AwaitingAccessor(const Body* body, const SentinelHandoff& hand_over, unsigned* word, I i, unsigned launch)
      : body_(body), hand_over_(hand_over), word_(word), i_(i), launch_(launch)
  {
  }

  template <class V, class T> __device__ auto operator[](const Input<V, T>& a) const { return PlainAccessor()[a]; }
  template <class T> __device__ AwaitedArray<T, AwaitingAccessor> operator[](const InOut<T>& a) const
  {
    return {a.data, place_in(body_, a) == hand_over_.place ? this : nullptr};
  }

  /// Waits for the writer; what it wrote before is then visible. No later iteration writes what this one reads.
  /// Returns false if the launch was given up.
  __device__ bool await(std::int64_t location) const
  {
    const std::int64_t writer = hand_over_.writer(location);
    return writer < 0 || writer >= i_ || wait_for(word_ + writer, launch_, BoundedWait(i_));
  }

private:
  const Body* body_;
  const SentinelHandoff& hand_over_;
  unsigned* word_;
  I i_;
  unsigned launch_;
};

constexpr int loop_threads = 256;

/// Runs an iteration that was given up. Not inlined: in the kernel it would take registers of its loop.
template <class Body, class I> __device__ __noinline__ void run_left(const Body& body, I i)
{
  AbandonedAccessor left;
  body(left, i);
}

/// owns       an iteration by `lanes` lanes, one or a whole warp; 256 / lanes consecutive ones by a thread block
/// waits      for the flags of the iterations in the plan, or for its own count; all lanes of a warp poll once per
///            turn, and those that are ready run while the others still wait
/// publishes  what the body wrote, then the iteration's flag, or an increment of the counts of those that wait for it
/// order      polls are relaxed, then one acquire before the body; release after it. Entries to which several
///            iterations add use relaxed atomics, and are read by threads that have seen the counts or flags of all
///            of them (ready.cuh)
/// progress   iterations wait for earlier ones: those of thread blocks with earlier tickets, or of this one; no lane
///            waits in a loop of its own, so iterations of one warp may wait for each other
/// result     bitwise that of the sequential loop if no two iterations add to one entry, else sums in any order
/// source     Somo and Cheshmi, SC25; there the kernel is in Triton and flags are cleared before each run; here they
///            hold the launch's number, and implied waits are dropped
template <class Body, bool adds_together, int lanes, class I>
__global__ void __launch_bounds__(loop_threads)
run_loop(const __grid_constant__ Body body, const __grid_constant__ LoopView<I> loop)
{
  const BlockTicket ticket = take_ticket(loop.counter);
  const auto launch = static_cast<unsigned>(ticket.launch + 1);
  const std::size_t index = ticket.index * (loop_threads / lanes) + threadIdx.x / lanes;
  const bool live = index < static_cast<std::size_t>(loop.iterations);
  const I i = live ? static_cast<I>(index) : 0;
  const int lane = threadIdx.x % lanes;
  auto at = accessor_of<adds_together>(body, loop.shared);
  Waits<I, lanes> waits(loop, i, lane, launch);
  bool done = !live, ready = false;
  const auto look = [&] {
    ready = !done && waits.poll_flags();
    if (lanes > 1) ready = __all_sync(~0u, ready);
    return __any_sync(~0u, ready) != 0;
  };
  while (!__all_sync(~0u, done)) {
    const bool is_left = !BoundedWait(i).template until_for_warp<4>(look);
    if (done || !(ready || is_left)) continue;
    if (!is_left) waits.settle();
    if (lane == 0 && is_left) run_left(body, i);
    if (lane == 0 && !is_left) body(at, i);
    waits.signal();
    done = true;
  }
}

/// owns       an iteration by `lanes` lanes, one or a whole warp, of which the first lane runs all; 256 / lanes
///            consecutive ones by a thread block
/// waits      for the flag of the iteration that writes an entry, where the body reads it
/// publishes  what the body wrote, then the iteration's flag
/// order      acquire by the reader, release by the writer
/// progress   iterations wait for earlier ones: those of thread blocks with earlier tickets, or of this one. Lanes of
///            a warp may wait for each other in loops of their own: from compute capability 7.0 on each thread that
///            has begun makes progress (CUDA C++ Programming Guide, independent thread scheduling)
/// result     bitwise that of the sequential loop
/// source     Somo and Cheshmi, SC25: constant-time checks of affine write sets; there all checks precede the body
template <class Body, int lanes, class I>
__global__ void __launch_bounds__(loop_threads)
run_awaiting_loop(const __grid_constant__ Body body, const __grid_constant__ LoopView<I> loop,
                  const __grid_constant__ SentinelHandoff hand_over)
{
  const BlockTicket ticket = take_ticket(loop.counter);
  const auto launch = static_cast<unsigned>(ticket.launch + 1);
  const std::size_t index = ticket.index * (loop_threads / lanes) + threadIdx.x / lanes;
  if (threadIdx.x % lanes != 0 || index >= static_cast<std::size_t>(loop.iterations)) return;
  const auto i = static_cast<I>(index);
  AwaitingAccessor<Body, I> at(&body, hand_over, loop.word, i, launch);
  body(at, i);
  store_release(loop.word + i, launch);
}

/// Returns about the length of the longest path of iterations that wait for each other if only `window` consecutive
/// ones run at a time: as if each took the slot of the one `window` before. Throws std::bad_alloc.
///   cost  O(waits)
template <class I, std::int64_t length> I longest_chain(const LoopPlan<I, length>& plan, std::size_t window)
{
  std::vector<I> depth(std::max<I>(plan.iterations, 0), 1);
  I longest = plan.iterations > 0 ? 1 : 0;
  for (std::size_t i = 0; i + 1 < plan.begin.size(); ++i) {
    if (i >= window) depth[i] = std::max<I>(depth[i], depth[i - window] + 1);
    for (std::int64_t k = plan.begin[i]; k < plan.begin[i + 1]; ++k) {
      const bool flags = plan.signal == Signal::flags;
      const std::size_t before = flags ? plan.other[k] : i, after = flags ? i : plan.other[k];
      depth[after] = std::max<I>(depth[after], depth[before] + 1);
    }
    longest = std::max(longest, depth[i]);
  }
  return longest;
}

/// Chooses a warp per iteration if each iteration accesses much, more so if all waits precede the body, and if as
/// many warps as the device holds suffice for the loop's parallelism. Thresholds were measured on an H200 with
/// triangular solves.
template <class I, std::int64_t length>
Grain choose_grain(const LoopTrace<I>& trace, const LoopPlan<I, length>& plan, bool awaits)
{
  if (plan.signal == Signal::none) return Grain::thread;
  std::int64_t touched = 0;
  for (const ArrayTrace<I>& array : trace.arrays) touched += static_cast<std::int64_t>(array.location.size());
  if (touched <= (awaits ? 4 : 16) * static_cast<std::int64_t>(plan.iterations)) return Grain::thread;
  const int warps = device_attribute(cudaDevAttrMultiProcessorCount) *
                    (device_attribute(cudaDevAttrMaxThreadsPerMultiProcessor) / 32);
  const auto chain = [&](std::size_t window) { return static_cast<double>(longest_chain(plan, window)); };
  return chain(warps) <= 1.5 * chain(plan.iterations) ? Grain::warp : Grain::thread;
}

/// A traced loop on the device that was current in trace(). Its runs must be ordered, by one stream or by events, and
/// only one thread at a time may call it. A captured run stays as captured, even if the loop changes or ends: memory
/// that graphs use is kept until they are destroyed.
template <class Body> class DeviceLoop {
public:
  using I = index_of<Body>;
  using Plan = LoopPlan<I, 1>;
  static_assert(std::is_signed_v<I>, "iterations are counted in a signed type");
  static_assert(std::is_trivially_copyable_v<Body>, "a loop body goes to the device as it is");

  DeviceLoop() = default;
  DeviceLoop(DeviceLoop&&) = default;
  DeviceLoop& operator=(DeviceLoop&&) = default;
  ~DeviceLoop() { holds_.keep_for_graphs(std::move(on_device_)); }

  /// Traces, plans and copies the plan to the device; keeps no pointer into the body's arrays. Afterwards execute()
  /// accepts bodies with the same index arrays and lengths.
  ///   body    its index arrays in memory that the host can read; its other arrays may be anywhere
  ///   grain   what runs an iteration; always a thread if no iteration waits
  ///   errors  those of trace_loop; out_of_memory; device_failure; on failure the object is as after construction;
  ///           and busy, with no effect
  ///   cost    as trace_loop and make_plan, and a copy of the plan; waits for the device
  ///   source  Somo and Cheshmi, SC25
  Status trace(const Body& body, Grain grain = Grain::chosen)
  try {
    const CallGuard::Call call(&busy_);
    if (!call.alone()) return failed(Code::busy);
    const std::size_t bytes = on_device_.plan_bytes();
    holds_.keep(std::exchange(on_device_, OnDevice()), bytes);
    watch_ = WaitMonitor::at_hand();
    const WaitMonitor::Use use(watch_);
    LoopTrace<I> trace;
    const Status status = trace_loop(body, &trace);
    if (!status.ok()) return status;
    const Plan plan = make_plan<Plan::run_length>(trace);
    const SentinelHandoff hand_over = plan.signal == Signal::flags ? find_hand_over(trace) : SentinelHandoff();
    if (grain == Grain::chosen || plan.signal == Signal::none) grain = choose_grain(trace, plan, hand_over.holds);
    on_device_ = OnDevice(plan, grain, hand_over);
    return {};
  } catch (const Failure& failure) {
    return failure.status;
  } catch (const std::bad_alloc&) {
    return failed(Code::out_of_memory);
  }

  /// Runs the loop with the result of iterations in sequence. Results are those of the sequential loop, compiled for
  /// the device, if reproducible(); otherwise sums over several iterations are formed in any order. Never hangs,
  /// whatever the values; a run whose iterations still wait at the wait limit (60 s) gives up, and the next call
  /// reports it (wait_expired). Allocates nothing and does not synchronise; may be captured.
  ///   body    all its arrays in device memory, where they stay until the run has ended in `stream`; its iterations()
  ///           is called on the host
  ///   errors  invalid_argument if the body has another number of iterations than the traced one; device_failure;
  ///           busy
  Status execute(const Body& body, cudaStream_t stream)
  try {
    const CallGuard::Call call(&busy_);
    if (!call.alone()) return failed(Code::busy);
    if (body.iterations() != on_device_.iterations)
      return failed(Code::invalid_argument, "a loop runs with the body it was traced with");
    if (on_device_.iterations == 0) return {};
    if (watch_->has_failed()) return watch_->take_failure(stream);
    (void)holds_.hold(stream);
    if (on_device_.grain == Grain::warp) launch_loop<32>(body, stream);
    else launch_loop<1>(body, stream);
    return {};
  } catch (const Failure& failure) {
    return failure.status;
  } catch (const std::bad_alloc&) {
    return failed(Code::out_of_memory);
  }

  /// True if every run gives bitwise equal results.
  bool reproducible() const { return on_device_.shared == 0; }
  Signal signal() const { return on_device_.signal; }
  /// True if iterations wait inside their bodies, where they read.
  bool awaits() const { return on_device_.hand_over.holds; }
  Grain grain() const { return on_device_.grain; }
  /// Device memory.
  std::size_t bytes() const { return on_device_.plan_bytes(); }

private:
  struct OnDevice {
    I iterations = -1;
    Signal signal = Signal::none;
    std::uint64_t shared = 0;
    Grain grain = Grain::thread;
    SentinelHandoff hand_over;
    DeviceArray<std::int64_t> begin;
    DeviceArray<I> other;
    DeviceArray<std::int32_t> count;
    ResettableArray<unsigned> word;
    std::optional<TicketCounterMemory> counter;

    OnDevice() = default;
    /// Complete on return. Throws Failure.
    OnDevice(const Plan& plan, Grain chosen, const SentinelHandoff& found)
        : iterations(plan.iterations), signal(plan.signal), shared(plan.shared), grain(chosen), hand_over(found)
    {
      counter.emplace("loop");
      if (signal != Signal::none) word = ResettableArray<unsigned>(static_cast<std::size_t>(plan.iterations), 0);
      if (signal != Signal::none && !hand_over.holds) {
        begin = DeviceArray<std::int64_t>(plan.begin);
        other = DeviceArray<I>(plan.other);
        count = DeviceArray<std::int32_t>(plan.count);
      }
      SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
    }

    LoopView<I> loop_view() const
    {
      return {iterations, signal, shared, begin.data(), other.data(), count.data(), word.data(), counter->data()};
    }
    std::size_t plan_bytes() const
    {
      return begin.bytes() + other.bytes() + count.bytes() + word.bytes() + (counter ? counter->counter_bytes() : 0);
    }
  };

  template <int lanes> void launch_loop(const Body& body, cudaStream_t stream) const
  {
    if (on_device_.hand_over.holds) launch_awaiting<lanes>(body, stream);
    else if (on_device_.shared != 0) launch_checking<true, lanes>(body, stream);
    else launch_checking<false, lanes>(body, stream);
  }

  template <bool adds_together, int lanes> void launch_checking(const Body& body, cudaStream_t stream) const
  {
    const unsigned blocks = blocks_for(static_cast<std::size_t>(on_device_.iterations) * lanes, loop_threads);
    cuda::launch(run_loop<Body, adds_together, lanes, I>, {blocks, loop_threads, 0, stream}, body,
                 on_device_.loop_view());
  }

  template <int lanes> void launch_awaiting(const Body& body, cudaStream_t stream) const
  {
    const unsigned blocks = blocks_for(static_cast<std::size_t>(on_device_.iterations) * lanes, loop_threads);
    cuda::launch(run_awaiting_loop<Body, lanes, I>, {blocks, loop_threads, 0, stream}, body, on_device_.loop_view(),
                 on_device_.hand_over);
  }

  std::shared_ptr<WaitMonitor> watch_;  ///< set by trace(), as its constructor uses the device
  OnDevice on_device_;
  GraphRetention holds_;
  CallGuard busy_;
};

}  // namespace syncfree::cuda
