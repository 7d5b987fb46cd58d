// Grids of filters and trees of contexts: arrays checked, kernels run without the lock.
#include "bindings/bindings.hpp"

#include <algorithm>

#include "bindings/arrays.hpp"
#include "certified/certified.hpp"

namespace nb = nanobind;

namespace hidiv {
namespace {

Symbols chain(const Rows &transition, const Rows &probabilities) {
    const size_t states = transition.shape(0);
    require(
        states > 0 && transition.shape(1) == states && probabilities.shape(0) == states && probabilities.shape(1) > 0,
        "a chain has transition (K, K) and probabilities (K, M)");
    return {int64_t(states), int64_t(probabilities.shape(1)), transition.data(), probabilities.data()};
}

// A vector as an array, its memory moved.
template <typename T>
auto array(std::vector<T> &&values, std::initializer_list<size_t> shape) {
    auto *kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    return nb::ndarray<nb::numpy, T>(kept->data(), shape, owner);
}

// An array as a vector, to be changed.
template <typename A>
std::vector<double> copied(const A &given) {
    return std::vector<double>(given.data(), given.data() + given.size());
}

nb::object belief_grid_of(Rows transition_p, Rows probabilities_p, Rows transition_q, Rows probabilities_q, Rows start,
                          In<bool, 2> start_states, Vector ticks, int64_t limit) {
    const Symbols p = chain(transition_p, probabilities_p), q = chain(transition_q, probabilities_q);
    require(p.symbols == q.symbols, "p and q must have the same symbols");
    require(p.states <= 64, "p must have at most 64 states");
    const size_t count = start.shape(0), k = size_t(q.states), m = size_t(q.symbols), n = size_t(p.states);
    require(count > 0 && start.shape(1) == k, "start must have shape (n, K)");
    require(start_states.shape(0) == count && start_states.shape(1) == n, "start_states must have shape (n, K) of p");
    require(ticks.shape(0) >= 2 && ticks.shape(0) < (size_t(1) << 24), "ticks must have at least two entries");
    bool good = ticks.data()[0] == 0.0 && ticks.data()[ticks.shape(0) - 1] == 1.0;
    for (size_t i = 1; i < ticks.shape(0); ++i) good &= ticks.data()[i - 1] < ticks.data()[i];
    require(good, "ticks must ascend from 0 to 1");
    bool belief = true;
    for (size_t i = 0; i < count; ++i) {
        double sum = 0.0;
        for (size_t r = 0; r < k; ++r) {
            belief &= start.data()[i * k + r] >= 0.0;
            sum += start.data()[i * k + r];
        }
        belief &= sum > 0.999 && sum < 1.001;
    }
    require(belief, "start must have rows that sum to one");
    require(limit > 0 && limit < (int64_t(1) << 30), "limit must be positive");
    std::vector<uint64_t> states(count);
    for (size_t i = 0; i < count; ++i)
        for (size_t s = 0; s < n; ++s)
            if (start_states.data()[i * n + s]) states[i] |= uint64_t(1) << s;
    BeliefGrid grid;
    run([&] {
        return belief_grid(p, q, int64_t(count), start.data(), states.data(), int64_t(ticks.shape(0)), ticks.data(),
                           limit, grid);
    });
    if (!grid.complete) return nb::none();
    const size_t points = grid.reached.size();
    auto *reached = new std::vector<char>(points * n);
    nb::capsule owner(reached, [](void *p) noexcept { delete static_cast<std::vector<char> *>(p); });
    for (size_t j = 0; j < points; ++j)
        for (size_t s = 0; s < n; ++s) (*reached)[j * n + s] = grid.reached[j] >> s & 1;
    for (double &each : grid.log_scale)
        if (each != each) each = 0.0;  // symbols p never emits there
    return nb::make_tuple(array(std::move(grid.points), {points, k}), array(std::move(grid.index), {points, m, k}),
                          array(std::move(grid.weights), {points, m, k}), array(std::move(grid.log_scale), {points, m}),
                          array(std::move(grid.excess), {points, m}),
                          nb::ndarray<nb::numpy, bool>(reinterpret_cast<bool *>(reached->data()), {points, n}, owner),
                          array(std::move(grid.start_index), {count, k}),
                          array(std::move(grid.start_weights), {count, k}),
                          array(std::move(grid.start_excess), {count}));
}

Neighbours neighbours(const In<int32_t, 3> &index, const Cube &weights) {
    for (size_t d = 0; d < 3; ++d)
        require(index.shape(d) == weights.shape(d) && index.shape(d) > 0,
                "index and weights must have shape (G, M, K)");
    bool good = true;
    for (size_t i = 0; i < index.size(); ++i) good &= uint64_t(int64_t(index.data()[i])) < uint64_t(index.shape(0));
    require(good, "index must lie in 0..G-1");
    return {int64_t(index.shape(0)), int64_t(index.shape(1)), int64_t(index.shape(2)), index.data(), weights.data()};
}

auto spread_sweeps_of(Rows transition, Rows probabilities, In<int32_t, 3> index, Cube weights, Rows cost,
                      In<bool, 2> reached, Rows values, int64_t count, bool logarithmic) {
    const Symbols p = chain(transition, probabilities);
    const Neighbours grid = neighbours(index, weights);
    const size_t points = index.shape(0), n = size_t(p.states);
    require(p.symbols == grid.symbols, "probabilities must have M symbols");
    require(cost.shape(0) == points && cost.shape(1) == n && reached.shape(0) == points && reached.shape(1) == n &&
                values.shape(0) == points && values.shape(1) == n,
            "cost, reached and values must have shape (G, K)");
    require(count > 0, "count must be positive");
    std::vector<double> result = copied(values);
    double least = 0.0, largest = 0.0;
    run([&] {
        return spread_sweeps(p, grid, cost.data(), reached.data(), result.data(), count, logarithmic, least, largest);
    });
    return nb::make_tuple(array(std::move(result), {points, n}), least, largest);
}

auto tangent_sweeps_of(Rows transition_p, Rows probabilities_p, Rows transition_q, Rows probabilities_q, Rows points,
                       In<int32_t, 3> index, Cube weights, In<bool, 2> reached, Rows values, Cube slopes,
                       int64_t count) {
    const Symbols p = chain(transition_p, probabilities_p), q = chain(transition_q, probabilities_q);
    const Neighbours grid = neighbours(index, weights);
    const size_t size = index.shape(0), n = size_t(p.states), k = size_t(q.states);
    require(p.symbols == grid.symbols && q.symbols == grid.symbols, "probabilities must have M symbols");
    require(points.shape(0) == size && points.shape(1) == k, "points must have shape (G, K)");
    require(reached.shape(0) == size && reached.shape(1) == n && values.shape(0) == size && values.shape(1) == n &&
                slopes.shape(0) == size && slopes.shape(1) == n && slopes.shape(2) == k,
            "reached and values must have shape (G, K) of p, slopes (G, K of p, K of q)");
    require(count > 0, "count must be positive");
    std::vector<double> result = copied(values), turned = copied(slopes);
    double least = 0.0;
    run([&] {
        return tangent_sweeps(p, q, grid, points.data(), reached.data(), result.data(), turned.data(), count, least);
    });
    return nb::make_tuple(array(std::move(result), {size, n}), array(std::move(turned), {size, n, k}), least);
}

auto chance_sweeps_of(In<int32_t, 3> index, Cube weights, Rows chance, Vector cost, Vector values, int64_t count) {
    const Neighbours grid = neighbours(index, weights);
    const size_t points = index.shape(0);
    require(chance.shape(0) == points && chance.shape(1) == index.shape(1), "chance must have shape (G, M)");
    require(cost.shape(0) == points && values.shape(0) == points, "cost and values must have shape (G,)");
    require(count > 0, "count must be positive");
    std::vector<double> result = copied(values);
    double least = 0.0, largest = 0.0;
    run([&] { return chance_sweeps(grid, chance.data(), cost.data(), result.data(), count, least, largest); });
    return nb::make_tuple(array(std::move(result), {points}), least, largest);
}

auto as_tuple(const Contexts &contexts) {
    return nb::make_tuple(contexts.lower, contexts.upper, contexts.leaves, contexts.depth, contexts.finished);
}

auto cross_contexts_of(Vector law, Rows transition_p, Rows probabilities_p, Vector middle, Rows transition_q,
                       Rows probabilities_q, double threshold, int64_t depth, int64_t limit) {
    const Symbols p = chain(transition_p, probabilities_p), q = chain(transition_q, probabilities_q);
    require(p.symbols == q.symbols, "p and q must have the same symbols");
    require(law.shape(0) == size_t(p.states) && middle.shape(0) == size_t(q.states),
            "law and middle must have shape (K,)");
    Contexts contexts;
    run([&] {
        return cross_contexts(p, law.data(), q, middle.data(), threshold, std::min<int64_t>(depth, 4096), limit,
                              contexts);
    });
    return as_tuple(contexts);
}

auto entropy_contexts_of(Vector law, Rows transition, Rows probabilities, double threshold, int64_t depth,
                         int64_t limit) {
    const Symbols p = chain(transition, probabilities);
    require(law.shape(0) == size_t(p.states), "law must have shape (K,)");
    Contexts contexts;
    run([&] { return entropy_contexts(p, law.data(), threshold, std::min<int64_t>(depth, 4096), limit, contexts); });
    return as_tuple(contexts);
}

auto chain_contexts_of(Vector initial_p, Rows laws, Rows transition_p, Rows probabilities_p, Vector initial_q,
                       Vector middle, Rows transition_q, Rows probabilities_q, bool entropy, double threshold,
                       int64_t depth, int64_t limit) {
    const Symbols p = chain(transition_p, probabilities_p), q = chain(transition_q, probabilities_q);
    require(p.symbols == q.symbols, "p and q must have the same symbols");
    require(initial_p.shape(0) == size_t(p.states) && initial_q.shape(0) == size_t(q.states) &&
                middle.shape(0) == size_t(q.states),
            "initial and middle must have shape (K,)");
    require(depth >= 2 && depth <= 4096 && laws.shape(0) > size_t(depth) && laws.shape(1) == size_t(p.states),
            "laws must have shape (depth + 1, K), depth from 2");
    Contexts contexts;
    run([&] {
        return chain_contexts(p, initial_p.data(), laws.data(), entropy ? nullptr : &q, initial_q.data(), middle.data(),
                              threshold, depth, limit, contexts);
    });
    return as_tuple(contexts);
}

}  // namespace

void bind_certified(nb::module_ &m) {
    m.def("belief_grid", &belief_grid_of, as_is("transition_p"), as_is("probabilities_p"), as_is("transition_q"),
          as_is("probabilities_q"), as_is("start"), as_is("start_states"), as_is("ticks"), nb::arg("limit"));
    m.def("spread_sweeps", &spread_sweeps_of, as_is("transition"), as_is("probabilities"), as_is("index"),
          as_is("weights"), as_is("cost"), as_is("reached"), as_is("values"), nb::arg("count"), nb::arg("logarithmic"));
    m.def("tangent_sweeps", &tangent_sweeps_of, as_is("transition_p"), as_is("probabilities_p"), as_is("transition_q"),
          as_is("probabilities_q"), as_is("points"), as_is("index"), as_is("weights"), as_is("reached"),
          as_is("values"), as_is("slopes"), nb::arg("count"));
    m.def("chance_sweeps", &chance_sweeps_of, as_is("index"), as_is("weights"), as_is("chance"), as_is("cost"),
          as_is("values"), nb::arg("count"));
    m.def("cross_contexts", &cross_contexts_of, as_is("law"), as_is("transition_p"), as_is("probabilities_p"),
          as_is("middle"), as_is("transition_q"), as_is("probabilities_q"), nb::arg("threshold"), nb::arg("depth"),
          nb::arg("limit"));
    m.def("chain_contexts", &chain_contexts_of, as_is("initial_p"), as_is("laws"), as_is("transition_p"),
          as_is("probabilities_p"), as_is("initial_q"), as_is("middle"), as_is("transition_q"),
          as_is("probabilities_q"), nb::arg("entropy"), nb::arg("threshold"), nb::arg("depth"), nb::arg("limit"));
    m.def("entropy_contexts", &entropy_contexts_of, as_is("law"), as_is("transition"), as_is("probabilities"),
          nb::arg("threshold"), nb::arg("depth"), nb::arg("limit"));
}

}  // namespace hidiv
