#pragma once

#include <nanobind/nanobind.h>

namespace hidiv {

void bind_inference(nanobind::module_ &);

}  // namespace hidiv
