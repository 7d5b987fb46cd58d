// The posterior divergence in numbers that cannot underflow, with zeros anywhere: slower, for what the fast paths
// refuse.
#pragma once

#include <vector>

#include "one_model/model_tables.hpp"
#include "posterior/local_divergence.hpp"
#include "one_model/support.hpp"
#include "runtime/table.hpp"
#include "simd/wide.hpp"

namespace hidiv {

// The product of the messages of one node's children, by state of that node.
struct Inbox {
    explicit Inbox(int64_t states) : b(size_t(states), Wide(1.0)), b_q(b), ratio(size_t(states), 0.0), inward(ratio) {}
    std::vector<Wide> b, b_q;           // p's message, and q's on the same scale (read only where p has none)
    std::vector<double> ratio, inward;  // log(b_q / b); K
};

// Everything that has left the messages: powers of two, log-ratios, inward values.
struct Gathered {
    int64_t exponent = 0;
    Sum ratio, value;
};

// One node after the other; reached may be null when nothing is zero.
class WideStep {
public:
    WideStep(const LawPair &, const Places &, const StateSets *reached);
    // The message of node u from its inbox, into out; own_terms (K), z (K) and mass (K) may be null.
    void message(int64_t u, const Inbox &in, Inbox &out, Gathered &, double *own_terms, Wide *z, Wide *mass);
    // The root: completes the gathered sums into the result.
    void root(const Inbox &in, Gathered &, Divergence &, double *own_terms, Wide *z, Wide *mass, int64_t u = 0);

private:
    void weigh(int64_t u, const Inbox &in, Gathered &, Wide *z);
    struct Row {
        Wide mass, mass_q;
        double ratio, inward, own;
    };
    Row row(const double *p, const double *q, const double *ratio);
    Wide row_q(const double *q) const;

    const LawPair &pair_;
    const Places &places_;
    const StateSets *reached_;
    std::vector<uint64_t> own_, parent_;
    std::vector<Wide> z_, z_q_;
    std::vector<double> ratio_, residual_, inward_;
    LocalDivergence local_;
    std::vector<Row> rows_;
};

// The whole recursion; profile (n) may be null.
Status posterior_wide(const LawPair &, const Places &, Divergence &, double *profile);

}  // namespace hidiv
