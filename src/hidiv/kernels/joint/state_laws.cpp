// The law of every node's state from the root down, and the expected visits by group.
#include "runtime/table.hpp"

#include "joint/state_laws.hpp"
#include "runtime/scratch.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

template <int FIXED>
Status laws(const double *initial, Nodes nodes, Matrices matrices, double *high, double *low) {
    const int64_t states = FIXED ? FIXED : matrices.states;
    Scratch correction(matrices.groups * states);
    if (!correction.values) return Status::no_memory;
    for (int64_t i = 0; i < matrices.groups * states; ++i)
        correction.values[i] = row_correction(states, matrices.values + i * states);
    const int64_t stride = nodes_between_looks(states);
    int64_t until_look = stride;
    start_law(states, initial, high, low);
    for (int64_t u = 1; u < nodes.n; ++u) {
        const int64_t from = nodes.parent[u] * states, to = u * states, g = nodes.group[u];
        next_law(states, matrices.values + g * states * states, correction.values + g * states, high + from, low + from,
                 high + to, low + to);
        if (--until_look == 0) {
            if (interrupted()) return Status::interrupted;
            until_look = stride;
        }
    }
    return Status::done;
}

Status any_laws(const double *initial, Nodes nodes, Matrices matrices, double *high, double *low) {
    switch (matrices.states) {
        case 2:
            return laws<2>(initial, nodes, matrices, high, low);
        case 3:
            return laws<3>(initial, nodes, matrices, high, low);
        case 4:
            return laws<4>(initial, nodes, matrices, high, low);
        case 8:
            return laws<8>(initial, nodes, matrices, high, low);
        default:
            return laws<0>(initial, nodes, matrices, high, low);
    }
}

}  // namespace

Status downward(const double *initial, Nodes nodes, Matrices matrices, double *out) {
    Scratch low(nodes.n * matrices.states);
    if (!low.values) return Status::no_memory;
    return any_laws(initial, nodes, matrices, out, low.values);
}

Status visits(const double *initial, Nodes nodes, Matrices matrices, double *edges, double *own) {
    const int64_t states = matrices.states, cells = matrices.groups * states;
    Scratch high(nodes.n * states), low(nodes.n * states), edges_low(cells), own_low(cells);
    if (!high.values || !low.values || !edges_low.values || !own_low.values) return Status::no_memory;
    const Status status = any_laws(initial, nodes, matrices, high.values, low.values);
    if (status != Status::done) return status;
    for (int64_t i = 0; i < cells; ++i) edges[i] = own[i] = 0.0;
    for (int64_t u = 0; u < nodes.n; ++u) {
        const int64_t to = nodes.group[u] * states, here = u * states, above = nodes.parent[u] * states;
        for (int64_t s = 0; s < states; ++s) {
            add(own[to + s], own_low.values[to + s], high.values[here + s], low.values[here + s]);
            if (u > 0) add(edges[to + s], edges_low.values[to + s], high.values[above + s], low.values[above + s]);
        }
    }
    for (int64_t i = 0; i < cells; ++i) {
        edges[i] += edges_low.values[i];
        own[i] += own_low.values[i];
    }
    return Status::done;
}

}  // namespace hidiv::HIDIV_TARGET
