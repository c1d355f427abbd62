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
#include <cstdio>
#include <cstring>

namespace syncfree::cuda {

/// In debug builds a wait that takes this many polls names its row and traps.
#ifdef SYNCFREE_SPIN_LIMIT
class Spin {
public:
  explicit __device__ Spin(long long row) : row_(row) {}
  __device__ void turn()
  {
    if (++turns_ < SYNCFREE_SPIN_LIMIT) return;
    std::printf("syncfree: row %lld waits for ever\n", row_);
    __trap();
  }

private:
  long long row_;
  long long turns_ = 0;
};
#else
class Spin {
public:
  explicit __device__ Spin(long long) {}
  __device__ void turn() {}
};
#endif

inline __device__ unsigned address_in_block(const void* shared)
{
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

/// Scope of who may put a number into this block's shared memory: its cluster, where there are clusters.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define SYNCFREE_NEAR_SCOPE "cluster"
#else
#define SYNCFREE_NEAR_SCOPE "cta"
#endif

/// A relaxed store of one word or of two, where `wanted`, without a branch. P, W: the kinds of registers.
#define SYNCFREE_STORE_IF(where, P, place, W, word)                                                                  \
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p st.relaxed." where " [%0], %1; }" ::P(place), W(word),      \
               "r"(static_cast<unsigned>(wanted))                                                                    \
               : "memory")
#define SYNCFREE_STORE_TWO_IF(where, P, place, low, high)                                                            \
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %3, 0; @p st.relaxed." where ".v2.u64 [%0], {%1, %2}; }" ::P(place),  \
               "l"(low), "l"(high), "r"(static_cast<unsigned>(wanted))                                               \
               : "memory")
inline __device__ void store_if(bool wanted, unsigned long long* place, unsigned long long word)
{
  SYNCFREE_STORE_IF("gpu.global.u64", "l", __cvta_generic_to_global(place), "l", word);
}
inline __device__ void store_if(bool wanted, unsigned* place, unsigned word)
{
  SYNCFREE_STORE_IF("gpu.global.u32", "l", __cvta_generic_to_global(place), "r", word);
}
/// The same where the place may be in shared memory of a block of the cluster.
inline __device__ void store_anywhere_if(bool wanted, unsigned long long* place, unsigned long long word)
{
  SYNCFREE_STORE_IF("gpu.u64", "l", place, "l", word);
}
inline __device__ void store_anywhere_if(bool wanted, unsigned* place, unsigned word)
{
  SYNCFREE_STORE_IF("gpu.u32", "l", place, "r", word);
}

template <class T> using Shared = ::cuda::atomic_ref<T, ::cuda::thread_scope_device>;

/// The word of a real number, and the NaN that means "not there yet". but_unset() makes another NaN of that one.
template <class R> struct Word;
template <> struct Word<double> {
  using type = unsigned long long;
  static constexpr type unset = ~0ull;
  static __device__ type of(double v) { return static_cast<type>(__double_as_longlong(v)); }
  static __device__ double number(type w) { return __longlong_as_double(static_cast<long long>(w)); }
  static __device__ type but_unset(double v)
  {
    return of(__hiloint2double(static_cast<int>(min(static_cast<unsigned>(__double2hiint(v)), 0xfffffffeu)),
                               __double2loint(v)));
  }
};
template <> struct Word<float> {
  using type = unsigned;
  static constexpr type unset = ~0u;
  static __device__ type of(float v) { return __float_as_uint(v); }
  static __device__ float number(type w) { return __uint_as_float(w); }
  static __device__ type but_unset(float v) { return min(of(v), unset - 1); }
};

/// Places for n numbers that are their own flags.
template <class T> struct Mailbox {
  using word = typename Word<T>::type;
  static constexpr int words = 1;

  static __device__ T nothing() { return Word<T>::number(Word<T>::unset); }
  static __device__ T poll(word* place)
  {
    return Word<T>::number(Shared<word>(*place).load(::cuda::memory_order_relaxed));
  }
  static __device__ bool arrived(const T& v) { return Word<T>::of(v) != Word<T>::unset; }
  /// A computed NaN with the bits of `unset` becomes another NaN.
  static __device__ void publish(word* place, const T& v)
  {
    Shared<word>(*place).store(Word<T>::but_unset(v), ::cuda::memory_order_relaxed);
  }
  /// The same, without a branch where not.
  static __device__ void publish_if(bool wanted, word* place, const T& v)
  {
    store_if(wanted, place, Word<T>::but_unset(v));
  }
  /// And where the place may be one of a Tray in a block of the cluster.
  static __device__ void publish_anywhere_if(bool wanted, word* place, const T& v)
  {
    store_anywhere_if(wanted, place, Word<T>::but_unset(v));
  }
  /// For the next solve; nobody reads the place in this one.
  static __device__ void clear(word* place) { *place = Word<T>::unset; }
};

template <class R> struct Mailbox<::cuda::std::complex<R>> {
  using T = ::cuda::std::complex<R>;
  using part = Mailbox<R>;
  using word = typename part::word;
  static constexpr int words = 2;

  static __device__ T nothing() { return {part::nothing(), part::nothing()}; }
  static __device__ T poll(word* place) { return {part::poll(place), part::poll(place + 1)}; }
  static __device__ bool arrived(const T& v) { return part::arrived(v.real()) && part::arrived(v.imag()); }
  static __device__ void publish(word* place, const T& v)
  {
    part::publish(place, v.real());
    part::publish(place + 1, v.imag());
  }
  static __device__ void publish_if(bool wanted, word* place, const T& v)
  {
    part::publish_if(wanted, place, v.real());
    part::publish_if(wanted, place + 1, v.imag());
  }
  static __device__ void publish_anywhere_if(bool wanted, word* place, const T& v)
  {
    part::publish_anywhere_if(wanted, place, v.real());
    part::publish_anywhere_if(wanted, place + 1, v.imag());
  }
  static __device__ void clear(word* place)
  {
    part::clear(place);
    part::clear(place + 1);
  }
};

/// Numbers of neighbouring columns at one place, 16 bytes that are moved at once. They are no single access: each half
/// arrives as a whole, and the number is there when all its parts are.
template <class R> struct alignas(16) Several {
  static constexpr int count = 16 / sizeof(R);
  R part[count];

  Several() = default;
  explicit __device__ Several(R v)
  {
#pragma unroll
    for (R& p : part) p = v;
  }
};

/// Its accesses, in memory and in shared memory.
struct alignas(16) Halves {
  unsigned long long low, high;

  template <class R> static __device__ Halves of(Several<R> v)
  {
#pragma unroll
    for (R& p : v.part) p = Word<R>::number(Word<R>::but_unset(p));
    return of_ordinary(v);
  }
  /// No part is a NaN.
  template <class R> static __device__ Halves of_ordinary(const Several<R>& v)
  {
    Halves h;
    std::memcpy(&h, &v, sizeof h);
    return h;
  }
  static __device__ Halves unset() { return {~0ull, ~0ull}; }

  template <class R> __device__ Several<R> number() const
  {
    Several<R> v;
    std::memcpy(&v, this, sizeof v);
    return v;
  }

  static __device__ Halves read(const void* place)
  {
    Halves h;
    const auto at = __cvta_generic_to_global(place);
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(h.low), "=l"(h.high) : "l"(at) : "memory");
    return h;
  }
  static __device__ Halves read_shared(const void* place)
  {
    Halves h;
    const unsigned at = address_in_block(place);
    asm volatile("ld.relaxed.cta.shared.v2.u64 {%0, %1}, [%2];" : "=l"(h.low), "=l"(h.high) : "r"(at) : "memory");
    return h;
  }
  __device__ void write_if(bool wanted, void* place) const
  {
    SYNCFREE_STORE_TWO_IF("gpu.global", "l", __cvta_generic_to_global(place), low, high);
  }
  __device__ void write_anywhere_if(bool wanted, void* place) const
  {
    SYNCFREE_STORE_TWO_IF("gpu", "l", place, low, high);
  }
  __device__ void write_shared_if(bool wanted, void* place) const
  {
    SYNCFREE_STORE_TWO_IF("cta.shared", "r", address_in_block(place), low, high);
  }
};

template <class R> __device__ bool all_arrived(const Several<R>& v)
{
  bool all = true;
#pragma unroll
  for (const R& p : v.part) all = all && Word<R>::of(p) != Word<R>::unset;
  return all;
}

template <class R> struct Mailbox<Several<R>> {
  using T = Several<R>;
  using word = unsigned long long;
  static constexpr int words = 2;

  static __device__ T nothing() { return Halves::unset().number<R>(); }
  static __device__ T poll(word* place) { return Halves::read(place).number<R>(); }
  static __device__ bool arrived(const T& v) { return all_arrived(v); }
  static __device__ void publish(word* place, const T& v) { publish_if(true, place, v); }
  static __device__ void publish_if(bool wanted, word* place, const T& v) { Halves::of(v).write_if(wanted, place); }
  static __device__ void publish_anywhere_if(bool wanted, word* place, const T& v)
  {
    Halves::of(v).write_anywhere_if(wanted, place);
  }
  static __device__ void clear(word* place) { *reinterpret_cast<Halves*>(place) = Halves::unset(); }
};

/// Waits until *flag is `value`; then all that its publisher wrote before is visible to this thread, and after a
/// __syncwarp() to its warp.
inline __device__ void wait_for(unsigned* flag, unsigned value, Spin spin)
{
  while (Shared<unsigned>(*flag).load(::cuda::memory_order_acquire) != value) spin.turn();
}

/// To be called by one thread of a warp behind a __syncwarp(): publishes what the whole warp has written.
inline __device__ void publish(unsigned* flag, unsigned value)
{
  Shared<unsigned>(*flag).store(value, ::cuda::memory_order_release);
}

/// Has *flag that value? If so, all that its publisher wrote before is visible to this thread.
inline __device__ bool is_published(unsigned* flag, unsigned value)
{
  return Shared<unsigned>(*flag).load(::cuda::memory_order_acquire) == value;
}

/// A flag with nothing behind it: its value is all that there is to know.
inline __device__ void tell(unsigned* flag, unsigned value)
{
  Shared<unsigned>(*flag).store(value, ::cuda::memory_order_relaxed);
}

/// What a flag holds now; see_published() must stand between that and the data.
inline __device__ unsigned look_at(unsigned* flag)
{
  return Shared<unsigned>(*flag).load(::cuda::memory_order_relaxed);
}

inline __device__ unsigned long long look_at(unsigned long long* count)
{
  return Shared<unsigned long long>(*count).load(::cuda::memory_order_relaxed);
}

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
  Shared<unsigned>(*count).fetch_add(1, ::cuda::memory_order_release);
}
/// The same for several parts: all of them with add_part(), announce_parts() once, then their counts.
inline __device__ void announce_parts()
{
  ::cuda::atomic_thread_fence(::cuda::memory_order_release, ::cuda::thread_scope_device);
}
inline __device__ void count_announced(unsigned* count)
{
  Shared<unsigned>(*count).fetch_add(1, ::cuda::memory_order_relaxed);
}
inline __device__ unsigned count_of(unsigned* count)
{
  return Shared<unsigned>(*count).load(::cuda::memory_order_acquire);
}
/// Both between threads of one block.
inline __device__ void count_own_part(unsigned* count)
{
  ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_block>(*count).fetch_add(1, ::cuda::memory_order_release);
}
inline __device__ unsigned own_count_of(unsigned* count)
{
  return ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_block>(*count).load(::cuda::memory_order_acquire);
}

/// What a block does in a launch, and the how-manieth launch it is.
struct Turn {
  unsigned long long place;   ///< in [0, blocks): blocks that have lower ones have started
  unsigned long long launch;  ///< from 0 on
};

/// The next of the numbers that are given out from *next on, each once; the first of the next `count`.
template <class W> __device__ W take_numbers(W* next, W count)
{
  return Shared<W>(*next).fetch_add(count, ::cuda::memory_order_relaxed);
}
template <class W> __device__ W take_number(W* next) { return take_numbers(next, W(1)); }

/// Called by all threads of a block. Tickets replace the order in which blocks are dispatched, which nobody promises.
/// The counter is never set back: each launch of `gridDim.x` blocks takes as many tickets.
///   counter  0 before the first launch; launches with one counter run one after the other, with equal grids
inline __device__ Turn take_turn(unsigned long long* counter)
{
  __shared__ unsigned long long ticket;
  if (threadIdx.x == 0) ticket = take_number(counter);
  __syncthreads();
  return {ticket % gridDim.x, ticket / gridDim.x};
}

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

/// Numbers in shared memory that are their own flags, as in a Mailbox but between threads of a block. A place is filled
/// once, or cleared by who has read it; who wants to fill it again must have been told of that, by a Progress for
/// example.
template <class T> struct Tray {
  static __device__ T look(const T* place)
  {
    const unsigned at = address_in_block(place);
    typename Word<T>::type word;
    if constexpr (sizeof(T) == 8)
      asm volatile("ld.relaxed." SYNCFREE_NEAR_SCOPE ".shared.u64 %0, [%1];" : "=l"(word) : "r"(at) : "memory");
    else
      asm volatile("ld.relaxed." SYNCFREE_NEAR_SCOPE ".shared.u32 %0, [%1];" : "=r"(word) : "r"(at) : "memory");
    return Word<T>::number(word);
  }
  static __device__ bool arrived(const T& v) { return Word<T>::of(v) != Word<T>::unset; }
  static __device__ void put(T* place, const T& v) { store(place, Word<T>::but_unset(v)); }
  /// The same of a v that is not NaN, without a branch where not.
  static __device__ void put_ordinary_if(bool wanted, T* place, const T& v)
  {
    const unsigned at = address_in_block(place);
    if constexpr (sizeof(T) == 8) SYNCFREE_STORE_IF("cta.shared.u64", "r", at, "l", Word<T>::of(v));
    else SYNCFREE_STORE_IF("cta.shared.u32", "r", at, "r", Word<T>::of(v));
  }
  static __device__ void clear(T* place) { store(place, Word<T>::unset); }

private:
  static __device__ void store(T* place, typename Word<T>::type word)
  {
    if constexpr (sizeof(T) == 8)
      asm volatile("st.relaxed.cta.shared.u64 [%0], %1;" ::"r"(address_in_block(place)), "l"(word) : "memory");
    else
      asm volatile("st.relaxed.cta.shared.u32 [%0], %1;" ::"r"(address_in_block(place)), "r"(word) : "memory");
  }
};

template <class R> struct Tray<::cuda::std::complex<R>> {
  using T = ::cuda::std::complex<R>;
  static __device__ T look(const T* place)
  {
    const R* parts = reinterpret_cast<const R*>(place);
    return {Tray<R>::look(parts), Tray<R>::look(parts + 1)};
  }
  static __device__ bool arrived(const T& v) { return Tray<R>::arrived(v.real()) && Tray<R>::arrived(v.imag()); }
  static __device__ void put(T* place, const T& v)
  {
    R* parts = reinterpret_cast<R*>(place);
    Tray<R>::put(parts, v.real());
    Tray<R>::put(parts + 1, v.imag());
  }
  static __device__ void put_ordinary_if(bool wanted, T* place, const T& v)
  {
    R* parts = reinterpret_cast<R*>(place);
    Tray<R>::put_ordinary_if(wanted, parts, v.real());
    Tray<R>::put_ordinary_if(wanted, parts + 1, v.imag());
  }
  static __device__ void clear(T* place)
  {
    R* parts = reinterpret_cast<R*>(place);
    Tray<R>::clear(parts);
    Tray<R>::clear(parts + 1);
  }
};

template <class R> struct Tray<Several<R>> {
  using T = Several<R>;
  static __device__ T look(const T* place) { return Halves::read_shared(place).number<R>(); }
  static __device__ bool arrived(const T& v) { return all_arrived(v); }
  static __device__ void put(T* place, const T& v) { Halves::of(v).write_shared_if(true, place); }
  static __device__ void put_ordinary_if(bool wanted, T* place, const T& v)
  {
    Halves::of_ordinary(v).write_shared_if(wanted, place);
  }
  static __device__ void clear(T* place) { Halves::unset().write_shared_if(true, place); }
};

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
  __device__ void wait(unsigned parity, Spin spin) const
  {
    while (!is_open(parity)) spin.turn();
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
/// wait. The instructions are those of __syncthreads(), for which the compiler brings a warp together; a __syncwarp()
/// in front of them took 6 % of a solve of `courier`.
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

}  // namespace syncfree::cuda
