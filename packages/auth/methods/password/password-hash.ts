import { pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
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
 * RFC 9106 in the PHC string format, with exactly our cost parameters. Salt 8 to 64 bytes, output 16 to 64. With other
 * parameters an administrator could choose how much memory an unauthenticated login takes.
 */
const argon2idForm = /^\$argon2id\$v=19\$m=65536,t=3,p=4\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/

/**
 * PBKDF2 with HMAC-SHA-512 (SP 800-132; OWASP's iterations of 2023) in the same format, for FIPS mode: argon2 is no approved
 * algorithm. Salt 16 to 64 bytes, output 64.
 */
const pbkdf2Form = /^\$pbkdf2-sha512\$i=210000\$([A-Za-z0-9+/]{22,86})\$([A-Za-z0-9+/]{86})$/
const [iterations, saltBytes, outputBytes] = [210_000, 16, 64]
const derive = promisify(pbkdf2)

/**
 * True when the text is a hash that may be stored, with both parts canonical base64 without padding.
 * @param fips accepts only approved hashes
 */
export function isAcceptedHash(text: string, fips: boolean): boolean {
  const match = pbkdf2Form.exec(text) ?? (fips ? null : argon2idForm.exec(text))
  if (match === null) return false
  return [match[1], match[2]].every((part) => {
    const bytes = Buffer.from(part ?? '', 'base64')
    return toBase64(bytes) === part
  })
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64').replace(/=+$/, '')
}

async function hashByPbkdf2(password: string): Promise<string> {
  const salt = randomBytes(saltBytes)
  const output = await derive(password, salt, iterations, outputBytes, 'sha512')
  return `$pbkdf2-sha512$i=${iterations}$${toBase64(salt)}$${toBase64(output)}`
}

/** @returns undefined for a hash of another form */
async function verifyByPbkdf2(stored: string, password: string): Promise<boolean | undefined> {
  const [, salt, output] = pbkdf2Form.exec(stored) ?? []
  if (salt === undefined || output === undefined) return undefined
  const expected = Buffer.from(output, 'base64')
  const computed = await derive(password, Buffer.from(salt, 'base64'), iterations, outputBytes, 'sha512')
  return timingSafeEqual(computed, expected)
}

export interface PasswordHasher {
  /** @throws failure('overloaded') when the queue is full */
  hash(password: string, owner: QueueOwner): Promise<string>
  /**
   * Whether the password has this hash. `undefined` (no such user) costs the same and is false.
   * @throws failure('overloaded') when the queue is full
   */
  verify(stored: string | undefined, password: string, owner: QueueOwner): Promise<boolean>
  /** Whether a hash is not approved in FIPS mode, and is replaced at the next login with its password. */
  isOutdated(stored: string): boolean
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

/**
 * Computes at most `concurrency` hashes at a time. Up to 64 wait in a queue, which is fair by address and realm.
 * @param fips new hashes use PBKDF2; hashes of argon2id are still verified
 */
export function createPasswordHasher(concurrency: number, fips = false): PasswordHasher {
  const queue = createFairQueue(concurrency, maxQueueLength)
  const noUserHash = fips ? noUserPbkdf2 : noUserArgon2id
  return {
    get unfinished() {
      return queue.unfinished
    },
    hash: (password, owner) => queue.run(owner, () => (fips ? hashByPbkdf2(password) : hash(password, cost))),
    verify: (stored, password, owner) =>
      queue.run(owner, async () => {
        const right =
          (await verifyByPbkdf2(stored ?? noUserHash, password)) ??
          (await verify(stored ?? noUserHash, password))
        return right && stored !== undefined
      }),
    isOutdated: (stored) => fips && !pbkdf2Form.test(stored),
  }
}

/** Hashes with our cost parameters that match no password: salt and output are zero bytes. */
const noUserArgon2id = `$argon2id$v=19$m=65536,t=3,p=4$${'A'.repeat(22)}$${'A'.repeat(43)}`
const noUserPbkdf2 = `$pbkdf2-sha512$i=${iterations}$${'A'.repeat(22)}$${'A'.repeat(86)}`
