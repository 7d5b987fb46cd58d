// Rows of weights of a batch, made where they are needed.
#include "posterior/sequence_rows.hpp"

#include "runtime/targets.hpp"

namespace hidiv {

SequenceRows::SequenceRows(const LawPair &all, const Places &nodes, const NormalTask *normal)
    : pair(all), places(nodes), normal_(normal) {}

bool SequenceRows::reach(int64_t first, int64_t end) {
    if (!normal_) return true;
    const size_t size = size_t((end - first) * pair.states);
    for (std::vector<double> *each : {&log_p_, &log_q_, &ratio_})
        if (each->size() < size) each->resize(size);
    NormalTask task = *normal_;
    task.x += first * task.p.features;
    task.log_p = log_p_.data();
    task.log_q = log_q_.data();
    task.log_ratio = ratio_.data();
    bool odd = false;
    if (table().normal_steps(task, 0, end - first, odd) != Status::done || odd) return false;
    pair.p.log_weight = log_p_.data();
    pair.q.log_weight = log_q_.data();
    pair.weight_ratio = ratio_.data();
    pair.rows = end - first;
    places.first_row = first;
    return true;
}

}  // namespace hidiv
