#pragma once

#include <nanobind/nanobind.h>

namespace hidiv {

void bind_comparison(nanobind::module_ &m);

}  // namespace hidiv
