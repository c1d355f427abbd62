#pragma once

/// Times the contenders on one matrix, in turn.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "contender.hpp"

namespace bench {

/// Seconds: the median with the quartiles on both sides.
struct Spread {
  double low = 0, median = 0, high = 0;
};

struct Case {
  std::string matrix;
  Mat A = nullptr;
  std::int64_t n = 0, nnz = 0;
};

struct Effort {
  double seconds = 2;    ///< for each contender of a matrix, set-ups, refreshes and applications together
  int repetitions = 5;   ///< at least
  double tolerance = 0;  ///< of the relative error against PETSc's application
  std::function<void(double)> progress = [](double) {};  ///< hears of the share that is done
};

struct Result {
  std::string matrix;
  std::int64_t n = 0, nnz = 0;
  Setting setting;
  std::string ran;
  int repetitions = 0;
  Spread setup, destroy, refresh, apply;
  double bytes = 0;
  double share = 1;   ///< of a core that the calling thread had while it was timed; less where the machine is busy
  double others = 0;  ///< cores that other programs used meanwhile, as a mean
  double error = 0;   ///< the largest |x - y| / |y| of all repetitions, y PETSc's
};

/// Results in the order of `settings`, of which the first is PETSc's own. Every repetition gives the matrix other
/// numbers, then every contender sets up anew, refreshes and applies, and all must agree with the first.
///   skipped  [out] why PETSc itself cannot factor the matrix, then the answer is empty
///   throws   std::runtime_error where ours fails or disagrees
std::vector<Result> measure(const Case& c, const std::vector<Setting>& settings, const Effort& effort,
                            std::string* skipped);

}  // namespace bench
