// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/monitor/records.h"

#include <algorithm>
#include <type_traits>

#include "base/text.h"
#include "programs/torus_run/streams/packing.h"

namespace torusmp::torus_run {
namespace {

template <class Record>
void add_records(Packer& packer, const std::vector<Record>& records) {
    static_assert(std::has_unique_object_representations_v<Record>);
    packer.add(std::uint64_t(records.size())).append(std::as_bytes(std::span(records)));
}

// Texts in a record are limited and stripped of terminal control codes, whatever their source.
constexpr std::size_t longest_text = 4096;

template <std::size_t Size>
void make_harmless(std::array<char, Size>& text) {
    text.back() = 0;
    std::string safe = base::printable(text.data(), Size);
    if (safe == text.data()) return;
    if (safe.size() >= Size) safe.resize(Size - 1);
    while (!safe.empty() && static_cast<unsigned char>(safe.back()) >= 0x80) safe.pop_back();
    text.fill(0);
    safe.copy(text.data(), safe.size());
}

void make_harmless(std::string& text) {
    text = base::printable(text, longest_text);
}

constexpr int largest_job = 1 << 20;

}  // namespace

const char* name_of(RankState state) {
    switch (state) {
        case RankState::unseen:
            return "not joined";
        case RankState::joining:
            return "joining";
        case RankState::active:
            return "active";
        case RankState::computing:
            return "computing";
        case RankState::waiting:
            return "waiting";
        case RankState::stopped:
            return "stopped";
        case RankState::left:
            return "left";
        case RankState::ended:
            return "ended";
    }
    return "unknown";
}

const char* name_of(core::WaitKind kind) {
    switch (kind) {
        case core::WaitKind::none:
            return "none";
        case core::WaitKind::receive:
            return "receive";
        case core::WaitKind::arriving:
            return "arriving";
        case core::WaitKind::send:
            return "send";
        case core::WaitKind::sending:
            return "sending";
        case core::WaitKind::credit:
            return "credit";
        case core::WaitKind::collective:
            return "collective";
        case core::WaitKind::access:
            return "access";
        case core::WaitKind::other:
            return "other";
    }
    return "unknown";
}

std::vector<std::byte> encode(const Sample& sample) {
    Packer packer;
    packer.add(sample.now);
    add_records(packer, sample.ranks);
    add_records(packer, sample.ways);
    add_records(packer, sample.devices);
    return packer.take();
}

Sample decode_sample(std::span<const std::byte> bytes) {
    Unpacker unpacker(bytes);
    Sample sample;
    sample.now = unpacker.get<std::int64_t>();
    sample.ranks = unpacker.records<RankRecord>();
    sample.ways = unpacker.records<WayRecord>();
    sample.devices = unpacker.records<DeviceRecord>();
    for (RankRecord& rank : sample.ranks) {
        if (rank.state > RankState::ended || rank.wait > core::WaitKind::other)
            throw PackingError();
        make_harmless(rank.call);
        make_harmless(rank.detail);
    }
    for (WayRecord& way : sample.ways) {
        if (way.way < 0 || way.way >= core::page_ways) throw PackingError();
        make_harmless(way.counts.transport);
    }
    for (DeviceRecord& device : sample.devices) {
        if (device.way < 0 || device.way >= core::other_ways) throw PackingError();
        make_harmless(device.name);
    }
    return sample;
}

std::vector<std::byte> encode(const JobDescription& job) {
    Packer packer;
    packer.add(job.pid).add(job.started).add(job.program).add(job.host).add(job.size);
    packer.add(job.dims).add(job.periodic).add(job.hosts).add(job.node_of);
    return packer.take();
}

JobDescription decode_job(std::span<const std::byte> bytes) {
    Unpacker unpacker(bytes);
    JobDescription job;
    job.pid = unpacker.get<std::int64_t>();
    job.started = unpacker.get<std::int64_t>();
    job.program = unpacker.text();
    job.host = unpacker.text();
    job.size = unpacker.get<int>();
    job.dims = unpacker.numbers();
    job.periodic = unpacker.numbers();
    job.hosts = unpacker.texts();
    job.node_of = unpacker.numbers();
    make_harmless(job.program);
    make_harmless(job.host);
    for (std::string& host : job.hosts) make_harmless(host);
    std::int64_t product = 1;
    for (const int extent : job.dims) product *= std::clamp(extent, 0, largest_job);
    const bool fits =
        job.size >= 1 && job.size <= largest_job && !job.dims.empty() &&
        job.dims.size() <= std::size_t(routing::max_dimensions) && product == job.size &&
        job.periodic.size() == job.dims.size() && job.node_of.size() == std::size_t(job.size) &&
        std::all_of(job.node_of.begin(), job.node_of.end(),
                    [&](int node) { return node >= 0 && std::size_t(node) < job.hosts.size(); });
    if (!fits) throw PackingError();
    return job;
}

}  // namespace torusmp::torus_run
