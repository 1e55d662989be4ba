// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/verbs/interface.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

namespace torusmp::transport::verbs {
namespace {

using std::chrono::milliseconds;

// The object of an epoll event.
enum Watched : std::uint64_t { completions, trouble, monitor, bell, alarm };
constexpr std::uint64_t kind_bits = 3;

constexpr int completions_a_look = 16;
// Polls between two checks: of devices other than the busiest, of finished sends that no caller
// awaits, of greetings, and of descriptors and the clock. Powers of two.
constexpr unsigned others_every = 4;
constexpr unsigned sends_polled_every = 16;
constexpr unsigned greetings_every = 64;
constexpr unsigned descriptors_every = 1024;
// A sleeper wakes up at least this often.
constexpr milliseconds longest_sleep(1000);
// While connections are established, the clock is read this often.
constexpr milliseconds attention(10);
constexpr milliseconds goodbye_time(1000);
constexpr milliseconds last_word_time(50);

bool every(unsigned turn, unsigned many) {
    return (turn & (many - 1)) == 0;
}

// Drops what still arrives while an interface is closed.
class Deaf final : public Sink {
  public:
    Verdict on_packet(Channel&, const PacketHeader&, const std::byte*) override {
        return Verdict::taken;
    }
    void on_notice(Channel&, std::uint64_t) override {}
    void on_transfer(Channel&, std::uint64_t, bool) override {}
    void on_connect(std::uint32_t) override {}
    void on_down(Channel&, std::string_view) override {}
};

std::size_t largest_slot(const std::vector<PortOptions>& ports) {
    std::size_t bytes = 0;
    for (const PortOptions& port : ports) bytes = std::max(bytes, port.slot_bytes);
    return sizeof(PacketHeader) + bytes;
}

}  // namespace

VerbsInterface::VerbsInterface(const std::vector<PortOptions>& ports, InterfaceOptions options)
    : Network("verbs", capabilities, ports, options.host),
      options_(std::move(options)),
      slots_(largest_slot(ports), devices_),
      registrations_(options_.cache, devices_, options_.log) {
    for (const auto& wanted : options_.devices) {
        if (!has_port(wanted.port)) continue;
        const auto same = [&](const auto& it) { return it->netdev() == wanted.name; };
        auto found = std::find_if(devices_.begin(), devices_.end(), same);
        if (found == devices_.end()) {
            try {
                devices_.push_back(std::make_unique<Device>(
                    wanted.name, devices_.size(), options_.gid_index, options_.spares_links));
                greeters_.push_back(std::make_unique<Greeter>(*devices_.back()));
            } catch (const std::runtime_error& error) {
                throw std::runtime_error(
                    fmt::format("verbs: host {}: {}", options_.host, error.what()));
            }
            found = std::prev(devices_.end());
        }
        Device& device = **found;
        device_of_port_[wanted.port] = &device;
        address_.endpoints.push_back(
            {wanted.port, greeters_[device.index()]->number(), wanted.name, device.addresses()});
    }
    for (const auto& device : devices_) {
        watch(device->events_descriptor(), device->index() << kind_bits | Watched::completions);
        watch(device->trouble_descriptor(), device->index() << kind_bits | Watched::trouble);
    }
    watch(bell_.get(), Watched::bell);
    watch(monitor_.descriptor(), Watched::monitor);
    watch(alarm_.descriptor(), Watched::alarm);
    if (!devices_.empty()) hot_ = devices_.front().get();
}

VerbsInterface::~VerbsInterface() {
    say_goodbye();
    channels_.clear();  // before the devices and slots that they use
    replaced_.clear();
}

// Announces to every peer that nothing more will be sent, and waits until each has confirmed it or
// announced the same.
void VerbsInterface::say_goodbye() {
    if (std::exchange(said_goodbye_, true)) return;
    Deaf deaf;
    for (const auto& channel : channels_) {
        if (!channel->can_post(1)) continue;
        channel->post_control({.frame = Frame::goodbye}, VerbsChannel::Out{.sign_of_life = true});
        channel->hand_over();
    }
    const auto end = Clock::now() + std::min<Clock::duration>(goodbye_time, options_.timeout);
    const auto gone = [](const auto& it) {
        return it->state_ != VerbsChannel::State::open || it->retired_ == it->posted_;
    };
    while (!std::all_of(channels_.begin(), channels_.end(), gone) && Clock::now() < end) {
        thorough_ = true;
        poll(deaf);
        std::this_thread::yield();
    }
}

void VerbsInterface::give_time(VerbsChannel& channel) {
    const auto end = Clock::now() + last_word_time;
    while (channel.retired_ != channel.posted_ && Clock::now() < end) {
        take_send_completions(channel.device_);
        std::this_thread::yield();
    }
}

Device& VerbsInterface::device_of(std::uint32_t port) const {
    const auto found = device_of_port_.find(port);
    if (found == device_of_port_.end())
        throw std::runtime_error(fmt::format("verbs: port {} has no device", port));
    return *found->second;
}

// ---- polling ----

int VerbsInterface::poll(Sink& sink) {
    polling_ = true;
    ++turn_;
    const bool thorough = std::exchange(thorough_, false);
    int taken = offer_held(sink);
    if (thorough || every(turn_, others_every)) {
        for (const auto& device : devices_) {
            const int brought = take_receive_completions(*device, sink);
            if (brought != 0) hot_ = device.get();
            taken += brought;
        }
    } else if (hot_ != nullptr) {
        taken += take_receive_completions(*hot_, sink);
    }
    if (thorough || awaited_ != 0 || every(turn_, sends_polled_every))
        for (const auto& device : devices_) take_send_completions(*device);
    if (thorough || waiting_ != 0 || every(turn_, greetings_every)) {
        for (const auto& it : greeters_) it->poll([this](const Hello& hello) { hear(hello); });
        for (const std::uint32_t port : std::exchange(knocked_, {})) sink.on_connect(port);
        for (const auto& it : channels_)
            if (it->wants_push()) it->push();
    }
    if (every(turn_, descriptors_every)) look(0);
    if (thorough || every(turn_, impatient_ ? greetings_every : descriptors_every))
        look_at_the_clock();
    hand_over_all();
    for (const auto& [channel, why] : std::exchange(broken_, {})) {
        channel->fail(why);
        // Requests that the device did not accept never complete.
        channel->departed(channel->posted_ - 1, false);
    }
    polling_ = false;
    if (has_news()) report_news(sink);
    if (!replaced_.empty()) [[unlikely]]
        bury();
    return taken;
}

int VerbsInterface::take_receive_completions(Device& device, Sink& sink) {
    std::array<ibv_wc, completions_a_look> found;
    const int count = ibv_poll_cq(device.queue(Device::receives), completions_a_look, found.data());
    int taken = 0;
    for (int i = 0; i < count; ++i) {
        const ibv_wc& it = found[std::size_t(i)];
        auto* const slot = reinterpret_cast<Slot*>(std::uintptr_t(it.wr_id));
        VerbsChannel* const channel = slot->channel;
        --channel->receiving_;
        if (it.status == IBV_WC_SUCCESS) {
            taken += channel->arrived(slot, it.byte_len, sink);
            continue;
        }
        slots_.give(slot);
        // The reason of the error is in the failed request; slots are flushed after it.
        if (channel->state_ < VerbsChannel::State::finished) take_send_completions(device);
        if (it.status != IBV_WC_WR_FLUSH_ERR)
            channel->fail(fmt::format("receiving failed: {}", ibv_wc_status_str(it.status)));
        else if (channel->state_ < VerbsChannel::State::finished)
            channel->fail("its queue pair is in error");
    }
    return taken;
}

namespace {

// The meaning of a failed request, for error messages.
std::string meaning(ibv_wc_status status) {
    switch (status) {
        case IBV_WC_RETRY_EXC_ERR:
            return "the peer's device does not answer: its host is down, its process has ended, or "
                   "the cable is out";
        case IBV_WC_RNR_RETRY_EXC_ERR:
            return "the peer has no slot for a packet that had a credit: a bug of torusmp, please "
                   "report it";
        case IBV_WC_REM_ACCESS_ERR:
            return "the peer's device rejected a remote write: its memory is no longer registered";
        case IBV_WC_REM_OP_ERR:
        case IBV_WC_REM_INV_REQ_ERR:
            return fmt::format("the peer's device could not execute the request ({})",
                               ibv_wc_status_str(status));
        default:
            return fmt::format("sending failed: {}", ibv_wc_status_str(status));
    }
}

}  // namespace

void VerbsInterface::take_send_completions(Device& device) {
    std::array<ibv_wc, completions_a_look> found;
    const int count = ibv_poll_cq(device.queue(Device::sends), completions_a_look, found.data());
    for (int i = 0; i < count; ++i) {
        const ibv_wc& it = found[std::size_t(i)];
        VerbsChannel& channel = *posting_[std::size_t(it.wr_id >> 32)];
        const bool ok = it.status == IBV_WC_SUCCESS;
        if (!ok && it.status != IBV_WC_WR_FLUSH_ERR) channel.fail(meaning(it.status));
        if (!ok && channel.state_ < VerbsChannel::State::finished)
            channel.fail("its queue pair is in error");
        channel.departed(std::uint32_t(it.wr_id), ok);
    }
}

// Handles the descriptors: events of completion queues, trouble of devices and links, the bell.
void VerbsInterface::look(int timeout) {
    std::array<epoll_event, 32> events;
    const int count = epoll_wait(epoll_.get(), events.data(), int(events.size()), timeout);
    looked_ = true;
    for (int i = 0; i < count; ++i) {
        const std::uint64_t what = events[std::size_t(i)].data.u64;
        const auto index = std::size_t(what >> kind_bits);
        switch (Watched(what & ((std::uint64_t{1} << kind_bits) - 1))) {
            case Watched::completions:
                devices_[index]->take_events();
                break;
            case Watched::trouble:
                read_trouble(*devices_[index]);
                break;
            case Watched::monitor:
                read_monitor();
                break;
            case Watched::bell:
                silence_bell();
                break;
            case Watched::alarm:
                alarm_.silence();
                break;
        }
    }
}

void VerbsInterface::hand_over_all() {
    for (std::size_t i = 0; i < dirty_.size(); ++i) {
        dirty_[i]->dirty_ = false;
        dirty_[i]->corked_ = false;
        dirty_[i]->hand_over();
    }
    dirty_.clear();
}

void VerbsInterface::make_dirty(VerbsChannel& channel) {
    if (std::exchange(channel.dirty_, true)) return;
    dirty_.push_back(&channel);
}

bool VerbsInterface::idle() const {
    return std::all_of(channels_.begin(), channels_.end(), [](const auto& it) {
        return it->state_ >= VerbsChannel::State::finished ||
               (it->kept_.empty() && it->writes_.empty() && it->staged_count_ == 0);
    });
}

// ---- sleeping ----

void VerbsInterface::prepare_sleep() {
    hand_over_all();
    for (const auto& device : devices_) device->arm(awaited_ != 0 || !idle());
    fell_asleep_ = Clock::now();
    alarm_.set(waiting_ != 0 ? fell_asleep_ + attention
                             : std::min(fell_asleep_ + longest_sleep, next_look_at_clock_));
    thorough_ = true;
    looked_ = false;
}

void VerbsInterface::sleep(Clock::time_point deadline) {
    look(milliseconds_until(deadline));
    slept_ += Clock::now() - fell_asleep_;
    thorough_ = true;
}

void VerbsInterface::cancel_sleep() {
    if (!std::exchange(looked_, true)) look(0);
    slept_ += Clock::now() - fell_asleep_;
    thorough_ = true;
}

}  // namespace torusmp::transport::verbs
