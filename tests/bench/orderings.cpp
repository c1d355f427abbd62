/// Implements orderings.hpp.

#include "orderings.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <numeric>
#include <string>
#include <type_traits>

#include "generate.hpp"
#include "race.hpp"
#include "read_file.hpp"
#include "report.hpp"
#include "settings.hpp"
#include "syncfree/factor.hpp"
#include "syncfree/ordering.hpp"
#include "syncfree/schedule.hpp"
#include "syncfree_petsc.h"
#include "to_petsc.hpp"

#if PETSC_VERSION_LT(3, 19, 0)
#define PETSC_SUCCESS 0
#endif

namespace bench {
namespace {

using Index = std::conditional_t<sizeof(PetscInt) == 8, std::int64_t, std::int32_t>;
using ISOwner = Owned<IS, ISDestroy>;

/// The ordering `random`, which PETSc has not. It keeps rows of an inode together, as MatGetOrdering() sees to.
PetscErrorCode order_at_random(Mat A, MatOrderingType, IS* rows, IS* columns)
{
  PetscInt n;
  PetscFunctionBeginUser;
  PetscCall(MatGetLocalSize(A, &n, nullptr));
  std::vector<PetscInt> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [](PetscInt i, PetscInt j) {
    const double a = random_of(i, -1, 13), b = random_of(j, -1, 13);
    return a != b ? a < b : i < j;
  });
  for (IS* is : {rows, columns}) {
    PetscCall(ISCreateGeneral(PETSC_COMM_SELF, n, order.data(), PETSC_COPY_VALUES, is));
    PetscCall(ISSetPermutation(*is));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/// What the pattern and the values tell about an order, without a solve.
struct Order {
  double seconds = 0;
  std::int64_t levels = 0;  ///< of L of ILU(0) and IC(0)
  syncfree::DiscardedFill discarded;
};

void look_at_pattern(Mat A, IS rows, Order* of)
{
  const PetscInt *row, *column, *order;
  const PetscScalar* value;
  PetscInt n;
  PetscBool done;
  ok(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &row, &column, &done));
  ok(MatSeqAIJGetArrayRead(A, &value));
  ok(ISGetIndices(rows, &order));
  const syncfree::PatternView<Index> pattern = {static_cast<Index>(n), reinterpret_cast<const Index*>(row),
                                                reinterpret_cast<const Index*>(column)};
  syncfree::SymbolicOptions<Index> symbolic;
  symbolic.diagonal_fill = true;
  symbolic.row_order = symbolic.column_order = reinterpret_cast<const Index*>(order);
  syncfree::FactorPattern<Index> factor;
  syncfree::Status status = syncfree::make_factor_pattern(pattern, symbolic, &factor);
  const syncfree::CsrView<PetscScalar, Index> view = {pattern, value};
  if (status.ok()) status = syncfree::measure_discarded_fill(view, symbolic.row_order, &of->discarded);
  if (!status.ok()) throw std::runtime_error(status.message());
  of->levels = syncfree::count_levels(factor).lower;
  ok(ISRestoreIndices(rows, &order));
  ok(MatSeqAIJRestoreArrayRead(A, &value));
  ok(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &row, &column, &done));
}

Order look_at(Mat A, const std::string& name)
{
  const NumberedOrdering ordering(name);
  ISOwner rows, columns;
  Order made;
  const double begin = now();
  ok(MatGetOrdering(A, ordering.type().c_str(), rows.out(), columns.out()));
  made.seconds = now() - begin;
  look_at_pattern(A, rows, &made);
  return made;
}

/// PETSc's own on the matrix as it is stored, Jacobi and GAMG, as far as -bench_pcs has them, then ours in every order.
std::vector<Entrant> entrants(const Options& o, const std::string& kind, std::int64_t rows)
{
  const std::vector<std::string> wanted = split(o.pcs);
  std::vector<Entrant> all;
  for (const std::string& peer : {std::string(PCILU), std::string(PCJACOBI), std::string(PCGAMG)}) {
    if (std::find(wanted.begin(), wanted.end(), peer) == wanted.end()) continue;
    for (Entrant e : entrants_of(peer == PCILU ? kind : peer, o, rows)) {
      if (peer == PCILU) e.ordering = MATORDERINGNATURAL;
      all.push_back(e);
    }
  }
  for (const std::string& name : split(o.orderings))
    for (Entrant e : entrants_of("syncfree_" + kind, o, rows)) {
      e.ordering = name;
      all.push_back(e);
    }
  return all;
}

constexpr const char* header =
    "matrix,kind,n,nnz,ordering,pc,strategy,threads,ran,levels,iterations,converged,reason,residual,discarded,rows,"
    "skipped,order_ms,repetitions,setup_ms,setup_low_ms,setup_high_ms,refresh_ms,refresh_low_ms,refresh_high_ms,"
    "apply_ms,apply_low_ms,apply_high_ms,solve_ms,solve_low_ms,solve_high_ms,matmult_ms,apply_matmults,whole_ms";

class OrderingReport {
 public:
  explicit OrderingReport(const Options& o) : file_(open_csv(o, header)), origin_(origin_fields(o))
  {
    std::printf(
        "\nmedians in ms, apply in us and in products with the matrix as stored; whole: set-up and solve\n"
        "%-20s %-4s %-22s %-22s %7s %6s  %9s %8s %9s %9s %10s %7s %9s %9s\n",
        "matrix", "kind", "ordering", "PC", "levels", "its", "discarded", "order", "set-up", "refresh", "apply us",
        "MatMult", "solve", "whole");
  }

  void add(const Case& c, const std::string& kind, const Order& order, const Outcome& r) const
  {
    const double products = r.matmult.median > 0 ? r.apply.median / r.matmult.median : 0;
    const double whole = r.setup.median + r.solve.median;
    std::printf("%-20s %-4s %-22s %-22s %7lld %6d%s %9.4g %8.2f %9.3f %9.3f %10.2f %7.2f %9.3f %9.3f  %s\n",
                c.matrix.c_str(), kind.c_str(), r.entrant.ordering.c_str(), r.entrant.label().c_str(),
                static_cast<long long>(order.levels), r.iterations, r.converged() ? " " : "*", order.discarded.fill,
                1e3 * order.seconds, 1e3 * r.setup.median, 1e3 * r.refresh.median, 1e6 * r.apply.median, products,
                1e3 * r.solve.median, 1e3 * whole, r.converged() ? r.ran.c_str() : r.reason.c_str());
    std::fflush(stdout);
    FILE* file = file_.get();
    if (!file) return;
    std::fprintf(file, "%s,%s,%lld,%lld,%s,%s,%s,%d,%s,%lld,%d,%d,%s,%.3e,%.6g,%lld,%lld,%.6g,%d",
                 csv_field(c.matrix).c_str(), kind.c_str(), static_cast<long long>(c.n), static_cast<long long>(c.nnz),
                 r.entrant.ordering.c_str(), r.entrant.type.c_str(), r.entrant.strategy.c_str(), r.entrant.threads,
                 csv_field(r.ran).c_str(), static_cast<long long>(order.levels), r.iterations, r.converged(),
                 r.reason.c_str(), r.residual, order.discarded.fill, static_cast<long long>(order.discarded.rows),
                 static_cast<long long>(order.discarded.skipped), 1e3 * order.seconds, r.repetitions);
    for (const Spread* s : {&r.setup, &r.refresh, &r.apply, &r.solve}) print_spread(file, *s);
    std::fprintf(file, ",%.6g,%.6g,%.6g,%s\n", 1e3 * r.matmult.median, products, 1e3 * whole, origin_.c_str());
    std::fflush(file);
  }

 private:
  FileOwner file_;
  std::string origin_;
};

void measure_orderings(const Job& job, const Options& o, const OrderingReport& report)
{
  MatOwner A = job.make();
  VecOwner b;
  const Case c = describe(job.name, A);
  std::map<std::string, Order> orders;
  ok(MatSetOptionsPrefix(A, "bench_"));
  for (const std::string& name : split(o.orderings))
    if (name != MATORDERINGSYNCFREEAUTO) orders[name] = look_at(A, name);  // that one is known after a set-up only
  orders.emplace(MATORDERINGNATURAL, look_at(A, MATORDERINGNATURAL));
  const std::vector<std::string> fit = those_that_fit(A, job.name, kinds(o));
  place(&A);
  ok(MatCreateVecs(A, nullptr, b.out()));
  set_random(b);
  for (const std::string& kind : fit) {
    const Method method = {kind == "icc" ? KSPCG : KSPGMRES, true};
    for (const Outcome& r : race(method, entrants(o, kind, c.n), A, b, o))
      report.add(c, kind, orders[r.entrant.ordering], r);
  }
}

}  // namespace

int run_orderings(const Options& o, const std::vector<Job>& jobs)
{
  int failures = 0;
  ok(MatOrderingRegister("random", order_at_random));
  for (const std::string& name : split(o.orderings)) const NumberedOrdering refused_if_wrong(name);
  const OrderingReport report(o);
  for (const Job& job : jobs) try {
      measure_orderings(job, o, report);
    } catch (const std::exception& e) {
      ++failures;
      std::fprintf(stderr, "\nerror: %s: %s\n", job.name.c_str(), e.what());
    }
  std::printf("(* not converged)\n");
  return failures;
}

}  // namespace bench
