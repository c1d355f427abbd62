#pragma once

/// The part of ready.cuh for words next to the data: flags, counters and tickets, in device, shared and host memory.
/// The memory orders of all atomic operations are set here.

#include <cuda/atomic>
#include <cuda/std/complex>

#include <type_traits>

#include "syncfree/cuda/ready/wait.cuh"

namespace syncfree::cuda {

template <class T> using DeviceAtomicRef = ::cuda::atomic_ref<T, ::cuda::thread_scope_device>;

/// True if *flag has that value; then all that its publisher wrote before is visible to this thread.
inline __device__ bool is_published(unsigned* flag, unsigned value)
{
  SYNCFREE_MAY_NANOSLEEP
  return DeviceAtomicRef<unsigned>(*flag).load(::cuda::memory_order_acquire) == value;
}

/// Returns the same after up to BoundedWait::polls_per_check polls, in a loop of four instructions per poll and three
/// more per four polls.
inline __device__ bool is_published_soon(unsigned* flag, unsigned value)
{
  static_assert(BoundedWait::polls_per_check % 4 == 0, "looks come in fours");
  unsigned last;
#define SYNCFREE_LOOK "ld.acquire.gpu.global.u32 seen, [%1]; setp.eq.u32 p, seen, %2; @p bra done;"
  asm volatile("{ .reg .pred p, more; .reg .u32 seen, left; mov.u32 left, %3; "
               "again: " SYNCFREE_LOOK SYNCFREE_LOOK SYNCFREE_LOOK SYNCFREE_LOOK
               "sub.u32 left, left, 4; setp.ne.u32 more, left, 0; @more bra again; "
               "done: mov.u32 %0, seen; }"
               : "=r"(last)
               : "l"(__cvta_generic_to_global(flag)), "r"(value), "n"(BoundedWait::polls_per_check)
               : "memory");
#undef SYNCFREE_LOOK
  return last == value;
}

/// Waits until *flag is `value`; then all that its publisher wrote before is visible to this thread, and after a
/// __syncwarp() to its warp. Returns false if the launch was given up.
inline __device__ bool wait_for(unsigned* flag, unsigned value, BoundedWait spin)
{
  return is_published(flag, value) || spin.until_soon([=] { return is_published_soon(flag, value); });
}

/// Publishes what the whole warp has written. Called by one thread of the warp after a __syncwarp().
inline __device__ void store_release(unsigned* flag, unsigned value)
{
  if (drops_publication()) return;
  SYNCFREE_MAY_NANOSLEEP
  DeviceAtomicRef<unsigned>(*flag).store(value, ::cuda::memory_order_release);
}

/// Stores a flag that guards no other data: its value is the whole message.
template <class W> __device__ void store_relaxed(W* flag, std::common_type_t<W> value)
{
  SYNCFREE_MAY_NANOSLEEP
  DeviceAtomicRef<W>(*flag).store(value, ::cuda::memory_order_relaxed);
}

/// Reads a flag; fence_acquire() is required between this and reading the data.
template <class W> __device__ W load_relaxed(W* flag)
{
  return DeviceAtomicRef<W>(*flag).load(::cuda::memory_order_relaxed);
}

/// Orders reads after relaxed loads of flags: all that the publishers of the values read wrote before is visible to
/// this thread.
inline __device__ void fence_acquire()
{
  ::cuda::atomic_thread_fence(::cuda::memory_order_acquire, ::cuda::thread_scope_device);
}

/// Adds one of several parts to a sum; increment_release() then counts the part. A thread that has read a count with
/// load_acquire() sees the parts that it counts. Any thread may add at any time.
template <class R> __device__ void red_add_part_relaxed(R* sum, const R& part)
{
  SYNCFREE_MAY_NANOSLEEP
  DeviceAtomicRef<R>(*sum).fetch_add(part, ::cuda::memory_order_relaxed);
}
template <class R>
__device__ void red_add_part_relaxed(::cuda::std::complex<R>* sum, const ::cuda::std::complex<R>& part)
{
  R* parts = reinterpret_cast<R*>(sum);
  red_add_part_relaxed(parts, part.real());
  red_add_part_relaxed(parts + 1, part.imag());
}
inline __device__ void increment_release(unsigned* count)
{
  if (drops_publication()) return;
  SYNCFREE_MAY_NANOSLEEP
  DeviceAtomicRef<unsigned>(*count).fetch_add(1, ::cuda::memory_order_release);
}
/// Orders several parts before their counts: red_add_part_relaxed() for all, fence_release() once, then
/// increment_relaxed() for their counts.
inline __device__ void fence_release()
{
  ::cuda::atomic_thread_fence(::cuda::memory_order_release, ::cuda::thread_scope_device);
}
inline __device__ void increment_relaxed(unsigned* count)
{
  if (drops_publication()) return;
  SYNCFREE_MAY_NANOSLEEP
  DeviceAtomicRef<unsigned>(*count).fetch_add(1, ::cuda::memory_order_relaxed);
}
inline __device__ unsigned load_acquire(unsigned* count)
{
  SYNCFREE_MAY_NANOSLEEP
  return DeviceAtomicRef<unsigned>(*count).load(::cuda::memory_order_acquire);
}
/// Increment and load of a count between threads of one thread block.
inline __device__ void increment_release_block(unsigned* count)
{
  if (drops_publication()) return;
  SYNCFREE_MAY_NANOSLEEP
  ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_block>(*count).fetch_add(1, ::cuda::memory_order_release);
}
inline __device__ unsigned load_acquire_block(unsigned* count)
{
  SYNCFREE_MAY_NANOSLEEP
  return ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_block>(*count).load(::cuda::memory_order_acquire);
}

/// Takes the next `count` values of a counter, each of which is given out once; returns the first.
template <class W> __device__ W fetch_add_relaxed(W* next, W count)
{
  SYNCFREE_MAY_NANOSLEEP
  return DeviceAtomicRef<W>(*next).fetch_add(count, ::cuda::memory_order_relaxed);
}
template <class W> __device__ W fetch_increment_relaxed(W* next) { return fetch_add_relaxed(next, W(1)); }
template <class W> __device__ W fetch_decrement_relaxed(W* next) { return fetch_add_relaxed(next, W(-1)); }

/// *address = min(*address, v), *address = max(*address, v), *address += v, by any thread at any time; read after the
/// launch.
inline __device__ void red_min_relaxed(unsigned long long* address, unsigned long long v)
{
  DeviceAtomicRef<unsigned long long>(*address).fetch_min(v, ::cuda::memory_order_relaxed);
}
inline __device__ void red_max_relaxed(unsigned long long* address, unsigned long long v)
{
  DeviceAtomicRef<unsigned long long>(*address).fetch_max(v, ::cuda::memory_order_relaxed);
}
template <class N> __device__ void red_add_relaxed(N* address, N v)
{
  DeviceAtomicRef<N>(*address).fetch_add(v, ::cuda::memory_order_relaxed);
}
inline __device__ void red_or_relaxed(unsigned* word, unsigned bits)
{
  DeviceAtomicRef<unsigned>(*word).fetch_or(bits, ::cuda::memory_order_relaxed);
}

/// Sets *address to `v` if it still is `seen`; of concurrent attempts one returns true.
inline __device__ bool compare_exchange_relaxed(unsigned* address, unsigned seen, unsigned v)
{
  return DeviceAtomicRef<unsigned>(*address).compare_exchange_strong(seen, v, ::cuda::memory_order_relaxed,
                                                          ::cuda::memory_order_relaxed);
}

/// Sets *address to v; returns the previous value.
inline __device__ unsigned long long exchange_relaxed(unsigned long long* address, unsigned long long v)
{
  return DeviceAtomicRef<unsigned long long>(*address).exchange(v, ::cuda::memory_order_relaxed);
}

/// A word in shared memory whose value is the whole message.
inline __device__ void store_relaxed_block(unsigned long long* address, unsigned long long v)
{
  asm volatile("st.relaxed.cta.shared.u64 [%0], %1;" ::"r"(address_in_block(address)), "l"(v) : "memory");
}
inline __device__ unsigned long long load_relaxed_block(const unsigned long long* address)
{
  unsigned long long v;
  asm volatile("ld.relaxed.cta.shared.u64 %0, [%1];" : "=l"(v) : "r"(address_in_block(address)) : "memory");
  return v;
}

/// Stores to host memory.
inline __device__ void store_relaxed_system(unsigned long long* address, unsigned long long v)
{
  ::cuda::atomic_ref<unsigned long long, ::cuda::thread_scope_system>(*address).store(v, ::cuda::memory_order_relaxed);
}

}  // namespace syncfree::cuda
