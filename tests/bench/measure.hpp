#pragma once

/// Times the contenders on one matrix, in turn.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "contender.hpp"

namespace bench {

/// One matrix to measure and how to get it.
struct Job {
  std::string name;
  std::function<MatOwner()> make;
};

/// Seconds: the median with the quartiles on both sides.
struct Spread {
  double low = 0, median = 0, high = 0;
};

struct Case {
  std::string matrix;
  Mat A = nullptr;
  std::int64_t n = 0, nnz = 0, lower_nnz = 0;  ///< rows, entries, entries below the diagonal
  std::int64_t longest = 0;                    ///< entries of a row on one side of the diagonal, at most
};

Case describe(const std::string& matrix, Mat A);

/// Median and quartiles of at least one time.
Spread spread(std::vector<double> times);

/// Seconds that all cores of the machine have run programs other than this one; 0 where the system does not say.
double time_of_others();

struct Effort {
  double seconds = 2;    ///< for each contender of a matrix, set-ups, refreshes and applications together
  int repetitions = 5;   ///< at least
  double slow = 0;       ///< whose application or repetition takes longer has one repetition; 0: all have as many
  double tolerance = 0;  ///< of the relative error against PETSc's application
  std::function<void(double)> progress = [](double) {};  ///< hears of the share that is done
};

/// How often something is done in a repetition of so many seconds: enough for ten milliseconds.
int count_for(double seconds, const Effort& effort);

/// How something is timed in every repetition; a slow one has one repetition.
struct Pace {
  Burst burst;
  bool slow = false;
};

/// Does the work two or three times to find out.
Pace pace_of(const std::function<void()>& work, const Effort& effort);

/// Who of so many has a turn: forwards and backwards by turns, and everybody begins as often.
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
  Spread lower, upper;           ///< solves with one triangle; 0 where they are not offered
  Spread spmv;                   ///< one product with the matrix, the same for all contenders
  Spread cg;                     ///< a product and an application in turn, as in CG; 0 if not timed
  double largest = 0, mean = 0;  ///< of |x_i|, which should be far from the ends of the numbers
  double bytes = 0, peak_bytes = 0;
  double share = 1;   ///< of a core that the calling thread had while it was timed; less where the machine is busy
  double others = 0;  ///< cores that other programs used meanwhile, as a mean
  double error = 0;   ///< the largest |x - y| / |y| of all repetitions, y PETSc's
};

/// Results in the order of `settings`, of which the first is PETSc's own. Every repetition gives the matrix other
/// numbers, then every contender sets up anew, refreshes and applies, and all must agree with the first. The vector
/// that they are applied to is the product of the matrix and a random one, so that x is about as large as that.
///   skipped  [out] why PETSc itself cannot factor the matrix, then the answer is empty
///   throws   std::runtime_error where ours fails or disagrees
std::vector<Result> measure(const Case& c, const std::vector<Setting>& settings, const Effort& effort,
                            std::string* skipped);

}  // namespace bench
