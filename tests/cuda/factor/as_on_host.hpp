#pragma once

/// Compares results on a device with those on the host.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "../../larger.hpp"
#include "syncfree/solver.hpp"

namespace syncfree {

/// Fails unless the values agree to the tolerance of the largest.
template <class Vector> void expect_same(const Vector& x, const Vector& truth, double tolerance)
{
  ASSERT_EQ(x.size(), truth.size());
  double error = 0, size = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const double difference = static_cast<double>(std::abs(x[i] - truth[i]));
    error = larger(error, difference);
    size = std::max(size, static_cast<double>(std::abs(truth[i])));
  }
  EXPECT_LE(error, tolerance * size);
}

template <class T, class I>
void expect_values_of_host(const Preconditioner<T, I>& ours, const Preconditioner<T, I>& host, double tolerance)
{
  const FactorValues<T> v = ours.values(), truth = host.values();
  expect_same(v.lower, truth.lower, tolerance);
  expect_same(v.upper, truth.upper, tolerance);
  expect_same(v.inverse_pivot, truth.inverse_pivot, tolerance);
}

}  // namespace syncfree
