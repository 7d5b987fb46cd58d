// What is possible, decided on zeros alone (recursions/boolean_messages.py). Sets of states are words of bits.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <vector>

#include "one_model/model_tables.hpp"

namespace hidiv {

class StateSets {
public:
    StateSets(int64_t n, int64_t states)
        : words_((states + 63) / 64), bytes_(states <= 8    ? 1
                                             : states <= 16 ? 2
                                             : states <= 32 ? 4
                                                            : 8 * words_),
          data_(size_t(n * bytes_), 0) {}
    int64_t words() const { return words_; }
    void load(int64_t u, uint64_t *set) const;
    void store(int64_t u, const uint64_t *set);

private:
    int64_t words_, bytes_;
    std::vector<unsigned char> data_;
};

inline bool has(const uint64_t *set, int64_t s) { return (set[s >> 6] >> (s & 63)) & 1; }

// Fills the upward support of every node; returns the first node, from the last one down, that fails, or -1.
int64_t upward_support(const Law &, int64_t states, int64_t transitions, const Places &, StateSets &);
// Upward support becomes the set of states of positive posterior probability.
void posterior_support(const Law &, int64_t states, int64_t transitions, const Places &, StateSets &);
// The first place p reaches and q forbids; false when there is none.
bool first_gap(const LawPair &, const Places &, const StateSets &reached, int64_t place[3]);
// True when some zero or infinity in the tables asks for the sets at all.
bool has_zeros(const LawPair &);

}  // namespace hidiv
