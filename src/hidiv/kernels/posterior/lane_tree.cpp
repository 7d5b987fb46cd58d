// The posterior divergence of a listed tree of few states, a node in every lane.
#include "posterior/routes.hpp"

#include <math.h>

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "posterior/lane_tables.hpp"
#include "posterior/semiring_root.hpp"
#include "runtime/memory.hpp"
#include "runtime/parallel.hpp"
#include "posterior/wide_sweep.hpp"
#include "runtime/targets.hpp"

namespace hidiv {
namespace {

constexpr int64_t at_once = 4096;      // parents that are looked at together
constexpr int64_t piece_size = 16384;  // nodes one thread does at a time
constexpr int64_t trial = 2048;        // nodes after which the semiring is looked at for the first time
constexpr double unit = 0x1p-53;

// What nodes have left behind beside their messages.
struct Parts {
    Gathered gathered;
    int64_t exponent_q = 0;
    Wide mass = Wide(1.0), mass_q = Wide(1.0);  // of messages given state 0, which those leave out
    Sum log;                                    // taken out of the logarithms of p's weights
    double bound = 0.0;                         // of the roundings of the semiring

    void add(const Parts &other) {
        add_exponent(gathered.exponent, other.gathered.exponent);
        add_exponent(exponent_q, other.exponent_q);
        mass = mass * other.mass;
        mass_q = mass_q * other.mass_q;
        gathered.ratio.add(other.gathered.ratio.value());
        gathered.value.add(other.gathered.value.value());
        log.add(other.log.value());
        bound += other.bound;
    }
};

struct TreeSweep {
    const StepTables &tables;
    const LaneRows &rows;
    const TreeNodes nodes;
    const bool semiring;

    // No node has heard of a child, and those that never do share a record.
    void begin(int64_t n) const {
        double *record = nodes.record + nodes.records * lane_record(tables.states);
        const int64_t factors = (semiring ? 2 : 1) * (tables.states - 1);
        std::fill(record, record + factors, 1.0);
        std::fill(record + factors, record + lane_record(tables.states), 0.0);
        std::fill(nodes.heard, nodes.heard + n, false);
    }
    // Nodes first..last; false when doubles do not suffice or a zero was met.
    bool range(int64_t first, int64_t last, Parts &parts) const {
        // Each sum of a lane is rounded as often as it has terms: few, where the bound counts on it.
        const int64_t count = semiring ? 128 : 4096;
        const auto kernel = semiring ? table().semiring_nodes : table().posterior_nodes;
        for (int64_t u = first; u >= last; u -= count) {
            TreeSums sums{};
            const int64_t end = std::max(last, u - count + 1);
            if (!kernel(tables, rows, nodes, u, end, sums)) return false;
            if (!(fabs(sums.power) < 0x1p59) || !(fabs(sums.power_q) < 0x1p59)) return false;
            add_exponent(parts.gathered.exponent, int64_t(sums.power));
            add_exponent(parts.exponent_q, int64_t(sums.power_q));
            parts.mass = parts.mass * sums.mass;
            if (semiring) parts.mass_q = parts.mass_q * sums.mass_q;
            parts.gathered.ratio.add(sums.ratio);
            parts.gathered.value.add(sums.value);
            parts.log.add(sums.log);
            parts.bound +=
                (double(u - end + 1) * double(tables.states + 16) * (2.0 + sums.largest) + 4.0 * sums.reach) * unit;
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

// Whether the last nodes' divergence given state 0 of their parents is large enough for the semiring: if not, neither
// will the whole be.
bool looks_far(const TreeSweep &sweep, const Places &places) {
    Parts parts;
    sweep.begin(places.n);
    if (!sweep.range(places.n - 1, std::max<int64_t>(1, places.n - trial), parts)) return false;
    const double ratio = Wide(parts.mass_q.m, parts.mass_q.e + parts.exponent_q).log() -
                         Wide(parts.mass.m, parts.mass.e + parts.gathered.exponent).log();
    return parts.bound <= semiring_allowed * (parts.gathered.value.value() + ratio);
}

// All nodes but the root; their parts added up. good is false where the sweep gave up.
Status sweep_tree(const TreeSweep &sweep, const Places &places, const std::vector<int64_t> &starts, int64_t threads,
                  Parts &all, bool &good) {
    sweep.begin(places.n);
    if (starts.empty()) {
        for (int64_t first = places.n - 1; first > 0 && good; first -= piece_size) {
            good = sweep.range(first, std::max<int64_t>(1, first - piece_size + 1), all);
            if (interrupted()) return Status::interrupted;
        }
        return Status::done;
    }
    for (size_t level = starts.size() - 1; level > 0 && good; --level) {
        // Pieces end where the parent changes, so that no two of them write to one parent.
        std::vector<int64_t> cuts{starts[level - 1]};
        while (cuts.back() < starts[level]) {
            int64_t next = std::min(cuts.back() + piece_size, starts[level]);
            while (next < starts[level] && places.parent[next] == places.parent[next - 1]) ++next;
            cuts.push_back(next);
        }
        std::vector<Parts> parts(cuts.size());
        std::vector<char> fine(cuts.size(), 1);
        const Status status = parallel(int64_t(cuts.size()) - 1, usable_threads(threads), [&](int64_t piece) {
            const size_t i = size_t(piece);
            fine[i] = sweep.range(cuts[i + 1] - 1, cuts[i], parts[i]);
            return Status::done;
        });
        if (status != Status::done) return status;
        for (size_t i = 0; i + 1 < cuts.size(); ++i) {
            good = good && fine[i];
            all.add(parts[i]);
        }
    }
    return Status::done;
}

}  // namespace

Status posterior_lane_tree(const LawPair &pair, const Places &places, int64_t threads, Divergence &result,
                           bool &declined) {
    declined = true;
    if (places.n == 1) return Status::done;  // a root that hears of no child has no record
    try {
        const LaneTables tables(pair);
        if (!tables.positive) return Status::done;
        const std::vector<int64_t> starts = level_starts(places);
        const int64_t states = pair.states, size = lane_record(states),
                      records = 1 + (starts.empty() ? last_parent(places) : places.parent[places.n - 1]);
        const std::unique_ptr<void, GiveBack> memory(unset((records + 1) * size * int64_t(sizeof(double)) + 64));
        const std::unique_ptr<void, GiveBack> heard(unset(places.n));
        if (!memory || !heard) return Status::no_memory;
        double *record = reinterpret_cast<double *>((reinterpret_cast<uintptr_t>(memory.get()) + 63) & ~uintptr_t(63));
        const LaneWeights weights(pair, places);
        if (weights.zero()) return Status::done;
        const TreeNodes nodes{places.parent, places.transition_of, record, static_cast<bool *>(heard.get()), records};
        // The root's own weights may carry any zero's worth of range, but none here.
        const double *lw = pair.p.log_weight + places.row(0) * states, *lr = pair.weight_ratio + places.row(0) * states;
        for (int64_t s = 0; s < states; ++s)
            if (!isfinite(lw[s]) || !isfinite(lr[s]) ||
                (pair.residual && !isfinite(pair.residual[places.row(0) * states + s])))
                return Status::done;
        const TreeSweep far{tables.view, weights.view(), nodes, true};
        if (places.n >= 8 * trial && may_be_far(pair, tables.view.reach) && looks_far(far, places)) {
            Parts parts;
            bool good = true;
            const Status status = sweep_tree(far, places, starts, threads, parts, good);
            if (status != Status::done) return status;
            std::vector<double> b(size_t(states), parts.mass.m), b_q(size_t(states), parts.mass_q.m);
            for (int64_t s = 1; s < states; ++s) {
                b[size_t(s)] *= record[s - 1];
                b_q[size_t(s)] *= record[states - 1 + s - 1];
            }
            const SemiringEnd end{b.data(),
                                  b_q.data(),
                                  record + 2 * (states - 1),
                                  parts.gathered.exponent + parts.mass.e,
                                  parts.exponent_q + parts.mass_q.e,
                                  parts.bound};
            Gathered taken;
            taken.ratio = parts.gathered.ratio;
            declined =
                !good || !semiring_root(pair, places, 0, end, parts.gathered.value, taken, result, parts.log.value());
            if (!declined) return Status::done;
        }
        Parts parts;
        bool good = true;
        const TreeSweep sweep{tables.view, weights.view(), nodes, false};
        const Status status = sweep_tree(sweep, places, starts, threads, parts, good);
        if (status != Status::done || !good) return status;
        // The root in numbers with exponents.
        Inbox inbox(states);
        for (int64_t i = 0; i < states; ++i) {
            const size_t s = size_t(i);
            inbox.b[s] = i ? parts.mass * record[i - 1] : parts.mass;
            inbox.ratio[s] = i ? record[states - 1 + i - 1] : 0.0;
            inbox.inward[s] = record[2 * (states - 1) + i];
        }
        WideStep step(pair, places, nullptr);
        result = {NAN, NAN, NAN, {-1, -1, -1}, -1, -1};
        step.root(inbox, parts.gathered, result, nullptr, nullptr, nullptr);
        declined = false;
        return Status::done;
    } catch (const std::bad_alloc &) {
        return Status::no_memory;
    } catch (const Beyond &) {
        return Status::beyond;
    }
}

}  // namespace hidiv
