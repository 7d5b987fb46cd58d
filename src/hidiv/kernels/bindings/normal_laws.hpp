// Normal laws as Python hands them in: checked once, for emission.cpp and streams.hpp.
#pragma once

#include <nanobind/stl/tuple.h>

#include <tuple>

#include "bindings/arrays.hpp"
#include "emission/emission.hpp"

namespace hidiv {

using NormalArrays = std::tuple<Rows, Cube, Vector>;                    // mean, whiten, constant
using NormalRatioArrays = std::tuple<In<bool, 1>, Vector, Rows, Cube>;  // near, constant, linear, square

// The task of one model's laws, or of two and the polynomial between them; the arrays are not owned.
struct NormalPair {
    explicit NormalPair(const NormalArrays &p) { task.p = checked(p); }
    NormalPair(const NormalArrays &p, const NormalArrays &other, const NormalRatioArrays &between) : q(checked(other)) {
        task.p = checked(p);
        const int64_t states = task.p.states, features = task.p.features;
        require(q.states == states && q.features == features && q.full == task.p.full,
                "p and q must have the same shapes");
        const auto &[near, constant, linear, square] = between;
        require(shaped(near, states) && shaped(constant, states), "near and constant must have shape (K,)");
        require(shaped(linear, states, features), "linear must have shape (K, F)");
        require(shaped(square, states, q.full ? features : 1, features), "square must have the shape of whiten");
        ratio = {near.data(), constant.data(), linear.data(), square.data()};
        task.q = &q;
        task.ratio = &ratio;
    }
    NormalPair(const NormalPair &) = delete;

    NormalTask task{};
    NormalLaws q{};
    NormalRatio ratio{};

private:
    static NormalLaws checked(const NormalArrays &law) {
        const auto &[mean, whiten, constant] = law;
        const size_t states = mean.shape(0), features = mean.shape(1);
        require(states > 0 && features > 0, "mean must not be empty");
        require(shaped(whiten, states, 1, features) || shaped(whiten, states, features, features),
                "whiten must have shape (K, 1, F) or (K, F, F)");
        require(shaped(constant, states), "constant must have shape (K,)");
        return {int64_t(states), int64_t(features), whiten.shape(1) > 1, mean.data(), whiten.data(), constant.data()};
    }
};

}  // namespace hidiv
