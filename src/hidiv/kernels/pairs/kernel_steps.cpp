// The product kernel of one p with some q, a q in every lane (recursions/product_pairs.py).
#include <math.h>

#include "runtime/table.hpp"

#include "runtime/scratch.hpp"
#include "simd/simd.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

constexpr int W = native;
using Vec = V<W>;
constexpr double infinite = HUGE_VAL, settled_at = 16.0 * 0x1p-52;
constexpr double faint = 1e-280;        // below, a sum may have lost the one term that matters
constexpr double least_plain = 1e-100;  // relative to the largest: the product of three such is no underflow

// Lanes j..j+W-1 of n numbers; the last one again past the end.
HIDIV_INLINE Vec some(const double *from, int64_t j, int64_t n) {
    if (j + W <= n) return load<W>(from + j);
    Vec v{};
    for (int l = 0; l < W; ++l) v[l] = from[j + l < n ? j + l : n - 1];
    return v;
}

// log of sum_a' sum_b' row_p(a') row_q(b') e^v(a', b') of one lane, its largest term taken out first.
double careful(int64_t kp, const double *row_p, int64_t kq, const double *row_q, int64_t stride, const Vec *v,
               int lane) {
    double top = -infinite;
    for (int pass = 0;; ++pass) {
        double sum = 0.0;
        for (int64_t a = 0; a < kp; ++a)
            for (int64_t b = 0; b < kq; ++b) {
                const double x = row_p[a], y = row_q[b * stride], at = v[a * kq + b][lane];
                if (!(x > 0 && y > 0 && at > -infinite)) continue;
                const double term = log(x) + log(y) + at;
                if (pass == 0 && term > top) top = term;
                if (pass == 1) sum += exp(term - top);
            }
        if (!(top > -infinite)) return -infinite;
        if (pass == 1) return top + log(sum);
    }
}

struct Lanes {
    const ProductPairs &task;
    int64_t i, j, cells;
    Vec *messages, *scales;                            // (kinds, cells), (kinds)
    Vec *value, *weights, *half, *next, *phi, *plain;  // (cells) each
    Vec *own_rows;                                     // (K', K')

    int64_t of(int64_t group, int64_t groups) const { return group < groups ? group : groups - 1; }
    const double *rows_p(int64_t c) const {
        return task.transition_p +
               (i * task.groups_p + of(task.group[c], task.groups_p)) * task.states_p * task.states_p;
    }
    const double *rows_q(int64_t c) const {
        return task.transition_q + of(task.group[c], task.groups_q) * task.states_q * task.states_q * task.n;
    }
    const double *local(int64_t c) const {
        return task.log_phi + (of(task.group[c], task.groups_e) * task.m + i) * cells * task.n;
    }

    // out(a, b) = log sum over a', b' of rows_p(a, a') rows_q(b, b') e^value(a', b'), relative to its largest entry,
    // which is returned; 0 where nothing is possible.
    Vec mix(int64_t count_p, const double *from_p, int64_t count_q, const double *from_q, Vec *out) {
        const int64_t kp = task.states_p, kq = task.states_q, n = task.n;
        Vec top = value[0];
        for (int64_t x = 1; x < cells; ++x) top = larger<W>(top, value[x]);
        const Vec shift = top > -infinite ? top : Vec{};
        for (int64_t x = 0; x < cells; ++x) {
            const Vec reach = exp_of<W>(larger<W>(value[x] - shift, all<W>(-700.0)));
            weights[x] = value[x] > -infinite ? reach : Vec{};
        }
        for (int64_t b = 0; b < count_q; ++b) {
            const double *row = from_q + b * kq * n;
            for (int64_t a = 0; a < kp; ++a) half[a * count_q + b] = Vec{};
            for (int64_t to = 0; to < kq; ++to) {
                const Vec y = some(row + to * n, j, n);
                for (int64_t a = 0; a < kp; ++a) half[a * count_q + b] += y * weights[a * kq + to];
            }
        }
        Vec largest = all<W>(-infinite);
        for (int64_t a = 0; a < count_p; ++a)
            for (int64_t b = 0; b < count_q; ++b) {
                Vec sum{};
                for (int64_t to = 0; to < kp; ++to) sum += from_p[a * kp + to] * half[to * count_q + b];
                Vec result = shift + log_of<W>(larger<W>(sum, all<W>(faint)));
                const I<W> lost = sum <= faint;
                if (any<W>(lost)) {
                    for (int l = 0; l < W; ++l)
                        if (lost[l])
                            result[l] = careful(kp, from_p + a * kp, kq,
                                                from_q + b * kq * n + (j + l < n ? j + l : n - 1), n, value, l);
                }
                out[a * count_q + b] = result;
                largest = larger<W>(largest, result);
            }
        const Vec taken = largest > -infinite ? largest : Vec{};
        for (int64_t x = 0; x < count_p * count_q; ++x) out[x] -= taken;
        return taken;
    }

    Vec gather_children(int64_t c) {
        const double *e = local(c);
        Vec scale{};
        for (int64_t k = task.start[c]; k < task.start[c + 1]; ++k) scale += task.count[k] * scales[task.child[k]];
        for (int64_t x = 0; x < cells; ++x) {
            Vec sum = some(e + x * task.n, j, task.n);
            for (int64_t k = task.start[c]; k < task.start[c + 1]; ++k)
                sum += task.count[k] * messages[task.child[k] * cells + x];
            value[x] = sum;
        }
        return scale;
    }

    // Turns of a long chain, in plain numbers for as long as none of them is so small that a product may underflow: a
    // turn that would lose one is taken in logarithms.
    bool repeat(int64_t c) {
        Vec *message = messages + c * cells, &scale = scales[c];
        const double *e = local(c), count = task.count[task.start[c]];
        const int64_t kp = task.states_p, kq = task.states_q;
        const double *from_p = rows_p(c), *from_q = rows_q(c);
        for (int64_t x = 0; x < kq * kq; ++x) own_rows[x] = some(from_q + x * task.n, j, task.n);
        Vec top = some(e, j, task.n);
        for (int64_t x = 1; x < cells; ++x) top = larger<W>(top, some(e + x * task.n, j, task.n));
        const Vec most_likely = top > -infinite ? top : Vec{};
        bool small = false;  // whether an emission is too small for plain numbers
        for (int64_t x = 0; x < cells; ++x) {
            phi[x] = exp_or_zero(some(e + x * task.n, j, task.n) - most_likely);
            small = small || any<W>((phi[x] > 0.0) & (phi[x] < least_plain));
        }
        I<W> active = ~I<W>{};
        bool is_plain = false;  // whether `plain` holds the message
        for (int64_t turn = 1; turn < task.repeat[c]; ++turn) {
            Vec gain{};
            I<W> still = active;
            bool done = false;
            if (count == 1.0 && !small) {
                if (!is_plain) {
                    is_plain = true;
                    for (int64_t x = 0; x < cells; ++x) {
                        plain[x] = exp_or_zero(message[x]);
                        is_plain = is_plain && !any<W>((message[x] > -infinite) & (plain[x] < least_plain));
                    }
                }
                if (is_plain) done = plain_turn(kp, kq, from_p, active, still, gain);
                if (done) gain += most_likely;
            }
            if (!done) {
                if (is_plain)
                    for (int64_t x = 0; x < cells; ++x) message[x] = log_or_minus_infinity(plain[x]);
                is_plain = false;
                for (int64_t x = 0; x < cells; ++x) value[x] = some(e + x * task.n, j, task.n) + count * message[x];
                gain = mix(kp, from_p, kq, from_q, next);
                still = count == 1.0 ? active : I<W>{};
                for (int64_t x = 0; x < cells; ++x) {
                    const Vec magnitude = size<W>(next[x]);
                    const Vec bound = settled_at * (1.0 + (magnitude < infinite ? magnitude : Vec{}));
                    still &= (size<W>(next[x] - message[x]) <= bound) | (next[x] == message[x]);
                    message[x] = active ? next[x] : message[x];
                }
            }
            const Vec turns = still ? all<W>(double(task.repeat[c] - turn)) : all<W>(1.0);
            scale = active ? count * scale + turns * gain : scale;
            active &= ~still;
            if (!any<W>(active)) break;
            if (turn % 4096 == 0 && interrupted()) return false;
        }
        if (is_plain)
            for (int64_t x = 0; x < cells; ++x) message[x] = log_or_minus_infinity(plain[x]);
        return true;
    }

    static Vec exp_or_zero(Vec x) {
        const Vec value = exp_of<W>(larger<W>(x, all<W>(-700.0)));
        return x >= -700.0 ? value : Vec{};
    }
    static Vec log_or_minus_infinity(Vec x) {
        const Vec value = log_of<W>(larger<W>(x, all<W>(1e-300)));
        return x > 0.0 ? value : all<W>(-infinite);
    }

    // One turn in plain numbers; false, and nothing changed, where a positive number would become too small.
    bool plain_turn(int64_t kp, int64_t kq, const double *from_p, I<W> active, I<W> &still, Vec &gain) {
        for (int64_t x = 0; x < cells; ++x) weights[x] = phi[x] * plain[x];
        for (int64_t a = 0; a < kp; ++a)
            for (int64_t b = 0; b < kq; ++b) {
                Vec sum{};
                for (int64_t to = 0; to < kq; ++to) sum += own_rows[b * kq + to] * weights[a * kq + to];
                half[a * kq + b] = sum;
            }
        Vec largest{};
        for (int64_t a = 0; a < kp; ++a)
            for (int64_t b = 0; b < kq; ++b) {
                Vec sum{};
                for (int64_t to = 0; to < kp; ++to) sum += from_p[a * kp + to] * half[to * kq + b];
                next[a * kq + b] = sum;
                largest = larger<W>(largest, sum);
            }
        I<W> lost = largest < least_plain;
        const Vec limit = largest * least_plain;
        for (int64_t x = 0; x < cells; ++x) lost |= (plain[x] > 0.0) & (next[x] < limit);
        if (any<W>(lost)) return false;
        gain = log_of<W>(largest);
        for (int64_t x = 0; x < cells; ++x) {
            const Vec relative = next[x] / largest;
            still &= size<W>(relative - plain[x]) <= 2.0 * settled_at * relative;
            plain[x] = active ? relative : plain[x];
        }
        return true;
    }

    bool result(Vec &out) {
        for (int64_t c = 0; c + 1 < task.kinds; ++c) {
            const Vec scale = gather_children(c);
            scales[c] = scale + mix(task.states_p, rows_p(c), task.states_q, rows_q(c), messages + c * cells);
            if (task.repeat[c] > 1 && !repeat(c)) return false;
        }
        const Vec scale = gather_children(task.kinds - 1);
        const Vec taken = mix(1, task.initial_p + i * task.states_p, 1, task.initial_q, next);
        out = next[0] + taken + scale;
        return true;
    }
};

}  // namespace

Status product_row(const ProductPairs &task, int64_t i, int64_t first, int64_t end, double *out) {
    const int64_t cells = task.states_p * task.states_q;
    // One vector more than needed, to begin on the boundary of a vector.
    Scratch memory(((task.kinds + 6) * cells + task.kinds + task.states_q * task.states_q + 1) * W);
    if (!memory.values) return Status::no_memory;
    Vec *at = reinterpret_cast<Vec *>((reinterpret_cast<uintptr_t>(memory.values) + sizeof(Vec) - 1) / sizeof(Vec) *
                                      sizeof(Vec));
    Vec *scales = at + task.kinds * cells, *value = scales + task.kinds, *weights = value + cells;
    for (int64_t j = first; j < end; j += W) {
        Lanes lanes{task,
                    i,
                    j,
                    cells,
                    at,
                    scales,
                    value,
                    weights,
                    weights + cells,
                    weights + 2 * cells,
                    weights + 3 * cells,
                    weights + 4 * cells,
                    weights + 5 * cells};
        Vec value{};
        if (!lanes.result(value)) return Status::interrupted;
        for (int64_t l = 0; l < W && j + l < end; ++l) out[j + l] = value[l];
    }
    return Status::done;
}

}  // namespace hidiv::HIDIV_TARGET
