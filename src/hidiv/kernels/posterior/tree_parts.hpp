// A tree listed in any order, cut into parts that do not wait for each other.
//
// The first nodes are the tops; what hangs below a top belongs to the part of the top, so that no two parts write to
// one parent. Within a part nodes keep their order, but those with children come first: only they need records, which
// then lie close together.
#pragma once

#include <memory>

#include "one_model/model_tables.hpp"
#include "runtime/memory.hpp"

namespace hidiv {

class TreeParts {
public:
    static constexpr int64_t count = 4;       // whatever the number of threads, so that it never shows in the numbers
    static constexpr int64_t tops = 1 << 12;  // nodes 0..tops-1

    // The nodes of a part: its tops, those with children, the others. They are numbered anew; parents come before their
    // children.
    struct Part {
        int64_t n, tops, inner;  // all, tops, and up to the last one with children
        int64_t first;           // of its places in the arrays
    };

    // More than `tops` nodes and at most 2^31 rows. Throws std::bad_alloc.
    explicit TreeParts(const Places &places);

    const Part &part(int64_t i) const { return part_[i]; }
    // Where each node looks, by its number within the part.
    Places places(int64_t i) const;
    int64_t inner() const { return inner_; }  // of all parts

private:
    template <typename T>
    using Memory = std::unique_ptr<T, GiveBack>;

    Part part_[count] = {};
    int64_t inner_ = 0;
    Memory<int64_t> parent_, transition_of_;
    Memory<int32_t> row_of_;
};

}  // namespace hidiv
