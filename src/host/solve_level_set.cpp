/// `level_set`: the rows of a level are independent, so a team of threads takes them all
/// at once and meets at a barrier before the next level. A run of narrow levels is one
/// thread's work, because a barrier would cost more than the rows.
///
/// Source: Anderson & Saad 1989.

#include <omp.h>

#include <new>

#include "../core/instantiate.hpp"
#include "strategies.hpp"
#include "syncfree/ready.hpp"
#include "syncfree/schedule.hpp"

namespace syncfree {
namespace {

/// A level with fewer rows a thread than this is narrow.
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
      : triangle_(triangle), threads_(threads), sets_(plan_levels(triangle.pattern, triangle.lower))
  {
    find_stages();
  }

  void solve(const T* b, T* x, const Columns<I>& columns, bool conjugate) override
  {
    for_each_column<T>(triangle_, b, x, columns, conjugate, [this](auto row, const T* from, T* to) {
#pragma omp parallel num_threads(threads_)
      for (const Stage& stage : stages_) {
        walk_stage(stage, row, from, to);
        barrier_.wait(omp_get_num_threads());
      }
    });
  }

  void refresh(const V* value, const V* inverse_diagonal) override
  {
    triangle_.value = value;
    triangle_.inverse_diagonal = inverse_diagonal;
  }

  Description describe() const override
  {
    const std::size_t indices = sets_.row.size() + sets_.level_begin.size();
    return {"level_set", sets_.count, threads_, indices * sizeof(I) + stages_.size() * sizeof(Stage)};
  }

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

  template <class Row> void walk_stage(const Stage& stage, const Row& row, const T* b, T* x) const
  {
    const I team = stage.wide ? omp_get_num_threads() : 1;
    const I thread = omp_get_thread_num();
    if (thread >= team) return;
    const I share = (stage.end - stage.begin) / team;
    const I rest = (stage.end - stage.begin) % team;
    const I begin = stage.begin + thread * share + (thread < rest ? thread : rest);
    const I end = begin + share + (thread < rest);
    for (I k = begin; k < end; ++k) row(sets_.row[k], b, x);
  }

  TriangleView<V, I> triangle_;
  int threads_;
  LevelSets<I> sets_;
  std::vector<Stage> stages_;
  Barrier barrier_;
};

}  // namespace

template <class T, class V, class I>
std::unique_ptr<TriangularSolver<T, V, I>> make_level_set(TriangleView<V, I> triangle, int threads)
{
  return std::make_unique<LevelSetSolver<T, V, I>>(triangle, threads);
}

#define INSTANTIATE(T, V, I) \
  template std::unique_ptr<TriangularSolver<T, V, I>> make_level_set<T, V, I>(TriangleView<V, I>, int);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree
