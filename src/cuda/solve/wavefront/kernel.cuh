#pragma once

/// Strategy `wavefront`: the lanes of a warp solve the pencils of a grid concurrently, each some cells after the one
/// before it (core/plan/pencil_grid.hpp). Values pass from lane to lane by shuffles; what a step reads from shared
/// memory is loaded steps before.
///
/// A thread block solves some pencil groups that follow each other across planes, one warp each. Further warps move
/// their data: panels of the factor, right-hand sides and results, in chunks of eight steps through a ring of slots,
/// and the values of other thread blocks' last pencils, into ghost buffers in shared memory (`ghosts`). Of long pencils
/// in space the larger of these, the stack, is a ring, too (`rings`).

#include "cuda/solve/wavefront/ghost_fetch.cuh"
#include "cuda/solve/wavefront/layout.cuh"
#include "cuda/solve/wavefront/stack.cuh"

namespace syncfree::cuda {

constexpr unsigned slots_of_many = 6;  ///< most slots of a ring with several columns; all are filled at the start

/// A warp that transfers all chunks of a pencil group, or every second one. It fetches the first chunks at once, and
/// fills the rest of the ring when the group's solve is under way, so that thread blocks that wait do not take memory
/// bandwidth from those that solve.
template <class N, class Memory, Stencil reads> class PencilTransferWarp {
  using Form = PencilForm<reads>;
  using Slot = typename Memory::Slot;
  static constexpr int lines_at_once = 32 / chunk_steps, rounds = pencils_per_group / lines_at_once;
  using Warps = PencilWarps<reads, N, Memory::has_rings>;
  static constexpr unsigned first_chunks = Warps::several ? slots_of_many : 4, movers = Warps::movers;
  static_assert(!Memory::has_rings || movers == 1, "the rows of a stack are released in the order of chunks");

public:
  ///   own        index of this warp among the pencil group's transfer warps
  ///   has_stack  values for the pencil group's stack arrive
  __device__ PencilTransferWarp(const PencilView& A, const Memory& memory, unsigned pencil_group,
                                const PencilGroup& group, unsigned own, N outside, bool has_stack)
      : memory_(memory),
        has_stack_(has_stack),
        first_slot_(pencil_group * A.depth),
        own_(own),
        padding_value_(outside),
        pencil_group_(pencil_group),
        chunks_(A.steps / chunk_steps),
        depth_(A.depth),
        step_(static_cast<int>(threadIdx.x) % chunk_steps),
        line_(static_cast<int>(A.grid.line)),
        lower_(A.grid.lower)
  {
    panel_ = reinterpret_cast<const typename Memory::Panel*>(A.panel) +
            static_cast<std::size_t>(group.group_z * A.groups_x + group.group_x) * chunks_;
    const PencilLane last = group.lane<reads>(A.grid, pencils_per_group - 1);
    inner_begin_ = static_cast<int>(last.lag);
    inner_end_ = last.is_there ? line_ + Form::lag_of(0) - chunk_steps : -1;
#pragma unroll
    for (int r = 0; r < rounds; ++r) {
      const PencilLane lane = group.lane<reads>(A.grid, line(r));
      row_[r] = static_cast<int>(A.grid.row_of_serial(lane.serial(A.grid, 0)));
      cell_[r] = lane.is_there ? -static_cast<int>(lane.lag) : no_line;
    }
  }

  /// Fetches the first panels, which do not depend on the kernel that writes b.
  __device__ void fetch_first_panels() const
  {
    for (unsigned q = own_; q < first(); q += movers) fetch_panel(q, q);
  }
  __device__ void copy(const Input<N> b, const Output<N> x) const
  {
    unsigned begun = own_;
    for (; begun < first(); begun += movers) fetch_cells(begun, begun, b);
    for (unsigned q = own_; q < chunks_; q += movers) {
      const unsigned slot = q % depth_, next = q + depth_;
      await_solved(slot, q / depth_ & 1);
      if (next < chunks_) fetch_panel(next, slot);
      if (Memory::has_rings && has_stack_) memory_.release_stack(pencil_group_, q);
      store_cells(q, slot, x);
      __syncwarp();
      if (next < chunks_) fetch_cells(next, slot, b);
      for (int k = 0; k < 2 && begun < min(depth_, chunks_); ++k, begun += movers) {
        fetch_panel(begun, begun);
        fetch_cells(begun, begun, b);
      }
    }
  }

private:
  static constexpr int no_line = -0x40000000;

  __device__ unsigned first() const { return min(first_chunks, min(depth_, chunks_)); }
  static __device__ int line(int round)
  {
    return static_cast<int>(threadIdx.x % 32) / chunk_steps + round * lines_at_once;
  }
  __device__ Mbarrier& full(unsigned slot) const { return memory_.full[first_slot_ + slot]; }

  /// The compute warp has no instructions to spare for a deadline: the warps that wait for it check the deadline, and
  /// store NaN for ghosts that will not arrive.
  __device__ void await_solved(unsigned slot, unsigned parity) const
  {
    const Mbarrier& solved = memory_.done[first_slot_ + slot];
    if (!solved.test_wait_parity(parity))
      watch_deadline_until([&] { return solved.spin_test_wait_parity(parity); },
                           [&] { memory_.fill_missing(pencil_group_); });
  }

  __device__ void fetch_panel(unsigned q, unsigned slot) const
  {
    if (panel_copies_itself && threadIdx.x % 32 != 0) return;
    copy_panel(full(slot), &memory_.ring[first_slot_ + slot].panel, panel_ + q, sizeof(typename Memory::Panel));
  }

  /// Calls body(row, address in the slot, true if it is a cell of the grid) for this lane's cells of chunk q.
  template <class Body> __device__ void for_cells(unsigned q, unsigned slot, Body body) const
  {
    const int first = static_cast<int>(q) * chunk_steps, step = first + step_, moved = lower_ ? step : -step;
    N* cells = memory_.ring[first_slot_ + slot].cell + step_ * Memory::pitch + line(0);
    if (first >= inner_begin_ && first <= inner_end_) {
#pragma unroll
      for (int r = 0; r < rounds; ++r) body(row_[r] + moved, cells + r * lines_at_once, std::true_type());
    } else {
#pragma unroll
      for (int r = 0; r < rounds; ++r)
        body(row_[r] + moved, cells + r * lines_at_once,
             static_cast<unsigned>(cell_[r] + step) < static_cast<unsigned>(line_));
    }
  }

  __device__ void fetch_cells(unsigned q, unsigned slot, const Input<N>& b) const
  {
    with_known_step<N>(b, [&](const Input<N>& from) {
      for_cells(q, slot, [&](int row, N* cell, auto is_one) {
        if (is_one) fetch_row<true>(cell, from, row);  // the next steps read the rest of the line
        else *cell = padding_value_;
      });
    });
    full(slot).arrive_on_cp_async();
    __syncwarp();
    if (threadIdx.x % 32 == 0) full(slot).arrive();
  }

  __device__ void store_cells(unsigned q, unsigned slot, const Output<N>& x) const
  {
    with_known_step<N>(x, [&](const Output<N>& to) {
      for_cells(q, slot, [&](int row, const N* cell, auto is_one) {
        if (is_one) store_row<N>(to, row, *cell);
      });
    });
  }

  const Memory& memory_;
  const bool has_stack_;
  const unsigned first_slot_, own_;
  const N padding_value_;
  const unsigned pencil_group_, chunks_, depth_;
  const int step_;  ///< of a chunk
  const int line_;
  const bool lower_;
  int inner_begin_, inner_end_;  ///< first steps of chunks in which all pencils have all cells
  const typename Memory::Panel* panel_;
  int row_[rounds], cell_[rounds];  ///< at step 0
};

/// The compute warp of a pencil group. It loads chunk data `ahead` steps before their use, and ghosts a group of steps
/// before.
template <class N, class Memory, Stencil reads, bool inverts> class PencilComputeWarp {
  using Form = PencilForm<reads>;
  using Panel = typename Memory::Panel;
  using Slot = typename Memory::Slot;
  using Entry = typename EntryOf<N>::type;
  static constexpr bool rings = Memory::has_rings;
  using Stack = std::conditional_t<rings, RingStack<N, reads>, WholeStack<N, reads>>;
  static constexpr int ahead = 2, group = !Form::in_space || PencilWarps<reads, N>::several ? 4 : 1;
  static constexpr int looks = (group + 1) / 2;  ///< steps of a group in which the next group's ghosts are loaded
  static constexpr int buffers = Form::in_space ? 2 : 1, width = Form::stack_width, side = Form::side_width;
  static constexpr bool scaled = Panel::numbers > Panel::entries;
  static_assert(chunk_steps % ahead == 0 && chunk_steps % (2 * group) == 0);

public:
  /// If has_next, publishes the values of the last plane's pencils (in a plane: of the last pencil) to `next`; if
  /// has_adjacent, those of the last pencil of each plane to `to_side`.
  ///   of_next  with rings, counts what the group that reads `next` has released; nullptr: `next` is in the mailbox
  __device__ PencilComputeWarp(const PencilView& A, const Memory& memory, unsigned pencil_group,
                               typename SentinelValue<N>::word* next, bool has_next, const SharedCounter* of_next,
                               const Publisher<N, true>& to_side, bool has_adjacent)
      : slot_(memory.ring + pencil_group * A.depth),
        full_(memory.full + pencil_group * A.depth),
        done_(memory.done + pencil_group * A.depth),
        next_(stack_at(next, of_next)),
        to_side_(to_side),
        depth_(A.depth),
        chunks_(A.steps / chunk_steps)
  {
    const int in_plane = lane() % Form::height, plane = lane() / Form::height;
    const int of_stack = Form::in_space ? plane : in_plane;
    reads_lane_[0] = of_stack > 0, reads_lane_[1] = in_plane > 0;
    gives_ = has_next && of_stack == (Form::in_space ? Form::depth : Form::height) - 1;
    gives_side_ = has_adjacent && in_plane == Form::height - 1;
    side_column_ = static_cast<unsigned>(plane);
    ghosts_[0] = first_ghost_ = memory.stack(pencil_group) + Memory::stack_begin * width + stack_column();
    if constexpr (Form::in_space) ghosts_[1] = memory.side(pencil_group) + Form::side_delay * side + side_column_;
  }

  __device__ void solve_steps()
  {
    full_[0].wait_watched(0);
#pragma unroll
    for (int e = 0; e < ahead; ++e) load_step(slot_[0], e, e);
    load_ghosts(0, 0, 0, group);
    await_ghosts(0, 0);
    prepare_step(0);
    RingCursor at, next;
    next.advance(depth_);
    for (unsigned q = 0; q < chunks_; ++q, at = next, next.advance(depth_)) {
      const bool last = q + 1 == chunks_;
      Slot& slot = slot_[at.panel];
      const Slot& after = last ? slot : slot_[next.panel];
      const auto to_next = next_.begin_chunk(q);
      const auto to_adjacent = to_side_.from(q * chunk_steps * side + side_column_);
      if constexpr (rings) after_ = first_ghost_ + (q + 1) % Memory::Ring::chunks * chunk_steps * width;
      bool is_open = true;
#pragma unroll
      for (int e = 0; e < chunk_steps; ++e) {
        const int in_group = e % group, other = 1 - e / group % 2;
        solve_step(e);
        slot.cell[e * Memory::pitch + lane()] = last_;
        to_next.put_if(gives_, e, last_);
        if constexpr (Form::in_space) to_adjacent.put_if(gives_side_, e * side, last_);
        if (e + ahead == chunk_steps && !last && !is_open) full_[next.panel].wait_watched(next.round);
        load_step(e + ahead < chunk_steps ? slot : after, (e + ahead) % chunk_steps, e % ahead);
        if (e + ahead + 2 == chunk_steps && !last) is_open = full_[next.panel].test_wait_parity(next.round);
        if (in_group < looks)
          load_ghosts(other, e - in_group + group, in_group * group / looks, (in_group + 1) * group / looks);
        prepare_step((e + 1) % chunk_steps);
        if (in_group == group - 1) await_ghosts(other, e + 1);
      }
      if constexpr (rings) ghosts_[0] = after_;
      else ghosts_[0] += chunk_steps * width;
      if constexpr (Form::in_space) ghosts_[1] += chunk_steps * side;
      __syncwarp();
      if (lane() == 0) done_[at.panel].arrive();
    }
  }

private:
  static __device__ int lane() { return static_cast<int>(threadIdx.x % 32); }
  /// Returns this lane's place in a step's row of the stack.
  static __device__ unsigned stack_column()
  {
    return static_cast<unsigned>(Form::in_space ? lane() % Form::height : 0);
  }
  static __device__ Stack stack_at(typename SentinelValue<N>::word* next, const SharedCounter* of_next)
  {
    if constexpr (rings) return Stack(next, stack_column(), of_next);
    else return Stack(next, stack_column());
  }

  /// Loads step `e` of a slot.
  __device__ void load_step(const Slot& slot, int e, int into)
  {
    slot.panel.read_cell(e * pencils_per_group + lane(), number_[into]);
    start_[into] = slot.cell[e * Memory::pitch + lane()];
  }

  /// Returns the stack's ghost for a step counted from the chunk's first one; from `chunk_steps` on the next chunk's.
  __device__ const N* stack_ghost(int step) const
  {
    if (rings && step >= chunk_steps) return after_ + (step - chunk_steps) * width;
    return ghosts_[0] + step * width;
  }

  /// Loads the ghosts for steps [begin, end) of the group that begins at step `first` of the chunk.
  __device__ void load_ghosts(int which, int first, int begin, int end)
  {
#pragma unroll
    for (int s = begin; s < end; ++s) {
      from_[0][which][s] = SharedSentinelValue<N>::load_shared(stack_ghost(first + s));
      if constexpr (Form::in_space)
        from_[1][which][s] = SharedSentinelValue<N>::load_shared(ghosts_[1] + (first + s) * side);
    }
  }

  /// Polls until all of them have arrived.
  __device__ void await_ghosts(int which, int first)
  {
    for (;;) {
      bool missing = false;
#pragma unroll
      for (int t = 0; t < buffers; ++t)
#pragma unroll
        for (int s = 0; s < group; ++s) missing |= !SharedSentinelValue<N>::is_stored(from_[t][which][s]);
      if (!__any_sync(~0u, missing)) return;
      load_ghosts(which, first, 0, group);
    }
  }

  /// Computes a step's sum except for what comes from the last step of other pencils.
  __device__ void prepare_step(int e)
  {
    for (int j = 0; j < Panel::numbers; ++j) entry_[j] = Entry(number_[e % ahead][j]);
    sum_ = scaled ? product(start_[e % ahead], entry_[Panel::numbers - 1]) : start_[e % ahead];
    if constexpr (!Form::in_space && Form::entries > 2) sum_ -= product(entry_[2], before_[0]);
    if constexpr (!Form::in_space && Form::entries > 3) sum_ -= product(entry_[3], before_[1]);
    sum_ -= product(entry_[0], last_);
  }

  /// Returns the last step's value of the pencil before in that direction, from its lane or a ghost buffer.
  __device__ N received(int which, int e) const
  {
    return reads_lane_[which] ? of_lane_[which].shuffled() : from_[which][e / group % 2][e % group];
  }

  __device__ void solve_step(int e)
  {
    const N of_stack = received(0, e);
    if constexpr (Form::in_space) {
      sum_ -= product(entry_[1], received(1, e));
      sum_ -= product(entry_[2], of_stack);
    } else {
      sum_ -= product(entry_[1], of_stack);
      before_[1] = before_[0], before_[0] = of_stack;
    }
    if constexpr (inverts) sum_ = N(1) / sum_;
    last_ = sum_;
    of_lane_[0] = ShflUp<N>(last_, Form::in_space ? Form::height : 1, 32);
    if constexpr (Form::in_space) of_lane_[1] = ShflUp<N>(last_, 1, Form::height);
  }

  Slot* const slot_;
  Mbarrier *const full_, *const done_;
  Stack next_;
  const Publisher<N, true> to_side_;
  const unsigned depth_, chunks_;
  bool reads_lane_[2], gives_, gives_side_;  ///< in the stack's direction, and the side's
  unsigned side_column_;                         ///< in a step's row of a ghost buffer
  const N* ghosts_[2];                           ///< this lane's ghosts, from the current chunk on
  const N *first_ghost_, *after_;                ///< with rings: of the stack's first place, and of the next chunk
  std::remove_extent_t<decltype(Panel::number)> number_[ahead][Panel::numbers];  ///< perhaps in single precision
  Entry entry_[Panel::numbers];                                                  ///< of the next step
  N start_[ahead], from_[buffers][2][group];
  N sum_, last_ = N(0), before_[2] = {N(0), N(0)};
  ShflUp<N> of_lane_[2] = {ShflUp<N>(N(0)), ShflUp<N>(N(0))};
};

/// Solves a pencil group, by the warp of that index. In a cluster the next thread block's ghost buffer replaces the
/// mailbox: in space that of the side.
template <Stencil reads, bool inverts, class N, class Memory, class Box>
__device__ void solve_pencil_group(const PencilView& A, const PencilBlock<reads>& block, const Memory& memory,
                                   const Box& box, bool hands_on, unsigned next_rank)
{
  using Form = PencilForm<reads>;
  constexpr bool in_space = Form::in_space;
  using word = typename SentinelValue<N>::word;
  const unsigned w = threadIdx.x / 32;
  const bool is_last = w + 1 == block.pencil_groups, has_adjacent = in_space && block.group_x + 1 < A.groups_x;
  word *next = box.slot_at(block.first_exported), *side = box.slot_at(block.first_exported + block.side_offset(w));
  if (!is_last) next = reinterpret_cast<word*>(memory.stack(w + 1));
  else if (hands_on && !in_space) next = reinterpret_cast<word*>(map_shared_rank(memory.stack(0), next_rank));
  else if (Memory::has_rings) next += SentinelValue<N>::words * Form::stack_delay * Form::stack_width;
  if (hands_on && in_space) side = reinterpret_cast<word*>(map_shared_rank(memory.side(w), next_rank));
  PencilComputeWarp<N, Memory, reads, inverts>(A, memory, w, next, !is_last || block.has_next,
                                          is_last ? nullptr : memory.released + w + 1, Publisher<N, true>(side),
                                          has_adjacent)
    .solve_steps();
}

/// Fetches ghosts from the mailbox, by one of the polling warps: a part of the first pencil group's stack and one
/// group's side. Those of the adjacent thread block, which in a plane are the stack, only if it is in another
/// cluster.
template <Stencil reads, class N, class Memory, class Box>
__device__ void fetch_from_mailbox(const PencilView& A, const PencilBlock<reads>& block, const Memory& memory,
                                   const Box& box, unsigned poller, bool is_first)
{
  using Form = PencilForm<reads>;
  constexpr unsigned width = Form::stack_width, side = Form::side_width, parts = 2;
  constexpr unsigned pollers = PencilWarps<reads, N, Memory::has_rings>::pollers, unread = Form::stack_delay * width;
  const bool polls_stack = block.has_before && (Form::in_space || is_first);
  const auto of_stack = [&](unsigned part) {
    if constexpr (Memory::has_rings)
      return RingFetch<N, Memory::Ring::steps * width, chunk_steps * width>(
          memory.stack(0), memory.released, polls_stack ? block.steps * width - unread : 0, block.from_before + unread,
          parts * poller + part, parts * pollers);
    else
      return GhostFetch<N>(memory.stack(0), unread, polls_stack ? block.steps * width : 0, block.from_before,
                          parts * poller + part, parts * pollers);
  };
  if constexpr (Form::in_space) {
    const bool polls_side = block.has_adjacent && is_first && poller < block.pencil_groups;
    const auto of_side = [&](unsigned part) {
      return GhostFetch<N>(memory.side(poller), Form::side_delay * side, polls_side ? block.steps * side : 0,
                          block.from_adjacent + block.side_offset(poller), part, parts);
    };
    if constexpr (Memory::has_rings) {
      decltype(of_stack(0)) stack[] = {of_stack(0), of_stack(1)};
      GhostFetch<N> sides[] = {of_side(0), of_side(1)};
      fetch_ghost_values<true>(box, stack, sides);
    } else {
      GhostFetch<N> fetch[] = {of_stack(0), of_stack(1), of_side(0), of_side(1)};
      fetch_ghost_values<false>(box, fetch);
    }
  } else {
    GhostFetch<N> fetch[] = {of_stack(0), of_stack(1)};
    fetch_ghost_values<false>(box, fetch);
  }
}

/// owns       a thread block owns up to A.pencil_groups groups that follow each other across planes, of one chunk of
///            `columns_of<N>` columns; a lane of a compute warp owns a pencil, a transfer warp chunks of a pencil group
/// waits      compute warps for chunks and ghosts; transfer warps until a chunk is solved; polling warps for values of
///            earlier thread blocks. With `rings` what fills a stack also waits until rows of older steps are released
/// publishes  the values of last pencils, in the ghost buffer of the pencil group that reads them or through the
///            mailbox; polling warps clear its slots for the next launch. In clusters all thread blocks but the
///            last store them into the next one's ghost buffer, and only the first polls; a thread block does not end
///            while a value of its ghost buffers is missing, even one that is never read. With `rings` a transfer warp
///            clears the rows of a stack that a chunk has read, and counts the chunk
/// order      mailbox and ghost buffers hold sentinel values (relaxed; scope: device, thread block or cluster); a
///            cluster synchronizes after ghost buffers are cleared and before any value is put. Chunks: one mbarrier
///            completes when panel and right-hand sides have arrived, another when the compute warp, after a
///            __syncwarp(), has read them and left its results; the transfer warp stores these, then refills the slot.
///            With `rings` that mbarrier also says that a chunk's ghosts are read: then the transfer warp clears their
///            rows; its count (release) leads to those who fill them again (acquire). Its arrival for chunk q + depth
///            leads to the reader, so that this finds no old value in chunk q + StackRing::chunks, as depth is less
/// progress   earlier clusters have earlier tickets and never wait for later ones; within a cluster or thread block a
///            pencil group waits for earlier groups only, and a chunk is requested when its slot's old one is solved.
///            With `rings` a group, or a polling warp, that is a ring ahead waits for the next group of its thread
///            block. That group then has all it reads of the stack, so the two never wait for each other. Sides and
///            the mailbox are whole: no thread block waits for a later one. After a give-up fill_missing() lets a group
///            go on, and its transfer warp releases rows
/// result     reproducible: the order of additions depends on the plan only. `inverts`: 1 / x_i in place of x_i
/// source     pencil sweep (KBA: Koch, Baker and Alcouffe 1992); here a lane solves a pencil, and thread blocks wait
///            for sentinel values instead of messages
template <class N, class V, Stencil reads, bool scaled, bool inverts, bool many, bool rings = false>
__global__ void __launch_bounds__(32 * PencilWarps<reads, N, rings>::all, 1)
    solve_pencils(PencilView A, typename SingleReaderMailbox<N>::View mailbox, TicketCounter* counter, Input<N> b,
                  Output<N> x)
{
  using Memory = PencilSharedMemory<N, PencilPanel<DeviceScalar<V>, reads, scaled>, reads, rings>;
  extern __shared__ __align__(16) unsigned char shared[];
  const unsigned cluster = many ? 1 : A.cluster, rank = cluster > 1 ? rank_in_cluster() : 0;
  const BlockTicket ticket = take_ticket(counter, cluster);
  unsigned own = static_cast<unsigned>(ticket.index) / cluster;
  ChunkOfBlock chunk;
  if constexpr (many) chunk = take_chunk<N>(A.blocks, &own, &b, &x);
  if (A.order) own = A.order[own];
  const unsigned clusters = (A.groups_x + cluster - 1) / cluster, group_x = own % clusters * cluster + rank;
  if (group_x >= A.groups_x) return cluster_sync(cluster);
  const PencilBlock<reads> block(A, own / clusters, group_x);
  const SingleReaderMailbox<N> box(mailbox, A.exports * chunk.which);
  const Memory memory(shared, A);
  memory.start(block);
  if (threadIdx.x == 0) set_block_row(block.first_row(A));
  cluster_sync(cluster);
  using Warps = PencilWarps<reads, N, rings>;
  constexpr unsigned movers = Warps::movers;
  const unsigned helper_warp_index = Warps::helper_warp_index(),
                 poller = helper_warp_index - block.pencil_groups * movers;
  const bool moves = helper_warp_index < block.pencil_groups * movers;
  const unsigned moved = moves ? helper_warp_index / movers : 0;
  const PencilTransferWarp<N, Memory, reads> moving(A, memory, moved, {group_x, block.group_z + moved},
                                                    helper_warp_index % movers, N(inverts ? 1 : 0),
                                                    block.has_stack(moved));
  if (moves) moving.fetch_first_panels();
  wait_for_primary_launch();
  trigger_dependent_launch();
  const bool hands_on = rank + 1 < cluster, polls = helper_warp_index != Warps::none && poller < Warps::pollers;
  if (threadIdx.x / 32 < block.pencil_groups) {
    solve_pencil_group<reads, inverts, N>(A, block, memory, box, hands_on, rank + 1);
    if (rank > 0) memory.await_unread(threadIdx.x / 32);
  } else if (moves) moving.copy(b, x);
  else if (polls) fetch_from_mailbox<reads, N>(A, block, memory, box, poller, rank == 0);
  linger_for_cluster(cluster);
}

}  // namespace syncfree::cuda
