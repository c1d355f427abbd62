/// How threads of the device wait: the litmus tests of LITMUS.md, by their numbers there. Flags, counts, tickets,
/// sentinel values and mailboxes are the device's own code (device/words.hpp), barriers are written after PTX.

#include <string>
#include <vector>

#include "device/words.hpp"
#include "mutations.hpp"

namespace syncfree::cuda {
namespace {

using model::expect_verdicts;
using model::explore;
using model::in_parallel;
using model::Mbarrier;
using model::NamedBarrier;
using model::pause_for_ever;
using model::Plain;
using model::require;
using model::Value;

template <class Box> auto wait_for_mail(const Box& box, std::size_t place)
{
  auto seen = box.poll_slot(place);
  while (!box.has_arrived(seen)) {
    pause_for_ever();
    seen = box.poll_slot(place);
  }
  return seen;
}

// 1
TEST(Litmus, flag_that_is_acquired)
{
  expect_verdicts(
    [] {
      unsigned flag = 0;
      Plain<int> data;
      NamedBarrier warp;  // __syncwarp(): one lane publishes what another has written
      in_parallel({[&] {
                     data.write(7);
                     warp.sync(2);
                   },
                   [&] {
                     warp.sync(2);
                     store_release(&flag, 1);
                   },
                   [&] {
                     while (!is_published(&flag, 1)) pause_for_ever();
                     require(data.read() == 7, "what the warp has written");
                   }});
    },
    {
      "sync fetch_add acq_rel -> relaxed: data: data race of a read with a write",
      "sync fetch_add acq_rel -> acquire: data: data race of a read with a write",
      "sync fetch_add acq_rel -> release: holds",
      "is_published load acquire -> relaxed: data: data race of a read with a write",
      "sync load acquire -> relaxed: data: data race of a read with a write",
      "store_release store release -> relaxed: data: data race of a read with a write",
      "without store_release store release: deadlock: a thread waits for ever"});
}

// 2
TEST(Litmus, flagged_mailbox_by_the_number_of_the_launch)
{
  expect_verdicts(
    [] {
      unsigned ready[2] = {0, 0};
      Plain<int> number[2];
      const FlaggedMailbox<Plain<int>>::View memory{ready, number};
      for (int launch = 0; launch < 3; ++launch) {
        const FlaggedMailbox<Plain<int>> box(memory, 2, launch);
        in_parallel({[&] { box.publish_value(0, Plain<int>(10 + launch)); },
                     [&] { box.publish_value(1, Plain<int>(20 + launch)); },
                     [&] {
                       for (std::size_t place = 0; place < 2; ++place) {
                         const unsigned seen = wait_for_mail(box, place);
                         box.settle();
                         require(box.take_value(place, seen).read() == 10 * static_cast<int>(place + 1) + launch,
                                 "the number of this launch");
                       }
                     }});
      }
    },
    {
      "store_release store release -> relaxed: data: data race of a read with a write",
      "without store_release store release: deadlock: a thread waits for ever",
      "fence_acquire fence acquire -> relaxed: data: data race of a read with a write"});
}

// 3
TEST(Litmus, count_of_parts_of_a_sum)
{
  expect_verdicts(
    [] {
      unsigned sum = 0, other = 0, count = 0, other_count = 0;
      in_parallel({[&] {
                     red_add_part_relaxed(&sum, 1u);
                     increment_release(&count);
                   },
                   [&] {
                     red_add_part_relaxed(&sum, 2u);
                     red_add_part_relaxed(&other, 4u);
                     fence_release();
                     increment_relaxed(&count);
                     increment_relaxed(&other_count);
                   },
                   [&] {
                     while (load_acquire(&count) != 2) pause_for_ever();
                     require(model::load_plain(model::place_of(&sum, 0)) == 3, "both parts");
                     while (load_acquire(&other_count) != 1) pause_for_ever();
                     require(model::load_plain(model::place_of(&other, 0)) == 4, "the only part");
                   }});
    },
    {
      "load_acquire load acquire -> relaxed: variable: data race of a read with a write",
      "increment_release fetch_add release -> relaxed: variable: data race of a read with a write",
      "fence_release fence release -> relaxed: variable: data race of a read with a write"});
}

/// The last thread block of a launch tells what all have found (ToldMaximum).
TEST(Litmus, last_who_counts_sees_all_parts)
{
  expect_verdicts(
    [] {
      unsigned sum = 0, count = 0;
      int told = 0;
      const auto block = [&](unsigned part) {
        red_add_part_relaxed(&sum, part);
        fence_release();
        if (fetch_increment_relaxed(&count) != 1) return;
        fence_acquire();
        require(model::load_plain(model::place_of(&sum, 0)) == 3, "both parts");
        ++told;
      };
      in_parallel({[&] { block(1u); }, [&] { block(2u); }});
      require(told == 1, "one block is the last");
    },
    {
      "fence_release fence release -> relaxed: variable: data race of a read with a write",
      "fence_acquire fence acquire -> relaxed: variable: data race of a read with a write"});
}

using Box = DoubleBufferedMailbox<Value>;

/// A launch: row 1 waits for row 0, and each row clears its slot for the next launch.
std::vector<std::function<void()>> rows_of_launch(model::Word* memory, unsigned long long launch, bool clears = true)
{
  const Box box(memory, 2, launch);
  return {[=] {
            if (clears) box.prepare_slot(0);
            box.publish_value(0, {static_cast<std::int64_t>(launch) + 1});
          },
          [=] {
            box.prepare_slot(1);
            const Value seen = box.take_value(0, wait_for_mail(box, 0));
            require(seen.number == static_cast<std::int64_t>(launch) + 1, "the value of this launch");
            box.publish_value(1, {seen.number + 1});
          }};
}

struct TwoBoxes {
  model::Word word[4] = {model::Word(~0ull), model::Word(~0ull), model::Word(~0ull), model::Word(~0ull)};
};

// 4
TEST(Litmus, double_buffered_mailbox)
{
  expect_verdicts(
    [] {
      TwoBoxes boxes;
      for (int launch = 0; launch < 4; ++launch) in_parallel(rows_of_launch(boxes.word, launch));
    },
    {
      "without store_relaxed<syncfree::model::Word> store relaxed: deadlock: a thread waits for ever"});
}

// 4
TEST(Litmus, double_buffered_mailbox_needs_its_clearing)
{
  const model::Result result = explore([] {
    TwoBoxes boxes;
    for (int launch = 0; launch < 3; ++launch) in_parallel(rows_of_launch(boxes.word, launch, false));
  });
  EXPECT_EQ(result.violation, "the value of this launch");
}

// 4: rule 11 of the device's README is needed
TEST(Litmus, double_buffered_mailbox_must_not_be_used_by_two_launches_at_once)
{
  const model::Result result = explore([] {
    TwoBoxes boxes;
    std::vector<std::function<void()>> both = rows_of_launch(boxes.word, 0);
    for (auto& row : rows_of_launch(boxes.word, 1)) both.push_back(row);
    in_parallel(both);
  });
  EXPECT_NE(result.violation, "");
}

void read_and_clear()
{
  using Single = SingleReaderMailbox<Value>;
  model::Word memory[1] = {model::Word(~0ull)};
  const Single box(memory, 0);
  for (std::int64_t launch = 1; launch <= 3; ++launch)
    in_parallel({[&] { Single::Mail::publish(box.slot_at(0), {launch}); },
                 [&] { require(box.take_value(0, wait_for_mail(box, 0)).number == launch,
                               "the value of this launch"); }});
}

// 5
TEST(Litmus, single_reader_clears_the_slot)
{
  model::Word::stores_are_weak = false;
  expect_verdicts(read_and_clear, {
      "without store_relaxed<syncfree::model::Word> store relaxed: deadlock: a thread waits for ever",
      "without clear store relaxed: the value of this launch"});
  model::Word::stores_are_weak = true;
}

// 5: a weak store that follows a relaxed load of another thread's value is not ordered after that thread's store
TEST(Litmus, single_reader_clears_the_slot_by_a_weak_store)
{
  EXPECT_EQ(explore(read_and_clear).violation, "variable: data race of a write");
}

// 6
TEST(Litmus, value_of_two_words)
{
  using Complex = ::cuda::std::complex<Value>;
  using Mail = SentinelValue<Complex>;
  expect_verdicts(
    [] {
      model::Word memory[2] = {model::Word(~0ull), model::Word(~0ull)};
      in_parallel({[&] { Mail::publish(memory, Complex({1}, {2})); },
                   [&] {
                     const auto arrived = [&] {
                       const Complex seen = Mail::poll(memory);
                       if (!Mail::arrived(seen)) return false;
                       require(seen.real().number == 1 && seen.imag().number == 2, "both words of the value");
                       return true;
                     };
                     while (!arrived()) pause_for_ever(2);
                   }});
    },
    {
      "without store_relaxed<syncfree::model::Word> store relaxed: deadlock: a thread waits for ever"});
}

/// Three blocks of a launch, of which two are resident at a time; block k waits for block k - 1.
/// `turn(k)`: the place of the k-th block that starts on this multiprocessor, or -1.
template <class Turn> void run_blocks(int launches, const Turn& turn)
{
  unsigned done[3] = {0, 0, 0};
  Plain<int> x[3];
  for (int launch = 0; launch < launches; ++launch) {
    const auto multiprocessor = [&](int which, int blocks) {
      for (int k = 0; k < blocks; ++k) {
        const auto [place, number] = turn(which, k);
        if (place > 0) {
          while (!is_published(&done[place - 1], number + 1)) pause_for_ever();
          require(x[place - 1].read() == static_cast<int>(number), "the value of the block before");
        }
        x[place].write(static_cast<int>(number));
        store_release(&done[place], number + 1);
      }
    };
    in_parallel({[&] { multiprocessor(0, 2); }, [&] { multiprocessor(1, 1); }});
  }
}

// 7
TEST(Litmus, tickets_order_blocks_and_number_launches)
{
  expect_verdicts(
    [] {
      unsigned long long next = 0;
      run_blocks(2, [&](int, int) {
        const unsigned long long ticket = fetch_increment_relaxed(&next);  // take_ticket()
        return std::pair<unsigned, unsigned>(ticket % 3, ticket / 3);
      });
    },
    {
      "store_release store release -> relaxed: data: data race of a read with a write",
      "without store_release store release: deadlock: a thread waits for ever",
      "is_published load acquire -> relaxed: data: data race of a read with a write"});
}

// 7: without tickets the order of dispatch would matter
TEST(Litmus, blocks_without_tickets_may_wait_for_ever)
{
  const model::Result result = explore([] {
    run_blocks(1, [](int which, int k) { return std::pair<unsigned, unsigned>(which == 0 ? 1 - k : 2, 0); });
  });
  EXPECT_EQ(result.violation, "deadlock: a thread waits for ever");
}

// 8
TEST(Litmus, ring_of_panels)
{
  // depth 2, 4 panels: a copy warp, the thread that announces, a compute warp of one step a panel
  expect_verdicts(
    [] {
      constexpr unsigned depth = 2, panels = 4;
      Mbarrier full[depth] = {Mbarrier(1), Mbarrier(1)}, empty[depth] = {Mbarrier(1), Mbarrier(1)};
      model::SharedCounter arrived;
      Plain<int> ring[depth];
      in_parallel({[&] {  // PanelCopyWarp::copy_panels()
                     for (unsigned q = 0; q < panels; ++q) {
                       const unsigned at = q % depth, round = q / depth & 1;
                       if (q >= depth) empty[at].wait(~round & 1);
                       ring[at].write(static_cast<int>(q));
                       full[at].arrive();
                     }
                   },
                   [&] {  // announce_panels()
                     for (unsigned q = 0; q < panels; ++q) {
                       full[q % depth].wait(q / depth & 1);
                       arrived.tell(q + 1);
                     }
                   },
                   [&] {  // ComputeWarp::prepare(), leave_panels()
                     for (unsigned q = 0; q < panels; ++q) {
                       while (arrived.count() < q + 1) pause_for_ever();
                       require(ring[q % depth].read() == static_cast<int>(q), "the panel of this step");
                       if (q > 0) empty[(q - 1) % depth].arrive();
                     }
                   }});
    },
    {
      "arrive fetch_add acq_rel -> relaxed: data: data race of a read with a write",
      "arrive fetch_add acq_rel -> acquire: data: data race of a read with a write",
      "arrive fetch_add acq_rel -> release: holds",
      "test_wait_parity load acquire -> relaxed: data: data race of a read with a write",
      "count load acquire -> relaxed: data: data race of a read with a write",
      "tell store release -> relaxed: data: data race of a read with a write",
      "without tell store release: deadlock: a thread waits for ever"});
}

// 9
TEST(Litmus, chain_of_named_barriers)
{
  // ComputeWarp::compute(): three groups take steps in turn; a step reads what the two before it have stored
  expect_verdicts(
    [] {
      constexpr unsigned groups = 3, steps = 5;
      NamedBarrier barrier[1 + groups];
      Plain<int> x[steps];
      const auto group = [&](unsigned own) {
        const unsigned ours = 1 + own, next = own + 1 == groups ? 1 : ours + 1;
        if (next == 1) barrier[next].arrive(2);
        for (unsigned s = own; s < steps; s += groups) {
          barrier[ours].sync(2);
          const int one = s > 0 ? x[s - 1].read() : 0, two = s > 1 ? x[s - 2].read() : 0;
          x[s].write(one + two + 1);
          if (s + 1 < steps) barrier[next].arrive(2);
        }
      };
      in_parallel({[&] { group(0); }, [&] { group(1); }, [&] { group(2); }});
      require(x[steps - 1].read() == 12, "the last step");
    },
    {
      "sync fetch_add acq_rel -> relaxed: holds",
      "arrive fetch_add acq_rel -> relaxed: data: data race of a read with a write",
      "arrive fetch_add acq_rel -> acquire: data: data race of a read with a write",
      "arrive fetch_add acq_rel -> release: holds",
      "sync load acquire -> relaxed: data: data race of a read with a write"});
}

/// Block 0 of a cluster stores two ghosts to block 1; block 1 reads one. Its shared memory ends with it.
void hand_on_in_cluster(bool awaits_unread)
{
  NamedBarrier cluster;
  Plain<int> started;  // block 1 has cleared its ghosts
  model::Atomic<std::uint64_t>* ghost = nullptr;
  in_parallel({[&] {
                 cluster.sync(2);
                 started.read();
                 ghost[0].store(1, model::relaxed);
                 ghost[1].store(2, model::relaxed);
               },
               [&] {
                 model::Atomic<std::uint64_t> shared[2];
                 ghost = shared;
                 for (auto& slot : shared) slot.store(~0ull, model::relaxed);
                 started.write(1);
                 cluster.sync(2);
                 while (shared[1].load(model::relaxed) == ~0ull) pause_for_ever();
                 if (awaits_unread)
                   while (shared[0].load(model::relaxed) == ~0ull) pause_for_ever();
                 require(shared[1].load(model::relaxed) == 2, "the ghost");
                 for (auto& slot : shared) slot.end_after_last_store();
               }});
}

// 10
TEST(Litmus, ghosts_of_a_cluster)
{
  expect_verdicts([] { hand_on_in_cluster(true); }, {
      "sync fetch_add acq_rel -> relaxed: data: data race of a read with a write",
      "sync fetch_add acq_rel -> acquire: data: data race of a read with a write",
      "sync fetch_add acq_rel -> release: holds",
      "without operator() store relaxed: the ghost",
      "sync load acquire -> relaxed: data: data race of a read with a write"});
}

// 10: rule 15 of the device's README is needed
TEST(Litmus, ghosts_that_nothing_reads_must_be_awaited)
{
  const model::Result result = explore([] { hand_on_in_cluster(false); });
  EXPECT_NE(result.violation, "");
}

/// The places of a stack that is a ring of `places` chunks, one value a chunk; 0: not written yet.
struct GhostRing {
  model::Atomic<unsigned> place[3];
  model::SharedCounter released;

  void put_ghost(unsigned at, unsigned v) { place[at].store(v, model::relaxed); }
  void clear_ghost(unsigned at, unsigned v) { place[at].store(v, model::relaxed); }
  unsigned await_ghost(unsigned at) const
  {
    for (;;) {
      if (const unsigned v = place[at].load(model::relaxed)) return v;
      pause_for_ever();
    }
  }
};

/// The pencil group before, which fills the stack; the compute warp and the transfer warp of the group that reads it.
/// The compute warp looks for chunk q + 1 and its first ghost before it is done with chunk q; what follows the last
/// chunk is not awaited.
///   depth  slots of the ring of panels
void pass_ghosts_by_ring(unsigned places, unsigned depth, unsigned chunks)
{
  constexpr unsigned nothing = 99;
  GhostRing stack;
  Mbarrier full[2] = {Mbarrier(1), Mbarrier(1)}, done[2] = {Mbarrier(1), Mbarrier(1)};
  in_parallel({[&] {  // RingStack::begin_chunk(), Chunk::put_if()
                 for (unsigned q = 0; q < chunks; ++q) {
                   while (q >= stack.released.count() + places) pause_for_ever();
                   stack.put_ghost(q % places, q + 1);
                 }
               },
               [&] {  // PencilComputeWarp::solve_steps()
                 full[0].wait(0);
                 unsigned ghost = stack.await_ghost(0);
                 for (unsigned q = 0; q < chunks; ++q) {
                   require(ghost == q + 1, "the ghost of this chunk");
                   const unsigned next = q + 1;
                   if (next < chunks) full[next % depth].wait(next / depth & 1);
                   ghost = stack.await_ghost(next % places);
                   done[q % depth].arrive();
                 }
                 require(ghost == nothing, "what follows the last chunk");
               },
               [&] {  // PencilTransferWarp::copy(), PencilSharedMemory::release_stack()
                 for (unsigned q = 0; q < depth; ++q) full[q].arrive();
                 for (unsigned q = 0; q < chunks; ++q) {
                   done[q % depth].wait(q / depth & 1);
                   stack.clear_ghost(q % places, q + places < chunks ? 0 : nothing);
                   stack.released.tell(q + 1);
                   if (q + depth < chunks) full[q % depth].arrive();
                 }
               }});
}

// 13
TEST(Litmus, ring_of_ghosts)
{
  expect_verdicts([] { pass_ghosts_by_ring(3, 2, 5); }, {
      "count load acquire -> relaxed: holds",
      "test_wait_parity load acquire -> relaxed: what follows the last chunk",
      "arrive fetch_add acq_rel -> relaxed: what follows the last chunk",
      "arrive fetch_add acq_rel -> acquire: what follows the last chunk",
      "arrive fetch_add acq_rel -> release: holds",
      "without put_ghost store relaxed: deadlock: a thread waits for ever",
      "without clear_ghost store relaxed: what follows the last chunk",
      "tell store release -> relaxed: holds",
      "without tell store release: deadlock: a thread waits for ever"});
}

// 13: with as many slots no arrival leads from the last clearing to its reader
TEST(Litmus, ring_of_ghosts_has_more_places_than_slots)
{
  const model::Result result = explore([] { pass_ghosts_by_ring(2, 2, 4); });
  EXPECT_EQ(result.violation, "what follows the last chunk");
}

/// give_up_launch() and the host's WaitMonitor: the name of the strategy, then the row.
void report_to_host(model::Order host)
{
  model::Atomic<std::uint64_t> name, row;
  in_parallel({[&] {
                 name.store(5, model::relaxed);
                 model::fence(model::seq_cst, {"__threadfence_system", 0});
                 row.store(8, model::relaxed);
               },
               [&] {
                 if (row.load(host) != 0) require(name.load(host) == 5, "the name of the row");
               }});
}

// 11
TEST(Litmus, record_of_a_wait_that_was_given_up)
{
  expect_verdicts([] { report_to_host(model::acquire); }, {
      "without operator() store relaxed: holds",
      "operator() load acquire -> relaxed: the name of the row",
      "__threadfence_system fence seq_cst -> relaxed: the name of the row",
      "__threadfence_system fence seq_cst -> acquire: the name of the row",
      "__threadfence_system fence seq_cst -> release: holds",
      "__threadfence_system fence seq_cst -> acq_rel: holds"});
}

}  // namespace
}  // namespace syncfree::cuda
