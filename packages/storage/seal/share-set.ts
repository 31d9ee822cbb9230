import { StartupError } from '@warder/base'

/** A person who keeps one share. */
export interface ShareHolder {
  readonly name: string
  /** The recipient `age1…` for which the share was encrypted. */
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

/** Limits of a set: each holder is a person, who has to be reached at a start. */
export const maxHolders = 32
export const maxNameBytes = 64

/** Names that are shown on terminals of others and in file names. */
export function isShareName(text: string): boolean {
  return (
    /^[\p{L}\p{N}](?:[\p{L}\p{N} ._@-]*[\p{L}\p{N}])?$/u.test(text) && Buffer.byteLength(text) <= maxNameBytes
  )
}

/** The first 8 of 32 digits, which suffice to distinguish the sets of one installation. */
export function shortId(id: string): string {
  return id.slice(0, 8)
}

/** `1f0c22a4 of warder.example` */
export function describeSet({ id, installation }: Pick<ShareSet, 'id' | 'installation'>): string {
  return `${shortId(id)} of ${installation}`
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
