#pragma once

/// Matrices in the orders of syncfree/ordering.hpp.

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "battery.hpp"
#include "syncfree/ordering.hpp"

namespace syncfree {

struct NamedOrdering {
  const char* name;
  OrderingOptions options;
};

/// Every kind of order, those with a number with a small one and the usual one.
inline std::vector<NamedOrdering> tested_orderings()
{
  return {{"multicolor", {OrderingKind::multicolor, 16, 16}}, {"cyclic_2", {OrderingKind::cyclic, 2, 16}},
          {"cyclic_16", {OrderingKind::cyclic, 16, 16}},      {"abmc_3", {OrderingKind::abmc, 16, 3}},
          {"abmc_16", {OrderingKind::abmc, 16, 16}}};
}

/// Returns order[i] = row of A that becomes row i.
template <class I> std::vector<I> order_of(PatternView<I> A, const OrderingOptions& options)
{
  Ordering<I> made;
  const Status status = make_ordering(A, options, 1, &made);
  EXPECT_TRUE(status.ok()) << status.message();
  return {made.order.begin(), made.order.end()};
}

/// Makes B(i, j) = A(order[i], order[j]) with ascending columns.
template <class T, class I> OwnedCsr<T, I> permuted(const OwnedCsr<T, I>& A, const std::vector<I>& order)
{
  std::vector<I> place(order.size());
  for (I i = 0; i < A.n; ++i) place[order[i]] = i;
  OwnedCsr<T, I> B;
  B.n = A.n;
  for (const I row : order) {
    std::vector<std::pair<I, T>> entries;
    for (I k = A.row_begin[row]; k < A.row_begin[row + 1]; ++k) entries.emplace_back(place[A.column[k]], A.value[k]);
    std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [column, value] : entries) B.column.push_back(column), B.value.push_back(value);
    B.row_begin.push_back(static_cast<I>(B.column.size()));
  }
  return B;
}

}  // namespace syncfree
