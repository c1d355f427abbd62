static char help[] = "Compressible Euler equations in 3-D, five unknowns a cell: a vortex that a flow carries, implicit time steps.\n\
Any -pc_type, for example syncfree_ilu; -compare prints what ILU by entries and by dense blocks need.\n\n";

/*
  q_t + div F(q) = 0,  q = (density, momentum, energy),  in a cube with edges 10, periodic in all directions.

  Finite volumes on a DMDA with Rusanov's flux: on a face with normal n between the states l and r

     (F_n(l) + F_n(r)) / 2 - s (r - l) / 2,    s = the larger of |v_n| + c on both sides, c the speed of sound,

  Crank-Nicolson steps of fixed size, whose limit is not set by sound, and Newton's method with the exact Jacobian, also of
  s. The Jacobian has 7 blocks of 5 x 5 in a block row. Its pattern does not change: there is one analysis, then new values
  in every Newton step of every time step.

  The initial state is an isentropic vortex about an axis in direction z. It solves the equations, carried by the flow as it
  is, which gives the error: mostly the diffusion of the flux, which is proportional to the mesh width. The scheme conserves
  mass, momentum and energy, up to the tolerance of Newton's method.

  Output: the time steps and their converged reason, the Newton steps, the linear solves and their iterations, the largest
  true residual of a linear solve, what is lost of the conserved quantities, and the error at the end.
*/

#include <petscdm.h>
#include <petscdmda.h>
#include <petscts.h>

#include "compare.h"

#define UNKNOWNS 5
#define FACES    6
#define EDGE     10.0 /* of the domain */
#define GAMMA    1.4  /* ratio of the specific heats of air */

typedef struct {
  PetscScalar q[UNKNOWNS]; /* density, momentum in x, y and z, energy; all per volume */
} State;

/* The same with what fluxes need */
typedef struct {
  PetscReal q[UNKNOWNS], velocity[3], pressure, sound;
} Gas;

typedef struct {
  PetscReal strength, step, end;
} Flow;

/* Velocity of the flow that carries the vortex; far from it density, pressure and temperature are 1. */
static const PetscReal Carrier[3] = {1.0, 1.0, 0.5};

static Gas GasOf(const State *state)
{
  Gas       gas;
  PetscReal kinetic = 0.0;

  for (PetscInt r = 0; r < UNKNOWNS; r++) gas.q[r] = PetscRealPart(state->q[r]);
  for (PetscInt d = 0; d < 3; d++) {
    gas.velocity[d] = gas.q[1 + d] / gas.q[0];
    kinetic += 0.5 * gas.q[1 + d] * gas.velocity[d];
  }
  gas.pressure = (GAMMA - 1.0) * (gas.q[4] - kinetic);
  gas.sound    = PetscSqrtReal(GAMMA * gas.pressure / gas.q[0]); /* NaN for an impossible state: SNES then says so */
  return gas;
}

static PetscReal WaveSpeed(const Gas *gas, PetscInt axis)
{
  return PetscAbsReal(gas->velocity[axis]) + gas->sound;
}

/* Computes F_n for the normal in direction `axis`. */
static void ComputeFlux(const Gas *gas, PetscInt axis, PetscReal flux[UNKNOWNS])
{
  for (PetscInt r = 0; r < UNKNOWNS; r++) flux[r] = gas->velocity[axis] * gas->q[r];
  flux[1 + axis] += gas->pressure;
  flux[4] += gas->velocity[axis] * gas->pressure;
}

/* Computes the derivatives of F_n and of the wave speed. */
static void DifferentiateFlux(const Gas *gas, PetscInt axis, PetscReal flux[UNKNOWNS][UNKNOWNS], PetscReal speed[UNKNOWNS])
{
  const PetscReal *v = gas->velocity, density = gas->q[0], sign = v[axis] < 0.0 ? -1.0 : 1.0;
  PetscReal        velocity[UNKNOWNS] = {0.0}, pressure[UNKNOWNS]; /* derivatives of v_n and p */

  velocity[0]        = -v[axis] / density;
  velocity[1 + axis] = 1.0 / density;
  pressure[0]        = (GAMMA - 1.0) * 0.5 * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
  for (PetscInt d = 0; d < 3; d++) pressure[1 + d] = -(GAMMA - 1.0) * v[d];
  pressure[4] = GAMMA - 1.0;
  for (PetscInt c = 0; c < UNKNOWNS; c++) {
    const PetscReal squared = GAMMA * (pressure[c] - (c == 0 ? gas->pressure / density : 0.0)) / density; /* of sound^2 */

    speed[c] = sign * velocity[c] + squared / (2.0 * gas->sound);
    for (PetscInt r = 0; r < UNKNOWNS; r++) flux[r][c] = gas->q[r] * velocity[c] + (r == c ? v[axis] : 0.0);
    flux[1 + axis][c] += pressure[c];
    flux[4][c] += v[axis] * pressure[c] + gas->pressure * velocity[c];
  }
}

/* Adds `scale` times Rusanov's flux between two states to f. */
static void AddFaceFlux(const Gas *left, const Gas *right, PetscInt axis, PetscReal scale, PetscScalar f[UNKNOWNS])
{
  const PetscReal speed = PetscMax(WaveSpeed(left, axis), WaveSpeed(right, axis));
  PetscReal       a[UNKNOWNS], b[UNKNOWNS];

  ComputeFlux(left, axis, a);
  ComputeFlux(right, axis, b);
  for (PetscInt r = 0; r < UNKNOWNS; r++) f[r] += 0.5 * scale * (a[r] + b[r] - speed * (right->q[r] - left->q[r]));
}

/*
  Adds `scale` times the derivative of Rusanov's flux to a block, with respect to the state on one side: `here`, which is
  on the side -1 (left) or 1 (right) of the face; `jump` is the right state minus the left one.
*/
static void AddFaceBlock(const Gas *here, const Gas *other, PetscInt side, PetscInt axis, PetscReal scale, const PetscReal jump[UNKNOWNS], PetscReal block[UNKNOWNS][UNKNOWNS])
{
  const PetscReal mine = WaveSpeed(here, axis), theirs = WaveSpeed(other, axis), speed = PetscMax(mine, theirs);
  const PetscReal share = mine > theirs ? 1.0 : mine < theirs ? 0.0 : 0.5; /* of the derivative of the maximum */
  PetscReal       flux[UNKNOWNS][UNKNOWNS], slope[UNKNOWNS];

  DifferentiateFlux(here, axis, flux, slope);
  for (PetscInt r = 0; r < UNKNOWNS; r++) {
    for (PetscInt c = 0; c < UNKNOWNS; c++) {
      const PetscReal diffusion = (r == c ? (PetscReal)side * speed : 0.0) + share * slope[c] * jump[r];

      block[r][c] += 0.5 * scale * (flux[r][c] - diffusion);
    }
  }
}

/* Computes the neighbor of a cell beyond one of its faces; returns the axis of the face, and its side, -1 or 1. */
static PetscInt Neighbor(const PetscInt cell[3], PetscInt face, PetscInt neighbor[3], PetscInt *side)
{
  *side = face % 2 == 0 ? -1 : 1;
  for (PetscInt d = 0; d < 3; d++) neighbor[d] = cell[d] + (d == face / 2 ? *side : 0);
  return face / 2;
}

/* Adds div F of one cell to f. */
static void AddDivergence(const DMDALocalInfo *info, State ***x, const PetscInt cell[3], PetscScalar f[UNKNOWNS])
{
  const PetscInt size[3] = {info->mx, info->my, info->mz};
  const Gas      here    = GasOf(&x[cell[2]][cell[1]][cell[0]]);

  for (PetscInt face = 0; face < FACES; face++) {
    PetscInt        there[3], side;
    const PetscInt  axis  = Neighbor(cell, face, there, &side);
    const Gas       other = GasOf(&x[there[2]][there[1]][there[0]]);
    const PetscReal scale = (PetscReal)(side * size[axis]) / EDGE;

    if (side < 0) AddFaceFlux(&other, &here, axis, scale, f);
    else AddFaceFlux(&here, &other, axis, scale, f);
  }
}

static PetscErrorCode FormIFunction(TS ts, PetscReal t, Vec X, Vec Xdot, Vec F, void *context)
{
  DM            da;
  DMDALocalInfo info;
  Vec           local;
  State      ***x, ***rate, ***f;

  PetscFunctionBeginUser;
  PetscCall(TSGetDM(ts, &da));
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMGetLocalVector(da, &local));
  PetscCall(DMGlobalToLocalBegin(da, X, INSERT_VALUES, local));
  PetscCall(DMGlobalToLocalEnd(da, X, INSERT_VALUES, local));
  PetscCall(DMDAVecGetArrayRead(da, local, &x));
  PetscCall(DMDAVecGetArrayRead(da, Xdot, &rate));
  PetscCall(DMDAVecGetArray(da, F, &f));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        const PetscInt cell[3] = {i, j, k};

        f[k][j][i] = rate[k][j][i];
        AddDivergence(&info, x, cell, f[k][j][i].q);
      }
    }
  }
  PetscCall(DMDAVecRestoreArray(da, F, &f));
  PetscCall(DMDAVecRestoreArrayRead(da, Xdot, &rate));
  PetscCall(DMDAVecRestoreArrayRead(da, local, &x));
  PetscCall(DMRestoreLocalVector(da, &local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Returns the index of a cell, or of a ghost cell, among those of this process. */
static PetscInt LocalIndex(const DMDALocalInfo *info, const PetscInt cell[3])
{
  return ((cell[2] - info->gzs) * info->gym + cell[1] - info->gys) * info->gxm + cell[0] - info->gxs;
}

/* Adds the block row of a cell, 7 blocks. On a grid with two cells along an axis two of them are the same. */
static PetscErrorCode AddBlockRow(const DMDALocalInfo *info, State ***x, PetscReal shift, const PetscInt cell[3], Mat P)
{
  const PetscInt size[3] = {info->mx, info->my, info->mz}, row = LocalIndex(info, cell);
  const Gas      here = GasOf(&x[cell[2]][cell[1]][cell[0]]);
  PetscReal      block[1 + FACES][UNKNOWNS][UNKNOWNS] = {{{0.0}}};
  PetscScalar    values[UNKNOWNS * (1 + FACES) * UNKNOWNS]; /* row after row */
  PetscInt       column[1 + FACES];

  PetscFunctionBeginUser;
  column[3] = row;
  for (PetscInt r = 0; r < UNKNOWNS; r++) block[3][r][r] = shift;
  for (PetscInt face = 0; face < FACES; face++) {
    PetscInt        there[3], side;
    const PetscInt  axis  = Neighbor(cell, face, there, &side);
    const Gas       other = GasOf(&x[there[2]][there[1]][there[0]]);
    const PetscReal scale = (PetscReal)(side * size[axis]) / EDGE;
    const PetscInt  place = 3 + side * (1 + axis); /* ascending columns, but for the periodic ones: PETSc finds them faster */
    PetscReal       jump[UNKNOWNS];

    for (PetscInt r = 0; r < UNKNOWNS; r++) jump[r] = (PetscReal)side * (other.q[r] - here.q[r]);
    AddFaceBlock(&here, &other, -side, axis, scale, jump, block[3]);
    AddFaceBlock(&other, &here, side, axis, scale, jump, block[place]);
    column[place] = LocalIndex(info, there);
  }
  for (PetscInt r = 0; r < UNKNOWNS; r++)
    for (PetscInt b = 0; b <= FACES; b++)
      for (PetscInt c = 0; c < UNKNOWNS; c++) values[(r * (1 + FACES) + b) * UNKNOWNS + c] = block[b][r][c];
  PetscCall(MatSetValuesBlockedLocal(P, 1, &row, 1 + FACES, column, values, ADD_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FormIJacobian(TS ts, PetscReal t, Vec X, Vec Xdot, PetscReal shift, Mat J, Mat P, void *context)
{
  DM            da;
  DMDALocalInfo info;
  Vec           local;
  State      ***x;

  PetscFunctionBeginUser;
  PetscCall(TSGetDM(ts, &da));
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMGetLocalVector(da, &local));
  PetscCall(DMGlobalToLocalBegin(da, X, INSERT_VALUES, local));
  PetscCall(DMGlobalToLocalEnd(da, X, INSERT_VALUES, local));
  PetscCall(DMDAVecGetArrayRead(da, local, &x));
  PetscCall(MatZeroEntries(P));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        const PetscInt cell[3] = {i, j, k};

        PetscCall(AddBlockRow(&info, x, shift, cell, P));
      }
    }
  }
  PetscCall(DMDAVecRestoreArrayRead(da, local, &x));
  PetscCall(DMRestoreLocalVector(da, &local));
  PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  if (J != P) {
    PetscCall(MatAssemblyBegin(J, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(J, MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Computes the vortex at a distance (x, y) from its axis: temperature and velocity vary, the entropy does not. */
static State Vortex(const Flow *flow, PetscReal x, PetscReal y)
{
  const PetscReal decay       = PetscExpReal(0.5 * (1.0 - x * x - y * y)), swirl = flow->strength * decay / (2.0 * PETSC_PI);
  const PetscReal temperature = 1.0 - (GAMMA - 1.0) * swirl * swirl / (2.0 * GAMMA);
  const PetscReal density     = PetscPowReal(temperature, 1.0 / (GAMMA - 1.0));
  const PetscReal v[3]        = {Carrier[0] - swirl * y, Carrier[1] + swirl * x, Carrier[2]};
  State           state;

  state.q[0] = density;
  for (PetscInt d = 0; d < 3; d++) state.q[1 + d] = density * v[d];
  state.q[4] = density * (temperature / (GAMMA - 1.0) + 0.5 * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]));
  return state;
}

/* Returns the distance of a cell's center from the axis of the vortex in one direction, in the periodic domain. */
static PetscReal Distance(PetscInt cell, PetscInt cells, PetscReal axis)
{
  const PetscReal x = EDGE * ((cell + 0.5) / cells - 0.5) - axis;

  return x - EDGE * PetscFloorReal(x / EDGE + 0.5);
}

static PetscErrorCode FillSolution(const Flow *flow, DM da, PetscReal t, Vec X)
{
  DMDALocalInfo info;
  State      ***x;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMDAVecGetArray(da, X, &x));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++)
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++)
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) x[k][j][i] = Vortex(flow, Distance(i, info.mx, Carrier[0] * t), Distance(j, info.my, Carrier[1] * t));
  PetscCall(DMDAVecRestoreArray(da, X, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateGrid(DM *da)
{
  const char *const names[UNKNOWNS] = {"density", "momentum_x", "momentum_y", "momentum_z", "energy"};

  PetscFunctionBeginUser;
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_PERIODIC, DMDA_STENCIL_STAR, 16, 16, 4, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, UNKNOWNS, 1, NULL, NULL, NULL, da));
  PetscCall(DMSetFromOptions(*da));
  PetscCall(DMSetUp(*da));
  for (PetscInt r = 0; r < UNKNOWNS; r++) PetscCall(DMDASetFieldName(*da, r, names[r]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateStepper(DM da, Flow *flow, LinearSolves *sums, TS *ts)
{
  TSAdapt adapt;
  SNES    snes;
  KSP     ksp;

  PetscFunctionBeginUser;
  PetscCall(TSCreate(PETSC_COMM_WORLD, ts));
  PetscCall(TSSetDM(*ts, da));
  PetscCall(TSSetType(*ts, TSCN));
  PetscCall(TSSetIFunction(*ts, NULL, FormIFunction, flow));
  PetscCall(TSSetIJacobian(*ts, NULL, NULL, FormIJacobian, flow));
  PetscCall(TSSetTimeStep(*ts, flow->step));
  PetscCall(TSSetMaxTime(*ts, flow->end));
  PetscCall(TSSetMaxSteps(*ts, 100000));
  PetscCall(TSSetExactFinalTime(*ts, TS_EXACTFINALTIME_MATCHSTEP));
  PetscCall(TSGetAdapt(*ts, &adapt));
  PetscCall(TSAdaptSetType(adapt, TSADAPTNONE));
  PetscCall(TSSetFromOptions(*ts));
  PetscCall(TSGetSNES(*ts, &snes));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPSetPostSolve(ksp, CountSolve, sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prints the largest change of a sum over all cells, of mass, momentum or energy, relative to the energy. */
static PetscErrorCode ReportConservation(Vec x, Vec initial)
{
  Vec         change;
  PetscScalar sum[UNKNOWNS];
  PetscReal   lost = 0.0;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(x, &change));
  PetscCall(VecStrideSum(initial, 4, &sum[0]));
  const PetscReal energy = PetscAbsScalar(sum[0]);
  PetscCall(VecWAXPY(change, -1.0, initial, x));
  for (PetscInt r = 0; r < UNKNOWNS; r++) {
    PetscCall(VecStrideSum(change, r, &sum[r]));
    if (!(PetscAbsScalar(sum[r]) <= lost * energy)) lost = PetscAbsScalar(sum[r]) / energy;
  }
  PetscCall(ReportError(PETSC_COMM_WORLD, "lost", lost, RTOL));
  PetscCall(VecDestroy(&change));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The error grows with time and the mesh width; 0.3 is what fine grids have, and some more, for vortices of strength 5. */
static PetscErrorCode Report(const Flow *flow, TS ts, Vec x, const LinearSolves *sums)
{
  DM                da;
  DMDALocalInfo     info;
  PetscInt          steps, newton;
  PetscReal         end;
  TSConvergedReason reason;
  Vec               exact;

  PetscFunctionBeginUser;
  PetscCall(TSGetStepNumber(ts, &steps));
  PetscCall(TSGetSNESIterations(ts, &newton));
  PetscCall(TSGetConvergedReason(ts, &reason));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "time steps %" PetscInt_FMT ", %s\nNewton steps %" PetscInt_FMT "\n", steps, TSConvergedReasons[reason], newton));
  PetscCall(ReportSolves(PETSC_COMM_WORLD, sums, 1e-3));
  PetscCall(TSGetDM(ts, &da));
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(VecDuplicate(x, &exact));
  PetscCall(FillSolution(flow, da, 0.0, exact));
  PetscCall(ReportConservation(x, exact));
  PetscCall(TSGetSolveTime(ts, &end));
  PetscCall(FillSolution(flow, da, end, exact));
  PetscCall(ReportDifference(x, exact, PetscMin(0.3 * end * EDGE / PetscMin(info.mx, info.my), 0.1) * PetscMax(1.0, PetscAbsReal(flow->strength) / 5.0)));
  PetscCall(VecDestroy(&exact));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves with one variant and prints its line; the first one reports the solution. A first step warms up. */
static PetscErrorCode Compare(Flow *flow, DM da, const Variant *variant, PetscBool report)
{
  Vec            x;
  TS             ts;
  SNES           snes;
  KSP            ksp;
  PetscLogDouble begin, seconds;
  LinearSolves   sums, ignored = {0, 0, 0, 0.0};

  PetscFunctionBeginUser;
  PetscCall(SelectVariant(variant, UNKNOWNS));
  if (variant->baij) PetscCall(DMSetMatType(da, MATBAIJ));
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(CreateStepper(da, flow, &ignored, &ts));
  PetscCall(TSSetMaxSteps(ts, 1));
  PetscCall(FillSolution(flow, da, 0.0, x));
  PetscCall(TSSolve(ts, x));
  PetscCall(TSDestroy(&ts));

  PetscCall(PetscMemzero(&sums, sizeof(sums)));
  PetscCall(CreateStepper(da, flow, &sums, &ts));
  PetscCall(FillSolution(flow, da, 0.0, x));
  PetscCall(Now(&begin));
  PetscCall(TSSolve(ts, x));
  PetscCall(Lap(PETSC_COMM_WORLD, &begin, &seconds));
  if (report) PetscCall(Report(flow, ts, x, &sums));
  if (report) PetscCall(PrintCompareHeader());
  PetscCall(TSGetSNES(ts, &snes));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(PrintCompareLine(variant, ksp, x, sums.solves, sums.iterations, seconds));
  PetscCall(TSDestroy(&ts));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareAll(Flow *flow, DM da)
{
  Mat      J;
  PetscInt count = 0;

  PetscFunctionBeginUser;
  PetscCall(DMCreateMatrix(da, &J));
  PetscCall(CountVariants(J, &count));
  PetscCall(MatDestroy(&J));
  for (PetscInt v = 0; v < count; v++) PetscCall(Compare(flow, da, &Variants[v], (PetscBool)(v == 0)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(Flow *flow, DM da)
{
  Vec          x;
  TS           ts;
  LinearSolves sums = {0, 0, 0, 0.0};

  PetscFunctionBeginUser;
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(CreateStepper(da, flow, &sums, &ts));
  PetscCall(FillSolution(flow, da, 0.0, x));
  PetscCall(TSSolve(ts, x));
  PetscCall(Report(flow, ts, x, &sums));
  PetscCall(TSDestroy(&ts));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  DM        da;
  PetscBool compare;
  Flow      flow = {5.0, 0.1, 1.0};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Vortex in a flow", NULL);
  PetscCall(PetscOptionsReal("-strength", "Strength of the vortex, below 10", NULL, flow.strength, &flow.strength, NULL));
  PetscCall(PetscOptionsReal("-step", "Size of a time step", NULL, flow.step, &flow.step, NULL));
  PetscCall(PetscOptionsReal("-end", "Time at the end; a flow has speed 1 in x and y, and the domain is 10 wide", NULL, flow.end, &flow.end, NULL));
  PetscOptionsEnd();
  PetscCheck(PetscAbsReal(flow.strength) < 10.0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-strength %g must be between -10 and 10, or there is a vacuum in the vortex", (double)flow.strength);
  PetscCall(GetCompare(&compare));
  PetscCall(CreateGrid(&da));
  if (compare) PetscCall(CompareAll(&flow, da));
  else PetscCall(Solve(&flow, da));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      requires: double
      test:
         suffix: ilu
         args: -pc_type syncfree_ilu -pc_syncfree_block_size {{1 5}shared output} -pc_syncfree_strategy {{serial blocks}shared output} -pc_syncfree_threads 2
      test:
         suffix: baij
         # PETSc has BAIJ in host memory only
         args: -pc_type syncfree_ilu -dm_mat_type baij -dm_vec_type standard
         output_file: output/flow_ilu.out
      test:
         suffix: package
         args: -pc_type ilu -pc_factor_mat_solver_type syncfree
         output_file: output/flow_ilu.out
      test:
         suffix: levels
         args: -pc_type syncfree_ilu -pc_factor_levels 1 -pc_factor_mat_ordering_type rcm -da_grid_x 8 -da_grid_y 8 -step 0.5
      test:
         suffix: direct
         nsize: 2
         args: -pc_type syncfree_ilu -step 0.5
      test:
         suffix: compare
         # on a device there are two lines
         args: -compare -step 0.5
         filter: grep -v BAIJ | sed -E "s/[0-9]+\.[0-9]+(e[-+][0-9]+)?/T/g; s/ +/ /g"

TEST*/
