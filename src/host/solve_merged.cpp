/// `merged`: executes the device's plan of merged levels (core/plan/merge_plan.hpp) on one thread, so that plans can be
/// tested on any machine. The values of P and R are computed here as that file defines them.

#include <algorithm>
#include <new>

#include "core/plan/merge_plan.hpp"
#include "core/support/instantiate.hpp"
#include "strategies.hpp"
#include "syncfree/schedule.hpp"

namespace syncfree {
namespace {

template <class I> MergePlan<I> plan_groups(const PatternView<I>& pattern, bool lower)
{
  LevelSets<I> levels;
  MergePlan<I> plan;
  if (!make_level_sets(pattern, lower, &levels).ok() || !make_merge_plan(pattern, levels, MergeRule(), &plan).ok())
    throw std::bad_alloc();
  return plan;
}

template <class T, class V, class I> class MergedSolver : public TriangularSolver<T, V, I> {
public:
  explicit MergedSolver(TriangleView<V, I> triangle)
      : triangle_(triangle), plan_(plan_groups(triangle.pattern, triangle.lower)), place_(triangle.pattern.n),
        slot_(triangle.pattern.n), p_(plan_.p_column.size()), r_(plan_.r_column.size()), b_(triangle.pattern.n),
        x_(triangle.pattern.n)
  {
    for (I place = 0; place < triangle.pattern.n; ++place) place_[plan_.row[place]] = place;
    if (triangle.value || triangle.pattern.nnz() == 0) merge_numbers();
  }

  void solve_triangle(const T* b, T* x, const Columns<I>& columns, bool conjugate) override
  {
    const I n = triangle_.pattern.n;
    for (I c = 0; c < columns.count; ++c, b += columns.b_leading, x += columns.x_leading) {
      for (I place = 0; place < n; ++place) b_[place] = b[plan_.row[place]];
      for (I place = 0; place < n; ++place) conjugate ? solve_row<true>(place) : solve_row<false>(place);
      for (I place = 0; place < n; ++place) x[plan_.row[place]] = x_[place];
    }
  }

  void update_values(const V* value, const V* inverse_diagonal) override
  {
    triangle_.value = value;
    triangle_.inverse_diagonal = inverse_diagonal;
    merge_numbers();
  }

  Description describe_solver() const override
  {
    return {"merged", 1, plan_.merge_plan_bytes() + (place_.size() + slot_.size()) * sizeof(I) +
                             (p_.size() + r_.size() + b_.size() + x_.size()) * sizeof(T)};
  }

private:
  /// [p_i r_i] = d_i ([e_i t_i,outside] - sum of t_ik [p_k r_k])
  void merge_numbers()
  {
    for (I place = 0; place < triangle_.pattern.n; ++place) merge_row(place);
  }

  void merge_row(I place)
  {
    const I row = plan_.row[place];
    const I p_begin = plan_.p_begin[place], p_end = plan_.p_begin[place + 1];
    const I r_begin = plan_.r_begin[place], r_end = plan_.r_begin[place + 1];
    /* a place is in P or in R, so one table serves both */
    for (I k = p_begin; k < p_end; ++k) slot_[plan_.p_column[k]] = k, p_[k] = T(0);
    for (I k = r_begin; k < r_end; ++k) slot_[plan_.r_column[k]] = k, r_[k] = T(0);
    p_[p_end - 1] = T(1);
    for (I k = triangle_.pattern.row_begin[row]; k < triangle_.pattern.row_begin[row + 1]; ++k)
      put_in(place, place_[triangle_.pattern.column[k]], static_cast<T>(triangle_.value[k]));
    if (!triangle_.inverse_diagonal) return;
    const T scale = static_cast<T>(triangle_.inverse_diagonal[row]);
    for (I k = p_begin; k < p_end; ++k) p_[k] = multiply(p_[k], scale);
    for (I k = r_begin; k < r_end; ++k) r_[k] = multiply(r_[k], scale);
  }

  void put_in(I place, I other, const T& value)
  {
    if (plan_.group[other] != plan_.group[place]) {
      r_[slot_[other]] += value;
      return;
    }
    for (I k = plan_.p_begin[other]; k < plan_.p_begin[other + 1]; ++k)
      p_[slot_[plan_.p_column[k]]] -= multiply(value, p_[k]);
    for (I k = plan_.r_begin[other]; k < plan_.r_begin[other + 1]; ++k)
      r_[slot_[plan_.r_column[k]]] -= multiply(value, r_[k]);
  }

  template <bool conjugated> void solve_row(I place)
  {
    const auto stored = [](const T& v) { return conjugated ? conjugate(v) : v; };
    T sum(0);
    for (I k = plan_.p_begin[place]; k < plan_.p_begin[place + 1]; ++k)
      sum += multiply(stored(p_[k]), b_[plan_.p_column[k]]);
    for (I k = plan_.r_begin[place]; k < plan_.r_begin[place + 1]; ++k)
      sum -= multiply(stored(r_[k]), x_[plan_.r_column[k]]);
    x_[place] = sum;
  }

  TriangleView<V, I> triangle_;
  MergePlan<I> plan_;
  std::vector<I> place_;  ///< by row
  std::vector<I> slot_;   ///< by place: its index in P or R of the current row
  Array<T> p_, r_;        ///< in the order of the plan's columns
  std::vector<T> b_, x_;  ///< by place
};

}  // namespace

template <class T, class V, class I>
std::unique_ptr<TriangularSolver<T, V, I>> make_merged(TriangleView<V, I> triangle, const SolverOptions&)
{
  return std::make_unique<MergedSolver<T, V, I>>(triangle);
}

#define INSTANTIATE(T, V, I) \
  template std::unique_ptr<TriangularSolver<T, V, I>> make_merged<T, V, I>(TriangleView<V, I>, const SolverOptions&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree
