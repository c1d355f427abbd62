/// Implements orderings.hpp.

#include "orderings.hpp"

#include <cstdio>
#include <string>
#include <type_traits>

#include "report.hpp"
#include "settings.hpp"
#include "syncfree/factor.hpp"
#include "syncfree/ordering.hpp"
#include "syncfree/schedule.hpp"
#include "to_petsc.hpp"

namespace bench {
namespace {

using Index = std::conditional_t<sizeof(PetscInt) == 8, std::int64_t, std::int32_t>;
using ISOwner = Owned<IS, ISDestroy>;

struct Outcome {
  double order_seconds = 0;
  std::int64_t levels = 0;
  syncfree::DiscardedFill discarded;
  PetscInt iterations = 0;
  bool converged = false;
};

/// The two numbers of our orderings while one is made and used.
class Number {
 public:
  explicit Number(const std::string& name)
  {
    const auto colon = name.find(':');
    type_ = name.substr(0, colon);
    if (colon == std::string::npos) return;
    for (const char* option : options_) ok(PetscOptionsSetValue(nullptr, option, name.substr(colon + 1).c_str()));
  }
  ~Number()
  {
    for (const char* option : options_) (void)PetscOptionsClearValue(nullptr, option);
  }
  Number(const Number&) = delete;

  const std::string& type() const { return type_; }

 private:
  static constexpr const char* options_[] = {"-pc_syncfree_cyclic_colors", "-pc_syncfree_abmc_rows"};
  std::string type_;
};

void look_at_pattern(Mat A, IS rows, Outcome* of)
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

void solve(Mat A, const std::string& kind, const std::string& pc_type, MatOrderingType ordering, const Options& o,
           Outcome* of)
{
  KSPOwner ksp;
  PC pc;
  VecOwner b, x;
  KSPConvergedReason reason;
  ok(MatCreateVecs(A, x.out(), b.out()));
  set_random(b);
  ok(KSPCreate(PETSC_COMM_SELF, ksp.out()));
  ok(KSPSetOperators(ksp, A, A));
  ok(KSPSetType(ksp, kind == "icc" ? KSPCG : KSPGMRES));
  if (kind == "ilu") ok(KSPSetPCSide(ksp, PC_RIGHT));
  ok(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  ok(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, 1e20, o.most_iterations));
  ok(KSPGetPC(ksp, &pc));
  ok(PCSetType(pc, pc_type.c_str()));
  if (ordering) ok(PCFactorSetMatOrderingType(pc, ordering));
  ok(KSPSolve(ksp, b, x));
  ok(KSPGetIterationNumber(ksp, &of->iterations));
  ok(KSPGetConvergedReason(ksp, &reason));
  of->converged = reason > 0;
}

Outcome look_at(Mat A, const std::string& kind, const std::string& name, const Options& o)
{
  Outcome made;
  if (name == "jacobi") {
    solve(A, kind, PCJACOBI, nullptr, o, &made);
    return made;
  }
  const Number number(name);
  ISOwner rows, columns;
  const double begin = now();
  ok(MatGetOrdering(A, number.type().c_str(), rows.out(), columns.out()));
  made.order_seconds = now() - begin;
  look_at_pattern(A, rows, &made);
  solve(A, kind, kind, number.type().c_str(), o, &made);
  return made;
}

void report(FILE* file, const std::string& origin, const Case& c, const std::string& kind, const std::string& name,
            const Outcome& of)
{
  std::printf("%-20s %-4s %-22s %8lld %7lld%s %10.4g %9.1f\n", c.matrix.c_str(), kind.c_str(), name.c_str(),
              static_cast<long long>(of.levels), static_cast<long long>(of.iterations), of.converged ? " " : "*",
              of.discarded.fill, 1e3 * of.order_seconds);
  std::fflush(stdout);
  if (!file) return;
  std::fprintf(file, "%s,%s,%lld,%lld,%s,%lld,%lld,%d,%.6g,%lld,%lld,%.6g,%s\n", csv_field(c.matrix).c_str(),
               kind.c_str(), static_cast<long long>(c.n), static_cast<long long>(c.nnz), name.c_str(),
               static_cast<long long>(of.levels), static_cast<long long>(of.iterations), of.converged,
               of.discarded.fill, static_cast<long long>(of.discarded.rows),
               static_cast<long long>(of.discarded.skipped), 1e3 * of.order_seconds, origin.c_str());
  std::fflush(file);
}

bool suits(Mat A, const std::string& kind)
{
  PetscBool set, symmetric;
  ok(MatIsSymmetricKnown(A, &set, &symmetric));
  return kind == "ilu" || (set && symmetric);
}

}  // namespace

int run_orderings(const Options& o, const std::vector<Job>& jobs)
{
  int failures = 0;
  const FileOwner file =
      open_csv(o, "matrix,kind,n,nnz,ordering,levels,iterations,converged,discarded,rows,skipped,order_ms");
  const std::string origin = origin_fields(o);
  std::vector<std::string> orderings = split(o.orderings);
  orderings.push_back("jacobi");
  std::printf("\n%-20s %-4s %-22s %8s %7s  %10s %9s\n", "matrix", "kind", "ordering", "levels", "its (*)", "discarded",
              "order ms");
  for (const Job& job : jobs) try {
      const MatOwner A = job.make();
      const Case c = describe(job.name, A);
      for (const std::string& kind : kinds(o))
        for (const std::string& name : orderings)
          if (suits(A, kind)) report(file.get(), origin, c, kind, name, look_at(A, kind, name, o));
    } catch (const std::exception& e) {
      ++failures;
      std::fprintf(stderr, "\nerror: %s\n", e.what());
    }
  std::printf("(* not converged)\n");
  return failures;
}

}  // namespace bench
