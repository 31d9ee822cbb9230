import { failure } from '@warder/foundation/errors'
import type { OperationContext } from '@warder/foundation/operations'
import { type MaybePromise, retryOnGuard } from '@warder/foundation/sql'
import { keyNotFound } from '../access/index.ts'
import { datesAllow, isArchived, stageUse, UnitOfWork, useBounds } from '../kmip/object/index.ts'
import { type Key, type ManagedObject, mayProtect, stateAt, type Usage } from '../objects/index.ts'
import type { KmsServices } from './services.ts'

type Context = Pick<OperationContext<KmsServices>, 'services' | 'commit'>

/** Times that a use is counted again because another process was faster. */
const attempts = 10

/**
 * The key, if it may protect new data now. What KMIP clients have said about it holds here as well.
 * @throws failure('crypto_failure') for its state, its usage mask, after its ProtectStopDate, and while it is archived
 */
export function requireProtecting(key: Key, use: Usage, { services }: Context): Key {
  key.requireProtecting(use)
  requireOpen(key.object, 'protect', services.clock.now())
  return key
}

/**
 * The key, if it may read what was protected before.
 * @throws failure('crypto_failure') for its state, its usage mask, before its ProcessStartDate, and while it is archived
 */
export function requireProcessing(key: Key, use: Usage, { services }: Context): Key {
  key.requireProcessing(use)
  requireOpen(key.object, 'process', services.clock.now())
  return key
}

function requireOpen(object: ManagedObject, what: 'protect' | 'process', now: number): void {
  if (isArchived(object))
    throw failure('crypto_failure', 'The key is archived: it has to be recovered first.')
  if (datesAllow(object, what, now)) return
  throw failure(
    'crypto_failure',
    what === 'protect'
      ? 'The key is past its ProtectStopDate: it protects nothing new.'
      : 'The key has not reached its ProcessStartDate.',
  )
}

/**
 * Gives away what was protected when the use is counted, for keys with usage limits (KMIP 2.1 §4.59); at once for others.
 * @param bytes of data that were protected
 * @throws failure('crypto_failure') when not so much is left to use
 */
export function counted<R>(
  context: Context,
  { object }: Key,
  bytes: number,
  made: MaybePromise<R>,
): MaybePromise<R> {
  if (useBounds(object).limits === undefined) return made
  return inTurn(object.id, async () => {
    const result = await made
    await retryOnGuard(attempts, () => count(context, object.id, bytes))
    return result
  })
}

async function count({ services, commit }: Context, id: string, bytes: number): Promise<void> {
  const now = services.clock.now()
  const objects = new UnitOfWork(services, now)
  const object = await objects.read(id)
  if (object === undefined) throw keyNotFound()
  if (!mayProtect(stateAt(object, now)))
    throw failure('crypto_failure', 'The key has changed: it cannot be used for this any more.')
  if (!stageUse(objects, object, bytes, true))
    throw failure('crypto_failure', 'The key has been used as often as its usage limits allow.')
  if (!objects.empty) await commit(objects.changes())
}

/** The last use of each key that is being counted: those of one batch would only be in each other's way. */
const lastUses = new Map<string, Promise<unknown>>()

function inTurn<R>(id: string, run: () => Promise<R>): Promise<R> {
  const mine = (lastUses.get(id) ?? Promise.resolve()).then(run, run)
  lastUses.set(id, mine)
  const done = (): void => {
    if (lastUses.get(id) === mine) lastUses.delete(id)
  }
  mine.then(done, done)
  return mine
}
