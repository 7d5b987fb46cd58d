// The posterior divergence and the one-model recursions: arrays checked, kernels run without the lock. None where the
// numbers are out of a kernel's range; its twin answers then.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "bindings/arrays.hpp"
#include "bindings/inference.hpp"
#include "one_model/one_model.hpp"
#include "posterior/posterior_batch.hpp"
#include "runtime/targets.hpp"

namespace nb = nanobind;

namespace hidiv {
namespace {

using MaybeIndices = std::optional<Indices>;
using AnyIndices = std::optional<nb::ndarray<nb::ndim<1>, nb::c_contig, nb::device::cpu, nb::ro>>;

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
Places check_places(int64_t n, const PlaceArrays &nodes, int64_t transitions, int64_t rows,
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
        if (row_of->dtype() == nb::dtype<int32_t>()) {
            places.row_of_32 = static_cast<const int32_t *>(row_of->data());
            require(within(places.row_of_32, n, 0, rows), "row_of must lie in 0..R-1");
        } else {
            require(row_of->dtype() == nb::dtype<int64_t>(), "row_of must be int32 or int64");
            places.row_of_64 = static_cast<const int64_t *>(row_of->data());
            require(within(places.row_of_64, n, 0, rows), "row_of must lie in 0..R-1");
        }
    } else {
        require(rows == n, "the tables must have n_nodes rows when row_of is not given");
    }
    return places;
}

Law check_law(const LawArrays &law, size_t states, size_t transitions, size_t rows) {
    const auto &[initial, transition, log_weight] = law;
    require(states > 0 && initial.shape(0) == states, "initial must have shape (K,)");
    require(transition.shape(0) == transitions && transition.shape(1) == states && transition.shape(2) == states,
            "transition must have shape (G, K, K)");
    require(log_weight.shape(0) == rows && log_weight.shape(1) == states, "log_weight must have shape (R, K)");
    return {initial.data(), transition.data(), log_weight.data()};
}

LawPair check_pair(const LawArrays &p, const LawArrays &q, const LawArrays &ratio,
                   const std::optional<Rows> &residual) {
    const size_t states = std::get<0>(p).shape(0), transitions = std::get<1>(p).shape(0),
                 rows = std::get<2>(p).shape(0);
    LawPair pair{};
    pair.states = int64_t(states);
    pair.transitions = int64_t(transitions);
    pair.rows = int64_t(rows);
    pair.p = check_law(p, states, transitions, rows);
    pair.q = check_law(q, states, transitions, rows);
    const Law ratios = check_law(ratio, states, transitions, rows);
    pair.initial_ratio = ratios.initial;
    pair.transition_ratio = ratios.transition;
    pair.weight_ratio = ratios.log_weight;
    if (residual) {
        require(residual->shape(0) == rows && residual->shape(1) == states, "residual must have shape (R, K)");
        pair.residual = residual->data();
    }
    return pair;
}

OneModel check_model(int64_t n, const PlaceArrays &nodes, const LawArrays &law) {
    const size_t states = std::get<0>(law).shape(0), transitions = std::get<1>(law).shape(0),
                 rows = std::get<2>(law).shape(0);
    const Law checked = check_law(law, states, transitions, rows);
    const Places places = check_places(n, nodes, int64_t(transitions), int64_t(rows));
    return {int64_t(states), int64_t(transitions), int64_t(rows), checked, places};
}

nb::object posterior(int64_t n, const PlaceArrays &nodes, const LawArrays &p, const LawArrays &q,
                     const LawArrays &ratio, const std::optional<Rows> &residual, bool by_node, int64_t threads) {
    const LawPair pair = check_pair(p, q, ratio, residual);
    const Places places = check_places(n, nodes, pair.transitions, pair.rows);
    Out<double> profile({size_t(n)}, by_node ? unset : nullptr);
    Divergence result;
    if (run([&] { return any_posterior(pair, places, threads, result, profile.data()); }) == Status::beyond)
        return nb::none();
    return nb::make_tuple(result.value, result.log_likelihood_p, result.log_likelihood_q, profile.array(),
                          nb::make_tuple(result.infinite[0], result.infinite[1], result.infinite[2]),
                          result.impossible_p, result.impossible_q);
}

nb::object posterior_sequences(const Indices &start, const PlaceArrays &nodes, const LawArrays &p, const LawArrays &q,
                               const LawArrays &ratio, const std::optional<Rows> &residual, int64_t threads) {
    const LawPair pair = check_pair(p, q, ratio, residual);
    require(start.shape(0) > 0, "start must not be empty");
    const size_t sequences = start.shape(0) - 1;
    const int64_t *first = start.data();
    const Places places = check_places(first[sequences], nodes, pair.transitions, pair.rows);
    require(!places.parent, "sequences are chains and have no parents");
    bool good = first[0] == 0;
    for (size_t i = 0; i < sequences; ++i) good &= first[i] < first[i + 1];
    require(good, "start must begin with 0 and increase");
    std::vector<Divergence> results(sequences);
    run([&] { return posterior_batch(pair, places, first, int64_t(sequences), threads, results.data()); });
    Out<double> values({sequences, 3});
    Out<int64_t> places_found({sequences, 5});
    for (size_t i = 0; i < sequences; ++i) {
        const Divergence &each = results[i];
        const double numbers[3] = {each.value, each.log_likelihood_p, each.log_likelihood_q};
        const int64_t where[5] = {each.infinite[0], each.infinite[1], each.infinite[2],
                                  each.beyond ? -2 : each.impossible_p, each.impossible_q};
        std::copy(numbers, numbers + 3, values.data() + 3 * i);
        std::copy(where, where + 5, places_found.data() + 5 * i);
    }
    return nb::make_tuple(values.array(), places_found.array());
}

nb::object likelihood_value(int64_t n, const PlaceArrays &nodes, const LawArrays &law) {
    const OneModel model = check_model(n, nodes, law);
    double value = 0.0;
    int64_t impossible = -1;
    if (run([&] { return log_likelihood(model, value, impossible); }) == Status::beyond) return nb::none();
    return nb::make_tuple(value, impossible);
}

nb::object expected(const Indices &start, const PlaceArrays &nodes, const LawArrays &law, int64_t threads) {
    require(start.shape(0) > 1, "start must hold at least one tree");
    const size_t trees = start.shape(0) - 1;
    const int64_t *first = start.data();
    bool good = first[0] == 0;
    for (size_t i = 0; i < trees; ++i) good &= first[i] < first[i + 1];
    require(good, "start must begin with 0 and increase");
    const size_t states = std::get<0>(law).shape(0), transitions = std::get<1>(law).shape(0),
                 rows = std::get<2>(law).shape(0);
    const Law checked = check_law(law, states, transitions, rows);
    const Places places = check_places(first[trees], nodes, int64_t(transitions), int64_t(rows), first);
    const OneModel model{int64_t(states), int64_t(transitions), int64_t(rows), checked, places};
    Out<double> values({trees}), initial({states}), edges({transitions, states, states}), by_row({rows, states});
    const Status status = run([&] {
        return expected_counts(model, first, int64_t(trees), threads, values.data(), initial.data(), edges.data(),
                               by_row.data());
    });
    if (status == Status::beyond) return nb::none();
    return nb::make_tuple(values.array(), initial.array(), edges.array(), by_row.array());
}

nb::object smoothed(int64_t n, const PlaceArrays &nodes, const LawArrays &law, bool with_pairs) {
    const OneModel model = check_model(n, nodes, law);
    const size_t states = size_t(model.states);
    Out<double> marginals({size_t(n), states}), pairs({size_t(n), states, states}, with_pairs ? unset : nullptr);
    double value = 0.0;
    int64_t impossible = -1;
    if (run([&] { return smooth(model, value, marginals.data(), pairs.data(), impossible); }) == Status::beyond)
        return nb::none();
    return nb::make_tuple(value, marginals.array(), pairs.array(), impossible);
}

nb::object entropies(int64_t n, const PlaceArrays &nodes, const LawArrays &law) {
    const OneModel model = check_model(n, nodes, law);
    Out<double> profile({size_t(n)});
    int64_t impossible = -1;
    if (run([&] { return entropy_profile(model, profile.data(), impossible); }) == Status::beyond) return nb::none();
    return nb::make_tuple(profile.array(), impossible);
}

nb::object best_states(int64_t n, const PlaceArrays &nodes, const LawArrays &law) {
    const OneModel model = check_model(n, nodes, law);
    Out<int64_t> path({size_t(n)});
    double value = 0.0;
    int64_t impossible = -1;
    if (run([&] { return viterbi(model, path.data(), value, impossible); }) == Status::beyond) return nb::none();
    return nb::make_tuple(path.array(), value, impossible);
}

nb::object influences(int64_t n, const PlaceArrays &nodes, const LawArrays &law, const Rows &unseen) {
    const OneModel model = check_model(n, nodes, law);
    require(int64_t(unseen.shape(0)) == model.rows && int64_t(unseen.shape(1)) == model.states,
            "unseen must have shape (R, K)");
    Out<double> values({size_t(n)});
    int64_t impossible = -1;
    if (run([&] { return influence(model, unseen.data(), values.data(), impossible); }) == Status::beyond)
        return nb::none();
    return nb::make_tuple(values.array(), impossible);
}

nb::object drawn_states(int64_t n, const PlaceArrays &nodes, const LawArrays &law, const Rows &uniform) {
    const OneModel model = check_model(n, nodes, law);
    require(int64_t(uniform.shape(1)) == n, "uniform must have shape (size, n)");
    Out<int64_t> drawn({uniform.shape(0), size_t(n)});
    int64_t impossible = -1;
    if (run([&] {
            return sample_states(model, uniform.data(), int64_t(uniform.shape(0)), drawn.data(), impossible);
        }) == Status::beyond)
        return nb::none();
    return nb::make_tuple(drawn.array(), impossible);
}

nb::object elementary(int which, const Vector &x) {
    Out<double> out({x.shape(0)});
    require(table().elementary(which, x.data(), int64_t(x.shape(0)), out.data()), "which must be 0..7");
    return out.array();
}

}  // namespace

void bind_inference(nb::module_ &m) {
    m.def("posterior_value", &posterior, nb::arg("n_nodes"), as_is("places"), as_is("p"), as_is("q"), as_is("ratio"),
          as_is("residual").none(), nb::arg("by_node"), nb::arg("threads") = 0);
    m.def("posterior_sequences", &posterior_sequences, as_is("start"), as_is("places"), as_is("p"), as_is("q"),
          as_is("ratio"), as_is("residual").none(), nb::arg("threads") = 0);
    m.def("elementary", &elementary, nb::arg("which"), as_is("x"));
    m.def("likelihood_value", &likelihood_value, nb::arg("n_nodes"), as_is("places"), as_is("law"));
    m.def("smoothed", &smoothed, nb::arg("n_nodes"), as_is("places"), as_is("law"), nb::arg("with_pairs"));
    m.def("expected_counts", &expected, as_is("start"), as_is("places"), as_is("law"), nb::arg("threads") = 0);
    m.def("entropies", &entropies, nb::arg("n_nodes"), as_is("places"), as_is("law"));
    m.def("best_states", &best_states, nb::arg("n_nodes"), as_is("places"), as_is("law"));
    m.def("influences", &influences, nb::arg("n_nodes"), as_is("places"), as_is("law"), as_is("unseen"));
    m.def("drawn_states", &drawn_states, nb::arg("n_nodes"), as_is("places"), as_is("law"), as_is("uniform"));
}

}  // namespace hidiv
