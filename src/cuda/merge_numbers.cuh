#pragma once

/// The numbers of merged levels (core/merge_plan.hpp), and how far they can be trusted.
///
/// A row begins as x_i = d_i b_i - sum_k d_i t_ik x_k. Its numbers for columns of its group stand where P has them, for
/// P will. In step s groups are blocks of 2^s levels, in pairs: the rows of a second block put in what they read of the
/// first, c_k x_k = c_k ([p_k] b - [r_k] x), which takes log2(levels of a group) launches, not one a level.
///
/// Merging forms products of the triangle's numbers that a solve never forms, so it may lose what a solve keeps. The
/// growth max_i sum_k |p_ik| / |d_k| says how much at most: while it is small the backward error is. Where it is not,
/// the backward error is measured, on a right-hand side whose solution is known to be of ordinary size.

#include "stored_triangle.cuh"
#include "syncfree/cuda/ready.cuh"

namespace syncfree::cuda {

/// A plan (merge_plan.hpp) of n places and its numbers. `p_place` names P's columns, `p_row` the same as rows of the
/// triangle.
///   r_local  nullptr where there is none
///   span     of a row's numbers in shared memory
template <class V, class I> struct MergedView {
  I n;
  const unsigned* depth;
  const I *group, *group_begin, *group_level, *level_begin, *p_begin, *p_place, *p_row, *r_begin, *r_place;
  const std::uint16_t* r_local;
  std::uint32_t span;
  Number<V>*p, *r;
};

/// The first of the ascending begin..end - 1 that is not below `place`.
template <class I> __device__ I find_place(const I* column, I begin, I end, I place)
{
  while (begin < end) {
    const I middle = begin + (end - begin) / 2;
    if (column[middle] < place) begin = middle + 1;
    else end = middle;
  }
  return begin;
}

/// Where the rows of P and R of a place stand.
template <class I> struct MergedRow {
  I p, p_end, r, r_end;

  template <class V> __device__ static MergedRow of(const MergedView<V, I>& M, I place)
  {
    return {M.p_begin[place], M.p_begin[place + 1], M.r_begin[place], M.r_begin[place + 1]};
  }
  __device__ MergedRow of_lane(int lane) const
  {
    return {__shfl_sync(~0u, p, lane), __shfl_sync(~0u, p_end, lane), __shfl_sync(~0u, r, lane),
            __shfl_sync(~0u, r_end, lane)};
  }
  __device__ I size() const { return p_end - p + r_end - r; }
  __device__ bool in_p(I e) const { return e < p_end - p; }
  __device__ I entry(I e) const { return in_p(e) ? p + e : r + e - (p_end - p); }
};

/// Where a row has its numbers in shared memory: each column that its group knows has a slot, found without a search.
template <class N, class V, class I> class LocalSlots {
public:
  __device__ LocalSlots(const MergedView<V, I>& M, I place, const MergedRow<I>&, N* memory, int, int)
      : M_(M), value_(memory), first_(M.group_begin[M.group[place]]), rows_(M.group_begin[M.group[place] + 1] - first_)
  {
  }
  __device__ N& at(std::uint32_t slot) const { return value_[slot]; }
  __device__ std::uint32_t of(const MergedRow<I>& row, I e) const
  {
    const I k = row.entry(e);
    return static_cast<std::uint32_t>(row.in_p(e) ? M_.p_place[k] - first_ : rows_ + M_.r_local[k]);
  }
  __device__ std::uint32_t of_own(const MergedRow<I>& own, I e) const { return of(own, e); }

private:
  const MergedView<V, I>& M_;
  N* value_;
  I first_, rows_;
};

/// The same where a group knows too many columns: entry e of the row has slot e, and its columns are searched.
template <class N, class V, class I> class FoundSlots {
public:
  __device__ FoundSlots(const MergedView<V, I>& M, I, const MergedRow<I>& own, N* memory, int lane, int lanes)
      : M_(M), column_(reinterpret_cast<I*>(memory)), ps_(own.p_end - own.p), size_(own.size())
  {
    value_ = reinterpret_cast<N*>(reinterpret_cast<unsigned char*>(memory) + columns_bytes(size_));
    for (I e = static_cast<I>(lane); e < size_; e += static_cast<I>(lanes))
      column_[e] = own.in_p(e) ? M.p_place[own.entry(e)] : M.r_place[own.entry(e)];
  }
  /// Of a row of so many entries.
  static SYNCFREE_HD std::size_t columns_bytes(I entries) { return (entries * sizeof(I) + 15) / 16 * 16; }
  static std::size_t bytes(I entries) { return columns_bytes(entries) + (entries * sizeof(N) + 15) / 16 * 16; }

  __device__ N& at(std::uint32_t slot) const { return value_[slot]; }
  __device__ std::uint32_t of(const MergedRow<I>& row, I e) const
  {
    const I k = row.entry(e);
    const I slot = row.in_p(e) ? find_place(column_, I(0), ps_, M_.p_place[k])
                               : find_place(column_, ps_, size_, M_.r_place[k]);
    return static_cast<std::uint32_t>(slot);
  }
  __device__ std::uint32_t of_own(const MergedRow<I>&, I e) const { return static_cast<std::uint32_t>(e); }

private:
  const MergedView<V, I>& M_;
  I* column_;
  N* value_;
  I ps_, size_;
};

/// A place's numbers of P and R while `lanes` threads change them, in shared memory.
template <class N, class V, class I, int lanes, template <class, class, class> class Slots> class RowInMemory {
public:
  using Number = syncfree::cuda::Number<V>;
  static constexpr int batch = 2;  ///< entries of the next row that a thread has in flight
  struct Part {
    Number value[batch];
    std::uint32_t slot[batch];
  };

  __device__ RowInMemory(const MergedView<V, I>& M, I place, N* memory)
      : M_(M), own_(MergedRow<I>::of(M, place)), slots_(M, place, own_, memory, lane(), lanes)
  {
    for (I e = lane(); e < own_.size(); e += lanes) slots_.at(slots_.of_own(own_, e)) = N(number(own_, e));
    sync();
  }

  static __device__ void sync()
  {
    if (lanes == 32) __syncwarp();
    else __syncthreads();
  }

  /// Entry k of P becomes 0.
  __device__ void clear(I k) const { slots_.at(slots_.of_own(own_, k - own_.p)) = N(0); }

  __device__ Part load(const MergedRow<I>& row, I from = 0) const
  {
    Part part;
#pragma unroll
    for (int b = 0; b < batch; ++b) {
      const I e = from + lane() + b * lanes;
      const bool live = e < row.size();
      part.slot[b] = live ? slots_.of(row, e) : ~0u;
      if (live) part.value[b] = number(row, e);
    }
    return part;
  }

  /// Subtracts factor times a row of which `part` is the beginning.
  __device__ void subtract(const N& factor, const MergedRow<I>& row, Part part) const
  {
    for (I from = 0; from < row.size(); from += batch * lanes) {
      if (from > 0) part = load(row, from);
#pragma unroll
      for (int b = 0; b < batch; ++b)
        if (part.slot[b] != ~0u) slots_.at(part.slot[b]) -= product(factor, N(part.value[b]));
    }
    sync();
  }

  /// To the plan's arrays.
  __device__ void store() const
  {
    for (I e = lane(); e < own_.size(); e += lanes) number(own_, e) = Number(slots_.at(slots_.of_own(own_, e)));
    sync();
  }

private:
  static __device__ int lane() { return static_cast<int>(threadIdx.x % lanes); }
  __device__ Number& number(const MergedRow<I>& row, I e) const
  {
    return row.in_p(e) ? M_.p[row.entry(e)] : M_.r[row.entry(e)];
  }

  const MergedView<V, I>& M_;
  MergedRow<I> own_;
  Slots<N, V, I> slots_;
};
template <class N, class V, class I, int lanes> using SlottedRow = RowInMemory<N, V, I, lanes, LocalSlots>;
template <class N, class V, class I, int lanes> using FoundRow = RowInMemory<N, V, I, lanes, FoundSlots>;

/// The same where rows are too long for that: in global memory, by a warp.
template <class N, class V, class I, int lanes> class SearchedRow {
public:
  struct Part {};

  __device__ SearchedRow(const MergedView<V, I>& M, I place, N*) : M_(M), own_(MergedRow<I>::of(M, place)) {}

  static __device__ void sync() { __syncwarp(); }
  __device__ void clear(I k) const { M_.p[k] = Number<V>(0); }
  __device__ Part load(const MergedRow<I>&) const { return {}; }
  __device__ void subtract(const N& factor, const MergedRow<I>& row, Part) const
  {
    for (I j = row.p + lane(); j < row.p_end; j += 32) {
      Number<V>& v = M_.p[find_place(M_.p_place, own_.p, own_.p_end, M_.p_place[j])];
      v = Number<V>(N(v) - product(factor, N(M_.p[j])));
    }
    for (I j = row.r + lane(); j < row.r_end; j += 32) {
      Number<V>& v = M_.r[find_place(M_.r_place, own_.r, own_.r_end, M_.r_place[j])];
      v = Number<V>(N(v) - product(factor, N(M_.r[j])));
    }
    sync();
  }
  __device__ void store() const {}

private:
  static __device__ I lane() { return static_cast<I>(threadIdx.x % 32); }

  const MergedView<V, I>& M_;
  MergedRow<I> own_;
};

/// The rows as they are in the triangle, with their diagonal divided out; a warp a row.
template <class T, class V, class I> __global__ void begin_rows(StoredView<V, I> A, MergedView<V, I> M)
{
  using N = Number<T>;
  const std::size_t at = (blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x) / 32;
  if (at >= static_cast<std::size_t>(M.n)) return;
  const I place = static_cast<I>(at), lane = static_cast<I>(threadIdx.x % 32);
  const I group_first = M.group_begin[M.group[place]];
  const auto own = MergedRow<I>::of(M, place);
  const N scale = A.inverse_diagonal ? N(A.inverse_diagonal[place]) : N(1);
  for (I k = own.p + lane; k < own.p_end; k += 32) M.p[k] = Number<V>(k + 1 == own.p_end ? scale : N(0));
  for (I k = own.r + lane; k < own.r_end; k += 32) M.r[k] = Number<V>(0);
  __syncwarp();
  for (I k = A.begin[place] + lane; k < A.begin[place + 1]; k += 32) {
    const I other = A.column[k];
    const Number<V> v(product(N(A.value[k]), scale));
    if (other >= group_first) M.p[find_place(M.p_place, own.p, own.p_end, other)] = v;
    else M.r[find_place(M.r_place, own.r, own.r_end, other)] = v;
  }
}

/// What a row of P names in the first block of its pair: entries begin..end - 1, none where it stands in that itself.
template <class I> struct ReadBlock {
  I begin = 0, end = 0;

  template <class V> __device__ ReadBlock(const MergedView<V, I>& M, I place, int step)
  {
    const unsigned depth = M.depth[place] - 1, block = depth >> step;
    if (block % 2 == 0) return;
    const I level = M.group_level[M.group[place]] + static_cast<I>((block - 1) << step);
    const I first = M.p_begin[place], last = M.p_begin[place + 1];
    begin = find_place(M.p_place, first, last, M.level_begin[level]);
    end = find_place(M.p_place, begin, last, M.level_begin[level + (I(1) << step)]);
  }
};

/// Puts in what a row reads of the block before its own.
template <class T, class V, class I, template <class, class, class, int> class Row, int lanes>
__device__ void put_in(const MergedView<V, I>& M, const ReadBlock<I>& reads, I place, Number<T>* slots)
{
  using N = Number<T>;
  constexpr int flight = 4;  // rows that are on their way at once
  const Row<N, V, I, lanes> row(M, place, slots);
  /* each warp looks at 32 entries at once */
  for (I chunk = reads.begin; chunk < reads.end; chunk += 32) {
    const I k = chunk + static_cast<I>(threadIdx.x % 32);
    const bool inside = k < reads.end;
    const I other = inside ? M.p_place[k] : place;
    const N value = inside ? N(M.p[k]) : N(0);
    const MergedRow<I> theirs = inside ? MergedRow<I>::of(M, other) : MergedRow<I>();
    row.sync();
    if (inside && threadIdx.x % lanes < 32) row.clear(k);
    row.sync();
    for (unsigned rest = __ballot_sync(~0u, inside); rest;) {
      MergedRow<I> now[flight];
      typename Row<N, V, I, lanes>::Part part[flight];
      int from[flight];
#pragma unroll
      for (int f = 0; f < flight; ++f) {
        from[f] = rest ? __ffs(rest) - 1 : -1;
        rest &= rest - 1;
        if (from[f] >= 0) now[f] = theirs.of_lane(from[f]), part[f] = row.load(now[f]);
      }
#pragma unroll
      for (int f = 0; f < flight; ++f)
        if (from[f] >= 0) row.subtract(of_lane(value, from[f]), now[f], part[f]);
    }
  }
  row.store();
}

/// owns       `lanes` threads own the row of P and of R of one place after the other
/// waits      for nobody: what a row reads was made by launches before this one
/// publishes  its rows to the launches behind this one
/// order      that of the stream
/// progress   no waits
/// result     reproducible: rows are put in one after the other
/// source     level merging, design notes 8; inverting a triangle block by block: Higham 2002, 14.2
template <class T, class V, class I, template <class, class, class, int> class Row, int lanes>
__global__ void merge_blocks(MergedView<V, I> M, int step)
{
  extern __shared__ __align__(16) unsigned char shared[];
  const std::size_t rows = blockDim.x / lanes, own = threadIdx.x / lanes;
  Number<T>* const slots = reinterpret_cast<Number<T>*>(shared) + own * M.span;
  const std::size_t stride = gridDim.x * rows;
  for (std::size_t at = blockIdx.x * rows + own; at < static_cast<std::size_t>(M.n); at += stride) {
    const I place = static_cast<I>(at);
    const ReadBlock<I> reads(M, place, step);
    if (reads.begin < reads.end) put_in<T, V, I, Row, lanes>(M, reads, place, slots);
  }
}

/// *growth = max over rows of sum_k |p_ik| / |d_k|, as the bits of a double; a warp a row.
template <class T, class V, class I>
__global__ void measure_growth(StoredView<V, I> A, MergedView<V, I> M, unsigned long long* growth)
{
  const std::size_t at = (blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x) / 32;
  if (at >= static_cast<std::size_t>(M.n)) return;
  double sum = 0;
  for (I k = M.p_begin[at] + static_cast<I>(threadIdx.x % 32); k < M.p_begin[at + 1]; k += 32)
    sum += size_of(M.p[k]) / (A.inverse_diagonal ? size_of(A.inverse_diagonal[M.p_place[k]]) : 1.0);
  for (int offset = 16; offset; offset /= 2) sum += from_lane(sum, offset);
  /* nonnegative numbers are in the order of their bits, and NaN stands above all */
  if (threadIdx.x % 32 == 0) raise_to(growth, static_cast<unsigned long long>(__double_as_longlong(fabs(sum))));
}

/// In (-1, 1), the same in every run.
template <class I> __device__ double ordinary_number(I k)
{
  unsigned long long h = (static_cast<unsigned long long>(k) + 1) * 0x9e3779b97f4a7c15ull;
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ull;
  h ^= h >> 27;
  return static_cast<double>(static_cast<long long>(h) >> 11) * 0x1p-52;
}

/// A row of T x and of |T| |x|, T with its diagonal; x(row) is a number.
template <class N> struct RowProduct {
  N sum;
  double size;

  template <class V, class I, class Vector> __device__ RowProduct(const StoredView<V, I>& A, I place, Vector x)
  {
    const N own = A.inverse_diagonal ? x(A.row[place]) / N(A.inverse_diagonal[place]) : x(A.row[place]);
    sum = own;
    size = size_of(own);
    for (I k = A.begin[place]; k < A.begin[place + 1]; ++k) {
      const N term = product(N(A.value[k]), x(A.row[A.column[k]]));
      sum += term;
      size += size_of(term);
    }
  }
};

/// b = T x for an x of ordinary numbers; a thread a row.
template <class T, class V, class I> __global__ void make_test_side(StoredView<V, I> A, Number<T>* b)
{
  using N = Number<T>;
  using R = decltype(real_of(N(0)));
  const std::size_t place = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (place >= static_cast<std::size_t>(A.n)) return;
  const auto x = [](I row) { return N(static_cast<R>(ordinary_number(row))); };
  b[A.row[place]] = RowProduct<N>(A, static_cast<I>(place), x).sum;
}

/// to[k] = row[place[k]]
template <class I> __global__ void name_rows(std::size_t count, const I* row, const I* place, I* to)
{
  const std::size_t k = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (k < count) to[k] = row[place[k]];
}

/// *error = max_i |b - T x|_i / (|T| |x| + |b|)_i as the bits of a double; a thread a row.
template <class T, class V, class I>
__global__ void measure_backward_error(StoredView<V, I> A, const Number<T>* b, const Number<T>* x,
                                       unsigned long long* error)
{
  using N = Number<T>;
  const std::size_t place = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (place >= static_cast<std::size_t>(A.n)) return;
  const RowProduct<N> row(A, static_cast<I>(place), [x](I r) { return x[r]; });
  const N side = b[A.row[place]];
  const double residual = size_of(N(side - row.sum)), size = row.size + size_of(side);
  /* nothing at all is no error; what is not finite is */
  const double part = size == 0 ? 0 : residual / size;
  raise_to(error, static_cast<unsigned long long>(__double_as_longlong(fabs(part))));
}

}  // namespace syncfree::cuda
