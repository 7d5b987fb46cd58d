// Which route a chain or a tree takes; the table is in posterior.hpp.
#include "posterior/posterior.hpp"
#include "posterior/routes.hpp"
#include "posterior/steps.hpp"
#include "posterior/wide_sweep.hpp"

namespace hidiv {

Status posterior_divergence(const LawPair &pair, const Places &places, int64_t threads, Divergence &result,
                            double *profile) {
    const bool lanes = pair.states >= 2 && pair.states <= most_tree_states;
    bool declined = true;
    Status status = Status::done;
    if (profile) {  // only the slow route keeps what belongs to a node
    } else if (!places.parent) {
        status = posterior_chain(pair, places, result, declined);
    } else if (lanes) {
        status = posterior_lane_tree(pair, places, threads, result, declined);
    } else {
        status = posterior_broad_tree(pair, places, result, declined);
    }
    return status == Status::done && declined ? posterior_wide(pair, places, result, profile) : status;
}

}  // namespace hidiv
