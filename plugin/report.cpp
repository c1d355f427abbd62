/*
  Says what runs: views over all processes, -pc_syncfree_view, citations, the version.
*/

#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "borrow.hpp"
#include "syncfree/memory_limit.hpp"

namespace syncfree_plugin {

const char *Version()
{
  return SYNCFREE_VERSION;
}

void AddSummary(const syncfree::Summary &s, Report *report)
{
  report->strategy     = s.strategy;
  report->reason       = s.reason;
  report->rows         = (double)s.rows;
  report->entries      = (double)(s.lower_nnz + s.upper_nnz + s.rows * s.block_size);
  report->threads      = s.threads;
  report->matrix_bytes = (double)s.factor_bytes;
  report->plan_bytes   = (double)s.plan_bytes;
  report->block_size   = s.block_size;
  report->padding      = (double)s.padding;
}

/* ---- views ---- */

std::string DescribeLimit(const syncfree::Summary &s)
{
  char text[64];

  if (s.memory_limit <= 0 || std::isinf(s.memory_limit)) return {};
  std::snprintf(text, sizeof(text), "; limit %.4g MB", s.memory_limit / syncfree::megabyte);
  return text;
}

constexpr int most_strategies = 64;

/* By strategy of the list: its number of processes, and the first of them */
struct Strategies {
  std::array<int, most_strategies> processes{}, first{};
};

static int FindStrategy(const Report &mine)
{
  const auto &all   = syncfree::strategies();
  const auto *known = syncfree::find_strategy(mine.strategy, mine.backend);

  if (!known) known = syncfree::find_strategy(mine.strategy);
  return known && mine.rows > 0 ? (int)(known - all.data()) : -1;
}

static PetscErrorCode CountStrategies(MPI_Comm comm, const Report &mine, Strategies *count)
{
  PetscMPIInt rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCheck(syncfree::strategies().size() <= most_strategies, comm, PETSC_ERR_PLIB, "More than %d strategies", most_strategies);
  const int place = FindStrategy(mine);
  count->first.fill(size);
  if (place >= 0) count->processes[place] = 1, count->first[place] = rank;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, count->processes.data(), most_strategies, MPI_INT, MPI_SUM, comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, count->first.data(), most_strategies, MPI_INT, MPI_MIN, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prints `text` of the first of some processes, with the number of all of them, or nothing if there are none. */
static PetscErrorCode ViewOfFirst(MPI_Comm comm, PetscViewer viewer, const char format[], const char indent[], const char text[], int processes, int first)
{
  char        sent[512];
  PetscMPIInt size;

  PetscFunctionBegin;
  if (!processes) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(PetscStrncpy(sent, text, sizeof(sent)));
  PetscCallMPI(MPI_Bcast(sent, sizeof(sent), MPI_CHAR, first, comm));
  PetscCall(PetscViewerASCIIPrintf(viewer, format, indent, sent, processes, (int)size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ViewProcess(PetscViewer viewer, const char indent[], const Report &mine)
{
  PetscMPIInt rank;
  char        levels[64] = ""; /* sweeps have none */

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)viewer), &rank));
  if (mine.lower_levels > 0) PetscCall(PetscSNPrintf(levels, sizeof(levels), ", %.0f lower and %.0f upper levels", mine.lower_levels, mine.upper_levels));
  PetscCall(PetscViewerASCIISynchronizedPrintf(viewer, "%ssyncfree process %d: %s, %.0f threads, %.0f rows, %.0f entries%s, %.4g MB\n", indent, (int)rank, mine.strategy.empty() ? "nothing" : mine.strategy.c_str(), mine.threads, mine.rows,
                                               mine.entries, levels, 1e-6 * (mine.matrix_bytes + mine.plan_bytes)));
  for (const auto &line : mine.choice) PetscCall(PetscViewerASCIISynchronizedPrintf(viewer, "%s  %s\n", indent, line.c_str()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prints the orders that `syncfree_auto` took, with the number of their processes. */
static PetscErrorCode ViewOrderings(MPI_Comm comm, PetscViewer viewer, const char indent[], const Report &mine)
{
  const char *const kinds[] = {"given", "syncfree_multicolor", "syncfree_cyclic", "syncfree_abmc"};
  int               processes[4] = {0}, first[4];
  PetscMPIInt       rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  for (int k = 0; k < 4; k++) {
    processes[k] = mine.rows > 0 && !mine.ordering.compare(0, std::strlen(kinds[k]), kinds[k]);
    first[k]     = processes[k] ? rank : size;
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, processes, 4, MPI_INT, MPI_SUM, comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, first, 4, MPI_INT, MPI_MIN, comm));
  for (int k = 0; k < 4; k++) PetscCall(ViewOfFirst(comm, viewer, "%ssyncfree ordering: %s, on %d of %d processes\n", indent, mine.ordering.c_str(), processes[k], first[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ViewReports(MPI_Comm comm, PetscViewer viewer, const char indent[], const Report &mine)
{
  constexpr int     numbers = 9, block_size = 7, padding = 8; /* the last two have a line of their own */
  const char *const names[] = {"rows", "entries", "lower levels", "upper levels", "threads", "memory of the matrix", "memory of the plan"};
  const char *const units[] = {"", "", "", "", "", " MB", " MB"};
  const double      local[] = {mine.rows, mine.entries, mine.lower_levels, mine.upper_levels, mine.threads, 1e-6 * mine.matrix_bytes, 1e-6 * mine.plan_bytes, mine.rows > 0 ? mine.block_size : 1, mine.padding};
  double            least[numbers], most[numbers], sum[numbers];
  const bool        entries  = mine.rows > 0 && !mine.why_entries.empty();
  int               flags[3] = {mine.copies, !mine.why_host.empty(), entries}, first[3];
  PetscMPIInt       rank, size;
  PetscViewerFormat format;
  Strategies        strategies;
  char              text[512]; /* allocates nothing, which could fail on one process while the others wait */

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(CountStrategies(comm, mine, &strategies));
  PetscCallMPI(MPI_Allreduce(local, least, numbers, MPI_DOUBLE, MPI_MIN, comm));
  PetscCallMPI(MPI_Allreduce(local, most, numbers, MPI_DOUBLE, MPI_MAX, comm));
  PetscCallMPI(MPI_Allreduce(local, sum, numbers, MPI_DOUBLE, MPI_SUM, comm));
  for (int k = 0; k < 3; k++) first[k] = flags[k] ? (int)rank : (int)size;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, first, 3, MPI_INT, MPI_MIN, comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, flags, 3, MPI_INT, MPI_SUM, comm));
  if (!sum[0]) PetscFunctionReturn(PETSC_SUCCESS); /* nothing was analysed */
  PetscCall(PetscSNPrintf(text, sizeof(text), "%s (%s), backend: %s", mine.strategy.c_str(), mine.reason.c_str(), mine.backend.c_str()));
  for (int k = 0; k < most_strategies; k++) PetscCall(ViewOfFirst(comm, viewer, "%ssyncfree strategy: %s, on %d of %d processes\n", indent, text, strategies.processes[k], strategies.first[k]));
  PetscCall(ViewOrderings(comm, viewer, indent, mine));
  for (int k = 0; k < block_size; k++)
    if (sum[k]) PetscCall(PetscViewerASCIIPrintf(viewer, "%ssyncfree %s: least %.6g, most %.6g, sum %.6g%s\n", indent, names[k], least[k], most[k], sum[k], units[k]));
  if (most[block_size] > 1) PetscCall(PetscViewerASCIIPrintf(viewer, "%ssyncfree block size: least %.6g, most %.6g (dense blocks; levels of block rows); zeros added: sum %.6g\n", indent, least[block_size], most[block_size], sum[padding]));
  PetscCall(ViewOfFirst(comm, viewer, "%ssyncfree block size: 1 (%s), on %d of %d processes\n", indent, mine.why_entries.c_str(), flags[2], first[2]));
  if (flags[0]) PetscCall(PetscViewerASCIIPrintf(viewer, "%ssyncfree: data copied from the host on %d of %d processes\n", indent, flags[0], (int)size));
  PetscCall(ViewOfFirst(comm, viewer, "%ssyncfree: device matrix processed on the host, with copies: %s, on %d of %d processes\n", indent, mine.why_host.c_str(), flags[1], first[1]));
  PetscCall(PetscViewerGetFormat(viewer, &format));
  if (format != PETSC_VIEWER_ASCII_INFO_DETAIL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPushSynchronized(viewer));
  PetscCall(ViewProcess(viewer, indent, mine));
  PetscCall(PetscViewerFlush(viewer));
  PetscCall(PetscViewerASCIIPopSynchronized(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ViewHost(PetscViewer viewer, const char indent[], const std::string &why_host)
{
  PetscFunctionBegin;
  if (!why_host.empty()) PetscCall(PetscViewerASCIIPrintf(viewer, "%ssyncfree: device matrix processed on the host, with copies: %s\n", indent, why_host.c_str()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- a device matrix on the host ---- */

PetscErrorCode NoteHost(Mat A, const std::string &request, std::string *why_host)
{
  Mat       block = A;
  PetscBool parallel, device, ours, found, bound = PETSC_FALSE;

  PetscFunctionBegin;
  why_host->clear();
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &parallel));
  if (parallel) PetscCall(MatGetDiagonalBlock(A, &block));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)block, &device, "seqaijcusparse", "seqaijhipsparse", "seqaijkokkos", "seqaijviennacl", ""));
  if (PetscDefined(HAVE_DEVICE)) PetscCall(MatBoundToCPU(block, &bound));
  if (!device || bound) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrcmp(((PetscObject)block)->type_name, "seqaijcusparse", &ours));
  if (!ours) *why_host = std::string("type ") + ((PetscObject)block)->type_name + " is not supported on the device; use -mat_type aijcusparse";
  else if (!request.empty()) *why_host = request;
  else PetscCall(FindDevice(&found, why_host));
  PetscCall(PetscInfo(A, "Device matrix is processed on the host, with copies: %s\n", why_host->c_str()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- -pc_syncfree_view ---- */

/* The viewer is created as that of any option, from a database that has only this one. */
static PetscErrorCode CreateViewer(const ViewRequest &request, PetscViewer *viewer)
{
  PetscOptions      options;
  PetscViewerFormat format;
  PetscBool         set;
  const char *const name = "-pc_syncfree_view";
  const MPI_Comm    comm = PetscObjectComm(request.object);
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  PetscCall(PetscOptionsCreate(&options));
  ierr = PetscOptionsSetValue(options, name, request.view.c_str());
#if PETSC_VERSION_LT(3, 22, 0)
  if (!ierr) ierr = PetscOptionsGetViewer(comm, options, nullptr, name, viewer, &format, &set);
#else
  if (!ierr) ierr = PetscOptionsCreateViewer(comm, options, nullptr, name, viewer, &format, &set);
#endif
  PetscCall(PetscOptionsDestroy(&options));
  PetscCall(ierr);
  if (*viewer) PetscCall(PetscViewerPushFormat(*viewer, format));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ViewHeading(const ViewRequest &request, PetscViewer viewer)
{
  const char *const prefix = request.object->prefix;
  PetscMPIInt       size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm(request.object), &size));
  PetscCall(PetscViewerASCIIPrintf(viewer, "Syncfree %s: %s%s%s%d MPI process%s\n", request.kind, prefix ? "(" : "", prefix ? prefix : "", prefix ? ") " : "", (int)size, size == 1 ? "" : "es"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BeginView(const ViewRequest &request, bool *viewed, PetscViewer *viewer)
{
  int       fresh = !*viewed;
  PetscBool ascii;

  PetscFunctionBegin;
  *viewer = nullptr;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &fresh, 1, MPI_INT, MPI_MAX, PetscObjectComm(request.object)));
  if (!fresh) PetscFunctionReturn(PETSC_SUCCESS);
  *viewed = true;
  PetscCall(CreateViewer(request, viewer));
  if (!*viewer) PetscFunctionReturn(PETSC_SUCCESS); /* the user turned viewers off */
  PetscCall(PetscObjectTypeCompare((PetscObject)*viewer, PETSCVIEWERASCII, &ascii));
  if (ascii) PetscCall(ViewHeading(request, *viewer));
  else PetscCall(EndView(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode EndView(PetscViewer *viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerFlush(*viewer));
  PetscCall(PetscViewerPopFormat(*viewer));
  PetscCall(PetscViewerDestroy(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- citations ---- */

/* A publication and the strategies that it describes; without strategies: this library */
struct Publication {
  std::vector<const char *> strategies;
  const char               *bibtex;
  PetscBool                 cited;
};

static Publication publications[] = {
  {{}, "@software{petsc-syncfree,\n  title   = {petsc-syncfree: synchronization-free {ILU}, {ICC} and {SOR} preconditioners for {PETSc}},\n  author  = {{The petsc-syncfree authors}},\n  version = {" SYNCFREE_VERSION "}\n}\n", PETSC_FALSE},
  {{"sync_free", "csc_sync_free", "csc_level_order"},
   "@inproceedings{liu2016synchronization,\n"
   "  title     = {A Synchronization-Free Algorithm for Parallel Sparse Triangular Solves},\n"
   "  author    = {Liu, Weifeng and Li, Ang and Hogg, Jonathan and Duff, Iain S. and Vinter, Brian},\n"
   "  booktitle = {Euro-Par 2016: Parallel Processing},\n"
   "  pages     = {617--630},\n  year      = {2016}\n}\n", PETSC_FALSE},
  {{"csr_two_phase", "csr_writing_first", "csr_level_order"},
   "@inproceedings{su2020capellini,\n"
   "  title     = {{CapelliniSpTRSV}: A Thread-Level Synchronization-Free Sparse Triangular Solve on {GPUs}},\n"
   "  author    = {Su, Jiya and Zhang, Feng and Liu, Weifeng and He, Bingsheng and Wu, Ruofan and Du, Xiaoyong and Wang, Rujia},\n"
   "  booktitle = {49th International Conference on Parallel Processing (ICPP)},\n"
   "  year      = {2020}\n}\n", PETSC_FALSE},
  {{"column_block", "row_block", "recursive_block"},
   "@inproceedings{lu2020efficient,\n"
   "  title     = {Efficient Block Algorithms for Parallel Sparse Triangular Solve},\n"
   "  author    = {Lu, Zhengyang and Niu, Yuyao and Liu, Weifeng},\n"
   "  booktitle = {49th International Conference on Parallel Processing (ICPP)},\n"
   "  year      = {2020}\n}\n", PETSC_FALSE},
  {{"level_set", "level_order"},
   "@article{anderson1989solving,\n"
   "  title   = {Solving Sparse Triangular Linear Systems on Parallel Computers},\n"
   "  author  = {Anderson, E. and Saad, Y.},\n"
   "  journal = {International Journal of High Speed Computing},\n"
   "  volume  = {1},\n  number  = {1},\n  pages   = {73--95},\n  year    = {1989}\n}\n", PETSC_FALSE},
  {{"wavefront"},
   "@article{koch1992solution,\n"
   "  title   = {Solution of the First-Order Form of the 3-{D} Discrete Ordinates Equation on a Massively Parallel Processor},\n"
   "  author  = {Koch, K. R. and Baker, R. S. and Alcouffe, R. E.},\n"
   "  journal = {Transactions of the American Nuclear Society},\n"
   "  volume  = {65},\n  year    = {1992}\n}\n", PETSC_FALSE},
  {{"merged"},
   "@article{alvarado1993optimal,\n"
   "  title   = {Optimal Parallel Solution of Sparse Triangular Systems},\n"
   "  author  = {Alvarado, F. L. and Schreiber, R.},\n"
   "  journal = {SIAM Journal on Scientific Computing},\n"
   "  volume  = {14},\n  pages   = {446--460},\n  year    = {1993}\n}\n", PETSC_FALSE},
  {{"loop"},
   "@inproceedings{somo2025sync,\n"
   "  title     = {Sync-Free {GPU} Parallelization of Sparse Kernels from Sequential {Python} Code},\n"
   "  author    = {Somo, Malko-Bani and Cheshmi, Kazem},\n"
   "  booktitle = {SC '25},\n"
   "  year      = {2025}\n}\n", PETSC_FALSE},
  {{"kokkos"},
   "@misc{rajamanickam2021kokkos,\n"
   "  title  = {Kokkos Kernels: Performance Portable Sparse/Dense Linear Algebra and Graph Kernels},\n"
   "  author = {Rajamanickam, Sivasankaran and Acer, Seher and Berger-Vergiat, Luc and Dang, Vinh and Ellingwood, Nathan and Harvey, Evan and Kelley, Brian and Trott, Christian R. and Wilke, Jeremiah and Yamazaki, Ichitaro},\n"
   "  eprint = {2103.11991},\n  archivePrefix = {arXiv},\n  year   = {2021}\n}\n", PETSC_FALSE},
  {{"syncfree_multicolor"},
   "@article{jones1993parallel,\n"
   "  title   = {A Parallel Graph Coloring Heuristic},\n"
   "  author  = {Jones, Mark T. and Plassmann, Paul E.},\n"
   "  journal = {SIAM Journal on Scientific Computing},\n"
   "  volume  = {14},\n  pages   = {654--669},\n  year    = {1993}\n}\n", PETSC_FALSE},
  {{"syncfree_cyclic"},
   "@article{doi1999ordering,\n"
   "  title   = {Ordering Strategies and Related Techniques to Overcome the Trade-Off between Parallelism and Convergence in Incomplete Factorizations},\n"
   "  author  = {Doi, Shun and Washio, Takumi},\n"
   "  journal = {Parallel Computing},\n"
   "  volume  = {25},\n  pages   = {1995--2014},\n  year    = {1999}\n}\n", PETSC_FALSE},
  {{"syncfree_abmc"},
   "@inproceedings{iwashita2012algebraic,\n"
   "  title     = {Algebraic Block Multi-Color Ordering Method for Parallel Multi-Threaded Sparse Triangular Solver in {ICCG} Method},\n"
   "  author    = {Iwashita, Takeshi and Nakashima, Hiroshi and Takahashi, Yasuhito},\n"
   "  booktitle = {26th International Parallel and Distributed Processing Symposium (IPDPS)},\n"
   "  year      = {2012}\n}\n", PETSC_FALSE},
};

PetscErrorCode CiteStrategy(const std::string &strategy)
{
  PetscFunctionBegin;
  for (Publication &p : publications)
    if (p.strategies.empty() || std::count(p.strategies.begin(), p.strategies.end(), strategy)) PetscCall(PetscCitationsRegister(p.bibtex, &p.cited));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An ordering's name ends with its number, if it has one. */
PetscErrorCode CiteOrdering(const std::string &ordering)
{
  PetscFunctionBegin;
  PetscCall(CiteStrategy(ordering.substr(0, ordering.find(' '))));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void ForgetCitations()
{
  for (Publication &p : publications) p.cited = PETSC_FALSE;
}

} // namespace syncfree_plugin

using namespace syncfree_plugin;

static PetscErrorCode GetVersion(const char *version[])
{
  PetscFunctionBegin;
  *version = Version();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   PCSyncFreeGetVersion - Gets the version of this library

   Not Collective

   Output Parameter:
.  version - for example, "0.1.0"; do not free it

   Level: intermediate

.seealso: `PCSyncFreeRegister()`, `PCSYNCFREEILU`, `PCSYNCFREEICC`, `PCSYNCFREESOR`, `PetscGetVersion()`
@*/
PetscErrorCode PCSyncFreeGetVersion(const char *version[])
{
  PetscFunctionBegin;
  PetscCall(guarded<GetVersion>(version));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The names of the list stay valid. */
static PetscErrorCode GetRunning(PC pc, const char *strategy[], const char *backend[])
{
  RunningStrategy running;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  if (strategy) *strategy = nullptr;
  if (backend) *backend = nullptr;
  PetscCall(GetRunningStrategy(pc, &running));
  const auto *known = syncfree::find_strategy(running.strategy, running.backend);
  if (!known) known = syncfree::find_strategy(running.strategy);
  if (!known) PetscFunctionReturn(PETSC_SUCCESS);
  if (strategy) *strategy = known->name;
  if (backend) *backend = running.backend == "cuda" ? "cuda" : running.backend == "kokkos" ? "kokkos" : "host";
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   PCSyncFreeGetRunningStrategy - Gets the strategy that runs on this process, which `auto` has selected or the user has set

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCSYNCFREEILU`, `PCSYNCFREEICC` or `PCSYNCFREESOR`, or of type `PCILU` or `PCICC` with the solver type `MATSOLVERSYNCFREE`

   Output Parameters:
+  strategy - the name of the strategy, `NULL` before the first analysis; do not free it
-  backend  - where it runs: `host`, `cuda` or `kokkos`; `NULL` before the first analysis; do not free it

   Level: intermediate

   Notes:
   Pass `NULL` for an output that is not needed.

   The analysis is made by `PCSetUp()`, that of `PCSYNCFREESOR` by the first `PCApply()`. Processes may run different
   strategies. `-pc_syncfree_view` prints them for all processes.

.seealso: `PCSYNCFREEILU`, `PCSYNCFREEICC`, `PCSYNCFREESOR`, `PCSyncFreeSetStrategy()`, `PCSyncFreeGetStrategy()`, `PCSyncFreeGetBackend()`
@*/
PetscErrorCode PCSyncFreeGetRunningStrategy(PC pc, const char *strategy[], const char *backend[])
{
  PetscFunctionBegin;
  PetscCall(guarded<GetRunning>(pc, strategy, backend));
  PetscFunctionReturn(PETSC_SUCCESS);
}
