// The recursions on one model: arrays checked, kernels run without the lock. None where the numbers are out of a
// kernel's range; its twin answers then.
#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/laws.hpp"
#include "bindings/streams.hpp"
#include "one_model/one_model.hpp"

namespace nb = nanobind;

namespace hidiv {
namespace {

OneModel check_model(int64_t n, const PlaceArrays &nodes, const LawArrays &law) {
    const size_t states = std::get<0>(law).shape(0), transitions = std::get<1>(law).shape(0),
                 rows = std::get<2>(law).shape(0);
    const Law checked = check_law(law, states, transitions, rows);
    const Places places = check_places(n, nodes, int64_t(transitions), int64_t(rows));
    return {int64_t(states), int64_t(transitions), int64_t(rows), checked, places};
}

nb::object likelihood_value(int64_t n, const PlaceArrays &nodes, const LawArrays &law) {
    const OneModel model = check_model(n, nodes, law);
    double value = 0.0;
    int64_t impossible = -1;
    if (run([&] { return log_likelihood(model, value, impossible); }) == Status::beyond) return nb::none();
    return nb::make_tuple(value, impossible);
}

nb::object likelihood_stream(int64_t n, const MaybeIndices &transition_of, const Vector &initial,
                             const Cube &transition, nb::object make, int64_t chunk,
                             const std::optional<NormalRows::One> &normal,
                             const std::optional<CountRows::Given> &counts) {
    const size_t states = initial.shape(0), groups = transition.shape(0);
    require(states > 0 && chunk > 0, "there must be a state, and a node in a chunk");
    require(shaped(transition, groups, states, states), "transition must have shape (G, K, K)");
    const Places places = check_places(n, {std::nullopt, transition_of, std::nullopt}, int64_t(groups), n);
    const OneModel model{int64_t(states), int64_t(groups), n, {initial.data(), transition.data(), nullptr}, places};
    PythonRows rows(make, model.states);
    std::optional<NormalRows> densities;
    if (normal) densities.emplace(*normal, rows, n, model.states, chunk);
    std::optional<CountRows> looked_up;
    if (counts) looked_up.emplace(*counts, rows, n, model.states, chunk, false);
    RowSource *source = &rows;
    if (normal) source = &*densities;
    if (counts) source = &*looked_up;
    double value = 0.0;
    bool declined = true;
    const Status status = run([&] { return likelihood_chain(model, value, declined, source, chunk); });
    rows.rethrow();
    return status == Status::beyond || declined ? nb::none() : nb::cast(value);
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

}  // namespace

void bind_one_model(nb::module_ &m) {
    m.def("likelihood_value", &likelihood_value, nb::arg("n_nodes"), as_is("places"), as_is("law"));
    m.def("likelihood_stream", &likelihood_stream, nb::arg("n_nodes"), as_is("transition_of").none(), as_is("initial"),
          as_is("transition"), nb::arg("make"), nb::arg("chunk"), as_is("normal") = nb::none(),
          as_is("counts") = nb::none());
    m.def("smoothed", &smoothed, nb::arg("n_nodes"), as_is("places"), as_is("law"), nb::arg("with_pairs"));
    m.def("expected_counts", &expected, as_is("start"), as_is("places"), as_is("law"), nb::arg("threads") = 0);
    m.def("entropies", &entropies, nb::arg("n_nodes"), as_is("places"), as_is("law"));
    m.def("best_states", &best_states, nb::arg("n_nodes"), as_is("places"), as_is("law"));
    m.def("influences", &influences, nb::arg("n_nodes"), as_is("places"), as_is("law"), as_is("unseen"));
    m.def("drawn_states", &drawn_states, nb::arg("n_nodes"), as_is("places"), as_is("law"), as_is("uniform"));
}

}  // namespace hidiv
