#pragma once

/* What runs: on one process, and on all processes of a preconditioner; the papers that describe it. */

#include "plugin_impl.hpp"

#include <array>
#include <string>
#include <vector>

namespace syncfree_plugin {

/* What runs on this process. The strategy is empty where nothing was analysed. */
struct Report {
  std::string strategy, reason, backend;
  std::string why_host; /* why a matrix on a device is factored or relaxed on the host; else empty */
  std::string why_entries; /* why a matrix that may have blocks is factored by entries; else empty */
  std::string ordering; /* that `syncfree_auto` took; else empty */
  std::vector<std::string> choice; /* what from */
  bool        copies = false; /* data were copied from the host to the device */
  double      rows = 0, entries = 0, lower_levels = 0, upper_levels = 0, threads = 0, matrix_bytes = 0, plan_bytes = 0;
  double      block_size = 1, padding = 0; /* of dense blocks; zeros that they are filled with */
};

/* Fills in what a summary tells; that of a relaxation tells no rows. */
void AddSummary(const syncfree::Summary &, Report *);

/* Returns the end of the line on memory, "; limit 64 MB"; nothing without a limit. */
std::string DescribeLimit(const syncfree::Summary &);

/* Prints the strategies with the number of their processes, and of numbers the least, the most and the sum over the
   processes. With PETSC_VIEWER_ASCII_INFO_DETAIL a line for each process follows. Collective; a process may have no rows. */
PetscErrorCode ViewReports(MPI_Comm, PetscViewer, const char indent[], const Report &mine);

/* Prints the line for a matrix on a device that is factored or relaxed on the host, if it is. */
PetscErrorCode ViewHost(PetscViewer, const char indent[], const std::string &why_host);

/* If the matrix, or its block on this process, is on a device, gets why it is nevertheless factored on the host, and
   reports that with -info. `request`: what asked for the host, or empty. */
PetscErrorCode NoteHost(Mat A, const std::string &request, std::string *why_host);

/* Registers the citations of this library and of the strategy's paper, for -citations. ForgetCitations() is called when
   PETSc ends. */
PetscErrorCode CiteStrategy(const std::string &);
PetscErrorCode CiteOrdering(const std::string &);
void           ForgetCitations();

/* Returns the version of this library. */
const char *Version();

/* Calls print(viewer) for the viewer that -pc_syncfree_view names, if an analysis was made on any process since the last
   call: `viewed` tells whether that of this process was viewed. Collective, if the option is set. */
struct ViewRequest {
  PetscObject        object; /* for the heading */
  const std::string &view;
  const char        *kind; /* of the heading: "ILU" */
};
PetscErrorCode BeginView(const ViewRequest &, bool *viewed, PetscViewer *);
PetscErrorCode EndView(PetscViewer *);

template <class Print> PetscErrorCode ViewOnce(const ViewRequest &request, bool *viewed, Print &&print)
{
  PetscViewer    viewer = nullptr;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (request.view.empty()) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BeginView(request, viewed, &viewer));
  if (!viewer) PetscFunctionReturn(PETSC_SUCCESS);
  ierr = Guard([&] { return print(viewer); });
  PetscCall(EndView(&viewer));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace syncfree_plugin
