// One p against some q, a q in every lane.
#include <math.h>

#include "runtime/table.hpp"

#include "runtime/scratch.hpp"
#include "simd/simd.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

constexpr int W = native;
using Vec = V<W>;
constexpr double infinite = HUGE_VAL, settled_at = 1e-14, eps = 0x1p-52;
constexpr double faint = 1e-280;  // below, a sum may have lost the one term that matters

// Lanes j..j+W-1 of n numbers; the last one again past the end.
HIDIV_INLINE Vec some(const double *from, int64_t j, int64_t n) {
    if (j + W <= n) return load<W>(from + j);
    Vec v{};
    for (int l = 0; l < W; ++l) v[l] = from[j + l < n ? j + l : n - 1];
    return v;
}

// -log sum_b row(b) e^-v(b) of one lane, with the lowest v that the row reaches taken out first.
double careful(int64_t states, const double *row, int64_t stride, const Vec *v, int lane) {
    double least = infinite;
    for (int64_t b = 0; b < states; ++b)
        if (row[b * stride] > 0 && v[b][lane] < least) least = v[b][lane];
    if (!(least < infinite)) return infinite;
    double sum = 0.0;
    for (int64_t b = 0; b < states; ++b)
        if (row[b * stride] > 0) sum += row[b * stride] * exp(least - v[b][lane]);
    return least - log(sum);
}

struct Mixing {
    const VariationalPairs &task;
    int64_t j;
    Vec *weights;  // (K')

    // out(a, b) = -sum_a' rows_p(a, a') log sum_b' rows_q(b, b') e^-v(a', b'); rows_q has n lanes an entry.
    void operator()(int64_t count_p, const double *rows_p, int64_t count_q, const double *rows_q, const Vec *v,
                    Vec *out) const {
        const int64_t kp = task.states_p, kq = task.states_q, n = task.n;
        for (int64_t i = 0; i < count_p * count_q; ++i) out[i] = Vec{};
        for (int64_t a = 0; a < kp; ++a, v += kq) {
            Vec least = v[0];
            for (int64_t b = 1; b < kq; ++b) least = smaller<W>(least, v[b]);
            const Vec shift = least < infinite ? least : Vec{};
            for (int64_t b = 0; b < kq; ++b) {
                const Vec reach = exp_of<W>(larger<W>(shift - v[b], all<W>(-700.0)));
                weights[b] = v[b] < infinite ? reach : Vec{};
            }
            for (int64_t b = 0; b < count_q; ++b) {
                const double *row = rows_q + b * kq * n;
                Vec sum{};
                for (int64_t to = 0; to < kq; ++to) sum += some(row + to * n, j, n) * weights[to];
                Vec inner = shift + log1p_of<W>(1.0 / larger<W>(sum, all<W>(faint)) - 1.0);
                const I<W> lost = sum <= faint;
                if (any<W>(lost)) {
                    for (int l = 0; l < W; ++l)
                        if (lost[l]) inner[l] = careful(kq, row + (j + l < n ? j + l : n - 1), n, v, l);
                }
                for (int64_t from = 0; from < count_p; ++from) {
                    const double mass = rows_p[from * kp + a];
                    if (mass > 0) out[from * count_q + b] += mass * inner;
                }
            }
        }
    }
};

HIDIV_INLINE I<W> is_settled(int64_t cells, const Vec *gain, const Vec *before, const Vec *message) {
    I<W> good = ~I<W>{};
    for (int64_t i = 0; i < cells; ++i) {
        const Vec magnitude = size<W>(message[i]);
        const Vec bound =
            settled_at * (1.0 + size<W>(gain[i])) + 4.0 * eps * (magnitude < infinite ? magnitude : Vec{});
        good &= (size<W>(gain[i] - before[i]) <= bound) | (gain[i] == before[i]);
    }
    return good;
}

struct Lanes {
    const VariationalPairs &task;
    int64_t i, j, cells;
    Vec *messages, *value, *next, *gain, *next_gain;
    Mixing mix;

    int64_t of(int64_t group, int64_t groups) const { return group < groups ? group : groups - 1; }
    const double *rows_p(int64_t c) const {
        return task.transition_p +
               (i * task.groups_p + of(task.group[c], task.groups_p)) * task.states_p * task.states_p;
    }
    const double *rows_q(int64_t c) const {
        return task.transition_q + of(task.group[c], task.groups_q) * task.states_q * task.states_q * task.n;
    }
    const double *local(int64_t c) const {
        return task.emission + (of(task.group[c], task.groups_e) * task.m + i) * cells * task.n;
    }

    // value = emission terms of kind c + the messages of its children.
    void gather_children(int64_t c) {
        const double *e = local(c);
        for (int64_t x = 0; x < cells; ++x) {
            Vec sum = some(e + x * task.n, j, task.n);
            for (int64_t k = task.start[c]; k < task.start[c + 1]; ++k)
                sum += task.count[k] * messages[task.child[k] * cells + x];
            value[x] = sum;
        }
    }

    void send(int64_t c, int64_t turn, Vec *out) const {
        mix(task.states_p, rows_p(c), task.states_q, rows_q(c), value, out);
        const int64_t last = task.own_start[c + 1] - task.own_start[c] - 1;
        const double *own =
            task.own + (i * task.turns + task.own_start[c] + (turn < last ? turn : last)) * task.states_p;
        for (int64_t x = 0; x < cells; ++x) out[x] += own[x / task.states_q];
    }

    void repeat(int64_t c) {
        Vec *message = messages + c * cells;
        const double *e = local(c), count = task.count[task.start[c]];
        const int64_t last = task.own_start[c + 1] - task.own_start[c] - 1;
        for (int64_t x = 0; x < cells; ++x) gain[x] = all<W>(infinite);
        I<W> active = ~I<W>{};
        for (int64_t turn = 1; turn < task.repeat[c]; ++turn) {
            for (int64_t x = 0; x < cells; ++x) value[x] = some(e + x * task.n, j, task.n) + count * message[x];
            send(c, turn, next);
            for (int64_t x = 0; x < cells; ++x) next_gain[x] = next[x] == message[x] ? Vec{} : next[x] - message[x];
            I<W> done{};
            if (count == 1.0 && turn >= last) done = active & is_settled(cells, next_gain, gain, next);
            const Vec rest = done ? all<W>(double(task.repeat[c] - 1 - turn)) : Vec{};
            for (int64_t x = 0; x < cells; ++x) {
                gain[x] = next_gain[x];
                const Vec moved = rest > 0.0 ? next[x] + rest * gain[x] : next[x];
                message[x] = active ? moved : message[x];
            }
            active &= ~done;
            if (!any<W>(active)) break;
        }
    }

    Vec result() {
        for (int64_t c = 0; c + 1 < task.kinds; ++c) {
            gather_children(c);
            send(c, 0, messages + c * cells);
            if (task.repeat[c] > 1) repeat(c);
        }
        gather_children(task.kinds - 1);
        mix(1, task.initial_p + i * task.states_p, 1, task.initial_q, value, next);
        return next[0] - task.own_root[i];
    }
};

}  // namespace

Status variational_row(const VariationalPairs &task, int64_t i, int64_t first, int64_t end, double *out) {
    const int64_t cells = task.states_p * task.states_q;
    // One vector more than needed, to begin on the boundary of a vector.
    Scratch memory(((task.kinds + 4) * cells + task.states_q + 1) * W);
    if (!memory.values) return Status::no_memory;
    Vec *at = reinterpret_cast<Vec *>((reinterpret_cast<uintptr_t>(memory.values) + sizeof(Vec) - 1) / sizeof(Vec) *
                                      sizeof(Vec));
    Vec *value = at + task.kinds * cells, *next = value + cells, *gain = next + cells, *next_gain = gain + cells;
    for (int64_t j = first; j < end; j += W) {
        Lanes lanes{task, i, j, cells, at, value, next, gain, next_gain, {task, j, next_gain + cells}};
        const Vec value = lanes.result();
        for (int64_t l = 0; l < W && j + l < end; ++l) out[j + l] = value[l];
    }
    return Status::done;
}

}  // namespace hidiv::HIDIV_TARGET
