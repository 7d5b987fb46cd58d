#pragma once

#include <nanobind/nanobind.h>

namespace hidiv {

void bind_certificates(nanobind::module_ &);

}  // namespace hidiv
