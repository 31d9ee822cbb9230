import { rmSync } from 'node:fs'
import { startInstallation, temporaryHome } from 'warder/testing'
import { seed } from '../auth/seed.ts'
import { median } from '../median.ts'

/**
 * Times refused logins of users that exist beside those of users, and of realms, that do not: no client must learn from
 * the time which it was (A02). Prints medians, and for each pair the z of the Mann-Whitney test: beyond 1.96 the two
 * differ at the level of 95 %. The first pair is the same question twice: the noise.
 *
 * Run: `node bench/timing/login.ts [rounds]`
 */
const rounds = Number(process.argv[2] ?? 200)
const home = temporaryHome()
const environment = {
  AUTH_WORKERS: '1',
  AUTH_LOGIN_RATE_LIMIT_PER_SECOND: '100000',
  AUTH_LOGIN_RATE_LIMIT_BURST: '1000000',
}

await (await startInstallation({ home, env: environment })).stop()
// Every login has a name of its own: no throttle ever answers.
seed(home, { realms: 1, credentials: 2 * (rounds + 20), sessions: 0, tokens: 0 })
const warder = await startInstallation({ home, env: environment })
const client = warder.client('auth')
let next = 0
const existing = (): string => `user${String(next++).padStart(8, '0')}`
const kinds: Readonly<Record<string, () => readonly [realm: string, username: string]>> = {
  'a user that exists': () => ['seed000000', existing()],
  'another that exists (noise)': () => ['seed000000', existing()],
  'no such user': () => ['seed000000', `nobody${String(next).padStart(6, '0')}`],
  'no such realm': () => [`none${next}`, `user${String(next).padStart(8, '0')}`],
  'no possible username': () => ['seed000000', ` user${next} `],
}
const times = new Map<string, number[]>(Object.keys(kinds).map((kind) => [kind, []]))
try {
  for (let round = -20; round < rounds; round++) {
    for (const kind of shuffle(Object.keys(kinds))) {
      const [realm, username] = kinds[kind]?.() ?? ['', '']
      const authorization = `Basic ${Buffer.from(`${username}:wrong password`).toString('base64')}`
      const began = performance.now()
      const { status } = await client.ask(`/login?realm=${realm}`, {
        method: 'POST',
        headers: { authorization },
      })
      const took = performance.now() - began
      if (status !== 401) throw new Error(`${kind} answered ${status}`)
      if (round >= 0) times.get(kind)?.push(took)
    }
  }
} finally {
  client.close()
  await warder.stop()
  rmSync(home, { recursive: true, force: true })
}

const [reference = [], ...others] = times.values()
process.stdout.write(`${rounds} rounds, milliseconds\n`)
process.stdout.write(`  ${'a user that exists'.padEnd(28)} ${median(reference).toFixed(2).padStart(8)}\n`)
for (const [index, list] of others.entries()) {
  const kind = Object.keys(kinds)[index + 1] ?? ''
  const z = mannWhitney(reference, list)
  const verdict = Math.abs(z) < 1.96 ? 'not told apart' : 'TOLD APART'
  process.stdout.write(
    `  ${kind.padEnd(28)} ${median(list).toFixed(2).padStart(8)}  z ${z.toFixed(2).padStart(6)}  ${verdict}\n`,
  )
}

/** Normal approximation of the U test; ties do not occur among times of this resolution. */
function mannWhitney(one: readonly number[], other: readonly number[]): number {
  let above = 0
  for (const a of one) for (const b of other) above += a > b ? 1 : a === b ? 0.5 : 0
  const pairs = one.length * other.length
  return (above - pairs / 2) / Math.sqrt((pairs * (one.length + other.length + 1)) / 12)
}

/** Each round in another order, so that the previous run favours none. */
function shuffle(list: readonly string[]): readonly string[] {
  return list
    .map((item) => ({ item, at: Math.random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item)
}
