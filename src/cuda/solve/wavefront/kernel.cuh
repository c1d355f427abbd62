#pragma once

/// Strategy `wavefront`: the lanes of a warp solve the pencils of a grid concurrently, each some cells after the one
/// before it (core/plan/pencil_grid.hpp). Values pass from lane to lane by shuffles; what a step reads from shared
/// memory is loaded steps before.
///
/// A thread block solves some pencil groups that follow each other across planes, one warp each. Further warps move
/// their data: panels of the factor, right-hand sides and results, in chunks of eight steps through a ring of slots,
/// and the values of other thread blocks' last pencils, into ghost buffers in shared memory (`ghosts`).

#include "core/plan/pencil_grid.hpp"
#include "cuda/base/multivector.cuh"
#include "cuda/solve/wavefront/ghost_fetch.cuh"
#include "cuda/sync/async_copy.cuh"
#include "cuda/sync/cluster.cuh"
#include "cuda/sync/mailboxes.cuh"
#include "cuda/sync/publisher.cuh"
#include "cuda/sync/ring.cuh"

namespace syncfree::cuda {

struct PencilView {
  PencilGrid grid;
  const std::uint32_t* order;  ///< cluster by ticket; nullptr: the identity
  const unsigned char* panel;   ///< PencilPanel, by pencil group and chunk
  unsigned groups_x, groups_z;    ///< number of pencil groups in a plane, and across planes
  unsigned pencil_groups;            ///< of a thread block, at most
  unsigned blocks;
  unsigned steps;
  unsigned depth;              ///< slots of a ring
  unsigned cluster;            ///< size: adjacent thread blocks that store ghosts in each other's memory; 1: mailbox
  std::size_t exports;
};

/// One thread block: its pencil groups, its neighbours, and the mailbox slots of the values that it exports and reads.
template <Stencil reads> struct PencilBlock {
  using Form = PencilForm<reads>;
  unsigned group_x, group_z, pencil_groups;  ///< position of its first pencil group, and number of groups
  bool has_before, has_adjacent, has_next;  ///< neighbours: before it (stack), adjacent (sides), after it (stack)
  unsigned steps;
  std::size_t first_exported;
  std::size_t from_before, from_adjacent;  ///< first mailbox slots of those that it reads

  ///   row  of A.groups_x adjacent thread blocks
  __device__ PencilBlock(const PencilView& A, unsigned row, unsigned group_x) : group_x(group_x), steps(A.steps)
  {
    group_z = row * A.pencil_groups;
    pencil_groups = min(A.pencil_groups, A.groups_z - group_z);
    has_before = Form::in_space ? row > 0 : group_x > 0;
    has_next = Form::in_space ? group_z + pencil_groups < A.groups_z : group_x + 1 < A.groups_x;
    has_adjacent = Form::in_space && group_x > 0;
    const std::size_t exports = Form::numbers_sent(steps, A.pencil_groups);
    first_exported = exports * (std::size_t{row} * A.groups_x + group_x);
    from_before = first_exported - exports * (Form::in_space ? A.groups_x : 1);
    from_adjacent = first_exported - exports;
  }
  __device__ long long first_row(const PencilView& A) const
  {
    const PencilLane first = PencilGroup{group_x, group_z}.lane<reads>(A.grid, 0);
    return A.grid.row_of_serial(first.serial(A.grid, first.lag));
  }
  /// Returns where, after a thread block's first mailbox slot, pencil group w's values for the adjacent one begin.
  __device__ std::size_t side_offset(unsigned w) const { return Form::numbers_sent(steps, w); }
};

/// Data of a chunk of a pencil group: entries, followed by the scale (if any), in pairs.
template <class M, Stencil reads, bool scaled> struct PencilPanel {
  static constexpr int entries = PencilForm<reads>::entries, numbers = entries + scaled;
  static constexpr int cells = chunk_steps * pencils_per_group;
  M number[numbers * cells];

  /// Returns the index of number j of a cell; cell = step * 32 + lane.
  static __device__ int index_of(int j, int cell)
  {
    return j < numbers / 2 * 2 ? (j / 2 * cells + cell) * 2 + j % 2 : numbers / 2 * 2 * cells + cell;
  }
  __device__ void read_cell(int cell, M (&of)[numbers]) const
  {
#pragma unroll
    for (int p = 0; p < numbers / 2; ++p) {
      const Pair<M> pair = reinterpret_cast<const Pair<M>*>(number + p * 2 * cells)[cell];
      of[2 * p] = pair.first, of[2 * p + 1] = pair.second;
    }
    if (numbers % 2) of[numbers - 1] = number[numbers / 2 * 2 * cells + cell];
  }
};

/// Layout of a thread block's shared memory. A ghost buffer has a row of values for each step of the pencil
/// group that they come from, followed by rows of zeros. `stack`: from the group before; `side`: from the adjacent one.
template <class N, class P, Stencil reads> struct PencilSharedMemory {
  using Panel = P;
  using Form = PencilForm<reads>;
  static constexpr int pitch = pencils_per_group + 2;  ///< avoids bank conflicts along pencils and along steps
  struct alignas(16) Slot {
    Panel panel;
    N cell[chunk_steps * pitch];  ///< right-hand sides, then results
  };
  N* ghosts;
  Slot* ring;
  Mbarrier *full, *done;  ///< by slot: it has arrived; it is solved
  unsigned steps, depth;

  static constexpr int arrivals = 1 + 32 + 1;  ///< at `full`: of the panel, of right-hand sides, of padding
  static constexpr unsigned stack_rows(unsigned steps) { return steps + Form::stack_delay + chunk_steps; }
  static constexpr unsigned side_rows(unsigned steps) { return steps + Form::side_delay + chunk_steps; }
  static constexpr unsigned ghost_numbers(unsigned steps)
  {
    return stack_rows(steps) * Form::stack_width + side_rows(steps) * Form::side_width;
  }
  static constexpr std::size_t ring_begin(unsigned pencil_groups, unsigned steps)
  {
    return (sizeof(N) * std::size_t{pencil_groups} * ghost_numbers(steps) + 15) / 16 * 16;
  }
  static std::size_t shared_bytes(unsigned pencil_groups, unsigned steps, unsigned depth)
  {
    return ring_begin(pencil_groups, steps) +
           std::size_t{pencil_groups} * depth * (sizeof(Slot) + 2 * sizeof(Mbarrier));
  }

  __device__ PencilSharedMemory(unsigned char* memory, const PencilView& A) : steps(A.steps), depth(A.depth)
  {
    ghosts = reinterpret_cast<N*>(memory);
    ring = reinterpret_cast<Slot*>(memory + ring_begin(A.pencil_groups, steps));
    full = reinterpret_cast<Mbarrier*>(ring + A.pencil_groups * depth);
    done = full + A.pencil_groups * depth;
  }

  __device__ N* stack(unsigned pencil_group) const { return ghosts + pencil_group * ghost_numbers(steps); }
  __device__ N* side(unsigned pencil_group) const
  {
    return stack(pencil_group) + stack_rows(steps) * Form::stack_width;
  }

  /// Called by a pencil group's warp: waits for those rows of its ghost buffer that the previous thread block of the
  /// cluster stores and nothing reads.
  __device__ void await_unread(unsigned pencil_group) const
  {
    if (Form::in_space) await_numbers(side(pencil_group), Form::side_delay * Form::side_width);
    else await_numbers(stack(pencil_group), Form::stack_delay * Form::stack_width);
  }

  /// Called by one warp after the launch was given up: stores NaN for all ghosts of a group that have not arrived.
  __device__ void fill_missing(unsigned pencil_group) const
  {
    N* const first = stack(pencil_group);
    for (unsigned k = threadIdx.x % 32; k < ghost_numbers(steps); k += 32)
      if (!SharedSentinelValue<N>::is_stored(SharedSentinelValue<N>::load_shared(first + k)))
        SharedSentinelValue<N>::store_shared(first + k, quiet_nan<N>());
  }

  /// Called by all threads; a barrier must follow.
  __device__ void start(const PencilBlock<reads>& block) const
  {
    if (threadIdx.x < block.pencil_groups * depth) {
      full[threadIdx.x].init(arrivals);
      done[threadIdx.x].init(1);
      fence_mbarrier_init();
    }
    for (unsigned w = 0; w < block.pencil_groups; ++w) {
      const bool has_stack = w > 0 || block.has_before;
      clear_numbers(stack(w), stack_rows(steps) * Form::stack_width, has_stack ? steps * Form::stack_width : 0);
      clear_numbers(side(w), side_rows(steps) * Form::side_width, block.has_adjacent ? steps * Form::side_width : 0);
    }
  }

private:
  /// Clears the first `awaited` values, which are still to arrive, and sets the others to zero.
  static __device__ void clear_numbers(N* numbers, unsigned count, unsigned awaited)
  {
    for (unsigned k = threadIdx.x; k < count; k += blockDim.x) {
      if (k < awaited) SharedSentinelValue<N>::clear_shared(numbers + k);
      else numbers[k] = N(0);
    }
  }
};

/// Roles of a thread block's warps: compute warps, one for each pencil group, then transfer warps, then polling warps.
/// In a plane the compute warp has its scheduler, which is that of every fourth warp, to itself.
template <Stencil reads, class N> struct PencilWarps {
  static constexpr bool in_space = PencilForm<reads>::in_space, several = columns_of<N> > 1;
  /// Most groups of a thread block. With several columns a third one slowed the two others by more than it gained.
  static constexpr unsigned pencil_groups = !in_space ? 1 : several ? 2 : 4;
  static constexpr unsigned movers = in_space && !several ? 1 : 2;  ///< for each pencil group
  static constexpr unsigned pollers = in_space ? 4 : 2;
  static constexpr unsigned all = in_space ? pencil_groups * (1 + movers) + pollers : 6;
  static constexpr unsigned none = ~0u;
  static_assert(!in_space || pencil_groups <= pollers, "the side of each pencil group has a warp that polls for it");

  /// Returns the index of this warp among those that do not compute, or `none`.
  static __device__ unsigned helper_warp_index()
  {
    const unsigned warp = threadIdx.x / 32;
    if (in_space) return warp < pencil_groups ? none : warp - pencil_groups;
    return warp % 4 == 0 ? none : warp / 4 * 3 + warp % 4 - 1;
  }
};

constexpr unsigned slots_of_many = 6;  ///< most slots of a ring with several columns; all are filled at the start

/// A warp that transfers all chunks of a pencil group, or every second one. It fetches the first chunks at once, and
/// fills the rest of the ring when the group's solve is under way, so that thread blocks that wait do not take memory
/// bandwidth from those that solve.
template <class N, class Memory, Stencil reads> class PencilTransferWarp {
  using Form = PencilForm<reads>;
  using Slot = typename Memory::Slot;
  static constexpr int lines_at_once = 32 / chunk_steps, rounds = pencils_per_group / lines_at_once;
  using Warps = PencilWarps<reads, N>;
  static constexpr unsigned first_chunks = Warps::several ? slots_of_many : 4, movers = Warps::movers;

public:
  ///   own  index of this warp among the pencil group's transfer warps
  __device__ PencilTransferWarp(const PencilView& A, const Memory& memory, unsigned pencil_group,
                                const PencilGroup& group, unsigned own, N outside)
      : memory_(memory),
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
  static constexpr int ahead = 2, group = !Form::in_space || PencilWarps<reads, N>::several ? 4 : 1;
  static constexpr int looks = (group + 1) / 2;  ///< steps of a group in which the next group's ghosts are loaded
  static constexpr int buffers = Form::in_space ? 2 : 1, width = Form::stack_width, side = Form::side_width;
  static constexpr bool scaled = Panel::numbers > Panel::entries;
  static_assert(chunk_steps % ahead == 0 && chunk_steps % (2 * group) == 0);

public:
  /// If has_next, publishes the values of the last plane's pencils (in a plane: of the last pencil) to `next`; if
  /// has_adjacent, those of the last pencil of each plane to `to_side`.
  __device__ PencilComputeWarp(const PencilView& A, const Memory& memory, unsigned pencil_group,
                               const Publisher<N, true>& next, bool has_next, const Publisher<N, true>& to_side,
                               bool has_adjacent)
      : slot_(memory.ring + pencil_group * A.depth),
        full_(memory.full + pencil_group * A.depth),
        done_(memory.done + pencil_group * A.depth),
        next_(next),
        to_side_(to_side),
        depth_(A.depth),
        chunks_(A.steps / chunk_steps)
  {
    const int in_plane = lane() % Form::height, plane = lane() / Form::height;
    const int of_stack = Form::in_space ? plane : in_plane;
    reads_lane_[0] = of_stack > 0, reads_lane_[1] = in_plane > 0;
    gives_ = has_next && of_stack == (Form::in_space ? Form::depth : Form::height) - 1;
    gives_side_ = has_adjacent && in_plane == Form::height - 1;
    stack_column_ = static_cast<unsigned>(Form::in_space ? in_plane : 0), side_column_ = static_cast<unsigned>(plane);
    ghosts_[0] = memory.stack(pencil_group) + Form::stack_delay * width + stack_column_;
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
      const auto to_next = next_.from(q * chunk_steps * width + stack_column_);
      const auto to_adjacent = to_side_.from(q * chunk_steps * side + side_column_);
      bool is_open = true;
#pragma unroll
      for (int e = 0; e < chunk_steps; ++e) {
        const int in_group = e % group, other = 1 - e / group % 2;
        solve_step(e);
        slot.cell[e * Memory::pitch + lane()] = last_;
        to_next.put_if(gives_, e * width, last_);
        if constexpr (Form::in_space) to_adjacent.put_if(gives_side_, e * side, last_);
        if (e + ahead == chunk_steps && !last && !is_open) full_[next.panel].wait_watched(next.round);
        load_step(e + ahead < chunk_steps ? slot : after, (e + ahead) % chunk_steps, e % ahead);
        if (e + ahead + 2 == chunk_steps && !last) is_open = full_[next.panel].test_wait_parity(next.round);
        if (in_group < looks)
          load_ghosts(other, e - in_group + group, in_group * group / looks, (in_group + 1) * group / looks);
        prepare_step((e + 1) % chunk_steps);
        if (in_group == group - 1) await_ghosts(other, e + 1);
      }
      ghosts_[0] += chunk_steps * width;
      if constexpr (Form::in_space) ghosts_[1] += chunk_steps * side;
      __syncwarp();
      if (lane() == 0) done_[at.panel].arrive();
    }
  }

private:
  static __device__ int lane() { return static_cast<int>(threadIdx.x % 32); }

  /// Loads step `e` of a slot.
  __device__ void load_step(const Slot& slot, int e, int into)
  {
    slot.panel.read_cell(e * pencils_per_group + lane(), number_[into]);
    start_[into] = slot.cell[e * Memory::pitch + lane()];
  }

  /// Loads the ghosts for steps [begin, end) of the group that begins at step `first` of the chunk.
  __device__ void load_ghosts(int which, int first, int begin, int end)
  {
#pragma unroll
    for (int s = begin; s < end; ++s) {
      from_[0][which][s] = SharedSentinelValue<N>::load_shared(ghosts_[0] + (first + s) * width);
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
  const Publisher<N, true> next_;
  const Publisher<N, true> to_side_;
  const unsigned depth_, chunks_;
  bool reads_lane_[2], gives_, gives_side_;  ///< in the stack's direction, and the side's
  unsigned stack_column_, side_column_;              ///< in a step's row of a ghost buffer
  const N* ghosts_[2];                           ///< this lane's ghosts, from the current chunk on
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
  constexpr bool in_space = PencilForm<reads>::in_space;
  using word = typename SentinelValue<N>::word;
  const unsigned w = threadIdx.x / 32;
  const bool is_last = w + 1 == block.pencil_groups, has_adjacent = in_space && block.group_x + 1 < A.groups_x;
  word *next = box.slot_at(block.first_exported), *side = box.slot_at(block.first_exported + block.side_offset(w));
  if (!is_last) next = reinterpret_cast<word*>(memory.stack(w + 1));
  else if (hands_on && !in_space) next = reinterpret_cast<word*>(map_shared_rank(memory.stack(0), next_rank));
  if (hands_on && in_space) side = reinterpret_cast<word*>(map_shared_rank(memory.side(w), next_rank));
  PencilComputeWarp<N, Memory, reads, inverts>(A, memory, w, Publisher<N, true>(next), !is_last || block.has_next,
                                          Publisher<N, true>(side), has_adjacent)
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
  const bool polls_stack = block.has_before && (Form::in_space || is_first);
  const auto of_stack = [&](unsigned part) {
    return GhostFetch<N>(memory.stack(0), Form::stack_delay * width, polls_stack ? block.steps * width : 0,
                        block.from_before, parts * poller + part, parts * PencilWarps<reads, N>::pollers);
  };
  if constexpr (Form::in_space) {
    const bool polls_side = block.has_adjacent && is_first && poller < block.pencil_groups;
    const auto of_side = [&](unsigned part) {
      return GhostFetch<N>(memory.side(poller), Form::side_delay * side, polls_side ? block.steps * side : 0,
                          block.from_adjacent + block.side_offset(poller), part, parts);
    };
    GhostFetch<N> fetch[] = {of_stack(0), of_stack(1), of_side(0), of_side(1)};
    fetch_ghost_values(fetch, box);
  } else {
    GhostFetch<N> fetch[] = {of_stack(0), of_stack(1)};
    fetch_ghost_values(fetch, box);
  }
}

/// owns       a thread block owns up to A.pencil_groups groups that follow each other across planes, of one chunk of
///            `columns_of<N>` columns; a lane of a compute warp owns a pencil, a transfer warp chunks of a pencil group
/// waits      compute warps for chunks and ghosts; transfer warps until a chunk is solved; polling warps for values of
///            earlier thread blocks
/// publishes  the values of last pencils, in the ghost buffer of the pencil group that reads them or through the
///            mailbox; polling warps clear its slots for the next launch. In clusters all thread blocks but the
///            last store them into the next one's ghost buffer, and only the first polls; a thread block does not end
///            while a value of its ghost buffers is missing, even one that is never read
/// order      mailbox and ghost buffers hold sentinel values (relaxed; scope: device, thread block or cluster); a
///            cluster synchronizes after ghost buffers are cleared and before any value is put. Chunks: one mbarrier
///            completes when panel and right-hand sides have arrived, another when the compute warp, after a
///            __syncwarp(), has read them and left its results; the transfer warp stores these, then refills the slot
/// progress   earlier clusters have earlier tickets and never wait for later ones; within a cluster or thread block a
///            pencil group waits for earlier groups only, and a chunk is requested when its slot's old one is solved
/// result     reproducible: the order of additions depends on the plan only. `inverts`: 1 / x_i in place of x_i
/// source     pencil sweep (KBA: Koch, Baker and Alcouffe 1992); here a lane solves a pencil, and thread blocks wait
///            for sentinel values instead of messages
template <class N, class V, Stencil reads, bool scaled, bool inverts, bool many>
__global__ void __launch_bounds__(32 * PencilWarps<reads, N>::all, 1)
    solve_pencils(PencilView A, typename SingleReaderMailbox<N>::View mailbox, TicketCounter* counter, Input<N> b,
                  Output<N> x)
{
  using Memory = PencilSharedMemory<N, PencilPanel<DeviceScalar<V>, reads, scaled>, reads>;
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
  using Warps = PencilWarps<reads, N>;
  constexpr unsigned movers = Warps::movers;
  const unsigned helper_warp_index = Warps::helper_warp_index(),
                 poller = helper_warp_index - block.pencil_groups * movers;
  const bool moves = helper_warp_index < block.pencil_groups * movers;
  const unsigned moved = moves ? helper_warp_index / movers : 0;
  const PencilTransferWarp<N, Memory, reads> moving(A, memory, moved, {group_x, block.group_z + moved},
                                                    helper_warp_index % movers, N(inverts ? 1 : 0));
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
