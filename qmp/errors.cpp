// SPDX-License-Identifier: BSD-3-Clause
// Texts of the status codes.
#include <array>
#include <cstdio>

#include "qmp/qmp.h"

namespace {

// From QMP_ERROR on, in the order of the enumeration.
constexpr std::array<const char*, QMP_MAX_STATUS - QMP_ERROR> meanings{
    "error",
    "the message-passing system is not initialized",
    "the environment of the job is wrong",
    "cannot identify the processor",
    "unknown position of the node in the job",
    "out of memory",
    "the message is longer than its receive",
    "unknown host name",
    "a service of the job cannot be started",
    "a logical topology exists already",
    "a connection was not made in time",
    "not supported",
    "a service of the job is busy",
    "a damaged message",
    "an invalid argument",
    "an invalid topology",
    "unknown neighbours in the topology",
    "more memory than possible",
    "memory that a message handle cannot use",
    "no more ports",
    "a node number or coordinate out of range",
    "a wrong message declaration",
    "memory that is in use already",
    "an operation that is not allowed in this state",
    "timed out"};

}  // namespace

extern "C" const char* QMP_error_string(QMP_status_t code) {
    if (code == QMP_SUCCESS) return "success";
    if (code >= QMP_ERROR && code < QMP_MAX_STATUS)
        return meanings[std::size_t(code) - std::size_t(QMP_ERROR)];
    static thread_local std::array<char, 64> text;
    std::snprintf(text.data(), text.size(), "unknown error code %d", int(code));
    return text.data();
}
