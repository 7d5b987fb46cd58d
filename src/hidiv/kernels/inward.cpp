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

constexpr int64_t in_registers = 8;  // states up to which a row stays on the stack

// FIXED is the number of states where it is known when compiling, else 0. `out` comes zeroed.
template <int FIXED>
Status sweep(Nodes nodes, Matrices matrices, const double *own, const double *root, double *out) {
    const int64_t states = FIXED ? FIXED : matrices.states;
    const int64_t size = states * states;
    // By columns, so that the inner loop runs over rows: independent sums, which vectorise.
    Scratch columns(matrices.groups * size), correction(matrices.groups * states), lows(nodes.n * states);
    Scratch rows(FIXED ? 0 : 4 * states);
    if (!columns.values || !correction.values || !lows.values || !rows.values) return Status::no_memory;
    for (int64_t g = 0; g < matrices.groups; ++g) {
        const double *matrix = matrices.values + g * size;
        for (int64_t r = 0; r < states; ++r) {
            correction.values[g * states + r] = row_correction(states, matrix + r * states);
            for (int64_t s = 0; s < states; ++s) columns.values[g * size + s * states + r] = matrix[r * states + s];
        }
    }
    double stack[4 * in_registers];
    double *high = FIXED ? stack : rows.values, *low = high + states;
    // The sum over the children of one node, its own value left out, lies in out(u) and low(u) until u is reached;
    // that of the parent just worked for, here. Siblings mostly stand together.
    double *sum = low + states, *sum_low = sum + states;
    for (int64_t s = 0; s < states; ++s) sum[s] = sum_low[s] = 0.0;
    int64_t parent = nodes.n > 1 ? nodes.parent[nodes.n - 1] : 0;
    const int64_t stride = nodes_between_looks(states);
    int64_t until_look = stride;
    for (int64_t u = nodes.n - 1; u > 0; --u) {
        if (nodes.parent[u] != parent) {
            for (int64_t s = 0; s < states; ++s) out[parent * states + s] = sum[s], lows.values[parent * states + s] = sum_low[s];
            parent = nodes.parent[u];
            for (int64_t s = 0; s < states; ++s) sum[s] = out[parent * states + s], sum_low[s] = lows.values[parent * states + s];
        }
        const int64_t g = nodes.group[u];
        double *here = out + u * states;
        bool leaf = true;
        for (int64_t s = 0; s < states; ++s) leaf = leaf && here[s] == 0.0;
        if (leaf) {
            for (int64_t r = 0; r < states; ++r) {
                here[r] = own[g * states + r];
                add(sum[r], sum_low[r], here[r], 0.0);
            }
        } else {
            for (int64_t r = 0; r < states; ++r) high[r] = low[r] = 0.0;
            for (int64_t s = 0; s < states; ++s) {
                settle(here[s], lows.values[u * states + s]);
                add_scaled(states, columns.values + g * size + s * states, here[s], lows.values[u * states + s], high, low);
            }
            for (int64_t r = 0; r < states; ++r) {
                low[r] += correction.values[g * states + r] * high[r];
                add(high[r], low[r], own[g * states + r], 0.0);
                settle(high[r], low[r]);
                here[r] = high[r];
                add(sum[r], sum_low[r], high[r], low[r]);
            }
        }
        if (--until_look == 0) {
            if (interrupted()) return Status::interrupted;
            until_look = stride;
        }
    }
    // The root is everybody's last parent.
    for (int64_t s = 0; s < states; ++s) {
        add(sum[s], sum_low[s], root[s], 0.0);
        out[s] = sum[s] + sum_low[s];
    }
    return Status::done;
}

}  // namespace

Status inward(Nodes nodes, Matrices matrices, const double *own, const double *root, double *out) {
    switch (matrices.states) {
        case 1: return sweep<1>(nodes, matrices, own, root, out);
        case 2: return sweep<2>(nodes, matrices, own, root, out);
        case 3: return sweep<3>(nodes, matrices, own, root, out);
        case 4: return sweep<4>(nodes, matrices, own, root, out);
        case 8: return sweep<8>(nodes, matrices, own, root, out);
        default: return sweep<0>(nodes, matrices, own, root, out);
    }
}

}  // namespace hidiv::HIDIV_TARGET
