// SPDX-License-Identifier: BSD-3-Clause
// Findings that need the waits of only one rank.
#include "job/hang/analysis.h"
#include "job/hang/words.h"

namespace torusmp::job {

std::vector<NearMiss> near_misses(const Waits& waits) {
    std::vector<NearMiss> likely, other_group, other_source;
    for (std::size_t i = 0; i < waits.operations.size(); ++i) {
        const Operation& receive = waits.operations[i];
        if (!is_receive(receive) || receive.stage != Operation::Stage::unmet || receive.channel)
            continue;
        const Waits::Group* own = waits.find_group(receive.context);
        for (std::size_t k = 0; k < waits.messages.size(); ++k) {
            const Waits::Message& message = waits.messages[k];
            // Messages of collectives are not the program's: no receive of the program uses their
            // contexts.
            const Waits::Group* its = waits.find_group(message.context);
            if (message.channel || (own != nullptr && (its == nullptr || !its->messages))) continue;
            const bool peer = receive.peer == any_source || receive.peer == message.source;
            const bool context = receive.context == message.context;
            const bool tag = tags_meet(receive.tag, message.tag);
            if (peer && context && !tag) likely.push_back({int(i), int(k)});
            if (peer && tag && !context) other_group.push_back({int(i), int(k)});
            if (context && tag && !peer) other_source.push_back({int(i), int(k)});
        }
    }
    likely.insert(likely.end(), other_group.begin(), other_group.end());
    likely.insert(likely.end(), other_source.begin(), other_source.end());
    return likely;
}

const Waits::Call* longest_call(const Waits& waits) {
    const Waits::Call* longest = nullptr;
    for (const auto& call : waits.calls)
        if (longest == nullptr || call.seconds > longest->seconds) longest = &call;
    return longest;
}

Needed needed(const Waits& waits) {
    const Waits::Call* call = longest_call(waits);
    const int number = call == nullptr ? -1 : int(call - waits.calls.data());
    Needed found;
    // Receives first: in an exchange a send usually waits because its receiver does.
    for (const bool receives : {true, false})
        for (std::size_t i = 0; i < waits.operations.size(); ++i)
            if (found.operation < 0 && waits.operations[i].call == number && number >= 0 &&
                is_receive(waits.operations[i]) == receives)
                found.operation = int(i);
    if (found.operation >= 0) return found;
    for (std::size_t i = 0; i < waits.collectives.size(); ++i)
        if (found.collective < 0 && waits.collectives[i].call == number && number >= 0)
            found.collective = int(i);
    if (found.collective >= 0 || number < 0) return found;
    for (std::size_t i = 0; i < waits.operations.size(); ++i)
        if (found.operation < 0 && !is_idle(waits.operations[i])) found.operation = int(i);
    return found;
}

}  // namespace torusmp::job
