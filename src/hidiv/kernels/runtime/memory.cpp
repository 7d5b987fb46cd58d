// Working memory for kernels and results. Large blocks that were given back wait here for the next kernel: a fresh
// block costs a fault and a clearing of every page, often more than the arithmetic done in it.
#include <stdlib.h>
#include <string.h>

#include <atomic>

#if defined(__linux__)
#include <malloc.h>
#include <sys/mman.h>
#endif

#include "runtime/table.hpp"

namespace hidiv {
namespace {

constexpr int64_t large = int64_t(1) << 18;

// The usable size of a block; 0 where malloc does not report it, and then no block is kept.
int64_t held(void *block) {
#if defined(__linux__)
    return static_cast<int64_t>(malloc_usable_size(block));
#else
    (void)block;
    return 0;
#endif
}

// A few blocks, 128 megabytes at most. A thread that finds the shelf in use does without it: none waits, and none can
// be left locked by a fork.
class Shelf {
public:
    // The smallest that is large enough and less than twice too large, or null.
    void *take(int64_t bytes) {
        if (busy_.test_and_set(std::memory_order_acquire)) return nullptr;
        int best = -1;
        for (int i = 0; i < count_; ++i)
            if (sizes_[i] >= bytes && sizes_[i] / 2 < bytes && (best < 0 || sizes_[i] < sizes_[best])) best = i;
        void *block = best < 0 ? nullptr : removed(best);
        busy_.clear(std::memory_order_release);
        return block;
    }
    // False when the block does not stay.
    bool put(void *block) {
        const int64_t size = held(block);
        if (size < large || size > most || busy_.test_and_set(std::memory_order_acquire)) return false;
        while (count_ == places || bytes_ + size > most) free(removed(0));
        blocks_[count_] = block;
        sizes_[count_++] = size;
        bytes_ += size;
        busy_.clear(std::memory_order_release);
        return true;
    }

private:
    static constexpr int places = 8;
    static constexpr int64_t most = int64_t(1) << 27;

    void *removed(int place) {
        void *block = blocks_[place];
        bytes_ -= sizes_[place];
        for (int i = place; i + 1 < count_; ++i) {
            blocks_[i] = blocks_[i + 1];
            sizes_[i] = sizes_[i + 1];
        }
        --count_;
        return block;
    }

    std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
    void *blocks_[places] = {};  // oldest first
    int64_t sizes_[places] = {}, bytes_ = 0;
    int count_ = 0;
} shelf;

// As numpy does: large pages for large arrays, which otherwise spend more time on faults than on arithmetic.
void advise_large_pages(void *memory, int64_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    const uintptr_t page = 4096, start = (reinterpret_cast<uintptr_t>(memory) + page - 1) & ~(page - 1);
    const uintptr_t end = (reinterpret_cast<uintptr_t>(memory) + static_cast<uintptr_t>(bytes)) & ~(page - 1);
    madvise(reinterpret_cast<void *>(start), end - start, MADV_HUGEPAGE);  // only advice: it may be refused
#else
    (void)memory, (void)bytes;
#endif
}

void *allocated(int64_t bytes, bool clear) {
    const size_t size = static_cast<size_t>(bytes) + 1;
    if (bytes < large) return clear ? calloc(size, 1) : malloc(size);
    if (void *kept = shelf.take(bytes)) return clear ? memset(kept, 0, size - 1) : kept;
    void *fresh = clear ? calloc(size, 1) : malloc(size);
    if (fresh) advise_large_pages(fresh, bytes);
    return fresh;
}

}  // namespace

void *zeroed(int64_t bytes) { return allocated(bytes, true); }

void *unset(int64_t bytes) { return allocated(bytes, false); }

void give_back(void *memory) {
    if (memory && !shelf.put(memory)) free(memory);
}

}  // namespace hidiv
