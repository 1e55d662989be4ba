// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/verbs/rdma.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <infiniband/verbs.h>
#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "base/descriptor.h"
#include "base/units.h"
#include "config/fact_line.h"

namespace torusmp::transport::verbs {

namespace {

namespace fs = std::filesystem;

// ---- sysfs ----

// The first line of a small file; empty if it cannot be read. GID tables have a file for each of a
// thousand entries, so this must be cheap.
std::string read_line(const fs::path& file) {
    const base::Descriptor in(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    char text[256];
    const ssize_t got = in ? ::read(in.get(), text, sizeof text) : -1;
    if (got <= 0) return {};
    const std::string_view line(text, std::size_t(got));
    return std::string(line.substr(0, line.find('\n')));
}

// The names in a folder, sorted; none if it is missing or unreadable.
std::vector<std::string> names_in(const fs::path& folder) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
        names.push_back(at->path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

// The name in a line such as "4: ACTIVE".
std::string state_name(const std::string& line) {
    const std::size_t colon = line.find(": ");
    return colon == std::string::npos ? line : line.substr(colon + 2);
}

RdmaPort read_port(const fs::path& folder, const std::string& device, int number) {
    RdmaPort port;
    port.device = device;
    port.port = number;
    // The first GID belongs to the network device itself; those of its VLANs follow.
    port.netdev = read_line(folder / "gid_attrs/ndevs/0");
    port.state = state_name(read_line(folder / "state"));
    port.active = port.state == "ACTIVE";
    port.link_layer = read_line(folder / "link_layer");
    return port;
}

// ---- The device itself ----

struct CloseDevice {
    void operator()(ibv_context* context) const { ibv_close_device(context); }
};
using Context = std::unique_ptr<ibv_context, CloseDevice>;

struct FreeList {
    void operator()(ibv_device** list) const { ibv_free_device_list(list); }
};

// The device's file below /dev/infiniband; empty if the kernel has none.
std::string device_file(const std::string& device) {
    const fs::path folder = "/sys/class/infiniband_verbs";
    for (const std::string& name : names_in(folder))
        if (read_line(folder / name / "ibdev") == device) return "/dev/infiniband/" + name;
    return {};
}

std::string why_not_opened(const std::string& device, int error) {
    const std::string file = device_file(device);
    if (file.empty())
        return "programs cannot access it: load the kernel module with \"modprobe ib_uverbs\"";
    if (::access(file.c_str(), F_OK) != 0)
        return fmt::format(
            "{} is missing: start udev, or in a container pass the devices below /dev/infiniband",
            file);
    if (::access(file.c_str(), R_OK | W_OK) != 0)
        return fmt::format(
            "this user cannot open {}: expected read and write permission, as the udev rules of "
            "the package rdma-core give to all users",
            file);
    if (error == 0) return "libibverbs has no driver for it: install the package ibverbs-providers";
    return fmt::format("it cannot be opened: {}", std::strerror(error));
}

int mtu_bytes(ibv_mtu code) {
    return code >= IBV_MTU_256 && code <= IBV_MTU_4096 ? 128 << int(code) : 0;
}

std::string name_of(std::uint32_t netdev) {
    char name[IF_NAMESIZE] = {};
    return ::if_indextoname(netdev, name) ? std::string(name) : std::string();
}

// The devices that libibverbs finds; it loads its drivers to find them.
class Devices {
  public:
    Devices() : list_(ibv_get_device_list(nullptr)) {}

    // The port once for each network device that has GIDs on it: first for its own, then for those
    // above it.
    std::vector<RdmaPort> ask(RdmaPort port) const {
        int error = 0;
        const Context context = open(port.device, error);
        if (!context) {
            port.trouble = why_not_opened(port.device, error);
            return {std::move(port)};
        }
        ibv_port_attr facts{};
        if ((error = ibv_query_port(context.get(), std::uint8_t(port.port), &facts)) != 0) {
            port.trouble =
                fmt::format("its port {} does not answer: {}", port.port, std::strerror(error));
            return {std::move(port)};
        }
        port.mtu = mtu_bytes(facts.active_mtu);
        port.max_mtu = mtu_bytes(facts.max_mtu);
        return with_gids(std::move(port), *context);
    }

  private:
    // `error` is the kernel's errno, or 0 if libibverbs does not know the device.
    Context open(const std::string& name, int& error) const {
        for (ibv_device** at = list_.get(); at && *at; ++at) {
            if (name != ibv_get_device_name(*at)) continue;
            errno = 0;
            Context context(ibv_open_device(*at));
            if (!context) error = errno ? errno : EIO;
            return context;
        }
        return nullptr;
    }

    static std::vector<RdmaPort> with_gids(RdmaPort port, ibv_context& context) {
        // Returns only the used ones. The call accepts at most 64 KiB of them.
        std::vector<ibv_gid_entry> entries(std::size_t{1024});
        const ssize_t count = ibv_query_gid_table(&context, entries.data(), entries.size(), 0);
        if (count < 0) {
            port.trouble = fmt::format("its GIDs cannot be read: {}", std::strerror(int(-count)));
            return {std::move(port)};
        }
        entries.resize(std::size_t(count));
        std::vector<RdmaPort> ports{port};
        for (const ibv_gid_entry& entry : entries) {
            const std::string netdev = name_of(entry.ndev_ifindex);
            if (int(entry.port_num) != port.port || netdev.empty()) continue;
            auto at = std::find_if(ports.begin(), ports.end(),
                                   [&](const RdmaPort& known) { return known.netdev == netdev; });
            if (at == ports.end()) at = ports.insert(at, port), at->netdev = netdev;
            RdmaGid gid;
            gid.index = int(entry.gid_index);
            gid.roce_v2 = entry.gid_type == IBV_GID_TYPE_ROCE_V2;
            std::copy(std::begin(entry.gid.raw), std::end(entry.gid.raw), gid.bytes.begin());
            at->gids.push_back(gid);
        }
        return ports;
    }

    std::unique_ptr<ibv_device*[], FreeList> list_;
};

}  // namespace

base::Address RdmaGid::address() const {
    constexpr std::array<std::uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    base::Address address;
    address.v6 = !std::equal(mapped.begin(), mapped.end(), bytes.begin());
    address.prefix = address.v6 ? 128 : 32;
    if (address.v6)
        address.bytes = bytes;
    else
        std::copy(bytes.begin() + 12, bytes.end(), address.bytes.begin());
    return address;
}

std::vector<RdmaPort> read_rdma_ports(const fs::path& root) {
    const fs::path folder = root / "sys/class/infiniband";
    std::vector<RdmaPort> ports;
    for (const std::string& device : names_in(folder))
        for (const std::string& port : names_in(folder / device / "ports"))
            if (const auto number = base::parse_integer(port);
                number && *number > 0 && *number < 256)
                ports.push_back(read_port(folder / device / "ports" / port, device, int(*number)));
    return ports;
}

std::vector<RdmaPort> rdma_ports(const std::vector<std::string>& netdevs) {
    std::vector<RdmaPort> known = read_rdma_ports();
    if (known.empty()) return {};
    const Devices devices;
    std::vector<RdmaPort> ports;
    const auto have = [&](const std::string& netdev) {
        return std::any_of(ports.begin(), ports.end(),
                           [&](const RdmaPort& port) { return port.netdev == netdev; });
    };
    const auto wanted = [&](const std::string& netdev) {
        return !netdev.empty() && !have(netdev) &&
               (netdevs.empty() ||
                std::find(netdevs.begin(), netdevs.end(), netdev) != netdevs.end());
    };
    // A network device's own port precedes the port of one below it that also has GIDs for it.
    // Opening takes time, so it stops once all are found.
    std::stable_partition(known.begin(), known.end(),
                          [&](const RdmaPort& port) { return wanted(port.netdev); });
    std::vector<RdmaPort> above;
    for (const RdmaPort& port : known) {
        if (!netdevs.empty() && std::all_of(netdevs.begin(), netdevs.end(), have)) break;
        for (RdmaPort& found : devices.ask(port)) {
            if (!wanted(found.netdev)) continue;
            (found.netdev == port.netdev ? ports : above).push_back(std::move(found));
        }
    }
    for (RdmaPort& port : above)
        if (wanted(port.netdev)) ports.push_back(std::move(port));
    return ports;
}

std::optional<RdmaPort> rdma_port_of(const std::string& netdev) {
    std::vector<RdmaPort> ports = rdma_ports({netdev});
    if (ports.empty()) return std::nullopt;
    return std::move(ports.front());
}

std::string describe_gids(const RdmaPort& port) {
    std::vector<std::string> words;
    for (const RdmaGid& gid : port.gids)
        if (gid.roce_v2) words.push_back(fmt::format("{} ({})", gid.index, gid.address().text()));
    if (words.empty()) return "none";
    if (words.size() == 1) return words[0];
    const std::string last = words.back();
    words.pop_back();
    return fmt::format("{} and {}", fmt::join(words, ", "), last);
}

namespace {

constexpr std::size_t most_ports = 4096;

RdmaPort parse_port(const config::FactLine& line) {
    line.expect(8);
    RdmaPort port;
    port.device = line[1];
    port.port = line.number(2);
    port.netdev = line[3];
    port.state = line.text(4);
    port.active = port.state == "ACTIVE";
    port.mtu = line.number(5);
    port.max_mtu = line.number(6);
    port.link_layer = line.text(7);
    return port;
}

RdmaGid parse_gid(const config::FactLine& line) {
    line.expect(4);
    RdmaGid gid;
    gid.index = line.number(1);
    gid.roce_v2 = line.either(2, "v2", "other");
    if (line[3].size() != 2 * gid.bytes.size()) line.fail("expected 32 hexadecimal digits");
    for (std::size_t i = 0; i < gid.bytes.size(); ++i) {
        const char* const at = line[3].data() + 2 * i;
        if (std::from_chars(at, at + 2, gid.bytes[i], 16).ptr != at + 2)
            line.fail("expected 32 hexadecimal digits");
    }
    return gid;
}

}  // namespace

std::vector<std::string> format_ports(const std::vector<RdmaPort>& ports) {
    using config::fact_word;
    std::vector<std::string> lines;
    for (const RdmaPort& port : ports) {
        lines.push_back(fmt::format("rdma {} {} {} {} {} {} {}", fact_word(port.device), port.port,
                                    fact_word(port.netdev), fact_word(port.state), port.mtu,
                                    port.max_mtu, fact_word(port.link_layer)));
        for (const RdmaGid& gid : port.gids)
            lines.push_back(fmt::format("gid {} {} {:02x}", gid.index, gid.roce_v2 ? "v2" : "other",
                                        fmt::join(gid.bytes, "")));
        if (!port.trouble.empty()) lines.push_back("trouble " + config::fact_words(port.trouble));
    }
    return lines;
}

std::vector<RdmaPort> parse_ports(const std::vector<std::string>& lines) {
    std::vector<RdmaPort> ports;
    for (const std::string& text : lines) {
        const config::FactLine line(text);
        if (line[0] == "rdma") {
            RdmaPort port = parse_port(line);
            if (ports.size() == most_ports) line.fail("expected fewer RDMA devices");
            if (std::any_of(ports.begin(), ports.end(),
                            [&](const RdmaPort& it) { return it.netdev == port.netdev; }))
                line.fail("that network device had an RDMA device before");
            ports.push_back(std::move(port));
            continue;
        }
        if (line[0] != "gid" && line[0] != "trouble") line.fail("expected rdma, gid or trouble");
        if (ports.empty()) line.fail("it belongs to no RDMA device");
        if (line[0] == "gid")
            ports.back().gids.push_back(parse_gid(line));
        else
            ports.back().trouble = line.rest(1);
    }
    return ports;
}

}  // namespace torusmp::transport::verbs
