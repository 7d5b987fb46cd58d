// Places of counts as Python hands them in: checked once, for emission.cpp and streams.hpp.
#pragma once

#include <nanobind/stl/tuple.h>

#include <tuple>

#include "bindings/arrays.hpp"
#include "emission/emission.hpp"

namespace hidiv {

using CountArrays = std::tuple<Indices, Indices, In<int32_t, 1>>;  // low (F), start (F + 1), place

// The places of a table of that many rows; the arrays are not owned.
inline CountPlaces check_counts(const CountArrays &given, size_t rows) {
    const auto &[low, start, place] = given;
    const size_t columns = low.shape(0);
    require(columns > 0 && shaped(start, columns + 1) && rows > 0, "start must have shape (F + 1,), a table a row");
    bool good = start.data()[0] == 0 && start.data()[columns] == int64_t(place.shape(0));
    for (size_t f = 0; f < columns; ++f) good &= start.data()[f] <= start.data()[f + 1];
    require(good, "start must begin with 0, not decrease and end with the number of places");
    for (size_t i = 0; i < place.shape(0); ++i) good &= place.data()[i] < int64_t(rows);
    require(good, "places must be rows of the table");
    return {int64_t(columns), int64_t(rows), low.data(), start.data(), place.data()};
}

}  // namespace hidiv
