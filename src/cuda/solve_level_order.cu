/// Strategy `level_order`: rows sorted by level, every number its own flag (level_order_solver.cuh); nodes where the
/// triangle has them (solve_nodes.cu).

#include "core/support/instantiate.hpp"
#include "level_order_solver.cuh"
#include "node_solver.hpp"

namespace syncfree::cuda {

template <class T, class V, class I>
std::unique_ptr<DeviceSolver<T, I>> make_level_order(const DeviceTriangle<I>& triangle, const SolverOptions& options)
{
  if (triangle.nodes && !triangle.source) return make_node_solver<T, V, I>(triangle);
  return std::make_unique<LevelOrderSolver<T, V, I, ValueBox>>(triangle, options.threads);
}

#define INSTANTIATE(T, V, I)                                                                           \
  template std::unique_ptr<DeviceSolver<T, I>> make_level_order<T, V, I>(const DeviceTriangle<I>&, \
                                                            const SolverOptions&);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree::cuda
