#pragma once

/// Times the contenders on one matrix, in turn.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "contender.hpp"

namespace bench {

/// One matrix to measure and how to make it.
struct Job {
  std::string name;
  std::function<MatOwner()> make;
};

/// Times in seconds: the median and both quartiles.
struct Spread {
  double low = 0, median = 0, high = 0;
};

struct Case {
  std::string matrix;
  Mat A = nullptr;
  std::int64_t n = 0, nnz = 0, lower_nnz = 0;  ///< rows, entries, entries below the diagonal
  std::int64_t longest = 0;                    ///< largest number of entries of a row on one side of the diagonal
};

Case describe(const std::string& matrix, Mat A);

/// Computes the median and the quartiles of at least one time.
Spread spread(std::vector<double> times);

/// Returns the seconds that all cores of the machine have run other programs; 0 if the system does not report it.
double time_of_others();

struct Effort {
  double seconds = 2;    ///< for each contender of a matrix: set-ups, refreshes and applications together
  int repetitions = 5;   ///< at least
  double slow = 0;       ///< a contender whose application or repetition takes longer has one repetition; 0: no limit
  double tolerance = 0;  ///< of the relative error compared with PETSc's application
  std::function<void(double)> progress = [](double) {};  ///< called with the completed share
};

/// Returns how often a work of this many seconds is done in a repetition: enough for ten milliseconds.
int count_for(double seconds, const Effort& effort);

/// How a work is timed in every repetition; a slow one has one repetition.
struct Pace {
  Burst burst;
  bool slow = false;
};

/// Does the work two or three times to find its pace.
Pace pace_of(const std::function<void()>& work, const Effort& effort);

/// Returns which of `count` contenders has a turn: forwards and backwards alternately, and each begins equally often.
std::size_t whose_turn(std::size_t turn, int repetition, std::size_t count);

struct Result {
  std::string matrix;
  std::int64_t n = 0, nnz = 0, lower_nnz = 0, longest = 0;
  Setting setting;
  std::string ran, plan;
  Vendor vendor;  ///< algorithms of the solver that is applied, medians of the times of all set-ups
  int repetitions = 0;
  Shape shape;
  Spread setup, destroy, refresh, apply;
  Spread lower, upper;           ///< solves with one triangle; 0 if not offered
  Spread spmv;                   ///< one product with the matrix, the same for all contenders
  Spread cg;                     ///< a product and an application alternately, as in CG; 0 if not timed
  double largest = 0, mean = 0;  ///< of |x_i|, which should be far from underflow and overflow
  double bytes = 0, peak_bytes = 0;
  double share = 1;   ///< share of a core that the calling thread had while it was timed; less if the machine is busy
  double others = 0;  ///< mean number of cores that other programs used meanwhile
  double error = 0;   ///< the largest |x - y| / |y| of all repetitions, where y is PETSc's
};

/// Returns results in the order of `settings`, of which the first is PETSc's own. Every repetition gives the matrix new
/// values, then every contender sets up anew, refreshes and applies, and all must agree with the first. The right-hand
/// side is the product of the matrix and a random vector, so x is about as large as that vector.
///   skipped  [out] why PETSc itself cannot factor the matrix, or is wrong on the device; the result is then empty
///   throws   std::runtime_error if ours fails or disagrees
std::vector<Result> measure(const Case& c, const std::vector<Setting>& settings, const Effort& effort,
                            std::string* skipped);

}  // namespace bench
