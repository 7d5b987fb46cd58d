// The functions of simd.hpp by name, so that tests can hold them against 50 digits.
#include "posterior/steps.hpp"

#include "simd/simd.hpp"
#include "runtime/table.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

template <typename Function>
void each(const double *x, int64_t n, double *out, Function function) {
    for (int64_t i = 0; i < n; i += native) {
        double in[native] = {};
        for (int64_t l = 0; l < native && i + l < n; ++l) in[l] = x[i + l];
        const V<native> value = function(load<native>(in));
        for (int64_t l = 0; l < native && i + l < n; ++l) out[i + l] = value[l];
    }
}

}  // namespace

bool elementary(int which, const double *x, int64_t n, double *out) {
    using Vec = V<native>;
    switch (which) {
        case 0:
            each(x, n, out, [](Vec v) { return exp_of<native>(v); });
            return true;
        case 1:
            each(x, n, out, [](Vec v) { return log1p_of<native>(v); });
            return true;
        case 2:
            each(x, n, out, [](Vec v) { return log1p_0<native>(v); });
            return true;
        case 3:
            each(x, n, out, [](Vec v) { return log1p_1<native>(v); });
            return true;
        case 4:
            each(x, n, out, [](Vec v) { return v * v * phi_over_square_0<native>(v, v * v); });
            return true;
        case 5:
            each(x, n, out, [](Vec v) { return v * v * phi_over_square_1<native>(v, v * v); });
            return true;
        case 6:
            each(x, n, out, [](Vec v) { return v * v * phi_over_square_2<native>(v, v * v); });
            return true;
        case 7:
            each(x, n, out, [](Vec v) { return log_of<native>(v); });
            return true;
        default:
            return false;
    }
}

}  // namespace hidiv::HIDIV_TARGET
