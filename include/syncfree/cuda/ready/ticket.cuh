#pragma once

/// The part of ready.cuh about launches: tickets, and waits with a limit.
///
/// A correct protocol needs no limit: a thread waits only for work in progress. But a fault (memory overwritten by
/// something else, an invalid replay, an object used by two threads) would make the device spin for ever. So a thread
/// block records when one of its waits first lasted long. If one of its threads still waits `limit` later, that thread
/// gives the launch up: it reports to the host, once, which row waited, and all waits of all thread blocks end as soon
/// as they see it.
///   - A thread that ends a wait for a value continues with the sentinel, which is a NaN: so is every result that
///     uses it. Publishing replaces the sentinel by another NaN, so that threads that wait for that result are served
///     as usual. Flags and counts refer to data that may be stale: a thread that ends these waits replaces its sum by
///     NaN.
///   - Nothing is skipped: all barriers are reached, all mbarriers get their arrivals, every slot of the next
///     launch's mailbox is cleared. Indices are never waited for, except in panels (Mbarrier), where waits do not end
///     this way.
///   - Values from threads of the same thread block or cluster arrive as soon as these have given up their own waits.
///     So such a wait ends only some time later (OnGiveUp::leave_later), and a thread block of a cluster then stays
///     until all others of the cluster must have ended (linger_for_cluster()): none ends while another one may still
///     write to its shared memory. An mbarrier that does not complete even then traps (OnGiveUp::trap_later): its
///     panel must not be read.
///
/// Memory order. The time of the first long wait, the mark of a launch and its record only decide when a wait ends,
/// and a NaN may replace a value at any time, so relaxed accesses suffice for all. A launch is identified by its
/// number, which follows from the ticket, so nothing has to be reset; in a cluster, a thread block that does not know
/// its ticket yet reads `unknown` and keeps waiting. The record's row is written after its name, at system scope,
/// with a fence in between; the host reads the row, then the name. The first call after the launch reads the row
/// because the launch has ended, which a caller that has read x has waited for.
///
/// Cost: a wait counts its polls in a register that it needs only while it waits. After 64 polls without success it
/// reads the thread block's shared memory, which take_ticket() has filled, and the multiprocessor's cycle counter. In
/// half a millisecond of each nine, in which every waiting thread gets here several times, it also reads the counter
/// and the time (%globaltimer).

#include "syncfree/cuda/detail/ticket_counter.hpp"
#include "syncfree/cuda/ready/flag.cuh"

namespace syncfree::cuda {

inline __device__ unsigned long long nanoseconds()
{
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/// Cycles of the multiprocessor, modulo 2^32.
inline __device__ unsigned cycles()
{
  unsigned now;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(now));
  return now;
}

/// State of a thread block in its launch.
struct BlockState {
  TicketCounter* counter;
  unsigned long long ticket;  ///< of the thread block or its cluster; `unknown` until it has arrived
  unsigned long long since;   ///< when a wait first lasted long; 0: none did
  unsigned long long over;    ///< when it became known here that the launch was given up; 0: it was not
  unsigned long long ended;   ///< in a thread block with watch_deadline_until(): 1 once nothing is left to wait for
  long long row;              ///< row of the thread block, for waits without a row of their own
  unsigned tickets;           ///< tickets per launch
  unsigned drops;             ///< for tests: 0 if no publication is to be suppressed

  static constexpr unsigned long long unknown = ~0ull;

  /// Initializes the state. Called by one thread; a barrier must follow.
  __device__ void begin_block(TicketCounter* of, unsigned tickets_a_launch)
  {
    counter = of;
    tickets = tickets_a_launch;
    since = over = ended = 0;
#ifdef SYNCFREE_TEST_HOOKS
    drops = load_relaxed(&of->drop);
#endif
  }
  /// Returns the number of the launch, from 1.
  __device__ unsigned long long launch_number() const { return load_relaxed_block(&ticket) / tickets + 1; }
};

inline __device__ BlockState& block_state()
{
  __shared__ BlockState state;
  return state;
}

/// Sets the row of waits without one. Called by one thread; a barrier must follow.
inline __device__ void set_block_row(long long row) { block_state().row = row; }

/// A thread block's ticket (order of start) and the launch's number.
struct BlockTicket {
  unsigned long long index;   ///< in [0, blocks): thread blocks with lower ones have started
  unsigned long long launch;  ///< from 0
};

/// Takes a ticket; called by all threads of a thread block. Tickets replace the order in which thread blocks are
/// dispatched, which CUDA does not specify. The counter is never reset: each launch of `gridDim.x` thread blocks
/// takes that number of tickets.
inline __device__ BlockTicket take_ticket(TicketCounter* counter)
{
  BlockState& own = block_state();
  if (threadIdx.x == 0) {
    const unsigned long long ticket = fetch_increment_relaxed(&counter->next);
    own.begin_block(counter, gridDim.x);  // overlaps the latency of the ticket
    SYNCFREE_MAY_NANOSLEEP
    own.ticket = ticket;
  }
  __syncthreads();
  return {own.ticket % gridDim.x, own.ticket / gridDim.x};
}

#ifdef SYNCFREE_TEST_HOOKS
inline __device__ bool drops_publication()
{
  BlockState& own = block_state();
  return own.drops != 0 && load_relaxed(&own.counter->drop) != 0 && fetch_decrement_relaxed(&own.counter->drop) == 1;
}
#endif

/// Gives the launch up. Called by any thread; only the first one reports to the host. `row`: waits without success.
inline __device__ void give_up_launch(long long row)
{
  BlockState& own = block_state();
  const unsigned long long launch = own.launch_number();
  TicketCounter& counter = *own.counter;
  WaitRecord* const record = counter.record;
  SYNCFREE_MAY_NANOSLEEP
  if (exchange_relaxed(&counter.given_up, launch) == launch || !record) return;
  store_relaxed_system(&record->name, reinterpret_cast<unsigned long long>(counter.name));
  __threadfence_system();
  store_relaxed_system(&record->row, static_cast<unsigned long long>(row) + 1);
}

/// True if a wait of this thread block first lasted long before `now` by more than the wait limit. Of threads that
/// note `now` at once any may be the last.
inline __device__ bool has_waited_too_long(unsigned long long now)
{
  BlockState& own = block_state();
  const unsigned long long limit = load_relaxed(&own.counter->limit);
  if (limit == 0) return false;
  const unsigned long long since = load_relaxed_block(&own.since);
  if (since == 0) store_relaxed_block(&own.since, now);
  return since != 0 && static_cast<long long>(now - since) >= static_cast<long long>(limit);
}

/// Nanoseconds that a thread block, after its launch was given up, waits for values of its thread block and cluster
/// (longer than a thread block without waits takes), that it keeps its shared memory for values on their way to it,
/// and that it waits for a panel.
constexpr unsigned long long patience_with_cluster = 100000000, stay_for_cluster = 500000000,
                             last_patience = 10000000000;

/// True if this thread block has known for that time that the launch was given up.
inline __device__ bool is_over_for(unsigned long long nanoseconds_ago)
{
  const unsigned long long over = load_relaxed_block(&block_state().over);
  return over != 0 && static_cast<long long>(nanoseconds() - over) >= static_cast<long long>(nanoseconds_ago);
}

/// Sets own.over if the launch was given up, or gives it up. For a thread block that does not know of it yet.
__device__ __forceinline__ void look_at_clock(long long row)
{
  constexpr unsigned part = 20, parts = 16;  // 2^20 cycles in every 2^24, to limit the load on the counter's cache line
  BlockState& own = block_state();
  if ((cycles() >> part) % parts != 0 || load_relaxed_block(&own.ticket) == BlockState::unknown) return;
  const unsigned long long now = nanoseconds();
  if (load_relaxed(&own.counter->given_up) != own.launch_number()) {
    if (!has_waited_too_long(now)) return;
    give_up_launch(row < 0 ? own.row : row);
  }
  store_relaxed_block(&own.over, now);
}

template <OnGiveUp patience, DeadlineCheck clock> __device__ bool check_deadline(long long row)
{
  const unsigned long long* over = &block_state().over;
  if (load_relaxed_block(over) == 0) {
    if (clock == DeadlineCheck::self) look_at_clock(row);
    if (load_relaxed_block(over) == 0) return false;
  }
  if (patience == OnGiveUp::leave) return true;
  if (patience == OnGiveUp::leave_later) return is_over_for(patience_with_cluster);
  if (is_over_for(last_patience)) __trap();
  return false;
}

/// Waits and checks the deadline on behalf of the delegated waits of its thread block, so that these need no
/// registers for it. Called by one thread; one thread of the thread block must be in it whenever others wait.
///   soon         polls BoundedWait::polls_per_check times or until what it waits for has arrived; returns whether it
///                has
///   on_given_up  called repeatedly once values that the thread block still expects will not come any more
template <class Soon, class Late> __device__ void watch_deadline_until(Soon soon, Late on_given_up)
{
  while (!soon()) {
    SYNCFREE_MAY_NANOSLEEP
    (void)check_deadline<OnGiveUp::trap_later>(-1);
    if (is_over_for(patience_with_cluster)) on_given_up();
  }
}

/// Keeps a thread block of a cluster of `blocks` alive if the launch was given up: others may still write the values
/// they owe to its shared memory, and finish soon. Called by all threads at their end.
inline __device__ void linger_for_cluster(unsigned blocks)
{
  if (blocks == 1 || load_relaxed_block(&block_state().over) == 0) return;
  while (!is_over_for(stay_for_cluster)) {}
}

}  // namespace syncfree::cuda
