// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/error/error_codes.h"

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "mpi11/object.h"

namespace torusmp::mpi {
namespace {

struct Class {
    int value;
    std::string_view name;
    std::string_view text;
};

constexpr Class classes[] = {
    {MPI_SUCCESS, "MPI_SUCCESS", "no error"},
    {MPI_ERR_BUFFER, "MPI_ERR_BUFFER", "invalid buffer"},
    {MPI_ERR_COUNT, "MPI_ERR_COUNT", "invalid count"},
    {MPI_ERR_TYPE, "MPI_ERR_TYPE", "invalid datatype"},
    {MPI_ERR_TAG, "MPI_ERR_TAG", "invalid tag"},
    {MPI_ERR_COMM, "MPI_ERR_COMM", "invalid communicator"},
    {MPI_ERR_RANK, "MPI_ERR_RANK", "invalid rank"},
    {MPI_ERR_REQUEST, "MPI_ERR_REQUEST", "invalid request"},
    {MPI_ERR_ROOT, "MPI_ERR_ROOT", "invalid root"},
    {MPI_ERR_GROUP, "MPI_ERR_GROUP", "invalid group"},
    {MPI_ERR_OP, "MPI_ERR_OP", "invalid operation"},
    {MPI_ERR_TOPOLOGY, "MPI_ERR_TOPOLOGY", "invalid topology"},
    {MPI_ERR_DIMS, "MPI_ERR_DIMS", "invalid dimensions"},
    {MPI_ERR_ARG, "MPI_ERR_ARG", "invalid argument"},
    {MPI_ERR_UNKNOWN, "MPI_ERR_UNKNOWN", "unknown error"},
    {MPI_ERR_TRUNCATE, "MPI_ERR_TRUNCATE", "message longer than the receive buffer"},
    {MPI_ERR_OTHER, "MPI_ERR_OTHER", "error of another kind"},
    {MPI_ERR_INTERN, "MPI_ERR_INTERN", "internal error of the library"},
    {MPI_ERR_PENDING, "MPI_ERR_PENDING", "neither failed nor complete yet"},
    {MPI_ERR_IN_STATUS, "MPI_ERR_IN_STATUS", "the error is in the status"},
    {MPI_ERR_BASE, "MPI_ERR_BASE", "invalid base address"},
    {MPI_ERR_INFO_KEY, "MPI_ERR_INFO_KEY", "key of an info too long"},
    {MPI_ERR_INFO_NOKEY, "MPI_ERR_INFO_NOKEY", "no such key in the info"},
    {MPI_ERR_INFO_VALUE, "MPI_ERR_INFO_VALUE", "value of an info too long"},
    {MPI_ERR_INFO, "MPI_ERR_INFO", "invalid info"},
    {MPI_ERR_KEYVAL, "MPI_ERR_KEYVAL", "invalid attribute key"},
    {MPI_ERR_NO_MEM, "MPI_ERR_NO_MEM", "out of memory"},
    {MPI_ERR_SIZE, "MPI_ERR_SIZE", "invalid size"},
    {MPI_ERR_UNSUPPORTED_OPERATION, "MPI_ERR_UNSUPPORTED_OPERATION", "operation not supported"},
    {MPI_ERR_PROC_ABORTED, "MPI_ERR_PROC_ABORTED", "a required process has ended"},
    {MPI_ERR_PROC_FAILED, "MPI_ERR_PROC_FAILED", "a required process has died"},
    {MPI_ERR_PROC_FAILED_PENDING, "MPI_ERR_PROC_FAILED_PENDING",
     "a process that may have sent the message has died; the receive stays pending"},
    {MPI_ERR_REVOKED, "MPI_ERR_REVOKED", "the communicator is revoked"},
    {MPI_ERR_VALUE_TOO_LARGE, "MPI_ERR_VALUE_TOO_LARGE", "value too large for its type"},
    {MPI_ERR_SESSION, "MPI_ERR_SESSION", "invalid session"},
    {MPI_ERR_ERRHANDLER, "MPI_ERR_ERRHANDLER", "invalid error handler"},
    {MPI_ERR_ABI, "MPI_ERR_ABI", "mismatch of the binary interface"},
    {MPI_ERR_ACCESS, "MPI_ERR_ACCESS", "permission denied"},
    {MPI_ERR_AMODE, "MPI_ERR_AMODE", "invalid mode of opening a file"},
    {MPI_ERR_BAD_FILE, "MPI_ERR_BAD_FILE", "invalid name of a file"},
    {MPI_ERR_CONVERSION, "MPI_ERR_CONVERSION", "conversion of data failed"},
    {MPI_ERR_DUP_DATAREP, "MPI_ERR_DUP_DATAREP", "data representation exists already"},
    {MPI_ERR_FILE_EXISTS, "MPI_ERR_FILE_EXISTS", "file exists already"},
    {MPI_ERR_FILE_IN_USE, "MPI_ERR_FILE_IN_USE", "file in use"},
    {MPI_ERR_FILE, "MPI_ERR_FILE", "invalid file handle"},
    {MPI_ERR_IO, "MPI_ERR_IO", "input or output failed"},
    {MPI_ERR_NOT_SAME, "MPI_ERR_NOT_SAME", "arguments of the processes differ"},
    {MPI_ERR_NO_SPACE, "MPI_ERR_NO_SPACE", "no space left on the device"},
    {MPI_ERR_NO_SUCH_FILE, "MPI_ERR_NO_SUCH_FILE", "no such file"},
    {MPI_ERR_QUOTA, "MPI_ERR_QUOTA", "quota exceeded"},
    {MPI_ERR_READ_ONLY, "MPI_ERR_READ_ONLY", "file or file system is read-only"},
    {MPI_ERR_UNSUPPORTED_DATAREP, "MPI_ERR_UNSUPPORTED_DATAREP", "unknown data representation"},
    {MPI_ERR_WIN, "MPI_ERR_WIN", "invalid window"},
    {MPI_ERR_DISP, "MPI_ERR_DISP", "invalid displacement"},
    {MPI_ERR_LOCKTYPE, "MPI_ERR_LOCKTYPE", "invalid lock type"},
    {MPI_ERR_ASSERT, "MPI_ERR_ASSERT", "invalid assertion"},
    {MPI_ERR_RMA_ATTACH, "MPI_ERR_RMA_ATTACH", "memory cannot be attached"},
    {MPI_ERR_RMA_CONFLICT, "MPI_ERR_RMA_CONFLICT", "conflicting accesses to a window"},
    {MPI_ERR_RMA_RANGE, "MPI_ERR_RMA_RANGE", "memory outside of the window"},
    {MPI_ERR_RMA_SHARED, "MPI_ERR_RMA_SHARED", "memory cannot be shared"},
    {MPI_ERR_RMA_SYNC, "MPI_ERR_RMA_SYNC", "wrong synchronization of a window"},
    {MPI_ERR_RMA_FLAVOR, "MPI_ERR_RMA_FLAVOR", "window made by another call"},
    {MPI_ERR_SPAWN, "MPI_ERR_SPAWN", "processes cannot be started"},
    {MPI_ERR_PORT, "MPI_ERR_PORT", "invalid port"},
    {MPI_ERR_SERVICE, "MPI_ERR_SERVICE", "invalid name of a service to publish or unpublish"},
    {MPI_ERR_NAME, "MPI_ERR_NAME", "no service of this name"},
    {MPI_ERR_LASTCODE, "MPI_ERR_LASTCODE", "last of the standard's error codes"},
};

const Class* find_class(int code) {
    for (const Class& known : classes)
        if (known.value == code) return &known;
    return nullptr;
}

// The classes and codes that the program has added, in order.
class Added {
  public:
    int add(int error_class) {
        const std::lock_guard lock(mutex_);
        const int code = number_of(entries_.size());
        entries_.push_back({error_class < 0 ? code : error_class, {}});
        return code;
    }
    int class_of(int code) {
        const std::lock_guard lock(mutex_);
        const Entry* const entry = find(code);
        return entry == nullptr ? -1 : entry->error_class;
    }
    std::string text_of(int code) {
        const std::lock_guard lock(mutex_);
        const Entry* const entry = find(code);
        return entry == nullptr ? std::string() : entry->text;
    }
    bool set_text(int code, std::string text) {
        const std::lock_guard lock(mutex_);
        Entry* const entry = find(code);
        if (entry == nullptr) return false;
        entry->text = std::move(text);
        return true;
    }
    bool has(int code, bool as_class) {
        const std::lock_guard lock(mutex_);
        const Entry* const entry = find(code);
        return entry != nullptr && (entry->error_class == code) == as_class;
    }
    bool has_codes(int error_class) {
        const std::lock_guard lock(mutex_);
        for (std::size_t i = 0; i < entries_.size(); ++i)
            if (entries_[i].error_class == error_class && number_of(i) != error_class) return true;
        return false;
    }
    void remove(int code) {
        const std::lock_guard lock(mutex_);
        *find(code) = {removed, {}};
    }
    int last() {
        const std::lock_guard lock(mutex_);
        return MPI_ERR_LASTCODE + int(entries_.size());
    }

  private:
    struct Entry {
        int error_class;
        std::string text;
    };
    static constexpr int removed = -1;
    static int number_of(std::size_t index) { return MPI_ERR_LASTCODE + 1 + int(index); }
    Entry* find(int code) {
        const long index = long(code) - MPI_ERR_LASTCODE - 1;
        if (index < 0 || index >= long(entries_.size())) return nullptr;
        Entry& entry = entries_[std::size_t(index)];
        return entry.error_class == removed ? nullptr : &entry;
    }
    std::mutex mutex_;
    std::vector<Entry> entries_;
};

Added& added() {
    static Added* const only = std::make_unique<Added>().release();
    return *only;
}

}  // namespace

int class_of(int code) {
    return find_class(code) != nullptr ? code : added().class_of(code);
}

std::string text_of(int code) {
    if (const Class* const known = find_class(code))
        return fmt::format("{}: {}", known->name, known->text);
    return added().text_of(code);
}

std::string_view name_of_class(int error_class) {
    const Class* const known = find_class(error_class);
    return known == nullptr ? std::string_view() : known->name;
}

int add_class() {
    return added().add(-1);
}
int add_code(int error_class) {
    return added().add(error_class);
}
bool set_text(int code, std::string text) {
    return added().set_text(code, std::move(text));
}
bool is_added_class(int error_class) {
    return added().has(error_class, true);
}
bool is_added_code(int code) {
    return added().has(code, false);
}
bool has_codes(int error_class) {
    return added().has_codes(error_class);
}
void remove_code(int code) {
    added().remove(code);
}
int last_used_code() {
    return added().last();
}

}  // namespace torusmp::mpi
