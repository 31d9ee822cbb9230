// Drives this checkout and another one in turn: `node bench/against.ts DIR [--seconds 1] [--rounds 5] [--only NAME]…`;
// NAME is a part of a scenario's name.
//
// DIR is a checkout of another commit, prepared with `node scripts/prepare.mjs`. Each starts its own Warder with its own
// benchmark; the requests are those of the scenarios that both have. Two ratios are printed, of requests for each second of
// processor time (of all threads of the server) and of requests for each second; above 1: this checkout is better.
//
// `node bench/against.ts --without-index` drives this checkout against itself without an index of the audit log: what the
// index costs.
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { type DriveOptions, drive } from './load/drive.ts'
import { median } from './median.ts'
import { perCore } from './report/markdown.ts'
import type { Scenario } from './scenarios.ts'
import { pin } from './server/pin.ts'
import { type Subjects, startSubjects } from './subjects.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '5' },
    warmup: { type: 'string', default: '4' },
    only: { type: 'string', multiple: true, default: [''] },
    'without-index': { type: 'boolean', default: false },
  },
})
const [other] = positionals
const withoutIndex = values['without-index']
if ((other === undefined) !== withoutIndex)
  throw new Error('say which checkout: node bench/against.ts DIR, or --without-index')
const options: DriveOptions = { seconds: Number(values.seconds), warmupSeconds: 0.3, connections: 32 }

interface Side {
  readonly subjects: Subjects
  readonly scenario: Scenario
}

/** Requests for each second of processor time, and for each second. */
interface Rates {
  readonly perCore: number
  readonly perSecond: number
}

async function measure({ subjects, scenario }: Side, wanted: DriveOptions): Promise<Rates> {
  const driven = await drive(subjects.load, subjects.targetOf(scenario), wanted)
  return { perCore: perCore(driven), perSecond: driven.requests / driven.seconds }
}

async function measureRatios(ours: Side, theirs: Side): Promise<readonly Rates[]> {
  for (const side of [ours, theirs])
    await measure(side, { ...options, seconds: 0.1, warmupSeconds: Number(values.warmup) })
  const ratios: Rates[] = []
  for (let round = 0; round < Number(values.rounds); round += 1) {
    const oursFirst = round % 2 === 0
    const [first, second] = oursFirst ? [ours, theirs] : [theirs, ours]
    const rates = [await measure(first, options), await measure(second, options)]
    const [a, b] = oursFirst ? rates : rates.toReversed()
    if (a === undefined || b === undefined) throw new Error('a side was not measured')
    ratios.push({ perCore: a.perCore / b.perCore, perSecond: a.perSecond / b.perSecond })
  }
  return ratios
}

function formatRatios(ratios: readonly number[]): string {
  const format = (ratio: number): string => ratio.toFixed(2)
  return `${median(ratios).toFixed(3)} (${format(Math.min(...ratios))} to ${format(Math.max(...ratios))})`
}

const theirs: { startSubjects: typeof startSubjects } =
  other === undefined
    ? { startSubjects: () => startSubjects({ auditIndex: false }) }
    : await import(pathToFileURL(resolve(other, 'bench/subjects.ts')).href)
const cores = availableParallelism()
const here = await startSubjects()
try {
  // It is pinned to the core of the servers by now, and its child processes would be, too: the clients of the other
  // side.
  if (here.pinned !== undefined) pin(process.pid, `0-${cores - 1}`)
  const there = await theirs.startSubjects()
  try {
    for (const scenario of here.scenarios) {
      const same = there.scenarios.find(({ name }) => name === scenario.name)
      if (same === undefined || !values.only.some((part) => scenario.name.includes(part))) continue
      const ratios = await measureRatios({ subjects: here, scenario }, { subjects: there, scenario: same })
      const perCore = formatRatios(ratios.map((ratio) => ratio.perCore))
      const perSecond = formatRatios(ratios.map((ratio) => ratio.perSecond))
      process.stdout.write(`${scenario.name.padEnd(44)} processor time ${perCore}, requests/s ${perSecond}\n`)
    }
  } finally {
    await there.stop()
  }
} finally {
  await here.stop()
}
