/// Implements the part of cuda/backend/choose.hpp that chooses by trials: candidates are planned and timed.

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <memory>
#include <utility>

#include "core/choose/estimate.hpp"
#include "core/plan/merge_plan.hpp"
#include "core/support/instantiate.hpp"
#include "cuda/backend/choose.hpp"
#include "cuda/backend/pair_update.hpp"
#include "cuda/base/parallel_invoke.hpp"
#include "cuda/base/vectors.hpp"

namespace syncfree::cuda {

template <class T, class I> std::vector<std::string> StrategyChooser<T, I>::trial_strategies()
{
  std::vector<std::string> names = {"level_order", "cusparse"};
  if (wavefront_time_ > 0) names.push_back("wavefront");
  else if (is_regular() && form_of_tiles() != PlanForm::any) names.push_back("tiled");
  if (may_merge(L().n(), a_.levels.lower, found_.longest()) && limit_merging()) names.push_back("merged");
  return names;
}

/// Placeholder values for the timing runs: non-zero, and small enough that solutions do not overflow.
template <class T, class I> struct StrategyChooser<T, I>::TrialVectors {
  DeviceArray<T> lower, upper, inverse_pivot, b, y, x;

  TrialVectors(I n, I below, I above) : lower(below), upper(above), inverse_pivot(n), b(n), y(n), x(n)
  {
    for (DeviceArray<T>* v : {&lower, &upper, &inverse_pivot, &b}) v->fill(0x3c, nullptr);
  }
};

/// Keeps the solvers of the fastest candidate. Skips a candidate that fails, or takes too much memory; throws only if
/// all fail.
template <class T, class I> void StrategyChooser<T, I>::choose_by_trials()
{
  TrialVectors vectors(L().n(), L().nnz(), U().nnz());
  std::vector<Trial> trials;
  std::array<std::unique_ptr<DeviceSolver<T, I>>, 4> best;
  Failure last;
  for (const std::string& name : trial_strategies()) try {
      const std::optional<Trial> trial = time_strategy(name, vectors);
      if (!trial) continue;
      trials.push_back(*trial);
      if (best_trial(trials, a_.options.expected_applies) + 1 == trials.size()) std::swap(best, a_.solver);
    } catch (const Failure& failure) {
      last = failure;
    }
  if (trials.empty()) throw last;
  a_.solver = std::move(best);
  a_.choice = syncfree::choose_by_trials(trials, a_.options.expected_applies);
  a_.choice.reason += limited_;
  if (single_saves() > 0) choose_storage_of(trials[best_trial(trials, a_.options.expected_applies)]);
}

/// Makes the solvers of the fastest trial, which stores double precision, once more where single is predicted to pay,
/// and as they were if that fails.
template <class T, class I> void StrategyChooser<T, I>::choose_storage_of(const Trial& trial)
{
  if (!single_pays(factor_sizes(), {trial.strategy.c_str(), PlanForm::any, 1e6 * trial.apply, 0})) {
    a_.choice.reason += stored_in_double;
    return;
  }
  const auto make = [&](bool single) {
    a_.solver[lower].reset(), a_.solver[upper].reset();
    store_in_single(single);
    make_solvers();
  };
  try {
    make(true);
  } catch (const Failure&) {
    make(false);
    a_.choice.reason += stored_in_double;
  }
}

/// A whole solve, as the preconditioner makes it: with gather and scatter, or by a pair that does these, too.
template <class T, class I>
void StrategyChooser<T, I>::solve_in_trial(PairSolver<T>* pair, const TrialVectors& v)
{
  if (pair) return pair->solve_pair(v.b.data(), v.x.data(), false, nullptr);
  const bool natural = a_.row_order.empty();
  const I n = L().n();
  if (!natural) gather(n, a_.row_order.data(), v.b.data(), v.x.data(), nullptr);
  solve_column(a_.solver[lower].get(), natural ? v.b.data() : v.x.data(), v.y.data(), {}, nullptr);
  solve_column(a_.solver[upper].get(), v.y.data(), v.x.data(), {false, a_.overlaps}, nullptr);
  if (!natural) scatter(n, a_.column_order.data(), v.x.data(), v.y.data(), nullptr);
}

/// Returns nothing if the strategy exceeds the limit of memory.
template <class T, class I>
std::optional<Trial> StrategyChooser<T, I>::time_strategy(const std::string& name, const TrialVectors& v)
{
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point begin) {
    SYNCFREE_CUDA(cudaStreamSynchronize(nullptr));
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  auto& solver = a_.solver;
  a_.choice.strategy = name;
  const auto begin = Clock::now();
  find_bandwidths();
  parallel_invoke(a_.options.threads,
                  {[&] { make_solver(lower, L(), &a_); }, [&] { make_solver(upper, U(), &a_); }});
  const PairUpdate<T, I> update(solver[lower].get(), solver[upper].get(), v.lower.data(), v.upper.data(),
                                v.inverse_pivot.data(), nullptr);
  update.queue();
  update.finish_update(false);
  const std::string over = over_limit();
  limited_ += over;
  if (!over.empty()) return {};
  std::unique_ptr<PairSolver<T>> pair;
  const Orders<I> orders = {a_.row_order.data(), a_.column_order.data()};
  if (task_.factorizes) pair = make_pair_if_possible(*solver[lower], *solver[upper], orders);
  Trial trial = {name, since(begin), std::numeric_limits<double>::max()};
  for (int round = 0; round < 3; ++round) {
    constexpr int applies = 4;
    const auto start = Clock::now();
    for (int k = 0; k < applies; ++k) solve_in_trial(pair.get(), v);
    trial.apply = std::min(trial.apply, since(start) / applies);
  }
  return trial;
}

#define INSTANTIATE(T, I) template void StrategyChooser<T, I>::choose_by_trials();
SYNCFREE_FOR_EACH_SCALAR(INSTANTIATE)

}  // namespace syncfree::cuda
