// Many chains on several threads, a chain in every lane where states are few and nothing is zero.
#include "posterior/posterior.hpp"

#include <math.h>

#include <algorithm>
#include <new>
#include <vector>

#include "posterior/lane_sweep.hpp"
#include "posterior/lane_ways.hpp"
#include "posterior/padded_tables.hpp"
#include "posterior/routes.hpp"
#include "runtime/parallel.hpp"
#include "runtime/targets.hpp"

namespace hidiv {
namespace {

constexpr int64_t piece_size = 64;  // sequences one thread does at a time
constexpr int most_hopes = 2;       // sequences in a row that semiring_chain may decline before it is asked no more

// One sequence as a chain of its own.
struct Alone {
    LawPair pair;
    Places places;

    Alone(const LawPair &all, const Places &nodes, int64_t start, int64_t end) : pair(all), places(nodes) {
        places.n = end - start;
        start -= places.first_row;
        places.first_row = 0;
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
                       int64_t threads, Divergence *results, const NormalTask *normal) {
    try {
        const LaneTables tables(pair);
        const LaneWeights weights(pair, places, normal);
        const bool lanes = tables.positive && !weights.zero() && pair.states >= 2 && pair.states <= most_lane_states &&
                           !places.transition_of;
        const StepTables products = tables.with_products();
        const bool far = lanes && (normal || may_be_far(pair, tables.view.reach));
        const int64_t padding = chain_padding(pair);
        const PaddedTables padded(pair, padding);
        const bool chains = padding > 0 && padded.positive;
        return parallel((sequences + piece_size - 1) / piece_size, usable_threads(threads), [&](int64_t piece) {
            SequenceRows rows(pair, places, normal);
            std::vector<int64_t> todo, left;
            for (int64_t i = piece * piece_size; i < std::min(sequences, (piece + 1) * piece_size); ++i)
                todo.push_back(i);
            const auto in_lanes = [&](auto way) {
                LaneSweep(way, start).run(todo, left);
                todo = std::move(left);
                left.clear();
            };
            if (far) in_lanes(SemiringWay({tables.view, weights.view(), rows, results}));
            if (lanes && tables.near()) in_lanes(RecursionWay({products, weights.view(), rows, results}));
            if (lanes) in_lanes(RecursionWay({tables.view, weights.view(), rows, results}));
            int hopes = lanes ? 0 : most_hopes;
            for (int64_t i : todo) {
                if (!rows.reach(start[i], start[i + 1])) return Status::beyond;
                const Alone each(rows.pair, rows.places, start[i], start[i + 1]);
                bool declined = true;
                if (chains && hopes > 0) {
                    try {
                        const Status status = semiring_chain(each.pair, each.places, padded, results[i], declined);
                        if (status != Status::done) return status;
                    } catch (const Beyond &) {  // left to the others
                    }
                    hopes = declined ? hopes - 1 : most_hopes;
                }
                if (!declined) continue;
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
