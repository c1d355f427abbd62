/// Implements the part of cuda/backend/setup.hpp for viewers: a summary of an analysis, and the factor's pattern in
/// host memory.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/support/instantiate.hpp"
#include "core/symbolic/pivot_block.hpp"
#include "cuda/backend/setup.hpp"

namespace syncfree::cuda {

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
  s.single_storage = a.options.single_storage;
  s.memory_limit = a.memory_limit;
  s.factor_bytes = a.pattern.pattern_bytes();
  s.plan_bytes = a.pattern.source_bytes() + a.lower_levels.row.bytes() + a.lower_levels.begin.bytes() +
                 a.row_order.bytes() + a.column_order.bytes() + a.blocks.begin.bytes() + a.work.bytes() +
                 a.wide_work.bytes() + a.copies.copied_bytes();
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
  return s;
}

template <class Vector, class I> void fetch(const DeviceArray<I>& from, Vector* to)
{
  to->resize(from.size());
  from.read(to->data(), 0, from.size(), nullptr);
}

template <class T, class I> void fetch_orders(Analysis<T, I>* a)
{
  FactorPattern<I>& p = a->made;
  if (!p.natural()) return;
  std::vector<I> row_order;
  fetch(a->row_order, &row_order);
  fetch(a->column_order, &p.column_order);
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
  p.lower_begin = std::move(lower_begin);  // last: marks the copy as complete
}

#define INSTANTIATE(T, I)                                 \
  template Summary summarize_analysis<T, I>(const Analysis<T, I>&); \
  template void fetch_orders<T, I>(Analysis<T, I>*); \
  template void fetch_pattern<T, I>(Analysis<T, I>*);
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree::cuda
