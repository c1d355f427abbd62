/*
  Information about a PCSYNCFREESOR: its settings and how its sweeps run.
*/

#include "report.hpp"
#include "sor_impl.hpp"

namespace syncfree_plugin {

static Report MakeReport(PC pc, const Sor *sor)
{
  Report report;

  if (!sor->state.pattern.matrix) return report;
  report.backend  = sor->cuda ? "cuda" : "host";
  report.why_host = sor->why_host;
  AddSummary(sor->relaxation->summarize(), &report);
  report.rows = (double)pc->pmat->rmap->n;
  return report;
}

static PetscErrorCode ViewOnAll(PC pc, const Sor *sor, PetscViewer viewer)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)pc);
  Report         mine;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = Guard([&] {
    mine = MakeReport(pc, sor);
    return PETSC_SUCCESS;
  });
  PetscCall(Agree(comm, ierr));
  PetscCall(ViewReports(comm, viewer, "  ", mine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ViewRunning(PC pc, const Sor *sor, PetscViewer viewer)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "  syncfree version: %s\n", Version()));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  if (size > 1) {
    PetscCall(ViewOnAll(pc, sor, viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!sor->state.pattern.matrix) PetscFunctionReturn(PETSC_SUCCESS);
  const syncfree::Summary s = sor->relaxation->summarize();
  if (sor->cuda) PetscCall(PetscViewerASCIIPrintf(viewer, "  syncfree sweeps: %s (%s), backend: cuda, without inodes\n", s.strategy.c_str(), s.reason.c_str()));
  else PetscCall(PetscViewerASCIIPrintf(viewer, "  syncfree sweeps: %s (%s), backend: host, %s inodes, threads: %d%s\n", s.strategy.c_str(), s.reason.c_str(), sor->state.nodes ? "with" : "without", s.threads, AdviceOnThreads(*sor->relaxation, (PetscObject)pc).c_str()));
  PetscCall(ViewHost(viewer, "  ", sor->why_host));
  if (sor->cuda) PetscCall(ViewWaitLimit(viewer, "  ", sor->settings.solver.wait_limit));
  if (s.captured_bytes) PetscCall(PetscViewerASCIIPrintf(viewer, "  syncfree memory held by CUDA graphs: %.4g MB\n", 1e-6 * (double)s.captured_bytes));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  syncfree memory: rows %.4g MB, plan %.4g MB%s\n", 1e-6 * (double)s.factor_bytes, 1e-6 * (double)s.plan_bytes, DescribeLimit(s).c_str()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ViewSweeps(PC pc, const Sor *sor, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "  syncfree requested: strategy %s\n", sor->settings.solver.strategy.c_str()));
  PetscCall(ViewRunning(pc, sor, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ViewSweepAnalysis(PC pc, Sor *sor)
{
  const ViewRequest request = {(PetscObject)pc, sor->settings.view, "SOR"};

  PetscFunctionBegin;
  PetscCall(ViewOnce(request, &sor->viewed, [&](PetscViewer viewer) { return ViewRunning(pc, sor, viewer); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode QueryRunningSweeps(PC pc, bool *ours, RunningStrategy *running)
{
  Sor *sor;

  PetscFunctionBegin;
  PetscCall(GetSor((PetscObject)pc, &sor));
  *ours = sor;
  if (sor && sor->state.pattern.matrix) *running = {sor->relaxation->summarize().strategy, sor->cuda ? "cuda" : "host"};
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace syncfree_plugin
