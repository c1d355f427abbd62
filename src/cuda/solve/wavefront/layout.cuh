#pragma once

/// Strategy `wavefront`: what a thread block solves, its shared memory, and its warps.

#include "core/plan/pencil_grid.hpp"
#include "cuda/base/multivector.cuh"
#include "cuda/sync/async_copy.cuh"
#include "cuda/sync/cluster.cuh"
#include "cuda/sync/mailboxes.cuh"
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
  __device__ bool has_stack(unsigned w) const { return w > 0 || has_before; }
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

/// A stack in space of which shared memory holds the rows of some chunks: that of step s, which is row s + stack_delay,
/// in place s mod steps. A group follows the one before it by 3 steps and a hop of 5 to 7, and the chunks that it is
/// solving and that are released later.
template <Stencil reads> struct StackRing {
  using Form = PencilForm<reads>;
  static constexpr unsigned chunks = 7;
  static constexpr unsigned steps = chunks * chunk_steps;
  static constexpr unsigned most_slots = chunks - 1;  ///< of a ring of panels: see `order` above the kernel

  /// Returns the number of steps in [first, first + count) whose rows are to arrive; those after them are zero.
  ///   steps_of_all  of a pencil group
  static SYNCFREE_HD unsigned awaited_rows(unsigned steps_of_all, unsigned first, unsigned count)
  {
    const unsigned end = steps_of_all - Form::stack_delay;
    return first >= end ? 0 : end - first < count ? end - first : count;
  }
};

/// Layout of a thread block's shared memory. A ghost buffer has a row of values for each step of the pencil
/// group that they come from, followed by rows of zeros. `stack`: from the group before; `side`: from the adjacent one.
///   rings  stacks are rings (StackRing), of which rows are cleared for those of later steps when a chunk has read them
template <class N, class P, Stencil reads, bool rings> struct PencilSharedMemory {
  using Panel = P;
  using Form = PencilForm<reads>;
  using Ring = StackRing<reads>;
  static constexpr bool has_rings = rings;
  static constexpr int pitch = pencils_per_group + 2;  ///< avoids bank conflicts along pencils and along steps
  struct alignas(16) Slot {
    Panel panel;
    N cell[chunk_steps * pitch];  ///< right-hand sides, then results
  };
  N* ghosts;
  Slot* ring;
  Mbarrier *full, *done;    ///< by slot: it has arrived; it is solved
  SharedCounter* released;  ///< with rings, by pencil group: chunks whose rows of the stack are cleared
  unsigned steps, depth;

  static constexpr int arrivals = 1 + 32 + 1;  ///< at `full`: of the panel, of right-hand sides, of padding
  static constexpr unsigned stack_begin = rings ? 0 : Form::stack_delay;  ///< row of the stack that step 0 reads
  static constexpr unsigned stack_rows(unsigned steps)
  {
    return rings ? Ring::steps : steps + Form::stack_delay + chunk_steps;
  }
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
           std::size_t{pencil_groups} * depth * (sizeof(Slot) + 2 * sizeof(Mbarrier)) +
           (rings ? pencil_groups * sizeof(SharedCounter) : 0);
  }

  __device__ PencilSharedMemory(unsigned char* memory, const PencilView& A) : steps(A.steps), depth(A.depth)
  {
    ghosts = reinterpret_cast<N*>(memory);
    ring = reinterpret_cast<Slot*>(memory + ring_begin(A.pencil_groups, steps));
    full = reinterpret_cast<Mbarrier*>(ring + A.pencil_groups * depth);
    done = full + A.pencil_groups * depth;
    released = reinterpret_cast<SharedCounter*>(done + A.pencil_groups * depth);
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
    if (rings && threadIdx.x < block.pencil_groups) released[threadIdx.x].start();
    for (unsigned w = 0; w < block.pencil_groups; ++w) {
      const unsigned awaited = !block.has_stack(w) ? 0 : rings ? Ring::awaited_rows(steps, 0, Ring::steps) : steps;
      clear_numbers(stack(w), stack_rows(steps) * Form::stack_width, awaited * Form::stack_width);
      clear_numbers(side(w), side_rows(steps) * Form::side_width, block.has_adjacent ? steps * Form::side_width : 0);
    }
  }

  /// Called with rings by a group's transfer warp when chunk q is solved: clears the rows of the stack that its steps
  /// have read, for those of a later chunk, and tells whoever fills the stack.
  __device__ void release_stack(unsigned pencil_group, unsigned q) const
  {
    constexpr unsigned numbers = chunk_steps * Form::stack_width;
    N* const first = stack(pencil_group) + q % Ring::chunks * numbers;
    const unsigned awaited =
        Ring::awaited_rows(steps, (q + Ring::chunks) * chunk_steps, chunk_steps) * Form::stack_width;
#pragma unroll
    for (unsigned k = threadIdx.x % 32; k < numbers; k += 32) {
      if (k < awaited) SharedSentinelValue<N>::clear_shared(first + k);
      else SharedSentinelValue<N>::store_shared(first + k, N(0));
    }
    __syncwarp();
    if (threadIdx.x % 32 == 0) released[pencil_group].tell(q + 1);
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
template <Stencil reads, class N, bool rings = false> struct PencilWarps {
  static constexpr bool in_space = PencilForm<reads>::in_space, several = columns_of<N> > 1;
  /// Most groups of a thread block. With several columns a third one slowed the two others by more than it gained.
  static constexpr unsigned pencil_groups = !in_space ? 1 : several ? 2 : rings ? 5 : 4;
  static constexpr unsigned movers = in_space && !several ? 1 : 2;  ///< for each pencil group
  static constexpr unsigned pollers = !in_space ? 2 : pencil_groups > 4 ? pencil_groups : 4;
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

}  // namespace syncfree::cuda
