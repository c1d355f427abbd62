#pragma once

/// One preconditioner of a comparison, used as a program would: through PETSc's public interface.

#include <petscksp.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace bench {

/// Throws after PETSc has printed its message, traceback included.
inline void ok(PetscErrorCode code)
{
  if (static_cast<int>(code) != 0) throw std::runtime_error("a PETSc call failed");
}

/// A PETSc object that is destroyed with its scope.
template <class Handle, PetscErrorCode (*destroy)(Handle*)>
class Owned {
 public:
  Owned() = default;
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept
  {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() { reset(); }
  operator Handle() const { return handle_; }
  Handle* out() { return &handle_; }
  void reset()
  {
    if (handle_) (void)destroy(&handle_);
  }

 private:
  Handle handle_ = nullptr;
};

using MatOwner = Owned<Mat, MatDestroy>;
using VecOwner = Owned<Vec, VecDestroy>;
using PCOwner = Owned<PC, PCDestroy>;
using KSPOwner = Owned<KSP, KSPDestroy>;

struct Setting {
  std::string kind = "ilu";  ///< ilu or icc
  PetscInt levels = 0;       ///< of fill
  std::string strategy;      ///< empty: PETSc's own preconditioner
  int threads = 1;

  std::string label() const { return strategy.empty() ? "petsc" : strategy + "/" + std::to_string(threads); }
};

/// The longest chains of rows of the two triangles, in rows, and the work at hand; 0 where nobody says.
struct Shape {
  std::int64_t lower_levels = 0, upper_levels = 0;
  double rows_a_level = 0, entries_a_row = 0;
};

/// What the view says of the vendor's solver, where it runs. Seconds of the set-up: the analyses of the algorithms that
/// were taken, and all that the choice took beyond them.
struct Vendor {
  std::string version;  ///< of the library that was loaded; empty where the vendor's solver does not run
  int lower_algorithm = 0, upper_algorithm = 0;
  double lower_analysis = 0, upper_analysis = 0, choice = 0;

  bool ran() const { return !version.empty(); }
  /// As in ", cuSPARSE 12.9.4 (2, 0)" with the algorithms of L and U, to stand behind a strategy; or nothing.
  std::string behind() const;
};

/// From the line on the plan.
Vendor vendor_of(const std::string& plan);

/// Are matrices on the device? Then clocks are read when all work there is done.
extern bool on_device;

/// Seconds of a monotonic clock.
double now();

/// Of one of our PCs that is set up: the strategy, with its reason where `auto` took it.
std::string strategy_that_ran(PC pc);

/// How often something is done when it is timed, and whether once before.
struct Burst {
  int count = 1;
  bool warm = true;
};

/// Seconds of one of so many, the one before not counted.
template <class Work>
double time_of(Burst burst, Work work)
{
  if (burst.warm) work();
  const double begin = now();
  for (int k = 0; k < burst.count; ++k) work();
  return (now() - begin) / burst.count;
}

class Contender {
 public:
  explicit Contender(Setting setting) : setting_(std::move(setting)) {}
  const Setting& setting() const { return setting_; }

  /// Has the strategy, `tiled` or `wavefront`, no plan for the matrix? Sets up to see that.
  bool has_no_plan(Mat A) const;

  /// The preconditioner that refresh() and apply() use. Returns why it has no factor, empty if it has.
  std::string prepare(Mat A);

  /// Seconds of PCSetUp() on a new PC, and of destroying it, and what its view says.
  struct SetUp {
    double setup = 0, destroy = 0;
    Vendor vendor;
  };
  SetUp time_setup(Mat A) const;

  /// Seconds of PCSetUp() after the matrix got other numbers.
  double time_refresh();

  void apply(Vec b, Vec x) { ok(PCApply(pc_, b, x)); }
  void apply_columns(Mat B, Mat X) { ok(PCMatApply(pc_, B, X)); }

  /// L^-1 and U^-1 of an ILU, and what takes their place in an ICC. Where has_halves().
  void apply_lower(Vec b, Vec x) { ok(PCApplySymmetricLeft(pc_, b, x)); }
  void apply_upper(Vec b, Vec x) { ok(PCApplySymmetricRight(pc_, b, x)); }
  bool has_halves() const;

  /// What the view of ours says; nothing of PETSc's own.
  Shape shape() const;

  /// Bytes of the factored matrix without transposes: what ours says of itself. For PETSc's own, which does not say:
  /// nz values and columns, and for every row its offset, the place of its diagonal entry and a scalar of solve_work.
  double bytes() const;

  /// The most that the set-up had at once beyond what was there before, where ours says so; else 0.
  double peak_bytes() const;

  /// The strategy that runs, with its reason where `auto` took it.
  std::string ran() const;
  /// How the view says that it is planned; nothing where it says nothing.
  std::string plan() const;

 private:
  PCOwner create(Mat A) const;
  bool ours() const { return !setting_.strategy.empty(); }
  /// What our view of a PC says between these two words; nothing where it has not the first.
  std::string viewed(PC pc, const std::string& before, const std::string& behind) const;

  Setting setting_;
  PCOwner pc_;
};

}  // namespace bench
