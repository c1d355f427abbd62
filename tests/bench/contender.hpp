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
  PetscInt levels = 0;       ///< levels of fill
  std::string strategy;      ///< empty: PETSc's own preconditioner; it may end in :single, :trials or both
  int threads = 1;

  /// The strategy without what follows it.
  std::string name() const { return strategy.substr(0, strategy.find(':')); }
  /// True for "single" if the factor is stored in single precision, for "trials" if `auto` selects by these.
  bool has(const std::string& word) const { return (strategy + ":").find(":" + word + ":") != std::string::npos; }
  std::string label() const { return strategy.empty() ? "petsc" : strategy + "/" + std::to_string(threads); }
};

/// The numbers of levels of the two triangles, and the work per level and row; 0 if not reported.
struct Shape {
  std::int64_t lower_levels = 0, upper_levels = 0;
  double rows_a_level = 0, entries_a_row = 0;
};

/// The view's report of the vendor's solver, if it runs. Times of the set-up in seconds: the analyses of the chosen
/// algorithms, and the additional time of the choice.
struct Vendor {
  std::string version;  ///< version of the loaded library; empty if the vendor's solver does not run
  int lower_algorithm = 0, upper_algorithm = 0;
  double lower_analysis = 0, upper_analysis = 0, choice = 0;

  bool ran() const { return !version.empty(); }
  /// Returns text like ", cuSPARSE 12.9.4 (2, 0)" with the algorithms of L and U, to append to a strategy; or nothing.
  std::string behind() const;
};

/// Parses the line about the plan.
Vendor vendor_of(const std::string& plan);

/// True if matrices are on the device. Clocks are then read after synchronisation.
extern bool on_device;

/// True if matrices are MATSEQBAIJ, with the block sizes that their generators give.
extern bool in_blocks;

/// Returns the seconds of a monotonic clock.
double now();

/// Returns the strategy of one of our PCs that is set up, with its reason if `auto` chose it.
std::string strategy_that_ran(PC pc);

/// How often a work is repeated in one timing, and whether it runs once before.
struct Burst {
  int count = 1;
  bool warm = true;
};

/// Returns the mean seconds of one repetition; the warm-up is not counted.
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

  /// Returns true if the strategy, `tiled` or `wavefront`, has no plan for the matrix. Sets up to find out.
  bool has_no_plan(Mat A) const;

  /// Sets up the preconditioner that refresh() and apply() use. Returns why it has no factor, empty if it has.
  std::string prepare(Mat A);
  /// Returns the reason why the last set-up failed, or nothing.
  std::string failure() const;

  /// Seconds of PCSetUp() on a new PC and of destroying it, and the report of its view.
  struct SetUp {
    double setup = 0, destroy = 0;
    Vendor vendor;
  };
  SetUp time_setup(Mat A) const;

  /// Returns the seconds of PCSetUp() after the matrix got new values.
  double time_refresh();

  void apply(Vec b, Vec x) { ok(PCApply(pc_, b, x)); }
  void apply_columns(Mat B, Mat X) { ok(PCMatApply(pc_, B, X)); }

  /// Applies L^-1 or U^-1 of an ILU, or the corresponding half of an ICC. Requires has_halves().
  void apply_lower(Vec b, Vec x) { ok(PCApplySymmetricLeft(pc_, b, x)); }
  void apply_upper(Vec b, Vec x) { ok(PCApplySymmetricRight(pc_, b, x)); }
  bool has_halves() const;

  /// Returns the levels that the view of ours reports; nothing for PETSc's own.
  Shape shape() const;

  /// Returns the bytes of the factored matrix without transposes, as reported by ours. PETSc's own does not report
  /// them: nz values and columns, and for every row its offset, the position of its diagonal entry and a scalar of
  /// solve_work.
  double bytes() const;

  /// Returns the largest amount of memory that the set-up used additionally at any time, if ours reports it; else 0.
  double peak_bytes() const;

  /// Returns the strategy that runs, with its reason if `auto` chose it.
  std::string ran() const;
  /// Returns the plan's description in the view, or nothing.
  std::string plan() const;

 private:
  PCOwner create(Mat A) const;
  bool ours() const { return !setting_.strategy.empty(); }
  /// Returns the text of our view of a PC between these two words; nothing if it lacks the first.
  std::string viewed(PC pc, const std::string& before, const std::string& behind) const;

  Setting setting_;
  PCOwner pc_;
};

}  // namespace bench
