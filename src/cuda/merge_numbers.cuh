#pragma once

/// The numbers of merged levels (core/merge_plan.hpp), and how far they can be trusted:
///
///   [p_i r_i] = d_i ([e_i t_i,outside] - sum over k inside the group of t_ik [p_k r_k])
///
/// Merging forms products of the triangle's numbers that a solve never forms, so it may lose what a solve keeps. The
/// growth max_i sum_k |p_ik| / |d_k| says how much at most: while it is small the backward error is. Where it is not,
/// the backward error is measured, on a right-hand side whose solution is known to be of ordinary size.

#include "stored_triangle.cuh"
#include "syncfree/cuda/ready.cuh"

namespace syncfree::cuda {

/// What merge_rows makes, of n places. `place` names P's columns, `row` names the same as rows of the triangle.
///   r_local  core/merge_plan.hpp; nullptr where there is none
///   span     of a row's numbers in shared memory
template <class V, class I> struct MergedView {
  const I *group, *group_begin, *p_begin, *p_place, *p_row, *r_begin, *r_place;
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

/// A place's numbers of P and R while they are made by `lanes` threads, in shared memory: each column that its group
/// knows has a slot there, so entries of other rows find theirs without a search.
template <class N, class V, class I, int lanes> class SlottedRow {
public:
  using Number = syncfree::cuda::Number<V>;
  static constexpr int batch = 2;  ///< entries of the next row that a thread has in flight
  struct Part {
    Number value[batch];
    std::uint32_t slot[batch];
  };

  __device__ SlottedRow(const MergedView<V, I>& M, I place, N* slots)
      : M_(M), slots_(slots), first_(M.group_begin[M.group[place]]),
        rows_(M.group_begin[M.group[place] + 1] - first_), own_(MergedRow<I>::of(M, place))
  {
    for (I e = lane(); e < own_.size(); e += lanes) slots_[slot(own_, e)] = N(0);
    sync();
    if (lane() == 0) slots_[place - first_] = N(1);
  }

  static __device__ void sync()
  {
    if (lanes == 32) __syncwarp();
    else __syncthreads();
  }
  __device__ const MergedRow<I>& own() const { return own_; }

  __device__ void put(I place, const N& v) const
  {
    const I k = find_place(M_.r_place, own_.r, own_.r_end, place);
    slots_[rows_ + M_.r_local[k]] = v;
  }

  __device__ Part load(const MergedRow<I>& row, I from = 0) const
  {
    Part part;
#pragma unroll
    for (int b = 0; b < batch; ++b) {
      const I e = from + lane() + b * lanes;
      const bool live = e < row.size();
      part.slot[b] = live ? slot(row, e) : ~0u;
      if (live) part.value[b] = row.in_p(e) ? M_.p[row.entry(e)] : M_.r[row.entry(e)];
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
        if (part.slot[b] != ~0u) slots_[part.slot[b]] -= product(factor, N(part.value[b]));
    }
    sync();
  }

  __device__ N get(I e) const { return slots_[slot(own_, e)]; }

private:
  static __device__ I lane() { return static_cast<I>(threadIdx.x % lanes); }
  __device__ std::uint32_t slot(const MergedRow<I>& row, I e) const
  {
    const I k = row.entry(e);
    return static_cast<std::uint32_t>(row.in_p(e) ? M_.p_place[k] - first_ : rows_ + M_.r_local[k]);
  }

  const MergedView<V, I>& M_;
  N* slots_;
  I first_, rows_;
  MergedRow<I> own_;
};

/// The same where groups know too many columns: in global memory, by a warp, with a search for each entry.
template <class N, class V, class I, int lanes> class SearchedRow {
public:
  struct Part {};

  __device__ SearchedRow(const MergedView<V, I>& M, I place, N*) : M_(M), own_(MergedRow<I>::of(M, place))
  {
    for (I e = lane(); e < own_.size(); e += 32) at(e) = Number<V>(e + 1 == own_.p_end - own_.p ? 1 : 0);
    sync();
  }

  static __device__ void sync() { __syncwarp(); }
  __device__ const MergedRow<I>& own() const { return own_; }
  __device__ void put(I place, const N& v) const
  {
    M_.r[find_place(M_.r_place, own_.r, own_.r_end, place)] = Number<V>(v);
  }
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
  __device__ N get(I e) const { return N(at(e)); }

private:
  static __device__ I lane() { return static_cast<I>(threadIdx.x % 32); }
  __device__ Number<V>& at(I e) const { return own_.in_p(e) ? M_.p[own_.entry(e)] : M_.r[own_.entry(e)]; }

  const MergedView<V, I>& M_;
  MergedRow<I> own_;
};

/// owns       `lanes` threads own the row of P and of R of one place, order[0..count)
/// waits      for nobody: what the row reads was made by launches before this one
/// publishes  its row to the launches behind this one, its growth to the host
/// order      that of the stream; the growth is a relaxed maximum, read after the launch
/// progress   no waits
/// result     reproducible: rows are put in one after the other
/// source     level merging, design notes 8; no publication known
template <class T, class V, class I, template <class, class, class, int> class Row, int lanes>
__global__ void merge_rows(StoredView<V, I> A, MergedView<V, I> M, I count, const I* order, unsigned long long* growth)
{
  using N = Number<T>;
  extern __shared__ __align__(16) unsigned char shared[];
  const std::size_t at = blockIdx.x * static_cast<std::size_t>(blockDim.x / lanes) + threadIdx.x / lanes;
  if (at >= static_cast<std::size_t>(count)) return;
  const I place = order[at], group = M.group[place];
  const Row<N, V, I, lanes> row(M, place, reinterpret_cast<N*>(shared) + threadIdx.x / lanes * M.span);
  const I first = A.begin[place], last = A.begin[place + 1];
  for (I k = first + static_cast<I>(threadIdx.x % lanes); k < last; k += lanes)
    if (M.group[A.column[k]] != group) row.put(A.column[k], N(A.value[k]));
  row.sync();
  constexpr int flight = 4;  // rows that are on their way at once
  /* each warp looks at 32 entries at once and goes through those of the group */
  for (I chunk = first; chunk < last; chunk += 32) {
    const I k = chunk + static_cast<I>(threadIdx.x % 32);
    const I other = k < last ? A.column[k] : place;
    const N value = k < last ? N(A.value[k]) : N(0);
    const bool inside = k < last && M.group[other] == group;
    const MergedRow<I> theirs = inside ? MergedRow<I>::of(M, other) : MergedRow<I>();
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
  const MergedRow<I>& own = row.own();
  const N scale = A.inverse_diagonal ? N(A.inverse_diagonal[place]) : N(1);
  double sum = 0;
  for (I e = static_cast<I>(threadIdx.x % lanes); e < own.size(); e += lanes) {
    const N v = product(row.get(e), scale);
    const I k = own.entry(e);
    (own.in_p(e) ? M.p[k] : M.r[k]) = Number<V>(v);
    if (own.in_p(e)) sum += size_of(v) / (A.inverse_diagonal ? size_of(A.inverse_diagonal[M.p_place[k]]) : 1.0);
  }
  for (int offset = 16; offset; offset /= 2) sum += from_lane(sum, offset);
  /* nonnegative numbers are in the order of their bits, and NaN stands above all; several warps tell parts of a sum */
  if (threadIdx.x % 32 == 0)
    raise_to(growth, static_cast<unsigned long long>(__double_as_longlong(fabs(sum) * (lanes / 32))));
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
