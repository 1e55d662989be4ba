// SPDX-License-Identifier: BSD-3-Clause
// Calls that read or write a file: where, what memory, by itself or all together, waiting or not.
#pragma once

#include <exception>
#include <memory>
#include <optional>

#include "mpi11/file/file.h"
#include "mpi11/pt2pt/request.h"

namespace torusmp::mpi {

// Where a call begins.
enum class Where { at, pointer, shared, ordered };

// The arguments of a function of the API.
struct FileArguments {
    const char* call;
    bool write;
    Where where;
    Offset offset;  // in etypes; of Where::at
    const void* buffer;
    MPI_Count count;
    MPI_Datatype datatype;
};

// The memory of a call, as the program has it and as the file has it.
class FileMemory {
  public:
    // Checks the arguments; throws Failure. Precondition: new, or clear().
    void take(const File& file, const FileArguments& arguments);
    // In etypes of the view.
    Offset etypes() const { return etypes_; }
    // The bytes that move to, or from, the file.
    const core::Buffer& buffer() const { return outside_; }
    // Called after a call that moved so many bytes of the file. Converts what was read, and returns
    // the bytes in memory.
    std::size_t finish(std::size_t bytes);
    void clear();

  private:
    bool write_ = false;
    const Representation* representation_ = nullptr;  // null if nothing is converted
    Reference<Datatype> type_;
    void* address_ = nullptr;
    std::size_t count_ = 0;
    std::size_t size_in_file_ = 0;  // of one element
    Offset etypes_ = 0;
    LayoutHold hold_;
    core::Buffer inside_, outside_;
    std::unique_ptr<std::byte[]> converted_;
};

// A call that is not complete when its function returns: a nonblocking, collective or split call.
class FileCall final : public Work {
  public:
    explicit FileCall(File& file) : file_(file) {}
    ~FileCall() = default;

    // A free one; it keeps the file until it is given back.
    static FileCall& take(File& file, const char* name);
    // Accesses the file immediately, for this process alone. Throws Failure for wrong arguments.
    void do_alone(const FileArguments& arguments);
    // Prepares a call of all members, which is then started. Mistakes in the arguments of this
    // process are thrown at the end.
    void prepare(const FileArguments& arguments);
    // The bytes for the status, after finish().
    std::size_t bytes() const { return bytes_; }
    const void* address() const { return address_; }

    void start() override;
    bool complete() const override { return access_ == nullptr || access_->complete(); }
    void finish() override;
    void report(MPI_Status* status) override;
    void give_back() override;
    const char* name() const override { return name_; }
    const core::Task* task() const override { return together_ ? access_.get() : nullptr; }

  private:
    File& file_;
    Reference<File> hold_;
    const char* name_ = "";
    const void* address_ = nullptr;
    bool write_ = false, together_ = false, finished_ = false;
    FileMemory memory_;
    Offset position_ = 0;
    std::size_t bytes_ = 0;
    std::optional<std::size_t> moved_;  // by this process alone, before all agree
    std::optional<Deed> deed_;          // of a collective call
    std::exception_ptr refused_;
    std::unique_ptr<io::CollectiveAccess> access_;
};

// ---- the forms of a function ----

// Throws Failure if a split collective call has begun on the file.
void refuse_second_half(const File& file);
// Ends such a call, which the revocation of the file has ended.
void forget_second_half(File& file);

void access_alone(File& file, const FileArguments& arguments, MPI_Status* status);
void access_together(File& file, const FileArguments& arguments, MPI_Status* status);
void access_alone_later(File& file, const FileArguments& arguments, MPI_Request* request);
void access_together_later(File& file, const FileArguments& arguments, MPI_Request* request);
void begin_together(File& file, const FileArguments& arguments);
void end_together(File& file, const char* call, const void* buffer, MPI_Status* status);

}  // namespace torusmp::mpi
