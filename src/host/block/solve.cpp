#include "solve.hpp"

#include <algorithm>
#include <cstdint>
#include <new>
#include <string>
#include <vector>

#include "core/support/instantiate.hpp"
#include "dense.hpp"
#include "host/chunk_runner.hpp"

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
  BlockRowSolver(const TriangleView<V, I>& triangle, int size) : triangle_(triangle), size_(size) {}

  /// Solves the rows at positions [begin, end) of the substitution, for each column.
  ///   work  a block of a vector
  void solve_rows(I begin, I end, const T* b, T* x, const Columns<I>& columns, T* work) const
  {
    for (I c = 0; c < columns.count; ++c, b += columns.b_leading, x += columns.x_leading)
      for (I s = begin; s < end; ++s) solve_row(lower ? s : triangle_.pattern.n - 1 - s, b, x, work);
  }

private:
  int size() const { return fixed > 0 ? fixed : size_; }
  std::size_t values() const { return static_cast<std::size_t>(size()) * static_cast<std::size_t>(size()); }

  /// Subtracts the products of row i, those nearest to the diagonal last: they are computed last.
  void subtract_products(I i, const T* x, T* sum) const
  {
    const I *column = triangle_.pattern.column, begin = triangle_.pattern.row_begin[i];
    const I end = triangle_.pattern.row_begin[i + 1];
    const std::size_t n = static_cast<std::size_t>(size());
    const auto subtract = [&](I k) {
      const V* const block = triangle_.value + values() * static_cast<std::size_t>(k);
      prefetch_block(block, size(), lower);
      subtract_block_times<fixed>(size(), block, x + n * static_cast<std::size_t>(column[k]), sum);
    };
    if constexpr (lower)
      for (I k = begin; k < end; ++k) subtract(k);
    else
      for (I k = end; k-- > begin;) subtract(k);
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

  TriangleView<V, I> triangle_;
  int size_;
};

/// Rows whose part of the matrix stays in a core's cache while several columns are solved.
constexpr int rows_at_a_time = 256;

/// x = conj(b)
///   b, x  `rows` entries a column; x == b (same leading) is allowed
template <class T, class I> void conjugate_all(const T* b, T* x, I rows, const Columns<I>& columns)
{
  for (I c = 0; c < columns.count; ++c, b += columns.b_leading, x += columns.x_leading)
    std::transform(b, b + rows, x, [](const T& v) { return conjugate(v); });
}

/// Solves on one thread, or in row chunks on several.
template <class T, class V, class I> class DenseBlockSolver : public TriangularSolver<T, V, I> {
public:
  DenseBlockSolver(const TriangleView<V, I>& triangle, const SolverOptions& options)
      : triangle_(triangle), strategy_(options.strategy), size_(options.block_size)
  {
    const int threads = strategy_ == "serial" ? 1 : options.threads;
    work_.resize(static_cast<std::size_t>(size_) * static_cast<std::size_t>(threads));
    if (threads == 1) return;
    if (!make_row_chunks(triangle.pattern, triangle.lower, threads, &plan_, size_).ok()) throw std::bad_alloc();
    runner_ = std::make_unique<ChunkRunner<I>>(plan_);
  }

  /// conj(A)^-1 b is conj(A^-1 conj(b)).
  void solve_triangle(const T* b, T* x, const Columns<I>& columns, bool conjugate) override
  {
    if (!is_complex_v<T> || !conjugate) return solve_blocks(b, x, columns);
    const I rows = triangle_.pattern.n * static_cast<I>(size_);
    const Columns<I> in_place = {columns.count, columns.x_leading, columns.x_leading};
    conjugate_all(b, x, rows, columns);
    solve_blocks(x, x, in_place);
    conjugate_all(x, x, rows, in_place);
  }

  void update_values(const V* value, const V* inverse_diagonal) override
  {
    triangle_.value = value;
    triangle_.inverse_diagonal = inverse_diagonal;
  }

  Description describe_solver() const override
  {
    return {strategy_, runner_ ? runner_->active_threads() : 1, plan_.row_chunk_bytes() + work_.size() * sizeof(T)};
  }

  void work_alone(bool alone) override
  {
    if (runner_) runner_->restrict_to_caller(alone);
  }

private:
  void solve_blocks(const T* b, T* x, const Columns<I>& columns)
  {
    with_block_size(size_, [&](auto fixed) {
      if (triangle_.lower) solve_with_size<fixed(), true>(b, x, columns);
      else solve_with_size<fixed(), false>(b, x, columns);
    });
  }

  template <int fixed, bool lower> void solve_with_size(const T* b, T* x, const Columns<I>& columns)
  {
    const BlockRowSolver<fixed, lower, T, V, I> row(triangle_, size_);
    const auto solve = [&](I begin, I end, int thread) {
      T* work = work_.data() + static_cast<std::size_t>(size_) * static_cast<std::size_t>(thread);
      row.solve_rows(begin, end, b, x, columns, work);
    };
    if (runner_) return runner_->run_chunks(solve);
    const I n = triangle_.pattern.n;
    const I rows = columns.count == 1 ? n : static_cast<I>(std::max(1, rows_at_a_time / size_ / size_));
    for (I s = 0; s < n; s += std::min<I>(rows, n - s)) solve(s, s + std::min<I>(rows, n - s), 0);
  }

  TriangleView<V, I> triangle_;
  std::string strategy_;
  int size_;
  RowChunks<I> plan_;
  std::unique_ptr<ChunkRunner<I>> runner_;  ///< null for one thread
  std::vector<T> work_;                     ///< a block of a vector for each thread
};

}  // namespace

template <class T, class V, class I>
std::unique_ptr<TriangularSolver<T, V, I>> make_block_solver(const TriangleView<V, I>& triangle,
                                                             const SolverOptions& options)
{
  return std::make_unique<DenseBlockSolver<T, V, I>>(triangle, options);
}

#define INSTANTIATE(T, V, I)                                                                                \
  template std::unique_ptr<TriangularSolver<T, V, I>> make_block_solver<T, V, I>(const TriangleView<V, I>&, \
                                                                                 const SolverOptions&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree
