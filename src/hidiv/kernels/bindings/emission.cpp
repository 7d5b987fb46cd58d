// Log-densities of observations: arrays checked, kernels run without the lock.
#include "bindings/bindings.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/normal_laws.hpp"
#include "emission/emission.hpp"

namespace nb = nanobind;

namespace hidiv {
namespace {

nb::object normal_table(const Rows &x, const NormalArrays &p, int64_t threads, double limit) {
    NormalPair laws(p);
    NormalTask &task = laws.task;
    require(int64_t(x.shape(1)) == task.p.features, "x must have shape (n, F)");
    Out<double> log_p({x.shape(0), size_t(task.p.states)});
    task.x = x.data();
    task.limit = limit;
    task.log_p = log_p.data();
    bool odd = false;
    run([&] { return normal_rows(task, int64_t(x.shape(0)), threads, odd); });
    return nb::make_tuple(log_p.array(), odd);
}

nb::object normal_tables(const Rows &x, const NormalArrays &p, const NormalArrays &q, const NormalRatioArrays &between,
                         bool with_q, int64_t threads, double limit) {
    NormalPair laws(p, q, between);
    NormalTask &task = laws.task;
    require(int64_t(x.shape(1)) == task.p.features, "x must have shape (n, F)");
    const size_t rows = x.shape(0), states = size_t(task.p.states);
    Out<double> log_p({rows, states}), log_q({rows, states}, with_q ? unset : nullptr), log_ratio({rows, states});
    task.x = x.data();
    task.limit = limit;
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
    m.def("normal_table", &normal_table, as_is("x"), as_is("p"), nb::arg("threads") = 0, nb::arg("limit") = 1e300);
    m.def("normal_tables", &normal_tables, as_is("x"), as_is("p"), as_is("q"), as_is("between"), nb::arg("with_q"),
          nb::arg("threads") = 0, nb::arg("limit") = 1e300);
    m.def("mixture_table", &mixture_table, as_is("tables"), as_is("weights"), nb::arg("threads") = 0);
    m.def("mixture_tables", &mixture_tables, as_is("tables_p"), as_is("tables_q"), as_is("ratios"), as_is("weights_p"),
          as_is("weights_q"), as_is("weights_ratio"), nb::arg("threads") = 0);
}

}  // namespace hidiv
