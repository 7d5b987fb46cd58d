// Sweeps over a grid of filters: bounds of what q, or p itself, will cost in the symbols to come.
#include <math.h>

#include <algorithm>
#include <new>

#include "certified/certified.hpp"
#include "runtime/parallel.hpp"

namespace hidiv {
namespace {

constexpr double smallest = 1e-280;  // dividing by less would overflow

constexpr int64_t block = 512;  // points of a piece of work

struct Range {
    double least = HUGE_VAL, largest = -HUGE_VAL;
    void meet(double change) {
        least = std::min(least, change);
        largest = std::max(largest, change);
    }
};

// work(from, to, piece) on blocks of points.
template <typename Work>
Status blocks(int64_t points, int64_t cost_of_one, Work work) {
    const int64_t pieces = (points + block - 1) / block;
    const int64_t threads = points * cost_of_one < 200000 ? 1 : usable_threads(0);
    return parallel(pieces, threads, [&](int64_t piece) {
        work(piece * block, std::min(points, (piece + 1) * block), piece);
        return Status::done;
    });
}

Range joined(const std::vector<Range> &parts) {
    Range all;
    for (const Range &part : parts) {
        all.least = std::min(all.least, part.least);
        all.largest = std::max(all.largest, part.largest);
    }
    return all;
}

// What may follow state s of p: sum over s' of transition(s, s') ahead(s'), zeros excluding infinities.
inline double following(const double *row, const double *ahead, int64_t states) {
    double sum = 0.0;
    for (int64_t to = 0; to < states; ++to)
        if (row[to] > 0) sum += row[to] * ahead[to];
    return sum;
}

}  // namespace

Status spread_sweeps(const Symbols &p, const Neighbours &grid, const double *cost, const bool *reached, double *values,
                     int64_t count, bool logarithmic, double &least, double &largest) try {
    const int64_t n = p.states, size = grid.points * n;
    std::vector<double> before(static_cast<size_t>(size)), powers(static_cast<size_t>(logarithmic ? size : 0));
    std::vector<Range> ranges(static_cast<size_t>((grid.points + block - 1) / block));
    for (int64_t sweep = 0; sweep < count; ++sweep) {
        double base = HUGE_VAL;
        for (int64_t i = 0; i < size; ++i) base = std::min(base, values[i]);
        if (!(base < HUGE_VAL)) base = 0.0;
        Status status = blocks(grid.points, n, [&](int64_t from, int64_t to, int64_t) {
            std::copy(values + from * n, values + to * n, before.begin() + from * n);
            if (logarithmic)
                for (int64_t i = from * n; i < to * n; ++i) powers[size_t(i)] = exp(base - values[i]);
        });
        if (status != Status::done) return status;
        const double *source = logarithmic ? powers.data() : before.data();
        status =
            blocks(grid.points, n * grid.symbols * (logarithmic ? 8 : 2), [&](int64_t from, int64_t to, int64_t piece) {
                std::vector<double> ahead(static_cast<size_t>(n)), mean(static_cast<size_t>(n));
                Range range;
                for (int64_t j = from; j < to; ++j) {
                    std::fill(ahead.begin(), ahead.end(), 0.0);
                    for (int64_t x = 0; x < grid.symbols; ++x) {
                        const int64_t at = (j * grid.symbols + x) * grid.around;
                        std::fill(mean.begin(), mean.end(), 0.0);
                        for (int64_t i = 0; i < grid.around; ++i) {
                            const double weight = grid.weights[at + i];
                            if (!(weight > 0)) continue;
                            const double *there = source + int64_t(grid.index[at + i]) * n;
                            for (int64_t s = 0; s < n; ++s) mean[size_t(s)] += weight * there[s];
                        }
                        for (int64_t s = 0; s < n; ++s) {
                            const double emits = p.probabilities[s * grid.symbols + x];
                            if (emits > 0)
                                ahead[size_t(s)] +=
                                    emits * (logarithmic ? base - log(mean[size_t(s)]) : mean[size_t(s)]);
                        }
                    }
                    for (int64_t s = 0; s < n; ++s) {
                        const double value = cost[j * n + s] + following(p.transition + s * n, ahead.data(), n);
                        values[j * n + s] = value;
                        const double old = before[size_t(j * n + s)];
                        if (reached[j * n + s] && old < HUGE_VAL) range.meet(value - old);
                    }
                }
                ranges[size_t(piece)] = range;
            });
        if (status != Status::done) return status;
    }
    const Range all = joined(ranges);
    least = all.least, largest = all.largest;
    return Status::done;
} catch (const std::bad_alloc &) {
    return Status::no_memory;
}

Status tangent_sweeps(const Symbols &p, const Symbols &q, const Neighbours &grid, const double *points,
                      const bool *reached, double *values, double *slopes, int64_t count, double &least) try {
    const int64_t n = p.states, k = q.states, m = grid.symbols;
    std::vector<double> old_values(static_cast<size_t>(grid.points * n)),
        old_slopes(static_cast<size_t>(grid.points * n * k));
    std::vector<Range> ranges(static_cast<size_t>((grid.points + block - 1) / block));
    for (int64_t sweep = 0; sweep < count; ++sweep) {
        std::copy(values, values + grid.points * n, old_values.begin());
        std::copy(slopes, slopes + grid.points * n * k, old_slopes.begin());
        const bool last = sweep + 1 == count;
        const Status status = blocks(grid.points, n * m * 12, [&](int64_t from, int64_t to, int64_t piece) {
            std::vector<double> ahead(static_cast<size_t>(n)), tilt(static_cast<size_t>(n * k)),
                moved(static_cast<size_t>(k)), seen(static_cast<size_t>(k)), sum(static_cast<size_t>(k));
            Range range;
            for (int64_t j = from; j < to; ++j) {
                std::fill(ahead.begin(), ahead.end(), 0.0);
                std::fill(tilt.begin(), tilt.end(), 0.0);
                for (int64_t r = 0; r < k; ++r) {
                    moved[size_t(r)] = 0.0;
                    for (int64_t f = 0; f < k; ++f) moved[size_t(r)] += points[j * k + f] * q.transition[f * k + r];
                }
                for (int64_t x = 0; x < m; ++x) {
                    for (int64_t r = 0; r < k; ++r) seen[size_t(r)] = moved[size_t(r)] * q.probabilities[r * m + x];
                    const int64_t at = (j * m + x) * grid.around;
                    for (int64_t i = 0; i < grid.around; ++i) {
                        const double weight = grid.weights[at + i];
                        if (!(weight > 0)) continue;
                        const int64_t there = int64_t(grid.index[at + i]) * n;
                        for (int64_t s = 0; s < n; ++s) {
                            const double emits = p.probabilities[s * m + x] * weight;
                            if (!(emits > 0)) continue;
                            const double *slope = old_slopes.data() + (there + s) * k;
                            double t = 0.0;
                            for (int64_t r = 0; r < k; ++r) t += seen[size_t(r)] * slope[r];
                            if (!(t > smallest))  // any positive number will do: as if q were anywhere
                                for (int64_t f = 0; f < k; ++f)
                                    for (int64_t r = 0; r < k; ++r)
                                        t +=
                                            q.transition[f * k + r] * q.probabilities[r * m + x] * slope[r] / double(k);
                            if (!(t > smallest)) t = 1.0;
                            ahead[size_t(s)] += emits * (old_values[size_t(there + s)] - log(t));
                            const double share = emits / t;
                            for (int64_t r = 0; r < k; ++r)
                                tilt[size_t(s * k + r)] += share * q.probabilities[r * m + x] * slope[r];
                        }
                    }
                }
                for (int64_t s = 0; s < n; ++s) {
                    const double *row = p.transition + s * n;
                    std::fill(sum.begin(), sum.end(), 0.0);
                    double value = 0.0;
                    for (int64_t next = 0; next < n; ++next) {
                        if (!(row[next] > 0)) continue;
                        value += row[next] * ahead[size_t(next)];
                        for (int64_t r = 0; r < k; ++r) sum[size_t(r)] += row[next] * tilt[size_t(next * k + r)];
                    }
                    double ratio = 0.0;
                    for (int64_t f = 0; f < k; ++f) {
                        double slope = 0.0;
                        for (int64_t r = 0; r < k; ++r) slope += q.transition[f * k + r] * sum[size_t(r)];
                        slopes[(j * n + s) * k + f] = slope;
                        if (slope > 0) ratio = std::max(ratio, slope / old_slopes[size_t((j * n + s) * k + f)]);
                    }
                    values[j * n + s] = value;
                    if (last && reached[j * n + s]) range.meet(value - old_values[size_t(j * n + s)] - log(ratio));
                }
            }
            ranges[size_t(piece)] = range;
        });
        if (status != Status::done) return status;
    }
    least = joined(ranges).least;
    return Status::done;
} catch (const std::bad_alloc &) {
    return Status::no_memory;
}

Status chance_sweeps(const Neighbours &grid, const double *chance, const double *cost, double *values, int64_t count,
                     double &least, double &largest) try {
    std::vector<double> before(static_cast<size_t>(grid.points));
    std::vector<Range> ranges(static_cast<size_t>((grid.points + block - 1) / block));
    for (int64_t sweep = 0; sweep < count; ++sweep) {
        std::copy(values, values + grid.points, before.begin());
        const Status status =
            blocks(grid.points, grid.symbols * grid.around, [&](int64_t from, int64_t to, int64_t piece) {
                Range range;
                for (int64_t j = from; j < to; ++j) {
                    double value = cost[j];
                    for (int64_t x = 0; x < grid.symbols; ++x) {
                        const int64_t at = (j * grid.symbols + x) * grid.around;
                        double mean = 0.0;
                        for (int64_t i = 0; i < grid.around; ++i)
                            mean += grid.weights[at + i] * before[size_t(grid.index[at + i])];
                        value += chance[j * grid.symbols + x] * mean;
                    }
                    values[j] = value;
                    range.meet(value - before[size_t(j)]);
                }
                ranges[size_t(piece)] = range;
            });
        if (status != Status::done) return status;
    }
    const Range all = joined(ranges);
    least = all.least, largest = all.largest;
    return Status::done;
} catch (const std::bad_alloc &) {
    return Status::no_memory;
}

}  // namespace hidiv
