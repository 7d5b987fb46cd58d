// Rows of counts: every column is looked up in a table, and the columns are added.
#include "emission/emission.hpp"

#include "runtime/table.hpp"
#include "simd/simd.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

constexpr int64_t at_once = 64;

// The rows of a table that `count` numbers of column f have, from x on; the last one where a number is not seen or not
// there.
HIDIV_INLINE bool look_up(const CountPlaces &places, int64_t f, const double *x, int64_t count, int64_t *row) {
    const double low = double(places.low[f]), size = double(places.start[f + 1] - places.start[f]);
    const int32_t *place = places.place + places.start[f];
    const int64_t columns = places.columns, last = places.rows - 1;
    bool strange = false;
    for (int64_t i = 0; i < count; ++i) {
        const double v = x[i * columns + f], at = v - low;
        const bool inside = at >= 0.0 && at < size;
        const int64_t number = int64_t(inside ? at : 0.0), found = size > 0.0 ? place[number] : -1;
        const bool good = inside & (found >= 0) & (double(number) == at);
        strange |= !good & (v == v);
        row[i] = good ? found : last;
    }
    return strange;
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
HIDIV_INLINE void add_rows(const double *table, const int64_t *row, int64_t count, int64_t states, bool first,
                           double *to) {
    for (int64_t i = 0; i < count; ++i) add<K>(table + row[i] * states, states, first, to + i * states);
}

// The largest of value, and of value + ratio where there is one, is within the limit.
HIDIV_INLINE bool within(const double *value, const double *ratio, int64_t states, double limit) {
    double top = value[0], top_q = ratio ? value[0] + ratio[0] : top;
    for (int64_t s = 1; s < states; ++s) {
        top = value[s] > top ? value[s] : top;
        const double there = ratio ? value[s] + ratio[s] : top;
        top_q = there > top_q ? there : top_q;
    }
    return top <= limit && top >= -limit && top_q <= limit && top_q >= -limit;
}

template <int K>
Status rows(const CountTask &task, int64_t first, int64_t end, bool &odd) {
    const int64_t states = K ? K : task.states, columns = task.places.columns;
    bool strange = false;
    int64_t row[at_once];
    for (int64_t from = first; from < end; from += at_once) {
        const int64_t count = end - from < at_once ? end - from : at_once;
        double *value = task.value + from * states, *ratio = task.ratio ? task.ratio + from * states : nullptr;
        for (int64_t f = 0; f < columns; ++f) {
            strange |= look_up(task.places, f, task.x + from * columns, count, row);
            add_rows<K>(task.table, row, count, states, f == 0, value);
            if (ratio) add_rows<K>(task.ratio_table, row, count, states, f == 0, ratio);
        }
        for (int64_t i = 0; i < count; ++i)
            strange |= !within(value + i * states, ratio ? ratio + i * states : nullptr, states, task.limit);
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
