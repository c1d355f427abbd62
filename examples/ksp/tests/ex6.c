static char help[] = "Matrix files, good and bad: what is read from the good ones, what is said about the bad ones.\n\n";

/* The program writes each file itself and removes it afterwards. */

#include "../tutorials/report.h"

#include "../tutorials/matrix_file.h"

/* The name says what is special about a file. All matrices have at most 3 rows. */
static const char *const market_files[][2] = {
  {"general",       "%%MatrixMarket matrix coordinate real general\n% a comment\n\n3 3 4\n1 1 2.0\n2 2 3e0\n3 3 -4\n1 3 0.5\n"    },
  {"case",          "%%matrixmarket MATRIX Coordinate Real GENERAL\n2 2 2\n 1   1\t2.0  \n2 2 3.0"                                },
  {"windows",       "%%MatrixMarket matrix coordinate real general\r\n2 2 2\r\n1 1 2.0\r\n2 2 3.0\r\n"                           },
  {"integer",       "%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 1 2\n2 2 3\n% the end\n"                        },
  {"pattern",       "%%MatrixMarket matrix coordinate pattern general\n2 2 3\n1 1\n2 2\n1 2\n"                                 },
  {"symmetric",     "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 2\n2 2 2\n3 3 2\n3 1 -1\n"                    },
  {"skew",          "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 1.5\n3 1 -1\n"                            },
  {"hermitian",     "%%MatrixMarket matrix coordinate real hermitian\n2 2 3\n1 1 2\n2 2 2\n2 1 -1\n"                            },
  {"rectangular",   "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 2\n2 3 3\n"                                      },
  {"no_entries",    "%%MatrixMarket matrix coordinate real general\n2 2 0\n"                                                    },
  {"empty",         ""                                                                                                          },
  {"no_banner",     "3 3 1\n1 1 2.0\n"                                                                                          },
  {"vector",        "%%MatrixMarket vector coordinate real general\n3 1\n1 2.0\n"                                               },
  {"format",        "%%MatrixMarket matrix sparse real general\n3 3 1\n1 1 2.0\n"                                               },
  {"field",         "%%MatrixMarket matrix coordinate quaternion general\n3 3 1\n1 1 2.0\n"                                     },
  {"symmetry",      "%%MatrixMarket matrix coordinate real diagonal\n3 3 1\n1 1 2.0\n"                                          },
  {"dense",         "%%MatrixMarket matrix array real general\n1 1\n2.0\n"                                                      },
  {"no_size",       "%%MatrixMarket matrix coordinate real general\n% only a comment\n"                                         },
  {"bad_size",      "%%MatrixMarket matrix coordinate real general\n3 x 1\n1 1 2.0\n"                                           },
  {"negative_size", "%%MatrixMarket matrix coordinate real general\n-3 3 1\n1 1 2.0\n"                                          },
  {"huge_size",     "%%MatrixMarket matrix coordinate real general\n9223372036854775808000 3 1\n1 1 2.0\n"                      },
  {"no_count",      "%%MatrixMarket matrix coordinate real general\n3 3\n1 1 2.0\n"                                             },
  {"long_size",     "%%MatrixMarket matrix coordinate real general\n3 3 1 1\n1 1 2.0\n"                                         },
  {"not_square",    "%%MatrixMarket matrix coordinate real symmetric\n3 2 1\n1 1 2.0\n"                                         },
  {"row_zero",      "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 2.0\n0 1 2.0\n"                                  },
  {"column_large",  "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 2.0\n% comment\n2 4 2.0\n"                       },
  {"no_value",      "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 2.0\n2 2\n"                                      },
  {"word",          "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 2.0\n2 2 two\n"                                  },
  {"two_values",    "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 2.0 1.0\n2 2 1\n"                                },
  {"fraction",      "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1.5 2.0\n2 2 1\n"                                  },
  {"upper",         "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n1 1 2.0\n1 2 1\n"                                  },
  {"skew_diagonal", "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 2.0\n2 2 1\n"                             },
  {"too_few",       "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 2.0\n2 2 1\n"                                    },
  {"too_many",      "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1 2.0\n2 2 1\n"                                    },
  {"rows_beyond",   "%%MatrixMarket matrix coordinate real general\n2147483647 2147483647 1\n1 1 1\n"                            },
  {"columns_beyond", "%%MatrixMarket matrix coordinate real general\n3 2147483647 1\n1 1 1\n"                                     },
  {"lines_beyond",  "%%MatrixMarket matrix coordinate real general\n3 3 2147483647\n1 1 1\n"                                     },
  {"compressed",    "\x1f\x8b\b and so on"                                                                                      },
};

/* Writes a file on process 0; the other processes wait. */
static PetscErrorCode Write(const char path[], const void *bytes, size_t length)
{
  PetscMPIInt rank;
  FILE       *file;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank == 0) {
    file = fopen(path, "wb");
    PetscCheck(file && fwrite(bytes, 1, length, file) == length && !fclose(file), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write %s", path);
  }
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Remove(const char path[])
{
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  if (rank == 0) remove(path);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prints all entries of a small matrix, times 10: integers are compared exactly. */
static PetscErrorCode Print(Mat A)
{
  PetscInt rows, columns, begin, end;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(A, &rows, &columns));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " x %" PetscInt_FMT ", entries * 10:", rows, columns));
  for (PetscInt i = begin; i < end; i++) {
    PetscInt           count;
    const PetscInt    *column;
    const PetscScalar *value;

    PetscCall(MatGetRow(A, i, &count, &column, &value));
    for (PetscInt e = 0; e < count; e++) PetscCall(PetscSynchronizedPrintf(PETSC_COMM_WORLD, " (%" PetscInt_FMT ",%" PetscInt_FMT "):%d", i, column[e], (int)(10 * PetscRealPart(value[e]))));
    PetscCall(MatRestoreRow(A, i, &count, &column, &value));
  }
  PetscCall(PetscSynchronizedFlush(PETSC_COMM_WORLD, PETSC_STDOUT));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestMarket(void)
{
  char      path[64], message[MESSAGE_LENGTH];
  PetscBool market, vector;
  Mat       A;

  PetscFunctionBeginUser;
  for (size_t f = 0; f < sizeof(market_files) / sizeof(market_files[0]); f++) {
    PetscCall(PetscSNPrintf(path, sizeof(path), "%s.mtx", market_files[f][0]));
    PetscCall(Write(path, market_files[f][1], strlen(market_files[f][1])));
    PetscCall(LoadMarketMatrix(PETSC_COMM_WORLD, path, message, &A));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s\n", message[0] ? message : path));
    if (!message[0]) PetscCall(Print(A));
    PetscCall(MatDestroy(&A));
    PetscCall(Inspect(PETSC_COMM_WORLD, path, message, &market, &vector));
    PetscCheck(market == (PetscBool)(market_files[f][1][0] == '%'), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: taken for the wrong format", path);
    PetscCall(Remove(path));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compares results that depend on the sizes of PetscInt and PetscScalar, so that the output does not. */
static PetscErrorCode Compare(const char name[], const char message[], const char expected[])
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", name, strcmp(message, expected) ? "NOT AS EXPECTED" : "as expected"));
  if (strcmp(message, expected)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %s\n  %s\n", message, expected));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Complex values: read by a complex PETSc, with a conjugate upper triangle; refused by a real one */
static PetscErrorCode TestComplex(void)
{
  static const char text[] = "%%MatrixMarket matrix coordinate complex hermitian\n2 2 3\n1 1 3 0\n2 2 4 0\n2 1 2 -1.5\n";
  char              message[MESSAGE_LENGTH];
  Mat               A;
  PetscInt          begin, end, count;

  PetscFunctionBeginUser;
  PetscCall(Write("complex.mtx", text, strlen(text)));
  PetscCall(LoadMarketMatrix(PETSC_COMM_WORLD, "complex.mtx", message, &A));
  PetscCall(Compare("complex.mtx", message, PetscDefined(USE_COMPLEX) ? "" : "complex.mtx, line 1: complex values, but this PETSc has real scalars"));
  if (!message[0]) {
    PetscCall(MatGetOwnershipRange(A, &begin, &end));
    for (PetscInt row = begin; row < end; row++) {
      const PetscScalar *value;

      PetscCall(MatGetRow(A, row, &count, NULL, &value));
      PetscCheck(count == 2 && PetscRealPart(value[1 - row]) == 2.0 && PetscImaginaryPart(value[1 - row]) == (row == 0 ? 1.5 : -1.5), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Row %" PetscInt_FMT " is read wrongly", row);
      PetscCall(MatRestoreRow(A, row, &count, NULL, &value));
    }
  }
  PetscCall(MatDestroy(&A));
  PetscCall(Remove("complex.mtx"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Right-hand sides; three rows are required */
static PetscErrorCode TestVectors(void)
{
  const char *const files[] = {
    "%%MatrixMarket matrix array real general\n3 1\n1\n2.5\n-4\n", "%%MatrixMarket matrix array real general\n2 1\n1\n2\n", "%%MatrixMarket matrix array real general\n3 1\n1\nx\n", "%%MatrixMarket matrix array real general\n3 2\n1\n2\n3\n4\n5\n6\n",
    /* the smallest squares that overflow PetscInt */
    PetscDefined(USE_64BIT_INDICES) ? "%%MatrixMarket matrix array real general\n3037000500 3037000500\n" : "%%MatrixMarket matrix array real general\n46341 46341\n",
  };
  char      message[MESSAGE_LENGTH];
  PetscReal norm;
  Vec       b;

  PetscFunctionBeginUser;
  PetscCall(VecCreate(PETSC_COMM_WORLD, &b));
  PetscCall(VecSetSizes(b, PETSC_DECIDE, 3));
  PetscCall(VecSetFromOptions(b));
  for (size_t f = 0; f < sizeof(files) / sizeof(files[0]); f++) {
    PetscCall(Write("vector.mtx", files[f], strlen(files[f])));
    PetscCall(LoadMarketVector("vector.mtx", message, b));
    PetscCall(VecNorm(b, NORM_1, &norm));
    if (message[0]) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s\n", message));
    else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "vector.mtx: sum of sizes * 10: %d\n", (int)(10 * norm)));
    PetscCall(Remove("vector.mtx"));
  }
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Appends a big-endian integer. */
static void Append(unsigned char bytes[], size_t *length, long long number, size_t size)
{
  for (size_t i = size; i-- > 0;) bytes[(*length)++] = (unsigned char)((unsigned long long)number >> (8 * i) & 0xff);
}

/* Appends `count` values 1.0, which begin with 0x3ff0 in double precision; other precisions do not matter here. */
static void AppendOnes(unsigned char bytes[], size_t *length, long long count, size_t scalar)
{
  for (long long i = 0; i < count; i++) {
    Append(bytes, length, 0x3ff0, 2);
    for (size_t b = 2; b < scalar; b++) Append(bytes, length, 0, 1);
  }
}

/* Checks matrix.bin with these bytes as load.c does; prints the message, or compares it with `expected` if not empty. */
static PetscErrorCode InspectBytes(const char name[], const unsigned char bytes[], size_t length, PetscBool is_vector, const char expected[])
{
  char      message[MESSAGE_LENGTH];
  PetscBool market, vector;

  PetscFunctionBeginUser;
  PetscCall(Write("matrix.bin", bytes, length));
  if (is_vector) PetscCall(InspectVector(PETSC_COMM_WORLD, "matrix.bin", message));
  else PetscCall(Inspect(PETSC_COMM_WORLD, "matrix.bin", message, &market, &vector));
  if (expected[0]) PetscCall(Compare(name, message, expected));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", name, message[0] ? message : "can be read"));
  PetscCall(Remove("matrix.bin"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes a binary n x n identity matrix, with any size of index and scalar, without its last `missing` bytes. */
static PetscErrorCode TestBinary(const char name[], long long kind, long long n, size_t index, size_t scalar, size_t missing, const char expected[])
{
  unsigned char bytes[1024];
  size_t        length = 0;

  PetscFunctionBeginUser;
  Append(bytes, &length, kind, index);
  Append(bytes, &length, n, index);
  Append(bytes, &length, n, index);
  Append(bytes, &length, n, index);
  for (long long i = 0; i < n; i++) Append(bytes, &length, 1, index);
  for (long long i = 0; i < n; i++) Append(bytes, &length, i, index);
  AppendOnes(bytes, &length, n, scalar);
  PetscCall(InspectBytes(name, bytes, length - missing, PETSC_FALSE, expected));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same for a vector of n ones. */
static PetscErrorCode TestBinaryVector(const char name[], long long kind, long long n, size_t index, size_t scalar, size_t missing, const char expected[])
{
  unsigned char bytes[1024];
  size_t        length = 0;

  PetscFunctionBeginUser;
  Append(bytes, &length, kind, index);
  Append(bytes, &length, n, index);
  AppendOnes(bytes, &length, n, scalar);
  PetscCall(InspectBytes(name, bytes, length - missing, PETSC_TRUE, expected));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes a binary matrix of 3 rows and 5 entries that PETSc would accept, with these row lengths and columns. */
static PetscErrorCode TestPattern(const char name[], const long long lengths[3], const long long columns[5])
{
  const size_t  index    = sizeof(PetscInt);
  unsigned char bytes[1024];
  size_t        length = 0;

  PetscFunctionBeginUser;
  Append(bytes, &length, 1211216, index);
  Append(bytes, &length, 3, index);
  Append(bytes, &length, 3, index);
  Append(bytes, &length, 5, index);
  for (int i = 0; i < 3; i++) Append(bytes, &length, lengths[i], index);
  for (int e = 0; e < 5; e++) Append(bytes, &length, columns[e], index);
  AppendOnes(bytes, &length, 5, sizeof(PetscScalar));
  PetscCall(InspectBytes(name, bytes, length, PETSC_FALSE, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestPatterns(void)
{
  const struct {
    const char *name;
    long long   lengths[3], columns[5];
  } cases[] = {
    {"good pattern", {2, 2, 1}, {0, 1, 1, 2, 2}},
    {"rows too short", {2, 1, 1}, {0, 1, 1, 2, 2}},
    {"rows too long", {2, 2, 2}, {0, 1, 1, 2, 2}},
    {"negative length", {2, -2, 5}, {0, 1, 1, 2, 2}},
    {"column outside", {2, 2, 1}, {0, 1, 1, 3, 2}},
    {"negative column", {2, 2, 1}, {0, 1, -1, 2, 2}},
    {"descending columns", {2, 2, 1}, {1, 0, 1, 2, 2}},
    {"column twice", {2, 2, 1}, {0, 1, 2, 2, 2}},
  };

  PetscFunctionBeginUser;
  for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) PetscCall(TestPattern(cases[c].name, cases[c].lengths, cases[c].columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sizes that are too large for a short file; the largest ones overflow when they are added or multiplied. */
static PetscErrorCode TestHeaders(void)
{
  const size_t    index  = sizeof(PetscInt);
  const long long most   = PETSC_MAX_INT, half = most / 2 + 1;
  const long long cases[][3] = {{most, most, 0}, {3, 3, most}, {half, half, half}, {most, most, most}, {-3, 3, 5}, {3, -3, 5}, {3, 3, -1}};
  char            expected[MESSAGE_LENGTH];

  PetscFunctionBeginUser;
  for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
    unsigned char   bytes[128];
    size_t          length = 0;
    const PetscBool negative = (PetscBool)(cases[c][0] < 0 || cases[c][1] < 0 || cases[c][2] < 0);

    Append(bytes, &length, 1211216, index);
    for (int k = 0; k < 3; k++) Append(bytes, &length, cases[c][k], index);
    AppendOnes(bytes, &length, 4, sizeof(PetscScalar));
    if (negative) PetscCall(PetscSNPrintf(expected, sizeof(expected), "matrix.bin: ends within its header, or is not a sparse matrix"));
    else PetscCall(PetscSNPrintf(expected, sizeof(expected), "matrix.bin: has %d bytes, too few for %lld rows and %lld entries; the file is damaged, write or fetch it again", (int)length, cases[c][0], cases[c][2]));
    PetscCall(InspectBytes(negative ? "negative size" : "sizes beyond the file", bytes, length, PETSC_FALSE, expected));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestKinds(void)
{
  const size_t index = sizeof(PetscInt), scalar = sizeof(PetscScalar), other = 12 - index;
  char         indices[MESSAGE_LENGTH], wider[MESSAGE_LENGTH], narrower[MESSAGE_LENGTH];
  const char   way_out[] = "read it with such a PETSc, or write it in Matrix Market format, which all read";

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(indices, sizeof(indices), "matrix.bin: was written by a PETSc with %d-bit indices, this one has %d-bit ones; %s", (int)(8 * other), (int)(8 * index), way_out));
  PetscCall(PetscSNPrintf(wider, sizeof(wider), "matrix.bin: was written by a PETSc with scalars of %d bytes, this one's have %d; %s", (int)(2 * scalar), (int)scalar, way_out));
  PetscCall(PetscSNPrintf(narrower, sizeof(narrower), "matrix.bin: was written by a PETSc with scalars of %d bytes, this one's have %d; %s", (int)(scalar / 2), (int)scalar, way_out));
  PetscCall(TestBinary("native", 1211216, 3, index, scalar, 0, ""));
  PetscCall(TestBinary("other indices", 1211216, 3, other, scalar, 0, indices));
  PetscCall(TestBinary("wider scalars", 1211216, 3, index, 2 * scalar, 0, wider));
  PetscCall(TestBinary("narrower scalars", 1211216, 3, index, scalar / 2, 0, narrower));
  PetscCall(TestBinary("cut short", 1211216, 3, index, scalar, 5, ""));
  PetscCall(TestBinary("a vector", 1211214, 3, index, scalar, 0, ""));
  PetscCall(TestBinary("no header", 1211216, 0, index, scalar, index + 1, ""));
  PetscCall(TestBinaryVector("native vector", 1211214, 3, index, scalar, 0, ""));
  PetscCall(TestBinaryVector("other indices, vector", 1211214, 3, other, scalar, 0, indices));
  PetscCall(TestBinaryVector("wider scalars, vector", 1211214, 3, index, 2 * scalar, 0, wider));
  PetscCall(TestBinaryVector("narrower scalars, vector", 1211214, 3, index, scalar / 2, 0, narrower));
  PetscCall(TestBinaryVector("cut short, vector", 1211214, 3, index, scalar, 5, ""));
  PetscCall(TestBinaryVector("no vector", 1211216, 3, index, scalar, 0, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestMarket());
  PetscCall(TestComplex());
  PetscCall(TestVectors());
  PetscCall(TestKinds());
  PetscCall(TestPatterns());
  PetscCall(TestHeaders());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      requires: double
      nsize: {{1 2}shared output}

TEST*/
