// The level of every node: one more than its parent's.
#include "runtime/table.hpp"

namespace hidiv::HIDIV_TARGET {

Status levels(int64_t n, const int64_t *parent, int64_t *level) {
    level[0] = 0;
    for (int64_t u = 1; u < n; ++u) level[u] = level[parent[u]] + 1;
    return Status::done;
}

}  // namespace hidiv::HIDIV_TARGET
