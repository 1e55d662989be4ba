// The effective settings of one job: what the geometry file, the environment and the command line
// say, each value with its origin.
//
// A Settings object is a plain value made once at start by load() and read-only afterwards; any
// thread may read it. Precedence: flag > environment > file > default.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "config/collectives.h"
#include "routing/torus.h"

namespace torusmp::config {

// A setting that is wrong. what() is one whole message: file, line, what was found, what was
// expected. Programs print it and exit with 2.
class ConfigError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct Origin {
    enum class Kind { default_value, file, environment, flag, derived };
    Kind kind = Kind::default_value;
    std::string where;  // "geometry.toml:3", "TORUSMP_TRANSPORT_TOKENS", "--torus"; empty: default

    friend bool operator==(const Origin&, const Origin&) = default;
};

template <class T>
struct Value {
    T value{};
    Origin origin{};
    const T& operator*() const { return value; }
    const T* operator->() const { return &value; }

    friend bool operator==(const Value&, const Value&) = default;
};

enum class TransportUse { automatic, shm, tcp, verbs };
enum class LocalPaths {
    direct,
    links
};  // ranks of one host: all to all, or their torus links only
enum class CopyMode { automatic, cma, pipeline };  // large messages over shm: one copy, or two
enum class Forward { relay, kernel };
enum class ProgressMode { polling, thread };
enum class LaunchThrough { network, torus };
enum class Bind { automatic, core, numa, none };

// No torus is larger: a size above this is a slip of the pen, and would cost memory to believe.
inline constexpr int max_ranks = 1 << 20;

struct Settings {
    // [torus] empty dims: a balanced 3-D torus of as many ranks as there are (see rank_torus()).
    Value<std::vector<int>> dims;
    Value<std::vector<bool>> periodic;       // empty: all periodic
    Value<std::vector<int>> ranks_per_node;  // empty: one everywhere
    // [nodes] one name a node in rank order; empty: everything on this host
    Value<std::vector<std::string>> hosts;
    // [links] direction name ("0+") -> device; per host overrides in `host_links`
    Value<std::map<std::string, std::string>> links;
    Value<std::map<std::string, std::map<std::string, std::string>>> host_links;
    // [transport]
    Value<TransportUse> use{TransportUse::automatic};
    Value<LocalPaths> local{LocalPaths::direct};
    Value<CopyMode> copy{CopyMode::automatic};
    Value<std::size_t> eager_limit{16384};  // bytes; messages of this size and more go by RMA
    Value<int> tokens{64};                  // receive slots a connection, class 0; 2 to 120
    Value<int> relay_tokens{16};            // receive slots a connection for each relay class
    Value<std::size_t> socket_buffer{4u << 20};
    Value<std::chrono::nanoseconds> timeout{std::chrono::seconds(10)};  // of links and peers
    Value<bool> checksum{false};  // CRC-32C over what crosses a network
    // [verbs]
    Value<int> verbs_gid_index{-1};    // entry of each port's GID table; -1: by the link's address
    Value<int> verbs_ack_timeout{-1};  // 4.096 us x 2^n until a packet is sent again; -1: from
                                       // timeout and verbs_retries
    Value<int> verbs_retries{7};       // of a packet that nobody acknowledges
    Value<int> verbs_rnr_timer{12};    // InfiniBand's code: how long a sender waits for a receiver
                                       // that was not ready; 12: 0.64 ms
    Value<int> verbs_rnr_retries{7};   // 7: without end
    Value<std::size_t> verbs_cache{std::size_t(1) << 30};  // registered memory of the program that
                                                           // is kept at most; 0: none
    // [routing]
    Value<Forward> forward{Forward::relay};
    // [progress]
    Value<ProgressMode> progress{ProgressMode::polling};
    Value<std::chrono::nanoseconds> spin{std::chrono::microseconds(20)};
    // [collectives]
    std::array<Value<FormTable>, std::tuple_size_v<FormTables>> forms = default_values();
    Value<bool> check_collectives{false};  // members compare what they call
    Value<bool> check_mpi{false};          // MPI_Finalize lists what is left behind
    // [launch]
    Value<Bind> bind{Bind::automatic};
    Value<std::string> agent{"ssh"};  // command line: AGENT HOST PROGRAM ARGUMENTS
    Value<LaunchThrough> through{LaunchThrough::network};
    // [watchdog] zero: off. After this long in one wait, the wait says what it waits for.
    Value<std::chrono::nanoseconds> watchdog{std::chrono::seconds(60)};

    // The pattern that made `hosts` ("qcd{0}{1}{2}"); empty: they were listed, or there are none.
    std::string hosts_pattern;
    std::string file;  // the geometry file that was read; empty: none

    // The torus of ranks: nodes x the block inside each node; where no dims are set, a balanced
    // torus of `ranks`. Throws ConfigError when the product is not `ranks`.
    routing::Torus rank_torus(int ranks) const;

    CollectivePolicy collective_policy() const;

    // The torus of nodes; nothing where no dims are set.
    std::optional<routing::Torus> node_torus() const;
    int ranks_on_a_node() const;  // the product of ranks_per_node
    // The node on which a rank lives, by its number in the torus of nodes (the index of its host
    // in `hosts`). Precondition: dims are set and `rank` is a rank of the torus.
    int node_of(routing::Rank rank) const;

    friend bool operator==(const Settings&, const Settings&) = default;

  private:
    static decltype(forms) default_values() {
        decltype(forms) values;
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i].value = default_forms(Collective(i));
        return values;
    }
};

}  // namespace torusmp::config
