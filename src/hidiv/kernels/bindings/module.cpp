// The extension module hidiv._kernels. Every function checks shapes and indices, allocates the result and runs a kernel
// without the interpreter's lock; there is a file for each folder of kernels.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "bindings/bindings.hpp"
#include "runtime/targets.hpp"

namespace nb = nanobind;

NB_MODULE(_kernels, m) {
    hidiv::prepare_malloc();
    m.def("target", [] { return std::string(hidiv::table().name); });
    m.def("targets", &hidiv::targets);
    m.def(
        "set_target",
        [](const std::string &name) {
            if (!hidiv::set_target(name)) throw nb::value_error("this processor cannot run that target");
        },
        nb::arg("name"));
    hidiv::bind_joint(m);
    hidiv::bind_one_model(m);
    hidiv::bind_posterior(m);
    hidiv::bind_certified(m);
    hidiv::bind_sampled(m);
    hidiv::bind_pairs(m);
    hidiv::bind_moments(m);
    hidiv::bind_emission(m);
}
