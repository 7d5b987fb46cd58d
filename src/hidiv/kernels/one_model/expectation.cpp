// Expected counts of a forest: pieces of it by threads, added up in the same order whichever thread computed them.
#include "one_model/steps.hpp"

#include <math.h>

#include <algorithm>
#include <new>
#include <vector>

#include "one_model/one_model.hpp"
#include "runtime/parallel.hpp"
#include "runtime/targets.hpp"
#include "simd/wide.hpp"

namespace hidiv {
namespace {

constexpr int64_t most_pieces = 16, most_cells = int64_t(1) << 23, small_work = int64_t(1) << 20;

// Trees first..last-1, and sums of their own.
struct Piece {
    int64_t first = 0, last = 0;
    std::vector<double> initial, edges, rows, exact;  // exact (G, K, K): counts of trees done the slow way
};

struct Forest {
    const OneModel &model;  // its places are those of all nodes
    const int64_t *start;
    int64_t padded;
    std::vector<double> columns, rows, weight, top;
};

Forest prepared(const OneModel &m, const int64_t *start, int64_t threads, Status &status) {
    const int64_t k = m.states, padded = table().expect_padding(k), block = 4096;
    Forest f{m, start, padded, {}, {}, {}, {}};
    f.columns.assign(size_t(m.transitions * k * padded), 0.0);
    f.rows = f.columns;
    for (int64_t g = 0; g < m.transitions; ++g)
        for (int64_t r = 0; r < k; ++r)
            for (int64_t s = 0; s < k; ++s) {
                const double p = m.law.transition[(g * k + r) * k + s];
                f.rows[size_t((g * k + r) * padded + s)] = p;
                f.columns[size_t((g * k + s) * padded + r)] = p;
            }
    f.weight.resize(size_t(m.rows * padded));
    f.top.resize(size_t(m.rows));
    status = parallel((m.rows + block - 1) / block, threads, [&](int64_t i) {
        const int64_t from = i * block, count = std::min(block, m.rows - from);
        table().expect_weights(m.law.log_weight + from * k, k, padded, count, f.weight.data() + from * padded,
                               f.top.data() + from);
        return Status::done;
    });
    return f;
}

// One tree as a model of its own, by messages that cannot underflow.
Status by_smoothing(const Forest &f, int64_t tree, double &value, Piece &piece, double *rows) {
    const OneModel &all = f.model;
    const int64_t first = f.start[tree], n = f.start[tree + 1] - first, k = all.states;
    OneModel m = all;
    m.places.n = n;
    std::vector<int64_t> parent;
    if (all.places.parent) {
        for (int64_t u = 0; u < n; ++u) parent.push_back(u ? all.places.parent[first + u] - first : -1);
        m.places.parent = parent.data();
    }
    if (all.places.transition_of) m.places.transition_of += first;
    if (all.places.row_of_32) m.places.row_of_32 += first;
    if (all.places.row_of_64) m.places.row_of_64 += first;
    if (!all.places.row_of_32 && !all.places.row_of_64) {
        m.rows = n;
        m.law.log_weight += first * k;
    }
    std::vector<double> marginals(size_t(n * k)), pairs(size_t(n * k * k));
    int64_t impossible = -1;
    const Status status = smooth(m, value, marginals.data(), pairs.data(), impossible);
    if (status != Status::done) return status;
    if (impossible >= 0 || !isfinite(value)) {
        value = impossible >= 0 ? -HUGE_VAL : value;
        return Status::done;
    }
    for (int64_t s = 0; s < k; ++s) piece.initial[size_t(s)] += marginals[size_t(s)];
    for (int64_t u = 0; u < n; ++u) {
        const int64_t row = all.places.row(first + u);
        for (int64_t s = 0; s < k; ++s) rows[row * k + s] += marginals[size_t(u * k + s)];
        if (u == 0) continue;
        double *edges = piece.exact.data() + m.places.transition(u) * k * k;
        for (int64_t i = 0; i < k * k; ++i) edges[i] += pairs[size_t(u * k * k + i)];
    }
    return Status::done;
}

Status one_piece(const Forest &f, Piece &piece, double *rows, double *values) {
    const OneModel &m = f.model;
    const int64_t k = m.states;
    piece.initial.assign(size_t(k), 0.0);
    piece.edges.assign(size_t(m.transitions * k * f.padded), 0.0);
    piece.exact.assign(size_t(m.transitions * k * k), 0.0);
    int64_t longest = 0, since = 0;
    for (int64_t i = piece.first; i < piece.last; ++i) longest = std::max(longest, f.start[i + 1] - f.start[i]);
    std::vector<double> own(size_t(longest * f.padded)), mass(size_t(longest * f.padded));
    const ExpectSums sums{piece.initial.data(), piece.edges.data(), rows};
    for (int64_t i = piece.first; i < piece.last; ++i) {
        const int64_t first = f.start[i], n = f.start[i + 1] - first;
        const ExpectTree tree{k,
                              f.padded,
                              first,
                              n,
                              m.places.parent ? m.places.parent + first : nullptr,
                              m.places.transition_of ? m.places.transition_of + first : nullptr,
                              m.places.row_of_32 ? m.places.row_of_32 + first : nullptr,
                              m.places.row_of_64 ? m.places.row_of_64 + first : nullptr,
                              m.law.initial,
                              f.columns.data(),
                              f.rows.data(),
                              f.weight.data(),
                              own.data(),
                              mass.data()};
        bool usable = k <= 512;
        Sum logs;
        for (int64_t u = 0; u < n && usable; ++u) {
            const double top = f.top[size_t(tree.row(u))];
            usable = top > -HUGE_VAL;
            logs.add(top);
        }
        ExpectOutcome outcome{};
        if (usable && table().expect_tree(tree, sums, outcome)) {
            logs.add(Wide(1.0, outcome.exponent).log());
            logs.add(log(outcome.total));
            values[i] = logs.value();
        } else {
            const Status status = by_smoothing(f, i, values[i], piece, rows);
            if (status != Status::done) return status;
        }
        since += n * k * k;
        if (since > (int64_t(1) << 24)) {
            if (interrupted()) return Status::interrupted;
            since = 0;
        }
    }
    return Status::done;
}

}  // namespace

Status expected_counts(const OneModel &m, const int64_t *start, int64_t trees, int64_t threads, double *values,
                       double *initial, double *transition, double *rows) {
    try {
        const int64_t k = m.states, nodes = start[trees];
        // Starting a thread costs as much as a few thousand nodes.
        const int64_t helpers = nodes * k * (k + 8) < small_work ? 1 : usable_threads(threads);
        Status status = Status::done;
        const Forest f = prepared(m, start, helpers, status);
        if (status != Status::done) return status;
        // How the forest is cut depends on the forest alone.
        const bool shared = m.places.row_of_32 || m.places.row_of_64;
        int64_t count = std::min(trees, most_pieces);
        if (shared) count = std::max<int64_t>(1, std::min(count, most_cells / std::max<int64_t>(1, m.rows * k)));
        std::vector<Piece> pieces(static_cast<size_t>(count));
        int64_t next = 0;
        for (int64_t i = 0; i < count; ++i) {
            Piece &piece = pieces[size_t(i)];
            piece.first = next;
            while (next < trees && (i + 1 == count || start[next] * count < (i + 1) * nodes)) ++next;
            piece.last = next;
        }
        std::fill(initial, initial + k, 0.0);
        std::fill(transition, transition + m.transitions * k * k, 0.0);
        std::fill(rows, rows + m.rows * k, 0.0);
        status = parallel(count, helpers, [&](int64_t i) {
            Piece &piece = pieces[size_t(i)];
            if (shared && count > 1) piece.rows.assign(size_t(m.rows * k), 0.0);
            return one_piece(f, piece, piece.rows.empty() ? rows : piece.rows.data(), values);
        });
        if (status != Status::done) return status;
        for (const Piece &piece : pieces) {
            for (int64_t s = 0; s < k; ++s) initial[s] += piece.initial[size_t(s)];
            for (int64_t g = 0; g < m.transitions; ++g)
                for (int64_t r = 0; r < k; ++r)
                    for (int64_t s = 0; s < k; ++s) {
                        const int64_t at = (g * k + r) * k + s;
                        transition[at] += piece.exact[size_t(at)] +
                                          piece.edges[size_t((g * k + r) * f.padded + s)] * m.law.transition[at];
                    }
            for (size_t i = 0; i < piece.rows.size(); ++i) rows[i] += piece.rows[i];
        }
        return Status::done;
    } catch (const std::bad_alloc &) {
        return Status::no_memory;
    } catch (const Beyond &) {
        return Status::beyond;
    }
}

}  // namespace hidiv
