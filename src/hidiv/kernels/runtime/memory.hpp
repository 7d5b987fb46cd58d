// Memory that std::unique_ptr gives back.
#pragma once

#include "runtime/table.hpp"

namespace hidiv {

struct GiveBack {
    void operator()(void *memory) const { give_back(memory); }
};

}  // namespace hidiv
