/* SPDX-License-Identifier: BSD-3-Clause */
/* Inter-communicators, in cases. */
#include "talk.h"

/* The same between the two groups of an inter-communicator. */
static void talk_across(MPI_Comm inter) {
    int n, i, r = rank_in(inter), local = size_of(inter);
    CHECK(MPI_Comm_remote_size(inter, &n) == MPI_SUCCESS);
    for (i = 0; i < n; i++) {
        MPI_Request sent;
        int out = 1000 * r + i, in = -1;
        CHECK(MPI_Isend(&out, 1, MPI_INT, i, 6, inter, &sent) == MPI_SUCCESS);
        CHECK(MPI_Recv(&in, 1, MPI_INT, i, 6, inter, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(in == 1000 * i + r);
        CHECK(MPI_Wait(&sent, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    CHECK(r < local);
}

/* The lower ranks and the higher ones; on two processes and more. */
static MPI_Comm halves(MPI_Comm* half) {
    MPI_Comm inter;
    const int high = me >= ranks / 2;
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, high, me, half) == MPI_SUCCESS);
    CHECK(MPI_Intercomm_create(*half, 0, MPI_COMM_WORLD, high ? 0 : ranks / 2, 17, &inter) ==
          MPI_SUCCESS);
    return inter;
}

static void inter(void) {
    MPI_Comm half, both, copy, merged, part;
    MPI_Request request;
    MPI_Group remote;
    int flag, result, n, i;
    if (ranks < 2) return;
    both = halves(&half);
    CHECK(MPI_Comm_test_inter(both, &flag) == MPI_SUCCESS && flag);
    CHECK(MPI_Comm_test_inter(half, &flag) == MPI_SUCCESS && !flag);
    CHECK(size_of(both) == size_of(half) && rank_in(both) == rank_in(half));
    CHECK(MPI_Comm_remote_size(both, &n) == MPI_SUCCESS && n == ranks - size_of(half));
    CHECK(MPI_Comm_remote_group(both, &remote) == MPI_SUCCESS);
    CHECK(MPI_Group_size(remote, &i) == MPI_SUCCESS && i == n);
    CHECK(MPI_Group_rank(remote, &i) == MPI_SUCCESS && i == MPI_UNDEFINED);
    CHECK(MPI_Group_free(&remote) == MPI_SUCCESS);
    talk_across(both);

    CHECK(MPI_Comm_dup(both, &copy) == MPI_SUCCESS);
    CHECK(MPI_Comm_compare(both, copy, &result) == MPI_SUCCESS && result == MPI_CONGRUENT);
    CHECK(MPI_Comm_compare(both, half, &result) == MPI_SUCCESS && result == MPI_UNEQUAL);
    talk_across(copy);
    CHECK(MPI_Comm_free(&copy) == MPI_SUCCESS);
    CHECK(MPI_Comm_idup(both, &copy, &request) == MPI_SUCCESS);
    talk_across(both);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    talk_across(copy);

    /* In the order asked for. */
    for (i = 0; i < 2; i++) {
        const int high = (me >= ranks / 2) == i;
        CHECK(MPI_Intercomm_merge(copy, high, &merged) == MPI_SUCCESS);
        CHECK(size_of(merged) == ranks);
        CHECK(rank_in(merged) == rank_in(half) + (high ? n : 0));
        ring(merged);
        CHECK(MPI_Comm_free(&merged) == MPI_SUCCESS);
    }
    CHECK(MPI_Intercomm_merge(copy, 1, &merged) == MPI_SUCCESS);
    ring(merged);
    CHECK(MPI_Comm_free(&merged) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&copy) == MPI_SUCCESS);

    /* By the parity of the rank in the half; a colour that only one side has makes nothing. */
    CHECK(MPI_Comm_split(both, rank_in(half) % 2, -me, &part) == MPI_SUCCESS);
    flag = (rank_in(half) % 2 == 0 ? n : n - 1) > 0;
    CHECK((part != MPI_COMM_NULL) == flag);
    if (flag) {
        talk_across(part);
        CHECK(MPI_Comm_free(&part) == MPI_SUCCESS);
    }
    CHECK(MPI_Comm_split(both, me < ranks / 2, 0, &part) == MPI_SUCCESS && part == MPI_COMM_NULL);
    CHECK(MPI_Comm_free(&both) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&half) == MPI_SUCCESS);
}

/* The members of each host that both groups have members on. */
static void inter_by_type(void) {
    MPI_Comm half, both, host, part;
    int side = me >= ranks / 2, near[2] = {0, 0}, n, kind;
    static const int no_part[] = {MPI_UNDEFINED, MPI_COMM_TYPE_HW_GUIDED};
    if (ranks < 2) return;
    both = halves(&half);
    CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host) ==
          MPI_SUCCESS);
    near[side] = 1;
    CHECK(MPI_Allreduce(MPI_IN_PLACE, near, 2, MPI_INT, MPI_SUM, host) == MPI_SUCCESS);
    for (kind = MPI_COMM_TYPE_SHARED; kind <= MPI_COMM_TYPE_HW_UNGUIDED; kind++) {
        int expected = near[!side] != 0;
        if (kind == MPI_COMM_TYPE_HW_UNGUIDED) expected = expected && size_of(host) < ranks;
        CHECK(MPI_Comm_split_type(both, kind, -me, MPI_INFO_NULL, &part) == MPI_SUCCESS);
        CHECK((part != MPI_COMM_NULL) == expected);
        if (!expected) continue;
        CHECK(size_of(part) == near[side]);
        CHECK(MPI_Comm_remote_size(part, &n) == MPI_SUCCESS && n == near[!side]);
        talk_across(part);
        CHECK(MPI_Comm_free(&part) == MPI_SUCCESS);
    }
    for (kind = 0; kind < 2; kind++) {
        CHECK(MPI_Comm_split_type(both, no_part[kind], 0, MPI_INFO_NULL, &part) == MPI_SUCCESS);
        CHECK(part == MPI_COMM_NULL);
    }
    CHECK(MPI_Comm_free(&host) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&both) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&half) == MPI_SUCCESS);
}

static void inter_of_groups(void) {
    MPI_Comm half, both, made;
    MPI_Group group, first;
    int zero = 0;
    if (ranks < 2) return;
    both = halves(&half);
    CHECK(MPI_Comm_group(both, &group) == MPI_SUCCESS);
    CHECK(MPI_Group_incl(group, 1, &zero, &first) == MPI_SUCCESS);
    CHECK(MPI_Comm_create(both, first, &made) == MPI_SUCCESS);
    CHECK((made == MPI_COMM_NULL) == (rank_in(half) != 0));
    if (made != MPI_COMM_NULL) {
        talk_across(made);
        CHECK(MPI_Comm_free(&made) == MPI_SUCCESS);
    }
    CHECK(MPI_Comm_create(both, me < ranks / 2 ? first : MPI_GROUP_EMPTY, &made) == MPI_SUCCESS);
    CHECK(made == MPI_COMM_NULL);
    CHECK(MPI_Group_free(&first) == MPI_SUCCESS);
    CHECK(MPI_Group_free(&group) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&both) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&half) == MPI_SUCCESS);
}

static const Case cases[] = {
    {"inter", inter},
    {"inter_by_type", inter_by_type},
    {"inter_of_groups", inter_of_groups},
};

int main(int argc, char** argv) {
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    RUN_CASES(argc, argv, cases);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
