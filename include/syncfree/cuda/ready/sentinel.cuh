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
#define SYNCFREE_STORE_IF(where, P, address, W, word)                                                                  \
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p st.relaxed." where " [%0], %1; }" ::P(address), W(word),      \
               "r"(static_cast<unsigned>(wanted))                                                                    \
               : "memory")
#define SYNCFREE_STORE_TWO_IF(where, P, address, low, high)                                                            \
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %3, 0; @p st.relaxed." where ".v2.u64 [%0], {%1, %2}; }" ::P(address),  \
               "l"(low), "l"(high), "r"(static_cast<unsigned>(wanted))                                               \
               : "memory")
inline __device__ void store_if(bool wanted, unsigned long long* address, unsigned long long word)
{
  SYNCFREE_MAY_NANOSLEEP
  SYNCFREE_STORE_IF("gpu.global.u64", "l", __cvta_generic_to_global(address), "l", word);
}
inline __device__ void store_if(bool wanted, unsigned* address, unsigned word)
{
  SYNCFREE_MAY_NANOSLEEP
  SYNCFREE_STORE_IF("gpu.global.u32", "l", __cvta_generic_to_global(address), "r", word);
}
/// Stores a word if `wanted`; `address` may be in shared memory of a thread block of the cluster.
inline __device__ void store_anywhere_if(bool wanted, unsigned long long* address, unsigned long long word)
{
  SYNCFREE_MAY_NANOSLEEP
  SYNCFREE_STORE_IF("gpu.u64", "l", address, "l", word);
}
inline __device__ void store_anywhere_if(bool wanted, unsigned* address, unsigned word)
{
  SYNCFREE_MAY_NANOSLEEP
  SYNCFREE_STORE_IF("gpu.u32", "l", address, "r", word);
}

/// The word of a real value, and the sentinel, a NaN: "not written yet". escape_sentinel() replaces that NaN by
/// another one.
template <class R> struct Word;
template <> struct Word<double> {
  using type = unsigned long long;
  static constexpr type sentinel = ~0ull;
  static __device__ type bits_of(double v) { return static_cast<type>(__double_as_longlong(v)); }
  static __device__ double from_bits(type w) { return __longlong_as_double(static_cast<long long>(w)); }
  static __device__ type escape_sentinel(double v)
  {
    return bits_of(__hiloint2double(static_cast<int>(min(static_cast<unsigned>(__double2hiint(v)), 0xfffffffeu)),
                               __double2loint(v)));
  }
};
template <> struct Word<float> {
  using type = unsigned;
  static constexpr type sentinel = ~0u;
  static __device__ type bits_of(float v) { return __float_as_uint(v); }
  static __device__ float from_bits(type w) { return __uint_as_float(w); }
  static __device__ type escape_sentinel(float v) { return min(bits_of(v), sentinel - 1); }
};

/// Slots of sentinel values.
template <class T> struct SentinelValue {
  using word = typename Word<T>::type;
  static constexpr int words = 1;

  static __device__ T sentinel_value() { return Word<T>::from_bits(Word<T>::sentinel); }
  static __device__ T poll(word* slot)
  {
    return Word<T>::from_bits(load_relaxed(slot));
  }
  static __device__ bool arrived(const T& v) { return Word<T>::bits_of(v) != Word<T>::sentinel; }
  /// Publishes a value; a computed NaN with the bits of the sentinel becomes another NaN.
  static __device__ void publish(word* slot, const T& v)
  {
    if (drops_publication()) return;
    store_relaxed(slot, Word<T>::escape_sentinel(v));
  }
  /// Publishes if `wanted`, without a branch.
  static __device__ void publish_if(bool wanted, word* slot, const T& v)
  {
    wanted = wanted && !drops_publication();
    store_if(wanted, slot, Word<T>::escape_sentinel(v));
  }
  /// Publishes if `wanted`; `slot` may also be a slot of a SharedSentinelValue in a thread block of the cluster.
  static __device__ void publish_anywhere_if(bool wanted, word* slot, const T& v)
  {
    wanted = wanted && !drops_publication();
    store_anywhere_if(wanted, slot, Word<T>::escape_sentinel(v));
  }
  /// Clears a slot for the next solve; no thread reads it in this one.
  static __device__ void clear(word* slot)
  {
    SYNCFREE_MAY_NANOSLEEP
    *slot = Word<T>::sentinel;
  }
};

template <class R> struct SentinelValue<::cuda::std::complex<R>> {
  using T = ::cuda::std::complex<R>;
  using part = SentinelValue<R>;
  using word = typename part::word;
  static constexpr int words = 2;

  static __device__ T sentinel_value() { return {part::sentinel_value(), part::sentinel_value()}; }
  static __device__ T poll(word* slot) { return {part::poll(slot), part::poll(slot + 1)}; }
  static __device__ bool arrived(const T& v) { return part::arrived(v.real()) && part::arrived(v.imag()); }
  static __device__ void publish(word* slot, const T& v)
  {
    part::publish(slot, v.real());
    part::publish(slot + 1, v.imag());
  }
  static __device__ void publish_if(bool wanted, word* slot, const T& v)
  {
    part::publish_if(wanted, slot, v.real());
    part::publish_if(wanted, slot + 1, v.imag());
  }
  static __device__ void publish_anywhere_if(bool wanted, word* slot, const T& v)
  {
    part::publish_anywhere_if(wanted, slot, v.real());
    part::publish_anywhere_if(wanted, slot + 1, v.imag());
  }
  static __device__ void clear(word* slot)
  {
    part::clear(slot);
    part::clear(slot + 1);
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

  template <class R> static __device__ Word64x2 packed(ColumnPack<R> v)
  {
#pragma unroll
    for (R& p : v.part) p = Word<R>::from_bits(Word<R>::escape_sentinel(p));
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

  template <class R> __device__ ColumnPack<R> unpacked() const
  {
    ColumnPack<R> v;
    std::memcpy(&v, this, sizeof v);
    return v;
  }

  static __device__ Word64x2 read(const void* address)
  {
    Word64x2 h;
    const auto at = __cvta_generic_to_global(address);
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(h.low), "=l"(h.high) : "l"(at) : "memory");
    return h;
  }
  static __device__ Word64x2 read_shared(const void* address)
  {
    Word64x2 h;
    const unsigned at = address_in_block(address);
    asm volatile("ld.relaxed.cta.shared.v2.u64 {%0, %1}, [%2];" : "=l"(h.low), "=l"(h.high) : "r"(at) : "memory");
    return h;
  }
  __device__ void write_if(bool wanted, void* address) const
  {
    SYNCFREE_MAY_NANOSLEEP
    SYNCFREE_STORE_TWO_IF("gpu.global", "l", __cvta_generic_to_global(address), low, high);
  }
  __device__ void write_anywhere_if(bool wanted, void* address) const
  {
    SYNCFREE_MAY_NANOSLEEP
    SYNCFREE_STORE_TWO_IF("gpu", "l", address, low, high);
  }
  __device__ void write_shared_if(bool wanted, void* address) const
  {
    SYNCFREE_MAY_NANOSLEEP
    SYNCFREE_STORE_TWO_IF("cta.shared", "r", address_in_block(address), low, high);
  }
};

template <class R> __device__ bool all_arrived(const ColumnPack<R>& v)
{
  bool all = true;
#pragma unroll
  for (const R& p : v.part) all = all && Word<R>::bits_of(p) != Word<R>::sentinel;
  return all;
}

template <class R> struct SentinelValue<ColumnPack<R>> {
  using T = ColumnPack<R>;
  using word = unsigned long long;
  static constexpr int words = 2;

  static __device__ T sentinel_value() { return Word64x2::sentinel().unpacked<R>(); }
  static __device__ T poll(word* slot) { return Word64x2::read(slot).unpacked<R>(); }
  static __device__ bool arrived(const T& v) { return all_arrived(v); }
  static __device__ void publish(word* slot, const T& v) { publish_if(true, slot, v); }
  static __device__ void publish_if(bool wanted, word* slot, const T& v)
  {
    Word64x2::packed(v).write_if(wanted && !drops_publication(), slot);
  }
  static __device__ void publish_anywhere_if(bool wanted, word* slot, const T& v)
  {
    wanted = wanted && !drops_publication();
    Word64x2::packed(v).write_anywhere_if(wanted, slot);
  }
  static __device__ void clear(word* slot)
  {
    SYNCFREE_MAY_NANOSLEEP
    *reinterpret_cast<Word64x2*>(slot) = Word64x2::sentinel();
  }
};

/// Sentinel values in shared memory, as SentinelValue but between threads of a thread block. A slot is filled once,
/// or cleared by the thread that has read it; a thread that fills it again must know of that, for example by a
/// SharedCounter.
template <class T> struct SharedSentinelValue {
  static __device__ T load_shared(const T* slot)
  {
    const unsigned at = address_in_block(slot);
    typename Word<T>::type word;
    if constexpr (sizeof(T) == 8)
      asm volatile("ld.relaxed." SYNCFREE_NEAR_SCOPE ".shared.u64 %0, [%1];" : "=l"(word) : "r"(at) : "memory");
    else
      asm volatile("ld.relaxed." SYNCFREE_NEAR_SCOPE ".shared.u32 %0, [%1];" : "=r"(word) : "r"(at) : "memory");
    return Word<T>::from_bits(word);
  }
  static __device__ bool is_stored(const T& v) { return Word<T>::bits_of(v) != Word<T>::sentinel; }
  /// Returns ~0u for the sentinel, and seldom for another NaN: its upper half.
  static __device__ unsigned glance(const T& v)
  {
    static_assert(Word<T>::sentinel == static_cast<typename Word<T>::type>(~0ull));
    return static_cast<unsigned>(Word<T>::bits_of(v) >> (8 * sizeof(T) - 32));
  }
  static __device__ void store_shared(T* slot, const T& v) { store_word(slot, Word<T>::escape_sentinel(v)); }
  /// Stores a v without a NaN in any part if `wanted`, without a branch.
  static __device__ void store_ordinary_if(bool wanted, T* slot, const T& v)
  {
    const unsigned at = address_in_block(slot);
    SYNCFREE_MAY_NANOSLEEP
    if constexpr (sizeof(T) == 8) SYNCFREE_STORE_IF("cta.shared.u64", "r", at, "l", Word<T>::bits_of(v));
    else SYNCFREE_STORE_IF("cta.shared.u32", "r", at, "r", Word<T>::bits_of(v));
  }
  static __device__ void clear_shared(T* slot) { store_word(slot, Word<T>::sentinel); }

private:
  static __device__ void store_word(T* slot, typename Word<T>::type word)
  {
    SYNCFREE_MAY_NANOSLEEP
    if constexpr (sizeof(T) == 8)
      asm volatile("st.relaxed.cta.shared.u64 [%0], %1;" ::"r"(address_in_block(slot)), "l"(word) : "memory");
    else
      asm volatile("st.relaxed.cta.shared.u32 [%0], %1;" ::"r"(address_in_block(slot)), "r"(word) : "memory");
  }
};

template <class R> struct SharedSentinelValue<::cuda::std::complex<R>> {
  using T = ::cuda::std::complex<R>;
  static __device__ T load_shared(const T* slot)
  {
    const R* parts = reinterpret_cast<const R*>(slot);
    return {SharedSentinelValue<R>::load_shared(parts), SharedSentinelValue<R>::load_shared(parts + 1)};
  }
  static __device__ bool is_stored(const T& v)
  {
    return SharedSentinelValue<R>::is_stored(v.real()) && SharedSentinelValue<R>::is_stored(v.imag());
  }
  static __device__ unsigned glance(const T& v)
  {
    return max(SharedSentinelValue<R>::glance(v.real()), SharedSentinelValue<R>::glance(v.imag()));
  }
  static __device__ void store_shared(T* slot, const T& v)
  {
    R* parts = reinterpret_cast<R*>(slot);
    SharedSentinelValue<R>::store_shared(parts, v.real());
    SharedSentinelValue<R>::store_shared(parts + 1, v.imag());
  }
  static __device__ void store_ordinary_if(bool wanted, T* slot, const T& v)
  {
    R* parts = reinterpret_cast<R*>(slot);
    SharedSentinelValue<R>::store_ordinary_if(wanted, parts, v.real());
    SharedSentinelValue<R>::store_ordinary_if(wanted, parts + 1, v.imag());
  }
  static __device__ void clear_shared(T* slot)
  {
    R* parts = reinterpret_cast<R*>(slot);
    SharedSentinelValue<R>::clear_shared(parts);
    SharedSentinelValue<R>::clear_shared(parts + 1);
  }
};

template <class R> struct SharedSentinelValue<ColumnPack<R>> {
  using T = ColumnPack<R>;
  static __device__ T load_shared(const T* slot) { return Word64x2::read_shared(slot).template unpacked<R>(); }
  static __device__ bool is_stored(const T& v) { return all_arrived(v); }
  static __device__ void store_shared(T* slot, const T& v) { Word64x2::packed(v).write_shared_if(true, slot); }
  static __device__ void store_ordinary_if(bool wanted, T* slot, const T& v)
  {
    Word64x2::of_ordinary(v).write_shared_if(wanted, slot);
  }
  static __device__ void clear_shared(T* slot) { Word64x2::sentinel().write_shared_if(true, slot); }
};

}  // namespace syncfree::cuda
