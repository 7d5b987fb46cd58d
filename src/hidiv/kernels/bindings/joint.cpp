// Trees without evidence: arrays checked, kernels run without the lock.
#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "runtime/targets.hpp"

namespace nb = nanobind;

namespace hidiv {
namespace {

// A tree, checked: indices outside the arrays must never reach a kernel that follows them.
void check_parents(const Indices &parent) {
    require(parent.shape(0) > 0, "parent must not be empty");
    const int64_t *p = parent.data();
    require(p[0] == -1, "parent[0] must be -1");
    // The signs of p and of u - 1 - p: adding and or-ing are quick at every level, comparing 64 bits is not.
    uint64_t outside = 0;
    for (uint64_t u = 1; u < parent.shape(0); ++u) outside |= uint64_t(p[u]) | (u - 1 - uint64_t(p[u]));
    require(int64_t(outside) >= 0, "parent[u] must lie in 0..u-1 for u > 0");
}

// As long as each other; what they hold is not looked at.
Nodes unchecked_nodes(const Indices &parent, const Indices &group) {
    require(parent.shape(0) > 0, "parent must not be empty");
    require(group.shape(0) == parent.shape(0), "group must be as long as parent");
    return {int64_t(parent.shape(0)), parent.data(), group.data()};
}

Nodes check_nodes(const Indices &parent, const Indices &group, size_t groups) {
    check_parents(parent);
    const Nodes nodes = unchecked_nodes(parent, group);
    uint64_t outside = 0;
    for (int64_t u = 0; u < nodes.n; ++u) outside |= uint64_t(nodes.group[u]) | (groups - 1 - uint64_t(nodes.group[u]));
    require(int64_t(outside) >= 0, "group must lie in 0..G-1");
    return nodes;
}

Matrices check_matrices(const Cube &transition) {
    require(transition.shape(0) > 0 && transition.shape(1) > 0 && transition.shape(1) == transition.shape(2),
            "transition must have shape (G, K, K)");
    return {int64_t(transition.shape(0)), int64_t(transition.shape(1)), transition.data()};
}

auto levels(Indices parent) {
    check_parents(parent);
    Out<int64_t> level({parent.shape(0)}, zeroed);
    run([&] { return table().levels(int64_t(parent.shape(0)), parent.data(), level.data()); });
    return level.array();
}

auto inward(Indices parent, Indices group, Cube transition, Rows own, Vector root) {
    const Matrices matrices = check_matrices(transition);
    const Nodes nodes = unchecked_nodes(parent, group);
    const size_t states = transition.shape(1);
    require(shaped(own, transition.shape(0), states), "own must have shape (G, K)");
    require(shaped(root, states), "root must have shape (K,)");
    Out<double> out({parent.shape(0), states});
    const auto sweep = [&](inward_kernel *kernel) {
        return run([&] { return kernel(nodes, matrices, own.data(), root.data(), out.data()); });
    };
    if (sweep(table().inward_rising) == Status::refused) {
        check_nodes(parent, group, transition.shape(0));
        sweep(table().inward);
    }
    return out.array();
}

auto downward(Vector initial, Indices parent, Indices group, Cube transition) {
    const Matrices matrices = check_matrices(transition);
    const Nodes nodes = check_nodes(parent, group, transition.shape(0));
    require(initial.shape(0) == transition.shape(1), "initial must have shape (K,)");
    Out<double> out({parent.shape(0), transition.shape(1)}, zeroed);
    run([&] { return table().downward(initial.data(), nodes, matrices, out.data()); });
    return out.array();
}

auto visits(Vector initial, Indices parent, Indices group, Cube transition) {
    const Matrices matrices = check_matrices(transition);
    const Nodes nodes = check_nodes(parent, group, transition.shape(0));
    require(initial.shape(0) == transition.shape(1), "initial must have shape (K,)");
    Out<double> edges({transition.shape(0), transition.shape(1)}, zeroed),
        own({transition.shape(0), transition.shape(1)}, zeroed);
    run([&] { return table().visits(initial.data(), nodes, matrices, edges.data(), own.data()); });
    return nb::make_tuple(edges.array(), own.array());
}

auto level_visits(Vector initial, Rows transition, Vector count) {
    const size_t states = initial.shape(0);
    require(states > 0 && transition.shape(0) == states && transition.shape(1) == states,
            "transition must have shape (K, K) and initial (K,)");
    Out<double> out({states}, zeroed);
    const Matrices matrix{1, int64_t(states), transition.data()};
    run([&] {
        return table().level_visits(initial.data(), matrix, int64_t(count.shape(0)), count.data(), out.data());
    });
    return out.array();
}

auto reach(In<bool, 1> start, Indices parent, Indices group, In<bool, 3> allowed) {
    const size_t states = start.shape(0);
    require(states > 0 && allowed.shape(1) == states && allowed.shape(2) == states,
            "allowed must have shape (G, K, K) and start (K,)");
    const Nodes nodes = check_nodes(parent, group, allowed.shape(0));
    Out<bool> out({parent.shape(0), states}, zeroed);
    run([&] { return table().reach(start.data(), nodes, int64_t(states), allowed.data(), out.data()); });
    return out.array();
}

}  // namespace

void bind_joint(nb::module_ &m) {
    m.def("levels", &levels, as_is("parent"));
    m.def("inward", &inward, as_is("parent"), as_is("group"), as_is("transition"), as_is("own"), as_is("root"));
    m.def("downward", &downward, as_is("initial"), as_is("parent"), as_is("group"), as_is("transition"));
    m.def("visits", &visits, as_is("initial"), as_is("parent"), as_is("group"), as_is("transition"));
    m.def("level_visits", &level_visits, as_is("initial"), as_is("transition"), as_is("count"));
    m.def("reach", &reach, as_is("start"), as_is("parent"), as_is("group"), as_is("allowed"));
}

}  // namespace hidiv
