// Exponential, gamma, beta, von Mises, Laplace and generalized Gaussian log-densities with rows of observations in the
// lanes.
#include "emission/emission.hpp"

#include "emission/turned_rows.hpp"
#include "runtime/scratch.hpp"
#include "runtime/table.hpp"
#include "simd/simd.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

constexpr int W = native, M = 2, at_once = W * M;
using Vec = V<W>;
using Mask = I<W>;
constexpr double tiny = 1e-300, huge = 1e300, farthest = 1e5, near = 0.25, half = 0.5, largest = 700.0;

// The terms of one column in one state: of the log-density, and of the log-ratio.
struct Terms {
    Vec value, ratio;
};

// log(1 + v) and v - log(1 + v), `at` being 1 + v from its own factors.
struct Logs {
    Vec log, bend;
};
HIDIV_INLINE Logs logs(Vec v, Vec at, Mask &bad) {
    const Vec r = v / (2.0 + v), z = r * r;
    Vec series = all<W>(1.0 / 23.0);
    for (int k = 21; k > 1; k -= 2) series = series * z + 1.0 / k;
    const Vec close = r * (v - 2.0 * z * series), far = log_of<W>(at);
    bad |= ~((at >= tiny) & (at <= huge));
    const Mask is_close = size<W>(v) <= near;
    return {is_close ? v - close : far, is_close ? close : v - far};
}

// Sine and cosine for |t| <= 1e5: quarter turns are taken off in three parts, whose products with their number are
// exact, then Taylor's series within an eighth of a turn.
HIDIV_INLINE void sine_cosine(Vec t, Vec &sine, Vec &cosine) {
    const double shift = 0x1.8p52;
    const Vec rounded = t * 0x1.45f306dc9c883p-1 + shift, k = rounded - shift;
    const Vec r = ((t - k * 0x1.921fb54400000p+0) - k * 0x1.0b4611a600000p-34) - k * 0x1.3198a2e037073p-69, z = r * r;
    const Vec s =
        r + r * z *
                (-1.0 / 6.0 +
                 z * (1.0 / 120.0 +
                      z * (-1.0 / 5040.0 + z * (1.0 / 362880.0 +
                                                z * (-1.0 / 39916800.0 + z * (1.0 / 6227020800.0 +
                                                                              z * (-1.0 / 1307674368000.0 +
                                                                                   z * (1.0 / 355687428096000.0))))))));
    const Vec c =
        1.0 +
        z * (-0.5 + z * (1.0 / 24.0 +
                         z * (-1.0 / 720.0 + z * (1.0 / 40320.0 +
                                                  z * (-1.0 / 3628800.0 + z * (1.0 / 479001600.0 +
                                                                               z * (-1.0 / 87178291200.0 +
                                                                                    z * (1.0 / 20922789888000.0))))))));
    const Mask turns = (Mask)rounded & 3, odd = (turns & 1) != 0;
    const Vec first = odd ? c : s, second = odd ? s : c;
    sine = (turns & 2) != 0 ? -first : first;
    cosine = ((turns + 1) & 2) != 0 ? -second : second;
}

// What is taken off in every state.
template <Curve KIND>
HIDIV_INLINE Vec common(Vec x, Mask &bad) {
    if constexpr (KIND == Curve::falling) {
        bad |= ~((x >= 0.0) & (x <= huge));
        return Vec{};
    } else if constexpr (KIND == Curve::rising) {
        bad |= ~((x >= tiny) & (x <= huge));
        return log_of<W>(x);
    } else if constexpr (KIND == Curve::unit) {
        bad |= ~((x >= tiny) & (x < 1.0));
        return log_of<W>(x) + logs(-x, 1.0 - x, bad).log;
    } else {
        bad |= ~(size<W>(x) <= huge);
        return Vec{};
    }
}

// other: q's law, where the log-ratio is wanted.
template <Curve KIND>
HIDIV_INLINE Terms terms(Vec x, const double *law, const double *ratio, const double *other, Mask &bad) {
    const double a = law[0], b = law[1], u = ratio[0], w = ratio[1];
    if constexpr (KIND == Curve::falling) {
        const Vec y = a * x;
        return {-y, u * (y - 1.0)};
    } else if constexpr (KIND == Curve::rising) {
        const Vec y = b * x, v = (y - a) / a;
        const Logs part = logs(v, y / a, bad);
        return {-a * part.bend, u * part.bend + w * v};
    } else if constexpr (KIND == Curve::unit) {
        const Vec y = 1.0 - x, off = b * x - a * y;
        const Logs left = logs(off / a, (a + b) * x / a, bad), right = logs(-off / b, (a + b) * y / b, bad);
        return {-a * left.bend - b * right.bend, u * left.log + w * right.log};
    } else if constexpr (KIND == Curve::pointed) {
        const Vec off = x - a, y = size<W>(off) / b;
        if (!other) return {-y, Vec{}};
        const Vec off_q = x - other[0], away = size<W>(off_q);
        if (!(u == u && w <= half && w >= -half)) return {-y, y - away / other[1]};
        const Vec side = off + off_q > 0.0 ? all<W>(u) : all<W>(-u);
        const Vec apart = off * off_q >= 0.0 ? side : size<W>(off) - away;
        return {-y, apart / other[1] - w * y};
    } else if constexpr (KIND == Curve::power) {
        const Vec y = size<W>(x) / a;
        bad |= ~((y >= tiny) & (y <= huge));
        const Vec log = log_of<W>(y), own = b * log, change = u * log + w;
        bad |= ~(own <= largest);
        const Vec low = all<W>(-largest), first = exp_of<W>(smaller<W>(larger<W>(own, low), all<W>(largest)));
        if (!other) return {-first, Vec{}};
        const Vec second = own + change;
        bad |= ~(second <= largest);
        const Vec small = smaller<W>(larger<W>(change, all<W>(-1.0)), all<W>(1.0));
        const Vec near_ratio = -first * (small + small * small * phi_over_square_2<W>(small, small * small));
        const Vec far_ratio = first - exp_of<W>(smaller<W>(larger<W>(second, low), all<W>(largest)));
        return {-first, size<W>(change) < 1.0 ? near_ratio : far_ratio};
    } else {
        const Vec angle = 0.5 * (x - a);
        bad |= ~(size<W>(angle) <= farthest);
        Vec sine, cosine;
        sine_cosine(smaller<W>(larger<W>(angle, all<W>(-farthest)), all<W>(farthest)), sine, cosine);
        return {-2.0 * b * sine * sine, sine * (u * cosine + w * sine)};
    }
}

struct Sums {
    Vec value[M], ratio[M];
};

template <Curve KIND>
HIDIV_INLINE void sums(const CurveLaws &law, const CurveLaws *q, const double *between, int64_t s, const double *x,
                       Sums &out, Mask *bad) {
    static const double none[2] = {0.0, 0.0};
    for (int m = 0; m < M; ++m) out.value[m] = out.ratio[m] = Vec{};
    for (int64_t f = 0; f < law.features; ++f) {
        const double *own = law.coefficients + 2 * (s * law.features + f);
        const double *ratio = between ? between + 2 * (s * law.features + f) : none;
        const double *other = between ? q->coefficients + 2 * (s * law.features + f) : nullptr;
        for (int m = 0; m < M; ++m) {
            const Terms each = terms<KIND>(load<W>(x + f * at_once + m * W), own, ratio, other, bad[m]);
            out.value[m] += each.value;
            out.ratio[m] += each.ratio;
        }
    }
}

HIDIV_INLINE void strike(double *table, int64_t states, const Mask *bad) {
    for (int64_t s = 0; s < states; ++s)
        for (int m = 0; m < M; ++m) {
            double *at = table + s * at_once + m * W;
            store<W>(at, bad[m] != 0 ? all<W>(NAN) : load<W>(at));
        }
}

template <Curve KIND>
Status rows(const CurveTask &task, int64_t first, int64_t end, bool &odd) {
    const int64_t states = task.p.states, features = task.p.features, size_of = states * at_once;
    Scratch memory((features + 1) * at_once + 3 * size_of);
    if (!memory.values) return Status::no_memory;
    double *x = memory.values, *off = x + features * at_once, *log_p = off + at_once, *log_q = log_p + size_of,
           *ratio = log_q + size_of;
    odd = false;
    for (int64_t row = first; row < end; row += at_once) {
        const int64_t count = end - row < at_once ? end - row : at_once;
        into_lanes<at_once>(task.x + row * features, features, count, x);
        Mask bad[M] = {};
        for (int m = 0; m < M; ++m) {
            Vec sum{};
            for (int64_t f = 0; f < features; ++f) sum += common<KIND>(load<W>(x + f * at_once + m * W), bad[m]);
            store<W>(off + m * W, sum);
        }
        for (int64_t s = 0; s < states; ++s) {
            Sums own;
            sums<KIND>(task.p, task.q, task.between, s, x, own, bad);
            for (int m = 0; m < M; ++m) {
                const Vec value = (task.p.constant[s] + own.value[m]) - load<W>(off + m * W);
                bad[m] |= ~(size<W>(value) <= huge);
                store<W>(log_p + s * at_once + m * W, value);
            }
            if (!task.between) continue;
            Sums other;
            sums<KIND>(*task.q, nullptr, nullptr, s, x, other, bad);
            for (int m = 0; m < M; ++m) {
                const Vec value = (task.q->constant[s] + other.value[m]) - load<W>(off + m * W);
                const Vec apart = task.constant[s] + own.ratio[m];
                bad[m] |= ~((size<W>(value) <= huge) & (size<W>(apart) <= huge));
                store<W>(log_q + s * at_once + m * W, value);
                store<W>(ratio + s * at_once + m * W, apart);
            }
        }
        if (any<W>(bad[0] | bad[1])) {
            odd = true;
            strike(log_p, states, bad);
            if (task.between) {
                strike(log_q, states, bad);
                strike(ratio, states, bad);
            }
        }
        turn<at_once>(log_p, states, count, task.log_p + row * states);
        if (!task.between) continue;
        turn<at_once>(log_q, states, count, task.log_q + row * states);
        turn<at_once>(ratio, states, count, task.log_ratio + row * states);
    }
    return Status::done;
}

}  // namespace

Status curve_steps(const CurveTask &task, int64_t first, int64_t end, bool &odd) {
    static_assert(M == 2, "both masks are looked at");
    switch (task.kind) {
        case Curve::falling:
            return rows<Curve::falling>(task, first, end, odd);
        case Curve::rising:
            return rows<Curve::rising>(task, first, end, odd);
        case Curve::unit:
            return rows<Curve::unit>(task, first, end, odd);
        case Curve::turning:
            return rows<Curve::turning>(task, first, end, odd);
        case Curve::pointed:
            return rows<Curve::pointed>(task, first, end, odd);
        case Curve::power:
            return rows<Curve::power>(task, first, end, odd);
    }
    return Status::refused;
}

}  // namespace hidiv::HIDIV_TARGET
