// Rows of weights that Python makes when a kernel comes to them.
#pragma once

#include <optional>
#include <tuple>

#include "bindings/arrays.hpp"
#include "bindings/laws.hpp"
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

}  // namespace hidiv
