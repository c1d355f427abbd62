/// The life of block factors on a device: solves that are captured on a stream of their own, other patterns, failures
/// between them; of blocks and of entries in blocks, with and without padding. The reference is the host.

#include <memory>
#include <vector>

#include "../../host/block_task.hpp"
#include "../../larger.hpp"
#include "../../watchdog.hpp"
#include "../device_support.hpp"

namespace syncfree {
namespace {

using Task = BlockTask<double, I>;

/// How the blocks of a task are given
enum class Given { as_blocks, as_entries, with_holes };
constexpr Given all_givens[] = {Given::as_blocks, Given::as_entries, Given::with_holes};

Task task_given(Given given, I x, int size, unsigned seed)
{
  Task task = make_task<double, I>(x, 7, 6, size, seed);
  for (std::size_t k = 0; k < task.value.size() && given == Given::with_holes; k += 7)
    if (std::abs(task.value[k]) < 2) task.value[k] = 0;  // the same places for each seed: those of off-diagonal values
  return task;
}

/// A matrix as it is given to a preconditioner; blocks with holes keep those of the first seed.
struct Matrix {
  Matrix(Given given, I x, int size, unsigned seed) : blocks(task_given(given, x, size, seed))
  {
    if (given == Given::as_blocks) return;
    entries = entries_of(blocks);
    of_entries = true;
  }
  CsrView<double, I> view() const { return of_entries ? entries.view() : blocks.view(); }
  I rows() const { return blocks.rows(); }

  /// Takes the points in a random order.
  void permute()
  {
    blocks.row_order = blocks.column_order = random_order<I>(blocks.n(), 3);
    for (const I point : blocks.row_order)
      for (int r = 0; r < blocks.size; ++r) order.push_back(point * blocks.size + r);
  }
  SymbolicOptions<I> symbolic() const
  {
    SymbolicOptions<I> s = blocks.symbolic();
    if (of_entries && s.row_order) s.row_order = s.column_order = order.data();
    return s;
  }

  Task blocks;
  OwnedCsr<double, I> entries;
  std::vector<I> order;  ///< of entries, if points are permuted
  bool of_entries = false;
};

std::unique_ptr<Cuda> made_for(Given given)
{
  if (given == Given::as_blocks) return make_cuda_block_preconditioner<double, I>();
  return make_cuda_blocked_preconditioner<double, I>();
}

/// The same values, times a factor.
Matrix scaled(Matrix A, double factor)
{
  for (double& v : A.blocks.value) v *= factor;
  for (double& v : A.entries.value) v *= factor;
  return A;
}

std::vector<double> solution_on_host(const Matrix& A, Operation op, const std::vector<double>& b)
{
  const auto host = make(A.blocks, options_of(A.blocks.size));
  std::vector<double> x(b.size());
  EXPECT_TRUE(host->solve(op, b.data(), x.data(), {1, A.rows(), A.rows()}).ok());
  return x;
}

void expect_close(const std::vector<double>& x, const std::vector<double>& truth)
{
  ASSERT_EQ(x.size(), truth.size());
  double error = 0, most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    error = larger(error, std::abs(x[i] - truth[i]));
    most = std::max(most, std::abs(truth[i]));
  }
  EXPECT_LE(error, 1e-12 * most);
}

bool all_nan(const std::vector<double>& x)
{
  return std::all_of(x.begin(), x.end(), [](double v) { return std::isnan(v); });
}

class BlockLife : public testing::Test {
protected:
  void SetUp() override { ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess); }
  void TearDown() override { EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess); }

  Status refresh(Cuda& p, const Matrix& A)
  {
    p.use(Memory::host, stream_);
    return p.refresh(A.view(), PivotRule());
  }
  Status solve(Cuda& p, Operation op, const DeviceVector& b, const DeviceVector& x, I n)
  {
    p.use(Memory::device, stream_);
    return p.solve(op, b.data(), x.data(), {1, n, n});
  }

  cudaStream_t stream_ = nullptr;
};

/// Replays use the values of the last refresh; without values they give NaN, and the next call reports them. In natural
/// order, transposed, and in an order that is given.
TEST_F(BlockLife, captured_solves_follow_new_values_and_end_with_their_factor)
{
  const Watchdog watchdog("captured solves of blocks", patience);
  for (const Given given : all_givens)
    for (const int size : {2, 4, 5, 9})
      for (const int kind : {0, 1, 2}) {
        const Operation op = kind == 1 ? Operation::transpose : Operation::none;
        const bool permuted = kind == 2;
        SCOPED_TRACE(testing::Message() << static_cast<int>(given) << " " << size << " " << static_cast<int>(op)
                                        << (permuted ? ", permuted" : ""));
        Matrix first(given, 8, size, 0);
        if (permuted) first.permute();
        const Matrix &A = first, B = scaled(A, 1.5), other(given, 5, size, 0);
        const auto b = random_vector<double>(static_cast<std::size_t>(A.rows()), 5);
        const DeviceVector from(b), x(b.size());
        const auto p = made_for(given);
        ASSERT_EQ(p->analyse(A.view().pattern, A.symbolic(), options_of(size, "auto")).message(), "success");
        ASSERT_EQ(refresh(*p, A).message(), "success");
        ASSERT_EQ(solve(*p, op, from, x, A.rows()).message(), "success");
        expect_close(x.get(), solution_on_host(A, op, b));
        const Replay replay(stream_, [&] { ASSERT_EQ(solve(*p, op, from, x, A.rows()).message(), "success"); });
        for (const Matrix* each : {&B, &A}) {
          ASSERT_EQ(refresh(*p, *each).message(), "success");
          x.fill_with_poison();
          replay.run();
          expect_close(x.get(), solution_on_host(*each, op, b));
        }
        EXPECT_EQ(refresh(*p, other).code, Code::another_pattern);
        x.fill_with_poison();
        replay.run();
        EXPECT_TRUE(all_nan(x.get())) << "an old factor was used";
        EXPECT_EQ(solve(*p, op, from, x, A.rows()).code, Code::stale_capture);
        EXPECT_EQ(solve(*p, op, from, x, A.rows()).code, Code::invalid_argument) << "solved without values";
        ASSERT_EQ(refresh(*p, A).message(), "success");
        replay.run();
        expect_close(x.get(), solution_on_host(A, op, b));
        if (HasFailure()) return;
      }
}

/// A void replay, which the blocks report, and an analysis or refresh that fails before these are asked.
TEST_F(BlockLife, no_factor_survives_a_failure_after_a_void_replay)
{
  const Watchdog watchdog("void replays of blocks", patience);
  const int size = 4;
  for (const Given given : {Given::as_entries, Given::with_holes})
    for (const bool analysis : {false, true}) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(given) << ", analysis " << analysis);
      const Matrix A(given, 8, size, 0), other(given, 5, size, 0);
      const auto b = random_vector<double>(static_cast<std::size_t>(A.rows()), 5);
      const DeviceVector from(b), x(b.size());
      const auto p = made_for(given);
      const auto make_again = [&] {
        ASSERT_EQ(p->analyse(A.view().pattern, {}, options_of(size, "auto")).message(), "success");
        ASSERT_EQ(refresh(*p, A).message(), "success");
        ASSERT_EQ(solve(*p, Operation::none, from, x, A.rows()).message(), "success");
      };
      make_again();
      const Replay replay(stream_, [&] {
        ASSERT_EQ(solve(*p, Operation::none, from, x, A.rows()).message(), "success");
      });
      make_again();  // ends the capture
      replay.run();
      EXPECT_TRUE(all_nan(x.get()));
      const Status failure =
          analysis ? p->analyse(A.view().pattern, {}, options_of(A.rows() - 1, "auto")) : refresh(*p, other);
      EXPECT_EQ(failure.code, Code::stale_capture) << failure.message();
      x.fill_with_poison();
      EXPECT_EQ(solve(*p, Operation::none, from, x, A.rows()).code, Code::invalid_argument) << "an old factor survived";
      make_again();
      expect_close(x.get(), solution_on_host(A, Operation::none, b));
    }
}

/// Larger and smaller patterns, other sizes of blocks, with and without padding, by one object.
TEST_F(BlockLife, other_patterns_and_sizes_are_those_of_the_host)
{
  for (const Given given : all_givens) {
    const auto p = made_for(given);
    for (const I length : {3, 9, 1, 6})
      for (const int size : {3, 5, 2, 7}) {
        SCOPED_TRACE(testing::Message() << static_cast<int>(given) << ", " << length << ", size " << size);
        const Matrix A(given, length, size, static_cast<unsigned>(size));
        const auto b = random_vector<double>(static_cast<std::size_t>(A.rows()), 5);
        const DeviceVector from(b), x(b.size());
        p->use(Memory::host, stream_);
        ASSERT_EQ(p->analyse(A.view().pattern, {}, options_of(size, "auto")).message(), "success");
        EXPECT_EQ(p->summarize().padding > 0, given == Given::with_holes);
        EXPECT_EQ(solve(*p, Operation::none, from, x, A.rows()).code, Code::invalid_argument) << "before a refresh";
        ASSERT_EQ(refresh(*p, A).message(), "success");
        for (const Operation op : all_operations) {
          x.fill_with_poison();
          ASSERT_EQ(solve(*p, op, from, x, A.rows()).message(), "success");
          expect_close(x.get(), solution_on_host(A, op, b));
        }
        if (HasFailure()) return;
      }
  }
}

}  // namespace
}  // namespace syncfree
