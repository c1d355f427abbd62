#pragma once

/// The part of ready.cuh for sentinel values (values that are their own flags) in global and shared memory. All
/// accesses are relaxed: the value itself is the message.

#include <cuda/std/complex>

#include <cstdint>
#include <cstring>

#include "syncfree/cuda/ready/flag.cuh"

namespace syncfree::cuda {

/// Scope of the threads that may store a value to this thread block's shared memory: its cluster, if there are
/// clusters.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define SYNCFREE_NEAR_SCOPE "cluster"
#else
#define SYNCFREE_NEAR_SCOPE "cta"
#endif

/// Relaxed store of one word or two if `wanted`, without a branch. P, W: register constraints.
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
/// Stores a word if `wanted`; `place` may be in shared memory of a thread block of the cluster.
inline __device__ void store_anywhere_if(bool wanted, unsigned long long* place, unsigned long long word)
{
  SYNCFREE_STORE_IF("gpu.u64", "l", place, "l", word);
}
inline __device__ void store_anywhere_if(bool wanted, unsigned* place, unsigned word)
{
  SYNCFREE_STORE_IF("gpu.u32", "l", place, "r", word);
}

/// The word of a real value, and the sentinel, a NaN: "not written yet". escape_sentinel() replaces that NaN by
/// another one.
template <class R> struct Word;
template <> struct Word<double> {
  using type = unsigned long long;
  static constexpr type sentinel = ~0ull;
  static __device__ type of(double v) { return static_cast<type>(__double_as_longlong(v)); }
  static __device__ double number(type w) { return __longlong_as_double(static_cast<long long>(w)); }
  static __device__ type escape_sentinel(double v)
  {
    return of(__hiloint2double(static_cast<int>(min(static_cast<unsigned>(__double2hiint(v)), 0xfffffffeu)),
                               __double2loint(v)));
  }
};
template <> struct Word<float> {
  using type = unsigned;
  static constexpr type sentinel = ~0u;
  static __device__ type of(float v) { return __float_as_uint(v); }
  static __device__ float number(type w) { return __uint_as_float(w); }
  static __device__ type escape_sentinel(float v) { return min(of(v), sentinel - 1); }
};

/// Slots of sentinel values.
template <class T> struct SentinelValue {
  using word = typename Word<T>::type;
  static constexpr int words = 1;

  static __device__ T sentinel_value() { return Word<T>::number(Word<T>::sentinel); }
  static __device__ T poll(word* place)
  {
    return Word<T>::number(load_relaxed(place));
  }
  static __device__ bool arrived(const T& v) { return Word<T>::of(v) != Word<T>::sentinel; }
  /// Publishes a value; a computed NaN with the bits of the sentinel becomes another NaN.
  static __device__ void publish(word* place, const T& v)
  {
    if (drops_publication()) return;
    store_relaxed(place, Word<T>::escape_sentinel(v));
  }
  /// Publishes if `wanted`, without a branch.
  static __device__ void publish_if(bool wanted, word* place, const T& v)
  {
    wanted = wanted && !drops_publication();
    store_if(wanted, place, Word<T>::escape_sentinel(v));
  }
  /// Publishes if `wanted`; `place` may also be a slot of a SharedSentinelValue in a thread block of the cluster.
  static __device__ void publish_anywhere_if(bool wanted, word* place, const T& v)
  {
    wanted = wanted && !drops_publication();
    store_anywhere_if(wanted, place, Word<T>::escape_sentinel(v));
  }
  /// Clears a slot for the next solve; no thread reads it in this one.
  static __device__ void clear(word* place) { *place = Word<T>::sentinel; }
};

template <class R> struct SentinelValue<::cuda::std::complex<R>> {
  using T = ::cuda::std::complex<R>;
  using part = SentinelValue<R>;
  using word = typename part::word;
  static constexpr int words = 2;

  static __device__ T sentinel_value() { return {part::sentinel_value(), part::sentinel_value()}; }
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

/// Values of neighbouring columns in one slot of 16 bytes, moved together. The access is not atomic as a whole: each
/// half arrives as a whole, and the value has arrived when all its parts have.
template <class R> struct alignas(16) ColumnPack {
  static constexpr int count = 16 / sizeof(R);
  R part[count];

  ColumnPack() = default;
  explicit __device__ ColumnPack(R v)
  {
#pragma unroll
    for (R& p : part) p = v;
  }
};

/// Accesses to a ColumnPack, in global and shared memory.
struct alignas(16) Word64x2 {
  unsigned long long low, high;

  template <class R> static __device__ Word64x2 of(ColumnPack<R> v)
  {
#pragma unroll
    for (R& p : v.part) p = Word<R>::number(Word<R>::escape_sentinel(p));
    return of_ordinary(v);
  }
  /// For values of which no part is a NaN.
  template <class R> static __device__ Word64x2 of_ordinary(const ColumnPack<R>& v)
  {
    Word64x2 h;
    std::memcpy(&h, &v, sizeof h);
    return h;
  }
  static __device__ Word64x2 sentinel() { return {~0ull, ~0ull}; }

  template <class R> __device__ ColumnPack<R> number() const
  {
    ColumnPack<R> v;
    std::memcpy(&v, this, sizeof v);
    return v;
  }

  static __device__ Word64x2 read(const void* place)
  {
    Word64x2 h;
    const auto at = __cvta_generic_to_global(place);
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(h.low), "=l"(h.high) : "l"(at) : "memory");
    return h;
  }
  static __device__ Word64x2 read_shared(const void* place)
  {
    Word64x2 h;
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

template <class R> __device__ bool all_arrived(const ColumnPack<R>& v)
{
  bool all = true;
#pragma unroll
  for (const R& p : v.part) all = all && Word<R>::of(p) != Word<R>::sentinel;
  return all;
}

template <class R> struct SentinelValue<ColumnPack<R>> {
  using T = ColumnPack<R>;
  using word = unsigned long long;
  static constexpr int words = 2;

  static __device__ T sentinel_value() { return Word64x2::sentinel().number<R>(); }
  static __device__ T poll(word* place) { return Word64x2::read(place).number<R>(); }
  static __device__ bool arrived(const T& v) { return all_arrived(v); }
  static __device__ void publish(word* place, const T& v) { publish_if(true, place, v); }
  static __device__ void publish_if(bool wanted, word* place, const T& v)
  {
    Word64x2::of(v).write_if(wanted && !drops_publication(), place);
  }
  static __device__ void publish_anywhere_if(bool wanted, word* place, const T& v)
  {
    wanted = wanted && !drops_publication();
    Word64x2::of(v).write_anywhere_if(wanted, place);
  }
  static __device__ void clear(word* place) { *reinterpret_cast<Word64x2*>(place) = Word64x2::sentinel(); }
};

/// Sentinel values in shared memory, as SentinelValue but between threads of a thread block. A slot is filled once,
/// or cleared by the thread that has read it; a thread that fills it again must know of that, for example by a
/// SharedCounter.
template <class T> struct SharedSentinelValue {
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
  static __device__ bool arrived(const T& v) { return Word<T>::of(v) != Word<T>::sentinel; }
  static __device__ void put(T* place, const T& v) { store(place, Word<T>::escape_sentinel(v)); }
  /// Stores a v without a NaN in any part if `wanted`, without a branch.
  static __device__ void put_ordinary_if(bool wanted, T* place, const T& v)
  {
    const unsigned at = address_in_block(place);
    if constexpr (sizeof(T) == 8) SYNCFREE_STORE_IF("cta.shared.u64", "r", at, "l", Word<T>::of(v));
    else SYNCFREE_STORE_IF("cta.shared.u32", "r", at, "r", Word<T>::of(v));
  }
  static __device__ void clear(T* place) { store(place, Word<T>::sentinel); }

private:
  static __device__ void store(T* place, typename Word<T>::type word)
  {
    if constexpr (sizeof(T) == 8)
      asm volatile("st.relaxed.cta.shared.u64 [%0], %1;" ::"r"(address_in_block(place)), "l"(word) : "memory");
    else
      asm volatile("st.relaxed.cta.shared.u32 [%0], %1;" ::"r"(address_in_block(place)), "r"(word) : "memory");
  }
};

template <class R> struct SharedSentinelValue<::cuda::std::complex<R>> {
  using T = ::cuda::std::complex<R>;
  static __device__ T look(const T* place)
  {
    const R* parts = reinterpret_cast<const R*>(place);
    return {SharedSentinelValue<R>::look(parts), SharedSentinelValue<R>::look(parts + 1)};
  }
  static __device__ bool arrived(const T& v)
  {
    return SharedSentinelValue<R>::arrived(v.real()) && SharedSentinelValue<R>::arrived(v.imag());
  }
  static __device__ void put(T* place, const T& v)
  {
    R* parts = reinterpret_cast<R*>(place);
    SharedSentinelValue<R>::put(parts, v.real());
    SharedSentinelValue<R>::put(parts + 1, v.imag());
  }
  static __device__ void put_ordinary_if(bool wanted, T* place, const T& v)
  {
    R* parts = reinterpret_cast<R*>(place);
    SharedSentinelValue<R>::put_ordinary_if(wanted, parts, v.real());
    SharedSentinelValue<R>::put_ordinary_if(wanted, parts + 1, v.imag());
  }
  static __device__ void clear(T* place)
  {
    R* parts = reinterpret_cast<R*>(place);
    SharedSentinelValue<R>::clear(parts);
    SharedSentinelValue<R>::clear(parts + 1);
  }
};

template <class R> struct SharedSentinelValue<ColumnPack<R>> {
  using T = ColumnPack<R>;
  static __device__ T look(const T* place) { return Word64x2::read_shared(place).template number<R>(); }
  static __device__ bool arrived(const T& v) { return all_arrived(v); }
  static __device__ void put(T* place, const T& v) { Word64x2::of(v).write_shared_if(true, place); }
  static __device__ void put_ordinary_if(bool wanted, T* place, const T& v)
  {
    Word64x2::of_ordinary(v).write_shared_if(wanted, place);
  }
  static __device__ void clear(T* place) { Word64x2::sentinel().write_shared_if(true, place); }
};

}  // namespace syncfree::cuda
