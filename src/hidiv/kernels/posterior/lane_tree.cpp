// The posterior divergence of a listed tree of few states, a node in every lane.
#include "posterior/routes.hpp"

#include <math.h>

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "posterior/lane_tables.hpp"
#include "posterior/semiring_root.hpp"
#include "posterior/tree_parts.hpp"
#include "runtime/memory.hpp"
#include "runtime/parallel.hpp"
#include "posterior/wide_sweep.hpp"
#include "runtime/targets.hpp"

namespace hidiv {
namespace {

constexpr int64_t at_once = 4096;      // parents that are looked at together
constexpr int64_t piece_size = 16384;  // nodes one thread does at a time
constexpr int64_t broad = 65536;       // nodes from which on there are threads
constexpr int64_t trial = 2048;        // nodes after which the semiring is looked at for the first time
constexpr double unit = 0x1p-53;

// What nodes have left behind beside their messages.
struct Parts {
    Gathered gathered;
    int64_t exponent_q = 0;
    Sum log;             // taken out of the logarithms of p's weights
    double bound = 0.0;  // of the roundings of the semiring

    void add(const Parts &other) {
        add_exponent(gathered.exponent, other.gathered.exponent);
        add_exponent(exponent_q, other.exponent_q);
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
            parts.gathered.ratio.add(sums.ratio);
            parts.gathered.value.add(sums.value);
            parts.log.add(sums.log);
            parts.bound +=
                (double(u - end + 1) * double(tables.states + 12) * (2.0 + sums.largest) + 4.0 * sums.reach) * unit;
        }
        return true;
    }
};

// Cuts of 1..n-1 into stretches that do not wait for each other, levels of a tree listed level by level; empty
// otherwise.
std::vector<int64_t> level_starts(const Places &places) {
    std::vector<int64_t> starts;
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

// Records first..end-1 before any message: factors of one, terms of zero.
void empty(double *record, int64_t first, int64_t end, int64_t states, bool semiring) {
    const int64_t stride = lane_record(states), factors = semiring ? 2 * states : states;
    double one[3 * most_tree_states] = {};
    std::fill(one, one + factors, 1.0);
    for (int64_t u = first; u < end; ++u) std::copy(one, one + stride, record + u * stride);
}

// Whether the last nodes' divergence given state 0 of their parents is large enough for the semiring: if not, neither
// will the whole be. Nodes below `lowest` are left out.
bool looks_far(const TreeSweep &sweep, const Places &places, int64_t lowest) {
    const int64_t stride = lane_record(sweep.tables.states), first = std::max(lowest, places.n - trial);
    std::vector<int64_t> parents(places.parent + first, places.parent + places.n);
    std::sort(parents.begin(), parents.end());
    parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
    const auto clear = [&](int64_t u) { empty(sweep.nodes.record, u, u + 1, sweep.tables.states, true); };
    for (int64_t u = first; u < std::min(places.n, sweep.nodes.records); ++u) clear(u);
    clear(sweep.nodes.records);
    for (int64_t u : parents) clear(u);
    Parts parts;
    bool far = sweep.range(places.n - 1, first, parts);
    double value = parts.gathered.value.value() + double(parts.exponent_q - parts.gathered.exponent) * log2_high;
    for (int64_t u : parents) {
        if (u >= first) break;  // its own message has gone on
        const double *record = sweep.nodes.record + u * stride;
        value += record[2 * sweep.tables.states] + log(record[sweep.tables.states] / record[0]);
    }
    return far && parts.bound <= semiring_allowed * value;
}

// Records of the messages to nodes 0..count-1, on lines of the cache.
class Records {
public:
    Records(int64_t count, int64_t states)
        : states_(states), stride_(lane_record(states)),
          memory_(unset((count * stride_ + 8) * int64_t(sizeof(double)))) {
        if (!memory_) throw std::bad_alloc();
    }
    double *at(int64_t u) const {
        const uintptr_t start = (reinterpret_cast<uintptr_t>(memory_.get()) + 63) & ~uintptr_t(63);
        return reinterpret_cast<double *>(start) + u * stride_;
    }
    void clear(int64_t first, int64_t end, bool semiring) const { empty(at(0), first, end, states_, semiring); }

private:
    int64_t states_, stride_;
    std::unique_ptr<void, GiveBack> memory_;
};

// All nodes but the root, in an order that the listing allows. Each order has
//   looks_far()                       above, of some of the nodes
//   sweep(semiring, all, good)        the parts of all nodes added up; good is false where the sweep gave up
//   root()                            the record of the root
struct TreeTask {
    const StepTables &tables;
    const LaneRows &rows;
    const Places &places;
    int64_t threads;

    TreeSweep with(const LaneRows &own, const Places &nodes, double *record, int64_t records, bool semiring) const {
        return {tables, own, {nodes.parent, nodes.transition_of, record, records}, semiring};
    }
};

// One node after the other.
class ListedOrder {
public:
    explicit ListedOrder(const TreeTask &task)
        : task_(task), count_(1 + last_parent(task.places)), records_(count_ + 1, task.tables.states) {}

    bool looks_far() const { return hidiv::looks_far(sweeping(true), task_.places, 1); }
    Status sweep(bool semiring, Parts &all, bool &good) const {
        records_.clear(0, count_ + 1, semiring);
        for (int64_t first = task_.places.n - 1; first > 0 && good; first -= piece_size) {
            good = sweeping(semiring).range(first, std::max<int64_t>(1, first - piece_size + 1), all);
            if (interrupted()) return Status::interrupted;
        }
        return Status::done;
    }
    const double *root() const { return records_.at(0); }

private:
    TreeSweep sweeping(bool semiring) const {
        return task_.with(task_.rows, task_.places, records_.at(0), count_, semiring);
    }

    const TreeTask &task_;
    int64_t count_;
    Records records_;
};

// Level by level, pieces of a level on several threads.
class LevelOrder {
public:
    LevelOrder(const TreeTask &task, const std::vector<int64_t> &starts)
        : task_(task), starts_(starts), count_(1 + task.places.parent[task.places.n - 1]),
          records_(count_ + 1, task.tables.states) {}

    bool looks_far() const { return hidiv::looks_far(sweeping(true), task_.places, 1); }
    Status sweep(bool semiring, Parts &all, bool &good) const {
        const Places &places = task_.places;
        records_.clear(count_, count_ + 1, semiring);
        for (size_t level = starts_.size() - 1; level > 0 && good; --level) {
            // Pieces end where the parent changes, so that no two of them write to one parent.
            std::vector<int64_t> cuts{starts_[level - 1]};
            while (cuts.back() < starts_[level]) {
                int64_t next = std::min(cuts.back() + piece_size, starts_[level]);
                while (next < starts_[level] && places.parent[next] == places.parent[next - 1]) ++next;
                cuts.push_back(next);
            }
            std::vector<Parts> parts(cuts.size());
            std::vector<char> fine(cuts.size(), 1);
            const Status status = parallel(int64_t(cuts.size()) - 1, task_.threads, [&](int64_t piece) {
                const size_t i = size_t(piece);
                // Parents without a child belong to the piece before them.
                const int64_t begin = i == 0 ? (level > 1 ? starts_[level - 2] : 0) : places.parent[cuts[i]];
                const int64_t end =
                    i + 2 < cuts.size() ? places.parent[cuts[i + 1]] : std::min(starts_[level - 1], count_);
                records_.clear(begin, end, semiring);
                fine[i] = sweeping(semiring).range(cuts[i + 1] - 1, cuts[i], parts[i]);
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
    const double *root() const { return records_.at(0); }

private:
    TreeSweep sweeping(bool semiring) const {
        return task_.with(task_.rows, task_.places, records_.at(0), count_, semiring);
    }

    const TreeTask &task_;
    const std::vector<int64_t> &starts_;
    int64_t count_;
    Records records_;
};

// Part by part (tree_parts.hpp) on several threads, then the tops.
class PartOrder {
public:
    explicit PartOrder(const TreeTask &task)
        : task_(task), parts_(task.places), records_(parts_.inner() + TreeParts::count, task.tables.states),
          top_records_(TreeParts::tops + 1, task.tables.states) {
        for (int64_t i = 0, first = 0; i < TreeParts::count; first += parts_.part(i++).inner + 1) {
            places_[i] = parts_.places(i);
            rows_[i] = task.rows;
            rows_[i].row_of_32 = places_[i].row_of_32;
            rows_[i].row_of_64 = nullptr;
            first_[i] = first;
        }
    }

    bool looks_far() const {
        int64_t largest = 0;
        for (int64_t i = 1; i < TreeParts::count; ++i)
            if (places_[i].n > places_[largest].n) largest = i;
        return hidiv::looks_far(sweeping(largest, true), places_[largest], parts_.part(largest).tops);
    }
    Status sweep(bool semiring, Parts &all, bool &good) const {
        Parts parts[TreeParts::count];
        bool fine[TreeParts::count] = {};
        const Status status = parallel(TreeParts::count, task_.threads, [&](int64_t i) {
            const TreeParts::Part &part = parts_.part(i);
            records_.clear(first_[i], first_[i] + part.inner + 1, semiring);
            fine[i] = true;
            for (int64_t first = part.n - 1; first >= part.tops && fine[i]; first -= piece_size) {
                fine[i] = sweeping(i, semiring).range(first, std::max(part.tops, first - piece_size + 1), parts[i]);
                if (interrupted()) return Status::interrupted;
            }
            return Status::done;
        });
        if (status != Status::done) return status;
        for (int64_t i = 0; i < TreeParts::count; ++i) {
            good = good && fine[i];
            all.add(parts[i]);
        }
        const int64_t stride = lane_record(task_.tables.states);
        for (int64_t u = 0; u < TreeParts::tops; ++u) {
            const double *const record = records_.at(first_[u % TreeParts::count] + u / TreeParts::count);
            std::copy(record, record + stride, top_records_.at(u));
        }
        top_records_.clear(TreeParts::tops, TreeParts::tops + 1, semiring);
        good = good && task_.with(task_.rows, task_.places, top_records_.at(0), TreeParts::tops, semiring)
                           .range(TreeParts::tops - 1, 1, all);
        return Status::done;
    }
    const double *root() const { return top_records_.at(0); }

private:
    TreeSweep sweeping(int64_t i, bool semiring) const {
        return task_.with(rows_[i], places_[i], records_.at(first_[i]), parts_.part(i).inner, semiring);
    }

    const TreeTask &task_;
    TreeParts parts_;
    Records records_, top_records_;
    Places places_[TreeParts::count];
    LaneRows rows_[TreeParts::count];
    int64_t first_[TreeParts::count];  // record of each part
};

template <class Order>
Status sweep_tree(const LawPair &pair, const TreeTask &task, const Order &order, Divergence &result, bool &declined) {
    const int64_t states = pair.states;
    const Places &places = task.places;
    if (places.n >= 8 * trial && may_be_far(pair, task.tables.reach) && order.looks_far()) {
        Parts parts;
        bool good = true;
        const Status status = order.sweep(true, parts, good);
        if (status != Status::done) return status;
        const double *const record = order.root();
        const SemiringEnd end{record,           record + states, record + 2 * states, parts.gathered.exponent,
                              parts.exponent_q, parts.bound};
        Gathered taken;
        taken.ratio = parts.gathered.ratio;
        declined =
            !good || !semiring_root(pair, places, 0, end, parts.gathered.value, taken, result, parts.log.value());
        if (!declined) return Status::done;
    }
    Parts parts;
    bool good = true;
    const Status status = order.sweep(false, parts, good);
    if (status != Status::done || !good) return status;
    // The root in numbers with exponents.
    const double *const record = order.root();
    Inbox inbox(states);
    for (int64_t i = 0; i < states; ++i) {
        const size_t s = size_t(i);
        inbox.b[s] = Wide(record[i]);
        inbox.ratio[s] = record[states + i];
        inbox.inward[s] = record[2 * states + i];
    }
    WideStep step(pair, places, nullptr);
    result = {NAN, NAN, NAN, {-1, -1, -1}, -1, -1};
    step.root(inbox, parts.gathered, result, nullptr, nullptr, nullptr);
    declined = false;
    return Status::done;
}

}  // namespace

Status posterior_lane_tree(const LawPair &pair, const Places &places, int64_t threads, Divergence &result,
                           bool &declined) {
    declined = true;
    try {
        const LaneTables tables(pair);
        if (!tables.positive) return Status::done;
        const LaneWeights weights(pair, places);
        if (weights.zero()) return Status::done;
        const int64_t states = pair.states;
        // The root's own weights may carry any zero's worth of range, but none here.
        const double *lw = pair.p.log_weight + places.row(0) * states, *lr = pair.weight_ratio + places.row(0) * states;
        for (int64_t s = 0; s < states; ++s)
            if (!isfinite(lw[s]) || !isfinite(lr[s]) ||
                (pair.residual && !isfinite(pair.residual[places.row(0) * states + s])))
                return Status::done;
        const TreeTask task{tables.view, weights.view(), places, usable_threads(threads)};
        if (places.n < broad) return sweep_tree(pair, task, ListedOrder(task), result, declined);
        const std::vector<int64_t> starts = level_starts(places);
        if (!starts.empty()) return sweep_tree(pair, task, LevelOrder(task, starts), result, declined);
        if (pair.rows <= INT32_MAX && places.n <= INT32_MAX)
            return sweep_tree(pair, task, PartOrder(task), result, declined);
        return sweep_tree(pair, task, ListedOrder(task), result, declined);
    } catch (const std::bad_alloc &) {
        return Status::no_memory;
    } catch (const Beyond &) {
        return Status::beyond;
    }
}

}  // namespace hidiv
