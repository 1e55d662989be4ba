// Which transport carries a link, and why: shared memory inside a host, verbs where both ends have
// RDMA that can be used, TCP else.
//
// A rule on facts: both ranks of a link come to the same answer, since each has the facts of both
// ends (link_facts() goes through the bootstrap's exchange, parse_facts() reads it and believes
// nothing) and the same settings. Pure but for link_facts(); any thread may call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/network.h"
#include "config/settings.h"
#include "routing/torus.h"

namespace torusmp::config {

enum class Carrier { shm, tcp, verbs };
const char* name_of(Carrier carrier);

// One end of a cable between two nodes.
struct CableEnd {
    int node = 0;
    routing::Direction direction;      // by which the cable leaves it
    const HostFacts* facts = nullptr;  // of its host; null: nobody asked it
};

struct LinkChoice {
    Carrier carrier = Carrier::tcp;
    std::string reason;   // "enp1s0f1 of qcd011 has no RDMA device"
    std::string warning;  // what is not as good as it could be, with what to do; empty: nothing
};

// The same whichever end is named first. `one_host`: the ranks at both ends run on one host. Where
// an end was not asked, the answer is what would be if it had what the other has, and the reason
// says so. Throws ConfigError where the settings ask for a transport that is not there: it names
// link, devices, what was found, and what to do.
LinkChoice choose_link(const Settings& settings, CableEnd one, CableEnd other, bool one_host);

// The same for two ranks without a common cable, between which the kernels of other nodes forward:
// each end is the link by which the connection leaves its node (routing/pair_path.h). TCP where an
// end was not asked.
LinkChoice choose_forwarded(const Settings& settings, CableEnd one, CableEnd other);

// Why RDMA cannot be used at one end that was asked, and what to do about it.
struct RdmaTrouble {
    std::string what, remedy;
};
std::optional<RdmaTrouble> rdma_trouble(const Settings& settings, const CableEnd& end);

// What a rank must be allowed to lock for verbs, in bytes: the slots of all its links, which are
// registered with each of its RDMA devices and count anew for each, and room for messages. With
// less `auto` takes TCP.
std::uint64_t locked_memory_needed(const Settings& settings);
bool locks_enough(const Settings& settings, const HostFacts& facts);
// How to raise it, for messages.
std::string lock_remedy();

// "link 0+ of qcd010 to qcd011 (enp1s0f0 to enp1s0f1)"
std::string describe_link(const Settings& settings, const CableEnd& one, const CableEnd& other);

// What the rank at this node tells the others of the links that leave it: format_facts() of
// facts_of_links(). Throws std::system_error where the kernel does not answer.
std::string link_facts(const Settings& settings, int node);

}  // namespace torusmp::config
