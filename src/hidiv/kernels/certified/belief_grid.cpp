// Filters on a triangulated grid, created when first needed.
#include "certified/certified.hpp"

#include <math.h>

#include <algorithm>
#include <deque>
#include <new>

namespace hidiv {
namespace {

// Corners by their ticks, in a table with open addressing.
class Corners {
public:
    explicit Corners(int64_t axes) : axes_(axes), table_(1 << 12, -1) {}

    int64_t size() const { return size_; }

    // The number of a corner, and whether it is new.
    int32_t number(const int32_t *corner, bool &is_new) {
        if (2 * size_ >= int64_t(table_.size())) grow();
        const size_t at = place(corner);
        is_new = table_[at] < 0;
        if (is_new) {
            table_[at] = int32_t(size_++);
            ticks_.insert(ticks_.end(), corner, corner + axes_);
        }
        return table_[at];
    }

private:
    size_t place(const int32_t *corner) const {
        uint64_t hash = 0x9e3779b97f4a7c15ULL;
        for (int64_t a = 0; a < axes_; ++a) {
            hash = (hash ^ uint64_t(corner[a])) * 0xff51afd7ed558ccdULL;
            hash ^= hash >> 32;
        }
        const size_t mask = table_.size() - 1;
        size_t at = size_t(hash) & mask;
        while (table_[at] >= 0 && !std::equal(corner, corner + axes_, ticks_.data() + int64_t(table_[at]) * axes_))
            at = (at + 1) & mask;
        return at;
    }
    void grow() {
        table_.assign(2 * table_.size(), -1);
        for (int64_t i = 0; i < size_; ++i) table_[place(ticks_.data() + i * axes_)] = int32_t(i);
    }

    int64_t axes_, size_ = 0;
    std::vector<int32_t> table_;
    std::vector<int32_t> ticks_;
};

class Builder {
public:
    Builder(const Symbols &p, const Symbols &q, int64_t n_ticks, const double *ticks, int64_t limit, BeliefGrid &out)
        : p_(p), q_(q), k_(q.states), m_(q.symbols), cells_(n_ticks - 1), limit_(limit), ticks_(ticks), out_(out),
          corners_(k_ - 1), after_(size_t(m_ * p.states)), order_(size_t(k_)), corner_(size_t(k_)), cell_(size_t(k_)),
          share_(size_t(k_)), belief_(size_t(k_)), mean_(size_t(k_)), moved_(size_t(k_)) {
        for (int64_t x = 0; x < m_; ++x)
            for (int64_t s = 0; s < p.states; ++s)
                for (int64_t to = 0; to < p.states; ++to)
                    if (p.transition[s * p.states + to] > 0 && p.probabilities[to * m_ + x] > 0)
                        after_[size_t(x * p.states + s)] |= uint64_t(1) << to;
        // Where to start looking for a tick: the last one at or below each of many evenly spaced places.
        hints_.resize(size_t(4 * cells_ + 1));
        for (int64_t i = 0, tick = 0; i <= 4 * cells_; ++i) {
            while (tick < cells_ - 1 && ticks[tick + 1] <= double(i) / double(4 * cells_)) ++tick;
            hints_[size_t(i)] = int32_t(tick);
        }
    }

    Status run(int64_t count, const double *start, const uint64_t *start_states) {
        out_.start_index.resize(size_t(count * k_));
        out_.start_weights.resize(size_t(count * k_));
        out_.start_excess.resize(size_t(count));
        for (int64_t i = 0; i < count; ++i) {
            std::copy(start + i * k_, start + (i + 1) * k_, belief_.begin());
            locate(out_.start_index.data() + i * k_, out_.start_weights.data() + i * k_, out_.start_excess[size_t(i)]);
            meet(out_.start_index.data() + i * k_, out_.start_weights.data() + i * k_, start_states[i]);
        }
        for (int64_t done = 0; !queue_.empty(); ++done) {
            if (corners_.size() > limit_) {
                out_.complete = false;
                return Status::done;
            }
            const int64_t j = queue_.front();
            queue_.pop_front();
            waiting_[size_t(j)] = false;
            step(j);
            if (done % 1024 == 1023 && interrupted()) return Status::interrupted;
        }
        return Status::done;
    }

private:
    // The filters after every symbol that p may emit while q is at point j.
    void step(int64_t j) {
        const uint64_t here = out_.reached[size_t(j)];
        for (int64_t r = 0; r < k_; ++r) {
            moved_[size_t(r)] = 0.0;
            for (int64_t from = 0; from < k_; ++from)
                moved_[size_t(r)] += out_.points[size_t(j * k_ + from)] * q_.transition[from * k_ + r];
        }
        for (int64_t x = 0; x < m_; ++x) {
            uint64_t next = 0;
            for (int64_t s = 0; s < p_.states; ++s)
                if (here >> s & 1) next |= after_[size_t(x * p_.states + s)];
            if (!next) continue;
            const int64_t at = j * m_ + x;
            if (isnan(out_.log_scale[size_t(at)])) {
                double total = 0.0;
                for (int64_t r = 0; r < k_; ++r)
                    total += belief_[size_t(r)] = moved_[size_t(r)] * q_.probabilities[r * m_ + x];
                out_.log_scale[size_t(at)] = log(total);
                if (!(total > 0)) {  // q cannot emit it from here: lower bounds continue from its other states
                    for (int64_t r = 0; r < k_; ++r) {
                        belief_[size_t(r)] = 0.0;
                        for (int64_t from = 0; from < k_; ++from)
                            belief_[size_t(r)] += q_.transition[from * k_ + r] * q_.probabilities[r * m_ + x];
                        total += belief_[size_t(r)];
                    }
                    if (!(total > 0)) continue;
                }
                for (int64_t r = 0; r < k_; ++r) belief_[size_t(r)] /= total;
                std::vector<int32_t> index(static_cast<size_t>(k_));
                std::vector<double> weights(static_cast<size_t>(k_));
                double excess = 0.0;
                locate(index.data(), weights.data(), excess);
                std::copy(index.begin(), index.end(), out_.index.begin() + at * k_);
                std::copy(weights.begin(), weights.end(), out_.weights.begin() + at * k_);
                out_.excess[size_t(at)] = excess;
            }
            meet(out_.index.data() + at * k_, out_.weights.data() + at * k_, next);
        }
    }

    // The corners around belief_ with their shares; those without a share are not created.
    void locate(int32_t *index, double *weights, double &excess) {
        double sum = 0.0, rest = 0.0;
        for (int64_t r = 0; r < k_; ++r) rest += belief_[size_t(r)] > 0;
        for (int64_t a = 0; a + 1 < k_; ++a) {
            sum += belief_[size_t(a)];
            rest -= belief_[size_t(a)] > 0;
            const double y = !(rest > 0) || sum > 1.0 ? 1.0
                             : sum > 0.0              ? sum
                                                      : 0.0;  // a place, whatever the numbers are
            int64_t tick = hints_[size_t(int64_t(y * double(4 * cells_)))];
            while (tick < cells_ - 1 && ticks_[tick + 1] <= y) ++tick;
            while (tick > 0 && ticks_[tick] > y) --tick;
            cell_[size_t(a)] = int32_t(tick);
            const double share = (y - ticks_[tick]) / (ticks_[tick + 1] - ticks_[tick]);
            share_[size_t(a)] = share > 1.0 ? 1.0 : share > 0.0 ? share : 0.0;
            order_[size_t(a)] = int32_t(a);
        }
        const int64_t axes = k_ - 1;
        std::sort(order_.begin(), order_.begin() + axes, [&](int32_t a, int32_t b) {
            return share_[size_t(a)] != share_[size_t(b)] ? share_[size_t(a)] > share_[size_t(b)] : a > b;
        });
        std::copy(cell_.begin(), cell_.begin() + axes, corner_.begin());
        std::fill(mean_.begin(), mean_.end(), 0.0);
        int32_t some = -1;
        for (int64_t i = 0; i <= axes; ++i) {
            if (i > 0) ++corner_[size_t(order_[size_t(i - 1)])];
            const double above = i == 0 ? 1.0 : share_[size_t(order_[size_t(i - 1)])];
            weights[i] = above - (i == axes ? 0.0 : share_[size_t(order_[size_t(i)])]);
            index[i] = -1;
            if (!(weights[i] > 0)) continue;
            index[i] = some = point();
            for (int64_t r = 0; r < k_; ++r) mean_[size_t(r)] += weights[i] * out_.points[size_t(index[i] * k_ + r)];
        }
        for (int64_t i = 0; i <= axes; ++i)
            if (index[i] < 0) index[i] = some, weights[i] = 0.0;
        double worst = 1.0;
        for (int64_t r = 0; r < k_; ++r)
            if (mean_[size_t(r)] > 0) worst = std::max(worst, mean_[size_t(r)] / belief_[size_t(r)]);
        excess = log(worst);
    }

    // The number of the point at corner_, made if need be.
    int32_t point() {
        bool is_new;
        const int32_t number = corners_.number(corner_.data(), is_new);
        if (is_new) {
            double before = 0.0;
            for (int64_t r = 0; r < k_; ++r) {
                const double y = r + 1 < k_ ? ticks_[corner_[size_t(r)]] : 1.0;
                out_.points.push_back(y - before);
                before = y;
            }
            out_.index.resize(out_.index.size() + size_t(m_ * k_), 0);
            out_.weights.resize(out_.weights.size() + size_t(m_ * k_), 0.0);
            out_.log_scale.resize(out_.log_scale.size() + size_t(m_), NAN);
            out_.excess.resize(out_.excess.size() + size_t(m_), 0.0);
            out_.reached.push_back(0);
            waiting_.push_back(false);
        }
        return number;
    }

    void meet(const int32_t *index, const double *weights, uint64_t states) {
        for (int64_t i = 0; i < k_; ++i) {
            if (!(weights[i] > 0)) continue;
            const size_t j = size_t(index[i]);
            if ((out_.reached[j] | states) == out_.reached[j]) continue;
            out_.reached[j] |= states;
            if (!waiting_[j]) queue_.push_back(int64_t(j));
            waiting_[j] = true;
        }
    }

    const Symbols p_, q_;
    const int64_t k_, m_, cells_, limit_;
    const double *ticks_;
    BeliefGrid &out_;
    Corners corners_;
    std::vector<uint64_t> after_;  // (M, K_p) states of p one step on
    std::vector<int32_t> hints_, order_, corner_, cell_;
    std::vector<double> share_, belief_, mean_, moved_;
    std::vector<bool> waiting_;
    std::deque<int64_t> queue_;
};

}  // namespace

Status belief_grid(const Symbols &p, const Symbols &q, int64_t count, const double *start, const uint64_t *start_states,
                   int64_t n_ticks, const double *ticks, int64_t limit, BeliefGrid &out) {
    try {
        return Builder(p, q, n_ticks, ticks, limit, out).run(count, start, start_states);
    } catch (const std::bad_alloc &) {
        return Status::no_memory;
    }
}

}  // namespace hidiv
