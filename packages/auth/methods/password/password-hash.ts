import { hash, verify } from '@node-rs/argon2'
import { createFairQueue, type QueueOwner } from '@warder/runtime'
import { bucketKey } from '@warder/server'

/** argon2id (its number in the library), 64 MiB, three passes, four lanes, version 19: RFC 9106 §4, second choice. */
const cost = { algorithm: 2, version: 1, memoryCost: 65_536, timeCost: 3, parallelism: 4, outputLen: 32 }

/**
 * Maximum length of the queue for a core. Each hash takes about 60 ms of one; further requests get an error
 * that asks to retry.
 */
const maxQueueLength = 64

/**
 * The only form of stored hash: RFC 9106 in the PHC string format, with exactly our cost parameters. Salt 8 to 64
 * bytes, output 16 to 64. With other parameters an administrator could choose how much memory an unauthenticated
 * login takes.
 */
const phc = /^\$argon2id\$v=19\$m=65536,t=3,p=4\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/

/** True when the text is such a hash, with both parts canonical base64 without padding. */
export function isAcceptedHash(text: string): boolean {
  const match = phc.exec(text)
  if (match === null) return false
  return [match[1], match[2]].every((part) => {
    const bytes = Buffer.from(part ?? '', 'base64')
    return bytes.toString('base64').replace(/=+$/, '') === part
  })
}

export interface PasswordHasher {
  /** @throws failure('overloaded') when the queue is full */
  hash(password: string, owner: QueueOwner): Promise<string>
  /**
   * Whether the password has this hash. `undefined` (no such user) costs the same and is false.
   * @throws failure('overloaded') when the queue is full
   */
  verify(stored: string | undefined, password: string, owner: QueueOwner): Promise<boolean>
  /** Hashes that are waiting or being computed. */
  readonly unfinished: number
}

/**
 * The owner of a hash in the fair queue. The realm is that of the request, also when it does not exist: otherwise the
 * wait would disclose which realms exist.
 */
export function hashOwner(request: { readonly clientAddress: string }, realm: string): QueueOwner {
  return { client: bucketKey(request.clientAddress), tenant: realm }
}

/** Computes at most `concurrency` hashes at a time. Up to 64 wait in a queue, which is fair by address and realm. */
export function createPasswordHasher(concurrency: number): PasswordHasher {
  const queue = createFairQueue(concurrency, maxQueueLength)
  return {
    get unfinished() {
      return queue.unfinished
    },
    hash: (password, owner) => queue.run(owner, () => hash(password, cost)),
    verify: (stored, password, owner) =>
      queue.run(owner, async () => {
        const right = await verify(stored ?? noUserHash, password)
        return right && stored !== undefined
      }),
  }
}

/** A hash with our cost parameters that matches no password: salt and output are zero bytes. */
const noUserHash = `$argon2id$v=19$m=65536,t=3,p=4$${'A'.repeat(22)}$${'A'.repeat(43)}`
