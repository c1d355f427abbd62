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
#if defined(SYNCFREE_HAVE_KOKKOS)
  if (backend == "kokkos") made->preconditioner = syncfree::make_kokkos_preconditioner<PetscScalar, Index>();
#endif
#if defined(SYNCFREE_HAVE_CUDA)
  if (backend == "cuda") {
    auto on_device       = blocks == Blocks::stored   ? syncfree::make_cuda_block_preconditioner<PetscScalar, Index>()
                           : blocks == Blocks::copied ? syncfree::make_cuda_blocked_preconditioner<PetscScalar, Index>()
                                                      : syncfree::make_cuda_preconditioner<PetscScalar, Index>();
    made->cuda           = on_device.get();
    made->preconditioner = std::move(on_device);
  }
#endif
  if (made->preconditioner) return made;
  if (blocks == Blocks::stored) made->preconditioner = syncfree::make_host_block_preconditioner<PetscScalar, Index>();
  else if (blocks == Blocks::copied) made->preconditioner = syncfree::make_host_blocked_preconditioner<PetscScalar, Index>();
  else made->preconditioner = syncfree::make_host_preconditioner<PetscScalar, Index>();
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

/* Tests whether a matrix, or the diagonal block of a parallel one, is on the device. */
static PetscErrorCode ResidesThere(Mat A, PetscBool *there)
{
  Mat       block = A;
  PetscBool parallel;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &parallel));
  if (parallel) PetscCall(MatGetDiagonalBlock(A, &block));
  PetscCall(IsOnDevice(block, there));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix on the device is factored there, unless the user requested the host; so is a BAIJ matrix, which PETSc keeps on
   the host, if it stands for an operator on the device. */
static PetscErrorCode ChooseBackend(Mat A, const MatFactorInfo *info, Blocks blocks, PetscBool *device, std::string *request)
{
  SetupContext *handover;
  PetscBool     found;
  std::string   why;

  PetscFunctionBegin;
  PetscCall(ResidesThere(A, device));
  PetscCall(QueryHandover(A, &handover));
  if (!*device && blocks == Blocks::stored && handover && handover->operators) PetscCall(ResidesThere(handover->operators, device));
  if (!*device || WantsHost(info, 0)) {
    if (*device) *request = "-mat_factor_bind_factorization or -mat_factor_bind_solve is host";
    *device = PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(FindDevice(&found, &why));
  *device = found;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An unknown strategy is rejected later, by the backend. */
PetscErrorCode GetBackend(Mat A, const MatFactorInfo *info, const Settings &settings, Blocks blocks, std::string *selected, std::string *request)
{
  const std::string  wanted = settings.backend;
  const auto        *known  = syncfree::find_strategy(settings.solver.strategy);
  const auto         serves = [&](const std::string &backend) { return !known || syncfree::find_strategy(settings.solver.strategy, backend); };
  std::string        backend = wanted != "auto" ? wanted : serves("host") ? "host" : known->backend, why;
  PetscBool          device;

  PetscFunctionBegin;
  PetscCheck(wanted == "auto" || serves(wanted), PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "Strategy %s requires backend %s, but -pc_syncfree_backend is %s; set one of them to auto", settings.solver.strategy.c_str(), known->backend, wanted.c_str());
  if (wanted == "auto" && backend == "host" && serves("cuda")) {
    PetscCall(ChooseBackend(A, info, blocks, &device, request));
    if (device) backend = "cuda";
  } else if (backend == "cuda") {
    PetscCall(FindDevice(&device, &why));
    PetscCheck(device, PETSC_COMM_SELF, PETSC_ERR_SUP_SYS, "Backend cuda is not available: %s", why.c_str());
  }
  if (wanted != "auto") *request = "-pc_syncfree_backend is " + wanted;
  else if (!serves("cuda")) *request = "strategy " + settings.solver.strategy + " runs on the CPU only";
  *selected = backend;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode UseBackend(Mat F, Mat A, const MatFactorInfo *info, const Settings &settings, Blocks blocks)
{
  Factor     *factor = Data(F);
  std::string backend, request;

  PetscFunctionBegin;
  PetscCall(GetBackend(A, info, settings, blocks, &backend, &request));
  factor->why_host.clear();
  if (backend != "cuda") PetscCall(NoteHost(A, request, &factor->why_host));
  PetscCheck(backend != "kokkos" || blocks == Blocks::none, PETSC_COMM_SELF, PETSC_ERR_SUP, "Backend kokkos does not factor dense blocks; use -pc_syncfree_backend host or cuda or, with an AIJ matrix, -pc_syncfree_block_size 1");
  if (factor->analysis->key.backend == backend && factor->analysis->blocks == blocks) PetscFunctionReturn(PETSC_SUCCESS);
  factor->analysis = MakeAnalysis(backend, blocks);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode UseEntries(Factor *factor, const std::string &backend)
{
  PetscFunctionBegin;
  factor->analysis = MakeAnalysis(backend, Blocks::none);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace syncfree_plugin
