/// Row i of the factor:
///   for p in L(i), ascending:  m = w_p / u_pp;  l_ip = m;  w_q -= m u_pq for q in U(p) that are in row i
/// For IC the entry w_p of row i is u_pi, found in row p of U, and only q >= i matter. If rows are short, w is in
/// shared memory (cuda/factor/launch_staged.cuh); otherwise each entry is computed by itself
/// (cuda/factor/by_entries.cuh) or, if that takes too much memory or the pivot rule must repair a pivot or restart, in
/// the factor's own arrays by a warp per row.

#include "cuda/factor/factorize.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/support/instantiate.hpp"
#include "cuda/base/launch.hpp"
#include "cuda/factor/by_entries.cuh"
#include "cuda/factor/launch_staged.cuh"
#include "cuda/factor/pivots_by_solve.cuh"
#include "cuda/factor/row.cuh"
#include "syncfree/cuda/detail/launch.hpp"
#include "syncfree/cuda/ready/barrier.cuh"
#include "syncfree/schedule.hpp"

namespace syncfree::cuda {
namespace {

constexpr int threads_a_block = 128;
constexpr const char* name = "factorization";  ///< name of the kernel for TicketCounterMemory
constexpr int most_recorded_rows = 1 << 16;     ///< of a factor that may take the host longer than the device

bool is_same_rule(const PivotRule& a, const PivotRule& b)
{
  return a.shift == b.shift && a.shift_amount == b.shift_amount && a.zero_pivot == b.zero_pivot;
}

/// Work of one warp for its row.
template <class T, class I> class RowOfWarp {
public:
  using N = DeviceScalar<T>;

  __device__ RowOfWarp(const FactorView<T, I>& F, I i) : F_(F), i_(i), lane_(threadIdx.x % 32)
  {
    lower_begin_ = F.lower_begin[i], lower_end_ = F.lower_begin[i + 1];
    upper_begin_ = F.upper_begin[i], upper_end_ = F.upper_begin[i + 1];
  }

  __device__ void copy(const N* A, double shift)
  {
    if (F_.lu)
      for (I k = lower_begin_ + lane_; k < lower_end_; k += 32) F_.lower[k] = entry(A, F_.lower_source[k]);
    for (I k = upper_begin_ + lane_; k < upper_end_; k += 32) F_.upper[k] = entry(A, F_.upper_source[k]);
    using R = decltype(real_of(N(0)));
    if (lane_ == 0) F_.inverse_pivot[i_] = entry(A, F_.diagonal_source[i_]) + N(static_cast<R>(shift));
    __syncwarp();
  }

  __device__ void eliminate(unsigned* ready, unsigned attempt)
  {
    for (I k = lower_begin_; k < lower_end_; ++k) {
      const I p = F_.lower_column[k];
      if (lane_ == 0 && !wait_for(ready + p, attempt, BoundedWait(i_))) F_.inverse_pivot[i_] = quiet_nan<N>();
      __syncwarp();
      I begin = F_.upper_begin[p];
      const I end = F_.upper_begin[p + 1];
      if (!F_.lu) begin = find(F_.upper_column, begin, end, i_);
      const N factor = product(F_.lu ? F_.lower[k] : F_.upper[begin], F_.inverse_pivot[p]);
      __syncwarp();
      if (lane_ == 0) F_.lower[k] = factor;
      for (I u = begin + lane_; u < end; u += 32) subtract(product(factor, F_.upper[u]), F_.upper_column[u], k + 1);
      __syncwarp();
    }
  }

  /// Sum of |entries| off the diagonal, and whether all are finite in the precision in which they are stored; the same
  /// in all lanes.
  __device__ double sum(bool* all_finite) const
  {
    double total = 0;
    bool good = true;
    for (I k = lower_begin_ + lane_; k < lower_end_; k += 32) {
      if (F_.lu) total += abs_value(F_.lower[k]);
      good = good && fits(F_, F_.lower[k]);
    }
    for (I k = upper_begin_ + lane_; k < upper_end_; k += 32) {
      total += abs_value(F_.upper[k]);
      good = good && fits(F_, F_.upper[k]);
    }
    for (int offset = 16; offset; offset /= 2) total += shfl_xor(total, offset);
    *all_finite = __all_sync(~0u, good);
    return total;
  }

  /// Tests and inverts the pivot. Called by lane 0.
  __device__ void finish_row(const DevicePivotRule& rule, double row_sum, bool all_finite, Outcome* outcome)
  {
    const N pivot = F_.inverse_pivot[i_];
    F_.inverse_pivot[i_] = finish_pivot(F_, i_, pivot, N(1) / pivot, rule, row_sum, all_finite, outcome);
  }

private:
  /// Subtracts v from entry (i, q), if the row has it; entries of L before position `from` are finished.
  __device__ void subtract(const N& v, I q, I from)
  {
    if (q == i_) {
      F_.inverse_pivot[i_] -= v;
    } else if (q > i_) {
      const I found = find(F_.upper_column, upper_begin_, upper_end_, q);
      if (found >= 0) F_.upper[found] -= v;
    } else if (F_.lu) {
      const I found = find(F_.lower_column, from, lower_end_, q);
      if (found >= 0) F_.lower[found] -= v;
    }
  }

  const FactorView<T, I>& F_;
  I i_;
  int lane_;
  I lower_begin_, lower_end_, upper_begin_, upper_end_;
};

/// owns       a warp owns one row of L and U and its pivot; a thread block four consecutive rows in level order
/// waits      lane 0 for the flag of each pivot row, in ascending order
/// publishes  the row's flag, set to the number of the attempt: flags are never reset
/// order      acquire by lane 0, __syncwarp to its warp; __syncwarp, release by lane 0 (ready.cuh)
/// progress   pivot rows have a lower level, so an earlier ticket or an earlier warp of the thread block; every row
///            publishes, whatever its values are
/// result     reproducible: entries of a row belong to different lanes, and pivots are taken in ascending order
/// source     Saad 2003, algorithm 10.4; waiting by rows as in Liu et al. 2016
template <class T, class I>
__global__ void __launch_bounds__(threads_a_block)
factorize(FactorView<T, I> F, const DeviceScalar<T>* A, DevicePivotRule rule, unsigned* ready, unsigned attempt,
          TicketCounter* counter, Outcome* outcome)
{
  const BlockTicket ticket = take_ticket(counter);
  const std::size_t position = ticket.index * (threads_a_block / 32) + threadIdx.x / 32;
  if (position >= static_cast<std::size_t>(F.n)) return;
  const I i = F.order[position];
  RowOfWarp<T, I> row(F, i);
  row.copy(A, rule.shift);
  row.eliminate(ready, attempt);
  bool all_finite;
  const double sum = row.sum(&all_finite);
  if (threadIdx.x % 32 == 0) row.finish_row(rule, sum, all_finite, outcome);
  __syncwarp();
  if (threadIdx.x % 32 == 0) store_release(ready + i, attempt);
}

/// Computes {|pivot|, row sum} of a row that failed, by one warp.
template <class T, class I> __global__ void describe_row(FactorView<T, I> F, I i, double* described)
{
  bool all_finite;
  const double sum = RowOfWarp<T, I>(F, i).sum(&all_finite);
  if (threadIdx.x) return;
  described[0] = abs_value(F.inverse_pivot[i]);
  described[1] = sum;
}

/// Finds the largest sum_j |a_ij| - |a_ii| - Re a_ii of all rows i, a thread per row; *top holds the bits of a
/// nonnegative double.
template <class T, class I>
__global__ void find_dominance(I n, PatternCopyView<I> rows, const DeviceScalar<T>* value, unsigned long long* top)
{
  using R = decltype(real_of(DeviceScalar<T>(0)));
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i >= static_cast<std::size_t>(n)) return;
  const I begin = rows.row_begin[i], end = rows.row_begin[i + 1];
  R sum = 0;
  for (I k = begin; k < end; ++k)
    if (static_cast<std::size_t>(rows.column(k)) == i) sum = -static_cast<R>(abs_value(value[k])) - real_of(value[k]);
  for (I k = begin; k < end; ++k) sum += static_cast<R>(abs_value(value[k]));
  if (sum > 0) red_max_relaxed(top, static_cast<unsigned long long>(__double_as_longlong(static_cast<double>(sum))));
}

/// Arrays of sentinel values that are reset before an attempt.
template <class T> struct UnsetNumbers {
  int count = 0;
  DeviceScalar<T>* v[3];
  std::size_t size[3];
};

/// The launch that follows may overlap this one, which is never launched that way itself and so need not wait.
template <class T> __global__ void start_attempt(UnsetNumbers<T> unset, Outcome* outcome)
{
  trigger_dependent_launch();
  const std::size_t k = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (k == 0) *outcome = {Outcome::none, 0};
  for (int i = 0; i < unset.count; ++i)
    if (k < unset.size[i]) SentinelValue<DeviceScalar<T>>::clear(sentinel_at(unset.v[i], k));
}

/// Stores an outcome in memory of the host.
__global__ void store_outcome(const Outcome* outcome, unsigned long long* failure, unsigned* repaired)
{
  *failure = outcome->failure;
  *repaired = static_cast<unsigned>(outcome->repaired);
}

template <class I> Granularity granularity_of_L(const DeviceFactorPattern<I>& pattern, I levels)
{
  const DevicePattern<I> L = pattern.lower();
  return granularity_of(L.n, L.nnz, levels, pattern.counts.most_lower);
}

/// Returns occupancy_limit_bytes() for factorize_entries().
template <class I>
std::size_t memory_against_entries(const DeviceFactorPattern<I>& pattern, const Granularity& granularity)
{
  const DevicePattern<I> L = pattern.lower(), U = pattern.upper();
  const double entries = 1 + (static_cast<double>(L.nnz) + static_cast<double>(U.nnz)) / std::max<double>(1, L.n);
  return occupancy_limit_bytes(granularity, static_cast<int>(entries), entry_threads);
}

template <class T> unsigned long long bits(T v)
{
  const auto wide = static_cast<double>(v);
  unsigned long long word;
  std::memcpy(&word, &wide, sizeof word);
  return word;
}

}  // namespace

template <class T, class I>
DeviceFactorization<T, I>::DeviceFactorization(const DeviceFactorPattern<I>& pattern, const DeviceLevels<I>& levels,
                                               bool single, double most_list_bytes)
    : DeviceFactor<T, I>(pattern, 1, single), levels_(levels),
      slots_(pattern, granularity_of_L(pattern, levels.count), sizeof(T)), counter_(name), top_(1), outcome_(1),
      described_(2), may_record_(pattern.n <= most_recorded_rows)
{
  const Granularity granularity = granularity_of_L(pattern, levels.count);
  if (slots_.made()) {
    occupancy_limit_bytes_ = occupancy_limit_bytes(granularity, slots_.slots_view().lanes, staged_threads);
  } else {
    try {
      entry_counter_.emplace(name);
      lists_ = UpdateLists<I>(pattern, levels, sizeof(T), most_list_bytes);
    } catch (const Failure& failure) {
      if (failure.status.code != Code::out_of_memory) throw;  // factoring row by row needs less memory
    }
    occupancy_limit_bytes_ = memory_against_entries(pattern, granularity);
    ready_ = ResettableArray<unsigned>(pattern.n, 0);
  }
  SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
}

template <class T, class I> void DeviceFactorization<T, I>::queue_rows(const Task& task)
{
  const DevicePivotRule rule(task.rule, task.shifts.amount());
  if (slots_.made()) {
    begin_attempt({&upper_, &inverse_pivot_}, task.stream);
    factorize_staged(factor_view(), slots_.slots_view(), occupancy_limit_bytes_, as_device(task.A.value), rule,
                     counter_.data(), outcome_.data(), task.stream, overlaps_);
  } else {
    begin_attempt({}, task.stream);
    const unsigned blocks = blocks_for(static_cast<std::size_t>(pattern_.n) * 32, threads_a_block);
    launch(factorize<T, I>, {blocks, threads_a_block, 0, task.stream}, factor_view(), as_device(task.A.value), rule,
           ready_.data(), ++attempts_, counter_.data(), outcome_.data());
  }
}

template <class T, class I> I DeviceFactorization<T, I>::find_row(I given, cudaStream_t stream) const
{
  if (pattern_.given_row.empty()) return given;
  std::vector<I> all(pattern_.given_row.size());
  pattern_.given_row.read(all.data(), 0, all.size(), stream);
  return static_cast<I>(std::find(all.begin(), all.end(), given) - all.begin());
}

/// Returns the error of an attempt row by row, with the numbers of the row that failed.
template <class T, class I>
Status DeviceFactorization<T, I>::status_of_rows(const Task& task, const Outcome& outcome)
{
  if (outcome.failure == Outcome::none) return {};
  const auto row = static_cast<I>(outcome.failure / 2);
  if (outcome.failure % 2) return failed(Code::not_finite, row);
  double described[2];
  if (single_) queue_rows(task);  // values as they were before they were rounded
  launch(describe_row<T, I>, {1, 32, 0, task.stream}, factor_view(), find_row(row, task.stream), described_.data());
  described_.read(described, 0, 2, task.stream);
  Status status = failed(Code::zero_pivot, row);
  status.value = described[0];
  status.tolerance = PivotTest<T>(task.rule).tolerance(described[1]);
  return status;
}

template <class T, class I> FactorView<T, I> DeviceFactorization<T, I>::factor_view() const
{
  return {
      pattern_.n,
      pattern_.kind == Kind::ilu,
      single_,
      pattern_.lower_begin.data(),
      pattern_.lower_column.data(),
      pattern_.upper_begin.data(),
      pattern_.upper_column.data(),
      pattern_.lower_source.data(),
      pattern_.upper_source.data(),
      pattern_.diagonal_source.data(),
      levels_.row.data(),
      pattern_.given_row.data(),
      as_device(lower_.data()),
      as_device(upper_.data()),
      as_device(inverse_pivot_.data()),
  };
}

template <class T, class I>
void DeviceFactorization<T, I>::begin_attempt(std::initializer_list<DeviceArray<T>*> unset, cudaStream_t stream)
{
  UnsetNumbers<T> numbers;
  std::size_t most = 1;
  for (DeviceArray<T>* v : unset) {
    numbers.v[numbers.count] = syncfree::cuda::as_device(v->data());
    numbers.size[numbers.count++] = v->size();
    most = std::max(most, v->size());
  }
  launch(start_attempt<T>, {blocks_for(most, 256), 256, 0, stream}, numbers, outcome_.data());
}

template <class T, class I> void DeviceFactorization<T, I>::tell_outcome(cudaStream_t stream)
{
  launch(store_outcome, {1, 1, 0, stream}, outcome_.data(), told_failure_.device_pointer(),
         told_repaired_.device_pointer());
}

template <class T, class I> Outcome DeviceFactorization<T, I>::read_outcome(cudaStream_t stream)
{
  if (!tells_) tell_outcome(stream);
  tells_ = true;
  SYNCFREE_CUDA(cudaStreamSynchronize(stream));
  tells_ = false;
  if (watch_->has_failed()) throw Failure{watch_->take_failure(stream)};
  return {told_failure_.get(), static_cast<int>(told_repaired_.get())};
}

/// Returns false if the factor cannot be made entry by entry.
template <class T, class I> bool DeviceFactorization<T, I>::queue_entries(const Task& task)
{
  const DevicePivotRule device_rule(task.rule, 0);
  if (!lists_.made() || device_rule.repairs) return false;
  DevicePivotRule rule_of_entries = device_rule;  // sums are known only after all entries
  rule_of_entries.sums = false;
  if (device_rule.sums) rule_of_entries.zero_pivot = 0;
  begin_attempt({&lower_, &upper_, &inverse_pivot_}, task.stream);
  allow_shared_memory(factorize_entries<T, I>, occupancy_limit_bytes_);
  const unsigned blocks = blocks_for(lists_.lists_view().positions, entry_threads);
  launch(factorize_entries<T, I>,
         {blocks, entry_threads, occupancy_limit_bytes_, task.stream, overlaps_}, factor_view(),
         lists_.lists_view(), as_device(task.A.value), rule_of_entries, entry_counter_->data(), outcome_.data());
  if (device_rule.sums) {
    launch(test_pivots<T, I>, {blocks_for(32 * static_cast<std::size_t>(pattern_.n), 256), 256, 0, task.stream},
           factor_view(), device_rule, outcome_.data());
  }
  return true;
}

/// Returns false if no solver of L can compute the pivots, or has no memory for them.
template <class T, class I> bool DeviceFactorization<T, I>::queue_pivots(const Task& task)
{
  if (!solver_of_L_) return false;
  begin_attempt({}, task.stream);
  const std::size_t n = static_cast<std::size_t>(pattern_.n), lowers = lower_.size();
  launch(prepare_pivots<T, I>, {blocks_for(std::max(n, lowers), 256), 256, 0, task.stream}, factor_view(),
         slots_.slots_view().partner, lowers, as_device(task.A.value), outcome_.data());
  T* y = inverse_pivot_.data();
  try {
    solver_of_L_->solve_inverse(lower_.data(), y, y, task.stream);
  } catch (const Failure& failure) {
    if (failure.status.code != Code::out_of_memory) throw;
    solver_of_L_ = nullptr;
    return false;
  }
  const bool are_long = lowers > 8 * n;
  const auto finish = are_long ? finish_rows<T, I, 8> : finish_rows<T, I, 1>;
  launch(finish, {blocks_for(are_long ? 8 * n : n, 256), 256, 0, task.stream}, factor_view(),
         slots_.slots_view().partner, as_device(task.A.value), DevicePivotRule(task.rule, 0), outcome_.data());
  return true;
}

template <class T, class I>
double DeviceFactorization<T, I>::dominance_shift(const CsrView<T, I>& A, const PivotRule& rule, cudaStream_t stream)
{
  if (rows_.empty()) {
    rows_ = DevicePatternCopy<I>(PatternOnDevice<I>(A.pattern, {}));
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
  }
  unsigned long long word = bits(static_cast<real_t<T>>(rule.zero_pivot));
  SYNCFREE_CUDA(cudaMemcpyAsync(top_.data(), &word, sizeof word, cudaMemcpyHostToDevice, stream));
  launch(find_dominance<T, I>, {blocks_for(A.pattern.n, 256), 256, 0, stream}, A.pattern.n, rows_.pattern_copy_view(),
         as_device(A.value), top_.data());
  top_.read(&word, 0, 1, stream);
  double top;
  std::memcpy(&top, &word, sizeof top);
  return static_cast<real_t<T>>(1.1 * static_cast<real_t<T>>(top));
}

template <class T, class I> void DeviceFactorization<T, I>::queue_attempt(Task* task)
{
  if (task->method <= Method::pivots) {
    task->method = Method::pivots;
    if (queue_pivots(*task)) return this->round_values(true, task->stream);
  }
  if (task->method <= Method::entries) {
    task->method = Method::entries;
    if (queue_entries(*task)) return this->round_values(false, task->stream);
  }
  task->method = Method::rows;
  queue_rows(*task);
  this->round_values(false, task->stream);
}

template <class T, class I>
bool DeviceFactorization<T, I>::would_repeat(const CsrView<T, I>& A, const PivotRule& rule) const
{
  return repeats_ && A.value == task_->A.value && is_same_rule(rule, task_->rule);
}

/// Of a solver that computes pivots the launches are those of any captured solve, unless values are stored in single
/// precision: then it needs memory of its own for the factorization.
template <class T, class I> bool DeviceFactorization<T, I>::queue_recorded()
{
  if (!may_record_ || single_) return false;
  may_record_ = try_graphs([&] {
    if (!recording_ || !recording_->made_here()) {
      recording_.emplace().make([&](cudaStream_t stream) {
        Task once = *task_;
        once.stream = stream;
        queue_attempt(&once);
        recorded_method_ = once.method;
      });
    }
    recording_->launch(task_->stream, [&](cudaStream_t) { queue_attempt(&*task_); });
    task_->method = recorded_method_;
  });
  if (!may_record_) recording_.reset();
  return may_record_;
}

template <class T, class I>
bool DeviceFactorization<T, I>::begin_factorization(const CsrView<T, I>& A, const PivotRule& rule, cudaStream_t stream)
{
  const bool repeats = would_repeat(A, rule);
  repeats_ = false;
  task_.emplace(Task{A, rule, stream, ShiftLoop(pattern_.kind, rule), Method::loop});
  const bool by_loop = loop_ && !single_ && loop_->factorize_by_loop(A.value, rule, lower_.data(), upper_.data(),
                                                                     inverse_pivot_.data(), stream);
  if (by_loop) return true;
  task_->method = Method::pivots;
  tells_ = false;
  if (!repeats) recording_.reset();
  else if (queue_recorded()) return true;
  queue_attempt(&*task_);
  return true;
}

template <class T, class I> Status DeviceFactorization<T, I>::end(PivotReport* report, bool* made_again)
{
  Task& task = *task_;
  *made_again = false;
  int repaired = 0;
  while (task.method != Method::loop) {
    const Outcome outcome = read_outcome(task.stream);
    if (task.method == Method::rows) {
      const Status status = status_of_rows(task, outcome);
      repaired = outcome.repaired;
      if (status.ok() && !task.shifts.retry_to_refine()) break;
      const bool retries = status.ok() || (status.code == Code::zero_pivot &&
                                           task.shifts.retry_after_failure(status.tolerance, [&] {
                                             return dominance_shift(task.A, task.rule, task.stream);
                                           }));
      if (!retries) return status;
    } else {
      if (outcome.failure == Outcome::none) break;
      task.method = task.method == Method::pivots ? Method::entries : Method::rows;
    }
    *made_again = true;
    tells_ = false;
    queue_attempt(&task);
  }
  /* the flags of rows without slots hold the number of the attempt */
  repeats_ = !*made_again && task.method != Method::loop && (task.method != Method::rows || slots_.made());
  *report = task.shifts.report(repaired);
  return {};
}

#define INSTANTIATE(T, I) template class DeviceFactorization<T, I>;
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree::cuda
