// Ctrl-C while a kernel runs without the interpreter's lock.
#include <Python.h>

#include <chrono>

#include "runtime/table.hpp"

namespace hidiv {

bool interrupted() {
    using clock = std::chrono::steady_clock;
    thread_local clock::time_point last = clock::now();
    const clock::time_point now = clock::now();
    // Taking the lock may wait for other Python threads: ask at most twenty times a second.
    if (now - last < std::chrono::milliseconds(50)) return false;
    last = now;
    const PyGILState_STATE state = PyGILState_Ensure();
    const bool stop = PyErr_CheckSignals() != 0;
    PyGILState_Release(state);
    return stop;
}

}  // namespace hidiv
