#pragma once

/// Common to the tests of the kokkos backend.

#include <gtest/gtest.h>

#include "../oracle.hpp"
#include "../types.hpp"
#include "syncfree/kokkos.hpp"

namespace syncfree {

template <class T, class I> using Owned = std::unique_ptr<Preconditioner<T, I>>;

/// Both backends with the same analysis.
template <class T, class I> struct Pair {
  Owned<T, I> kokkos = make_kokkos_preconditioner<T, I>();
  Owned<T, I> host = make_host_preconditioner<T, I>();

  explicit Pair(PatternView<I> A, const SymbolicOptions<I>& symbolic = {})
  {
    EXPECT_EQ(kokkos->analyse(A, symbolic, {"kokkos", 1, false}).message(), "success");
    EXPECT_EQ(host->analyse(A, symbolic, {"serial", 1, false}).message(), "success");
  }
};

/// Returns true if spiluk factored.
template <class T, class I> bool by_spiluk(const Preconditioner<T, I>& p)
{
  return p.summarize().reason.find("factored by spiluk") != std::string::npos;
}

}  // namespace syncfree
