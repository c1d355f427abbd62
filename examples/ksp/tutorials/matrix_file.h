/*
  Reading matrices from files, for load.c and its tests.

  Matrix Market is text: a line `%%MatrixMarket matrix coordinate real general`, comments that begin with %, a line
  `rows columns entries`, and a line `row column value` for every entry, counting from one. `symmetric`,
  `skew-symmetric` and `hermitian` files hold the lower triangle; `pattern` files have no values (each is taken as
  one); `array` files list a dense matrix by columns, which is how right-hand sides come.

  PETSc's binary format is big-endian: the number 1211216, rows, columns, nonzeros, the nonzeros of every row, the
  columns, the values; a vector is the number 1211214, its length, the values. Integers and scalars have the sizes of
  the PETSc that wrote the file, so one with 64-bit indices and one with 32-bit indices cannot read each other's files,
  nor can a real and a complex one. Nothing in the file says which; InspectBinary() finds out: 64-bit numbers begin with
  four zero bytes, and the size of scalars follows from the length of the file. Matrix Market files know no such sizes.

  A file that cannot be used is told by a message that names the file and, for text, the line. All processes get the
  same one. An empty message means success.
*/
#pragma once

#include <petscmat.h>

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if !defined(_WIN32)
  #include <strings.h>
#endif

#if PETSC_VERSION_LT(3, 19, 0) && !defined(PETSC_SUCCESS)
  #define PETSC_SUCCESS 0
#endif

#define MESSAGE_LENGTH 512
#define DAMAGED        "the file is damaged, write or fetch it again"
#define WAY_OUT        "read it with such a PETSc, or write it in Matrix Market format, which all read"

typedef enum {
  FIELD_REAL,
  FIELD_INTEGER,
  FIELD_COMPLEX,
  FIELD_PATTERN
} Field;

typedef enum {
  SYMMETRY_GENERAL,
  SYMMETRY_SYMMETRIC,
  SYMMETRY_SKEW,
  SYMMETRY_HERMITIAN
} Symmetry;

/* A Matrix Market file while it is read. entries counts those of the matrix, with the mirrored ones. */
typedef struct {
  FILE        *file;
  const char  *path;
  char        *message;
  long long    length; /* in bytes */
  long         line;
  char         text[1024];
  PetscBool    array;
  Field        field;
  Symmetry     symmetry;
  PetscInt     rows, columns, lines;
  PetscCount   entries;
  PetscInt    *row, *column;
  PetscScalar *value;
} Reader;

static inline PetscBool Complain(Reader *r, const char problem[])
{
  snprintf(r->message, MESSAGE_LENGTH, "%.300s, line %ld: %s", r->path, r->line, problem);
  return PETSC_FALSE;
}

/* The next line; false with a message at the end of the file, and for a line that does not fit */
static inline PetscBool NextLine(Reader *r)
{
  size_t length;

  r->line++;
  if (!fgets(r->text, (int)sizeof(r->text), r->file)) return Complain(r, "the file ends here, more lines were announced");
  length = strlen(r->text);
  if (length + 1 == sizeof(r->text) && r->text[length - 1] != '\n') return Complain(r, "the line is too long");
  while (length > 0 && isspace((unsigned char)r->text[length - 1])) r->text[--length] = 0;
  return PETSC_TRUE;
}

/* The next line that is neither empty nor a comment */
static inline PetscBool NextData(Reader *r)
{
  const char *begin;

  do {
    if (!NextLine(r)) return PETSC_FALSE;
    for (begin = r->text; isspace((unsigned char)*begin); begin++) { }
  } while (*begin == 0 || *begin == '%');
  return PETSC_TRUE;
}

/* Position of a word in a list that ends with NULL, -1 if it is not there; case does not matter. */
static inline int Choose(const char word[], const char *const list[])
{
  for (int i = 0; list[i]; i++)
    if (!strcasecmp(word, list[i])) return i;
  return -1;
}

static inline PetscBool ReadBanner(Reader *r)
{
  static const char *const formats[]    = {"coordinate", "array", NULL};
  static const char *const fields[]     = {"real", "integer", "complex", "pattern", NULL};
  static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric", "hermitian", NULL};
  char                     banner[32], object[32], format[32], field[32], symmetry[32];
  int                      f, d, s;

  if (!NextLine(r)) return PETSC_FALSE;
  if (sscanf(r->text, "%31s %31s %31s %31s %31s", banner, object, format, field, symmetry) != 5 || strcasecmp(banner, "%%MatrixMarket")) return Complain(r, "not a line '%%MatrixMarket matrix coordinate real general' or the like");
  f = Choose(format, formats);
  d = Choose(field, fields);
  s = Choose(symmetry, symmetries);
  if (strcasecmp(object, "matrix")) return Complain(r, "holds something else than a matrix");
  if (f < 0) return Complain(r, "the format is neither coordinate nor array");
  if (d < 0) return Complain(r, "the field is not real, integer, complex or pattern");
  if (s < 0) return Complain(r, "the symmetry is not general, symmetric, skew-symmetric or hermitian");
  if (d == FIELD_COMPLEX && !PetscDefined(USE_COMPLEX)) return Complain(r, "complex values, but this PETSc has real scalars");
  r->array    = (PetscBool)(f == 1);
  r->field    = (Field)d;
  r->symmetry = (Symmetry)s;
  return PETSC_TRUE;
}

/* Reads an integer and moves *text behind it; false if there is none or it does not fit into a PetscInt */
static inline PetscBool ParseInt(char **text, PetscInt *number)
{
  char     *end;
  long long n;

  errno = 0;
  n     = strtoll(*text, &end, 10);
  if (errno || end == *text || !(isspace((unsigned char)*end) || *end == 0)) return PETSC_FALSE;
  *text   = end;
  *number = (PetscInt)n;
  return (PetscBool)((long long)*number == n);
}

static inline PetscBool ParseReal(char **text, PetscReal *number)
{
  char *end;

  *number = (PetscReal)strtod(*text, &end);
  if (end == *text || !(isspace((unsigned char)*end) || *end == 0)) return PETSC_FALSE;
  *text = end;
  return PETSC_TRUE;
}

static inline PetscBool ParseValue(const Reader *r, char **text, PetscScalar *value)
{
  PetscReal re = 1.0, im = 0.0;

  if (r->field != FIELD_PATTERN && !ParseReal(text, &re)) return PETSC_FALSE;
  if (r->field == FIELD_COMPLEX && !ParseReal(text, &im)) return PETSC_FALSE;
#if PetscDefined(USE_COMPLEX)
  *value = PetscCMPLX(re, im);
#else
  *value = re;
#endif
  while (isspace((unsigned char)**text)) (*text)++;
  return (PetscBool)(**text == 0);
}

static inline PetscBool ReadSize(Reader *r)
{
  char *text = r->text;

  if (!NextData(r)) return PETSC_FALSE;
  if (!ParseInt(&text, &r->rows) || !ParseInt(&text, &r->columns) || r->rows < 0 || r->columns < 0) return Complain(r, "no two sizes that fit into a PetscInt");
  if (r->array && r->columns > 0 && r->rows > PETSC_MAX_INT / r->columns) return Complain(r, "more entries than fit into a PetscInt");
  if (r->array) r->lines = r->rows * r->columns;
  else if (!ParseInt(&text, &r->lines) || r->lines < 0) return Complain(r, "no number of entries that fits into a PetscInt");
  while (isspace((unsigned char)*text)) text++;
  if (*text) return Complain(r, "something follows the sizes");
  /* memory is taken by what is announced here; a row without any entry is of no use */
  if (r->rows > r->length || r->columns > r->length || r->lines > r->length) return Complain(r, "more rows, columns or entries are announced than the file has bytes");
  if (r->symmetry != SYMMETRY_GENERAL && r->rows != r->columns) return Complain(r, "symmetric, but not square");
  return PETSC_TRUE;
}

static inline void AddEntry(Reader *r, PetscInt row, PetscInt column, PetscScalar value)
{
  r->row[r->entries]     = row;
  r->column[r->entries]  = column;
  r->value[r->entries++] = value;
}

static inline PetscBool ReadEntry(Reader *r)
{
  PetscInt    i, j;
  PetscScalar value;
  char       *text = r->text, problem[160];

  if (!NextData(r)) return PETSC_FALSE;
  if (!ParseInt(&text, &i) || !ParseInt(&text, &j)) return Complain(r, "does not begin with a row and a column");
  snprintf(problem, sizeof(problem), "entry (%" PetscInt_FMT ", %" PetscInt_FMT ") is outside a %" PetscInt_FMT " x %" PetscInt_FMT " matrix", i, j, r->rows, r->columns);
  if (i < 1 || j < 1 || i > r->rows || j > r->columns) return Complain(r, problem);
  if (!ParseValue(r, &text, &value)) return Complain(r, r->field == FIELD_PATTERN ? "something follows row and column" : "no value, or something behind it");
  if (r->symmetry != SYMMETRY_GENERAL && i < j) return Complain(r, "entry above the diagonal, where the symmetric part is not stored");
  if (r->symmetry == SYMMETRY_SKEW && i == j) return Complain(r, "entry on the diagonal of a skew-symmetric matrix");
  AddEntry(r, i - 1, j - 1, value);
  if (r->symmetry == SYMMETRY_GENERAL || i == j) return PETSC_TRUE;
  if (r->symmetry == SYMMETRY_SKEW) value = -value;
  if (r->symmetry == SYMMETRY_HERMITIAN) value = PetscConj(value);
  AddEntry(r, j - 1, i - 1, value);
  return PETSC_TRUE;
}

/* Nothing but comments may follow the last entry. */
static inline PetscBool ReadEnd(Reader *r)
{
  while (fgets(r->text, (int)sizeof(r->text), r->file)) {
    const char *begin = r->text;

    r->line++;
    while (isspace((unsigned char)*begin)) begin++;
    if (*begin && *begin != '%') return Complain(r, "more entries than announced");
  }
  return PETSC_TRUE;
}

/* Opens the file and looks at its first line; what is compressed is told so. */
static inline PetscBool Open(Reader *r)
{
  int first, second;

  r->file = fopen(r->path, "rb");
  if (!r->file) {
    snprintf(r->message, MESSAGE_LENGTH, "%.300s: cannot be opened", r->path);
    return PETSC_FALSE;
  }
  first  = fgetc(r->file);
  second = fgetc(r->file);
  fseek(r->file, 0, SEEK_END);
  r->length = (long long)ftell(r->file);
  rewind(r->file);
  if (first != 0x1f || second != 0x8b) return PETSC_TRUE;
  snprintf(r->message, MESSAGE_LENGTH, "%.300s: is compressed; run gunzip on it first", r->path);
  return PETSC_FALSE;
}

/* Reads the whole file into r; false with a message if it cannot be used. Of one process. */
static inline PetscErrorCode ReadMarket(Reader *r, PetscBool vector, PetscBool *ok)
{
  PetscFunctionBeginUser;
  *ok = (PetscBool)(Open(r) && ReadBanner(r) && ReadSize(r));
  if (*ok && r->array && !vector) *ok = Complain(r, "a dense matrix; this program reads coordinate files");
  if (*ok && vector && (!r->array || r->columns != 1 || r->field == FIELD_PATTERN)) *ok = Complain(r, "not an array of one column, so not a right-hand side");
  if (!*ok) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc3(2 * (size_t)r->lines, &r->row, 2 * (size_t)r->lines, &r->column, 2 * (size_t)r->lines, &r->value));
  for (PetscInt e = 0; *ok && e < r->lines; e++) {
    char *text = r->text;

    if (!vector) *ok = ReadEntry(r);
    else {
      *ok = NextData(r);
      if (*ok && !ParseValue(r, &text, &r->value[e])) *ok = Complain(r, "no value, or something behind it");
    }
  }
  if (*ok) *ok = ReadEnd(r);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode CloseMarket(Reader *r)
{
  PetscFunctionBeginUser;
  if (r->file) fclose(r->file);
  PetscCall(PetscFree3(r->row, r->column, r->value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix in a Matrix Market file; process 0 reads it, all share it. *A is NULL if message is not empty. */
static inline PetscErrorCode LoadMarketMatrix(MPI_Comm comm, const char path[], char message[MESSAGE_LENGTH], Mat *A)
{
  Reader      r  = {0};
  PetscBool   ok = PETSC_TRUE;
  PetscInt    size[2];
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  *A         = NULL;
  r.path     = path;
  r.message  = message;
  message[0] = 0;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (rank == 0) PetscCall(ReadMarket(&r, PETSC_FALSE, &ok));
  PetscCallMPI(MPI_Bcast(message, MESSAGE_LENGTH, MPI_CHAR, 0, comm));
  size[0] = r.rows;
  size[1] = r.columns;
  PetscCallMPI(MPI_Bcast(size, 2, MPIU_INT, 0, comm));
  if (!message[0]) {
    PetscCall(MatCreate(comm, A));
    PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, size[0], size[1]));
    PetscCall(MatSetType(*A, MATAIJ));
    PetscCall(MatSetFromOptions(*A));
    PetscCall(MatSetPreallocationCOO(*A, r.entries, r.row, r.column));
    PetscCall(MatSetValuesCOO(*A, r.value, INSERT_VALUES));
  }
  PetscCall(CloseMarket(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The vector in a Matrix Market array file, into b, which has its size and layout already */
static inline PetscErrorCode LoadMarketVector(const char path[], char message[MESSAGE_LENGTH], Vec b)
{
  MPI_Comm    comm = PetscObjectComm((PetscObject)b);
  Reader      r    = {0};
  PetscBool   ok   = PETSC_TRUE;
  PetscInt    n;
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  r.path     = path;
  r.message  = message;
  message[0] = 0;
  PetscCall(VecGetSize(b, &n));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (rank == 0) PetscCall(ReadMarket(&r, PETSC_TRUE, &ok));
  if (rank == 0 && ok && r.rows != n) snprintf(message, MESSAGE_LENGTH, "%.300s: has %" PetscInt_FMT " values, the matrix %" PetscInt_FMT " rows", path, r.rows, n);
  PetscCallMPI(MPI_Bcast(message, MESSAGE_LENGTH, MPI_CHAR, 0, comm));
  if (!message[0]) {
    for (PetscInt i = 0; rank == 0 && i < n; i++) PetscCall(VecSetValue(b, i, r.value[i], INSERT_VALUES));
    PetscCall(VecAssemblyBegin(b));
    PetscCall(VecAssemblyEnd(b));
  }
  PetscCall(CloseMarket(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Big-endian integers of `size` bytes, one after the other, from a file of its own: two of these read at two places. */
typedef struct {
  FILE         *file;
  int           size;
  size_t        next, end;
  unsigned char bytes[1 << 15];
} Integers;

static inline PetscBool OpenIntegers(Integers *s, const char path[], long long offset, int size)
{
  s->size = size;
  s->next = s->end = 0;
  s->file          = fopen(path, "rb");
  return (PetscBool)(s->file && !fseek(s->file, (long)offset, SEEK_SET));
}

/* False where the file ends before */
static inline PetscBool NextInteger(Integers *s, long long *number)
{
  unsigned long long bits;

  if (s->next == s->end) {
    s->next = 0;
    s->end  = fread(s->bytes, 1, sizeof(s->bytes), s->file);
    s->end -= s->end % s->size;
  }
  if (s->next == s->end) return PETSC_FALSE;
  bits = s->bytes[s->next] & 0x80 ? ~0ULL : 0; /* the sign */
  for (int i = 0; i < s->size; i++) bits = bits << 8 | s->bytes[s->next++];
  memcpy(number, &bits, sizeof(bits));
  return PETSC_TRUE;
}

static inline void CloseIntegers(Integers *s)
{
  if (s->file) fclose(s->file);
}

/* An integer of `size` bytes at `offset`, -1 where the file ends before */
static inline long long BinaryInt(const Reader *r, long long offset, int size)
{
  Integers  s;
  long long number = -1;

  if (!OpenIntegers(&s, r->path, offset, size) || !NextInteger(&s, &number)) number = -1;
  CloseIntegers(&s);
  return number;
}

/* Bytes of a scalar in a file whose values begin at `values`: then the file, or a vector, must begin. 0 if none fits */
static inline int BinaryScalar(const Reader *r, long long values, long long count, int index)
{
  static const int sizes[] = {(int)sizeof(PetscScalar), 8, 16, 4, 32};

  for (int s = 0; s < 5; s++) {
    const long long end = values + count * sizes[s];

    if (end == r->length || (end < r->length && BinaryInt(r, end, index) == 1211214)) return sizes[s];
  }
  return 0;
}

/* Bytes of an index in a file that begins with the number `kind`; 0 with a message if this PETSc has others, or if the
   file begins otherwise */
static inline int BinaryIndex(Reader *r, long long kind)
{
  const int index = BinaryInt(r, 0, 4) == 0 ? 8 : 4;

  if (BinaryInt(r, 0, index) != kind) {
    if (kind == 1211216) snprintf(r->message, MESSAGE_LENGTH, "%.300s: is neither Matrix Market nor a matrix in PETSc's binary format", r->path);
    else snprintf(r->message, MESSAGE_LENGTH, "%.300s: is no vector in PETSc's binary format", r->path);
    return 0;
  }
  if (index == (int)sizeof(PetscInt)) return index;
  snprintf(r->message, MESSAGE_LENGTH, "%.300s: was written by a PETSc with %d-bit indices, this one has %d-bit ones; %s", r->path, 8 * index, 8 * (int)sizeof(PetscInt), WAY_OUT);
  return 0;
}

/* The same for the scalars, of which there are `count` from the offset `values` on */
static inline int CheckBinaryScalar(Reader *r, long long values, long long count, int index)
{
  const int scalar = count < 0 || count > r->length ? 0 : BinaryScalar(r, values, count, index);

  if (scalar == (int)sizeof(PetscScalar)) return scalar;
  if (scalar) snprintf(r->message, MESSAGE_LENGTH, "%.300s: was written by a PETSc with scalars of %d bytes, this one's have %d; %s", r->path, scalar, (int)sizeof(PetscScalar), WAY_OUT);
  else snprintf(r->message, MESSAGE_LENGTH, "%.300s: is cut short, or not what its first number says", r->path);
  return 0;
}

/* The sizes in the header of a binary matrix */
typedef struct {
  long long rows, columns, nonzeros;
} Header;

/* Looks at the row lengths and columns, which PETSc believes; false with a message that names the place. */
static inline PetscBool CheckPlaces(Reader *r, const Header *h, Integers *lengths, Integers *columns)
{
  long long left = h->nonzeros, count = 0, column = 0;

  for (long long row = 0; row < h->rows; row++) {
    long long last = -1;

    if (!NextInteger(lengths, &count) || count < 0 || count > left) {
      snprintf(r->message, MESSAGE_LENGTH, "%.300s: row %lld, counting from 0, is said to have %lld of %lld entries; " DAMAGED, r->path, row, count, h->nonzeros);
      return PETSC_FALSE;
    }
    left -= count;
    for (; count > 0; count--, last = column) {
      if (NextInteger(columns, &column) && column > last && column < h->columns) continue;
      if (column < 0 || column >= h->columns) snprintf(r->message, MESSAGE_LENGTH, "%.300s: row %lld, column %lld, counting from 0, is outside a %lld x %lld matrix; " DAMAGED, r->path, row, column, h->rows, h->columns);
      else snprintf(r->message, MESSAGE_LENGTH, "%.300s: row %lld, column %lld, counting from 0, follows column %lld; write the file with the columns of each row ascending, none twice", r->path, row, column, last);
      return PETSC_FALSE;
    }
  }
  if (left > 0) snprintf(r->message, MESSAGE_LENGTH, "%.300s: its rows have %lld entries, its header says %lld; " DAMAGED, r->path, h->nonzeros - left, h->nonzeros);
  return (PetscBool)(left == 0);
}

static inline PetscBool CheckPattern(Reader *r, const Header *h, int index)
{
  Integers  lengths, columns;
  PetscBool opened = OpenIntegers(&lengths, r->path, 4 * index, index), ok;

  opened = (PetscBool)(OpenIntegers(&columns, r->path, (4 + h->rows) * index, index) && opened);
  ok     = (PetscBool)(opened && CheckPlaces(r, h, &lengths, &columns));
  if (!opened) snprintf(r->message, MESSAGE_LENGTH, "%.300s: cannot be opened twice", r->path);
  CloseIntegers(&lengths);
  CloseIntegers(&columns);
  return ok;
}

/* What process 0 finds in a file that should be PETSc's binary matrix; *vector: a vector follows the matrix. */
static inline void InspectBinary(Reader *r, PetscBool *vector)
{
  const int index = BinaryIndex(r, 1211216);
  long long values;
  int       scalar;
  Header    h;

  if (!index) return;
  h.rows     = BinaryInt(r, index, index);
  h.columns  = BinaryInt(r, 2 * index, index);
  h.nonzeros = BinaryInt(r, 3 * index, index);
  if (h.rows < 0 || h.columns < 0 || h.nonzeros < 0) {
    snprintf(r->message, MESSAGE_LENGTH, "%.300s: ends within its header, or is not a sparse matrix", r->path);
    return;
  }
  if (h.rows > r->length / index || h.nonzeros > r->length / index) { /* so nothing below overflows */
    snprintf(r->message, MESSAGE_LENGTH, "%.300s: has %lld bytes, too few for %lld rows and %lld entries; " DAMAGED, r->path, r->length, h.rows, h.nonzeros);
    return;
  }
  values = (4 + h.rows + h.nonzeros) * index;
  scalar = CheckBinaryScalar(r, values, h.nonzeros, index);
  if (scalar && CheckPattern(r, &h, index)) *vector = (PetscBool)(BinaryInt(r, values + h.nonzeros * scalar, index) == 1211214);
}

/* Can this PETSc read a vector from a binary file? All processes get the answer of process 0. */
static inline PetscErrorCode InspectVector(MPI_Comm comm, const char path[], char message[MESSAGE_LENGTH])
{
  Reader      r = {0};
  PetscMPIInt rank;
  int         index;

  PetscFunctionBeginUser;
  r.path     = path;
  r.message  = message;
  message[0] = 0;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (rank == 0 && Open(&r) && (index = BinaryIndex(&r, 1211214)) > 0) (void)CheckBinaryScalar(&r, 2 * index, BinaryInt(&r, index, index), index);
  if (r.file) fclose(r.file);
  PetscCallMPI(MPI_Bcast(message, MESSAGE_LENGTH, MPI_CHAR, 0, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which format a file has, and whether this PETSc can read it; all processes get the answers of process 0. */
static inline PetscErrorCode Inspect(MPI_Comm comm, const char path[], char message[MESSAGE_LENGTH], PetscBool *market, PetscBool *vector)
{
  Reader      r = {0};
  int         found[2] = {0, 0};
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  r.path     = path;
  r.message  = message;
  message[0] = 0;
  *vector    = PETSC_FALSE;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (rank == 0 && Open(&r)) {
    found[0] = fgetc(r.file) == '%';
    if (!found[0]) InspectBinary(&r, vector);
    found[1] = *vector;
  }
  if (r.file) fclose(r.file);
  PetscCallMPI(MPI_Bcast(message, MESSAGE_LENGTH, MPI_CHAR, 0, comm));
  PetscCallMPI(MPI_Bcast(found, 2, MPI_INT, 0, comm));
  *market = (PetscBool)found[0];
  *vector = (PetscBool)found[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}
