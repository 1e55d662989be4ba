// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/file/access.h"

#include <cstring>
#include <utility>
#include <vector>

#include "io/access.h"
#include "mpi11/comm/agreement.h"
#include "mpi11/error/check.h"

namespace torusmp::mpi {
namespace {

void check_mode(const File& file, const FileArguments& arguments) {
    if (arguments.write && (file.amode & MPI_MODE_RDONLY) != 0)
        fail(MPI_ERR_READ_ONLY, "found {}, which was opened with MPI_MODE_RDONLY", file.comm->name);
    if (!arguments.write && (file.amode & MPI_MODE_WRONLY) != 0)
        fail(MPI_ERR_ACCESS, "found {}, which was opened with MPI_MODE_WRONLY", file.comm->name);
    const bool shared = arguments.where == Where::shared || arguments.where == Where::ordered;
    if ((file.amode & MPI_MODE_SEQUENTIAL) != 0 && !shared)
        fail(MPI_ERR_UNSUPPORTED_OPERATION,
             "found {}, which was opened with MPI_MODE_SEQUENTIAL: expected a call with the shared "
             "file pointer",
             file.comm->name);
    if (arguments.where == Where::at && arguments.offset < 0)
        fail(MPI_ERR_ARG, "found offset {}, expected 0 or more", arguments.offset);
}

// Where the call begins, in etypes, and moves the pointer that it goes by.
Offset place_alone(File& file, const FileArguments& arguments, Offset etypes) {
    switch (arguments.where) {
        case Where::at:
            return arguments.offset;
        case Where::pointer: {
            const SharedLock lock(file.mutex);
            return std::exchange(file.pointer, file.pointer + etypes);
        }
        case Where::shared:
        case Where::ordered:
            break;
    }
    return file.shared->add(etypes);
}

// The members' blocks lie one behind the other, in order, from the shared pointer on.
Offset place_in_order(File& file, const char* call, Offset etypes) {
    struct Word {
        Offset etypes, begin;
    };
    Communicator& comm = *file.comm;
    std::vector<Word> words(std::size_t(comm.size()));
    const auto me = std::size_t(comm.rank());
    words[me] = {etypes, me == 0 ? file.shared->get() : 0};
    gather_all(comm, words.data(), sizeof(Word), call);
    Offset mine = words[0].begin, end = mine;
    for (std::size_t rank = 0; rank < words.size(); ++rank) {
        if (rank == me) mine = end;
        end += words[rank].etypes;
    }
    if (me == 0) file.shared->set(end);
    return mine;
}

// Tiles that would overlap are not repeated.
void check_reach(const File& file, Offset position, std::size_t bytes) {
    const Offset end = file.view.bytes.end();
    if (bytes == 0 || Offset(bytes) <= end - position) return;
    fail(MPI_ERR_IO,
         "found {} bytes of data from byte {} of the view on, expected at most {} in all: repeated "
         "at its extent, the filetype {} overlaps itself",
         bytes, position, end, file.view.filetype->describe());
}

std::string action_of(bool write) {
    return write ? "write" : "read";
}

void set_count(MPI_Status* status, std::size_t bytes) {
    set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, bytes);
}

io::Outcome outcome_alone(File& file, bool write, Offset position, const core::Buffer& buffer) {
    if (buffer.bytes == 0) return {};
    const Deed deed(file, write);
    const io::View& view = file.view.bytes;
    const auto move = [&] {
        return write ? io::write(file.store(), view, position, buffer)
                     : io::read(file.store(), view, position, buffer, file.hints());
    };
    if (!file.atomic) [[likely]]
        return move();
    const Offset last = position + Offset(buffer.bytes) - 1;
    const io::RangeLock lock(file.locks(), view.offset_of(position), view.offset_of(last) + 1,
                             !write);
    return lock.error() != 0 ? io::Outcome{0, lock.error()} : move();
}

// An independent access. Returns the number of bytes moved.
std::size_t move_alone(File& file, bool write, Offset position, const core::Buffer& buffer) {
    check_reach(file, position, buffer.bytes);
    const io::Outcome outcome = outcome_alone(file, write, position, buffer);
    if (outcome.error != 0) fail_here(file, action_of(write), outcome.error);
    return outcome.bytes;
}

}  // namespace

// ---- memory ----

void FileMemory::take(const File& file, const FileArguments& arguments) {
    check_mode(file, arguments);
    check_count(arguments.count);
    Datatype& type = committed(arguments.datatype);
    check_buffer(arguments.buffer, arguments.count, type);
    count_ = std::size_t(arguments.count);
    write_ = arguments.write;
    address_ = const_cast<void*>(arguments.buffer);
    inside_ = buffer_of(arguments.buffer, count_, type, hold_);
    outside_ = inside_;
    const Representation& representation = *file.view.representation;
    size_in_file_ = file.view.plain ? type.size() : representation.size_of(type);
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(size_in_file_, count_, &bytes))
        wrong::beyond_memory(arguments.count, type);
    const std::size_t etypes = file.view.unit == 1 ? bytes : bytes / file.view.unit;
    if (etypes * file.view.unit != bytes)
        fail(MPI_ERR_TYPE,
             "found {} of {}, {} bytes in the file, expected whole etypes of {} bytes",
             arguments.count, type.describe(), bytes, file.view.unit);
    if (bytes != 0 && file.view.bytes.empty())
        fail(MPI_ERR_IO, "found {} bytes to move through a view without any", bytes);
    etypes_ = Offset(etypes);
    if (file.view.plain || bytes == 0) return;
    representation_ = &representation;
    type_.hold(type);
    converted_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    outside_ = {converted_.get(), bytes};
    if (write_) representation.write(inside_, address_, type, count_, converted_.get());
}

std::size_t FileMemory::finish(std::size_t bytes) {
    if (representation_ == nullptr) return bytes;
    const std::size_t whole = size_in_file_ == 0 ? 0 : bytes / size_in_file_;
    if (!write_ && whole != 0) {
        core::Buffer read = inside_;
        read.bytes = whole * type_->size();
        representation_->read(read, address_, *type_, whole, converted_.get());
    }
    return whole * type_->size();
}

void FileMemory::clear() {
    representation_ = nullptr;
    type_.reset();
    hold_.reset();
    converted_.reset();
    inside_ = outside_ = {};
    etypes_ = 0;
}

// ---- calls ----

FileCall& FileCall::take(File& file, const char* name) {
    std::unique_ptr<FileCall> call;
    {
        const SharedLock lock(file.mutex);
        if (!file.calls.empty()) {
            call = std::move(file.calls.back());
            file.calls.pop_back();
        }
    }
    if (call == nullptr) call = std::make_unique<FileCall>(file);
    call->hold_ = Reference<File>(file);
    call->name_ = name;
    call->refused_ = nullptr;
    call->bytes_ = 0;
    call->together_ = call->finished_ = false;
    return *call.release();
}

void FileCall::give_back() {
    memory_.clear();
    const Reference<File> hold = std::move(hold_);  // the last one ends the file, and this
    const SharedLock lock(file_.mutex);
    file_.calls.emplace_back(this);
}

void FileCall::do_alone(const FileArguments& arguments) {
    memory_.take(file_, arguments);
    const Offset begin = place_alone(file_, arguments, memory_.etypes());
    bytes_ = memory_.finish(
        move_alone(file_, arguments.write, file_.position_of(begin), memory_.buffer()));
    finished_ = true;
}

void FileCall::prepare(const FileArguments& arguments) {
    together_ = true;
    write_ = arguments.write;
    address_ = arguments.buffer;
    // Errors are thrown at the end, so that the other ranks receive them.
    const auto attempt = [&](auto&& step) {
        try {
            step();
        } catch (...) {
            refused_ = std::current_exception();
            memory_.clear();
        }
    };
    attempt([&] {
        memory_.take(file_, arguments);
        if (arguments.where != Where::ordered)
            position_ = file_.position_of(place_alone(file_, arguments, memory_.etypes()));
    });
    if (arguments.where == Where::ordered)
        position_ = file_.position_of(place_in_order(file_, name_, memory_.etypes()));
    attempt([&] { check_reach(file_, position_, memory_.buffer().bytes); });
}

void FileCall::start() {
    if (access_ == nullptr)
        access_ = std::make_unique<io::CollectiveAccess>(file_.comm->group(), file_.place);
    int error = 0;
    if (refused_ != nullptr) {
        try {
            std::rethrow_exception(refused_);
        } catch (const Failure& failure) {
            error = -class_of(failure.code());
        } catch (...) {
            error = -MPI_ERR_OTHER;
        }
    }
    if (file_.by_parts()) {
        // Then all agree on how it went.
        const io::Outcome own =
            error != 0 ? io::Outcome{} : outcome_alone(file_, write_, position_, memory_.buffer());
        moved_ = own.bytes;
        access_->start(
            {.write = write_, .error = error != 0 ? error : own.error, .view = {}, .buffer = {}});
        return;
    }
    deed_.emplace(file_, write_);
    moved_.reset();
    access_->start({.write = write_,
                    .error = error,
                    .atomic = file_.atomic,
                    .view = file_.view.bytes,
                    .position = position_,
                    .buffer = memory_.buffer()});
}

void FileCall::finish() {
    if (finished_) return;
    finished_ = true;
    deed_.reset();
    if (refused_ != nullptr) std::rethrow_exception(refused_);
    wait_for(*access_);
    const auto& result = access_->result();
    if (result.error != 0) {
        // Errors in the arguments are those of a member, other errors may be those of the keeper.
        const bool there = result.error < 0 || file_.residence.members[std::size_t(result.member)];
        throw Failure(
            class_of_errno(result.error),
            words_for(action_of(write_), file_.path,
                      there ? who_is(result.member, result.host) : file_.keeper, result.error));
    }
    bytes_ = memory_.finish(moved_.value_or(result.bytes));
}

void FileCall::report(MPI_Status* status) {
    finish();
    set_count(status, bytes_);
}

// ---- forms ----

namespace {

// A call that is given back unless a request takes it.
class Taken {
  public:
    Taken(File& file, const char* name) : call_(&FileCall::take(file, name)) {}
    ~Taken() {
        if (call_ != nullptr) call_->give_back();
    }
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;
    FileCall* operator->() const { return call_; }
    FileCall& done() { return *std::exchange(call_, nullptr); }

  private:
    FileCall* call_;
};

void await(FileCall& call) {
    if (call.complete()) return;
    const AwaitedWork awaited(call);
    runtime().wait_until([&] { return call.complete(); }, call.name(), &awaited);
}

}  // namespace

void refuse_second_half(const File& file) {
    if (file.split != nullptr)
        fail(MPI_ERR_OTHER, "found {}, on which {} has begun and not ended", file.comm->name,
             file.split->name());
}

void forget_second_half(File& file) {
    if (file.split == nullptr) return;
    await(*file.split);
    std::exchange(file.split, nullptr)->give_back();
}

void access_alone(File& file, const FileArguments& arguments, MPI_Status* status) {
    FileMemory memory;
    memory.take(file, arguments);
    const Offset begin = place_alone(file, arguments, memory.etypes());
    set_count(status, memory.finish(move_alone(file, arguments.write, file.position_of(begin),
                                               memory.buffer())));
}

void access_together(File& file, const FileArguments& arguments, MPI_Status* status) {
    refuse_second_half(file);
    Taken call(file, arguments.call);
    call->prepare(arguments);
    call->start();
    await(*call.operator->());
    call->finish();
    set_count(status, call->bytes());
}

void access_alone_later(File& file, const FileArguments& arguments, MPI_Request* request) {
    check_output("request", request);
    Taken call(file, arguments.call);
    call->do_alone(arguments);
    *request = handle_of(make_request(call.done(), *file.comm, false));
}

void access_together_later(File& file, const FileArguments& arguments, MPI_Request* request) {
    check_output("request", request);
    refuse_second_half(file);
    Taken call(file, arguments.call);
    call->prepare(arguments);
    call->start();
    *request = handle_of(make_request(call.done(), *file.comm, false));
}

void begin_together(File& file, const FileArguments& arguments) {
    refuse_second_half(file);
    Taken call(file, arguments.call);
    call->prepare(arguments);
    call->start();
    file.split = &call.done();
}

void end_together(File& file, const char* call, const void* buffer, MPI_Status* status) {
    FileCall* const begun = file.split;
    const std::string_view wanted(call, std::strlen(call) - std::strlen("end"));
    if (begun == nullptr || !std::string_view(begun->name()).starts_with(wanted))
        fail(MPI_ERR_OTHER, "found {}, on which {} has begun", file.comm->name,
             begun == nullptr ? "nothing" : begun->name());
    if (begun->address() != buffer)
        fail(MPI_ERR_BUFFER, "found another buffer than the one passed to {}", begun->name());
    await(*begun);
    file.split = nullptr;
    struct Return {
        FileCall& call;
        ~Return() { call.give_back(); }
    } const back{*begun};
    begun->finish();
    set_count(status, begun->bytes());
}

}  // namespace torusmp::mpi
