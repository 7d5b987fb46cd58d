// Working memory that frees itself.
#pragma once

#include <stdint.h>

#include "runtime/table.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

template <typename T>
struct ScratchOf {
    explicit ScratchOf(int64_t count, void *(*memory)(int64_t) = zeroed)
        : values(static_cast<T *>(memory(count * int64_t(sizeof(T))))) {}
    ~ScratchOf() { give_back(values); }
    ScratchOf(const ScratchOf &) = delete;
    ScratchOf &operator=(const ScratchOf &) = delete;
    T *values;
};
using Scratch = ScratchOf<double>;

// How many nodes to do between two looks at Ctrl-C: a few milliseconds of work.
inline int64_t nodes_between_looks(int64_t states) {
    const int64_t nodes = (int64_t(1) << 20) / (states * states + 16);
    return nodes > 0 ? nodes : 1;
}

}  // namespace
}  // namespace hidiv::HIDIV_TARGET
