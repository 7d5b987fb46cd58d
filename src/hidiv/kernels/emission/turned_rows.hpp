// Rows of observations in the lanes, and tables by states written back as rows.
#pragma once

#include "simd/simd.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

// x (count, F) as (F, AT_ONCE); the last lanes hold the first row again.
template <int AT_ONCE>
HIDIV_INLINE void into_lanes(const double *from, int64_t features, int64_t count, double *x) {
    for (int64_t i = 0; i < count; ++i)
        for (int64_t f = 0; f < features; ++f) x[f * AT_ONCE + i] = from[i * features + f];
    for (int64_t i = count; i < AT_ONCE; ++i)
        for (int64_t f = 0; f < features; ++f) x[f * AT_ONCE + i] = from[f];
}

// (K, AT_ONCE) by states into rows (count, K); a known number of states is written without a loop.
template <int AT_ONCE, int K>
HIDIV_INLINE void turn_states(const double *from, int64_t count, double *to) {
    for (int64_t i = 0; i < count; ++i)
        for (int s = 0; s < K; ++s) to[i * K + s] = from[s * AT_ONCE + i];
}
template <int AT_ONCE>
void turn(const double *from, int64_t states, int64_t count, double *to) {
    if (states == 2) return turn_states<AT_ONCE, 2>(from, count, to);
    if (states == 3) return turn_states<AT_ONCE, 3>(from, count, to);
    if (states == 4) return turn_states<AT_ONCE, 4>(from, count, to);
    for (int64_t i = 0; i < count; ++i)
        for (int64_t s = 0; s < states; ++s) to[i * states + s] = from[s * AT_ONCE + i];
}

}  // namespace
}  // namespace hidiv::HIDIV_TARGET
