// The nodes of a listed tree in lanes: which go together, what their children left for them, and what they leave for
// their parents. The step itself is the caller's.
#pragma once

#include "posterior/lane_rows.hpp"
#include "posterior/steps.hpp"
#include "simd/simd.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

constexpr double least_factor = 0x1p-300;  // of the numbers in a record that are multiplied

// As many nodes u, u-1, ... as do not wait for each other and share a transition, W at most; lanes left over repeat u.
template <int W>
HIDIV_INLINE int64_t together(const TreeNodes &nodes, int64_t u, int64_t last) {
    const int64_t *of = nodes.transition_of;
    if (u - W + 1 >= last) {
        int64_t highest = nodes.parent[u], differ = 0;
        for (int64_t l = 1; l < W; ++l) highest = nodes.parent[u - l] > highest ? nodes.parent[u - l] : highest;
        for (int64_t l = 1; of && l < W; ++l) differ |= of[u - l] ^ of[u];
        if (highest < u - W + 1 && !differ) return W;
    }
    int64_t highest = nodes.parent[u], m = 1;
    while (m < W && u - m >= last && highest < u - m && (!of || of[u - m] == of[u])) {
        highest = nodes.parent[u - m] > highest ? nodes.parent[u - m] : highest;
        ++m;
    }
    return m;
}

// Keeps K factors near one: the power of two of the largest is taken out where one is far from it. false where they are
// too far from each other: a factor that underflows would be taken for a record that is still empty.
template <int W, int K>
HIDIV_INLINE bool keep_size(double *factor, double &power) {
    double top = factor[0], bottom = factor[0];
    for (int s = 1; s < K; ++s) {
        top = factor[s] > top ? factor[s] : top;
        bottom = factor[s] < bottom ? factor[s] : bottom;
    }
    if (bottom >= 0x1p-100 && top <= 0x1p100) return true;
    if (!(bottom > 0x1p-900 && top < 0x1p900)) return false;
    const I<W> lead = exponents<W>(all<W>(top));
    const double scale = powers<W>(-lead)[0];
    for (int s = 0; s < K; ++s) factor[s] *= scale;
    power += double(lead[0]);
    return bottom * scale > least_factor;
}

// Adds a message to a parent's record: K numbers are multiplied, K multiplied or added, K added.
template <int W, int K, bool SECOND_MULTIPLIES>
HIDIV_INLINE bool hand_over(double *above, const double *message, TreeSums &sums) {
    constexpr int factors = SECOND_MULTIPLIES ? 2 * K : K;
    if (above[0] == 0.0) {
        for (int s = 0; s < 3 * K; ++s) above[s] = message[s];
    } else {
        for (int s = 0; s < factors; ++s) above[s] *= message[s];
        for (int s = factors; s < 3 * K; ++s) above[s] += message[s];
    }
    if (!keep_size<W, K>(above, sums.power)) return false;
    if constexpr (SECOND_MULTIPLIES) return keep_size<W, K>(above + K, sums.power_q);
    return true;
}

// step(rows, group, below or null, lanes in use, message by state and lane) for nodes first, first-1, ..., last.
template <int W, int K, class Step>
HIDIV_INLINE bool nodes_in_lanes(const LaneRows &rows, const TreeNodes &nodes, int64_t first, int64_t last, Step &step,
                                 TreeSums &sums) {
    constexpr int64_t stride = lane_record(K);
    constexpr bool second_multiplies = Step::second_multiplies;
    constexpr int factors = second_multiplies ? 2 * K : K;
    alignas(64) double spill[3 * K][W];
    for (int64_t u = first; u >= last;) {
        const int64_t group = nodes.transition_of ? nodes.transition_of[u] : 0, m = together<W>(nodes, u, last);
        const int64_t lowest = u - m + 1;  // lane l holds node lowest + l
        if (u - 4 * W > last)
            for (int l = 0; l < W; ++l) __builtin_prefetch(nodes.record + nodes.parent[u - 4 * W + l] * stride, 1);
        int64_t at[W];
        for (int l = 0; l < W; ++l) at[l] = row_of(rows, l < m ? lowest + l : u);
        V<W> below[3 * K];
        const bool inner = lowest < nodes.records;
        for (int l = 0; inner && l < W; ++l) {
            const int64_t v = l < m ? lowest + l : u;
            const double *record = nodes.record + (v < nodes.records ? v : 0) * stride;
            const bool has = v < nodes.records && record[0] != 0.0;
            for (int s = 0; s < 3 * K; ++s) below[s][l] = has ? record[s] : s < factors ? 1.0 : 0.0;
        }
        if (!step(at, group, inner ? below : nullptr, m, spill)) return false;
        // Siblings stand together more often than not: their messages meet before they go to the parent.
        double met[3 * K] = {};
        int64_t owner = -1;
        for (int64_t l = m - 1; l >= 0; --l) {
            const int64_t parent = nodes.parent[lowest + l];
            if (parent == owner) {
                for (int s = 0; s < factors; ++s) met[s] *= spill[s][l];
                for (int s = factors; s < 3 * K; ++s) met[s] += spill[s][l];
            } else {
                if (owner >= 0 && !hand_over<W, K, second_multiplies>(nodes.record + owner * stride, met, sums))
                    return false;
                owner = parent;
                for (int s = 0; s < 3 * K; ++s) met[s] = spill[s][l];
            }
        }
        if (!hand_over<W, K, second_multiplies>(nodes.record + owner * stride, met, sums)) return false;
        u -= m;
    }
    return true;
}

}  // namespace
}  // namespace hidiv::HIDIV_TARGET
