// Weighted moments: arrays checked, kernels run without the lock.
#include "moments/moments.hpp"

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"

namespace nb = nanobind;

namespace hidiv {
namespace {

WeightedRows check_rows(const Rows &x, const Rows &weight) {
    require(x.shape(0) == weight.shape(0), "x and weight must have a row for every observation");
    require(x.shape(1) > 0 && weight.shape(1) > 0, "x and weight must have columns");
    return {int64_t(weight.shape(1)), int64_t(x.shape(1)), x.data(), weight.data(), nullptr, false};
}

nb::object weighted_sums(const Rows &x, const Rows &weight, int64_t threads) {
    const WeightedRows task = check_rows(x, weight);
    Out<double> out({weight.shape(1), x.shape(1) + 1});
    run([&] { return weighted_moments(task, int64_t(x.shape(0)), threads, out.data()); });
    return out.array();
}

nb::object about_means(const Rows &x, const Rows &weight, const Rows &mean, bool full, int64_t threads) {
    WeightedRows task = check_rows(x, weight);
    require(shaped(mean, weight.shape(1), x.shape(1)), "mean must have shape (K, F)");
    task.mean = mean.data();
    task.full = full;
    std::vector<size_t> shape{weight.shape(1), x.shape(1)};
    if (full) shape.push_back(x.shape(1));
    Out<double> out(shape);
    run([&] { return weighted_moments(task, int64_t(x.shape(0)), threads, out.data()); });
    return out.array();
}

}  // namespace

void bind_moments(nb::module_ &m) {
    m.def("weighted_sums", &weighted_sums, as_is("x"), as_is("weight"), nb::arg("threads") = 0);
    m.def(
        "weighted_squares",
        [](const Rows &x, const Rows &weight, const Rows &mean, int64_t threads) {
            return about_means(x, weight, mean, false, threads);
        },
        as_is("x"), as_is("weight"), as_is("mean"), nb::arg("threads") = 0);
    m.def(
        "weighted_products",
        [](const Rows &x, const Rows &weight, const Rows &mean, int64_t threads) {
            return about_means(x, weight, mean, true, threads);
        },
        as_is("x"), as_is("weight"), as_is("mean"), nb::arg("threads") = 0);
}

}  // namespace hidiv
