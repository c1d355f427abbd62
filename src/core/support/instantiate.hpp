#pragma once

/// The scalar and index types for which templates are compiled, in one place: all, or SYNCFREE_SCALAR and
/// SYNCFREE_INDEX if these are defined. With SYNCFREE_FEW_TYPES, for tests under the sanitizers: one real and one
/// complex scalar, each with a different index type.

#include <complex>
#include <cstdint>

#ifdef SYNCFREE_SCALAR

#include "syncfree/scalar.hpp"

#define SYNCFREE_FOR_EACH_INDEX(X) X(SYNCFREE_INDEX)
#define SYNCFREE_FOR_EACH_SCALAR(X) X(SYNCFREE_SCALAR, SYNCFREE_INDEX)
#ifdef SYNCFREE_SCALAR_IS_SINGLE
#define SYNCFREE_FOR_EACH_STORAGE(X) X(SYNCFREE_SCALAR, SYNCFREE_SCALAR, SYNCFREE_INDEX)
#else
#define SYNCFREE_FOR_EACH_STORAGE(X)                    \
  X(SYNCFREE_SCALAR, SYNCFREE_SCALAR, SYNCFREE_INDEX) \
  X(SYNCFREE_SCALAR, syncfree::single_t<SYNCFREE_SCALAR>, SYNCFREE_INDEX)
#endif

#else

#define SYNCFREE_FOR_EACH_INDEX(X) \
  X(std::int32_t)                  \
  X(std::int64_t)

#ifdef SYNCFREE_FEW_TYPES

#define SYNCFREE_FOR_EACH_REAL(X) X(double, std::int32_t)
#define SYNCFREE_FOR_EACH_COMPLEX(X) X(std::complex<double>, std::int64_t)
#define SYNCFREE_FOR_EACH_SCALAR(X) \
  SYNCFREE_FOR_EACH_REAL(X)         \
  SYNCFREE_FOR_EACH_COMPLEX(X)

#define SYNCFREE_FOR_EACH_STORAGE(X)                            \
  X(double, double, std::int32_t)                               \
  X(double, float, std::int32_t)                                \
  X(std::complex<double>, std::complex<double>, std::int64_t) \
  X(std::complex<double>, std::complex<float>, std::int64_t)

#else

#define SYNCFREE_FOR_EACH_REAL_WITH(X, I) \
  X(float, I)                             \
  X(double, I)
#define SYNCFREE_FOR_EACH_COMPLEX_WITH(X, I) \
  X(std::complex<float>, I)                  \
  X(std::complex<double>, I)
#define SYNCFREE_FOR_EACH_SCALAR_WITH(X, I) \
  SYNCFREE_FOR_EACH_REAL_WITH(X, I)         \
  SYNCFREE_FOR_EACH_COMPLEX_WITH(X, I)

#define SYNCFREE_FOR_EACH_REAL(X)              \
  SYNCFREE_FOR_EACH_REAL_WITH(X, std::int32_t) \
  SYNCFREE_FOR_EACH_REAL_WITH(X, std::int64_t)
#define SYNCFREE_FOR_EACH_COMPLEX(X)              \
  SYNCFREE_FOR_EACH_COMPLEX_WITH(X, std::int32_t) \
  SYNCFREE_FOR_EACH_COMPLEX_WITH(X, std::int64_t)
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

#endif

#endif
