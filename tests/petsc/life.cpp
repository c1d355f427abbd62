#include "life.hpp"

#include <algorithm>

#include "syncfree/strategy.hpp"

static const PetscInt nx = 9, ny = 8, columns = 3;

/* The results have their memory from the beginning, as tests that fail allocations mean those of the library. Points with
   blocks are a plane, of which `tiled` has a plan. */
Life::Life(const char* type, const std::string& options, bool device, PetscInt block_size)
    : options_(options),
      A_(block_size == 1 ? poisson_2d(nx, ny) : elasticity_like(6, nx * ny / (6 * block_size), 1, block_size))
{
  const PetscInt n = rows(A_);
  if (device) ok(MatConvert(A_, MATAIJCUSPARSE, MAT_INPLACE_MATRIX, A_.out()));
  ok(MatCreateVecs(A_, x_.out(), b_.out()));
  const Numbers numbers = random_numbers(n, 2);
  for (PetscInt i = 0; i < n; ++i) ok(VecSetValue(b_, i, numbers[(std::size_t)i], INSERT_VALUES));
  ok(VecAssemblyBegin(b_));
  ok(VecAssemblyEnd(b_));
  ok(MatMult(A_, b_, x_)); /* PETSc's own first use of the device */
  B_ = make_dense(n, columns, random_numbers(n * columns, 3));
  X_ = make_dense(n, columns, Numbers((std::size_t)(n * columns)));
  ok(PetscViewerASCIIOpen(PETSC_COMM_SELF, "/dev/null", viewer_.out()));
  ok(PCCreate(PETSC_COMM_SELF, pc_.out()));
  ok(PCSetOperators(pc_, A_, A_));
  calls_.reserve(32);
  add_set_up(type);
  add_applications(type);
  results_.assign(calls_.size(), Numbers((std::size_t)n));
}

void Life::add_result(const char* name, std::function<PetscErrorCode()> make)
{
  add(name, [this, make = std::move(make)] {
    const PetscErrorCode code = make();
    return code ? code : keep(x_);
  });
}

PetscErrorCode Life::keep(Vec x)
{
  const PetscScalar* from = nullptr;
  PetscInt n;
  PetscErrorCode code = VecGetLocalSize(x, &n);
  if (!code) code = VecGetArrayRead(x, &from);
  if (!code) std::copy(from, from + n, results_[kept_++].begin());
  return code ? code : VecRestoreArrayRead(x, &from);
}

void Life::add_set_up(const std::string& type)
{
  add("PCSetType", [this, type] { return PCSetType(pc_, type.c_str()); });
  add("PCSetFromOptions", [this] { return PCSetFromOptions(pc_); });
  if (type != PCSYNCFREESOR && type != PCILU && type != PCICC)
    add("PCSyncFreeSetThreads", [this] { return PCSyncFreeSetThreads(pc_, 1); });
  add("PCSetUp", [this] { return PCSetUp(pc_); });
  add_result("PCApply", [this] { return PCApply(pc_, b_, x_); });
  add("MatScale", [this] { return MatScale(A_, 2.0); });
  add("PCSetUp with new values", [this] { return PCSetUp(pc_); });
  add_result("PCApply with new values", [this] { return PCApply(pc_, b_, x_); });
}

bool Life::has_blocks() const
{
  PetscInt size;
  ok(MatGetBlockSize(A_, &size));
  return size > 1;
}

void Life::add_applications(const std::string& type)
{
  add("PCView", [this] { return PCView(pc_, viewer_); });
  if (type != PCSYNCFREESOR) {
    add_result("PCApplyTranspose", [this] { return PCApplyTranspose(pc_, b_, x_); });
    if (!has_blocks()) { /* by blocks or by entries, the halves of the same factor are others */
      add_result("PCApplySymmetricLeft", [this] { return PCApplySymmetricLeft(pc_, b_, x_); });
      add_result("PCApplySymmetricRight", [this] { return PCApplySymmetricRight(pc_, b_, x_); });
    }
    add_result("MatMatSolve", [this] {
      Mat F;
      PetscErrorCode code = PCFactorGetMatrix(pc_, &F);
      if (!code) code = MatMatSolve(F, B_, X_);
      return code ? code : MatGetColumnVector(X_, x_, columns - 1);
    });
    if (!has_blocks()) add("MatSyncFreeGetFactors", [this] {
      Mat F, L, U;
      PetscErrorCode code = PCFactorGetMatrix(pc_, &F);
      if (!code) code = MatSyncFreeGetFactors(F, &L, &U);
      if (!code) code = MatDestroy(&L);
      return code ? code : MatDestroy(&U);
    });
  }
  add("PCReset", [this] { return PCReset(pc_); });
  add("PCSetOperators", [this] { return PCSetOperators(pc_, A_, A_); });
  add_result("PCApply after a reset", [this] { return PCApply(pc_, b_, x_); });
}

void live(Life& life, const std::function<void(const char*, PetscErrorCode)>& after)
{
  for (const Life::Call& call : life.calls()) {
    const PetscErrorCode code = call.make();
    if (!code) continue;
    after(call.name, code);
    ok(call.make());
  }
}

Quiet::Quiet()
{
  const auto say_nothing = [](MPI_Comm, int, const char*, const char*, PetscErrorCode code, PetscErrorType, const char*,
                              void*) { return code; };
  ok(PetscPushErrorHandler(say_nothing, nullptr));
}

Quiet::~Quiet() { (void)PetscPopErrorHandler(); }

void expect_same(const std::vector<Numbers>& found, const std::vector<Numbers>& expected)
{
  for (std::size_t k = 0; k < expected.size(); ++k)
    for (std::size_t i = 0; i < expected[k].size(); ++i)
      ASSERT_LE(magnitude(found[k][i] - expected[k][i]), 1e4 * eps * (1 + magnitude(expected[k][i]))) << k << ", " << i;
}

bool has_device()
{
#if defined(PETSC_HAVE_CUDA)
  return std::count(strategies().begin(), strategies().end(), "level_order") > 0;
#else
  return false;
#endif
}
