// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/file/file.h"

#include <algorithm>
#include <atomic>
#include <set>

#include "mpi11/file/access.h"
#include "mpi11/ft/failures.h"

namespace torusmp::mpi {
namespace {

// The number of ranks that move data in collective calls if all share a host and no hint sets it,
// at most.
constexpr int most_on_one_host = 4;
// From this length on, in bytes, members that share a host write and read their stretches of a file
// faster themselves, although the kernel does one write to a file at a time: measured on tmpfs
// (from 8 KiB on) and in the page cache of ext4 (from 16 KiB on).
constexpr std::uint64_t long_on_one_host = std::uint64_t(16) << 10;

std::uint64_t next_number() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

}  // namespace

File::File(Communicator& with, std::string name, int mode)
    : Object(kind_of_class),
      comm(with),
      path(std::move(name)),
      amode(mode),
      number(next_number()),
      writing("writing " + path),
      reading("reading " + path) {
    release(with);  // comm holds it now
    comm->error_handler = handler_of_no_file();
    comm->name = "the file " + path;
    view.etype = view.filetype = Reference<Datatype>(datatype_of(Basic::byte));
    view.representation = &native_representation();
    const auto lock = comm->runtime().lock();
    comm->error_object = this;
    comm->revoke_object = [](Object& file) { static_cast<File&>(file).revoke(); };
}

void File::revoke() {
    kind = kind_when_revoked;
    if (far != nullptr) far->revoke();
    if (server != nullptr) server->revoke();
    if (shared != nullptr) shared->revoke();
}

File::~File() {
    {
        const auto lock = comm->runtime().lock();
        comm->error_object = nullptr;
    }
    calls.clear();
    shared.reset();
    server.reset();
}

Offset File::position_of(Offset etypes) const {
    Offset position = 0;
    if (__builtin_mul_overflow(etypes, Offset(view.unit), &position))
        fail(MPI_ERR_ARG, "found offset {} in etypes of {} bytes, which is beyond any file", etypes,
             view.unit);
    return position;
}

Offset File::end_in_etypes() {
    const Offset size = store().size();
    if (size < 0) fail_here(*this, "find the size of", int(-size));
    const Offset position = view.bytes.position_of(size);
    return (position + Offset(view.unit) - 1) / Offset(view.unit);
}

std::string File::who() const {
    const bool reaches = residence.members[std::size_t(comm->rank())];
    return reaches ? who_is(comm->rank(), host_name()) : keeper;
}

io::RangeLocks& File::locks() {
    if (server != nullptr) return *server;
    if (far != nullptr) return *far;
    return *local;
}

// The first member of each host that reaches the file, so that no host is left out; then the second
// of each.
void File::choose_aggregators() {
    std::vector<std::vector<int>> by_host;
    std::vector<Rank> hosts;
    int reaching = 0;
    for (int member = 0; member < comm->size(); ++member) {
        if (!residence.members[std::size_t(member)]) continue;
        const Rank host = comm->runtime().state().host_of(comm->peer(member));
        const auto known = std::find(hosts.begin(), hosts.end(), host);
        const auto index = std::size_t(known - hosts.begin());
        if (known == hosts.end()) {
            hosts.push_back(host);
            by_host.emplace_back();
        }
        by_host[index].push_back(member);
        ++reaching;
    }
    const int usual = hosts.size() == 1 ? most_on_one_host : int(hosts.size());
    const int wanted = std::min(hints().aggregators != 0 ? hints().aggregators : usual, reaching);
    place.aggregators.clear();
    std::size_t on_one_host = 1;
    for (std::size_t turn = 0; int(place.aggregators.size()) < wanted; ++turn)
        for (const auto& members : by_host) {
            if (turn >= members.size() || int(place.aggregators.size()) == wanted) continue;
            place.aggregators.push_back(members[turn]);
            on_one_host = turn + 1;
        }
    std::sort(place.aggregators.begin(), place.aggregators.end());
    place.window = std::max<std::size_t>(hints().collective_buffer / on_one_host, 4096);
    const auto& members = comm->members();
    const bool one_host = std::all_of(members.begin(), members.end(), [&](Rank member) {
        return comm->runtime().state().host_of(member) ==
               comm->runtime().state().host_of(members.front());
    });
    place.lanes = one_host ? 1 : io::CollectiveAccess::most_lanes;
    place.long_stretch = one_host ? long_on_one_host : io::CollectiveAccess::usual_long_stretch;
    place.store = local.get();
}

}  // namespace torusmp::mpi
