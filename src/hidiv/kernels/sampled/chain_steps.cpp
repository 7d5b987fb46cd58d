// Filters of p and q along W sequences at once, a sequence in every lane: what the estimator sums over the nodes.
#include <math.h>

#include "runtime/table.hpp"

#include "runtime/scratch.hpp"
#include "simd/simd.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

constexpr int W = native;
using Vec = V<W>;
using Int = I<W>;
constexpr double faint = 1e-250;    // below, the filters are computed in logarithms, elsewhere
constexpr double nothing = 1e-290;  // probabilities of p below this add nothing
constexpr double delicate = 1e-7;   // divergences below this are summed from second-order terms
constexpr double near_by = 0.05;    // relative differences that count as of second order

// v - log(1 + v) for |v| < near_by, without cancellation.
double second_order(double v) {
    const double r = v / (2.0 + v), square = r * r;
    double series = 0.0;
    for (int k = 15; k > 1; k -= 2) series = series * square + 1.0 / k;
    return r * v - 2.0 * r * square * series;
}

constexpr int side_by_side = 4;  // points whose values are summed together, so that sums need not wait for each other

// KP, KQ: the numbers of states where they are known when compiling, 0 else.
template <int KP, int KQ>
struct Lanes {
    const ChainSums &task;
    Vec *predicted;                     // (length, K)
    Vec *updated;                       // (length, K)
    Vec *before_q, *after_q, *product;  // (L), (L), (K + L)
    Vec *ap, *aq, *ratio;               // (J) probabilities of p, scaled ones of q, p / q
    Vec *ahead;                         // (K + L): filters after a point
    Vec *expected;                      // squares and thirds
    Vec *both;                          // (K + L, side_by_side): both filters after some points
    Vec *sums;                          // columns
    const int64_t *row_of[W];           // of each lane
    bool sound = true;

    int64_t states_p() const { return KP ? KP : task.states_p; }
    int64_t states_q() const { return KQ ? KQ : task.states_q; }

    Int rows_at(int64_t t) const {
        Int row;
        for (int l = 0; l < W; ++l) row[l] = row_of[l][t];
        return row;
    }

    // out(m) = sum_r weights(r, m) from(r) for `count` columns m of a table with `columns` of them.
    template <int count>
    static void weighed_sums(int64_t rows, int64_t columns, const double *weights, const Vec *from, Vec *out) {
        Vec sum[count]{};
        for (int64_t r = 0; r < rows; ++r, weights += columns)
            for (int m = 0; m < count; ++m) sum[m] += weights[m] * from[r];
        for (int m = 0; m < count; ++m) out[m] = sum[m];
    }

    // out(s) = sum_r transition(r, s) from(r)
    static void moved(int64_t states, const double *transition, const Vec *from, Vec *out) {
        int64_t s = 0;
        for (; s + side_by_side <= states; s += side_by_side)
            weighed_sums<side_by_side>(states, states, transition + s, from, out + s);
        for (; s < states; ++s) weighed_sums<1>(states, states, transition + s, from, out + s);
    }

    // after = before * weight / its sum, which is returned.
    Vec weighed(int64_t states, const double *weight, Int row, const Vec *before, Vec *after) {
        const Int at = row * states;
        Vec total{};
        for (int64_t s = 0; s < states; ++s) {
            after[s] = before[s] * gather<W>(weight, at + s);
            total += after[s];
        }
        if (any<W>(~(total >= faint))) sound = false;
        const Vec inverse = 1.0 / total;
        for (int64_t s = 0; s < states; ++s) after[s] *= inverse;
        return total;
    }

    double careful(int lane) {
        double sum = 0.0;
        for (int64_t j = 0; j < task.points; ++j) {
            const double p = ap[j][lane], q = aq[j][lane], real = q * exp(task.scale[j]);
            if (!(p > nothing)) {
                sum += task.mass[j] * real;
                continue;
            }
            const double v = (real - p) / p;
            sum += task.mass[j] *
                   (fabs(v) < near_by ? p * second_order(v) : p * (log(p / q) - task.scale[j]) + (real - p));
        }
        return sum;
    }

    // KL of the laws of the next observation, and those laws.
    Vec divergence(const Vec *bp, const Vec *bq) {
        const int64_t K = states_p(), L = states_q(), J = task.points;
        Vec sum{};
        int64_t first = 0;
        for (; first + side_by_side <= J; first += side_by_side) {
            weighed_sums<side_by_side>(K, J, task.at_p + first, bp, ap + first);
            weighed_sums<side_by_side>(L, J, task.at_q + first, bq, aq + first);
        }
        for (; first < J; ++first) {
            weighed_sums<1>(K, J, task.at_p + first, bp, ap + first);
            weighed_sums<1>(L, J, task.at_q + first, bq, aq + first);
        }
        Int lost{};
        for (int64_t j = 0; j < J; ++j) {
            const Vec p = ap[j], q = aq[j];
            const Int here = p > nothing, there = q > nothing;
            lost |= here & ~there;
            const Vec r = here & there ? p / q : all<W>(1.0);
            sum += here ? task.mass[j] * p * (log_of<W>(r) - task.scale[j]) : Vec{};
            ratio[j] = here ? r : Vec{};
        }
        if (any<W>(lost)) sound = false;
        if (any<W>(sum <= delicate))
            for (int l = 0; l < W; ++l)
                if (sum[l] <= delicate) sum[l] = careful(l);
        return sum;
    }

    // The divergence one step later, where the filters are p and q; any function will do.
    Vec following(const Vec *p, const Vec *q) {
        Vec sum{};
        for (int64_t j = 0; j < task.points; ++j) {
            Vec a{}, b{};
            for (int64_t s = 0; s < states_p(); ++s) a += p[s] * task.next_p[s * task.points + j];
            for (int64_t s = 0; s < states_q(); ++s) b += q[s] * task.next_q[s * task.points + j];
            const Int there = (a > nothing) & (b > nothing);
            sum += there ? a * log_of<W>(there ? a / b : all<W>(1.0)) : Vec{};
        }
        return sum;
    }

    // What functions of the filters after x_t exceed their expectation by, summed into `linear` and `squares`.
    void exceed(const Vec *bp, const Vec *bq, const Vec *cp, const Vec *cq, Vec *linear, Vec *squares, Vec *thirds) {
        const int64_t K = states_p(), L = states_q(), J = task.points, F = task.free_states();
        for (int64_t k = 0; k + 1 < K; ++k) linear[k] += cp[k] - bp[k];
        for (int64_t j = 0; j < J; ++j) ratio[j] *= task.mass[j];
        for (int64_t first = 0; first + 1 < L; first += side_by_side) {
            const int64_t count = first + side_by_side < L ? side_by_side : L - 1 - first;
            Vec mean[side_by_side]{};
            for (int64_t j = 0; j < J; ++j)
                for (int64_t m = 0; m < side_by_side; ++m)
                    mean[m] += ratio[j] * task.at_q[(m < count ? first + m : first) * J + j];
            for (int64_t m = 0; m < count; ++m) linear[K - 1 + first + m] += cq[first + m] - bq[first + m] * mean[m];
        }
        if (!task.products && !task.next_p) return;
        const int64_t pairs = task.squares(), triples = task.thirds();
        for (int64_t i = 0; i < pairs + triples; ++i) expected[i] = Vec{};
        Vec mean{};
        for (int64_t j = 0; j < J; ++j) {
            const Int here = ap[j] > nothing;
            const Vec over_p = here ? 1.0 / ap[j] : Vec{}, over_q = here ? 1.0 / aq[j] : Vec{};
            const Vec share = task.mass[j] * ap[j];
            // Free states of p, then of q, then the last of each.
            for (int64_t k = 0; k < K; ++k) ahead[k + 1 < K ? k : F] = bp[k] * task.at_p[k * J + j] * over_p;
            for (int64_t k = 0; k < L; ++k)
                ahead[k + 1 < L ? K - 1 + k : F + 1] = bq[k] * task.at_q[k * J + j] * over_q;
            if (task.products) grow(share, pairs);
            if (task.next_p) {
                Vec *p = product, *q = product + K;
                for (int64_t k = 0; k < K; ++k) p[k] = ahead[k + 1 < K ? k : F];
                for (int64_t k = 0; k < L; ++k) q[k] = ahead[k + 1 < L ? K - 1 + k : F + 1];
                mean += share * following(p, q);
            }
        }
        if (task.next_p) linear[F] += following(cp, cq) - mean;
        if (!task.products) return;
        const auto after = [&](int64_t a) { return a < K - 1 ? cp[a] : cq[a - (K - 1)]; };
        int64_t i = 0, m = 0;
        for (int64_t a = 0; a < F; ++a)
            for (int64_t b = 0; b <= a; ++b, ++i) {
                const Vec both = after(a) * after(b);
                squares[i] += both - expected[i];
                for (int64_t c = 0; triples && c <= b; ++c, ++m) thirds[m] += both * after(c) - expected[pairs + m];
            }
    }

    // The functions l'c + c'Qc of `count` filters c that stand side by side; coefficients l, then Q row by row up to
    // its diagonal.
    template <int count>
    void values(const double *coefficients, const Vec *c, Vec *out) const {
        const int64_t D = states_p() + states_q();
        const double *square = coefficients + D;
        for (int m = 0; m < count; ++m) out[m] = Vec{};
        for (int64_t a = 0; a < D; ++a) {
            Vec sum[count];
            for (int m = 0; m < count; ++m) sum[m] = all<W>(coefficients[a]);
            for (int64_t b = 0; b <= a; ++b, ++square)
                for (int m = 0; m < count; ++m) sum[m] += *square * c[b * count + m];
            for (int m = 0; m < count; ++m) out[m] += sum[m] * c[a * count + m];
        }
    }

    // By how much a function of both filters after x_t exceeds its expectation.
    Vec surprise(const double *coefficients, const Vec *bp, const Vec *bq, const Vec *cp, const Vec *cq) {
        constexpr int S = side_by_side;
        const int64_t K = states_p(), L = states_q(), J = task.points;
        Vec mean{}, value[S];
        for (int64_t first = 0; first < J; first += S) {
            Vec over_p[S], over_q[S], share[S];
            for (int m = 0; m < S; ++m) {
                const int64_t j = first + m < J ? first + m : J - 1;
                const Int here = ap[j] > nothing;
                over_p[m] = here ? 1.0 / ap[j] : Vec{};
                over_q[m] = here ? 1.0 / aq[j] : Vec{};
                share[m] = first + m < J ? task.mass[j] * ap[j] : Vec{};
            }
            const auto fill = [&](int64_t states, const Vec *before, const double *table, const Vec *over, Vec *into) {
                for (int64_t k = 0; k < states; ++k)
                    for (int m = 0; m < S; ++m)
                        into[k * S + m] = before[k] * over[m] * table[k * J + (first + m < J ? first + m : J - 1)];
            };
            fill(K, bp, task.at_p, over_p, both);
            fill(L, bq, task.at_q, over_q, both + K * S);
            values<S>(coefficients, both, value);
            for (int m = 0; m < S; ++m) mean += share[m] * value[m];
        }
        for (int64_t k = 0; k < K; ++k) both[k] = cp[k];
        for (int64_t k = 0; k < L; ++k) both[K + k] = cq[k];
        values<1>(coefficients, both, value);
        return value[0] - mean;
    }

    void grow(Vec share, int64_t pairs) {
        const int64_t F = task.free_states();
        Vec *two = expected, *three = expected + pairs;
        for (int64_t a = 0; a < F; ++a) {
            const Vec one = share * ahead[a];
            for (int64_t b = 0; b <= a; ++b) {
                const Vec both = one * ahead[b];
                *two++ += both;
                if (task.cubes)
                    for (int64_t c = 0; c <= b; ++c) *three++ += both * ahead[c];
            }
        }
    }

    void forward() {
        const int64_t K = states_p(), L = states_q(), N = task.length;
        Vec *early = sums + task.first_linear(), *late = early + task.linear();
        Vec *early_squares = late + task.linear() + task.counted(), *late_squares = early_squares + task.squares();
        Vec *thirds = late_squares + task.squares();
        for (int64_t s = 0; s < K; ++s) predicted[s] = all<W>(task.initial_p[s]);
        for (int64_t s = 0; s < L; ++s) before_q[s] = all<W>(task.initial_q[s]);
        for (int64_t t = 0; t < N && sound; ++t) {
            Vec *bp = predicted + t * K, *cp = updated + t * K;
            sums[1] += divergence(bp, before_q);
            const Int row = rows_at(t);
            const Vec seen_p = weighed(K, task.weight_p, row, bp, cp),
                      seen_q = weighed(L, task.weight_q, row, before_q, after_q);
            if (!sound) return;
            sums[0] += log_of<W>(seen_p / seen_q);
            if (t + 1 == N) return;
            const bool soon = t >= N - 1 - task.last;
            exceed(bp, before_q, cp, after_q, soon ? late : early, soon ? late_squares : early_squares, thirds);
            if (task.value)
                sums[2] += surprise(task.value + task.value_of[t] * task.value_size(), bp, before_q, cp, after_q);
            moved(K, task.transition_p, cp, bp + K);
            moved(L, task.transition_q, after_q, before_q);
        }
    }

    // Expected numbers of visits, pairs and emissions given the whole sequence.
    void backward() {
        const int64_t K = states_p(), L = states_q(), M = task.rows;
        Vec *start = sums + task.first_linear() + 2 * task.linear(), *pairs = start + K, *shown = pairs + K * K;
        Vec *now = product, *into = ahead;
        for (int64_t s = 0; s < K; ++s) now[s] = updated[(task.length - 1) * K + s];
        for (int64_t t = task.length - 1; t >= 0; --t) {
            const Vec *bp = predicted + t * K;
            const Int row = rows_at(t);
            if (task.symbols)
                for (int64_t s = 0; s < K; ++s)
                    for (int l = 0; l < W; ++l) shown[s * M + row[l]][l] += now[s][l];
            for (int64_t r = 0; task.log_p && r < L; ++r) {
                const Vec log_q = gather<W>(task.log_q, row * L + r);
                for (int64_t s = 0; s < K; ++s)
                    shown[s * L + r] += now[s] > 0.0 ? now[s] * (gather<W>(task.log_p, row * K + s) - log_q) : Vec{};
            }
            if (t == 0) break;
            for (int64_t s = 0; s < K; ++s) into[s] = bp[s] > 0.0 ? now[s] / bp[s] : Vec{};
            const Vec *cp = updated + (t - 1) * K;
            for (int64_t r = 0; r < K; ++r) {
                Vec sum{};
                for (int64_t s = 0; s < K; ++s) {
                    const Vec step = task.transition_p[r * K + s] * into[s];
                    pairs[r * K + s] += cp[r] * step;
                    sum += step;
                }
                now[r] = cp[r] * sum;
            }
        }
        for (int64_t s = 0; s < K; ++s) start[s] = now[s];
    }
};

template <int KP, int KQ>
Status block(const ChainSums &task, int64_t first, double *out, bool &sound) {
    const int64_t K = task.states_p, L = task.states_q, N = task.length, J = task.points, columns = task.columns();
    const int64_t expected = task.squares() + task.thirds();
    const int64_t both = (K + L) * side_by_side;
    const Scratch memory((2 * N * K + 2 * L + 2 * (K + L) + 3 * J + expected + both + columns + 1) * W);
    if (!memory.values) return Status::no_memory;
    for (int64_t i = first; i < first + sequences_at_once && i < task.n; i += W) {
        Vec *at = reinterpret_cast<Vec *>((reinterpret_cast<uintptr_t>(memory.values) + sizeof(Vec) - 1) / sizeof(Vec) *
                                          sizeof(Vec));
        const auto take = [&at](int64_t count) { return (at += count) - count; };
        Lanes<KP, KQ> lanes{task,    take(N * K), take(N * K), take(L),        take(L),    take(K + L),   take(J),
                            take(J), take(J),     take(K + L), take(expected), take(both), take(columns), {}};
        for (int64_t l = 0; l < W; ++l) lanes.row_of[l] = task.row_of + (i + l < task.n ? i + l : task.n - 1) * N;
        for (int64_t c = 0; c < columns; ++c) lanes.sums[c] = Vec{};
        lanes.forward();
        if (!lanes.sound) {
            sound = false;
            return Status::done;
        }
        if (task.counts) lanes.backward();
        for (int64_t l = 0; l < W && i + l < task.n; ++l)
            for (int64_t c = 0; c < columns; ++c) out[(i + l) * columns + c] = lanes.sums[c][l];
    }
    return Status::done;
}

}  // namespace

Status chain_block(const ChainSums &task, int64_t first, double *out, bool &sound) {
    if (task.states_p == 2 && task.states_q == 2) return block<2, 2>(task, first, out, sound);
    return block<0, 0>(task, first, out, sound);
}

}  // namespace hidiv::HIDIV_TARGET
