#pragma once

/// Random matrices of dense blocks, and their factors on CPU threads, for tests of the host and the device.

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "../oracle.hpp"
#include "../types.hpp"
#include "syncfree/solver.hpp"

namespace syncfree {

/// A matrix of dense blocks, with the orders of its block rows and columns (natural if empty).
template <class T, class I> struct BlockTask {
  OwnedCsr<T, I> pattern;  ///< of the blocks; its values are not used
  int size = 1;
  std::vector<T> value;
  int levels = 0;
  std::vector<I> row_order = {}, column_order = {};

  I n() const { return pattern.n; }
  I rows() const { return pattern.n * static_cast<I>(size); }
  std::size_t values() const { return static_cast<std::size_t>(size) * static_cast<std::size_t>(size); }
  CsrView<T, I> view() const { return {pattern.pattern(), value.data()}; }
  SymbolicOptions<I> symbolic() const
  {
    SymbolicOptions<I> s;
    s.levels = levels;
    s.row_order = row_order.empty() ? nullptr : row_order.data();
    s.column_order = column_order.empty() ? nullptr : column_order.data();
    return s;
  }
  I row(I i) const { return row_order.empty() ? i : row_order[i]; }
  I column(I j) const { return column_order.empty() ? j : column_order[j]; }
  T& entry(I k, int r, int c) { return value[static_cast<std::size_t>(k) * values() + c * size + r]; }

  /// Sets random blocks; diagonal blocks dominate, but their largest values are beside their diagonals.
  void fill(unsigned seed)
  {
    value = random_vector<T>(pattern.column.size() * values(), seed);
    for (I i = 0; i < n(); ++i) {
      const I first = pattern.row_begin[i], last = pattern.row_begin[i + 1];
      for (I k = first; k < last; ++k)
        for (int r = 0; r < size && pattern.column[k] == i; ++r)
          entry(k, r, (r + 1) % size) += T(static_cast<float>(2 * size * (last - first)));
    }
  }
};

/// Random blocks on a grid.
template <class T, class I> BlockTask<T, I> make_task(I x, I y, I z, int size, unsigned seed = 0)
{
  BlockTask<T, I> task{make_poisson<T, I>(x, y, z), size, {}};
  task.fill(seed + 11);
  return task;
}

/// The entries of a task, row by row; those that are 0 are left out.
template <class T, class I> OwnedCsr<T, I> entries_of(BlockTask<T, I>& task)
{
  OwnedCsr<T, I> A;
  A.n = task.rows();
  for (I i = 0; i < A.n; ++i) {
    for (I k = task.pattern.row_begin[i / task.size]; k < task.pattern.row_begin[i / task.size + 1]; ++k)
      for (int c = 0; c < task.size; ++c) {
        const T value = task.entry(k, static_cast<int>(i % task.size), c);
        if (value == T(0)) continue;
        A.column.push_back(task.pattern.column[k] * static_cast<I>(task.size) + static_cast<I>(c));
        A.value.push_back(value);
      }
    A.row_begin.push_back(static_cast<I>(A.column.size()));
  }
  return A;
}

constexpr Operation all_operations[] = {Operation::none, Operation::transpose, Operation::adjoint,
                                        Operation::conjugate};

template <class T> double epsilon() { return std::numeric_limits<real_t<T>>::epsilon(); }

inline SolverOptions options_of(int size, const std::string& strategy = "serial", int threads = 1)
{
  SolverOptions options;
  options.block_size = size;
  options.strategy = strategy;
  options.threads = threads;
  return options;
}

template <class T, class I>
std::unique_ptr<Preconditioner<T, I>> make(const BlockTask<T, I>& task, const SolverOptions& options)
{
  auto made = make_host_block_preconditioner<T, I>();
  EXPECT_EQ(made->analyse(task.pattern.pattern(), task.symbolic(), options).message(), "success");
  EXPECT_EQ(made->refresh(task.view(), PivotRule()).message(), "success");
  return made;
}

}  // namespace syncfree
