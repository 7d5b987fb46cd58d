// The extension module hidiv._kernels: checks shapes and indices, allocates the result, runs a kernel without the lock.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdlib.h>

#include <memory>
#include <new>
#include <stdexcept>
#include <string>

#include "bindings_certificates.hpp"
#include "bindings_comparison.hpp"
#include "bindings_estimates.hpp"
#include "bindings_inference.hpp"
#include "targets.hpp"

namespace nb = nanobind;

namespace hidiv {
namespace {

template <typename T, size_t N>
using In = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
using Indices = In<int64_t, 1>;
using Vector = In<double, 1>;
using Rows = In<double, 2>;
using Cube = In<double, 3>;

template <typename T>
struct Out {
    struct Free {
        void operator()(T *memory) const { free(memory); }
    };
    std::unique_ptr<T[], Free> values;
    std::vector<size_t> shape;

    explicit Out(std::vector<size_t> dimensions, void *(*memory)(int64_t) = zeroed) : shape(std::move(dimensions)) {
        size_t size = 1;
        for (size_t d : shape) size *= d;
        values.reset(static_cast<T *>(memory(int64_t(size * sizeof(T)))));
        if (!values) throw std::bad_alloc();
    }
    T *data() { return values.get(); }
    nb::ndarray<nb::numpy, T> array() {
        T *data = values.release();
        nb::capsule owner(data, [](void *p) noexcept { free(p); });
        return nb::ndarray<nb::numpy, T>(data, shape.size(), shape.data(), owner);
    }
};

void require(bool holds, const char *rule) {
    if (!holds) throw std::invalid_argument(rule);
}

// A tree, checked: indices outside the arrays must never reach a kernel. Whether parents are rising comes for free.
bool check_parents(const Indices &parent) {
    require(parent.shape(0) > 0, "parent must not be empty");
    const int64_t *p = parent.data();
    require(p[0] == -1, "parent[0] must be -1");
    // The signs of p, of u - 1 - p and of the steps: adding and or-ing are quick at every level, comparing 64 bits is not.
    uint64_t outside = 0, falls = 0;
    for (uint64_t u = 1; u < parent.shape(0); ++u) {
        outside |= uint64_t(p[u]) | (u - 1 - uint64_t(p[u]));
        falls |= uint64_t(p[u]) - uint64_t(p[u - 1]);
    }
    require(int64_t(outside) >= 0, "parent[u] must lie in 0..u-1 for u > 0");
    return int64_t(falls) >= 0;
}

Nodes check_nodes(const Indices &parent, const Indices &group, size_t groups) {
    const bool rising = check_parents(parent);
    require(group.shape(0) == parent.shape(0), "group must be as long as parent");
    const int64_t *g = group.data();
    uint64_t outside = 0;
    for (size_t u = 0; u < group.shape(0); ++u) outside |= uint64_t(g[u]) | (groups - 1 - uint64_t(g[u]));
    require(int64_t(outside) >= 0, "group must lie in 0..G-1");
    return {int64_t(parent.shape(0)), parent.data(), g, rising};
}

Matrices check_matrices(const Cube &transition) {
    require(transition.shape(0) > 0 && transition.shape(1) > 0 && transition.shape(1) == transition.shape(2),
            "transition must have shape (G, K, K)");
    return {int64_t(transition.shape(0)), int64_t(transition.shape(1)), transition.data()};
}

// Runs a kernel without the interpreter's lock.
template <typename Kernel>
void run(Kernel kernel) {
    Status status;
    {
        nb::gil_scoped_release unlocked;
        status = kernel();
    }
    if (status == Status::interrupted) throw nb::python_error();
    if (status == Status::no_memory) throw std::bad_alloc();
}

auto levels(Indices parent) {
    check_parents(parent);
    Out<int64_t> level({parent.shape(0)});
    run([&] { return table().levels(int64_t(parent.shape(0)), parent.data(), level.data()); });
    return level.array();
}

auto inward(Indices parent, Indices group, Cube transition, Rows own, Vector root) {
    const Matrices matrices = check_matrices(transition);
    const Nodes nodes = check_nodes(parent, group, transition.shape(0));
    const size_t states = transition.shape(1);
    require(own.shape(0) == transition.shape(0) && own.shape(1) == states, "own must have shape (G, K)");
    require(root.shape(0) == states, "root must have shape (K,)");
    Out<double> out({parent.shape(0), states}, unset);
    run([&] { return table().inward(nodes, matrices, own.data(), root.data(), out.data()); });
    return out.array();
}

auto downward(Vector initial, Indices parent, Indices group, Cube transition) {
    const Matrices matrices = check_matrices(transition);
    const Nodes nodes = check_nodes(parent, group, transition.shape(0));
    require(initial.shape(0) == transition.shape(1), "initial must have shape (K,)");
    Out<double> out({parent.shape(0), transition.shape(1)});
    run([&] { return table().downward(initial.data(), nodes, matrices, out.data()); });
    return out.array();
}

auto visits(Vector initial, Indices parent, Indices group, Cube transition) {
    const Matrices matrices = check_matrices(transition);
    const Nodes nodes = check_nodes(parent, group, transition.shape(0));
    require(initial.shape(0) == transition.shape(1), "initial must have shape (K,)");
    Out<double> edges({transition.shape(0), transition.shape(1)}), own({transition.shape(0), transition.shape(1)});
    run([&] { return table().visits(initial.data(), nodes, matrices, edges.data(), own.data()); });
    return nb::make_tuple(edges.array(), own.array());
}

auto level_visits(Vector initial, Rows transition, Vector count) {
    const size_t states = initial.shape(0);
    require(states > 0 && transition.shape(0) == states && transition.shape(1) == states,
            "transition must have shape (K, K) and initial (K,)");
    Out<double> out({states});
    const Matrices matrix{1, int64_t(states), transition.data()};
    run([&] { return table().level_visits(initial.data(), matrix, int64_t(count.shape(0)), count.data(), out.data()); });
    return out.array();
}

auto reach(In<bool, 1> start, Indices parent, Indices group, In<bool, 3> allowed) {
    const size_t states = start.shape(0);
    require(states > 0 && allowed.shape(1) == states && allowed.shape(2) == states,
            "allowed must have shape (G, K, K) and start (K,)");
    const Nodes nodes = check_nodes(parent, group, allowed.shape(0));
    Out<bool> out({parent.shape(0), states});
    run([&] { return table().reach(start.data(), nodes, int64_t(states), allowed.data(), out.data()); });
    return out.array();
}

}  // namespace
}  // namespace hidiv

// Arrays are taken as they are or refused: a silent conversion would hide a copy, or a truncation.
#define ARRAY(name) nb::arg(name).noconvert()

NB_MODULE(_kernels, m) {
    m.def("target", [] { return std::string(hidiv::table().name); });
    m.def("targets", &hidiv::targets);
    m.def("set_target", [](const std::string &name) {
        if (!hidiv::set_target(name)) throw nb::value_error("this processor cannot run that target");
    }, nb::arg("name"));
    m.def("levels", &hidiv::levels, ARRAY("parent"));
    m.def("inward", &hidiv::inward, ARRAY("parent"), ARRAY("group"), ARRAY("transition"), ARRAY("own"), ARRAY("root"));
    m.def("downward", &hidiv::downward, ARRAY("initial"), ARRAY("parent"), ARRAY("group"), ARRAY("transition"));
    m.def("visits", &hidiv::visits, ARRAY("initial"), ARRAY("parent"), ARRAY("group"), ARRAY("transition"));
    m.def("level_visits", &hidiv::level_visits, ARRAY("initial"), ARRAY("transition"), ARRAY("count"));
    m.def("reach", &hidiv::reach, ARRAY("start"), ARRAY("parent"), ARRAY("group"), ARRAY("allowed"));
    hidiv::bind_inference(m);
    hidiv::bind_comparison(m);
    hidiv::bind_certificates(m);
    hidiv::bind_estimates(m);
}
