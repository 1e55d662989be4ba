#include "core/transport/verbs/interface.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace torusmp::transport::verbs {
namespace {

using std::chrono::milliseconds;

// What an epoll event is about.
enum Watched : std::uint64_t { completions, trouble, monitor, bell };
constexpr std::uint64_t kind_bits = 2;

constexpr int completions_a_look = 16;
// Polls between two looks at devices other than the busiest, at what has gone out though nobody
// waits for it, at greetings, and at descriptors and the clock: powers of two.
constexpr unsigned others_every = 4;
constexpr unsigned departures_every = 16;
constexpr unsigned greetings_every = 64;
constexpr unsigned descriptors_every = 1024;
// A sleeper looks around this often even if nothing wakes it.
constexpr milliseconds longest_sleep(1000);
// While connections come about, time is looked at this often; where it was not, this process had
// other things to do, and no more than the longest of such gaps counts as waiting.
constexpr milliseconds attention(10);
constexpr milliseconds longest_gap(100);
constexpr milliseconds first_hello_pause(10);
constexpr milliseconds longest_hello_pause(500);
constexpr milliseconds farewell_time(1000);
constexpr milliseconds last_word_time(50);

[[noreturn]] void fail(std::string_view what, int error = errno) {
    throw std::runtime_error(fmt::format("verbs: {}: {}", what, std::strerror(error)));
}

bool every(unsigned turn, unsigned many) {
    return (turn & (many - 1)) == 0;
}

// Takes what still comes while an interface goes down.
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

// The addresses over which two ends talk: by a cable, or, where there is none between them, by
// addresses that are routed.
std::optional<Pair> pair_for(const Endpoint& own, const Endpoint& peer, bool cable) {
    if (cable) return choose_pair(own, peer);
    Endpoint here = own;
    Endpoint there = peer;
    here.device.clear();
    there.device.clear();
    if (const auto routed = choose_pair(here, there)) return routed;
    return choose_pair(own, peer);
}

std::string describe(const Device& device, const Pair& pair, const Endpoint& theirs,
                     const std::string& host) {
    return fmt::format("{}, {} to {} on {} of {}", device.text(), pair.own.text(), pair.peer.text(),
                       theirs.device, host);
}

}  // namespace

VerbsInterface::VerbsInterface(const std::vector<PortOptions>& ports, InterfaceOptions options)
    : options_(std::move(options)),
      ports_(ports),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      bell_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      slots_(largest_slot(ports), devices_),
      registrations_(options_.cache, devices_, options_.log) {
    if (!epoll_ || !bell_) verbs::fail("cannot open epoll or an eventfd");
    draw(address_.id);
    address_.host = options_.host;
    for (const auto& wanted : options_.devices) {
        const auto same = [&](const auto& it) { return it->netdev() == wanted.name; };
        auto found = std::find_if(devices_.begin(), devices_.end(), same);
        if (found == devices_.end()) {
            try {
                devices_.push_back(
                    std::make_unique<Device>(wanted.name, devices_.size(), options_.gid_index));
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
    const auto watch = [&](int descriptor, std::uint64_t what) {
        epoll_event event{EPOLLIN, {.u64 = what}};
        if (descriptor >= 0 && epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0)
            verbs::fail("epoll_ctl");
    };
    for (const auto& device : devices_) {
        watch(device->events_descriptor(), device->index() << kind_bits | Watched::completions);
        watch(device->trouble_descriptor(), device->index() << kind_bits | Watched::trouble);
    }
    watch(bell_.get(), Watched::bell);
    watch(monitor_.descriptor(), Watched::monitor);
    if (!devices_.empty()) hot_ = devices_.front().get();
}

VerbsInterface::~VerbsInterface() {
    say_farewell();
}

// Tells every peer that nothing more comes, and waits until each has it or says the same.
void VerbsInterface::say_farewell() {
    if (std::exchange(said_farewell_, true)) return;
    Deaf deaf;
    for (const auto& channel : channels_) {
        if (!channel->can_post(1)) continue;
        PacketHeader header{};
        header.place = std::uint8_t(Frame::farewell);
        channel->post_frame(header, {}, {}, VerbsChannel::Out{.sign_of_life = true});
        channel->hand_over();
    }
    const auto end = Clock::now() + std::min<Clock::duration>(farewell_time, options_.timeout);
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
        take_departures(channel.device_);
        std::this_thread::yield();
    }
}

Device& VerbsInterface::device_of(std::uint32_t port) const {
    const auto found = device_of_port_.find(port);
    if (found == device_of_port_.end())
        throw std::runtime_error(fmt::format("verbs: port {} has no device", port));
    return *found->second;
}

const PortOptions& VerbsInterface::port_options(std::uint32_t port) const {
    for (const PortOptions& options : ports_)
        if (options.port == port) return options;
    throw std::runtime_error(fmt::format("verbs: port {} was not opened", port));
}

VerbsChannel* VerbsInterface::channel_of(std::uint32_t port) const {
    for (const auto& it : channels_)
        if (it->port_.port == port) return it.get();
    return nullptr;
}

// ---- connections coming about ----

Channel& VerbsInterface::connect(ConstBytes peer_address, const ChannelOptions& options) {
    const Address peer = Address::decode(peer_address);
    Device& device = device_of(options.local_port);
    const Endpoint& own = address_.endpoint(options.local_port);
    const Endpoint& theirs = peer.endpoint(options.remote_port);
    if (theirs.device.empty())
        throw std::runtime_error(fmt::format("verbs: {} has no port {} on an RDMA device",
                                             peer.host, options.remote_port));
    const auto pair = pair_for(own, theirs, options.mutual);
    if (!pair)
        throw std::runtime_error(
            fmt::format("verbs: {} and {} share no network: expected RoCE v2 GIDs of one network "
                        "at both ends of a cable, or IPv6 link-local ones",
                        describe(own, options_.host), describe(theirs, peer.host)));
    auto made = std::make_unique<VerbsChannel>(*this, std::uint32_t(channels_.size()), device,
                                               port_options(options.local_port));
    VerbsChannel& channel = *made;
    channel.name_ = describe(device, *pair, theirs, peer.host);
    channel.peer_ = peer.id;
    channel.remote_port_ = options.remote_port;
    channel.greeter_ = theirs.listens_on;
    channel.path_.is_global = 1;
    channel.path_.port_num = device.port();
    channel.path_.grh.dgid = gid_from(pair->peer);
    channel.path_.grh.sgid_index = device.gid_of(pair->own);
    channel.path_.grh.hop_limit = 64;
    channel.mutual_ = options.mutual;
    channel.hello_pause_ = first_hello_pause;
    channels_.push_back(std::move(made));
    ++waiting_;
    if (const auto stranger = strangers_.find(options.local_port); stranger != strangers_.end()) {
        channel.heard_ = stranger->second;
        strangers_.erase(stranger);
    }
    if (!try_to_reach(channel)) greet(channel);
    return channel;
}

// Tells the peer's device which queue pair this is, and whether it receives.
void VerbsInterface::greet(VerbsChannel& channel) {
    channel.next_hello_ = Clock::now() + channel.hello_pause_;
    channel.hello_pause_ = std::min(2 * channel.hello_pause_, longest_hello_pause);
    if (!channel.greets_)
        channel.greets_.reset(ibv_create_ah(channel.device_.domain(), &channel.path_));
    if (!channel.greets_) {
        channel.trouble_ = fmt::format("its address does not resolve: {}", std::strerror(errno));
        return;
    }
    Hello hello{};
    hello.greeting = greeting;
    hello.version = wire_version;
    hello.ready =
        channel.state_ == VerbsChannel::State::ready || channel.state_ == VerbsChannel::State::open
            ? 1
            : 0;
    hello.from_port = channel.port_.port;
    hello.to_port = channel.remote_port_;
    hello.queue_pair = channel.queue_pair_->qp_num;
    hello.first_packet = channel.first_packet_;
    hello.mtu = std::uint32_t(channel.device_.mtu());
    hello.slot_bytes = std::uint32_t(channel.port_.slot_bytes);
    hello.tokens = channel.all_tokens();
    hello.from = address_.id;
    hello.to = channel.peer_;
    hello.proof =
        prove(options_.secret, std::as_bytes(std::span(&hello, 1)).first(offsetof(Hello, proof)));
    greeters_[channel.device_.index()]->send(channel.greets_.get(), channel.greeter_, hello);
}

// A datagram that somebody sent. What does not prove that it is of this job, and for us, is no
// business of ours.
void VerbsInterface::hear(const Hello& hello) {
    if (hello.greeting != greeting || hello.version != wire_version || hello.to != address_.id)
        return;
    const auto said = std::as_bytes(std::span(&hello, 1)).first(offsetof(Hello, proof));
    if (!same(hello.proof, prove(options_.secret, said))) return;
    VerbsChannel* const channel = channel_of(hello.to_port);
    if (channel == nullptr) {
        const auto of_port = [&](const PortOptions& port) { return port.port == hello.to_port; };
        if (std::none_of(ports_.begin(), ports_.end(), of_port)) return;
        if (strangers_.insert_or_assign(hello.to_port, hello).second)
            knocked_.push_back(hello.to_port);
        return;
    }
    if (channel->peer_ != hello.from || channel->remote_port_ != hello.from_port) return;
    if (channel->state_ == VerbsChannel::State::waiting) {
        channel->heard_ = hello;
        try_to_reach(*channel);
        return;
    }
    if (channel->state_ != VerbsChannel::State::ready &&
        channel->state_ != VerbsChannel::State::open)
        return;
    if (channel->heard_->queue_pair != hello.queue_pair) return;
    if (hello.ready != 0)
        channel->open();
    else
        greet(*channel);
}

// Takes up the peer's hello and answers it. False: none was heard, or the peer cannot be reached
// yet.
bool VerbsInterface::try_to_reach(VerbsChannel& channel) {
    if (!channel.heard_) return false;
    try {
        channel.check(*channel.heard_);
        if (!channel.reach(*channel.heard_)) return false;
    } catch (const std::runtime_error& error) {
        channel.fail(error.what());
        return true;
    }
    channel.hello_pause_ = first_hello_pause;
    greet(channel);
    if (channel.heard_->ready != 0) channel.open();
    return true;
}

// Says hello again, gives up cables by which no answer comes, and asks silent peers for a sign of
// life. A datagram's silence tells nothing of the other end's process, except while both ends are
// known to look for it: when links come about. Elsewhere devices, and launchers, tell.
void VerbsInterface::look_at_the_clock() {
    const auto now = Clock::now();
    const double seconds = std::chrono::duration<double>(options_.timeout).count();
    const auto gap = std::min<Clock::duration>(now - last_look_at_clock_, longest_gap);
    last_look_at_clock_ = now;
    if (waiting_ != 0)
        for (const auto& it : channels_) {
            if (it->state_ >= VerbsChannel::State::open) continue;
            if (it->mutual_ && (it->waited_ += gap) >= options_.timeout)
                it->fail(fmt::format("not connected within {} s (transport.timeout){}{}", seconds,
                                     it->trouble_.empty() ? "" : ": ", it->trouble_));
            else if (now >= it->next_hello_) {
                if (it->state_ == VerbsChannel::State::ready || !try_to_reach(*it)) greet(*it);
            }
        }
    if (now < next_signs_) return;
    next_signs_ = now + options_.timeout / 3;
    for (const auto& it : channels_)
        if (!std::exchange(it->heard_something_, false)) it->ask_for_life();
}

// ---- polling ----

int VerbsInterface::poll(Sink& sink) {
    polling_ = true;
    ++turn_;
    const bool thorough = std::exchange(thorough_, false);
    int taken = 0;
    if (holding_ != 0)
        for (const auto& it : channels_)
            if (it->held_count_ != 0) taken += it->offer_held(sink);
    if (thorough || every(turn_, others_every)) {
        for (const auto& device : devices_) {
            const int brought = take_arrivals(*device, sink);
            if (brought != 0) hot_ = device.get();
            taken += brought;
        }
    } else if (hot_ != nullptr) {
        taken += take_arrivals(*hot_, sink);
    }
    if (thorough || awaited_ != 0 || every(turn_, departures_every))
        for (const auto& device : devices_) take_departures(*device);
    if (thorough || waiting_ != 0 || every(turn_, greetings_every)) {
        for (const auto& it : greeters_) it->poll([this](const Hello& hello) { hear(hello); });
        for (const std::uint32_t port : std::exchange(knocked_, {})) sink.on_connect(port);
        for (const auto& it : channels_)
            if (it->wants_push()) it->push();
    }
    if (every(turn_, descriptors_every)) look(0);
    if (thorough || every(turn_, waiting_ != 0 ? greetings_every : descriptors_every))
        look_at_the_clock();
    hand_over_all();
    for (const auto& [channel, why] : std::exchange(broken_, {})) {
        channel->fail(why);
        // What the device did not take never comes back.
        channel->departed(channel->posted_ - 1, false);
    }
    polling_ = false;
    if (!fallen_.empty() || !transfers_.empty()) tell(sink);
    return taken;
}

int VerbsInterface::take_arrivals(Device& device, Sink& sink) {
    std::array<ibv_wc, completions_a_look> found;
    const int count = ibv_poll_cq(device.queue(Device::arrivals), completions_a_look, found.data());
    int taken = 0;
    for (int i = 0; i < count; ++i) {
        const ibv_wc& it = found[std::size_t(i)];
        auto* const slot = reinterpret_cast<Slot*>(std::uintptr_t(it.wr_id));
        VerbsChannel* const channel = slot->channel;
        if (it.status == IBV_WC_SUCCESS) {
            taken += channel->arrived(slot, it.byte_len, sink);
            continue;
        }
        slots_.give(slot);
        if (it.status != IBV_WC_WR_FLUSH_ERR)
            channel->fail(fmt::format("receiving failed: {}", ibv_wc_status_str(it.status)));
        else if (channel->state_ < VerbsChannel::State::finished)
            channel->fail("its queue pair is in error");
    }
    return taken;
}

namespace {

// What a failed request means to whoever reads it.
std::string meaning(ibv_wc_status status, const InterfaceOptions& options) {
    switch (status) {
        case IBV_WC_RETRY_EXC_ERR:
            return fmt::format(
                "the peer's device does not answer, after {} tries (verbs.retries, "
                "verbs.ack_timeout): its host is down, its process has ended, or the cable is out",
                options.retries + 1);
        case IBV_WC_RNR_RETRY_EXC_ERR:
            return "the peer has no slot for a packet that had a token: a bug of torusmp, please "
                   "report it";
        case IBV_WC_REM_ACCESS_ERR:
            return "the peer's device refuses a remote write: its memory is not registered there "
                   "any more";
        case IBV_WC_REM_OP_ERR:
        case IBV_WC_REM_INV_REQ_ERR:
            return fmt::format("the peer's device could not do what was asked ({})",
                               ibv_wc_status_str(status));
        default:
            return fmt::format("sending failed: {}", ibv_wc_status_str(status));
    }
}

}  // namespace

void VerbsInterface::take_departures(Device& device) {
    std::array<ibv_wc, completions_a_look> found;
    const int count =
        ibv_poll_cq(device.queue(Device::departures), completions_a_look, found.data());
    for (int i = 0; i < count; ++i) {
        const ibv_wc& it = found[std::size_t(i)];
        VerbsChannel& channel = *channels_[std::size_t(it.wr_id >> 32)];
        const bool ok = it.status == IBV_WC_SUCCESS;
        if (!ok && it.status != IBV_WC_WR_FLUSH_ERR) channel.fail(meaning(it.status, options_));
        if (!ok && channel.state_ < VerbsChannel::State::finished)
            channel.fail("its queue pair is in error");
        channel.departed(std::uint32_t(it.wr_id), ok);
    }
}

// What the descriptors tell: events of completion queues, trouble of devices and links, the bell.
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
                devices_[index]->read_trouble(
                    [&](const ibv_qp* pair, std::string_view what_happened) {
                        for (const auto& it : channels_)
                            if (pair != nullptr ? it->queue_pair_.get() == pair
                                                : &it->device_ == devices_[index].get())
                                it->fail(std::string(what_happened));
                    });
                break;
            case Watched::monitor:
                read_monitor();
                break;
            case Watched::bell: {
                std::uint64_t rings = 0;
                if (read(bell_.get(), &rings, sizeof rings) < 0) rings = 0;  // another was faster
                break;
            }
        }
    }
}

void VerbsInterface::read_monitor() {
    monitor_.read([this](unsigned device, std::string_view what) {
        for (const auto& it : channels_)
            if (it->device_.netdev_index() == device)
                it->fail(fmt::format("its device {} {}", it->device_.netdev(), what));
    });
}

void VerbsInterface::hand_over_all() {
    for (std::size_t i = 0; i < dirty_.size(); ++i) {
        dirty_[i]->dirty_ = false;
        dirty_[i]->corked_ = false;
        dirty_[i]->hand_over();
    }
    dirty_.clear();
}

void VerbsInterface::tell(Sink& sink) {
    for (const Finished& it : std::exchange(transfers_, {}))
        sink.on_transfer(*it.channel, it.cookie, it.ok);
    for (VerbsChannel* it : std::exchange(fallen_, {}))
        if (!std::exchange(it->down_told_, true))
            sink.on_down(*it, fmt::format("{} ({})", it->why_, it->name_));
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

// ---- memory ----

RemoteMemory VerbsInterface::expose(Bytes memory, const Channel* channel) {
    std::array<const Device*, most_link_ports> devices;
    std::array<std::pair<std::uint32_t, const Device*>, most_link_ports> keys;
    std::size_t device_count = 0;
    std::size_t key_count = 0;
    const auto* const wanted = static_cast<const VerbsChannel*>(channel);
    for (const auto& it : channels_) {
        const bool link = it->port_.port < most_link_ports;
        // Two cables to one peer may share a message.
        if (wanted != nullptr ? it.get() != wanted && (!link || it->peer_ != wanted->peer_) : !link)
            continue;
        if (key_count == keys.size()) break;
        keys[key_count++] = {VerbsChannel::key_port(it->port_.port), &it->device_};
        if (std::find(devices.begin(), devices.begin() + device_count, &it->device_) ==
            devices.begin() + device_count)
            devices[device_count++] = &it->device_;
    }
    Registration* const registration =
        registrations_.acquire(memory, std::span(devices).first(device_count), true);
    if (registration == nullptr) return {};
    RemoteMemory remote{std::uint64_t(reinterpret_cast<std::uintptr_t>(memory.data())),
                        memory.size(),
                        std::uint64_t(reinterpret_cast<std::uintptr_t>(registration)),
                        {}};
    for (std::size_t i = 0; i < key_count; ++i)
        remote.set_port_key(keys[i].first, registration->remote_key(*keys[i].second));
    return remote;
}

void VerbsInterface::conceal(const RemoteMemory& memory) {
    if (memory.handle != 0)
        registrations_.release(reinterpret_cast<Registration*>(std::uintptr_t(memory.handle)));
}

void* VerbsInterface::allocate(std::size_t bytes, std::size_t alignment) {
    return registrations_.allocate(bytes, alignment);
}

void VerbsInterface::free(void* memory) {
    registrations_.free(memory);
}

// ---- sleeping ----

void VerbsInterface::prepare_sleep() {
    hand_over_all();
    for (const auto& device : devices_) device->arm(awaited_ != 0 || !idle());
    thorough_ = true;
    looked_ = false;
}

void VerbsInterface::sleep(Clock::time_point deadline) {
    const auto most = waiting_ != 0 ? attention : longest_sleep;
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    look(int(std::clamp<milliseconds>(left, milliseconds(0), most).count()));
    thorough_ = true;
}

void VerbsInterface::cancel_sleep() {
    if (!std::exchange(looked_, true)) look(0);
    thorough_ = true;
}

void VerbsInterface::wake() noexcept {
    const std::uint64_t one = 1;
    if (write(bell_.get(), &one, sizeof one) < 0) return;  // it rings already
}

// ---- what was counted ----

ChannelStatistics VerbsInterface::traffic() const {
    ChannelStatistics sum;
    for (const auto& it : channels_) {
        const ChannelStatistics& one = it->statistics();
        sum.copied += one.copied;
        sum.forwarded += one.forwarded;
        sum.written += one.written;
        sum.bounced += one.bounced;
        sum.kept += one.kept;
    }
    return sum;
}

Device::Counters VerbsInterface::device_counters() const {
    Device::Counters sum;
    for (const auto& device : devices_) {
        const Device::Counters one = device->counters();
        sum.receiver_not_ready += one.receiver_not_ready;
        sum.retries += one.retries;
    }
    return sum;
}

std::string VerbsInterface::statistics() const {
    const ChannelStatistics sent = traffic();
    const RegistrationStatistics& memory = registrations_.statistics();
    const Device::Counters fabric = device_counters();
    std::string text;
    for (const auto& it : channels_)
        if (it->connecting())
            text += fmt::format("verbs: {}: the other end has not answered yet{}{}\n", it->name_,
                                it->trouble_.empty() ? "" : ": ", it->trouble_);
    return text + fmt::format(
                      "verbs: packets copied into slots {}, forwarded from their slot {}, kept for "
                      "want of room "
                      "{}; written {} KiB from registered memory, {} KiB by copies\n"
                      "verbs: registrations {} made, {} found, {} evicted, {} unmapped, {} "
                      "refused; {} KiB kept, "
                      "{} KiB in slots; receiver not ready {} (0 expected), sent again {}",
                      sent.copied, sent.forwarded, sent.kept, sent.written / 1024,
                      sent.bounced / 1024, memory.made, memory.found, memory.evicted,
                      memory.unmapped, memory.refused, memory.bytes / 1024,
                      slots_.registered() / 1024, fabric.receiver_not_ready, fabric.retries);
}

}  // namespace torusmp::transport::verbs
