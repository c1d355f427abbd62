#pragma once

/// Scalars in device code: complex ones have the layout of std::complex.

#include <cuda/std/complex>

#include <cmath>
#include <complex>
#include <type_traits>

#include "syncfree/cuda/ready/sentinel.cuh"

namespace syncfree::cuda {

template <class T> struct DeviceScalarOf {
  using type = T;
};
template <class R> struct DeviceScalarOf<std::complex<R>> {
  using type = ::cuda::std::complex<R>;
};
/// float, double, or complex of both
template <class T> using DeviceScalar = typename DeviceScalarOf<T>::type;

template <class T> auto* as_device(T* p) { return reinterpret_cast<DeviceScalar<T>*>(p); }
template <class T> const auto* as_device(const T* p) { return reinterpret_cast<const DeviceScalar<T>*>(p); }

template <class R> __device__ R product(R a, R b) { return a * b; }
/// Multiplies without the Inf and NaN recovery of C99 Annex G.
template <class R>
__device__ ::cuda::std::complex<R> product(const ::cuda::std::complex<R>& a, const ::cuda::std::complex<R>& b)
{
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// A ColumnPack is multiplied with one matrix entry for all columns.
template <class N> struct EntryOf {
  using type = N;
  static constexpr int columns = 1;
};
template <class R> struct EntryOf<ColumnPack<R>> {
  using type = R;
  static constexpr int columns = ColumnPack<R>::count;
};
template <class N> using Entry = typename EntryOf<N>::type;
template <class N> constexpr int columns_of = EntryOf<N>::columns;

/// Returns the value that replaces one whose wait was given up (syncfree/cuda/ready/ticket.cuh): NaN in all its
/// parts, and not the sentinel.
template <class N> __device__ N quiet_nan()
{
  if constexpr (std::is_floating_point_v<Entry<N>>) return N(static_cast<Entry<N>>(NAN));
  else return N(NAN, NAN);
}

template <class R> __device__ ColumnPack<R> product(ColumnPack<R> v, R entry)
{
#pragma unroll
  for (R& p : v.part) p *= entry;
  return v;
}
template <class R> __device__ ColumnPack<R> product(R entry, const ColumnPack<R>& v) { return product(v, entry); }
template <class R> __device__ ColumnPack<R>& operator+=(ColumnPack<R>& a, const ColumnPack<R>& b)
{
#pragma unroll
  for (int p = 0; p < a.count; ++p) a.part[p] += b.part[p];
  return a;
}
template <class R> __device__ ColumnPack<R>& operator-=(ColumnPack<R>& a, const ColumnPack<R>& b)
{
#pragma unroll
  for (int p = 0; p < a.count; ++p) a.part[p] -= b.part[p];
  return a;
}
template <class R> __device__ ColumnPack<R> operator-(ColumnPack<R> a, const ColumnPack<R>& b) { return a -= b; }

template <class R> __device__ R real_of(R v) { return v; }
template <class R> __device__ R real_of(const ::cuda::std::complex<R>& v) { return v.real(); }
template <class R> __device__ R imaginary_of(R) { return 0; }
template <class R> __device__ R imaginary_of(const ::cuda::std::complex<R>& v) { return v.imag(); }

template <class R> __device__ R conjugate_of(R v) { return v; }
template <class R> __device__ ::cuda::std::complex<R> conjugate_of(const ::cuda::std::complex<R>& v)
{
  return {v.real(), -v.imag()};
}

template <class R> __device__ double abs_value(R v) { return fabs(static_cast<double>(v)); }
template <class R> __device__ double abs_value(const ::cuda::std::complex<R>& v)
{
  return hypot(static_cast<double>(v.real()), static_cast<double>(v.imag()));
}

/// True if no part is NaN or infinite.
inline __device__ bool is_ordinary(double v) { return (__double2hiint(v) & 0x7ff00000) != 0x7ff00000; }
inline __device__ bool is_ordinary(float v) { return (__float_as_uint(v) & 0x7f800000) != 0x7f800000; }
template <class R> __device__ bool is_ordinary(const ::cuda::std::complex<R>& v) 
{
  return is_ordinary(v.real()) && is_ordinary(v.imag());
}

template <class R> __device__ bool is_ordinary(const ColumnPack<R>& v)
{
  bool all = true;
#pragma unroll
  for (const R& p : v.part) all = all && is_ordinary(p);
  return all;
}

template <class N> __device__ bool finite(const N& v) { return isfinite(real_of(v)) && isfinite(imaginary_of(v)); }

template <class R> __device__ R shfl_xor(R v, int lane_mask) { return __shfl_xor_sync(~0u, v, lane_mask); }
template <class R> __device__ ::cuda::std::complex<R> shfl_xor(const ::cuda::std::complex<R>& v, int lane_mask)
{
  return {__shfl_xor_sync(~0u, v.real(), lane_mask), __shfl_xor_sync(~0u, v.imag(), lane_mask)};
}

template <class R> __device__ ColumnPack<R> shfl_xor(ColumnPack<R> v, int lane_mask)
{
#pragma unroll
  for (R& p : v.part) p = shfl_xor(p, lane_mask);
  return v;
}

/// Returns the mask of the lanes in this lane's group of `lanes`, a power of two.
inline __device__ unsigned group_of(unsigned lanes)
{
  return lanes == 32 ? ~0u : ((1u << (lanes % 32)) - 1) << (threadIdx.x % 32 / lanes * lanes);
}

/// Returns the value of that lane of the warp.
template <class R> __device__ R shfl(R v, int lane) { return __shfl_sync(~0u, v, lane); }
template <class R> __device__ ::cuda::std::complex<R> shfl(const ::cuda::std::complex<R>& v, int lane)
{
  return {__shfl_sync(~0u, v.real(), lane), __shfl_sync(~0u, v.imag(), lane)};
}

/// A value from another lane, kept as its words: shuffled() combines them, and only there a thread waits for the
/// shuffles.
template <class R> class ShflUp {
public:
  ShflUp() = default;
  explicit __device__ ShflUp(R v) : word_(v) {}
  /// Reads from the lane `before` positions lower, within groups of `width` lanes; the first ones keep their own
  /// value.
  __device__ ShflUp(R v, int before, int width) { word_ = __shfl_up_sync(~0u, v, before, width); }
  __device__ R shuffled() const { return word_; }

private:
  R word_;
};
template <> class ShflUp<double> {
public:
  ShflUp() = default;
  explicit __device__ ShflUp(double v)
  {
    low_ = __double2loint(v);
    high_ = __double2hiint(v);
  }
  __device__ ShflUp(double v, int before, int width)
  {
    low_ = __shfl_up_sync(~0u, __double2loint(v), before, width);
    high_ = __shfl_up_sync(~0u, __double2hiint(v), before, width);
  }
  __device__ double shuffled() const { return __hiloint2double(high_, low_); }

private:
  int low_, high_;
};
template <class R> class ShflUp<ColumnPack<R>> {
public:
  ShflUp() = default;
  explicit __device__ ShflUp(const ColumnPack<R>& v)
  {
#pragma unroll
    for (int p = 0; p < v.count; ++p) part_[p] = ShflUp<R>(v.part[p]);
  }
  __device__ ShflUp(const ColumnPack<R>& v, int before, int width)
  {
#pragma unroll
    for (int p = 0; p < v.count; ++p) part_[p] = ShflUp<R>(v.part[p], before, width);
  }
  __device__ ColumnPack<R> shuffled() const
  {
    ColumnPack<R> v;
#pragma unroll
    for (int p = 0; p < v.count; ++p) v.part[p] = part_[p].shuffled();
    return v;
  }

private:
  ShflUp<R> part_[ColumnPack<R>::count];
};

/// Returns the value of the first of each `width` lanes.
template <class R> __device__ R from_first_lane(R v, int width = 32) { return __shfl_sync(~0u, v, 0, width); }
template <class R>
__device__ ::cuda::std::complex<R> from_first_lane(const ::cuda::std::complex<R>& v, int width = 32)
{
  return {__shfl_sync(~0u, v.real(), 0, width), __shfl_sync(~0u, v.imag(), 0, width)};
}

}  // namespace syncfree::cuda
