// The kernels of one instruction set, as a table of function pointers.
//
// To add a kernel `foo` to a folder, say pairs/:
//   1. its main header, pairs/pairs.hpp: `using foo_kernel = Status(...)`, X(foo) in HIDIV_PAIRS_KERNELS, and a line
//      that says which sizes take it;
//   2. pairs/foo_steps.cpp: the definition inside `namespace hidiv::HIDIV_TARGET` (see joint/levels.cpp), listed under
//      `kernels` in CMakeLists.txt; a driver that starts threads or holds containers goes to pairs/foo.cpp, listed
//      under `drivers`;
//   3. bindings/pairs.cpp: check the arrays (bindings/arrays.hpp) and call `run([&] { return table().foo(...); })`; its
//      line in _kernels.pyi;
//   4. recursions/: the numpy twin of the same name and arguments, decorated with @kernel (recursions/kernels.py);
//   5. tests/recursions: both against each other on every target; tests/sanitize/fuzz.cpp: random inputs.
// foo_steps.cpp is compiled once per instruction set. It may include only headers of these folders and C headers, and
// keeps what it defines in an anonymous namespace: an inline function of the standard library compiled for AVX-512
// could otherwise be the copy the linker keeps for everybody.
//
// Names: FOLDER/FOLDER.hpp (or the one header a folder has) says what is where and which sizes take which route;
// *_steps.cpp, and all of joint/, are compiled for each instruction set; the other .cpp files once.
#pragma once

#include <stdint.h>

#include "emission/emission.hpp"
#include "joint/joint.hpp"
#include "moments/moments.hpp"
#include "one_model/steps.hpp"
#include "pairs/pairs.hpp"
#include "posterior/steps.hpp"
#include "sampled/chain_sums.hpp"

#ifndef HIDIV_TARGET
#define HIDIV_TARGET baseline
#endif

namespace hidiv {

// refused: the arrays are not what the kernel takes; nothing outside them was read or written. beyond: the numbers are
// out of the kernel's range (simd/wide.hpp), and its numpy twin answers.
enum class Status { done, interrupted, no_memory, refused, beyond };

// For tests (simd/elementary.cpp): 0 exp, 1 to 3 log1p of any x >= 0, up to 2^-12, up to 0.0085, 4 to 6 phi within
// 2^-6, 2^-3, 1, 7 log; false for any other.
using elementary_kernel = bool(int which, const double *x, int64_t n, double *out);

// clang-format off
#define HIDIV_KERNEL_LIST(X) \
    HIDIV_JOINT_KERNELS(X) HIDIV_ONE_MODEL_KERNELS(X) HIDIV_POSTERIOR_KERNELS(X) HIDIV_SAMPLED_KERNELS(X) \
    HIDIV_PAIRS_KERNELS(X) HIDIV_EMISSION_KERNELS(X) HIDIV_MOMENTS_KERNELS(X) X(elementary)
// clang-format on

struct Table {
    const char *name;
#define X(kernel) kernel##_kernel *kernel;
    HIDIV_KERNEL_LIST(X)
#undef X
};

namespace HIDIV_TARGET {
#define X(kernel) kernel##_kernel kernel;
HIDIV_KERNEL_LIST(X)
#undef X
extern const Table table;
}  // namespace HIDIV_TARGET

// Memory, null when there is none; for give_back, which keeps large blocks for the next one, or free (memory.cpp).
void *zeroed(int64_t bytes);
void *unset(int64_t bytes);  // for a kernel that writes every value
void give_back(void *memory);
void prepare_malloc();  // once, when the module is loaded

// True when the user pressed Ctrl-C; cheap enough to ask every few thousand nodes (interrupts.cpp).
bool interrupted();

}  // namespace hidiv
