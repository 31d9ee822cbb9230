import { type Driven, type DriveOptions, drive } from './load/drive.ts'
import { median } from './median.ts'
import { type Measured, perCore, toEcho } from './report/markdown.ts'
import type { Scenario } from './scenarios.ts'
import type { Subjects } from './subjects.ts'

const barePrimitiveSeconds = 1
/** Code is compiled while it is used, on threads of the service, so a service that has run for a while is measured. */
export const warmupSeconds = 8

export type Primitives = ReadonlyMap<string, (seconds: number) => number>

/** Has every scenario served for a moment before any is measured. */
export async function warmUp(
  subjects: Subjects,
  chosen: readonly Scenario[],
  options: DriveOptions,
): Promise<void> {
  for (const scenario of [subjects.echo, ...chosen]) {
    await drive(subjects.load, subjects.targetOf(scenario), { ...options, seconds: 0.1, warmupSeconds })
  }
}

/** Measures a scenario, its limit and its bare primitive in turn. @returns the round in the middle, and its limits */
export async function measure(
  { load, echo, targetOf }: Subjects,
  scenario: Scenario,
  bare: Primitives,
  rounds: number,
  options: DriveOptions,
): Promise<{ readonly row: Measured; readonly limits: readonly Driven[] }> {
  const primitive = scenario.primitive === undefined ? undefined : bare.get(scenario.primitive)
  const measured: Measured[] = []
  const limits: Driven[] = []
  for (let round = 0; round < rounds; round += 1) {
    const limit = await drive(load, targetOf(scenario.limit ?? echo), options)
    limits.push(limit)
    const driven = await drive(load, targetOf(scenario), options)
    const toBare = primitive && perCore(driven) / primitive(barePrimitiveSeconds)
    measured.push({ ...driven, echo: perCore(limit), toBare })
  }
  // The bare primitive drifts by itself from round to round: the ratio to it has a middle of its own.
  const toBare = median(measured.flatMap((one) => one.toBare ?? []))
  const row = { ...middleRound(measured), toBare: primitive && toBare }
  if (scenario.halfLoad === undefined) return { row, limits }
  const half = await atHalfLoad({ load, targetOf }, scenario, row, rounds, options)
  return { row: { ...row, ...half }, limits }
}

/** The latency at half of the rate of the scenario, in turn with that of its limit at the same rate (medians). */
async function atHalfLoad(
  { load, targetOf }: Pick<Subjects, 'load' | 'targetOf'>,
  scenario: Scenario,
  { requests, seconds }: Driven,
  rounds: number,
  options: DriveOptions,
): Promise<Pick<Measured, 'halfLoadP99Ms' | 'echoHalfLoadP99Ms'>> {
  const half = { ...options, ratePerSecond: requests / seconds / 2 }
  const [own, echoes]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round += 1) {
    if (scenario.limit !== undefined) echoes.push((await drive(load, targetOf(scenario.limit), half)).p99Ms)
    own.push((await drive(load, targetOf(scenario), half)).p99Ms)
  }
  return { halfLoadP99Ms: median(own), echoHalfLoadP99Ms: median(echoes) }
}

/** The round in the middle, by its ratio to the echo beside it. */
export function middleRound(rounds: readonly Measured[]): Measured {
  const sorted = [...rounds].sort((a, b) => toEcho(a) - toEcho(b) || perCore(a) - perCore(b))
  const middle = sorted[Math.floor(sorted.length / 2)]
  if (middle === undefined) throw new Error('nothing was measured')
  return middle
}
