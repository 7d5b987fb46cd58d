// Kernels over blocks of pairs of models: arrays checked, run without the lock.
#include "bindings/bindings.hpp"

#include <nanobind/stl/tuple.h>

#include <tuple>

#include "bindings/arrays.hpp"
#include "pairs/pairs.hpp"
#include "runtime/targets.hpp"

namespace nb = nanobind;

namespace hidiv {
namespace {

using Kinds = std::tuple<In<int64_t, 1>, In<int64_t, 1>, In<int64_t, 1>, In<double, 1>, In<int64_t, 1>>;
using Own = std::tuple<In<int64_t, 1>, In<double, 3>, In<double, 1>>;
using LawsP = std::tuple<In<double, 2>, In<double, 4>>;
using LawsQ = std::tuple<In<double, 2>, In<double, 4>>;

// Indices outside the arrays must never reach a kernel.
void check_kinds(const Kinds &kinds) {
    const auto &[group, start, child, count, repeat] = kinds;
    const int64_t n = int64_t(group.shape(0)), children = int64_t(child.shape(0));
    require(n > 0, "there must be a kind of subtree");
    require(int64_t(start.shape(0)) == n + 1 && int64_t(repeat.shape(0)) == n,
            "start must have C + 1 entries and repeat C");
    require(int64_t(count.shape(0)) == children, "count must be as long as child");
    require(start.data()[0] == 0 && start.data()[n] == children, "start must run from 0 to the number of children");
    for (int64_t c = 0; c < n; ++c) {
        const int64_t first = start.data()[c], last = start.data()[c + 1];
        require(group.data()[c] >= 0 && repeat.data()[c] >= 1, "groups count from 0, turns from 1");
        require(first <= last && last <= children, "start must not decrease");
        require(repeat.data()[c] == 1 || last == first + 1, "a kind of several turns has one kind of children");
        for (int64_t k = first; k < last; ++k)
            require(child.data()[k] >= 0 && child.data()[k] < c, "children must come before their parents");
    }
}

bool covers(int64_t groups, const In<int64_t, 1> &group) {
    if (groups == 1) return true;
    for (size_t c = 0; c < group.shape(0); ++c)
        if (group.data()[c] >= groups) return false;
    return groups > 1;
}

// m, K, K' and n of laws of one shape, with a table of states against states.
std::tuple<size_t, size_t, size_t, size_t> check_laws(const Kinds &kinds, const LawsP &p, const LawsQ &q,
                                                      const In<double, 5> &emission) {
    const auto &group = std::get<0>(kinds);
    const auto &[initial_p, transition_p] = p;
    const auto &[initial_q, transition_q] = q;
    const size_t m = initial_p.shape(0), kp = initial_p.shape(1), kq = initial_q.shape(0), n = initial_q.shape(1);
    require(kp > 0 && kq > 0, "a model needs a state");
    require(transition_p.shape(0) == m && transition_p.shape(2) == kp && transition_p.shape(3) == kp,
            "transitions of p must have shape (m, G, K, K)");
    require(transition_q.shape(1) == kq && transition_q.shape(2) == kq && transition_q.shape(3) == n,
            "transitions of q must have shape (G', K', K', n)");
    require(emission.shape(1) == m && emission.shape(2) == kp && emission.shape(3) == kq && emission.shape(4) == n,
            "emission must have shape (G'', m, K, K', n)");
    require(covers(int64_t(transition_p.shape(1)), group) && covers(int64_t(transition_q.shape(0)), group) &&
                covers(int64_t(emission.shape(0)), group),
            "a table needs one group or all of them");
    return {m, kp, kq, n};
}

auto kernels(const Kinds &kinds, const LawsP &p, const LawsQ &q, In<double, 5> log_phi, int64_t threads) {
    check_kinds(kinds);
    const auto [m, kp, kq, n] = check_laws(kinds, p, q, log_phi);
    const auto &[group, start, child, count, repeat] = kinds;
    const auto &[initial_p, transition_p] = p;
    const auto &[initial_q, transition_q] = q;
    const ProductPairs task{int64_t(group.shape(0)),
                            group.data(),
                            start.data(),
                            child.data(),
                            count.data(),
                            repeat.data(),
                            int64_t(m),
                            int64_t(n),
                            int64_t(kp),
                            int64_t(kq),
                            int64_t(transition_p.shape(1)),
                            int64_t(transition_q.shape(0)),
                            int64_t(log_phi.shape(0)),
                            initial_p.data(),
                            transition_p.data(),
                            initial_q.data(),
                            transition_q.data(),
                            log_phi.data()};
    Out<double> out({m, n}, zeroed);
    run([&] { return product_pairs(task, threads, out.data()); });
    return out.array();
}

auto pairs(const Kinds &kinds, const Own &own, const LawsP &p, const LawsQ &q, In<double, 5> emission,
           int64_t threads) {
    check_kinds(kinds);
    const auto &[group, start, child, count, repeat] = kinds;
    const auto &[own_start, own_terms, own_root] = own;
    const auto &[initial_p, transition_p] = p;
    const auto &[initial_q, transition_q] = q;
    const auto [m, kp, kq, n] = check_laws(kinds, p, q, emission);
    require(own_terms.shape(0) == m && own_terms.shape(2) == kp && own_root.shape(0) == m,
            "own must have shapes (m, turns, K) and (m,)");
    require(own_start.shape(0) == group.shape(0), "own must have its start for every kind");
    for (size_t c = 0; c < group.shape(0); ++c) {
        const int64_t here = own_start.data()[c];
        require(c ? here > own_start.data()[c - 1] : here == 0, "own must have a turn for every kind but the last");
        require(c == 0 || here <= int64_t(own_terms.shape(1)), "own must not end before its turns do");
    }
    const VariationalPairs task{int64_t(group.shape(0)),
                                group.data(),
                                start.data(),
                                child.data(),
                                count.data(),
                                repeat.data(),
                                own_start.data(),
                                int64_t(own_terms.shape(1)),
                                own_terms.data(),
                                own_root.data(),
                                int64_t(m),
                                int64_t(n),
                                int64_t(kp),
                                int64_t(kq),
                                int64_t(transition_p.shape(1)),
                                int64_t(transition_q.shape(0)),
                                int64_t(emission.shape(0)),
                                initial_p.data(),
                                transition_p.data(),
                                initial_q.data(),
                                transition_q.data(),
                                emission.data()};
    Out<double> out({m, n}, zeroed);
    run([&] { return variational_pairs(task, threads, out.data()); });
    return out.array();
}

auto products(const Rows &left, const Rows &right, const Vector &bound, bool alike,
              nb::ndarray<double, nb::ndim<2>, nb::device::cpu> out, int64_t threads) {
    const size_t m = left.shape(0), n = right.shape(0), width = left.shape(1);
    require(width > 0 && right.shape(1) == width, "both sides must have the same features, at least one");
    require(bound.shape(0) == m, "bound must have an entry for every row");
    require(out.shape(0) == m && out.shape(1) == n, "out must have shape (m, n)");
    require((n < 2 || out.stride(1) == 1) && (m < 2 || out.stride(0) >= int64_t(n)),
            "the rows of out must lie in one piece");
    Out<bool> small({m}, zeroed);
    run([&] {
        return threaded_products({int64_t(m), int64_t(n), int64_t(width), left.data(), right.data(), bound.data(),
                                  alike, out.data(), out.stride(0), small.data()},
                                 threads);
    });
    return small.array();
}

auto mean_laws(const Rows &initial, const Cube &transition, const Rows &weight) {
    const size_t m = initial.shape(0), k = initial.shape(1);
    require(k > 0 && shaped(transition, m, k, k), "transition must have shape (m, K, K)");
    require(weight.shape(1) == 2, "weight must have two columns");
    Out<double> out({m, k});
    run([&] {
        return table().mean_laws(
            {int64_t(m), int64_t(k), int64_t(weight.shape(0)), initial.data(), transition.data(), weight.data()},
            out.data());
    });
    return out.array();
}

}  // namespace

void bind_pairs(nb::module_ &m) {
    m.def("variational_pairs", &pairs, nb::arg("kinds"), nb::arg("own"), nb::arg("p"), nb::arg("q"), as_is("emission"),
          nb::arg("threads") = 0);
    m.def("product_pairs", &kernels, nb::arg("kinds"), nb::arg("p"), nb::arg("q"), as_is("log_phi"),
          nb::arg("threads") = 0);
    m.def("products", &products, nb::arg("left"), nb::arg("right"), nb::arg("bound"), nb::arg("alike"),
          nb::arg("out").noconvert(), nb::arg("threads") = 1);
    m.def("mean_laws", &mean_laws, nb::arg("initial"), nb::arg("transition"), nb::arg("weight"));
}

}  // namespace hidiv
