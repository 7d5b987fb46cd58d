// What all bindings share: arrays taken as they are or refused, results numpy owns, kernels run without the lock.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include "runtime/memory.hpp"

namespace hidiv {

template <typename T, size_t N>
using In = nanobind::ndarray<const T, nanobind::ndim<N>, nanobind::c_contig, nanobind::device::cpu>;
using Indices = In<int64_t, 1>;
using Vector = In<double, 1>;
using Rows = In<double, 2>;
using Cube = In<double, 3>;

// A silent conversion would hide a copy, or a truncation.
inline auto as_is(const char *name) { return nanobind::arg(name).noconvert(); }

inline void require(bool holds, const char *rule) {
    if (!holds) throw std::invalid_argument(rule);
}

// True when the array has this shape.
template <typename Array, typename... Sizes>
bool shaped(const Array &array, Sizes... sizes) {
    size_t axis = 0;
    return array.ndim() == sizeof...(sizes) && ((array.shape(axis++) == size_t(sizes)) && ...);
}

// An array the kernel fills and numpy owns afterwards; None where it gets no memory, being not wanted.
template <typename T>
class Out {
public:
    explicit Out(std::vector<size_t> shape, void *(*memory)(int64_t) = unset) : shape_(std::move(shape)) {
        size_t size = sizeof(T);
        for (size_t each : shape_) size *= each;
        if (!memory) return;
        values_.reset(static_cast<T *>(memory(int64_t(size))));
        if (!values_) throw std::bad_alloc();
    }
    T *data() { return values_.get(); }
    nanobind::object array() {
        if (!values_) return nanobind::none();
        T *values = values_.release();
        nanobind::capsule owner(values, [](void *memory) noexcept { give_back(memory); });
        return nanobind::cast(nanobind::ndarray<nanobind::numpy, T>(values, shape_.size(), shape_.data(), owner));
    }

private:
    std::unique_ptr<T[], GiveBack> values_;
    std::vector<size_t> shape_;
};

// Runs a kernel without the interpreter's lock. Raises where it was interrupted or had no memory; returns its status
// otherwise.
template <typename Kernel>
Status run(Kernel kernel) {
    Status status;
    {
        nanobind::gil_scoped_release unlocked;
        status = kernel();
    }
    if (status == Status::interrupted) throw nanobind::python_error();
    if (status == Status::no_memory) throw std::bad_alloc();
    return status;
}

}  // namespace hidiv
