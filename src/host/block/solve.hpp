#pragma once

/// Substitution with a triangle of dense blocks: row i computes
///   x_i = D_i (b_i - sum_k value_k x_column(k)),  D_i: the inverted diagonal block, or nothing for a unit diagonal,
/// by one thread (`serial`) or in chunks of block rows on several (`blocks`). Sums are in the same order either way.

#include <memory>
#include <vector>

#include "host/chunk_runner.hpp"
#include "syncfree/solver.hpp"

namespace syncfree {

/// A triangle of a factor, of blocks of size * size values, column by column.
///   value             in the order of the pattern
///   inverse_diagonal  n blocks, or nullptr for a unit diagonal
template <class V, class I> struct BlockTriangle {
  bool lower = true;
  PatternView<I> pattern;
  int size = 1;
  const V* value = nullptr;
  const V* inverse_diagonal = nullptr;
};

/// Values are stored in V while all sums are in T.
template <class T, class V, class I> class BlockSolver {
public:
  /// Throws std::bad_alloc. The triangle's values may still be missing.
  ///   threads  1: `serial`
  BlockSolver(const BlockTriangle<V, I>& triangle, int threads);

  /// x = Triangle^-1 b.
  ///   b, x  n * size entries a column; x == b (same leading) is allowed
  /// Allocates nothing.
  void solve_blocks(const T* b, T* x, const Columns<I>& columns);

  void update_values(const V* value, const V* inverse_diagonal)
  {
    triangle_.value = value;
    triangle_.inverse_diagonal = inverse_diagonal;
  }

  /// Restricts the following solves to one thread, or returns to all.
  void work_alone(bool alone)
  {
    if (runner_) runner_->restrict_to_caller(alone);
  }

  int active_threads() const { return runner_ ? runner_->active_threads() : 1; }
  std::size_t plan_bytes() const { return plan_.row_chunk_bytes() + work_.size() * sizeof(T); }

private:
  template <int fixed, bool lower> void solve_with_size(const T* b, T* x, const Columns<I>& columns);

  BlockTriangle<V, I> triangle_;
  RowChunks<I> plan_;
  std::unique_ptr<ChunkRunner<I>> runner_;  ///< null for one thread
  std::vector<T> work_;                     ///< a block of a vector for each thread
};

}  // namespace syncfree
