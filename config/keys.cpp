#include "config/keys.h"

#include <fmt/format.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "base/units.h"

namespace torusmp::config {

namespace {

// ---- Reading: each turns what was found into a value or throws Mismatch. ----

bool is_words(const Raw& raw) {
    return raw.form == Raw::Form::text;
}
bool is_string(const Raw& raw) {
    return is_words(raw) || raw.form == Raw::Form::string;
}

std::int64_t read_integer(const Raw& raw, std::int64_t low, std::int64_t high) {
    std::int64_t value = raw.integer;
    if (is_words(raw)) {
        const auto parsed = base::parse_integer(raw.text);
        if (!parsed) throw Mismatch({}, raw.line);
        value = *parsed;
    } else if (raw.form != Raw::Form::integer) {
        throw Mismatch({}, raw.line);
    }
    if (value < low || value > high) throw Mismatch({}, raw.line);
    return value;
}

bool read_boolean(const Raw& raw) {
    if (raw.form == Raw::Form::boolean) return raw.boolean;
    if (is_words(raw) && raw.text == "true") return true;
    if (is_words(raw) && raw.text == "false") return false;
    throw Mismatch({}, raw.line);
}

std::size_t read_size(const Raw& raw, std::uint64_t low, std::uint64_t high) {
    std::optional<std::uint64_t> bytes;
    if (raw.form == Raw::Form::integer && raw.integer >= 0) bytes = std::uint64_t(raw.integer);
    if (is_string(raw)) bytes = base::parse_size(raw.text);
    if (!bytes || *bytes < low || *bytes > high) throw Mismatch({}, raw.line);
    return std::size_t(*bytes);
}

std::chrono::nanoseconds read_time(const Raw& raw, std::chrono::nanoseconds high) {
    std::optional<std::chrono::nanoseconds> time;
    if (raw.form == Raw::Form::integer && raw.integer == 0) time = std::chrono::nanoseconds(0);
    if (raw.form == Raw::Form::integer && raw.integer != 0)
        throw Mismatch("a number needs a unit", raw.line);
    if (is_string(raw)) time = base::parse_time(raw.text);
    if (!time || *time > high) throw Mismatch({}, raw.line);
    return *time;
}

// The parts of "a,b,c"; an empty text has none, "a," has an empty second one.
std::vector<Raw> split(const std::string& text, char separator) {
    std::vector<Raw> parts;
    std::size_t start = 0;
    while (!text.empty() && start <= text.size()) {
        const std::size_t end = std::min(text.find(separator, start), text.size());
        parts.push_back(Raw::words(std::string_view(text).substr(start, end - start)));
        start = end + 1;
    }
    return parts;
}

// The items of a list, which may stand as "2x2x2" or "2,2,2" in one word.
std::vector<Raw> read_items(const Raw& raw, bool dims) {
    if (raw.form == Raw::Form::list) return raw.items;
    const bool by_x = dims && raw.text.find('x') != std::string::npos;
    if (is_words(raw)) return split(raw.text, by_x ? 'x' : ',');
    if (raw.form == Raw::Form::string && dims) return split(raw.text, by_x ? 'x' : ',');
    throw Mismatch({}, raw.line);
}

template <class Read>
auto read_dimensions(const Raw& raw, bool dims, Read read) {
    const std::vector<Raw> items = read_items(raw, dims);
    if (items.empty() || items.size() > std::size_t(routing::max_dimensions))
        throw Mismatch(fmt::format("it has {} dimensions", items.size()), raw.line);
    std::vector<decltype(read(items[0]))> values;
    for (std::size_t i = 0; i < items.size(); ++i) {
        try {
            values.push_back(read(items[i]));
        } catch (const Mismatch&) {
            throw Mismatch(fmt::format("dimension {} is {}", i, items[i].quoted()), items[i].line);
        }
    }
    return values;
}

std::vector<int> read_extents(const Raw& raw) {
    return read_dimensions(raw, true,
                           [](const Raw& item) { return int(read_integer(item, 1, max_ranks)); });
}

void check_product(const std::vector<int>& extents) {
    std::int64_t product = 1;
    for (int extent : extents) {
        product *= extent;
        if (product > max_ranks)
            throw Mismatch(fmt::format("the product is more than {}", max_ranks));
    }
}

// ---- Choices ----

template <class Enum>
struct Choices;

template <>
struct Choices<TransportUse> {
    static constexpr std::array<std::pair<std::string_view, TransportUse>, 4> all{
        {{"auto", TransportUse::automatic},
         {"shm", TransportUse::shm},
         {"tcp", TransportUse::tcp},
         {"verbs", TransportUse::verbs}}};
};
template <>
struct Choices<LocalPaths> {
    static constexpr std::array<std::pair<std::string_view, LocalPaths>, 2> all{
        {{"direct", LocalPaths::direct}, {"links", LocalPaths::links}}};
};
template <>
struct Choices<CopyMode> {
    static constexpr std::array<std::pair<std::string_view, CopyMode>, 3> all{
        {{"auto", CopyMode::automatic}, {"cma", CopyMode::cma}, {"pipeline", CopyMode::pipeline}}};
};
template <>
struct Choices<LaunchThrough> {
    static constexpr std::array<std::pair<std::string_view, LaunchThrough>, 2> all{
        {{"network", LaunchThrough::network}, {"torus", LaunchThrough::torus}}};
};
template <>
struct Choices<Forward> {
    static constexpr std::array<std::pair<std::string_view, Forward>, 2> all{
        {{"relay", Forward::relay}, {"kernel", Forward::kernel}}};
};
template <>
struct Choices<ProgressMode> {
    static constexpr std::array<std::pair<std::string_view, ProgressMode>, 2> all{
        {{"polling", ProgressMode::polling}, {"thread", ProgressMode::thread}}};
};
template <>
struct Choices<Bind> {
    static constexpr std::array<std::pair<std::string_view, Bind>, 4> all{
        {{"auto", Bind::automatic},
         {"core", Bind::core},
         {"numa", Bind::numa},
         {"none", Bind::none}}};
};

template <class Enum>
Enum read_choice(const Raw& raw) {
    if (!is_string(raw)) throw Mismatch({}, raw.line);
    std::vector<std::string_view> names;
    for (const auto& [name, value] : Choices<Enum>::all) {
        if (name == raw.text) return value;
        names.push_back(name);
    }
    const std::string_view meant = base::nearest(raw.text, names);
    throw Mismatch(meant.empty() ? std::string() : fmt::format("did you mean \"{}\"?", meant),
                   raw.line);
}

template <class Enum>
std::string format_choice(Enum value) {
    for (const auto& [name, known] : Choices<Enum>::all)
        if (known == value) return std::string(name);
    return {};
}

// ---- Hosts and links ----

void check_host(const std::string& name, int line) {
    if (!legal_host_name(name))
        throw Mismatch(fmt::format("\"{}\" cannot be the name of a host", base::printable(name)),
                       line);
}

bool is_letter_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// The kernel takes more, but the name becomes part of paths, of commands for ip and of patterns for
// systemd-networkd.
void check_device(const std::string& name, int line) {
    constexpr std::size_t longest = IFNAMSIZ - 1;
    const auto legal = [](char c) {
        return is_letter_or_digit(c) || c == '.' || c == '-' || c == '_';
    };
    if (name.empty() || name.size() > longest || !is_letter_or_digit(name[0]) ||
        !std::all_of(name.begin(), name.end(), legal))
        throw Mismatch(fmt::format("\"{}\" cannot be the name of a device, which has 1 to {} "
                                   "letters, digits, \".\", \"-\" or \"_\" and begins with a "
                                   "letter or digit",
                                   base::printable(name), longest),
                       line);
}

void check_direction(const std::string& name, int line) {
    if (name.size() == 2 && name[0] >= '0' && name[0] < '0' + routing::max_dimensions &&
        (name[1] == '+' || name[1] == '-'))
        return;
    throw Mismatch(
        fmt::format("\"{}\" is no direction; they are \"0+\", \"0-\", \"1+\", ... \"{}-\"",
                    base::printable(name), routing::max_dimensions - 1),
        line);
}

void read_hosts(const Raw& raw, Settings& settings) {
    if (is_string(raw) && raw.text.find('{') != std::string::npos) {
        settings.hosts_pattern = raw.text;  // spelled out once the dimensions are known
        settings.hosts.value.clear();
        return;
    }
    std::vector<Raw> items{raw};  // one name
    if (is_words(raw) || raw.form == Raw::Form::list) items = read_items(raw, false);
    if (items.empty()) throw Mismatch("the list is empty", raw.line);
    std::vector<std::string> names;
    for (const Raw& item : items) {
        if (!is_string(item))
            throw Mismatch(fmt::format("{} is no name", item.quoted()), item.line);
        check_host(item.text, item.line);
        names.push_back(item.text);
    }
    settings.hosts.value = std::move(names);
    settings.hosts_pattern.clear();
}

std::string format_hosts(const Settings& settings) {
    if (!settings.hosts_pattern.empty()) return settings.hosts_pattern;

    return fmt::format("{}", fmt::join(settings.hosts.value, ","));
}

using Links = std::map<std::string, std::string>;

void add_link(Links& links, const std::string& direction, const Raw& device) {
    check_direction(direction, device.line);
    if (!is_string(device))
        throw Mismatch(fmt::format("\"{}\" is {}", direction, device.quoted()), device.line);
    check_device(device.text, device.line);
    if (!links.emplace(direction, device.text).second)
        throw Mismatch(fmt::format("\"{}\" is given twice", direction), device.line);
}

Links read_link_table(const Raw& raw) {
    Links links;
    for (const auto& [direction, device] : raw.members) add_link(links, direction, device);
    return links;
}

// "0+=eth0" cut at its "=".
std::pair<std::string, Raw> split_link(const Raw& item) {
    const std::size_t equals = item.text.find('=');
    if (equals == std::string::npos)
        throw Mismatch(fmt::format("{} has no \"=\"", item.quoted()), item.line);
    return {item.text.substr(0, equals),
            Raw::words(std::string_view(item.text).substr(equals + 1))};
}

void read_links(const Raw& raw, Settings& settings) {
    Links links;
    if (raw.form == Raw::Form::table) {
        links = read_link_table(raw);
    } else if (is_words(raw)) {
        for (const Raw& item : split(raw.text, ',')) {
            const auto [direction, device] = split_link(item);
            add_link(links, direction, device);
        }
    } else {
        throw Mismatch({}, raw.line);
    }
    if (links.empty()) throw Mismatch("it is empty", raw.line);
    settings.links.value = std::move(links);
}

void read_host_links(const Raw& raw, Settings& settings) {
    std::map<std::string, Links> hosts;
    if (raw.form == Raw::Form::table) {
        for (const auto& [host, table] : raw.members) {
            check_host(host, table.line);
            hosts[host] = read_link_table(table);
            if (hosts[host].empty()) throw Mismatch(host + " has no links", table.line);
        }
    } else if (is_words(raw)) {
        for (const Raw& item : split(raw.text, ',')) {
            const auto [place, device] = split_link(item);
            const std::size_t slash = place.find('/');
            if (slash == std::string::npos)
                throw Mismatch(fmt::format("{} has no \"/\" behind the host", item.quoted()));
            check_host(place.substr(0, slash), 0);
            add_link(hosts[place.substr(0, slash)], place.substr(slash + 1), device);
        }
    } else {
        throw Mismatch({}, raw.line);
    }
    if (hosts.empty()) throw Mismatch("it is empty", raw.line);
    settings.host_links.value = std::move(hosts);
}

std::string format_links(const Links& links, const std::string& prefix) {
    std::string out;
    for (const auto& [direction, device] : links)
        out += fmt::format("{}{}{}={}", out.empty() ? "" : ",", prefix, direction, device);
    return out;
}

std::string format_host_links(const Settings& settings) {
    std::string out;
    for (const auto& [host, links] : *settings.host_links) {
        const std::string part = format_links(links, host + "/");
        if (!part.empty()) out += (out.empty() ? "" : ",") + part;
    }
    return out;
}

// ---- The table ----

template <auto Member>
Origin& origin_of(Settings& settings) {
    return (settings.*Member).origin;
}

template <auto Member>
std::string format_number(const Settings& settings) {
    return std::to_string(*(settings.*Member));
}
template <auto Member>
std::string format_bytes(const Settings& settings) {
    return base::format_size(*(settings.*Member));
}
template <auto Member>
std::string format_duration(const Settings& settings) {
    return base::format_time(*(settings.*Member));
}
template <auto Member>
std::string format_enum(const Settings& settings) {
    return format_choice(*(settings.*Member));
}
template <auto Member>
void read_enum(const Raw& raw, Settings& settings) {
    auto& value = (settings.*Member).value;
    value = read_choice<std::remove_reference_t<decltype(value)>>(raw);
}
template <auto Member, int Low, int High>
void read_number(const Raw& raw, Settings& settings) {
    (settings.*Member).value = int(read_integer(raw, Low, High));
}
// A number from 0, or "auto", which is kept as -1.
template <auto Member, int High>
void read_number_or_auto(const Raw& raw, Settings& settings) {
    const bool automatic = is_string(raw) && raw.text == "auto";
    (settings.*Member).value = automatic ? -1 : int(read_integer(raw, 0, High));
}
template <auto Member>
std::string format_number_or_auto(const Settings& settings) {
    return *(settings.*Member) < 0 ? "auto" : format_number<Member>(settings);
}
template <auto Member, std::uint64_t Low, std::uint64_t High>
void read_bytes(const Raw& raw, Settings& settings) {
    (settings.*Member).value = read_size(raw, Low, High);
}
template <auto Member, std::int64_t Seconds, std::int64_t LowMilliseconds = 0>
void read_duration(const Raw& raw, Settings& settings) {
    const auto time = read_time(raw, std::chrono::seconds(Seconds));
    if (time < std::chrono::milliseconds(LowMilliseconds)) throw Mismatch({}, raw.line);
    (settings.*Member).value = time;
}
template <auto Member>
void read_flag(const Raw& raw, Settings& settings) {
    (settings.*Member).value = read_boolean(raw);
}
template <auto Member>
std::string format_flag(const Settings& settings) {
    return *(settings.*Member) ? "true" : "false";
}
// A command line in words: printable, not empty.
template <auto Member>
void read_command(const Raw& raw, Settings& settings) {
    const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
    if (!is_string(raw) || raw.text.find_first_not_of(' ') == std::string::npos ||
        !std::all_of(raw.text.begin(), raw.text.end(), printable))
        throw Mismatch({}, raw.line);
    (settings.*Member).value = raw.text;
}
template <auto Member>
std::string format_command(const Settings& settings) {
    return *(settings.*Member);
}
template <Collective Which>
void read_forms(const Raw& raw, Settings& settings) {
    if (!is_string(raw)) throw Mismatch({}, raw.line);
    try {
        settings.forms[std::size_t(Which)].value = parse_forms(Which, raw.text);
    } catch (const std::invalid_argument& wrong) {
        throw Mismatch(wrong.what(), raw.line);
    }
}
template <Collective Which>
std::string format_forms(const Settings& settings) {
    return format_forms(Which, *settings.forms[std::size_t(Which)]);
}
template <Collective Which>
Origin& origin_of_forms(Settings& settings) {
    return settings.forms[std::size_t(Which)].origin;
}
template <Collective Which>
constexpr Key forms_key(std::string_view name, std::string_view example, std::string_view help) {
    return Key{name,
               "forms",
               "forms with limits, like \"tree<32KiB disjoint\", each situation (host, crowded, "
               "links) with its own if need be: \"host: lines; links: tree<32KiB disjoint\"",
               "",
               example,
               help,
               read_forms<Which>,
               format_forms<Which>,
               origin_of_forms<Which>};
}
template <auto Member>
void read_extent_list(const Raw& raw, Settings& settings) {
    auto extents = read_extents(raw);
    check_product(extents);
    (settings.*Member).value = std::move(extents);
}
template <auto Member>
std::string format_extents(const Settings& settings) {
    return fmt::format("{}", fmt::join(*(settings.*Member), "x"));
}

void read_periodic(const Raw& raw, Settings& settings) {
    settings.periodic.value = read_dimensions(raw, false, read_boolean);
}
std::string format_periodic(const Settings& settings) {
    std::string out;
    for (bool wraps : *settings.periodic)
        out += (out.empty() ? "" : ",") + fmt::format("{}", wraps);
    return out;
}

constexpr std::array table{
    Key{"torus.dims", "list", "1 to 6 sizes of 1 or more, like [4, 8, 8] or 4x8x8",
        "balanced over the ranks in 3 dimensions", "2x2x2",
        "Nodes along each dimension. Ranks are numbered row by row, the last dimension fastest. "
        "Without it the ranks of this host form a balanced torus. The flag --torus is short for "
        "it.",
        read_extent_list<&Settings::dims>, format_extents<&Settings::dims>,
        origin_of<&Settings::dims>},
    Key{"torus.periodic", "list", "true or false for each dimension, like [true, true, false]",
        "true in every dimension", "true,true,false",
        "Whether each dimension wraps around (a torus) or ends (an open mesh).", read_periodic,
        format_periodic, origin_of<&Settings::periodic>},
    Key{"torus.ranks_per_node", "list", "a size of 1 or more for each dimension, like [1, 1, 2]",
        "1 in every dimension", "1x1x2",
        "The block of ranks inside each node. The torus of ranks has dims x ranks_per_node ranks "
        "along each dimension.",
        read_extent_list<&Settings::ranks_per_node>, format_extents<&Settings::ranks_per_node>,
        origin_of<&Settings::ranks_per_node>},
    Key{"nodes.hosts", "list",
        "a list of names in rank order, or a pattern over coordinates like \"qcd{0}{1}{2}\"",
        "every rank on this host", "node{0}-{1}",
        "The hosts of the torus: a list in rank order, or a pattern in which {0} stands for the "
        "coordinate in dimension 0; {0:02} pads it to two digits.",
        read_hosts, format_hosts, origin_of<&Settings::hosts>},
    Key{"links", "table", "a device for each direction, like \"0+\" = \"enp1s0f0\"",
        "none: no cable leaves a node", "0+=enp1s0f0,0-=enp1s0f1",
        "The network device by which a cable leaves a node in each direction: the dimension, and + "
        "or -. In the file it is the table [links].",
        read_links, [](const Settings& s) { return format_links(*s.links, ""); },
        origin_of<&Settings::links>},
    Key{"links.hosts", "table", "directions and devices of single hosts, like qcd000/0+=enp2s0f0",
        "none: all hosts are cabled alike", "qcd000/0+=enp2s0f0",
        "Devices of single hosts, where they differ from [links]. In the file each host has a "
        "table "
        "[links.\"host\"].",
        read_host_links, format_host_links, origin_of<&Settings::host_links>},
    Key{"transport.use", "choice", "auto, shm, tcp or verbs", "", "shm",
        "What carries messages. auto: shared memory between ranks of a host, and the best that the "
        "links offer between hosts.",
        read_enum<&Settings::use>, format_enum<&Settings::use>, origin_of<&Settings::use>},
    Key{"transport.local", "choice", "direct or links", "", "links",
        "How ranks of one host reach each other. direct: all to all through shared memory. links: "
        "over the links of the torus only, so that the others are reached by relay, as on a "
        "cluster.",
        read_enum<&Settings::local>, format_enum<&Settings::local>, origin_of<&Settings::local>},
    Key{"transport.copy", "choice", "auto, cma or pipeline", "", "pipeline",
        "How large messages cross shared memory. cma: one copy, straight from process to process. "
        "pipeline: two copies through shared pages. auto: cma where the kernel allows it.",
        read_enum<&Settings::copy>, format_enum<&Settings::copy>, origin_of<&Settings::copy>},
    Key{"transport.eager_limit", "size", "a size from 64B to 4MiB, like 16KiB", "", "16KiB",
        "Messages of this size and more are written straight into the receiver's buffer; smaller "
        "ones are copied through slots that stand ready. It is also the payload of a packet.",
        read_bytes<&Settings::eager_limit, 64, 4u << 20>, format_bytes<&Settings::eager_limit>,
        origin_of<&Settings::eager_limit>},
    Key{"transport.tokens", "integer", "a whole number from 2 to 120", "", "64",
        "Packets that may be on their way over one connection before the receiver must have taken "
        "one off.",
        read_number<&Settings::tokens, 2, 120>, format_number<&Settings::tokens>,
        origin_of<&Settings::tokens>},
    Key{"transport.relay_tokens", "integer", "a whole number from 2 to 120", "", "16",
        "The same for packets that are relayed, for each class of them (the number of dimensions "
        "that a packet has finished).",
        read_number<&Settings::relay_tokens, 2, 120>, format_number<&Settings::relay_tokens>,
        origin_of<&Settings::relay_tokens>},
    Key{"transport.socket_buffer", "size", "a size from 4KiB to 1GiB, like 4MiB", "", "4MiB",
        "Send and receive buffer of each TCP connection, in the kernel.",
        read_bytes<&Settings::socket_buffer, 4u << 10, 1u << 30>,
        format_bytes<&Settings::socket_buffer>, origin_of<&Settings::socket_buffer>},
    Key{"transport.timeout", "time", "a time from 100ms to 1h, like 10s", "", "10s",
        "A link by which no host or device answers for this long is dead, and so is a rank that is "
        "stopped for this long. A rank that computes may take any time.",
        read_duration<&Settings::timeout, 3600, 100>, format_duration<&Settings::timeout>,
        origin_of<&Settings::timeout>},
    Key{"transport.checksum", "boolean", "true or false", "", "true",
        "Whether every packet and write over a network carries a CRC-32C of header and payload, "
        "made where it starts and checked at every hop.",
        read_flag<&Settings::checksum>, format_flag<&Settings::checksum>,
        origin_of<&Settings::checksum>},
    Key{"verbs.gid_index", "integer", "auto, or a whole number from 0 to 255", "", "1",
        "Which entry of the GID table of each RDMA port is used. It must be one of RoCE v2. auto: "
        "the one of the address of the link.",
        read_number_or_auto<&Settings::verbs_gid_index, 255>,
        format_number_or_auto<&Settings::verbs_gid_index>, origin_of<&Settings::verbs_gid_index>},
    Key{"verbs.ack_timeout", "integer", "auto, or a whole number from 0 (never) to 31", "", "18",
        "How long a queue pair waits for an acknowledgement before it sends again: 4.096 us x 2^n. "
        "auto: so that transport.timeout and verbs.retries go together.",
        read_number_or_auto<&Settings::verbs_ack_timeout, 31>,
        format_number_or_auto<&Settings::verbs_ack_timeout>,
        origin_of<&Settings::verbs_ack_timeout>},
    Key{"verbs.retries", "integer", "a whole number from 0 to 7", "", "7",
        "How often a queue pair sends again what is not acknowledged before the link is dead.",
        read_number<&Settings::verbs_retries, 0, 7>, format_number<&Settings::verbs_retries>,
        origin_of<&Settings::verbs_retries>},
    Key{"verbs.rnr_timer", "integer", "a whole number from 0 to 31", "", "12",
        "How long a sender waits where the receiver had no buffer ready, as InfiniBand codes it: 1 "
        "is 0.01 ms, 12 is 0.64 ms, 31 is 491.52 ms, 0 is 655.36 ms. Tokens see to it that this "
        "does not happen.",
        read_number<&Settings::verbs_rnr_timer, 0, 31>, format_number<&Settings::verbs_rnr_timer>,
        origin_of<&Settings::verbs_rnr_timer>},
    Key{"verbs.rnr_retries", "integer", "a whole number from 0 to 7 (without end)", "", "7",
        "How often it tries again then, before the link is dead.",
        read_number<&Settings::verbs_rnr_retries, 0, 7>,
        format_number<&Settings::verbs_rnr_retries>, origin_of<&Settings::verbs_rnr_retries>},
    Key{"verbs.cache", "size", "a size from 0 (none) to 1TiB, like 1GiB", "", "1GiB",
        "How much of the program's memory stays registered with RDMA devices after messages went "
        "from it or to it, so that the next need not register it again. It counts against the "
        "limit of locked memory.",
        read_bytes<&Settings::verbs_cache, 0, std::uint64_t(1) << 40>,
        format_bytes<&Settings::verbs_cache>, origin_of<&Settings::verbs_cache>},
    Key{"routing.forward", "choice", "relay or kernel", "", "kernel",
        "How a rank is reached that is neither on this host nor a neighbour. relay: the ranks "
        "between forward packets. kernel: IP routes along the same paths are laid already, or "
        "there "
        "is a switch.",
        read_enum<&Settings::forward>, format_enum<&Settings::forward>,
        origin_of<&Settings::forward>},
    Key{"progress.mode", "choice", "polling or thread", "", "thread",
        "Who moves messages while the application computes. polling: nobody; messages move inside "
        "calls. thread: a thread of its own in each rank, which wants a core of its own to gain "
        "anything.",
        read_enum<&Settings::progress>, format_enum<&Settings::progress>,
        origin_of<&Settings::progress>},
    Key{"progress.spin", "time", "a time from 0 to 1s, like 20us", "", "20us",
        "How long a wait looks for messages before it sleeps. Where ranks outnumber cores it is "
        "cut "
        "short.",
        read_duration<&Settings::spin, 1>, format_duration<&Settings::spin>,
        origin_of<&Settings::spin>},
    forms_key<Collective::broadcast>(
        "collectives.broadcast", "links: tree<64KiB disjoint",
        "How a broadcast goes, by its size. lines: each root of a line to all of the line. "
        "scatter: "
        "parts are dealt out and gathered. tree: from neighbour to neighbour. disjoint: a stripe "
        "along each disjoint tree, all links busy."),
    forms_key<Collective::reduce>(
        "collectives.reduce", "links: tree<64KiB disjoint",
        "How a reduction to one rank goes, by its size: lines, tree or disjoint."),
    forms_key<Collective::allreduce>(
        "collectives.allreduce", "links: exchange<4KiB disjoint",
        "How a sum over all ranks goes, by its size. exchange: along each line everybody gets all. "
        "star: to the first rank and back. lines: to the first of each line and back. scatter: "
        "each "
        "rank adds a part. disjoint: up and down all disjoint trees."),
    forms_key<Collective::scatter>(
        "collectives.scatter", "links: optimal",
        "How a scatter goes, whatever its size. optimal: over all links of the root at once, "
        "furthest first. apart: a message to each rank."),
    forms_key<Collective::gather>("collectives.gather", "links: optimal",
                                  "How a gather goes, whatever its size: optimal or apart."),
    forms_key<Collective::allgather>(
        "collectives.allgather", "links: rings",
        "How an allgather goes, by the size of all blocks. rings: from neighbour to neighbour over "
        "all links at once. lines: line by line. everyone: each to each. star: over the first "
        "rank."),
    forms_key<Collective::reduce_scatter>(
        "collectives.reduce_scatter", "links: rings",
        "How a reduce-scatter goes, by the size of the vector. rings, lines; ordered: each rank "
        "gets its block from all. tree: over the first rank."),
    forms_key<Collective::alltoall>(
        "collectives.alltoall", "links: rings<64KiB pairs",
        "How an alltoall goes, by the size of a block. rings: from neighbour to neighbour. lines: "
        "line by line. pairs: every block by itself."),
    forms_key<Collective::scan>(
        "collectives.scan", "lines<8KiB doubling",
        "How a scan goes, by its size. lines: line by line. doubling: from 1, 2, 4, ... before. "
        "star: over the first rank. chain: from each to the next."),
    Key{"collectives.check", "boolean", "true or false", "", "true",
        "Whether ranks compare what they call before each collective, and name the two that "
        "differ. "
        "Costs one more exchange along every line.",
        read_flag<&Settings::check_collectives>, format_flag<&Settings::check_collectives>,
        origin_of<&Settings::check_collectives>},
    Key{"mpi.check", "boolean", "true or false", "", "true",
        "Whether MPI_Finalize lists what a program leaves behind: requests that nobody completed, "
        "messages that nobody received, objects that nobody freed.",
        read_flag<&Settings::check_mpi>, format_flag<&Settings::check_mpi>,
        origin_of<&Settings::check_mpi>},
    Key{"launch.bind", "choice", "auto, core, numa or none", "", "numa",
        "Where ranks may run. core: each on a core of its own while there are enough. numa: spread "
        "over the NUMA nodes, free inside one. none: anywhere. auto: core, or none where ranks "
        "outnumber cores.",
        read_enum<&Settings::bind>, format_enum<&Settings::bind>, origin_of<&Settings::bind>},
    Key{"launch.agent", "command", "a command line like \"ssh -p 2222\"", "", "ssh",
        "The command that starts a program on a host: AGENT HOST PROGRAM ARGUMENTS. The flag "
        "--agent is short for it.",
        read_command<&Settings::agent>, format_command<&Settings::agent>,
        origin_of<&Settings::agent>},
    Key{"launch.through", "choice", "network or torus", "", "torus",
        "How the launcher reaches the hosts. network: each one directly, by its name. torus: from "
        "neighbour to neighbour over the links, where no other network joins the hosts.",
        read_enum<&Settings::through>, format_enum<&Settings::through>,
        origin_of<&Settings::through>},
    Key{"watchdog.after", "time", "a time from 0 (off) to 24h, like 60s", "", "60s",
        "A wait that lasts longer says what it waits for: rank, peer, link and tokens. 0: never.",
        read_duration<&Settings::watchdog, 24 * 3600>, format_duration<&Settings::watchdog>,
        origin_of<&Settings::watchdog>},
};

}  // namespace

std::string Key::variable() const {
    std::string out = "TORUSMP_";
    for (char c : name) out += c == '.' ? '_' : c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c;
    return out;
}

bool legal_host_name(std::string_view name) {
    const auto legal = [](char c) {
        return is_letter_or_digit(c) || c == '.' || c == '-' || c == '_' || c == ':' || c == '%';
    };
    // Neither an option nor a folder above.
    return !name.empty() && name.size() <= 255 && name[0] != '-' && name[0] != '.' &&
           std::all_of(name.begin(), name.end(), legal);
}

std::span<const Key> keys() {
    return table;
}

const Key* find_key(std::string_view name) {
    for (const Key& key : table)
        if (key.name == name) return &key;
    return nullptr;
}

std::string suggest_key(std::string_view name) {
    std::vector<std::string_view> names, in_section;
    const std::string_view section = name.substr(0, name.find('.'));
    const std::string_view last = name.substr(name.rfind('.') + 1);
    for (const Key& key : table) {
        // The right key in the wrong table is nearer than any misspelling.
        if (key.name.substr(key.name.rfind('.') + 1) == last)
            return fmt::format("; did you mean '{}'?", key.name);
        names.push_back(key.name);
        if (key.section() == section) in_section.push_back(key.name);
    }
    const std::string_view meant = base::nearest(name, in_section.empty() ? names : in_section);
    if (!meant.empty()) return fmt::format("; did you mean '{}'?", meant);
    if (!in_section.empty())
        return fmt::format("; expected one of {}", fmt::join(in_section, ", "));
    return fmt::format("; expected one of {}", fmt::join(names, ", "));
}

void assign(const Key& key, const Raw& found, const Origin& origin, Settings& settings) {
    try {
        key.read(found, settings);
        key.origin(settings) = origin;
    } catch (const Mismatch& mismatch) {
        std::string where = origin.where;
        const std::size_t colon = where.rfind(':');
        if (origin.kind == Origin::Kind::file && mismatch.line() > 0 && colon != std::string::npos)
            where = where.substr(0, colon + 1) + std::to_string(mismatch.line());
        const std::string why = mismatch.what();
        throw ConfigError(fmt::format("{}: {} is {}{}: expected {}", where, key.name,
                                      found.quoted(), why.empty() ? "" : " (" + why + ")",
                                      key.expected));
    }
}

}  // namespace torusmp::config
