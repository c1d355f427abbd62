/// The fingerprint of a pattern in device memory: a thread mixes a part.

#include "syncfree/fingerprint.hpp"

#include <new>
#include <vector>

#include "core/instantiate.hpp"
#include "core/mixer.hpp"
#include "syncfree/cuda.hpp"
#include "syncfree/cuda/device.hpp"

namespace syncfree {
namespace cuda {
namespace {

constexpr int threads_a_block = 64;

template <class I> __global__ void mix_parts(const I* numbers, std::size_t count, std::size_t parts, Fingerprint* part)
{
  const std::size_t p = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (p < parts) part[p] = mix_part(numbers, count, p);
}

template <class I> Fingerprint fingerprint_of(const I* numbers, std::size_t count, cudaStream_t stream)
{
  std::vector<Fingerprint> part(fingerprint_parts(count));
  const DeviceArray<Fingerprint> mixed(part.size());
  mix_parts<I><<<blocks_for(part.size(), threads_a_block), threads_a_block, 0, stream>>>(numbers, count, part.size(),
                                                                                         mixed.data());
  check_launch("mix_parts");
  mixed.read(part.data(), 0, part.size(), stream);
  return join_parts(part.data(), count);
}

}  // namespace
}  // namespace cuda

template <class I>
Status fingerprint_there(PatternView<I> on_device, I nnz, void* stream, Fingerprint* out)
try {
  const auto on = static_cast<cudaStream_t>(stream);
  const std::size_t offsets = static_cast<std::size_t>(on_device.n) + (on_device.n > 0);
  *out = join_pattern(cuda::fingerprint_of(on_device.row_begin, offsets, on),
                      cuda::fingerprint_of(on_device.column, static_cast<std::size_t>(nnz), on));
  return {};
} catch (const cuda::Failure& failure) {
  return failure.status;
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

#define INSTANTIATE(I) template Status fingerprint_there<I>(PatternView<I>, I, void*, Fingerprint*);
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree
