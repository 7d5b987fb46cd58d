// Models and the nodes they live on, as Python hands them in: checked once, for one_model.cpp and posterior.cpp.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>

#include "bindings/arrays.hpp"
#include "one_model/model_tables.hpp"

namespace hidiv {

using MaybeIndices = std::optional<Indices>;
using AnyIndices =
    std::optional<nanobind::ndarray<nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu, nanobind::ro>>;

// initial (K,), transition (G, K, K), log_weight (R, K), or the log-ratios of the three.
using LawArrays = std::tuple<Vector, Cube, Rows>;
// parent, transition_of, row_of: each (n,) or None.
using PlaceArrays = std::tuple<MaybeIndices, MaybeIndices, AnyIndices>;

template <typename T>
bool within(const T *values, int64_t n, int64_t first, int64_t end) {
    // The signs of v and of end - 1 - v: or-ing is quick on every processor, comparing 64 bits is not.
    uint64_t outside = 0;
    for (int64_t u = first; u < n; ++u)
        outside |= uint64_t(int64_t(values[u])) | (uint64_t(end) - 1 - uint64_t(int64_t(values[u])));
    return int64_t(outside) >= 0;
}

// Indices outside the arrays must never reach a kernel. `start`: where the trees of a forest begin, each with its root.
inline Places check_places(int64_t n, const PlaceArrays &nodes, int64_t transitions, int64_t rows,
                           const int64_t *start = nullptr) {
    const auto &[parent, transition_of, row_of] = nodes;
    require(n > 0, "n_nodes must be positive");
    Places places{n, nullptr, nullptr, nullptr, nullptr};
    if (parent) {
        places.parent = parent->data();
        require(int64_t(parent->shape(0)) == n, "parent must have n_nodes entries");
        const int64_t alone[2] = {0, n};
        bool good = true;
        for (const int64_t *tree = start ? start : alone; *tree < n; ++tree) {
            uint64_t outside = 0;
            for (int64_t u = tree[0] + 1; u < tree[1]; ++u)
                outside |=
                    (uint64_t(places.parent[u]) - uint64_t(tree[0])) | (uint64_t(u) - 1 - uint64_t(places.parent[u]));
            good &= places.parent[tree[0]] == -1 && int64_t(outside) >= 0;
        }
        require(good, "parent must be -1 at a root, and for other nodes lie before u in the same tree");
    }
    if (transition_of) {
        places.transition_of = transition_of->data();
        require(int64_t(transition_of->shape(0)) == n, "transition_of must have n_nodes entries");
        require(within(places.transition_of, n, 1, transitions), "transition_of must lie in 0..G-1");
    } else {
        require(n == 1 || transitions > 0, "transition must not be empty");
    }
    if (row_of) {
        require(int64_t(row_of->shape(0)) == n, "row_of must have n_nodes entries");
        if (row_of->dtype() == nanobind::dtype<int32_t>()) {
            places.row_of_32 = static_cast<const int32_t *>(row_of->data());
            require(within(places.row_of_32, n, 0, rows), "row_of must lie in 0..R-1");
        } else {
            require(row_of->dtype() == nanobind::dtype<int64_t>(), "row_of must be int32 or int64");
            places.row_of_64 = static_cast<const int64_t *>(row_of->data());
            require(within(places.row_of_64, n, 0, rows), "row_of must lie in 0..R-1");
        }
    } else {
        require(rows == n, "the tables must have n_nodes rows when row_of is not given");
    }
    return places;
}

inline Law check_law(const LawArrays &law, size_t states, size_t transitions, size_t rows) {
    const auto &[initial, transition, log_weight] = law;
    require(states > 0 && initial.shape(0) == states, "initial must have shape (K,)");
    require(transition.shape(0) == transitions && transition.shape(1) == states && transition.shape(2) == states,
            "transition must have shape (G, K, K)");
    require(log_weight.shape(0) == rows && log_weight.shape(1) == states, "log_weight must have shape (R, K)");
    return {initial.data(), transition.data(), log_weight.data()};
}

}  // namespace hidiv
