// SPDX-License-Identifier: BSD-3-Clause
// State that all modules of one rank share: its options, the pool of small blocks, the count of
// open requests, and the names used in messages to users. No protocol.
//
// Used under the Runtime's lock.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "core/lock_holder.h"
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
    const std::unique_ptr<ControlPage> own_page;  // set if the options give no page
    ControlPage& page;
    Pool pool;
    std::uint64_t opened = 0;     // requests
    std::uint64_t completed = 0;  // those that are complete
    bool stirred = false;         // there is news other than packets
    // Rare tasks of a poll as bits, so that a poll with none of them costs one test.
    enum Errand : std::uint8_t { note = 1, links = 2, shortcuts = 4 };
    std::uint8_t errands = 0;
    LockHolder lock;

    std::uint64_t open_requests() const { return opened - completed; }
    Rank rank() const { return options.rank; }
    const routing::Torus& torus() const { return options.torus; }

    void open(Request& request, const Buffer& buffer, Rank peer) {
        request.buffer_ = buffer;
        open(request, peer);
    }
    // Opens a request whose buffer is already set.
    void open(Request& request, Rank peer) {
        TORUSMP_ASSERT(lock.held(), rank(), peer);
        TORUSMP_ASSERT(request.complete(), rank(), request.peer_, peer);
        request.peer_ = peer;
        request.status_ = Status{};
        request.complete_.store(false, std::memory_order_relaxed);
        ++opened;
    }
    // May be called outside a poll: the waiting threads see it when the caller releases Progress.
    void complete(Request& request, Error error = Error::none) {
        TORUSMP_ASSERT(lock.held(), rank(), request.peer_);
        TORUSMP_ASSERT(!request.complete() || request.pending(), rank(), request.peer_,
                       request.tag_, error);
        TORUSMP_ASSERT(completed < opened, rank(), completed, opened);
        request.status_.error = error;
        ++completed;
        request.complete_.store(true, std::memory_order_release);
    }

    void log(std::string_view text) const {
        if (options.log) options.log(text);
    }
    std::string name_of(Rank rank) const;
    std::string name_of(const Connection& connection) const;
    std::string name_of_source(Rank rank) const;  // a receive's; "any rank" for a wildcard
};

}  // namespace torusmp::core
