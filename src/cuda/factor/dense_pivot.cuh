#pragma once

/// Inverts the diagonal blocks of block ILU by a warp; the rule is that of core/symbolic/pivot_block.hpp, and so is the
/// order of the operations.

#include "core/symbolic/pivot_block.hpp"
#include "cuda/base/scalar.cuh"

namespace syncfree::cuda {

/// As pivot_block_shift(); the same in all lanes.
template <class N> __device__ double pivot_shift_of(const N* a, int n, const PivotBlockShift& shift)
{
  using R = decltype(real_of(N(0)));
  if (shift.relative == 0) return static_cast<R>(shift.fixed);
  auto sum = static_cast<R>(least_pivot_sum);
  for (int k = 0; k < n; ++k) sum += static_cast<R>(abs_value(a[k * n + k]));
  return static_cast<R>(shift.relative) * sum;
}

/// As invert_pivot_block(), by a warp, for a size that the compiler knows; a is in shared memory. Returns the same in
/// all lanes.
template <int n, class N> __device__ int invert_by_warp(N* a, double shift, int* shifted)
{
  using R = decltype(real_of(N(0)));
  constexpr int values = n * n, each = (values + 31) / 32;
  const int lane = threadIdx.x % 32;
  int row[n];
#pragma unroll
  for (int k = 0; k < n; ++k) {
    int l = k;
    double most = abs_value(a[k * n + k]);
#pragma unroll
    for (int r = k + 1; r < n; ++r) {
      const double modulus = abs_value(a[k * n + r]);
      if (!(modulus > most)) continue;
      most = modulus;
      l = r;
    }
    row[k] = l;
    N pivot = a[k * n + l];
    if (most == 0) {
      if (k == n - 1 || shift == 0) return k;
      pivot = N(static_cast<R>(shift));
      ++*shifted;
    }
    const N inverse = N(1) / pivot;
    N next[each];
#pragma unroll
    for (int e = 0; e < each; ++e) {
      const int at = lane + 32 * e, r = at % n, c = at / n;
      if (at >= values) continue;
      const int from = r == k ? l : r == l ? k : r;  // the rows k and l are exchanged
      const N value = product(c == k ? N(1) : a[c * n + l], inverse);
      const N own = c == k ? N(0) : a[c * n + from];
      next[e] = r == k ? value : own - product(a[k * n + from], value);
    }
    __syncwarp();
#pragma unroll
    for (int e = 0; e < each; ++e)
      if (lane + 32 * e < values) a[lane + 32 * e] = next[e];
    __syncwarp();
  }
#pragma unroll
  for (int k = n - 1; k >= 0; --k) {
    if (row[k] == k || lane >= n) continue;  // a lane exchanges columns in its own row
    const N kept = a[k * n + lane];
    a[k * n + lane] = a[row[k] * n + lane];
    a[row[k] * n + lane] = kept;
  }
  __syncwarp();
  return n;
}

/// The row from `first` on with the largest modulus in a column, the first of equals, and that modulus. The same in all
/// lanes.
template <class N> __device__ int find_pivot_row(const N* column, int n, int first, double* most_of_all)
{
  int l = first;
  double most = abs_value(column[first]);
  for (int r = first + 1 + static_cast<int>(threadIdx.x % 32); r < n; r += 32) {
    const double modulus = abs_value(column[r]);
    if (!(modulus > most)) continue;
    most = modulus;
    l = r;
  }
  for (int offset = 16; offset; offset /= 2) {
    const double others = shfl_xor(most, offset);
    const int its = shfl_xor(l, offset);
    if (others > most || (others == most && its < l)) most = others, l = its;
  }
  *most_of_all = most;
  return l;
}

/// As invert_by_warp(), for any size and with a in any memory.
///   factor, row  [work] n entries each, for this warp
template <class N> __device__ int invert_any_by_warp(N* a, int n, double shift, N* factor, int* row, int* shifted)
{
  using R = decltype(real_of(N(0)));
  const int lane = threadIdx.x % 32;
  const std::size_t size = static_cast<std::size_t>(n);
  for (int k = 0; k < n; ++k) {
    N* const column = a + k * size;
    double most;
    const int l = find_pivot_row(column, n, k, &most);
    if (most == 0 && (k == n - 1 || shift == 0)) return k;
    const N inverse = N(1) / (most == 0 ? N(static_cast<R>(shift)) : column[l]);
    if (most == 0) ++*shifted;
    for (int r = lane; r < n; r += 32) factor[r] = r == k ? N(0) : column[r == l ? k : r];
    if (lane == 0) row[k] = l;
    __syncwarp();
    for (int r = lane; r < n; r += 32)
      if (r != k) column[r] = N(0);
    for (int c = lane; c < n; c += 32) {  // exchanges the rows k and l
      N* const of_c = a + c * size;
      const N pivot_row = c == k ? N(1) : of_c[l];
      if (l != k && c != k) of_c[l] = of_c[k];
      of_c[k] = product(pivot_row, inverse);
    }
    __syncwarp();
    for (std::size_t at = lane; at < size * size; at += 32) {
      const std::size_t r = at % size;
      if (r != static_cast<std::size_t>(k)) a[at] -= product(factor[r], a[at - r + k]);
    }
    __syncwarp();
  }
  for (int r = lane; r < n; r += 32)
    for (int k = n - 1; k >= 0; --k) {
      if (row[k] == k) continue;
      N &one = a[k * size + r], &other = a[row[k] * size + r];
      const N kept = one;
      one = other;
      other = kept;
    }
  __syncwarp();
  return n;
}

}  // namespace syncfree::cuda
