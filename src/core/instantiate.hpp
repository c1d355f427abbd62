#pragma once

/// The scalars and indices for which templates are compiled, in one place.

#include <complex>
#include <cstdint>

#define SYNCFREE_FOR_EACH_INDEX(X) \
  X(std::int32_t)                  \
  X(std::int64_t)

#define SYNCFREE_FOR_EACH_SCALAR_WITH(X, I) \
  X(float, I)                               \
  X(double, I)                              \
  X(std::complex<float>, I)                 \
  X(std::complex<double>, I)

#define SYNCFREE_FOR_EACH_SCALAR(X)              \
  SYNCFREE_FOR_EACH_SCALAR_WITH(X, std::int32_t) \
  SYNCFREE_FOR_EACH_SCALAR_WITH(X, std::int64_t)

#define SYNCFREE_FOR_EACH_STORAGE_WITH(X, I)            \
  X(float, float, I)                                    \
  X(double, double, I)                                  \
  X(double, float, I)                                   \
  X(std::complex<float>, std::complex<float>, I)        \
  X(std::complex<double>, std::complex<double>, I)      \
  X(std::complex<double>, std::complex<float>, I)

#define SYNCFREE_FOR_EACH_STORAGE(X)              \
  SYNCFREE_FOR_EACH_STORAGE_WITH(X, std::int32_t) \
  SYNCFREE_FOR_EACH_STORAGE_WITH(X, std::int64_t)
