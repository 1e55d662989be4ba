// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/pt2pt/request.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "mpi11/ft/failures.h"
#include "mpi11/pt2pt/buffered.h"

namespace torusmp::mpi {

// Requests are constructed once and reused, like core's requests inside them.
class Request::Pool {
  public:
    static Pool& only() {
        static Pool* const pool = std::make_unique<Pool>().release();
        return *pool;
    }
    // Calls keep(request) for this many requests.
    template <class Keep>
    void take(int count, Keep&& keep) {
        const SharedLock lock(mutex_);
        for (; count > 0; --count) {
            if (free_ == nullptr) grow();
            keep(pop());
        }
    }
    // Gives back this many requests returned by next().
    template <class Next>
    void give(int count, Next&& next) {
        const SharedLock lock(mutex_);
        for (; count > 0; --count) push(next());
    }
    void for_each(const std::function<void(Request&)>& visit) {
        const SharedLock lock(mutex_);
        for (Request* const chunk : chunks_)
            for (std::size_t i = 0; i < chunk_size; ++i)
                if (chunk[i].kind == Kind::request) visit(chunk[i]);
    }

  private:
    static constexpr std::size_t chunk_size = 64;
    static_assert(alignof(Request) % ObjectMemory::alignment == 0);
    void grow() {
        auto* const chunk =
            reinterpret_cast<Request*>(ObjectMemory::take(chunk_size * sizeof(Request)));
        chunks_.push_back(chunk);
        for (std::size_t i = chunk_size; i-- > 0;) push(*::new (chunk + i) Request);
    }

    std::mutex mutex_;
    std::vector<Request*> chunks_;
};

// If several threads call, each keeps some free requests for itself: otherwise all their messages
// would contend for the pool, twice each.
class Request::Kept {
  public:
    ~Kept() { give_back(count_); }
    Request& take() {
        if (first_ == nullptr)
            Pool::only().take(at_once, [this](Request& request) { push(request); });
        return pop();
    }
    void give(Request& request) {
        request.kind = Kind::dead;
        push(request);
        if (count_ > most) give_back(at_once);
    }

  private:
    static constexpr int at_once = 64;
    static constexpr int most = 256;

    Request& pop() {
        --count_;
        return *std::exchange(first_, first_->next_free_);
    }
    void push(Request& request) {
        ++count_;
        request.next_free_ = std::exchange(first_, &request);
    }
    void give_back(int count) {
        Pool::only().give(count, [this]() -> Request& { return pop(); });
    }

    Request* first_ = nullptr;
    int count_ = 0;
};

// The cache of the calling thread; with a single thread the pool's own list is as good.
Request::Kept& Request::kept() {
    thread_local Kept kept;
    return kept;
}

Request& Request::take_slowly() {
    if (shared_by_threads) return kept().take();
    Request* taken = nullptr;
    Pool::only().take(1, [&](Request& request) { taken = &request; });
    return *taken;
}

void Request::give_slowly(Request& request) {
    if (shared_by_threads) return kept().give(request);
    push(request);
}

void Request::give(Request& request) {
    request.comm.reset();
    request.receive.set_pends(true);
    if (request.layout) request.layout.reset();
    if (request.second_layout) request.second_layout.reset();
    if (request.copy) request.copy.reset();
    if (request.work != nullptr) std::exchange(request.work, nullptr)->give_back();
    give_slowly(request);
}

void Request::for_each(const std::function<void(Request&)>& visit) {
    Pool::only().for_each(visit);
}

void Work::cancel() {
    fail(MPI_ERR_REQUEST, "found a request of {}, which cannot be cancelled", name());
}

bool Work::abandon(Request&) {
    return false;
}

Request& make_request(Work& work, Communicator& comm, bool persistent) {
    Request& request = Request::take(Request::What::work, work.name(), comm);
    request.work = &work;
    request.persistent = persistent;
    request.active = !persistent;
    return request;
}

void start(Request& request) {
    request.active = true;
    if (request.what == Request::What::work) return request.work->start();
    if (request.peer == MPI_PROC_NULL) return;
    Communicator& comm = *request.comm;
    if (request.mode == Request::Mode::buffered)
        return send_buffered(request.buffer, comm, request.peer, request.tag);
    if (request.what == Request::What::send)
        return comm.runtime().send(
            request.send, request.buffer, comm.peer(request.peer), comm.context(), request.tag,
            request.mode == Request::Mode::synchronous ? core::SendMode::synchronous
                                                       : core::SendMode::standard);
    comm.runtime().receive(
        request.receive, request.buffer,
        request.peer == MPI_ANY_SOURCE ? core::any_source : comm.peer(request.peer), comm.context(),
        core_tag(request.tag));
}

namespace {

std::string words_for(const Communicator& comm, int rank) {
    return rank < 0 ? "a rank that is not a member"
                    : fmt::format("rank {} of {}", rank, comm.describe());
}

}  // namespace

void wrong::sent(const core::SendRequest& send, const Communicator& comm, int dest, int tag) {
    const core::Error error = send.status().error;
    // A revocation cancels messages, as programs do.
    if (error == core::Error::cancelled) return check_not_revoked(comm);
    fail(class_of_fault(error),
         "the send of {} bytes with tag {} to {} failed: {}", send.bytes(), tag,
         words_for(comm, dest), comm.runtime().state().why_failed(error, send.peer()));
}

void wrong::received(const core::ReceiveRequest& receive, const Communicator& comm) {
    const core::Status& status = receive.status();
    if (status.error == core::Error::cancelled) return check_not_revoked(comm);
    if (status.error == core::Error::truncated)
        fail(MPI_ERR_TRUNCATE, "{} sent {} bytes with tag {}, the receive has room for {}",
             words_for(comm, comm.rank_of(status.source)), status.bytes, status.tag,
             receive.bytes());
    const Rank peer = receive.peer() == core::any_source ? status.source : receive.peer();
    fail(class_of_fault(status.error),
         "the receive from {} failed: {}",
         peer == core::any_source ? "any source" : words_for(comm, comm.rank_of(peer)),
         comm.runtime().state().why_failed(status.error, peer));
}

void wrong::check_elements(const core::ReceiveRequest& receive, const Communicator& comm,
                           const ElementLayout& layout) {
    const core::Status& status = receive.status();
    if (status.error != core::Error::none || layout.signature().elements_in(status.bytes)) return;
    fail(MPI_ERR_TYPE,
         "{} sent {} bytes with tag {}, which end inside a basic element of the receive's datatype "
         "(of {} bytes): the types of the send and the receive must match",
         words_for(comm, comm.rank_of(status.source)), status.bytes, status.tag, layout.size());
}

void set_received_slowly(MPI_Status* status, const core::ReceiveRequest& receive,
                         const Communicator& comm) {
    const core::Status& got = receive.status();
    if (got.error == core::Error::cancelled) {
        set_empty(status);
        set_cancelled(*status, true);
    } else if (got.source == core::any_source) {
        set_empty(status);
    } else {
        set_status(status, comm.rank_of(got.source), got.tag, std::min(got.bytes, receive.bytes()));
    }
}

namespace {

// Throws the error of a complete request, if there is one.
void check(const Request& request) {
    const Communicator& comm = *request.comm;
    if (request.what == Request::What::receive && request.peer != MPI_PROC_NULL)
        check_received(request.receive, comm, request.layout);
    if (request.what == Request::What::send || request.sends_too)
        check_sent(request.send, comm, comm.rank_of(request.send.peer()), request.tag);
    if (request.what == Request::What::work) request.work->finish();
}

// Ends a request, or makes it inactive, on any exit from the scope.
class Ending {
  public:
    Ending(Request& request, MPI_Request& handle) : request_(request), handle_(handle) {}
    ~Ending() {
        if (request_.persistent) {
            request_.active = false;
        } else {
            Request::give(request_);
            handle_ = MPI_REQUEST_NULL;
        }
    }
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;

  private:
    Request& request_;
    MPI_Request& handle_;
};

// Requests that were freed before they were complete.
class Orphans {
  public:
    static Orphans& only() {
        static Orphans* const orphans = std::make_unique<Orphans>().release();
        return *orphans;
    }
    void add(Request& request) {
        const SharedLock lock(mutex_);
        requests_.push_back(&request);
        sweep();
    }
    bool done(const Communicator& comm) {
        const SharedLock lock(mutex_);
        sweep();
        return std::none_of(requests_.begin(), requests_.end(),
                            [&](const Request* request) { return request->comm.get() == &comm; });
    }
    void finish() {
        for (Request* const request : requests_)
            runtime().wait_until([&] { return request->complete(); }, "MPI_Finalize");
        sweep();
    }

  private:
    void sweep() {
        std::erase_if(requests_, [](Request* request) {
            if (!request->complete()) return false;
            Request::give(*request);
            return true;
        });
    }
    std::mutex mutex_;
    std::vector<Request*> requests_;
};

}  // namespace

void AwaitedRequests::list(List& list) const {
    list.any = any_;
    for (const MPI_Request handle : handles_) {
        const Request* const request = find<Request>(handle);
        if (request == nullptr || !request->active || request->complete()) continue;
        if (request->what == Request::What::work)
            request->work->list(list);
        else if (!request->receive.complete())
            list.ids.push_back(static_cast<const core::Request*>(&request->receive));
        if (!request->send.complete())
            list.ids.push_back(static_cast<const core::Request*>(&request->send));
    }
}

void set_known(const Request& request, MPI_Status* status) {
    if (request.is_receive && request.peer == MPI_PROC_NULL) return set_proc_null(status);
    if (request.what == Request::What::receive)
        return set_received(status, request.receive, *request.comm);
    if (request.what == Request::What::work) return request.work->report(status);
    set_empty(status);
    if (request.what == Request::What::send && status != MPI_STATUS_IGNORE)
        set_cancelled(*status, request.send.status().error == core::Error::cancelled);
}

void finish(Request& request, MPI_Request& handle, MPI_Status* status) {
    if (!request.active) return set_empty(status);
    if (request.what == Request::What::receive && request.receive.pending()) [[unlikely]] {
        set_empty(status);
        check_any_source(*request.comm);
        fail(MPI_ERR_PROC_FAILED_PENDING, "a message from any source may not arrive");
    }
    const Ending ending(request, handle);
    try {
        set_known(request, status);
    } catch (const Failure&) {
        check(request);  // the last failure is the one reported
        throw;
    }
    check(request);
}

void abandon(Request& request) {
    if (request.what == Request::What::work && request.work->abandon(request)) return;
    if (request.what == Request::What::receive) {
        request.receive.set_pends(false);
        if (request.receive.pending()) request.comm->runtime().cancel(request.receive);
    }
    if (!request.active || request.complete()) return Request::give(request);
    request.persistent = false;
    Orphans::only().add(request);
}

bool orphans_done(const Communicator& comm) {
    return Orphans::only().done(comm);
}

namespace {

class IdleRequests final : public core::Reporter {
  public:
    // With several threads, requests are not reported: other threads may change them.
    void report(core::Waits& waits) const override {
        if (shared_by_threads) return;
        Request::for_each([&](const Request& request) {
            if (request.active || request.peer == MPI_PROC_NULL) return;
            if (request.what != Request::What::send && request.what != Request::What::receive)
                return;
            const bool any = request.peer == MPI_ANY_SOURCE;
            waits.add(core::Waits::Operation{
                .kind = request.is_receive ? core::Waits::Operation::Kind::idle_receive
                                           : core::Waits::Operation::Kind::idle_send,
                .peer = any ? core::any_source : request.comm->peer(request.peer),
                .context = request.comm->context(),
                .tag = core_tag(request.tag),
                .bytes = request.buffer.bytes});
        });
    }
};
const IdleRequests idle_requests;

}  // namespace

void begin_reports() {
    runtime().add_reporter(idle_requests);
}

void end_reports() {
    runtime().remove_reporter(idle_requests);
}

void finish_orphans() {
    Request::for_each([](Request& request) {
        if (request.what == Request::What::receive && request.active &&
            (request.receive.pending() || !request.complete()))
            request.comm->runtime().cancel(request.receive);
    });
    Orphans::only().finish();
}

void run(Work& work) {
    struct Return {
        Work& work;
        ~Return() { work.give_back(); }
    } const back{work};
    work.start();
    if (!work.complete()) {
        const AwaitedWork awaited(work);
        runtime().wait_until([&] { return work.complete(); }, work.name(), &awaited);
    }
    work.finish();
}

}  // namespace torusmp::mpi
