// SPDX-License-Identifier: BSD-3-Clause
#include "bench/torus_bench/qmp_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace torusmp::bench {
namespace {

struct FreeMessageMemory {
    void operator()(QMP_msgmem_t memory) const { QMP_free_msgmem(memory); }
};
using MessageMemory = std::unique_ptr<QMP_msgmem_struct, FreeMessageMemory>;

// A handle keeps a reference to its message memory.
MessageMemory memory_of(const Buffer& buffer, std::size_t offset, std::size_t bytes) {
    MessageMemory memory(QMP_declare_msgmem(buffer.data() + offset, bytes));
    if (!memory) throw QmpError("QMP_declare_msgmem failed");
    return memory;
}

}  // namespace

void check(QMP_status_t status, const char* call) {
    if (status != QMP_SUCCESS)
        throw QmpError(fmt::format("{}: {}", call, QMP_error_string(status)));
}

Session::Session(int argc, char** argv) {
    QMP_thread_level_t provided;
    check(QMP_init_msg_passing(&argc, &argv, QMP_THREAD_SINGLE, &provided), "QMP_init_msg_passing");
}

Session::~Session() {
    QMP_finalize_msg_passing();
}

Buffer::Buffer(std::size_t bytes)
    : bytes_(bytes), memory_(QMP_allocate_memory(std::max<std::size_t>(bytes, 1))) {
    if (!memory_)
        throw QmpError(fmt::format("QMP_allocate_memory: cannot allocate {} bytes", bytes));
    std::memset(data(), 1, bytes);
}

std::byte* Buffer::data() const {
    return static_cast<std::byte*>(QMP_get_memory_pointer(memory_.get()));
}

Channel::Channel(QMP_msghandle_t handle, const char* call) : handle_(handle) {
    if (!handle) throw QmpError(fmt::format("{}: {}", call, QMP_get_error_string(nullptr)));
}

Channel Channel::send_to(const Buffer& buffer, std::size_t offset, std::size_t bytes, int peer) {
    const MessageMemory memory = memory_of(buffer, offset, bytes);
    return {QMP_declare_send_to(memory.get(), peer, 0), "QMP_declare_send_to"};
}

Channel Channel::receive_from(const Buffer& buffer, std::size_t offset, std::size_t bytes,
                              int peer) {
    const MessageMemory memory = memory_of(buffer, offset, bytes);
    return {QMP_declare_receive_from(memory.get(), peer, 0), "QMP_declare_receive_from"};
}

Channel Channel::send_relative(const Buffer& buffer, std::size_t bytes, int axis, int direction) {
    const MessageMemory memory = memory_of(buffer, 0, bytes);
    return {QMP_declare_send_relative(memory.get(), axis, direction, 0),
            "QMP_declare_send_relative"};
}

Channel Channel::receive_relative(const Buffer& buffer, std::size_t bytes, int axis,
                                  int direction) {
    const MessageMemory memory = memory_of(buffer, 0, bytes);
    return {QMP_declare_receive_relative(memory.get(), axis, direction, 0),
            "QMP_declare_receive_relative"};
}

Channel Channel::together(std::vector<Channel> channels) {
    std::vector<QMP_msghandle_t> handles;
    for (Channel& channel : channels) handles.push_back(channel.handle_.release());
    // The multiple owns its parts from here on.
    return {QMP_declare_multiple(handles.data(), int(handles.size())), "QMP_declare_multiple"};
}

int rank() {
    return QMP_get_node_number();
}

int ranks() {
    return QMP_get_number_of_nodes();
}

void barrier() {
    check(QMP_barrier(), "QMP_barrier");
}

double sum_over_ranks(double value) {
    check(QMP_sum_double(&value), "QMP_sum_double");
    return value;
}

void sum_over_ranks(std::vector<double>& values) {
    check(QMP_sum_double_array(values.data(), int(values.size())), "QMP_sum_double_array");
}

double maximum_over_ranks(double value) {
    check(QMP_max_double(&value), "QMP_max_double");
    return value;
}

}  // namespace torusmp::bench
