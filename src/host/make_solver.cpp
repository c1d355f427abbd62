/// Makes a solver from the name of its strategy.

#include <new>

#include "core/plan/block_plan.hpp"
#include "core/support/instantiate.hpp"
#include "strategies.hpp"
#include "syncfree/threads.hpp"

namespace syncfree {

template <class T, class V, class I>
Status make_host_solver(const SolverOptions& options, TriangleView<V, I> triangle,
                        std::unique_ptr<TriangularSolver<T, V, I>>* out)
try {
  const Status threads = check_threads(options.threads);
  if (!threads.ok()) return threads;
  BlockTable table;
  const Status blocks = read_block_options(options.blocks, &table);
  if (!blocks.ok()) return blocks;
#define TRY(name, reproducible, summary)               \
  if (options.strategy == #name) {                             \
    *out = make_##name<T, V, I>(triangle, options);    \
    return {};                                         \
  }
  SYNCFREE_HOST_STRATEGIES(TRY)
#undef TRY
  return failed(Code::unknown_strategy, options.strategy);
} catch (const NoPlan& failure) {
  return failure.status;
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

#define INSTANTIATE(T, V, I)                                                               \
  template Status make_host_solver<T, V, I>(const SolverOptions&, TriangleView<V, I>, \
                                            std::unique_ptr<TriangularSolver<T, V, I>>*);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree
