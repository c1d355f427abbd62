#pragma once

/// The backend that the tests of this folder are about. Each test program that takes them says which one it is
/// in a file backend.cpp of its own folder.

#include <memory>

#include "syncfree/solver.hpp"

namespace syncfree {

struct TestedBackend {
  const char* name;        ///< as in StrategyInfo
  const char* automatic;   ///< the strategy that `auto` is for a small problem on one thread
  const char* reason;      ///< how the reason for that begins
  bool single_is_smaller;  ///< does single storage save memory?
};

const TestedBackend& tested();

template <class T, class I> std::unique_ptr<Preconditioner<T, I>> make_tested();

}  // namespace syncfree
