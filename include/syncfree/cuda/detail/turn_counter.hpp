#pragma once

/// What the launches of one kernel share in device memory, and what the host is told of a launch that was
/// given up (syncfree/cuda/ready/ticket.cuh).

namespace syncfree::cuda {

/// In host memory that the device writes to. One launch writes `name`, then `row`.
struct WaitRecord {
  unsigned long long name;  ///< that of the counter
  unsigned long long row;   ///< 0: no wait was given up; else 1 + the row
};

/// Launches with one counter run one after the other, with equal grids.
struct TicketCounter {
  unsigned long long next;      ///< ticket of the next block
  unsigned long long given_up;  ///< 1 + the launch that was given up last, 0: none
  unsigned long long limit;     ///< nanoseconds that a block waits before it gives its launch up; 0: for ever
  const char* name;             ///< of host memory: the strategy, for messages
  WaitRecord* record;           ///< or nullptr
  unsigned drop;                ///< of tests: n leaves out the n-th publication from now on; 0: none
};

}  // namespace syncfree::cuda
