// SPDX-License-Identifier: BSD-3-Clause
// What the status codes mean.
#include <array>
#include <cstdio>

#include "qmp/qmp.h"

namespace {

// From QMP_ERROR on, in the order of the enumeration.
constexpr std::array<const char*, QMP_MAX_STATUS - QMP_ERROR> meanings{
    "error",
    "the message-passing system is not initialized",
    "the environment of the job is wrong",
    "the processor cannot be identified",
    "the node's place in the job is not known",
    "out of memory",
    "the message is longer than its receive",
    "the host name is not known",
    "a service of the job cannot be started",
    "a logical topology exists already",
    "a connection was not made in time",
    "not supported",
    "a service of the job is busy",
    "a damaged message",
    "an invalid argument",
    "an invalid topology",
    "the neighbours in the topology are not known",
    "more memory than is possible",
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
