// Working memory for kernels and results.
#include <stdlib.h>

#if defined(__linux__)
#include <stdint.h>
#include <sys/mman.h>
#endif

#include "table.hpp"

namespace hidiv {

namespace {

// As numpy does: large pages for large arrays, which otherwise spend more time on faults than on arithmetic.
void *in_large_pages(void *memory, int64_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (memory && bytes >= int64_t(1) << 22) {
        const uintptr_t page = 4096, start = (reinterpret_cast<uintptr_t>(memory) + page - 1) & ~(page - 1);
        const uintptr_t end = (reinterpret_cast<uintptr_t>(memory) + static_cast<uintptr_t>(bytes)) & ~(page - 1);
        madvise(reinterpret_cast<void *>(start), end - start, MADV_HUGEPAGE);  // only advice: it may be refused
    }
#else
    (void)bytes;
#endif
    return memory;
}

}  // namespace

void *zeroed(int64_t bytes) { return in_large_pages(calloc(static_cast<size_t>(bytes) + 1, 1), bytes); }

void *unset(int64_t bytes) { return in_large_pages(malloc(static_cast<size_t>(bytes) + 1), bytes); }

}  // namespace hidiv
