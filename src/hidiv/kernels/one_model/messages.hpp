// Upward messages of one model, in doubles scaled by powers of two where they suffice, else in Wide.
//
// Number is double or Wide. In doubles nothing may fall below 2^-300 without being exactly zero: then a zero is a zero
// of the model or the evidence, never an underflow, and `upward` returns false to ask for Wide.
#pragma once

#include <math.h>

#include <algorithm>
#include <vector>

#include "one_model/model_tables.hpp"
#include "runtime/table.hpp"
#include "simd/wide.hpp"

namespace hidiv {

constexpr double lowest = 0x1p-300, highest = 0x1p300;

inline bool sound(double x) { return x == 0.0 || (x > lowest && x < highest); }
inline bool sound(Wide) { return true; }
inline int64_t exponent_of(double x) { return Wide(x).e; }
inline int64_t exponent_of(Wide x) { return x.e; }
inline double scaled(double x, int64_t e) { return x == 0.0 ? 0.0 : e > 1000 || e < -1000 ? NAN : x * power_of_two(e); }
inline Wide scaled(Wide x, int64_t e) {
    x.e += x.m == 0.0 ? 0 : e;
    return x;
}
inline bool is_zero(double x) { return x == 0.0; }
inline bool is_zero(Wide x) { return x.m == 0.0; }
inline double share(double x, double total) { return x / total; }
inline double share(Wide x, Wide total) { return (x / total).value(); }
inline Wide widened(double x) { return Wide(x); }
inline Wide widened(Wide x) { return x; }

// exp(x) / 2^k.
template <typename Number>
Number weight_of(double x, double k);
template <>
inline double weight_of<double>(double x, double k) {
    return exp((x - k * log2_high) - k * log2_low);
}
template <>
inline Wide weight_of<Wide>(double x, double k) {
    return scaled(wide_exp(x), -int64_t(k));
}

template <typename Number>
struct Messages {
    int64_t states;
    std::vector<Number> own;   // (n, K): w_u b_u, scaled by a power of two of its own at each node
    std::vector<Number> mass;  // (n, K): sum_s T(r, s) own(s); mass[0] alone at the root
    double log_likelihood = -HUGE_VAL;
};

enum class Upward { done, needs_wide, interrupted };

template <typename Number>
Upward upward(const Law &law, int64_t states, int64_t transitions, const Places &places, Messages<Number> &out) {
    out.states = states;
    for (int64_t i = 0; i < transitions * states * states; ++i)
        if (!sound(Number(law.transition[i]))) return Upward::needs_wide;
    out.own.assign(size_t(places.n * states), Number(1.0));
    out.mass.assign(size_t(places.n * states), Number(0.0));
    int64_t exponent = 0;
    const int64_t look = std::max<int64_t>(1, (1 << 18) / (states * states));
    for (int64_t u = places.n - 1; u >= 0; --u) {
        const double *log_weight = law.log_weight + places.row(u) * states;
        Number *own = out.own.data() + u * states, *mass = out.mass.data() + u * states;
        double top = -HUGE_VAL;
        for (int64_t s = 0; s < states; ++s) top = std::max(top, log_weight[s]);
        if (top > -HUGE_VAL && !(fabs(top) < 0x1p59)) throw Beyond();
        const double k = top > -HUGE_VAL ? nearbyint(top * 1.4426950408889634) : 0.0;
        bool good = true;
        int64_t largest = INT64_MIN;
        for (int64_t s = 0; s < states; ++s) {
            const Number w = log_weight[s] == -HUGE_VAL ? Number(0.0) : weight_of<Number>(log_weight[s], k);
            good = good && (log_weight[s] == -HUGE_VAL || !is_zero(w)) && sound(w) && sound(own[s]);
            own[s] = own[s] * w;
            good = good && sound(own[s]);
            if (!is_zero(own[s])) largest = std::max(largest, exponent_of(own[s]));
        }
        if (largest == INT64_MIN) largest = 0;
        for (int64_t s = 0; s < states; ++s) own[s] = scaled(own[s], -largest);
        add_exponent(exponent, int64_t(k) + largest);
        const double *transition = u ? law.transition + places.transition(u) * states * states : law.initial;
        for (int64_t r = 0; r < (u ? states : 1); ++r) {
            Number sum(0.0);
            for (int64_t s = 0; s < states; ++s) sum = sum + own[s] * transition[r * states + s];
            mass[r] = sum;
            good = good && sound(sum);
        }
        if (!good) return Upward::needs_wide;
        if (u) {
            Number *above = out.own.data() + places.up(u) * states;
            for (int64_t r = 0; r < states; ++r) above[r] = above[r] * mass[r];
        }
        if (u % look == 0 && interrupted()) return Upward::interrupted;
    }
    const Wide total = widened(out.mass[0]);
    out.log_likelihood = Wide(total.m, total.e + exponent).log();
    return Upward::done;
}

}  // namespace hidiv
