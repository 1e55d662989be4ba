// SPDX-License-Identifier: BSD-3-Clause
// What all modules of one rank share: its options, the pool of small blocks, the count of open
// requests, and the names of things in messages to people. No protocol.
//
// Used under the Runtime's lock.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/options.h"
#include "core/page/control_page.h"
#include "core/pool.h"
#include "core/request.h"

namespace torusmp::core {

struct Connection;

struct Commons {
    explicit Commons(Options given)
        : options((given.check(), std::move(given))),
          own_page(options.page == nullptr ? std::make_unique<ControlPage>() : nullptr),
          page(own_page != nullptr ? *own_page : *options.page) {}

    const Options options;
    const std::unique_ptr<ControlPage> own_page;  // where nobody has given one
    ControlPage& page;
    Pool pool;
    std::uint64_t open_requests = 0;
    bool stirred = false;  // there is news other than packets
    // What is seldom to be done in a poll, so that a poll without any looks once.
    enum Errand : std::uint8_t { note = 1, links = 2, shortcuts = 4 };
    std::uint8_t errands = 0;

    Rank rank() const { return options.rank; }
    const routing::Torus& torus() const { return options.torus; }

    void open(Request& request, const Buffer& buffer, Rank peer) {
        request.buffer_ = buffer;
        open(request, peer);
    }
    // Of a message whose memory it has.
    void open(Request& request, Rank peer) {
        request.peer_ = peer;
        request.status_ = Status{};
        request.complete_.store(false, std::memory_order_relaxed);
        ++open_requests;
    }
    void complete(Request& request, Error error = Error::none) {
        request.status_.error = error;
        --open_requests;
        request.complete_.store(true, std::memory_order_release);
    }

    void log(std::string_view text) const {
        if (options.log) options.log(text);
    }
    std::string name_of(Rank rank) const;
    std::string name_of(const Connection& connection) const;
    std::string name_of_source(Rank rank) const;  // of a receive: "any rank" for a wildcard
};

}  // namespace torusmp::core
