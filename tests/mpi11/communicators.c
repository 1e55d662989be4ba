/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups and communicators, in cases. */
#include "talk.h"

#include <time.h>

static void groups(void) {
    MPI_Group world, odd, even, both, none, back;
    int i, n = 0, r, result, *list = malloc(sizeof(int) * (size_t)(ranks + 1));
    int range[1][3];
    CHECK(MPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS);
    CHECK(MPI_Group_size(world, &n) == MPI_SUCCESS && n == ranks);
    CHECK(MPI_Group_rank(world, &r) == MPI_SUCCESS && r == me);
    for (i = 0, n = 0; i < ranks; i += 2) list[n++] = i;
    CHECK(MPI_Group_incl(world, n, list, &even) == MPI_SUCCESS);
    CHECK(MPI_Group_excl(world, n, list, &odd) == MPI_SUCCESS);
    CHECK(MPI_Group_rank(even, &r) == MPI_SUCCESS);
    CHECK(r == (me % 2 == 0 ? me / 2 : MPI_UNDEFINED));
    CHECK(MPI_Group_union(even, odd, &both) == MPI_SUCCESS);
    CHECK(MPI_Group_compare(both, world, &result) == MPI_SUCCESS);
    CHECK(result == (ranks < 3 ? MPI_IDENT : MPI_SIMILAR));
    CHECK(MPI_Group_intersection(even, odd, &none) == MPI_SUCCESS);
    CHECK(none == MPI_GROUP_EMPTY);
    CHECK(MPI_Group_difference(both, odd, &back) == MPI_SUCCESS);
    CHECK(MPI_Group_compare(back, even, &result) == MPI_SUCCESS && result == MPI_IDENT);
    for (i = 0; i < ranks; i++) list[i] = i;
    list[ranks] = MPI_PROC_NULL;
    CHECK(MPI_Group_translate_ranks(world, ranks + 1, list, odd, list) == MPI_SUCCESS);
    for (i = 0; i < ranks; i++) CHECK(list[i] == (i % 2 == 1 ? i / 2 : MPI_UNDEFINED));
    CHECK(list[ranks] == MPI_PROC_NULL);
    CHECK(MPI_Group_free(&back) == MPI_SUCCESS && back == MPI_GROUP_NULL);
    range[0][0] = ranks - 1, range[0][1] = 0, range[0][2] = -1;
    CHECK(MPI_Group_range_incl(world, 1, range, &back) == MPI_SUCCESS);
    CHECK(MPI_Group_rank(back, &r) == MPI_SUCCESS && r == ranks - 1 - me);
    CHECK(MPI_Group_free(&none) == MPI_SUCCESS);
    CHECK(MPI_Group_range_excl(world, 1, range, &none) == MPI_SUCCESS && none == MPI_GROUP_EMPTY);
    CHECK(MPI_Group_free(&none) == MPI_SUCCESS);
    CHECK(MPI_Group_size(MPI_GROUP_EMPTY, &n) == MPI_SUCCESS && n == 0);
    CHECK(MPI_Group_free(&back) == MPI_SUCCESS);
    CHECK(MPI_Group_free(&both) == MPI_SUCCESS);
    if (even != MPI_GROUP_EMPTY) CHECK(MPI_Group_free(&even) == MPI_SUCCESS);
    CHECK(MPI_Group_free(&odd) == MPI_SUCCESS);
    CHECK(MPI_Group_free(&world) == MPI_SUCCESS);
    free(list);
}

static void group_errors(void) {
    MPI_Group world, out, freed;
    int n, bad[2] = {0, 0}, range[1][3] = {{0, 0, 0}};
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Group_size(MPI_GROUP_NULL, &n), MPI_ERR_GROUP);
    CHECK_CLASS(MPI_Group_size((MPI_Group)MPI_COMM_WORLD, &n), MPI_ERR_GROUP);
    CHECK_CLASS(MPI_Group_size(world, NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Group_compare(MPI_GROUP_NULL, world, &n), MPI_ERR_GROUP);
    CHECK_CLASS(MPI_Group_compare(world, MPI_GROUP_NULL, &n), MPI_ERR_GROUP);
    CHECK_CLASS(MPI_Group_translate_ranks(MPI_GROUP_NULL, 1, bad, world, &n), MPI_ERR_GROUP);
    CHECK_CLASS(MPI_Group_translate_ranks(world, 1, bad, MPI_GROUP_NULL, &n), MPI_ERR_GROUP);
    CHECK_CLASS(MPI_Group_union(MPI_GROUP_NULL, world, &out), MPI_ERR_GROUP);
    CHECK_CLASS(MPI_Group_union(world, MPI_GROUP_NULL, &out), MPI_ERR_GROUP);
    CHECK_CLASS(MPI_Group_incl(world, 2, bad, &out), MPI_ERR_RANK);
    bad[0] = ranks;
    CHECK_CLASS(MPI_Group_incl(world, 1, bad, &out), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Group_excl(world, 1, bad, &out), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Group_incl(world, -1, bad, &out), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Group_incl(world, 1, NULL, &out), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Group_translate_ranks(world, 1, bad, world, &n), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Group_range_incl(world, 1, range, &out), MPI_ERR_ARG);
    range[0][2] = 1, range[0][1] = ranks;
    CHECK_CLASS(MPI_Group_range_excl(world, 1, range, &out), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Group_free(NULL), MPI_ERR_ARG);
    freed = world;
    CHECK(MPI_Group_free(&world) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Group_size(freed, &n), MPI_ERR_GROUP);
    CHECK_CLASS(MPI_Group_free(&world), MPI_ERR_GROUP);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL) == MPI_SUCCESS);
}

static void duplicates(void) {
    MPI_Comm copies[3];
    MPI_Request requests[2];
    int i, k, result;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &copies[0]) == MPI_SUCCESS);
    CHECK(MPI_Comm_idup(MPI_COMM_WORLD, &copies[1], &requests[0]) == MPI_SUCCESS);
    CHECK(MPI_Comm_idup(copies[0], &copies[2], &requests[1]) == MPI_SUCCESS);
    CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    for (i = 0; i < 3; i++) {
        CHECK(MPI_Comm_compare(MPI_COMM_WORLD, copies[i], &result) == MPI_SUCCESS);
        CHECK(result == MPI_CONGRUENT);
        for (k = 0; k < i; k++) CHECK(copies[k] != copies[i]);
        ring(copies[i]);
    }
    CHECK(MPI_Comm_compare(copies[0], copies[0], &result) == MPI_SUCCESS && result == MPI_IDENT);
    for (i = 0; i < 3; i++) CHECK(MPI_Comm_free(&copies[i]) == MPI_SUCCESS);
    CHECK(copies[0] == MPI_COMM_NULL);
    CHECK(MPI_Comm_dup(MPI_COMM_SELF, &copies[0]) == MPI_SUCCESS);
    CHECK(size_of(copies[0]) == 1);
    CHECK(MPI_Comm_free(&copies[0]) == MPI_SUCCESS);
}

static void splits(void) {
    MPI_Comm parts, sub;
    int result;
    /* Three colours, reversed. */
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, me % 3, -me, &parts) == MPI_SUCCESS);
    CHECK(size_of(parts) == (ranks - me % 3 + 2) / 3);
    CHECK(rank_in(parts) == size_of(parts) - 1 - me / 3);
    ring(parts);
    CHECK(MPI_Comm_split(parts, 0, 0, &sub) == MPI_SUCCESS);
    CHECK(MPI_Comm_compare(parts, sub, &result) == MPI_SUCCESS && result == MPI_CONGRUENT);
    ring(sub);
    CHECK(MPI_Comm_free(&sub) == MPI_SUCCESS);
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &sub) == MPI_SUCCESS);
    CHECK(MPI_Comm_compare(MPI_COMM_WORLD, sub, &result) == MPI_SUCCESS);
    CHECK(result == (ranks == 1 ? MPI_CONGRUENT : MPI_SIMILAR));
    CHECK(MPI_Comm_compare(MPI_COMM_SELF, sub, &result) == MPI_SUCCESS);
    CHECK(result == (ranks == 1 ? MPI_CONGRUENT : MPI_UNEQUAL));
    CHECK(MPI_Comm_free(&sub) == MPI_SUCCESS);
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, me == 0 ? MPI_UNDEFINED : 1, 0, &sub) == MPI_SUCCESS);
    CHECK((sub == MPI_COMM_NULL) == (me == 0));
    if (me != 0) {
        ring(sub);
        CHECK(MPI_Comm_free(&sub) == MPI_SUCCESS);
    }
    /* On one host, unless the test keeps the processes apart. */
    CHECK(MPI_Comm_split_type(parts, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &sub) == MPI_SUCCESS);
    CHECK(MPI_Comm_compare(parts, sub, &result) == MPI_SUCCESS);
    CHECK(result == MPI_CONGRUENT || size_of(sub) == 1);
    CHECK(MPI_Comm_free(&sub) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&parts) == MPI_SUCCESS);
}

static void of_groups(void) {
    MPI_Group world, mine;
    MPI_Comm made, again;
    int range[1][3], i;
    range[0][0] = me % 2, range[0][1] = ranks - 1, range[0][2] = 2;
    CHECK(MPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS);
    CHECK(MPI_Group_range_incl(world, 1, range, &mine) == MPI_SUCCESS);
    /* Two groups at once. */
    CHECK(MPI_Comm_create(MPI_COMM_WORLD, mine, &made) == MPI_SUCCESS);
    CHECK(size_of(made) == (ranks + 1 - me % 2) / 2);
    ring(made);
    /* By the members alone, several after each other, those of one group more often. */
    for (i = 0; i < 2 + me % 2; i++) {
        CHECK(MPI_Comm_create_group(MPI_COMM_WORLD, mine, 3, &again) == MPI_SUCCESS);
        CHECK(size_of(again) == size_of(made));
        ring(again);
        CHECK(MPI_Comm_free(&again) == MPI_SUCCESS);
    }
    CHECK(MPI_Comm_free(&made) == MPI_SUCCESS);
    CHECK(MPI_Group_free(&mine) == MPI_SUCCESS);
    CHECK(MPI_Group_free(&world) == MPI_SUCCESS);
}

static void subset(void) {
    MPI_Group world, first;
    MPI_Comm made;
    int zero = 0;
    CHECK(MPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS);
    CHECK(MPI_Group_incl(world, 1, &zero, &first) == MPI_SUCCESS);
    CHECK(MPI_Comm_create(MPI_COMM_WORLD, first, &made) == MPI_SUCCESS);
    CHECK((made == MPI_COMM_NULL) == (me != 0));
    if (me == 0) CHECK(MPI_Comm_free(&made) == MPI_SUCCESS);
    CHECK(MPI_Group_free(&first) == MPI_SUCCESS);
    CHECK(MPI_Group_free(&world) == MPI_SUCCESS);
}

/* A communicator may be freed while messages are under way in it. */
static void freed_in_flight(void) {
    MPI_Comm copy;
    MPI_Request requests[2];
    int in = -1, out = 40 + me;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &copy) == MPI_SUCCESS);
    CHECK(MPI_Irecv(&in, 1, MPI_INT, (me + ranks - 1) % ranks, 1, copy, &requests[0]) ==
          MPI_SUCCESS);
    CHECK(MPI_Isend(&out, 1, MPI_INT, (me + 1) % ranks, 1, copy, &requests[1]) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&copy) == MPI_SUCCESS);
    CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(in == 40 + (me + ranks - 1) % ranks);
}

/* Waits for what the program has given away: a send whose request was freed, and a buffered one.
 * The receiver of each pair of ranks comes late, when the sender would long have gone on. */
static void disconnected(void) {
    enum { count = 40000 };
    const struct timespec pause = {0, 50000000};
    const int partner = me ^ 1, sends = me % 2 == 0;
    static int numbers[count];
    char* const room = malloc(sizeof numbers + MPI_BSEND_OVERHEAD);
    MPI_Comm copy, other, inter_comm, half;
    MPI_Request request;
    int i, tag, size;
    void* back;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &copy) == MPI_SUCCESS);
    MPI_Buffer_attach(room, (int)sizeof numbers + MPI_BSEND_OVERHEAD);
    for (i = 0; i < count; i++) numbers[i] = sends ? me + i : 0;
    if (sends && partner < ranks) {
        MPI_Bsend(numbers, count, MPI_INT, partner, 1, copy);
        MPI_Isend(numbers, count, MPI_INT, partner, 2, copy, &request);
        MPI_Request_free(&request);
    }
    for (tag = 1; !sends && tag <= 2; tag++) {
        nanosleep(&pause, NULL);
        MPI_Recv(numbers, count, MPI_INT, partner, tag, copy, MPI_STATUS_IGNORE);
        for (i = 0; i < count; i++) CHECK(numbers[i] == partner + i);
    }
    CHECK(MPI_Comm_disconnect(&copy) == MPI_SUCCESS);
    CHECK(copy == MPI_COMM_NULL);
    for (i = 0; i < count; i++) numbers[i] = -1; /* nothing reads them any more */
    MPI_Buffer_detach(&back, &size);
    free(room);
    /* Like MPI_Comm_free in all else: attributes, inter-communicators. */
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, 0, &half);
    if (ranks > 1) {
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - me % 2, 3, &inter_comm);
        CHECK(MPI_Comm_disconnect(&inter_comm) == MPI_SUCCESS && inter_comm == MPI_COMM_NULL);
    }
    CHECK(MPI_Comm_disconnect(&half) == MPI_SUCCESS && half == MPI_COMM_NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    other = MPI_COMM_WORLD;
    CHECK_CLASS(MPI_Comm_disconnect(&other), MPI_ERR_COMM);
    CHECK(other == MPI_COMM_WORLD);
    other = MPI_COMM_NULL;
    CHECK_CLASS(MPI_Comm_disconnect(&other), MPI_ERR_COMM);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void names_and_hints(void) {
    MPI_Comm copy;
    MPI_Info info, used;
    char name[MPI_MAX_OBJECT_NAME], value[8];
    int length, flag, i;
    char longer[2 * MPI_MAX_OBJECT_NAME];
    CHECK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length) == MPI_SUCCESS);
    CHECK(strcmp(name, "MPI_COMM_WORLD") == 0 && length == 14);
    CHECK(MPI_Info_create(&info) == MPI_SUCCESS);
    CHECK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true") == MPI_SUCCESS);
    CHECK(MPI_Info_set(info, "an_unknown_key", "true") == MPI_SUCCESS);
    CHECK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &copy) == MPI_SUCCESS);
    CHECK(MPI_Comm_get_name(copy, name, &length) == MPI_SUCCESS && length == 0 && name[0] == 0);
    CHECK(MPI_Comm_get_info(copy, &used) == MPI_SUCCESS);
    CHECK(MPI_Info_get(used, "mpi_assert_no_any_tag", 7, value, &flag) == MPI_SUCCESS && flag);
    CHECK(strcmp(value, "true") == 0);
    CHECK(MPI_Info_get_nkeys(used, &flag) == MPI_SUCCESS && flag == 1);
    CHECK(MPI_Info_free(&used) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_info(MPI_COMM_SELF, info) == MPI_SUCCESS);
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
    for (i = 0; i < (int)sizeof longer - 1; i++) longer[i] = 'x';
    longer[i] = 0;
    CHECK(MPI_Comm_set_name(copy, longer) == MPI_SUCCESS);
    CHECK(MPI_Comm_get_name(copy, name, &length) == MPI_SUCCESS);
    CHECK(length == MPI_MAX_OBJECT_NAME - 1 && (int)strlen(name) == length);
    CHECK(MPI_Comm_free(&copy) == MPI_SUCCESS);
}

static void communicator_errors(void) {
    MPI_Comm copy, out, freed, world_handle = MPI_COMM_WORLD;
    MPI_Group world;
    int n;
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &copy) == MPI_SUCCESS); /* inherits the handler */
    CHECK_CLASS(MPI_Comm_size(MPI_COMM_NULL, &n), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Comm_size((MPI_Comm)MPI_INT, &n), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Comm_rank(copy, NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Comm_remote_size(copy, &n), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Comm_split(copy, -5, 0, &out), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Comm_split_type(copy, 77, 0, MPI_INFO_NULL, &out), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Comm_create(copy, MPI_GROUP_NULL, &out), MPI_ERR_GROUP);
    CHECK_CLASS(MPI_Intercomm_merge(copy, 0, &out), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Comm_free(&world_handle), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Comm_free(NULL), MPI_ERR_COMM);
    CHECK(MPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Comm_create_group(copy, world, -1, &out), MPI_ERR_TAG);
    CHECK_CLASS(MPI_Comm_compare(copy, MPI_COMM_NULL, &n), MPI_ERR_COMM);
    if (ranks > 1) {
        CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
        CHECK_CLASS(MPI_Comm_create(MPI_COMM_SELF, world, &out), MPI_ERR_GROUP);
        CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL) == MPI_SUCCESS);
    }
    /* A mistake of the leader is an error for all of its group. */
    CHECK_CLASS(MPI_Intercomm_create(copy, 0, MPI_COMM_WORLD, ranks, 0, &out), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Intercomm_create(copy, 0, MPI_COMM_NULL, 0, 0, &out), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Intercomm_create(copy, ranks, MPI_COMM_WORLD, 0, 0, &out), MPI_ERR_RANK);
    ring(copy);
    freed = copy;
    CHECK(MPI_Comm_free(&copy) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Comm_size(freed, &n), MPI_ERR_COMM);
    CHECK(MPI_Group_free(&world) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL) == MPI_SUCCESS);
}

static const Case cases[] = {
    {"groups", groups},
    {"group_errors", group_errors},
    {"duplicates", duplicates},
    {"splits", splits},
    {"of_groups", of_groups},
    {"subset", subset},
    {"freed_in_flight", freed_in_flight},
    {"disconnected", disconnected},
    {"names_and_hints", names_and_hints},
    {"communicator_errors", communicator_errors},
};

int main(int argc, char** argv) {
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    RUN_CASES(argc, argv, cases);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
