#pragma once

/// The preconditioner through Kokkos Kernels. The host backend does the analysis (checks, pattern, levels), so that all
/// backends have the same factor of the same matrix; spiluk factors and sptrsv solves:
///   y_i = b_{r(i)},   L U z = y,   x_{c(i)} = z_i,
/// with U^T L^T for the transpose and conjugated vectors around the same solves for a conjugate.
///
/// spiluk has no tolerance and replaces a pivot 0 by a large number. Its result is checked; if anything in it is
/// doubtful the host backend factors too, and its result is used.

#include <algorithm>
#include <cmath>
#include <new>

#include "runtime.hpp"
#include "spiluk.hpp"
#include "syncfree/call_guard.hpp"
#include "syncfree/kokkos.hpp"

namespace syncfree::kokkos {

/// Runs f, which returns a Status. Kokkos reports missing memory by an exception of its own.
template <class F> Status guarded(const F& f)
try {
  return f();
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
} catch (const std::exception& e) {
  const std::string what = e.what();
  if (what.find("allocate") != std::string::npos) return failed(Code::out_of_memory);
  return failed(Code::invalid_argument, "Kokkos: " + what);
}

/// Result of one analysis, for n > 0.
template <class T, class I> struct Parts {
  std::unique_ptr<Spiluk<T, I>> spiluk;  ///< null if it cannot be used
  Triangle<T, I> L, U;
  std::unique_ptr<Triangle<T, I>> Lt, Ut;  ///< made by the first transposed solve
  std::vector<I> Lt_source, Ut_source;
  std::vector<Number<T>> y, z;

  explicit Parts(const FactorPattern<I>& p)
      : L(with_diagonal<T>(p.lower(), true), true), U(with_diagonal<T>(p.upper(), false), false), y(p.n), z(p.n)
  {
  }
};

template <class T, class I> class KokkosPreconditioner : public Preconditioner<T, I> {
public:
  Status analyse(PatternView<I> A, const SymbolicOptions<I>& symbolic, const SolverOptions& options) override
  {
    return call_alone([&] {
      factored_ = false;
      parts_.reset();
      host_.reset();
      if (options.strategy != "auto" && options.strategy != "kokkos")
        return failed(Code::unknown_strategy, options.strategy);
      auto host = make_host_preconditioner<T, I>();
      /* one thread: the host rarely computes the values, so it needs no plan */
      SolverOptions of_host = {"serial", std::min(options.threads, 1), options.single_storage};
      of_host.block_size = options.block_size;  // refused there
      Status status = host->analyse(A, symbolic, of_host);
      if (status.ok()) status = initialize_kokkos();
      if (status.ok() && A.n > 0) make_parts(A, host->pattern(), options.single_storage);
      if (!status.ok()) return status;
      host_ = std::move(host);
      forced_ = options.strategy != "auto";
      nnz_ = A.nnz();
      by_host_ = true;
      host_factored_ = false;
      numbers_.clear();
      return status;
    });
  }

  Status has_pattern(PatternView<I> A, bool* same) override
  {
    *same = false;
    return host_ ? host_->has_pattern(A, same) : Status();
  }

  Orders<I> orders() const override { return host_ ? host_->orders() : Orders<I>(); }

  Status refresh(CsrView<T, I> A, const PivotRule& rule) override
  {
    return call_alone([&] {
      factored_ = false;
      if (!host_) return failed(Code::invalid_argument, "refresh() was called before analyse()");
      if (A.pattern.n != pattern().n || A.pattern.nnz() != nnz_)
        return failed(Code::another_pattern);
      const Status status = factor(A, rule);
      factored_ = status.ok();
      if (factored_ && parts_ && parts_->Lt) refresh_transposes();
      return status;
    });
  }

  Status solve(Operation op, const T* b, T* x, const Columns<I>& columns) override
  {
    return call_alone([&]() -> Status {
      if (!factored_) return not_factored();
      if (!parts_) return {};
      const FactorPattern<I>& p = pattern();
      const bool conjugated = op == Operation::conjugate || op == Operation::adjoint;
      const bool whole = p.kind == Kind::icc || op == Operation::none || op == Operation::conjugate;
      if (!whole) prepare_transposes();
      Triangle<T, I>& first = whole ? parts_->L : *parts_->Ut;
      Triangle<T, I>& second = whole ? parts_->U : *parts_->Lt;
      for (I c = 0; c < columns.count; ++c) {
        gather_permuted(whole ? p.row_order : p.column_order, conjugated,
                        b + static_cast<std::size_t>(c) * columns.b_leading);
        first.solve_by_sptrsv(parts_->y, parts_->z);
        second.solve_by_sptrsv(parts_->z, parts_->y);
        scatter_permuted(whole ? p.column_order : p.row_order, conjugated, parts_->y,
             x + static_cast<std::size_t>(c) * columns.x_leading);
      }
      return {};
    });
  }

  Status solve_forward_half(const T* b, T* x) override
  {
    return call_alone([&] {
      Status status = check_half();
      if (!status.ok() || !parts_) return status;
      gather_permuted(pattern().row_order, false, b);
      parts_->L.solve_by_sptrsv(parts_->y, parts_->z);
      scatter_permuted({}, false, parts_->z, x);
      if (pattern().kind == Kind::icc)
        for (I i = 0; i < pattern().n; ++i) x[i] /= std::sqrt(real_part(pivot(i)));
      return status;
    });
  }

  Status solve_backward_half(const T* b, T* x) override
  {
    return call_alone([&] {
      Status status = check_half();
      if (!status.ok() || !parts_) return status;
      gather_permuted({}, false, b);
      if (pattern().kind == Kind::icc)
        for (I i = 0; i < pattern().n; ++i) parts_->y[i] *= std::sqrt(real_part(pivot(i)));
      parts_->U.solve_by_sptrsv(parts_->y, parts_->z);
      scatter_permuted(pattern().column_order, false, parts_->z, x);
      return status;
    });
  }

  Summary summarize() const override
  {
    if (!host_) return {};
    Summary s = host_->summarize();
    s.strategy = "kokkos";
    s.reason = (forced_ ? "forced; " : "the only one of its backend; ") + space_name() + numbers_;
    s.threads = space_threads();
    if (!by_host_) s.pivots = {};
    if (!parts_) return s;
    if (parts_->spiluk && !host_factored_)
      s.factor_bytes -= static_cast<std::size_t>(s.lower_nnz + s.upper_nnz + pattern().n) * sizeof(T);
    s.factor_bytes += parts_->L.matrix().csr_bytes() + parts_->U.matrix().csr_bytes();
    s.plan_bytes += parts_->L.level_list_bytes() + parts_->U.level_list_bytes() + array_bytes(parts_->y) +
                    array_bytes(parts_->z);
    if (parts_->spiluk) s.plan_bytes += parts_->spiluk->spiluk_bytes();
    if (parts_->Lt)
      s.transpose_bytes = parts_->Lt->matrix().csr_bytes() + parts_->Ut->matrix().csr_bytes() +
                          parts_->Lt->level_list_bytes() + parts_->Ut->level_list_bytes() +
                          array_bytes(parts_->Lt_source) + array_bytes(parts_->Ut_source);
    return s;
  }

  LevelCounts levels() const override { return host_ ? host_->levels() : LevelCounts(); }

  const FactorPattern<I>& pattern() const override
  {
    static const FactorPattern<I> none;
    return host_ ? host_->pattern() : none;
  }

  FactorValues<T> values() const override
  {
    if (!factored_ || !parts_) return {};
    FactorValues<T> v{strict_values<T>(parts_->L.matrix(), true), strict_values<T>(parts_->U.matrix(), false), {}};
    for (I i = 0; i < pattern().n; ++i) v.inverse_pivot.push_back(T(1) / pivot(i));
    return v;
  }

private:
  template <class F> Status call_alone(F f)
  {
    const CallGuard::Call call(&busy_);
    return call.alone() ? guarded(f) : failed(Code::busy);
  }

  static Status not_factored()
  {
    return failed(Code::invalid_argument, "solve() was called before a successful refresh()");
  }

  T pivot(I i) const
  {
    const Csr<T, I>& U = parts_->U.matrix();
    return from_kokkos<T>(U.value[diagonal_place(U, false, i)]);
  }

  void make_parts(const PatternView<I>& A, const FactorPattern<I>& p, bool single_storage)
  {
    auto parts = std::make_unique<Parts<T, I>>(p);
    const bool rounds = single_storage && !std::is_same_v<T, single_t<T>>;
    if (p.kind == Kind::ilu && !rounds) parts->spiluk = std::make_unique<Spiluk<T, I>>(A, p);
    why_host_ = p.kind == Kind::icc ? "IC" : "single storage";
    parts_ = std::move(parts);
  }

  /// Computes the values by spiluk if possible and its result is reliable, else by the host.
  Status factor(const CsrView<T, I>& A, const PivotRule& rule)
  {
    const bool tried = parts_ && parts_->spiluk && rule.shift == Shift::none;
    by_host_ = true;
    if (tried) {
      parts_->spiluk->compute_factors(A, &parts_->L.matrix(), &parts_->U.matrix());
      by_host_ = !beyond_doubt(rule);
    }
    const char* why = tried ? "a pivot in doubt" : parts_ && parts_->spiluk ? "shifts" : why_host_;
    numbers_ = by_host_ ? std::string("; factored by the host: ") + why : "; factored by spiluk";
    if (!by_host_) return {};
    host_factored_ = true;
    const Status status = host_->refresh(A, rule);
    if (status.ok() && parts_) copy_from_host();
    return status;
  }

  bool beyond_doubt(const PivotRule& rule) const
  {
    const auto finite = [](const Number<T>& v) { return is_finite(from_kokkos<T>(v)); };
    const auto all_finite = [&](const Csr<T, I>& R) { return std::all_of(R.value.begin(), R.value.end(), finite); };
    bool good = all_finite(parts_->L.matrix()) && all_finite(parts_->U.matrix());
    for (I i = 0; good && i < pattern().n; ++i) {
      const T u = pivot(i);
      good = std::abs(u) > rule.zero_pivot && is_finite(T(1) / u) && !Spiluk<T, I>::is_replaced(u);
    }
    return good;
  }

  void copy_from_host()
  {
    const FactorValues<T> v = host_->values();
    set_values(&parts_->L.matrix(), true, v.lower, [](I) { return T(1); });
    set_values(&parts_->U.matrix(), false, v.upper, [&](I i) { return T(1) / v.inverse_pivot[i]; });
  }

  void prepare_transposes()
  {
    if (parts_->Lt) return;
    auto Lt = std::make_unique<Triangle<T, I>>(transposed(parts_->L.matrix(), &parts_->Lt_source), false);
    parts_->Ut = std::make_unique<Triangle<T, I>>(transposed(parts_->U.matrix(), &parts_->Ut_source), true);
    parts_->Lt = std::move(Lt);
    refresh_transposes();
  }

  void refresh_transposes()
  {
    const auto copy_entries = [](const Csr<T, I>& from, const std::vector<I>& source, Csr<T, I>* to) {
      for (std::size_t k = 0; k < source.size(); ++k) to->value[k] = from.value[source[k]];
    };
    copy_entries(parts_->L.matrix(), parts_->Lt_source, &parts_->Lt->matrix());
    copy_entries(parts_->U.matrix(), parts_->Ut_source, &parts_->Ut->matrix());
  }

  /// y_i = b_{order(i)}, conjugated if requested; an empty order is the identity.
  void gather_permuted(const std::vector<I>& order, bool conjugated, const T* b)
  {
    for (I i = 0; i < pattern().n; ++i) {
      const T& v = b[order.empty() ? i : order[i]];
      parts_->y[i] = to_kokkos<T>(conjugated ? conjugate(v) : v);
    }
  }

  /// x_{order(i)} = z_i
  void scatter_permuted(const std::vector<I>& order, bool conjugated, const std::vector<Number<T>>& z, T* x) const
  {
    for (I i = 0; i < pattern().n; ++i) {
      const T v = from_kokkos<T>(z[i]);
      x[order.empty() ? i : order[i]] = conjugated ? conjugate(v) : v;
    }
  }

  /// Halves of IC require a real root of every pivot.
  Status check_half() const
  {
    if (!factored_) return not_factored();
    for (I i = 0; pattern().kind == Kind::icc && i < pattern().n; ++i) {
      const T u = pivot(i);
      if (imaginary_part(u) == 0 && real_part(u) >= 0) continue;
      Status status = failed(Code::negative_pivot, i);
      status.value = real_part(u);
      status.imaginary = imaginary_part(u);
      return status;
    }
    return {};
  }

  std::unique_ptr<Preconditioner<T, I>> host_;  ///< analysed; its values are used if spiluk's are not
  std::unique_ptr<Parts<T, I>> parts_;          ///< null for n = 0
  I nnz_ = 0;                                   ///< of A
  bool forced_ = false, factored_ = false;
  bool by_host_ = true;         ///< the last values are the host's
  bool host_factored_ = false;  ///< the host has arrays of values
  const char* why_host_ = "no rows";
  CallGuard busy_;
  std::string numbers_;  ///< which backend factored, for the summary
};

}  // namespace syncfree::kokkos
