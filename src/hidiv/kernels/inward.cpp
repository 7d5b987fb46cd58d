// Theorem 1 on a tree in any order: children before parents, each node gives its value to its parent.
#include "table.hpp"

#include "inward_rows.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

template <typename V, int PIECES>
class AnyOrder {
public:
    AnyOrder(Nodes nodes, Matrices matrices, const double *own, double *out)
        : nodes_(nodes), rows_(matrices, own), out_(out), last_(last_parent(nodes)), lows_((last_ + 1) * matrices.states) {}

    Status run(const double *root) {
        FourRows<V, PIECES> four(rows_.pieces());
        if (!rows_.good() || !lows_.values || !four.good()) return Status::no_memory;
        memset(out_, 0, size_t((last_ + 1) * rows_.states()) * sizeof(double));
        const int64_t stride = nodes_between_looks(rows_.states());
        for (int64_t u = nodes_.n - 1; u > 0; --u) {
            node(u, four);
            give(nodes_.parent[u], four);
            if (u % stride == 0 && interrupted()) return Status::interrupted;
        }
        take(0, four);
        rows_.finish(root, four.sum, four.sum_low, out_);
        return Status::done;
    }

private:
    static int64_t last_parent(Nodes nodes) {
        int64_t last = 0;
        for (int64_t u = 1; u < nodes.n; ++u) last = nodes.parent[u] > last ? nodes.parent[u] : last;
        return last;
    }
    // The sum over the children of a node waits in out and lows until it is the node's turn.
    void take(int64_t u, FourRows<V, PIECES> &four) const {
        rows_.read(out_ + u * rows_.states(), four.sum);
        rows_.read(lows_.values + u * rows_.states(), four.sum_low);
    }
    void give(int64_t parent, FourRows<V, PIECES> &four) const {
        take(parent, four);
        for (int64_t i = 0; i < rows_.pieces(); ++i) add(four.sum[i], four.sum_low[i], four.high[i], four.low[i]);
        rows_.write(four.sum, out_ + parent * rows_.states());
        rows_.write(four.sum_low, lows_.values + parent * rows_.states());
    }
    void node(int64_t u, FourRows<V, PIECES> &four) const {
        const int64_t group = nodes_.group[u];
        bool leaf = true;
        if (u <= last_) {
            take(u, four);
            for (int64_t i = 0; i < rows_.pieces(); ++i) leaf = leaf && is_zero(four.sum[i]);
        }
        if (leaf) {
            rows_.read(rows_.own(group), four.high);
            rows_.clear(four.low);
        } else {
            rows_.weigh(group, four.sum, four.sum_low, four.high, four.low);
        }
        rows_.write(four.high, out_ + u * rows_.states());
    }

    const Nodes nodes_;
    const InwardRows<V, PIECES> rows_;
    double *const out_;
    const int64_t last_;  // parent: nodes behind it are leaves
    const Scratch lows_;  // leaves need none
};

}  // namespace

Status inward(Nodes nodes, Matrices matrices, const double *own, const double *root, double *out) {
    return sweep_of<AnyOrder>(nodes, matrices, own, root, out);
}

}  // namespace hidiv::HIDIV_TARGET
