// Positive numbers with an exponent of their own: products of a million weights neither overflow nor underflow, and a
// product is rounded like a product of doubles. Compiled once, plain scalar code.
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

namespace hidiv {

// Thrown where even an exponent of 64 bits is too short, or where a number is none: the numpy twin, which keeps
// logarithms, answers then.
struct Beyond {};

inline double power_of_two(int64_t e) {  // 2^e for -1022 <= e <= 1023
    const uint64_t bits = uint64_t(e + 1023) << 52;
    double value;
    memcpy(&value, &bits, 8);
    return value;
}

struct Wide {
    static constexpr int64_t most = int64_t(1) << 60;  // of |e|: sums of four exponents fit
    double m = 0.0;                                    // 0, or in [1, 2)
    int64_t e = 0;

    Wide() = default;
    explicit Wide(double value, int64_t exponent = 0) : m(value), e(exponent) { settle(); }

    void settle() {
        if (m == 0.0) {
            e = 0;
            return;
        }
        uint64_t bits;
        memcpy(&bits, &m, 8);
        int64_t exponent = int64_t((bits >> 52) & 0x7ff);
        if (exponent == 0) {  // subnormal
            m *= 0x1p64;
            e -= 64;
            memcpy(&bits, &m, 8);
            exponent = int64_t((bits >> 52) & 0x7ff);
        }
        e += exponent - 1023;
        if (exponent == 0x7ff || e > most || e < -most) throw Beyond();
        bits = (bits & ~(uint64_t(0x7ff) << 52)) | (uint64_t(1023) << 52);
        memcpy(&m, &bits, 8);
    }
    // As a double; what is below the smallest normal number becomes 0, what is too large infinite.
    double value() const { return m == 0.0 || e < -1022 ? 0.0 : e > 1023 ? HUGE_VAL : m * power_of_two(e); }
    double log() const;
};

inline Wide operator*(Wide a, Wide b) { return Wide(a.m * b.m, a.e + b.e); }
// A subnormal factor would round the product to its own few digits.
inline Wide operator*(Wide a, double b) { return b > -0x1p-1022 && b < 0x1p-1022 ? a * Wide(b) : Wide(a.m * b, a.e); }
inline Wide operator/(Wide a, Wide b) { return Wide(a.m / b.m, a.e - b.e); }
inline Wide operator+(Wide a, Wide b) {
    if (a.m == 0.0) return b;
    if (b.m == 0.0) return a;
    if (a.e < b.e) {
        const Wide c = a;
        a = b;
        b = c;
    }
    const int64_t gap = a.e - b.e;
    return gap > 200 ? a : Wide(a.m + b.m * power_of_two(-gap), a.e);
}

inline Wide larger(Wide a, Wide b) {
    if (a.m == 0.0 || b.m == 0.0) return a.m == 0.0 ? b : a;
    return a.e > b.e || (a.e == b.e && a.m > b.m) ? a : b;
}

// ln 2 in two parts, the first short enough that its products with exponents are exact.
constexpr double log2_high = 0x1.62e42fee00000p-1, log2_low = 0x1.a39ef35793c76p-33;

inline double Wide::log() const {
    return m == 0.0 ? -HUGE_VAL : double(e) * log2_high + (double(e) * log2_low + ::log(m));
}

inline Wide wide_exp(double x) {
    if (x == -HUGE_VAL) return Wide();
    if (!(fabs(x) < 0x1p59)) throw Beyond();
    const double k = nearbyint(x * 1.4426950408889634), rest = (x - k * log2_high) - k * log2_low;
    // Beyond 2^50 the rest is rounding, and must not become a factor of any size.
    return Wide(::exp(rest > 1.0 ? 1.0 : rest < -1.0 ? -1.0 : rest), int64_t(k));
}

// A running sum with its rounding errors kept.
struct Sum {
    double high = 0.0, low = 0.0;
    void add(double x) {
        const double total = high + x, part = total - high;
        low += (high - (total - part)) + (x - part);
        high = total;
    }
    double value() const { return low - low == 0.0 ? high + low : high; }  // an infinite sum has no rounding errors
};

// total += e, as long as it can be counted.
inline void add_exponent(int64_t &total, int64_t e) {
    total += e;
    if (total > Wide::most || total < -Wide::most) throw Beyond();
}

}  // namespace hidiv
