import { createHash, createPublicKey, type KeyObject } from 'node:crypto'
import { closeSync, fstatSync, openSync, readFileSync, type Stats, statSync } from 'node:fs'
import { type Clock, type Logger, parseStrictObject, privateJwkMembers, StartupError } from '@warder/base'
import type { Outbound } from '@warder/outbound'
import { getKeyAlgorithms, type KeySet, type VerificationKey } from './algorithms.ts'

/** Keys taken of one set, and entries looked at; a larger set is a mistake or an attack. */
const maxKeys = 50
const maxEntries = 500
/** Values of `use` for signatures; SPIFFE bundles have their own (SPIFFE Trust Domain and Bundle §4.2.2). */
const signatureUses: ReadonlySet<unknown> = new Set([undefined, 'sig', 'jwt-svid'])

/**
 * Keys of a JWK set (RFC 7517 §5) that can verify signatures. Keys that are malformed, symmetric, private,
 * too weak or for encryption are omitted; several keys with one kid are all kept.
 */
export function readKeySet(set: unknown): readonly VerificationKey[] {
  const list = typeof set === 'object' && set !== null && 'keys' in set ? set.keys : undefined
  if (!Array.isArray(list)) throw new TypeError('not a JWK set: it has no keys array')
  const keys: VerificationKey[] = []
  for (const jwk of list.slice(0, maxEntries)) {
    const key = keys.length < maxKeys ? verificationKey(jwk) : undefined
    if (key !== undefined) keys.push(key)
  }
  return keys
}

function verificationKey(jwk: unknown): VerificationKey | undefined {
  if (typeof jwk !== 'object' || jwk === null) return undefined
  const members = jwk as Readonly<Record<string, unknown>>
  if (privateJwkMembers.some((name) => Object.hasOwn(members, name))) return undefined
  const { kid, use, key_ops: operations, alg } = members
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > 512)) return undefined
  if (!signatureUses.has(use)) return undefined
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify')))
    return undefined
  try {
    const key = createPublicKey({ key: members as never, format: 'jwk' })
    const allowed = getKeyAlgorithms(key)
    const algorithms = alg === undefined ? allowed : restrictAlgorithms(allowed, alg)
    return algorithms.length === 0 ? undefined : { kid, key, algorithms }
  } catch {
    return undefined
  }
}

/** A key that names an algorithm is used with that one alone; EdDSA and Ed25519 are one (RFC 9864 §2.2). */
function restrictAlgorithms(allowed: readonly string[], alg: unknown): readonly string[] {
  if (alg === 'EdDSA' || alg === 'Ed25519') return allowed.filter((one) => one.startsWith('Ed'))
  return allowed.filter((one) => one === alg)
}

/** A public signature key as a JWK: `kid` is the RFC 7638 thumbprint, `use` sig, `alg` if the key has exactly one. */
export function publicJwk(key: KeyObject): Readonly<Record<string, string>> {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key
  const jwk = publicKey.export({ format: 'jwk' }) as Record<string, string>
  const [algorithm] = getKeyAlgorithms(publicKey)
  return {
    ...jwk,
    kid: thumbprint(jwk),
    use: 'sig',
    ...(publicKey.asymmetricKeyType === 'rsa' || algorithm === undefined ? {} : { alg: algorithm }),
  }
}

const required: Readonly<Record<string, readonly string[]>> = {
  EC: ['crv', 'kty', 'x', 'y'],
  RSA: ['e', 'kty', 'n'],
  OKP: ['crv', 'kty', 'x'],
}

/** SHA-256 over the required members in lexical order, base64url (RFC 7638 §3, RFC 8037 §2). */
export function thumbprint(jwk: Readonly<Record<string, unknown>>): string {
  const names = required[String(jwk.kty)]
  if (names === undefined) throw new TypeError(`no thumbprint for kty ${String(jwk.kty)}`)
  const canonical = JSON.stringify(Object.fromEntries(names.map((name) => [name, jwk[name]])))
  return createHash('sha256').update(canonical).digest('base64url')
}

/** Until the first fetch has succeeded it is tried again after this time. */
const retryFirstMs = 5_000

const findMatching = (
  keys: readonly VerificationKey[],
  kid: string | undefined,
): readonly VerificationKey[] => (kid === undefined ? keys : keys.filter((key) => key.kid === kid))

/** Keys that are given as they are. */
export function createInlineKeySet(set: unknown): KeySet {
  const keys = readKeySet(set)
  return { find: async (kid) => findMatching(keys, kid) }
}

/** Largest key set file, as of a remote one. */
const maxBytes = 1_048_576

/**
 * Keys of a local file, read again when the file changed (looked at once a second at most). A file that breaks later
 * is logged, and the keys read before stay.
 * @throws StartupError when it cannot be read now
 */
export function openFileKeySet(path: string, clock: Clock, log: Logger): KeySet {
  let current: ReturnType<typeof readKeys>
  try {
    current = readKeys(path)
  } catch (error) {
    throw new StartupError(
      `the key set ${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    )
  }
  let { keys } = current
  let seen = current.version
  let lookedAt = clock.monotonic()
  return {
    async find(kid) {
      if (clock.monotonic() - lookedAt >= 1000) {
        lookedAt = clock.monotonic()
        try {
          if (formatVersion(statSync(path)) !== seen) {
            const read = readKeys(path)
            keys = read.keys
            seen = read.version
          }
        } catch (error) {
          log.warn({ path, error }, 'the key set file cannot be read; the previous keys stay in use')
        }
      }
      return findMatching(keys, kid)
    },
  }
}

/** The version is of the very file that was read: one put in its place meanwhile is read the next time. */
function readKeys(path: string): { readonly keys: readonly VerificationKey[]; readonly version: string } {
  const file = openSync(path, 'r')
  try {
    const stats = fstatSync(file)
    if (stats.size > maxBytes) throw new TypeError(`it is larger than ${maxBytes} bytes`)
    return {
      keys: readKeySet(parseStrictObject(jsonBytes(readFileSync(file)))),
      version: formatVersion(stats),
    }
  } finally {
    closeSync(file)
  }
}

/** Without the byte order mark that editors on Windows put first, which RFC 8259 §8.1 lets parsers ignore. */
function jsonBytes(bytes: Buffer): Buffer {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes
}

function formatVersion({ ino, size, mtimeMs }: Stats): string {
  return `${ino} ${size} ${mtimeMs}`
}

interface RemoteKeySetOptions {
  readonly url: string
  readonly outbound: Outbound
  readonly clock: Clock
  readonly log: Logger
  /** Keys are fetched for an unknown kid at most once in this time; default 60. */
  readonly minRefreshSeconds?: number
  /** Keys are fetched again after this time even when every kid is known, so that withdrawn keys expire; default 3600. */
  readonly refreshAfterSeconds?: number
  /**
   * Callers use keys that are older than `refreshAfterSeconds` while they are fetched again, until the last success is this
   * long ago: then they wait for one try. Default: they wait from `refreshAfterSeconds` on.
   */
  readonly waitAfterSeconds?: number
}

/**
 * Keys at a URL. They are fetched on first use, by one request for all waiting callers, and again (throttled) for an
 * unknown kid. After a failure the previous keys stay, and with `waitAfterSeconds` callers do not wait for further tries.
 */
export function createRemoteKeySet(options: RemoteKeySetOptions): KeySet {
  const { clock, outbound, url, log } = options
  const minRefreshMs = (options.minRefreshSeconds ?? 60) * 1000
  const refreshAfterMs = (options.refreshAfterSeconds ?? 3600) * 1000
  const waitAfterMs = options.waitAfterSeconds === undefined ? undefined : options.waitAfterSeconds * 1000
  let keys: readonly VerificationKey[] | undefined
  let askedAt = Number.NEGATIVE_INFINITY
  let fetchedAt = Number.NEGATIVE_INFINITY
  /** Time of the last try, since keys that may have been withdrawn are fetched again soon. */
  let failed = false
  let asking: Promise<void> | undefined

  const ask = (): Promise<void> => {
    asking ??= refresh().finally(() => {
      asking = undefined
    })
    return asking
  }
  const refresh = async (): Promise<void> => {
    askedAt = clock.monotonic()
    try {
      const answer = await outbound.get(url, {
        headers: { accept: 'application/jwk-set+json, application/json' },
      })
      if (answer.status !== 200) throw new Error(`it responded with status ${answer.status}`)
      keys = readKeySet(parseStrictObject(answer.body))
      fetchedAt = clock.monotonic()
      failed = false
    } catch (error) {
      failed = true
      log.warn({ url, error }, 'the key set cannot be fetched; the previous keys stay in use')
    }
  }

  /** Whether keys that are due may be used while they are fetched again. */
  const mayUseStaleKeys = (): boolean =>
    keys !== undefined && waitAfterMs !== undefined && (failed || clock.monotonic() - fetchedAt < waitAfterMs)

  return {
    async find(kid) {
      const age = clock.monotonic() - askedAt
      // A first fetch that failed is tried again a little sooner, for a service that starts beside its issuer.
      const again = failed ? minRefreshMs : refreshAfterMs
      const patience = keys === undefined ? Math.min(minRefreshMs, retryFirstMs) : again
      if (asking !== undefined && keys === undefined) await asking
      else if (age >= patience) {
        const asked = ask()
        if (!mayUseStaleKeys()) await asked
      }
      const found = findMatching(keys ?? [], kid)
      if (found.length > 0) return found
      // A running request may return it: concurrent callers all wait for this request.
      if (asking === undefined && clock.monotonic() - askedAt < minRefreshMs) return found
      await ask()
      return findMatching(keys ?? [], kid)
    },
    async renewed() {
      const before = keys
      if (asking === undefined && clock.monotonic() - askedAt < minRefreshMs) return undefined
      await ask()
      return keys === before ? undefined : keys
    },
  }
}
