#pragma once

/// Scalar and index types that the library is compiled for.
///
/// T is the scalar type of vectors and of all sums: float, double, std::complex of both.
/// V is the scalar type in which a factor is stored: T, or `single_t<T>` to halve the memory.
/// I is the index type: std::int32_t or std::int64_t.

#include <cmath>
#include <complex>
#include <cstdint>
#include <type_traits>

namespace syncfree {

template <class T> struct ScalarTraits {
  using real = T;
  using single = float;
  static constexpr bool is_complex = false;
};
template <class R> struct ScalarTraits<std::complex<R>> {
  using real = R;
  using single = std::complex<float>;
  static constexpr bool is_complex = true;
};

template <class T> using real_t = typename ScalarTraits<T>::real;
template <class T> using single_t = typename ScalarTraits<T>::single;
template <class T> inline constexpr bool is_complex_v = ScalarTraits<T>::is_complex;

template <class T> real_t<T> real_part(const T& v)
{
  if constexpr (is_complex_v<T>) return v.real();
  else return v;
}

template <class T> real_t<T> imaginary_part(const T& v)
{
  if constexpr (is_complex_v<T>) return v.imag();
  else return 0;
}

template <class T> T conjugate(const T& v)
{
  if constexpr (is_complex_v<T>) return std::conj(v);
  else return v;
}

template <class T> bool is_finite(const T& v)
{
  return std::isfinite(real_part(v)) && std::isfinite(imaginary_part(v));
}

/// Product without the Inf and NaN recovery of C99 Annex G, which costs a branch and a library call per complex
/// product.
template <class T> T multiply(const T& a, const T& b)
{
  if constexpr (is_complex_v<T>)
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  else return a * b;
}

}  // namespace syncfree
