/* Makes, runs, shrinks and prints the sequences of sequences.hpp. */

#include <algorithm>
#include <cstdio>

#include "sequences.hpp"

/* ---- texts ---- */

std::string text(PetscInt value) { return std::to_string((long long)value); }

static std::string text_of_real(double value)
{
  char digits[32];
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value > 0 ? "INFINITY" : "-INFINITY";
  std::snprintf(digits, sizeof(digits), "%.17g", value);
  return digits;
}

std::string text(const PetscScalar& value)
{
#if defined(PETSC_USE_COMPLEX)
  return "PetscCMPLX(" + text_of_real((double)PetscRealPart(value)) + ", " +
         text_of_real((double)PetscImaginaryPart(value)) + ")";
#else
  return text_of_real((double)value);
#endif
}

template <class Value>
static std::string text_of_list(const char* type, const std::vector<Value>& values)
{
  std::string all = std::string("(") + type + "[]){";
  for (std::size_t k = 0; k < values.size(); ++k) all += (k ? ", " : "") + text(values[k]);
  return all + (values.empty() ? "0}" : "}");
}

std::string text(const std::vector<PetscInt>& values) { return text_of_list("PetscInt", values); }
std::string text(const Numbers& values) { return text_of_list("PetscScalar", values); }

static std::string text_of_sweeps(const Requested& r)
{
  return "-pc_sor_" + r.direction + " -pc_sor_omega " + std::to_string(r.omega) + " -pc_sor_its " + text(r.sweeps) +
         " -pc_syncfree_use_inodes " + text((PetscInt)r.inodes);
}

static std::string text_of_factor(const SequenceCase& kind, const Requested& r)
{
  return std::string(kind.package ? "-pc_factor_mat_solver_type syncfree " : "") + "-pc_factor_mat_ordering_type " +
         r.ordering + " -pc_factor_levels " + text(r.levels) + " -pc_factor_shift_type " +
         MatFactorShiftTypes[r.shift] + (r.diagonal_fill && !kind.icc() ? " -pc_factor_diagonal_fill 1" : "") +
         (r.reuse_ordering ? " -pc_factor_reuse_ordering" : "") + (r.reuse_fill ? " -pc_factor_reuse_fill" : "") +
         " -pc_syncfree_backend " + r.backend + " -pc_syncfree_factor_precision " + (r.single ? "single" : "scalar") +
         " -pc_syncfree_select " + (r.trials ? "trials" : "model") + " -pc_syncfree_cut_rows " +
         (r.small_parts ? "3" : "0") + " -pc_syncfree_tile_rows " + (r.small_parts ? "4" : "0");
}

std::string Requested::text(const SequenceCase& kind) const
{
  return (kind.sweeps() ? text_of_sweeps(*this) : text_of_factor(kind, *this)) + " -pc_syncfree_strategy " + strategy +
         " -pc_syncfree_threads " + ::text(threads) +
         (kind.block_size > 1 ? " -pc_syncfree_block_size " + ::text(std::max(block_size, (PetscInt)0)) : "");
}

/* ---- ways to use a PC ---- */

/* Applies an operation to three columns and adds their results. */
template <class Solve>
static PetscErrorCode on_columns(Vec b, Vec x, Solve solve)
{
  const PetscInt columns = 3;
  PetscScalar* from;
  const PetscScalar* to;
  const Numbers one = entries(b);
  const PetscInt n = (PetscInt)one.size();
  MatOwner B = make_dense(n, columns, Numbers((std::size_t)(n * columns))),
           X = make_dense(n, columns, Numbers((std::size_t)(n * columns)));
  ok(MatDenseGetArrayWrite(B, &from));
  for (PetscInt k = 0; k < n * columns; ++k) from[k] = one[(std::size_t)(k % n)] * (PetscReal)(1 + k / n);
  ok(MatDenseRestoreArrayWrite(B, &from));
  const PetscErrorCode code = solve((Mat)B, (Mat)X);
  if (code) return code;
  Numbers sum((std::size_t)n);
  ok(MatDenseGetArrayRead(X, &to));
  for (PetscInt k = 0; k < n * columns; ++k) sum[(std::size_t)(k % n)] += to[k] * (PetscReal)(1 + k / n);
  ok(MatDenseRestoreArrayRead(X, &to));
  return VecCopy(make_vector(sum), x);
}

static PetscErrorCode mat_apply(PC pc, Vec b, Vec x)
{
  return on_columns(b, x, [&](Mat B, Mat X) { return PCMatApply(pc, B, X); });
}

template <PetscErrorCode (*solve)(Mat, Mat, Mat)>
static PetscErrorCode solve_columns(PC pc, Vec b, Vec x)
{
  Mat F;
  PCFailedReason reason;
  PetscErrorCode code = PCSetUp(pc);
  if (!code) code = PCGetFailedReason(pc, &reason);
  if (code || reason) return code;
  code = PCFactorGetMatrix(pc, &F);
  return code ? code : on_columns(b, x, [&](Mat B, Mat X) { return solve(F, B, X); });
}

static PetscErrorCode richardson(PC pc, Vec b, Vec x)
{
  VecOwner work;
  PetscInt its;
  PCRichardsonConvergedReason reason;
  ok(VecDuplicate(b, work.out()));
  const PetscErrorCode code = PCSetUp(pc);
  return code ? code : PCApplyRichardson(pc, b, x, work, 0.0, 0.0, 0.0, 2, PETSC_TRUE, &its, &reason);
}

std::vector<Application> applications(const SequenceCase& kind)
{
  std::vector<Application> all = {
      {"PCApply", PCApply}, {"PCApplyTranspose", PCApplyTranspose}, {"mat_apply", mat_apply}};
  if (kind.sweeps()) all.push_back({"richardson", richardson});
  else {
    all.push_back({"PCApplySymmetricLeft", PCApplySymmetricLeft});
    all.push_back({"PCApplySymmetricRight", PCApplySymmetricRight});
    all.push_back({"mat_mat_solve", solve_columns<MatMatSolve>});
    all.push_back({"mat_mat_solve_transpose", solve_columns<MatMatSolveTranspose>});
  }
  return all;
}

/* ---- programs ---- */

static const char beginning[] = R"(/* cc -I plugin program.c -lsyncfree_ilu -lpetsc -lm; %s */
#include <math.h>
#include <petscksp.h>
#include "syncfree_petsc.h"

#define FINAL MAT_FINAL_ASSEMBLY

static PetscErrorCode make(PetscInt n, PetscInt count, PetscInt *row, PetscInt *column, PetscScalar *value, Mat *A)
{
  if (BAIJ) PetscCall(MatCreateSeqBAIJ(PETSC_COMM_SELF, BLOCK_SIZE, n, n, 4, NULL, A));
  else PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 4, NULL, A));
  if (!BAIJ && n % BLOCK_SIZE == 0) PetscCall(MatSetBlockSize(*A, BLOCK_SIZE));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (PetscInt k = 0; k < count; k++) PetscCall(MatSetValue(*A, row[k], column[k], value[k], ADD_VALUES));
  PetscCall(MatAssemblyBegin(*A, FINAL));
  PetscCall(MatAssemblyEnd(*A, FINAL));
  if (ON_DEVICE && !BAIJ) PetscCall(MatConvert(*A, "seqaijcusparse", MAT_INPLACE_MATRIX, A));
  return 0;
}

static PetscErrorCode set_operators(PC pc, Mat P)
{
  Mat A;
  if (!ON_DEVICE || !BAIJ) return PCSetOperators(pc, P, P);
  PetscCall(MatConvert(P, "seqaij", MAT_INITIAL_MATRIX, &A));
  PetscCall(MatConvert(A, "seqaijcusparse", MAT_INPLACE_MATRIX, &A));
  PetscCall(PCSetOperators(pc, A, P));
  return MatDestroy(&A);
}

static PetscErrorCode keep(Mat A, Mat *copy)
{
  PetscCall(MatDestroy(copy));
  return MatDuplicate(A, MAT_COPY_VALUES, copy);
}

static PetscErrorCode hold(Mat F, Mat *held)
{
  PetscCall(PetscObjectReference((PetscObject)F));
  PetscCall(MatDestroy(held));
  *held = F;
  return 0;
}

static PetscErrorCode write_array(Mat A, PetscInt count, PetscScalar *values)
{
  PetscScalar *array;
  PetscCall(BAIJ ? MatSeqBAIJGetArray(A, &array) : MatSeqAIJGetArray(A, &array));
  for (PetscInt k = 0; k < count; k++) array[k] = values[k];
  if (!BAIJ) return MatSeqAIJRestoreArray(A, &array);
  PetscCall(MatSeqBAIJRestoreArray(A, &array));
  PetscCall(MatAssemblyBegin(A, FINAL));
  return MatAssemblyEnd(A, FINAL);
}

static PetscErrorCode scale_by(Mat A, PetscScalar d)
{
  Vec v;
  PetscCall(MatCreateVecs(A, &v, NULL));
  PetscCall(VecSet(v, d));
  PetscCall(MatDiagonalScale(A, v, v));
  return VecDestroy(&v);
}

static PetscErrorCode set_options(PC pc, const char options[])
{
  PetscCall(PetscOptionsClear(NULL));
  PetscCall(PetscOptionsInsertString(NULL, MATRIX_OPTIONS));
  PetscCall(PetscOptionsInsertString(NULL, options));
  return PCSetFromOptions(pc);
}
)";

static const char applying[] = R"(
static PetscErrorCode set_up(PC pc, Vec b, Vec x) { return PCSetUp(pc); }

static PetscErrorCode columns(PC pc, Mat F, Vec b, Vec x, PetscErrorCode (*solve)(Mat, Mat, Mat))
{
  Mat B, X;
  Vec v;
  PetscInt n;
  PetscCall(VecGetSize(b, &n));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, n, 3, NULL, &B));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, n, 3, NULL, &X));
  for (int k = 0; k < 3; k++) {
    PetscCall(MatDenseGetColumnVecWrite(B, k, &v));
    PetscCall(VecAXPBY(v, k + 1, 0, b));
    PetscCall(MatDenseRestoreColumnVecWrite(B, k, &v));
  }
  PetscCall(solve ? solve(F, B, X) : PCMatApply(pc, B, X));
  PetscCall(VecSet(x, 0));
  for (int k = 0; k < 3; k++) {
    PetscCall(MatDenseGetColumnVecRead(X, k, &v));
    PetscCall(VecAXPY(x, k + 1, v));
    PetscCall(MatDenseRestoreColumnVecRead(X, k, &v));
  }
  PetscCall(MatDestroy(&B));
  return MatDestroy(&X);
}

static PetscErrorCode mat_apply(PC pc, Vec b, Vec x) { return columns(pc, NULL, b, x, NULL); }

static PetscErrorCode with_factor(PC pc, Vec b, Vec x, PetscErrorCode (*solve)(Mat, Mat, Mat))
{
  Mat F;
  PCFailedReason reason;
  PetscCall(PCSetUp(pc));
  PetscCall(PCGetFailedReason(pc, &reason));
  if (reason) return 0;
  PetscCall(PCFactorGetMatrix(pc, &F));
  return columns(pc, F, b, x, solve);
}

static PetscErrorCode mat_mat_solve(PC pc, Vec b, Vec x) { return with_factor(pc, b, x, MatMatSolve); }
static PetscErrorCode mat_mat_solve_transpose(PC pc, Vec b, Vec x)
{
  return with_factor(pc, b, x, MatMatSolveTranspose);
}

static PetscErrorCode richardson(PC pc, Vec b, Vec x)
{
  Vec w;
  PetscInt its;
  PCRichardsonConvergedReason reason;
  PetscCall(PCSetUp(pc));
  PetscCall(VecDuplicate(b, &w));
  PetscCall(PCApplyRichardson(pc, b, x, w, 0.0, 0.0, 0.0, 2, PETSC_TRUE, &its, &reason));
  return VecDestroy(&w);
}
)";

static const char comparing[] = R"(
/* Uses the PC, and one made afresh on K, which first sees O, and prints how they differ. */
static PetscErrorCode compare(const char name[], PetscErrorCode (*use)(PC, Vec, Vec), int seed, PC pc, Mat K, Mat O,
                              const char type[], const char options[], PetscBool errors)
{
  PC fresh;
  Vec b, x, y;
  PetscInt n;
  PetscReal difference, norm;
  PCFailedReason reason[2];
  PetscErrorCode code[2];
  PetscCall(MatGetSize(K, &n, NULL));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, n, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &y));
  for (PetscInt i = 0; i < n; i++) PetscCall(VecSetValue(b, i, sin(1.0 + (double)i * (1 + seed)), INSERT_VALUES));
  PetscCall(VecAssemblyBegin(b));
  PetscCall(VecAssemblyEnd(b));
  PetscCall(PCCreate(PETSC_COMM_SELF, &fresh));
  PetscCall(set_operators(fresh, O ? O : K));
  PetscCall(PCSetType(fresh, type));
  PetscCall(PCSetErrorIfFailure(fresh, errors));
  PetscCall(set_options(fresh, options));
  PetscCall(PetscPushErrorHandler(PetscIgnoreErrorHandler, NULL));
  if (O) (void)PCSetUp(fresh);
  if (O) (void)set_operators(fresh, K);
  code[0] = use(fresh, b, y);
  code[1] = use(pc, b, x);
  PetscCall(PetscPopErrorHandler());
  PetscCall(PCGetFailedReason(fresh, &reason[0]));
  PetscCall(PCGetFailedReason(pc, &reason[1]));
  PetscCall(VecNorm(y, NORM_INFINITY, &norm));
  PetscCall(VecAXPY(x, -1.0, y));
  PetscCall(VecNorm(x, NORM_INFINITY, &difference));
  printf("%s: errors %d and %d, reasons %d and %d, differs by %g from a result of norm %g\n", name, (int)code[1],
         (int)code[0], (int)reason[1], (int)reason[0], (double)difference, (double)norm);
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  return PCDestroy(&fresh);
}

int main(int argc, char **argv)
{
  Mat A = NULL, B = NULL, T = NULL, F = NULL, other = NULL, frozen = NULL, ordered = NULL, held = NULL;
  PC pc;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCSyncFreeRegister());
  PetscCall(PetscOptionsInsertString(NULL, MATRIX_OPTIONS));
  (void)T, (void)F, (void)held, (void)ordered;
)";

static const char end[] = R"(  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&other));
  PetscCall(MatDestroy(&frozen));
  PetscCall(MatDestroy(&ordered));
  PetscCall(MatDestroy(&held));
  return PetscFinalize();
}
)";

static std::string program_of(const SequenceCase& kind, const Sequence& sequence, const std::string& calls)
{
  std::string first = beginning;
  first.replace(first.find("%s"), 2,
                "SYNCFREE_SEED=" + std::to_string(sequence.seed) + " SYNCFREE_SEQUENCES=1, " + kind.name);
  const std::string where = std::string("#define ON_DEVICE ") + (kind.device_matrix ? "1\n" : "0\n") +
                            "#define BLOCK_SIZE " + text(kind.block_size) + "\n#define BAIJ " +
                            (kind.baij ? "1\n" : "0\n") +
                            "#define MATRIX_OPTIONS \"" + (kind.sweeps() ? "" : "-mat_no_inode") + "\"\n";
  first.insert(first.find("#define FINAL"), where);
  return first + applying + comparing + calls + end;
}

/* ---- sequences ---- */

static std::size_t random_kind(Random* random)
{
  int sum = 0;
  for (const auto& operation : operations()) sum += operation.weight;
  PetscInt place = random->integer(sum);
  std::size_t kind = 0;
  while (place >= operations()[kind].weight) place -= operations()[kind++].weight;
  return kind;
}

Sequence random_sequence(unsigned long long seed)
{
  Random random(seed + 7919);
  Sequence sequence;
  sequence.seed = seed;
  sequence.most_rows = random.integer(4) ? 24 : 5;
  for (PetscInt k = 4 + random.integer(12); k > 0; --k)
    sequence.operations.push_back({random_kind(&random), (unsigned)random.integer(1000000)});
  sequence.operations.push_back({0, 1});
  return sequence;
}

std::string run(const SequenceCase& kind, const Sequence& sequence, std::string* program)
{
  Walk walk(kind);
  std::string failure;
  try {
    walk.start(sequence);
    for (const Operation& operation : sequence.operations) {
      Random random(operation.seed);
      operations()[operation.kind].run(&walk, &random);
      failure = walk.failure();
      if (!failure.empty()) break;
    }
  } catch (const std::exception& error) {
    failure = std::string("a call failed: ") + error.what();
  }
  if (program) *program = program_of(kind, sequence, walk.listing());
  return failure;
}

/* Tries to leave out `length` operations at each place; returns true if the sequence became shorter. */
static bool shorten(const SequenceCase& kind, Sequence* sequence, std::size_t length)
{
  bool shorter = false;
  for (std::size_t first = 0; first < sequence->operations.size();) {
    Sequence less = *sequence;
    const auto begin = less.operations.begin() + (long)first;
    less.operations.erase(begin, begin + (long)std::min(length, less.operations.size() - first));
    if (run(kind, less).empty()) first += length;
    else {
      *sequence = less;
      shorter = true;
    }
  }
  return shorter;
}

Sequence shrink(const SequenceCase& kind, Sequence sequence)
{
  for (std::size_t length = sequence.operations.size(); length > 0;)
    if (!shorten(kind, &sequence, length)) length /= 2;
  for (PetscInt most : {2, 3, 4, 6, 9, 14}) {
    Sequence smaller = sequence;
    smaller.most_rows = std::min(most, sequence.most_rows);
    if (run(kind, smaller).empty()) continue;
    sequence = smaller;
    break;
  }
  Sequence plain = sequence;
  plain.plain = true;
  if (!run(kind, plain).empty()) sequence = plain;
  while (shorten(kind, &sequence, 1)) {
  }
  return sequence;
}
