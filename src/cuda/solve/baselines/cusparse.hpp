#pragma once

/// Wrappers of cuSPARSE: errors, types, objects, and solves with several right-hand sides.

#include <cusparse.h>

#include <complex>
#include <cstdint>
#include <string>

#include "cuda/solve/solver.hpp"

namespace syncfree::cuda {

inline void check_cusparse(cusparseStatus_t status, const char* call)
{
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  throw Failure{failed(Code::device_failure, std::string(call) + ": " + cusparseGetErrorString(status))};
}

#define SYNCFREE_CUSPARSE(call) ::syncfree::cuda::check_cusparse(call, #call)

template <class I> constexpr cusparseIndexType_t index_type = sizeof(I) == 8 ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I;
template <class T> constexpr cudaDataType data_type = CUDA_R_64F;
template <> inline constexpr cudaDataType data_type<float> = CUDA_R_32F;
template <> inline constexpr cudaDataType data_type<std::complex<float>> = CUDA_C_32F;
template <> inline constexpr cudaDataType data_type<std::complex<double>> = CUDA_C_64F;

/// A cuSPARSE object that is destroyed at the end of its scope.
template <class Handle, auto destroy> class CusparseOwned {
public:
  CusparseOwned() = default;
  CusparseOwned(const CusparseOwned&) = delete;
  ~CusparseOwned()
  {
    if (handle_) (void)destroy(handle_);
  }
  operator Handle() const { return handle_; }
  Handle* out() { return &handle_; }

private:
  Handle handle_ = nullptr;
};

using CusparseHandle = CusparseOwned<cusparseHandle_t, cusparseDestroy>;
using CusparseMatrix = CusparseOwned<cusparseSpMatDescr_t, cusparseDestroySpMat>;
using CusparseVector = CusparseOwned<cusparseDnVecDescr_t, cusparseDestroyDnVec>;
using CusparseDense = CusparseOwned<cusparseDnMatDescr_t, cusparseDestroyDnMat>;
using CusparseSpSV = CusparseOwned<cusparseSpSVDescr_t, cusparseSpSV_destroyDescr>;
using CusparseSpSM = CusparseOwned<cusparseSpSMDescr_t, cusparseSpSM_destroyDescr>;

/// SpSM of one triangle. cuSPARSE requires that calls differ in pointers and values only, so there is an object for
/// each number of columns, pair of leading dimensions, and case of x == b or not.
template <class T> class CusparseColumns {
public:
  /// Analyses the matrix with its current values; those of b are not read. Handle and matrix must outlive this object.
  CusparseColumns(cusparseHandle_t handle, cusparseSpMatDescr_t matrix, std::int64_t n, const DeviceColumns<T>& v)
      : handle_(handle), matrix_(matrix), made_for_(v)
  {
    std::size_t size = 0;
    create(n, v.b_leading, const_cast<T*>(v.b), &b_);
    create(n, v.x_leading, v.x, &x_);
    SYNCFREE_CUSPARSE(cusparseSpSM_createDescr(solve_.out()));
    SYNCFREE_CUSPARSE(cusparseSpSM_bufferSize(handle_, as_is, as_is, &one, matrix_, b_, x_, data_type<T>,
                                              CUSPARSE_SPSM_ALG_DEFAULT, solve_, &size));
    buffer_ = DeviceArray<char>(size);
    SYNCFREE_CUSPARSE(cusparseSpSM_analysis(handle_, as_is, as_is, &one, matrix_, b_, x_, data_type<T>,
                                            CUSPARSE_SPSM_ALG_DEFAULT, solve_, buffer_.data()));
  }

  bool fits(const DeviceColumns<T>& v) const
  {
    return v.count == made_for_.count && v.b_leading == made_for_.b_leading && v.x_leading == made_for_.x_leading &&
           (v.b == v.x) == (made_for_.b == made_for_.x);
  }

  /// Solves in the stream of the handle. Requires fits(v).
  void solve_columns(const DeviceColumns<T>& v)
  {
    SYNCFREE_CUSPARSE(cusparseDnMatSetValues(b_, const_cast<T*>(v.b)));
    SYNCFREE_CUSPARSE(cusparseDnMatSetValues(x_, v.x));
    SYNCFREE_CUSPARSE(cusparseSpSM_solve(handle_, as_is, as_is, &one, matrix_, b_, x_, data_type<T>,
                                         CUSPARSE_SPSM_ALG_DEFAULT, solve_));
  }

#if CUSPARSE_VERSION >= 12300
  static constexpr bool takes_new_numbers = true;
  void update(T* value)
  {
    SYNCFREE_CUSPARSE(cusparseSpSM_updateMatrix(handle_, solve_, value, CUSPARSE_SPSM_UPDATE_GENERAL));
  }
#else
  static constexpr bool takes_new_numbers = false;
#endif

  std::size_t buffer_bytes() const { return buffer_.bytes(); }

private:
  static constexpr cusparseOperation_t as_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
  static constexpr T one = T(1);

  void create(std::int64_t n, std::size_t leading, T* value, CusparseDense* made)
  {
    SYNCFREE_CUSPARSE(cusparseCreateDnMat(made->out(), n, made_for_.count, static_cast<std::int64_t>(leading), value,
                                          data_type<T>, CUSPARSE_ORDER_COL));
  }

  cusparseHandle_t handle_;
  cusparseSpMatDescr_t matrix_;
  DeviceColumns<T> made_for_;  ///< its pointers are only compared
  DeviceArray<char> buffer_;   ///< read by the solves
  CusparseDense b_, x_;
  CusparseSpSM solve_;
};

}  // namespace syncfree::cuda
