// SPDX-License-Identifier: BSD-3-Clause
#include "qmp/library.h"

#include "qmp/communicator.h"

namespace torusmp::qmp {

Library& library() {
    // Held through a pointer that is never destroyed.
    static Library* const only = std::make_unique<Library>().release();
    return *only;
}

void fail(std::string_view call, std::string_view message) {
    const std::string text = std::string(call) + ": " + std::string(message);
    QMP_error("%s", text.c_str());
    QMP_abort(1);
    std::abort();  // not reached
}

void fall_with_others(std::string_view call, std::string_view message) {
    library().process->abort(1, std::string(call) + ": " + std::string(message));
}

void refuse(std::string_view message) {
    const std::string text = "QMP_init_msg_passing: " + std::string(message);
    if (library().process) library().process->abort(2, text);
    job::end_process(2, text);
}

QMP_status_t complain(QMP_status_t code, std::string_view call, std::string_view message) {
    library().last_error = code;
    const std::string text = std::string(call) + ": " + std::string(message);
    QMP_error("%s", text.c_str());
    return code;
}

}  // namespace torusmp::qmp
