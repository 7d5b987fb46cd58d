// What each file of this folder adds to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace hidiv {

void bind_joint(nanobind::module_ &m);
void bind_one_model(nanobind::module_ &m);
void bind_posterior(nanobind::module_ &m);
void bind_certified(nanobind::module_ &m);
void bind_sampled(nanobind::module_ &m);
void bind_pairs(nanobind::module_ &m);
void bind_moments(nanobind::module_ &m);
void bind_emission(nanobind::module_ &m);

}  // namespace hidiv
