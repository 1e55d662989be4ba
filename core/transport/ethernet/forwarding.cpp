// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/ethernet/forwarding.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <net/if.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/descriptor.h"
#include "base/netlink.h"
#include "config/geometry.h"

namespace torusmp::transport::ethernet {
namespace {

using config::Settings;
using routing::Direction;
using routing::Torus;

// Identifies our filter among those of a device: tc shows it as "pref 34998".
constexpr std::uint32_t preference = forwarded_type;
constexpr std::uint32_t handle = 1;
constexpr std::uint32_t ingress = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS);

[[noreturn]] void refuse(const std::string& what, int error) {
    const bool privilege = error == EPERM || error == EACCES;
    throw std::runtime_error(
        fmt::format("{}: {}{}", what, std::strerror(error), privilege ? ": root is needed" : ""));
}

// ---- bpf(2) ----

// The kernel requires zeros in all fields that a command does not use.
bpf_attr blank() {
    bpf_attr what;
    std::memset(&what, 0, sizeof what);
    return what;
}

int bpf(int command, bpf_attr& what) {
    return int(syscall(SYS_bpf, command, &what, sizeof what));
}

std::uint64_t address_of(const void* memory) {
    return reinterpret_cast<std::uintptr_t>(memory);
}

base::Descriptor load(const std::vector<bpf_insn>& program) {
    static constexpr char licence[] = "BSD";
    static constexpr char name[] = "torusmp_forward";
    std::string log(64 << 10, '\0');
    bpf_attr what = blank();
    what.prog_type = BPF_PROG_TYPE_SCHED_CLS;
    what.insns = address_of(program.data());
    what.insn_cnt = std::uint32_t(program.size());
    what.license = address_of(licence);
    std::memcpy(what.prog_name, name, sizeof name);
    if (base::Descriptor loaded(bpf(BPF_PROG_LOAD, what)); loaded) return loaded;
    const int error = errno;
    if (error == EPERM || error == ENOSYS) refuse("the kernel does not load BPF programs", error);
    // Loads it again, to get the verifier's log.
    what.log_level = 1;
    what.log_buf = address_of(log.data());
    what.log_size = std::uint32_t(log.size());
    if (base::Descriptor loaded(bpf(BPF_PROG_LOAD, what)); loaded) return loaded;
    log.resize(log.find('\0'));
    if (log.size() > 400) log.erase(0, log.size() - 400);
    refuse(fmt::format("the kernel refuses the program that forwards frames ({})", log), error);
}

// The verdict of the program on a frame for those coordinates, by a test run without a device.
int try_program(int program, const routing::Coordinates& to) {
    std::array<std::byte, forwarded_header_bytes + sizeof(FrameHeader)> frame{};
    const ForwardHeader header = forward_header(to);
    std::memcpy(frame.data() + ethernet_header_bytes, &header, sizeof header);
    bpf_attr what = blank();
    what.test.prog_fd = std::uint32_t(program);
    what.test.data_in = address_of(frame.data());
    what.test.data_size_in = std::uint32_t(frame.size());
    what.test.repeat = 1;
    if (bpf(BPF_PROG_TEST_RUN, what) != 0)
        refuse("the kernel does not run the program that forwards frames", errno);
    return int(what.test.retval);
}

// Checks the program before use: frames for the node stay, and those for its neighbours go on.
void check_program(int program, const Torus& torus, int node) {
    const auto expect = [&](int target, int verdict) {
        const int found = try_program(program, torus.coordinates(target));
        if (found != verdict)
            throw std::runtime_error(
                fmt::format("the program that forwards frames does {} with one for node {} where "
                            "{} is expected; nothing was changed",
                            found, target, verdict));
    };
    expect(node, TC_ACT_OK);
    for (int i = 0; i < 2 * torus.dimensions(); ++i)
        if (const auto neighbour = torus.neighbour(node, Direction::from_index(i)))
            expect(*neighbour, TC_ACT_REDIRECT);
}

// ---- rtnetlink(7) ----

// A request to change the traffic control of one device.
class Request {
  public:
    Request(std::uint16_t type, unsigned flags, unsigned device) {
        head().nlmsg_type = type;
        head().nlmsg_flags = std::uint16_t(NLM_F_REQUEST | flags);
        head().nlmsg_len = NLMSG_LENGTH(sizeof(tcmsg));
        about().tcm_family = AF_UNSPEC;
        about().tcm_ifindex = int(device);
    }
    tcmsg& about() { return *static_cast<tcmsg*>(NLMSG_DATA(&head())); }
    void add(std::uint16_t type, const void* data, std::size_t bytes) {
        auto* const it = reinterpret_cast<rtattr*>(buffer_.data() + NLMSG_ALIGN(head().nlmsg_len));
        it->rta_type = type;
        it->rta_len = std::uint16_t(RTA_LENGTH(bytes));
        if (bytes != 0) std::memcpy(RTA_DATA(it), data, bytes);
        head().nlmsg_len = NLMSG_ALIGN(head().nlmsg_len) + std::uint32_t(RTA_SPACE(bytes));
    }
    void add(std::uint16_t type, const std::string& text) {
        add(type, text.c_str(), text.size() + 1);
    }
    void add(std::uint16_t type, std::uint32_t number) { add(type, &number, sizeof number); }
    // Begins a nested attribute; add() adds to it until end().
    std::uint32_t begin(std::uint16_t type) {
        const std::uint32_t at = NLMSG_ALIGN(head().nlmsg_len);
        add(type, nullptr, 0);
        return at;
    }
    void end(std::uint32_t begun) {
        reinterpret_cast<rtattr*>(buffer_.data() + begun)->rta_len =
            std::uint16_t(head().nlmsg_len - begun);
    }
    nlmsghdr& head() { return *reinterpret_cast<nlmsghdr*>(buffer_.data()); }

  private:
    alignas(nlmsghdr) std::array<std::byte, 1024> buffer_{};
};

Request filter_request(std::uint16_t type, unsigned flags, unsigned device) {
    Request request(type, flags, device);
    request.about().tcm_parent = ingress;
    return request;
}

std::uint32_t filter_info() {
    return TC_H_MAKE(preference << 16, htons(forwarded_type));
}

// The name of our program that a filter runs; empty if it is another filter.
std::string name_in(const nlmsghdr& answer) {
    if (answer.nlmsg_type != RTM_NEWTFILTER) return "";
    const auto& about = base::body_of<tcmsg>(answer);
    if (about.tcm_info != filter_info() || about.tcm_handle != handle) return "";
    std::string name;
    base::attributes_of<tcmsg>(answer, [&](unsigned type, std::span<const std::byte> contents) {
        if (type != TCA_OPTIONS) return;
        base::attributes_in(contents.data(), contents.size(), [&](unsigned option, auto text) {
            if (option != TCA_BPF_NAME) return;
            const auto* const from = reinterpret_cast<const char*>(text.data());
            name.assign(from, strnlen(from, text.size()));
        });
    });
    return name.starts_with(name_begin) ? name : "";
}

std::string found_on(base::Netlink& kernel, unsigned device) {
    std::string found;
    Request request = filter_request(RTM_GETTFILTER, NLM_F_DUMP, device);
    // A device without filters may return an error of its own; it has none.
    kernel.ask(request.head(), [&](const nlmsghdr& answer) {
        if (std::string name = name_in(answer); !name.empty()) found = std::move(name);
    });
    return found;
}

void attach(base::Netlink& kernel, const std::string& device, unsigned number, int program,
            const std::string& name) {
    Request hook(RTM_NEWQDISC, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, number);
    hook.about().tcm_parent = TC_H_CLSACT;
    hook.about().tcm_handle = TC_H_MAKE(TC_H_CLSACT, 0);
    hook.add(TCA_KIND, std::string("clsact"));
    if (const int error = kernel.ask(hook.head()); error != 0 && error != EEXIST)
        refuse(fmt::format("device {} takes no filters (clsact)", device), error);
    Request filter = filter_request(RTM_NEWTFILTER, NLM_F_ACK | NLM_F_CREATE, number);
    filter.about().tcm_info = filter_info();
    filter.about().tcm_handle = handle;
    filter.add(TCA_KIND, std::string("bpf"));
    const std::uint32_t options = filter.begin(TCA_OPTIONS);
    filter.add(TCA_BPF_FD, std::uint32_t(program));
    filter.add(TCA_BPF_NAME, name);
    filter.add(TCA_BPF_FLAGS, std::uint32_t(TCA_BPF_FLAG_ACT_DIRECT));
    filter.end(options);
    if (const int error = kernel.ask(filter.head()); error != 0)
        refuse(fmt::format("device {} does not take the filter that forwards frames", device),
               error);
}

// ---- the node's links ----

struct Links {
    std::vector<std::string> names;
    std::vector<unsigned> numbers;  // of these devices; 0 for a missing one
    DeviceNumbers by_direction{};
};

Links links_of(const Settings& settings, const Torus& torus, int node) {
    Links links;
    for (int i = 0; i < 2 * torus.dimensions(); ++i) {
        const auto direction = Direction::from_index(i);
        const auto neighbour = torus.neighbour(node, direction);
        if (!neighbour || *neighbour == node) continue;
        const std::string name = config::link_device(settings, node, direction);
        if (name.empty()) continue;
        links.names.push_back(name);
        links.numbers.push_back(if_nametoindex(name.c_str()));
        links.by_direction[std::size_t(i)] = links.numbers.back();
    }
    return links;
}

}  // namespace

std::vector<std::string> FrameForwarding::lay(const Settings& settings, int node) const {
    const Torus torus = *config::node_torus(settings);
    if (torus.graph() != nullptr)
        throw config::ConfigError(
            "kernels forward Ethernet frames along the coordinates of a torus: found cables that "
            "do not form a torus (torus.cables). Leave routing.forward at relay; nothing was "
            "changed");
    const Links links = links_of(settings, torus, node);
    for (std::size_t i = 0; i < links.names.size(); ++i)
        if (links.numbers[i] == 0)
            refuse(fmt::format("device {} of node {}; nothing was changed", links.names[i], node),
                   ENODEV);
    const auto program = forward_program(torus, node, links.by_direction);
    const std::string name = program_name(torus, node, program);
    const base::Descriptor loaded = load(program);
    check_program(loaded.get(), torus, node);
    base::Netlink kernel(NETLINK_ROUTE);
    for (std::size_t i = 0; i < links.names.size(); ++i)
        attach(kernel, links.names[i], links.numbers[i], loaded.get(), name);
    return links.names;
}

std::vector<std::string> FrameForwarding::remove(const Settings& settings, int node) const {
    std::vector<std::string> removed;
    base::Netlink kernel(NETLINK_ROUTE);
    for (const auto& [device, found] :
         find_forwarding(links_of(settings, *config::node_torus(settings), node).names)) {
        if (found.empty()) continue;
        Request request = filter_request(RTM_DELTFILTER, NLM_F_ACK, if_nametoindex(device.c_str()));
        request.about().tcm_info = filter_info();
        request.about().tcm_handle = handle;
        request.add(TCA_KIND, std::string("bpf"));
        if (const int error = kernel.ask(request.head()); error != 0)
            refuse(fmt::format("cannot take the filter off device {}", device), error);
        removed.push_back(device);
    }
    return removed;
}

std::vector<ForwardingDevice> find_forwarding(const std::vector<std::string>& devices) {
    std::vector<ForwardingDevice> all;
    base::Netlink kernel(NETLINK_ROUTE);
    for (const std::string& device : devices) {
        const unsigned number = if_nametoindex(device.c_str());
        all.push_back({device, number == 0 ? "" : found_on(kernel, number)});
    }
    return all;
}

std::string FrameForwarding::trouble(const Settings& settings, int node) const {
    const Torus torus = *config::node_torus(settings);
    const Links links = links_of(settings, torus, node);
    const std::string expected =
        program_name(torus, node, forward_program(torus, node, links.by_direction));
    for (const auto& [device, found] : find_forwarding(links.names))
        if (found != expected)
            return found.empty()
                       ? fmt::format("no forwarding program on {}", device)
                       : fmt::format("{} has the program {}, expected {}", device, found, expected);
    return "";
}

}  // namespace torusmp::transport::ethernet
