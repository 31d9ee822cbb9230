import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type BatchGain, batchGain, computeGain } from './kms/batch-gain.ts'
import type { Driven, DriveOptions } from './load/drive.ts'
import { measure, middleRound, warmUp } from './measure.ts'
import { type Measured, markdown, perCore, toEcho } from './report/markdown.ts'
import { costOfSecondWorker } from './scaling.ts'
import { primitives } from './server/primitives.ts'
import { startSubjects } from './subjects.ts'

const help = `npm run bench -- [--seconds 1.5] [--rounds 7] [--connections 32] [--only NAME] [--write]

Starts a bare HTTPS echo and a whole Warder with one worker for each service, drives both in turn with verified
requests, and prints requests for each second of processor time, ratios to the echo and to bare node:crypto, latencies
and memory; then what a second worker costs. If taskset is installed, the client has one core and the servers another.

  --only NAME   only scenarios whose name contains it, or one of NAME,NAME; nothing about the second worker
  --write       also writes docs/reference/performance.md`

/** Runs the benchmark. @returns the exit code */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: 'string', default: '1.5' },
      connections: { type: 'string', default: '32' },
      only: { type: 'string' },
      rounds: { type: 'string', default: '7' },
      write: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const print = (line: string): void => void process.stdout.write(`${line}\n`)
  if (values.help) {
    print(help)
    return 0
  }
  if (process.platform !== 'linux') {
    print('the benchmark reads processor time from /proc: run it on Linux')
    return 1
  }
  const rounds = Number(values.rounds)
  const only = values.only?.split(',')
  const options: DriveOptions = {
    seconds: Number(values.seconds),
    warmupSeconds: 0.3,
    connections: Number(values.connections),
  }
  const subjects = await startSubjects()
  const { load, scenarios, pinned, targetOf } = subjects
  try {
    const bare = primitives()
    const chosen = scenarios.filter(
      ({ name }) => only === undefined || only.some((part) => name.includes(part)),
    )
    await warmUp(subjects, chosen, options)
    const echoes: Driven[] = []
    const rows: Measured[] = []
    for (const scenario of chosen) {
      const { row, limits } = await measure(subjects, scenario, bare, rounds, options)
      rows.push(row)
      if (scenario.limit === undefined) echoes.push(...limits)
      print(
        `${row.name.padEnd(40)} ${Math.round(perCore(row))}/s a core, ${toEcho(row).toFixed(2)} of echo` +
          `${row.toBare === undefined ? '' : `, ${row.toBare.toFixed(2)} of bare`}, p99 ${row.p99Ms.toFixed(2)} ms` +
          `${row.halfLoadP99Ms === undefined ? '' : `, at half load ${row.halfLoadP99Ms.toFixed(2)} ms (echo ${row.echoHalfLoadP99Ms?.toFixed(2)})`}`,
      )
    }
    const gain =
      values.only === undefined
        ? [await subjects.ofClient((warder) => batchGain(warder, { ...options, callers: 1, rounds }))]
        : []
    const [hot] = chosen
    const second =
      values.only !== undefined || hot === undefined
        ? []
        : [await costOfSecondWorker(load, targetOf(hot), rounds, options, pinned)]
    const text = markdown({
      date: new Date().toISOString().slice(0, 10),
      machine: `${availableParallelism()} cores of ${cpus()[0]?.model ?? 'an unknown processor'}, Node ${process.version}`,
      echo: echoes.length === 0 ? undefined : middleRound(echoes.map(withoutLimit)),
      rows,
      notes: [
        `${values.connections} connections, ${rounds} rounds of ${values.seconds} s each, the echo in between, 1 worker for each service`,
        pinned === undefined
          ? 'client and servers shared the cores'
          : 'the client ran on one core, the servers on another',
        'key creation and login have their own number of connections, so that they can share an fsync or a core',
        ...batchNotes(rows, gain),
        ...second.map(
          (ratio) =>
            `a second worker: ${ratio.toFixed(2)} times the processor time for a request (${hot?.name ?? ''}), in turn with one worker`,
        ),
      ],
    })
    print(text)
    if (values.write) writeReport(text)
    return 0
  } finally {
    await subjects.stop()
  }
}

/** Sections of the page that other programs measured are kept. */
function writeReport(text: string): void {
  const path = fileURLToPath(new URL('../docs/reference/performance.md', import.meta.url))
  const before = readFileSync(path, 'utf8')
  const sections = before.indexOf('\n## ')
  writeFileSync(path, sections === -1 ? text : `${text.trimEnd()}\n${before.slice(sections)}`)
}

/** The echo is its own limit. */
function withoutLimit(echo: Driven): Measured {
  return { ...echo, echo: perCore(echo), toBare: undefined }
}

/** Encrypted values a second in batches of a hundred, to single requests. */
function batchNotes(rows: readonly Measured[], gains: readonly BatchGain[]): readonly string[] {
  const rate = (name: string): number => {
    const row = rows.find((one) => one.name === name)
    return row === undefined ? Number.NaN : row.requests / row.seconds
  }
  const one = (100 * rate('batch of 100 encrypts, one caller')) / rate('encrypt, one caller')
  const many = (100 * rate('batch of 100 encrypts')) / rate('encrypt A256GCM 64 B')
  return Number.isNaN(one) || Number.isNaN(many)
    ? []
    : [
        `batches of 100 encrypt ${one.toFixed(1)} times the values a second of single requests for one caller, ${many.toFixed(1)} times with many callers that keep the server busy`,
        ...gains.map(
          (gain) =>
            `for one caller with \`@warder/client\`, whose own work is in it: ${Math.round(gain.oneByOne).toLocaleString('en')} values a second one by one, ${Math.round(gain.inBatches).toLocaleString('en')} in batches of 100, ${computeGain(gain).toFixed(1)} times`,
        ),
      ]
}
