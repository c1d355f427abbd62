#pragma once

/// The part of ready.cuh that knows of launches: tickets, and waits that end.
///
/// A protocol without a flaw needs no limit: a waiter waits only for work that goes on. A flaw (memory that something
/// else has overwritten, a replay that must not be, an object that two threads use) would be a device that spins for
/// ever. So a block remembers when it began, and where one of its threads still waits `limit` later, that thread gives
/// the launch up: it tells the host which row waited, once, and all waits of all blocks leave as soon as they see it.
///   - What leaves a wait for a number goes on with the sentinel, which is a NaN: so is all that is computed from it,
///     and publishing makes another NaN of the sentinel, so that what waits for that is served as always. Flags and
///     counts tell of data that may be old: what leaves these puts NaN in the place of its sum.
///   - Nothing is left out: all barriers are met, all gates arrived at, each place of the next launch's mailbox is
///     cleared. Indices are never among what is waited for, but in pages (Gate), whose waits do not end so.
///   - What comes from threads of the same block or cluster comes as soon as these have given up what they wait for, so
///     such a wait is left a little later only (OnGiveUp::leave_later), and a block of a cluster then stays until all
///     others of it must have ended (linger_for_cluster()): none ends while another one may put numbers into its
///     memory. A gate that is shut for long even then traps (OnGiveUp::trap_later): its page must not be read.
///
/// Memory order. The mark of a launch and its record decide nothing but when a wait ends, and a NaN may be seen in
/// place of a number at any time, so relaxed accesses are enough for both. A launch is named by its number, which
/// follows from the ticket, so that nothing has to be set back; in a cluster a block that does not know its ticket yet
/// sees `unknown` and goes on waiting. The record's row is written after its name, at the scope of the system, with a
/// fence between them; the host reads the row, then the name. That it reads the row in the first call after the launch
/// follows from the launch having ended, which a caller that has looked at x waited for.
///
/// Cost: a wait counts its looks in a register, which it needs only while it waits. After 64 looks in vain it reads the
/// block's shared memory, which take_ticket() has filled, and the clock; in half a millisecond of each eight, when each
/// thread that waits passes here some times, the counter, too.

#include "syncfree/cuda/detail/turn_counter.hpp"
#include "syncfree/cuda/ready/flag.cuh"

namespace syncfree::cuda {

inline __device__ unsigned long long nanoseconds()
{
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/// What a block knows of its launch.
struct BlockState {
  TicketCounter* counter;
  unsigned long long ticket;  ///< of the block or of its cluster; `unknown` while that is on its way
  unsigned long long since;   ///< when the block began
  unsigned long long over;    ///< when it became known here that the launch was given up; 0: it was not
  unsigned long long ended;   ///< of a block that is watched: 1: there is nothing left to wait for
  long long row;              ///< of the block, for waits that do not name theirs
  unsigned tickets;           ///< of a launch
  unsigned drops;             ///< of tests: 0 where no publication is to be left out

  static constexpr unsigned long long unknown = ~0ull;

  /// By one thread; then a barrier.
  __device__ void begin(TicketCounter* of, unsigned tickets_a_launch)
  {
    counter = of;
    tickets = tickets_a_launch;
    since = nanoseconds();
    over = ended = 0;
#ifdef SYNCFREE_TEST_HOOKS
    drops = load_relaxed(&of->drop);
#endif
  }
  /// From 1 on.
  __device__ unsigned long long launch() const { return load_relaxed_block(&ticket) / tickets + 1; }
};

inline __device__ BlockState& block_state()
{
  __shared__ BlockState place;
  return place;
}

/// For Spins without a row. By one thread; then a barrier.
inline __device__ void set_block_row(long long row) { block_state().row = row; }

/// What a block does in a launch, and which launch it is.
struct BlockTicket {
  unsigned long long place;   ///< in [0, blocks): blocks that have lower ones have started
  unsigned long long launch;  ///< from 0 on
};

/// Called by all threads of a block. Tickets replace the order in which blocks are dispatched, which nobody promises.
/// The counter is never set back: each launch of `gridDim.x` blocks takes as many tickets.
inline __device__ BlockTicket take_ticket(TicketCounter* counter)
{
  BlockState& own = block_state();
  if (threadIdx.x == 0) {
    const unsigned long long ticket = fetch_increment_relaxed(&counter->next);
    own.begin(counter, gridDim.x);  // while the ticket is on its way
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

/// By any thread; the first one tells the host. `row`: that waits in vain.
inline __device__ void give_up_launch(long long row)
{
  BlockState& own = block_state();
  const unsigned long long launch = own.launch();
  TicketCounter& counter = *own.counter;
  WaitRecord* const record = counter.record;
  if (exchange_relaxed(&counter.given_up, launch) == launch || !record) return;
  store_relaxed_system(&record->name, reinterpret_cast<unsigned long long>(counter.name));
  __threadfence_system();
  store_relaxed_system(&record->row, static_cast<unsigned long long>(row) + 1);
}

/// Did the block at hand begin longer ago than a wait may last?
inline __device__ bool has_waited_too_long(unsigned long long now)
{
  const BlockState& own = block_state();
  const unsigned long long limit = load_relaxed(&own.counter->limit);
  return limit != 0 && static_cast<long long>(now - own.since) >= static_cast<long long>(limit);
}

/// Nanoseconds that a block which has given up waits for numbers of its block and cluster (longer than a block takes
/// that does not wait), that it keeps its memory for those on their way to it, and that it waits for a page.
constexpr unsigned long long patience_with_cluster = 100000000, stay_for_cluster = 500000000,
                             last_patience = 10000000000;

/// Was it known so long ago in this block that the launch was given up?
inline __device__ bool is_over_for(unsigned long long nanoseconds_ago)
{
  const unsigned long long over = load_relaxed_block(&block_state().over);
  return over != 0 && static_cast<long long>(nanoseconds() - over) >= static_cast<long long>(nanoseconds_ago);
}

/// Makes own.over known where the launch has been given up, or gives it up. In a block that does not know of it.
__device__ __forceinline__ void look_at_clock(long long row)
{
  constexpr unsigned part = 19, parts = 16;  // 2^19 ns of each sixteen times as many, not to load the counter's line
  BlockState& own = block_state();
  const unsigned long long now = nanoseconds();
  if ((now >> part) % parts != 0 || load_relaxed_block(&own.ticket) == BlockState::unknown) return;
  if (load_relaxed(&own.counter->given_up) != own.launch()) {
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

/// By one thread: waits, and looks at the clock for the waits of its block that are watched, so that these need no
/// registers for it. Some thread of the block must always be here while others wait.
///   soon     looks BoundedWait::polls_per_check times, or until there is what it waits for; is it?
///   on_given_up  called again and again once what the block is owed will not come any more
template <class Soon, class Late> __device__ void watch_deadline_until(Soon soon, Late on_given_up)
{
  while (!soon()) {
    (void)check_deadline<OnGiveUp::trap_later>(-1);
    if (is_over_for(patience_with_cluster)) on_given_up();
  }
}

/// By all threads of a block of a cluster of `blocks`, at their ends: where the launch was given up others may still be
/// under way to its memory with what they owe, and are done with that soon.
inline __device__ void linger_for_cluster(unsigned blocks)
{
  if (blocks == 1 || load_relaxed_block(&block_state().over) == 0) return;
  while (!is_over_for(stay_for_cluster)) {}
}

}  // namespace syncfree::cuda
