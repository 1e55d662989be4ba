// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/ethernet/opening.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <span>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "base/capability.h"
#include "base/passing.h"
#include "core/transport/common/secret.h"
#include "core/transport/ethernet/forward_program.h"

namespace torusmp::transport::ethernet {
namespace {

// The helper's message with each socket.
struct Passed {
    std::uint32_t session;
    std::array<char, 124> trouble;  // empty if there is a socket
};

[[noreturn]] void refuse(const std::string& what) {
    throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

// Admits only frames of that type and session, with `headers` bytes in front of the FrameHeader.
void let_in_only(int socket, std::uint16_t type, std::size_t headers, std::uint32_t session) {
    constexpr std::uint32_t type_at = 12;
    const auto session_at = std::uint32_t(headers + offsetof(FrameHeader, session));
    static_assert(std::endian::native == std::endian::little);
    std::array<sock_filter, 6> code{{
        {BPF_LD | BPF_H | BPF_ABS, 0, 0, type_at},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 3, type},
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, session_at},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, ntohl(session)},
        {BPF_RET | BPF_K, 0, 0, 0xffffffff},
        {BPF_RET | BPF_K, 0, 0, 0},
    }};
    const sock_fprog filter{std::uint16_t(code.size()), code.data()};
    if (setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) != 0)
        refuse("SO_ATTACH_FILTER");
    const int locked = 1;
    if (setsockopt(socket, SOL_SOCKET, SO_LOCK_FILTER, &locked, sizeof locked) != 0)
        refuse("SO_LOCK_FILTER");
}

FrameSocket open_or_say_why(const std::string& device) {
    try {
        return open_frame_socket(device);
    } catch (const std::runtime_error& error) {
        return {{}, 0, error.what()};
    }
}

// Reads one answer of the helper; returns false if it has ended.
bool receive_socket(int from, FrameSocket& made) {
    Passed passed{};
    auto sockets = base::take_passed(from, std::as_writable_bytes(std::span(&passed, 1)));
    if (!sockets) return false;
    made.session = passed.session;
    made.trouble = std::string(passed.trouble.data(), strnlen(passed.trouble.data(), 124));
    if (!sockets->empty()) made.socket = std::move(sockets->front());
    return true;
}

bool send_socket(int to, const FrameSocket& made) {
    Passed passed{made.session, {}};
    std::copy_n(made.trouble.data(), std::min(made.trouble.size(), passed.trouble.size() - 1),
                passed.trouble.data());
    std::vector<int> sockets;
    if (made.socket) sockets.push_back(made.socket.get());
    return base::pass(to, std::as_bytes(std::span(&passed, 1)), sockets);
}

std::vector<FrameSocket> ask_helper(const std::vector<std::string>& devices,
                                    const std::string& helper) {
    std::vector<FrameSocket> made(devices.size());
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) refuse("socketpair");
    const base::Descriptor ours(ends[0]);
    base::Descriptor theirs(ends[1]);
    std::vector<char*> words{const_cast<char*>(helper.c_str())};
    for (const std::string& device : devices) words.push_back(const_cast<char*>(device.c_str()));
    words.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, theirs.get(), STDIN_FILENO);
    char* no_environment[] = {nullptr};
    pid_t pid = 0;
    const int error =
        posix_spawn(&pid, helper.c_str(), &files, nullptr, words.data(), no_environment);
    posix_spawn_file_actions_destroy(&files);
    theirs.reset();
    std::string trouble;
    if (error != 0) {
        trouble = fmt::format("cannot start {}: {}", helper, std::strerror(error));
    } else {
        trouble = fmt::format("{} has ended without an answer", helper);
        for (FrameSocket& it : made)
            if (!receive_socket(ours.get(), it)) break;
        while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
    for (FrameSocket& it : made)
        if (!it.socket && it.trouble.empty()) it.trouble = trouble;
    return made;
}

}  // namespace

FrameSocket open_frame_socket(const std::string& device) {
    const bool forwarded = device == every_device;
    const std::uint16_t type = forwarded ? forwarded_type : ethertype;
    const unsigned index = forwarded ? 0 : if_nametoindex(device.c_str());
    if (index == 0 && !forwarded) refuse(fmt::format("device {}", device));
    FrameSocket made;
    // Without a protocol, so that nothing arrives before the socket is bound.
    made.socket = base::Descriptor(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!made.socket) refuse("cannot open a packet socket");
    do draw(std::as_writable_bytes(std::span(&made.session, 1)));
    while (made.session == 0);
    let_in_only(made.socket.get(), type, forwarded ? forwarded_header_bytes : ethernet_header_bytes,
                made.session);
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(type);
    address.sll_ifindex = int(index);
    if (bind(made.socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        refuse(fmt::format("cannot bind a packet socket to {}", device));
    return made;
}

std::vector<FrameSocket> frame_sockets(const std::vector<std::string>& devices) {
    if (devices.empty()) return {};
    if (way_to_open() == Way::helper) return ask_helper(devices, find_helper());
    std::vector<FrameSocket> made;
    for (const std::string& device : devices) made.push_back(open_or_say_why(device));
    return made;
}

int pass_frame_sockets(const std::vector<std::string>& devices, int to) {
    bool all = true;
    for (const std::string& device : devices) {
        const FrameSocket made = open_or_say_why(device);
        all &= bool(made.socket);
        if (!send_socket(to, made)) return 2;
    }
    return all ? 0 : 1;
}

std::string helper_file() {
    const std::string found = find_helper();
    return found.empty() ? std::string(TORUSMP_HELPERS) + "/torus-ethernet" : found;
}

std::string find_helper() {
    const char* const path = std::getenv("PATH");
    std::istringstream folders(std::string(TORUSMP_HELPERS) + ":" + (path == nullptr ? "" : path));
    for (std::string folder; std::getline(folders, folder, ':');) {
        const std::string file = folder + "/torus-ethernet";
        if (!folder.empty() && access(file.c_str(), X_OK) == 0) return file;
    }
    return {};
}

Way way_to_open() {
    if (base::has_capability(CAP_NET_RAW)) return Way::self;
    const std::string helper = find_helper();
    if (helper.empty()) return Way::none;
    return getxattr(helper.c_str(), "security.capability", nullptr, 0) > 0 ? Way::helper
                                                                           : Way::none;
}

DeviceFacts device_facts(const std::string& device) {
    const base::Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    if (!socket || device.size() >= sizeof request.ifr_name) refuse(device);
    std::copy(device.begin(), device.end(), request.ifr_name);
    if (ioctl(socket.get(), SIOCGIFHWADDR, &request) != 0) refuse(device);
    if (request.ifr_hwaddr.sa_family != ARPHRD_ETHER)
        throw std::runtime_error(fmt::format("{} is not an Ethernet device", device));
    DeviceFacts facts{};
    std::memcpy(facts.mac.data(), request.ifr_hwaddr.sa_data, facts.mac.size());
    if (ioctl(socket.get(), SIOCGIFMTU, &request) != 0) refuse(device);
    facts.mtu = std::uint32_t(request.ifr_mtu);
    return facts;
}

}  // namespace torusmp::transport::ethernet
