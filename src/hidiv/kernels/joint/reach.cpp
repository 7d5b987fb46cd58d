// Which states can be reached at every node: the downward recursion in booleans.
#include "runtime/table.hpp"

#include "runtime/scratch.hpp"

namespace hidiv::HIDIV_TARGET {

Status reach(const bool *start, Nodes nodes, int64_t states, const bool *allowed, bool *out) {
    const int64_t stride = nodes_between_looks(states);
    int64_t until_look = stride;
    for (int64_t s = 0; s < states; ++s) out[s] = start[s];
    for (int64_t u = 1; u < nodes.n; ++u) {
        const bool *above = out + nodes.parent[u] * states;
        const bool *matrix = allowed + nodes.group[u] * states * states;
        bool *here = out + u * states;
        for (int64_t s = 0; s < states; ++s) here[s] = false;
        for (int64_t r = 0; r < states; ++r)
            if (above[r])
                for (int64_t s = 0; s < states; ++s) here[s] |= matrix[r * states + s];
        if (--until_look == 0) {
            if (interrupted()) return Status::interrupted;
            until_look = stride;
        }
    }
    return Status::done;
}

}  // namespace hidiv::HIDIV_TARGET
