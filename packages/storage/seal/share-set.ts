import {
  createHash,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import { Secret, StartupError } from '@warder/base'
import { noId, openWith, sealWith } from './envelope.ts'

/** A person who keeps one share. */
export interface ShareHolder {
  readonly name: string
  /** `age1…`: the share was encrypted for it. */
  readonly recipient: string
}

/**
 * The public part of a set of shares, as a database and its audit log may show it. The secret of the set is an X25519
 * private key, of which each holder has one share (Shamir, GF(2^8)); root keys are encrypted with the public key.
 */
export interface ShareSet {
  /** 16 random bytes in hexadecimal. */
  readonly id: string
  /** Name of the installation, for people with shares of several. */
  readonly installation: string
  /** Number of shares that open it. */
  readonly threshold: number
  /** Share n belongs to the holder at n - 1; `check` is the verification value of the share. */
  readonly holders: readonly (ShareHolder & { readonly check: string })[]
  /** X25519, in base64url. */
  readonly publicKey: string
  /** Unix milliseconds. */
  readonly createdAt: number
}

/** Bounds of a set: each holder is a person, who has to be there. */
const maxHolders = 32
const maxNameBytes = 64
const keyBytes = 32
const idBytes = 16
const checksumBytes = 4
const textPrefix = 'warder-share-1.'
const payloadVersion = 1
const headerBytes = 1 + idBytes + 1 + 1

export interface NewShareSet {
  readonly installation: string
  readonly threshold: number
  readonly holders: readonly ShareHolder[]
  readonly now: number
}

/**
 * Creates a set: a new secret, split, and forgotten when this returns.
 * @returns the public part, and the text of each share in the order of the holders
 * @throws StartupError for a threshold or holders that cannot be a set
 */
export async function createShareSet(
  options: NewShareSet,
): Promise<{ readonly set: ShareSet; readonly shares: readonly string[] }> {
  requireSet(options)
  const { installation, threshold, holders, now } = options
  const { splitSecret } = await import('@warder/crypto')
  const id = randomBytes(idBytes)
  const { privateKey, publicKey } = generateKeyPairSync('x25519')
  const secret = Buffer.from(privateKey.export({ format: 'jwk' }).d ?? '', 'base64url')
  const { parts } = splitSecret(secret, {
    method: 'PolynomialSharingGF28',
    parts: holders.length,
    threshold,
    primeFieldSize: undefined,
  })
  const payloads = parts.map(({ identifier, bytes }) =>
    Buffer.concat([
      Buffer.of(payloadVersion),
      id,
      Buffer.of(identifier, threshold),
      bytes,
      Buffer.from(installation),
    ]),
  )
  const shares = payloads.map(formatShare)
  const set: ShareSet = {
    id: id.toString('hex'),
    installation,
    threshold,
    holders: holders.map(({ name, recipient }, index) => ({
      name,
      recipient,
      check: computeCheck(payloads[index] ?? Buffer.alloc(0)).toString('base64url'),
    })),
    publicKey: publicKey.export({ format: 'jwk' }).x ?? '',
    createdAt: now,
  }
  await requireOpening(set, shares.slice(-threshold))
  for (const bytes of [secret, ...payloads, ...parts.map((part) => part.bytes)]) bytes.fill(0)
  return { set, shares }
}

/** Before anything depends on the set: its shares decrypt what its public key encrypted. */
async function requireOpening(set: ShareSet, shares: readonly string[]): Promise<void> {
  const collection = new ShareCollection(set)
  for (const share of shares) collection.add(share)
  const secret = await collection.combine()
  const [key, context] = [randomBytes(keyBytes), Buffer.from('self-test')]
  const found = unwrapWithSet(set, secret, wrapForSet(set, key, context), context)
  if (!found.use((bytes) => timingSafeEqual(bytes, key)))
    throw new StartupError('the new shares do not open their set: nothing was changed')
  secret.wipe()
  collection.wipe()
}

function requireSet({ installation, threshold, holders }: NewShareSet): void {
  if (!isShareName(installation))
    throw new StartupError(
      `the name of the installation must have 1 to ${maxNameBytes} bytes of letters, digits, dots, dashes and spaces`,
    )
  if (holders.length < 2 || holders.length > maxHolders)
    throw new StartupError(`shares need 2 to ${maxHolders} holders, not ${holders.length}`)
  if (threshold < 2 || threshold > holders.length)
    throw new StartupError(
      `the threshold must be 2 to ${holders.length} (the number of holders), not ${threshold}`,
    )
  for (const [what, values] of [
    ['name', holders.map(({ name }) => name.toLowerCase())],
    ['recipient', holders.map(({ recipient }) => recipient.toLowerCase())],
  ] as const) {
    const twice = values.find((value, index) => values.indexOf(value) !== index)
    if (twice !== undefined) throw new StartupError(`two holders have the ${what} ${twice}: one share each`)
  }
}

/** Names that are shown on terminals of others and in file names. */
export function isShareName(text: string): boolean {
  return (
    /^[\p{L}\p{N}](?:[\p{L}\p{N} ._@-]*[\p{L}\p{N}])?$/u.test(text) && Buffer.byteLength(text) <= maxNameBytes
  )
}

/** `warder-share-1.` and base64url of version | set | number | threshold | value | installation | checksum. */
function formatShare(payload: Uint8Array): string {
  return textPrefix + Buffer.concat([payload, computeChecksum(payload)]).toString('base64url')
}

function computeChecksum(payload: Uint8Array): Buffer {
  return createHash('sha256')
    .update('warder share checksum')
    .update(payload)
    .digest()
    .subarray(0, checksumBytes)
}

/** Reveals nothing about a share, which contains 32 random bytes, but recognizes it. */
function computeCheck(payload: Uint8Array): Buffer {
  return createHash('sha256').update('warder share check v1').update(payload).digest()
}

/** A share as it was entered; whether it belongs to a set is for its verification value to say. */
interface EnteredShare {
  readonly setId: string
  readonly number: number
  readonly installation: string
  readonly value: Buffer
  readonly payload: Buffer
}

/** The shares in what holders paste or pipe, among other lines. */
export function findShareTexts(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => /^warder-share-1\.[A-Za-z0-9_-]{64,256}$/.test(word))
}

function parseShare(text: string): EnteredShare | undefined {
  if (findShareTexts(text)[0] !== text) return undefined
  const encoded = text.slice(textPrefix.length)
  const bytes = Buffer.from(encoded, 'base64url')
  // Bits and characters that decoding would ignore.
  if (bytes.toString('base64url') !== encoded) return undefined
  const end = bytes.length - checksumBytes
  if (end <= headerBytes + keyBytes || bytes[0] !== payloadVersion) return undefined
  const payload = bytes.subarray(0, end)
  if (!timingSafeEqual(computeChecksum(payload), bytes.subarray(end))) return undefined
  return {
    setId: payload.subarray(1, 1 + idBytes).toString('hex'),
    number: payload[1 + idBytes] ?? 0,
    installation: payload.subarray(headerBytes + keyBytes).toString('utf8'),
    value: payload.subarray(headerBytes, headerBytes + keyBytes),
    payload,
  }
}

/** Why a share was refused. */
export type ShareProblem = 'malformed' | 'other_set' | 'repeated' | 'forged'

export type ShareOutcome =
  | { readonly accepted: true; readonly number: number }
  | { readonly accepted: false; readonly problem: ShareProblem; readonly message: string }

/**
 * Shares of one set that were entered, in memory alone. Only shares that match their verification values are kept: at
 * most one of each number, so that no other input displaces them.
 */
export class ShareCollection {
  readonly set: ShareSet
  readonly #values = new Map<number, Buffer>()

  constructor(set: ShareSet) {
    this.set = set
  }

  get entered(): number {
    return this.#values.size
  }

  /** Names of the holders whose shares were entered. */
  get holders(): readonly string[] {
    return [...this.#values.keys()]
      .sort((a, b) => a - b)
      .map((number) => this.set.holders[number - 1]?.name ?? '')
  }

  get isComplete(): boolean {
    return this.#values.size >= this.set.threshold
  }

  /** @param text the line of the share alone */
  add(text: string): ShareOutcome {
    const share = parseShare(text)
    if (share === undefined)
      return refuseShare(
        'malformed',
        'This is not a whole share: it was mistyped or cut off, or it is still encrypted. A share is one line that begins with warder-share-1.',
      )
    try {
      return this.#addParsed(share)
    } finally {
      share.payload.fill(0)
    }
  }

  #addParsed({ setId, number, installation, value, payload }: EnteredShare): ShareOutcome {
    const { id, holders } = this.set
    if (setId !== id)
      return refuseShare(
        'other_set',
        `This share is of set ${shortId(setId)}${isShareName(installation) ? ` of ${installation}` : ''}: enter one of set ${describeSet(this.set)}.`,
      )
    const check = Buffer.from(holders[number - 1]?.check ?? '', 'base64url')
    const found = computeCheck(payload)
    if (check.length !== found.length || !timingSafeEqual(check, found))
      return refuseShare(
        'forged',
        `This share has the header of set ${shortId(id)}, but it is not share ${number} that was made for it: it was changed or forged.`,
      )
    if (this.#values.has(number))
      return refuseShare(
        'repeated',
        `Share ${number} was entered before: a share of another holder is needed.`,
      )
    this.#values.set(number, Buffer.from(value))
    return { accepted: true, number }
  }

  /** So that it can be entered again. */
  remove(number: number): void {
    this.#values.get(number)?.fill(0)
    this.#values.delete(number)
  }

  /** The secret of the set, of which the caller disposes. @throws StartupError when shares are missing */
  async combine(): Promise<Secret> {
    const { threshold } = this.set
    if (!this.isComplete) throw new StartupError(`${threshold - this.entered} more shares are needed`)
    const { joinParts } = await import('@warder/crypto')
    const parts = [...this.#values].map(([identifier, bytes]) => ({ identifier, bytes }))
    return new Secret(
      joinParts({
        method: 'PolynomialSharingGF28',
        threshold,
        parts: parts.slice(0, threshold),
        primeFieldSize: undefined,
        length: undefined,
      }),
    )
  }

  /** Forgets all shares. */
  wipe(): void {
    for (const value of this.#values.values()) value.fill(0)
    this.#values.clear()
  }
}

function refuseShare(problem: ShareProblem, message: string): ShareOutcome {
  return { accepted: false, problem, message }
}

/** The first 8 of 32 digits: enough to tell the sets of one installation apart. */
function shortId(id: string): string {
  return id.slice(0, 8)
}

/** `1f0c22a4 of warder.example` */
export function describeSet({ id, installation }: Pick<ShareSet, 'id' | 'installation'>): string {
  return `${shortId(id)} of ${installation}`
}

/** Encrypts a root key with the public key of a set: X25519 with a new key, HKDF-SHA256, AES-256-GCM. */
export function wrapForSet({ publicKey }: ShareSet, key: Uint8Array, context: Uint8Array): Buffer {
  const own = generateKeyPairSync('x25519')
  const share = exportPublicKey(own.publicKey)
  const wrapping = agree(
    own.privateKey,
    importPublicKey(publicKey),
    share,
    Buffer.from(publicKey, 'base64url'),
  )
  return Buffer.concat([share, sealWith(wrapping, noId, context, key)])
}

/**
 * @param secret of the set
 * @throws StartupError when the secret, the context or the bytes are not those of `wrapForSet`
 */
export function unwrapWithSet(
  { publicKey }: ShareSet,
  secret: Secret,
  wrapped: Uint8Array,
  context: Uint8Array,
): Secret {
  try {
    const bytes = Buffer.from(wrapped)
    const share = bytes.subarray(0, keyBytes)
    const wrapping = agree(
      secret.use(importPrivateKey),
      importPublicKey(share.toString('base64url')),
      share,
      Buffer.from(publicKey, 'base64url'),
    )
    return new Secret(openWith(wrapping, context, bytes.subarray(keyBytes)))
  } catch (error) {
    throw new StartupError(
      'the shares fit their verification values, but do not decrypt the root key: the row of the set was changed in the database',
      { cause: error },
    )
  }
}

function agree(
  privateKey: KeyObject,
  publicKey: KeyObject,
  share: Uint8Array,
  recipient: Uint8Array,
): KeyObject {
  const secret = diffieHellman({ privateKey, publicKey })
  const bytes = Buffer.from(
    hkdfSync('sha256', secret, Buffer.concat([share, recipient]), 'warder share set v1', keyBytes),
  )
  const key = createSecretKey(bytes)
  secret.fill(0)
  bytes.fill(0)
  return key
}

function exportPublicKey(key: KeyObject): Buffer {
  return Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url')
}

function importPublicKey(x: string): KeyObject {
  return createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x }, format: 'jwk' })
}

/** PKCS #8 of an X25519 key (RFC 8410 §7), without its 32 bytes. */
const pkcs8Prefix = Buffer.from('302e020100300506032b656e04220420', 'hex')

function importPrivateKey(bytes: Uint8Array): KeyObject {
  const der = Buffer.concat([pkcs8Prefix, bytes])
  try {
    return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  } finally {
    der.fill(0)
  }
}

/** A set with the root key that its shares open, as `root_key_source.wrapped` contains it. */
export interface StoredShareSet {
  readonly set: ShareSet
  readonly wrapped: Buffer
}

export function encodeShareSet({ set, wrapped }: StoredShareSet): Buffer {
  return Buffer.from(JSON.stringify({ ...set, wrapped: wrapped.toString('base64url') }))
}

/** @throws StartupError for a row that no version of this program wrote */
export function decodeShareSet(bytes: Uint8Array): StoredShareSet {
  const refuse = (): StartupError =>
    new StartupError('the set of shares in the database cannot be read: restore the row from a backup')
  try {
    const { wrapped, ...set } = JSON.parse(Buffer.from(bytes).toString('utf8')) as ShareSet & {
      wrapped: string
    }
    const isSet =
      /^[0-9a-f]{32}$/.test(set.id) &&
      isShareName(set.installation) &&
      Array.isArray(set.holders) &&
      set.holders.length <= maxHolders &&
      set.holders.every(({ name, check }) => isShareName(name) && /^[A-Za-z0-9_-]{43}$/.test(check)) &&
      Number.isInteger(set.threshold) &&
      set.threshold >= 2 &&
      set.threshold <= set.holders.length &&
      /^[A-Za-z0-9_-]{43}$/.test(set.publicKey) &&
      Number.isSafeInteger(set.createdAt) &&
      typeof wrapped === 'string'
    if (isSet) return { set, wrapped: Buffer.from(wrapped, 'base64url') }
  } catch {
    // Refused below.
  }
  throw refuse()
}
