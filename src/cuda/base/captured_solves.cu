/// Implementation of cuda/base/captured_solves.hpp.

#include <algorithm>

#include "cuda/base/captured_solves.hpp"
#include "cuda/base/stream.hpp"
#include "cuda/base/thread_id.cuh"
#include "syncfree/cuda/detail/launch.hpp"

namespace syncfree::cuda {
namespace {

constexpr unsigned threads = 256, rows_of_block = 16 * threads;

__global__ void set_valid(unsigned long long* word, unsigned long long valid) { *word = valid; }

/// Ends a captured solve: x stays unchanged if the replay is valid.
///   words  of a column, four bytes each; columns are `leading` words apart
///   told   in host memory
__global__ void end_replay(const unsigned long long* valid, unsigned long long captured, unsigned* told, unsigned* x,
                           std::size_t words, std::size_t leading, int columns)
{
  constexpr unsigned nan = 0x7fffffff;  // a float NaN; two of them are a double NaN
  if (*valid == captured) return;
  if (this_thread() == 0) *static_cast<volatile unsigned*>(told) = 1;
  const std::size_t all = words * static_cast<std::size_t>(columns);
  for (std::size_t k = this_thread(); k < all; k += std::size_t{gridDim.x} * blockDim.x)
    x[k / words * leading + k % words] = nan;
}

/// Allows this thread calls that CUDA otherwise rejects during a capture: here they concern other streams.
class Unrecorded {
public:
  Unrecorded() { SYNCFREE_CUDA(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  Unrecorded(const Unrecorded&) = delete;
  Unrecorded& operator=(const Unrecorded&) = delete;
  ~Unrecorded() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }

private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace

CapturedSolves::~CapturedSolves()
{
  if (word_ && any()) {
    try {
      SYNCFREE_CUDA(MemoryPool::wait_for_device());  // running replays are still valid
      const Stream own;
      launch(set_valid, {1, 1, 0, own.get()}, word_->valid.data(), 0ull);
      own.wait();
    } catch (const Failure&) {
    }
  }
  holds_.keep_for_graphs(std::move(word_));
}

void CapturedSolves::make_word()
{
  const Unrecorded meanwhile;
  auto made = std::make_shared<Word>();
  const Stream own;
  launch(set_valid, {1, 1, 0, own.get()}, made->valid.data(), has_numbers_ ? valid() : 0ull);
  own.wait();
  word_ = std::move(made);
}

void CapturedSolves::tell_replays(unsigned long long valid, cudaStream_t stream)
{
  has_numbers_ = valid != 0;
  if (!word_) return;
  if (any()) launch(set_valid, {1, 1, 0, stream}, word_->valid.data(), valid);
  else word_.reset();
}

void CapturedSolves::end_captured(const CapturedOutput& output, cudaStream_t stream)
{
  if (output.rows == 0) return;
  if (!word_) make_word();
  if (!holds_.hold(stream)) return;
  last_captured_ = generation_;
  const std::size_t words_of_entry = output.bytes_of_entry / sizeof(unsigned);
  const unsigned blocks = std::min(blocks_for(output.rows, rows_of_block), 128u);
  launch(end_replay, {blocks, threads, 0, stream}, word_->valid.data(), valid(), word_->told.device_pointer(),
          static_cast<unsigned*>(output.x), output.rows * words_of_entry, output.leading * words_of_entry,
          output.columns);
}

Status CapturedSolves::check_captures()
{
  if (!word_ || word_->told.get() == 0) return {};
  word_->told.set(0);
  return failed(Code::stale_capture);
}

}  // namespace syncfree::cuda
