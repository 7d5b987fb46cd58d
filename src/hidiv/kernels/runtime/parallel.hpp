// A few threads over numbered pieces of work; which thread does which piece never shows in the numbers.
#pragma once

#include <stdint.h>

#include <functional>

#include "runtime/table.hpp"

namespace hidiv {

int64_t usable_threads(int64_t wanted);  // 0: all processors
// work(piece) for every piece in 0..count-1, until one is not done or the user interrupts.
Status parallel(int64_t count, int64_t threads, const std::function<Status(int64_t)> &work);

}  // namespace hidiv
