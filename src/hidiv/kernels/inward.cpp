// Theorem 1: own terms flow to the root, children before parents, weighted by the transition rows.
//
// Everything is carried in doubled precision with the rows scaled to sum to one exactly. Plain doubles would drift by
// depth times the rounding of a row's sum; and since every term is non-negative nothing cancels, however much the
// states differ.
#include "table.hpp"

#include "doubled.hpp"
#include "scratch.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

// A row of K states is PIECES vectors V; PIECES = 0 where the number is known only when running. `out` comes zeroed.
template <typename V, int PIECES>
Status sweep(Nodes nodes, Matrices matrices, const double *own, const double *root, double *out) {
    const int64_t states = PIECES ? PIECES * lanes<V> : matrices.states;
    const int64_t size = states * states;
    // By columns, so that a vector holds several rows: independent sums.
    Scratch columns(matrices.groups * size), correction(matrices.groups * states), lows(nodes.n * states);
    ScratchOf<V> rows(PIECES ? 0 : 4 * states / lanes<V>);
    if (!columns.values || !correction.values || !lows.values || !rows.values) return Status::no_memory;
    for (int64_t g = 0; g < matrices.groups; ++g) {
        const double *matrix = matrices.values + g * size;
        for (int64_t r = 0; r < states; ++r) {
            correction.values[g * states + r] = row_correction(states, matrix + r * states);
            for (int64_t s = 0; s < states; ++s) columns.values[g * size + s * states + r] = matrix[r * states + s];
        }
    }
    const int64_t pieces = PIECES ? PIECES : states / lanes<V>;
    V registers[PIECES ? 4 * PIECES : 1];
    V *high = PIECES ? registers : rows.values, *low = high + pieces;
    // The sum over the children of a node waits in out and lows until it is the node's turn; the sum of the parent just
    // worked for waits here, since siblings mostly stand together.
    V *sum = low + pieces, *sum_low = sum + pieces;
    for (int64_t i = 0; i < pieces; ++i) sum[i] = sum_low[i] = V{};
    int64_t parent = nodes.n > 1 ? nodes.parent[nodes.n - 1] : 0;
    const int64_t stride = nodes_between_looks(states);
    int64_t until_look = stride;
    for (int64_t u = nodes.n - 1; u > 0; --u) {
        if (nodes.parent[u] != parent) {
            for (int64_t i = 0; i < pieces; ++i) {
                store(out + parent * states + i * lanes<V>, sum[i]);
                store(lows.values + parent * states + i * lanes<V>, sum_low[i]);
            }
            parent = nodes.parent[u];
            for (int64_t i = 0; i < pieces; ++i) {
                sum[i] = load<V>(out + parent * states + i * lanes<V>);
                sum_low[i] = load<V>(lows.values + parent * states + i * lanes<V>);
            }
        }
        double *here = out + u * states, *here_low = lows.values + u * states;
        const double *own_row = own + nodes.group[u] * states;
        bool leaf = true;
        for (int64_t i = 0; i < pieces; ++i) leaf = leaf && is_zero(load<V>(here + i * lanes<V>));
        if (leaf) {
            for (int64_t i = 0; i < pieces; ++i) {
                const V value = load<V>(own_row + i * lanes<V>);
                store(here + i * lanes<V>, value);
                add(sum[i], sum_low[i], value, V{});
            }
        } else {
            const double *column = columns.values + nodes.group[u] * size;
            for (int64_t i = 0; i < pieces; ++i) high[i] = low[i] = V{};
            for (int64_t s = 0; s < states; ++s, column += states) {
                settle(here[s], here_low[s]);
                const V below = V{} + here[s], below_low = V{} + here_low[s];
                for (int64_t i = 0; i < pieces; ++i)
                    add_scaled(high[i], low[i], load<V>(column + i * lanes<V>), below, below_low);
            }
            for (int64_t i = 0; i < pieces; ++i) {
                low[i] += load<V>(correction.values + nodes.group[u] * states + i * lanes<V>) * high[i];
                add(high[i], low[i], load<V>(own_row + i * lanes<V>), V{});
                settle(high[i], low[i]);
                store(here + i * lanes<V>, high[i]);
                add(sum[i], sum_low[i], high[i], low[i]);
            }
        }
        if (--until_look == 0) {
            if (interrupted()) return Status::interrupted;
            until_look = stride;
        }
    }
    // The root is the last parent.
    for (int64_t i = 0; i < pieces; ++i) {
        add(sum[i], sum_low[i], load<V>(root + i * lanes<V>), V{});
        store(out + i * lanes<V>, sum[i] + sum_low[i]);
    }
    return Status::done;
}

}  // namespace

Status inward(Nodes nodes, Matrices matrices, const double *own, const double *root, double *out) {
    switch (matrices.states) {
        case 1: return sweep<double, 1>(nodes, matrices, own, root, out);
        case 3: return sweep<double, 3>(nodes, matrices, own, root, out);
#if defined(__GNUC__)
        case 2: return sweep<Two, 1>(nodes, matrices, own, root, out);
        case 4: return sweep<Four, 1>(nodes, matrices, own, root, out);
        case 8: return sweep<Eight, 1>(nodes, matrices, own, root, out);
#endif
        default: return sweep<double, 0>(nodes, matrices, own, root, out);
    }
}

}  // namespace hidiv::HIDIV_TARGET
