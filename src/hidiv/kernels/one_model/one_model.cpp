// One model and evidence: messages up, and what each question reads from them.
#include "one_model/one_model.hpp"

#include <math.h>

#include <algorithm>
#include <new>
#include <vector>

#include "posterior/local_divergence.hpp"
#include "one_model/messages.hpp"
#include "one_model/support.hpp"

namespace hidiv {
namespace {

bool zeros(const OneModel &m) {
    bool zero = false;
    for (int64_t s = 0; s < m.states; ++s) zero |= m.law.initial[s] == 0.0;
    for (int64_t i = 0; i < m.transitions * m.states * m.states; ++i) zero |= m.law.transition[i] == 0.0;
    for (int64_t i = 0; i < m.rows * m.states; ++i) zero |= m.law.log_weight[i] == -HUGE_VAL;
    return zero;
}

int64_t failing_node(const OneModel &m) {
    if (!zeros(m)) return -1;
    StateSets sets(m.places.n, m.states);
    return upward_support(m.law, m.states, m.transitions, m.places, sets);
}

// Runs work(messages) on doubles, or on Wide where doubles do not suffice.
template <typename Work>
Status with_messages(const OneModel &m, int64_t &impossible, Work work) {
    try {
        impossible = failing_node(m);
        if (impossible >= 0) return Status::done;
        {
            Messages<double> messages;
            const Upward outcome = upward(m.law, m.states, m.transitions, m.places, messages);
            if (outcome == Upward::interrupted) return Status::interrupted;
            if (outcome == Upward::done) return work(messages);
        }
        Messages<Wide> messages;
        if (upward(m.law, m.states, m.transitions, m.places, messages) == Upward::interrupted)
            return Status::interrupted;
        return work(messages);
    } catch (const std::bad_alloc &) {
        return Status::no_memory;
    } catch (const Beyond &) {
        return Status::beyond;
    }
}

// row[s] = p(S_u = s | S_parent = r, E), or the root's law for u = 0.
template <typename Number>
void conditional(const OneModel &m, const Messages<Number> &x, int64_t u, int64_t r, double *row) {
    const double *p = u ? m.law.transition + (m.places.transition(u) * m.states + r) * m.states : m.law.initial;
    const Number *own = x.own.data() + u * m.states, mass = x.mass[size_t(u * m.states + r)];
    for (int64_t s = 0; s < m.states; ++s) row[s] = is_zero(mass) ? 0.0 : share(own[s] * p[s], mass);
}

// - sum p log p; the log of a p near one by what the other states hold.
double entropy(const double *p, int64_t states) {
    int64_t top = 0;
    for (int64_t s = 1; s < states; ++s) top = p[s] > p[top] ? s : top;
    double rest = 0.0, sum = 0.0;
    for (int64_t s = 0; s < states; ++s)
        if (s != top && p[s] > 0.0) {
            rest += p[s];
            sum -= p[s] * log(p[s]);
        }
    return sum - (p[top] > 0.0 ? p[top] * (p[top] > 0.5 ? log1p(-rest) : log(p[top])) : 0.0);
}

// Root to leaves: visit(u, r, parent's marginal, row) for every row that has weight; marginals are filled on the way.
template <typename Number, typename Visit>
Status downward(const OneModel &m, const Messages<Number> &x, double *marginals, Visit visit) {
    const int64_t states = m.states, look = std::max<int64_t>(1, (1 << 18) / (states * states));
    std::vector<double> row(static_cast<size_t>(states));
    for (int64_t u = 0; u < m.places.n; ++u) {
        double *own = marginals + u * states;
        const double *parent = u ? marginals + m.places.up(u) * states : nullptr;
        std::fill(own, own + states, 0.0);
        for (int64_t r = 0; r < (u ? states : 1); ++r) {
            const double weight = u ? parent[r] : 1.0;
            if (weight == 0.0) continue;
            conditional(m, x, u, r, row.data());
            for (int64_t s = 0; s < states; ++s) own[s] += weight * row[size_t(s)];
            visit(u, r, weight, row.data());
        }
        // The rows sum to one but for rounding: over a million nodes that would add up.
        double sum = 0.0;
        for (int64_t s = 0; s < states; ++s) sum += own[s];
        for (int64_t s = 0; s < states && sum > 0.0; ++s) own[s] /= sum;
        if (u % look == 0 && interrupted()) return Status::interrupted;
    }
    return Status::done;
}

// out(s) = sum_r from(r) transition(r, s) up to a power of two, in doubles where the terms are of similar size.
class Outward {
public:
    Outward(const OneModel &m) : states_(m.states), doubles_(size_t(2 * m.states)) {
        for (int64_t i = 0; i < m.transitions * states_ * states_; ++i) narrow_ = narrow_ && sound(m.law.transition[i]);
    }
    void operator()(const std::vector<Wide> &from, const double *transition, Wide *out) {
        int64_t low = INT64_MAX, high = INT64_MIN;
        for (const Wide &each : from) {
            if (is_zero(each)) continue;
            low = std::min(low, each.e);
            high = std::max(high, each.e);
        }
        if (high == INT64_MIN) {
            std::fill(out, out + states_, Wide());
        } else if (narrow_ && high - low <= 250) {
            double *in = doubles_.data(), *sum = in + states_;
            for (int64_t r = 0; r < states_; ++r) in[r] = scaled(from[size_t(r)], -high).value();
            std::fill(sum, sum + states_, 0.0);
            for (int64_t r = 0; r < states_; ++r)
                for (int64_t s = 0; s < states_; ++s) sum[s] += in[r] * transition[r * states_ + s];
            for (int64_t s = 0; s < states_; ++s) out[s] = Wide(sum[s]);
        } else {
            for (int64_t s = 0; s < states_; ++s) {
                Wide sum;
                for (int64_t r = 0; r < states_; ++r)
                    sum = sum + scaled(from[size_t(r)], -high) * transition[r * states_ + s];
                out[s] = sum;
            }
        }
    }

private:
    int64_t states_;
    std::vector<double> doubles_;
    bool narrow_ = true;
};

// KL of every node's posterior law from the one without its own evidence.
template <typename Number>
Status influences(const OneModel &m, const Messages<Number> &x, const double *unseen, double *values) {
    const int64_t states = m.states, n = m.places.n, size = n * states;
    // Products of the children's messages that are not zero, and how many are: a state a child forbids comes back
    // when that child's evidence is left out.
    std::vector<Wide> below(static_cast<size_t>(size), Wide(1.0)), joint(static_cast<size_t>(size));
    std::vector<int32_t> closed(static_cast<size_t>(size), 0);
    for (int64_t u = n - 1; u > 0; --u)
        for (int64_t r = 0; r < states; ++r) {
            const size_t at = size_t(m.places.up(u) * states + r);
            const Number mass = x.mass[size_t(u * states + r)];
            if (is_zero(mass))
                ++closed[at];
            else
                below[at] = below[at] * widened(mass);
        }
    LocalDivergence local(states);
    Outward outward(m);
    std::vector<Wide> cavity(static_cast<size_t>(states)), outside(static_cast<size_t>(states));
    for (int64_t s = 0; s < states; ++s) outside[size_t(s)] = Wide(m.law.initial[s]);
    for (int64_t u = 0; u < n; ++u) {
        const double *seen = m.law.log_weight + m.places.row(u) * states, *left = unseen + m.places.row(u) * states;
        if (u) {
            const int64_t parent = m.places.up(u) * states;
            for (int64_t r = 0; r < states; ++r) {
                const Number mass = x.mass[size_t(u * states + r)];
                const bool shut = closed[size_t(parent + r)] > (is_zero(mass) ? 1 : 0);
                cavity[size_t(r)] = shut ? Wide() : joint[size_t(parent + r)];
                if (!shut && !is_zero(mass)) cavity[size_t(r)] = cavity[size_t(r)] / widened(mass);
            }
            outward(cavity, m.law.transition + m.places.transition(u) * states * states, outside.data());
        }
        for (int64_t s = 0; s < states; ++s) {
            const size_t at = size_t(u * states + s);
            const Wide without = outside[size_t(s)] * below[at], with = without * wide_exp(seen[s]);
            const bool shut = closed[at] || is_zero(with);
            joint[at] = with;  // the zeros of single children are left to those who leave one out
            local.put(s, closed[at] ? Wide() : with, shut ? 0.0 : left[s] - seen[s],
                      closed[at] || left[s] == -HUGE_VAL ? Wide() : without);
        }
        values[u] = local.value();
        if (u % 4096 == 0 && interrupted()) return Status::interrupted;
    }
    return Status::done;
}

}  // namespace

Status log_likelihood(const OneModel &m, double &value, int64_t &impossible) {
    bool declined = true;
    impossible = -1;
    const Status status = likelihood_chain(m, value, declined);
    if (status != Status::done || !declined) return status;
    return with_messages(m, impossible, [&](const auto &x) {
        value = x.log_likelihood;
        return Status::done;
    });
}

Status smooth(const OneModel &m, double &log_likelihood, double *marginals, double *pairs, int64_t &impossible) {
    const int64_t size = m.states * m.states;
    bool declined = true;
    impossible = -1;
    const Status status = smooth_chain(m, log_likelihood, marginals, pairs, declined);
    if (status != Status::done || !declined) return status;
    return with_messages(m, impossible, [&](const auto &x) {
        log_likelihood = x.log_likelihood;
        if (pairs) std::fill(pairs, pairs + m.places.n * size, 0.0);
        return downward(m, x, marginals, [&](int64_t u, int64_t r, double weight, const double *row) {
            if (!pairs || u == 0) return;
            for (int64_t s = 0; s < m.states; ++s) pairs[u * size + r * m.states + s] = weight * row[s];
        });
    });
}

Status entropy_profile(const OneModel &m, double *profile, int64_t &impossible) {
    return with_messages(m, impossible, [&](const auto &x) {
        std::vector<double> marginals(static_cast<size_t>(m.places.n * m.states));
        std::fill(profile, profile + m.places.n, 0.0);
        return downward(m, x, marginals.data(), [&](int64_t u, int64_t, double weight, const double *row) {
            profile[u] += weight * entropy(row, m.states);
        });
    });
}

Status sample_states(const OneModel &m, const double *uniform, int64_t size, int64_t *drawn, int64_t &impossible) {
    const int64_t states = m.states, n = m.places.n;
    return with_messages(m, impossible, [&](const auto &x) {
        std::vector<double> row(static_cast<size_t>(states * states));
        std::vector<char> ready(static_cast<size_t>(states));
        // Node by node, each row's cumulative law made once and used by every draw.
        for (int64_t u = 0; u < n; ++u) {
            std::fill(ready.begin(), ready.end(), 0);
            for (int64_t i = 0; i < size; ++i) {
                const int64_t r = u ? drawn[i * n + m.places.up(u)] : 0;
                double *law = row.data() + r * states;
                if (!ready[size_t(r)]) {
                    conditional(m, x, u, r, law);
                    for (int64_t s = 1; s < states; ++s) law[s] += law[s - 1];
                    ready[size_t(r)] = 1;
                }
                const double level = uniform[i * n + u] * law[states - 1];
                int64_t chosen = 0;
                for (int64_t s = 0; s < states; ++s) chosen += level >= law[s];
                drawn[i * n + u] = std::min(chosen, states - 1);  // an index, whatever the numbers are
            }
            if (u % 256 == 0 && interrupted()) return Status::interrupted;
        }
        return Status::done;
    });
}

Status viterbi(const OneModel &m, int64_t *path, double &log_probability, int64_t &impossible) {
    const int64_t states = m.states, n = m.places.n;
    try {
        impossible = -1;
        bool declined = true;
        const Status status = viterbi_chain(m, path, log_probability, declined);
        // A path of finite log-probability is one: no zero has to be looked for.
        if (status != Status::done || (!declined && isfinite(log_probability))) return status;
        impossible = failing_node(m);
        if (impossible >= 0 || !declined) return Status::done;
        std::vector<double> log_transition(static_cast<size_t>(m.transitions * states * states));
        for (size_t i = 0; i < log_transition.size(); ++i) log_transition[i] = log(m.law.transition[i]);
        std::vector<double> best(static_cast<size_t>(n * states), 0.0), own(static_cast<size_t>(states));
        std::vector<int32_t> choice(static_cast<size_t>(n * states));
        Sum total;
        for (int64_t u = n - 1; u >= 0; --u) {
            const double *log_weight = m.law.log_weight + m.places.row(u) * states, *below = best.data() + u * states;
            const double top = *std::max_element(below, below + states);
            total.add(top);
            for (int64_t s = 0; s < states; ++s) own[size_t(s)] = log_weight[s] + (below[s] - top);
            if (u == 0) break;
            const double *row = log_transition.data() + m.places.transition(u) * states * states;
            double *above = best.data() + m.places.up(u) * states;
            for (int64_t r = 0; r < states; ++r, row += states) {
                int64_t chosen = 0;
                double most = row[0] + own[0];
                for (int64_t s = 1; s < states; ++s)
                    if (row[s] + own[size_t(s)] > most) {
                        most = row[s] + own[size_t(s)];
                        chosen = s;
                    }
                above[r] += most;
                choice[size_t(u * states + r)] = int32_t(chosen);
            }
            if (u % 4096 == 0 && interrupted()) return Status::interrupted;
        }
        path[0] = 0;
        double most = -HUGE_VAL;
        for (int64_t s = 0; s < states; ++s)
            if (log(m.law.initial[s]) + own[size_t(s)] > most) {
                most = log(m.law.initial[s]) + own[size_t(s)];
                path[0] = s;
            }
        total.add(most);
        log_probability = total.value();
        for (int64_t u = 1; u < n; ++u) path[u] = choice[size_t(u * states + path[m.places.up(u)])];
        return Status::done;
    } catch (const std::bad_alloc &) {
        return Status::no_memory;
    } catch (const Beyond &) {
        return Status::beyond;
    }
}

Status influence(const OneModel &m, const double *unseen, double *values, int64_t &impossible) {
    return with_messages(m, impossible, [&](const auto &x) { return influences(m, x, unseen, values); });
}

}  // namespace hidiv
