// SPDX-License-Identifier: BSD-3-Clause
// Asks a rank of another host to look for, open, close and delete files there (see keeper_call.h).
//
// Methods block until the OutsideKeeper of that rank answers, which happens in any library call of
// the rank. They return errno values: EHOSTDOWN if the rank is lost. Any thread may call.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/api.h"
#include "io/far_store.h"
#include "io/keeper_call.h"

namespace torusmp::io {

class KeeperClient {
  public:
    KeeperClient(core::Runtime& runtime, core::Context context, core::Rank keeper,
                 FarStore::CallName call)
        : runtime_(runtime), context_(context), keeper_(keeper), call_name_(call) {}
    virtual ~KeeperClient() = default;

    // nullopt if the rank is lost.
    std::optional<Sight> look(const std::string& path);
    // Afterwards FarStores reach the file in the context `file`. `flags` are those of open(2).
    int open(const std::string& path, int flags, core::Context file, const Hints& hints);
    // Precondition: no rank makes further calls in that context. EBADF if it is not open.
    int close(core::Context file);
    int remove(const std::string& path);

  protected:
    // Returns when done() is true. Virtual, because tests drive progress themselves.
    virtual void wait(const std::function<bool()>& done, const core::Awaited& awaited) {
        runtime_.wait_until(done, call_name_(), &awaited);
    }

  private:
    keeper_call::Answer ask(keeper_call::Question question, const std::string& path);

    core::Runtime& runtime_;
    const core::Context context_;
    const core::Rank keeper_;
    const FarStore::CallName call_name_;
};

}  // namespace torusmp::io
