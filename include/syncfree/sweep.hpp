#pragma once

namespace syncfree {

/// Order in which Gauss-Seidel relaxes the rows; symmetric: forward, then backward.
enum class Sweep { forward, backward, symmetric };

}  // namespace syncfree
