// Which whole numbers occur in each column of counts, and the row of a table that each of them has.
#include <math.h>

#include "emission/emission.hpp"

namespace hidiv {

bool count_range(const double *x, int64_t rows, int64_t columns, double *low, double *high) {
    constexpr double most = 0x1p53;
    for (int64_t f = 0; f < columns; ++f) {
        low[f] = HUGE_VAL;
        high[f] = -HUGE_VAL;
    }
    bool good = true;
    for (int64_t i = 0; good && i < rows; ++i)
        for (int64_t f = 0; f < columns; ++f) {
            const double v = x[i * columns + f];
            if (v != v) continue;
            good &= v >= 0.0 && v <= most && double(int64_t(v >= 0.0 && v <= most ? v : 0.5)) == v;
            low[f] = v < low[f] ? v : low[f];
            high[f] = v > high[f] ? v : high[f];
        }
    for (int64_t f = 0; good && f < columns; ++f)
        if (!(low[f] <= high[f])) {
            low[f] = 0.0;
            high[f] = -1.0;
        }
    return good;
}

void number_counts(const double *x, int64_t rows, int64_t columns, const int64_t *low, const int64_t *start,
                   int32_t *place, int64_t *first) {
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t f = 0; f < columns; ++f) {
            const double v = x[i * columns + f];
            if (v == v) place[start[f] + (int64_t(v) - low[f])] = 0;
        }
    int32_t next = 0;
    for (int64_t f = 0; f < columns; ++f) {
        first[f] = next;
        for (int64_t i = start[f]; i < start[f + 1]; ++i) place[i] = place[i] < 0 ? -1 : next++;
    }
    first[columns] = next;
}

}  // namespace hidiv
