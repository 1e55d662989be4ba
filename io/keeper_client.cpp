// SPDX-License-Identifier: BSD-3-Clause
#include "io/keeper_client.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <vector>

#include "io/in_flight.h"

namespace torusmp::io {

namespace {

// Calls of several threads to one rank have different numbers.
std::int32_t next_number() {
    static std::atomic<std::uint32_t> last{0};
    return std::int32_t(last.fetch_add(1, std::memory_order_relaxed) % (1U << 28));
}

}  // namespace

keeper_call::Answer KeeperClient::ask(keeper_call::Question question, const std::string& path) {
    if (path.size() >= keeper_call::longest_path) return {ENAMETOOLONG, {}};
    question.number = next_number();
    std::vector<std::byte> message(sizeof question + path.size());
    std::memcpy(message.data(), &question, sizeof question);
    std::memcpy(message.data() + sizeof question, path.data(), path.size());
    keeper_call::Answer answer{};
    core::SendRequest sent;
    core::ReceiveRequest answered;
    const InFlight all({&sent, &answered});
    {
        const auto guard = runtime_.lock();
        runtime_.receive(answered, {static_cast<void*>(&answer), sizeof answer}, keeper_, context_,
                         keeper_call::tag_of(question.number));
        runtime_.send(sent, {static_cast<const void*>(message.data()), message.size()}, keeper_,
                      context_, keeper_call::question_tag);
        runtime_.notes().send(keeper_, context_, keeper_call::note_tag, {});
    }
    wait([&] { return all.complete(); }, all);
    if (all.failed()) return {EHOSTDOWN, {}};
    return answer;
}

std::optional<Sight> KeeperClient::look(const std::string& path) {
    const auto answer = ask({.operation = keeper_call::Operation::look}, path);
    if (answer.error != 0) return std::nullopt;
    Sight sight = answer.sight;
    sight.host[sizeof sight.host - 1] = '\0';
    return sight;
}

int KeeperClient::open(const std::string& path, int flags, core::Context file, const Hints& hints) {
    return int(ask({.operation = keeper_call::Operation::open,
                    .flags = flags,
                    .file = file,
                    .hints = hints},
                   path)
                   .error);
}

int KeeperClient::close(core::Context file) {
    return int(ask({.operation = keeper_call::Operation::close, .file = file}, {}).error);
}

int KeeperClient::remove(const std::string& path) {
    return int(ask({.operation = keeper_call::Operation::remove}, path).error);
}

}  // namespace torusmp::io
