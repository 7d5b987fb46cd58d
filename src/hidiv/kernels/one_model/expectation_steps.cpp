// Expected counts of one tree: messages up, marginals down, states in the lanes of a vector.
#include "one_model/steps.hpp"

#include "simd/simd.hpp"
#include "runtime/table.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

#define MEMBER_INLINE inline __attribute__((always_inline))

constexpr double huge = __builtin_huge_val();
constexpr double faint = 0x1p-300;  // of the largest: below it what underflowed might have mattered
constexpr double dim = 0x1p-64;

HIDIV_INLINE double power_of_two(int64_t e) {
    const uint64_t bits = uint64_t(e + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
HIDIV_INLINE int64_t exponent_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return int64_t((bits >> 52) & 0x7ff) - 1023;
}

// M vectors of W lanes hold the states; M = 0: as many as it takes.
template <int W, int M>
struct Sweep {
    const ExpectTree &t;
    const int64_t vectors;
    MEMBER_INLINE int64_t count() const { return M ? M : vectors; }

    MEMBER_INLINE double top(const double *x) const {
        V<W> m = load<W>(x);
        for (int64_t k = 1; k < count(); ++k) m = larger<W>(m, load<W>(x + k * W));
        return most<W>(m);
    }
    MEMBER_INLINE void scale(double *x, double by) const {
        for (int64_t k = 0; k < count(); ++k) store<W>(x + k * W, load<W>(x + k * W) * by);
    }
    // out = by sum_s x[s] table[s][.]; the factor comes last, so that the sums need not wait for it.
    MEMBER_INLINE void product(const double *x, const double *table, double by, double *out) const {
        if constexpr (M > 0) {
            V<W> even[M], odd[M];
            for (int k = 0; k < M; ++k) even[k] = odd[k] = V<W>{};
            int64_t s = 0;
            for (; s + 1 < t.states; s += 2, table += 2 * M * W)
                for (int k = 0; k < M; ++k) {
                    even[k] += load<W>(table + k * W) * x[s];
                    odd[k] += load<W>(table + (M + k) * W) * x[s + 1];
                }
            if (s < t.states)
                for (int k = 0; k < M; ++k) even[k] += load<W>(table + k * W) * x[s];
            for (int k = 0; k < M; ++k) store<W>(out + k * W, (even[k] + odd[k]) * by);
        } else {
            for (int64_t k = 0; k < vectors; ++k) store<W>(out + k * W, V<W>{});
            for (int64_t s = 0; s < t.states; ++s, table += vectors * W)
                for (int64_t k = 0; k < vectors; ++k)
                    store<W>(out + k * W, load<W>(out + k * W) + load<W>(table + k * W) * x[s]);
            scale(out, by);
        }
    }

    bool up(ExpectOutcome &result) const {
        const int64_t padded = count() * W, size = t.states * padded;
        int64_t exponent = 0;
        if (t.parent)
            for (int64_t i = 0; i < t.n * padded; ++i) t.own[i] = 1.0;
        for (int64_t u = t.n - 1; u >= 0; --u) {
            double *own = t.own + u * padded;
            const double *weight = t.weight + t.row(u) * padded;
            const bool leaf = !t.parent && u == t.n - 1;
            for (int64_t k = 0; k < count(); ++k) {
                const V<W> w = load<W>(weight + k * W);
                store<W>(own + k * W, leaf ? w : w * load<W>(own + k * W));
            }
            const double largest = top(own);
            if (!(largest > faint && largest < huge)) return false;
            const int64_t e = exponent_of(largest);
            exponent += e;
            double *mass = t.mass + u * padded;
            if (u > 0) product(own, t.columns + t.group(u) * size, power_of_two(-e), mass);
            scale(own, power_of_two(-e));
            if (u == 0) break;
            if (!t.parent) {
                memcpy(own - padded, mass, size_t(padded) * 8);
                continue;
            }
            double *above = t.own + (t.parent[u] - t.first) * padded;
            for (int64_t k = 0; k < count(); ++k)
                store<W>(above + k * W, load<W>(above + k * W) * load<W>(mass + k * W));
            const double left = top(above);
            if (!(left > faint)) return false;
            if (left < dim) {
                const int64_t down = exponent_of(left);
                scale(above, power_of_two(-down));
                exponent += down;
            }
        }
        double total = 0.0;
        for (int64_t s = 0; s < t.states; ++s) total += t.initial[s] * t.own[s];
        if (!(total > faint && total < huge)) return false;
        result.total = total;
        result.exponent = exponent;
        return true;
    }

    void down(double total, const ExpectSums &sums) const {
        const int64_t padded = count() * W, size = t.states * padded;
        // The marginal of a node takes the place of its own message, which is needed no more then.
        double *root = t.own;
        for (int64_t s = 0; s < t.states; ++s) sums.initial[s] += root[s] *= t.initial[s] / total;
        add(sums, t.row(0), root);
        // Along a chain a marginal is divided by its sum, one but for rounding, after the next product has begun.
        double held = 1.0;
        for (int64_t u = 1; u < t.n; ++u) {
            double *own = t.own + u * padded, *mass = t.mass + u * padded;
            const double *above = t.own + (t.parent ? t.parent[u] - t.first : u - 1) * padded;
            for (int64_t k = 0; k < count(); ++k) {
                const V<W> m = load<W>(mass + k * W);
                store<W>(mass + k * W, m > 0.0 ? load<W>(above + k * W) / m : V<W>{});
            }
            const double by = 1.0 / held;
            alignas(64) double sum[M > 0 ? M * W : 512];
            product(mass, t.rows + t.group(u) * size, by, sum);
            // Counts over the transition itself: that factor is put back at the end, once.
            double *edges = sums.edges + t.group(u) * size;
            V<W> message[M > 0 ? M : 1];
            if constexpr (M > 0)
                for (int k = 0; k < M; ++k) message[k] = load<W>(own + k * W) * by;
            for (int64_t r = 0; r < t.states; ++r, edges += padded)
                for (int64_t k = 0; k < count(); ++k) {
                    const V<W> each = M > 0 ? message[k] : load<W>(own + k * W) * by;
                    store<W>(edges + k * W, load<W>(edges + k * W) + each * mass[r]);
                }
            V<W> whole{};
            for (int64_t k = 0; k < count(); ++k) {
                const V<W> g = load<W>(own + k * W) * load<W>(sum + k * W);
                store<W>(own + k * W, g);
                whole += g;
            }
            held = 0.0;
            for (int i = 0; i < W; ++i) held += whole[i];
            add(sums, t.row(u), own, 1.0 / held);
            if (!t.parent) continue;
            scale(own, 1.0 / held);
            held = 1.0;
        }
    }
    MEMBER_INLINE void add(const ExpectSums &sums, int64_t row, const double *marginal, double by = 1.0) const {
        double *to = sums.rows + row * t.states;
        int64_t s = 0;
        for (; s + W <= t.states; s += W) store<W>(to + s, load<W>(to + s) + load<W>(marginal + s) * by);
        for (; s < t.states; ++s) to[s] += marginal[s] * by;
    }
    bool run(const ExpectSums &sums, ExpectOutcome &result) const {
        if (!up(result)) return false;
        down(result.total, sums);
        return true;
    }
};

template <int W, int M>
bool sweep(const ExpectTree &tree, const ExpectSums &sums, ExpectOutcome &result) {
    return Sweep<W, M>{tree, tree.padded / W}.run(sums, result);
}

}  // namespace

int64_t expect_padding(int64_t states) {
    const int64_t width = states <= 2 ? 2 : states <= 4 && native >= 4 ? 4 : native;
    return (states + width - 1) / width * width;
}

bool expect_tree(const ExpectTree &tree, const ExpectSums &sums, ExpectOutcome &result) {
    if (tree.padded == 2) return sweep<2, 1>(tree, sums, result);
    if constexpr (native >= 4)
        if (tree.padded == 4) return sweep<4, 1>(tree, sums, result);
    switch (tree.padded / native) {
        case 1:
            return sweep<native, 1>(tree, sums, result);
        case 2:
            return sweep<native, 2>(tree, sums, result);
        case 3:
            return sweep<native, 3>(tree, sums, result);
        case 4:
            return sweep<native, 4>(tree, sums, result);
        default:
            return sweep<native, 0>(tree, sums, result);
    }
}

void expect_weights(const double *log_weight, int64_t states, int64_t padded, int64_t count, double *weight,
                    double *top) {
    for (int64_t i = 0; i < count; ++i) {
        const double *x = log_weight + i * states;
        double m = x[0];
        for (int64_t s = 1; s < states; ++s) m = x[s] > m ? x[s] : m;
        const bool usable = m > -huge && m < huge;
        top[i] = usable ? m : -huge;
        double *to = weight + i * padded;
        for (int64_t s = 0; s < padded; ++s) {
            const double apart = s < states && usable ? x[s] - m : -huge;
            to[s] = apart > -690.0 ? apart : -1000.0;
        }
    }
    int64_t i = 0;
    const int64_t size = count * padded;
    for (; i + native <= size; i += native) {
        const V<native> x = load<native>(weight + i);
        store<native>(weight + i, x > -700.0 ? exp_of<native>(larger<native>(x, all<native>(-700.0))) : V<native>{});
    }
    for (; i < size; ++i) {
        const double x = weight[i];
        weight[i] = x > -700.0 ? exp_of<2>(V<2>{x, x})[0] : 0.0;
    }
}

}  // namespace hidiv::HIDIV_TARGET
