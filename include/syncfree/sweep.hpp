#pragma once

namespace syncfree {

/// The order in which Gauss-Seidel takes the rows; symmetric: forward, then backward.
enum class Sweep { forward, backward, symmetric };

}  // namespace syncfree
