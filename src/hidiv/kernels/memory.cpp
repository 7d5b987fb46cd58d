// Working memory for kernels and results. Large blocks that were given back wait here for the next kernel: a fresh
// block costs a fault and a clearing of every page, often more than the arithmetic done in it.
#include <stdlib.h>
#include <string.h>

#include <atomic>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "table.hpp"

namespace hidiv {
namespace {

constexpr int64_t large = int64_t(1) << 22, most_kept = int64_t(1) << 26;
constexpr int places = 8;

// In front of every block; a cache line, so that blocks are aligned no worse than malloc does it.
struct alignas(16) Head {
    int64_t bytes;
    char rest[56];
};

struct Waiting {
    std::atomic_flag busy = ATOMIC_FLAG_INIT;
    Head *blocks[places] = {};  // the one that waits longest comes first
    int count = 0;
    int64_t bytes = 0;

    Head *out(int place) {
        Head *block = blocks[place];
        bytes -= block->bytes;
        --count;
        for (int i = place; i < count; ++i) blocks[i] = blocks[i + 1];
        return block;
    }
} waiting;

// Whoever finds the shelf taken does without it: no thread waits, and none can be left locked by a fork.
class Turn {
public:
    Turn() : mine_(!waiting.busy.test_and_set(std::memory_order_acquire)) {}
    ~Turn() {
        if (mine_) waiting.busy.clear(std::memory_order_release);
    }
    Turn(const Turn &) = delete;
    Turn &operator=(const Turn &) = delete;
    explicit operator bool() const { return mine_; }

private:
    const bool mine_;
};

// The smallest that is large enough and less than twice too large.
Head *taken(int64_t bytes) {
    const Turn turn;
    if (!turn) return nullptr;
    int best = -1;
    for (int i = 0; i < waiting.count; ++i) {
        const int64_t size = waiting.blocks[i]->bytes;
        if (size >= bytes && size / 2 < bytes && (best < 0 || size < waiting.blocks[best]->bytes)) best = i;
    }
    return best < 0 ? nullptr : waiting.out(best);
}

bool kept(Head *block) {
    if (block->bytes < large || block->bytes > most_kept) return false;
    const Turn turn;
    if (!turn) return false;
    while (waiting.count == places || waiting.bytes + block->bytes > most_kept) free(waiting.out(0));
    waiting.blocks[waiting.count++] = block;
    waiting.bytes += block->bytes;
    return true;
}

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
    if (bytes < 0 || bytes > INT64_MAX - int64_t(sizeof(Head))) return nullptr;
    Head *block = bytes >= large ? taken(bytes) : nullptr;
    if (block) {
        if (clear) memset(block + 1, 0, static_cast<size_t>(bytes));
        return block + 1;
    }
    const size_t whole = sizeof(Head) + static_cast<size_t>(bytes);
    block = static_cast<Head *>(clear ? calloc(whole, 1) : malloc(whole));
    if (!block) return nullptr;
    if (bytes >= large) advise_large_pages(block, int64_t(whole));
    block->bytes = bytes;
    return block + 1;
}

}  // namespace

void *zeroed(int64_t bytes) { return allocated(bytes, true); }

void *unset(int64_t bytes) { return allocated(bytes, false); }

void give_back(void *memory) {
    if (!memory) return;
    Head *block = static_cast<Head *>(memory) - 1;
    if (!kept(block)) free(block);
}

}  // namespace hidiv
