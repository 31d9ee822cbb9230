import { fork } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Installation, startInstallation } from 'warder/testing'
import { startLoadClient } from './load/client.ts'
import { type Measured, markdown, perCore, toEcho } from './report/markdown.ts'
import { prepareScenarios, type Scenario } from './scenarios.ts'
import { costOf } from './server/cost.ts'
import { measurePrimitives } from './server/primitives.ts'

const help = `npm run bench -- [--seconds 3] [--rounds 3] [--connections 32] [--workers 1] [--only NAME] [--write]

Starts a bare HTTPS echo and a whole Warder, drives both with verified requests, and prints requests for each second
of processor time, ratios to the echo and to bare node:crypto, latencies and memory.

  --write   also writes docs/reference/performance.md`

/** Runs the benchmark. @returns the exit code */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: 'string', default: '3' },
      connections: { type: 'string', default: '32' },
      workers: { type: 'string', default: '1' },
      only: { type: 'string' },
      rounds: { type: 'string', default: '3' },
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
  const seconds = Number(values.seconds)
  const connections = Number(values.connections)
  const load = startLoadClient()
  const warder = await startInstallation({
    env: { AUTH_WORKERS: values.workers, KMS_WORKERS: values.workers },
  })
  try {
    const ca = readFileSync(warder.caFile, 'utf8')
    print('bare node:crypto ...')
    const primitives = measurePrimitives(1)
    const echoServer = await startEcho(warder)
    const drive = async (scenario: Scenario): Promise<Measured> => {
      let before = { cpuSeconds: 0, residentMiB: 0 }
      let after = before
      const pids = scenario.server === 'echo' ? [echoServer.pid] : [warder.pid(scenario.server)]
      const url = new URL(scenario.url)
      const result = await load.run(
        {
          host: '127.0.0.1',
          port: Number(url.port),
          ca,
          method: scenario.method,
          path: url.pathname + url.search,
          headers: scenario.headers,
          body: scenario.body,
          connections: scenario.connections ?? connections,
          seconds,
          warmupSeconds: Math.min(2, seconds / 2),
          expect: scenario.expect,
        },
        (moment) => {
          if (moment === 'start') before = costOf(pids)
          else after = costOf(pids)
        },
      )
      if (result.wrong > 0)
        throw new Error(`${scenario.name}: ${result.wrong} wrong answers, first ${result.firstWrong}`)
      return {
        name: scenario.name,
        requests: result.requests,
        cpuSeconds: after.cpuSeconds - before.cpuSeconds,
        seconds: result.seconds,
        p50Ms: result.p50Ms,
        p99Ms: result.p99Ms,
        residentMiB: after.residentMiB,
        bare: primitives.find(({ name }) => name === scenario.primitive)?.perSecond,
        echo: Number.NaN,
      }
    }
    const client = { auth: warder.client('auth'), kms: warder.client('kms') }
    const scenarios = await prepareScenarios(warder, client, `https://127.0.0.1:${echoServer.port}`)
    const [first, ...others] = scenarios
    if (first === undefined) throw new Error('no scenario')
    await drive(first)
    const echoes: Measured[] = []
    const rows: Measured[] = []
    for (const scenario of others.filter(
      ({ name }) => values.only === undefined || name.includes(values.only),
    )) {
      const rounds: Measured[] = []
      for (let round = 0; round < Number(values.rounds); round += 1) {
        const echo = await drive(first)
        echoes.push(echo)
        rounds.push({ ...(await drive(scenario)), echo: perCore(echo) })
      }
      const row = median(rounds)
      rows.push(row)
      print(
        `${row.name.padEnd(34)} ${Math.round(perCore(row))}/s a core, ${toEcho(row).toFixed(2)} of echo` +
          `${row.bare === undefined ? '' : `, ${(perCore(row) / row.bare).toFixed(2)} of bare`}, p99 ${row.p99Ms.toFixed(2)} ms`,
      )
    }
    const echo = median(echoes.map((one) => ({ ...one, echo: perCore(one) })))
    client.auth.close()
    client.kms.close()
    echoServer.stop()
    const text = markdown({
      date: new Date().toISOString().slice(0, 10),
      machine: `${availableParallelism()} cores of ${cpus()[0]?.model ?? 'an unknown processor'}, Node ${process.version}`,
      echo,
      rows,
      notes: [
        `${connections} connections, ${values.rounds} rounds of ${seconds} s each, the echo in between, ${values.workers} worker for each service`,
        'key creation and login have their own number of connections, so that they can share an fsync or a core',
      ],
    })
    print(text)
    if (values.write)
      writeFileSync(fileURLToPath(new URL('../docs/reference/performance.md', import.meta.url)), text)
    return 0
  } finally {
    load.close()
    await warder.stop()
  }
}

/** The round in the middle, by its ratio to the echo beside it. */
function median(rounds: readonly Measured[]): Measured {
  const sorted = [...rounds].sort((a, b) => toEcho(a) - toEcho(b) || perCore(a) - perCore(b))
  const middle = sorted[Math.floor(sorted.length / 2)]
  if (middle === undefined) throw new Error('nothing was measured')
  return middle
}

function startEcho(warder: Installation): Promise<{ pid: number; port: number; stop(): void }> {
  const tls = join(warder.home, 'tls')
  const child = fork(fileURLToPath(new URL('./server/echo.ts', import.meta.url)), [
    join(tls, 'kms.crt'),
    join(tls, 'kms.key'),
  ])
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`the echo server ended with code ${code}`)))
    child.once('message', (message: { port: number }) => {
      resolve({ pid: child.pid ?? 0, port: message.port, stop: () => void child.kill() })
    })
  })
}
