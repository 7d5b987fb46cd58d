// Theorem 1 on a tree listed breadth first: parent never falls, so that the children of every node stand side by side.
//
// Parents are visited from the last to the first while a cursor runs down their children. An entry of parent is only
// compared with the current node, never used as an index, and a child that the cursor cannot pass shows that the list
// is not sorted: the indices are checked on the way, where a separate pass would cost as much again.
#include "runtime/table.hpp"

#include "joint/inward_rows.hpp"
#include "runtime/parallel.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

constexpr int64_t PIECE = 1 << 14;  // children one thread does at a time

// What the loops need, small enough to be copied to where they can keep it in registers.
template <typename V, int PIECES>
struct Families {
    const int64_t *parent, *group;
    InwardTables<V, PIECES> tables;
    double *out, *lows;
    int64_t last;  // parent: nodes behind it are leaves

    using Pair = Doubled<V, PIECES>;

    // Nodes end-1 down to begin, whose children lie in floor..child-1. The first child met, or -1.
    int64_t nodes(int64_t begin, int64_t end, int64_t floor, int64_t child, V *spare) const {
        const int64_t pieces = tables.pieces();
        Pair value(spare, pieces), sum(spare + 2 * pieces, pieces);
        for (int64_t u = end - 1; u >= begin; --u) {
            const int64_t first = children(u, floor > u ? floor : u + 1, child, sum, value);
            const int64_t own = group[u];
            if (first < 0 || !tables.known(own)) return -1;
            if (first > floor && parent[first - 1] >= u) return -1;  // this child would never be reached
            if (first < child)
                tables.weigh(own, sum, value);
            else
                tables.leaf(own, value);
            tables.write(value.high, out + u * tables.states());
            tables.write(value.low, lows + u * tables.states());
            child = first;
        }
        return child;
    }
    // The sum over the children of a node, and where they begin; -1 when one is of no group.
    int64_t children(int64_t u, int64_t floor, int64_t child, Pair &sum, Pair &value) const {
        tables.clear(sum);
        while (child > floor && parent[child - 1] == u) {
            double *here = out + --child * tables.states();
            if (child > last) {
                if (!tables.known(group[child])) return -1;
                tables.leaf(group[child], value);
                tables.write(value.high, here);
            } else {  // already computed
                tables.read(here, lows + child * tables.states(), value);
            }
            tables.gather(sum, value);
        }
        return child;
    }
    // The first place from `at` on where the children of another node begin.
    int64_t cut(int64_t at, int64_t end) const {
        const int64_t before = parent[at - 1];
        for (int64_t step = 1; at < end && parent[at] == before;) {  // they may be as many as the tree has nodes
            if (at + step < end && parent[at + step] == before) {
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
};

template <typename V, int PIECES>
class BreadthFirst {
public:
    BreadthFirst(Nodes nodes, Matrices matrices, const double *own, double *out)
        : nodes_(nodes), last_(nodes.parent[nodes.n - 1]),
          plausible_(nodes.parent[0] == -1 && last_ >= (nodes.n > 1 ? 0 : -1) && last_ < nodes.n - 1),
          memory_(matrices), lows_(plausible_ ? (last_ + 1) * matrices.states : 0, unset),
          families_{nodes.parent, nodes.group,  memory_.tables<V, PIECES>(matrices.groups, own),
                    out,          lows_.values, last_} {}

    Status run(const double *root) const {
        const int64_t pieces = families_.tables.pieces();
        const ScratchOf<V> spare(spare_size());
        if (!memory_.good() || !lows_.values || !spare.values) return Status::no_memory;
        if (!plausible_ || !families_.tables.known(nodes_.group[0])) return Status::refused;
        const int64_t looks = nodes_between_looks(families_.tables.states()), stride = looks < PIECE ? looks : PIECE;
        int64_t waiting = last_ + 1, end = nodes_.n;  // nodes 1..waiting-1 and children 1..end-1 are still to do
        while (waiting > 1) {
            const int64_t before = waiting;
            const Status status = end - waiting >= 2 * PIECE ? wave(waiting, end) : Status::done;
            if (status != Status::done) return status;
            if (waiting == before) {
                waiting = before > stride ? before - stride : 1;
                end = families_.nodes(waiting, before, 1, end, spare.values);
                if (end < 0) return Status::refused;
            }
            if (interrupted()) return Status::interrupted;
        }
        Doubled<V, PIECES> value(spare.values, pieces), sum(spare.values + 2 * pieces, pieces);
        if (families_.children(0, 1, end, sum, value) != 1) return Status::refused;
        families_.tables.finish(root, sum, families_.out);
        return Status::done;
    }

private:
    int64_t spare_size() const { return PIECES ? 0 : 4 * families_.tables.pieces(); }

    // Families whose children all come after the waiting nodes share nothing: several threads do them, piece by piece.
    Status wave(int64_t &waiting, int64_t &end) const {
        const int64_t first = families_.cut(waiting, end), count = (end - first + PIECE - 1) / PIECE;
        const ScratchOf<int64_t> cuts(2 * (count + 1), unset);
        if (!cuts.values) return Status::no_memory;
        int64_t *child = cuts.values, *node = child + count + 1;  // where pieces begin
        for (int64_t i = 0; i <= count; ++i) {
            child[i] = i == 0 ? first : i == count ? end : families_.cut(first + i * PIECE, end);
            node[i] = child[i] < end ? nodes_.parent[child[i]] : waiting;
            if (i ? child[i] < child[i - 1] || node[i] < node[i - 1] : node[i] < 1) return Status::refused;
        }
        if (node[count] != waiting) return Status::refused;
        const Status status = parallel(count, usable_threads(0), [&](int64_t i) {
            const Families<V, PIECES> families = families_;
            const ScratchOf<V> spare(spare_size());
            if (!spare.values) return Status::no_memory;
            const bool all = families.nodes(node[i], node[i + 1], child[i], child[i + 1], spare.values) == child[i];
            return all ? Status::done : Status::refused;
        });
        waiting = node[0];
        end = first;
        return status;
    }

    const Nodes nodes_;
    const int64_t last_;
    const bool plausible_;  // as far as the ends of the list tell
    const InwardMemory memory_;
    const Scratch lows_;  // leaves need none
    const Families<V, PIECES> families_;
};

}  // namespace

Status inward_rising(Nodes nodes, Matrices matrices, const double *own, const double *root, double *out) {
    return sweep_of<BreadthFirst>(nodes, matrices, own, root, out);
}

}  // namespace hidiv::HIDIV_TARGET
