// Expected visits of a homogeneous chain, weighted by how many nodes each level has.
#include "runtime/table.hpp"

#include "joint/state_laws.hpp"
#include "runtime/scratch.hpp"

namespace hidiv::HIDIV_TARGET {

Status level_visits(const double *initial, Matrices matrix, int64_t levels, const double *count, double *out) {
    const int64_t states = matrix.states;
    Scratch memory(6 * states);
    if (!memory.values) return Status::no_memory;
    double *high = memory.values, *low = high + states, *next = low + states, *next_low = next + states;
    double *out_low = next_low + states, *correction = out_low + states;
    for (int64_t s = 0; s < states; ++s) {
        correction[s] = row_correction(states, matrix.values + s * states);
        out[s] = 0.0;
    }
    const int64_t stride = nodes_between_looks(states);
    start_law(states, initial, high, low);
    for (int64_t level = 0; level < levels; ++level) {
        for (int64_t s = 0; s < states; ++s) {
            const double product = count[level] * high[s];
            add(out[s], out_low[s], product, product_error(count[level], high[s], product) + count[level] * low[s]);
        }
        next_law(states, matrix.values, correction, high, low, next, next_low);
        double *const used = high, *const used_low = low;
        high = next, low = next_low, next = used, next_low = used_low;
        if (level % stride == stride - 1 && interrupted()) return Status::interrupted;
    }
    for (int64_t s = 0; s < states; ++s) out[s] += out_low[s];
    return Status::done;
}

}  // namespace hidiv::HIDIV_TARGET
