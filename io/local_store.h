// SPDX-License-Identifier: BSD-3-Clause
// A file that this host can reach, accessed through a descriptor of the process.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>

#include "io/ring.h"
#include "io/store.h"

namespace torusmp::io {

class LocalStore final : public Store {
  public:
    // Opens the file with these flags of open(2) and the usual permissions. Returns null and sets
    // `error` to the errno value if that fails.
    static std::unique_ptr<LocalStore> open(const std::string& path, int flags, int& error);
    ~LocalStore() override;
    LocalStore(const LocalStore&) = delete;
    LocalStore& operator=(const LocalStore&) = delete;

    Outcome read(std::byte* memory, std::size_t bytes, Offset at) override;
    Outcome write(const std::byte* memory, std::size_t bytes, Offset at) override;
    void begin(Transfer& transfer) override;
    void take_ended(bool wait) override;
    Offset size() override;
    int resize(Offset size) override;
    int reserve(Offset size) override;
    int flush() override;
    int lock(Offset from, Offset bytes, bool shared) override;
    int unlock(Offset from, Offset bytes) override;

    // Gets the identity of the file (fstat). Returns an errno value.
    int describe(struct stat& facts) const;
    // Waits for the transfers and closes the file. Returns an errno value: network file systems
    // report failed writes here.
    int close();

  private:
    LocalStore(int descriptor, Offset limit) : descriptor_(descriptor), limit_(limit) {}

    int descriptor_;
    // The largest size of a file that the process may write (ulimit -f). Beyond it the kernel sends
    // SIGXFSZ, which ends programs that do not handle it.
    Offset limit_;
    std::optional<std::unique_ptr<Ring>> ring_;  // empty before the first transfer
};

}  // namespace torusmp::io
