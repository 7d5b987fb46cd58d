// Which instruction set runs: the best the processor has, until somebody asks for another.
#pragma once

#include <string>
#include <vector>

#include "runtime/table.hpp"

namespace hidiv {

const Table &table();                  // the one in use
std::vector<std::string> targets();    // those this processor can run, best first
bool set_target(const std::string &);  // false if it cannot run here

}  // namespace hidiv
