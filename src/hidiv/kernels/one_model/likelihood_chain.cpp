// log P(E) of a chain without zeros, in constant memory.
#include <math.h>

#include <algorithm>
#include <new>
#include <vector>

#include "one_model/messages.hpp"
#include "one_model/one_model.hpp"
#include "posterior/prepared_rows.hpp"
#include "runtime/targets.hpp"

namespace hidiv {

Status likelihood_chain(const OneModel &given, double &value, bool &declined, RowSource *source, int64_t chunk) {
    declined = true;
    OneModel m = given;
    const int64_t states = m.states, padded = table().posterior_padding(states);
    if (states > 512 || m.places.parent || m.transitions * states * padded > (int64_t(1) << 24)) return Status::done;
    try {
        std::vector<double> transition(static_cast<size_t>(m.transitions * states * padded));
        for (int64_t g = 0; g < m.transitions; ++g)
            for (int64_t s = 0; s < states; ++s)
                for (int64_t r = 0; r < padded; ++r)
                    transition[size_t((g * states + s) * padded + r)] =
                        m.law.transition[(g * states + (r < states ? r : 0)) * states + s];
        LawPair pair{};
        pair.states = states;
        pair.transitions = m.transitions;
        pair.rows = m.rows;
        pair.p = m.law;
        Stream whole{pair, m.places, source, chunk};
        Stream *stream = source ? &whole : nullptr;
        PreparedRows rows(pair, m.places, padded, steps_at_once, WithQ::none, stream);
        if (rows.zero()) return Status::done;
        std::vector<double> b(static_cast<size_t>(padded), 1.0);
        Gathered gathered;
        int32_t row[steps_at_once], which[steps_at_once];
        int64_t since = 0;
        const int64_t look = std::max<int64_t>(1, (1 << 18) / (states * states));
        for (int64_t first = m.places.n - 1; first > 0; first -= steps_at_once) {
            const int64_t count = std::min(first, steps_at_once);
            if (rows.block(first, count, row, gathered) != weights_done) return Status::done;
            for (int64_t i = 0; m.places.transition_of && i < count; ++i)
                which[i] = int32_t(m.places.transition_of[first - i]);
            if (!table().likelihood_steps(states, padded, transition.data(), rows.view().weight, row,
                                          m.places.transition_of ? which : nullptr, count, b.data(), gathered.exponent))
                return Status::done;
            since += count;
            if (since >= look) {
                if (interrupted()) return Status::interrupted;
                since = 0;
            }
        }
        Wide total;
        if (stream && !stream->reach(0, 1)) return Status::done;
        for (int64_t s = 0; s < states; ++s)
            total = total + wide_exp(pair.p.log_weight[m.places.row(0) * states + s]) * b[size_t(s)] * m.law.initial[s];
        if (total.m == 0.0) return Status::done;
        value = Wide(total.m, total.e + gathered.exponent).log();
        declined = false;
        return Status::done;
    } catch (const std::bad_alloc &) {
        return Status::no_memory;
    } catch (const Beyond &) {
        return Status::beyond;
    }
}

}  // namespace hidiv
