/// Implements options.hpp.

#include "options.hpp"

#include <petscdevice.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <stdexcept>

#include "contender.hpp"

#if PETSC_VERSION_LT(3, 19, 0)
#define PETSC_SUCCESS 0
#endif

namespace bench {
namespace {

/// The options that read_options() reads, in its order.
std::vector<std::string> known_options;

void add_known(const char option[])
{
  if (std::find(known_options.begin(), known_options.end(), option) == known_options.end())
    known_options.push_back(option);
}

template <class Items>
PetscErrorCode read_string(Items PetscOptionsObject, const char option[], const char text[], std::string* value)
{
  char given[4096 * 4];
  PetscBool set;
  PetscFunctionBeginUser;
  add_known(option);
  PetscCall(PetscOptionsString(option, text, nullptr, value->c_str(), given, sizeof(given), &set));
  if (set) *value = given;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <class Items>
PetscErrorCode read_real(Items PetscOptionsObject, const char option[], const char text[], PetscReal* value)
{
  const PetscReal before = *value;
  PetscFunctionBeginUser;
  add_known(option);
  PetscCall(PetscOptionsReal(option, text, nullptr, before, value, nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <class Items>
PetscErrorCode read_integer(Items PetscOptionsObject, const char option[], const char text[], PetscInt* value)
{
  const PetscInt before = *value;
  PetscFunctionBeginUser;
  add_known(option);
  PetscCall(PetscOptionsInt(option, text, nullptr, before, value, nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <class Items>
PetscErrorCode read_flag(Items PetscOptionsObject, const char option[], const char text[], PetscBool* value)
{
  const PetscBool before = *value;
  PetscFunctionBeginUser;
  add_known(option);
  PetscCall(PetscOptionsBool(option, text, nullptr, before, value, nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <class Items>
PetscErrorCode read_cases(Items PetscOptionsObject, Options* o)
{
  PetscFunctionBeginUser;
  PetscCall(read_string(PetscOptionsObject, "-bench_matrices", "Matrices to make, NAME or NAME:ROWS", &o->matrices));
  PetscCall(read_string(PetscOptionsObject, "-bench_files",
                        "Files with matrices, PETSc binary or Matrix Market, also .gz", &o->files));
  PetscCall(read_real(PetscOptionsObject, "-bench_unpacked",
                      "Bytes that a .gz file may have unpacked; 0: half of what is free in TMPDIR or /tmp",
                      &o->unpacked));
  PetscCall(read_string(PetscOptionsObject, "-bench_sizes", "Rows of each without its own, at least", &o->sizes));
  PetscCall(read_string(PetscOptionsObject, "-bench_mat_type", "Matrices: aij, baij or aijcusparse", &o->mat_type));
  PetscCall(read_string(PetscOptionsObject, "-bench_strategies", "Strategies", &o->strategies));
  PetscCall(read_string(PetscOptionsObject, "-bench_threads", "Threads of each but serial", &o->threads));
  PetscCall(read_string(PetscOptionsObject, "-bench_kinds", "ilu, icc or both", &o->kinds));
  PetscCall(read_integer(PetscOptionsObject, "-bench_levels", "Levels of fill", &o->levels));
  PetscCall(read_string(PetscOptionsObject, "-bench_symbolic",
                        "Symbolic factorizations with so many levels of fill in place of applications", &o->symbolic));
  PetscCall(read_string(PetscOptionsObject, "-bench_orderings",
                        "Levels, iterations and whole solves in these orders, also `random`",
                        &o->orderings));
  PetscCall(read_string(PetscOptionsObject, "-bench_columns",
                        "Applications to so many right-hand sides together beside those to one", &o->columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <class Items>
PetscErrorCode read_effort(Items PetscOptionsObject, Options* o)
{
  PetscFunctionBeginUser;
  PetscCall(read_real(PetscOptionsObject, "-bench_time", "Seconds for each contender of a matrix", &o->time));
  PetscCall(read_integer(PetscOptionsObject, "-bench_repetitions", "Repetitions, at least", &o->repetitions));
  PetscCall(read_real(PetscOptionsObject, "-bench_slow",
                      "A contender is timed once where an application or a repetition takes more seconds; 0: never",
                      &o->slow));
  PetscCall(read_real(PetscOptionsObject, "-bench_tolerance", "Relative error allowed against PETSc", &o->tolerance));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <class Items>
PetscErrorCode read_solves(Items PetscOptionsObject, Options* o)
{
  PetscFunctionBeginUser;
  PetscCall(read_flag(PetscOptionsObject, "-bench_solves", "Whole solves with KSP in place of applications",
                      &o->solves));
  PetscCall(read_string(PetscOptionsObject, "-bench_problems", "Of whole solves: poisson, convection", &o->problems));
  PetscCall(read_string(PetscOptionsObject, "-bench_pcs",
                        "Of whole solves: types of PC; behind a slash that of the smoothers of gamg; with "
                        "-bench_orderings the peers, of which ilu stands for icc, too",
                        &o->pcs));
  PetscCall(read_real(PetscOptionsObject, "-bench_gamg_rows", "Rows above which gamg is left out", &o->gamg_rows));
  PetscCall(read_integer(PetscOptionsObject, "-bench_max_it", "Iterations of a whole solve", &o->most_iterations));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <class Items>
PetscErrorCode read_hpcg_like(Items PetscOptionsObject, Options* o)
{
  PetscFunctionBeginUser;
  PetscCall(read_string(PetscOptionsObject, "-bench_hpcg_like",
                        "HPCG-like solves on grids with so many points an edge in place of applications",
                        &o->hpcg_like));
  PetscCall(read_string(PetscOptionsObject, "-bench_hpcg_like_check",
                        "Edge at which their residuals are compared with a serial program's", &o->hpcg_like_check));
  PetscCall(read_string(PetscOptionsObject, "-bench_hpcg_like_product", "Matrix type of CG's products: aij or sell",
                        &o->hpcg_like_product));
  PetscCall(read_flag(PetscOptionsObject, "-bench_hpcg_like_full_residual",
                      "Residuals before a restriction in all rows, not in those of coarse points",
                      &o->hpcg_like_full_residual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <class Items>
PetscErrorCode read_origin(Items PetscOptionsObject, Options* o)
{
  const char* commit = std::getenv("SYNCFREE_COMMIT");
  PetscFunctionBeginUser;
  o->commit = commit ? commit : "";
  PetscCall(read_string(PetscOptionsObject, "-bench_csv", "File for the results", &o->csv));
  PetscCall(read_string(PetscOptionsObject, "-bench_commit", "For the results: what was built", &o->commit));
  PetscCall(read_string(PetscOptionsObject, "-bench_machine", "For the results: where; default: asked", &o->machine));
  PetscCall(read_string(PetscOptionsObject, "-bench_note", "For the results: any text", &o->note));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if PETSC_VERSION_GE(3, 20, 0)
std::string view_of_device()
{
  PetscDeviceContext context;
  PetscDevice device;
  char* text = nullptr;
  std::size_t length = 0;
  FILE* memory = open_memstream(&text, &length);
  PetscViewer viewer;
  ok(PetscDeviceContextGetCurrentContext(&context));
  ok(PetscDeviceContextGetDevice(context, &device));
  ok(PetscViewerASCIIOpenWithFILE(PETSC_COMM_SELF, memory, &viewer));
  ok(PetscDeviceView(device, viewer));
  ok(PetscViewerDestroy(&viewer));
  std::fclose(memory);
  const std::string copy(text, length);
  std::free(text);
  return copy;
}
#else
std::string view_of_device() { return ""; }
#endif

/// Returns the rest of the line after the first `key`, without leading blanks.
std::string rest_of_line(const std::string& text, const std::string& key)
{
  const std::size_t at = text.find(key);
  if (at == std::string::npos) return "unknown";
  const std::size_t begin = text.find_first_not_of(" \t:", at + key.size());
  return begin == std::string::npos ? "unknown" : text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

PetscErrorCode read_options(Options* o)
{
  PetscFunctionBeginUser;
  PetscOptionsBegin(PETSC_COMM_SELF, nullptr, "Benchmark of syncfree_ilu and syncfree_icc", nullptr);
  PetscCall(read_cases(PetscOptionsObject, o));
  PetscCall(read_effort(PetscOptionsObject, o));
  PetscCall(read_solves(PetscOptionsObject, o));
  PetscCall(read_hpcg_like(PetscOptionsObject, o));
  PetscCall(read_origin(PetscOptionsObject, o));
  PetscOptionsEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/// Lists options that begin with -bench_ and have not been read so far.
static std::vector<std::string> unread_options()
{
  PetscInt count;
  char **names, **values;
  std::vector<std::string> found;
  ok(PetscOptionsLeftGet(nullptr, &count, &names, &values));
  for (PetscInt k = 0; k < count; ++k)
    if (std::string(names[k]).rfind("bench_", 0) == 0) found.push_back(names[k]);
  ok(PetscOptionsLeftRestore(nullptr, &count, &names, &values));
  return found;
}

/// Joins the names of all options that the program has, for an error message.
static std::string list_of_options()
{
  std::string list;
  for (const std::string& name : known_options) list += (list.empty() ? "" : ", ") + name;
  return list + "; others that begin with -bench_pc_, -bench_ksp_ or -bench_mg_ are for what is measured";
}

void refuse_unknown_options()
{
  for (const std::string& name : unread_options()) {
    bool later = false;
    for (const char* begin : {"bench_pc_", "bench_ksp_", "bench_mg_"}) later = later || name.rfind(begin, 0) == 0;
    if (!later) throw std::runtime_error("there is no option -" + name + "; there are " + list_of_options());
  }
}

void refuse_unread_options()
{
  for (const std::string& name : unread_options())
    throw std::runtime_error("option -" + name + " was read by nothing, so the results are those without it");
}

std::vector<std::string> split(const std::string& list)
{
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<std::int64_t> numbers(const char option[], const std::string& list)
{
  std::vector<std::int64_t> all;
  for (const std::string& text : split(list)) {
    char* end;
    const double value = std::strtod(text.c_str(), &end);  // accepts 1e5 as a size
    if (*end || !(value >= 1) || value > std::numeric_limits<PetscInt>::max())
      throw std::runtime_error(std::string(option) + ": '" + text + "' is not a number >= 1");
    all.push_back(static_cast<std::int64_t>(value));
  }
  return all;
}

std::vector<std::int64_t> thread_counts(const Options& options)
{
  const auto all = numbers("-bench_threads", options.threads);
  return on_device && !all.empty() ? std::vector<std::int64_t>{all.back()} : all;
}

std::string name_of_machine()
{
  if (on_device) try {
      return rest_of_line(view_of_device(), "name:");
    } catch (const std::exception&) {
      return "unknown";
    }
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0) return rest_of_line(line, "model name");
  return "unknown";
}

std::string csv_field(const std::string& text)
{
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  return field + "\"";
}

}  // namespace bench
