// The most probable states below each node of a chain: rows of the transition in the lanes.
#include "one_model/steps.hpp"

#include "runtime/table.hpp"
#include "simd/simd.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

constexpr int64_t kept = 4;  // steps between which the largest is taken out

// S states in P vectors; 0: as many as the chain says.
template <int W, int P, int S>
bool sweep(const ViterbiChain &c, double &high, double &low) {
    using Vec = V<W>;
    typedef int32_t Short __attribute__((vector_size(4 * W)));
    const int64_t K = S ? S : c.states, padded = P ? P * W : c.padded, n = c.places.n, size = K * padded;
    const int64_t look = (int64_t(1) << 18) / (K * K + 16) + 1;
    alignas(64) double best[512] = {}, own[512];
    Vec few{};
    for (int64_t u = n - 1; u >= 0; --u) {
        const double *x = c.log_weight + c.places.row(u) * K;
        if (u % kept == 0) {
            if (S) store<W>(best, few);
            double top = best[0];
            for (int64_t s = 1; s < K; ++s) top = best[s] > top ? best[s] : top;
            const double sum = high + top, part = sum - high;
            low += (high - (sum - part)) + (top - part);
            high = sum;
            if (S) few -= top;
            for (int64_t s = 0; !S && s < K; ++s) best[s] -= top;
        }
        if (u == 0) {
            if (S) store<W>(best, few);
            for (int64_t s = 0; s < K; ++s) c.own[s] = x[s] + best[s];
            break;
        }
        const double *columns = c.log_columns + c.places.transition(u) * size;
        int32_t *choice = c.choice + u * padded;
        for (int64_t s = 0; !S && s < K; ++s) own[s] = x[s] + best[s];
        for (int64_t v = 0; v < padded; v += W) {
            // Few states leave room for weighting the transition, which need not wait for the message.
            const auto term = [&](int64_t s) {
                const Vec column = load<W>(columns + s * padded + v);
                return S ? (column + x[s]) + lane<W>(few, int(s)) : column + own[s];
            };
            Vec most = term(0);
            I<W> chosen{};
            for (int64_t s = 1; s < K; ++s) {
                const Vec next = term(s);
                const I<W> above = next > most;
                most = above ? next : most;
                chosen = above ? I<W>{} + (long long)s : chosen;
            }
            if (S)
                few = most;
            else
                store<W>(best + v, most);
            const Short narrow = __builtin_convertvector(chosen, Short);
            memcpy(choice + v, &narrow, sizeof narrow);
        }
        if (u % look == 0 && interrupted()) return false;
    }
    return true;
}

constexpr int at_most(int w) { return w < native ? w : native; }

}  // namespace

bool viterbi_steps(const ViterbiChain &c, double &high, double &low) {
    if (c.states == 2) return sweep<2, 1, 2>(c, high, low);
    if (c.states < 2) return sweep<2, 1, 0>(c, high, low);
    if constexpr (native >= 4) {
        if (c.states == 3) return sweep<4, 1, 3>(c, high, low);
        if (c.states == 4) return sweep<4, 1, 4>(c, high, low);
    }
    if (c.padded == native) return sweep<native, 1, 0>(c, high, low);
    if (c.padded == 2 * native) return sweep<native, 2, 0>(c, high, low);
    if (c.padded == 3 * native) return sweep<native, 3, 0>(c, high, low);
    if (c.states <= 4) return sweep<at_most(4), 0, 0>(c, high, low);
    return sweep<native, 0, 0>(c, high, low);
}

}  // namespace hidiv::HIDIV_TARGET
