/// `sync_free`: the algorithm of Liu et al. 2016 on threads. The triangle is stored by columns. The thread that has
/// computed x_j adds l_ij x_j to the left sum of each row i of column j and decrements that row's in-degree; row i may
/// be computed when its in-degree is 0. In-degrees are the only preprocessing. There are no levels and no barriers.
///
/// Contributions are added in the order in which columns finish, so results differ in the last bits from run to run.
///
/// Differs from the paper: components are taken in runs of 64 by ticket, so that a thread only waits for runs that are
/// in progress; left sums and in-degrees are reset by the thread that consumes them.

#include <algorithm>
#include <memory>
#include <vector>

#include "core/support/instantiate.hpp"
#include "strategies.hpp"
#include "syncfree/ready.hpp"

namespace syncfree {
namespace {

constexpr std::int64_t run_length = 64;

template <class T, class V, class I> class SyncFreeSolver : public TriangularSolver<T, V, I> {
public:
  SyncFreeSolver(TriangleView<V, I> triangle, int threads)
      : n_(triangle.pattern.n),
        lower_(triangle.lower),
        planned_(threads),
        threads_(threads),
        left_(new Contributions<T>[n_])
  {
    transpose(triangle.pattern);
    for (I i = 0; i < n_; ++i) left_[i].expect(in_degree_[i]);
    inverse_diagonal_ = triangle.inverse_diagonal;
    if (triangle.value) update_values(triangle.value, triangle.inverse_diagonal);
  }

  void solve_triangle(const T* b, T* x, const Columns<I>& columns, bool conjugate) override
  {
    for (I c = 0; c < columns.count; ++c) {
      const T* from = b + static_cast<std::size_t>(c) * columns.b_leading;
      T* to = x + static_cast<std::size_t>(c) * columns.x_leading;
      if (is_complex_v<T> && conjugate) solve_column<is_complex_v<T>>(from, to);
      else solve_column<false>(from, to);
    }
  }

  void update_values(const V* value, const V* inverse_diagonal) override
  {
    for (std::size_t k = 0; k < value_.size(); ++k) value_[k] = value[source_[k]];
    inverse_diagonal_ = inverse_diagonal;
  }

  Description describe_solver() const override
  {
    const std::size_t indices = column_begin_.size() + row_.size() + source_.size();
    return {"sync_free", threads_,
            indices * sizeof(I) + value_.size() * sizeof(V) + n_ * (sizeof(Contributions<T>) + sizeof(std::int32_t))};
  }

  void work_alone(bool alone) override { threads_ = alone ? 1 : planned_; }

private:
  void transpose(const PatternView<I>& pattern)
  {
    const I nnz = pattern.nnz();
    in_degree_.resize(n_);
    column_begin_.assign(n_ + 1, 0);
    row_.resize(nnz);
    source_.resize(nnz);
    value_.resize(nnz);
    for (I i = 0; i < n_; ++i)
      in_degree_[i] = static_cast<std::int32_t>(pattern.row_begin[i + 1] - pattern.row_begin[i]);
    for (I k = 0; k < nnz; ++k) ++column_begin_[pattern.column[k] + 1];
    for (I j = 0; j < n_; ++j) column_begin_[j + 1] += column_begin_[j];
    std::vector<I> next(column_begin_.begin(), column_begin_.end());
    for (I i = 0; i < n_; ++i)
      for (I k = pattern.row_begin[i]; k < pattern.row_begin[i + 1]; ++k) {
        const I to = next[pattern.column[k]]++;
        row_[to] = i;
        source_[to] = k;
      }
  }

  template <bool conjugated> void solve_column(const T* b, T* x)
  {
    tickets_.reset();
    if (threads_ == 1) return solve_runs<conjugated>(b, x);
#pragma omp parallel num_threads(threads_)
    solve_runs<conjugated>(b, x);
  }

  template <bool conjugated> void solve_runs(const T* b, T* x)
  {
    const auto next_run = [&] { return tickets_.take_tickets(run_length); };
    for (std::int64_t begin = next_run(); begin < n_; begin = next_run()) {
      const std::int64_t end = std::min<std::int64_t>(begin + run_length, n_);
      for (std::int64_t k = begin; k < end; ++k)
        solve_component<conjugated>(static_cast<I>(lower_ ? k : n_ - 1 - k), b, x);
    }
  }

  template <bool conjugated> void solve_component(I j, const T* b, T* x)
  {
    using Row = SolveRow<T, V, I, true, conjugated, true>;
    const T sum = b[j] - left_[j].wait_and_rearm(in_degree_[j]);
    const T solved = inverse_diagonal_ ? multiply(sum, Row::widen_value(inverse_diagonal_[j])) : sum;
    x[j] = solved;
    for (I k = column_begin_[j]; k < column_begin_[j + 1]; ++k)
      left_[row_[k]].contribute(multiply(Row::widen_value(value_[k]), solved));
  }

  I n_;
  bool lower_;
  int planned_, threads_;
  std::unique_ptr<Contributions<T>[]> left_;
  std::vector<std::int32_t> in_degree_;
  std::vector<I> column_begin_, row_, source_;  ///< source_: index of an entry in the caller's rows
  std::vector<V> value_;
  const V* inverse_diagonal_ = nullptr;
  Tickets tickets_;
};

}  // namespace

template <class T, class V, class I>
std::unique_ptr<TriangularSolver<T, V, I>> make_sync_free(TriangleView<V, I> triangle, const SolverOptions& options)
{
  return std::make_unique<SyncFreeSolver<T, V, I>>(triangle, options.threads);
}

#define INSTANTIATE(T, V, I) \
  template std::unique_ptr<TriangularSolver<T, V, I>> make_sync_free<T, V, I>(TriangleView<V, I>, const SolverOptions&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree
