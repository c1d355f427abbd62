#pragma once

/// Typed tests over every scalar and index.

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace syncfree {

template <class T, class I> struct Types {
  using Scalar = T;
  using Index = I;
};
using AllTypes =
    testing::Types<Types<float, std::int32_t>, Types<double, std::int32_t>, Types<std::complex<float>, std::int32_t>,
                   Types<std::complex<double>, std::int32_t>, Types<float, std::int64_t>, Types<double, std::int64_t>,
                   Types<std::complex<float>, std::int64_t>, Types<std::complex<double>, std::int64_t>>;

template <class I> std::vector<I> random_order(I n, unsigned seed)
{
  std::vector<I> order(n);
  std::iota(order.begin(), order.end(), I(0));
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  return order;
}

}  // namespace syncfree
