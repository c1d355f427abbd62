/// Implements contender.hpp.

#include "contender.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <petscdevice.h>

#include "syncfree/memory_limit.hpp"
#include "syncfree_petsc.h"

namespace bench {

bool on_device = false, in_blocks = false;

namespace {

/// Returns PCView's description of the factored matrix.
std::string view(PC pc)
{
  char* text = nullptr;
  std::size_t length = 0;
  FILE* memory = open_memstream(&text, &length);
  PetscViewer viewer;
  ok(PetscViewerASCIIOpenWithFILE(PETSC_COMM_SELF, memory, &viewer));
  ok(PCView(pc, viewer));
  ok(PetscViewerDestroy(&viewer));
  std::fclose(memory);
  std::string copy(text, length);
  std::free(text);
  return copy;
}

/// Returns the text between the first `key` and `end`. The factor's lines precede the PC's, which have the same keys.
std::string value_behind(const std::string& text, const std::string& key, const std::string& end)
{
  const std::size_t begin = text.find(key);
  if (begin == std::string::npos) throw std::runtime_error("the view of a factor lacks '" + key + "':\n" + text);
  const std::size_t first = begin + key.size();
  return text.substr(first, text.find(end, first) - first);
}

/// One triangle's part of the plan.
struct VendorPart {
  std::string version;
  int algorithm;
  double analysis, choice;
};

VendorPart part_of(const std::string& plan)
{
  const auto number = [&](const char* key) { return std::stod(value_behind(plan, key, " ")); };
  return {value_behind(plan, "cuSPARSE ", ","), static_cast<int>(number("SpSV algorithm ")), 1e-3 * number("analysis "),
          1e-3 * number("choice ")};
}

}  // namespace

Vendor vendor_of(const std::string& plan)
{
  if (plan.find("cuSPARSE ") == std::string::npos) return {};
  const std::size_t upper = plan.find("; U ");  // without it both plans are the same
  const VendorPart L = part_of(plan), U = upper == std::string::npos ? L : part_of(plan.substr(upper));
  return {L.version, L.algorithm, U.algorithm, L.analysis, U.analysis, L.choice + U.choice};
}

std::string Vendor::behind() const
{
  if (!ran()) return "";
  const std::string algorithms = std::to_string(lower_algorithm) + ", " + std::to_string(upper_algorithm);
  return ", cuSPARSE " + version + " (" + algorithms + ")";
}

double now()
{
#if PETSC_VERSION_GE(3, 20, 0)
  if (on_device) {
    PetscDeviceContext context;
    ok(PetscDeviceContextGetCurrentContext(&context));
    ok(PetscDeviceContextSynchronize(context));
  }
#endif
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

PCOwner Contender::create(Mat A) const
{
  PCOwner pc;
  ok(PCCreate(PETSC_COMM_SELF, pc.out()));
  ok(PCSetOptionsPrefix(pc, "bench_"));
  ok(PCSetOperators(pc, A, A));
  ok(PCSetType(pc, ((ours() ? "syncfree_" : "") + setting_.kind).c_str()));
  ok(PCFactorSetLevels(pc, setting_.levels));
  if (ours()) {
    ok(PCSyncFreeSetStrategy(pc, setting_.name().c_str()));
    ok(PCSyncFreeSetThreads(pc, setting_.threads));
    if (setting_.has("single")) ok(PCSyncFreeSetFactorPrecision(pc, PC_SYNCFREE_PRECISION_SINGLE));
  }
  const bool trials = ours() && setting_.has("trials");  // there is an option only
  if (trials) ok(PetscOptionsSetValue(nullptr, "-bench_pc_syncfree_select", "trials"));
  ok(PCSetFromOptions(pc));
  if (trials) ok(PetscOptionsClearValue(nullptr, "-bench_pc_syncfree_select"));
  return pc;
}

bool Contender::has_no_plan(Mat A) const
{
  if (setting_.name() != "tiled" && setting_.name() != "wavefront") return false;
  const PCOwner pc = create(A);
  ok(PetscPushErrorHandler(PetscReturnErrorHandler, nullptr));
  const auto code = static_cast<int>(PCSetUp(pc));
  ok(PetscPopErrorHandler());
  return code == PETSC_ERR_SUP;
}

std::string Contender::failure() const
{
  PCFailedReason reason;
  ok(PCGetFailedReason(pc_, &reason));
  return reason == PC_NOERROR ? "" : PCFailedReasons[reason];
}

std::string Contender::prepare(Mat A)
{
  pc_ = create(A);
  ok(PCSetUp(pc_));
  return failure();
}

Contender::SetUp Contender::time_setup(Mat A) const
{
  PCOwner pc = create(A);
  const double begin = now();
  ok(PCSetUp(pc));
  const double middle = now();
  const Vendor vendor = vendor_of(viewed(pc, "syncfree plan: ", "\n"));
  const double end = now();
  pc.reset();
  return {middle - begin, now() - end, vendor};
}

double Contender::time_refresh()
{
  const double begin = now();
  ok(PCSetUp(pc_));
  return now() - begin;
}

bool Contender::has_halves() const
{
  Mat factor;
  PetscBool lower, upper;
  ok(PCFactorGetMatrix(pc_, &factor));
  ok(MatHasOperation(factor, MATOP_FORWARD_SOLVE, &lower));
  ok(MatHasOperation(factor, MATOP_BACKWARD_SOLVE, &upper));
  return lower && upper;
}

Shape Contender::shape() const
{
  Shape s;
  if (!ours()) return s;
  const std::string text = view(pc_);
  s.lower_levels = std::stoll(value_behind(text, "syncfree levels: ", " lower"));
  s.upper_levels = std::stoll(value_behind(text, " lower, ", " upper"));
  s.rows_a_level = std::stod(value_behind(text, "syncfree granularity: ", " rows"));
  s.entries_a_row = std::stod(value_behind(text, "rows per level, ", " entries"));
  return s;
}

double Contender::bytes() const
{
  if (ours()) {
    const std::string text = view(pc_);
    return 1e6 * (std::stod(value_behind(text, "syncfree memory: factor ", " ")) +
                  std::stod(value_behind(text, " MB, plan ", " ")));
  }
  Mat factor;
  MatInfo info;
  PetscInt n;
  ok(PCFactorGetMatrix(pc_, &factor));
  ok(MatGetInfo(factor, MAT_LOCAL, &info));
  ok(MatGetLocalSize(factor, &n, nullptr));
  return syncfree::petsc_factor_bytes(static_cast<double>(n), info.nz_used, sizeof(PetscScalar), sizeof(PetscInt));
}

std::string Contender::viewed(PC pc, const std::string& before, const std::string& behind) const
{
  const std::string text = ours() ? view(pc) : "";
  return text.find(before) == std::string::npos ? "" : value_behind(text, before, behind);
}

double Contender::peak_bytes() const
{
  const std::string megabytes = viewed(pc_, ", peak during set-up ", " ");
  return megabytes.empty() ? 0 : 1e6 * std::stod(megabytes);
}

std::string Contender::ran() const { return ours() ? strategy_that_ran(pc_) : "PETSc's own"; }

std::string Contender::plan() const { return viewed(pc_, "syncfree plan: ", "\n"); }

std::string strategy_that_ran(PC pc)
{
  const std::string text = value_behind(view(pc), "syncfree strategy: ", ", threads");
  const std::string forced = " (forced)";
  const std::size_t at = text.rfind(forced);
  return at == std::string::npos ? text : text.substr(0, at);
}

}  // namespace bench
