// Sequence by sequence in the lanes of a vector; a lane that is done takes the next one.
//
// A way of doing the steps (lane_ways.hpp) has
//   begin(l), repeat(l, other)       lane l before its first node; an empty lane does what another does
//   steps(node, count)               that many nodes of every lane; false: none was done
//   settle(l, count)                 after them; false where this sequence is to be done in another way
//   finish(l, sequence, root)        the outcome; false as above
#pragma once

#include <algorithm>
#include <vector>

#include "posterior/steps.hpp"
#include "runtime/targets.hpp"

namespace hidiv {

template <class Way>
class LaneSweep {
public:
    LaneSweep(Way &way, const int64_t *start) : way_(way), start_(start), width_(table().lane_count()) {}

    // The sequences that need another way are appended to left: all that remain when most of them do.
    void run(const std::vector<int64_t> &todo, std::vector<int64_t> &left) {
        while (true) {
            int64_t active = -1, count = steps_at_once;
            for (int64_t l = 0; l < width_; ++l) {
                refill(l, todo, left);
                if (lane_[l].sequence < 0) continue;
                active = active < 0 ? l : active;
                count = std::min(count, lane_[l].left);
            }
            if (active < 0) break;
            advance(active, count, left);
        }
        left.insert(left.end(), todo.begin() + int64_t(next_), todo.end());
    }

private:
    struct Lane {
        int64_t sequence = -1, node = 0, left = 0;  // the next node, and how many before the root
    };

    void refill(int64_t l, const std::vector<int64_t> &todo, std::vector<int64_t> &left) {
        Lane &lane = lane_[l];
        while (lane.sequence < 0 || lane.left == 0) {
            if (lane.sequence >= 0) {
                if (way_.finish(l, lane.sequence, lane.node))
                    ++done_;
                else
                    give_up(lane, left);
            }
            lane = Lane();
            if (next_ >= todo.size() || given_up_ > done_ + width_) return;
            lane.sequence = todo[next_++];
            lane.node = start_[lane.sequence + 1] - 1;
            lane.left = lane.node - start_[lane.sequence];
            way_.begin(l);
        }
    }
    void give_up(Lane &lane, std::vector<int64_t> &left) {
        left.push_back(lane.sequence);
        ++given_up_;
        lane = Lane();
    }
    void advance(int64_t active, int64_t count, std::vector<int64_t> &left) {
        int64_t node[most_lanes];
        for (int64_t l = 0; l < width_; ++l) {
            node[l] = lane_[lane_[l].sequence < 0 ? active : l].node;
            if (lane_[l].sequence < 0) way_.repeat(l, active);
        }
        const bool good = way_.steps(node, count);
        for (int64_t l = 0; l < width_; ++l) {
            Lane &lane = lane_[l];
            if (lane.sequence < 0) continue;
            lane.node -= count;
            lane.left -= count;
            if (!good || !way_.settle(l, count)) give_up(lane, left);
        }
    }

    Way &way_;
    const int64_t *start_;
    int64_t width_, done_ = 0, given_up_ = 0;
    size_t next_ = 0;
    Lane lane_[most_lanes];
};

}  // namespace hidiv
