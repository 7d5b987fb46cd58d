// The posterior divergence of a listed tree without zeros, any number of states: node by node, rows in the lanes.
#include <math.h>

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "runtime/memory.hpp"
#include "posterior/padded_tables.hpp"
#include "posterior/routes.hpp"
#include "posterior/wide_sweep.hpp"
#include "posterior/prepared_rows.hpp"
#include "runtime/table.hpp"
#include "runtime/targets.hpp"

namespace hidiv {
namespace {

// b, ratio and inward of the children's messages met so far, node by node; all zero before the first.
class Records {
public:
    Records(int64_t count, int64_t padded)
        : padded_(padded), count_(count),
          memory_(static_cast<double *>(zeroed(count * 3 * padded * int64_t(sizeof(double))))) {
        if (!memory_) throw std::bad_alloc();
    }
    void read(int64_t u, double *state) const {
        const double *record = memory_.get() + u * 3 * padded_;
        if (u < count_ && record[0] != 0.0) {
            std::copy(record, record + 3 * padded_, state);
        } else {
            std::fill(state, state + padded_, 1.0);
            std::fill(state + padded_, state + 3 * padded_, 0.0);
        }
    }
    void receive(int64_t parent, const double *message, Gathered &gathered) {
        double *record = memory_.get() + parent * 3 * padded_;
        if (record[0] == 0.0) {
            std::copy(message, message + 3 * padded_, record);
            return;
        }
        for (int64_t i = 0; i < padded_; ++i) record[i] *= message[i];
        for (int64_t i = padded_; i < 3 * padded_; ++i) record[i] += message[i];
        // The first entry of a message lies in [1, 2): many children need a power of two taken out now and then.
        if (record[0] > 0x1p100) {
            const int64_t e = Wide(record[0]).e;
            for (int64_t i = 0; i < padded_; ++i) record[i] *= power_of_two(-e);
            gathered.exponent += e;
        }
    }

private:
    int64_t padded_, count_;
    std::unique_ptr<double, GiveBack> memory_;
};

}  // namespace

Status posterior_broad_tree(const LawPair &pair, const Places &places, Divergence &result, bool &declined) {
    declined = true;
    const int64_t states = pair.states, padded = table().posterior_padding(states);
    if (states > 512 || pair.transitions * states * padded > (int64_t(1) << 23)) return Status::done;
    try {
        const PaddedTables tables(pair, padded);
        if (!tables.positive) return Status::done;
        PreparedRows rows(pair, places, padded, steps_at_once);
        if (rows.zero()) return Status::done;
        int64_t count = 1;
        for (int64_t u = 1; u < places.n; ++u) count = std::max(count, places.parent[u] + 1);
        Records records(count, padded);
        std::vector<double> state(static_cast<size_t>(3 * padded));
        Gathered gathered;
        int tier = 0, since = 0;
        int32_t row[steps_at_once];
        const int64_t look = std::max<int64_t>(1, (1 << 18) / (states * states));
        for (int64_t first = places.n - 1; first > 0; first -= steps_at_once) {
            const int64_t size = std::min(first, steps_at_once);
            if (rows.block(first, size, row, gathered) != weights_done) return Status::done;
            for (int64_t i = 0; i < size; ++i) {
                const int64_t u = first - i;
                const int32_t which = int32_t(places.transition(u));
                records.read(u, state.data());
                StepState step{state.data(), state.data() + padded, state.data() + 2 * padded, 0, 0.0};
                if (tier > 0 && ++since % 1024 == 0) --tier;  // now and then a shorter polynomial is tried again
                int outcome = steps_too_far;
                for (; tier < 4 && outcome == steps_too_far; ++tier)
                    outcome = table().posterior_steps(tier, tables.view(), rows.view(), row + i, &which, 1, step);
                if (outcome != steps_done) return Status::done;
                --tier;
                const double least = *std::min_element(step.inward, step.inward + states);
                for (int64_t r = 0; r < padded; ++r) step.inward[r] -= least;
                gathered.exponent += step.exponent;
                gathered.ratio.add(step.ratio_out);
                gathered.value.add(least);
                records.receive(places.parent[u], state.data(), gathered);
                if (u % look == 0 && interrupted()) return Status::interrupted;
            }
        }
        const int64_t at = places.row(0) * states;
        for (int64_t s = 0; s < states; ++s)
            if (!isfinite(pair.p.log_weight[at + s]) || !isfinite(pair.weight_ratio[at + s]) ||
                (pair.residual && !isfinite(pair.residual[at + s])))
                return Status::done;
        records.read(0, state.data());
        Inbox inbox(states);
        for (int64_t i = 0; i < states; ++i) {
            const size_t s = size_t(i);
            inbox.b[s] = Wide(state[s]);
            inbox.ratio[s] = state[size_t(padded) + s];
            inbox.inward[s] = state[size_t(2 * padded) + s];
            if (!(state[s] > 0x1p-1000 && state[s] < 0x1p1000)) return Status::done;
        }
        WideStep step(pair, places, nullptr);
        result = {NAN, NAN, NAN, {-1, -1, -1}, -1, -1};
        step.root(inbox, gathered, result, nullptr, nullptr, nullptr);
        declined = false;
        return Status::done;
    } catch (const std::bad_alloc &) {
        return Status::no_memory;
    } catch (const Beyond &) {
        return Status::beyond;
    }
}

}  // namespace hidiv
