/* SPDX-License-Identifier: BSD-3-Clause */
/* Random views, offsets, hints and calls on one file, against a model of its bytes that every rank
 * keeps; at the end rank 0 reads the file without MPI. Rank 0 is on the host of the disk.
 * "outside": it does not open the file with the others.
 *
 *   file_soak SEED CALLS [FOLDER [outside]]
 */
#include "cases.h"

#include <stdint.h>
#include <unistd.h>

enum { LONGEST = 6000, FILE_ROOM = 1 << 22 };

static uint64_t state;
static unsigned char model[FILE_ROOM];
static long file_size;
static MPI_Comm members;

/* The same on all ranks. */
static long below(long end) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (long)((state >> 33) % (uint64_t)end);
}

static unsigned char byte_of(int call, int rank, long k) {
    uint64_t hash = (uint64_t)call * 1000003u + (uint64_t)rank * 7919u + (uint64_t)k;
    hash *= 0x9e3779b97f4a7c15u;
    return (unsigned char)(hash >> 40);
}

/* Each rank sees rows of the file in turn, or all of it. */
typedef struct {
    long displacement, row; /* row 0: all */
} View;

static long place(const View* view, int rank, long position) {
    if (view->row == 0) return view->displacement + position;
    return view->displacement + rank * view->row + position / view->row * view->row * ranks +
           position % view->row;
}

static MPI_File set_view(MPI_File file, const View* view) {
    static const char* const choices[] = {"automatic", "enable", "disable"};
    char size[32];
    MPI_Datatype row, tile;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", choices[below(3)]);
    MPI_Info_set(info, "romio_cb_read", choices[below(3)]);
    MPI_Info_set(info, "romio_ds_read", choices[below(3)]);
    snprintf(size, sizeof size, "%ld", 4096 + below(60000));
    MPI_Info_set(info, "cb_buffer_size", size);
    snprintf(size, sizeof size, "%ld", 1 + below(ranks));
    MPI_Info_set(info, "cb_nodes", size);
    snprintf(size, sizeof size, "%ld", 1 + below(5000));
    MPI_Info_set(info, "striping_unit", size);
    if (view->row == 0) {
        CHECK(MPI_File_set_view(file, view->displacement, MPI_BYTE, MPI_BYTE, "native", info) ==
              MPI_SUCCESS);
    } else {
        MPI_Type_contiguous((int)view->row, MPI_BYTE, &row);
        MPI_Type_create_resized(row, 0, view->row * ranks, &tile);
        MPI_Type_commit(&tile);
        CHECK(MPI_File_set_view(file, view->displacement + me * view->row, MPI_BYTE, tile, "native",
                                info) == MPI_SUCCESS);
        MPI_Type_free(&row);
        MPI_Type_free(&tile);
    }
    MPI_Info_free(&info);
    return file;
}

/* By rank 0 of all, which has the model from the first member unless it is that one. */
static void compare(const char* path) {
    int here;
    long k;
    MPI_Comm_rank(MPI_COMM_WORLD, &here);
    if (members != MPI_COMM_NULL && me == 0 && here != 0) {
        MPI_Send(&file_size, 1, MPI_LONG, 0, 0, MPI_COMM_WORLD);
        MPI_Send(model, (int)file_size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    if (here == 0) {
        FILE* found;
        if (members == MPI_COMM_NULL) {
            MPI_Recv(&file_size, 1, MPI_LONG, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Recv(model, FILE_ROOM, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        found = fopen(path, "rb");
        CHECK(found != NULL);
        for (k = 0; k < file_size; k++) CHECK(getc(found) == model[k]);
        CHECK(getc(found) == EOF && fclose(found) == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
    static unsigned char memory[2 * LONGEST];
    char path[1200];
    int call, calls, id = (int)getpid(), rank;
    View view = {0, 0};
    MPI_Datatype gaps;
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_split(MPI_COMM_WORLD, argc > 4 && me == 0 ? MPI_UNDEFINED : 0, me, &members);
    state = (uint64_t)(argc > 1 ? atol(argv[1]) : 1);
    calls = argc > 2 ? atoi(argv[2]) : 100;
    MPI_Bcast(&id, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "%.1000s/torusmp_soak_%d", argc > 3 ? argv[3] : "/tmp", id);
    if (members == MPI_COMM_NULL) {
        compare(path);
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(access(path, F_OK) != 0);
        MPI_Finalize();
        return 0;
    }
    MPI_Comm_rank(members, &me);
    MPI_Comm_size(members, &ranks);
    CHECK(MPI_File_open(members, path,
                        MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_DELETE_ON_CLOSE,
                        MPI_INFO_NULL, &file) == MPI_SUCCESS);
    MPI_Type_create_resized(MPI_BYTE, 0, 2, &gaps);
    MPI_Type_commit(&gaps);
    for (call = 0; call < calls; call++) {
        long position[64], bytes[64], got, k;
        const int write = (int)below(2), how = (int)below(8), scattered = (int)below(2);
        const int step = scattered ? 2 : 1;
        MPI_Datatype type = scattered ? gaps : MPI_BYTE;
        MPI_Status status;
        MPI_Request request;
        int count, code = MPI_SUCCESS;
        MPI_Offset size = -1;
        if (below(3) == 0) {
            view.displacement = below(2000);
            view.row = below(3) == 0 ? 0 : 1 + below(below(2) ? 64 : 2000);
            set_view(file, &view);
        }
        for (rank = 0; rank < ranks; rank++) {
            bytes[rank] = below(5) == 0 ? 0 : below(LONGEST);
            position[rank] = below(20000) + (view.row == 0 ? rank * (20000 + LONGEST) : 0);
        }
        if (how == 5) { /* ordered: one behind the other, from where the first is to begin */
            long at = below(20000);
            if (view.row != 0) continue; /* ranks would see different bytes there */
            CHECK(MPI_File_seek_shared(file, at, MPI_SEEK_SET) == MPI_SUCCESS);
            for (rank = 0; rank < ranks; rank++) {
                position[rank] = at;
                at += bytes[rank];
            }
        }
        count = (int)bytes[me];
        memset(memory, 0x55, sizeof memory);
        for (k = 0; write && k < count; k++) memory[step * k] = byte_of(call, me, k);
        switch (how) {
            case 0:
                code = write
                           ? MPI_File_write_at_all(file, position[me], memory, count, type, &status)
                           : MPI_File_read_at_all(file, position[me], memory, count, type, &status);
                break;
            case 1:
                code = write ? MPI_File_write_at(file, position[me], memory, count, type, &status)
                             : MPI_File_read_at(file, position[me], memory, count, type, &status);
                break;
            case 2:
                code =
                    write
                        ? MPI_File_iwrite_at_all(file, position[me], memory, count, type, &request)
                        : MPI_File_iread_at_all(file, position[me], memory, count, type, &request);
                CHECK(code == MPI_SUCCESS);
                MPI_Barrier(members);
                code = MPI_Wait(&request, &status);
                break;
            case 3:
                CHECK(MPI_File_seek(file, position[me], MPI_SEEK_SET) == MPI_SUCCESS);
                code = write ? MPI_File_write_all(file, memory, count, type, &status)
                             : MPI_File_read_all(file, memory, count, type, &status);
                break;
            case 4:
                code = write ? MPI_File_write_at_all_begin(file, position[me], memory, count, type)
                             : MPI_File_read_at_all_begin(file, position[me], memory, count, type);
                CHECK(code == MPI_SUCCESS);
                code = write ? MPI_File_write_at_all_end(file, memory, &status)
                             : MPI_File_read_at_all_end(file, memory, &status);
                break;
            case 6: { /* all at once, each by itself, kept apart by locks */
                CHECK(MPI_File_set_atomicity(file, 1) == MPI_SUCCESS);
                code = write ? MPI_File_write_at(file, position[me], memory, count, type, &status)
                             : MPI_File_read_at(file, position[me], memory, count, type, &status);
                MPI_Barrier(members);
                CHECK(MPI_File_set_atomicity(file, 0) == MPI_SUCCESS);
                break;
            }
            case 7: /* together, as if one after the other */
                CHECK(MPI_File_set_atomicity(file, 1) == MPI_SUCCESS);
                code = write
                           ? MPI_File_write_at_all(file, position[me], memory, count, type, &status)
                           : MPI_File_read_at_all(file, position[me], memory, count, type, &status);
                CHECK(MPI_File_set_atomicity(file, 0) == MPI_SUCCESS);
                CHECK(MPI_File_sync(file) == MPI_SUCCESS);
                break;
            default:
                code = write ? MPI_File_write_ordered(file, memory, count, type, &status)
                             : MPI_File_read_ordered(file, memory, count, type, &status);
                break;
        }
        CHECK(code == MPI_SUCCESS);
        for (rank = 0; write && rank < ranks; rank++)
            for (k = 0; k < bytes[rank]; k++) {
                const long at = place(&view, rank, position[rank] + k);
                CHECK(at < FILE_ROOM);
                model[at] = byte_of(call, rank, k);
                if (at >= file_size) file_size = at + 1;
            }
        MPI_Get_count(&status, MPI_BYTE, &count);
        for (got = 0; got < bytes[me] && place(&view, me, position[me] + got) < file_size; got++) {
        }
        if (count != (write ? bytes[me] : got))
            fprintf(stderr, "rank %d, call %d (%s, way %d): found %d bytes, expected %ld\n", me,
                    call, write ? "write" : "read", how, count, write ? bytes[me] : got);
        CHECK(count == (write ? bytes[me] : got));
        for (k = 0; !write && k < got; k++)
            if (memory[step * k] != model[place(&view, me, position[me] + k)]) {
                fprintf(stderr, "rank %d, call %d (way %d): byte %ld is wrong\n", me, call, how, k);
                CHECK(0);
            }
        for (k = 0; !write && k < (long)sizeof memory; k++) /* what was not read is as it was */
            if (k >= step * got || k % step != 0) CHECK(memory[k] == 0x55);
        MPI_Barrier(members);
        CHECK(MPI_File_get_size(file, &size) == MPI_SUCCESS && size == file_size);
        if (below(20) == 0) {
            const long cut = below(file_size + 1);
            MPI_Barrier(members);
            CHECK(MPI_File_set_size(file, cut) == MPI_SUCCESS);
            memset(model + cut, 0, (size_t)(file_size - cut));
            file_size = cut;
        }
        MPI_Barrier(members);
    }
    compare(path);
    MPI_Type_free(&gaps);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    MPI_Comm_free(&members);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
