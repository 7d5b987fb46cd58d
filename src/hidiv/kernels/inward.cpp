// Theorem 1: own terms flow to the root, children before parents, weighted by the transition rows.
//
// Everything is carried in doubled precision with the rows scaled to sum to one exactly. Plain doubles would drift by
// depth times the rounding of a row's sum; and since every term is non-negative nothing cancels, however much the
// states differ.
#include "table.hpp"

#include "doubled.hpp"
#include "parallel.hpp"
#include "scratch.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

// The matrices by columns, so that a vector holds several rows: independent sums. And what makes rows sum to one.
struct Weights {
    explicit Weights(Matrices matrices)
        : columns(matrices.groups * matrices.states * matrices.states), correction(matrices.groups * matrices.states) {
        const int64_t states = matrices.states, size = states * states;
        if (!columns.values || !correction.values) return;
        for (int64_t g = 0; g < matrices.groups; ++g) {
            const double *matrix = matrices.values + g * size;
            for (int64_t r = 0; r < states; ++r) {
                correction.values[g * states + r] = row_correction(states, matrix + r * states);
                for (int64_t s = 0; s < states; ++s) columns.values[g * size + s * states + r] = matrix[r * states + s];
            }
        }
    }
    Scratch columns, correction;
};

// A row of K states is PIECES vectors V; PIECES = 0 where the number is known only when running.
template <typename V, int PIECES>
class Sweep {
public:
    Sweep(Nodes nodes, Matrices matrices, const double *own, double *out)
        : nodes_(nodes), states_(PIECES ? PIECES * lanes<V> : matrices.states), own_(own), out_(out), weights_(matrices),
          last_(last_parent(nodes)), lows_((last_ + 1) * states_) {}

    Status run(const double *root) {
        if (!weights_.columns.values || !weights_.correction.values || !lows_.values) return Status::no_memory;
        memset(out_, 0, size_t((last_ + 1) * states_) * sizeof(double));
        int64_t end = nodes_.n;
        // Breadth first, the nodes behind the last parent of a block have no child in it, and siblings stand together:
        // pieces cut between families share nothing.
        while (nodes_.rising && end - nodes_.parent[end - 1] - 1 >= 2 * PIECE) {
            const int64_t begin = nodes_.parent[end - 1] + 1;
            const Status status = parallel((end - begin + PIECE - 1) / PIECE, usable_threads(0), [&](int64_t piece) {
                return families(cut(begin, begin + piece * PIECE, end), cut(begin, begin + (piece + 1) * PIECE, end));
            });
            if (status != Status::done) return status;
            end = begin;
        }
        const int64_t stride = nodes_between_looks(states_);
        while (end > 1) {
            const int64_t begin = end - 1 > stride ? end - stride : 1;
            if (families(begin, end) != Status::done) return Status::no_memory;
            if (interrupted()) return Status::interrupted;
            end = begin;
        }
        for (int64_t i = 0; i < pieces(); ++i) {
            V sum = load<V>(out_ + i * lanes<V>), low = load<V>(lows_.values + i * lanes<V>);
            add(sum, low, load<V>(root + i * lanes<V>), V{});
            store(out_ + i * lanes<V>, sum + low);
        }
        return Status::done;
    }

private:
    static constexpr int64_t PIECE = 1 << 14;

    static int64_t last_parent(Nodes nodes) {
        if (nodes.rising) return nodes.n > 1 ? nodes.parent[nodes.n - 1] : 0;
        int64_t last = 0;
        for (int64_t u = 1; u < nodes.n; ++u) last = nodes.parent[u] > last ? nodes.parent[u] : last;
        return last;
    }
    int64_t pieces() const { return PIECES ? PIECES : states_ / lanes<V>; }
    // The first node from `at` on whose parent differs from that of the node before it.
    int64_t cut(int64_t begin, int64_t at, int64_t end) const {
        if (at <= begin) return begin;
        while (at < end && nodes_.parent[at] == nodes_.parent[at - 1]) ++at;
        return at < end ? at : end;
    }

    // Nodes end-1 down to begin give their values to their parents. The sum over the children of a node waits in out and
    // lows until it is the node's turn; the sum of the parent just worked for waits here, since siblings mostly stand
    // together.
    Status families(int64_t begin, int64_t end) const {
        ScratchOf<V> rows(PIECES ? 0 : 4 * pieces());
        if (!rows.values) return Status::no_memory;
        V registers[PIECES ? 4 * PIECES : 1];
        V *high = PIECES ? registers : rows.values, *low = high + pieces(), *sum = low + pieces(), *sum_low = sum + pieces();
        int64_t parent = -1;
        for (int64_t u = end - 1; u >= begin; --u) {
            if (nodes_.parent[u] != parent) {
                put(parent, sum, sum_low);
                parent = nodes_.parent[u];
                for (int64_t i = 0; i < pieces(); ++i) {
                    sum[i] = load<V>(out_ + parent * states_ + i * lanes<V>);
                    sum_low[i] = load<V>(lows_.values + parent * states_ + i * lanes<V>);
                }
            }
            node(u, high, low);
            for (int64_t i = 0; i < pieces(); ++i) add(sum[i], sum_low[i], high[i], low[i]);
        }
        put(parent, sum, sum_low);
        return Status::done;
    }
    void put(int64_t parent, const V *sum, const V *sum_low) const {
        if (parent < 0) return;
        for (int64_t i = 0; i < pieces(); ++i) {
            store(out_ + parent * states_ + i * lanes<V>, sum[i]);
            store(lows_.values + parent * states_ + i * lanes<V>, sum_low[i]);
        }
    }
    void node(int64_t u, V *high, V *low) const {
        double *here = out_ + u * states_;
        const int64_t group = nodes_.group[u];
        const double *own_row = own_ + group * states_;
        bool leaf = true;
        if (u <= last_)
            for (int64_t i = 0; i < pieces(); ++i) leaf = leaf && is_zero(load<V>(here + i * lanes<V>));
        if (leaf) {
            for (int64_t i = 0; i < pieces(); ++i) {
                high[i] = load<V>(own_row + i * lanes<V>);
                low[i] = V{};
                store(here + i * lanes<V>, high[i]);
            }
            return;
        }
        double *here_low = lows_.values + u * states_;
        const double *column = weights_.columns.values + group * states_ * states_;
        for (int64_t i = 0; i < pieces(); ++i) high[i] = low[i] = V{};
        for (int64_t s = 0; s < states_; ++s, column += states_) {
            settle(here[s], here_low[s]);
            const V below = V{} + here[s], below_low = V{} + here_low[s];
            for (int64_t i = 0; i < pieces(); ++i)
                add_scaled(high[i], low[i], load<V>(column + i * lanes<V>), below, below_low);
        }
        for (int64_t i = 0; i < pieces(); ++i) {
            low[i] += load<V>(weights_.correction.values + group * states_ + i * lanes<V>) * high[i];
            add(high[i], low[i], load<V>(own_row + i * lanes<V>), V{});
            settle(high[i], low[i]);
            store(here + i * lanes<V>, high[i]);
        }
    }

    const Nodes nodes_;
    const int64_t states_;
    const double *own_;
    double *out_;
    const Weights weights_;
    const int64_t last_;  // parent: nodes behind it are leaves
    const Scratch lows_;  // leaves need none
};

template <typename V, int PIECES>
Status sweep(Nodes nodes, Matrices matrices, const double *own, const double *root, double *out) {
    return Sweep<V, PIECES>(nodes, matrices, own, out).run(root);
}

}  // namespace

Status inward(Nodes nodes, Matrices matrices, const double *own, const double *root, double *out) {
    switch (matrices.states) {
        case 1: return sweep<double, 1>(nodes, matrices, own, root, out);
        case 3: return sweep<double, 3>(nodes, matrices, own, root, out);
#if defined(__GNUC__)
        case 2: return sweep<Two, 1>(nodes, matrices, own, root, out);
        case 4: return sweep<Four, 1>(nodes, matrices, own, root, out);
        case 8: return sweep<Eight, 1>(nodes, matrices, own, root, out);
#endif
        default: return sweep<double, 0>(nodes, matrices, own, root, out);
    }
}

}  // namespace hidiv::HIDIV_TARGET
