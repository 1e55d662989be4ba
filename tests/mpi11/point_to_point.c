/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends, receives and probes. */
#include "ring_messages.h"

/* A token goes around the ring twice. */
static void everybody_is_here(void) {
    int round;
    for (round = 0; round < 2; round++) {
        if (me != 0)
            MPI_Recv(NULL, 0, MPI_INT, previous_rank, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(NULL, 0, MPI_INT, next_rank, 77, MPI_COMM_WORLD);
        if (me == 0)
            MPI_Recv(NULL, 0, MPI_INT, previous_rank, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void modes(void) {
    int s, mode;
    for (s = 0; s < SIZES; s++)
        for (mode = 0; mode < 3; mode++) {
            MPI_Request request;
            MPI_Status status;
            int count = -1;
            fill(out, sizes[s], me + 1);
            MPI_Irecv(in, sizes[s], MPI_INT, previous_rank, mode, MPI_COMM_WORLD, &request);
            if (mode == 2) everybody_is_here(); /* ready: the receive is there */
            if (mode == 0) MPI_Send(out, sizes[s], MPI_INT, next_rank, mode, MPI_COMM_WORLD);
            if (mode == 1) MPI_Ssend(out, sizes[s], MPI_INT, next_rank, mode, MPI_COMM_WORLD);
            if (mode == 2) MPI_Rsend(out, sizes[s], MPI_INT, next_rank, mode, MPI_COMM_WORLD);
            MPI_Wait(&request, &status);
            CHECK(request == MPI_REQUEST_NULL);
            CHECK(status.MPI_SOURCE == previous_rank && status.MPI_TAG == mode);
            MPI_Get_count(&status, MPI_INT, &count);
            CHECK(count == sizes[s]);
            CHECK(is_filled(in, sizes[s], previous_rank + 1));
        }
}

static void shorter_than_receive(void) {
    MPI_Status status;
    int count = -1, value = me;
    MPI_Sendrecv(&value, 1, MPI_INT, next_rank, 3, in, 100, MPI_INT, previous_rank, 3,
                 MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 1 && in[0] == previous_rank);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    CHECK(count == MPI_UNDEFINED);
}

/* Messages of one sender are matched in order, whatever the wildcards. */
static void wildcards_keep_order(void) {
    int i, from_all[2] = {0, 0};
    MPI_Request sends[40];
    for (i = 0; i < 40; i++) {
        out[i] = i;
        MPI_Isend(&out[i], 1, MPI_INT, next_rank, i % 2, MPI_COMM_WORLD, &sends[i]);
    }
    for (i = 0; i < 40; i++) {
        MPI_Status status;
        int value = -1;
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, i < 20 ? MPI_ANY_TAG : i % 2, MPI_COMM_WORLD,
                 &status);
        CHECK(status.MPI_SOURCE == previous_rank);
        CHECK(value == 2 * from_all[status.MPI_TAG]++ + status.MPI_TAG);
    }
    MPI_Waitall(40, sends, MPI_STATUSES_IGNORE);
}

static void reverse_order(void) {
    MPI_Request requests[200];
    int i;
    for (i = 0; i < 100; i++)
        MPI_Irecv(&in[i], 1, MPI_INT, previous_rank, i, MPI_COMM_WORLD, &requests[i]);
    for (i = 0; i < 100; i++) {
        out[99 - i] = 99 - i;
        MPI_Isend(&out[99 - i], 1, MPI_INT, next_rank, 99 - i, MPI_COMM_WORLD, &requests[100 + i]);
    }
    MPI_Waitall(200, requests, MPI_STATUSES_IGNORE);
    for (i = 0; i < 100; i++) CHECK(in[i] == i);
}

static void completion(void) {
    MPI_Request requests[8];
    MPI_Status statuses[8], status;
    int indices[8], done = 0, i, flag, index, some;
    for (i = 0; i < 8; i++)
        MPI_Irecv(&in[i], 1, MPI_INT, previous_rank, 10 + i, MPI_COMM_WORLD, &requests[i]);
    for (i = 0; i < 8; i++) {
        out[i] = 100 * me + i;
        MPI_Send(&out[i], 1, MPI_INT, next_rank, 10 + i, MPI_COMM_WORLD);
    }
    MPI_Waitany(8, requests, &index, &status);
    CHECK(index >= 0 && index < 8 && requests[index] == MPI_REQUEST_NULL);
    CHECK(status.MPI_TAG == 10 + index && in[index] == 100 * previous_rank + index);
    done = 1;
    while (done < 8) {
        if (done % 2)
            MPI_Waitsome(8, requests, &some, indices, statuses);
        else
            MPI_Testsome(8, requests, &some, indices, statuses);
        CHECK(some >= 0);
        for (i = 0; i < some; i++) {
            CHECK(statuses[i].MPI_TAG == 10 + indices[i]);
            CHECK(requests[indices[i]] == MPI_REQUEST_NULL);
        }
        done += some;
    }
    for (i = 0; i < 8; i++) CHECK(in[i] == 100 * previous_rank + i);
    /* None is left. */
    MPI_Waitany(8, requests, &index, &status);
    CHECK(index == MPI_UNDEFINED && status.MPI_SOURCE == MPI_ANY_SOURCE);
    MPI_Waitsome(8, requests, &some, indices, statuses);
    CHECK(some == MPI_UNDEFINED);
    MPI_Testany(8, requests, &index, &flag, &status);
    CHECK(flag && index == MPI_UNDEFINED);
    MPI_Testall(8, requests, &flag, MPI_STATUSES_IGNORE);
    CHECK(flag);
    MPI_Wait(&requests[0], &status);
    CHECK(status.MPI_TAG == MPI_ANY_TAG);
}

static void persistent(void) {
    MPI_Request requests[2];
    int round, flag;
    MPI_Status statuses[2];
    static int large_out[9000], large_in[9000];
    MPI_Recv_init(large_in, 9000, MPI_INT, previous_rank, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(large_out, 9000, MPI_INT, next_rank, 5, MPI_COMM_WORLD, &requests[1]);
    MPI_Test(&requests[0], &flag, &statuses[0]); /* inactive */
    CHECK(flag && statuses[0].MPI_SOURCE == MPI_ANY_SOURCE && requests[0] != MPI_REQUEST_NULL);
    for (round = 0; round < 5; round++) {
        fill(large_out, 9000, me + round);
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, statuses);
        CHECK(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL);
        CHECK(statuses[0].MPI_SOURCE == previous_rank);
        CHECK(is_filled(large_in, 9000, previous_rank + round));
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    CHECK(requests[0] == MPI_REQUEST_NULL);
}

static void buffered(void) {
    char* memory = malloc(100000 + 20 * MPI_BSEND_OVERHEAD);
    void* back = NULL;
    int i, size = 0, failed;
    MPI_Request request;
    MPI_Buffer_attach(memory, 100000 + 20 * MPI_BSEND_OVERHEAD);
    for (i = 0; i < 20; i++) {
        fill(out, 1000, i);
        MPI_Bsend(out, 1000, MPI_INT, next_rank, 40 + i, MPI_COMM_WORLD);
    }
    fill(out, 1000, 20);
    MPI_Ibsend(out, 1000, MPI_INT, next_rank, 60, MPI_COMM_WORLD, &request);
    memset(out, 0, 4000);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    failed = MPI_Bsend(out, LARGEST, MPI_INT, next_rank, 61, MPI_COMM_WORLD);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    CHECK_CLASS(failed, MPI_ERR_BUFFER);
    for (i = 20; i >= 0; i--) {
        MPI_Recv(in, 1000, MPI_INT, previous_rank, 40 + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(is_filled(in, 1000, i));
    }
    MPI_Buffer_detach(&back, &size);
    CHECK(back == memory && size == 100000 + 20 * MPI_BSEND_OVERHEAD);
    free(memory);
}

static void probes(void) {
    MPI_Request request;
    MPI_Status status;
    MPI_Message message;
    int s, flag, count;
    MPI_Iprobe(MPI_ANY_SOURCE, 69, MPI_COMM_WORLD, &flag, &status);
    CHECK(!flag);
    for (s = 0; s < SIZES; s++) {
        fill(out, sizes[s], me + s);
        MPI_Isend(out, sizes[s], MPI_INT, next_rank, 70 + s, MPI_COMM_WORLD, &request);
        MPI_Probe(MPI_ANY_SOURCE, s % 2 ? MPI_ANY_TAG : 70 + s, MPI_COMM_WORLD, &status);
        CHECK(status.MPI_SOURCE == previous_rank && status.MPI_TAG == 70 + s);
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK(count == sizes[s]);
        if (s % 3 == 0) {
            MPI_Recv(in, count, MPI_INT, status.MPI_SOURCE, 70 + s, MPI_COMM_WORLD, &status);
        } else if (s % 3 == 1) {
            MPI_Mprobe(previous_rank, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
            MPI_Iprobe(MPI_ANY_SOURCE, 70 + s, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            CHECK(!flag); /* it is taken */
            MPI_Mrecv(in, count, MPI_INT, &message, &status);
            CHECK(message == MPI_MESSAGE_NULL);
        } else {
            MPI_Request receive;
            do {
                MPI_Improbe(MPI_ANY_SOURCE, 70 + s, MPI_COMM_WORLD, &flag, &message, &status);
            } while (!flag);
            MPI_Imrecv(in, count, MPI_INT, &message, &receive);
            MPI_Wait(&receive, &status);
        }
        CHECK(status.MPI_SOURCE == previous_rank && status.MPI_TAG == 70 + s);
        CHECK(is_filled(in, count, previous_rank + s));
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void null_process(void) {
    MPI_Status status;
    MPI_Request request;
    MPI_Message message;
    int flag, count, value = 17;
    MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && count == 0);
    MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && value == 17);
    /* Nothing has no type. */
    MPI_Irecv(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Recv(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
    MPI_Send(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Iprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &flag, &status);
    CHECK(flag && status.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status);
    CHECK(message == MPI_MESSAGE_NO_PROC);
    MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
    CHECK(message == MPI_MESSAGE_NULL && status.MPI_SOURCE == MPI_PROC_NULL);
}

static void exchanges(void) {
    MPI_Status status;
    MPI_Request request;
    int s;
    for (s = 0; s < SIZES; s++) {
        fill(out, sizes[s], me + 5);
        MPI_Sendrecv_replace(out, sizes[s], MPI_INT, next_rank, 8, previous_rank, 8, MPI_COMM_WORLD,
                             &status);
        CHECK(status.MPI_SOURCE == previous_rank && is_filled(out, sizes[s], previous_rank + 5));
        fill(out, sizes[s], me + 6);
        MPI_Isendrecv(out, sizes[s], MPI_INT, next_rank, 9, in, LARGEST, MPI_INT, previous_rank, 9,
                      MPI_COMM_WORLD, &request);
        MPI_Wait(&request, &status);
        CHECK(status.MPI_SOURCE == previous_rank && is_filled(in, sizes[s], previous_rank + 6));
        MPI_Isendrecv_replace(out, sizes[s], MPI_INT, next_rank, 9, previous_rank, 9,
                              MPI_COMM_WORLD, &request);
        MPI_Wait(&request, &status);
        CHECK(is_filled(out, sizes[s], previous_rank + 6));
    }
    MPI_Sendrecv(out, 1, MPI_INT, me == ranks - 1 ? MPI_PROC_NULL : me + 1, 0, in, 1, MPI_INT,
                 me == 0 ? MPI_PROC_NULL : me - 1, 0, MPI_COMM_WORLD, &status);
    CHECK(status.MPI_SOURCE == (me == 0 ? MPI_PROC_NULL : me - 1));
}

/* Each wrong argument gives the class that the standard says, and nothing is sent. */
static void wrong_arguments(void) {
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Request request = MPI_REQUEST_NULL, inactive;
    MPI_Datatype raw;
    MPI_Status statuses[2];
    MPI_Request two[2];
    int flag, index, indices[2], code;
    MPI_Comm_set_errhandler(w, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Send(out, -1, MPI_INT, 0, 0, w), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Send(out, 1, MPI_INT, ranks, 0, w), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Send(out, 1, MPI_INT, MPI_ANY_SOURCE, 0, w), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Send(out, 1, MPI_INT, 0, -5, w), MPI_ERR_TAG);
    CHECK_CLASS(MPI_Send(out, 1, MPI_INT, 0, MPI_ANY_TAG, w), MPI_ERR_TAG);
    CHECK_CLASS(MPI_Send(out, 1, MPI_DATATYPE_NULL, 0, 0, w), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Send(out, 0, MPI_DATATYPE_NULL, 0, 0, w), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Recv(in, 1, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, w, statuses), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Send(NULL, 1, MPI_INT, 0, 0, w), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Send(out, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Send(out, 1, MPI_INT, 0, 0, (MPI_Comm)out), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Send(out, 1, (MPI_Datatype)MPI_COMM_WORLD, 0, 0, w), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Recv(in, 1, MPI_INT, -7, 0, w, statuses), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Recv(in, 1, MPI_INT, 0, -7, w, statuses), MPI_ERR_TAG);
    CHECK_CLASS(MPI_Irecv(in, 1, MPI_INT, 0, 0, w, NULL), MPI_ERR_ARG);
    MPI_Type_contiguous(3, MPI_INT, &raw);
    CHECK_CLASS(MPI_Send(out, 1, raw, 0, 0, w), MPI_ERR_TYPE);
    MPI_Type_free(&raw);
    CHECK_CLASS(MPI_Start(&request), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Request_free(&request), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Cancel(&request), MPI_ERR_REQUEST);
    request = (MPI_Request)&statuses[0];
    memset(statuses, 0, sizeof statuses);
    CHECK_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    MPI_Recv_init(in, 1, MPI_INT, 0, 0, w, &inactive);
    CHECK_CLASS(MPI_Cancel(&inactive), MPI_ERR_REQUEST);
    request = inactive;
    MPI_Request_free(&inactive);
    CHECK_CLASS(MPI_Start(&request), MPI_ERR_REQUEST); /* freed */
    CHECK_CLASS(MPI_Waitall(-1, two, statuses), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Waitany(1, NULL, &index, statuses), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Probe(ranks, 0, w, statuses), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Iprobe(0, 0, w, NULL, statuses), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Buffer_attach(out, -1), MPI_ERR_ARG);

    /* Truncation: the class in the call, or in the status where there are several. */
    MPI_Send(out, 4, MPI_INT, me, 20, w);
    CHECK_CLASS(MPI_Recv(in, 2, MPI_INT, me, 20, w, statuses), MPI_ERR_TRUNCATE);
    MPI_Irecv(in, 2, MPI_INT, me, 21, w, &two[0]);
    MPI_Irecv(in + 8, 2, MPI_INT, me, 22, w, &two[1]);
    MPI_Send(out, 4, MPI_INT, me, 21, w);
    MPI_Send(out, 2, MPI_INT, me, 22, w);
    code = MPI_Waitall(2, two, statuses);
    CHECK_CLASS(code, MPI_ERR_IN_STATUS);
    CHECK_CLASS(statuses[0].MPI_ERROR, MPI_ERR_TRUNCATE);
    CHECK(statuses[1].MPI_ERROR == MPI_SUCCESS);
    MPI_Irecv(in, 2, MPI_INT, me, 23, w, &two[0]);
    MPI_Send(out, LARGEST, MPI_INT, me == 0 ? MPI_PROC_NULL : MPI_PROC_NULL, 23, w);
    MPI_Send(out, 3, MPI_INT, me, 23, w);
    CHECK_CLASS(MPI_Waitany(1, two, &index, statuses), MPI_ERR_TRUNCATE);
    CHECK(index == 0 && two[0] == MPI_REQUEST_NULL);
    MPI_Testsome(1, two, &flag, indices, statuses);
    CHECK(flag == MPI_UNDEFINED);
    MPI_Comm_set_errhandler(w, MPI_ERRORS_ARE_FATAL);
}

static void queries(void) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, version, subversion, flag;
    double before = MPI_Wtime();
    void* memory = NULL;
    MPI_Get_processor_name(text, &length);
    CHECK(length > 0 && (int)strlen(text) == length);
    MPI_Get_library_version(text, &length);
    CHECK((int)strlen(text) == length && strstr(text, "torusmp") != NULL);
    MPI_Get_version(&version, &subversion);
    CHECK(version == MPI_VERSION && subversion == MPI_SUBVERSION);
    MPI_Initialized(&flag);
    CHECK(flag);
    MPI_Finalized(&flag);
    CHECK(!flag);
    CHECK(MPI_Wtime() >= before && MPI_Wtick() > 0 && MPI_Wtick() < 1e-3);
    MPI_Alloc_mem(1000, MPI_INFO_NULL, &memory);
    memset(memory, 1, 1000);
    MPI_Free_mem(memory);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
#ifndef __SANITIZE_ADDRESS__ /* which ends the program over it */
    CHECK_CLASS(MPI_Alloc_mem((MPI_Aint)1 << 60, MPI_INFO_NULL, &memory), MPI_ERR_NO_MEM);
#endif
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static const Case cases[] = {
    {"modes", modes},
    {"shorter_than_receive", shorter_than_receive},
    {"wildcards_keep_order", wildcards_keep_order},
    {"reverse_order", reverse_order},
    {"completion", completion},
    {"persistent", persistent},
    {"buffered", buffered},
    {"probes", probes},
    {"null_process", null_process},
    {"exchanges", exchanges},
    {"wrong_arguments", wrong_arguments},
    {"queries", queries},
};

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    find_neighbours();
    RUN_CASES(argc, argv, cases);
    MPI_Finalize();
    return 0;
}
