/// From the name of a strategy to its solver.

#include <new>

#include "../core/instantiate.hpp"
#include "strategies.hpp"

namespace syncfree {

template <class T, class V, class I>
Status make_host_solver(const std::string& strategy, TriangleView<V, I> triangle, int threads,
                        std::unique_ptr<TriangularSolver<T, V, I>>* out)
try {
  if (threads < 1) return failed(Code::invalid_argument, "number of threads must be at least 1");
#define TRY(name, reproducible, summary)               \
  if (strategy == #name) {                             \
    *out = make_##name<T, V, I>(triangle, threads);    \
    return {};                                         \
  }
  SYNCFREE_HOST_STRATEGIES(TRY)
#undef TRY
  return failed(Code::unknown_strategy, strategy);
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

#define INSTANTIATE(T, V, I)                                                               \
  template Status make_host_solver<T, V, I>(const std::string&, TriangleView<V, I>, int, \
                                            std::unique_ptr<TriangularSolver<T, V, I>>*);
SYNCFREE_FOR_EACH_STORAGE(INSTANTIATE)

}  // namespace syncfree
