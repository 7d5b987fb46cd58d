// What is possible, decided on zeros alone: sets of states as words of bits.
#include "one_model/support.hpp"

#include <math.h>
#include <string.h>

namespace hidiv {

void StateSets::load(int64_t u, uint64_t *set) const {
    set[0] = 0;
    memcpy(set, data_.data() + u * bytes_, size_t(bytes_));  // little-endian words, or whole ones
}

void StateSets::store(int64_t u, const uint64_t *set) { memcpy(data_.data() + u * bytes_, set, size_t(bytes_)); }

namespace {

using Words = std::vector<uint64_t>;

// (G, K) sets: the states each row reaches.
Words row_sets(const double *transition, int64_t transitions, int64_t states) {
    const int64_t words = (states + 63) / 64;
    Words sets(size_t(transitions * states * words), 0);
    for (int64_t i = 0; i < transitions * states; ++i)
        for (int64_t s = 0; s < states; ++s)
            if (transition[i * states + s] > 0) sets[size_t(i * words + (s >> 6))] |= uint64_t(1) << (s & 63);
    return sets;
}

void positive(const double *log_weight, int64_t states, uint64_t *set) {
    memset(set, 0, size_t((states + 63) / 64) * 8);
    for (int64_t s = 0; s < states; ++s)
        if (log_weight[s] > -HUGE_VAL) set[s >> 6] |= uint64_t(1) << (s & 63);
}

bool meet(const uint64_t *a, const uint64_t *b, int64_t words) {
    for (int64_t i = 0; i < words; ++i)
        if (a[i] & b[i]) return true;
    return false;
}

}  // namespace

int64_t upward_support(const Law &law, int64_t states, int64_t transitions, const Places &places, StateSets &sets) {
    const int64_t words = sets.words();
    const Words rows = row_sets(law.transition, transitions, states);
    Words all(size_t(words), 0), own(all), weight(all), message(all), parent(all);
    for (int64_t s = 0; s < states; ++s) all[size_t(s >> 6)] |= uint64_t(1) << (s & 63);
    for (int64_t u = 0; u < places.n; ++u) sets.store(u, all.data());
    int64_t failed = -1;
    for (int64_t u = places.n - 1; u >= 0; --u) {
        sets.load(u, own.data());
        positive(law.log_weight + places.row(u) * states, states, weight.data());
        for (int64_t i = 0; i < words; ++i) own[size_t(i)] &= weight[size_t(i)];
        sets.store(u, own.data());
        if (u == 0) break;
        memset(message.data(), 0, size_t(words) * 8);
        const uint64_t *row = rows.data() + places.transition(u) * states * words;
        bool any = false;
        for (int64_t r = 0; r < states; ++r)
            if (meet(row + r * words, own.data(), words)) {
                message[size_t(r >> 6)] |= uint64_t(1) << (r & 63);
                any = true;
            }
        if (!any && failed < 0) failed = u;
        sets.load(places.up(u), parent.data());
        for (int64_t i = 0; i < words; ++i) parent[size_t(i)] &= message[size_t(i)];
        sets.store(places.up(u), parent.data());
    }
    if (failed < 0) {
        bool any = false;
        for (int64_t s = 0; s < states; ++s) any = any || (law.initial[s] > 0 && has(own.data(), s));
        if (!any) failed = 0;
    }
    return failed;
}

void posterior_support(const Law &law, int64_t states, int64_t transitions, const Places &places, StateSets &sets) {
    const int64_t words = sets.words();
    const Words rows = row_sets(law.transition, transitions, states);
    Words own(size_t(words), 0), parent(own), reach(own);
    sets.load(0, own.data());
    for (int64_t s = 0; s < states; ++s)
        if (!(law.initial[s] > 0)) own[size_t(s >> 6)] &= ~(uint64_t(1) << (s & 63));
    sets.store(0, own.data());
    for (int64_t u = 1; u < places.n; ++u) {
        sets.load(places.up(u), parent.data());
        sets.load(u, own.data());
        memset(reach.data(), 0, size_t(words) * 8);
        const uint64_t *row = rows.data() + places.transition(u) * states * words;
        for (int64_t r = 0; r < states; ++r)
            if (has(parent.data(), r))
                for (int64_t i = 0; i < words; ++i) reach[size_t(i)] |= row[r * words + i];
        for (int64_t i = 0; i < words; ++i) own[size_t(i)] &= reach[size_t(i)];
        sets.store(u, own.data());
    }
}

bool first_gap(const LawPair &pair, const Places &places, const StateSets &reached, int64_t place[3]) {
    const int64_t states = pair.states;
    Words own(size_t(reached.words()), 0), parent(own);
    for (int64_t u = 0; u < places.n; ++u) {
        reached.load(u, own.data());
        if (u) reached.load(places.up(u), parent.data());
        const int64_t row = places.row(u) * states;
        const double *p = pair.p.transition + places.transition(u) * states * states;
        const double *q = pair.q.transition + places.transition(u) * states * states;
        for (int64_t r = 0; r < (u ? states : 1); ++r) {
            if (u && !has(parent.data(), r)) continue;
            for (int64_t s = 0; s < states; ++s) {
                if (!has(own.data(), s) || (u && !(p[r * states + s] > 0))) continue;
                const bool shut = pair.q.log_weight[row + s] == -HUGE_VAL ||
                                  (pair.residual && pair.residual[row + s] == HUGE_VAL) ||
                                  (u ? q[r * states + s] == 0.0 : pair.q.initial[s] == 0.0);
                if (shut) {
                    place[0] = u;
                    place[1] = u ? r : -1;
                    place[2] = s;
                    return true;
                }
            }
        }
    }
    return false;
}

bool has_zeros(const LawPair &pair) {
    bool zero = false;
    for (int64_t s = 0; s < pair.states; ++s) zero |= pair.p.initial[s] == 0.0 || pair.q.initial[s] == 0.0;
    for (int64_t i = 0; i < pair.transitions * pair.states * pair.states; ++i)
        zero |= pair.p.transition[i] == 0.0 || pair.q.transition[i] == 0.0;
    for (int64_t i = 0; i < pair.rows * pair.states; ++i)
        zero |= pair.p.log_weight[i] == -HUGE_VAL || pair.q.log_weight[i] == -HUGE_VAL;
    if (pair.residual)
        for (int64_t i = 0; i < pair.rows * pair.states; ++i) zero |= pair.residual[i] == HUGE_VAL;
    return zero;
}

}  // namespace hidiv
