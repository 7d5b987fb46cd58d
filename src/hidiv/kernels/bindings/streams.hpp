// Rows of weights that are made when a kernel comes to them: by Python, or by a kernel from observations.
#pragma once

#include <optional>
#include <tuple>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/count_places.hpp"
#include "bindings/laws.hpp"
#include "bindings/normal_laws.hpp"
#include "one_model/model_tables.hpp"

namespace hidiv {

// make(first, end) gives log_weight, and for a pair log-ratios and residuals or None, each (end - first, K). An
// exception ends the sweep: a refusal is left to the caller, who weighs everything again and finds the place.
class PythonRows : public RowSource {
public:
    using Arrays = std::tuple<Rows, std::optional<Rows>, std::optional<Rows>>;
    PythonRows(nanobind::object make, int64_t states) : make_(std::move(make)), states_(states) {}

    bool make(int64_t first, int64_t end, LawPair &pair) override {
        nanobind::gil_scoped_acquire locked;
        try {
            rows_.reset();  // the last ones, whose memory serves for the next
            rows_ = nanobind::cast<Arrays>(make_(first, end));
            const auto &[log_weight, ratio, residual] = *rows_;
            const auto good = [&](const Rows &each) { return shaped(each, end - first, states_); };
            require(good(log_weight) && (!ratio || good(*ratio)) && (!residual || good(*residual)),
                    "rows must have shape (count, K)");
            require(!pair.initial_ratio || ratio, "a pair needs log-ratios");
            pair.p.log_weight = log_weight.data();
            pair.weight_ratio = ratio ? ratio->data() : nullptr;
            pair.residual = residual ? residual->data() : nullptr;
            return true;
        } catch (...) {
            error_ = std::current_exception();
            return false;
        }
    }
    // After the sweep, with the lock held.
    void rethrow() const {
        if (error_) std::rethrow_exception(error_);
    }

private:
    nanobind::object make_;
    int64_t states_;
    std::optional<Arrays> rows_;
    std::exception_ptr error_;
};

constexpr double most_log_density = 4096.0;  // weights.FAR

// Normal densities of x (n, F) under one model, or two and the log-ratio, without a call of Python. Where a number is
// none or far out, Python makes the rows.
class NormalRows : public RowSource {
public:
    using One = std::tuple<Rows, NormalArrays>;
    using Two = std::tuple<Rows, NormalArrays, NormalArrays, NormalRatioArrays>;
    NormalRows(const One &given, RowSource &other, int64_t n, int64_t states, int64_t chunk)
        : x_(std::get<0>(given)), laws_(std::get<1>(given)), other_(other) {
        prepare(n, states, chunk, false);
    }
    NormalRows(const Two &given, RowSource &other, int64_t n, int64_t states, int64_t chunk)
        : x_(std::get<0>(given)), laws_(std::get<1>(given), std::get<2>(given), std::get<3>(given)), other_(other) {
        prepare(n, states, chunk, true);
    }

    bool make(int64_t first, int64_t end, LawPair &pair) override {
        laws_.task.x = x_.data() + first * laws_.task.p.features;
        bool odd = false;
        if (normal_rows(laws_.task, end - first, 0, odd) != Status::done || odd) return other_.make(first, end, pair);
        pair.p.log_weight = log_p_.data();
        pair.weight_ratio = ratio_.empty() ? nullptr : ratio_.data();
        pair.residual = nullptr;
        return true;
    }

private:
    void prepare(int64_t n, int64_t states, int64_t chunk, bool two) {
        NormalTask &task = laws_.task;
        require(shaped(x_, n, task.p.features) && task.p.states == states,
                "x must have shape (n, F), the laws K states");
        log_p_.resize(size_t(chunk * states));
        ratio_.resize(two ? log_p_.size() : 0);
        task.log_p = log_p_.data();
        task.log_ratio = two ? ratio_.data() : nullptr;
        task.limit = most_log_density;
    }

    Rows x_;
    NormalPair laws_;
    RowSource &other_;
    std::vector<double> log_p_, ratio_;
};

// Counts x (n, F) looked up in a table of log-weights, and for a pair in one of log-ratios, (R, K) each; where a number
// is not in the tables or weights are far out, Python makes the rows.
class CountRows : public RowSource {
public:
    using Given = std::tuple<Rows, CountArrays, Rows, std::optional<Rows>>;
    CountRows(const Given &given, RowSource &other, int64_t n, int64_t states, int64_t chunk, bool two)
        : given_(given), other_(other) {
        const auto &[x, places, values, ratio] = given_;
        task_.places = check_counts(places, values.shape(0));
        require(shaped(x, n, task_.places.columns) && int64_t(values.shape(1)) == states,
                "x must have shape (n, F), the tables K columns");
        require(ratio.has_value() == two && (!two || shaped(*ratio, values.shape(0), values.shape(1))),
                "a pair needs log-ratios, (R, K)");
        value_.resize(size_t(chunk * states));
        ratio_.resize(two ? value_.size() : 0);
        task_.states = states;
        task_.table = values.data();
        task_.value = value_.data();
        task_.ratio_table = two ? ratio->data() : nullptr;
        task_.ratio = two ? ratio_.data() : nullptr;
        task_.limit = most_log_density;
    }

    bool make(int64_t first, int64_t end, LawPair &pair) override {
        task_.x = std::get<0>(given_).data() + first * task_.places.columns;
        bool odd = false;
        if (count_rows(task_, end - first, 1, odd) != Status::done || odd) return other_.make(first, end, pair);
        pair.p.log_weight = value_.data();
        pair.weight_ratio = task_.ratio;
        pair.residual = nullptr;
        return true;
    }

private:
    Given given_;
    CountTask task_{};
    RowSource &other_;
    std::vector<double> value_, ratio_;
};

}  // namespace hidiv
