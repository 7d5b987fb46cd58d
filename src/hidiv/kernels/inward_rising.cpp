// Theorem 1 on a tree listed breadth first: parent never falls, so that the children of every node stand side by side.
//
// Parents are gone through from the last to the first while a cursor runs down their children. An entry of parent is
// only compared with the node whose turn it is, never followed, and a child the cursor cannot pass shows that the list
// is not what it should be: the indices are checked on the way, where a pass of its own would cost as much again.
#include "table.hpp"

#include "inward_rows.hpp"
#include "parallel.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

constexpr int64_t PIECE = 1 << 14;  // children one thread does at a time

template <typename V, int PIECES>
class BreadthFirst {
    using Rows = FourRows<V, PIECES>;

public:
    BreadthFirst(Nodes nodes, Matrices matrices, const double *own, double *out)
        : nodes_(nodes), rows_(matrices, own), out_(out), last_(nodes.parent[nodes.n - 1]),
          plausible_(nodes.parent[0] == -1 && known(nodes.group[0]) && last_ < nodes.n - 1 && last_ >= (nodes.n > 1 ? 0 : -1)),
          lows_(plausible_ ? (last_ + 1) * matrices.states : 0, unset) {}

    Status run(const double *root) {
        if (!plausible_) return Status::refused;
        Rows rows(rows_.pieces());
        if (!rows_.good() || !lows_.values || !rows.good()) return Status::no_memory;
        const int64_t looks = nodes_between_looks(rows_.states()), stride = looks < PIECE ? looks : PIECE;
        int64_t parents = last_ + 1, end = nodes_.n;  // nodes 1..parents-1 and children 1..end-1 wait for their turn
        while (parents > 1) {
            const int64_t before = parents;
            const Status status = end - parents >= 2 * PIECE ? wave(parents, end) : Status::done;
            if (status != Status::done) return status;
            if (parents == before) {
                parents = before > stride ? before - stride : 1;
                end = families(parents, before, 1, end, rows);
                if (end < 0) return Status::refused;
            }
            if (interrupted()) return Status::interrupted;
        }
        if (family(0, 1, end, rows) != 1) return Status::refused;
        rows_.finish(root, rows.sum, rows.sum_low, out_);
        return Status::done;
    }

private:
    bool known(int64_t group) const { return uint64_t(group) < uint64_t(rows_.groups()); }

    // The first place from `at` on where another family begins.
    int64_t cut(int64_t at, int64_t end) const {
        const int64_t *parent = nodes_.parent, family = parent[at - 1];
        for (int64_t step = 1; at < end && parent[at] == family;) {  // families may be as long as the tree
            if (at + step < end && parent[at + step] == family) {
                at += step;
                step *= 2;
            } else if (step > 1) {
                step /= 2;
            } else {
                ++at;
            }
        }
        return at;
    }

    // The families that stand wholly behind the waiting parents share nothing: several threads do them in pieces.
    Status wave(int64_t &parents, int64_t &end) const {
        const int64_t first = cut(parents, end), count = (end - first + PIECE - 1) / PIECE;
        ScratchOf<int64_t> cuts(2 * (count + 1), unset);  // where pieces begin, and their first parents
        if (!cuts.values) return Status::no_memory;
        int64_t *child = cuts.values, *parent = child + count + 1;
        for (int64_t i = 0; i <= count; ++i) {
            child[i] = i == 0 ? first : i == count ? end : cut(first + i * PIECE, end);
            parent[i] = child[i] < end ? nodes_.parent[child[i]] : parents;
            if (i ? child[i] < child[i - 1] || parent[i] < parent[i - 1] : parent[i] < 1) return Status::refused;
        }
        if (parent[count] != parents) return Status::refused;
        const Status status = parallel(count, usable_threads(0), [&](int64_t i) {
            Rows rows(rows_.pieces());
            if (!rows.good()) return Status::no_memory;
            const int64_t reached = families(parent[i], parent[i + 1], child[i], child[i + 1], rows);
            return reached == child[i] ? Status::done : Status::refused;
        });
        parents = parent[0];
        end = first;
        return status;
    }

    // Nodes end-1 down to begin, whose children lie in floor..children-1. The first child met, or -1.
    int64_t families(int64_t begin, int64_t end, int64_t floor, int64_t children, Rows &rows) const {
        for (int64_t u = end - 1; u >= begin; --u) {
            const int64_t first = family(u, floor > u ? floor : u + 1, children, rows);
            const int64_t group = nodes_.group[u];
            if (first < 0 || !known(group)) return -1;
            if (first > floor && nodes_.parent[first - 1] >= u) return -1;  // nobody's turn will come for this one
            if (first < children) {
                rows_.weigh(group, rows.sum, rows.sum_low, rows.high, rows.low);
            } else {
                rows_.read(rows_.own(group), rows.high);
                rows_.clear(rows.low);
            }
            rows_.write(rows.high, out_ + u * rows_.states());
            rows_.write(rows.low, lows_.values + u * rows_.states());
            children = first;
        }
        return children;
    }
    // The sum over the children of a node, and where they begin; -1 when one is of no group.
    int64_t family(int64_t u, int64_t floor, int64_t child, Rows &rows) const {
        rows_.clear(rows.sum);
        rows_.clear(rows.sum_low);
        while (child > floor && nodes_.parent[child - 1] == u) {
            --child;
            double *here = out_ + child * rows_.states();
            if (child > last_) {  // a leaf; the others had their turn
                const int64_t group = nodes_.group[child];
                if (!known(group)) return -1;
                rows_.read(rows_.own(group), rows.high);
                rows_.clear(rows.low);
                rows_.write(rows.high, here);
            } else {
                rows_.read(here, rows.high);
                rows_.read(lows_.values + child * rows_.states(), rows.low);
            }
            for (int64_t i = 0; i < rows_.pieces(); ++i) add(rows.sum[i], rows.sum_low[i], rows.high[i], rows.low[i]);
        }
        return child;
    }

    const Nodes nodes_;
    const InwardRows<V, PIECES> rows_;
    double *const out_;
    const int64_t last_;    // parent: nodes behind it are leaves
    const bool plausible_;  // as far as the ends tell
    const Scratch lows_;    // leaves need none
};

}  // namespace

Status inward_rising(Nodes nodes, Matrices matrices, const double *own, const double *root, double *out) {
    return sweep_of<BreadthFirst>(nodes, matrices, own, root, out);
}

}  // namespace hidiv::HIDIV_TARGET
