// Random small inputs for every kernel, on every instruction set: what AddressSanitizer and UBSan let pass must also
// be a number, never NaN. Wild rounds hold NaN and infinities: their numbers mean nothing, but every index stays
// inside. No Python; run by `make test-sanitize`.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "certified/certified.hpp"
#include "emission/emission.hpp"
#include "moments/moments.hpp"
#include "sampled/chain_sums.hpp"
#include "one_model/one_model.hpp"
#include "posterior/posterior.hpp"
#include "runtime/table.hpp"
#include "runtime/targets.hpp"
#include "pairs/pairs.hpp"

namespace hidiv {
bool interrupted() { return false; }
}  // namespace hidiv

namespace {

using namespace hidiv;
using Doubles = std::vector<double>;
using Ints = std::vector<int64_t>;

std::mt19937_64 engine(1);
bool wild = false;  // whether this round's numbers are of any kind

double uniform() { return std::uniform_real_distribution<double>()(engine); }
int64_t whole(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine); }

[[noreturn]] void fail(const char *what, int round) {
    fprintf(stderr, "fuzz: %s, target %s, round %d\n", what, table().name, round);
    exit(1);
}

// NaN, infinities, the smallest and the largest numbers.
double anything() {
    const double list[] = {NAN,    HUGE_VAL, -HUGE_VAL, 0.0,    5e-324, -5e-324,
                           1e-310, 1.7e308,  -1.7e308,  -1e300, -1e20,  1e20};
    return list[whole(0, 11)];
}

// Rows that sum to one, some entries zero or far too small to matter where that is wanted.
Doubles rows(int64_t count, int64_t states, double zeros) {
    Doubles values(size_t(count * states));
    for (int64_t r = 0; r < count; ++r) {
        double *row = values.data() + r * states, sum = 0.0;
        for (int64_t s = 0; s < states; ++s)
            row[s] = uniform() < zeros ? (whole(0, 2) ? 0.0 : whole(0, 1) ? 5e-324 : 1e-310) : -log(uniform() + 1e-300);
        row[whole(0, states - 1)] += 0.5;
        for (int64_t s = 0; s < states; ++s) sum += row[s];
        for (int64_t s = 0; s < states; ++s) row[s] /= sum;
    }
    for (double &each : values)
        if (wild && uniform() < 0.1) each = anything();
    return values;
}

// Log weights of very different sizes, some -inf.
Doubles log_weights(int64_t count, double zeros) {
    Doubles values(static_cast<size_t>(count));
    const double size = pow(10.0, double(whole(0, 3) ? whole(-3, 3) : whole(4, 300)));
    for (double &each : values) each = uniform() < zeros ? -HUGE_VAL : -size * uniform();
    for (double &each : values)
        if (wild && uniform() < 0.2) each = anything();
    return values;
}

// log(q / p) entry by entry, as the library computes it.
Doubles ratios(const Doubles &p, const Doubles &q, bool logs) {
    Doubles values(p.size());
    for (size_t i = 0; i < p.size(); ++i) {
        const double a = logs ? p[i] : log(p[i]), b = logs ? q[i] : log(q[i]);
        values[i] = a == b ? 0.0 : b - a;
    }
    return values;
}

struct Case {
    int64_t n, states, groups, count;
    double zeros;
    Ints parent, group, row_of;
    std::vector<int32_t> narrow;
    Places places;

    Case() {
        n = whole(1, 4) == 1 ? whole(1, 3) : whole(1, 120);
        states = whole(1, 3) == 1 ? whole(1, 20) : whole(1, 6);
        groups = whole(1, 3);
        count = whole(1, 2) == 1 ? n : whole(1, 7);
        zeros = whole(1, 2) == 1 ? 0.0 : 0.3;
        parent.assign(size_t(n), -1);
        const int64_t shape = whole(0, 3);
        for (int64_t u = 1; u < n; ++u)
            parent[size_t(u)] = shape == 0 ? u - 1 : shape == 1 ? 0 : shape == 2 ? (u - 1) / 4 : whole(0, u - 1);
        group.resize(size_t(n));
        for (int64_t &g : group) g = whole(0, groups - 1);
        row_of.resize(size_t(n));
        for (int64_t u = 0; u < n; ++u) row_of[size_t(u)] = count == n ? u : whole(0, count - 1);
        narrow.assign(row_of.begin(), row_of.end());
        const bool chain = whole(0, 1) == 0, small = whole(0, 1) == 0;
        places = {n, chain ? nullptr : parent.data(), whole(0, 1) ? group.data() : nullptr,
                  small ? narrow.data() : nullptr, small ? nullptr : row_of.data()};
    }
};

void check_number(double value, const char *what, int round) {
    if (isnan(value) && !wild) fail(what, round);
}

void joint_kernels(const Case &c, int round) {
    const Doubles initial = rows(1, c.states, c.zeros), transition = rows(c.groups * c.states, c.states, c.zeros);
    Doubles own(size_t(c.groups * c.states)), root(static_cast<size_t>(c.states)), out(size_t(c.n * c.states)),
        count(static_cast<size_t>(c.n));
    for (double &each : own) each = uniform();
    for (double &each : root) each = uniform();
    for (double &each : count) each = double(whole(0, 9));
    const Nodes nodes{c.n, c.parent.data(), c.group.data()};
    const Matrices matrices{c.groups, c.states, transition.data()};
    Ints level(static_cast<size_t>(c.n));
    table().levels(c.n, c.parent.data(), level.data());
    std::fill(out.begin(), out.end(), NAN);  // every value must be written
    table().inward(nodes, matrices, own.data(), root.data(), out.data());
    for (double each : out) check_number(each, "inward", round);
    Doubles rising(out.size(), NAN);
    const bool taken = table().inward_rising(nodes, matrices, own.data(), root.data(), rising.data()) == Status::done;
    if (taken != std::is_sorted(c.parent.begin(), c.parent.end())) fail("inward_rising takes the wrong trees", round);
    if (taken && !wild && rising != out) fail("inward_rising differs", round);
    std::fill(out.begin(), out.end(), 0.0);
    table().downward(initial.data(), nodes, matrices, out.data());
    for (double each : out) check_number(each, "downward", round);
    Doubles edges(own.size()), visited(own.size());
    table().visits(initial.data(), nodes, matrices, edges.data(), visited.data());
    for (double each : visited) check_number(each, "visits", round);
    table().level_visits(initial.data(), {1, c.states, transition.data()}, c.n, count.data(), root.data());
    for (double each : root) check_number(each, "level_visits", round);
    // std::vector<bool> has no addresses.
    std::vector<char> start(static_cast<size_t>(c.states), 1), allowed(transition.size()), reached(out.size());
    for (size_t i = 0; i < allowed.size(); ++i) allowed[i] = transition[i] > 0;
    table().reach(reinterpret_cast<const bool *>(start.data()), nodes, c.states,
                  reinterpret_cast<const bool *>(allowed.data()), reinterpret_cast<bool *>(reached.data()));
}

// Indices of any kind are refused, or are those of a tree, never followed out of the arrays; on several threads too.
void rising_kernel(int round) {
    const int64_t n = whole(0, 1) ? whole(1, 60) : whole(60000, 90000), k = whole(1, 5), groups = 2,
                  children = whole(1, 5);
    const Doubles transition = rows(groups * k, k, 0.0), own = rows(groups, k, 0.0), root = rows(1, k, 0.0);
    Ints parent(static_cast<size_t>(n)), group(parent.size());
    for (int64_t u = 0; u < n; ++u) parent[size_t(u)] = u ? (u - 1) / children : -1;
    for (int64_t &each : group) each = whole(0, groups - 1);
    for (int64_t wrong = whole(0, 3); wrong > 0; --wrong) {
        const int64_t kind = whole(0, 3);
        (whole(0, 1) ? parent : group)[size_t(whole(0, n - 1))] = kind == 0   ? whole(-2, 3)
                                                                  : kind == 1 ? whole(-n, 2 * n)
                                                                  : kind == 2 ? INT64_MIN + whole(0, 2)
                                                                              : INT64_MAX - whole(0, 2);
    }
    bool good = parent[0] == -1 && std::is_sorted(parent.begin(), parent.end());
    for (int64_t u = 0; u < n; ++u)
        good = good && group[size_t(u)] >= 0 && group[size_t(u)] < groups &&
               (u == 0 || (parent[size_t(u)] >= 0 && parent[size_t(u)] < u));
    Doubles out(size_t(n * k), NAN);
    const Status status = table().inward_rising({n, parent.data(), group.data()}, {groups, k, transition.data()},
                                                own.data(), root.data(), out.data());
    if (status != (good ? Status::done : Status::refused)) fail("inward_rising takes the wrong arrays", round);
    if (good)
        for (double each : out) check_number(each, "inward_rising", round);
}

void posterior_kernels(const Case &c, int round) {
    const int64_t k = c.states, size = c.count * k;
    const bool close = whole(0, 1) == 0;
    const Doubles initial_p = rows(1, k, c.zeros), transition_p = rows(c.groups * k, k, c.zeros),
                  weight_p = log_weights(size, c.zeros);
    Doubles initial_q = initial_p, transition_q = transition_p, weight_q = weight_p;
    if (!close) {
        initial_q = rows(1, k, c.zeros);
        transition_q = rows(c.groups * k, k, c.zeros);
        weight_q = log_weights(size, c.zeros);
    } else {
        for (double &each : weight_q) each *= 1 + 1e-6 * uniform();
    }
    const Doubles ratio_0 = ratios(initial_p, initial_q, false), ratio_t = ratios(transition_p, transition_q, false),
                  ratio_w = ratios(weight_p, weight_q, true);
    Doubles residual(static_cast<size_t>(size));
    for (double &each : residual) each = uniform();
    const LawPair pair{k,
                       c.groups,
                       c.count,
                       {initial_p.data(), transition_p.data(), weight_p.data()},
                       {initial_q.data(), transition_q.data(), weight_q.data()},
                       ratio_0.data(),
                       ratio_t.data(),
                       ratio_w.data(),
                       whole(0, 1) ? residual.data() : nullptr};
    Divergence result{};
    Doubles profile(static_cast<size_t>(c.n));
    const Status status =
        posterior_divergence(pair, c.places, whole(1, 3), result, whole(0, 1) ? profile.data() : nullptr);
    if (status == Status::done && result.impossible_p < 0 && result.impossible_q < 0) {
        check_number(result.value, "posterior", round);
        if (result.value < 0 && !wild) fail("negative posterior", round);
    }
    if (!c.places.parent) {
        Ints start{0};
        const int64_t longest = whole(0, 1) ? 30 : 300;
        while (start.back() < c.n) start.push_back(std::min(c.n, start.back() + whole(1, longest)));
        std::vector<Divergence> results(start.size() - 1);
        posterior_batch(pair, c.places, start.data(), int64_t(results.size()), whole(1, 3), results.data());
        for (const Divergence &each : results)
            if (!each.beyond && each.impossible_p < 0 && each.impossible_q < 0)
                check_number(each.value, "posterior_batch", round);
    }
    const OneModel model{k, c.groups, c.count, pair.p, c.places};
    int64_t failed = -1;
    double value = 0.0;
    Doubles marginals(size_t(c.n * k)), pairs(size_t(c.n * k * k)), unseen(static_cast<size_t>(size), 0.0),
        draws(size_t(2 * c.n));
    Ints path(static_cast<size_t>(c.n)), drawn(draws.size());
    for (double &each : draws) each = uniform();
    Ints first{0};
    while (first.back() < c.n) first.push_back(std::min(c.n, first.back() + (whole(0, 1) ? whole(1, 30) : c.n)));
    Ints hung(c.parent);  // a root at the start of every tree, parents kept inside
    for (size_t i = 0; i + 1 < first.size(); ++i)
        for (int64_t u = first[i]; u < first[i + 1]; ++u)
            hung[size_t(u)] = u == first[i] ? -1 : std::max(first[i], c.parent[size_t(u)]);
    OneModel forest = model;
    if (forest.places.parent) forest.places.parent = hung.data();
    Doubles logs(first.size() - 1), roots(static_cast<size_t>(k)), edges(transition_p.size()),
        by_row(static_cast<size_t>(size));
    const auto numbers = [&](const Doubles &values, const char *what) {
        for (double each : values) check_number(each, what, round);
    };
    const auto indices = [&](const Ints &states, const char *what) {
        for (int64_t each : states)
            if (each < 0 || each >= k) fail(what, round);
    };
    if (expected_counts(forest, first.data(), int64_t(logs.size()), whole(1, 3), logs.data(), roots.data(),
                        edges.data(), by_row.data()) == Status::done) {
        numbers(logs, "expected_counts");
        numbers(edges, "expected transitions");
        numbers(by_row, "expected rows");
    }
    // Out of range: the numpy twin answers, and nothing here is read.
    const auto usable = [&](Status status) { return status == Status::done && failed < 0; };
    if (usable(smooth(model, value, marginals.data(), whole(0, 1) ? pairs.data() : nullptr, failed)))
        numbers(marginals, "smooth");
    if (usable(entropy_profile(model, profile.data(), failed))) numbers(profile, "entropy_profile");
    if (usable(viterbi(model, path.data(), value, failed))) indices(path, "viterbi");
    if (usable(influence(model, unseen.data(), profile.data(), failed))) numbers(profile, "influence");
    if (usable(sample_states(model, draws.data(), 2, drawn.data(), failed))) indices(drawn, "sample_states");
    if (usable(log_likelihood(model, value, failed))) check_number(value, "log_likelihood", round);
}

void moment_kernels(int round) {
    const int64_t n = whole(0, 70), k = whole(1, 12), features = whole(1, 6), threads = whole(1, 3);
    Doubles x(size_t(n * features)), mean(size_t(k * features)), out(size_t(k * (features * features + 1)));
    const Doubles weight = rows(n, k, whole(0, 1) ? 0.3 : 0.0);
    for (Doubles *values : {&x, &mean})
        for (double &each : *values) each = wild ? anything() : 4.0 * uniform() - 2.0;
    for (double &each : x)
        if (uniform() < 0.1) each = NAN;  // not seen
    for (int which = 0; which < 3; ++which) {
        const WeightedRows task{k, features, x.data(), weight.data(), which ? mean.data() : nullptr, which == 2};
        if (weighted_moments(task, n, threads, out.data()) != Status::done) fail("weighted_moments", round);
        for (int64_t i = 0; i < task.sums() && !wild; ++i) check_number(out[size_t(i)], "weighted_moments", round);
    }
}

// Exponential to generalized Gaussian rows: NaN and a word of it where a number is out of range, and only there.
void curve_kernels(int round) {
    const int64_t n = whole(0, 70), k = whole(1, 12), features = whole(1, 6), threads = whole(1, 3);
    const bool two = whole(0, 1);
    const auto numbers = [](int64_t count) {
        Doubles out(static_cast<size_t>(count));
        for (double &each : out) each = wild && uniform() < 0.1 ? anything() : 0.01 + 0.98 * uniform();
        return out;
    };
    const Doubles x = numbers(n * features), law = numbers(2 * k * features), other = numbers(2 * k * features),
                  between = numbers(2 * k * features), constant = numbers(k);
    Doubles log_p(size_t(n * k)), log_q(log_p), ratio(log_p);
    const CurveLaws q{k, features, other.data(), constant.data()};
    const CurveTask task{Curve(whole(0, 5)),
                         {k, features, law.data(), constant.data()},
                         &q,
                         two ? between.data() : nullptr,
                         constant.data(),
                         x.data(),
                         log_p.data(),
                         log_q.data(),
                         ratio.data()};
    bool odd = false, none = false;
    if (curve_rows(task, n, threads, odd) != Status::done) fail("curve_rows", round);
    for (const Doubles *table : {&log_p, &log_q, &ratio})
        for (double each : *table) none |= !(fabs(each) <= 1e300);
    if (none != odd) fail("a curve out of range and no word of it", round);
    if (odd && !wild) fail("curves out of range", round);
}

// Log-densities: rows in the lanes, of any number of columns and states, with q and without.
void emission_kernels(int round) {
    const int64_t n = whole(0, 70), k = whole(1, 12), features = whole(0, 9) ? whole(1, 6) : whole(30, 45);
    const int64_t threads = whole(1, 3), components = whole(1, 4);
    const bool full = whole(0, 1), two = whole(0, 1), with_q = whole(0, 1);
    const int64_t width = full ? features * features : features;
    const auto numbers = [](int64_t count, double share) {
        Doubles out(static_cast<size_t>(count));
        for (double &each : out) each = wild && uniform() < share ? anything() : 4.0 * uniform() - 2.0;
        return out;
    };
    const Doubles x = numbers(n * features, 0.2), mean = numbers(k * features, 0.05), whiten = numbers(k * width, 0.05),
                  constant = numbers(k, 0.05), mean_q = numbers(k * features, 0.05),
                  linear = numbers(k * features, 0.05), square = numbers(k * width, 0.05);
    std::vector<char> near(static_cast<size_t>(k));
    for (char &each : near) each = char(whole(0, 1));
    Doubles log_p(size_t(n * k)), log_q(log_p), ratio(log_p);
    const NormalLaws p{k, features, full, mean.data(), whiten.data(), constant.data()},
        q{k, features, full, mean_q.data(), whiten.data(), constant.data()};
    const NormalRatio between{reinterpret_cast<const bool *>(near.data()), constant.data(), linear.data(),
                              square.data()};
    const NormalTask task{p,
                          two ? &q : nullptr,
                          two ? &between : nullptr,
                          x.data(),
                          log_p.data(),
                          two && with_q ? log_q.data() : nullptr,
                          two ? ratio.data() : nullptr};
    bool odd = false;
    if (normal_rows(task, n, threads, odd) != Status::done) fail("normal_rows", round);
    bool none = false;
    for (const Doubles *table : {&log_p, &ratio})
        for (double each : *table) none |= !(fabs(each) <= 1e300);
    if (none && !odd) fail("a number that is none and no word of it", round);
    if (odd && !wild) fail("log-densities out of range", round);
    if (two && !full) {
        const Doubles initial = rows(1, k, 0.0), transition = rows(k, k, 0.0), none_apart(static_cast<size_t>(k * k));
        const Law chain{initial.data(), transition.data(), nullptr};
        const LawPair pair{k, 1, n, chain, chain, none_apart.data(), none_apart.data(), nullptr, nullptr};
        Ints start{0};
        while (start.back() < n) start.push_back(std::min(n, start.back() + whole(1, 100)));
        std::vector<Divergence> results(start.size() - 1);
        const Status status = posterior_batch(pair, {n, nullptr, nullptr, nullptr, nullptr}, start.data(),
                                              int64_t(results.size()), threads, results.data(), &task);
        if (odd && status == Status::done) fail("posterior_batch overlooks a number that is none", round);
        for (const Divergence &each : results)
            if (status == Status::done && !each.beyond && each.impossible_p < 0 && each.impossible_q < 0)
                check_number(each.value, "posterior_batch of normal laws", round);
    }
    std::vector<Doubles> tables[3];
    std::vector<const double *> at[3];
    for (int t = 0; t < 3; ++t)
        for (int64_t c = 0; c < components; ++c) tables[t].push_back(numbers(n * k, 0.2));
    for (int t = 0; t < 3; ++t)
        for (const Doubles &each : tables[t]) at[t].push_back(each.data());
    Doubles weights = numbers(components * k, 0.05);
    if (wild && whole(0, 3) == 0) std::fill(weights.begin(), weights.end(), -HUGE_VAL);  // no component has weight
    const MixtureTask mixture{k,
                              components,
                              at[0].data(),
                              two ? at[1].data() : nullptr,
                              two && with_q ? at[2].data() : nullptr,
                              weights.data(),
                              weights.data(),
                              weights.data(),
                              log_p.data(),
                              two ? log_q.data() : nullptr,
                              two ? ratio.data() : nullptr};
    if (mixture_rows(mixture, n, threads, odd) != Status::done) fail("mixture_rows", round);
    for (double each : log_p) check_number(each, "mixture_rows", round);
    if (odd && !wild) fail("mixtures out of range", round);
    // Counts, some not seen; wild ones are anything at all, and a number of another row is met too.
    Doubles counts(static_cast<size_t>(n * features)), least(static_cast<size_t>(features)), most(least);
    for (double &each : counts)
        each = wild && uniform() < 0.1 ? anything() : uniform() < 0.1 ? NAN : double(whole(0, 30));
    if (!count_range(counts.data(), n, features, least.data(), most.data())) {
        if (!wild) fail("counts that are none", round);
        return;
    }
    std::vector<int64_t> low(static_cast<size_t>(features)), start(1, 0), first(static_cast<size_t>(features + 1));
    for (size_t f = 0; f < low.size(); ++f) {
        if (most[f] - least[f] > 1e6) return;
        low[f] = int64_t(least[f]);
        start.push_back(start.back() + int64_t(most[f] - least[f]) + 1);
    }
    std::vector<int32_t> place(static_cast<size_t>(start.back()), -1);
    number_counts(counts.data(), n, features, low.data(), start.data(), place.data(), first.data());
    const int64_t listed = first.back() + 1;
    const Doubles values = numbers(listed * k, 0.05), ratios = numbers(listed * k, 0.05);
    CountTask look{{features, listed, low.data(), start.data(), place.data()},
                   k,
                   counts.data(),
                   values.data(),
                   two ? ratios.data() : nullptr,
                   log_p.data(),
                   two ? ratio.data() : nullptr};
    if (count_rows(look, n, threads, odd) != Status::done) fail("count_rows", round);
    if (odd && !wild) fail("a count that is not in its table", round);
    if (n > 0) counts[size_t(whole(0, n * features - 1))] = whole(0, 1) ? anything() : 1e9;
    if (count_rows(look, n, threads, odd) != Status::done) fail("count_rows", round);
}

// Symbols of q that p emits and q cannot are met too: infinities are answers, NaN is not.
void certificate_kernels(int round) {
    const int64_t n = whole(1, 4), k = whole(1, 5), m = whole(1, 4), cells = whole(1, 9);
    const double zeros = whole(0, 1) ? 0.3 : 0.0;
    const Doubles transition_p = rows(n, n, zeros), probabilities_p = rows(n, m, zeros),
                  transition_q = rows(k, k, zeros), probabilities_q = rows(k, m, zeros), start = rows(2, k, zeros);
    const Symbols p{n, m, transition_p.data(), probabilities_p.data()},
        q{k, m, transition_q.data(), probabilities_q.data()};
    Doubles ticks;
    for (int64_t i = 0; i <= cells; ++i) ticks.push_back(double(i) / double(cells));
    const uint64_t start_states[2] = {1, (uint64_t(1) << n) - 1};
    BeliefGrid grid;
    belief_grid(p, q, 2, start.data(), start_states, cells + 1, ticks.data(), 3000, grid);
    if (!grid.complete) return;
    const int64_t points = int64_t(grid.reached.size());
    const Neighbours around{points, m, k, grid.index.data(), grid.weights.data()};
    Doubles cost(size_t(points * n)), values(cost.size()), slopes(size_t(points * n * k), 1.0),
        chance(size_t(points * m), 1.0 / double(m));
    std::vector<char> reached(cost.size());
    for (int64_t j = 0; j < points; ++j)
        for (int64_t s = 0; s < n; ++s) {
            reached[size_t(j * n + s)] = grid.reached[size_t(j)] >> s & 1;
            cost[size_t(j * n + s)] = uniform() < 0.1 * zeros ? HUGE_VAL : uniform();
        }
    const bool *there = reinterpret_cast<const bool *>(reached.data());
    double least, largest;
    spread_sweeps(p, around, cost.data(), there, values.data(), 3, whole(0, 1) == 0, least, largest);
    for (double each : values) check_number(each, "spread_sweeps", round);
    std::fill(values.begin(), values.end(), 0.0);
    tangent_sweeps(p, q, around, grid.points.data(), there, values.data(), slopes.data(), 3, least);
    for (double each : slopes) check_number(each, "tangent_sweeps", round);
    chance_sweeps(around, chance.data(), grid.points.data(), values.data(), 3, least, largest);
    const Doubles law = rows(1, n, 0.0), middle = rows(1, k, 0.0);
    Contexts contexts;
    cross_contexts(p, law.data(), q, middle.data(), 1e-2, 30, 2000, contexts);
    check_number(contexts.lower, "cross_contexts", round);
    check_number(contexts.upper, "cross_contexts", round);
    entropy_contexts(p, law.data(), 1e-2, 30, 2000, contexts);
    check_number(contexts.lower, "entropy_contexts", round);
    check_number(contexts.upper, "entropy_contexts", round);
    Doubles laws;
    for (int64_t k = 0; k <= 12; ++k)
        for (double each : law) laws.push_back(double(12 - k) * each);
    chain_contexts(p, law.data(), laws.data(), whole(0, 1) ? &q : nullptr, middle.data(), middle.data(), 1e-2, 12, 2000,
                   contexts);
    check_number(contexts.lower, "chain_contexts", round);
    check_number(contexts.upper, "chain_contexts", round);
}

// A few p against a few q on random kinds of subtrees; some turns, some states that q cannot follow.
// std::vector<bool> has no data().
struct ScratchFlags {
    explicit ScratchFlags(int64_t count) : values(static_cast<bool *>(zeroed(count))) {}
    ~ScratchFlags() { free(values); }
    ScratchFlags(const ScratchFlags &) = delete;
    ScratchFlags &operator=(const ScratchFlags &) = delete;
    bool *values;
};

void comparison_kernels(int round) {
    const int64_t kinds = whole(1, 5), m = whole(1, 3), n = whole(1, 20), kp = whole(1, 4), kq = whole(1, 4),
                  groups = whole(1, 3);
    const double zeros = whole(0, 1) ? 0.0 : 0.3;
    Ints group, start{0}, child, repeat, own_start{0};
    Doubles count;
    for (int64_t c = 0; c < kinds; ++c) {
        group.push_back(whole(0, groups - 1));
        const int64_t children = c == 0 ? 0 : whole(1, 3);
        for (int64_t k = 0; k < children; ++k) {
            child.push_back(whole(0, c - 1));
            count.push_back(whole(0, 1) ? 1.0 : 4.0 * uniform());
        }
        start.push_back(int64_t(child.size()));
        repeat.push_back(children == 1 ? whole(1, 30) : 1);
        if (c + 1 < kinds) own_start.push_back(own_start.back() + whole(1, repeat.back()));
    }
    const int64_t turns = std::max<int64_t>(1, own_start.back());
    Doubles own(size_t(m * turns * kp)), own_root(static_cast<size_t>(m)), emission(size_t(groups * m * kp * kq * n)),
        out(size_t(m * n));
    for (double &each : own) each = -uniform();
    for (double &each : emission) each = uniform() < zeros ? HUGE_VAL : pow(10.0, double(whole(-3, 3))) * uniform();
    const Doubles initial_p = rows(m, kp, zeros), transition_p = rows(m * groups * kp, kp, zeros);
    // The models of q lie side by side, so rows are drawn one by one and spread.
    Doubles initial_q(size_t(kq * n)), transition_q(size_t(groups * kq * kq * n));
    for (int64_t j = 0; j < n; ++j) {
        const Doubles first = rows(1, kq, zeros), steps = rows(groups * kq, kq, zeros);
        for (int64_t s = 0; s < kq; ++s) initial_q[size_t(s * n + j)] = first[size_t(s)];
        for (size_t x = 0; x < steps.size(); ++x) transition_q[x * size_t(n) + size_t(j)] = steps[x];
    }
    const VariationalPairs task{kinds,
                                group.data(),
                                start.data(),
                                child.data(),
                                count.data(),
                                repeat.data(),
                                own_start.data(),
                                turns,
                                own.data(),
                                own_root.data(),
                                m,
                                n,
                                kp,
                                kq,
                                groups,
                                groups,
                                groups,
                                initial_p.data(),
                                transition_p.data(),
                                initial_q.data(),
                                transition_q.data(),
                                emission.data()};
    variational_pairs(task, whole(1, 3), out.data());
    for (double each : out) check_number(each, "variational_pairs", round);
    for (double &each : emission) each = -each;
    const ProductPairs products{kinds,
                                group.data(),
                                start.data(),
                                child.data(),
                                count.data(),
                                repeat.data(),
                                m,
                                n,
                                kp,
                                kq,
                                groups,
                                groups,
                                groups,
                                initial_p.data(),
                                transition_p.data(),
                                initial_q.data(),
                                transition_q.data(),
                                emission.data()};
    product_pairs(products, whole(1, 3), out.data());
    for (double each : out) check_number(each, "product_pairs", round);
}

// A few sequences, symbols or densities of very different sizes, with and without the dearer columns.
void estimate_kernels(int round) {
    const int64_t n = whole(1, 40), length = whole(1, 12), kp = whole(1, 4), kq = whole(1, 4), points = whole(1, 5);
    const double zeros = whole(0, 1) ? 0.0 : 0.3;
    const bool symbols = whole(0, 1) == 0, counted = whole(0, 3) > 0;
    const Doubles initial_p = rows(1, kp, zeros), transition_p = rows(kp, kp, zeros), at_p = rows(kp, points, zeros),
                  initial_q = rows(1, kq, zeros), transition_q = rows(kq, kq, zeros), at_q = rows(kq, points, zeros),
                  scale(static_cast<size_t>(points)), mass(static_cast<size_t>(points), 1.0);
    const int64_t count = symbols ? points : n * length;
    Doubles weight_p(size_t(count * kp)), weight_q(size_t(count * kq)), log_p(weight_p.size()), log_q(weight_q.size());
    for (double &each : weight_p) each = uniform() < zeros ? 0.0 : exp(-100.0 * uniform());
    for (double &each : weight_q) each = uniform() < zeros ? 0.0 : exp(-100.0 * uniform());
    for (size_t i = 0; i < log_p.size(); ++i) log_p[i] = log(weight_p[i] + 1e-9);
    for (size_t i = 0; i < log_q.size(); ++i) log_q[i] = log(weight_q[i] + 1e-9);
    Ints row_of(size_t(n * length));
    for (int64_t &each : row_of) each = whole(0, count - 1);
    ChainSums task{};
    task.n = n, task.length = length, task.states_p = kp, task.states_q = kq, task.rows = count, task.points = points;
    task.last = whole(0, 9);
    task.initial_p = initial_p.data(), task.transition_p = transition_p.data(), task.weight_p = weight_p.data();
    task.initial_q = initial_q.data(), task.transition_q = transition_q.data(), task.weight_q = weight_q.data();
    task.row_of = row_of.data(), task.at_p = at_p.data(), task.at_q = at_q.data(), task.scale = scale.data(),
    task.mass = mass.data();
    if (whole(0, 1)) task.next_p = at_p.data(), task.next_q = at_q.data();
    if (counted && !symbols) task.log_p = log_p.data(), task.log_q = log_q.data();
    task.symbols = counted && symbols, task.products = whole(0, 1), task.cubes = whole(0, 1);
    Doubles out(size_t(n * task.columns()), NAN);
    bool sound = true;
    chain_sums(task, whole(1, 3), out.data(), sound);
    if (sound)
        for (double each : out) check_number(each, "chain_sums", round);
}

void product_kernels(int round) {
    const int64_t m = whole(1, 70), n = whole(1, 70), width = whole(0, 9) ? whole(1, 12) : whole(250, 520),
                  stride = n + whole(0, 3);
    Doubles left(size_t(m * width)), right(size_t(n * width)), bound(static_cast<size_t>(m)),
        out(size_t((m - 1) * stride + n));
    for (double &each : left) each = uniform() - 0.5;
    for (double &each : right) each = uniform() - 0.5;
    const ScratchFlags small(m);
    threaded_products(
        {m, n, width, left.data(), right.data(), bound.data(), whole(0, 1) == 1, out.data(), stride, small.values},
        whole(1, 3));
    for (double each : out) check_number(each, "products", round);
}

void mean_law_kernels(int round) {
    const int64_t m = whole(0, 20), k = whole(1, 9), steps = whole(0, 5);
    Doubles initial(size_t(m * k)), transition(size_t(m * k * k)), weight(size_t(2 * steps)), out(size_t(m * k));
    for (double &each : initial) each = uniform() + 0.01;
    for (double &each : transition) each = uniform() + 0.01;
    for (double &each : weight) each = uniform();
    table().mean_laws({m, k, steps, initial.data(), transition.data(), weight.data()}, out.data());
    for (double each : out) check_number(each, "mean_laws", round);
}

}  // namespace

int main(int argc, char **argv) {
    const int rounds = argc > 1 ? atoi(argv[1]) : 3000;
    for (const std::string &name : targets()) {
        set_target(name);
        engine.seed(1);
        for (int round = 0; round < rounds; ++round) {
            wild = round % 8 == 7;
            const Case c;
            joint_kernels(c, round);
            posterior_kernels(c, round);
            if (round % 4 == 0) certificate_kernels(round);
            if (round % 10 == 0) rising_kernel(round);
            comparison_kernels(round);
            estimate_kernels(round);
            product_kernels(round);
            mean_law_kernels(round);
            moment_kernels(round);
            emission_kernels(round);
            curve_kernels(round);
        }
        printf("fuzz: %d rounds on %s\n", rounds, name.c_str());
    }
}
