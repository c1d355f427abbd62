#pragma once

/// The pivots of block ILU: dense diagonal blocks, inverted by elimination with partial pivoting.
///
/// The rule is PETSc's. Column k of the block has its pivot in the row with the largest modulus among the rows that had
/// none yet, the first of equals. A pivot is refused only if it is exactly 0, and in a block of 2 to 7 unknowns even
/// then only if it is the last one or the shift amount is 0; else it is replaced by
///   (n == 3 ? 0.333 : 0.25) amount (1e-12 + sum_k |a_kk|),  a: the block before it is inverted.
/// The shift type matters in blocks of 4 unknowns only, in which `none` shifts no pivot. In blocks of
/// 15 unknowns, and in natural order only, a pivot is replaced by the amount itself. In blocks of other sizes no pivot
/// is shifted. One case is not followed: PETSc shifts in blocks of 9, too, where it was built with AVX2 or AVX-512.

#include <cmath>
#include <cstdint>
#include <utility>

#include "syncfree/factor.hpp"
#include "syncfree/scalar.hpp"
#include "syncfree/status.hpp"

namespace syncfree {

/// Operations of a factorization by blocks of s unknowns: an inversion takes 4/3 s^3 of them, a product
/// s^3 + (s - 1) s^2.
///   operations    count_operations() of the pattern of blocks
///   rows, uppers  block rows, and blocks of U
inline std::int64_t count_block_operations(std::int64_t operations, std::int64_t rows, std::int64_t uppers,
                                           std::int64_t s)
{
  return operations * s * s * s + rows * (s * s * s - s) / 3 + uppers * (s - 1) * s * s;
}

/// Checks the shift type.
///   errors  invalid_argument
inline Status check_block_shift(const PivotRule& rule)
{
  if (rule.shift == Shift::none || rule.shift == Shift::inblocks) return {};
  return failed(Code::invalid_argument,
                "blocks are factored with shift type none or inblocks; use one of these, or factor by entries");
}

constexpr double least_pivot_sum = 1e-12;  ///< added to the sum of the diagonal

/// What replaces a pivot 0 that is not the last one: fixed + relative (1e-12 + sum_k |a_kk|). If both are 0, nothing
/// does.
struct PivotBlockShift {
  double fixed = 0, relative = 0;
};

///   natural  rows and columns are not permuted
inline PivotBlockShift choose_pivot_block_shift(int n, const PivotRule& rule, bool natural)
{
  if (n == 15 && natural) return {rule.shift_amount, 0};
  if (n < 2 || n > 7 || (n == 4 && rule.shift == Shift::none)) return {};
  return {0, (n == 3 ? 0.333 : 0.25) * rule.shift_amount};
}

/// Returns that number.
///   a        n x n, column by column
///   natural  rows and columns are not permuted
template <class T> real_t<T> pivot_block_shift(const T* a, int n, const PivotRule& rule, bool natural)
{
  const PivotBlockShift shift = choose_pivot_block_shift(n, rule, natural);
  if (shift.relative == 0) return static_cast<real_t<T>>(shift.fixed);
  auto sum = static_cast<real_t<T>>(least_pivot_sum);
  for (int k = 0; k < n; ++k) sum += std::abs(a[k * n + k]);
  return static_cast<real_t<T>>(shift.relative) * sum;
}

/// Inverts a block in place, by Gauss-Jordan elimination.
///   fixed   the size, or 0 if the compiler does not know it
///   a       n x n, column by column; on failure undefined. A NaN stays one
///   shift   as pivot_block_shift()
///   factor  [work] n entries
///   row     [work] n entries
///   shifted [in, out] incremented for each pivot that was replaced
///   returns n, or the index of the pivot that is 0
template <int fixed, class T> int invert_pivot_block(T* a, int size, real_t<T> shift, T* factor, int* row, int* shifted)
{
  const int n = fixed > 0 ? fixed : size;
  for (int k = 0; k < n; ++k) {
    int l = k;
    real_t<T> most = std::abs(a[k * n + k]);
    for (int r = k + 1; r < n; ++r) {
      const real_t<T> modulus = std::abs(a[k * n + r]);
      if (!(modulus > most)) continue;
      most = modulus;
      l = r;
    }
    if (most == 0) {
      if (k == n - 1 || shift == 0) return k;
      a[k * n + l] = shift;
      ++*shifted;
    }
    row[k] = l;
    if (l != k)
      for (int c = 0; c < n; ++c) std::swap(a[c * n + k], a[c * n + l]);
    const T inverse = T(1) / a[k * n + k];
    for (int r = 0; r < n; ++r) {
      factor[r] = a[k * n + r];
      a[k * n + r] = T(0);
    }
    factor[k] = T(0);
    a[k * n + k] = T(1);
    for (int c = 0; c < n; ++c) {
      const T value = multiply(a[c * n + k], inverse);
      a[c * n + k] = value;
      for (int r = 0; r < n; ++r) a[c * n + r] -= multiply(factor[r], value);
    }
  }
  for (int k = n; k-- > 0;)
    if (row[k] != k)
      for (int r = 0; r < n; ++r) std::swap(a[k * n + r], a[row[k] * n + r]);
  return n;
}

}  // namespace syncfree
