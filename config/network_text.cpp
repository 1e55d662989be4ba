// The facts of a host as text: one fact a line, and a last line that says how many there were, so
// that nothing cut short is believed.
//
//   torusmp-facts 2
//   host qcd000 IDENTITY HASH                        "-" where there is none
//   device enp1s0f0 2 up carrier 9000 1000 full 02:00:00:00:00:01
//   address 10.0.0.1/30                              of the device above
//   rdma rxe0 1 enp1s0f0 ACTIVE 4096 4096 Ethernet
//   gid 1 v2 00000000000000000000ffff0a000001        of the port above; "other": not RoCE v2
//   trouble it cannot be opened: ...                 of the port above
//   locked 65536                                     bytes, "-" where there is no limit
//   routes known
//   route 10.255.0.2/32 enp1s0f0 10.0.0.2
//   end 6
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/address.h"
#include "base/text.h"
#include "base/units.h"
#include "config/network.h"
#include "config/raw.h"

namespace torusmp::config {

namespace {

constexpr std::string_view format_line = "torusmp-facts 2";
constexpr std::size_t most_lines = std::size_t(1) << 20;  // a host that says more is not believed
constexpr std::size_t most_devices = 4096;
constexpr std::size_t longest_word = 255;

// Words that can stand on a line: no blanks or control characters, and never empty.
std::string word(std::string_view text) {
    std::string out;
    for (const char c : text.substr(0, longest_word)) out += c > ' ' && c < 0x7f ? c : '?';
    return out.empty() ? "-" : out;
}

std::string format_device(const Device& device) {
    const char* duplex = !device.full_duplex ? "-" : *device.full_duplex ? "full" : "half";
    return fmt::format("device {} {} {} {} {} {} {} {} {}", word(device.name), device.index,
                       device.loopback ? "loopback" : "link", device.up ? "up" : "down",
                       device.carrier ? "carrier" : "dark", device.mtu,
                       device.megabits ? fmt::format("{}", *device.megabits) : "-", duplex,
                       word(device.mac));
}

std::string format_port(const RdmaPort& port) {
    return fmt::format("rdma {} {} {} {} {} {} {}", word(port.device), port.port, word(port.netdev),
                       word(port.state), port.mtu, port.max_mtu, word(port.link_layer));
}

std::string format_gid(const RdmaGid& gid) {
    return fmt::format("gid {} {} {:02x}", gid.index, gid.roce_v2 ? "v2" : "other",
                       fmt::join(gid.bytes, ""));
}

// A sentence as words with single blanks.
std::string format_trouble(std::string_view text) {
    std::string out = "trouble";
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        if (end > 0) out += " " + word(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

std::string format_route(const RouteFact& route) {
    return fmt::format("route {} {} {}", route.to.with_prefix(), word(route.device),
                       route.via ? route.via->text() : "-");
}

class FactsReader {
  public:
    explicit FactsReader(std::string_view text) : text_(text) {}

    HostFacts read() {
        if (next_line() != format_line)
            fail(fmt::format("expected \"{}\": does that host run another version?", format_line));
        for (;;) {
            const std::vector<std::string_view> words = split(next_line());
            if (words[0] == "end") return read_end(words);
            if (++lines_ > most_lines) fail("there is no end to it");
            read_fact(words);
        }
    }

  private:
    [[noreturn]] void fail(const std::string& why) const {
        throw ConfigError(fmt::format("the facts that a host sent cannot be read at \"{}\": {}",
                                      base::printable(line_, 120), why));
    }

    std::string_view next_line() {
        const std::size_t end = text_.find('\n');
        if (end == std::string_view::npos) {
            line_ = text_;
            fail("the text was cut short there");
        }
        line_ = text_.substr(0, end);
        text_.remove_prefix(end + 1);
        return line_;
    }

    std::vector<std::string_view> split(std::string_view line) const {
        std::vector<std::string_view> words;
        for (std::size_t start = 0; start <= line.size();) {
            const std::size_t end = std::min(line.find(' ', start), line.size());
            if (end == start || end - start > longest_word)
                fail("expected words and single blanks");
            words.push_back(line.substr(start, end - start));
            start = end + 1;
        }
        for (const char c : line)
            if (c < ' ' || c >= 0x7f) fail("expected plain letters");
        return words;
    }

    void expect(const std::vector<std::string_view>& words, std::size_t count) const {
        if (words.size() != count) fail(fmt::format("expected {} words", count));
    }

    int number(std::string_view text) const {
        const auto value = base::parse_integer(text);
        if (!value || *value < 0 || *value > 0x7fffffff)
            fail(fmt::format("\"{}\" is no number from 0", base::printable(text)));
        return int(*value);
    }

    std::uint64_t bytes(std::string_view text) const {
        const auto value = base::parse_integer(text);
        if (!value || *value < 0)
            fail(fmt::format("\"{}\" is no number from 0", base::printable(text)));
        return std::uint64_t(*value);
    }

    bool either(std::string_view text, std::string_view yes, std::string_view no) const {
        if (text != yes && text != no)
            fail(fmt::format("\"{}\": expected {} or {}", base::printable(text), yes, no));
        return text == yes;
    }

    base::Address address(std::string_view text) const {
        const auto found = base::parse_address(text);
        if (!found) fail(fmt::format("\"{}\" is no address", base::printable(text)));
        return *found;
    }

    static std::string optional_word(std::string_view text) {
        return text == "-" ? std::string() : std::string(text);
    }

    void read_fact(const std::vector<std::string_view>& words) {
        if (words[0] == "host") {
            expect(words, 4);
            facts_.name = optional_word(words[1]);
            facts_.identity = optional_word(words[2]);
            facts_.geometry = optional_word(words[3]);
        } else if (words[0] == "device") {
            read_device(words);
        } else if (words[0] == "address") {
            expect(words, 2);
            if (facts_.devices.empty()) fail("an address without a device");
            facts_.devices.back().addresses.push_back(address(words[1]));
        } else if (words[0] == "rdma") {
            read_port(words);
        } else if (words[0] == "gid" || words[0] == "trouble") {
            read_more_of_port(words);
        } else if (words[0] == "locked") {
            expect(words, 2);
            if (words[1] != "-") facts_.lock_limit = bytes(words[1]);
        } else if (words[0] == "routes") {
            expect(words, 2);
            facts_.routes_known = either(words[1], "known", "unknown");
        } else if (words[0] == "route") {
            read_route(words);
        } else {
            fail(
                "expected host, device, address, rdma, gid, trouble, locked, routes, route or end");
        }
    }

    void read_device(const std::vector<std::string_view>& words) {
        expect(words, 10);
        Device device;
        device.name = words[1];
        if (facts_.devices.size() == most_devices) fail("expected fewer devices");
        if (facts_.find(device.name)) fail("that device was there before");
        device.index = number(words[2]);
        device.loopback = either(words[3], "loopback", "link");
        device.up = either(words[4], "up", "down");
        device.carrier = either(words[5], "carrier", "dark");
        device.mtu = number(words[6]);
        if (words[7] != "-") device.megabits = number(words[7]);
        if (words[8] != "-") device.full_duplex = either(words[8], "full", "half");
        device.mac = optional_word(words[9]);
        facts_.devices.push_back(std::move(device));
    }

    void read_port(const std::vector<std::string_view>& words) {
        expect(words, 8);
        RdmaPort port;
        port.device = words[1];
        port.port = number(words[2]);
        port.netdev = words[3];
        port.state = optional_word(words[4]);
        port.active = port.state == "ACTIVE";
        port.mtu = number(words[5]);
        port.max_mtu = number(words[6]);
        port.link_layer = optional_word(words[7]);
        if (facts_.rdma.size() == most_devices) fail("expected fewer RDMA devices");
        if (facts_.find_rdma(port.netdev)) fail("that network device had an RDMA device before");
        facts_.rdma.push_back(std::move(port));
    }

    void read_more_of_port(const std::vector<std::string_view>& words) {
        if (facts_.rdma.empty()) fail("it belongs to no RDMA device");
        RdmaPort& port = facts_.rdma.back();
        if (words[0] == "trouble") {
            port.trouble = fmt::format("{}", fmt::join(words.begin() + 1, words.end(), " "));
            return;
        }
        expect(words, 4);
        RdmaGid gid;
        gid.index = number(words[1]);
        gid.roce_v2 = either(words[2], "v2", "other");
        if (words[3].size() != 2 * gid.bytes.size()) fail("expected 32 hexadecimal digits");
        for (std::size_t i = 0; i < gid.bytes.size(); ++i) {
            const char* at = words[3].data() + 2 * i;
            if (std::from_chars(at, at + 2, gid.bytes[i], 16).ptr != at + 2)
                fail("expected 32 hexadecimal digits");
        }
        port.gids.push_back(gid);
    }

    void read_route(const std::vector<std::string_view>& words) {
        expect(words, 4);
        RouteFact route{address(words[1]), optional_word(words[2]), {}};
        if (words[3] != "-") route.via = address(words[3]);
        facts_.routes.push_back(std::move(route));
    }

    HostFacts read_end(const std::vector<std::string_view>& words) {
        expect(words, 2);
        if (std::size_t(number(words[1])) != lines_)
            fail(fmt::format("{} lines came; some are lost", lines_));
        if (!text_.empty()) fail("there is more behind the end");
        return std::move(facts_);
    }

    std::string_view text_, line_;
    std::size_t lines_ = 0;  // without the first and the last
    HostFacts facts_;
};

}  // namespace

std::string format_facts(const HostFacts& facts) {
    std::vector<std::string> lines;
    lines.push_back(
        fmt::format("host {} {} {}", word(facts.name), word(facts.identity), word(facts.geometry)));
    for (const Device& device : facts.devices) {
        lines.push_back(format_device(device));
        for (const base::Address& address : device.addresses)
            lines.push_back("address " + address.with_prefix());
    }
    for (const RdmaPort& port : facts.rdma) {
        lines.push_back(format_port(port));
        for (const RdmaGid& gid : port.gids) lines.push_back(format_gid(gid));
        if (!port.trouble.empty()) lines.push_back(format_trouble(port.trouble));
    }
    lines.push_back(
        fmt::format("locked {}", facts.lock_limit ? fmt::format("{}", *facts.lock_limit) : "-"));
    lines.push_back(fmt::format("routes {}", facts.routes_known ? "known" : "unknown"));
    for (const RouteFact& route : facts.routes) lines.push_back(format_route(route));
    return fmt::format("{}\n{}\nend {}\n", format_line, fmt::join(lines, "\n"), lines.size());
}

HostFacts parse_facts(std::string_view text) {
    return FactsReader(text).read();
}

}  // namespace torusmp::config
