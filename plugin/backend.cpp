/*
  From the strategy that was asked for to the backend that serves it: the only place that
  knows which backends there are.
*/

#include "factor_impl.hpp"

#include <new>

#include "syncfree/kokkos.hpp"
#include "syncfree/strategy.hpp"

namespace syncfree_plugin {

static std::unique_ptr<Preconditioner> MakePreconditioner(const std::string &backend)
{
#if defined(SYNCFREE_HAVE_KOKKOS)
  if (backend == "kokkos") return syncfree::make_kokkos_preconditioner<PetscScalar, Index>();
#endif
  (void)backend;
  return syncfree::make_host_preconditioner<PetscScalar, Index>();
}

/* The host refuses what nobody knows. */
PetscErrorCode UseBackend(Factor *factor, const std::string &strategy)
{
  const auto *info    = syncfree::find_strategy(strategy);
  const char *backend = info ? info->backend : "host";

  PetscFunctionBegin;
  if (factor->preconditioner && factor->backend == backend) PetscFunctionReturn(PETSC_SUCCESS);
  try {
    auto made              = MakePreconditioner(backend);
    factor->backend        = backend;
    factor->preconditioner = std::move(made);
  } catch (const std::bad_alloc &) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "Out of memory for a factored matrix");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace syncfree_plugin
