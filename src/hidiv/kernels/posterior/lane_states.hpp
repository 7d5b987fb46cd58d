// The number of states of a lane kernel as a constant, from a number known at run time.
#pragma once

#include <stdint.h>

#include "posterior/steps.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

template <int K>
struct States {
    static constexpr int count = K;
};

// call(States<K>()) for the K = `states` of a tree; false for others.
template <class Call>
bool with_few_states(int64_t states, const Call &call) {
    static_assert(most_tree_states == 8);
    switch (states) {
        case 2:
            return call(States<2>());
        case 3:
            return call(States<3>());
        case 4:
            return call(States<4>());
        case 5:
            return call(States<5>());
        case 6:
            return call(States<6>());
        case 7:
            return call(States<7>());
        case 8:
            return call(States<8>());
        default:
            return false;
    }
}

// The same for the states of a sequence: from 9 on K is room for them.
template <class Call>
bool with_states(int64_t states, const Call &call) {
    if (states <= most_tree_states) return with_few_states(states, call);
    return states <= most_lane_states && call(States<most_lane_states>());
}

}  // namespace
}  // namespace hidiv::HIDIV_TARGET
