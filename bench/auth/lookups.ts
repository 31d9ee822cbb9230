import type { Installation } from 'warder/testing'
import type { LoadClient } from '../load/client.ts'
import { drive } from '../load/drive.ts'
import { warmupSeconds } from '../measure.ts'
import { perCore } from '../report/markdown.ts'
import type { Scenario } from '../scenarios.ts'
import type { EchoProcess } from '../server/echo-process.ts'
import { type Pinning, pin } from '../server/pin.ts'

/** An installation that has served for a moment, and its caller. */
export interface Served {
  /** `empty`, `seeded` */
  readonly name: string
  readonly warder: Installation
  readonly cookie: string
  readonly token: string
}

/** A look-up at one installation against the echo beside it. */
export interface Lookup {
  readonly name: string
  readonly installation: string
  /** Processor time of a request in microseconds, round by round. */
  readonly microseconds: readonly number[]
  /** Requests a second of processor time to the echo's, round by round. */
  readonly ratios: readonly number[]
  /** Of the last round. */
  readonly p99Ms: number
}

/** A request of the authentication service without a body. */
export const authGet = (
  name: string,
  url: string,
  headers: Record<string, string>,
  includes: string,
): Scenario => ({
  name,
  server: 'auth',
  method: 'GET',
  url,
  headers,
  body: undefined,
  expect: { status: 200, includes },
})

/**
 * Sessions and tokens looked up at every installation and the echo, in turn within each round: what the machine does
 * meanwhile happens to all of them.
 */
export async function measureLookups(
  load: LoadClient,
  echo: EchoProcess,
  served: readonly Served[],
  { seconds, rounds, pinned }: { seconds: number; rounds: number; pinned: Pinning | undefined },
): Promise<readonly Lookup[]> {
  const [first] = served
  if (first === undefined) return []
  if (pinned !== undefined) {
    pin(load.pid, pinned.load)
    for (const pid of [echo.pid, ...served.map(({ warder }) => warder.pid('auth'))]) pin(pid, pinned.servers)
  }
  const bare = {
    scenario: {
      ...authGet('echo', `${echo.url}/`, { 'Content-Type': 'application/json' }, 'padding'),
      server: 'echo',
      method: 'POST',
      body: JSON.stringify({ sub: 'admin', aud: ['_'], padding: 'x'.repeat(200) }),
    },
    pid: echo.pid,
    caFile: first.warder.caFile,
  } as const
  const lookups = served.flatMap(({ name: installation, warder, cookie, token }) =>
    [
      authGet('whoami', `${warder.authUrl}/whoami?realm=_`, { Cookie: cookie }, '"sub":"admin"'),
      authGet(
        'lookup-self',
        `${warder.authUrl}/auth/token/lookup-self`,
        { 'X-Secret-Token': token },
        '"entity_id"',
      ),
    ].map((scenario) => ({
      name: scenario.name,
      installation,
      target: { scenario, pid: warder.pid('auth'), caFile: warder.caFile },
      microseconds: [] as number[],
      ratios: [] as number[],
      p99Ms: 0,
    })),
  )
  const options = { seconds, warmupSeconds: 0.2, connections: 32 }
  for (const target of [bare, ...lookups.map((one) => one.target)]) {
    await drive(load, target, { ...options, seconds: 0.1, warmupSeconds })
  }
  for (let round = 0; round < rounds; round++) {
    const echoed = await drive(load, bare, options)
    for (const one of round % 2 === 0 ? lookups : lookups.toReversed()) {
      const driven = await drive(load, one.target, options)
      one.microseconds.push(1e6 / perCore(driven))
      one.ratios.push(perCore(driven) / perCore(echoed))
      one.p99Ms = driven.p99Ms
    }
  }
  return lookups
}
