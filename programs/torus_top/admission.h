// SPDX-License-Identifier: BSD-3-Clause
// Access control of torus-top's server, and the limit of its open event streams.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace torusmp::torus_top {

// Whether a Host header names this host on the loopback network: an address of 127.0.0.0/8, [::1],
// "localhost", or the address that the server is bound to; with any port, since a tunnel may use
// another one. A browser that follows another site's page sends that site's name here.
bool names_this_host(std::string_view host, std::string_view bound);

// Compares in constant time.
bool same_secret(std::string_view a, std::string_view b);

// 128 random bits in hexadecimal digits. Throws std::runtime_error.
std::string random_token();
// Returns the token in that file. Creates a missing file with a new token, readable by its owner
// only. Throws std::runtime_error if it cannot be read or created, others may read it, or it holds
// no valid token.
std::string token_in(const std::string& file);

// Counts the open event streams. The threads of the server share it, and it must outlive every
// ticket.
class Streams {
  public:
    static constexpr int most = 48, most_of_one_client = 16;

    // Counts as one stream while it exists.
    class Ticket {
      public:
        Ticket(Streams& streams, std::string client);
        Ticket(const Ticket&) = delete;
        Ticket& operator=(const Ticket&) = delete;
        ~Ticket();

      private:
        Streams& streams_;
        const std::string client_;
    };
    // Returns null if too many streams are open.
    std::shared_ptr<Ticket> open(const std::string& client);

  private:
    std::mutex mutex_;
    int all_ = 0;
    std::map<std::string, int> by_client_;
};

}  // namespace torusmp::torus_top
