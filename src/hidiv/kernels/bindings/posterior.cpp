// The posterior divergence: arrays checked, kernels run without the lock. None where the numbers are out of a kernel's
// range; its twin answers then.
#include <algorithm>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/laws.hpp"
#include "bindings/streams.hpp"
#include "posterior/posterior.hpp"
#include "posterior/routes.hpp"
#include "runtime/targets.hpp"

namespace nb = nanobind;

namespace hidiv {
namespace {

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

nb::object posterior(int64_t n, const PlaceArrays &nodes, const LawArrays &p, const LawArrays &q,
                     const LawArrays &ratio, const std::optional<Rows> &residual, bool by_node, int64_t threads) {
    const LawPair pair = check_pair(p, q, ratio, residual);
    const Places places = check_places(n, nodes, pair.transitions, pair.rows);
    Out<double> profile({size_t(n)}, by_node ? unset : nullptr);
    Divergence result;
    if (run([&] { return posterior_divergence(pair, places, threads, result, profile.data()); }) == Status::beyond)
        return nb::none();
    return nb::make_tuple(result.value, result.log_likelihood_p, result.log_likelihood_q, profile.array(),
                          nb::make_tuple(result.infinite[0], result.infinite[1], result.infinite[2]),
                          result.impossible_p, result.impossible_q);
}

// initial (K,), transition (G, K, K) of p, of q, and their log-ratios.
using ChainArrays = std::tuple<Vector, Cube>;

LawPair check_chains(const ChainArrays &p, const ChainArrays &q, const ChainArrays &ratio) {
    const size_t states = std::get<0>(p).shape(0), groups = std::get<1>(p).shape(0);
    require(states > 0, "there must be a state");
    for (const ChainArrays &each : {p, q, ratio})
        require(shaped(std::get<0>(each), states) && shaped(std::get<1>(each), groups, states, states),
                "initial must have shape (K,) and transition (G, K, K)");
    LawPair pair{};
    pair.states = int64_t(states);
    pair.transitions = int64_t(groups);
    pair.p = {std::get<0>(p).data(), std::get<1>(p).data(), nullptr};
    pair.q = {std::get<0>(q).data(), std::get<1>(q).data(), nullptr};
    pair.initial_ratio = std::get<0>(ratio).data();
    pair.transition_ratio = std::get<1>(ratio).data();
    return pair;
}

nb::object posterior_stream(int64_t n, const MaybeIndices &transition_of, const ChainArrays &p, const ChainArrays &q,
                            const ChainArrays &ratio, nb::object make, int64_t chunk,
                            const std::optional<NormalRows::Two> &normal,
                            const std::optional<CountRows::Given> &counts) {
    LawPair pair = check_chains(p, q, ratio);
    require(chunk > 0, "there must be a node in a chunk");
    pair.rows = n;
    const Places places = check_places(n, {std::nullopt, transition_of, std::nullopt}, pair.transitions, n);
    PythonRows rows(make, pair.states);
    std::optional<NormalRows> densities;
    if (normal) densities.emplace(*normal, rows, n, pair.states, chunk);
    std::optional<CountRows> looked_up;
    if (counts) looked_up.emplace(*counts, rows, n, pair.states, chunk, true);
    RowSource *source = &rows;
    if (normal) source = &*densities;
    if (counts) source = &*looked_up;
    Divergence result;
    bool declined = true;
    const Status status = run([&] { return posterior_chain(pair, places, result, declined, source, chunk); });
    rows.rethrow();
    if (status == Status::beyond || declined) return nb::none();
    return nb::make_tuple(result.value, result.log_likelihood_p, result.log_likelihood_q);
}

// The results of every sequence: numbers (m, 3), and where they are infinite or fail (m, 5).
nb::object outcomes_of(const std::vector<Divergence> &results) {
    Out<double> values({results.size(), 3});
    Out<int64_t> outcomes({results.size(), 5});
    for (size_t i = 0; i < results.size(); ++i) {
        const Divergence &each = results[i];
        const double numbers[3] = {each.value, each.log_likelihood_p, each.log_likelihood_q};
        const int64_t where[5] = {each.infinite[0], each.infinite[1], each.infinite[2],
                                  each.beyond ? -2 : each.impossible_p, each.impossible_q};
        std::copy(numbers, numbers + 3, values.data() + 3 * i);
        std::copy(where, where + 5, outcomes.data() + 5 * i);
    }
    return nb::make_tuple(values.array(), outcomes.array());
}

const int64_t *check_starts(const Indices &start) {
    require(start.shape(0) > 0, "start must not be empty");
    const int64_t *first = start.data();
    bool good = first[0] == 0;
    for (size_t i = 0; i + 1 < start.shape(0); ++i) good &= first[i] < first[i + 1];
    require(good, "start must begin with 0 and increase");
    return first;
}

nb::object posterior_sequences(const Indices &start, const PlaceArrays &nodes, const LawArrays &p, const LawArrays &q,
                               const LawArrays &ratio, const std::optional<Rows> &residual, int64_t threads) {
    const LawPair pair = check_pair(p, q, ratio, residual);
    const int64_t *first = check_starts(start);
    std::vector<Divergence> results(start.shape(0) - 1);
    const Places places = check_places(first[results.size()], nodes, pair.transitions, pair.rows);
    require(!places.parent, "sequences are chains and have no parents");
    run([&] { return posterior_batch(pair, places, first, int64_t(results.size()), threads, results.data()); });
    return outcomes_of(results);
}

nb::object posterior_normal_sequences(const Indices &start, const ChainArrays &p, const ChainArrays &q,
                                      const ChainArrays &ratio, const NormalRows::Two &normal, double limit,
                                      int64_t threads) {
    LawPair pair = check_chains(p, q, ratio);
    require(pair.transitions == 1, "there must be one transition");
    const int64_t *first = check_starts(start);
    std::vector<Divergence> results(start.shape(0) - 1);
    pair.rows = first[results.size()];
    const Rows &x = std::get<0>(normal);
    NormalPair laws(std::get<1>(normal), std::get<2>(normal), std::get<3>(normal));
    require(laws.task.p.states == pair.states && shaped(x, pair.rows, laws.task.p.features),
            "x must have shape (n, F), the laws K states");
    require(!laws.task.p.full, "columns must be independent");
    laws.task.x = x.data();
    laws.task.limit = limit;
    const Places places = check_places(pair.rows, {std::nullopt, std::nullopt, std::nullopt}, 1, pair.rows);
    const Status status = run([&] {
        return posterior_batch(pair, places, first, int64_t(results.size()), threads, results.data(), &laws.task);
    });
    const bool beyond = std::any_of(results.begin(), results.end(), [](const Divergence &each) { return each.beyond; });
    return status == Status::beyond || beyond ? nb::none() : outcomes_of(results);
}

nb::object elementary(int which, const Vector &x) {
    Out<double> out({x.shape(0)});
    require(table().elementary(which, x.data(), int64_t(x.shape(0)), out.data()), "which must be 0..7");
    return out.array();
}

}  // namespace

void bind_posterior(nb::module_ &m) {
    m.def("posterior_stream", &posterior_stream, nb::arg("n_nodes"), as_is("transition_of").none(), as_is("p"),
          as_is("q"), as_is("ratio"), nb::arg("make"), nb::arg("chunk"), as_is("normal") = nb::none(),
          as_is("counts") = nb::none());
    m.def("posterior_value", &posterior, nb::arg("n_nodes"), as_is("places"), as_is("p"), as_is("q"), as_is("ratio"),
          as_is("residual").none(), nb::arg("by_node"), nb::arg("threads") = 0);
    m.def("posterior_sequences", &posterior_sequences, as_is("start"), as_is("places"), as_is("p"), as_is("q"),
          as_is("ratio"), as_is("residual").none(), nb::arg("threads") = 0);
    m.def("posterior_normal_sequences", &posterior_normal_sequences, as_is("start"), as_is("p"), as_is("q"),
          as_is("ratio"), as_is("normal"), nb::arg("limit"), nb::arg("threads") = 0);
    m.def("elementary", &elementary, nb::arg("which"), as_is("x"));
}

}  // namespace hidiv
