#pragma once

/// Typed tests over every scalar and index that the library is compiled for.

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "core/support/instantiate.hpp"

namespace syncfree {

template <class T, class I> struct Types {
  using Scalar = T;
  using Index = I;
};

/// Types for testing without the first, as a list made by macros begins with a comma.
template <class First, class... Others> struct AllButFirst {
  using type = testing::Types<Others...>;
};
#define SYNCFREE_TYPES_OF(T, I) , Types<T, I>
using AllTypes = AllButFirst<void SYNCFREE_FOR_EACH_SCALAR(SYNCFREE_TYPES_OF)>::type;
#undef SYNCFREE_TYPES_OF

///   EachScalar   every scalar once, with one index or the other
///   DoubleTypes  those for which single storage is another type
///   Scalars      those of 32-bit indices
#ifdef SYNCFREE_FEW_TYPES
using EachScalar = AllTypes;
using DoubleTypes = AllTypes;
using Scalars = testing::Types<double>;
#else
using EachScalar = testing::Types<Types<double, std::int32_t>, Types<float, std::int64_t>,
                                  Types<std::complex<double>, std::int64_t>, Types<std::complex<float>, std::int32_t>>;
using DoubleTypes =
    testing::Types<Types<double, std::int32_t>, Types<std::complex<double>, std::int32_t>, Types<double, std::int64_t>,
                   Types<std::complex<double>, std::int64_t>>;
using Scalars = testing::Types<double, float, std::complex<double>, std::complex<float>>;
#endif

template <class I> std::vector<I> random_order(I n, unsigned seed)
{
  std::vector<I> order(n);
  std::iota(order.begin(), order.end(), I(0));
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  return order;
}

}  // namespace syncfree
