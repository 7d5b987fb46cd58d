// Log-densities of observations: arrays checked, kernels run without the lock.
#include "bindings/bindings.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/count_places.hpp"
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

using CurveArrays = std::tuple<int64_t, Cube, Vector>;  // which curve, coefficients, constant
using CurveRatioArrays = std::tuple<Cube, Vector>;

CurveLaws check_curves(const Cube &coefficients, const Vector &constant, const Rows &x) {
    require(coefficients.shape(0) > 0 && coefficients.shape(1) > 0 && coefficients.shape(2) == 2,
            "coefficients must have shape (K, F, 2)");
    require(shaped(constant, coefficients.shape(0)), "constant must have shape (K,)");
    require(x.shape(1) == coefficients.shape(1), "x must have shape (n, F)");
    return {int64_t(coefficients.shape(0)), int64_t(coefficients.shape(1)), coefficients.data(), constant.data()};
}

CurveTask check_curves(const CurveArrays &p, const Rows &x) {
    const int64_t which = std::get<0>(p);
    require(which >= 0 && which <= int64_t(Curve::power), "there is no such curve");
    CurveTask task{};
    task.kind = Curve(which);
    task.p = check_curves(std::get<1>(p), std::get<2>(p), x);
    task.x = x.data();
    return task;
}

nb::object curve_table(const Rows &x, const CurveArrays &p, int64_t threads) {
    CurveTask task = check_curves(p, x);
    Out<double> log_p({x.shape(0), size_t(task.p.states)});
    task.log_p = log_p.data();
    bool odd = false;
    run([&] { return curve_rows(task, int64_t(x.shape(0)), threads, odd); });
    return nb::make_tuple(log_p.array(), odd);
}

nb::object curve_tables(const Rows &x, const CurveArrays &p, const CurveArrays &other, const CurveRatioArrays &between,
                        int64_t threads) {
    CurveTask task = check_curves(p, x);
    const CurveLaws q = check_curves(std::get<1>(other), std::get<2>(other), x),
                    ratio = check_curves(std::get<0>(between), std::get<1>(between), x);
    require(std::get<0>(other) == std::get<0>(p) && q.states == task.p.states && ratio.states == q.states,
            "p and q must be of one kind and shape");
    const size_t rows = x.shape(0), states = size_t(q.states);
    Out<double> log_p({rows, states}), log_q({rows, states}), log_ratio({rows, states});
    task.q = &q;
    task.between = ratio.coefficients;
    task.constant = ratio.constant;
    task.log_p = log_p.data();
    task.log_q = log_q.data();
    task.log_ratio = log_ratio.data();
    bool odd = false;
    run([&] { return curve_rows(task, int64_t(rows), threads, odd); });
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

nb::object count_table(const Rows &x, const CountArrays &places, const Rows &values, int64_t threads) {
    CountTask task{};
    task.places = check_counts(places, values.shape(0));
    require(int64_t(x.shape(1)) == task.places.columns && values.shape(1) > 0,
            "x must have shape (n, F), tables (R, K)");
    task.states = int64_t(values.shape(1));
    Out<double> sum({x.shape(0), values.shape(1)});
    task.x = x.data();
    task.table = values.data();
    task.value = sum.data();
    bool odd = false;
    run([&] { return count_rows(task, int64_t(x.shape(0)), threads, odd); });
    return nb::make_tuple(sum.array(), odd);
}

nb::object distinct_counts(const Rows &x, int64_t widest) {
    const size_t columns = x.shape(1);
    const int64_t rows = int64_t(x.shape(0));
    require(columns > 0 && widest <= INT32_MAX, "x must have a column, widest must be below 2^31");
    std::vector<double> least(columns), most(columns);
    bool good = false;
    run([&] {
        good = count_range(x.data(), rows, int64_t(columns), least.data(), most.data());
        return Status::done;
    });
    Out<int64_t> low({columns}), start({columns + 1}), first({columns + 1});
    start.data()[0] = 0;
    for (size_t f = 0; good && f < columns; ++f) {
        good = most[f] - least[f] < double(widest) && start.data()[f] < widest;
        if (!good) break;
        low.data()[f] = int64_t(least[f]);
        start.data()[f + 1] = start.data()[f] + int64_t(most[f] - least[f]) + 1;
    }
    good = good && start.data()[columns] <= widest;
    if (!good) return nb::none();
    Out<int32_t> place({size_t(start.data()[columns])});
    std::fill_n(place.data(), start.data()[columns], -1);
    run([&] {
        number_counts(x.data(), rows, int64_t(columns), low.data(), start.data(), place.data(), first.data());
        return Status::done;
    });
    return nb::make_tuple(nb::make_tuple(low.array(), start.array(), place.array()), first.array());
}

}  // namespace

void bind_emission(nb::module_ &m) {
    m.def("normal_table", &normal_table, as_is("x"), as_is("p"), nb::arg("threads") = 0, nb::arg("limit") = 1e300);
    m.def("normal_tables", &normal_tables, as_is("x"), as_is("p"), as_is("q"), as_is("between"), nb::arg("with_q"),
          nb::arg("threads") = 0, nb::arg("limit") = 1e300);
    m.def("curve_table", &curve_table, as_is("x"), as_is("p"), nb::arg("threads") = 0);
    m.def("curve_tables", &curve_tables, as_is("x"), as_is("p"), as_is("q"), as_is("between"), nb::arg("threads") = 0);
    m.def("mixture_table", &mixture_table, as_is("tables"), as_is("weights"), nb::arg("threads") = 0);
    m.def("mixture_tables", &mixture_tables, as_is("tables_p"), as_is("tables_q"), as_is("ratios"), as_is("weights_p"),
          as_is("weights_q"), as_is("weights_ratio"), nb::arg("threads") = 0);
    m.def("count_table", &count_table, as_is("x"), as_is("places"), as_is("values"), nb::arg("threads") = 0);
    m.def("distinct_counts", &distinct_counts, as_is("x"), nb::arg("widest"));
}

}  // namespace hidiv
