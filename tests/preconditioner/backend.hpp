#pragma once

/// The backend under test. Each test program that includes these tests defines it in a file backend.cpp of its own
/// folder.

#include <memory>

#include "syncfree/solver.hpp"

namespace syncfree {

struct TestedBackend {
  const char* name;        ///< as in StrategyInfo
  const char* automatic;   ///< what `auto` chooses for a small problem, one thread and one application
  const char* reason;      ///< beginning of the reason for that choice
  bool single_is_smaller;  ///< true if single storage saves memory
};

const TestedBackend& tested();

template <class T, class I> std::unique_ptr<Preconditioner<T, I>> make_tested();

}  // namespace syncfree
