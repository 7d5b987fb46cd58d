// The posterior divergence node by node in numbers that cannot underflow: zeros anywhere, and the profile by node.
#include "posterior/wide_sweep.hpp"

#include <math.h>

#include <algorithm>
#include <new>

namespace hidiv {
WideStep::WideStep(const LawPair &pair, const Places &places, const StateSets *reached)
    : pair_(pair), places_(places), reached_(reached), own_(size_t((pair.states + 63) / 64), ~uint64_t(0)),
      parent_(own_), z_(size_t(pair.states)), z_q_(z_), ratio_(size_t(pair.states)), residual_(ratio_), inward_(ratio_),
      local_(pair.states), rows_(size_t(pair.states)) {}

void WideStep::weigh(int64_t u, const Inbox &in, Gathered &gathered, Wide *z) {
    if (reached_) reached_->load(u, own_.data());
    const int64_t states = pair_.states, row = places_.row(u) * states;
    int64_t top = INT64_MIN;
    for (int64_t i = 0; i < states; ++i) {
        const size_t s = size_t(i);
        const bool here = has(own_.data(), i);
        z_[s] = here ? wide_exp(pair_.p.log_weight[row + i]) * in.b[s] : Wide();
        ratio_[s] = here ? pair_.weight_ratio[row + i] + in.ratio[s] : 0.0;
        residual_[s] = here && pair_.residual ? pair_.residual[row + i] : 0.0;
        inward_[s] = residual_[s] + in.inward[s];
        // Not p's weight times a large ratio, where q's own is at hand: two large exponents would round a small one.
        if (!here)
            z_q_[s] = wide_exp(pair_.q.log_weight[row + i]) * in.b_q[s];
        else if (pair_.q.log_weight)
            z_q_[s] = wide_exp(pair_.q.log_weight[row + i]) * in.b[s] * wide_exp(in.ratio[s]);
        else
            z_q_[s] = z_[s] * wide_exp(ratio_[s]);
        if (here) top = std::max(top, z_[s].e);
    }
    if (top == INT64_MIN) top = 0;
    for (Wide &each : z_) each.e -= each.m == 0.0 ? 0 : top;
    for (Wide &each : z_q_) each.e -= each.m == 0.0 ? 0 : top;
    add_exponent(gathered.exponent, top);
    if (z) std::copy(z_.begin(), z_.end(), z);
}

WideStep::Row WideStep::row(const double *p, const double *q, const double *ratio) {
    const size_t states = size_t(pair_.states);
    for (size_t s = 0; s < states; ++s) {
        const bool here = z_[s].m != 0.0 && p[s] != 0.0;
        local_.put(int64_t(s), z_[s] * p[s], here ? ratio[s] + ratio_[s] : 0.0, z_q_[s] * q[s]);
    }
    const double local = local_.value();
    double inward = 0.0, residual = 0.0;
    for (size_t s = 0; s < states; ++s) {
        inward += local_.shares()[s] * inward_[s];
        residual += local_.shares()[s] * residual_[s];
    }
    Row out{};
    out.mass = local_.total();
    out.ratio = local_.mean() + local;
    out.own = local + residual;
    out.inward = local + inward;
    out.mass_q = out.mass * wide_exp(out.ratio);
    return out;
}

Wide WideStep::row_q(const double *q) const {
    Wide mass;
    for (size_t s = 0; s < size_t(pair_.states); ++s) mass = mass + z_q_[s] * q[s];
    return mass;
}

void WideStep::message(int64_t u, const Inbox &in, Inbox &out, Gathered &gathered, double *own_terms, Wide *z,
                       Wide *mass) {
    weigh(u, in, gathered, z);
    if (reached_) reached_->load(places_.up(u), parent_.data());
    const int64_t states = pair_.states, start = places_.transition(u) * states * states;
    int64_t best = -1;
    double least = HUGE_VAL;
    std::vector<Row> &rows = rows_;
    for (int64_t r = 0; r < states; ++r) {
        const int64_t at = start + r * states;
        Row &each = rows[size_t(r)];
        if (has(parent_.data(), r)) {
            each = row(pair_.p.transition + at, pair_.q.transition + at, pair_.transition_ratio + at);
            least = std::min(least, each.inward);
            const Wide top = best < 0 ? Wide() : rows[size_t(best)].mass;
            if (best < 0 || each.mass.e > top.e || (each.mass.e == top.e && each.mass.m > top.m)) best = r;
        } else {
            each = Row{};
            each.mass_q = row_q(pair_.q.transition + at);
        }
        if (own_terms) own_terms[r] = each.own;
        if (mass) mass[r] = each.mass;
    }
    // Constants leave the message; the inward values that stay are non-negative, so that nothing cancels.
    const double shift = best < 0 ? 0.0 : rows[size_t(best)].ratio;
    const Wide shrink = wide_exp(-shift);
    gathered.ratio.add(shift);
    if (best >= 0) gathered.value.add(least);
    for (int64_t i = 0; i < states; ++i) {
        const size_t r = size_t(i);
        const bool alive = has(parent_.data(), i);
        out.b[r] = out.b[r] * rows[r].mass;
        out.b_q[r] = out.b_q[r] * (rows[r].mass_q * shrink);
        if (alive) out.ratio[r] += rows[r].ratio - shift;
        if (alive) out.inward[r] += rows[r].inward - least;
    }
}

void WideStep::root(const Inbox &in, Gathered &gathered, Divergence &result, double *own_terms, Wide *z, Wide *mass,
                    int64_t u) {
    weigh(u, in, gathered, z);
    const Row top = row(pair_.p.initial, pair_.q.initial, pair_.initial_ratio);
    gathered.ratio.add(top.ratio);
    gathered.value.add(top.inward);
    if (own_terms) own_terms[0] = top.own;
    if (mass) mass[0] = top.mass;
    result.value = gathered.value.value();
    result.log_likelihood_p = Wide(top.mass.m, top.mass.e + gathered.exponent).log();
    result.log_likelihood_q = result.log_likelihood_p + gathered.ratio.value();
}

namespace {

struct Profile {
    std::vector<double> own;
    std::vector<Wide> z, mass;
};

// The local terms of each node, its parent weighted by its posterior marginal under p.
void downward(const LawPair &pair, const Places &places, const Profile &kept, double *profile) {
    const int64_t states = pair.states;
    std::vector<double> marginal(size_t(places.n * states), 0.0);
    profile[0] = kept.own[0];
    for (int64_t s = 0; s < states; ++s)
        marginal[size_t(s)] = (kept.z[size_t(s)] * pair.p.initial[s] / kept.mass[0]).value();
    for (int64_t u = 1; u < places.n; ++u) {
        const double *parent = marginal.data() + places.up(u) * states;
        double *own = marginal.data() + u * states;
        const double *transition = pair.p.transition + places.transition(u) * states * states;
        double total = 0.0;
        for (int64_t r = 0; r < states; ++r) {
            const size_t at = size_t(u * states + r);
            if (parent[r] == 0.0 || kept.mass[at].m == 0.0) continue;
            total += parent[r] * kept.own[at];
            for (int64_t s = 0; s < states; ++s)
                own[s] +=
                    parent[r] * (kept.z[size_t(u * states + s)] * transition[r * states + s] / kept.mass[at]).value();
        }
        profile[u] = total;
        // The rows sum to one but for rounding: over a million nodes that would add up.
        double sum = 0.0;
        for (int64_t s = 0; s < states; ++s) sum += own[s];
        for (int64_t s = 0; s < states && sum > 0.0; ++s) own[s] /= sum;
    }
}

Status finite(const LawPair &pair, const Places &places, const StateSets *reached, Divergence &result,
              double *profile) {
    const int64_t states = pair.states;
    WideStep step(pair, places, reached);
    Gathered gathered;
    Profile kept;
    if (profile) {
        kept.own.resize(size_t(places.n * states));
        kept.z.resize(size_t(places.n * states));
        kept.mass.resize(size_t(places.n * states));
    }
    const auto own = [&](int64_t u) { return profile ? kept.own.data() + u * states : nullptr; };
    const auto z = [&](int64_t u) { return profile ? kept.z.data() + u * states : nullptr; };
    const auto mass = [&](int64_t u) { return profile ? kept.mass.data() + u * states : nullptr; };
    const int64_t look = std::max<int64_t>(1, (1 << 16) / (states * states));
    const Inbox empty(states);
    if (places.parent) {
        std::vector<Inbox> inbox(size_t(places.n), empty);
        for (int64_t u = places.n - 1; u > 0; --u) {
            step.message(u, inbox[size_t(u)], inbox[size_t(places.up(u))], gathered, own(u), z(u), mass(u));
            if (u % look == 0 && interrupted()) return Status::interrupted;
        }
        step.root(inbox[0], gathered, result, own(0), z(0), mass(0));
    } else {
        Inbox below(empty), above(empty);
        for (int64_t u = places.n - 1; u > 0; --u) {
            above = empty;
            step.message(u, below, above, gathered, own(u), z(u), mass(u));
            std::swap(below, above);
            if (u % look == 0 && interrupted()) return Status::interrupted;
        }
        step.root(below, gathered, result, own(0), z(0), mass(0));
    }
    if (profile) downward(pair, places, kept, profile);
    return Status::done;
}

}  // namespace

Status posterior_wide(const LawPair &pair, const Places &places, Divergence &result, double *profile) {
    try {
        result = {NAN, NAN, NAN, {-1, -1, -1}, -1, -1};
        if (!has_zeros(pair)) return finite(pair, places, nullptr, result, profile);
        StateSets reached(places.n, pair.states);
        {
            StateSets q(places.n, pair.states);
            result.impossible_q = upward_support(pair.q, pair.states, pair.transitions, places, q);
        }
        result.impossible_p = upward_support(pair.p, pair.states, pair.transitions, places, reached);
        if (result.impossible_p >= 0 || result.impossible_q >= 0) return Status::done;
        posterior_support(pair.p, pair.states, pair.transitions, places, reached);
        if (first_gap(pair, places, reached, result.infinite)) {
            result.value = HUGE_VAL;
            return Status::done;
        }
        return finite(pair, places, &reached, result, profile);
    } catch (const std::bad_alloc &) {
        return Status::no_memory;
    } catch (const Beyond &) {
        return Status::beyond;
    }
}

}  // namespace hidiv
