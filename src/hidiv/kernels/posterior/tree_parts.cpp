// A tree listed in any order, cut into parts that do not wait for each other.
#include "posterior/tree_parts.hpp"

#include <new>

#include "runtime/table.hpp"

namespace hidiv {
namespace {

constexpr uint8_t has_children = 0x80;
constexpr int64_t ahead = 32;  // nodes whose parents are fetched before they come

template <typename T>
T *memory_for(int64_t count) {
    void *const memory = unset(count * int64_t(sizeof(T)));
    if (!memory) throw std::bad_alloc();
    return static_cast<T *>(memory);
}

}  // namespace

TreeParts::TreeParts(const Places &places) {
    const int64_t n = places.n;
    // Which part a node belongs to, and whether it has children.
    const Memory<uint8_t> kind_memory(memory_for<uint8_t>(n));
    uint8_t *const kind = kind_memory.get();
    for (int64_t u = 0; u < tops; ++u) kind[u] = uint8_t(u % count) | has_children;
    for (int64_t u = tops; u < n; ++u) {
        if (u + ahead < n) __builtin_prefetch(kind + places.parent[u + ahead], 1);
        uint8_t &above = kind[places.parent[u]];
        kind[u] = above & uint8_t(~has_children);
        above |= has_children;
    }
    int64_t nodes[count][2] = {};  // without children, with children
    for (int64_t u = 0; u < n; ++u) ++nodes[kind[u] & uint8_t(~has_children)][kind[u] / has_children];
    int64_t next[count][2];
    for (int64_t i = 0, first = 0; i < count; ++i) {
        part_[i] = {nodes[i][0] + nodes[i][1], tops / count, nodes[i][1], first};
        next[i][0] = nodes[i][1];
        next[i][1] = 0;
        first += part_[i].n;
        inner_ += part_[i].inner;
    }
    parent_.reset(memory_for<int64_t>(n));
    row_of_.reset(memory_for<int32_t>(n));
    if (places.transition_of) transition_of_.reset(memory_for<int64_t>(n));
    const Memory<int32_t> place_memory(memory_for<int32_t>(n));  // of each node within its part
    int32_t *const place = place_memory.get();
    for (int64_t u = 0; u < n; ++u) {
        if (u + ahead < n) __builtin_prefetch(place + places.parent[u + ahead]);
        const int64_t i = kind[u] & uint8_t(~has_children), at = next[i][kind[u] / has_children]++;
        place[u] = int32_t(at);
        parent_.get()[part_[i].first + at] = u < tops ? -1 : place[places.parent[u]];
        row_of_.get()[part_[i].first + at] = int32_t(places.row(u));
        if (places.transition_of) transition_of_.get()[part_[i].first + at] = places.transition_of[u];
    }
}

Places TreeParts::places(int64_t i) const {
    const Part &part = part_[i];
    return {part.n, parent_.get() + part.first, transition_of_ ? transition_of_.get() + part.first : nullptr,
            row_of_.get() + part.first, nullptr};
}

}  // namespace hidiv
