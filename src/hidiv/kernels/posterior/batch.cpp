// Many chains on several threads, a chain in every lane where states are few and nothing is zero.
#include "posterior/posterior.hpp"

#include <math.h>

#include <algorithm>
#include <new>
#include <vector>

#include "posterior/lane_tables.hpp"
#include "posterior/padded_tables.hpp"
#include "runtime/parallel.hpp"
#include "posterior/routes.hpp"
#include "posterior/wide_sweep.hpp"
#include "runtime/targets.hpp"

namespace hidiv {
namespace {

constexpr int64_t piece_size = 64;  // sequences one thread does at a time
constexpr int64_t few = 8;          // states
constexpr int most_hopes = 2;       // sequences in a row that semiring_chain may decline before it is asked no more

// Sequence by sequence in the lanes of a vector; a lane that is done takes the next one.
class LaneSweep {
public:
    LaneSweep(const LawPair &pair, const Places &places, const StepTables &tables, const LaneRows &rows,
              const int64_t *start, Divergence *results)
        : pair_(pair), places_(places), tables_(tables), rows_(rows), start_(start), results_(results),
          width_(table().lane_count()), step_(pair, places, nullptr) {}

    // The sequences that need another route are appended to left.
    void run(const std::vector<int64_t> &todo, std::vector<int64_t> &left) {
        next_ = 0;
        while (true) {
            int64_t active = -1, count = steps_at_once;
            for (int64_t l = 0; l < width_; ++l) {
                refill(l, todo, left);
                if (lane_[l].sequence < 0) continue;
                active = active < 0 ? l : active;
                count = std::min(count, lane_[l].left);
            }
            if (active < 0) return;
            advance(active, count, left);
        }
    }

private:
    struct Lane {
        int64_t sequence = -1, node = 0, left = 0;  // the next node, and how many before the root
        Gathered gathered;
    };

    void refill(int64_t l, const std::vector<int64_t> &todo, std::vector<int64_t> &left) {
        Lane &lane = lane_[l];
        while (lane.sequence < 0 || lane.left == 0) {
            if (lane.sequence >= 0) finish(l, left);
            lane = Lane();
            if (next_ >= todo.size()) return;
            lane.sequence = todo[next_++];
            lane.node = start_[lane.sequence + 1] - 1;
            lane.left = lane.node - start_[lane.sequence];
            for (int64_t s = 0; s < pair_.states; ++s) {
                state_.b[s][l] = 1.0;
                state_.ratio[s][l] = state_.inward[s][l] = 0.0;
            }
        }
    }
    void give_up(Lane &lane, std::vector<int64_t> &left) {
        left.push_back(lane.sequence);
        lane = Lane();
    }
    void finish(int64_t l, std::vector<int64_t> &left) {
        Lane &lane = lane_[l];
        const int64_t row = places_.row(lane.node) * pair_.states;
        for (int64_t s = 0; s < pair_.states; ++s)
            if (!(fabs(pair_.p.log_weight[row + s]) < 0x1p40) || !(fabs(pair_.weight_ratio[row + s]) < 0x1p40) ||
                (pair_.residual && !isfinite(pair_.residual[row + s])))
                return give_up(lane, left);
        Inbox inbox(pair_.states);
        for (int64_t s = 0; s < pair_.states; ++s) {
            inbox.b[size_t(s)] = Wide(state_.b[s][l]);
            inbox.ratio[size_t(s)] = state_.ratio[s][l];
            inbox.inward[size_t(s)] = state_.inward[s][l];
        }
        Divergence &result = results_[lane.sequence];
        result = {NAN, NAN, NAN, {-1, -1, -1}, -1, -1};
        step_.root(inbox, lane.gathered, result, nullptr, nullptr, nullptr, lane.node);
    }
    void advance(int64_t active, int64_t count, std::vector<int64_t> &left) {
        int64_t node[most_lanes];
        for (int64_t l = 0; l < width_; ++l) {
            node[l] = lane_[lane_[l].sequence < 0 ? active : l].node;
            if (lane_[l].sequence >= 0) continue;
            // An empty lane repeats one that is not.
            for (int64_t s = 0; s < pair_.states; ++s) {
                state_.b[s][l] = state_.b[s][active];
                state_.ratio[s][l] = state_.ratio[s][active];
                state_.inward[s][l] = state_.inward[s][active];
            }
        }
        const bool good = table().posterior_lanes(tables_, rows_, node, count, state_);
        for (int64_t l = 0; l < width_; ++l) {
            Lane &lane = lane_[l];
            if (lane.sequence < 0) continue;
            if (!good || !(fabs(state_.power[l]) < 0x1p59)) {
                give_up(lane, left);
                continue;
            }
            lane.node -= count;
            lane.left -= count;
            lane.gathered.exponent += int64_t(state_.power[l]);
            lane.gathered.ratio.add(state_.ratio_out[l]);
            double least = state_.inward[0][l];
            for (int64_t s = 1; s < pair_.states; ++s) least = std::min(least, state_.inward[s][l]);
            for (int64_t s = 0; s < pair_.states; ++s) state_.inward[s][l] -= least;
            lane.gathered.value.add(least);
        }
    }

    const LawPair &pair_;
    const Places &places_;
    const StepTables &tables_;
    const LaneRows &rows_;
    const int64_t *start_;
    Divergence *results_;
    int64_t width_;
    size_t next_ = 0;
    WideStep step_;
    LaneState state_{};
    Lane lane_[most_lanes];
};

// One sequence as a chain of its own.
struct Alone {
    LawPair pair;
    Places places;

    Alone(const LawPair &all, const Places &nodes, int64_t start, int64_t end) : pair(all), places(nodes) {
        places.n = end - start;
        if (nodes.transition_of) places.transition_of += start;
        if (nodes.row_of_32) places.row_of_32 += start;
        if (nodes.row_of_64) places.row_of_64 += start;
        if (nodes.row_of_32 || nodes.row_of_64) return;
        pair.rows = places.n;
        pair.p.log_weight += start * all.states;
        pair.q.log_weight += start * all.states;
        pair.weight_ratio += start * all.states;
        if (pair.residual) pair.residual += start * all.states;
    }
};

// By the recursion in scaled doubles where there are tables for it, else by whatever takes it.
Status one_chain(const Alone &each, const PaddedTables *tables, Divergence &result) {
    bool declined = true;
    if (!tables) return posterior_divergence(each.pair, each.places, 1, result, nullptr);
    try {
        const Status status = scaled_chain(each.pair, each.places, *tables, result, declined);
        return status == Status::done && declined ? posterior_wide(each.pair, each.places, result, nullptr) : status;
    } catch (const Beyond &) {
        return Status::beyond;
    }
}

}  // namespace

Status posterior_batch(const LawPair &pair, const Places &places, const int64_t *start, int64_t sequences,
                       int64_t threads, Divergence *results) {
    try {
        const LaneTables tables(pair);
        const LaneWeights weights(pair, places);
        const bool lanes = tables.positive && !weights.zero() && pair.states >= 2 && pair.states <= most_lane_states &&
                           !places.transition_of;
        const int64_t padding = chain_padding(pair);
        const PaddedTables padded(pair, padding);
        const bool chains = padding > 0 && padded.positive;
        return parallel((sequences + piece_size - 1) / piece_size, usable_threads(threads), [&](int64_t piece) {
            std::vector<int64_t> todo, left;
            // Rows of their own are weighed as quickly in the lanes: with few states a first attempt does not pay.
            int hopes = lanes && pair.rows > 4096 && pair.states <= few ? 0 : most_hopes;
            for (int64_t i = piece * piece_size; i < std::min(sequences, (piece + 1) * piece_size); ++i) {
                bool declined = true;
                if (chains && hopes > 0) {
                    const Alone each(pair, places, start[i], start[i + 1]);
                    try {
                        const Status status = semiring_chain(each.pair, each.places, padded, results[i], declined);
                        if (status != Status::done) return status;
                    } catch (const Beyond &) {  // left to the others
                    }
                    hopes = declined ? hopes - 1 : most_hopes;
                }
                if (declined) todo.push_back(i);
            }
            if (lanes) {
                LaneSweep(pair, places, tables.view, weights.view(), start, results).run(todo, left);
            } else {
                left = todo;
            }
            for (int64_t i : left) {
                const Alone each(pair, places, start[i], start[i + 1]);
                const Status status = one_chain(each, chains && !lanes ? &padded : nullptr, results[i]);
                results[i].beyond = status == Status::beyond;
                if (status != Status::done && status != Status::beyond) return status;
            }
            return Status::done;
        });
    } catch (const std::bad_alloc &) {
        return Status::no_memory;
    }
}

}  // namespace hidiv
