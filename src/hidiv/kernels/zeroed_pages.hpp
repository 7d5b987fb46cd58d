// Zeroed memory for records that are met in any order: in large pages where the system has them.
#pragma once

#include <stdint.h>
#include <stdlib.h>

#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace hidiv {

class ZeroedPages {
public:
    explicit ZeroedPages(int64_t count) : bytes_((size_t(count) * sizeof(double) + page - 1) / page * page) {
#if defined(__linux__)
        if (bytes_ >= 4 * page) {
            memory_ = mmap(nullptr, bytes_ + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (memory_ == MAP_FAILED) throw std::bad_alloc();
            mapped_ = true;
            start_ = reinterpret_cast<double *>((reinterpret_cast<uintptr_t>(memory_) + page - 1) / page * page);
            madvise(start_, bytes_, MADV_HUGEPAGE);  // a wish: nothing is lost where it is not granted
            return;
        }
#endif
        memory_ = calloc(bytes_ + 64, 1);
        if (!memory_) throw std::bad_alloc();
        start_ = reinterpret_cast<double *>((reinterpret_cast<uintptr_t>(memory_) + 63) / 64 * 64);
    }
    ~ZeroedPages() {
#if defined(__linux__)
        if (mapped_) {
            munmap(memory_, bytes_ + page);
            return;
        }
#endif
        free(memory_);
    }
    ZeroedPages(const ZeroedPages &) = delete;
    ZeroedPages &operator=(const ZeroedPages &) = delete;
    double *data() { return start_; }

private:
    static constexpr size_t page = size_t(1) << 21;
    size_t bytes_;
    void *memory_ = nullptr;
    double *start_ = nullptr;
    bool mapped_ = false;
};

}  // namespace hidiv
