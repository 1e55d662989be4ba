// SPDX-License-Identifier: BSD-3-Clause
// Opens files of this rank's host for groups that have no member on it, and serves each of them by
// a StoreServer. Every rank has one of these for each job that it is in.
//
// Progress carries out the calls one after the other (see keeper_call.h). Files are opened with the
// rights of this process, as those of its own calls are.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/api.h"
#include "io/answers.h"
#include "io/keeper_call.h"
#include "io/local_store.h"
#include "io/noted_task.h"
#include "io/store_server.h"

namespace torusmp::io {

class OutsideKeeper final : public core::NoteReader, private NotedTask {
  public:
    using Look = std::function<Sight(const std::string& path)>;

    // All ranks use `context` for nothing else. `look` describes what this host sees.
    OutsideKeeper(core::Runtime& runtime, core::Context context, Look look);
    ~OutsideKeeper();
    OutsideKeeper(const OutsideKeeper&) = delete;
    OutsideKeeper& operator=(const OutsideKeeper&) = delete;

    bool on_note(core::Rank source, core::Tag tag, transport::ConstBytes bytes) override;
    void on_end() override { ended_ = true; }

  private:
    // A message that has been claimed, and perhaps has not arrived whole.
    struct Call {
        core::Rank source = -1;
        std::vector<std::byte> message;
        core::ReceiveRequest request;
    };
    struct Caller {
        core::Rank rank;
        core::Tag tag;
    };
    struct File {
        Hints hints;
        std::unique_ptr<LocalStore> store;
        std::unique_ptr<StoreServer> server;
        std::optional<Caller> closing;
    };

    bool work() override;
    void take_calls();
    void carry_out(const Call& call);
    keeper_call::Answer open(const keeper_call::Question& question, const std::string& path);
    void end_files();
    bool idle() const;

    const core::Context context_;
    const Look look_;
    bool ended_ = false;
    // Changed under the Runtime's lock.
    std::deque<Call> calls_;
    std::map<core::Context, File> files_;
    Answers<keeper_call::Answer> answers_;
};

}  // namespace torusmp::io
