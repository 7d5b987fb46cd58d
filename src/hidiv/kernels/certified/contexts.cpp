// Bounds of entropy rates over a tree of contexts, depth first: a context is split into its extensions to the past
// while its probability times the width of its bounds is above the threshold.
#include <math.h>

#include <algorithm>
#include <atomic>
#include <new>

#include "certified/certified.hpp"
#include "runtime/parallel.hpp"

namespace hidiv {
namespace {

// Products of q's steps must not underflow: a state would look impossible. Models with a positive step or first
// probability below smallest_step are out of range (bounds 0 and infinity); a context with a product below
// `smallest`, or one that the next step could bring below `faintest`, is not split.
constexpr double smallest_step = 1e-150, smallest = 1e-280, faintest = 1e-300;

struct Bounds {
    double lower = 0.0, upper = 0.0;
    int64_t leaves = 0, depth = 0;
    void add(const Bounds &other) {
        lower += other.lower, upper += other.upper;
        leaves += other.leaves, depth = std::max(depth, other.depth);
    }
};

struct Ends {
    double lower, upper;
};

// out = transition diag(probabilities(., symbol)) matrix.
void extend(const Symbols &chain, int64_t symbol, const double *matrix, double *out) {
    const int64_t n = chain.states;
    for (int64_t r = 0; r < n; ++r) {
        double *row = out + r * n;
        std::fill(row, row + n, 0.0);
        for (int64_t t = 0; t < n; ++t) {
            const double step = chain.transition[r * n + t] * chain.probabilities[t * chain.symbols + symbol];
            for (int64_t s = 0; s < n; ++s) row[s] += step * matrix[t * n + s];
        }
    }
}

// out(s) = sum_r initial(r) probabilities(r, symbol) matrix(r, s)
void begin(const Symbols &chain, const double *initial, int64_t symbol, const double *matrix, double *out) {
    const int64_t n = chain.states;
    std::fill(out, out + n, 0.0);
    for (int64_t r = 0; r < n; ++r) {
        const double first = initial[r] * chain.probabilities[r * chain.symbols + symbol];
        for (int64_t s = 0; s < n; ++s) out[s] += first * matrix[r * n + s];
    }
}

// The least positive probability of a transition and an emission together.
double least_step(const Symbols &chain) {
    double least = 1.0;
    for (int64_t r = 0; r < chain.states; ++r)
        for (int64_t t = 0; t < chain.states; ++t)
            for (int64_t x = 0; x < chain.symbols; ++x) {
                const double move = chain.transition[r * chain.states + t],
                             symbol = chain.probabilities[t * chain.symbols + x];
                if (move > 0 && symbol > 0) least = std::min(least, move * symbol);
            }
    return least;
}

// (states, symbols): the next symbol's law given the state before it.
std::vector<double> next_symbol(const Symbols &chain) {
    std::vector<double> law(static_cast<size_t>(chain.states * chain.symbols));
    for (int64_t s = 0; s < chain.states; ++s)
        for (int64_t t = 0; t < chain.states; ++t)
            for (int64_t x = 0; x < chain.symbols; ++x)
                law[size_t(s * chain.symbols + x)] +=
                    chain.transition[s * chain.states + t] * chain.probabilities[t * chain.symbols + x];
    return law;
}

// Bounds of one context: p's and q's products of steps over its symbols, from any state before it to any after.
class Cross {
public:
    Cross(const Symbols &p, const Symbols &q, const double *middle)
        : p_(p), q_(q), middle_(middle), next_p_(next_symbol(p)), next_q_(next_symbol(q)),
          predicted_(size_t((q.states + 1) * q.symbols)), logs_(predicted_.size()), greatest_(size_t(q.symbols)) {}

    double weight(const double *law, const double *of_p, double *after) const {
        double total = 0.0;
        for (int64_t s = 0; s < p_.states; ++s) {
            after[s] = 0.0;
            for (int64_t r = 0; r < p_.states; ++r) after[s] += law[r] * of_p[r * p_.states + s];
            total += after[s];
        }
        return total;
    }

    Ends bounds(const double *after, const double *of_q) {
        const int64_t k = q_.states, m = q_.symbols;
        int64_t alive = 0;
        double *centre = predicted_.data() + k * m;
        std::fill(predicted_.begin(), predicted_.end(), 0.0);
        double total = 0.0;
        for (int64_t i = 0; i < k; ++i) {
            double sum = 0.0;
            for (int64_t r = 0; r < k; ++r) sum += of_q[i * k + r];
            if (!(sum > 0)) continue;
            double *row = predicted_.data() + alive++ * m;
            for (int64_t r = 0; r < k; ++r)
                for (int64_t x = 0; x < m; ++x) row[x] += of_q[i * k + r] * next_q_[size_t(r * m + x)];
            for (int64_t x = 0; x < m; ++x) {
                if (row[x] < faintest && possible(of_q + i * k, x)) return {0.0, HUGE_VAL};
                centre[x] += middle_[i] * row[x];
                row[x] /= sum;
            }
            total += middle_[i] * sum;
        }
        if (!(total > 0)) return {0.0, HUGE_VAL};
        for (int64_t x = 0; x < m; ++x) {
            centre[x] /= total;
            greatest_[size_t(x)] = 0.0;
            for (int64_t i = 0; i < alive; ++i) {
                greatest_[size_t(x)] = std::max(greatest_[size_t(x)], predicted_[size_t(i * m + x)]);
                logs_[size_t(i * m + x)] = log(predicted_[size_t(i * m + x)]);
            }
            logs_[size_t(k * m + x)] = log(centre[x]);
            greatest_[size_t(x)] = log(greatest_[size_t(x)]);
        }
        Ends ends{0.0, 0.0};
        for (int64_t s = 0; s < p_.states; ++s) {
            if (!(after[s] > 0)) continue;
            const double *law = next_p_.data() + s * m;
            double above = -HUGE_VAL, ratio = 0.0;
            for (int64_t i = 0; i < alive; ++i) {
                double cost = 0.0, mean = 0.0;
                for (int64_t x = 0; x < m; ++x) {
                    if (!(law[x] > 0)) continue;
                    cost -= law[x] * logs_[size_t(i * m + x)];
                    mean += law[x] * (predicted_[size_t(i * m + x)] / centre[x]);
                }
                above = std::max(above, cost);
                ratio = std::max(ratio, mean);
            }
            double apart = 0.0, together = -log(ratio);
            for (int64_t x = 0; x < m; ++x) {
                if (!(law[x] > 0)) continue;
                apart -= law[x] * greatest_[size_t(x)];
                together -= law[x] * logs_[size_t(k * m + x)];
            }
            ends.upper += after[s] * above;
            ends.lower += after[s] * (together > apart ? together : apart);
        }
        return ends;
    }

    // The cost of the symbol after a first word: start has p's and q's laws of the last state, and the word's chance.
    // What has no more than the `least` probability under q costs anything up to infinity: it may have underflowed.
    Ends after_first(const double *start, double least) {
        const int64_t n = p_.states, k = q_.states, m = q_.symbols;
        Ends ends{0.0, 0.0};
        double total = 0.0;
        for (int64_t r = 0; r < k; ++r) total += start[n + r];
        for (int64_t x = 0; x < m; ++x) {
            double p = 0.0, q = 0.0;
            for (int64_t s = 0; s < n; ++s) p += start[s] * next_p_[size_t(s * m + x)];
            for (int64_t r = 0; r < k; ++r) q += start[n + r] * next_q_[size_t(r * m + x)];
            if (!(p > 0)) continue;
            const double cost = -p * log(q / total);
            ends.lower += q > least ? cost : 0.0;
            ends.upper += q > least ? cost : HUGE_VAL;
        }
        return ends;
    }

private:
    // Whether symbol x can follow some state that has a product, which underflow may hide.
    bool possible(const double *products, int64_t x) const {
        for (int64_t r = 0; r < q_.states; ++r)
            if (products[r] > 0 && next_q_[size_t(r * q_.symbols + x)] > 0) return true;
        return false;
    }

    const Symbols p_, q_;
    const double *middle_;
    std::vector<double> next_p_, next_q_, predicted_, logs_, greatest_;
};

double entropy(const double *law, int64_t symbols) {
    double sum = 0.0;
    for (int64_t x = 0; x < symbols; ++x)
        if (law[x] > 0) sum -= law[x] * log(law[x]);
    return sum;
}

struct Task {
    const Symbols &p;
    const double *law;
    const Symbols *q;  // null: the entropy of p
    const double *middle;
    double threshold;
    int64_t depth, limit;
    // Of a chain that begins: its first laws, and `law` has a row for every depth, summed over the nodes behind.
    const double *initial_p = nullptr, *initial_q = nullptr;
    double floor = smallest;  // of the products of q in a context that is split
    std::atomic<int64_t> nodes{0};

    const double *law_at(int64_t length) const { return initial_p ? law + length * p.states : law; }
};

class Walk {
public:
    explicit Walk(Task &task)
        : task_(task), cross_(task.p, task.q ? *task.q : task.p, task.middle ? task.middle : task.law),
          next_(next_symbol(task.p)), after_(size_t(task.p.states)), mean_(size_t(task.p.symbols)), row_(mean_.size()) {
        size_p_ = task.p.states * task.p.states;
        size_q_ = task.q ? task.q->states * task.q->states : 0;
        states_q_ = task.q ? task.q->states : task.p.states;
    }

    // The context whose products are given, and all its extensions.
    Bounds at(const double *of_p, const double *of_q, int64_t depth) {
        Bounds result;
        result.depth = depth;
        result.leaves = 1;
        if (task_.nodes.fetch_add(1, std::memory_order_relaxed) >= task_.limit) return result;
        const double *law = task_.law_at(depth);
        const Ends exact =
            task_.initial_p ? cross_.after_first(of_p + size_p_ + size_q_, task_.q ? faintest : 0.0) : Ends{0.0, 0.0};
        result.lower = exact.lower, result.upper = exact.upper;
        const double weight = cross_.weight(law, of_p, after_.data());
        if (!(weight > 0)) return result;
        const Ends ends = task_.q ? cross_.bounds(after_.data(), of_q) : own(law, of_p, weight);
        result.lower += ends.lower, result.upper += ends.upper;
        const double width = std::min(ends.upper - ends.lower, 64.0 * weight);
        if (!(width > task_.threshold) || depth >= task_.depth ||
            (task_.q && near_underflow(of_q, size_q_, task_.floor)))
            return result;
        if (++looked_ % 256 == 0 && interrupted()) {
            stopped = true;
            task_.nodes = task_.limit;
            return result;
        }
        result = Bounds{};
        result.lower = exact.lower, result.upper = exact.upper;
        double *room = scratch(depth);
        for (int64_t x = 0; x < task_.p.symbols; ++x) {
            child(of_p, of_q, x, room);
            result.add(at(room, room + size_p_, depth + 1));
        }
        return result;
    }

    void child(const double *of_p, const double *of_q, int64_t x, double *room) const {
        extend(task_.p, x, of_p, room);
        if (task_.initial_p) {  // the same with nothing before it
            begin(task_.p, task_.initial_p, x, of_p, room + size_p_ + size_q_);
            begin(task_.q ? *task_.q : task_.p, task_.initial_q, x, task_.q ? of_q : of_p,
                  room + size_p_ + size_q_ + task_.p.states);
        }
        if (!task_.q) return;
        double *made = room + size_p_, most = 0.0;
        extend(*task_.q, x, of_q, made);
        for (int64_t i = 0; i < size_q_; ++i) most = std::max(most, made[i]);
        int exponent = 0;
        frexp(most, &exponent);
        const double scale = ldexp(1.0, -exponent);  // only ratios count
        for (int64_t i = 0; i < size_q_; ++i) made[i] *= scale;
    }

    // Products of p and of q, and the laws after a first word.
    size_t room_size() const { return size_t(size_p_ + size_q_ + (task_.initial_p ? task_.p.states + states_q_ : 0)); }

    bool stopped = false;

private:
    // H(next | context, state before it) and H(next | context), times the probability of the context.
    Ends own(const double *law, const double *of_p, double weight) {
        const int64_t n = task_.p.states, m = task_.p.symbols;
        std::fill(mean_.begin(), mean_.end(), 0.0);
        double lower = 0.0;
        for (int64_t i = 0; i < n; ++i) {
            double total = 0.0;
            std::fill(row_.begin(), row_.end(), 0.0);
            for (int64_t s = 0; s < n; ++s) {
                const double mass = law[i] * of_p[i * n + s];
                total += mass;
                for (int64_t x = 0; x < m; ++x) row_[size_t(x)] += mass * next_[size_t(s * m + x)];
            }
            if (!(total > 0)) continue;
            for (int64_t x = 0; x < m; ++x) {
                mean_[size_t(x)] += row_[size_t(x)] / weight;
                row_[size_t(x)] /= total;
            }
            lower += total * entropy(row_.data(), m);
        }
        return {lower, weight * entropy(mean_.data(), m)};
    }
    static bool near_underflow(const double *matrix, int64_t size, double floor) {
        for (int64_t i = 0; i < size; ++i)
            if (matrix[i] > 0 && matrix[i] < floor) return true;
        return false;
    }
    double *scratch(int64_t depth) {
        while (int64_t(rooms_.size()) <= depth) rooms_.push_back(std::vector<double>(room_size()));
        return rooms_[size_t(depth)].data();
    }

    Task &task_;
    Cross cross_;
    std::vector<double> next_, after_, mean_, row_;
    std::vector<std::vector<double>> rooms_;
    int64_t size_p_, size_q_, states_q_, looked_ = 0;
};

std::vector<double> identity(int64_t n) {
    std::vector<double> matrix(static_cast<size_t>(n * n));
    for (int64_t i = 0; i < n; ++i) matrix[size_t(i * n + i)] = 1.0;
    return matrix;
}

// The root's extensions are pieces of work of their own.
Status walk(Task &task, Contexts &out) {
    if (task.q) {
        const double step = least_step(*task.q);
        bool inside = step >= smallest_step;
        for (int64_t s = 0; task.initial_q && s < task.q->states; ++s)
            inside = inside && !(task.initial_q[s] > 0 && task.initial_q[s] < smallest_step);
        if (!inside) {
            out = Contexts{0.0, HUGE_VAL, 0, 0, true};
            return Status::done;
        }
        task.floor = std::max(smallest, faintest / step);
    }
    const int64_t symbols = task.p.symbols;
    const std::vector<double> of_p = identity(task.p.states), of_q = identity(task.q ? task.q->states : 0);
    std::vector<Bounds> parts(static_cast<size_t>(symbols * symbols));
    const Status status = parallel(symbols * symbols, usable_threads(0), [&](int64_t piece) {
        Walk walk(task);
        std::vector<double> one(walk.room_size()), two(one.size());
        walk.child(of_p.data(), of_q.data(), piece / symbols, one.data());
        walk.child(one.data(), one.data() + of_p.size(), piece % symbols, two.data());
        parts[size_t(piece)] = walk.at(two.data(), two.data() + of_p.size(), 2);
        return walk.stopped ? Status::interrupted : Status::done;
    });
    Bounds all;
    for (const Bounds &part : parts) all.add(part);
    out.lower = all.lower, out.upper = all.upper, out.leaves = all.leaves, out.depth = all.depth;
    out.finished = task.nodes < task.limit;
    return status;
}

}  // namespace

Status cross_contexts(const Symbols &p, const double *law, const Symbols &q, const double *middle, double threshold,
                      int64_t depth, int64_t limit, Contexts &out) try {
    Task task{p, law, &q, middle, threshold, depth, limit};
    return walk(task, out);
} catch (const std::bad_alloc &) {
    return Status::no_memory;
}

Status entropy_contexts(const Symbols &p, const double *law, double threshold, int64_t depth, int64_t limit,
                        Contexts &out) try {
    Task task{p, law, nullptr, nullptr, threshold, depth, limit};
    return walk(task, out);
} catch (const std::bad_alloc &) {
    return Status::no_memory;
}

Status chain_contexts(const Symbols &p, const double *initial_p, const double *laws, const Symbols *q,
                      const double *initial_q, const double *middle, double threshold, int64_t depth, int64_t limit,
                      Contexts &out) try {
    Task task{p, laws, q, middle, threshold, depth, limit, initial_p, q ? initial_q : initial_p};
    return walk(task, out);
} catch (const std::bad_alloc &) {
    return Status::no_memory;
}

}  // namespace hidiv
