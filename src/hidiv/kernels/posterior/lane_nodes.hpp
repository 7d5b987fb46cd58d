// The nodes of a listed tree in lanes: which go together, what their children left for them, and what they leave for
// their parents. The step itself is the caller's.
#pragma once

#include "posterior/lane_rows.hpp"
#include "posterior/steps.hpp"
#include "simd/simd.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

constexpr double least_factor = 0x1p-300, most_factor = 0x1p300;  // of the numbers in a record that are multiplied

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

// The masses of a vector of messages given the parent's state 0, multiplied up.
template <int W>
struct MassTaken {
    V<W> mass = all<W>(1.0), power{};

    __attribute__((always_inline)) void take(V<W> n) {
        mass *= n;
        const I<W> e = exponents<W>(mass);
        mass *= powers<W>(-e);
        power += as_double<W>(e);
    }
};

// Adds a message to a parent's record, of which the first FACTORS numbers are multiplied and the others added; the
// first message a record hears is copied, since nobody cleared it. What becomes too large or too small is noted in
// `bad`.
template <int C, int SIZE, int FACTORS>
HIDIV_INLINE void hand_over(double *above, const double *message, bool first, I<C> &bad) {
    const I<C> copied = I<C>{} - (long long)first;
    for (int at = 0; at < SIZE; at += C) {
        const V<C> old = load<C>(above + at), own = load<C>(message + at), product = old * own, sum = old + own;
        I<C> multiplied{};
        for (int i = 0; i < C; ++i) multiplied[i] = at + i < FACTORS ? -1 : 0;
        const V<C> both = multiplied ? product : sum, now = copied ? own : both;
        bad |= multiplied & ~((now > least_factor) & (now < most_factor));
        store<C>(above + at, now);
    }
}

constexpr int64_t ahead = 32;  // nodes between asking for what is in memory and needing it

template <int COUNT>
HIDIV_INLINE void ask_for_doubles(const double *from) {
    for (int at = 0; at < COUNT; at += 8) __builtin_prefetch(from + at);
}

// What nodes u, u+1, ... will read, and, which takes longest, the records of their parents. Rows and records of
// neighbours are neighbours, but between records all over the memory the processor does not see that.
template <int W, int K>
HIDIV_INLINE void ask_for(const LaneRows &rows, const TreeNodes &nodes, int64_t u) {
    constexpr int size = lane_record(K);
    __builtin_prefetch(nodes.parent + u - ahead);
    for (int l = 0; l < W; ++l) __builtin_prefetch(nodes.record + nodes.parent[u + l] * size, 1);
    if (u < nodes.records) ask_for_doubles<W * size>(nodes.record + u * size);
    if (rows.log_weight && !rows.weight && !rows.row_of_32 && !rows.row_of_64) {
        ask_for_doubles<W * K>(rows.log_weight + u * K);
        ask_for_doubles<W * K>(rows.log_ratio + u * K);
    }
}

// step(rows, group, below or null, lanes in use, message) for nodes first, first-1, ..., last; below and the message by
// the numbers of a record.
template <int W, int K, class Step>
HIDIV_INLINE bool nodes_in_lanes(const LaneRows &rows, const TreeNodes &nodes, int64_t first, int64_t last,
                                 Step &step) {
    constexpr int size = lane_record(K), C = W < 4 ? W : 4;
    alignas(64) double message[W][size];
    I<C> bad{};
    for (int64_t u = first; u >= last;) {
        const int64_t group = nodes.transition_of ? nodes.transition_of[u] : 0, m = together<W>(nodes, u, last);
        const int64_t lowest = u - m + 1;  // lane l holds node lowest + l
        if (u > 2 * ahead) ask_for<W, K>(rows, nodes, u - ahead);
        int64_t node[W], at[W];
        bool inner = false;
        for (int l = 0; l < W; ++l) {
            node[l] = l < m ? lowest + l : u;
            at[l] = row_of(rows, node[l]);
            inner |= nodes.heard[node[l]];
            node[l] = nodes.heard[node[l]] ? node[l] : nodes.records;
        }
        V<W> below[size], sent[size] = {};
        for (int i = 0; inner && i < size; i += 4) four_columns<W>(nodes.record + i, node, size, below + i);
        if (!step(at, group, inner ? below : nullptr, m, sent)) return false;
        for (int i = 0; i < size; i += 4) four_into_rows<W>(sent + i, size, message[0] + i);
        for (int64_t l = m - 1; l >= 0; --l) {
            const int64_t parent = nodes.parent[lowest + l];
            hand_over<C, size, Step::factors>(nodes.record + parent * size, message[l], !nodes.heard[parent], bad);
            nodes.heard[parent] = true;
        }
        u -= m;
    }
    return !any<C>(bad);
}

}  // namespace
}  // namespace hidiv::HIDIV_TARGET
