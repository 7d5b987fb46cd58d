// The posterior divergence of a chain: blocks of steps in scaled doubles, by numbers with exponents where those fail.
#include "posterior/routes.hpp"

#include <math.h>

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "posterior/padded_tables.hpp"
#include "posterior/wide_sweep.hpp"
#include "posterior/prepared_rows.hpp"
#include "runtime/targets.hpp"

namespace hidiv {
namespace {

// Scaled doubles while they suffice, numbers with exponents in between.
class ChainSweep {
public:
    ChainSweep(const LawPair &pair, const Places &places, PreparedRows &rows, const StepTables &tables)
        : pair_(pair), places_(places), rows_(rows), tables_(tables), b_(size_t(tables.padded), 1.0),
          ratio_(size_t(tables.padded), 0.0), inward_(ratio_), step_(pair, places, nullptr), inbox_(pair.states) {}

    // False when a zero was met, or a row for which q's own weights are needed and not at hand.
    bool block(int64_t first, int64_t count) {
        int32_t row[steps_at_once], which[steps_at_once];
        Gathered taken;
        const int weights = rows_.block(first, count, row, taken);
        if (weights == weights_zero || lacks_q(weights)) return false;
        if (weights <= weights_out_of_range && narrow()) {
            if (places_.transition_of)
                for (int64_t i = 0; i < count; ++i) which[i] = int32_t(places_.transition_of[first - i]);
            StepState state{b_.data(), ratio_.data(), inward_.data(), 0, 0.0};
            // Now and then a shorter polynomial is tried again.
            if (tier_ > 0 && ++since_ % 32 == 0) --tier_;
            const auto by = [&](int tier) {
                return table().posterior_steps(tier, tables_, rows_.view(), row,
                                               places_.transition_of ? which : nullptr, count, state);
            };
            int outcome = steps_too_far;
            if (weights == weights_out_of_range)
                outcome = by(4);
            else
                for (; tier_ < 4; ++tier_)
                    if ((outcome = by(tier_)) != steps_too_far) break;
            tier_ = std::min(tier_, 3);
            if (outcome == steps_done) {
                gathered.exponent += state.exponent + taken.exponent;
                gathered.ratio.add(state.ratio_out);
                gathered.ratio.add(taken.ratio.value());
                const double least = *std::min_element(inward_.begin(), inward_.begin() + pair_.states);
                gathered.value.add(least);
                for (double &each : inward_) each -= least;
                return true;
            }
        }
        // Often a few rows are out of range: the others keep to the quick steps.
        if (count > 4) return block(first, count / 2) && block(first - count / 2, count - count / 2);
        widen();
        for (int64_t i = 0; i < count; ++i) {
            Inbox above(pair_.states);
            step_.message(first - i, inbox_, above, gathered, nullptr, nullptr, nullptr);
            inbox_ = std::move(above);
        }
        return true;
    }
    bool lacks_q(int weights) const { return weights == weights_far_out && !pair_.q.log_weight; }
    void root(Divergence &result) {
        widen();
        step_.root(inbox_, gathered, result, nullptr, nullptr, nullptr);
    }
    Gathered gathered;

private:
    void widen() {
        if (wide_) return;
        for (size_t s = 0; s < size_t(pair_.states); ++s) {
            inbox_.b[s] = Wide(b_[s]);
            inbox_.ratio[s] = ratio_[s];
            inbox_.inward[s] = inward_[s];
        }
        wide_ = true;
    }
    // Back to scaled doubles, if they can hold the message.
    bool narrow() {
        if (!wide_) return true;
        int64_t low = INT64_MAX, high = INT64_MIN;
        for (const Wide &each : inbox_.b) {
            low = std::min(low, each.e);
            high = std::max(high, each.e);
        }
        if (high - low > 250) return false;
        for (size_t i = 0; i < b_.size(); ++i) {
            const size_t s = i < size_t(pair_.states) ? i : 0;
            b_[i] = Wide(inbox_.b[s].m, inbox_.b[s].e - high).value();
            ratio_[i] = inbox_.ratio[s];
            inward_[i] = inbox_.inward[s];
        }
        gathered.exponent += high;
        wide_ = false;
        return true;
    }
    const LawPair &pair_;
    const Places &places_;
    PreparedRows &rows_;
    const StepTables tables_;
    std::vector<double> b_, ratio_, inward_;
    WideStep step_;
    Inbox inbox_;
    bool wide_ = false;
    int tier_ = 0, since_ = 0;
};

}  // namespace

Status scaled_chain(const LawPair &pair, const Places &places, const PaddedTables &tables, Divergence &result,
                    bool &declined, Stream *stream) {
    declined = true;
    PreparedRows rows(pair, places, tables.view().padded, steps_at_once, WithQ::out_of_range, stream);
    if (rows.zero()) return Status::done;
    ChainSweep sweep(pair, places, rows, tables.view());
    const int64_t look = std::max<int64_t>(1, (1 << 16) / (pair.states * pair.states));
    int64_t since = 0;
    for (int64_t first = places.n - 1; first > 0; first -= steps_at_once) {
        if (!sweep.block(first, std::min(first, steps_at_once))) return Status::done;
        since += steps_at_once;
        if (since >= look) {
            if (interrupted()) return Status::interrupted;
            since = 0;
        }
    }
    int32_t row;
    Gathered unused;
    const int weights = rows.block(0, 1, &row, unused);
    if (weights == weights_zero || sweep.lacks_q(weights)) return Status::done;
    result = {NAN, NAN, NAN, {-1, -1, -1}, -1, -1};
    sweep.root(result);
    declined = false;
    return Status::done;
}

Status posterior_chain(const LawPair &given, const Places &nodes, Divergence &result, bool &declined, RowSource *source,
                       int64_t chunk) {
    declined = true;
    LawPair pair = given;
    Places places = nodes;
    Stream whole{pair, places, source, chunk};
    Stream *stream = source ? &whole : nullptr;
    try {
        const int64_t padded = chain_padding(pair);
        if (padded == 0) return Status::done;
        const PaddedTables tables(pair, padded);
        if (!tables.positive) return Status::done;
        const Status status = semiring_chain(pair, places, tables, result, declined, stream);
        if (status != Status::done || !declined) return status;
        return scaled_chain(pair, places, tables, result, declined, stream);
    } catch (const std::bad_alloc &) {
        return Status::no_memory;
    } catch (const Beyond &) {
        return Status::beyond;
    }
}

}  // namespace hidiv
