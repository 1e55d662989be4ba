// SPDX-License-Identifier: BSD-3-Clause
// Message handles in reports of waits, and messages still in flight at the end.
#include "core/declared/flow.h"
#include "qmp/communicator.h"
#include "qmp/message.h"

using Handle = QMP_msghandle_struct;
using Kind = Handle::Kind;

namespace torusmp::qmp {
namespace {

class IdleHandles final : public core::Reporter {
  public:
    // With several threads, handles are not reported: other threads may change them.
    void report(core::Waits& waits) const override {
        Library& lib = library();
        if (runtime().options().threads) return;
        for (const auto& comm : lib.communicators) waits.group(comm->group.context()).name = "QMP";
        for (const Handle* handle : lib.handles) {
            for (const auto& part : handle->parts) add(*part, waits);
            if (handle->kind != Kind::multiple) add(*handle, waits);
        }
    }

  private:
    static void add(const Handle& handle, core::Waits& waits) {
        if (handle.active) return;
        const bool sends = handle.kind == Kind::send;
        const core::FlowKey& key = sends ? handle.send_flow->key : handle.receive_flow->key;
        waits.add(core::Waits::Operation{
            .kind = sends ? core::Waits::Operation::Kind::idle_send
                          : core::Waits::Operation::Kind::idle_receive,
            .channel = true,
            .peer = sends ? handle.send_flow->dest : handle.receive_flow->source,
            .context = key.context,
            .bytes = handle.buffer.bytes});
    }
};
const IdleHandles idle_handles;

}  // namespace

void begin_reports() {
    runtime().add_reporter(idle_handles);
}

void end_reports() {
    runtime().remove_reporter(idle_handles);
}

std::string handles_in_flight() {
    Library& lib = library();
    const std::lock_guard lock(lib.mutex);
    std::string text;
    const auto look = [&](Handle& handle) {
        if (handle.active && !handle.request().complete()) text += "\n  " + handle.describe();
    };
    for (Handle* handle : lib.handles) {
        for (const auto& part : handle->parts) look(*part);
        if (handle->kind != Kind::multiple) look(*handle);
    }
    return text;
}

}  // namespace torusmp::qmp
