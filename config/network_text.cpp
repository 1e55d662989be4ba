// The facts of a host as text: one fact a line, and a last line that says how many there were, so
// that nothing cut short is believed.
//
//   torusmp-facts 1
//   host qcd000 IDENTITY HASH                        "-" where there is none
//   device enp1s0f0 2 up carrier 9000 1000 full 02:00:00:00:00:01
//   address 10.0.0.1/30                              of the device above
//   routes known
//   route 10.255.0.2/32 enp1s0f0 10.0.0.2
//   end 6
#include <fmt/format.h>

#include <algorithm>

#include "config/network.h"
#include "config/raw.h"
#include "config/units.h"

namespace torusmp::config {

namespace {

constexpr std::string_view first_line = "torusmp-facts 1";
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

std::string format_route(const RouteFact& route) {
    return fmt::format("route {} {} {}", route.to.with_prefix(), word(route.device),
                       route.via ? route.via->text() : "-");
}

class FactsReader {
  public:
    explicit FactsReader(std::string_view text) : text_(text) {}

    HostFacts read() {
        if (next_line() != first_line)
            fail(fmt::format("expected \"{}\": does that host run another version?", first_line));
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
                                      printable(line_, 120), why));
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
        const auto value = parse_integer(text);
        if (!value || *value < 0 || *value > 0x7fffffff)
            fail(fmt::format("\"{}\" is no number from 0", printable(text)));
        return int(*value);
    }

    bool either(std::string_view text, std::string_view yes, std::string_view no) const {
        if (text != yes && text != no)
            fail(fmt::format("\"{}\": expected {} or {}", printable(text), yes, no));
        return text == yes;
    }

    Address address(std::string_view text) const {
        const auto found = parse_address(text);
        if (!found) fail(fmt::format("\"{}\" is no address", printable(text)));
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
        } else if (words[0] == "routes") {
            expect(words, 2);
            facts_.routes_known = either(words[1], "known", "unknown");
        } else if (words[0] == "route") {
            read_route(words);
        } else {
            fail("expected host, device, address, routes, route or end");
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
        for (const Address& address : device.addresses)
            lines.push_back("address " + address.with_prefix());
    }
    lines.push_back(fmt::format("routes {}", facts.routes_known ? "known" : "unknown"));
    for (const RouteFact& route : facts.routes) lines.push_back(format_route(route));
    return fmt::format("{}\n{}\nend {}\n", first_line, fmt::join(lines, "\n"), lines.size());
}

HostFacts parse_facts(std::string_view text) {
    return FactsReader(text).read();
}

}  // namespace torusmp::config
