// Drives this checkout and another one in turn: `node bench/against.ts DIR [--seconds 1] [--rounds 5] [--only NAME]…`;
// NAME is a part of a scenario's name.
//
// DIR is a checkout of another commit, prepared with `node scripts/prepare.mjs`. Each starts its own Warder with its own
// benchmark; the requests are those of the scenarios that both have. A ratio above 1: this one needs less processor time.
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
  },
})
const [other] = positionals
if (other === undefined) throw new Error('say which checkout: node bench/against.ts DIR')
const options: DriveOptions = { seconds: Number(values.seconds), warmupSeconds: 0.3, connections: 32 }

interface Side {
  readonly subjects: Subjects
  readonly scenario: Scenario
}

/** Requests for each second of processor time. */
async function rate({ subjects, scenario }: Side, wanted: DriveOptions): Promise<number> {
  return perCore(await drive(subjects.load, subjects.targetOf(scenario), wanted))
}

async function measureRatio(ours: Side, theirs: Side): Promise<readonly number[]> {
  for (const side of [ours, theirs])
    await rate(side, { ...options, seconds: 0.1, warmupSeconds: Number(values.warmup) })
  const ratios: number[] = []
  for (let round = 0; round < Number(values.rounds); round += 1) {
    const [first, second] = round % 2 === 0 ? [ours, theirs] : [theirs, ours]
    const [a, b] = [await rate(first, options), await rate(second, options)]
    ratios.push(first === ours ? a / b : b / a)
  }
  return ratios.sort((a, b) => a - b)
}

const theirs: { startSubjects: typeof startSubjects } = await import(
  pathToFileURL(resolve(other, 'bench/subjects.ts')).href
)
const cores = availableParallelism()
const here = await startSubjects()
try {
  // It is pinned to the core of the servers by now, and what it starts would be, too: the clients of the other side.
  if (here.pinned !== undefined) pin(process.pid, `0-${cores - 1}`)
  const there = await theirs.startSubjects()
  try {
    for (const scenario of here.scenarios) {
      const same = there.scenarios.find(({ name }) => name === scenario.name)
      if (same === undefined || !values.only.some((part) => scenario.name.includes(part))) continue
      const ratios = await measureRatio({ subjects: here, scenario }, { subjects: there, scenario: same })
      const [least = 0, most = 0] = [ratios[0], ratios.at(-1)]
      process.stdout.write(
        `${scenario.name.padEnd(52)} ${median(ratios).toFixed(3)}  (${least.toFixed(2)} to ${most.toFixed(2)})\n`,
      )
    }
  } finally {
    await there.stop()
  }
} finally {
  await here.stop()
}
