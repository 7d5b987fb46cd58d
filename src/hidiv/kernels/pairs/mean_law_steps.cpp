// Laws of the states of many small chains, averaged over the nodes of a regular tree, by doubling: a chain in every
// lane.
#include "runtime/table.hpp"

#include "runtime/scratch.hpp"
#include "simd/simd.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

using Lanes = V<native>;

// out (rows, K) = left (rows, K) right (K, K); none of them is out.
void times(int64_t rows, int64_t states, const Lanes *left, const Lanes *right, Lanes *out) {
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < states; ++j) {
            Lanes sum = left[i * states] * right[j];
            for (int64_t k = 1; k < states; ++k) sum += left[i * states + k] * right[k * states + j];
            out[i * states + j] = sum;
        }
}

void rescale(int64_t rows, int64_t states, Lanes *matrix) {
    for (int64_t i = 0; i < rows; ++i, matrix += states) {
        Lanes sum = matrix[0];
        for (int64_t j = 1; j < states; ++j) sum += matrix[j];
        for (int64_t j = 0; j < states; ++j) matrix[j] /= sum;
    }
}

// `count` numbers of each of the models first..first + native - 1, the last one repeated where there are no more.
void side_by_side(const double *from, int64_t count, int64_t first, int64_t models, Lanes *to) {
    for (int lane = 0; lane < native; ++lane) {
        const double *own = from + (first + lane < models ? first + lane : models - 1) * count;
        for (int64_t i = 0; i < count; ++i) to[i][lane] = own[i];
    }
}

}  // namespace

Status mean_laws(const MeanLaws &task, double *out) {
    const int64_t k = task.states, square = k * k;
    const Scratch memory((3 * square + 3 * k + 1) * native, unset);
    if (!memory.values) return Status::no_memory;
    const uintptr_t start = reinterpret_cast<uintptr_t>(memory.values) + sizeof(Lanes) - 1;
    Lanes *const transition = reinterpret_cast<Lanes *>(start / sizeof(Lanes) * sizeof(Lanes)),
                 *power = transition + square, *next = power + square;
    Lanes *const initial = transition + 3 * square, *law = initial + k, *ahead = law + k;
    for (int64_t first = 0; first < task.models; first += native) {
        side_by_side(task.transition, square, first, task.models, transition);
        side_by_side(task.initial, k, first, task.models, initial);
        for (int64_t i = 0; i < square; ++i) power[i] = transition[i];
        for (int64_t i = 0; i < k; ++i) law[i] = initial[i];
        rescale(k, k, power);
        rescale(1, k, law);
        const auto multiply_power = [&](const Lanes *by) {
            times(k, k, power, by, next);
            rescale(k, k, next);
            Lanes *const used = power;
            power = next, next = used;
        };
        for (int64_t step = 0; step < task.steps; ++step) {
            const double older = task.weight[2 * step], newest = task.weight[2 * step + 1];
            times(1, k, law, power, ahead);
            for (int64_t i = 0; i < k; ++i) law[i] = (older * law[i] + ahead[i]) / (1.0 + older);
            multiply_power(power);
            if (newest > 0.0) {
                times(1, k, initial, power, ahead);
                for (int64_t i = 0; i < k; ++i) law[i] = (1.0 - newest) * law[i] + newest * ahead[i];
                multiply_power(transition);
            }
            rescale(1, k, law);
        }
        for (int lane = 0; lane < native && first + lane < task.models; ++lane)
            for (int64_t i = 0; i < k; ++i) out[(first + lane) * k + i] = law[i][lane];
        if (interrupted()) return Status::interrupted;
    }
    return Status::done;
}

}  // namespace hidiv::HIDIV_TARGET
