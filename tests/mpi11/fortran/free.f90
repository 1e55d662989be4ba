! SPDX-License-Identifier: BSD-3-Clause
! Fortran 90 with the module mpi: the interfaces accept every type and rank of buffer, and
! the additions of MPI-2 and later for Fortran. Works on any number of processes.
module copies
  use mpi
  implicit none
  integer :: deletions = 0
contains
  subroutine one_more(old, key, extra, value_in, value_out, flag, ierror)
    integer :: old, key, ierror
    integer(MPI_ADDRESS_KIND) :: extra, value_in, value_out
    logical :: flag
    value_out = value_in + extra
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine
  subroutine counted(object, key, value, extra, ierror)
    integer :: object, key, ierror
    integer(MPI_ADDRESS_KIND) :: value, extra
    deletions = deletions + 1
    ierror = MPI_SUCCESS
  end subroutine
end module

! Functions of a generalized request. Its extra state is a number, of which each takes note, and
! which the last one changes.
module requests
  use mpi
  implicit none
  integer :: queried = 0, freed = 0, cancelled = 0
  integer(MPI_ADDRESS_KIND) :: state
contains
  subroutine query(extra, status, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    integer :: status(MPI_STATUS_SIZE), ierror
    queried = queried + int(extra)
    call MPI_Status_set_elements(status, MPI_REAL, 7, ierror)
    call MPI_Status_set_cancelled(status, cancelled /= 0, ierror)
    call MPI_Status_set_source(status, 3, ierror)
    call MPI_Status_set_tag(status, 4, ierror)
    ierror = MPI_SUCCESS
  end subroutine
  subroutine ended(extra, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    integer :: ierror
    freed = freed + int(extra)
    extra = extra + 100
    ierror = MPI_SUCCESS
  end subroutine
  subroutine cancel(extra, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    logical :: complete
    integer :: ierror
    cancelled = cancelled + int(extra)
    if (complete) cancelled = -1
    ierror = MPI_SUCCESS
  end subroutine
end module

program free
  use mpi
  implicit none
  integer :: ierr, me, n, provided, version, subversion
  character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: library
  logical :: main

  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierr)
  call check(provided >= MPI_THREAD_FUNNELED, 'thread level')
  call MPI_Is_thread_main(main, ierr)
  call check(main, 'main thread')
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
  call MPI_Get_version(version, subversion, ierr)
  call check(version == MPI_VERSION .and. subversion == MPI_SUBVERSION, 'version')
  call MPI_Get_library_version(library, version, ierr)
  call check(library(1:version) == trim(library), 'library version')
  call buffers
  call memory
  call wide_attributes
  call graphs
  call derived
  call matched
  call duplicated
  call generalized
  call portable
  call dealt
  call short_addresses
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  if (me == 0) print *, 'free form is well'
  call PMPI_Finalize(ierr)
contains
  subroutine check(true, what)
    logical, intent(in) :: true
    character(len=*), intent(in) :: what
    if (true) return
    print *, 'not true: ', what
    call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  end subroutine

  ! Scalars, arrays of any rank, slices, strings and derived types are all buffers.
  subroutine buffers
    type pair
      sequence
      integer :: a
      real :: b
    end type
    integer, parameter :: wide = selected_int_kind(18)
    integer(wide) :: long
    complex(kind(1d0)) :: z(2, 3)
    real :: grid(4, 4)
    character(len=12) :: text
    logical :: truth(2)
    type(pair) :: p
    integer :: requests(2), statuses(MPI_STATUS_SIZE, 2)
    long = 0
    if (me == 0) long = 2_wide**40
    call MPI_Bcast(long, 1, MPI_INTEGER8, 0, MPI_COMM_WORLD, ierr)
    call check(long == 2_wide**40, 'bcast of a scalar')
    z = (0, 0)
    if (me == n - 1) z = (1, -1)
    call MPI_Bcast(z, size(z), MPI_DOUBLE_COMPLEX, n - 1, MPI_COMM_WORLD, ierr)
    call check(z(2, 3) == (1, -1), 'bcast of a matrix')
    grid = me
    if (me == 0) grid(2, :) = [10, 20, 30, 40]
    call MPI_Bcast(grid(2, :), 4, MPI_REAL, 0, MPI_COMM_WORLD, ierr)
    call check(grid(2, 4) == 40, 'bcast of a slice')
    text = ' '
    if (me == 0) text = 'from nought'
    call MPI_Bcast(text, len(text), MPI_CHARACTER, 0, MPI_COMM_WORLD, ierr)
    call check(text == 'from nought', 'bcast of a string')
    truth = me == 0
    call MPI_Allreduce(MPI_IN_PLACE, truth, 2, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, ierr)
    call check(all(truth), 'lor in place')
    p = pair(me, 0.5)
    call MPI_Irecv(p, 1, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_SELF, requests(1), ierr)
    call MPI_Isend(me + 1, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, requests(2), ierr)
    call MPI_Waitall(2, requests, statuses, ierr)
    call check(p%a == me + 1 .and. p%b == 0.5, 'derived type')
    call check(statuses(MPI_SOURCE, 1) == 0, 'statuses')
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
  end subroutine

  subroutine memory
    use, intrinsic :: iso_c_binding
    integer(MPI_ADDRESS_KIND) :: address, other
    integer, target :: here(4)
    type(c_ptr) :: pointer
    integer, pointer :: values(:)
    call MPI_Alloc_mem(64_MPI_ADDRESS_KIND, MPI_INFO_NULL, pointer, ierr)
    call c_f_pointer(pointer, values, [16])
    values = me
    call check(sum(values) == 16 * me, 'allocated memory')
    call MPI_Free_mem(values, ierr)
    call MPI_Alloc_mem(64_MPI_ADDRESS_KIND, MPI_INFO_NULL, address, ierr)
    call check(address /= 0, 'allocated address')
    call c_f_pointer(transfer(address, pointer), values, [16])
    call MPI_Free_mem(values, ierr)
    call MPI_Get_address(here(1), address, ierr)
    call MPI_Get_address(here(3), other, ierr)
    call check(MPI_Aint_diff(other, address) == 8, 'difference of addresses')
    call check(MPI_Aint_add(address, 8_MPI_ADDRESS_KIND) == other, 'sum of addresses')
  end subroutine

  subroutine wide_attributes
    use copies
    integer :: key, type_key, comm, type, copy
    integer(MPI_ADDRESS_KIND) :: value
    integer :: narrow
    logical :: flag
    call MPI_Comm_create_keyval(one_more, counted, key, 2_MPI_ADDRESS_KIND**33, ierr)
    call MPI_Comm_dup(MPI_COMM_SELF, comm, ierr)
    call MPI_Comm_set_attr(comm, key, 5_MPI_ADDRESS_KIND, ierr)
    call MPI_Attr_get(comm, key, narrow, flag, ierr)
    call check(flag .and. narrow == 5, 'wide attribute seen by MPI-1')
    call MPI_Comm_dup(comm, copy, ierr)
    call MPI_Comm_get_attr(copy, key, value, flag, ierr)
    call check(flag .and. value == 2_MPI_ADDRESS_KIND**33 + 5, 'wide attribute copied')
    call MPI_Comm_free(copy, ierr)
    call MPI_Comm_delete_attr(comm, key, ierr)
    call check(deletions == 2, 'attributes deleted')
    call MPI_Comm_free_keyval(key, ierr)
    call MPI_Comm_free(comm, ierr)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierr)
    call check(flag .and. value >= 32767, 'wide tag ub')
    call MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, type_key, &
                                0_MPI_ADDRESS_KIND, ierr)
    call MPI_Type_contiguous(3, MPI_REAL, type, ierr)
    call MPI_Type_set_attr(type, type_key, -7_MPI_ADDRESS_KIND, ierr)
    call MPI_Type_dup(type, copy, ierr)
    call MPI_Type_get_attr(copy, type_key, value, flag, ierr)
    call check(flag .and. value == -7, 'attribute of a type copied')
    call MPI_Type_free(copy, ierr)
    call MPI_Type_free(type, ierr)
    call MPI_Type_free_keyval(type_key, ierr)
  end subroutine

  ! A ring as a distributed graph, without weights; each sends to the next.
  subroutine graphs
    integer :: ring, from(1), to(1), weights(1), indegree, outdegree, got
    integer :: types(1), counts(1)
    integer(MPI_ADDRESS_KIND) :: places(1)
    logical :: weighted
    from = modulo(me - 1, n)
    to = modulo(me + 1, n)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, from, MPI_UNWEIGHTED, 1, to, &
                                        MPI_UNWEIGHTED, MPI_INFO_NULL, .false., ring, ierr)
    call MPI_Dist_graph_neighbors_count(ring, indegree, outdegree, weighted, ierr)
    call check(indegree == 1 .and. outdegree == 1 .and. .not. weighted, 'degrees')
    from = -1
    call MPI_Dist_graph_neighbors(ring, 1, from, MPI_UNWEIGHTED, 1, to, MPI_UNWEIGHTED, ierr)
    call check(from(1) == modulo(me - 1, n), 'neighbours')
    call MPI_Neighbor_allgather(me, 1, MPI_INTEGER, got, 1, MPI_INTEGER, ring, ierr)
    call check(got == modulo(me - 1, n), 'neighbour allgather')
    types = MPI_INTEGER
    counts = 1
    places = 0
    got = -1
    call MPI_Neighbor_alltoallw(me, counts, places, types, got, counts, places, types, ring, ierr)
    call check(got == modulo(me - 1, n), 'neighbour alltoallw')
    call MPI_Comm_free(ring, ierr)
    weights = 3
    call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, [me], [1], to, weights, MPI_INFO_NULL, &
                               .false., ring, ierr)
    call MPI_Dist_graph_neighbors(ring, 1, from, weights, 1, to, counts, ierr)
    call check(weights(1) == 3 .and. counts(1) == 3, 'weights')
    call MPI_Comm_free(ring, ierr)
  end subroutine

  subroutine derived
    integer :: block, resized, cube(4, 4, 4), packed(8)
    integer(MPI_ADDRESS_KIND) :: lb, extent, true_lb, true_extent
    integer(MPI_COUNT_KIND) :: elements
    integer :: i, status(MPI_STATUS_SIZE)
    cube = reshape([(i, i = 1, 64)], [4, 4, 4])
    call MPI_Type_create_subarray(3, [4, 4, 4], [2, 2, 2], [1, 1, 1], MPI_ORDER_FORTRAN, &
                                  MPI_INTEGER, block, ierr)
    call MPI_Type_commit(block, ierr)
    call MPI_Sendrecv(cube, 1, block, 0, 0, packed, 8, MPI_INTEGER, 0, 0, MPI_COMM_SELF, status, &
                      ierr)
    call check(all(packed == reshape(cube(2:3, 2:3, 2:3), [8])), 'subarray')
    call MPI_Get_elements_x(status, MPI_INTEGER, elements, ierr)
    call check(elements == 8, 'elements')
    call MPI_Type_create_resized(block, -4_MPI_ADDRESS_KIND, 400_MPI_ADDRESS_KIND, resized, ierr)
    call MPI_Type_get_extent(resized, lb, extent, ierr)
    call check(lb == -4 .and. extent == 400, 'resized')
    call MPI_Type_get_true_extent(block, true_lb, true_extent, ierr)
    call check(true_lb == 84 .and. true_extent == 88, 'true extent')
    call MPI_Type_free(resized, ierr)
    call MPI_Type_free(block, ierr)
  end subroutine

  subroutine matched
    integer :: message, request, status(MPI_STATUS_SIZE), value
    logical :: flag
    value = 0
    call MPI_Isend(me, 1, MPI_INTEGER, 0, 5, MPI_COMM_SELF, request, ierr)
    call MPI_Mprobe(0, 5, MPI_COMM_SELF, message, status, ierr)
    call check(message /= MPI_MESSAGE_NULL, 'matched message')
    call MPI_Mrecv(value, 1, MPI_INTEGER, message, status, ierr)
    call check(value == me .and. message == MPI_MESSAGE_NULL, 'received message')
    call MPI_Improbe(0, 5, MPI_COMM_SELF, flag, message, MPI_STATUS_IGNORE, ierr)
    call check(.not. flag, 'no more messages')
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  end subroutine
  ! The copies are given when the requests end, long after the calls.
  subroutine duplicated
    integer :: copies(3), requests(3), info, result, sum, i
    logical :: flag
    copies = -1
    call MPI_Info_create(info, ierr)
    call MPI_Info_set(info, 'mpi_assert_no_any_tag', 'true', ierr)
    call MPI_Comm_idup(MPI_COMM_WORLD, copies(1), requests(1), ierr)
    call MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, copies(2), requests(2), ierr)
    call PMPI_Comm_idup(MPI_COMM_SELF, copies(3), requests(3), ierr)
    call MPI_Info_free(info, ierr)
    sum = overwritten(200)
    call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE, ierr)
    call check(ierr == MPI_SUCCESS .and. all(requests == MPI_REQUEST_NULL), 'copies complete')
    do i = 1, 3
      call check(copies(i) /= -1 .and. copies(i) /= MPI_COMM_NULL, 'a copy is given')
      call MPI_Comm_compare(copies(i), merge(MPI_COMM_SELF, MPI_COMM_WORLD, i == 3), result, ierr)
      call check(result == MPI_CONGRUENT, 'a copy is congruent')
    end do
    call MPI_Allreduce(me, sum, 1, MPI_INTEGER, MPI_SUM, copies(1), ierr)
    call check(sum == n * (n - 1) / 2, 'a copy works')
    call MPI_Comm_get_info(copies(2), info, ierr)
    call MPI_Info_get_valuelen(info, 'mpi_assert_no_any_tag', i, flag, ierr)
    call check(flag .and. i == 4, 'a copy has its info')
    call MPI_Info_free(info, ierr)
    do i = 1, 3
      call MPI_Comm_free(copies(i), ierr)
    end do
  end subroutine
  ! The stack below the caller is used again.
  recursive integer function overwritten(depth) result(sum)
    integer, intent(in) :: depth
    integer :: block(64)
    block = depth
    sum = block(1 + modulo(depth, 64))
    if (depth > 1) sum = sum + overwritten(depth - 1)
  end function
  subroutine generalized
    use requests
    integer :: request, copy, status(MPI_STATUS_SIZE), count, source
    logical :: flag
    state = 5
    call MPI_Grequest_start(query, ended, cancel, state, request, ierr)
    copy = request
    call MPI_Test(request, flag, status, ierr)
    call check(.not. flag .and. queried == 0, 'a generalized request under way')
    call MPI_Cancel(request, ierr)
    call check(cancelled == 5, 'cancel function')
    call MPI_Grequest_complete(copy, ierr)
    call MPI_Wait(request, status, ierr)
    call check(request == MPI_REQUEST_NULL .and. queried == 5 .and. freed == 5, 'functions called')
    call MPI_Get_count(status, MPI_REAL, count, ierr)
    call MPI_Test_cancelled(status, flag, ierr)
    call MPI_Status_get_source(status, source, ierr)
    call check(count == 7 .and. flag .and. status(MPI_TAG) == 4 .and. source == 3, 'filled status')
    call check(state == 105, 'extra state is the variable itself')
    state = 6
    call MPI_Grequest_start(query, ended, cancel, state, request, ierr)
    copy = request
    call MPI_Request_free(request, ierr)
    call check(freed == 5, 'freed while under way')
    call MPI_Grequest_complete(copy, ierr)
    call check(freed == 11 .and. queried == 5, 'complete after it was freed')
  end subroutine

  subroutine portable
    integer, parameter :: wide = selected_int_kind(18)
    integer :: numbers(3)
    integer(MPI_ADDRESS_KIND) :: size, position
    character(len=1) :: packed(20)
    logical :: truths(2)
    numbers = [1, -2, 2**20]
    call MPI_Pack_external_size('external32', 3, MPI_INTEGER, size, ierr)
    call check(size == 12, 'external size')
    position = 0
    call MPI_Pack_external('external32', numbers, 3, MPI_INTEGER, packed, &
                           20_MPI_ADDRESS_KIND, position, ierr)
    call MPI_Pack_external('external32   ', [.true., .false.], 2, MPI_LOGICAL, packed, &
                           20_MPI_ADDRESS_KIND, position, ierr)
    call check(position == 20, 'external position')
    call check(ichar(packed(4)) == 1 .and. ichar(packed(8)) == 254 .and. ichar(packed(10)) == 16, &
               'external bytes')
    numbers = 0
    truths = [.false., .true.]
    position = 0
    call MPI_Unpack_external('external32', packed, 20_MPI_ADDRESS_KIND, position, numbers, 3, &
                             MPI_INTEGER, ierr)
    call MPI_Unpack_external('external32', packed, 20_MPI_ADDRESS_KIND, position, truths, 2, &
                             MPI_LOGICAL, ierr)
    call check(numbers(2) == -2 .and. numbers(3) == 2**20 .and. truths(1) .and. .not. truths(2), &
               'back from outside')
  end subroutine

  ! A matrix of 5 rows in all and 7 columns, dealt by pairs of columns to two.
  subroutine dealt
    integer :: type, matrix(5, 7), packed(35), position, i, combiner, ni, na, nd
    matrix = reshape([(i, i = 1, 35)], [5, 7])
    call MPI_Type_create_darray(2, 1, 2, [5, 7], [MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_CYCLIC], &
                                [MPI_DISTRIBUTE_DFLT_DARG, 2], [1, 2], MPI_ORDER_FORTRAN, &
                                MPI_INTEGER, type, ierr)
    call MPI_Type_commit(type, ierr)
    position = 0
    call MPI_Pack(matrix, 1, type, packed, 140, position, MPI_COMM_WORLD, ierr)
    call check(position == 60, 'size of a part')
    call check(all(packed(1:15) == [(i, i = 11, 20), (i, i = 31, 35)]), 'the part itself')
    call MPI_Type_get_envelope(type, ni, na, nd, combiner, ierr)
    call check(combiner == MPI_COMBINER_DARRAY .and. ni == 12, 'envelope of a part')
    call MPI_Type_free(type, ierr)
  end subroutine

  ! An INTEGER that cannot hold an address is not taken for one.
  subroutine short_addresses
    integer, target :: first, second
    integer :: type, outer, places(2), lengths(2), types(2), packed(2), position, code, class
    integer :: combiner, ni, na, nd, integers(5), inner(2)
    integer(MPI_ADDRESS_KIND) :: whole, none(1)
    first = 1
    second = 2
    lengths = 1
    types = MPI_INTEGER
    call MPI_Address(first, places(1), ierr)
    call MPI_Address(second, places(2), ierr)
    call MPI_Get_address(first, whole, ierr)
    call MPI_Type_struct(2, lengths, places, types, type, ierr)
    call MPI_Type_contiguous(1, type, outer, ierr)
    call MPI_Type_commit(outer, ierr)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
    position = 0
    if (whole == places(1)) then
      call MPI_Pack(MPI_BOTTOM, 1, outer, packed, 8, position, MPI_COMM_WORLD, code)
      call check(code == MPI_SUCCESS .and. all(packed == [1, 2]), 'short addresses')
    else
      call MPI_Pack(MPI_BOTTOM, 1, outer, packed, 8, position, MPI_COMM_WORLD, code)
      call MPI_Error_class(code, class, ierr)
      call check(class == MPI_ERR_BUFFER .and. position == 0, 'halves of addresses')
    end if
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, ierr)
    call MPI_Type_free(outer, ierr)
    call MPI_Type_get_envelope(type, ni, na, nd, combiner, ierr)
    call check(combiner == MPI_COMBINER_STRUCT_INTEGER, 'combiner of a struct')
    call check(ni == 5 .and. na == 0 .and. nd == 2, 'envelope of a struct')
    call MPI_Type_get_contents(type, 5, 0, 2, integers, none, inner, ierr)
    call check(all(integers == [2, 1, 1, places]) .and. inner(2) == MPI_INTEGER, &
               'contents of a struct')
    call MPI_Type_free(type, ierr)
    ! Differences are right, from a buffer.
    places = places - places(1)
    call MPI_Type_hindexed(2, lengths, places, MPI_INTEGER, type, ierr)
    call MPI_Type_get_envelope(type, ni, na, nd, combiner, ierr)
    call check(combiner == MPI_COMBINER_HINDEXED_INTEGER .and. ni == 5 .and. na == 0, 'hindexed')
    call MPI_Type_commit(type, ierr)
    call MPI_Pack(first, 1, type, packed, 8, position, MPI_COMM_WORLD, ierr)
    call check(position == 8 .and. all(packed == [1, 2]), 'differences of addresses')
    call MPI_Type_free(type, ierr)
    call MPI_Type_hvector(3, 1, 24, MPI_INTEGER, type, ierr)
    call MPI_Type_get_envelope(type, ni, na, nd, combiner, ierr)
    call MPI_Type_get_contents(type, 3, 0, 1, integers, none, inner, ierr)
    call check(combiner == MPI_COMBINER_HVECTOR_INTEGER .and. ni == 3 .and. na == 0, 'hvector')
    call check(all(integers(1:3) == [3, 1, 24]), 'contents of an hvector')
    call MPI_Type_free(type, ierr)
  end subroutine
end program
