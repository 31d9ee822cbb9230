import { failure } from '@warder/base'
import {
  findObject,
  keyNotFound,
  keyRight,
  type ManagedObject,
  requireAllowed,
  requirePrincipal,
  settableDates,
  UnitOfWork,
  verdictOn,
  type WantedDates,
  wholeKey,
  withDates,
} from '@warder/keys'
import { patch } from '@warder/server'
import { retryOnGuard } from '@warder/storage'
import Type, { type Static } from 'typebox'
import { formatLifecycle, LifeReply, readMoment } from './life-shape.ts'
import { define, type RestServices } from './services.ts'

const attempts = 10

const Moment = (description: string) =>
  Type.Optional(
    Type.Union([Type.String({ maxLength: 40 }), Type.Null()], {
      description: `${description} RFC 3339, or a date (its start in UTC); null removes it.`,
    }),
  )

const DatesRequest = Type.Object({
  activation_at: Moment('Active from then on; can be set only before it is Active.'),
  process_start_at: Moment('Decrypts and verifies nothing before that time.'),
  protect_stop_at: Moment('Encrypts and signs nothing from that time on.'),
  deactivation_at: Moment('Deactivated from that time on.'),
})

interface Wanted {
  readonly kid: string
  readonly dates: WantedDates
}

const access = keyRight<RestServices, Wanted>('modifyattribute', {
  read: ({ path: { kid = '' }, body }) => ({ kid, dates: readDates(body as Static<typeof DatesRequest>) }),
  kid: ({ kid }) => kid,
})

/** @throws failure('bad_request') */
function readDates(body: Static<typeof DatesRequest>): WantedDates {
  const given = [body.activation_at, body.process_start_at, body.protect_stop_at, body.deactivation_at]
  const dates = settableDates.flatMap((date, index) => {
    const text = given[index]
    if (text === undefined) return []
    return [[date, text === null ? undefined : readMoment(text, date)] as const]
  })
  if (dates.length === 0) throw failure('bad_request', 'At least one date is required.')
  return Object.fromEntries(dates)
}

/**
 * `PATCH /v1/crypto/keys/{kid}`: changes the dates of a key, for both halves of a pair; for a rotated key those of the
 * version that protects. Dates in the past cannot be changed.
 */
export const setDates = define({
  name: 'crypto.keys.dates',
  reach: ['change attributes', 'change state', 'end object'],
  route: patch('/v1/crypto/keys/{kid}'),
  summary: 'Set dates of the life cycle of a key',
  tag: 'Keys',
  access,
  pathParameters: Type.Object({ kid: Type.String() }),
  request: DatesRequest,
  reply: LifeReply,
  errors: {
    403: 'The caller has no right to modify attributes.',
    404: 'No such key.',
    409: 'Changed concurrently by another request.',
    422: 'A date is in the past, or violates the order of the dates.',
  },
  act(_input, context) {
    const { key, request } = access.resolved(context)
    const { services } = context
    const { db, roles, clock } = services
    const caller = requirePrincipal(context)
    context.audit({ details: { dates: formatRequestedDates(request.dates) } })
    return retryOnGuard(attempts, async () => {
      const now = clock.now()
      const named = await findObject(db, key.object.id)
      if (named === undefined) throw keyNotFound()
      requireAllowed(await verdictOn(db, roles, named, caller, 'modifyattribute'))
      const objects = new UnitOfWork(services, now)
      try {
        const parts = await protecting(objects, await wholeKey(db, named))
        const [changed = named] = parts.map((part) =>
          objects.update(part, withDates(part, request.dates, now)),
        )
        await objects.commit(context.commit)
        return { ...formatLifecycle(changed, now), kid: named.id }
      } finally {
        objects.clear()
      }
    })
  },
})

/** The newest versions of the halves of a key. */
async function protecting(
  objects: UnitOfWork,
  halves: readonly ManagedObject[],
): Promise<readonly ManagedObject[]> {
  const parts: ManagedObject[] = []
  for (const half of halves) {
    const found = await objects.read(half.newestId ?? half.id)
    if (found === undefined) throw keyNotFound()
    parts.push(found)
  }
  return parts
}

function formatRequestedDates(dates: WantedDates): Readonly<Record<string, string | null>> {
  return Object.fromEntries(
    Object.entries(dates).map(([date, at]) => [date, at === undefined ? null : new Date(at).toISOString()]),
  )
}
