#pragma once

/// How device threads wait for each other. Only these files name a memory order on the device.
///
/// Two ways to pass a value:
///   - Sentinel value: the value is its own flag. A slot holds the sentinel, a NaN that no computation stores there,
///     until its value is published. One 4- or 8-byte word is written and read as a whole, so a relaxed order
///     suffices: nothing else is read because of it. The parts of a complex value arrive separately; it has arrived
///     when both have.
///   - A flag next to the data. A thread that gets the flag's value from wait_for() sees what was written before
///     store_release().
/// Inside a thread block the same is done in shared memory: SharedSentinelValue and SharedCounter; an Mbarrier
/// completes when data has been copied.
///
/// Progress: a thread waits only for work with an earlier ticket, and a thread block with a ticket is running.

#include "syncfree/cuda/ready/barrier.cuh"
#include "syncfree/cuda/ready/flag.cuh"
#include "syncfree/cuda/ready/sentinel.cuh"
#include "syncfree/cuda/ready/ticket.cuh"
#include "syncfree/cuda/ready/wait.cuh"
