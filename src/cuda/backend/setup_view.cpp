/// Implements the part of cuda/backend/setup.hpp for viewers: a summary of an analysis, and the factor's pattern in
/// host memory.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/pattern/renumber.hpp"
#include "core/support/instantiate.hpp"
#include "core/symbolic/pivot_block.hpp"
#include "cuda/backend/setup.hpp"

namespace syncfree::cuda {

/// Returns "100 x 100 x 100".
template <class I> std::string describe_sides(const Grid<I>& grid)
{
  const std::string plane = std::to_string(grid.line) + " x " + std::to_string(grid.lines);
  return grid.planes > 1 ? plane + " x " + std::to_string(grid.planes) : plane;
}

template <class T, class I> Summary summarize_analysis(const Analysis<T, I>& a)
{
  Summary s;
  s.strategy = a.choice.strategy;
  s.reason = a.choice.reason;
  s.estimated_form = name_of(a.choice.form);
  s.block_size = a.options.block_size;
  s.rows = static_cast<std::int64_t>(a.vector_size());
  s.operations = count_block_operations(a.pattern.counts.operations, a.pattern.n,
                                        static_cast<std::int64_t>(a.pattern.upper_column.size()), s.block_size);
  s.lower_nnz = static_cast<std::int64_t>(a.pattern.lower_column.size() * a.block_values());
  s.upper_nnz = static_cast<std::int64_t>(a.pattern.upper_column.size() * a.block_values());
  s.single_storage = a.single;
  s.memory_limit = a.memory_limit;
  s.factor_bytes = a.pattern.pattern_bytes();
  s.plan_bytes = a.pattern.source_bytes() + a.lower_levels.row.bytes() + a.lower_levels.begin.bytes() +
                 a.row_order.bytes() + a.column_order.bytes() + a.pattern.given_row.bytes() + a.blocks.begin.bytes() +
                 a.work.bytes() + a.wide_work.bytes() + a.copies.copied_bytes();
  PlanSummary plan[4];
  for (int which = 0; which < 4; ++which) {
    if (a.solver[which]) plan[which] = a.solver[which]->summarize_plan();
    (which < 2 ? s.plan_bytes : s.transpose_bytes) += plan[which].plan_bytes + plan[which].value_bytes;
  }
  if (a.pair) s.plan_bytes += a.pair->pair_bytes();
  s.form = name_of(plan[lower].form == plan[upper].form ? plan[lower].form : PlanForm::any);
  s.plan = plan[lower].text;
  if (plan[upper].text != s.plan) s.plan = "L " + s.plan + "; U " + plan[upper].text;
  if (a.pair) s.plan += "; " + a.pair->describe_pair();
  if (!a.has_given_order())
    s.plan += "; rows solved in the natural order of a " + describe_sides(a.grid) +
              " grid, which leaves the factor as it is";
  return s;
}

template <class Vector, class I> void fetch(const DeviceArray<I>& from, Vector* to)
{
  to->resize(from.size());
  from.read(to->data(), 0, from.size(), nullptr);
}

/// For a caller who knows row i by the number given[i].
template <class I> std::vector<I> order_by_numbers(const std::vector<I>& given, const std::vector<I>& order)
{
  std::vector<I> known(given.size());
  for (std::size_t i = 0; i < given.size(); ++i) known[given[i]] = order.empty() ? static_cast<I>(i) : order[i];
  return known;
}

template <class T, class I> void fetch_orders(Analysis<T, I>* a)
{
  FactorPattern<I>& p = a->made;
  if (!p.natural() || !a->has_orders) return;
  std::vector<I> row_order, given;
  fetch(a->row_order, &row_order);
  fetch(a->column_order, &p.column_order);
  fetch(a->pattern.given_row, &given);
  if (!given.empty()) p.column_order = row_order = order_by_numbers(given, row_order);
  p.column_place.resize(p.column_order.size());
  for (std::size_t j = 0; j < p.column_order.size(); ++j) p.column_place[p.column_order[j]] = static_cast<I>(j);
  p.row_order = std::move(row_order);  // last: marks the copy as complete
}

template <class T, class I> void fetch_pattern(Analysis<T, I>* a)
{
  FactorPattern<I>& p = a->made;
  fetch_orders(a);
  if (!p.lower_begin.empty()) return;
  Array<I> lower_begin;
  fetch(a->pattern.lower_begin, &lower_begin);
  fetch(a->pattern.lower_column, &p.lower_column);
  fetch(a->pattern.upper_begin, &p.upper_begin);
  fetch(a->pattern.upper_column, &p.upper_column);
  if (!a->has_given_order()) {
    std::vector<I> given;
    fetch(a->pattern.given_row, &given);
    renumber_rows(given, &lower_begin, &p.lower_column, &a->lower_entry);
    renumber_rows(given, &p.upper_begin, &p.upper_column, &a->upper_entry);
  }
  p.lower_begin = std::move(lower_begin);  // last: marks the copy as complete
}

template <class T, class I> void put_in_given_order(const Analysis<T, I>& a, FactorValues<T>* values)
{
  if (a.has_given_order()) return;
  std::vector<I> given;
  fetch(a.pattern.given_row, &given);
  FactorValues<T> known;
  known.lower = values_of_entries(values->lower, a.lower_entry);
  known.upper = values_of_entries(values->upper, a.upper_entry);
  known.inverse_pivot.resize(given.size());
  for (std::size_t i = 0; i < given.size(); ++i) known.inverse_pivot[given[i]] = values->inverse_pivot[i];
  *values = std::move(known);
}

#define INSTANTIATE(T, I)                                 \
  template void put_in_given_order<T, I>(const Analysis<T, I>&, FactorValues<T>*); \
  template Summary summarize_analysis<T, I>(const Analysis<T, I>&); \
  template void fetch_orders<T, I>(Analysis<T, I>*); \
  template void fetch_pattern<T, I>(Analysis<T, I>*);
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree::cuda
