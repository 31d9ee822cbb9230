import { fork } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Installation, startInstallation } from 'warder/testing'
import { startLoadClient } from './load/client.ts'
import { type Measured, markdown, perCore } from './report/markdown.ts'
import { prepareScenarios, type Scenario } from './scenarios.ts'
import { costOf } from './server/cost.ts'
import { measurePrimitives } from './server/primitives.ts'

const help = `npm run bench -- [--seconds 4] [--connections 32] [--workers 1] [--only NAME] [--write]

Starts a bare HTTPS echo and a whole Warder, drives both with verified requests, and prints requests for each second
of processor time, ratios to the echo and to bare node:crypto, latencies and memory.

  --write   also writes docs/reference/performance.md`

/** Runs the benchmark. @returns the exit code */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: 'string', default: '4' },
      connections: { type: 'string', default: '32' },
      workers: { type: 'string', default: '1' },
      only: { type: 'string' },
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
      }
    }
    const client = { auth: warder.client('auth'), kms: warder.client('kms') }
    const scenarios = await prepareScenarios(warder, client, `https://127.0.0.1:${echoServer.port}`)
    const [first, ...others] = scenarios
    if (first === undefined) throw new Error('no scenario')
    const echo = await drive(first)
    const rows: Measured[] = []
    for (const scenario of others.filter(
      ({ name }) => values.only === undefined || name.includes(values.only),
    )) {
      const row = await drive(scenario)
      rows.push(row)
      print(
        `${row.name.padEnd(34)} ${Math.round(perCore(row))}/s a core, ${(perCore(row) / perCore(echo)).toFixed(2)} of echo` +
          `${row.bare === undefined ? '' : `, ${(perCore(row) / row.bare).toFixed(2)} of bare`}, p99 ${row.p99Ms.toFixed(2)} ms`,
      )
    }
    client.auth.close()
    client.kms.close()
    echoServer.stop()
    const text = markdown({
      date: new Date().toISOString().slice(0, 10),
      machine: `${availableParallelism()} cores of ${cpus()[0]?.model ?? 'an unknown processor'}, Node ${process.version}`,
      echo,
      rows,
      notes: [
        `${connections} connections, ${seconds} s each, ${values.workers} worker for each service`,
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
