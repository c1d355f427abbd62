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

constexpr int merge_threads = 128;
constexpr int merge_staged = 256;  ///< entries of a row that a warp keeps in shared memory

/// What merge_rows makes, of n places. `place` names P's columns, `row` names the same as rows of the triangle.
template <class V, class I> struct MergedView {
  const I *group, *p_begin, *p_place, *p_row, *r_begin, *r_place;
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

/// A row of P or of R while it is made, by a warp: in shared memory if it fits, else where it will stay.
template <class N, class V, class I> class RowInTheMaking {
public:
  __device__ RowInTheMaking(const I* column, Number<V>* value, I begin, I end, N* staged)
      : column_(column), value_(value), begin_(begin), end_(end),
        staged_(end - begin <= merge_staged ? staged : nullptr)
  {
    for (I k = begin_ + lane(); k < end_; k += 32) set(k, N(0));
  }

  __device__ void set(I k, const N& v) const
  {
    if (staged_) staged_[k - begin_] = v;
    else value_[k] = Number<V>(v);
  }
  __device__ N get(I k) const { return staged_ ? staged_[k - begin_] : N(value_[k]); }
  __device__ void put(I place, const N& v) const { set(find_place(column_, begin_, end_, place), v); }

  /// Subtracts factor times the entries first..last - 1, which are all among this row's places.
  __device__ void subtract(const N& factor, I first, I last) const
  {
    for (I j = first + lane(); j < last; j += 32) {
      const I k = find_place(column_, begin_, end_, column_[j]);
      set(k, get(k) - product(factor, N(value_[j])));
    }
  }

  __device__ void finish(const N& scale) const
  {
    for (I k = begin_ + lane(); k < end_; k += 32) value_[k] = Number<V>(product(get(k), scale));
  }

private:
  static __device__ I lane() { return static_cast<I>(threadIdx.x % 32); }

  const I* column_;
  Number<V>* value_;
  I begin_, end_;
  N* staged_;
};

/// owns       a warp owns the row of P and of R of one place, order[0..count)
/// waits      for nobody: what the row reads was made by launches before this one
/// publishes  its row to the launches behind this one, its growth to the host
/// order      that of the stream; the growth is a relaxed maximum, read after the launch
/// progress   no waits
/// result     reproducible: rows are put in one after the other
/// source     level merging, design notes 8; no publication known
template <class T, class V, class I>
__global__ void __launch_bounds__(merge_threads)
merge_rows(StoredView<V, I> A, MergedView<V, I> M, I count, const I* order, unsigned long long* growth)
{
  using N = Number<T>;
  __shared__ N staged[merge_threads / 32][2 * merge_staged];
  const std::size_t at = (blockIdx.x * static_cast<std::size_t>(merge_threads) + threadIdx.x) / 32;
  if (at >= static_cast<std::size_t>(count)) return;
  const I place = order[at], lane = static_cast<I>(threadIdx.x % 32);
  N* mine = staged[threadIdx.x / 32];
  const RowInTheMaking<N, V, I> p(M.p_place, M.p, M.p_begin[place], M.p_begin[place + 1], mine);
  const RowInTheMaking<N, V, I> r(M.r_place, M.r, M.r_begin[place], M.r_begin[place + 1], mine + merge_staged);
  __syncwarp();
  if (lane == 0) p.set(M.p_begin[place + 1] - 1, N(1));
  const I first = A.begin[place], last = A.begin[place + 1];
  for (I k = first + lane; k < last; k += 32)
    if (M.group[A.column[k]] != M.group[place]) r.put(A.column[k], N(A.value[k]));
  __syncwarp();
  for (I k = first; k < last; ++k) {
    const I other = A.column[k];
    if (M.group[other] != M.group[place]) continue;
    const N value(A.value[k]);
    p.subtract(value, M.p_begin[other], M.p_begin[other + 1]);
    r.subtract(value, M.r_begin[other], M.r_begin[other + 1]);
    __syncwarp();
  }
  const N scale = A.inverse_diagonal ? N(A.inverse_diagonal[place]) : N(1);
  p.finish(scale);
  r.finish(scale);
  __syncwarp();
  double sum = 0;
  for (I k = M.p_begin[place] + lane; k < M.p_begin[place + 1]; k += 32)
    sum += size_of(M.p[k]) / (A.inverse_diagonal ? size_of(A.inverse_diagonal[M.p_place[k]]) : 1.0);
  for (int offset = 16; offset; offset /= 2) sum += from_lane(sum, offset);
  /* nonnegative numbers are in the order of their bits, and NaN stands above all */
  if (lane == 0) raise_to(growth, static_cast<unsigned long long>(__double_as_longlong(fabs(sum))));
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
