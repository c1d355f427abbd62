#pragma once

/// Makes a solver from the name of its strategy.

#include "cuda/solve/solver.hpp"
#include "syncfree/scalar.hpp"

namespace syncfree::cuda {

/// Makes the solver of the options' strategy, which is not `auto`. Throws Failure and std::bad_alloc.
///   errors  unknown_strategy
template <class T, class I>
Status make_device_solver(const SolverOptions& options, const DeviceTriangle<I>& triangle,
                          std::unique_ptr<DeviceSolver<T, I>>* out)
{
#define MAKE(name, reproducible, summary)                                         \
  if (options.strategy == #name) {                                                \
    *out = options.single_storage ? make_##name<T, single_t<T>, I>(triangle, options) \
                                  : make_##name<T, T, I>(triangle, options);      \
    return {};                                                                    \
  }
  SYNCFREE_CUDA_STRATEGIES(MAKE)
#undef MAKE
  return failed(Code::unknown_strategy, options.strategy);
}

}  // namespace syncfree::cuda
