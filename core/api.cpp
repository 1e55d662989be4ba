// SPDX-License-Identifier: BSD-3-Clause
#include "core/api.h"

#include <stdexcept>

#include "core/core.h"

namespace torusmp::core {

using Guard = Progress::Guard;

Runtime::Runtime(Options options, const InterfaceFactory& make_interface,
                 std::vector<LinkTransport> link_transports)
    : core_(std::make_unique<Core>(std::move(options), make_interface, std::move(link_transports))),
      options_(core_->commons.options),
      progress_(core_->progress),
      notes_(core_->notes),
      shared_(core_->shared),
      windows_(core_->windows),
      state_(*core_),
      flows_(*core_),
      survivors_(*core_) {}

Runtime::~Runtime() = default;

std::vector<std::byte> Runtime::address() const {
    return core_->connections.address();
}

void Runtime::connect(std::vector<std::vector<std::byte>> addresses_by_rank) {
    const Guard guard(progress_);
    core_->connections.connect(std::move(addresses_by_rank));
    core_->far_ends.connect();
    core_->links.adopt();
}

void Runtime::await_links(bool keeps_going) {
    if (!keeps_going) core_->faults.begin_start();
    progress();  // reports links that could not even be attempted
    wait_until([&] { return core_->faults.start_failed() || !core_->connections.connecting(); },
               "the links to come up");
    const auto troubles = core_->faults.end_start();
    if (!troubles.empty()) throw std::runtime_error(troubles.front());
    core_->publisher.set_phase(Phase::running);
    progress_.publish();
    progress_.start();
}

void Runtime::say_goodbye() {
    progress_.stop();
    const Guard guard(progress_);
    for (transport::Interface* it : core_->connections.interfaces()) it->say_goodbye();
    core_->publisher.set_phase(Phase::left);
    progress_.publish();
}

void Runtime::send(SendRequest& request, const Buffer& buffer, Rank dest, Context context, Tag tag,
                   SendMode mode) {
    Guard guard(progress_);
    core_->messages.send(request, buffer, dest, nullptr, context, tag, mode);
    guard.started(request);
}

bool Runtime::send_at_once(transport::ConstBytes message, Rank dest, Context context, Tag tag) {
    if (!progress_.locks()) [[likely]] {
        core_->messages.look_for_announcement(message.size(), dest, [this] { progress_.poll(); });
        return core_->messages.send_at_once(message, dest, context, tag);
    }
    const Guard guard(progress_);
    return core_->messages.send_at_once(message, dest, context, tag);
}

void Runtime::send_by(SendRequest& request, const Buffer& buffer, routing::Direction link,
                      Context context, Tag tag) {
    Guard guard(progress_);
    const Rank dest = *torus().neighbour(rank(), link);
    core_->messages.send(request, buffer, dest, core_->messages.cable(link), context, tag,
                         SendMode::standard);
    guard.started(request);
}

void Runtime::receive(ReceiveRequest& request, const Buffer& buffer, Rank source, Context context,
                      Tag tag) {
    Guard guard(progress_);
    core_->messages.receive(request, buffer, source, context, tag);
    guard.started(request);
}

void Runtime::receive_block(ReceiveRequest& request, transport::Bytes block, Rank source,
                            Context context, Tag tag) {
    if (!progress_.locks()) [[likely]]
        return core_->messages.receive_block(request, block, source, context, tag);
    Guard guard(progress_);
    core_->messages.receive_block(request, block, source, context, tag);
    guard.started(request);
}

std::optional<Status> Runtime::probe(Rank source, Context context, Tag tag) {
    const Guard guard(progress_);
    const Unexpected* message = core_->matching.find_unexpected(context, source, tag);
    if (message == nullptr) return std::nullopt;
    return message->status();
}

Unexpected* Runtime::claim(Rank source, Context context, Tag tag) {
    const Guard guard(progress_);
    return core_->messages.claim(source, context, tag);
}

void Runtime::receive(ReceiveRequest& request, const Buffer& buffer, Unexpected& claimed) {
    Guard guard(progress_);
    core_->messages.receive(request, buffer, claimed);
    guard.started(request);
}

void Runtime::cancel(ReceiveRequest& request) {
    const Guard guard(progress_);
    core_->cancellation.cancel(request);
}

void Runtime::cancel(SendRequest& request) {
    const Guard guard(progress_);
    core_->cancellation.cancel(request);
}

void Runtime::abandon(SendRequest& request) {
    const Guard guard(progress_);
    core_->cancellation.abandon(request);
}

bool Runtime::progress() {
    const bool moved = progress_.poll();
    return progress_.poll_companions() || moved;
}

void Runtime::join(Companions& companions) {
    companions.add(progress_);
}

void Runtime::leave(Companions& companions) {
    companions.remove(progress_);
}

void Runtime::progress_repeatedly() {
    progress_.poll_companions();
    progress_.poll_repeatedly();
}

void Runtime::progress_for(std::string_view call, const Awaited& sought) {
    progress_.poll_for(call, sought);
}

void Runtime::add_task(Task& task) {
    progress_.add_task(task);
}

void Runtime::begin_deed(std::uint64_t number, std::string_view text) {
    ControlPage& page = core_->commons.page;
    if (!page.last_deed_was(number)) {
        const Guard guard(progress_);
        page.copy_deed(number, text);
    }
    page.begin_deed();
}

void Runtime::end_deed() {
    core_->commons.page.end_deed();
}

void* Runtime::allocate(std::size_t bytes, std::size_t alignment) {
    const Guard guard(progress_);
    return core_->connections.interfaces().front()->allocate(bytes, alignment);
}

void Runtime::free(void* memory) {
    const Guard guard(progress_);
    core_->connections.interfaces().front()->free(memory);
}

void Runtime::request_report() noexcept {
    progress_.ask_for(ControlPage::report_wanted);
}

void Runtime::request_answer() noexcept {
    progress_.ask_for(ControlPage::answer_wanted);
}

void Runtime::add_reporter(const Reporter& reporter) {
    const Guard guard(progress_);
    core_->reporters.push_back(&reporter);
}

void Runtime::remove_reporter(const Reporter& reporter) {
    const Guard guard(progress_);
    std::erase(core_->reporters, &reporter);
}

void Runtime::interrupt() noexcept {
    progress_.ask_for(ControlPage::interrupt_wanted);
}

void Runtime::peer_died(Rank peer, std::string_view why) {
    const Guard guard(progress_);
    // Takes the messages that the peer sent before it died: only those that never arrive fail.
    progress_.take_arrived();
    core_->faults.peer_died(peer, why);
}

void Runtime::deaths_are_known() {
    const Guard guard(progress_);
    core_->faults.deaths_are_known();
}

SendFlow& Flows::open_send(Rank dest, Context context, std::uint32_t kind) const {
    const Guard guard(core_.progress);
    return core_.declared.open_send(dest, {context, kind});
}

ReceiveFlow& Flows::open_receive(Rank source, Context context, std::uint32_t kind) const {
    const Guard guard(core_.progress);
    return core_.declared.open_receive(source, {context, kind});
}

void Flows::start(SendFlow& flow, SendRequest& request, Buffer buffer, bool followed) const {
    Guard guard(core_.progress);
    core_.declared.start(flow, request, buffer, followed);
    guard.started(request);
}

void Flows::start(ReceiveFlow& flow, ReceiveRequest& request, Buffer buffer) const {
    Guard guard(core_.progress);
    core_.declared.start(flow, request, buffer);
    guard.started(request);
}

}  // namespace torusmp::core
