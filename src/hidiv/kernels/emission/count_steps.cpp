// Rows of counts: every column is looked up in a table, and the columns are added.
#include "emission/emission.hpp"

#include "runtime/table.hpp"
#include "simd/simd.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

// The row of a table that number v of column f has; the last one where it is not seen or not there.
HIDIV_INLINE int64_t row_of(const CountPlaces &places, int64_t f, double v, bool &odd) {
    const double at = v - double(places.low[f]);
    if (at >= 0.0 && at < double(places.start[f + 1] - places.start[f])) {
        const int64_t number = int64_t(at);
        const int64_t row = places.place[places.start[f] + number];
        if (row >= 0 && double(number) == at) return row;
    }
    odd |= v == v;
    return places.rows - 1;
}

// K: the number of states where it is known when compiling, else 0.
template <int K>
HIDIV_INLINE void add(const double *from, int64_t states, bool first, double *to) {
    const int64_t count = K ? K : states;
    if (first)
        for (int64_t s = 0; s < count; ++s) to[s] = from[s];
    else
        for (int64_t s = 0; s < count; ++s) to[s] += from[s];
}

template <int K>
Status rows(const CountTask &task, int64_t first, int64_t end, bool &odd) {
    const CountPlaces &places = task.places;
    const int64_t states = K ? K : task.states, columns = places.columns;
    bool strange = false;
    for (int64_t i = first; i < end; ++i) {
        double *value = task.value + i * states, *ratio = task.ratio ? task.ratio + i * states : nullptr;
        for (int64_t f = 0; f < columns; ++f) {
            const int64_t at = row_of(places, f, task.x[i * columns + f], strange) * states;
            add<K>(task.table + at, states, f == 0, value);
            if (ratio) add<K>(task.ratio_table + at, states, f == 0, ratio);
        }
        double top = value[0], top_q = ratio ? value[0] + ratio[0] : top;
        for (int64_t s = 1; s < states; ++s) {
            top = value[s] > top ? value[s] : top;
            const double there = ratio ? value[s] + ratio[s] : top;
            top_q = there > top_q ? there : top_q;
        }
        strange |= !(top <= task.limit && top >= -task.limit && top_q <= task.limit && top_q >= -task.limit);
    }
    odd = strange;
    return Status::done;
}

}  // namespace

Status count_steps(const CountTask &task, int64_t first, int64_t end, bool &odd) {
    switch (task.states) {
        case 2:
            return rows<2>(task, first, end, odd);
        case 3:
            return rows<3>(task, first, end, odd);
        case 4:
            return rows<4>(task, first, end, odd);
        default:
            return rows<0>(task, first, end, odd);
    }
}

}  // namespace hidiv::HIDIV_TARGET
