#pragma once

/// How device threads wait for each other: the only place that names a memory order on the device.
///
/// Two ways to hand a number over:
///   - The number is its own flag. A place holds `unset`, a NaN that no computation leaves there, until its number is
///     published. One 4- or 8-byte word is written and read as a whole, so a relaxed order is enough: nothing else is
///     read because of it. The parts of a complex number arrive one by one; it is there when both are.
///   - A flag beside the data. What was written before publish() is seen by who got the flag's value from wait_for().
/// Inside a block the same is done in shared memory: SharedSentinelValue and SharedCounter, and a Mbarrier opens for
/// what has been copied.
///
/// Progress: a waiter waits only for work with an earlier ticket, and who holds a ticket is running.

#include "syncfree/cuda/ready/barrier.cuh"
#include "syncfree/cuda/ready/flag.cuh"
#include "syncfree/cuda/ready/sentinel.cuh"
#include "syncfree/cuda/ready/ticket.cuh"
#include "syncfree/cuda/ready/wait.cuh"
