#pragma once

#include <cmath>

namespace syncfree {

/// Returns the larger of both, or NaN if one of them is.
template <class R> R larger(R a, R b) { return b > a || std::isnan(b) ? b : a; }

}  // namespace syncfree
