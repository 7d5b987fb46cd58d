// A thread that starts at once, on another processor than the one that makes it.
//
// Linux often puts a new thread on the processor of its maker although another one is idle, and moves it milliseconds
// later, when most kernels are done: two threads then take as long as one. So where the C library allows it the thread
// is made for the other processors, and may run on all of them from its first step on.
#pragma once

#include <functional>
#include <memory>
#include <system_error>
#include <thread>

#if defined(__linux__) && defined(__GLIBC__)
#include <pthread.h>
#include <sched.h>
#define HIDIV_CHOOSES_PROCESSORS
#endif

namespace hidiv {

#ifdef HIDIV_CHOOSES_PROCESSORS

class HelperThread {
public:
    explicit HelperThread(std::function<void()> work) : task_(new Task{std::move(work), {}, false}) {
        cpu_set_t others;
        task_->chosen = sched_getaffinity(0, sizeof task_->usable, &task_->usable) == 0;
        if (task_->chosen) {
            others = task_->usable;
            const int here = sched_getcpu();
            if (here >= 0 && here < CPU_SETSIZE) CPU_CLR(here, &others);
            task_->chosen = CPU_COUNT(&others) > 0;
        }
        pthread_attr_t made;
        pthread_attr_init(&made);
        if (task_->chosen) task_->chosen = pthread_attr_setaffinity_np(&made, sizeof others, &others) == 0;
        int failed = pthread_create(&thread_, &made, run, task_.get());
        pthread_attr_destroy(&made);
        if (failed && task_->chosen) {  // a processor may be gone: anywhere, then
            task_->chosen = false;
            failed = pthread_create(&thread_, nullptr, run, task_.get());
        }
        if (failed) throw std::system_error(failed, std::generic_category());
    }
    void join() { pthread_join(thread_, nullptr); }

private:
    struct Task {
        std::function<void()> work;
        cpu_set_t usable;  // processors of the maker
        bool chosen;       // whether the thread is confined to some of them
    };
    static void *run(void *given) {
        Task &task = *static_cast<Task *>(given);
        if (task.chosen) pthread_setaffinity_np(pthread_self(), sizeof task.usable, &task.usable);
        task.work();
        return nullptr;
    }
    std::unique_ptr<Task> task_;
    pthread_t thread_;
};

#else

class HelperThread {
public:
    explicit HelperThread(std::function<void()> work) : thread_(std::move(work)) {}
    void join() { thread_.join(); }

private:
    std::thread thread_;
};

#endif

}  // namespace hidiv
