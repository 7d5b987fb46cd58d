// The tables that this processor can run, and the one in use.
#include "runtime/targets.hpp"

#include <atomic>

namespace hidiv {

#ifdef HIDIV_X86_TARGETS
namespace avx2 {
extern const Table table;
}
namespace avx512 {
extern const Table table;
}
#endif

namespace {

std::vector<const Table *> runnable() {
    std::vector<const Table *> tables;
#ifdef HIDIV_X86_TARGETS
    __builtin_cpu_init();
    const bool fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (fma && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
        tables.push_back(&avx512::table);
    if (fma) tables.push_back(&avx2::table);
#endif
    tables.push_back(&baseline::table);
    return tables;
}

std::atomic<const Table *> current{runnable().front()};

}  // namespace

const Table &table() { return *current.load(std::memory_order_relaxed); }

std::vector<std::string> targets() {
    std::vector<std::string> names;
    for (const Table *each : runnable()) names.emplace_back(each->name);
    return names;
}

bool set_target(const std::string &name) {
    for (const Table *each : runnable())
        if (name == each->name) {
            current.store(each);
            return true;
        }
    return false;
}

}  // namespace hidiv
