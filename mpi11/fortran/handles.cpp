// SPDX-License-Identifier: BSD-3-Clause
// The table of handles held by Fortran, and the conversion functions for C programs.
#include "mpi11/fortran/handles.h"

#include <cstring>
#include <stdexcept>

namespace torusmp::mpi {
namespace {

// Numbers from `constants` up. Blocks are added and never moved, so that a number is looked up
// without a lock; the number released last is assigned first.
class Table {
  public:
    static Table& only() {
        static Table* const table = std::make_unique<Table>().release();
        return *table;
    }

    int enter(Object& object) {
        const SharedLock lock(mutex_);
        if (object.fortran != 0) return object.fortran;  // another thread was first
        if (free_.empty()) grow();
        const int number = free_.back();
        free_.pop_back();
        slot(number)->store(&object, std::memory_order_release);
        std::atomic_ref(object.fortran).store(number, std::memory_order_relaxed);
        return number;
    }
    void leave(int number) {
        const SharedLock lock(mutex_);
        slot(number)->store(nullptr, std::memory_order_relaxed);
        free_.push_back(number);
    }
    Object* find(int number) {
        std::atomic<Object*>* const found = slot(number);
        return found != nullptr ? found->load(std::memory_order_acquire) : nullptr;
    }

  private:
    static constexpr int block_size = 4096;
    static constexpr int most_blocks = 1 << 14;
    static_assert(constants == block_size, "block 0 would hold the constants");
    using Block = std::array<std::atomic<Object*>, block_size>;

    // Null if beyond the table.
    std::atomic<Object*>* slot(int number) {
        if (number < block_size || number >= most_blocks * block_size) return nullptr;
        Block* const block =
            blocks_[std::size_t(number / block_size)].load(std::memory_order_acquire);
        return block != nullptr ? &(*block)[std::size_t(number % block_size)] : nullptr;
    }
    void grow() {
        if (next_ == most_blocks) throw std::length_error("too many handles are held in Fortran");
        free_.reserve(std::size_t(next_) * block_size);  // so that releasing never allocates
        for (int i = block_size; i-- > 0;) free_.push_back(next_ * block_size + i);
        blocks_[std::size_t(next_++)].store(std::make_unique<Block>().release(),
                                            std::memory_order_release);
    }

    std::mutex mutex_;
    std::array<std::atomic<Block*>, most_blocks> blocks_{};  // of block 1 and up; never freed
    int next_ = 1;
    std::vector<int> free_;
};

}  // namespace

int fortran_number(Object& object) {
    return Table::only().enter(object);
}

Object* fortran_object(int number) {
    return Table::only().find(number);
}

void forget_fortran(int number) {
    Table::only().leave(number);
}

}  // namespace torusmp::mpi

using namespace torusmp::mpi;

// (None throws: if the compiler sees that, it requires the same of the second name.)
#define WEAK(name)                              \
    extern "C" decltype(PMPI_##name) MPI_##name \
        __attribute__((weak, nothrow, alias("PMPI_" #name)));
// Both pairs of names are equivalent: those of MPI-2, and those of the MPI 5.0 binary interface.
#define CONVERSIONS(name, Handle)                          \
    extern "C" MPI_Fint PMPI_##name##_c2f(Handle handle) { \
        return to_fortran(handle);                         \
    }                                                      \
    extern "C" Handle PMPI_##name##_f2c(MPI_Fint handle) { \
        return from_fortran<Handle>(handle);               \
    }                                                      \
    extern "C" int PMPI_##name##_toint(Handle handle) {    \
        return to_fortran(handle);                         \
    }                                                      \
    extern "C" Handle PMPI_##name##_fromint(int handle) {  \
        return from_fortran<Handle>(handle);               \
    }                                                      \
    WEAK(name##_c2f)                                       \
    WEAK(name##_f2c)                                       \
    WEAK(name##_toint)                                     \
    WEAK(name##_fromint)

CONVERSIONS(Comm, MPI_Comm)
CONVERSIONS(Type, MPI_Datatype)
CONVERSIONS(Group, MPI_Group)
CONVERSIONS(Request, MPI_Request)
CONVERSIONS(Op, MPI_Op)
CONVERSIONS(Info, MPI_Info)
CONVERSIONS(Errhandler, MPI_Errhandler)
CONVERSIONS(Message, MPI_Message)
CONVERSIONS(File, MPI_File)
CONVERSIONS(Session, MPI_Session)
CONVERSIONS(Win, MPI_Win)

// A status has the same layout in C and in both forms of Fortran.
#define STATUSES(name, From, To)                                  \
    extern "C" int PMPI_Status_##name(const From* from, To* to) { \
        if (from == nullptr || to == nullptr) return MPI_ERR_ARG; \
        std::memcpy(to, from, sizeof(MPI_Status));                \
        return MPI_SUCCESS;                                       \
    }                                                             \
    WEAK(Status_##name)

STATUSES(c2f, MPI_Status, MPI_Fint)
STATUSES(f2c, MPI_Fint, MPI_Status)
STATUSES(c2f08, MPI_Status, MPI_F08_status)
STATUSES(f082c, MPI_F08_status, MPI_Status)
STATUSES(f2f08, MPI_Fint, MPI_F08_status)
STATUSES(f082f, MPI_F08_status, MPI_Fint)
