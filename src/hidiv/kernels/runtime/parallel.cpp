// Threads that take numbered pieces of work one after the other.
#include "runtime/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <new>
#include <thread>
#include <vector>

#include "runtime/helper_thread.hpp"
#include "simd/wide.hpp"

namespace hidiv {

int64_t usable_threads(int64_t wanted) {
    const int64_t present = std::max<int64_t>(1, std::thread::hardware_concurrency());
    return wanted > 0 ? std::min<int64_t>(wanted, 256) : present;
}

Status parallel(int64_t count, int64_t threads, const std::function<Status(int64_t)> &work) {
    std::atomic<int64_t> next{0};
    std::atomic<int> outcome{int(Status::done)};
    const auto take = [&](bool on_caller) {
        for (int64_t piece = next++; piece < count && outcome == int(Status::done); piece = next++) {
            Status status = Status::no_memory;
            try {
                status = work(piece);
            } catch (const std::bad_alloc &) {
            } catch (const Beyond &) {
                status = Status::beyond;
            }
            if (status == Status::done && on_caller && interrupted()) status = Status::interrupted;
            if (status != Status::done) outcome = int(status);
        }
    };
    std::vector<HelperThread> helpers;
    try {
        helpers.reserve(size_t(std::max<int64_t>(0, std::min(threads, count) - 1)));
        for (int64_t i = 1; i < std::min(threads, count); ++i) helpers.emplace_back([&] { take(false); });
    } catch (const std::exception &) {  // no memory, too many threads: fewer helpers, then
    }
    take(true);
    for (HelperThread &each : helpers) each.join();
    return Status(outcome.load());
}

}  // namespace hidiv
