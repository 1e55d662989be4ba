// SPDX-License-Identifier: BSD-3-Clause
#include "bench/torus_bench/below.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "job/process.h"

namespace torusmp::bench {
namespace {

// QMP's contexts count up from 0x40000000, MPI's are below.
constexpr core::Context context_of_messages = 0x7ffffff0;

job::Process& process() {
    // QMP owns it until it is finalized; nothing calls it before or after.
    return *job::Process::acquire(false);
}

void check(const core::Request& request, const char* what, int peer) {
    const core::Status& status = request.status();
    if (status.error != core::Error::none)
        throw std::runtime_error(
            fmt::format("{} rank {}: {}", what, peer, core::describe(status.error)));
}

}  // namespace

core::Runtime& runtime() {
    return process().runtime();
}

bool reached_directly(int other) {
    const auto& direct = runtime().options().direct;
    return std::find(direct.begin(), direct.end(), other) != direct.end();
}

const config::Settings& settings() {
    return process().settings();
}

const collectives::Policy& collective_policy() {
    return process().collective_policy();
}

void send_bytes(int dest, core::Tag tag, std::span<const std::byte> bytes) {
    core::SendRequest request;
    runtime().send(request, core::Buffer(static_cast<const void*>(bytes.data()), bytes.size()),
                   dest, context_of_messages, tag);
    runtime().wait(request, "a message of torus-bench");
    check(request, "cannot send to", dest);
}

std::vector<std::byte> receive_bytes(int source, core::Tag tag, std::size_t most) {
    std::vector<std::byte> bytes(most);
    core::ReceiveRequest request;
    runtime().receive(request, core::Buffer(bytes.data(), bytes.size()), source,
                      context_of_messages, tag);
    runtime().wait(request, "a message of torus-bench");
    check(request, "cannot receive from", source);
    bytes.resize(request.status().bytes);
    return bytes;
}

}  // namespace torusmp::bench
