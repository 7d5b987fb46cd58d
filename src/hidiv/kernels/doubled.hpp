// Numbers kept as the unevaluated sum of two doubles: about 32 digits, enough for a million levels of anything.
#pragma once

#include <stdint.h>
#include <string.h>

namespace hidiv::HIDIV_TARGET {
namespace {

// What a + b loses by rounding, given the rounded sum.
inline double sum_error(double a, double b, double sum) {
    const double shadow = sum - a;
    return (a - (sum - shadow)) + (b - shadow);
}

#ifdef __FMA__
// What a * b loses by rounding, given the rounded product.
inline double product_error(double a, double b, double product) { return __builtin_fma(a, b, -product); }
#else
// The leading 26 bits of a double; masking, unlike the usual multiplication, cannot overflow.
inline double leading(double a) {
    uint64_t bits;
    memcpy(&bits, &a, sizeof bits);
    bits &= ~((uint64_t(1) << 27) - 1);
    memcpy(&a, &bits, sizeof bits);
    return a;
}

inline double product_error(double a, double b, double product) {
    const double a_high = leading(a), a_low = a - a_high, b_high = leading(b), b_low = b - b_high;
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
}
#endif

// high + low <- high + low + (value + rest)
inline void add(double &high, double &low, double value, double rest) {
    const double sum = high + value;
    low += sum_error(high, value, sum) + rest;
    high = sum;
}

// Bring high + low back to |low| <= ulp(high) / 2.
inline void settle(double &high, double &low) {
    const double sum = high + low;
    low -= sum - high;
    high = sum;
}

// high(j) + low(j) += weights(j) * (value + rest), over a row of weights.
inline void add_scaled(int64_t states, const double *weights, double value, double rest, double *high, double *low) {
    for (int64_t j = 0; j < states; ++j) {
        const double product = weights[j] * value;
        add(high[j], low[j], product, product_error(weights[j], value, product) + weights[j] * rest);
    }
}

// 1 / (sum of the row) - 1: what makes a row that is off by a few ulp sum to one exactly; 0 for a row of zeros.
inline double row_correction(int64_t states, const double *row) {
    double high = 0.0, low = 0.0;
    for (int64_t s = 0; s < states; ++s) add(high, low, row[s], 0.0);
    const double total = high + low;
    return total > 0.0 ? ((1.0 - high) - low) / total : 0.0;
}

}  // namespace
}  // namespace hidiv::HIDIV_TARGET
