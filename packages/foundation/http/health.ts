import Type, { type Static } from 'typebox'
import { defineOperation, get, type Operation } from '../operations/index.ts'
import type { Clock } from '../runtime/clock.ts'
import { rawReply } from './reply.ts'

const State = Type.Union([Type.Literal('UP'), Type.Literal('DOWN')])
const Health = Type.Object({
  status: State,
  latency_ms: Type.Number(),
  dependencies: Type.Object({
    database: Type.Object({ name: Type.String(), status: State, message: Type.Optional(Type.String()) }),
  }),
})

/**
 * `GET /health`: 200 when the database answers within `timeoutMs`, else 503. The reason goes to the log; callers,
 * who are anybody, read one fixed sentence.
 */
export function healthOperation<Services>(options: {
  /** `sqlite` or `postgresql`. */
  readonly databaseName: string
  /** Milliseconds of one trivial read; rejects when the database does not answer. */
  ping(): Promise<number>
  readonly clock: Clock
  readonly timeoutMs?: number
}): Operation<Services> {
  const { databaseName: name, clock, timeoutMs = 2000 } = options
  return defineOperation<Services>()({
    name: 'health',
    route: get('/health'),
    summary: 'Whether the service and its database answer',
    tag: 'Diagnostics',
    access: { name: 'public', public: true },
    reply: Health,
    errors: { 503: 'The database does not answer.' },
    audited: false,
    async act(_input, { log }) {
      const startedAt = clock.monotonic()
      const latency = (): number => Math.round((clock.monotonic() - startedAt) * 1000) / 1000
      try {
        await within(timeoutMs, options.ping())
        return { status: 'UP', latency_ms: latency(), dependencies: { database: { name, status: 'UP' } } }
      } catch (thrown) {
        log.warn({ detail: String(thrown) }, 'the database does not answer')
        const database = { name, status: 'DOWN', message: 'The database does not answer.' }
        return rawReply({
          status: 503,
          json: { status: 'DOWN', latency_ms: latency(), dependencies: { database } },
        })
      }
    },
  })
}

/** The reply of a service whose database cannot be reached. */
export function unreachableDatabase(name: string): Static<typeof Health> {
  const database = { name, status: 'DOWN', message: 'The database does not answer.' } as const
  return { status: 'DOWN', latency_ms: 0, dependencies: { database } }
}

async function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${timeoutMs} ms`)), timeoutMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
