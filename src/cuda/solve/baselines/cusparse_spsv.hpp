#pragma once

/// SpSV of cuSPARSE with the fastest of its algorithms, which depends on the matrix: algorithm 2 of version 12.9.4
/// takes 0.3 to 3.5 times as long as the default.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cuda/solve/baselines/cusparse.hpp"

namespace syncfree::cuda {

/// Version of the loaded library, which may be newer than the headers.
struct CusparseVersion {
  int major = 0, minor = 0, patch = 0;

  /// Returns it in the format of CUSPARSE_VERSION.
  int encoded() const { return major * 1000 + minor * 100 + patch; }
  std::string text() const
  {
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
  }
  static CusparseVersion of_library()
  {
    CusparseVersion v;
    SYNCFREE_CUSPARSE(cusparseGetProperty(MAJOR_VERSION, &v.major));
    SYNCFREE_CUSPARSE(cusparseGetProperty(MINOR_VERSION, &v.minor));
    SYNCFREE_CUSPARSE(cusparseGetProperty(PATCH_LEVEL, &v.patch));
    return v;
  }
};

/// Returns the algorithms of SpSV that are worth a trial, as numbered in the newest headers; older ones define the
/// default only. CUSPARSE_SPSV_ALG1 is another name of the default.
inline std::vector<int> spsv_algorithms(int version)
{
  if (version < 12904) return {CUSPARSE_SPSV_ALG_DEFAULT};
  return {CUSPARSE_SPSV_ALG_DEFAULT, 2};
}

/// For tests: the algorithms that the next solvers try instead of those above, unless it is empty.
inline std::vector<int>& wanted_spsv_algorithms()
{
  static std::vector<int> wanted;
  return wanted;
}

/// True if the library reports that it does not support a call, in contrast to a device that has failed.
inline bool is_refusal(cusparseStatus_t status)
{
  return status == CUSPARSE_STATUS_NOT_SUPPORTED || status == CUSPARSE_STATUS_INVALID_VALUE ||
         status == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES || status == CUSPARSE_STATUS_ALLOC_FAILED ||
         status == CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED || status == CUSPARSE_STATUS_ARCH_MISMATCH;
}

/// Arguments that all SpSV calls of one triangle share. The addresses of the vectors differ between solves.
struct SpsvArguments {
  cusparseHandle_t handle;
  cusparseSpMatDescr_t matrix;
  cusparseDnVecDescr_t b, x;
};

/// SpSV of one triangle by one algorithm, in the stream of the handle.
template <class T> class Spsv {
public:
  explicit Spsv(int algorithm) : algorithm_(algorithm)
  {
    SYNCFREE_CUSPARSE(cusparseSpSV_createDescr(descriptor_.out()));
  }

  /// Called once, when the matrix has values. Throws if there is no memory for the buffer.
  cusparseStatus_t analyse_matrix(const SpsvArguments& a)
  {
    std::size_t size = 0;
    const cusparseStatus_t status = cusparseSpSV_bufferSize(a.handle, as_is, &one, a.matrix, a.b, a.x, data_type<T>,
                                                            by_number(), descriptor_, &size);
    if (status != CUSPARSE_STATUS_SUCCESS) return status;
    buffer_ = DeviceArray<char>(size);
    return cusparseSpSV_analysis(a.handle, as_is, &one, a.matrix, a.b, a.x, data_type<T>, by_number(), descriptor_,
                                 buffer_.data());
  }

  cusparseStatus_t solve_vector(const SpsvArguments& a) const
  {
    return cusparseSpSV_solve(a.handle, as_is, &one, a.matrix, a.b, a.x, data_type<T>, by_number(), descriptor_);
  }

  cusparseStatus_t update(cusparseHandle_t handle, T* value)
  {
    return cusparseSpSV_updateMatrix(handle, descriptor_, value, CUSPARSE_SPSV_UPDATE_GENERAL);
  }

  int algorithm() const { return algorithm_; }
  std::size_t buffer_bytes() const { return buffer_.bytes(); }

private:
  static constexpr cusparseOperation_t as_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
  static constexpr T one = T(1);
  cusparseSpSVAlg_t by_number() const { return static_cast<cusparseSpSVAlg_t>(algorithm_); }

  int algorithm_;
  DeviceArray<char> buffer_;  ///< read by the solves
  CusparseSpSV descriptor_;
};

/// Finds the fastest algorithm of a triangle by trials. They time a solve for b = 0, which takes as long as any other.
template <class T> class SpsvChoice {
public:
  /// Uses vectors of n values that are not read afterwards, and `value` in the matrix. Synchronizes. Throws Failure,
  /// also if every algorithm is refused.
  std::unique_ptr<Spsv<T>> choose(const SpsvArguments& a, T* value, cudaStream_t stream)
  {
    const CusparseVersion version = CusparseVersion::of_library();
    const std::vector<int>& wanted = wanted_spsv_algorithms();
    const std::vector<int> algorithms = wanted.empty() ? spsv_algorithms(version.encoded()) : wanted;
    std::unique_ptr<Spsv<T>> best;
    Trial of_best;
    const double begin = now(stream);
    for (const int algorithm : algorithms) {
      auto made = std::make_unique<Spsv<T>>(algorithm);
      const bool timed = algorithms.size() > 1;
      const Trial trial =
          best ? try_another(made.get(), a, value, stream) : try_out(made.get(), a, value, timed, stream);
      note(algorithm, trial);
      if (!trial.refusal.empty() || (best && !(trial.solve < of_best.solve))) continue;
      best = std::move(made);
      of_best = trial;
    }
    if (!best) throw Failure{failed(Code::device_failure, "SpSV of cuSPARSE " + version.text() + ": " + trials_)};
    describe_choice(version, *best, of_best.analysis, now(stream) - begin - of_best.analysis, algorithms.size());
    return best;
  }

  /// Returns one line: the library's version, the algorithm, the time of its analysis, and the additional time of
  /// trials.
  const std::string& text() const { return text_; }

private:
  /// Times in milliseconds, or why the algorithm is not available.
  struct Trial {
    double analysis = 0, solve = 0;
    std::string refusal;
  };

  static double now(cudaStream_t stream)
  {
    SYNCFREE_CUDA(cudaStreamSynchronize(stream));
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  /// Tries an algorithm. One without updates is refused, too: a new analysis would move memory that captured solves
  /// read.
  static Trial try_out(Spsv<T>* made, const SpsvArguments& a, T* value, bool timed, cudaStream_t stream)
  {
    Trial trial;
    const auto refused = [&](const char* call, cusparseStatus_t status) {
      if (status == CUSPARSE_STATUS_SUCCESS) return false;
      if (!is_refusal(status)) check_cusparse(status, call);
      (void)cudaGetLastError();  // otherwise the next launch may report it
      trial.refusal = std::string(call) + ": " + cusparseGetErrorString(status);
      return true;
    };
    const double begin = now(stream);
    if (refused("cusparseSpSV_analysis", made->analyse_matrix(a))) return trial;
    trial.analysis = now(stream) - begin;
    if (!timed) return trial;
    /* without values it rejects an update */
    if (value && refused("cusparseSpSV_updateMatrix", made->update(a.handle, value))) return trial;
    if (refused("cusparseSpSV_solve", made->solve_vector(a))) return trial;
    trial.solve = time_of_solve(*made, a, stream);
    return trial;
  }

  /// As try_out() after another algorithm has been found: lack of memory is then a refusal.
  static Trial try_another(Spsv<T>* made, const SpsvArguments& a, T* value, cudaStream_t stream)
  try {
    return try_out(made, a, value, true, stream);
  } catch (const Failure& failure) {
    if (failure.status.code != Code::out_of_memory) throw;
    Trial trial;
    trial.refusal = failure.status.message();
    return trial;
  }

  /// Returns the median time of a solve in three bursts, or a single time if a solve takes long.
  static double time_of_solve(const Spsv<T>& made, const SpsvArguments& a, cudaStream_t stream)
  {
    const auto burst = [&](int solves) {
      const double begin = now(stream);
      for (int k = 0; k < solves; ++k) SYNCFREE_CUSPARSE(made.solve_vector(a));
      return (now(stream) - begin) / solves;
    };
    const double first = burst(1);
    if (first > 50) return first;
    const int solves = first > 2 ? 1 : 4;
    double times[3];
    for (double& time : times) time = burst(solves);
    std::sort(times, times + 3);
    return times[1];
  }

  void note(int algorithm, const Trial& trial)
  {
    char took[64];
    std::snprintf(took, sizeof took, " takes %.4g ms", trial.solve);
    trials_ += (trials_.empty() ? "" : ", ") + std::to_string(algorithm) +
               (trial.refusal.empty() ? took : " is refused (" + trial.refusal + ")");
  }

  void describe_choice(const CusparseVersion& version, const Spsv<T>& best, double analysis, double rest,
                       std::size_t tried)
  {
    char times[96];
    std::snprintf(times, sizeof times, ", analysis %.3g ms, choice %.3g ms", analysis, std::max(rest, 0.0));
    text_ = "cuSPARSE " + version.text() + ", SpSV algorithm " + std::to_string(best.algorithm()) + times;
    if (tried > 1) text_ += " (a solve by " + trials_ + ")";
  }

  std::string trials_, text_;
};

}  // namespace syncfree::cuda
