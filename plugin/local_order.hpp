#pragma once

/* Orderings that are given as index sets, as arrays of local indices. */

#include "factor_impl.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace syncfree_plugin {

/* Tests whether indices ascend by one; what an IS stores about that may be stale (MatReorderForNonzeroDiagonal()). */
inline bool IsRun(const PetscInt *index, PetscInt n)
{
  const PetscInt first   = index[0];
  PetscInt       differs = 0;
  for (PetscInt i = 0; i < n; i++) differs |= (index[i] - i) ^ first;
  return differs == 0;
}

/* An ordering of `is` in local indices; `order` is NULL for the identity. */
struct LocalOrder {
  IS                 is       = nullptr;
  const PetscInt    *borrowed = nullptr; /* from `is` */
  const Index       *order    = nullptr;
  std::vector<Index> copied; /* unless the order is what was borrowed */
};

/* Gets an ordering. PETSc's orderings of parallel matrices hold global indices of the process's own rows. */
inline PetscErrorCode BorrowOrder(IS is, PetscInt n, LocalOrder *local)
{
  PetscInt size;

  PetscFunctionBegin;
  if (!is || n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ISGetLocalSize(is, &size));
  PetscCheck(size == n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "Ordering has %" PetscInt_FMT " entries, but the matrix has %" PetscInt_FMT " local rows", size, n);
  PetscCall(ISGetIndices(is, &local->borrowed));
  local->is = is;
  if (IsRun(local->borrowed, n)) PetscFunctionReturn(PETSC_SUCCESS);
  local->order         = reinterpret_cast<const Index *>(local->borrowed);
  const PetscInt first = *std::min_element(local->borrowed, local->borrowed + n);
  if (first == 0) PetscFunctionReturn(PETSC_SUCCESS);
  local->copied.resize(n);
  for (PetscInt i = 0; i < n; i++) local->copied[i] = (Index)(local->borrowed[i] - first);
  local->order = local->copied.data();
  PetscFunctionReturn(PETSC_SUCCESS);
}

inline PetscErrorCode ReturnOrder(LocalOrder *local)
{
  PetscFunctionBegin;
  if (local->borrowed) PetscCall(ISRestoreIndices(local->is, &local->borrowed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fills in the identity where only one of the two orderings is the identity: the core requires both or none. */
inline void CompleteOrders(PetscInt n, LocalOrder *row, LocalOrder *column)
{
  if (!row->order == !column->order) return;
  LocalOrder *missing = row->order ? column : row;
  missing->copied.resize(n);
  std::iota(missing->copied.begin(), missing->copied.end(), (Index)0);
  missing->order = missing->copied.data();
}

/* Calls use(orders) with the orders of two index sets. Equal ones, the usual case, are the same array. */
template <class Use> PetscErrorCode WithOrders(IS row, IS column, PetscInt n, Use &&use)
{
  LocalOrder     rows, columns;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = Guard([&]() -> PetscErrorCode {
    PetscFunctionBegin;
    PetscCall(BorrowOrder(row, n, &rows));
    if (column != row) PetscCall(BorrowOrder(column, n, &columns));
    if (column != row) CompleteOrders(n, &rows, &columns);
    const bool equal = column == row || (rows.order && std::equal(rows.order, rows.order + n, columns.order));
    PetscCall(use(Orders{rows.order, equal ? rows.order : columns.order}));
    PetscFunctionReturn(PETSC_SUCCESS);
  });
  PetscCall(ReturnOrder(&rows));
  PetscCall(ReturnOrder(&columns));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace syncfree_plugin
