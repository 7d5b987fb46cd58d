// Sums along drawn chains: arrays checked, run without the lock.
#include "bindings/bindings.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>

#include "bindings/arrays.hpp"
#include "sampled/chain_sums.hpp"
#include "runtime/table.hpp"

namespace nb = nanobind;

namespace hidiv {
namespace {

using LawArrays = std::tuple<Vector, Rows, Rows>;            // initial (K,), transition (K, K), weights (R, K)
using PointArrays = std::tuple<Rows, Rows, Vector, Vector>;  // p (K, J), scaled q (L, J), scale (J,), weight (J,)
using TwoTables = std::optional<std::tuple<Rows, Rows>>;

using ValueArrays = std::optional<std::tuple<Rows, In<int64_t, 1>>>;  // coefficients (R, ..), which a node has (N,)

constexpr int64_t cubic = 6;  // free states for which products of three are summed

nb::object sums(const LawArrays &p, const LawArrays &q, const In<int64_t, 2> &row_of, const PointArrays &points,
                const TwoTables &following, const TwoTables &logs, bool symbols, bool products, int64_t last,
                int64_t threads, const ValueArrays &value, bool counts) {
    const auto &[initial_p, transition_p, weight_p] = p;
    const auto &[initial_q, transition_q, weight_q] = q;
    const auto &[at_p, at_q, scale, mass] = points;
    const size_t K = initial_p.shape(0), L = initial_q.shape(0), J = mass.shape(0), rows = weight_p.shape(0);
    require(K > 0 && L > 0 && J > 0, "p, q and the points must not be empty");
    require(shaped(transition_p, K, K) && shaped(transition_q, L, L), "transition must have shape (K, K)");
    require(shaped(weight_p, rows, K) && shaped(weight_q, rows, L), "weights must have shape (R, K)");
    require(shaped(at_p, K, J) && shaped(at_q, L, J) && scale.shape(0) == J,
            "points must have shapes (K, J), (L, J), (J,)");
    require(row_of.shape(0) > 0 && row_of.shape(1) > 0, "row_of must have shape (n, N)");
    require(last >= 0 && !(symbols && logs), "last counts from 0, and either symbols or log-ratios are counted");
    bool good = true;
    for (size_t i = 0; i < row_of.size(); ++i) good &= uint64_t(row_of.data()[i]) < uint64_t(rows);
    require(good, "row_of must lie in 0..R-1");
    ChainSums task{};
    task.n = int64_t(row_of.shape(0));
    task.length = int64_t(row_of.shape(1));
    task.states_p = int64_t(K);
    task.states_q = int64_t(L);
    task.rows = int64_t(rows);
    task.points = int64_t(J);
    task.last = last;
    task.initial_p = initial_p.data();
    task.transition_p = transition_p.data();
    task.weight_p = weight_p.data();
    task.initial_q = initial_q.data();
    task.transition_q = transition_q.data();
    task.weight_q = weight_q.data();
    task.row_of = row_of.data();
    task.at_p = at_p.data();
    task.at_q = at_q.data();
    task.scale = scale.data();
    task.mass = mass.data();
    if (following) {
        const auto &[next_p, next_q] = *following;
        require(shaped(next_p, K, J) && shaped(next_q, L, J), "following must have shapes (K, J), (L, J)");
        task.next_p = next_p.data();
        task.next_q = next_q.data();
    }
    if (logs) {
        const auto &[log_p, log_q] = *logs;
        require(shaped(log_p, rows, K) && shaped(log_q, rows, L), "logs must have shapes (R, K), (R, L)");
        task.log_p = log_p.data();
        task.log_q = log_q.data();
    }
    if (value) {
        const auto &[coefficients, value_of] = *value;
        require(coefficients.shape(1) == size_t(task.value_size()) && value_of.shape(0) == row_of.shape(1),
                "value must have shapes (R, D + D (D + 1) / 2), (N,)");
        for (size_t t = 0; t < value_of.size(); ++t) good &= uint64_t(value_of.data()[t]) < coefficients.shape(0);
        require(good, "value_of must lie in 0..R-1");
        task.value = coefficients.data();
        task.value_of = value_of.data();
    }
    task.counts = counts;
    task.symbols = symbols;
    task.products = products;
    task.cubes = task.free_states() <= cubic;
    Out<double> out({row_of.shape(0), size_t(task.columns())});
    bool sound = true;
    run([&] { return chain_sums(task, threads, out.data(), sound); });
    return sound ? out.array() : nb::none();
}

}  // namespace

void bind_sampled(nb::module_ &m) {
    m.def("chain_sums", &sums, as_is("p"), as_is("q"), as_is("row_of"), as_is("points"), as_is("following").none(),
          as_is("logs").none(), nb::arg("symbols"), nb::arg("products"), nb::arg("last"), nb::arg("threads") = 0,
          as_is("value").none() = nb::none(), nb::arg("counts") = true);
}

}  // namespace hidiv
