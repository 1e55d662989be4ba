// SPDX-License-Identifier: BSD-3-Clause
// The state of libqmp in this process: its job, the communicators, the last error. Private to qmp/.
//
// There is one Library, because the C API has no object to keep it in. It is never destroyed, so
// that destructors of the program may still free handles and memory. Functions here may be called
// from any thread between QMP_init_msg_passing() and QMP_finalize_msg_passing(); the comment of a
// function's comment states whether it also works outside.
#pragma once

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "job/process.h"
#include "qmp/flags.h"
#include "qmp/qmp.h"

namespace torusmp::qmp {

// The mapping of node numbers and coordinates to the machine; environment QMP_PLACEMENT.
enum class Placement {
    automatic,  // node numbers follow -qmp-geom if that brings neighbours closer
    rank,       // node numbers are always ranks
    declared    // like automatic, and coordinates of topologies without a map follow the machine
};

struct Library {
    std::shared_ptr<job::Process> process;  // set while initialized, and while its memory is in use
    std::atomic<bool> initialized{false};
    bool was_initialized = false;

    Flags flags;
    Placement placement = Placement::automatic;
    QMP_ictype_t type = QMP_SWITCH;

    // The node in the allocated machine; known from QMP_init_msg_passing() until the end of the
    // process.
    int machine_node = 0;
    int machine_size = 0;
    std::string host;

    std::vector<std::unique_ptr<QMP_comm_struct>> communicators;
    QMP_comm_t allocated = nullptr;
    QMP_comm_t job = nullptr;
    QMP_comm_t default_comm = nullptr;
    core::Context next_context = 0x40000000;  // the half that MPI does not use

    std::mutex mutex;                   // guards the members below
    std::set<QMP_msghandle_t> handles;  // declared and not freed, without the parts of multiples
    std::size_t allocations = 0;        // QMP_mem_t not yet freed

    std::vector<int> subgrid;  // QMP_layout_grid()

    std::atomic<QMP_status_t> last_error{QMP_SUCCESS};
    std::atomic<int> verbose{0};
    std::atomic<double> profile_seconds{0.0};
};

// Works at any time.
Library& library();

// State needed by every message, accessible without the guard of the Library's initialization.
struct Hot {
    std::atomic<core::Runtime*> runtime{nullptr};  // set while initialized
    std::atomic<int> profile_level{0};             // QMP_profcontrol()
};
inline constinit Hot hot;

// Prints "call: message" as QMP_error does and ends the job with exit code 1. Works at any time.
[[noreturn]] void fail(std::string_view call, std::string_view message);
// Ends the job with exit code 1 because of a remote failure, a dead cable or rank: several ranks
// observe it, so the launcher reports it once, or not at all if it knows the cause.
[[noreturn]] void fall_with_others(std::string_view call, std::string_view message);
// Ends the job because of a wrong flag, file or launcher: one message from the launcher, exit code
// 2.
[[noreturn]] void refuse(std::string_view message);

// The number of an enumerator passed by a C program: it may be outside the enumeration, in which
// case reading it as an enumerator is undefined in C++.
template <class Enum>
int number_of(const Enum& value) {
    static_assert(sizeof(Enum) == sizeof(int));
    int number;
    std::memcpy(&number, &value, sizeof number);
    return number;
}

// Prints "call: message" as QMP_error does, stores the code and returns it. Works at any time.
QMP_status_t complain(QMP_status_t code, std::string_view call, std::string_view message);

// Returns the Library if QMP is initialized; otherwise ends the job, naming `call`.
inline Library& running(std::string_view call) {
    Library& lib = library();
    if (!lib.initialized.load(std::memory_order_relaxed)) [[unlikely]]
        fail(call, lib.was_initialized ? "called after QMP_finalize_msg_passing"
                                       : "called before QMP_init_msg_passing");
    return lib;
}
inline core::Runtime& runtime() {
    return library().process->runtime();
}

// Runs the body of an API function. Exceptions must not reach C: the job ends instead, naming
// `call`.
template <class Body>
auto guarded(const char* call, Body&& body) noexcept -> decltype(body()) {
    try {
        return std::forward<Body>(body)();
    } catch (const std::bad_alloc&) {
        library().last_error = QMP_NOMEM_ERR;
        fail(call, "out of memory");
    } catch (const std::exception& error) {
        fail(call, error.what());
    }
}

// Adds the time until its destruction to QMP_get_total_qmp_time(), if QMP_profcontrol() enabled
// this.
class CallTimer {
  public:
    CallTimer() {
        if (hot.profile_level.load(std::memory_order_relaxed) > 0) [[unlikely]]
            began_ = QMP_time();
    }
    ~CallTimer() {
        if (began_ >= 0.0) [[unlikely]]
            add(QMP_time() - began_);
    }
    CallTimer(const CallTimer&) = delete;
    CallTimer& operator=(const CallTimer&) = delete;

  private:
    static void add(double seconds) {
        auto& total = library().profile_seconds;
        double now = total.load();
        while (!total.compare_exchange_weak(now, now + seconds)) {
        }
    }
    double began_ = -1.0;
};

}  // namespace torusmp::qmp
