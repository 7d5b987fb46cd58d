// Smoothing and decoding of chains in vectors: what the steps read, laid out once.
#include <math.h>

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "one_model/one_model.hpp"
#include "runtime/memory.hpp"
#include "runtime/targets.hpp"
#include "simd/wide.hpp"

namespace hidiv {
namespace {

bool fits(const OneModel &m, int64_t padded) {
    return m.states <= 512 && !m.places.parent && m.transitions * m.states * padded <= (int64_t(1) << 22);
}

}  // namespace

Status smooth_chain(const OneModel &m, double &log_likelihood, double *marginals, double *pairs, bool &declined) {
    declined = true;
    const int64_t states = m.states, padded = table().posterior_padding(states);
    if (!fits(m, padded)) return Status::done;
    const int64_t entries = m.transitions * states * states;
    for (int64_t i = 0; i < entries; ++i)
        if (!(m.law.transition[i] >= 0x1p-60)) return Status::done;
    for (int64_t s = 0; s < states; ++s)
        if (!(m.law.initial[s] >= 0x1p-60)) return Status::done;
    try {
        std::vector<double> columns(static_cast<size_t>(m.transitions * states * padded)), rows(columns);
        for (int64_t g = 0; g < m.transitions; ++g)
            for (int64_t s = 0; s < states; ++s)
                for (int64_t r = 0; r < padded; ++r) {
                    const size_t at = size_t((g * states + s) * padded + r);
                    columns[at] = m.law.transition[(g * states + (r < states ? r : 0)) * states + s];
                    rows[at] = r < states ? m.law.transition[(g * states + s) * states + r] : 0.0;
                }
        std::unique_ptr<double[], GiveBack> own(static_cast<double *>(unset(m.places.n * padded * 8)));
        if (!own) return Status::no_memory;
        const SmoothChain chain{states,           padded,   columns.data(), rows.data(), m.law.initial,
                                m.law.log_weight, m.places, own.get(),      marginals,   pairs};
        SmoothOutcome out{};
        if (!table().smooth_steps(chain, out)) return Status::done;
        if (out.stopped) return Status::interrupted;
        const Wide total(out.total, out.exponent);
        Sum sum;
        sum.add(out.high);
        sum.add(total.log());
        sum.add(out.low);
        log_likelihood = sum.value();
        declined = !isfinite(log_likelihood);
        return Status::done;
    } catch (const std::bad_alloc &) {
        return Status::no_memory;
    } catch (const Beyond &) {
        return Status::done;
    }
}

Status viterbi_chain(const OneModel &m, int64_t *path, double &log_probability, bool &declined) {
    declined = true;
    const int64_t states = m.states, padded = table().posterior_padding(states), n = m.places.n;
    if (!fits(m, padded)) return Status::done;
    std::vector<double> columns(static_cast<size_t>(m.transitions * states * padded)), own(static_cast<size_t>(padded));
    for (int64_t g = 0; g < m.transitions; ++g)
        for (int64_t s = 0; s < states; ++s)
            for (int64_t r = 0; r < padded; ++r)
                columns[size_t((g * states + s) * padded + r)] =
                    r < states ? log(m.law.transition[(g * states + r) * states + s]) : -HUGE_VAL;
    std::unique_ptr<int32_t[], GiveBack> choice(static_cast<int32_t *>(unset(n * padded * 4)));
    if (!choice) return Status::no_memory;
    double high = 0.0, low = 0.0;
    const ViterbiChain chain{states, padded, columns.data(), m.law.log_weight, m.places, choice.get(), own.data()};
    if (!table().viterbi_steps(chain, high, low)) return Status::interrupted;
    path[0] = 0;
    double most = -HUGE_VAL;
    for (int64_t s = 0; s < states; ++s) {
        const double value = log(m.law.initial[s]) + own[size_t(s)];
        if (value > most) {
            most = value;
            path[0] = s;
        }
    }
    Sum total;
    total.add(high);
    total.add(most);
    total.add(low);
    log_probability = total.value();
    for (int64_t u = 1; u < n; ++u) path[u] = choice[size_t(u * padded + path[u - 1])];
    declined = false;
    return Status::done;
}

}  // namespace hidiv
