// What a node makes of the sum over its children (Theorem 1), for the two sweeps that differ in how they come by it.
//
// Everything is carried in doubled precision with the rows scaled to sum to one exactly. Plain doubles would drift by
// depth times the rounding of a row's sum; and since every term is non-negative nothing cancels, however much the
// states differ.
#pragma once

#include "simd/doubled.hpp"
#include "runtime/scratch.hpp"
#include "runtime/table.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

// One value a state: PIECES vectors V, or an array of doubles (PIECES = 0) where their number is known only when
// running.
template <typename V, int PIECES>
struct Row {
    explicit Row(V *) {}
    V values[PIECES];
};
template <typename V>
struct Row<V, 0> {
    explicit Row(V *memory) : values(memory) {}
    V *values;
};

// A number of every state in doubled precision.
template <typename V, int PIECES>
struct Doubled {
    Doubled(V *memory, int64_t pieces) : high(memory), low(memory + pieces) {}
    Row<V, PIECES> high, low;
};

// The tables of a sweep; small enough to be copied to where a loop can keep it in registers.
template <typename V, int PIECES>
struct InwardTables {
    int64_t groups, count;
    const double *own;
    const double *columns;     // of the matrices, so that a vector holds several rows: independent sums
    const double *correction;  // what makes rows sum to one

    using Pair = Doubled<V, PIECES>;
    int64_t states() const { return PIECES ? PIECES * lanes<V> : count; }
    int64_t pieces() const { return PIECES ? PIECES : count; }
    bool known(int64_t group) const { return uint64_t(group) < uint64_t(groups); }

    void read(const double *high, const double *low, Pair &to) const {
        for (int64_t i = 0; i < pieces(); ++i) {
            to.high.values[i] = load<V>(high + i * lanes<V>);
            to.low.values[i] = load<V>(low + i * lanes<V>);
        }
    }
    void write(const Row<V, PIECES> &row, double *to) const {
        for (int64_t i = 0; i < pieces(); ++i) store(to + i * lanes<V>, row.values[i]);
    }
    void clear(Pair &pair) const {
        for (int64_t i = 0; i < pieces(); ++i) pair.high.values[i] = pair.low.values[i] = V{};
    }
    void leaf(int64_t group, Pair &to) const {
        for (int64_t i = 0; i < pieces(); ++i) {
            to.high.values[i] = load<V>(own + group * states() + i * lanes<V>);
            to.low.values[i] = V{};
        }
    }
    void gather(Pair &sum, const Pair &more) const {
        for (int64_t i = 0; i < pieces(); ++i)
            add(sum.high.values[i], sum.low.values[i], more.high.values[i], more.low.values[i]);
    }

    // own + T sum; the sum is brought in order on the way.
    void weigh(int64_t group, Pair &sum, Pair &to) const {
        const double *column = columns + group * states() * states();
        for (int64_t i = 0; i < pieces(); ++i) settle(sum.high.values[i], sum.low.values[i]);
        clear(to);
        for (int64_t s = 0; s < states(); ++s, column += states()) {
            const V below = V{} + entry(sum.high, s), below_low = V{} + entry(sum.low, s);
            for (int64_t i = 0; i < pieces(); ++i)
                add_scaled(to.high.values[i], to.low.values[i], load<V>(column + i * lanes<V>), below, below_low);
        }
        for (int64_t i = 0; i < pieces(); ++i) {
            V &high = to.high.values[i], &low = to.low.values[i];
            low += load<V>(correction + group * states() + i * lanes<V>) * high;
            add(high, low, load<V>(own + group * states() + i * lanes<V>), V{});
            settle(high, low);
        }
    }
    // The root has no row above it: its own terms are added as they are.
    void finish(const double *root, Pair &sum, double *to) const {
        for (int64_t i = 0; i < pieces(); ++i) {
            add(sum.high.values[i], sum.low.values[i], load<V>(root + i * lanes<V>), V{});
            store(to + i * lanes<V>, sum.high.values[i] + sum.low.values[i]);
        }
    }

private:
    static double entry(const Row<V, PIECES> &row, int64_t s) {
        if constexpr (lanes<V> == 1) {
            return row.values[s];
        } else {
            return row.values[s / lanes<V>][s % lanes<V>];
        }
    }
};

// The memory behind them.
class InwardMemory {
public:
    explicit InwardMemory(Matrices matrices)
        : states_(matrices.states), columns_(matrices.groups * states_ * states_, unset),
          correction_(matrices.groups * states_, unset) {
        if (!good()) return;
        for (int64_t g = 0; g < matrices.groups; ++g) {
            const double *matrix = matrices.values + g * states_ * states_;
            double *columns = columns_.values + g * states_ * states_;
            for (int64_t r = 0; r < states_; ++r) {
                correction_.values[g * states_ + r] = row_correction(states_, matrix + r * states_);
                for (int64_t s = 0; s < states_; ++s) columns[s * states_ + r] = matrix[r * states_ + s];
            }
        }
    }
    bool good() const { return columns_.values && correction_.values; }
    template <typename V, int PIECES>
    InwardTables<V, PIECES> tables(int64_t groups, const double *own) const {
        return {groups, states_, own, columns_.values, correction_.values};
    }

private:
    const int64_t states_;
    const Scratch columns_, correction_;
};

// The sweep with the vectors that fit the number of states.
template <template <typename, int> class Sweep>
Status sweep_of(Nodes nodes, Matrices matrices, const double *own, const double *root, double *out) {
    switch (matrices.states) {
        case 1:
            return Sweep<double, 1>(nodes, matrices, own, out).run(root);
        case 3:
            return Sweep<double, 3>(nodes, matrices, own, out).run(root);
#if defined(__GNUC__)
        case 2:
            return Sweep<Two, 1>(nodes, matrices, own, out).run(root);
        case 4:
            return Sweep<Four, 1>(nodes, matrices, own, out).run(root);
        case 8:
            return Sweep<Eight, 1>(nodes, matrices, own, out).run(root);
#endif
        default:
            return Sweep<double, 0>(nodes, matrices, own, out).run(root);
    }
}

}  // namespace
}  // namespace hidiv::HIDIV_TARGET
