// SPDX-License-Identifier: BSD-3-Clause
// The facts of a host as text: one fact per line, and a last line with their number, so that
// truncated text is rejected.
//
//   torusmp-facts 3
//   host qcd000 IDENTITY HASH                        "-" if there is none
//   device enp1s0f0 2 up carrier 9000 1000 full 02:00:00:00:00:01
//   address 10.0.0.1/30                              for the device above
//   offer NAME ...                                   resources for transport NAME, in its format
//   locked 65536                                     bytes, "-" if unlimited
//   routes known
//   route 10.255.0.2/32 enp1s0f0 10.0.0.2
//   end 6
#include <fmt/format.h>

#include <algorithm>

#include "base/address.h"
#include "base/text.h"
#include "base/units.h"
#include "config/fact_line.h"
#include "config/network.h"
#include "config/raw.h"

namespace torusmp::config {

namespace {

constexpr std::string_view format_line = "torusmp-facts 3";
constexpr std::size_t most_lines = std::size_t(1) << 20;  // a host that sends more is rejected
constexpr std::size_t most_devices = 4096;

std::string format_device(const Device& device) {
    const char* duplex = !device.full_duplex ? "-" : *device.full_duplex ? "full" : "half";
    return fmt::format("device {} {} {} {} {} {} {} {} {}", fact_word(device.name), device.index,
                       device.loopback ? "loopback" : "link", device.up ? "up" : "down",
                       device.carrier ? "carrier" : "dark", device.mtu,
                       device.megabits ? fmt::format("{}", *device.megabits) : "-", duplex,
                       fact_word(device.mac));
}

std::string format_route(const RouteFact& route) {
    return fmt::format("route {} {} {}", route.to.with_prefix(), fact_word(route.device),
                       route.via ? route.via->text() : "-");
}

class FactsReader {
  public:
    explicit FactsReader(std::string_view text) : text_(text) {}

    HostFacts read() {
        if (next_line() != format_line)
            refuse_facts(line_, fmt::format("expected \"{}\": does that host run another version?",
                                            format_line));
        for (;;) {
            const FactLine line(next_line());
            if (line[0] == "end") return read_end(line);
            if (++lines_ > most_lines) line.fail("the text is too long");
            read_fact(line);
        }
    }

  private:
    std::string_view next_line() {
        const std::size_t end = text_.find('\n');
        if (end == std::string_view::npos) refuse_facts(text_, "the text is truncated there");
        line_ = text_.substr(0, end);
        text_.remove_prefix(end + 1);
        return line_;
    }

    void read_fact(const FactLine& line) {
        if (line[0] == "host") {
            line.expect(4);
            facts_.name = line.text(1);
            facts_.identity = line.text(2);
            facts_.geometry = line.text(3);
        } else if (line[0] == "device") {
            read_device(line);
        } else if (line[0] == "address") {
            line.expect(2);
            if (facts_.devices.empty()) line.fail("an address without a device");
            facts_.devices.back().addresses.push_back(line.address(1));
        } else if (line[0] == "offer") {
            if (line.words().size() < 3) line.fail("expected a transport and its offer");
            facts_.offers[std::string(line[1])].push_back(line.rest(2));
        } else if (line[0] == "locked") {
            line.expect(2);
            if (line[1] != "-") facts_.lock_limit = line.bytes(1);
        } else if (line[0] == "routes") {
            line.expect(2);
            facts_.routes_known = line.either(1, "known", "unknown");
        } else if (line[0] == "route") {
            line.expect(4);
            RouteFact route{line.address(1), line.text(2), {}};
            if (line[3] != "-") route.via = line.address(3);
            facts_.routes.push_back(std::move(route));
        } else {
            line.fail("expected host, device, address, offer, locked, routes, route or end");
        }
    }

    void read_device(const FactLine& line) {
        line.expect(10);
        Device device;
        device.name = line[1];
        if (facts_.devices.size() == most_devices) line.fail("expected fewer devices");
        if (facts_.find(device.name)) line.fail("a duplicate device");
        device.index = line.number(2);
        device.loopback = line.either(3, "loopback", "link");
        device.up = line.either(4, "up", "down");
        device.carrier = line.either(5, "carrier", "dark");
        device.mtu = line.number(6);
        if (line[7] != "-") device.megabits = line.number(7);
        if (line[8] != "-") device.full_duplex = line.either(8, "full", "half");
        device.mac = line.text(9);
        facts_.devices.push_back(std::move(device));
    }

    HostFacts read_end(const FactLine& line) {
        line.expect(2);
        if (std::size_t(line.number(1)) != lines_)
            line.fail(fmt::format("received {} lines; some are lost", lines_));
        if (!text_.empty()) line.fail("found data after the end");
        return std::move(facts_);
    }

    std::string_view text_, line_;
    std::size_t lines_ = 0;  // without the first and the last
    HostFacts facts_;
};

}  // namespace

std::string format_facts(const HostFacts& facts) {
    std::vector<std::string> lines;
    lines.push_back(fmt::format("host {} {} {}", fact_word(facts.name), fact_word(facts.identity),
                                fact_word(facts.geometry)));
    for (const Device& device : facts.devices) {
        lines.push_back(format_device(device));
        for (const base::Address& address : device.addresses)
            lines.push_back("address " + address.with_prefix());
    }
    for (const auto& [transport, offers] : facts.offers)
        for (const std::string& offer : offers)
            lines.push_back(fmt::format("offer {} {}", fact_word(transport), fact_words(offer)));
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
