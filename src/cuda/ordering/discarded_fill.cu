/// The discarded fill of sampled rows: a warp a row, which adds up fill in a hash table.

#include "cuda/ordering/discarded_fill.hpp"

#include <algorithm>
#include <cmath>

#include "core/ordering/sample.hpp"
#include "core/support/instantiate.hpp"
#include "cuda/base/scalar.cuh"
#include "cuda/base/search.cuh"
#include "cuda/base/thread_id.cuh"
#include "cuda/sync/atomics.cuh"
#include "syncfree/cuda/detail/launch.hpp"

namespace syncfree::cuda {
namespace {

constexpr int threads_a_block = 128, warps_a_block = threads_a_block / 32;
/// About wanted_sample to 1.5 wanted_sample rows are drawn by their mixed bits, or all of fewer than 2 wanted_sample.
constexpr unsigned most_rows = 4 * wanted_sample;

/// A scalar of any type; a struct because shared memory has no constructors.
struct Wide {
  double real, imaginary;
};

template <class T> __device__ Wide widen(const T& v) { return {double(real_of(v)), double(imaginary_of(v))}; }
__device__ Wide minus(Wide a, Wide b) { return {a.real - b.real, a.imaginary - b.imaginary}; }
__device__ bool is_zero(Wide a) { return a.real == 0 && a.imaginary == 0; }
__device__ double norm_of(Wide a) { return a.real * a.real + a.imaginary * a.imaginary; }
__device__ double size_of(Wide a) { return hypot(a.real, a.imaginary); }
__device__ Wide times(Wide a, Wide b)
{
  return {a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
}
/// Smith 1962
__device__ Wide divided(Wide a, Wide b)
{
  if (fabs(b.real) >= fabs(b.imaginary)) {
    const double r = b.imaginary / b.real, d = b.real + b.imaginary * r;
    return {(a.real + a.imaginary * r) / d, (a.imaginary - a.real * r) / d};
  }
  const double r = b.real / b.imaginary, d = b.real * r + b.imaginary;
  return {(a.real * r + a.imaginary) / d, (a.imaginary * r - a.real) / d};
}

template <class T, class I> __device__ Wide value_at(const DeviceMatrix<T, I>& A, I entry)
{
  return widen(reinterpret_cast<const DeviceScalar<T>*>(A.value)[entry]);
}

/// Returns the sum over the lanes of a warp, in the order of the lanes, on all of them; `room` has 32 elements.
template <class N> __device__ N sum_over_warp(N own, N* room)
{
  room[threadIdx.x % 32] = own;
  __syncwarp();
  N sum = 0;
  for (int lane = 0; lane < 32; ++lane) sum += room[lane];
  __syncwarp();
  return sum;
}

/// Lists the sampled rows, in any order.
template <class I> __global__ void draw_rows(I n, I* drawn, unsigned* count)
{
  const std::size_t i = this_thread();
  if (i >= static_cast<std::size_t>(n) || mix_bits(i) % sample_step(n) != 0) return;
  const unsigned place = atomic_add(count, 1);
  if (place < most_rows) drawn[place] = static_cast<I>(i);
}

/// Returns how many of the rows come before row i by their mixed bits. Called by a warp.
template <class I> __device__ unsigned rank_of(I i, const I* drawn, unsigned count)
{
  unsigned before = 0;
  for (unsigned r = threadIdx.x % 32; r < count; r += 32) before += mix_bits(drawn[r]) < mix_bits(i);
  return __reduce_add_sync(~0u, before);
}

/// Looks at the drawn rows, one warp a row.
///   rows  [out] by ascending mixed bits
template <class T, class I>
__global__ void __launch_bounds__(threads_a_block)
examine_rows(DeviceMatrix<T, I> A, const I* drawn, const unsigned* drawn_count, LookedAtRow<I>* rows)
{
  __shared__ double lane_sums[warps_a_block][32];
  __shared__ std::int64_t met_by_lane[warps_a_block][32];
  const std::size_t r = this_thread() / 32;
  const unsigned count = min(*drawn_count, most_rows);
  if (r >= count) return;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const I i = drawn[r], *const begin = A.pattern.row_begin;
  std::int64_t met = 0;
  double apart = 0, sum = 0;
  for (I k = begin[i] + lane; k < begin[i + 1]; k += 32) {
    const I j = A.pattern.column[k];
    met += begin[j + 1] - begin[j];
    if (j == i) continue;
    const I mirrored = find(A.pattern.column, begin[j], begin[j + 1], i);
    const Wide a = value_at(A, k), b = mirrored < 0 ? Wide{0, 0} : value_at(A, mirrored);
    apart += size_of(minus(a, b));
    sum += size_of(a) + size_of(b);
  }
  met = sum_over_warp(met, met_by_lane[warp]);
  apart = sum_over_warp(apart, lane_sums[warp]);
  sum = sum_over_warp(sum, lane_sums[warp]);
  const unsigned rank = rank_of(i, drawn, count);
  if (lane == 0) rows[rank] = {i, met, met + (begin[i + 1] - begin[i]), apart, sum};
}

/// A table of columns: an entry's column j as -2 - j, one with fill as j; -1 is an empty slot.
template <class I> class ColumnTable {
public:
  __device__ ColumnTable(I* key, Wide* fill, const RowWithTable<I>& row)
      : key_(key + row.begin), fill_(fill + row.begin), mask_(row.mask)
  {
  }
  __device__ std::uint64_t slots() const { return mask_ + 1; }
  __device__ void mark_entry(I j) { (void)find_slot(j, -2 - j); }
  /// The fill of column j, 0 at first; nullptr if there is an entry.
  __device__ Wide* fill_of(I j)
  {
    const std::uint64_t slot = find_slot(j, j);
    return slot > mask_ ? nullptr : fill_ + slot;
  }
  __device__ I key(std::uint64_t slot) const { return key_[slot]; }
  __device__ Wide fill(std::uint64_t slot) const { return fill_[slot]; }

private:
  /// Finds j, or stores `wanted` in an empty slot. There always is one: at most half of them are used. A key never
  /// changes once it is stored, so only an empty slot can have been read too early, which claim() notices. Returns a
  /// slot beyond the last if j is an entry.
  __device__ std::uint64_t find_slot(I j, I wanted)
  {
    for (std::uint64_t slot = mix_bits(static_cast<std::uint64_t>(j)) & mask_;; slot = (slot + 1) & mask_) {
      I found = key_[slot];
      if (found == -1) found = claim(key_ + slot, wanted);
      if (found == -1 || found == j) return slot;
      if (found == -2 - j) return mask_ + 1;
    }
  }

  I* const key_;
  Wide* const fill_;
  const std::uint64_t mask_;
};

/// What row i reads: row k = [begin, end), eliminated by a_ik / a_kk; empty if k is not before i.
template <class I> struct Elimination {
  I begin, end, place;
  Wide factor;
};

/// The position of a row in the order.
template <class I> __device__ I place_of(const I* place, I row) { return place ? place[row] : row; }

template <class T, class I>
__device__ Elimination<I> eliminate_by(const DeviceMatrix<T, I>& A, const I* place, I i, I entry)
{
  const I k = A.pattern.column[entry];
  const Wide pivot = value_at(A, A.diagonal[k]);
  Elimination<I> step = {A.pattern.row_begin[k], A.pattern.row_begin[k + 1], place_of(place, k), {0, 0}};
  if (step.place >= place_of(place, i) || is_zero(pivot)) step.end = step.begin;
  else step.factor = divided(value_at(A, entry), pivot);
  return step;
}

/// owns       a warp owns a sampled row and its hash table
/// waits      for nothing
/// publishes  the row's sum of |w_ij|^2 / |a_ii a_jj|; NaN if a_ii is zero or not finite
/// order      lanes add to different columns of a row k; __syncwarp() is between two rows
/// progress   a table has twice as many slots as columns
/// result     reproducible but for the order of the last sum, that of the slots
/// source     Duff & Meurant 1989
template <class T, class I>
__global__ void __launch_bounds__(threads_a_block)
measure_rows(DeviceMatrix<T, I> A, const I* place, const RowWithTable<I>* rows, unsigned count, I* key, Wide* fill,
             double* of_row)
{
  __shared__ Elimination<I> steps[warps_a_block][32];
  __shared__ double lane_sums[warps_a_block][32];
  const std::size_t r = this_thread() / 32;
  if (r >= count) return;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const I i = rows[r].row, first = A.pattern.row_begin[i], last = A.pattern.row_begin[i + 1];
  ColumnTable<I> table(key, fill, rows[r]);
  for (I k = first + lane; k < last; k += 32) table.mark_entry(A.pattern.column[k]);
  for (I k = first; k < last; k += 32) {
    __syncwarp();
    if (k + lane < last) steps[warp][lane] = eliminate_by(A, place, i, k + lane);
    __syncwarp();
    for (int s = 0; s < 32 && k + s < last; ++s) {
      const Elimination<I> step = steps[warp][s];
      for (I e = step.begin + lane; e < step.end; e += 32) {
        const I j = A.pattern.column[e];
        if (place_of(place, j) <= step.place) continue;
        Wide* const w = table.fill_of(j);
        if (!w) continue;
        const Wide more = times(step.factor, value_at(A, e));
        *w = {w->real + more.real, w->imaginary + more.imaginary};
      }
      __syncwarp();
    }
  }
  double sum = 0;
  for (std::uint64_t slot = lane; slot < table.slots(); slot += 32) {
    const I j = table.key(slot);
    const double size = j < 0 ? 0 : size_of(value_at(A, A.diagonal[j]));
    if (size > 0) sum += norm_of(table.fill(slot)) / size;
  }
  sum = sum_over_warp(sum, lane_sums[warp]);
  const double size = size_of(value_at(A, A.diagonal[i]));
  if (lane == 0) of_row[r] = size > 0 && isfinite(size) ? sum / size : NAN;
}

unsigned blocks_of_warps(std::size_t warps) { return blocks_for(warps, warps_a_block); }

}  // namespace

template <class T, class I> FillSampler<T, I>::FillSampler(const DeviceMatrix<T, I>& A) : A_(A)
{
  const std::vector<LookedAtRow<I>> rows = look_at_rows();
  double apart = 0, sum = 0;
  for (const LookedAtRow<I>& r : rows) apart += r.apart, sum += r.sum;
  if (!std::isfinite(sum)) unsymmetry_ = 1;
  else if (sum > 0) unsymmetry_ = apart / sum;
  make_tables(rows);
}

template <class T, class I> std::vector<LookedAtRow<I>> FillSampler<T, I>::look_at_rows() const
{
  const std::size_t n = static_cast<std::size_t>(A_.pattern.n);
  const DeviceArray<I> drawn(most_rows);
  const DeviceArray<LookedAtRow<I>> listed(most_rows);
  DeviceArray<unsigned> count(1);
  count.fill(0, nullptr);
  launch(draw_rows<I>, {blocks_for(n, threads_a_block), threads_a_block}, A_.pattern.n, drawn.data(), count.data());
  launch(examine_rows<T, I>, {blocks_of_warps(most_rows), threads_a_block}, A_, drawn.data(), count.data(),
         listed.data());
  unsigned found = 0;
  count.read(&found, 0, 1, nullptr);
  std::vector<LookedAtRow<I>> rows(std::min(found, most_rows));
  listed.read(rows.data(), 0, rows.size(), nullptr);
  limit_sample(&rows);
  return rows;
}

template <class T, class I> void FillSampler<T, I>::make_tables(const std::vector<LookedAtRow<I>>& rows)
{
  std::vector<RowWithTable<I>> with_tables;
  for (const LookedAtRow<I>& r : rows) {
    const auto columns = static_cast<std::uint64_t>(std::min<std::int64_t>(r.room, A_.pattern.n));
    std::uint64_t slots = 32;
    while (slots < 2 * columns) slots *= 2;
    with_tables.push_back({r.row, slots_, slots - 1});
    slots_ += slots;
  }
  rows_ = DeviceArray<RowWithTable<I>>(with_tables);
}

template <class T, class I> DiscardedFill FillSampler<T, I>::measure(const I* order)
{
  return read_fill(measure_rows_in(nullptr, order), nullptr);
}

template <class T, class I> void FillSampler<T, I>::begin_natural()
{
  if (of_natural_.empty()) of_natural_ = measure_rows_in(for_natural_.get(), nullptr);
}

template <class T, class I>
DeviceArray<double> FillSampler<T, I>::measure_rows_in(cudaStream_t stream, const I* order) const
{
  const auto count = static_cast<unsigned>(rows_.size());
  DeviceArray<double> of_row(count);
  if (count == 0) return of_row;
  const DeviceArray<I> place = order ? inverse_permutation<I>(A_.pattern.n, order, stream) : DeviceArray<I>();
  DeviceArray<I> key(slots_);
  DeviceArray<Wide> fill(slots_);
  key.fill(0xff, stream);
  fill.fill(0, stream);
  launch(measure_rows<T, I>, {blocks_of_warps(count), threads_a_block, 0, stream}, A_, place.data(), rows_.data(),
         count, key.data(), fill.data(), of_row.data());
  return of_row;
}

template <class T, class I>
DiscardedFill FillSampler<T, I>::read_fill(const DeviceArray<double>& of_row, cudaStream_t stream) const
{
  DiscardedFill found;
  std::vector<double> sums(of_row.size());
  of_row.read(sums.data(), 0, sums.size(), stream);
  double sum = 0;
  for (const double s : sums) {
    if (!std::isfinite(s)) ++found.skipped;
    else ++found.rows, sum += s;
  }
  if (found.rows) found.fill = std::sqrt(sum / static_cast<double>(found.rows));
  return found;
}

#define INSTANTIATE(T, I) template class FillSampler<T, I>;
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree::cuda
