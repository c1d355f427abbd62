/// The fingerprint of a pattern in device memory: a thread mixes a part, and one of a block all of the block's.

#include "syncfree/fingerprint.hpp"

#include <new>
#include <vector>

#include "core/instantiate.hpp"
#include "core/mixer.hpp"
#include "syncfree/cuda.hpp"
#include "syncfree/cuda/launch.hpp"

namespace syncfree {
namespace cuda {
namespace {

/// A block of threads each.
template <class I>
__global__ void __launch_bounds__(parts_together) mix_blocks(const I* numbers, std::size_t count, Fingerprint* block)
{
  __shared__ Fingerprint part[parts_together];
  part[threadIdx.x] = mix_part(numbers, count, blockIdx.x * parts_together + threadIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) block[blockIdx.x] = mix_block(part);
}

template <class I> void mix(const I* numbers, std::size_t count, Fingerprint* block, cudaStream_t stream)
{
  const auto blocks = static_cast<unsigned>(fingerprint_blocks(count));
  if (blocks == 0) return;
  launch(mix_blocks<I>, {blocks, parts_together, 0, stream}, numbers, count, block);
}

template <class I> Fingerprint fingerprint_of(const PatternView<I>& A, std::size_t nnz, cudaStream_t stream)
{
  const std::size_t offsets = static_cast<std::size_t>(A.n) + (A.n > 0), first = fingerprint_blocks(offsets);
  std::vector<Fingerprint> block(first + fingerprint_blocks(nnz));
  const DeviceArray<Fingerprint> mixed(block.size());
  mix(A.row_begin, offsets, mixed.data(), stream);
  mix(A.column, nnz, mixed.data() + first, stream);
  mixed.read(block.data(), 0, block.size(), stream);
  return join_pattern(join_blocks(block.data(), offsets), join_blocks(block.data() + first, nnz));
}

}  // namespace
}  // namespace cuda

template <class I>
Status fingerprint_there(PatternView<I> on_device, I nnz, void* stream, Fingerprint* out)
try {
  *out = cuda::fingerprint_of(on_device, static_cast<std::size_t>(nnz), static_cast<cudaStream_t>(stream));
  return {};
} catch (const cuda::Failure& failure) {
  return failure.status;
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

#define INSTANTIATE(I) template Status fingerprint_there<I>(PatternView<I>, I, void*, Fingerprint*);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
