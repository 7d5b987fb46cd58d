// One table per instruction set.
#include "runtime/table.hpp"

#define HIDIV_TEXT_(name) #name
#define HIDIV_TEXT(name) HIDIV_TEXT_(name)

namespace hidiv::HIDIV_TARGET {

const Table table = {HIDIV_TEXT(HIDIV_TARGET),
#define X(kernel) kernel,
                     HIDIV_KERNEL_LIST(X)
#undef X
};

}  // namespace hidiv::HIDIV_TARGET
