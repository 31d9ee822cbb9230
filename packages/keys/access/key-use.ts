import { failure } from '@warder/base'
import type { OperationContext } from '@warder/server'
import { retryOnGuard } from '@warder/storage'
import type { Key } from '../objects/key-ring.ts'
import type { LastUses } from '../objects/last-use.ts'
import { getChainId } from '../objects/managed-object.ts'
import type { Usage, Verdict } from '../objects/may-use.ts'
import { stageUse } from '../objects/refusal.ts'
import { mayProtect, stateAt, withheld } from '../objects/state-machine.ts'
import { UnitOfWork, type UnitOfWorkServices } from '../objects/unit-of-work.ts'
import { keyNotFound } from './permission.ts'

/** Services that check and count the use of a key. */
export interface KeyUseServices extends UnitOfWorkServices {
  readonly uses: LastUses
}

type Context = Pick<OperationContext<KeyUseServices>, 'services' | 'commit' | 'principal'>

/** Times that a use is counted again because another process was faster. */
const attempts = 10

/**
 * The key, if it may be used so now: see `mayUse`. The use is noted as the caller's.
 * @throws failure('crypto_failure') with the sentence of the verdict
 */
export function requireKeyUse(key: Key, use: Usage, context: Context): Key {
  return requireAllowed(key, key.mayUse(use, context.services.clock.now()), context)
}

/**
 * The same for the HMAC key that belongs to a key: see `mayUseHmacKey`.
 * @throws failure('crypto_failure') with the message of the verdict
 */
export function requireHmacKeyUse(key: Key, use: 'macGenerate' | 'macVerify', context: Context): Key {
  return requireAllowed(key, key.mayUseHmacKey(use, context.services.clock.now()), context)
}

function requireAllowed(key: Key, verdict: Verdict, { services, principal }: Context): Key {
  const now = services.clock.now()
  if (!verdict.allowed) throw failure('crypto_failure', verdict.sentence)
  if (principal !== undefined) services.uses.note(getChainId(key.object), principal.name, now)
  return key
}

/**
 * Keys with usage limits (KMIP 2.1 §4.59) return the result only after the use has been counted; others at once.
 * @param bytes of data that were protected
 * @throws failure('crypto_failure') when the remaining limit is too small
 */
export async function afterCountingUse<R>(
  context: Context,
  { object }: Key,
  bytes: number,
  made: R,
): Promise<Awaited<R>> {
  const result = await made
  if (object.usageLimits !== undefined)
    await inTurn(object.id, () => retryOnGuard(attempts, () => count(context, object.id, bytes)))
  return result
}

async function count({ services, commit }: Context, id: string, bytes: number): Promise<void> {
  const now = services.clock.now()
  const objects = new UnitOfWork(services, now)
  const object = await objects.read(id)
  if (object === undefined) throw keyNotFound()
  if (withheld(object) !== undefined || !mayProtect(stateAt(object, now)))
    throw failure('crypto_failure', 'The key was changed and can no longer be used for this.')
  if (!stageUse(objects, object, bytes, true))
    throw failure('crypto_failure', 'The usage limits of the key are exhausted.')
  await objects.commit(commit)
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
