! SPDX-License-Identifier: BSD-3-Clause
C     Fortran and C in one program: handles, statuses, attributes and
C     addresses that one made and the other uses.
      PROGRAM MIXED
      INCLUDE 'mpif.h'
      INTEGER IERR, COMM, TYPE, REQ, STATUS(MPI_STATUS_SIZE), KEY, VALUE
      INTEGER IN, CKEY, WELL, FROMC, N
      INTEGER(KIND=MPI_ADDRESS_KIND) WIDE
      EXTERNAL WELL, FROMC
      LOGICAL FLAG
      COMMON /SHARED/ IN
      CALL MPI_INIT(IERR)
      CALL MPI_COMM_DUP(MPI_COMM_SELF, COMM, IERR)
      CALL MPI_COMM_SET_NAME(COMM, 'made in Fortran', IERR)
      CALL MPI_TYPE_CONTIGUOUS(2, MPI_INTEGER, TYPE, IERR)
      CALL MPI_IRECV(IN, 1, MPI_INTEGER, 0, 7, COMM, REQ, IERR)
      CALL MPI_KEYVAL_CREATE(MPI_DUP_FN, MPI_NULL_DELETE_FN, KEY, 0,
     & IERR)
      CALL MPI_ATTR_PUT(COMM, KEY, -12, IERR)
      IERR = WELL(COMM, TYPE, REQ, KEY, CKEY, STATUS)
      IF (IERR .NE. 0) THEN
      PRINT *, 'C found something wrong in line', IERR
      CALL MPI_ABORT(MPI_COMM_WORLD, 1, IERR)
      END IF
C     C has completed the request and given the status.
      CALL EXPECT(REQ .EQ. MPI_REQUEST_NULL, 1)
      CALL EXPECT(IN .EQ. 4711, 2)
      CALL EXPECT(STATUS(MPI_TAG) .EQ. 7, 3)
      CALL MPI_GET_COUNT(STATUS, MPI_INTEGER, N, IERR)
      CALL EXPECT(N .EQ. 1, 4)
C     A pointer that C hung on the communicator is an integer here.
      CALL MPI_ATTR_GET(COMM, CKEY, VALUE, FLAG, IERR)
      CALL EXPECT(FLAG .AND. VALUE .EQ. 99, 5)
      CALL MPI_COMM_GET_ATTR(COMM, CKEY, WIDE, FLAG, IERR)
      CALL EXPECT(FLAG .AND. WIDE .EQ. 99, 6)
C     A type that C made.
      TYPE = FROMC()
      CALL MPI_TYPE_SIZE(TYPE, N, IERR)
      CALL EXPECT(N .EQ. 24, 7)
      CALL MPI_TYPE_FREE(TYPE, IERR)
      PRINT *, 'C and Fortran are well'
      CALL MPI_FINALIZE(IERR)
      END

      SUBROUTINE EXPECT(TRUE, NUMBER)
      INCLUDE 'mpif.h'
      LOGICAL TRUE
      INTEGER NUMBER, IERR
      IF (TRUE) RETURN
      PRINT *, 'not as expected:', NUMBER
      CALL MPI_ABORT(MPI_COMM_WORLD, 1, IERR)
      END
