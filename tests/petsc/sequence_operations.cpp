/* The operations that sequences are made of; see sequences.hpp. */

#include <algorithm>
#include <limits>

#include "sequences.hpp"

namespace {

PetscScalar strong(Random* random) { return (PetscReal)(10.0 + random->uniform()); }

PetscScalar weak(Random* random) { return PetscReal(0.3) * random->scalar(); }

bool chance(Random* random, PetscInt one_in) { return random->integer(one_in) == 0; }

/* ---- matrices ---- */

void add_random(Triples* A, Random* random, bool equal_lengths)
{
  const PetscInt n = A->n;
  for (PetscInt i = 0; i < n; ++i) {
    A->add(i, i, strong(random));
    for (PetscInt k = 0; k < 2 && n > 2; ++k) {
      const PetscInt row = equal_lengths ? i : random->integer(n),
                     offset = 1 + k * (n / 2) + random->integer(std::max((PetscInt)1, n / 2 - 1));
      A->add(row, (row + offset) % n, weak(random));
    }
  }
}

/* Adds full first rows, which transposed have other lengths. */
void add_arrow(Triples* A, Random* random)
{
  for (PetscInt i = 0; i < A->n; ++i) {
    A->add(i, i, strong(random));
    for (PetscInt j = i + 1; j < A->n && i < A->n / 4; ++j) A->add(i, j, weak(random));
  }
}

/* Adds a 5-point stencil, or a band, of which `tiled` has a plan. */
void add_grid(Triples* A, Random* random)
{
  const PetscInt width = 1 + random->integer(6);
  for (PetscInt i = 0; i < A->n; ++i) {
    A->add(i, i, strong(random));
    for (PetscInt j : {i - width, i - 1, i + 1, i + width})
      if (j >= 0 && j < A->n && (std::abs((int)(j - i)) != 1 || std::min(i, j) % width != width - 1))
        A->add(i, j, -1.0);
  }
}

/* Adds inodes of two or three rows. */
void add_nodes(Triples* A, Random* random)
{
  const PetscInt size = 2 + random->integer(2), nodes = (A->n + size - 1) / size;
  for (PetscInt p = 0; p < nodes; ++p)
    for (PetscInt q : {p, random->integer(nodes)})
      for (PetscInt i = p * size; i < std::min(A->n, (p + 1) * size); ++i)
        for (PetscInt j = q * size; j < std::min(A->n, (q + 1) * size); ++j)
          A->add(i, j, i == j ? strong(random) : weak(random));
}

/* Loses a diagonal entry, has a zero there, or a diagonal of any size. */
void spoil(Triples* A, Random* random)
{
  const PetscInt row = random->integer(A->n), how = random->integer(4);
  for (std::size_t k = A->row.size(); k-- > 0;) {
    if (A->row[k] != A->column[k] || (how != 3 && A->row[k] != row)) continue;
    if (how == 0)
      A->row.erase(A->row.begin() + (long)k), A->column.erase(A->column.begin() + (long)k),
          A->value.erase(A->value.begin() + (long)k);
    else A->value[k] = how == 3 ? random->scalar() : how == 2 ? PetscScalar(-3.0) : PetscScalar(0.0);
  }
}

}  // namespace

Triples random_triples(PetscInt n, Random* random, bool sound)
{
  Triples A;
  A.n = n;
  switch (random->integer(5)) {
    case 0:
      add_arrow(&A, random);
      break;
    case 1:
      add_grid(&A, random);
      break;
    case 2:
      add_nodes(&A, random);
      break;
    default:
      add_random(&A, random, chance(random, 2));
  }
  if (!sound && n > 0 && chance(random, 5)) spoil(&A, random);
  return A;
}

namespace {

void assemble(Walk* w)
{
  w->call("MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY)", MatAssemblyBegin(w->A, MAT_FINAL_ASSEMBLY));
  w->call("MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY)", MatAssemblyEnd(w->A, MAT_FINAL_ASSEMBLY));
}

void set(Walk* w, PetscInt i, PetscInt j, PetscScalar v, InsertMode mode)
{
  const std::string position = text(i) + ", " + text(j) + ", " + text(v);
  w->call("MatSetValue(A, " + position + (mode == ADD_VALUES ? ", ADD_VALUES)" : ", INSERT_VALUES)"),
          MatSetValue(w->A, i, j, v, mode));
}

void allow_entries(Walk* w)
{
  w->call("MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_TRUE)",
          MatSetOption(w->A, MAT_NEW_NONZERO_LOCATIONS, PETSC_TRUE));
  w->call("MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE)",
          MatSetOption(w->A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
}

std::vector<PetscInt> columns_of(Mat A, PetscInt row)
{
  PetscInt length;
  const PetscInt* columns;
  ok(MatGetRow(A, row, &length, &columns, nullptr));
  const std::vector<PetscInt> copy(columns, columns + length);
  ok(MatRestoreRow(A, row, &length, &columns, nullptr));
  return copy;
}

void values_of_a_row(Walk* w, Random* random)
{
  if (rows(w->A) == 0) return;
  const PetscInt i = random->integer(rows(w->A));
  for (PetscInt j : columns_of(w->A, i)) set(w, i, j, i == j ? strong(random) : weak(random), INSERT_VALUES);
  assemble(w);
}

void new_entry(Walk* w, Random* random)
{
  if (rows(w->A) == 0) return;
  allow_entries(w);
  for (PetscInt k = 1 + random->integer(2); k > 0; --k) {
    const PetscInt i = random->integer(rows(w->A)), j = random->integer(rows(w->A));
    set(w, i, j, 0.1, ADD_VALUES);
    if (chance(random, 2) && i != j) set(w, j, i, 0.1, ADD_VALUES);
  }
  assemble(w);
}

void zero_on_the_diagonal(Walk* w, Random* random)
{
  if (rows(w->A) == 0) return;
  const PetscInt i = random->integer(rows(w->A));
  allow_entries(w);
  set(w, i, i, 0.0, INSERT_VALUES);
  assemble(w);
}

void sum(Walk* w, Random* random)
{
  const MatOwner B = w->make(random_triples(rows(w->A), random, true), "B");
  w->call("MatAXPY(A, 0.01, B, DIFFERENT_NONZERO_PATTERN)", MatAXPY(w->A, 0.01, B, DIFFERENT_NONZERO_PATTERN));
  w->call("MatDestroy(&B)", PETSC_SUCCESS);
}

void sum_with_itself(Walk* w, Random*)
{
  w->call("MatAXPY(A, 0.5, A, SAME_NONZERO_PATTERN)", MatAXPY(w->A, 0.5, w->A, SAME_NONZERO_PATTERN));
}

void transpose(Walk* w, Random*)
{
  w->call("MatTranspose(A, MAT_INPLACE_MATRIX, &A)", MatTranspose(w->A, MAT_INPLACE_MATRIX, w->A.out()));
}

/* With and without its entries, and with or without a zero left on the diagonal, which PETSc wants to be there. */
void zero_rows(Walk* w, Random* random)
{
  if (rows(w->A) == 0) return;
  const PetscInt row = random->integer(rows(w->A));
  const std::vector<PetscInt> there = columns_of(w->A, row);
  const bool diagonal_there = std::count(there.begin(), there.end(), row) > 0;
  const bool keep = diagonal_there && chance(random, 2), columns = diagonal_there && chance(random, 3);
  const PetscScalar diagonal = chance(random, 5) ? 0.0 : 9.0;
  allow_entries(w);
  w->call(std::string("MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, PETSC_") + (keep ? "TRUE)" : "FALSE)"),
          MatSetOption(w->A, MAT_KEEP_NONZERO_PATTERN, (PetscBool)keep));
  const std::string last = "(A, 1, (PetscInt[]){" + text(row) + "}, " + text(diagonal) + ", NULL, NULL)";
  if (columns) w->call("MatZeroRowsColumns" + last, MatZeroRowsColumns(w->A, 1, &row, diagonal, nullptr, nullptr));
  else w->call("MatZeroRows" + last, MatZeroRows(w->A, 1, &row, diagonal, nullptr, nullptr));
}

void replace(Walk* w, Random* random)
{
  MatOwner B = w->make(random_triples(rows(w->A), random, false), "B");
  w->call("MatHeaderReplace(A, &B)", MatHeaderReplace(w->A, B.out()));
}

/* A factored matrix of PETSc's types cannot change its size, nor can one that is kept, or one that stands for another. */
void replace_by_another_size(Walk* w, Random* random)
{
  if (w->kind.package || w->holds() || (w->kind.baij && w->kind.device_matrix)) return;
  MatOwner B = w->make(random_triples(w->random_size(random), random, false), "B");
  w->call("MatHeaderReplace(A, &B)", MatHeaderReplace(w->A, B.out()));
}

void scale(Walk* w, Random* random)
{
  const PetscScalar factor = chance(random, 2) ? 1.5 : 1e-3;
  w->call("MatScale(A, " + text(factor) + ")", MatScale(w->A, factor));
}

void scale_rows_and_columns(Walk* w, Random* random)
{
  const PetscInt n = rows(w->A);
  VecOwner d = make_vector(Numbers((std::size_t)n, PetscScalar(1.0 + random->integer(3))));
  w->call("scale_by(A, " + text(n ? entries(d)[0] : PetscScalar(1.0)) + ")", MatDiagonalScale(w->A, d, d));
}

/* Only of sweeps on the CPU: PETSc's orderings of a matrix with inodes differ from those of its copy, and on a device it
   sets the option itself. */
void use_inodes(Walk* w, Random* random)
{
  if (!w->kind.sweeps() || w->kind.device_matrix) return;
  const bool use = chance(random, 2);
  w->call(std::string("MatSetOption(A, MAT_USE_INODES, PETSC_") + (use ? "TRUE)" : "FALSE)"),
          MatSetOption(w->A, MAT_USE_INODES, use ? PETSC_TRUE : PETSC_FALSE));
}

void shift(Walk* w, Random* random)
{
  const PetscScalar by = chance(random, 6) ? -10.0 : 0.5;
  allow_entries(w);
  w->call("MatShift(A, " + text(by) + ")", MatShift(w->A, by));
}

/* The program writes into the arrays of the matrix: good numbers, or one that is none, or a zero on a diagonal. */
void write_arrays(Walk* w, Random* random)
{
  const PetscInt n = rows(w->A), size = w->kind.baij ? w->kind.block_size : 1,
                 spoiled = chance(random, 4) ? random->integer(std::max((PetscInt)1, n)) : -1;
  const PetscReal bad[] = {std::numeric_limits<PetscReal>::quiet_NaN(), std::numeric_limits<PetscReal>::infinity(),
                           0.0};
  Numbers values;
  for (PetscInt first = 0; first < n; first += size)
    for (PetscInt j : columns_of(w->A, first))
      for (PetscInt i = first; i < first + size; ++i) /* blocks are stored by columns */
        values.push_back(i != j ? weak(random) : i == spoiled ? PetscScalar(bad[random->integer(3)]) : strong(random));
  w->write_array(values);
}

void preallocate_by_coordinates(Walk* w, Random* random)
{
  Triples A = random_triples(rows(w->A), random, true);
  const std::string rows_and_columns = text(A.row) + ", " + text(A.column), count = text((PetscInt)A.row.size());
  std::vector<PetscInt> row = A.row, column = A.column;
  w->call("MatSetPreallocationCOO(A, " + count + ", " + rows_and_columns + ")",
          MatSetPreallocationCOO(w->A, (PetscCount)row.size(), row.data(), column.data()));
  w->call("MatSetValuesCOO(A, " + text(A.value) + ", INSERT_VALUES)",
          MatSetValuesCOO(w->A, A.value.data(), INSERT_VALUES));
}

void preallocate(Walk* w, Random* random)
{
  const Triples A = random_triples(rows(w->A), random, true);
  const PetscInt size = w->kind.block_size;
  if (w->kind.baij)
    w->call("MatSeqBAIJSetPreallocation(A, " + text(size) + ", 2, NULL)",
            MatSeqBAIJSetPreallocation(w->A, size, 2, nullptr));
  else w->call("MatSeqAIJSetPreallocation(A, 2, NULL)", MatSeqAIJSetPreallocation(w->A, 2, nullptr));
  allow_entries(w);
  for (std::size_t k = 0; k < A.row.size(); ++k) set(w, A.row[k], A.column[k], A.value[k], ADD_VALUES);
  assemble(w);
}

/* ---- operators ---- */

void copy_as_operator(Walk* w, Random* random)
{
  MatOwner B;
  w->call("MatDuplicate(A, MAT_COPY_VALUES, &B)", MatDuplicate(w->A, MAT_COPY_VALUES, B.out()));
  w->call("MatScale(B, 1.25)", MatScale(B, 1.25));
  w->give(std::move(B), chance(random, 2));
}

void another_operator(Walk* w, Random* random)
{
  MatOwner B = w->make(random_triples(chance(random, 3) ? w->random_size(random) : rows(w->A), random, false), "B");
  w->give(std::move(B), chance(random, 2));
}

void last_operator(Walk* w, Random*)
{
  if (!w->other) return;
  w->list("B = other; other = NULL;");
  w->give(std::exchange(w->other, MatOwner()), true);
}

void same_operator(Walk* w, Random*) { w->set_operators(); }

void reset(Walk* w, Random*) { w->reset(); }

void reuse(Walk* w, Random* random) { w->reuse(chance(random, 2)); }

/* ---- options ---- */

/* Returns the name of a strategy, of one that has a form for dense blocks if `of_blocks`. */
std::string random_strategy(const SequenceCase& kind, Random* random, bool of_blocks)
{
  const char* const on_device[] = {"auto", "level_order", "tiled"};
  const char* const on_host[] = {"auto", "serial", "blocks"};
  if (of_blocks) return (kind.device_matrix ? on_device : on_host)[random->integer(3)];
  std::vector<std::string> names = strategies();
  names.erase(std::remove(names.begin(), names.end(), "kokkos"), names.end());
  names.push_back("auto");
  return names[(std::size_t)random->integer((PetscInt)names.size())];
}

MatFactorShiftType random_shift(const SequenceCase& kind, Random* random)
{
  const MatFactorShiftType usual = kind.icc() ? MAT_SHIFT_POSITIVE_DEFINITE : MAT_SHIFT_NONE;
  return chance(random, 3) ? (MatFactorShiftType)random->integer(4) : usual;
}

/* Changes an option that a PC may change between set-ups. */
void change_one(const SequenceCase& kind, Requested* r, Random* random)
{
  switch (random->integer(kind.sweeps() ? 7 : 9)) {
    case 0:
    case 1:
      r->strategy = random_strategy(kind, random, kind.baij && !chance(random, 4));
      break;
    case 2:
      r->threads = chance(random, 6) ? 2 : 1;
      break;
    case 3:
      r->trials = !r->trials;
      break;
    case 4:
      kind.sweeps() ? (void)(r->inodes = !r->inodes) : (void)(r->single = !r->single);
      break;
    case 5:
      kind.sweeps() ? (void)(r->omega = 0.75 + 0.25 * (double)random->integer(3))
                    : (void)(r->levels = random->integer(3));
      break;
    case 6:
      kind.sweeps() ? (void)(r->sweeps = 1 + random->integer(2)) : (void)(r->shift = random_shift(kind, random));
      break;
    case 7:
      r->backend = r->backend == "auto" ? "host" : "auto";
      break;
    default:
      r->small_parts = !r->small_parts;
  }
}

void change_option(Walk* w, Random* random)
{
  Requested now = w->requested;
  change_one(w->kind, &now, random);
  w->request(now, chance(random, 2));
}

void change_all_options(Walk* w, Random* random) { w->request_anew(random_request(w->kind, random)); }

/* ---- applications ---- */

void apply(Walk* w, Random* random)
{
  const auto all = applications(w->kind);
  const std::size_t which = chance(random, 2) ? 0 : (std::size_t)random->integer((PetscInt)all.size());
  w->compare(all[which], (unsigned)random->integer(7));
}

void view(Walk* w, Random*) { w->compare_views(); }

void hold(Walk* w, Random*) { w->hold_factor(); }

/* Whatever happened before, a PC is usable again. */
void end_well(Walk* w, Random* random)
{
  w->reuse(false);
  MatOwner B = w->make(random_triples(rows(w->A), random, true), "B");
  w->give(std::move(B), false);
  w->compare(applications(w->kind)[0], 0);
}

}  // namespace

Requested random_request(const SequenceCase& kind, Random* random)
{
  const char* const orders[] = {MATORDERINGRCM, MATORDERINGND, MATORDERINGSYNCFREEMULTICOLOR, MATORDERINGSYNCFREECYCLIC, MATORDERINGSYNCFREEABMC};
  Requested r;
  r.strategy = random_strategy(kind, random, kind.block_size > 1 && !chance(random, 3));
  if (!kind.package && chance(random, 3)) r.ordering = orders[random->integer(5)];
  r.threads = chance(random, 12) ? 2 : 1;
  r.levels = chance(random, 2) ? random->integer(3) : 0;
  r.sweeps = 1 + random->integer(2);
  r.direction = chance(random, 2) ? "symmetric" : chance(random, 2) ? "forward" : "backward";
  r.omega = chance(random, 3) ? 1.25 : 1.0;
  r.inodes = !chance(random, 3);
  r.single = chance(random, 6);
  r.diagonal_fill = chance(random, 6);
  r.reuse_ordering = chance(random, 3);
  r.reuse_fill = chance(random, 4);
  r.errors = chance(random, 5);
  r.small_parts = chance(random, 2);
  r.shift = random_shift(kind, random);
  if (kind.block_size > 1) {
    if (!chance(random, 3)) r.shift = MAT_SHIFT_NONE;
    r.block_size = chance(random, 6) ? 1 : chance(random, 3) ? kind.block_size : PETSC_DECIDE;
  }
  return r;
}

const std::vector<OperationKind>& operations()
{
  static const std::vector<OperationKind> all = {
      {"end well", 0, end_well}, /* the first: every sequence ends with it */
      {"PCApply and others", 50, apply},
      {"PCView", 4, view},
      {"a factor that is held", 3, hold},
      {"MatSetValues in a row", 6, values_of_a_row},
      {"MatSetValue, new", 6, new_entry},
      {"MatSetValue, zero", 2, zero_on_the_diagonal},
      {"MatAXPY", 6, sum},
      {"MatAXPY, same", 2, sum_with_itself},
      {"MatTranspose", 8, transpose},
      {"MatZeroRows", 5, zero_rows},
      {"MatHeaderReplace", 6, replace},
      {"MatHeaderReplace, other size", 3, replace_by_another_size},
      {"MatScale", 3, scale},
      {"MatDiagonalScale", 2, scale_rows_and_columns},
      {"MatShift", 4, shift},
      {"MatSetOption, inodes", 4, use_inodes},
      {"array of values", 6, write_arrays},
      {"MatSetPreallocationCOO", 3, preallocate_by_coordinates},
      {"preallocation", 3, preallocate},
      {"MatDuplicate, PCSetOperators", 5, copy_as_operator},
      {"PCSetOperators, another", 6, another_operator},
      {"PCSetOperators, the last", 4, last_operator},
      {"PCSetOperators, the same", 3, same_operator},
      {"PCReset", 3, reset},
      {"PCSetReusePreconditioner", 5, reuse},
      {"an option", 8, change_option},
      {"all options", 3, change_all_options},
  };
  return all;
}
