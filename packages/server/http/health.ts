import type { Clock, Logger } from '@warder/base'
import Type, { type Static } from 'typebox'
import { defineOperation, fromProbes, get } from '../operations/define.ts'
import type { Operation } from '../operations/types.ts'
import { rawReply } from './reply.ts'
import type { UnsealProgress } from './unseal.ts'

const State = Type.Union([Type.Literal('UP'), Type.Literal('DOWN')])
const Part = Type.Object({ name: Type.String(), status: State, message: Type.Optional(Type.String()) })
export const Health = Type.Object({
  status: State,
  latency_ms: Type.Number(),
  dependencies: Type.Object({
    database: Part,
    audit: Type.Optional(Part),
    auth_feed: Type.Optional(Part),
    restore: Type.Optional(Part),
    root_key: Type.Optional(Part),
    hsm: Type.Optional(Part),
  }),
  sealed: Type.Optional(
    Type.Object(
      { entered: Type.Integer(), threshold: Type.Integer() },
      {
        description:
          'The service waits for shares of its root key; the reply contains the number of entered shares.',
      },
    ),
  ),
})

/** A part of the service that `/health` checks. */
export interface HealthPart {
  /** Its member of `dependencies`. */
  readonly key: 'database' | 'audit' | 'auth_feed' | 'restore' | 'root_key' | 'hsm'
  /** `sqlite`, `postgresql`, `audit log`, `revocation feed`, `restored backup`, `transit`. */
  readonly name: string
  /** Sentence for callers if the part does not work; read after each failure. */
  readonly message: string
  /** false: the service works without it. */
  readonly required?: boolean
  /** Checks the part. Rejects with the reason, which goes to the log. */
  probe(): Promise<unknown>
}

export interface HealthOptions {
  readonly parts: readonly HealthPart[]
  readonly clock: Clock
  /** A part that does not answer within this time is down; default 2000. */
  readonly timeoutMs?: number
  /** A result is reused for this time; default 1000. */
  readonly everyMs?: number
}

type PartState = Static<typeof Part>

/** Parts are checked on request, at most once in `everyMs`, and with one probe of a part at a time. */
export function createHealthCheck(options: HealthOptions): (log: Logger) => Promise<Static<typeof Health>> {
  const { clock, everyMs = 1000 } = options
  const probes = options.parts.map((part) => createProbe(part, options.timeoutMs ?? 2000))
  let known: { readonly at: number; readonly health: Static<typeof Health> } | undefined
  let underWay: Promise<Static<typeof Health>> | undefined

  const probeAll = async (log: Logger): Promise<Static<typeof Health>> => {
    const startedAt = clock.monotonic()
    const states = await Promise.all(probes.map((probe) => probe(log)))
    const at = clock.monotonic()
    const health = {
      status: states.every(
        ([, { status }], index) => status === 'UP' || options.parts[index]?.required === false,
      )
        ? 'UP'
        : 'DOWN',
      latency_ms: Math.round((at - startedAt) * 1000) / 1000,
      dependencies: Object.fromEntries(states) as Static<typeof Health>['dependencies'],
    } as const
    known = { at, health }
    return health
  }
  return async (log) => {
    if (known !== undefined && clock.monotonic() - known.at < everyMs) return known.health
    underWay ??= probeAll(log).finally(() => {
      underWay = undefined
    })
    return underWay
  }
}

/**
 * `GET /health`: 200 when every required part works, else 503 with the part that does not. The reason goes to the log;
 * unauthenticated callers receive one fixed sentence.
 */
export function healthOperation<Services>(options: HealthOptions): Operation<Services> {
  const check = createHealthCheck(options)
  return defineOperation<Services>()({
    name: 'health',
    reach: ['reveal public'],
    route: get('/health'),
    summary: 'State of the service and of its parts',
    tag: 'Diagnostics',
    access: { name: 'public', public: true },
    foreignParameters: fromProbes,
    reply: Health,
    errors: { 503: 'A part of the service is down.' },
    audited: false,
    async act(_input, { log }) {
      const health = await check(log)
      return health.status === 'UP' ? health : rawReply({ status: 503, json: health })
    },
  })
}

/** Probes a part, and joins a probe that is under way. */
function createProbe(
  part: HealthPart,
  timeoutMs: number,
): (log: Logger) => Promise<readonly [string, PartState]> {
  const { key, name } = part
  let underWay: Promise<unknown> | undefined
  return async (log) => {
    underWay ??= Promise.resolve()
      .then(() => part.probe())
      .finally(() => {
        underWay = undefined
      })
    try {
      await within(timeoutMs, underWay)
      return [key, { name, status: 'UP' }]
    } catch (thrown) {
      log.warn(
        { part: key, detail: String(thrown), cause: findCause(thrown) },
        'a part of the service is down',
      )
      return [key, { name, status: 'DOWN', message: part.message }]
    }
  }
}

function findCause(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error)) return undefined
  if ('detail' in thrown && typeof thrown.detail === 'string') return thrown.detail
  return thrown.cause === undefined ? undefined : String(thrown.cause)
}

/** The reply of a service whose database cannot be reached. */
export function toUnreachableHealth(name: string): Static<typeof Health> {
  const database = { name, status: 'DOWN', message: databaseDown } as const
  return { status: 'DOWN', latency_ms: 0, dependencies: { database } }
}

/** The reply of a service that waits for shares of its root key, or has just received them. */
export function toSealedHealth(name: string, progress: UnsealProgress): Static<typeof Health> {
  const { sealed, entered = 0, threshold = 0 } = progress
  const database = { name, status: 'UP' } as const
  if (!sealed) return { status: 'DOWN', latency_ms: 0, dependencies: { database } }
  const message = `The service is sealed: ${entered} of ${threshold} shares of the root key were entered.`
  return {
    status: 'DOWN',
    latency_ms: 0,
    dependencies: { database, root_key: { name: 'shares', status: 'DOWN', message } },
    sealed: { entered, threshold },
  }
}

export const databaseDown = 'The database does not respond.'

async function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no response within ${timeoutMs} ms`)), timeoutMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
