// Numbers kept as the unevaluated sum of two doubles, high + low: about 32 digits, enough for a million levels.
// Written for a double and for a vector of doubles (GCC and Clang), lane by lane.
#pragma once

#include <stdint.h>
#include <string.h>

namespace hidiv::HIDIV_TARGET {
namespace {

#if defined(__GNUC__)
typedef double Two __attribute__((vector_size(16)));
typedef double Four __attribute__((vector_size(32)));
typedef double Eight __attribute__((vector_size(64)));
#endif

template <typename V>
constexpr int64_t lanes = sizeof(V) / sizeof(double);

template <typename V>
inline V load(const double *from) {
    V value;
    memcpy(&value, from, sizeof value);
    return value;
}

template <typename V>
inline void store(double *to, V value) {
    memcpy(to, &value, sizeof value);
}

template <typename V>
inline bool is_zero(V value) {
    if constexpr (lanes<V> == 1) {
        return value == 0.0;
    } else {
        bool zero = true;
        for (int64_t i = 0; i < lanes<V>; ++i) zero &= value[i] == 0.0;
        return zero;
    }
}

// What a + b loses by rounding, given the rounded sum.
template <typename V>
inline V sum_error(V a, V b, V sum) {
    const V shadow = sum - a;
    return (a - (sum - shadow)) + (b - shadow);
}

#ifdef __FMA__
// What a * b loses by rounding, given the rounded product.
template <typename V>
inline V product_error(V a, V b, V product) {
    if constexpr (lanes<V> == 1) {
        return __builtin_fma(a, b, -product);
    } else {
        V error;
        for (int64_t i = 0; i < lanes<V>; ++i) error[i] = __builtin_fma(a[i], b[i], -product[i]);
        return error;
    }
}
#else
// The leading 26 bits of each double; masking, unlike the usual multiplication, cannot overflow.
template <typename V>
inline V leading(V a) {
    uint64_t bits[lanes<V>];
    memcpy(bits, &a, sizeof a);
    for (int64_t i = 0; i < lanes<V>; ++i) bits[i] &= ~((uint64_t(1) << 27) - 1);
    memcpy(&a, bits, sizeof a);
    return a;
}

template <typename V>
inline V product_error(V a, V b, V product) {
    const V a_high = leading(a), a_low = a - a_high, b_high = leading(b), b_low = b - b_high;
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
}
#endif

// high + low <- high + low + (value + rest)
template <typename V>
inline void add(V &high, V &low, V value, V rest) {
    const V sum = high + value;
    low += sum_error(high, value, sum) + rest;
    high = sum;
}

// high + low <- high + low + weight * (value + rest)
template <typename V>
inline void add_scaled(V &high, V &low, V weight, V value, V rest) {
    const V product = weight * value;
    add(high, low, product, product_error(weight, value, product) + weight * rest);
}

// Bring high + low back to |low| <= ulp(high) / 2.
template <typename V>
inline void settle(V &high, V &low) {
    const V sum = high + low;
    low -= sum - high;
    high = sum;
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
