// SPDX-License-Identifier: BSD-3-Clause
// A file that this host has, through a descriptor of the process.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>

#include "io/store.h"

namespace torusmp::io {

class LocalStore final : public Store {
  public:
    // open(2) with these flags and the usual permissions. Null: `error` is the errno value.
    static std::unique_ptr<LocalStore> open(const std::string& path, int flags, int& error);
    ~LocalStore() override;
    LocalStore(const LocalStore&) = delete;
    LocalStore& operator=(const LocalStore&) = delete;

    Outcome read(std::byte* memory, std::size_t bytes, Offset at) override;
    Outcome write(const std::byte* memory, std::size_t bytes, Offset at) override;
    Offset size() override;
    int resize(Offset size) override;
    int reserve(Offset size) override;
    int flush() override;
    int lock(Offset from, Offset bytes, bool shared) override;
    int unlock(Offset from, Offset bytes) override;

    // Which file of which file system it is; an errno value.
    int describe(struct stat& facts) const;
    // Closes it before the destructor would; an errno value, which network file systems use to
    // report writes that failed.
    int close();

  private:
    LocalStore(int descriptor, Offset limit) : descriptor_(descriptor), limit_(limit) {}

    int descriptor_;
    // The largest size that the process may make (ulimit -f). Beyond it the kernel would send
    // SIGXFSZ, which ends programs that do not expect it.
    Offset limit_;
};

}  // namespace torusmp::io
