#pragma once

/// Products with dense blocks of n x n values, column by column. The compiler knows the sizes 2 to 8, for which these
/// loops become vector instructions on registers; one path serves all others. With SYNCFREE_FEW_TYPES it knows 2 to 4.

#include <cstddef>
#include <type_traits>

#include "syncfree/scalar.hpp"

namespace syncfree {

#if defined(__GNUC__)
#define SYNCFREE_RESTRICT __restrict__
#else
#define SYNCFREE_RESTRICT
#endif

/// Calls use(std::integral_constant<int, N>()): N is the size if it is compiled, else 0.
template <class Use> decltype(auto) with_block_size(int size, const Use& use)
{
  switch (size) {
    case 2: return use(std::integral_constant<int, 2>());
    case 3: return use(std::integral_constant<int, 3>());
    case 4: return use(std::integral_constant<int, 4>());
#ifndef SYNCFREE_FEW_TYPES
    case 5: return use(std::integral_constant<int, 5>());
    case 6: return use(std::integral_constant<int, 6>());
    case 7: return use(std::integral_constant<int, 7>());
    case 8: return use(std::integral_constant<int, 8>());
#endif
    default: return use(std::integral_constant<int, 0>());
  }
}

/// Number of values of a block.
inline std::size_t block_values(int size) { return static_cast<std::size_t>(size) * static_cast<std::size_t>(size); }

/// to = from^T. The arrays do not overlap.
template <class V> void transpose_block(int size, const V* from, V* to)
{
  for (int c = 0; c < size; ++c)
    for (int r = 0; r < size; ++r) to[c * size + r] = from[r * size + c];
}

/// y -= A x. The arrays do not overlap.
///   fixed  as in with_block_size(); also below
template <int fixed, class T, class V>
void subtract_block_times(int size, const V* SYNCFREE_RESTRICT A, const T* SYNCFREE_RESTRICT x, T* SYNCFREE_RESTRICT y)
{
  const int n = fixed > 0 ? fixed : size;
  for (int c = 0; c < n; ++c) {
    const T value = x[c];
    for (int r = 0; r < n; ++r) y[r] -= multiply(static_cast<T>(A[c * n + r]), value);
  }
}

/// y = A x. The arrays do not overlap.
template <int fixed, class T, class V>
void multiply_block(int size, const V* SYNCFREE_RESTRICT A, const T* SYNCFREE_RESTRICT x, T* SYNCFREE_RESTRICT y)
{
  const int n = fixed > 0 ? fixed : size;
  for (int r = 0; r < n; ++r) y[r] = multiply(static_cast<T>(A[r]), x[0]);
  for (int c = 1; c < n; ++c) {
    const T value = x[c];
    for (int r = 0; r < n; ++r) y[r] += multiply(static_cast<T>(A[c * n + r]), value);
  }
}

/// C -= A B. The arrays do not overlap.
template <int fixed, class T>
void subtract_product(int size, const T* SYNCFREE_RESTRICT A, const T* SYNCFREE_RESTRICT B, T* SYNCFREE_RESTRICT C)
{
  const int n = fixed > 0 ? fixed : size;
  for (int c = 0; c < n; ++c) {
    if constexpr (fixed > 0) {
      T sum[fixed];
      for (int r = 0; r < n; ++r) sum[r] = C[c * n + r];
      subtract_block_times<fixed>(size, A, B + c * n, sum);
      for (int r = 0; r < n; ++r) C[c * n + r] = sum[r];
    } else {
      subtract_block_times<0>(size, A, B + c * n, C + c * n);
    }
  }
}

/// C = A B. The arrays do not overlap.
template <int fixed, class T>
void multiply_blocks(int size, const T* SYNCFREE_RESTRICT A, const T* SYNCFREE_RESTRICT B, T* SYNCFREE_RESTRICT C)
{
  const int n = fixed > 0 ? fixed : size;
  for (int c = 0; c < n; ++c) {
    if constexpr (fixed > 0) {
      T sum[fixed];
      multiply_block<fixed>(size, A, B + c * n, sum);
      for (int r = 0; r < n; ++r) C[c * n + r] = sum[r];
    } else {
      multiply_block<0>(size, A, B + c * n, C + c * n);
    }
  }
}

/// sum[r] += the moduli of row r, or numbers of their size: finite if and only if the block is, unless they overflow.
template <int fixed, class T>
void add_moduli(int size, const T* SYNCFREE_RESTRICT A, real_t<T>* SYNCFREE_RESTRICT sum)
{
  const int n = fixed > 0 ? fixed : size;
  for (int c = 0; c < n; ++c)
    for (int r = 0; r < n; ++r) sum[r] += std::abs(real_part(A[c * n + r])) + std::abs(imaginary_part(A[c * n + r]));
}

}  // namespace syncfree
