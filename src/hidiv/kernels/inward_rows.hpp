// What a node makes of the sum over its children (Theorem 1), for the two sweeps that differ in how they come by it.
//
// Everything is carried in doubled precision with the rows scaled to sum to one exactly. Plain doubles would drift by
// depth times the rounding of a row's sum; and since every term is non-negative nothing cancels, however much the
// states differ.
#pragma once

#include "doubled.hpp"
#include "scratch.hpp"
#include "table.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

// A row of K states is PIECES vectors V; PIECES = 0 where the number is known only when running.
template <typename V, int PIECES>
class InwardRows {
public:
    InwardRows(Matrices matrices, const double *own)
        : groups_(matrices.groups), states_(matrices.states), own_(own), columns_(groups_ * states_ * states_, unset),
          correction_(groups_ * states_, unset) {
        if (!good()) return;
        for (int64_t g = 0; g < groups_; ++g) {
            const double *matrix = matrices.values + g * states_ * states_;
            double *columns = columns_.values + g * states_ * states_;
            for (int64_t r = 0; r < states_; ++r) {
                correction_.values[g * states_ + r] = row_correction(states_, matrix + r * states_);
                for (int64_t s = 0; s < states_; ++s) columns[s * states_ + r] = matrix[r * states_ + s];
            }
        }
    }
    bool good() const { return columns_.values && correction_.values; }
    int64_t groups() const { return groups_; }
    int64_t states() const { return PIECES ? PIECES * lanes<V> : states_; }
    int64_t pieces() const { return PIECES ? PIECES : states_; }

    void read(const double *from, V *row) const {
        for (int64_t i = 0; i < pieces(); ++i) row[i] = load<V>(from + i * lanes<V>);
    }
    void write(const V *row, double *to) const {
        for (int64_t i = 0; i < pieces(); ++i) store(to + i * lanes<V>, row[i]);
    }
    void clear(V *row) const {
        for (int64_t i = 0; i < pieces(); ++i) row[i] = V{};
    }
    const double *own(int64_t group) const { return own_ + group * states(); }

    // high + low = own + T (sum + sum_low); the sum is brought in order on the way.
    void weigh(int64_t group, V *sum, V *sum_low, V *high, V *low) const {
        const double *column = columns_.values + group * states() * states();
        for (int64_t i = 0; i < pieces(); ++i) {
            settle(sum[i], sum_low[i]);
            high[i] = low[i] = V{};
        }
        for (int64_t s = 0; s < states(); ++s, column += states()) {
            const V below = V{} + entry(sum, s), below_low = V{} + entry(sum_low, s);
            for (int64_t i = 0; i < pieces(); ++i)
                add_scaled(high[i], low[i], load<V>(column + i * lanes<V>), below, below_low);
        }
        for (int64_t i = 0; i < pieces(); ++i) {
            low[i] += load<V>(correction_.values + group * states() + i * lanes<V>) * high[i];
            add(high[i], low[i], load<V>(own(group) + i * lanes<V>), V{});
            settle(high[i], low[i]);
        }
    }
    // The root has no row above it: its own terms are added as they are.
    void finish(const double *root, V *sum, V *sum_low, double *out) const {
        for (int64_t i = 0; i < pieces(); ++i) {
            add(sum[i], sum_low[i], load<V>(root + i * lanes<V>), V{});
            store(out + i * lanes<V>, sum[i] + sum_low[i]);
        }
    }

private:
    static double entry(const V *row, int64_t s) {
        if constexpr (lanes<V> == 1) {
            return row[s];
        } else {
            return row[s / lanes<V>][s % lanes<V>];
        }
    }

    const int64_t groups_, states_;
    const double *own_;
    const Scratch columns_;  // of the matrices, so that a vector holds several rows: independent sums
    const Scratch correction_;  // what makes rows sum to one
};

// Four rows of a sweep: in registers where their length is known, else in memory of their own.
template <typename V, int PIECES>
struct FourRows {
    explicit FourRows(int64_t pieces)
        : memory(PIECES ? 0 : 4 * pieces), high(PIECES ? registers : memory.values), low(high + pieces), sum(low + pieces),
          sum_low(sum + pieces) {}
    bool good() const { return memory.values; }
    V registers[PIECES ? 4 * PIECES : 1];
    ScratchOf<V> memory;
    V *const high, *const low, *const sum, *const sum_low;
};

// Calls Sweep<V, PIECES>::run with the vectors that fit the number of states.
template <template <typename, int> class Sweep>
Status sweep_of(Nodes nodes, Matrices matrices, const double *own, const double *root, double *out) {
    switch (matrices.states) {
        case 1: return Sweep<double, 1>(nodes, matrices, own, out).run(root);
        case 3: return Sweep<double, 3>(nodes, matrices, own, out).run(root);
#if defined(__GNUC__)
        case 2: return Sweep<Two, 1>(nodes, matrices, own, out).run(root);
        case 4: return Sweep<Four, 1>(nodes, matrices, own, out).run(root);
        case 8: return Sweep<Eight, 1>(nodes, matrices, own, out).run(root);
#endif
        default: return Sweep<double, 0>(nodes, matrices, own, out).run(root);
    }
}

}  // namespace
}  // namespace hidiv::HIDIV_TARGET
