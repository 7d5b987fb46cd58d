// The posterior divergence of a listed tree of few states, a node in every lane.
#include "posterior/routes.hpp"

#include <math.h>

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "posterior/lane_tables.hpp"
#include "runtime/memory.hpp"
#include "runtime/parallel.hpp"
#include "posterior/wide_sweep.hpp"
#include "runtime/targets.hpp"

namespace hidiv {
namespace {

constexpr int64_t at_once = 4096;      // nodes whose sums are gathered together
constexpr int64_t piece_size = 16384;  // nodes one thread does at a time

struct TreeSweep {
    const StepTables &tables;
    const LaneRows &rows;
    const TreeNodes nodes;

    // Nodes first..last; false when doubles do not suffice or a zero was met.
    bool range(int64_t first, int64_t last, Gathered &gathered) const {
        for (int64_t u = first; u >= last; u -= at_once) {
            TreeSums sums{0.0, 0.0, 0.0};
            if (!table().posterior_nodes(tables, rows, nodes, u, std::max(last, u - at_once + 1), sums)) return false;
            if (!(fabs(sums.power) < 0x1p59)) return false;
            add_exponent(gathered.exponent, int64_t(sums.power));
            gathered.ratio.add(sums.ratio);
            gathered.value.add(sums.value);
        }
        return true;
    }
};

// Cuts of 1..n-1 into stretches that do not wait for each other, levels of a tree listed level by level; empty
// otherwise.
std::vector<int64_t> level_starts(const Places &places) {
    std::vector<int64_t> starts;
    if (places.n < 4 * piece_size) return starts;
    for (int64_t u = 1; u < places.n; u += at_once) {
        uint64_t falls = 0;  // the signs of the steps, or-ed: quicker than comparing
        for (int64_t v = u; v < std::min(u + at_once, places.n); ++v)
            falls |= uint64_t(places.parent[v]) - uint64_t(places.parent[v - 1]);
        if (int64_t(falls) < 0) return starts;
    }
    int64_t start = 1;
    while (start < places.n) {
        starts.push_back(start);
        // The first node whose parent lies in this level opens the next one.
        start = std::lower_bound(places.parent + start, places.parent + places.n, start) - places.parent;
    }
    starts.push_back(places.n);
    if (starts.size() > 64) starts.clear();
    return starts;
}

int64_t last_parent(const Places &places) {
    int64_t last = 0;
    for (int64_t u = 1; u < places.n; ++u) last = std::max(last, places.parent[u]);
    return last;
}

}  // namespace

Status posterior_lane_tree(const LawPair &pair, const Places &places, int64_t threads, Divergence &result,
                           bool &declined) {
    declined = true;
    try {
        const LaneTables tables(pair);
        if (!tables.positive) return Status::done;
        const std::vector<int64_t> starts = level_starts(places);
        const int64_t records = 1 + (starts.empty() ? last_parent(places) : places.parent[places.n - 1]);
        const int64_t stride = lane_record(pair.states), bytes = (records * stride + 8) * int64_t(sizeof(double));
        const std::unique_ptr<void, GiveBack> memory(starts.empty() ? zeroed(bytes) : unset(bytes));
        if (!memory) return Status::no_memory;
        double *record = reinterpret_cast<double *>((reinterpret_cast<uintptr_t>(memory.get()) + 63) & ~uintptr_t(63));
        const LaneWeights weights(pair, places);
        if (weights.zero()) return Status::done;
        const TreeSweep sweep{tables.view, weights.view(), {places.parent, places.transition_of, record, records}};
        Gathered gathered;
        bool good = true;
        if (starts.empty()) {
            for (int64_t first = places.n - 1; first > 0 && good; first -= piece_size) {
                good = sweep.range(first, std::max<int64_t>(1, first - piece_size + 1), gathered);
                if (interrupted()) return Status::interrupted;
            }
        } else {
            for (size_t level = starts.size() - 1; level > 0 && good; --level) {
                // Pieces end where the parent changes, so that no two of them write to one parent.
                std::vector<int64_t> cuts{starts[level - 1]};
                while (cuts.back() < starts[level]) {
                    int64_t next = std::min(cuts.back() + piece_size, starts[level]);
                    while (next < starts[level] && places.parent[next] == places.parent[next - 1]) ++next;
                    cuts.push_back(next);
                }
                std::vector<Gathered> parts(cuts.size());
                std::vector<char> fine(cuts.size(), 1);
                const Status status = parallel(int64_t(cuts.size()) - 1, usable_threads(threads), [&](int64_t piece) {
                    const size_t i = size_t(piece);
                    // Parents without a child belong to the piece before them.
                    const int64_t begin = i == 0 ? (level > 1 ? starts[level - 2] : 0) : places.parent[cuts[i]];
                    const int64_t end =
                        i + 2 < cuts.size() ? places.parent[cuts[i + 1]] : std::min(starts[level - 1], records);
                    std::fill(record + begin * stride, record + end * stride, 0.0);
                    fine[i] = sweep.range(cuts[i + 1] - 1, cuts[i], parts[i]);
                    return Status::done;
                });
                if (status != Status::done) return status;
                for (size_t i = 0; i + 1 < cuts.size(); ++i) {
                    good = good && fine[i];
                    add_exponent(gathered.exponent, parts[i].exponent);
                    gathered.ratio.add(parts[i].ratio.value());
                    gathered.value.add(parts[i].value.value());
                }
            }
        }
        if (!good) return Status::done;
        // The root in numbers with exponents: one node, and it may carry any zero's worth of range.
        const double *lw = pair.p.log_weight + places.row(0) * pair.states,
                     *lr = pair.weight_ratio + places.row(0) * pair.states;
        for (int64_t s = 0; s < pair.states; ++s)
            if (!isfinite(lw[s]) || !isfinite(lr[s]) ||
                (pair.residual && !isfinite(pair.residual[places.row(0) * pair.states + s])))
                return Status::done;
        Inbox inbox(pair.states);
        for (int64_t i = 0; i < pair.states; ++i) {
            const size_t s = size_t(i);
            if (record[0] == 0.0) continue;
            inbox.b[s] = Wide(record[i]);
            inbox.ratio[s] = record[pair.states + i];
            inbox.inward[s] = record[2 * pair.states + i];
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
