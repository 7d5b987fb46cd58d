// Log weights turned into weights: scaled by powers of two, row by row.
#include "posterior/steps.hpp"

#include <math.h>

#include "simd/simd.hpp"
#include "runtime/table.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

constexpr double low = -277.0;  // 2^-400
constexpr double far = 250.0;
constexpr double huge = 1e300;
constexpr double most_log = 0x1p40;  // of a weight's logarithm: exponents are added up as whole numbers

constexpr double lowest = -700.0;  // of what exp_of takes
constexpr double far_out = 0x1p16;

// x - k ln 2 for the power of two nearest to e^top.
constexpr double log2_of_e = 0x1.71547652b82fep0, log2_high = 0x1.62e42fee00000p-1, log2_low = 0x1.a39ef35793c76p-33;
HIDIV_INLINE double power(double top) { return __builtin_nearbyint(top * log2_of_e); }
HIDIV_INLINE double reduced(double x, double k) { return (x - k * log2_high) - k * log2_low; }
HIDIV_INLINE double at_least(double x) { return x > lowest ? x : lowest; }

// A row of one model: negligible weights stand in as 2^-400; false for zeros and what no exponent holds.
HIDIV_INLINE bool one_row(const double *x, int64_t row, const WeightRows &out) {
    double top = x[0], bottom = x[0];
    for (int64_t s = 1; s < out.states; ++s) {
        top = x[s] > top ? x[s] : top;
        bottom = x[s] < bottom ? x[s] : bottom;
    }
    if (!(bottom > -huge && top > -most_log && top < most_log)) return false;
    const double k = power(top);
    double *weight = out.weight + row * out.padded, *ratio = out.ratio + row * out.padded;
    for (int64_t s = 0; s < out.states; ++s) {
        const double own = reduced(x[s], k);
        weight[s] = own > low ? own : low;
    }
    for (int64_t s = out.states; s < out.padded; ++s) weight[s] = 0.0;
    for (int64_t s = 0; s < out.padded; ++s) ratio[s] = 0.0;
    out.exponent[row] = int64_t(k);
    out.ratio_out[row] = 0.0;
    return true;
}

// The same of as many rows of K states as a vector has lanes, a row in each.
template <int K>
HIDIV_INLINE bool narrow_rows(const double *log_weight, const int64_t *index, int64_t row, const WeightRows &out) {
    using Vec = V<native>;
    Vec x[K];
    for (int l = 0; l < native; ++l)
        for (int s = 0; s < K; ++s) x[s][l] = log_weight[index[row + l] * K + s];
    Vec top = x[0], bottom = x[0];
    for (int s = 1; s < K; ++s) {
        top = larger<native>(x[s], top);
        bottom = smaller<native>(x[s], bottom);
    }
    if (any<native>(~((bottom > -huge) & (top > -most_log) & (top < most_log)))) return false;
    const double whole = 0x1.8p52;  // adding it rounds
    const Vec k = (top * log2_of_e + whole) - whole;
    for (int s = 0; s < K; ++s) {
        const Vec own = (x[s] - k * log2_high) - k * log2_low;
        x[s] = own > low ? own : all<native>(low);
    }
    double *weight = out.weight + row * out.padded, *ratio = out.ratio + row * out.padded;
    for (int l = 0; l < native; ++l) {
        for (int s = 0; s < K; ++s) weight[l * out.padded + s] = x[s][l];
        for (int64_t s = K; s < out.padded; ++s) weight[l * out.padded + s] = 0.0;
        out.exponent[row + l] = int64_t(k[l]);
        out.ratio_out[row + l] = 0.0;
    }
    for (int64_t i = 0; i < native * out.padded; ++i) ratio[i] = 0.0;
    return true;
}

// A row out of range: the logarithms of both models' weights, each on a scale of its own.
HIDIV_INLINE void far_row(const double *x, const double *y, double k, double out_ratio, double wide, int64_t row,
                          const WeightRows &out) {
    double top_q = -HUGE_VAL;
    double *weight = out.weight + row * out.padded, *ratio = out.ratio + row * out.padded,
           *weight_q = out.weight_q + row * out.padded;
    for (int64_t s = 0; s < out.states; ++s) {
        const double own = reduced(x[s], k);
        ratio[s] = y[s] - out_ratio;
        weight[s] = at_least(own);
        weight_q[s] = own + ratio[s];
        top_q = weight_q[s] > top_q ? weight_q[s] : top_q;
    }
    const double k_q = power(top_q);
    for (int64_t s = 0; s < out.states; ++s) weight_q[s] = at_least(reduced(weight_q[s], k_q));
    out.exponent_q[row] = int64_t(k_q);
    out.reach[row] = wide > 1.0 ? wide : 1.0;
}

}  // namespace

int weigh_rows(const double *log_weight, const double *ratio, const int64_t *index, int64_t count,
               const WeightRows &out) {
    const int64_t states = out.states, padded = out.padded;
    int outcome = weights_done;
    if (states > 512) return weights_out_of_range;
    int64_t narrow = 0;
    for (; !ratio && states == 2 && narrow + native <= count; narrow += native)
        if (!narrow_rows<2>(log_weight, index, narrow, out)) return weights_zero;
    for (int64_t i = narrow; i < count; ++i) {
        const int64_t from = index[i] * states, to = i * padded;
        const double *x = log_weight + from;
        if (!ratio) {
            if (!one_row(x, i, out)) return weights_zero;
            continue;
        }
        const double *y = ratio + from;
        double top = x[0], top_q = x[0] + y[0], out_ratio = y[0];
        double bottom = x[0], wide = 0.0;
        for (int64_t s = 1; s < states; ++s) {
            out_ratio = x[s] > top ? y[s] : out_ratio;
            top = x[s] > top ? x[s] : top;
            bottom = x[s] < bottom ? x[s] : bottom;
            top_q = x[s] + y[s] > top_q ? x[s] + y[s] : top_q;
        }
        // The ratio too: where q gives every state zero all of them are -inf, and no difference shows it.
        if (!(bottom > -huge && top > -most_log && top < most_log && out_ratio > -huge && out_ratio < huge))
            return weights_zero;
        const double k = power(top);
        for (int64_t s = 0; s < states; ++s) {
            const double apart = y[s] - out_ratio, size = apart < 0 ? -apart : apart;
            out.weight[to + s] = reduced(x[s], k);
            out.ratio[to + s] = apart;
            wide = size > wide ? size : wide;
        }
        if (!(wide < huge)) return weights_zero;
        bool here = true;
        if (bottom - top < low || wide > far) {
            double *weight = out.weight + to, *apart = out.ratio + to;
            int64_t beyond = 0;
            for (int64_t s = 0; s < states; ++s) {  // without branches, which would be guessed wrong
                const bool light = x[s] - top<low, wide_apart = apart[s]> far || apart[s] < -far;
                // Negligible for both models whatever the row: stands in as 2^-400.
                const bool nothing = light & (x[s] + y[s] - top_q < low);
                beyond += (!nothing) & (light | wide_apart);
                weight[s] = nothing ? low : weight[s];
                apart[s] = nothing ? 0.0 : apart[s];
            }
            here = beyond == 0;
        }
        const bool other_scale = !here && wide <= far_out;
        if (!here && outcome < weights_far_out) outcome = other_scale ? weights_out_of_range : weights_far_out;
        if (out.weight_q) {
            out.exponent_q[i] = 0;
            out.reach[i] = 0.0;
            if (other_scale) far_row(x, y, k, out_ratio, wide, i, out);
        }
        for (int64_t s = states; s < padded; ++s) out.weight[to + s] = out.ratio[to + s] = 0.0;
        out.exponent[i] = int64_t(k);
        out.ratio_out[i] = out_ratio;
    }
    int64_t i = 0;
    for (; i + native <= count * padded; i += native)
        store<native>(out.weight + i, exp_of<native>(load<native>(out.weight + i)));
    for (; i < count * padded; ++i) out.weight[i] = exp_of<2>(V<2>{out.weight[i], out.weight[i]})[0];
    for (int64_t row = 0; padded > states && row < count; ++row)
        for (int64_t s = states; s < padded; ++s) out.weight[row * padded + s] = 0.0;
    const bool both = out.weight_q && (out.every_q || outcome == weights_out_of_range);
    for (int64_t row = 0; both && row < count; ++row) {
        const bool own_scale = out.reach[row] > 0.0;
        const double *log = (own_scale ? out.weight_q : out.ratio) + row * padded, *weight = out.weight + row * padded;
        double *weight_q = out.weight_q + row * padded;
        int64_t j = 0;
        for (; j + native <= padded; j += native) {
            const V<native> factor = exp_of<native>(load<native>(log + j));
            store<native>(weight_q + j, own_scale ? factor : load<native>(weight + j) * factor);
        }
        for (; j < padded; ++j) {
            const double factor = exp_of<2>(V<2>{log[j], log[j]})[0];
            weight_q[j] = own_scale ? factor : weight[j] * factor;
        }
        for (int64_t s = states; s < padded; ++s) weight_q[s] = 0.0;
    }
    return outcome;
}

}  // namespace hidiv::HIDIV_TARGET
