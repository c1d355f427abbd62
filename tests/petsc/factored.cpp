/* Implements factored.hpp. */

#include "factored.hpp"

const std::vector<MatFactorShiftType> shifts = {MAT_SHIFT_NONE, MAT_SHIFT_NONZERO, MAT_SHIFT_POSITIVE_DEFINITE,
                                                MAT_SHIFT_INBLOCKS};
const std::vector<const char*> orderings = {MATORDERINGNATURAL, MATORDERINGRCM, MATORDERINGND, MATORDERINGQMD,
                                            MATORDERING1WD};

std::string Request::text() const
{
  return std::string(icc ? "ICC(" : "ILU(") + std::to_string((long long)levels) + "), shift " +
         MatFactorShiftTypes[shift] + ", ordering " + ordering + (diagonal_fill ? ", diagonal fill" : "");
}

Mat Factored::matrix() const
{
  Mat F;
  ok(PCFactorGetMatrix(pc, &F));
  return F;
}

PetscErrorCode apply_request(PC pc, const Request& request)
{
  PetscFunctionBeginUser;
  PetscCall(PCFactorSetShiftType(pc, request.shift));
  PetscCall(PCFactorSetMatOrderingType(pc, request.ordering));
  PetscCall(PCFactorSetLevels(pc, request.levels));
  if (request.diagonal_fill) PetscCall(PCFactorSetAllowDiagonalFill(pc, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

namespace {

Factored created(Mat A, PCType type, const Request& request)
{
  Factored s;
  ok(PCCreate(PETSC_COMM_SELF, s.pc.out()));
  ok(PCSetOperators(s.pc, A, A));
  ok(PCSetType(s.pc, type));
  ok(apply_request(s.pc, request));
  return s;
}

void finish(Factored& s)
{
  s.refusal = refused([&] { return PCSetUp(s.pc); });
  if (s.refusal.code == 0) ok(PCGetFailedReason(s.pc, &s.reason));
}

}  // namespace

/*
  PETSc 3.26.1 ends in a segmentation fault if a matrix with inodes is factored in another ordering with the shift
  positive_definite: MatLUFactorNumeric_SeqAIJ_Inode() reads the positions of the diagonal from a field that is not
  set. MatGetDiagonal() sets it.
*/
Factored set_up_petsc(Mat A, const Request& request)
{
  Factored s = created(A, request.icc ? PCICC : PCILU, request);
  VecOwner diagonal = make_vector(rows(A));
  ok(MatGetDiagonal(A, diagonal));
  finish(s);
  return s;
}

Factored set_up_ours(Mat A, const Request& request, const std::string& strategy, PetscInt threads,
                     PCSyncFreePrecisionType storage)
{
  Factored s = created(A, request.icc ? PCSYNCFREEICC : PCSYNCFREEILU, request);
  s.ours = true;
  {
    const Options by_entries("-pc_syncfree_block_size 1"); /* the default may take dense blocks */
    ok(PCSetFromOptions(s.pc));
  }
  ok(PCSyncFreeSetStrategy(s.pc, strategy.c_str()));
  ok(PCSyncFreeSetThreads(s.pc, threads));
  ok(PCSyncFreeSetFactorPrecision(s.pc, storage));
  finish(s);
  if (has_no_plan(strategy, s.refusal)) {
    ok(PCSyncFreeSetStrategy(s.pc, "auto")); /* as the message recommends */
    finish(s);
  }
  return s;
}

Pair read_factors(const Factored& petsc, const Factored& ours, const Request& request)
{
  Pair pair;
  pair.ours = read_ours(ours.matrix());
  pair.petsc = request.icc ? read_petsc_icc(petsc.matrix(), pair.ours) : read_petsc_ilu(petsc.matrix());
  bound_errors(pair.petsc);
  return pair;
}

Order order_of(Mat A, const Request& request)
{
  ISOwner row, column;
  const PetscInt* index;
  const PetscInt n = rows(A);
  Order order;
  ok(MatGetOrdering(A, request.ordering, row.out(), column.out()));
  ok(ISGetIndices(row, &index));
  order.row.assign(index, index + n);
  ok(ISRestoreIndices(row, &index));
  ok(ISGetIndices(column, &index));
  order.column.assign(index, index + n);
  ok(ISRestoreIndices(column, &index));
  return order;
}

Bounded expected_apply(const Factor& f, const Order& order, const Numbers& b)
{
  return scatter(solve_upper(f, solve_lower(f, gather(Bounded(b), order.row))), order.column);
}

Bounded expected_transpose(const Factor& f, const Order& order, const Numbers& b)
{
  return scatter(solve_lower_transposed(f, solve_upper_transposed(f, gather(Bounded(b), order.column))), order.row);
}

/* ICC: D^(-1/2) U^-T P b; ILU: L^-1 P b; both stay in the factor's numbering, which the right half expects */
Bounded expected_left(const Factor& f, const Order& order, bool icc, const Numbers& b)
{
  const Bounded y = solve_lower(f, gather(Bounded(b), order.row));
  return icc ? times_root_of_pivots(f, y, true) : y;
}

Bounded expected_right(const Factor& f, const Order& order, bool icc, const Numbers& b)
{
  const Bounded y = icc ? times_root_of_pivots(f, Bounded(b), false) : Bounded(b);
  return scatter(solve_upper(f, y), order.column);
}

Numbers applied(const Factored& s, VectorOperation operation, const Numbers& b)
{
  VecOwner x = make_vector(b), y = make_vector((PetscInt)b.size());
  ok(VecSet(y, 77.0));
  ok(operation(s.pc, x, y));
  EXPECT_EQ(b, entries(x)) << "the right-hand side was changed";
  return entries(y);
}

namespace {

testing::AssertionResult judged(const Difference& difference)
{
  if (difference.where.empty() && difference.worst <= 1) return testing::AssertionSuccess();
  return testing::AssertionFailure() << difference.where << "worst difference is " << difference.worst
                                     << " of its rounding bound, " << difference.vacuous << " of " << difference.entries
                                     << " entries have no useful bound";
}

}  // namespace

testing::AssertionResult agrees(const Bounded& reference, const Numbers& x) { return judged(compare(reference, x)); }
testing::AssertionResult agrees(const Factor& reference, const Factor& x) { return judged(compare(reference, x)); }
