// Weight rows of W nodes under both models, brought into lanes, for the semiring.
#pragma once

#include "posterior/lane_rows.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

constexpr double lowest_exponent = -700.0;

// Weights of both models and log-ratios g. Where they are made here the heaviest weight of each model is one and
// weights below e^-700 stand in as that; log_out and ratio_out are what that took out of p's logarithms and the ratios.
template <int W, int K>
HIDIV_INLINE bool both_weights(const LaneRows &rows, const int64_t *at, int states, V<W> *w, V<W> *w_q, V<W> *g,
                               V<W> &log_out, V<W> &ratio_out, V<W> &reach) {
    using Vec = V<W>;
    if (rows.weight) {
        constexpr bool padded = K != 2;
        columns<W, K, padded>(rows.weight, at, rows.stride, states, w);
        columns<W, K, padded>(rows.weight_q, at, rows.stride, states, w_q);
        columns<W, K, padded>(rows.ratio, at, rows.stride, states, g);
        if (rows.taken) {
            Vec taken[4];
            four_columns<W>(rows.taken, at, 4, taken);
            log_out = taken[0] * 0x1.62e42fefa39efp-1;
            ratio_out = taken[1];
        }
        return true;
    }
    if (!logarithms<W, K>(rows, at, states, w, g)) return false;
    Vec top = w[0], top_q = w[0] + g[0], sum{}, apart{};
    for (int s = 0; s < states; ++s) {
        w_q[s] = w[s] + g[s];
        sum += size<W>(w[s]) + size<W>(g[s]);
        top = larger<W>(top, w[s]);
        top_q = larger<W>(top_q, w_q[s]);
    }
    log_out = top;
    ratio_out = top_q - top;
    for (int s = 0; s < states; ++s) {
        g[s] -= ratio_out;
        apart = larger<W>(apart, size<W>(g[s]));
    }
    if constexpr (K == 2) {  // one of the two is the heaviest
        const auto both = [](Vec *x) {
            const Vec apart_by = x[1] - x[0];
            const Vec light = exp_of<W>(larger<W>(-size<W>(apart_by), all<W>(lowest_exponent)));
            x[0] = apart_by > 0.0 ? light : all<W>(1.0);
            x[1] = apart_by > 0.0 ? all<W>(1.0) : light;
        };
        both(w);
        both(w_q);
    } else {
        for (int s = 0; s < states; ++s) {
            w[s] = exp_of<W>(larger<W>(w[s] - top, all<W>(lowest_exponent)));
            w_q[s] = exp_of<W>(larger<W>(w_q[s] - top_q, all<W>(lowest_exponent)));
        }
    }
    reach += apart > farthest_ratio ? apart : Vec{};
    return !any<W>(~(sum < 1e12)) && !any<W>(~(apart < 0x1p16));
}

}  // namespace
}  // namespace hidiv::HIDIV_TARGET
