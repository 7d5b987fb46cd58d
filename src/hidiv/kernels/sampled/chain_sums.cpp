// Pieces of the sequences over a few threads.
#include "sampled/chain_sums.hpp"

#include <atomic>

#include "runtime/parallel.hpp"
#include "runtime/targets.hpp"

namespace hidiv {

Status chain_sums(const ChainSums &task, int64_t threads, double *out, bool &sound) {
    std::atomic<bool> good{true};
    const Status status =
        parallel((task.n + sequences_at_once - 1) / sequences_at_once, usable_threads(threads), [&](int64_t piece) {
            bool mine = true;
            const Status done = table().chain_block(task, piece * sequences_at_once, out, mine);
            if (!mine) good = false;
            return done;
        });
    sound = good;
    return status;
}

}  // namespace hidiv
