/// What contender.hpp declares.

#include "contender.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <petscdevice.h>

#include "syncfree_petsc.h"

namespace bench {

bool on_device = false;

namespace {

/// What PCView prints of the factored matrix.
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

/// What follows the first `key`, up to `end`. The factor's lines come before the PC's, whose keys are the same.
std::string value_behind(const std::string& text, const std::string& key, const std::string& end)
{
  const std::size_t begin = text.find(key);
  if (begin == std::string::npos) throw std::runtime_error("the view of a factor lacks '" + key + "':\n" + text);
  const std::size_t first = begin + key.size();
  return text.substr(first, text.find(end, first) - first);
}

}  // namespace

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
    ok(PCSyncFreeILUSetStrategy(pc, setting_.strategy.c_str()));
    ok(PCSyncFreeILUSetThreads(pc, setting_.threads));
  }
  ok(PCSetFromOptions(pc));
  return pc;
}

std::string Contender::prepare(Mat A)
{
  PCFailedReason reason;
  pc_ = create(A);
  ok(PCSetUp(pc_));
  ok(PCGetFailedReason(pc_, &reason));
  return reason == PC_NOERROR ? "" : PCFailedReasons[reason];
}

std::pair<double, double> Contender::time_setup(Mat A) const
{
  PCOwner pc = create(A);
  const double begin = now();
  ok(PCSetUp(pc));
  const double middle = now();
  pc.reset();
  return {middle - begin, now() - middle};
}

double Contender::time_refresh()
{
  const double begin = now();
  ok(PCSetUp(pc_));
  return now() - begin;
}

double Contender::time_apply(Vec b, Vec x, int count)
{
  apply(b, x);
  const double begin = now();
  for (int k = 0; k < count; ++k) apply(b, x);
  return (now() - begin) / count;
}

double Contender::bytes() const
{
  if (ours()) {
    const std::string text = view(pc_);
    return 1e6 * (std::stod(value_behind(text, "syncfree memory: factor ", " ")) +
                  std::stod(value_behind(text, ", plan ", " ")));
  }
  Mat factor;
  MatInfo info;
  PetscInt n;
  ok(PCFactorGetMatrix(pc_, &factor));
  ok(MatGetInfo(factor, MAT_LOCAL, &info));
  ok(MatGetLocalSize(factor, &n, nullptr));
  return info.nz_used * (sizeof(PetscScalar) + sizeof(PetscInt)) +
         (static_cast<double>(n) + 1.0) * (2.0 * sizeof(PetscInt) + sizeof(PetscScalar));
}

std::string Contender::ran() const
{
  if (!ours()) return "PETSc's own";
  const std::string text = value_behind(view(pc_), "syncfree strategy: ", ", threads");
  const std::string forced = " (forced)";
  const std::size_t at = text.rfind(forced);
  return at == std::string::npos ? text : text.substr(0, at);
}

}  // namespace bench
