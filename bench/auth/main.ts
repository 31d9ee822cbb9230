import { fork } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createPasswordHasher } from '@warder/auth/testing'
import { type HttpsClient, httpsClient } from '@warder/command-line/https-client'
import { type Installation, startInstallation, temporaryHome } from 'warder/testing'
import { type LoadClient, startLoadClient } from '../load/client.ts'
import { drive } from '../load/drive.ts'
import { median } from '../median.ts'
import type { Scenario } from '../scenarios.ts'
import { type EchoProcess, startEcho } from '../server/echo-process.ts'
import { pinning } from '../server/pin.ts'
import type { FloodPlan, FloodResult } from './flood.ts'
import { authGet, type Lookup, measureLookups, type Served } from './lookups.ts'
import { fullSize, type SeedSize, seed } from './seed.ts'

/**
 * Targets of the authentication service, as ratios of one run: session and token lookups to the bare echo, of
 * two installations in turn, an empty one and one with millions of rows; lists of ten thousand realms; logins to bare
 * argon2id; sessions while five hundred clients log in.
 *
 * Run: `node bench/auth/main.ts [--seconds 2] [--rounds 3] [--share 1]`; `--share 0.1` seeds a tenth of the rows.
 */
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
    share: { type: 'string', default: '1' },
  },
})
const seconds = Number(values.seconds)
const rounds = Number(values.rounds)
const size = Object.fromEntries(
  Object.entries(fullSize).map(([name, rows]) => [name, Math.ceil(rows * Number(values.share))]),
) as unknown as SeedSize
const environment = {
  AUTH_WORKERS: '1',
  KMS_WORKERS: '1',
  AUTH_LOGIN_RATE_LIMIT_PER_SECOND: '100000',
  AUTH_LOGIN_RATE_LIMIT_BURST: '1000000',
}
/** Hash of `correct horse`. */
const passwordHash =
  '$argon2id$v=19$m=65536,t=3,p=4$SZ8k9fzwBgGDi6bF619UnA$XTCnYZMBRmOx0cO4C1m1zHjxAo/vsGcagcrf9GtAFRs'
const print = (line: string): void => void process.stdout.write(`${line}\n`)

interface Credentials {
  readonly cookie: string
  readonly token: string
  readonly basic: string
}

async function logIn(warder: Installation, client: HttpsClient): Promise<Credentials> {
  const basic = `Basic ${Buffer.from(`admin:${warder.password}`).toString('base64')}`
  const cookie = `_ea_=${await warder.adminToken()}`
  const headers = { cookie }
  await client.ask('/auth/approle/role/bench', {
    json: { bind_secret_id: false, token_ttl: 86_400 },
    headers,
  })
  const role = await client.ask('/auth/approle/role/bench/role-id', { headers })
  const { role_id } = (role.json as { data: { role_id: string } }).data
  const machine = await client.ask('/auth/approle/login', { json: { role_id } })
  return { cookie, basic, token: (machine.json as { auth: { client_token: string } }).auth.client_token }
}

/** Ratio of the costs of two requests, in the round in the middle. */
const relative = (first: Lookup, second: Lookup): number =>
  median(first.microseconds.map((value, round) => value / (second.microseconds[round] ?? Number.NaN)))

async function lookups(load: LoadClient, echo: EchoProcess, served: readonly Served[]): Promise<void> {
  const measured = await measureLookups(load, echo, served, { seconds, rounds, pinned: pinning() })
  for (const one of measured) {
    const [ratio, cost] = [median(one.ratios), median(one.microseconds)]
    const beside = measured.find((other) => other.name === one.name && other !== one)
    const share =
      beside === undefined ? '' : `, ${relative(one, beside).toFixed(2)} of ${beside.installation}`
    print(
      `${one.name}, ${one.installation}: ${ratio.toFixed(2)} of echo, ${cost.toFixed(1)} µs of processor time${share}, ` +
        `p99 ${one.p99Ms.toFixed(2)} ms`,
    )
  }
}

async function lists(client: HttpsClient, { cookie }: Credentials): Promise<void> {
  const times: number[] = []
  let entries = 0
  for (let round = 0; round < 7; round++) {
    const began = performance.now()
    const answer = await client.ask('/admins/realms', { headers: { cookie } })
    times.push(performance.now() - began)
    entries = (answer.json as unknown[]).length
  }
  print(`list of ${entries} realms: ${median(times).toFixed(0)} ms (parsed by the client)`)
}

/** Hashes a second of processor time and of time, bare and as logins, in turn. */
async function logins(load: LoadClient, warder: Installation, { basic }: Credentials): Promise<void> {
  const cores = availableParallelism()
  const hasher = createPasswordHasher(cores)
  const scenario: Scenario = {
    ...authGet('login', `${warder.authUrl}/login?realm=_`, { Authorization: basic }, 'Authenticated'),
    method: 'POST',
    body: '{}',
  }
  const byCpu: number[] = []
  const byTime: number[] = []
  for (let round = 0; round < rounds; round++) {
    const began = performance.now()
    const used = process.cpuUsage()
    let hashes = 0
    await Promise.all(
      Array.from({ length: cores }, async () => {
        while (performance.now() - began < seconds * 1000) {
          await hasher.verify(passwordHash, 'wrong', { client: 'bench', tenant: '_' })
          hashes++
        }
      }),
    )
    const { user, system } = process.cpuUsage(used)
    const bare = {
      cpu: hashes / ((user + system) / 1e6),
      time: hashes / ((performance.now() - began) / 1000),
    }
    const one = await drive(
      load,
      { scenario, pid: warder.pid('auth'), caFile: warder.caFile },
      { seconds, warmupSeconds: 0.5, connections: 4 * cores },
    )
    byCpu.push(one.requests / one.cpuSeconds / bare.cpu)
    byTime.push(one.requests / one.seconds / bare.time)
  }
  print(
    `login: ${median(byCpu).toFixed(2)} of bare argon2id by processor time, ${median(byTime).toFixed(2)} by time ` +
      '(the load generator uses one core)',
  )
}

/** Latency of sessions and, in turn with them, of the echo, which shares nothing with them but the machine. */
async function duringFlood(
  warder: Installation,
  echo: EchoProcess,
  { cookie, basic, token }: Credentials,
): Promise<void> {
  const child = fork(fileURLToPath(new URL('./flood.ts', import.meta.url)))
  const plan: FloodPlan = {
    url: `${warder.authUrl}/login?realm=_`,
    caFile: warder.caFile,
    authorization: basic,
    atOnce: 500,
  }
  const result = new Promise<FloodResult>((resolve) => child.once('message', resolve))
  const clients = [warder.client('auth'), httpsClient(echo.url, warder.caFile)] as const
  const asked = [
    ['whoami', clients[0], '/whoami?realm=_', { headers: { cookie } }],
    ['lookup-self', clients[0], '/auth/token/lookup-self', { headers: { 'x-secret-token': token } }],
    ['the echo', clients[1], '/', { json: { sub: 'admin' } }],
  ] as const
  const times = asked.map((): number[] => [])
  for (const [, client, path, ask] of asked) await client.ask(path, ask)
  child.send(plan)
  await pause(3000)
  const until = performance.now() + seconds * 3000
  while (performance.now() < until) {
    for (const [index, [name, client, path, ask]] of asked.entries()) {
      const began = performance.now()
      const { status } = await client.ask(path, ask)
      if (status !== 200) throw new Error(`${name} answered ${status}`)
      times[index]?.push(performance.now() - began)
      await pause(2)
    }
  }
  child.send('stop')
  for (const [index, [name]] of asked.entries()) {
    const sorted = times[index]?.toSorted((a, b) => a - b) ?? []
    const at = (share: number): string => (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(1)
    print(`${name} while 500 log in: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms of ${sorted.length}`)
  }
  print(`the logins: ${JSON.stringify(await result)}`)
  for (const client of clients) client.close()
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const homes = { empty: temporaryHome(), seeded: temporaryHome() }
const started: Installation[] = []
const start = async (home: string): Promise<Installation> => {
  const warder = await startInstallation({ home, env: environment })
  started.push(warder)
  return warder
}
const load = startLoadClient()
let echo: EchoProcess | undefined
try {
  // One installation twice: its certificates, keys and administrator are the same in both.
  await (await startInstallation({ home: homes.empty, env: environment })).stop()
  cpSync(homes.empty, homes.seeded, { recursive: true })
  let began = performance.now()
  seed(homes.seeded, size)
  print(`seeded ${JSON.stringify(size)} in ${((performance.now() - began) / 1000).toFixed(1)} s`)
  began = performance.now()
  const seeded = await start(homes.seeded)
  print(`start beside them: ${((performance.now() - began) / 1000).toFixed(1)} s`)
  const empty = await start(homes.empty)
  echo = await startEcho(homes.empty)

  const client = { empty: empty.client('auth'), seeded: seeded.client('auth') }
  const credentials = {
    empty: await logIn(empty, client.empty),
    seeded: await logIn(seeded, client.seeded),
  }
  await lists(client.seeded, credentials.seeded)
  for (const one of Object.values(client)) one.close()
  await logins(load, empty, credentials.empty)
  await duringFlood(seeded, echo, credentials.seeded)
  // Last: from here on each process stays on its core.
  await lookups(load, echo, [
    { name: 'empty', warder: empty, ...credentials.empty },
    { name: 'seeded', warder: seeded, ...credentials.seeded },
  ])
} finally {
  load.close()
  echo?.stop()
  for (const warder of started) await warder.stop()
  for (const home of Object.values(homes)) rmSync(home, { recursive: true, force: true })
}
