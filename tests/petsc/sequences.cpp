/* Implements the class Walk of sequences.hpp. */

#include "sequences.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "syncfree/strategy.hpp"

namespace {

std::string quoted(const std::string& word) { return "\"" + word + "\""; }

std::string flag(bool value) { return value ? "PETSC_TRUE" : "PETSC_FALSE"; }

/* Returns a right-hand side, which the program in C can make, too. */
Numbers right_hand_side(PetscInt n, unsigned seed)
{
  Numbers b((std::size_t)n);
  for (PetscInt i = 0; i < n; ++i) b[(std::size_t)i] = (PetscReal)std::sin(1.0 + (double)i * (1 + seed % 7));
  return b;
}

/* Returns the lines that describe our factor or sweeps, without what follows from the past: the fill that was given,
   memory for transposes, and on a device whether the last vectors were in host memory, and memory for copies of such
   vectors and for several columns, which counts as the plan's. */
std::string our_lines(const std::string& view)
{
  const std::string of_the_past = contains(view, "syncfree backend: cuda") ? " MB, plan" : " MB, transposes";
  std::istringstream text(view);
  std::string line, ours;
  while (std::getline(text, line)) {
    const std::size_t needed = line.find("needed"), copied = line.find(" (data copied");
    if (needed != std::string::npos) ours += line.substr(needed) + "\n";
    else if (contains(line, "syncfree")) ours += line.substr(0, std::min(line.find(of_the_past), copied)) + "\n";
  }
  return ours;
}

enum class Agreement { bitwise, by_component, by_norm };

/* On several threads `auto` may fall back to one, and trials depend on times. */
Agreement agreement_of(const Requested& request, bool device_matrix)
{
  const std::string& name = request.strategy;
  if (name == "merged" || name == "cusparse" || (name == "auto" && device_matrix)) return Agreement::by_norm;
  if (name == "auto") return request.threads == 1 && !request.trials ? Agreement::bitwise : Agreement::by_component;
  const syncfree::StrategyInfo* info = device_matrix ? syncfree::find_strategy(name, "cuda") : nullptr;
  if (!info) info = syncfree::find_strategy(name);
  return info->reproducible ? Agreement::bitwise : Agreement::by_component;
}

/* Returns the message of an error without the functions that it passed. */
std::string message(const Refusal& refusal) { return refusal.text.substr(0, refusal.text.find(" [")); }

double norm(const Numbers& x)
{
  double most = 0;
  for (const PetscScalar& v : x) most = std::max(most, magnitude(v));
  return most;
}

bool is_finite(const Numbers& x)
{
  return std::all_of(x.begin(), x.end(), [](const PetscScalar& v) { return std::isfinite(magnitude(v)); });
}

bool same_bits(const Numbers& a, const Numbers& b)
{
  return a.size() == b.size() && (a.empty() || !std::memcmp(a.data(), b.data(), a.size() * sizeof(PetscScalar)));
}

/* 1e-12 in double precision, more where the factor enlarges its right-hand side of norm one. */
bool are_near(Agreement agreement, const Numbers& a, const Numbers& b)
{
  const double size = norm(a), tolerance = 4500 * eps * std::max(1.0, size);
  if (a.size() != b.size() || !is_finite(a) || !is_finite(b))
    return a.size() == b.size() && is_finite(a) == is_finite(b);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double scale = agreement == Agreement::by_norm ? size : magnitude(a[i]) + 0.01 * size;
    if (!(magnitude(a[i] - b[i]) <= tolerance * scale)) return false;
  }
  return true;
}

PetscErrorCode set_up_only(PC pc, Vec, Vec) { return PCSetUp(pc); }

/* Sweeps are prepared when they are applied. */
Application preparation(const SequenceCase& kind)
{
  return kind.sweeps() ? Application{"PCApply", PCApply} : Application{"set_up", set_up_only};
}

}  // namespace

/* PETSc's orderings of a matrix with inodes differ from those of its copy. */
Walk::Walk(const SequenceCase& which) : kind(which), matrix_options_(which.sweeps() ? "" : "-mat_no_inode") {}

void Walk::call(const std::string& listed, PetscErrorCode code)
{
  list("PetscCall(" + listed + ");");
  ok(code);
}

void Walk::fail(const std::string& text)
{
  if (failure_.empty()) failure_ = text;
}

PetscInt Walk::random_size(Random* random) const
{
  const PetscInt size = random->integer(40) == 0 ? 0 : 1 + random->integer(most_rows_), rest = size % kind.block_size;
  if (kind.baij) return rest == 0 ? size : size - rest + kind.block_size;
  return random->integer(8) == 0 ? size : size - rest;
}

/* Adds zeros where blocks have no entry. */
static Triples fill_blocks(Triples A, PetscInt block_size)
{
  const std::size_t count = A.row.size();
  for (std::size_t k = 0; k < count; ++k)
    for (PetscInt r = 0; r < block_size; ++r)
      for (PetscInt c = 0; c < block_size; ++c)
        A.add(A.row[k] / block_size * block_size + r, A.column[k] / block_size * block_size + c, 0.0);
  return A;
}

PetscErrorCode set_operators(const SequenceCase& kind, PC pc, Mat P)
{
  if (!kind.baij || !kind.device_matrix) return PCSetOperators(pc, P, P);
  MatOwner A;
  ok(MatConvert(P, MATSEQAIJ, MAT_INITIAL_MATRIX, A.out()));
  ok(MatConvert(A, MATSEQAIJCUSPARSE, MAT_INPLACE_MATRIX, A.out()));
  return PCSetOperators(pc, A, P);
}

MatOwner Walk::make(const Triples& some, const char* variable)
{
  MatOwner B;
  const bool of_blocks = !kind.baij && kind.block_size > 1 && some.n % kind.block_size == 0;
  const Triples entries = of_blocks && some.row.size() % 5 != 0 ? fill_blocks(some, kind.block_size) : some;
  list("PetscCall(make(" + text(entries.n) + ", " + text((PetscInt)entries.row.size()) + ", " + text(entries.row) +
       ", " + text(entries.column) + ", " + text(entries.value) + ", &" + variable + "));");
  ok(kind.baij ? MatCreateSeqBAIJ(PETSC_COMM_SELF, kind.block_size, entries.n, entries.n, 4, nullptr, B.out())
               : MatCreateSeqAIJ(PETSC_COMM_SELF, entries.n, entries.n, 4, nullptr, B.out()));
  if (of_blocks) ok(MatSetBlockSize(B, kind.block_size));
  ok(MatSetOption(B, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (std::size_t k = 0; k < entries.row.size(); ++k)
    ok(MatSetValue(B, entries.row[k], entries.column[k], entries.value[k], ADD_VALUES));
  ok(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  ok(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  if (kind.device_matrix && !kind.baij) ok(MatConvert(B, MATSEQAIJCUSPARSE, MAT_INPLACE_MATRIX, B.out()));
  return B;
}

void Walk::start(const Sequence& sequence)
{
  Random random(sequence.seed);
  most_rows_ = sequence.most_rows;
  A = make(random_triples(random_size(&random), &random, true), "A");
  call("PCCreate(PETSC_COMM_SELF, &pc)", PCCreate(PETSC_COMM_SELF, pc.out()));
  set_operators();
  call("PCSetType(pc, " + quoted(kind.type) + ")", PCSetType(pc, kind.type));
  if (!sequence.plain) requested = random_request(kind, &random);
  else if (kind.icc()) requested.shift = MAT_SHIFT_POSITIVE_DEFINITE;
  set_flags();
  set_options();
}

void Walk::set_options()
{
  const Options options(requested.text(kind));
  list("PetscCall(set_options(pc, " + quoted(requested.text(kind)) + "));");
  ok(PCSetFromOptions(pc));
}

/* Those that options can only turn on, or that are none. */
void Walk::set_flags()
{
  const Requested& r = requested;
  call("PCSetErrorIfFailure(pc, " + flag(r.errors) + ")", PCSetErrorIfFailure(pc, (PetscBool)r.errors));
  if (kind.sweeps()) return;
  call("PCFactorSetReuseOrdering(pc, " + flag(r.reuse_ordering) + ")",
       PCFactorSetReuseOrdering(pc, (PetscBool)r.reuse_ordering));
  call("PCFactorSetReuseFill(pc, " + flag(r.reuse_fill) + ")", PCFactorSetReuseFill(pc, (PetscBool)r.reuse_fill));
  if (!kind.icc())
    call("PCFactorSetAllowDiagonalFill(pc, " + flag(r.diagonal_fill) + ")",
         PCFactorSetAllowDiagonalFill(pc, (PetscBool)r.diagonal_fill));
}

/* PETSc requires PCReset() before another size. */
void Walk::give(MatOwner B, bool keep)
{
  if (rows(A) != rows(B)) {
    call("PCReset(pc)", PCReset(pc));
    set_up_ = false;
  }
  call("set_operators(pc, B)", ::set_operators(kind, pc, B));
  list(keep ? "T = other; other = A; A = B; B = NULL; PetscCall(MatDestroy(&T));"
            : "PetscCall(MatDestroy(&A)); A = B; B = NULL;");
  if (keep) other = std::move(A);
  A = std::move(B);
}

void Walk::set_operators() { call("set_operators(pc, A)", ::set_operators(kind, pc, A)); }

void Walk::reset()
{
  call("PCReset(pc)", PCReset(pc));
  set_operators();
  set_up_ = false;
}

/* A factor of another size cannot be kept; and PETSc tells only in a set-up that failures are errors. */
void Walk::reuse(bool on)
{
  if (on && ((frozen_ && rows(frozen_) != rows(A)) || (kind.sweeps() && requested.errors))) return;
  call("PCSetReusePreconditioner(pc, " + flag(on) + ")", PCSetReusePreconditioner(pc, (PetscBool)on));
  reuse_ = on;
}

void Walk::request_anew(const Requested& now)
{
  requested = now;
  if (kind.sweeps() && reuse_) requested.errors = false;
  reset();
  set_flags();
  set_options();
}

/* Our PC types analyse anew where one of their options changes, and PETSc's where the levels do. A new shift is read
   when there are new numbers. The package reads its options in the symbolic factorization. */
void Walk::request(const Requested& now, bool by_setters)
{
  const Requested last = requested;
  Requested shifted = last;
  shifted.shift = now.shift;
  requested = now;
  if (last.text(kind) == now.text(kind)) return;
  Requested levels = shifted;
  levels.levels = now.levels;
  if (kind.package && levels.text(kind) != now.text(kind)) return request_anew(now);
  if (by_setters || kind.package) set_each(last);
  else {
    if (!kind.sweeps()) set_levels(); /* PCSetFromOptions() leaves the old factor */
    set_options();
  }
  if (shifted.text(kind) != now.text(kind)) set_up_ = false;
  if (kind.sweeps() || last.shift == now.shift) return;
  write_array({}); /* the same numbers count as new */
}

/* PETSc notes new values of AIJ by itself, those of BAIJ when it is assembled. */
void Walk::write_array(const Numbers& values)
{
  PetscScalar* array;
  list("PetscCall(write_array(A, " + text((PetscInt)values.size()) + ", " + text(values) + "));");
  ok(kind.baij ? MatSeqBAIJGetArray(A, &array) : MatSeqAIJGetArray(A, &array));
  std::copy(values.begin(), values.end(), array);
  ok(kind.baij ? MatSeqBAIJRestoreArray(A, &array) : MatSeqAIJRestoreArray(A, &array));
  if (!kind.baij) return;
  ok(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  ok(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
}

void Walk::set_levels()
{
  call("PCFactorSetLevels(pc, " + text(requested.levels) + ")", PCFactorSetLevels(pc, requested.levels));
}

void Walk::set_each(const Requested& last)
{
  const Requested& r = requested;
  if (!kind.package) {
    call("PCSyncFreeSetStrategy(pc, " + quoted(r.strategy) + ")", PCSyncFreeSetStrategy(pc, r.strategy.c_str()));
    call("PCSyncFreeSetThreads(pc, " + text(r.threads) + ")", PCSyncFreeSetThreads(pc, r.threads));
    call("PCSyncFreeSetBackend(pc, " + quoted(r.backend) + ")", PCSyncFreeSetBackend(pc, r.backend.c_str()));
    const auto precision = r.single ? PC_SYNCFREE_PRECISION_SINGLE : PC_SYNCFREE_PRECISION_SCALAR;
    call("PCSyncFreeSetFactorPrecision(pc, (PCSyncFreePrecisionType)" + text((PetscInt)precision) + ")",
         PCSyncFreeSetFactorPrecision(pc, precision));
  }
  if (kind.sweeps()) {
    const auto sweep = r.direction == "symmetric" ? SOR_SYMMETRIC_SWEEP
                       : r.direction == "forward" ? SOR_FORWARD_SWEEP
                                                  : SOR_BACKWARD_SWEEP;
    call("PCSORSetOmega(pc, " + std::to_string(r.omega) + ")", PCSORSetOmega(pc, (PetscReal)r.omega));
    call("PCSORSetIterations(pc, " + text(r.sweeps) + ", 1)", PCSORSetIterations(pc, r.sweeps, 1));
    call("PCSORSetSymmetric(pc, (MatSORType)" + text((PetscInt)sweep) + ")", PCSORSetSymmetric(pc, sweep));
  } else {
    set_levels();
    call("PCFactorSetShiftType(pc, (MatFactorShiftType)" + text((PetscInt)r.shift) + ")",
         PCFactorSetShiftType(pc, r.shift));
  }
  Requested set = last; /* the others are options only */
  set.strategy = r.strategy, set.threads = r.threads, set.backend = r.backend, set.single = r.single;
  set.omega = r.omega, set.sweeps = r.sweeps, set.direction = r.direction, set.levels = r.levels, set.shift = r.shift;
  if (set.text(kind) != r.text(kind)) set_options();
}

/* Notes which matrix and which options the next application is for. */
void Walk::freeze()
{
  if (frozen_ && rows(frozen_) != rows(A)) set_up_ = false;
  if (holds()) return;
  const bool orders = requested.reuse_ordering && requested.ordering != MATORDERINGNATURAL;
  if (!orders || !set_up_) ordered_ = MatOwner();
  frozen_ = MatOwner();
  in_force_ = requested;
  call("keep(A, &frozen)", MatDuplicate(A, MAT_COPY_VALUES, frozen_.out()));
  if (orders && !ordered_) call("keep(A, &ordered)", MatDuplicate(A, MAT_COPY_VALUES, ordered_.out()));
}

/* A PC that keeps its ordering is first set up with the matrix that this belongs to. */
PCOwner Walk::make_afresh() const
{
  PCOwner fresh;
  ok(PCCreate(PETSC_COMM_SELF, fresh.out()));
  const Mat first = ordered_ ? ordered_ : frozen_;
  ok(::set_operators(kind, fresh, first));
  ok(PCSetType(fresh, kind.type));
  ok(PCSetErrorIfFailure(fresh, (PetscBool)in_force_.errors));
  ok(PCSetFromOptions(fresh));
  if (first == frozen_) return fresh;
  (void)refused([&] { return PCSetUp(fresh); });
  ok(::set_operators(kind, fresh, frozen_));
  return fresh;
}

/* Asks another new PC: after a failure ours begin anew, also with their ordering, which they would have kept. */
bool Walk::can_be_set_up() const
{
  const PCOwner fresh = make_afresh();
  return refused([&] { return PCSetUp(fresh); }).code == 0;
}

Walk::Result Walk::result_of(PC used, const Application& application, unsigned seed) const
{
  Result result;
  VecOwner b = make_vector(right_hand_side(rows(frozen_), seed)), x = make_vector(rows(frozen_));
  result.refusal = refused([&] { return application.use(used, b, x); });
  if (result.refusal.code) return result;
  ok(PCGetFailedReason(used, &result.reason));
  result.x = entries(x);
  if (result.reason == PC_NOERROR || kind.sweeps()) return result;
  Mat F;
  PetscReal value;
  ok(PCFactorGetMatrix(used, &F));
  ok(MatFactorGetErrorZeroPivot(F, &value, &result.row));
  return result;
}

void Walk::compare(const Application& application, unsigned seed)
{
  freeze();
  const Options options(in_force_.text(kind));
  list(std::string("PetscCall(compare(\"") + application.name + "\", " + application.name + ", " +
       text((PetscInt)(seed % 7)) + ", pc, frozen, " + (ordered_ ? "ordered" : "NULL") + ", " + quoted(kind.type) +
       ", " + quoted(in_force_.text(kind)) + ", " + flag(in_force_.errors) + "));");
  const PCOwner fresh = make_afresh();
  const Result expected = result_of(fresh, application, seed), found = result_of(pc, application, seed);
  judge(application.name, expected, found);
  set_up_ = !expected.refusal.code || can_be_set_up();
  look_after_factor(found);
  if (kind.package && (!set_up_ || found.reason)) reset(); /* PETSc's types stay failed until then */
}

void Walk::judge(const char* name, const Result& expected, const Result& found)
{
  const std::string where = std::string(name) + ": ";
  if (expected.refusal.code != found.refusal.code || message(expected.refusal) != message(found.refusal))
    return fail(where + "error " + std::to_string(found.refusal.code) + " (" + message(found.refusal) +
                "), a new PC: " + std::to_string(expected.refusal.code) + " (" + message(expected.refusal) + ")");
  if (expected.reason != found.reason || expected.row != found.row)
    return fail(where + "failed reason " + PCFailedReasons[found.reason] + " in row " + text(found.row) +
                ", a new PC: " + PCFailedReasons[expected.reason] + " in row " + text(expected.row));
  if (!expected.refusal.code && expected.reason == PC_NOERROR) expect_same(name, in_force_, expected.x, found.x);
}

void Walk::expect_same(const std::string& name, const Requested& request, const Numbers& expected, const Numbers& found)
{
  const Agreement agreement = agreement_of(request, kind.device_matrix);
  if (agreement == Agreement::bitwise ? same_bits(expected, found) : are_near(agreement, expected, found)) return;
  Numbers difference = found;
  for (std::size_t i = 0; i < found.size(); ++i) difference[i] -= expected[i];
  std::ostringstream text;
  text << name << ": differs by " << norm(difference) << " from a result of norm " << norm(expected)
       << " with strategy " << request.strategy;
  fail(text.str());
}

void Walk::compare_views()
{
  compare(preparation(kind), 0);
  list("PetscCall(PCView(pc, PETSC_VIEWER_STDOUT_SELF));");
  const std::string found = our_lines(view(pc));
  const Options options(in_force_.text(kind));
  const PCOwner fresh = make_afresh();
  if (!set_up_ || refused([&] { return PCSetUp(fresh); }).code || kind.sweeps()) return;
  const std::string expected = our_lines(view(fresh));
  if (agreement_of(in_force_, kind.device_matrix) == Agreement::bitwise && expected != found)
    fail("PCView:\n" + found + "a new PC:\n" + expected);
}

/* Holds a reference to the factored matrix, which must keep its numbers when the PC has made another one. */
void Walk::hold_factor()
{
  Mat F;
  compare(preparation(kind), 0);
  if (kind.sweeps() || !set_up_) return;
  call("PCFactorGetMatrix(pc, &F)", PCFactorGetMatrix(pc, &F));
  call("hold(F, &held)", PetscObjectReference((PetscObject)F));
  factor_ = MatOwner(F);
  factor_request_ = in_force_;
  solution_.clear();
  PCFailedReason reason;
  ok(PCGetFailedReason(pc, &reason));
  look_after_factor({Refusal(), reason, -1, {}});
}

void Walk::look_after_factor(const Result& last)
{
  if (!factor_) return;
  Mat F = nullptr;
  (void)refused([&] { return PCFactorGetMatrix(pc, &F); });
  if (last.refusal.code || (F == factor_ && last.reason != PC_NOERROR)) {
    factor_ = MatOwner();
    return;
  }
  VecOwner b = make_vector(right_hand_side(rows(factor_), 1)), x = make_vector(rows(factor_));
  ok(MatSolve(factor_, b, x));
  if (F == factor_) solution_ = entries(x);
  else expect_same("MatSolve with a factor that was kept", factor_request_, solution_, entries(x));
}
