// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/streams/messages.h"

#include <fmt/format.h>

#include "programs/torus_run/streams/packing.h"

namespace torusmp::torus_run {
namespace {

void add_job(Packer& packer, const HostJob& job) {
    packer.add(job.node).add(job.host).add(job.size).add(job.ranks).append(job.secret);
    packer.add(int(job.programs.size())).add(job.environment);
    for (const Program& program : job.programs)
        packer.add(program.first)
            .add(program.path)
            .add(program.arguments)
            .add(program.environment)
            .add(program.folder);
    packer.add(int(job.bind)).add(job.cores_each).add(job.keep_going);
    packer.add(job.capture.output).add(job.capture.errors).add(job.capture.together);
    packer.add(int(job.window)).add(job.in_windows);
    packer.add(std::int64_t(job.timeout.count()));
}

Program take_program(Unpacker& unpacker) {
    Program program;
    program.first = unpacker.get<int>();
    program.path = unpacker.text();
    program.arguments = unpacker.texts();
    program.environment = unpacker.texts();
    program.folder = unpacker.text();
    return program;
}

HostJob take_job(Unpacker& unpacker) {
    HostJob job;
    job.node = unpacker.get<int>();
    job.host = unpacker.text();
    job.size = unpacker.get<int>();
    job.ranks = unpacker.numbers();
    for (std::byte& byte : job.secret) byte = std::byte(unpacker.get<unsigned char>());
    const int programs = unpacker.get<int>();
    job.environment = unpacker.texts();
    for (int i = 0; i < programs; ++i) job.programs.push_back(take_program(unpacker));
    job.bind = config::Bind(unpacker.get<int>());
    job.cores_each = unpacker.get<int>();
    job.keep_going = unpacker.get<bool>();
    job.capture.output = unpacker.get<bool>();
    job.capture.errors = unpacker.get<bool>();
    job.capture.together = unpacker.get<bool>();
    job.window = Window(unpacker.get<int>());
    job.in_windows = unpacker.numbers();
    job.timeout = std::chrono::nanoseconds(unpacker.get<std::int64_t>());
    return job;
}

}  // namespace

std::vector<std::byte> encode(const RankEvent& event) {
    Packer packer;
    packer.add(std::uint32_t(event.kind)).add(event.rank).add(event.number).add(event.call);
    packer.add(event.text).append(event.bytes);
    return packer.take();
}

RankEvent decode_event(std::span<const std::byte> bytes) {
    Unpacker unpacker(bytes);
    RankEvent event;
    event.kind = RankEvent::Kind(unpacker.get<std::uint32_t>());
    event.rank = unpacker.get<int>();
    event.number = unpacker.get<std::int64_t>();
    event.call = unpacker.get<std::uint32_t>();
    event.text = unpacker.text();
    const auto rest = unpacker.rest();
    event.bytes.assign(rest.begin(), rest.end());
    return event;
}

std::vector<std::byte> encode(const HostOrder& order) {
    Packer packer;
    add_job(packer, order.job);
    packer.add(order.working_directory).add(order.file_mode_mask);
    packer.add(order.geometry).add(order.routes);
    packer.add(order.parents)
        .add(order.over_links)
        .add(order.unknown_links)
        .add(order.hosts)
        .add(order.agent)
        .add(order.torus_run)
        .add(order.key);
    return packer.take();
}

HostOrder decode_order(std::span<const std::byte> bytes) {
    Unpacker unpacker(bytes);
    HostOrder order;
    order.job = take_job(unpacker);
    order.working_directory = unpacker.text();
    order.file_mode_mask = unpacker.get<unsigned>();
    order.geometry = unpacker.text();
    order.routes = unpacker.get<bool>();
    order.parents = unpacker.numbers();
    order.over_links = unpacker.get<bool>();
    order.unknown_links = unpacker.get<bool>();
    order.hosts = unpacker.texts();
    order.agent = unpacker.text();
    order.torus_run = unpacker.text();
    order.key = unpacker.get<std::uint64_t>();
    return order;
}

std::vector<std::byte> encode(const TreeWays& ways) {
    return Packer().add(ways.version).add(ways.parents).add(ways.missing).take();
}

TreeWays decode_ways(std::span<const std::byte> bytes) {
    Unpacker unpacker(bytes);
    TreeWays ways;
    ways.version = unpacker.get<std::uint64_t>();
    ways.parents = unpacker.numbers();
    ways.missing = unpacker.numbers();
    return ways;
}

std::vector<std::byte> encode(const HostStart& start) {
    std::vector<int> nodes, dimensions;
    for (const routing::Link& cable : start.dead_cables) {
        nodes.push_back(cable.rank);
        dimensions.push_back(cable.dimension);
    }
    Packer packer;
    packer.add(start.shared_machine).add(nodes).add(dimensions).add(start.settings);
    return packer.take();
}

HostStart decode_start(std::span<const std::byte> bytes) {
    Unpacker unpacker(bytes);
    HostStart start;
    start.shared_machine = unpacker.get<bool>();
    const std::vector<int> nodes = unpacker.numbers(), dimensions = unpacker.numbers();
    if (nodes.size() != dimensions.size()) throw PackingError();
    for (std::size_t i = 0; i < nodes.size(); ++i)
        start.dead_cables.push_back({nodes[i], dimensions[i]});
    start.settings = unpacker.texts();
    return start;
}

std::vector<std::byte> encode(const HostFacts& facts) {
    Packer packer;
    packer.add(facts.name).add(facts.machine).add(facts.problems).add(facts.description);
    return packer.take();
}

HostFacts decode_facts(std::span<const std::byte> bytes) {
    Unpacker unpacker(bytes);
    HostFacts facts;
    facts.name = unpacker.text();
    facts.machine = unpacker.text();
    facts.problems = unpacker.texts();
    facts.description = unpacker.text();
    return facts;
}

std::vector<std::byte> encode(const LinkTrouble& trouble) {
    Packer packer;
    packer.add(std::uint32_t(trouble.kind)).add(trouble.device).add(trouble.what);
    return packer.take();
}

LinkTrouble decode_trouble(std::span<const std::byte> bytes) {
    Unpacker unpacker(bytes);
    LinkTrouble trouble;
    trouble.kind = LinkTrouble::Kind(unpacker.get<std::uint32_t>());
    trouble.device = unpacker.text();
    trouble.what = unpacker.text();
    return trouble;
}

std::vector<std::byte> encode(const HostEnd& end) {
    Packer packer;
    packer.add(end.left_behind).add(end.stuck);
    return packer.take();
}

std::string HostEnd::describe(const std::string& where, bool orderly) const {
    std::string text;
    const std::size_t left = left_behind.size();
    if (orderly && left > 0)
        text += fmt::format("torus-run: {} process{} left behind by the ranks{} {} ended: pid {}\n",
                            left, left == 1 ? "" : "es", where, left == 1 ? "was" : "were",
                            fmt::join(left_behind, ", "));
    if (!stuck.empty())
        text += fmt::format("torus-run: cannot kill these processes{}: pid {}\n", where,
                            fmt::join(stuck, ", "));
    return text;
}

HostEnd decode_end(std::span<const std::byte> bytes) {
    Unpacker unpacker(bytes);
    HostEnd end;
    end.left_behind = unpacker.numbers();
    end.stuck = unpacker.numbers();
    return end;
}

}  // namespace torusmp::torus_run
