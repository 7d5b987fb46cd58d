// One step of the downward recursion in doubled precision, rows scaled to sum to one exactly.
#pragma once

#include "simd/doubled.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

// high + low, a law, from a row of probabilities that may be off by a few ulp.
inline void start_law(int64_t states, const double *initial, double *high, double *low) {
    const double correction = row_correction(states, initial);
    for (int64_t s = 0; s < states; ++s) {
        high[s] = initial[s];
        low[s] = correction * initial[s];
        settle(high[s], low[s]);
    }
}

// next = law * matrix, with the corrections of the matrix's rows; `next` must not overlap `law`.
inline void next_law(int64_t states, const double *matrix, const double *correction, const double *high,
                     const double *low, double *next_high, double *next_low) {
    for (int64_t s = 0; s < states; ++s) next_high[s] = next_low[s] = 0.0;
    for (int64_t r = 0; r < states; ++r)
        if (high[r] != 0.0)
            for (int64_t s = 0; s < states; ++s)
                add_scaled(next_high[s], next_low[s], matrix[r * states + s], high[r],
                           low[r] + correction[r] * high[r]);
    for (int64_t s = 0; s < states; ++s) settle(next_high[s], next_low[s]);
}

}  // namespace
}  // namespace hidiv::HIDIV_TARGET
