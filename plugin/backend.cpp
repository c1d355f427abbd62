/*
  Selects the backend from the settings and from where the matrix resides, and creates its objects.
*/

#include "factor_impl.hpp"
#include "report.hpp"

#include "syncfree/kokkos.hpp"
#include "syncfree/strategy.hpp"

namespace syncfree_plugin {

/* Returns an empty analysis of a backend. */
static std::shared_ptr<Analysis> MakeAnalysis(const std::string &backend, Blocks blocks)
{
  auto made         = std::make_shared<Analysis>();
  made->key.backend = backend;
  made->blocks      = blocks;
  if (blocks == Blocks::stored) made->preconditioner = syncfree::make_host_block_preconditioner<PetscScalar, Index>();
  if (blocks == Blocks::copied) made->preconditioner = syncfree::make_host_blocked_preconditioner<PetscScalar, Index>();
#if defined(SYNCFREE_HAVE_KOKKOS)
  if (backend == "kokkos") made->preconditioner = syncfree::make_kokkos_preconditioner<PetscScalar, Index>();
#endif
#if defined(SYNCFREE_HAVE_CUDA)
  if (backend == "cuda") {
    auto on_device       = syncfree::make_cuda_preconditioner<PetscScalar, Index>();
    made->cuda           = on_device.get();
    made->preconditioner = std::move(on_device);
  }
#endif
  if (!made->preconditioner) made->preconditioner = syncfree::make_host_preconditioner<PetscScalar, Index>();
  return made;
}

/* Tests whether the user requested the host for a matrix on the device, as newer PETSc versions allow. */
template <class Info> static auto WantsHost(const Info *info, int) -> decltype(info->factoronhost || info->solveonhost)
{
  return info->factoronhost || info->solveonhost;
}
template <class Info> static bool WantsHost(const Info *, long)
{
  return false;
}

/* A matrix on the device is factored there, unless the user requested the host. */
static PetscErrorCode ChooseBackend(Mat A, const MatFactorInfo *info, PetscBool *device, std::string *request)
{
  Mat         block = A;
  PetscBool   parallel, found;
  std::string why;

  PetscFunctionBegin;
  *device = PETSC_FALSE;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &parallel));
  if (parallel) PetscCall(MatGetDiagonalBlock(A, &block));
  PetscCall(IsOnDevice(block, device));
  if (!*device || WantsHost(info, 0)) {
    if (*device) *request = "-mat_factor_bind_factorization or -mat_factor_bind_solve is host";
    *device = PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(FindDevice(&found, &why));
  *device = found;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Dense blocks are factored on the host only. */
static PetscErrorCode UseBlocks(Factor *factor, Mat A, const std::string &wanted, Blocks blocks)
{
  PetscFunctionBegin;
  PetscCheck(wanted == "auto" || wanted == "host", PETSC_COMM_SELF, PETSC_ERR_SUP, "Backend %s does not factor dense blocks; use -pc_syncfree_backend host or, with an AIJ matrix, -pc_syncfree_block_size 1", wanted.c_str());
  PetscCall(NoteHost(A, "dense blocks are factored on the CPU", &factor->why_host));
  if (factor->analysis->blocks != blocks) factor->analysis = MakeAnalysis("host", blocks);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An unknown strategy is rejected later, by the backend. */
PetscErrorCode UseBackend(Mat F, Mat A, const MatFactorInfo *info, const Settings &settings, Blocks blocks)
{
  Factor            *factor = Data(F);
  const std::string  wanted = settings.backend;
  const auto        *known  = syncfree::find_strategy(settings.solver.strategy);
  const auto         serves = [&](const std::string &backend) { return !known || syncfree::find_strategy(settings.solver.strategy, backend); };
  std::string        backend = wanted != "auto" ? wanted : serves("host") ? "host" : known->backend, why, request;
  PetscBool          device;

  PetscFunctionBegin;
  if (blocks != Blocks::none) {
    PetscCall(UseBlocks(factor, A, wanted, blocks));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(wanted == "auto" || serves(wanted), PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "Strategy %s requires backend %s, but -pc_syncfree_backend is %s; set one of them to auto", settings.solver.strategy.c_str(), known->backend, wanted.c_str());
  if (wanted == "auto" && backend == "host" && serves("cuda")) {
    PetscCall(ChooseBackend(A, info, &device, &request));
    if (device) backend = "cuda";
  } else if (backend == "cuda") {
    PetscCall(FindDevice(&device, &why));
    PetscCheck(device, PETSC_COMM_SELF, PETSC_ERR_SUP_SYS, "Backend cuda is not available: %s", why.c_str());
  }
  factor->why_host.clear();
  if (wanted != "auto") request = "-pc_syncfree_backend is " + wanted;
  else if (!serves("cuda")) request = "strategy " + settings.solver.strategy + " runs on the CPU only";
  if (backend != "cuda") PetscCall(NoteHost(A, request, &factor->why_host));
  if (factor->analysis->key.backend == backend && factor->analysis->blocks == Blocks::none) PetscFunctionReturn(PETSC_SUCCESS);
  factor->analysis = MakeAnalysis(backend, Blocks::none);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode UseHost(Factor *factor)
{
  PetscFunctionBegin;
  factor->analysis = MakeAnalysis("host", Blocks::none);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace syncfree_plugin
