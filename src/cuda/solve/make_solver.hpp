#pragma once

/// Makes a solver from the name of its strategy.

#include "core/choose/strategy_list.hpp"
#include "cuda/analysis/triangle.hpp"
#include "cuda/solve/solver.hpp"
#include "syncfree/scalar.hpp"
#include "syncfree/solver.hpp"

namespace syncfree::cuda {

/// Makes one strategy's solver, with values stored as V; ignores the strategy of the options. Throws Failure and
/// std::bad_alloc.
#define DECLARE(name, reproducible, summary) \
  template <class T, class V, class I>       \
  std::unique_ptr<DeviceSolver<T, I>> make_##name(const DeviceTriangle<I>& triangle, const SolverOptions& options);
SYNCFREE_CUDA_STRATEGIES(DECLARE)
#undef DECLARE

/// Makes the solver of the options' strategy, which is not `auto`. Throws Failure and std::bad_alloc.
///   errors  unknown_strategy
template <class T, class I>
Status make_device_solver(const SolverOptions& options, const DeviceTriangle<I>& triangle,
                          std::unique_ptr<DeviceSolver<T, I>>* out)
{
#define MAKE(name, reproducible, summary)                                             \
  if (options.strategy == #name) {                                                    \
    *out = options.single_storage ? make_##name<T, single_t<T>, I>(triangle, options) \
                                  : make_##name<T, T, I>(triangle, options);          \
    return {};                                                                        \
  }
  SYNCFREE_CUDA_STRATEGIES(MAKE)
#undef MAKE
  return failed(Code::unknown_strategy, options.strategy);
}

}  // namespace syncfree::cuda
