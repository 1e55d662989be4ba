// SPDX-License-Identifier: BSD-3-Clause
// Requests to the kernel over netlink(7), and the parsing of its answers.
#pragma once

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>

#include "base/descriptor.h"

namespace torusmp::base {

// One thread at a time.
class Netlink {
  public:
    // `protocol` is NETLINK_ROUTE or NETLINK_SOCK_DIAG. Throws std::system_error.
    explicit Netlink(int protocol);

    // Sends a request and calls on_answer(message) for each message of the answer. A request
    // without NLM_F_DUMP needs NLM_F_ACK, which ends its answer. Returns 0 or the error.
    int ask(const nlmsghdr& request, const std::function<void(const nlmsghdr&)>& on_answer = {});

  private:
    Descriptor socket_;
};

// Calls visit(message) for each message in `received`, until it returns false. `received` is
// aligned for messages.
template <class Visit>
void messages_in(std::span<const std::byte> received, Visit&& visit) {
    auto left = unsigned(received.size());
    for (auto* it = reinterpret_cast<const nlmsghdr*>(received.data()); NLMSG_OK(it, left);
         it = NLMSG_NEXT(it, left))
        if (!visit(*it)) return;
}

// The body of a message. Precondition: the message is long enough.
template <class Body>
const Body& body_of(const nlmsghdr& message) {
    return *static_cast<const Body*>(NLMSG_DATA(&message));
}

// Calls visit(type, contents) for each attribute in `bytes` bytes of attributes.
template <class Visit>
void attributes_in(const void* first, std::size_t bytes, Visit&& visit) {
    int left = int(bytes);
    for (auto* it = static_cast<const rtattr*>(first); RTA_OK(it, left); it = RTA_NEXT(it, left))
        visit(unsigned(it->rta_type & NLA_TYPE_MASK),
              std::span(static_cast<const std::byte*>(RTA_DATA(it)), RTA_PAYLOAD(it)));
}
// Visits the attributes of a message, which follow its body.
template <class Body, class Visit>
void attributes_of(const nlmsghdr& message, Visit&& visit) {
    constexpr std::size_t head = NLMSG_ALIGN(NLMSG_LENGTH(sizeof(Body)));
    if (message.nlmsg_len > head)
        attributes_in(reinterpret_cast<const std::byte*>(&message) + head, message.nlmsg_len - head,
                      visit);
}

// The value of a numeric attribute; 0 if it is not a number.
inline std::uint32_t number_in(std::span<const std::byte> contents) {
    std::uint32_t number = 0;
    if (contents.size() == sizeof number) std::memcpy(&number, contents.data(), sizeof number);
    return number;
}

}  // namespace torusmp::base
