// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/remote_output.h"

#include <utility>

namespace torusmp::torus_run {

RemoteOutput::RemoteOutput(Outputs& outputs, int ranks, Acknowledge acknowledge)
    : outputs_(outputs), ranks_(ranks), acknowledge_(std::move(acknowledge)) {}

void RemoteOutput::printed(int node, Unpacker& body) {
    const int rank = body.get<int>();
    const auto stream = body.get<std::uint32_t>();
    const auto text = body.rest();
    if (stream >= streams) return;
    take(rank, stream, {reinterpret_cast<const char*>(text.data()), text.size()});
    owed_[node][stream] += text.size();
    if (!outputs_.paused(int(stream))) give_back(node, stream);
}

void RemoteOutput::ended(Unpacker& body) {
    const int rank = body.get<int>();
    if (const auto stream = body.get<std::uint32_t>(); stream < streams) take(rank, stream, {});
}

void RemoteOutput::resume(int stream) {
    for (const auto& [node, owed] : owed_) give_back(node, std::uint32_t(stream));
}

void RemoteOutput::take(int rank, std::uint32_t stream, std::string_view text) {
    if (rank >= 0 && rank < ranks_) outputs_.take(rank, int(stream), text);
}

void RemoteOutput::give_back(int node, std::uint32_t stream) {
    const std::uint64_t owed = std::exchange(owed_[node][stream], 0);
    if (owed != 0) acknowledge_(node, share(Packer().add(stream).add(owed).take()));
}

}  // namespace torusmp::torus_run
