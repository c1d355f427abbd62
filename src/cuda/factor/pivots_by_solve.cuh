#pragma once

/// The factorization if no entry but pivots is updated, as on a grid with a star stencil: with c_ip = a_ip a_pi
///
///   1 / u_ii = y_i = 1 / (a_ii - sum over p in L(i) of c_ip y_p),   l_ip = a_ip y_p
///
/// so that all but the pivots is computed in parallel, and these by a solver of L. A factor that needs any remedy of
/// the pivot rules, or is not finite, is left to the other kernels.

#include <limits>

#include "cuda/base/launch.hpp"
#include "cuda/base/thread_id.cuh"
#include "cuda/factor/row.cuh"

namespace syncfree::cuda {

/// a_ip of entry k of L; partner: its position in U
template <class T, class I>
__device__ DeviceScalar<T> lower_entry(const FactorView<T, I>& F, const DeviceScalar<T>* A, I k, I partner)
{
  return entry(A, F.lu ? F.lower_source[k] : F.upper_source[partner]);
}

/// F.lower = c, F.inverse_pivot = the diagonal of A. A product that underflows is a failure.
template <class T, class I>
__global__ void prepare_pivots(FactorView<T, I> F, const I* partner, std::size_t lowers, const DeviceScalar<T>* A,
                               Outcome* outcome)
{
  using N = DeviceScalar<T>;
  using R = decltype(real_of(N(0)));
  const std::size_t k = this_thread();
  if (k < static_cast<std::size_t>(F.n)) F.inverse_pivot[k] = entry(A, F.diagonal_source[k]);
  if (k >= lowers) return;
  const I at = partner[k];
  const N a = lower_entry(F, A, static_cast<I>(k), at), b = at < 0 ? N(0) : entry(A, F.upper_source[at]);
  const N c = product(a, b);
  const bool is_lost = abs_value(c) < static_cast<double>(std::numeric_limits<R>::min()) && a != N(0) && b != N(0);
  if (is_lost) red_min_relaxed(&outcome->failure, 0);
  F.lower[k] = c;
}

/// Finishes rows, each by `lanes` lanes of a warp: L and U, as they are stored, from A and the inverse pivots. *outcome
/// reports whether a value does not fit or a pivot is too small.
template <class T, class I, int lanes>
__global__ void finish_rows(FactorView<T, I> F, const I* partner, const DeviceScalar<T>* A, DevicePivotRule rule,
                            Outcome* outcome)
{
  using N = DeviceScalar<T>;
  const std::size_t row = this_thread() / lanes;
  const int lane = threadIdx.x % lanes;
  const bool live = row < static_cast<std::size_t>(F.n);
  const I i = live ? static_cast<I>(row) : 0;
  N lost(0);  // subtracted from the pivot
  bool good = true;
  double sum = 0;
  for (I k = F.lower_begin[i] + lane; live && k < F.lower_begin[i + 1]; k += lanes) {
    const N y = F.inverse_pivot[F.lower_column[k]];
    lost += product(F.lower[k], y);
    const N l = product(lower_entry(F, A, k, partner[k]), y);
    good = good && fits(F, l);
    if (F.lu) sum += abs_value(l);
    F.lower[k] = stored(F, l);
  }
  for (I k = F.upper_begin[i] + lane; live && k < F.upper_begin[i + 1]; k += lanes) {
    const N u = entry(A, F.upper_source[k]);
    good = good && fits(F, u);
    sum += abs_value(u);
    F.upper[k] = stored(F, u);
  }
  for (int offset = lanes / 2; offset; offset /= 2) {
    lost += shfl_xor(lost, offset);
    sum += shfl_xor(sum, offset);
  }
  const N pivot = entry(A, F.diagonal_source[i]) - lost;
  const bool is_large = pivot_size(pivot, rule) > pivot_tolerance(rule, sum);
  const bool fit = finite(pivot) && inverse_fits(F, F.inverse_pivot[i]);
  if (live && !(good && is_large && fit)) red_min_relaxed(&outcome->failure, 0);
}

}  // namespace syncfree::cuda
