// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/schedule/exchange.h"

namespace torusmp::collectives {

bool Exchange::step() {
    if (posted_) return false;
    posted_ = true;
    for (const Message& message : from_) receive(message.buffer, message.peer);
    for (const Message& message : to_) {
        if (message.link)
            send_over(*message.link, message.buffer);
        else
            send(message.buffer, message.peer);
    }
    return true;
}

}  // namespace torusmp::collectives
