// Collectives of a group that spans hosts with several members each: the members of a host combine,
// or hand out, through shared memory, and one of them speaks for all over the wires.
//
// Internal to broadcast, reduce and allreduce: each keeps one of these and lets it advance.
#pragma once

#include "collectives/allreduce.h"
#include "collectives/broadcast.h"
#include "collectives/reduce.h"
#include "collectives/sequence.h"

namespace torusmp::collectives {

class Hosted final : public Sequence {
  public:
    explicit Hosted(Group& group, Hosts& hosts);
    ~Hosted() = default;

    // As the same calls of the collectives; to be advanced by the caller until it has finished.
    void prepare_broadcast(void* buffer, std::size_t bytes, int root, BroadcastForm form);
    void prepare_reduce(void* result, const void* values, std::size_t count,
                        const Operation& operation, int root, RootedForm form);
    void prepare_allreduce(void* buffer, std::size_t count, const Operation& operation,
                           ReduceForm form);

  private:
    enum class What { broadcast, reduce, allreduce };
    void prepare(What what, std::string_view name);
    bool move() override;
    Schedule* start_part(int number) override;
    Schedule* part_of_broadcast(int number);
    Schedule* part_of_reduce(int number);
    Schedule* part_of_allreduce(int number);

    What what_ = What::broadcast;
    Hosts& hosts_;
    Broadcast local_broadcast_;
    Reduce local_reduce_;
    std::optional<Broadcast> leaders_broadcast_;
    std::optional<Reduce> leaders_reduce_;
    std::optional<Allreduce> leaders_allreduce_;

    std::byte* buffer_ = nullptr;
    const void* values_ = nullptr;
    std::size_t count_ = 0;
    Operation operation_{};
    int root_ = 0;
    BroadcastForm broadcast_form_ = BroadcastForm::automatic;
    RootedForm reduce_form_ = RootedForm::automatic;
    ReduceForm allreduce_form_ = ReduceForm::automatic;
    Scratch sum_;  // of the host, where the result is not wanted here
};

}  // namespace torusmp::collectives
