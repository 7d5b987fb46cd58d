#pragma once

#include <nanobind/nanobind.h>

namespace hidiv {

void bind_estimates(nanobind::module_ &m);

}  // namespace hidiv
