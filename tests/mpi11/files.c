/* SPDX-License-Identifier: BSD-3-Clause */
/* Files: opening, views, pointers, all ways to read and write. The folder is $TORUSMP_TEST_FOLDER,
 * or /tmp. */
#include "cases.h"

#include <sys/stat.h>
#include <unistd.h>

static char path[4096];

/* A name that all ranks know, and no other program uses. */
static void name_file(void) {
    const char* folder = getenv("TORUSMP_TEST_FOLDER");
    int id = (int)getpid();
    MPI_Bcast(&id, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "%s/torusmp_files_%d", folder != NULL ? folder : "/tmp", id);
}

static MPI_File open_file(int amode) {
    MPI_File file = MPI_FILE_NULL;
    CHECK(MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    CHECK(file != MPI_FILE_NULL);
    return file;
}
static MPI_File new_file(void) {
    return open_file(MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_DELETE_ON_CLOSE);
}
static void close_file(MPI_File* file) {
    CHECK(MPI_File_close(file) == MPI_SUCCESS);
    CHECK(*file == MPI_FILE_NULL);
}

static int count_of(const MPI_Status* status, MPI_Datatype type) {
    int count = -1;
    MPI_Get_count(status, type, &count);
    return count;
}

static void opening(void) {
    MPI_File file = MPI_FILE_NULL;
    MPI_Offset size = -1;
    MPI_Group group, world;
    int amode = 0, same = 0;
    struct stat facts;
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
                MPI_ERR_NO_SUCH_FILE);
    CHECK(file == MPI_FILE_NULL);
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE, MPI_INFO_NULL, &file),
                MPI_ERR_AMODE);
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY | MPI_MODE_CREATE,
                              MPI_INFO_NULL, &file),
                MPI_ERR_AMODE);
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL,
                              MPI_INFO_NULL, &file),
                MPI_ERR_AMODE);
    if (ranks > 1)
        CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, path,
                                  MPI_MODE_CREATE | (me == 1 ? MPI_MODE_WRONLY : MPI_MODE_RDWR),
                                  MPI_INFO_NULL, &file),
                    MPI_ERR_NOT_SAME);
    file = open_file(MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL);
    CHECK(MPI_File_get_amode(file, &amode) == MPI_SUCCESS);
    CHECK(amode == (MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL));
    MPI_File_get_group(file, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(group, world, &same);
    CHECK(same == MPI_IDENT);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    CHECK(MPI_File_set_size(file, 1000) == MPI_SUCCESS);
    CHECK(MPI_File_get_size(file, &size) == MPI_SUCCESS && size == 1000);
    CHECK(MPI_File_preallocate(file, 5000) == MPI_SUCCESS);
    CHECK(MPI_File_get_size(file, &size) == MPI_SUCCESS && size == 5000);
    CHECK_CLASS(MPI_File_set_size(file, -1), MPI_ERR_ARG);
    CHECK(MPI_File_f2c(MPI_File_c2f(file)) == file);
    CHECK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
    close_file(&file);
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL,
                              MPI_INFO_NULL, &file),
                MPI_ERR_FILE_EXISTS);
    file = open_file(MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE);
    CHECK_CLASS(MPI_File_set_size(file, 10), MPI_ERR_READ_ONLY);
    CHECK_CLASS(MPI_File_write_at(file, 0, &size, 1, MPI_OFFSET, MPI_STATUS_IGNORE),
                MPI_ERR_READ_ONLY);
    close_file(&file);
    CHECK(stat(path, &facts) != 0);
    CHECK_CLASS(MPI_File_close(&file), MPI_ERR_FILE);
    CHECK_CLASS(MPI_File_delete(path, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Each rank its own part, by offset, by pointer, waiting or not. */
static void parts(void) {
    enum { N = 1000 };
    int data[N], back[N], i;
    MPI_Offset position = -1, bytes = -1;
    MPI_Status status;
    MPI_Request requests[2];
    MPI_File file = new_file();
    for (i = 0; i < N; i++) data[i] = 100000 * me + i;
    CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_write_at(file, (MPI_Offset)me * N, data, N, MPI_INT, &status) == MPI_SUCCESS);
    CHECK(count_of(&status, MPI_INT) == N);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_seek(file, (MPI_Offset)((me + 1) % ranks) * N, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK(MPI_File_read(file, back, N / 2, MPI_INT, &status) == MPI_SUCCESS);
    CHECK(MPI_File_get_position(file, &position) == MPI_SUCCESS);
    CHECK(position == (MPI_Offset)((me + 1) % ranks) * N + N / 2);
    CHECK(MPI_File_get_byte_offset(file, position, &bytes) == MPI_SUCCESS && bytes == 4 * position);
    CHECK(MPI_File_iread(file, back + N / 2, N / 2, MPI_INT, requests) == MPI_SUCCESS);
    CHECK(MPI_Wait(requests, &status) == MPI_SUCCESS && count_of(&status, MPI_INT) == N / 2);
    for (i = 0; i < N; i++) CHECK(back[i] == 100000 * ((me + 1) % ranks) + i);
    /* At the end of the file there is less than was asked for. */
    CHECK(MPI_File_read_at(file, (MPI_Offset)ranks * N - 3, back, N, MPI_INT, &status) ==
          MPI_SUCCESS);
    CHECK(count_of(&status, MPI_INT) == 3);
    CHECK(MPI_File_seek(file, 0, MPI_SEEK_END) == MPI_SUCCESS);
    CHECK(MPI_File_get_position(file, &position) == MPI_SUCCESS &&
          position == (MPI_Offset)ranks * N);
    CHECK(MPI_File_read(file, back, 1, MPI_INT, &status) == MPI_SUCCESS);
    CHECK(count_of(&status, MPI_INT) == 0);
    CHECK_CLASS(MPI_File_seek(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
    CHECK_CLASS(MPI_File_read_at(file, -1, back, 1, MPI_INT, &status), MPI_ERR_ARG);
    CHECK_CLASS(MPI_File_read_at(file, 0, back, -1, MPI_INT, &status), MPI_ERR_COUNT);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_iwrite_at_all(file, (MPI_Offset)me * N, back, 0, MPI_INT, requests) ==
          MPI_SUCCESS);
    CHECK(MPI_File_iread_at_all(file, (MPI_Offset)me * N, back, N, MPI_INT, requests + 1) ==
          MPI_SUCCESS);
    CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    for (i = 0; i < N; i++) CHECK(back[i] == data[i]);
    close_file(&file);
}

/* Rows of a matrix that all ranks write, each its columns; every way of moving them. */
static void columns(void) {
    enum { ROWS = 300, WIDE = 37 };
    static int mine[ROWS][WIDE], back[ROWS][WIDE], all[ROWS][WIDE * 8];
    int sizes[2], subsizes[2] = {ROWS, WIDE}, starts[2], row, column, way;
    MPI_Datatype part;
    MPI_Status status;
    sizes[0] = ROWS;
    sizes[1] = WIDE * ranks;
    starts[0] = 0;
    starts[1] = WIDE * me;
    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &part);
    MPI_Type_commit(&part);
    for (way = 0; way < 4; way++) {
        MPI_File file = new_file();
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, "romio_cb_write",
                     way == 0   ? "automatic"
                     : way == 1 ? "enable"
                                : "disable");
        MPI_Info_set(info, "romio_cb_read", way == 2 ? "enable" : "automatic");
        MPI_Info_set(info, "cb_buffer_size", way == 1 ? "4096" : "1000000");
        for (row = 0; row < ROWS; row++)
            for (column = 0; column < WIDE; column++)
                mine[row][column] = 1 + (way * ROWS + row) * 1000 + WIDE * me + column;
        CHECK(MPI_File_set_view(file, 12, MPI_INT, part, "native", info) == MPI_SUCCESS);
        MPI_Info_free(&info);
        if (way == 3) {
            CHECK(MPI_File_write_all_begin(file, mine, ROWS * WIDE, MPI_INT) == MPI_SUCCESS);
            CHECK(MPI_File_write_all_end(file, mine, &status) == MPI_SUCCESS);
        } else {
            CHECK(MPI_File_write_all(file, mine, ROWS * WIDE, MPI_INT, &status) == MPI_SUCCESS);
        }
        CHECK(count_of(&status, MPI_INT) == ROWS * WIDE);
        CHECK(MPI_File_seek(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
        memset(back, 0, sizeof back);
        CHECK(MPI_File_read_all(file, back, ROWS * WIDE, MPI_INT, &status) == MPI_SUCCESS);
        CHECK(count_of(&status, MPI_INT) == ROWS * WIDE);
        CHECK(memcmp(back, mine, sizeof mine) == 0);
        CHECK(MPI_File_set_view(file, 12, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) ==
              MPI_SUCCESS);
        CHECK(MPI_File_read_at(file, 0, all, ROWS * WIDE * ranks, MPI_INT, &status) == MPI_SUCCESS);
        for (row = 0; row < ROWS; row++)
            for (column = 0; column < WIDE * ranks; column++)
                CHECK((&all[0][0])[row * WIDE * ranks + column] ==
                      1 + (way * ROWS + row) * 1000 + column);
        MPI_Barrier(MPI_COMM_WORLD);
        close_file(&file);
    }
    MPI_Type_free(&part);
}

static void shared_pointer(void) {
    enum { TIMES = 50 };
    int i, seen[TIMES * 8] = {0}, all[TIMES * 8], value;
    MPI_Offset position = -1;
    MPI_Status status;
    MPI_File file = new_file();
    CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    for (i = 0; i < TIMES; i++) {
        value = me * TIMES + i;
        CHECK(MPI_File_write_shared(file, &value, 1, MPI_INT, &status) == MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_get_position_shared(file, &position) == MPI_SUCCESS);
    CHECK(position == (MPI_Offset)TIMES * ranks);
    CHECK(MPI_File_read_at_all(file, 0, all, TIMES * ranks, MPI_INT, &status) == MPI_SUCCESS);
    for (i = 0; i < TIMES * ranks; i++) seen[all[i]]++;
    for (i = 0; i < TIMES * ranks; i++) CHECK(seen[i] == 1);
    /* In the order of ranks, each as much as its number says. */
    CHECK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    for (i = 0; i <= me; i++) all[i] = me;
    CHECK(MPI_File_write_ordered(file, all, me + 1, MPI_INT, &status) == MPI_SUCCESS);
    CHECK(count_of(&status, MPI_INT) == me + 1);
    CHECK(MPI_File_write_ordered_begin(file, all, me + 1, MPI_INT) == MPI_SUCCESS);
    CHECK_CLASS(MPI_File_write_all(file, all, 0, MPI_INT, &status), MPI_ERR_OTHER);
    CHECK(MPI_File_write_ordered_end(file, all, &status) == MPI_SUCCESS);
    CHECK(MPI_File_seek_shared(file, -(MPI_Offset)ranks * (ranks + 1) / 2, MPI_SEEK_CUR) ==
          MPI_SUCCESS);
    CHECK(MPI_File_get_position_shared(file, &position) == MPI_SUCCESS);
    CHECK(position == (MPI_Offset)ranks * (ranks + 1) / 2);
    memset(all, 0xff, sizeof all);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_read_ordered(file, all, me + 1, MPI_INT, &status) == MPI_SUCCESS);
    for (i = 0; i <= me; i++) CHECK(all[i] == me);
    CHECK_CLASS(MPI_File_seek_shared(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
    close_file(&file);
    /* Sequential files know no other pointer. */
    file = open_file(MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_SEQUENTIAL |
                     MPI_MODE_DELETE_ON_CLOSE);
    CHECK(MPI_File_write_shared(file, &value, 1, MPI_INT, &status) == MPI_SUCCESS);
    CHECK_CLASS(MPI_File_seek(file, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK_CLASS(MPI_File_write_at(file, 0, &value, 1, MPI_INT, &status),
                MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK_CLASS(MPI_File_read_shared(file, &value, 1, MPI_INT, &status), MPI_ERR_ACCESS);
    close_file(&file);
    /* One that is appended to. */
    file = open_file(MPI_MODE_RDWR | MPI_MODE_CREATE);
    CHECK(MPI_File_set_size(file, 100) == MPI_SUCCESS);
    close_file(&file);
    file = open_file(MPI_MODE_RDWR | MPI_MODE_APPEND | MPI_MODE_DELETE_ON_CLOSE);
    CHECK(MPI_File_get_position(file, &position) == MPI_SUCCESS && position == 100);
    CHECK(MPI_File_get_position_shared(file, &position) == MPI_SUCCESS && position == 100);
    close_file(&file);
}

static int doubled_extent(MPI_Datatype type, MPI_Aint* extent, void* extra) {
    MPI_Aint lb;
    ++*(int*)extra;
    MPI_Type_get_extent(type, &lb, extent);
    *extent *= 2;
    return MPI_SUCCESS;
}
static int double_out(void* user, MPI_Datatype type, int count, void* out, MPI_Offset position,
                      void* extra) {
    int i;
    (void)position, (void)extra;
    CHECK(type == MPI_INT);
    for (i = 0; i < count; i++) {
        ((int*)out)[2 * i] = ((int*)user)[i];
        ((int*)out)[2 * i + 1] = ~((int*)user)[i];
    }
    return MPI_SUCCESS;
}
static int double_in(void* user, MPI_Datatype type, int count, void* in, MPI_Offset position,
                     void* extra) {
    int i;
    (void)position, (void)extra, (void)type;
    for (i = 0; i < count; i++) {
        if (((int*)in)[2 * i + 1] != ~((int*)in)[2 * i]) return MPI_ERR_OTHER;
        ((int*)user)[i] = ((int*)in)[2 * i];
    }
    return MPI_SUCCESS;
}

static void representations(void) {
    static int called;
    int data[20], back[20], i;
    long words[3] = {1, -2, 3}, words_back[3];
    unsigned char bytes[80];
    char name[MPI_MAX_DATAREP_STRING];
    MPI_Offset displacement = -1;
    MPI_Aint extent = -1;
    MPI_Datatype every_other, etype, filetype;
    MPI_Status status;
    MPI_File file = new_file();
    for (i = 0; i < 20; i++) data[i] = 1000 * me + i + 1;
    CHECK(MPI_File_set_view(file, (MPI_Offset)me * 80, MPI_INT, MPI_INT, "external32",
                            MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_write(file, data, 20, MPI_INT, &status) == MPI_SUCCESS);
    CHECK(count_of(&status, MPI_INT) == 20);
    CHECK(MPI_File_read_at_all(file, 10, back, 10, MPI_INT, &status) == MPI_SUCCESS);
    CHECK(memcmp(back, data + 10, 10 * sizeof(int)) == 0 && count_of(&status, MPI_INT) == 10);
    CHECK(MPI_File_get_view(file, &displacement, &etype, &filetype, name) == MPI_SUCCESS);
    CHECK(displacement == me * 80 && etype == MPI_INT && strcmp(name, "external32") == 0);
    CHECK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_read_at(file, (MPI_Offset)me * 80, bytes, 80, MPI_BYTE, &status) == MPI_SUCCESS);
    for (i = 0; i < 20; i++)
        CHECK((bytes[4 * i] << 24 | bytes[4 * i + 1] << 16 | bytes[4 * i + 2] << 8 |
               bytes[4 * i + 3]) == data[i]);
    /* A long takes less room there, and a filetype of longs is made of what is in the file. */
    MPI_Type_vector(2, 1, 2, MPI_LONG, &every_other);
    MPI_Type_commit(&every_other);
    CHECK(MPI_File_set_view(file, (MPI_Offset)me * 80, MPI_LONG, every_other, "external32",
                            MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_get_type_extent(file, MPI_LONG, &extent) == MPI_SUCCESS);
    CHECK(MPI_File_write_at(file, 0, words, 3, MPI_LONG, &status) == MPI_SUCCESS);
    CHECK(MPI_File_read_at(file, 0, words_back, 3, MPI_LONG, &status) == MPI_SUCCESS);
    CHECK(memcmp(words, words_back, sizeof words) == 0);
    CHECK(MPI_File_get_byte_offset(file, 1, &displacement) == MPI_SUCCESS);
    CHECK(displacement == me * 80 + 2 * extent);
    MPI_Type_free(&every_other);
    /* One of the program. */
    CHECK(MPI_Register_datarep("doubled", double_in, double_out, doubled_extent, &called) ==
          MPI_SUCCESS);
    CHECK_CLASS(MPI_Register_datarep("doubled", double_in, double_out, doubled_extent, &called),
                MPI_ERR_DUP_DATAREP);
    CHECK(MPI_File_set_view(file, (MPI_Offset)me * 160, MPI_INT, MPI_INT, "doubled",
                            MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(called > 0);
    CHECK(MPI_File_write_at_all(file, 0, data, 20, MPI_INT, &status) == MPI_SUCCESS);
    CHECK(MPI_File_read_at_all(file, 5, back, 15, MPI_INT, &status) == MPI_SUCCESS);
    CHECK(memcmp(back, data + 5, 15 * sizeof(int)) == 0);
    CHECK(MPI_File_get_type_extent(file, MPI_INT, &extent) == MPI_SUCCESS && extent == 8);
    CHECK_CLASS(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "nothing", MPI_INFO_NULL),
                MPI_ERR_UNSUPPORTED_DATAREP);
    close_file(&file);
}

static int handled, handled_code;
static MPI_File handled_file;
static void handle(MPI_File* file, int* code, ...) {
    int amode = 0;
    handled++;
    handled_code = *code;
    handled_file = *file;
    if (*file != MPI_FILE_NULL) CHECK(MPI_File_get_amode(*file, &amode) == MPI_SUCCESS);
}

static void handlers(void) {
    MPI_Errhandler handler, found;
    MPI_File file = MPI_FILE_NULL;
    int value = 0;
    CHECK(MPI_File_get_errhandler(MPI_FILE_NULL, &found) == MPI_SUCCESS);
    CHECK(found == MPI_ERRORS_RETURN);
    CHECK(MPI_File_create_errhandler(handle, &handler) == MPI_SUCCESS);
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, handler) == MPI_SUCCESS);
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
                MPI_ERR_NO_SUCH_FILE);
    CHECK(handled == 1 && handled_file == MPI_FILE_NULL);
    file = new_file();
    CHECK(MPI_File_get_errhandler(file, &found) == MPI_SUCCESS && found == handler);
    CHECK(MPI_Errhandler_free(&found) == MPI_SUCCESS);
    CHECK_CLASS(MPI_File_seek(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
    CHECK(handled == 2 && handled_file == file && handled_code == MPI_ERR_ARG);
    CHECK(MPI_File_call_errhandler(file, MPI_ERR_IO) == MPI_SUCCESS);
    CHECK(handled == 3 && handled_code == MPI_ERR_IO);
    CHECK(MPI_File_set_errhandler(file, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK_CLASS(MPI_File_read_at(file, -1, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ARG);
    CHECK(handled == 3);
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    /* The error handler of a failed close still gets the file, which is then closed. */
    CHECK(MPI_File_set_errhandler(file, handler) == MPI_SUCCESS);
    MPI_Errhandler_free(&handler);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) CHECK(unlink(path) == 0);
    handled_file = file;
    CHECK_CLASS(MPI_File_close(&file), MPI_ERR_NO_SUCH_FILE);
    CHECK(handled == 4 && file == MPI_FILE_NULL);
}

/* Wrong arguments of one rank end the call on all ranks, and the next call works. */
static void one_is_wrong(void) {
    int value = me, back = -1, wrong = ranks - 1;
    MPI_Request request;
    MPI_File file = new_file();
    CHECK_CLASS(MPI_File_write_at_all(file, me == wrong ? -5 : 4 * me, &value, 1, MPI_INT,
                                      MPI_STATUS_IGNORE),
                MPI_ERR_ARG);
    CHECK(MPI_File_iread_at_all(file, 0, &back, me == wrong ? -1 : 0, MPI_INT, &request) ==
          MPI_SUCCESS);
    CHECK_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
    CHECK(MPI_File_write_at_all(file, 4 * me, &value, 1, MPI_INT, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(MPI_File_read_at_all(file, 4 * me, &back, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(back == me);
    close_file(&file);
}

/* Overlapping writes in atomic mode: all of one, or all of the other. */
static void atomic(void) {
    enum { N = 4096 };
    static int data[2 * N], back[N];
    int i, round, flag = 0;
    MPI_Datatype gaps;
    MPI_File file = new_file();
    MPI_Type_vector(N, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    CHECK(MPI_File_set_view(file, 0, MPI_INT, gaps, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_set_atomicity(file, 1) == MPI_SUCCESS);
    CHECK(MPI_File_get_atomicity(file, &flag) == MPI_SUCCESS && flag == 1);
    for (i = 0; i < N; i++) data[i] = me;
    for (round = 0; round < 10; round++) {
        CHECK(MPI_File_write_at(file, 0, data, N, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_File_read_at(file, 0, back, N, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        for (i = 1; i < N; i++) CHECK(back[i] == back[0]);
        CHECK(MPI_File_write_at_all(file, 0, data, N, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_File_read_at_all(file, 0, back, N, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        for (i = 1; i < N; i++) CHECK(back[i] == back[0]);
    }
    MPI_Type_free(&gaps);
    close_file(&file);
}

/* A filetype longer than its extent, as HDF5 makes them for chunks: one tile, and nothing behind
 * it. */
static void longer_than_its_extent(void) {
    enum { ROWS = 50, WIDE = 3, N = ROWS * WIDE };
    int data[N + 1], back[N + 1], row, way, i;
    static int all[N * 64];
    MPI_Datatype rows, chunk;
    MPI_Status status;
    MPI_File file = new_file();
    MPI_Type_vector(ROWS, WIDE, WIDE * ranks, MPI_INT, &rows);
    MPI_Type_create_resized(rows, 0, WIDE * sizeof(int), &chunk);
    MPI_Type_commit(&chunk);
    CHECK(MPI_File_set_view(file, (MPI_Offset)(me * WIDE * sizeof(int)), MPI_INT, chunk, "native",
                            MPI_INFO_NULL) == MPI_SUCCESS);
    for (way = 0; way < 2; way++) {
        for (i = 0; i <= N; i++) data[i] = 1000000 * way + 10000 * me + i;
        CHECK((way == 0
                   ? MPI_File_write_at(file, 0, data, N, MPI_INT, &status)
                   : MPI_File_write_at_all(file, 0, data, N, MPI_INT, &status)) == MPI_SUCCESS);
        CHECK(count_of(&status, MPI_INT) == N);
        CHECK((way == 0
                   ? MPI_File_read_at(file, 1, back, N - 1, MPI_INT, &status)
                   : MPI_File_read_at_all(file, 1, back, N - 1, MPI_INT, &status)) == MPI_SUCCESS);
        CHECK(count_of(&status, MPI_INT) == N - 1 && memcmp(back, data + 1, 4 * (N - 1)) == 0);
        if (ranks > 1) {
            CHECK_CLASS(MPI_File_write_at(file, 1, data, N, MPI_INT, &status), MPI_ERR_IO);
            CHECK_CLASS(MPI_File_read_at(file, N + 5, back, 1, MPI_INT, &status), MPI_ERR_IO);
            CHECK_CLASS(MPI_File_write_at_all(file, 0, data, me == 1 ? N + 1 : N, MPI_INT, &status),
                        MPI_ERR_IO);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_read_at_all(file, 0, all, N * ranks + 1, MPI_INT, &status) == MPI_SUCCESS);
    CHECK(count_of(&status, MPI_INT) == N * ranks);
    for (row = 0; row < ROWS; row++)
        for (i = 0; i < WIDE * ranks; i++)
            CHECK(all[row * WIDE * ranks + i] ==
                  1000000 + 10000 * (i / WIDE) + row * WIDE + i % WIDE);
    MPI_Type_free(&chunk);
    MPI_Type_free(&rows);
    close_file(&file);
}

int main(int argc, char** argv) {
    static const Case cases[] = {{"opening", opening},
                                 {"parts", parts},
                                 {"columns", columns},
                                 {"shared_pointer", shared_pointer},
                                 {"representations", representations},
                                 {"handlers", handlers},
                                 {"one_is_wrong", one_is_wrong},
                                 {"atomic", atomic},
                                 {"longer_than_its_extent", longer_than_its_extent}};
    MPI_Init(&argc, &argv);
    name_file();
    RUN_CASES(argc, argv, cases);
    MPI_Finalize();
    return 0;
}
