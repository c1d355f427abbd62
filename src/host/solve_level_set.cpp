/// `level_set`: the rows of a level are independent, so all threads solve them concurrently and wait at a barrier
/// before the next level. A run of narrow levels is solved by one thread, because a barrier would cost more than the
/// rows.
///
/// Source: Anderson & Saad 1989.

#include <omp.h>

#include <algorithm>
#include <new>

#include "core/support/instantiate.hpp"
#include "strategies.hpp"
#include "syncfree/ready.hpp"
#include "syncfree/schedule.hpp"

namespace syncfree {
namespace {

/// A level with fewer rows per thread than this is narrow.
constexpr int least_rows_a_thread = 16;

template <class I> LevelSets<I> plan_levels(const PatternView<I>& pattern, bool lower)
{
  LevelSets<I> sets;
  if (!make_level_sets(pattern, lower, &sets).ok()) throw std::bad_alloc();
  return sets;
}

template <class T, class V, class I> class LevelSetSolver : public TriangularSolver<T, V, I> {
public:
  LevelSetSolver(TriangleView<V, I> triangle, int threads)
      : triangle_(triangle), planned_(threads), threads_(threads), sets_(plan_levels(triangle.pattern, triangle.lower))
  {
    find_stages();
  }

  void solve_triangle(const T* b, T* x, const Columns<I>& columns, bool conjugate) override
  {
    with_row<T>(triangle_, false, conjugate, [&](const auto& row) {
      if (threads_ == 1) return walk_stages(0, 1, row, b, x, columns);
#pragma omp parallel num_threads(threads_)
      walk_stages(omp_get_thread_num(), omp_get_num_threads(), row, b, x, columns);
    });
  }

  void update_values(const V* value, const V* inverse_diagonal) override
  {
    triangle_.value = value;
    triangle_.inverse_diagonal = inverse_diagonal;
  }

  Description describe_solver() const override
  {
    const std::size_t indices = sets_.row.size() + sets_.level_begin.size();
    return {"level_set", threads_, indices * sizeof(I) + stages_.size() * sizeof(Stage)};
  }

  void work_alone(bool alone) override { threads_ = alone ? 1 : planned_; }

private:
  /// Rows [begin, end) of sets_.row: one wide level, or a run of narrow ones in order.
  struct Stage {
    I begin, end;
    bool wide;
  };

  void find_stages()
  {
    for (I level = 0; level < sets_.count; ++level) {
      const I begin = sets_.level_begin[level];
      const I end = sets_.level_begin[level + 1];
      const bool wide = end - begin >= static_cast<I>(threads_) * least_rows_a_thread;
      if (!wide && !stages_.empty() && !stages_.back().wide) stages_.back().end = end;
      else stages_.push_back({begin, end, wide});
    }
  }

  template <class Row>
  void walk_stages(int thread, int team, const Row& row, const T* b, T* x, const Columns<I>& columns)
  {
    for (const Stage& stage : stages_) {
      if (stage.wide) walk_share(stage, thread, team, row, b, x, columns);
      else if (thread == 0) walk_rows(stage.begin, stage.end, row, b, x, columns);
      if (team > 1) barrier_.arrive_and_wait(team);
    }
  }

  template <class Row>
  void walk_share(const Stage& stage, I thread, I team, const Row& row, const T* b, T* x,
                  const Columns<I>& columns) const
  {
    const I share = (stage.end - stage.begin) / team;
    const I rest = (stage.end - stage.begin) % team;
    const I begin = stage.begin + thread * share + std::min(thread, rest);
    walk_rows(begin, begin + share + (thread < rest ? 1 : 0), row, b, x, columns);
  }

  template <class Row>
  void walk_rows(I begin, I end, const Row& row, const T* b, T* x, const Columns<I>& columns) const
  {
    for (I c = 0; c < columns.count; ++c, b += columns.b_leading, x += columns.x_leading)
      for (I k = begin; k < end; ++k) row(sets_.row[k], b, x);
  }

  TriangleView<V, I> triangle_;
  int planned_, threads_;
  LevelSets<I> sets_;
  std::vector<Stage> stages_;
  Barrier barrier_;
};

}  // namespace

template <class T, class V, class I>
std::unique_ptr<TriangularSolver<T, V, I>> make_level_set(TriangleView<V, I> triangle, const SolverOptions& options)
{
  return std::make_unique<LevelSetSolver<T, V, I>>(triangle, options.threads);
}

#define INSTANTIATE(T, V, I) \
  template std::unique_ptr<TriangularSolver<T, V, I>> make_level_set<T, V, I>(TriangleView<V, I>, const SolverOptions&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree
