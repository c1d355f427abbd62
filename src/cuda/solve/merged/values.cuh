#pragma once

/// The values of merged levels (core/plan/merge_plan.hpp), and bounds of their error.
///
/// A row begins as x_i = d_i b_i - sum_k d_i t_ik x_k. Its values for columns of its group are stored where those of P
/// will be. In step s groups are blocks of 2^s levels, in pairs: the rows of a second block substitute what they read
/// of the first, c_k x_k = c_k ([p_k] b - [r_k] x), which takes log2(levels of a group) launches, not one per level.
///
/// Merging forms products of the triangle's values that a solve never forms, so it may lose accuracy (Higham and Pothen
/// 1994). With s_k = 1 / |d_k| + sum_j |t_kj|, the size of row k, no b_k is larger than s_k max |x|, so that x_i errs
/// by rounding errors of max |x| times sum_k |p_ik| s_k. The largest such sum, the growth, therefore bounds the
/// residual of every row i over s_i max |x|, the norm-wise backward error by rows, whatever the scales of rows. If the
/// growth is not small, the error is measured, for a right-hand side with a solution known to be of ordinary size.
///
/// Component-wise, for residuals over what row i reads, no plan that merges has a bound: a huge x_j that row k reads
/// and row i does not makes b_k huge, which cancels only in the sum for x_i.

#include "cuda/analysis/stored_triangle.cuh"
#include "cuda/solve/merged/doubling.cuh"
#include "syncfree/cuda/ready/barrier.cuh"
#include "syncfree/cuda/ready/flag.cuh"
#include "syncfree/host_device.hpp"

namespace syncfree::cuda {

/// The rows of a triangle by their positions in the order of levels. Values are read where the factor has them, and
/// rounded to V.
///   begin, column     in the order of rows; or, if there is no `position`, in the order of levels, with columns as
///                     positions
///   row, position     row of a position, position of a row or nullptr
///   source            by entry: index of its value; nullptr: its own
///   inverse_diagonal  by row, as `value` of the factor; nullptr: 1
template <class T, class V, class I> struct SourceRows {
  using N = DeviceScalar<T>;
  I n;
  const I *begin, *column, *row, *position, *source = nullptr;
  const N *value = nullptr, *inverse_diagonal = nullptr;

  /// Returns the first entry of the row at a position, and the end.
  __device__ I first_entry(I at) const { return begin[position ? row[at] : at]; }
  __device__ I end_of_entries(I at) const { return begin[(position ? row[at] : at) + 1]; }
  __device__ I position_of(I entry) const { return position ? position[column[entry]] : column[entry]; }
  __device__ I row_of(I entry) const { return position ? column[entry] : row[column[entry]]; }
  __device__ N value_of(I entry) const { return N(DeviceScalar<V>(value[source ? source[entry] : entry])); }
  __device__ N inverse_diagonal_of(I position) const
  {
    return inverse_diagonal ? N(DeviceScalar<V>(inverse_diagonal[row[position]])) : N(1);
  }
};

/// A plan (cuda/solve/merged/plan.hpp) of n rows and its values. R's columns are positions in the order of levels, P's
/// are places in their group, if it has several levels.
template <class V, class I> struct MergedView {
  I n;
  const I *group, *group_begin, *p_begin, *r_begin, *r_position;
  const std::uint16_t *p_local, *r_local;
  DeviceScalar<V>*p, *r;

  __device__ I first_of_group(I position) const { return group_begin[group[position]]; }
  __device__ I rows_of_group(I position) const { return group_begin[group[position] + 1] - first_of_group(position); }
};

/// The ranges of entries of the rows of P and R at a position.
template <class I> struct MergedRow {
  I p, p_end, r, r_end;

  template <class V> __device__ static MergedRow row_at(const MergedView<V, I>& M, I position)
  {
    return {M.p_begin[position], M.p_begin[position + 1], M.r_begin[position], M.r_begin[position + 1]};
  }
  __device__ MergedRow shfl(int lane) const
  {
    return {__shfl_sync(~0u, p, lane), __shfl_sync(~0u, p_end, lane), __shfl_sync(~0u, r, lane),
            __shfl_sync(~0u, r_end, lane)};
  }
  __device__ I entry_count() const { return p_end - p + r_end - r; }
  __device__ bool in_p(I e) const { return e < p_end - p; }
  __device__ I entry_index(I e) const { return in_p(e) ? p + e : r + e - (p_end - p); }
  /// Returns where entry e of the row is in one of two arrays. Loads then need no branch, in which each would be
  /// awaited before the next.
  template <class E> __device__ E* entry_at(E* of_p, E* of_r, I e) const
  {
    return (in_p(e) ? of_p : of_r) + entry_index(e);
  }
};

/// Layout of the shared memory of the warps that make a row, in bytes: a table, then accumulators for each warp.
///   maps  the table leads from each column that the group reads to the row's slot; else it lists the row's columns
struct AccumulatorMemory {
  unsigned warps;
  bool maps;
  std::size_t table, per_warp;

  SYNCFREE_HD std::size_t accumulator_bytes() const { return table + warps * per_warp; }
  static std::size_t whole(std::size_t bytes) { return (bytes + 15) / 16 * 16; }
};

/// An entry without a slot.
constexpr std::uint32_t no_key = ~0u;

/// Slots of a row's accumulators: each column that the rows of its group read has a slot, found without a search.
template <class V, class I> class LocalSlots {
public:
  __device__ LocalSlots(const MergedView<V, I>& M, I position, const MergedRow<I>&, const AccumulatorMemory&, void*,
                        unsigned)
      : M_(M), rows_(M.rows_of_group(position))
  {
  }
  ///   span  of the plan's groups
  template <class N> static AccumulatorMemory memory(std::int64_t span)
  {
    return {1, false, 0, AccumulatorMemory::whole(static_cast<std::size_t>(span) * sizeof(N))};
  }

  /// Added to the place of an entry of R.
  __device__ std::uint32_t first_key_of_r() const { return static_cast<std::uint32_t>(rows_); }
  __device__ std::uint32_t slot_of_own(const MergedRow<I>& own, I e) const
  {
    return *own.entry_at(M_.p_local, M_.r_local, e) + (own.in_p(e) ? 0 : first_key_of_r());
  }
  /// Keys are slots.
  template <int count> __device__ void find_slots(std::uint32_t (&)[count]) const {}

private:
  const MergedView<V, I>& M_;
  I rows_;
};

/// The same if the rows of a group read too many columns: entry e of the row has slot e, and a table leads to it. For
/// the warps of a wide row that has all columns; a row of one warp has room for its own ones, which are searched, for
/// several entries at once: one search after the other would take most of a refresh.
template <class V, class I> class FoundSlots {
public:
  __device__ FoundSlots(const MergedView<V, I>& M, I position, const MergedRow<I>& own,
                        const AccumulatorMemory& memory, void* table, unsigned thread)
      : table_(static_cast<std::uint16_t*>(table)), maps_(memory.maps), ps_(own.p_end - own.p),
        size_(own.entry_count()),
        first_key_of_r_(maps_ ? static_cast<std::uint32_t>(M.rows_of_group(position)) : key_of_r)
  {
    while (2 * first_step_ <= max(ps_, size_ - ps_)) first_step_ *= 2;
    for (I e = static_cast<I>(thread); e < size_; e += static_cast<I>(32 * memory.warps)) {
      const std::uint16_t place = *own.entry_at(M.p_local, M.r_local, e);
      if (maps_) table_[place + (own.in_p(e) ? 0 : first_key_of_r_)] = static_cast<std::uint16_t>(e);
      else table_[e] = place;
    }
  }
  ///   row  entries of the longest row, fewer than 2^16
  template <class N> static AccumulatorMemory memory_to_search(std::int64_t row)
  {
    return {1, false, table_bytes(row), AccumulatorMemory::whole(static_cast<std::size_t>(row) * sizeof(N))};
  }
  ///   span  of the plan's groups
  static std::size_t table_bytes(std::int64_t span)
  {
    return AccumulatorMemory::whole(static_cast<std::size_t>(span) * sizeof(std::uint16_t));
  }

  __device__ std::uint32_t first_key_of_r() const { return first_key_of_r_; }
  __device__ std::uint32_t slot_of_own(const MergedRow<I>&, I e) const { return static_cast<std::uint32_t>(e); }
  /// Replaces keys by slots. In a search these are the first entries of P or of R in the table that are not less; all
  /// steps are made for all keys, so that their loads overlap.
  template <int count> __device__ void find_slots(std::uint32_t (&key)[count]) const
  {
    if (maps_) {
#pragma unroll
      for (int k = 0; k < count; ++k)
        if (key[k] != no_key) key[k] = table_[key[k]];
      return;
    }
    I slot[count];
#pragma unroll
    for (int k = 0; k < count; ++k) slot[k] = key[k] & key_of_r ? ps_ : I(0);
    for (I step = first_step_; step > 0; step /= 2) {
#pragma unroll
      for (int k = 0; k < count; ++k) {
        const I next = slot[k] + step, end = key[k] & key_of_r ? size_ : ps_;
        if (next <= end && table_[next - 1] < (key[k] & ~key_of_r)) slot[k] = next;
      }
    }
#pragma unroll
    for (int k = 0; k < count; ++k)
      if (key[k] != no_key) key[k] = static_cast<std::uint32_t>(slot[k]);
  }

private:
  static constexpr std::uint32_t key_of_r = 1 << 16;

  std::uint16_t* table_;
  bool maps_;
  I ps_, size_, first_step_ = 1;
  std::uint32_t first_key_of_r_;
};

/// A row's values of P and R while warps change them, with accumulators for each warp; these are added up at the end,
/// in the order of warps.
template <class T, class V, class I, template <class, class> class Slots> class RowAccumulators {
public:
  using N = DeviceScalar<T>;
  static constexpr int batch = entries_of_part / 32;  ///< entries of another row that a lane loads at once
  static constexpr I trip = entries_of_part;
  /// Entries of another row as they are loaded: nothing is computed from one before all are on their way.
  ///   first_key  added to the place; no_key: there is no entry
  struct Part {
    DeviceScalar<V> value[batch];
    std::uint16_t place[batch];
    std::uint32_t first_key[batch];

    __device__ std::uint32_t key(int b) const { return first_key[b] == no_key ? no_key : first_key[b] + place[b]; }
  };

  /// Waits for the launch before this one, which makes values, after it has read what the plan says of the row.
  ///   thread  index among those that make the row
  __device__ RowAccumulators(const MergedView<V, I>& M, I position, const AccumulatorMemory& memory, unsigned char* at,
                             unsigned thread)
      : M_(M), memory_(memory), thread_(thread), own_(MergedRow<I>::row_at(M, position)),
        accumulators_(at + memory.table), slots_(M, position, own_, memory, at, thread)
  {
    wait_for_primary_launch();
    trigger_dependent_launch();
    for_own([&](I e, std::uint32_t slot) {
      accumulators(0)[slot] = N(value_at(own_, e));
      for (unsigned w = 1; w < memory_.warps; ++w) accumulators(w)[slot] = N(0);
    });
    meet();
  }

  /// Sets entries begin..end - 1 of P to 0.
  __device__ void clear_entries(I begin, I end) const
  {
    for (I k = begin + static_cast<I>(thread_); k < end; k += threads())
      accumulators(0)[slots_.slot_of_own(own_, k - own_.p)] = N(0);
    meet();
  }

  __device__ Part load_part(const MergedRow<I>& row, I from) const
  {
    Part part;
#pragma unroll
    for (int b = 0; b < batch; ++b) {
      const I e = from + lane() + b * 32;
      const bool live = e < row.entry_count();
      part.place[b] = 0, part.value[b] = DeviceScalar<V>(0);
      if (live) part.place[b] = *row.entry_at(M_.p_local, M_.r_local, e);
      if (live) part.value[b] = value_at(row, e);
      part.first_key[b] = !live ? no_key : row.in_p(e) ? 0 : slots_.first_key_of_r();
    }
    return part;
  }

  /// Replaces the keys of several parts by slots.
  template <int count> __device__ void find_slots(std::uint32_t (&key)[count]) const { slots_.find_slots(key); }

  /// Subtracts factor times a part of a row, whose slots are different; called by a warp.
  __device__ void subtract(const N& factor, const Part& part, const std::uint32_t* slot) const
  {
    N* const own = accumulators(thread_ / 32);
    N sum[batch];
#pragma unroll
    for (int b = 0; b < batch; ++b)
      sum[b] = slot[b] == no_key ? N(0) : N(own[slot[b]] - product(factor, N(part.value[b])));
#pragma unroll
    for (int b = 0; b < batch; ++b)
      if (slot[b] != no_key) own[slot[b]] = sum[b];
    __syncwarp();
  }

  /// Stores the values in the plan's arrays. Afterwards the memory is free.
  __device__ void store_row_values() const
  {
    meet();
    for_own([&](I e, std::uint32_t slot) {
      N sum = accumulators(0)[slot];
      for (unsigned w = 1; w < memory_.warps; ++w) sum += accumulators(w)[slot];
      value_at(own_, e) = DeviceScalar<V>(sum);
    });
    meet();
  }

private:
  static __device__ I lane() { return static_cast<I>(threadIdx.x % 32); }
  __device__ I threads() const { return static_cast<I>(32 * memory_.warps); }
  __device__ N* accumulators(unsigned warp) const
  {
    return reinterpret_cast<N*>(accumulators_ + warp * memory_.per_warp);
  }
  /// A row that several warps make has a thread block of its own.
  __device__ void meet() const
  {
    if (memory_.warps == 1) __syncwarp();
    else __syncthreads();
  }
  template <class Use> __device__ void for_own(Use use) const
  {
    for (I e = static_cast<I>(thread_); e < own_.entry_count(); e += threads()) use(e, slots_.slot_of_own(own_, e));
  }
  __device__ DeviceScalar<V>& value_at(const MergedRow<I>& row, I e) const
  {
    return *row.entry_at(M_.p, M_.r, e);
  }

  const MergedView<V, I>& M_;
  const AccumulatorMemory& memory_;
  unsigned thread_;
  MergedRow<I> own_;
  unsigned char* accumulators_;
  Slots<V, I> slots_;
};

/// A maximum over all threads of a launch.
///   most, blocks  0 between launches, after begin()
///   told          [out] host memory: the bits of a double, stored by the last thread block
struct ToldMaximum {
  unsigned long long* most;
  unsigned* blocks;
  unsigned long long* told;

  __device__ void begin() const { *most = 0, *blocks = 0; }

  /// Called by all threads of the launch. Nonnegative doubles are ordered like their bits, with NaN above all.
  __device__ void take_part(double part) const
  {
    __shared__ unsigned long long ours;
    if (threadIdx.x == 0) ours = 0;
    __syncthreads();
    const auto bits = static_cast<unsigned long long>(__double_as_longlong(fabs(part)));
    if (bits) red_max_relaxed(&ours, bits);
    __syncthreads();
    if (threadIdx.x) return;
    red_max_relaxed(most, ours);
    fence_release();
    if (fetch_increment_relaxed(blocks) + 1 < gridDim.x) return;
    fence_acquire();
    *told = exchange_relaxed(most, 0);
    store_relaxed(blocks, 0u);
  }
};

/// Copies the rows of the triangle with their diagonal divided out, sets size[position] = s, and begins the maximum;
/// one warp per row.
template <class T, class V, class I>
__global__ void begin_rows(SourceRows<T, V, I> A, MergedView<V, I> M, real_t<T>* size, ToldMaximum growth)
{
  using N = DeviceScalar<T>;
  wait_for_primary_launch();
  trigger_dependent_launch();
  const std::size_t at = (blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x) / 32;
  if (at == 0 && threadIdx.x == 0) growth.begin();
  if (at >= static_cast<std::size_t>(M.n)) return;
  const I position = static_cast<I>(at), lane = static_cast<I>(threadIdx.x % 32);
  const I group_first = M.first_of_group(position);
  const auto own = MergedRow<I>::row_at(M, position);
  const N scale = A.inverse_diagonal_of(position);
  for (I k = own.p + lane; k < own.p_end; k += 32) M.p[k] = DeviceScalar<V>(k + 1 == own.p_end ? scale : N(0));
  for (I k = own.r + lane; k < own.r_end; k += 32) M.r[k] = DeviceScalar<V>(0);
  __syncwarp();
  double sum = 0;
  const I end = A.end_of_entries(position);
  for (I k = A.first_entry(position) + lane; k < end; k += 32) {
    const I other = A.position_of(k);
    const N value = A.value_of(k);
    sum += abs_value(value);
    const DeviceScalar<V> v(product(value, scale));
    const auto local = static_cast<std::uint16_t>(other - group_first);
    if (other >= group_first) M.p[find_position(M.p_local, own.p, own.p_end, local)] = v;
    else M.r[find_position(M.r_position, own.r, own.r_end, other)] = v;
  }
  for (int offset = 16; offset; offset /= 2) sum += shfl_xor(sum, offset);
  if (lane == 0) size[position] = static_cast<real_t<T>>(sum + (A.inverse_diagonal ? 1 / abs_value(scale) : 1.0));
}

/// Iterates over the rows that the lanes of a warp have found, one each, part by part.
template <class N, class I> struct RowParts {
  unsigned rest;         ///< lanes with rows that are not processed yet
  MergedRow<I> row = {}; ///< the current one
  N factor = N(0);
  I from = 0;            ///< where the current part begins

  __device__ bool more(I trip) const { return rest || from + trip < row.entry_count(); }
  ///   theirs, own_factor  of this lane
  __device__ void advance_part(I trip, const MergedRow<I>& theirs, const N& own_factor)
  {
    from += trip;
    if (from < row.entry_count() || !rest) return;
    const int lane = __ffs(rest) - 1;
    rest &= rest - 1;
    row = theirs.shfl(lane), factor = shfl(own_factor, lane), from = 0;
  }
};

/// Substitutes what a row reads of the block before its own; entries are strided over the row's warps.
template <class T, class V, class I, template <class, class> class Slots>
__device__ void substitute_block(const MergedView<V, I>& M, const BlockReads<I>& reads, const AccumulatorMemory& memory,
                       unsigned char* at, unsigned thread)
{
  using N = DeviceScalar<T>;
  using Row = RowAccumulators<T, V, I, Slots>;
  constexpr int flight = 4;  // parts that are loaded at once
  const I p_begin = M.p_begin[reads.position], begin = p_begin + reads.begin, end = p_begin + reads.end;
  const I group_first = M.first_of_group(reads.position);
  const Row row(M, reads.position, memory, at, thread);
  row.clear_entries(begin, end);
  const I warp = static_cast<I>(thread / 32), lane = static_cast<I>(thread % 32), warps = static_cast<I>(memory.warps);
  for (I chunk = begin + warp; chunk < end; chunk += 32 * warps) {
    const I k = chunk + lane * warps;
    const bool inside = k < end;
    const N value = inside ? N(M.p[k]) : N(0);
    const MergedRow<I> theirs =
        inside ? MergedRow<I>::row_at(M, group_first + static_cast<I>(M.p_local[k])) : MergedRow<I>();
    RowParts<N, I> parts{__ballot_sync(~0u, inside)};
    while (parts.more(Row::trip)) {
      typename Row::Part part[flight];
      std::uint32_t slot[flight * Row::batch];
      N factor[flight];
#pragma unroll
      for (int f = 0; f < flight; ++f) {
        parts.advance_part(Row::trip, theirs, value);
        part[f] = row.load_part(parts.row, parts.from), factor[f] = parts.factor;
      }
      __syncwarp();  // compilers move no load behind it
#pragma unroll
      for (int k = 0; k < flight * Row::batch; ++k) slot[k] = part[k / Row::batch].key(k % Row::batch);
      row.find_slots(slot);
#pragma unroll
      for (int f = 0; f < flight; ++f) row.subtract(factor[f], part[f], slot + f * Row::batch);
    }
  }
  row.store_row_values();
}

/// owns       thread blocks own the rows of P and R at one position after the other: all warps a wide row, else each
///            warp one
/// waits      for the end of the launch before it, which it may overlap: what a row reads was made by earlier launches
/// publishes  its rows to later launches
/// order      that of the stream: values are read and written after wait_for_primary_launch(), and only then may the
///            next launch start; before it only the plan is read, which no launch on values writes
/// progress   no waits but barriers and that one
/// result     reproducible: a warp substitutes rows in order, and the sums of warps are added in order
/// source     partitioned inverse (Alvarado and Schreiber 1993; growth guard: Higham and Pothen 1994), here with fill;
///            inverting a triangle block by block: Higham 2002, 14.2
///   reads             `count`, first those of wide rows
///   wide              number of wide rows
///   of_block, of_warp  memory of a wide row, and of one that a warp makes
template <class T, class V, class I, template <class, class> class Slots>
__global__ void __launch_bounds__(32 * most_warps_of_row)
merge_blocks(MergedView<V, I> M, const BlockReads<I>* reads, std::size_t count, const unsigned* wide,
             AccumulatorMemory of_block, AccumulatorMemory of_warp)
{
  extern __shared__ __align__(16) unsigned char shared[];
  const unsigned warps = blockDim.x / 32, own = threadIdx.x / 32;
  const std::size_t wide_rows = *wide, turns = wide_rows + (count - wide_rows + warps - 1) / warps;
  for (std::size_t turn = blockIdx.x; turn < turns; turn += gridDim.x) {
    const bool is_wide = turn < wide_rows;
    const std::size_t at = is_wide ? turn : wide_rows + (turn - wide_rows) * warps + own;
    if (at >= count) break;
    const AccumulatorMemory memory = is_wide ? of_block : of_warp;
    substitute_block<T, V, I, Slots>(M, reads[at], memory, shared + (is_wide ? 0 : own * memory.accumulator_bytes()),
                                     is_wide ? threadIdx.x : threadIdx.x % 32);
  }
  wait_for_primary_launch();
}

/// growth = max over rows of sum_k |p_ik| s_k; one warp per row. May overlap the launch before it, whose values it
/// reads when that has ended.
template <class T, class V, class I>
__global__ void measure_growth(MergedView<V, I> M, const real_t<T>* size, ToldMaximum growth)
{
  const std::size_t at = (blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x) / 32;
  const bool has_row = at < static_cast<std::size_t>(M.n);
  double sum = 0;
  const I own = static_cast<I>(at), first = has_row ? M.first_of_group(own) : I(0);
  const I begin = has_row ? M.p_begin[own] : I(0), end = has_row ? M.p_begin[own + 1] : I(0);
  wait_for_primary_launch();
  for (I k = begin + static_cast<I>(threadIdx.x % 32); k < end; k += 32) {
    const I position = k + 1 == end ? own : first + static_cast<I>(M.p_local[k]);
    sum += abs_value(M.p[k]) * static_cast<double>(size[position]);
  }
  for (int offset = 16; offset; offset /= 2) sum += shfl_xor(sum, offset);
  growth.take_part(threadIdx.x % 32 == 0 ? sum : 0);
}

/// Returns a pseudo-random number in (-1, 1), the same in every run.
template <class I> __device__ double ordinary_number(I k)
{
  unsigned long long h = (static_cast<unsigned long long>(k) + 1) * 0x9e3779b97f4a7c15ull;
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ull;
  h ^= h >> 27;
  return static_cast<double>(static_cast<long long>(h) >> 11) * 0x1p-52;
}

/// A row of T x and of |T| |x|, T with its diagonal; x(row) returns a value.
template <class N> struct RowProduct {
  N sum;
  double size;

  template <class Rows, class I, class Vector> __device__ RowProduct(const Rows& A, I position, Vector x)
  {
    const N diagonal = A.inverse_diagonal_of(position), of_row = x(A.row[position]);
    const N own = A.inverse_diagonal ? of_row / diagonal : of_row;
    sum = own;
    size = abs_value(own);
    for (I k = A.first_entry(position); k < A.end_of_entries(position); ++k) {
      const N term = product(A.value_of(k), x(A.row_of(k)));
      sum += term;
      size += abs_value(term);
    }
  }
};

/// Computes b = T x for an x of ordinary_number()s; one thread per row.
template <class T, class V, class I> __global__ void make_test_side(SourceRows<T, V, I> A, DeviceScalar<T>* b)
{
  using N = DeviceScalar<T>;
  using R = decltype(real_of(N(0)));
  const std::size_t position = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (position >= static_cast<std::size_t>(A.n)) return;
  const auto x = [](I row) { return N(static_cast<R>(ordinary_number(row))); };
  b[A.row[position]] = RowProduct<N>(A, static_cast<I>(position), x).sum;
}

/// Replaces positions by the rows there.
template <class I> __global__ void name_rows(std::size_t count, const I* row, I* position)
{
  const std::size_t k = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (k < count) position[k] = row[position[k]];
}

/// error = max_i |b - T x|_i / (|T| |x| + |b|)_i; one thread per row.
template <class T, class V, class I>
__global__ void measure_backward_error(SourceRows<T, V, I> A, const DeviceScalar<T>* b, const DeviceScalar<T>* x,
                                       ToldMaximum error)
{
  using N = DeviceScalar<T>;
  const std::size_t position = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  double part = 0;
  if (position < static_cast<std::size_t>(A.n)) {
    const RowProduct<N> row(A, static_cast<I>(position), [x](I r) { return x[r]; });
    const N rhs = b[A.row[position]];
    const double residual = abs_value(N(rhs - row.sum)), size = row.size + abs_value(rhs);
    /* 0 / 0 is no error; a value that is not finite is */
    if (size != 0) part = residual / size;
  }
  error.take_part(part);
}

}  // namespace syncfree::cuda
