/// `tiled`: executes the device's plan of tiles (core/plan/tile_plan.hpp) on one thread, so that plans can be tested on
/// any machine.

#include <algorithm>
#include <new>

#include "core/plan/tile_plan.hpp"
#include "core/support/instantiate.hpp"
#include "strategies.hpp"
#include "syncfree/schedule.hpp"

namespace syncfree {
namespace {

/// Small tiles, so that small matrices have several, with slots for all ghosts that their rows could have.
TileRule rule_of_host()
{
  TileRule rule;
  rule.most_slots = 300;
  rule.shape = {10, 6, 5};
  for (std::int64_t& slots : rule.ghost_slots) slots = (1 + row_capacities[ghost_sizes - 1]) * rule.most_slots + 1;
  rule.plane_slots = rule.alias_slots = 2 * rule.most_slots;
  return rule;
}

template <class I> TilePlan<I> plan_blocks(const PatternView<I>& pattern, bool lower)
{
  LevelSets<I> levels;
  TilePlan<I> plan;
  Status status = make_level_sets(pattern, lower, &levels);
  if (status.ok()) status = make_tile_plan(pattern, lower, levels, rule_of_host(), &plan);
  if (!status.ok()) throw NoPlan{status};
  return plan;
}

template <class T, class V, class I> class TilePlanSolver : public TriangularSolver<T, V, I> {
public:
  explicit TilePlanSolver(TriangleView<V, I> triangle)
      : triangle_(triangle), plan_(plan_blocks(triangle.pattern, triangle.lower)), mailbox_(plan_.exports)
  {
    if (plan_.slots > 0) x_.resize(plan_.numbers());
  }

  void solve_triangle(const T* b, T* x, const Columns<I>& columns, bool conjugate) override
  {
    for (I c = 0; c < columns.count; ++c, b += columns.b_leading, x += columns.x_leading)
      for (const Tile& tile : plan_.tiles)
        conjugate ? solve_tile<true>(tile, b, x) : solve_tile<false>(tile, b, x);
  }

  void update_values(const V* value, const V* inverse_diagonal) override
  {
    triangle_.value = value;
    triangle_.inverse_diagonal = inverse_diagonal;
  }

  Description describe_solver() const override
  {
    return {"tiled", 1, plan_.tile_plan_bytes() + (x_.size() + mailbox_.size()) * sizeof(T)};
  }

private:
  template <bool conjugated> static T widen_value(const V& v)
  {
    return conjugated ? conjugate(static_cast<T>(v)) : static_cast<T>(v);
  }

  template <bool conjugated> void solve_tile(const Tile& tile, const T* b, T* x)
  {
    if (plan_.alias_shift == 0)
      for_runs(tile, [&](const RowSegment& run) { std::copy_n(b + run.first_row, run.rows, x_.begin() + run.slot); });
    x_[plan_.zero_slot()] = T(0);
    for (std::uint32_t k = 0; k < tile.ghosts; ++k)
      x_[plan_.ghost_slot(tile, k)] = mailbox_[plan_.ghost_place[tile.first_ghost + k]];
    const std::int64_t first = tile.first_panel * panel_rows;
    std::int64_t begin = first;
    for (std::uint32_t s = 0; s < tile.steps; ++s) {
      const std::int64_t end = first + plan_.step_end[tile.first_step + s];
      /* all values that a step reads precede it, so the order of its rows does not matter: they are solved backwards */
      for (std::int64_t p = end; p > begin; --p) {
        const I row = plan_.row[p - 1];
        T& own = x_[plan_.alias_shift ? p - 1 - first : plan_.own_slot(p - 1)];
        own = solve_position<conjugated>(tile, p - 1, plan_.alias_shift ? b[row] : own);
        if (plan_.alias_shift) x[row] = own;
      }
      begin = end;
    }
    if (plan_.alias_shift == 0)
      for_runs(tile, [&](const RowSegment& run) { std::copy_n(x_.begin() + run.slot, run.rows, x + run.first_row); });
  }

  template <class Body> void for_runs(const Tile& tile, Body body) const
  {
    for (std::uint32_t r = 0; r < tile.runs; ++r) body(plan_.run[tile.first_run + r]);
  }

  template <bool conjugated> T solve_position(const Tile& tile, std::int64_t position, T x)
  {
    for (int j = 0; j < plan_.row_capacity; ++j) {
      const I k = plan_.source[plan_.near_place(position, j)];
      if (k >= 0) x -= multiply(widen_value<conjugated>(triangle_.value[k]), x_[plan_.near_slot(position, j)]);
    }
    if (triangle_.inverse_diagonal)
      x = multiply(x, widen_value<conjugated>(triangle_.inverse_diagonal[plan_.row[position]]));
    const std::uint32_t exported = plan_.exported_of(tile, position);
    if (exported != not_exported) mailbox_[exported] = x;
    return x;
  }

  TriangleView<V, I> triangle_;
  TilePlan<I> plan_;
  std::vector<T> x_;        ///< by slot
  std::vector<T> mailbox_;  ///< by index of the exported value
};

}  // namespace

template <class T, class V, class I>
std::unique_ptr<TriangularSolver<T, V, I>> make_tiled(TriangleView<V, I> triangle, const SolverOptions&)
{
  return std::make_unique<TilePlanSolver<T, V, I>>(triangle);
}

#define INSTANTIATE(T, V, I) \
  template std::unique_ptr<TriangularSolver<T, V, I>> make_tiled<T, V, I>(TriangleView<V, I>, const SolverOptions&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree
