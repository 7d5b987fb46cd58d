// Theorem 1 on a tree in any order: children before parents, each node gives its value to its parent.
#include "runtime/table.hpp"

#include "joint/inward_rows.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

template <typename V, int PIECES>
class AnyOrder {
    using Pair = Doubled<V, PIECES>;

public:
    AnyOrder(Nodes nodes, Matrices matrices, const double *own, double *out)
        : nodes_(nodes), memory_(matrices), tables_(memory_.tables<V, PIECES>(matrices.groups, own)), out_(out),
          last_(last_parent(nodes)), lows_((last_ + 1) * matrices.states) {}

    Status run(const double *root) const {
        const ScratchOf<V> spare(PIECES ? 0 : 4 * tables_.pieces());
        if (!memory_.good() || !lows_.values || !spare.values) return Status::no_memory;
        Pair value(spare.values, tables_.pieces()), sum(spare.values + 2 * tables_.pieces(), tables_.pieces());
        memset(out_, 0, size_t((last_ + 1) * tables_.states()) * sizeof(double));
        const int64_t stride = nodes_between_looks(tables_.states());
        for (int64_t u = nodes_.n - 1; u > 0; --u) {
            node(u, sum, value);
            give(nodes_.parent[u], sum, value);
            if (u % stride == 0 && interrupted()) return Status::interrupted;
        }
        take(0, sum);
        tables_.finish(root, sum, out_);
        return Status::done;
    }

private:
    static int64_t last_parent(Nodes nodes) {
        int64_t last = 0;
        for (int64_t u = 1; u < nodes.n; ++u) last = nodes.parent[u] > last ? nodes.parent[u] : last;
        return last;
    }
    // The sum over the children of a node is kept in out and lows until the sweep reaches the node.
    void take(int64_t u, Pair &sum) const {
        tables_.read(out_ + u * tables_.states(), lows_.values + u * tables_.states(), sum);
    }
    void give(int64_t parent, Pair &sum, const Pair &value) const {
        take(parent, sum);
        tables_.gather(sum, value);
        tables_.write(sum.high, out_ + parent * tables_.states());
        tables_.write(sum.low, lows_.values + parent * tables_.states());
    }
    void node(int64_t u, Pair &sum, Pair &value) const {
        bool leaf = true;
        if (u <= last_) {
            take(u, sum);
            for (int64_t i = 0; i < tables_.pieces(); ++i) leaf = leaf && is_zero(sum.high.values[i]);
        }
        if (leaf)
            tables_.leaf(nodes_.group[u], value);
        else
            tables_.weigh(nodes_.group[u], sum, value);
        tables_.write(value.high, out_ + u * tables_.states());
    }

    const Nodes nodes_;
    const InwardMemory memory_;
    const InwardTables<V, PIECES> tables_;
    double *const out_;
    const int64_t last_;  // parent: nodes behind it are leaves
    const Scratch lows_;  // leaves need none
};

}  // namespace

Status inward(Nodes nodes, Matrices matrices, const double *own, const double *root, double *out) {
    return sweep_of<AnyOrder>(nodes, matrices, own, root, out);
}

}  // namespace hidiv::HIDIV_TARGET
