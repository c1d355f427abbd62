#pragma once

/// From the name of a strategy to its solver.

#include "solver.hpp"
#include "syncfree/scalar.hpp"

namespace syncfree::cuda {

/// Throws Failure and std::bad_alloc.
///   single  store numbers in single_t<T>
///   errors  unknown_strategy
template <class T, class I>
Status make_device_solver(const std::string& strategy, bool single, const DeviceTriangle<I>& triangle,
                          std::unique_ptr<DeviceSolver<T, I>>* out)
{
#define MAKE(name, reproducible, summary)                              \
  if (strategy == #name) {                                             \
    *out = single ? make_##name<T, single_t<T>, I>(triangle) : make_##name<T, T, I>(triangle); \
    return {};                                                         \
  }
  SYNCFREE_CUDA_STRATEGIES(MAKE)
#undef MAKE
  return failed(Code::unknown_strategy, strategy);
}

}  // namespace syncfree::cuda
