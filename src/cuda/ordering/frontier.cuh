#pragma once

/// Traversals of a graph in turns: the vertices of one turn, its frontier, append those of the next to a queue. A turn
/// is a launch, or, if it is narrow, a pass of a cluster of thread blocks between two barriers. The host queues several
/// launches and reads afterwards whether any vertex is left; launches without a vertex end at once.

#include "cuda/base/launch.hpp"
#include "cuda/ordering/graph.hpp"
#include "cuda/ordering/threads.cuh"
#include "cuda/sync/atomics.cuh"
#include "syncfree/cuda/detail/device.hpp"

namespace syncfree::cuda {

/// State of a queue, in device memory. Of three counts, a launch reads one, adds to the next and clears the third.
struct FrontierWords {
  unsigned first[2];  ///< by turn mod 2: position of the first vertex of the turn
  unsigned count[3];  ///< by turn mod 3: its number of vertices
  unsigned turns;     ///< turns that had a vertex
  unsigned turn;      ///< the first that is left after a launch of narrow turns
  unsigned note;      ///< for the traversal's own use
};

/// The vertices of a turn, and where those of the next are appended.
struct Frontier {
  const Vertex* vertex;
  unsigned count;
  Vertex* next;
  unsigned* next_count;
};

struct FrontierView {
  Vertex* vertex;  ///< of all turns
  FrontierWords* words;

  /// Returns the frontier before the first turn: it has no vertices, and those of turn 0 are appended.
  __device__ Frontier before_first_turn() const { return {vertex, 0, vertex, words->count}; }

  /// Returns the frontier of a turn. Called by all threads of the turn; one prepares the next. A turn that has appended
  /// nothing may be begun again.
  __device__ Frontier frontier(unsigned turn) const
  {
    const unsigned first = words->first[turn % 2], count = words->count[turn % 3];
    if (this_thread() == 0) {
      words->first[(turn + 1) % 2] = first + count;
      words->count[(turn + 2) % 3] = 0;
      if (count > 0) words->turns = turn + 1;
    }
    return {vertex + first, count, vertex + first + count, words->count + (turn + 1) % 3};
  }
};

/// Vertices that a thread block appends to the next turn, in shared memory: one atomic operation for all of them.
class AppendedVertices {
public:
  /// Called by all threads of the block before the first append().
  __device__ void clear()
  {
    if (threadIdx.x == 0) count_ = 0;
    __syncthreads();
  }

  /// Called by any thread; each vertex is appended once in a traversal.
  __device__ void append(Vertex v, const Frontier& to)
  {
    const unsigned at = atomic_add(&count_, 1u);
    if (at < capacity) vertex_[at] = v;
    else to.next[atomic_add(to.next_count, 1u)] = v;
  }

  /// Called by all threads of the block after the last append().
  __device__ void store(const Frontier& to)
  {
    __syncthreads();
    const unsigned count = min(count_, capacity);
    if (count == 0) return;
    if (threadIdx.x == 0) first_ = atomic_add(to.next_count, count);
    __syncthreads();
    for (unsigned k = threadIdx.x; k < count; k += blockDim.x) to.next[first_ + k] = vertex_[k];
  }

private:
  static constexpr unsigned capacity = 2048;
  Vertex vertex_[capacity];
  unsigned count_, first_;
};

constexpr unsigned turns_at_once = 24;  ///< launches that the host queues without looking
constexpr unsigned threads_of_narrow = 1024;

/// Returns the parameters of a launch of narrow turns: one cluster, as large as it may be.
template <class Kernel> LaunchParameters cluster_of_narrow(Kernel kernel)
{
  constexpr unsigned large = 16;
  const unsigned blocks = cached_blocks_of_cluster(kernel, {1, threads_of_narrow}, large);
  return {blocks, threads_of_narrow, 0, nullptr, false, blocks};
}

/// A queue for up to n vertices, on the null stream.
class FrontierQueue {
public:
  explicit FrontierQueue(Vertex n) : vertex_(n), words_(1) {}

  FrontierView view() const { return {vertex_.data(), words_.data()}; }
  void clear() { words_.fill(0, nullptr); }

  /// Launches turns until none is left: launch_turn(turn) launches one, launch_narrow(turn) all from that one on that
  /// are narrow, until one is not.
  ///   wide  turns that are launched one by one before the host looks
  template <class Launch, class LaunchNarrow>
  void run(unsigned wide, const Launch& launch_turn, const LaunchNarrow& launch_narrow)
  {
    do {
      for (unsigned k = 0; k < wide; ++k) launch_turn(words.turn + k);
      launch_narrow(words.turn + wide);
      read_words();
    } while (words.count[words.turn % 3] > 0);
  }

  /// Waits.
  void read_words() { words_.read(&words, 0, 1, nullptr); }

  FrontierWords words = {};  ///< after run() or read_words()

private:
  DeviceArray<Vertex> vertex_;
  DeviceArray<FrontierWords> words_;
};

}  // namespace syncfree::cuda
