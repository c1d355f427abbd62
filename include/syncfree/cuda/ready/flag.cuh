#pragma once

/// The part of ready.cuh for words beside the data: flags, counters and tickets, in memory of the device, of a block
/// and of the host. Here stand the memory orders of all atomic operations.

#include <cuda/atomic>
#include <cuda/std/complex>

#include <type_traits>

#include "syncfree/cuda/ready/wait.cuh"

namespace syncfree::cuda {

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
