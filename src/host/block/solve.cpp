#include "solve.hpp"

#include <algorithm>
#include <cstdint>
#include <new>

#include "core/support/instantiate.hpp"
#include "dense.hpp"

namespace syncfree {
namespace {

/// Prefetches the block that the substitution reaches some blocks later: addresses outside the array never fault.
template <class V> void prefetch_block(const V* block, int size, bool lower)
{
#if defined(__GNUC__)
  constexpr std::intptr_t distance = 4096, line = 64;  // bytes
  const std::intptr_t bytes = static_cast<std::intptr_t>(sizeof(V)) * size * size;
  const auto at = reinterpret_cast<std::intptr_t>(block) + (lower ? distance : -distance);
  for (std::intptr_t l = 0; l < bytes; l += line) __builtin_prefetch(reinterpret_cast<const void*>(at + l));
#else
  (void)block, (void)size, (void)lower;
#endif
}

/// Solves block rows.
template <int fixed, bool lower, class T, class V, class I> class BlockRowSolver {
public:
  explicit BlockRowSolver(const BlockTriangle<V, I>& triangle) : triangle_(triangle) {}

  /// Solves the rows at positions [begin, end) of the substitution, for each column.
  ///   work  a block of a vector
  void solve_rows(I begin, I end, const T* b, T* x, const Columns<I>& columns, T* work) const
  {
    for (I c = 0; c < columns.count; ++c, b += columns.b_leading, x += columns.x_leading)
      for (I s = begin; s < end; ++s) solve_row(lower ? s : triangle_.pattern.n - 1 - s, b, x, work);
  }

private:
  int size() const { return fixed > 0 ? fixed : triangle_.size; }
  std::size_t values() const { return static_cast<std::size_t>(size()) * static_cast<std::size_t>(size()); }

  /// Subtracts the products of row i, those nearest to the diagonal last: they are computed last.
  void subtract_products(I i, const T* x, T* sum) const
  {
    const I *column = triangle_.pattern.column, begin = triangle_.pattern.row_begin[i];
    const I end = triangle_.pattern.row_begin[i + 1];
    const V* block = triangle_.value + values() * static_cast<std::size_t>(lower ? begin : end - 1);
    const std::size_t n = static_cast<std::size_t>(size());
    if constexpr (lower)
      for (I k = begin; k < end; ++k, block += values()) {
        prefetch_block(block, size(), lower);
        subtract_block_times<fixed>(size(), block, x + n * static_cast<std::size_t>(column[k]), sum);
      }
    else
      for (I k = end; k-- > begin; block -= values()) {
        prefetch_block(block, size(), lower);
        subtract_block_times<fixed>(size(), block, x + n * static_cast<std::size_t>(column[k]), sum);
      }
  }

  void solve_row(I i, const T* b, T* x, T* work) const
  {
    const std::size_t n = static_cast<std::size_t>(size()), at = n * static_cast<std::size_t>(i);
    if constexpr (fixed > 0) {
      T sum[fixed];
      for (int r = 0; r < fixed; ++r) sum[r] = b[at + r];
      subtract_products(i, x, sum);
      if (triangle_.inverse_diagonal) {
        T product[fixed];
        multiply_block<fixed>(fixed, triangle_.inverse_diagonal + values() * static_cast<std::size_t>(i), sum, product);
        for (int r = 0; r < fixed; ++r) x[at + r] = product[r];
      } else {
        for (int r = 0; r < fixed; ++r) x[at + r] = sum[r];
      }
    } else {
      std::copy_n(b + at, n, work);
      subtract_products(i, x, work);
      if (triangle_.inverse_diagonal)
        multiply_block<0>(size(), triangle_.inverse_diagonal + values() * static_cast<std::size_t>(i), work, x + at);
      else std::copy_n(work, n, x + at);
    }
  }

  BlockTriangle<V, I> triangle_;
};

/// Rows whose part of the matrix stays in a core's cache while several columns are solved.
constexpr int rows_at_a_time = 256;

}  // namespace

template <class T, class V, class I>
BlockSolver<T, V, I>::BlockSolver(const BlockTriangle<V, I>& triangle, int threads)
    : triangle_(triangle), work_(static_cast<std::size_t>(triangle.size) * static_cast<std::size_t>(threads))
{
  if (threads == 1) return;
  if (!make_row_chunks(triangle.pattern, triangle.lower, threads, &plan_, triangle.size).ok()) throw std::bad_alloc();
  runner_ = std::make_unique<ChunkRunner<I>>(plan_);
}

template <class T, class V, class I>
template <int fixed, bool lower>
void BlockSolver<T, V, I>::solve_with_size(const T* b, T* x, const Columns<I>& columns)
{
  const BlockRowSolver<fixed, lower, T, V, I> row(triangle_);
  const auto solve = [&](I begin, I end, int thread) {
    T* work = work_.data() + static_cast<std::size_t>(triangle_.size) * static_cast<std::size_t>(thread);
    row.solve_rows(begin, end, b, x, columns, work);
  };
  if (runner_) return runner_->run_chunks(solve);
  const I n = triangle_.pattern.n;
  const I rows = columns.count == 1 ? n : static_cast<I>(std::max(1, rows_at_a_time / triangle_.size / triangle_.size));
  for (I s = 0; s < n; s += std::min<I>(rows, n - s)) solve(s, s + std::min<I>(rows, n - s), 0);
}

template <class T, class V, class I>
void BlockSolver<T, V, I>::solve_blocks(const T* b, T* x, const Columns<I>& columns)
{
  with_block_size(triangle_.size, [&](auto fixed) {
    if (triangle_.lower) solve_with_size<fixed(), true>(b, x, columns);
    else solve_with_size<fixed(), false>(b, x, columns);
  });
}

#define INSTANTIATE(T, V, I) template class BlockSolver<T, V, I>;
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree
