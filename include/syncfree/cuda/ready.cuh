#pragma once

/// How device threads wait for each other: the only place that names a memory order on the device.
///
/// Two ways to hand a number over:
///   - The number is its own flag. A place holds `unset`, a NaN that no computation leaves there, until its number is
///     published. One 4- or 8-byte word is written and read as a whole, so a relaxed order is enough: nothing else is
///     read because of it. The parts of a complex number arrive one by one; it is there when both are.
///   - A flag beside the data. What was written before publish() is seen by who got the flag's value from wait_for().
/// Inside a block the same is done in shared memory: Tray and Progress, and a Gate opens for what has been copied.
///
/// Progress: a waiter waits only for work with an earlier ticket, and who holds a ticket is running.

#include <cuda/atomic>
#include <cuda/std/complex>

#include <cstdint>
#include <type_traits>

namespace syncfree::cuda {

/// What a wait does when its launch has been given up (turns.cuh).
enum class Patience {
  none,  ///< leaves at once: for numbers of other blocks
  some,  ///< for numbers of its block or cluster, which arrive when their threads have given up what they wait for
  last   ///< for a page or a count without which it cannot go on: traps where even that does not help
};
/// Does a wait ask the clock itself, or is there a thread of the block that does so for it (watch_until())?
enum class Clock { own, watched };

/// To be asked when a wait has looked Spin::looks_at_once times in vain, in turns.cuh: is the wait to be left?
template <Patience patience, Clock clock = Clock::own> __device__ bool ask_clock(long long row);

/// The looks of one wait, which ends: by what it waits for or, false then, because its launch has been given up. A
/// thread that leaves a wait takes NaN for what has not arrived, and goes on: what it owes others is published,
/// whatever it is.
///   row  that waits; without one that which note_row() has told for the block
template <Patience patience, Clock clock = Clock::own> class SpinOf {
public:
  SpinOf() = default;
  explicit __device__ SpinOf(long long row) : row_(row) {}

  /// By a thread alone: look() until done(), which is asked before each. The clock is asked outside of the loop that
  /// looks, and what it needs is in shared memory: the loop has one counter more than one that never ends.
  ///   unrolled  looks one after the other, of loops that are short
  template <int unrolled = 1, class Done, class Look>
  __device__ __forceinline__ bool until(Done done, Look look)
  {
    return wait<unrolled>(done, look, [](bool mine) { return mine; });
  }
  /// By a warp, for which done() is the same in all lanes.
  template <int unrolled = 1, class Done, class Look>
  __device__ __forceinline__ bool until_for_warp(Done done, Look look)
  {
    return wait<unrolled>(done, look, [](bool mine) { return __any_sync(~0u, mine) != 0; });
  }
  /// The same where done() looks.
  template <int unrolled, class Done> __device__ __forceinline__ bool until_for_warp(Done done)
  {
    return until_for_warp<unrolled>(done, [] {});
  }

  /// By a thread alone: soon() looks looks_at_once times, or until there is what it waits for; is it?
  template <class Soon> __device__ __forceinline__ bool until_soon(Soon soon)
  {
    while (!soon())
      if (ask_clock<patience, clock>(row_)) return false;
    return true;
  }

  static constexpr unsigned looks_at_once = 64;

private:
  template <int unrolled, class Done, class Look, class Agree>
  __device__ __forceinline__ bool wait(Done done, Look look, Agree agree)
  {
    if (done()) return true;
    for (;;) {
#pragma unroll unrolled
      for (unsigned left = looks_at_once; left > 0; --left) {
        look();
        if (done()) return true;
      }
      if (agree(ask_clock<patience, clock>(row_))) return false;
    }
  }

  long long row_ = -1;
};
using Spin = SpinOf<Patience::none>;

#ifdef SYNCFREE_TEST_HOOKS
__device__ bool drops_publication();
#else
/// Of tests: is this the one that they ask to be left out?
inline __device__ bool drops_publication() { return false; }
#endif

inline __device__ unsigned address_in_block(const void* shared)
{
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

template <class T> using Shared = ::cuda::atomic_ref<T, ::cuda::thread_scope_device>;

/// Has *flag that value? If so, all that its publisher wrote before is visible to this thread.
inline __device__ bool is_published(unsigned* flag, unsigned value)
{
  return Shared<unsigned>(*flag).load(::cuda::memory_order_acquire) == value;
}

/// The same after so many looks of a wait, in a loop of four instructions a look and three for every four.
inline __device__ bool is_published_soon(unsigned* flag, unsigned value)
{
  static_assert(Spin::looks_at_once % 4 == 0, "looks come in fours");
  unsigned last;
#define SYNCFREE_LOOK "ld.acquire.gpu.global.u32 seen, [%1]; setp.eq.u32 p, seen, %2; @p bra done;"
  asm volatile("{ .reg .pred p, more; .reg .u32 seen, left; mov.u32 left, %3; "
               "again: " SYNCFREE_LOOK SYNCFREE_LOOK SYNCFREE_LOOK SYNCFREE_LOOK
               "sub.u32 left, left, 4; setp.ne.u32 more, left, 0; @more bra again; "
               "done: mov.u32 %0, seen; }"
               : "=r"(last)
               : "l"(__cvta_generic_to_global(flag)), "r"(value), "n"(Spin::looks_at_once)
               : "memory");
#undef SYNCFREE_LOOK
  return last == value;
}

/// Waits until *flag is `value`; then all that its publisher wrote before is visible to this thread, and after a
/// __syncwarp() to its warp. False where the wait is left.
inline __device__ bool wait_for(unsigned* flag, unsigned value, Spin spin)
{
  return is_published(flag, value) || spin.until_soon([=] { return is_published_soon(flag, value); });
}

/// To be called by one thread of a warp behind a __syncwarp(): publishes what the whole warp has written.
inline __device__ void publish(unsigned* flag, unsigned value)
{
  if (drops_publication()) return;
  Shared<unsigned>(*flag).store(value, ::cuda::memory_order_release);
}

/// A flag with nothing behind it: its value is all that there is to know.
template <class W> __device__ void tell(W* flag, std::common_type_t<W> value)
{
  Shared<W>(*flag).store(value, ::cuda::memory_order_relaxed);
}

/// What a flag holds now; see_published() must stand between that and the data.
template <class W> __device__ W look_at(W* flag) { return Shared<W>(*flag).load(::cuda::memory_order_relaxed); }

/// Behind looks at flags: all that the publishers of what was seen wrote before is visible to this thread.
inline __device__ void see_published()
{
  ::cuda::atomic_thread_fence(::cuda::memory_order_acquire, ::cuda::thread_scope_device);
}

/// One of several parts of a sum, then one more in the count of parts: who has read a count with count_of() sees the
/// parts that it counts. Parts may be added by any thread at any time.
template <class R> __device__ void add_part(R* sum, const R& part)
{
  Shared<R>(*sum).fetch_add(part, ::cuda::memory_order_relaxed);
}
template <class R> __device__ void add_part(::cuda::std::complex<R>* sum, const ::cuda::std::complex<R>& part)
{
  R* parts = reinterpret_cast<R*>(sum);
  add_part(parts, part.real());
  add_part(parts + 1, part.imag());
}
inline __device__ void count_part(unsigned* count)
{
  if (drops_publication()) return;
  Shared<unsigned>(*count).fetch_add(1, ::cuda::memory_order_release);
}
/// The same for several parts: all of them with add_part(), announce_parts() once, then their counts.
inline __device__ void announce_parts()
{
  ::cuda::atomic_thread_fence(::cuda::memory_order_release, ::cuda::thread_scope_device);
}
inline __device__ void count_announced(unsigned* count)
{
  if (drops_publication()) return;
  Shared<unsigned>(*count).fetch_add(1, ::cuda::memory_order_relaxed);
}
inline __device__ unsigned count_of(unsigned* count)
{
  return Shared<unsigned>(*count).load(::cuda::memory_order_acquire);
}
/// Both between threads of one block.
inline __device__ void count_own_part(unsigned* count)
{
  if (drops_publication()) return;
  ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_block>(*count).fetch_add(1, ::cuda::memory_order_release);
}
inline __device__ unsigned own_count_of(unsigned* count)
{
  return ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_block>(*count).load(::cuda::memory_order_acquire);
}

/// The next of the numbers that are given out from *next on, each once; the first of the next `count`.
template <class W> __device__ W take_numbers(W* next, W count)
{
  return Shared<W>(*next).fetch_add(count, ::cuda::memory_order_relaxed);
}
template <class W> __device__ W take_number(W* next) { return take_numbers(next, W(1)); }
template <class W> __device__ W take_number_down(W* next) { return take_numbers(next, W(-1)); }

/// Two launches that follow each other may overlap where the second is launched so (launch.hpp): it starts when all
/// blocks of the first have called let_next_start(), and sees what the first wrote behind await_launch_before().
/// Before that it may touch nothing that the first reads or writes. Neither does anything elsewhere.
inline __device__ void let_next_start()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
inline __device__ void await_launch_before()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// How far a block has come: a count in shared memory, told by one thread. Who has read it sees what that thread, and
/// others before a barrier with it, did before.
class Progress {
public:
  /// By one thread; then a __syncthreads().
  __device__ void start() { count_ = 0; }
  __device__ void tell(unsigned count)
  {
    asm volatile("st.release.cta.shared.u32 [%0], %1;" ::"r"(address_in_block(&count_)), "r"(count) : "memory");
  }
  __device__ unsigned count() const
  {
    unsigned count;
    asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(count) : "r"(address_in_block(&count_)) : "memory");
    return count;
  }

private:
  unsigned count_;
};

/// A barrier in shared memory (mbarrier) that opens again and again: its n-th opening is awaited with parity n & 1, and
/// shows who waits what those wrote that arrived. Nobody may lag behind by two openings.
class Gate {
public:
  /// By one thread; then gates_are_made() and a __syncthreads().
  __device__ void make(unsigned arrivals)
  {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address_in_block(&word_)), "r"(arrivals) : "memory");
  }
  __device__ void arrive()
  {
    asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(address_in_block(&word_))
                 : "memory");
  }
  __device__ bool is_open(unsigned parity) const
  {
    unsigned open;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(open)
                 : "r"(address_in_block(&word_)), "r"(parity)
                 : "memory");
    return open != 0;
  }
  __device__ void wait(unsigned parity) const
  {
    if (!is_open(parity)) (void)SpinOf<Patience::last>().until_soon([=] { return opens_soon(parity); });
  }

  /// Where the block has a thread that looks at the clock.
  __device__ void wait_watched(unsigned parity) const
  {
    while (!is_open(parity)) {}
  }
  /// So many looks, in a loop of two instructions a look and three for every eight.
  __device__ bool opens_soon(unsigned parity) const
  {
    static_assert(Spin::looks_at_once % 8 == 0, "looks come in eights");
    unsigned open;
#define SYNCFREE_LOOK "mbarrier.test_wait.parity.shared.b64 p, [%1], %2; @p bra done;"
    asm volatile("{ .reg .pred p, more; .reg .u32 left; mov.u32 left, %3; "
                 "again: " SYNCFREE_LOOK SYNCFREE_LOOK SYNCFREE_LOOK SYNCFREE_LOOK
                 SYNCFREE_LOOK SYNCFREE_LOOK SYNCFREE_LOOK SYNCFREE_LOOK
                 "sub.u32 left, left, 8; setp.ne.u32 more, left, 0; @more bra again; "
                 "done: selp.u32 %0, 1, 0, p; }"
                 : "=r"(open)
                 : "r"(address_in_block(&word_)), "r"(parity), "n"(Spin::looks_at_once)
                 : "memory");
#undef SYNCFREE_LOOK
    return open != 0;
  }

  /// An arrival when all that this thread has begun to fetch into shared memory (cp.async) is there.
  __device__ void arrive_when_fetched()
  {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(address_in_block(&word_)) : "memory");
  }

  /// An arrival; the gate stays shut until so many bytes have been copied, too. From compute capability 9.0 on.
  __device__ void arrive_with([[maybe_unused]] unsigned bytes)
  {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    asm volatile("{ .reg .b64 state; mbarrier.arrive.expect_tx.shared.b64 state, [%0], %1; }" ::"r"(
                   address_in_block(&word_)),
                 "r"(bytes)
                 : "memory");
#endif
  }
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  /// From global memory; addresses and bytes are multiples of 16.
  __device__ void copy(void* to, const void* from, unsigned bytes)
  {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   address_in_block(to)),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(address_in_block(&word_))
                 : "memory");
  }
#endif

private:
  unsigned long long word_;
};

/// Behind make(): for the engine that copies.
inline __device__ void gates_are_made()
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

/// Barriers of a block beside that of __syncthreads(), number 1 to 15: each opens when `threads` threads, of whole
/// warps, have called meet() or signal(). Who meets waits, and sees what the others wrote before; who signals does not
/// wait. A warp must come as a whole: ptxas puts a WARPSYNC before each, as for __syncthreads() (config/poll_loops.py
/// fails where one is missing); a __syncwarp() of our own before them took 6 % of a solve of `courier`.
inline __device__ void meet(unsigned barrier, unsigned threads)
{
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
inline __device__ void signal(unsigned barrier, unsigned threads)
{
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

/// A barrier of the `blocks` blocks of a cluster, 1 for a block alone: all see what all have written before.
inline __device__ void meet_cluster(unsigned blocks)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if (blocks > 1) {
    __syncwarp();
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    return;
  }
#endif
  (void)blocks;
  __syncthreads();
}

/// *place = min(*place, v), *place += v, at any time by anyone; read after the launch.
inline __device__ void lower_to(unsigned long long* place, unsigned long long v)
{
  Shared<unsigned long long>(*place).fetch_min(v, ::cuda::memory_order_relaxed);
}
inline __device__ void raise_to(unsigned long long* place, unsigned long long v)
{
  Shared<unsigned long long>(*place).fetch_max(v, ::cuda::memory_order_relaxed);
}
template <class N> __device__ void add_to(N* place, N v)
{
  Shared<N>(*place).fetch_add(v, ::cuda::memory_order_relaxed);
}
inline __device__ void set_bits(unsigned* word, unsigned bits)
{
  Shared<unsigned>(*word).fetch_or(bits, ::cuda::memory_order_relaxed);
}

/// Makes *place `v` where it is still what was `seen` there; true for one of those who try at once.
inline __device__ bool replace(unsigned* place, unsigned seen, unsigned v)
{
  return Shared<unsigned>(*place).compare_exchange_strong(seen, v, ::cuda::memory_order_relaxed,
                                                          ::cuda::memory_order_relaxed);
}

/// *place = v; returns what stood there.
inline __device__ unsigned long long exchange(unsigned long long* place, unsigned long long v)
{
  return Shared<unsigned long long>(*place).exchange(v, ::cuda::memory_order_relaxed);
}

/// A word in shared memory that says all that there is to know.
inline __device__ void tell_block(unsigned long long* place, unsigned long long v)
{
  asm volatile("st.relaxed.cta.shared.u64 [%0], %1;" ::"r"(address_in_block(place)), "l"(v) : "memory");
}
inline __device__ unsigned long long look_in_block(const unsigned long long* place)
{
  unsigned long long v;
  asm volatile("ld.relaxed.cta.shared.u64 %0, [%1];" : "=l"(v) : "r"(address_in_block(place)) : "memory");
  return v;
}

/// To memory of the host.
inline __device__ void tell_host(unsigned long long* place, unsigned long long v)
{
  ::cuda::atomic_ref<unsigned long long, ::cuda::thread_scope_system>(*place).store(v, ::cuda::memory_order_relaxed);
}

}  // namespace syncfree::cuda

#include "syncfree/cuda/mailbox.cuh"
#include "syncfree/cuda/turns.cuh"
