// Log-densities of observations: arrays checked, kernels run without the lock.
#include "bindings/bindings.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>
#include <vector>

#include "bindings/arrays.hpp"
#include "emission/emission.hpp"

namespace nb = nanobind;

namespace hidiv {
namespace {

using LawArrays = std::tuple<Rows, Cube, Vector>;                 // mean, whiten, constant
using RatioArrays = std::tuple<In<bool, 1>, Vector, Rows, Cube>;  // near, constant, linear, square

NormalLaws check_laws(const LawArrays &law) {
    const auto &[mean, whiten, constant] = law;
    const size_t states = mean.shape(0), features = mean.shape(1);
    require(states > 0 && features > 0, "mean must not be empty");
    require(shaped(whiten, states, 1, features) || shaped(whiten, states, features, features),
            "whiten must have shape (K, 1, F) or (K, F, F)");
    require(shaped(constant, states), "constant must have shape (K,)");
    return {int64_t(states), int64_t(features), whiten.shape(1) > 1, mean.data(), whiten.data(), constant.data()};
}

nb::object normal_table(const Rows &x, const LawArrays &p, int64_t threads) {
    NormalTask task{};
    task.p = check_laws(p);
    require(int64_t(x.shape(1)) == task.p.features, "x must have shape (n, F)");
    Out<double> log_p({x.shape(0), size_t(task.p.states)});
    task.x = x.data();
    task.log_p = log_p.data();
    bool odd = false;
    run([&] { return normal_rows(task, int64_t(x.shape(0)), threads, odd); });
    return nb::make_tuple(log_p.array(), odd);
}

nb::object normal_tables(const Rows &x, const LawArrays &p, const LawArrays &q, const RatioArrays &between, bool with_q,
                         int64_t threads) {
    NormalTask task{};
    task.p = check_laws(p);
    const NormalLaws other = check_laws(q);
    require(other.states == task.p.states && other.features == task.p.features && other.full == task.p.full,
            "p and q must have the same shapes");
    require(int64_t(x.shape(1)) == task.p.features, "x must have shape (n, F)");
    const auto &[near, constant, linear, square] = between;
    const int64_t states = task.p.states, features = task.p.features;
    require(shaped(near, states) && shaped(constant, states), "near and constant must have shape (K,)");
    require(shaped(linear, states, features), "linear must have shape (K, F)");
    require(shaped(square, states, task.p.full ? features : 1, features), "square must have the shape of whiten");
    const NormalRatio ratio{near.data(), constant.data(), linear.data(), square.data()};
    const size_t rows = x.shape(0);
    Out<double> log_p({rows, size_t(states)}), log_q({rows, size_t(states)}, with_q ? unset : nullptr),
        log_ratio({rows, size_t(states)});
    task.q = &other;
    task.ratio = &ratio;
    task.x = x.data();
    task.log_p = log_p.data();
    task.log_q = log_q.data();
    task.log_ratio = log_ratio.data();
    bool odd = false;
    run([&] { return normal_rows(task, int64_t(rows), threads, odd); });
    return nb::make_tuple(log_p.array(), log_q.array(), log_ratio.array(), odd);
}

using TableList = std::vector<Rows>;

std::vector<const double *> check_tables(const TableList &tables, size_t components, size_t rows, size_t states) {
    require(tables.size() == components, "there must be a table for every component");
    std::vector<const double *> out;
    for (const Rows &each : tables) {
        require(shaped(each, rows, states), "tables must have shape (n, K)");
        out.push_back(each.data());
    }
    return out;
}

MixtureTask check_mixture(const TableList &tables, const Rows &weights) {
    require(!tables.empty() && tables[0].shape(1) > 0, "there must be a component and a state");
    require(shaped(weights, tables.size(), tables[0].shape(1)), "weights must have shape (C, K)");
    MixtureTask task{};
    task.states = int64_t(weights.shape(1));
    task.components = int64_t(weights.shape(0));
    task.weights_p = weights.data();
    return task;
}

nb::object mixture_table(const TableList &tables, const Rows &weights, int64_t threads) {
    MixtureTask task = check_mixture(tables, weights);
    const size_t rows = tables[0].shape(0), states = size_t(task.states);
    const auto terms = check_tables(tables, tables.size(), rows, states);
    Out<double> value({rows, states});
    task.log_p = terms.data();
    task.out_p = value.data();
    bool odd = false;
    run([&] { return mixture_rows(task, int64_t(rows), threads, odd); });
    return nb::make_tuple(value.array(), odd);
}

nb::object mixture_tables(const TableList &tables_p, const TableList &tables_q, const TableList &ratios,
                          const Rows &weights_p, const Rows &weights_q, const Rows &weights_ratio, int64_t threads) {
    MixtureTask task = check_mixture(tables_p, weights_p);
    const size_t rows = tables_p[0].shape(0), states = size_t(task.states), components = tables_p.size();
    require(shaped(weights_q, components, states) && shaped(weights_ratio, components, states),
            "weights must have shape (C, K)");
    const auto p = check_tables(tables_p, components, rows, states),
               q = check_tables(tables_q, components, rows, states),
               ratio = check_tables(ratios, components, rows, states);
    Out<double> log_p({rows, states}), log_q({rows, states}), log_ratio({rows, states});
    task.log_p = p.data();
    task.log_q = q.data();
    task.ratio = ratio.data();
    task.weights_q = weights_q.data();
    task.weights_ratio = weights_ratio.data();
    task.out_p = log_p.data();
    task.out_q = log_q.data();
    task.out_ratio = log_ratio.data();
    bool odd = false;
    run([&] { return mixture_rows(task, int64_t(rows), threads, odd); });
    return nb::make_tuple(log_p.array(), log_q.array(), log_ratio.array(), odd);
}

}  // namespace

void bind_emission(nb::module_ &m) {
    m.def("normal_table", &normal_table, as_is("x"), as_is("p"), nb::arg("threads") = 0);
    m.def("normal_tables", &normal_tables, as_is("x"), as_is("p"), as_is("q"), as_is("between"), nb::arg("with_q"),
          nb::arg("threads") = 0);
    m.def("mixture_table", &mixture_table, as_is("tables"), as_is("weights"), nb::arg("threads") = 0);
    m.def("mixture_tables", &mixture_tables, as_is("tables_p"), as_is("tables_q"), as_is("ratios"), as_is("weights_p"),
          as_is("weights_q"), as_is("weights_ratio"), nb::arg("threads") = 0);
}

}  // namespace hidiv
