// SPDX-License-Identifier: BSD-3-Clause
// MPI_Status and the contents of its reserved words: the bytes received and whether it was
// cancelled.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/request.h"
#include "mpi11/mpi.h"

namespace torusmp::mpi {

inline void set_bytes(MPI_Status& status, std::size_t bytes) {
    status.MPI_internal[0] = int(std::uint32_t(bytes));
    status.MPI_internal[1] = int(std::uint32_t(std::uint64_t(bytes) >> 32));
}
inline std::size_t bytes_of(const MPI_Status& status) {
    return std::size_t(std::uint32_t(status.MPI_internal[0])) |
           std::size_t(std::uint32_t(status.MPI_internal[1])) << 32;
}
inline void set_cancelled(MPI_Status& status, bool cancelled) {
    status.MPI_internal[2] = cancelled ? 1 : 0;
}
inline bool cancelled(const MPI_Status& status) {
    return status.MPI_internal[2] != 0;
}

// Everything except MPI_ERROR, which only calls on several requests set.
inline void set_status(MPI_Status* status, int source, int tag, std::size_t bytes,
                       bool was_cancelled = false) {
    if (status == MPI_STATUS_IGNORE) return;
    status->MPI_SOURCE = source;
    status->MPI_TAG = tag;
    set_bytes(*status, bytes);
    set_cancelled(*status, was_cancelled);
}
// The status of a null or inactive request (MPI-1.1, section 3.7.3).
inline void set_empty(MPI_Status* status) {
    set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = MPI_SUCCESS;
}
// The status of a receive from MPI_PROC_NULL (section 3.11).
inline void set_proc_null(MPI_Status* status) {
    set_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
}

inline core::Tag core_tag(int tag) {
    return tag == MPI_ANY_TAG ? core::any_tag : tag;
}

}  // namespace torusmp::mpi
