#pragma once

/// The HPCG-like solve with PETSc's vectors and matrices and a PC `syncfree_sor` on each grid, rows in natural order.

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "../contender.hpp"
#include "problem.hpp"

namespace bench::hpcg_like {

enum class Part { product, sweep_from_zero, sweep_from_guess, restriction, prolongation, dots, updates };
inline constexpr int parts = 7;
inline constexpr const char* part_names[parts] = {"product", "sweep from zero", "sweep from guess", "restriction",
                                                  "prolongation", "dots", "updates"};

/// Seconds of each part on each grid.
using PartTimes = std::array<std::array<double, parts>, levels>;

/// What leaves the results as they are, but not their times.
struct Variant {
  std::string product = "aij";  ///< type of the matrix of CG's products: aij or sell
  bool full_residual = false;   ///< computes residuals before a restriction in all rows, not in those of coarse points
  std::string strategy = "auto";
  int threads = 1;
};

/// Throws std::runtime_error if a call of PETSc fails.
class Solver {
 public:
  Solver(const std::vector<Grid>& grids, const Variant& variant);

  /// Makes the PCs, each with its first sweep, which analyses the matrix. Returns the seconds.
  double set_up();

  /// Solves A x = b from x = 0. Returns the norms of all residuals, iterations + 1 of them.
  std::vector<double> solve();

  /// Solves with the clock read before and after each part, when the device is idle: slower than solve().
  PartTimes time_parts();

  /// After solve(): |b - A x|, the largest error of an entry of x.
  double true_residual();
  double error();

  /// |u M v - v M u| / (|u| |M v|), where M is the cycle.
  double asymmetry();

  /// Returns the strategies of all grids that have run, the finest first.
  std::string strategies() const;

 private:
  struct Level {
    MatOwner A, restricted_A, restriction, prolongation;  ///< restricted_A: minus its rows of coarse points
    PCOwner sweeps;
    VecOwner b, x, work;
  };

  void make_level(const Grid& grid, Level* level) const;
  void cycle(std::size_t level, Vec b, Vec x);
  void restrict_residual(std::size_t level, Vec b, Vec x);
  double dot(Vec x, Vec y);

  /// Does the work, with its time if parts are timed.
  template <class Work>
  void part(Part which, std::size_t level, Work work)
  {
    if (!times_) return work();
    const double begin = now();
    work();
    (*times_)[level][static_cast<std::size_t>(which)] += now() - begin;
  }

  Variant variant_;
  std::vector<Level> levels_;
  MatOwner sell_;  ///< the finest A in that format, if products use it
  Mat product_;
  VecOwner right_, solution_, r_, p_, q_, z_;
  PartTimes* times_ = nullptr;
};

}  // namespace bench::hpcg_like
