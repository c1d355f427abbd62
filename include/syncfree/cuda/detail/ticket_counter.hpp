#pragma once

/// Device memory that the launches of one kernel share, and the report to the host when a launch gives up
/// (syncfree/cuda/ready/ticket.cuh).

namespace syncfree::cuda {

/// Report of a launch that gave up, in host memory that the device writes to. A launch writes `name`, then `row`.
struct WaitRecord {
  unsigned long long name;  ///< `name` of the counter
  unsigned long long row;   ///< 0: no wait was given up; else 1 + the row
};

/// Launches with the same counter run one after the other, with grids of the same size.
struct TicketCounter {
  unsigned long long next;      ///< ticket of the next thread block
  unsigned long long given_up;  ///< 1 + the launch that gave up last, 0: none
  unsigned long long limit;     ///< nanoseconds that a thread block waits before it gives up; 0: no limit
  const char* name;             ///< in host memory: the strategy, for messages
  WaitRecord* record;           ///< or nullptr
  unsigned drop;                ///< for tests: n suppresses the n-th publication from now on; 0: none
};

}  // namespace syncfree::cuda
