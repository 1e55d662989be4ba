/* Groups, communicators, attributes, error handlers and infos, in cases. */
#include "cases.h"

#include <time.h>

static int size_of(MPI_Comm comm) {
    int n = -1;
    CHECK(MPI_Comm_size(comm, &n) == MPI_SUCCESS);
    return n;
}

static int rank_in(MPI_Comm comm) {
    int r = -1;
    CHECK(MPI_Comm_rank(comm, &r) == MPI_SUCCESS);
    return r;
}

/* Everybody hears from the one before; what is under way in another communicator does not disturb.
 */
static void ring(MPI_Comm comm) {
    const int n = size_of(comm), r = rank_in(comm);
    int out = 100 + r, in = -1, noise = -7, quiet = 0;
    MPI_Request noisy;
    CHECK(MPI_Isend(&noise, 1, MPI_INT, me, 5, MPI_COMM_WORLD, &noisy) == MPI_SUCCESS);
    CHECK(MPI_Sendrecv(&out, 1, MPI_INT, (r + 1) % n, 5, &in, 1, MPI_INT, (r + n - 1) % n, 5, comm,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(in == 100 + (r + n - 1) % n);
    CHECK(MPI_Recv(&quiet, 1, MPI_INT, me, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Wait(&noisy, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(quiet == noise);
}

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
    CHECK(MPI_Info_set(info, "what_nobody_knows", "true") == MPI_SUCCESS);
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
    /* What the leader gets wrong is an error for all of its group. */
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

/* --- attributes --- */

static int copies, deletes;
static int deleted[8];
static int state;

static int copy_next(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
    (void)comm, (void)keyval;
    CHECK(extra == &state);
    copies++;
    *(void**)out = (char*)in + 1;
    *flag = in != NULL;
    return MPI_SUCCESS;
}
static int note_delete(MPI_Comm comm, int keyval, void* value, void* extra) {
    int flag;
    void* found;
    CHECK(extra == &state);
    /* It is still there, on a communicator that still works. */
    CHECK(MPI_Comm_get_attr(comm, keyval, &found, &flag) == MPI_SUCCESS && flag && found == value);
    deleted[deletes++ % 8] = (int)(size_t)value;
    return MPI_SUCCESS;
}
static int refuse_copy(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
    (void)comm, (void)keyval, (void)extra, (void)in, (void)out;
    *flag = 1;
    return MPI_ERR_OTHER;
}
static int refuse_delete(MPI_Comm comm, int keyval, void* value, void* extra) {
    (void)comm, (void)keyval, (void)value;
    return *(int*)extra ? MPI_ERR_ARG : MPI_SUCCESS;
}

static void attributes(void) {
    MPI_Comm one, two;
    int key, plain, flag, i, keys[3];
    void* value;
    copies = deletes = 0;
    CHECK(MPI_Comm_create_keyval(copy_next, note_delete, &key, &state) == MPI_SUCCESS);
    CHECK(MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &plain, NULL) == MPI_SUCCESS);
    CHECK(key != plain && key != MPI_KEYVAL_INVALID);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &one) == MPI_SUCCESS);
    CHECK(MPI_Comm_get_attr(one, key, &value, &flag) == MPI_SUCCESS && !flag);
    CHECK(MPI_Comm_set_attr(one, key, (void*)10) == MPI_SUCCESS);
    CHECK(MPI_Attr_put(one, plain, (void*)20) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_attr(one, key, (void*)11) == MPI_SUCCESS);
    CHECK(deletes == 1 && deleted[0] == 10);
    CHECK(MPI_Comm_dup(one, &two) == MPI_SUCCESS);
    CHECK(copies == 1);
    CHECK(MPI_Attr_get(two, key, &value, &flag) == MPI_SUCCESS && flag && value == (void*)12);
    CHECK(MPI_Attr_get(two, plain, &value, &flag) == MPI_SUCCESS && !flag);
    /* A key that is in use lives on without a name. */
    i = key;
    CHECK(MPI_Comm_free_keyval(&i) == MPI_SUCCESS && i == MPI_KEYVAL_INVALID);
    CHECK(MPI_Comm_free(&two) == MPI_SUCCESS);
    CHECK(deletes == 2 && deleted[1] == 12);
    CHECK(MPI_Comm_delete_attr(one, key) == MPI_SUCCESS);
    CHECK(deletes == 3 && deleted[2] == 11);
    CHECK(MPI_Keyval_free(&plain) == MPI_SUCCESS);
    /* The last set is the first deleted. */
    for (i = 0; i < 3; i++) {
        CHECK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, note_delete, &keys[i], &state) ==
              MPI_SUCCESS);
        CHECK(MPI_Comm_set_attr(one, keys[i], (void*)(size_t)(50 + i)) == MPI_SUCCESS);
    }
    CHECK(MPI_Comm_dup(one, &two) == MPI_SUCCESS);
    deletes = 0;
    CHECK(MPI_Comm_free(&one) == MPI_SUCCESS);
    CHECK(deletes == 3 && deleted[0] == 52 && deleted[1] == 51 && deleted[2] == 50);
    CHECK(MPI_Comm_get_attr(two, keys[1], &value, &flag) == MPI_SUCCESS && value == (void*)51);
    for (i = 0; i < 3; i++) CHECK(MPI_Comm_free_keyval(&keys[i]) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&two) == MPI_SUCCESS && deletes == 6);
}

static void attribute_errors(void) {
    MPI_Comm comm, copy = MPI_COMM_SELF;
    int refusing = 1, key, bad, type_key, flag;
    void* value;
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_keyval(refuse_copy, refuse_delete, &key, &refusing) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_attr(comm, key, NULL) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Comm_dup(comm, &copy), MPI_ERR_OTHER);
    CHECK(copy == MPI_COMM_NULL);
    CHECK_CLASS(MPI_Comm_set_attr(comm, key, &state), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Comm_delete_attr(comm, key), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Comm_free(&comm), MPI_ERR_ARG);
    CHECK(comm != MPI_COMM_NULL);
    ring(comm);
    refusing = 0;
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    bad = key;
    CHECK(MPI_Comm_free_keyval(&key) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Comm_set_attr(MPI_COMM_WORLD, bad, NULL), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID, &value, &flag),
                MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Comm_free_keyval(&key), MPI_ERR_KEYVAL);
    key = MPI_TAG_UB;
    CHECK_CLASS(MPI_Comm_free_keyval(&key), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, &state), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Comm_delete_attr(MPI_COMM_WORLD, MPI_IO), MPI_ERR_KEYVAL);
    CHECK(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_key, NULL) ==
          MPI_SUCCESS);
    CHECK_CLASS(MPI_Comm_set_attr(MPI_COMM_WORLD, type_key, NULL), MPI_ERR_KEYVAL);
    CHECK(MPI_Type_free_keyval(&type_key) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL) == MPI_SUCCESS);
}

static void predefined_attributes(void) {
    int* value;
    int flag, alone;
    MPI_Comm host;
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag) == MPI_SUCCESS && flag);
    CHECK(*value >= 32767);
    {
        int in = 3, out = 4;
        CHECK(MPI_Sendrecv(&in, 1, MPI_INT, me, *value, &out, 1, MPI_INT, me, *value,
                           MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
              out == 3);
    }
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &value, &flag) == MPI_SUCCESS && flag);
    CHECK(*value == MPI_ANY_SOURCE);
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_HOST, &value, &flag) == MPI_SUCCESS && flag);
    CHECK(*value == MPI_PROC_NULL);
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag) == MPI_SUCCESS);
    CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host) ==
          MPI_SUCCESS);
    alone = size_of(host) == ranks;
    CHECK(flag && *value == alone); /* the clock is a host's */
    CHECK(MPI_Comm_free(&host) == MPI_SUCCESS);
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag) == MPI_SUCCESS);
    CHECK(flag && *value == ranks);
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag) == MPI_SUCCESS);
    CHECK(flag && *value == 0);
}

static int type_copies;
static int copy_type(MPI_Datatype type, int keyval, void* extra, void* in, void* out, int* flag) {
    (void)type, (void)keyval, (void)extra;
    type_copies++;
    *(void**)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}
static int delete_type(MPI_Datatype type, int keyval, void* value, void* extra) {
    (void)type, (void)keyval, (void)value;
    ++*(int*)extra;
    return MPI_SUCCESS;
}

static void type_attributes(void) {
    MPI_Datatype type, copy;
    int key, flag, gone = 0;
    void* value;
    CHECK(MPI_Type_contiguous(3, MPI_INT, &type) == MPI_SUCCESS);
    CHECK(MPI_Type_create_keyval(copy_type, delete_type, &key, &gone) == MPI_SUCCESS);
    CHECK(MPI_Type_set_attr(type, key, (void*)7) == MPI_SUCCESS);
    CHECK(MPI_Type_dup(type, &copy) == MPI_SUCCESS && type_copies == 1);
    CHECK(MPI_Type_get_attr(copy, key, &value, &flag) == MPI_SUCCESS && flag && value == (void*)7);
    CHECK(MPI_Type_delete_attr(copy, key) == MPI_SUCCESS && gone == 1);
    CHECK(MPI_Type_get_attr(copy, key, &value, &flag) == MPI_SUCCESS && !flag);
    CHECK(MPI_Type_free(&copy) == MPI_SUCCESS && gone == 1);
    CHECK(MPI_Type_free(&type) == MPI_SUCCESS && gone == 2);
    CHECK(MPI_Type_free_keyval(&key) == MPI_SUCCESS);
    type_copies = 0;
}

/* --- errors --- */

static int heard;
static MPI_Comm heard_on;
static void listener(MPI_Comm* comm, int* code, ...) {
    heard_on = *comm;
    MPI_Error_class(*code, &heard);
}

static void error_handlers(void) {
    MPI_Errhandler handler, found;
    MPI_Comm copy, second;
    int n;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &copy) == MPI_SUCCESS);
    CHECK(MPI_Comm_get_errhandler(copy, &found) == MPI_SUCCESS);
    CHECK(found == MPI_ERRORS_ARE_FATAL);
    CHECK(MPI_Errhandler_free(&found) == MPI_SUCCESS && found == MPI_ERRHANDLER_NULL);
    CHECK(MPI_Comm_create_errhandler(listener, &handler) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_set(copy, handler) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_get(copy, &found) == MPI_SUCCESS && found == handler);
    CHECK(MPI_Errhandler_free(&found) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS);
    CHECK(MPI_Send(&n, 1, MPI_INT, ranks, 0, copy) != MPI_SUCCESS);
    CHECK(heard == MPI_ERR_RANK && heard_on == copy);
    CHECK(MPI_Comm_call_errhandler(copy, MPI_ERR_TRUNCATE) == MPI_SUCCESS);
    CHECK(heard == MPI_ERR_TRUNCATE);
    CHECK(MPI_Comm_dup(copy, &second) == MPI_SUCCESS);
    heard = 0;
    CHECK(MPI_Send(&n, -1, MPI_INT, 0, 0, second) != MPI_SUCCESS);
    CHECK(heard == MPI_ERR_COUNT && heard_on == second);
    CHECK_CLASS(MPI_Comm_set_errhandler(copy, MPI_ERRHANDLER_NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Comm_set_errhandler(copy, (MPI_Errhandler)&n), MPI_ERR_ARG);
    CHECK(MPI_Comm_free(&second) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&copy) == MPI_SUCCESS);
}

static void error_codes(void) {
    char text[MPI_MAX_ERROR_STRING], again[MPI_MAX_ERROR_STRING];
    int length, i, class, code, found, *last, flag;
    for (i = 0; i <= MPI_ERR_IN_STATUS; i++) {
        CHECK(MPI_Error_class(i, &found) == MPI_SUCCESS && found == i);
        CHECK(MPI_Error_string(i, text, &length) == MPI_SUCCESS);
        CHECK(length > 0 && (int)strlen(text) == length);
    }
    CHECK(MPI_Error_string(MPI_ERR_RANK, text, &length) == MPI_SUCCESS);
    CHECK(MPI_Error_string(MPI_ERR_TAG, again, &length) == MPI_SUCCESS);
    CHECK(strcmp(text, again) != 0);
    CHECK(MPI_Add_error_class(&class) == MPI_SUCCESS && class > MPI_ERR_LASTCODE);
    CHECK(MPI_Add_error_code(class, &code) == MPI_SUCCESS && code != class);
    CHECK(MPI_Error_class(code, &found) == MPI_SUCCESS && found == class);
    CHECK(MPI_Error_string(code, text, &length) == MPI_SUCCESS && length == 0);
    CHECK(MPI_Add_error_string(code, "out of cheese") == MPI_SUCCESS);
    CHECK(MPI_Error_string(code, text, &length) == MPI_SUCCESS);
    CHECK(strcmp(text, "out of cheese") == 0);
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag) == MPI_SUCCESS);
    CHECK(flag && *last >= code);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Error_class(-3, &found), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Error_string(MPI_ERR_LASTCODE + 1000, text, &length), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Add_error_string(MPI_ERR_RANK, "mine"), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Add_error_code(code, &found), MPI_ERR_ARG);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL) == MPI_SUCCESS);
}

/* --- info --- */

static void infos(void) {
    MPI_Info info, copy;
    char key[MPI_MAX_INFO_KEY], value[MPI_MAX_INFO_VAL], longer[MPI_MAX_INFO_VAL + 10];
    int n, flag, length;
    CHECK(MPI_Info_create(&info) == MPI_SUCCESS);
    CHECK(MPI_Info_set(info, "b", "1") == MPI_SUCCESS);
    CHECK(MPI_Info_set(info, "a", "second") == MPI_SUCCESS);
    CHECK(MPI_Info_set(info, "b", "first") == MPI_SUCCESS);
    CHECK(MPI_Info_get_nkeys(info, &n) == MPI_SUCCESS && n == 2);
    CHECK(MPI_Info_get_nthkey(info, 0, key) == MPI_SUCCESS && strcmp(key, "b") == 0);
    CHECK(MPI_Info_get_valuelen(info, "a", &length, &flag) == MPI_SUCCESS && flag && length == 6);
    CHECK(MPI_Info_get(info, "a", 3, value, &flag) == MPI_SUCCESS && strcmp(value, "sec") == 0);
    length = 4;
    CHECK(MPI_Info_get_string(info, "a", &length, value, &flag) == MPI_SUCCESS);
    CHECK(flag && length == 7 && strcmp(value, "sec") == 0);
    length = 0;
    CHECK(MPI_Info_get_string(info, "a", &length, NULL, &flag) == MPI_SUCCESS && length == 7);
    CHECK(MPI_Info_get(info, "c", 10, value, &flag) == MPI_SUCCESS && !flag);
    CHECK(MPI_Info_dup(info, &copy) == MPI_SUCCESS);
    CHECK(MPI_Info_delete(copy, "b") == MPI_SUCCESS);
    CHECK(MPI_Info_get_nkeys(copy, &n) == MPI_SUCCESS && n == 1);
    CHECK(MPI_Info_get_nkeys(info, &n) == MPI_SUCCESS && n == 2);
    CHECK(MPI_Info_get(MPI_INFO_ENV, "maxprocs", 10, value, &flag) == MPI_SUCCESS && flag);
    CHECK(atoi(value) == ranks);

    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Info_delete(copy, "b"), MPI_ERR_INFO_NOKEY);
    CHECK_CLASS(MPI_Info_set(copy, "", "x"), MPI_ERR_INFO_KEY);
    CHECK_CLASS(MPI_Info_set(copy, NULL, "x"), MPI_ERR_INFO_KEY);
    CHECK_CLASS(MPI_Info_set(copy, "x", NULL), MPI_ERR_INFO_VALUE);
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    CHECK_CLASS(MPI_Info_set(copy, "x", longer), MPI_ERR_INFO_VALUE);
    CHECK_CLASS(MPI_Info_set(copy, longer, "x"), MPI_ERR_INFO_KEY);
    CHECK_CLASS(MPI_Info_get_nthkey(copy, 1, key), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Info_set(MPI_INFO_NULL, "x", "x"), MPI_ERR_INFO);
    CHECK_CLASS(MPI_Info_set(MPI_INFO_ENV, "x", "x"), MPI_ERR_INFO);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL) == MPI_SUCCESS);
    CHECK(MPI_Info_free(&copy) == MPI_SUCCESS && copy == MPI_INFO_NULL);
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
}

/* Infos and error classes at any time: 0 before MPI_Init, 1 in between, 2 after MPI_Finalize. CHECK
 * cannot tell of a rank before and after. */
static MPI_Info early;
static int works(int stage) {
    MPI_Info copy;
    char key[MPI_MAX_INFO_KEY], text[MPI_MAX_ERROR_STRING], value[8] = "";
    int n, flag, length = sizeof value, code, class_;
    if (stage == 0 && MPI_Info_create(&early)) return 0;
    sprintf(key, "stage%d", stage);
    if (MPI_Info_set(early, key, "on") || MPI_Info_dup(early, &copy)) return 0;
    if (MPI_Info_get_nkeys(copy, &n) || n != stage + 1) return 0;
    if (MPI_Info_get_nthkey(copy, stage, text) || strcmp(text, key) != 0) return 0;
    if (MPI_Info_get_valuelen(copy, "stage0", &n, &flag) || !flag || n != 2) return 0;
    if (MPI_Info_get_string(copy, "stage0", &length, value, &flag) || !flag) return 0;
    if (strcmp(value, "on") != 0) return 0;
    if (MPI_Info_delete(copy, key) || MPI_Info_free(&copy)) return 0;
    if (MPI_Info_get_nkeys(early, &n) || n != stage + 1) return 0;
    if (MPI_Add_error_class(&class_) || MPI_Add_error_code(class_, &code)) return 0;
    if (MPI_Add_error_string(code, key) || MPI_Error_string(code, text, &n)) return 0;
    if (strcmp(text, key) != 0 || MPI_Error_class(code, &n) || n != class_) return 0;
    return stage < 2 || MPI_Info_free(&early) == MPI_SUCCESS;
}

static void infos_at_any_time(void) {
    CHECK(works(1));
}

/* The attributes of MPI_COMM_SELF go first of all, the last set first, and MPI still works. */
static int last_words;
static int at_end(MPI_Comm comm, int keyval, void* value, void* extra) {
    int finalized = -1, out = 8, in = 0;
    (void)keyval, (void)extra;
    CHECK(MPI_Finalized(&finalized) == MPI_SUCCESS && !finalized);
    CHECK((int)(size_t)value == 3 - last_words);
    CHECK(MPI_Sendrecv(&out, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS &&
          in == 8);
    if (++last_words == 3 && me == 0) puts("last words spoken");
    return MPI_SUCCESS;
}

static void words_at_the_end(void) {
    int i, key;
    for (i = 1; i <= 3; i++) {
        CHECK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &key, NULL) == MPI_SUCCESS);
        CHECK(MPI_Comm_set_attr(MPI_COMM_SELF, key, (void*)(size_t)i) == MPI_SUCCESS);
        CHECK(MPI_Comm_free_keyval(&key) == MPI_SUCCESS);
    }
}

int main(int argc, char** argv) {
    static const Case cases[] = {
        {"groups", groups},
        {"group_errors", group_errors},
        {"duplicates", duplicates},
        {"splits", splits},
        {"of_groups", of_groups},
        {"subset", subset},
        {"inter", inter},
        {"inter_by_type", inter_by_type},
        {"inter_of_groups", inter_of_groups},
        {"freed_in_flight", freed_in_flight},
        {"disconnected", disconnected},
        {"names_and_hints", names_and_hints},
        {"communicator_errors", communicator_errors},
        {"attributes", attributes},
        {"attribute_errors", attribute_errors},
        {"predefined_attributes", predefined_attributes},
        {"type_attributes", type_attributes},
        {"error_handlers", error_handlers},
        {"error_codes", error_codes},
        {"infos", infos},
        {"infos_at_any_time", infos_at_any_time},
        {"words_at_the_end", words_at_the_end},
    };
    if (!works(0)) return 1;
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    RUN_CASES(argc, argv, cases);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    if (argc == 1 && !works(2)) return 1;
    return 0;
}
