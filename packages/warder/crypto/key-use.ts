import { StartupError } from '@warder/base'
import { ClientError, type KmsClient, type Reply } from '@warder/client'
import { printable, UsageError } from '@warder/command-line'
import { keyAlgorithms, withKeyErrors } from '@warder/command-line/kms'

/** `alg` and `enc` of a JWE (RFC 7516). */
export interface Protection {
  readonly alg: string
  readonly enc: string
}

/** Values of `--alg` for encryption, longest keys first. */
const protections: ReadonlyMap<string, Protection> = new Map(
  [...keyAlgorithms].toReversed().flatMap(([name, { use }]): (readonly [string, Protection])[] => {
    if (use === 'content encryption') return [[name, { alg: 'dir', enc: name }]]
    return use === 'key management' ? [[name, { alg: name, enc: 'A256GCM' }]] : []
  }),
)

/** The signature algorithm of each curve. */
const curveSignatures: ReadonlyMap<string | undefined, string> = new Map(
  [...keyAlgorithms].flatMap(([name, { use, crv }]) =>
    use === 'signature' && crv !== undefined ? [[crv, name] as const] : [],
  ),
)

type KeyDescription = Reply<'crypto.keys.get'>

/** @throws UsageError for an `--alg` that does not encrypt */
export function readProtection(alg: string | undefined): Protection | undefined {
  if (alg === undefined) return undefined
  const found = protections.get(alg)
  if (found === undefined) throw new UsageError(`--alg must be one of ${[...protections.keys()].join(', ')}`)
  return found
}

/**
 * Selects how to encrypt with a key: as requested, or else by its type. Without the right to read its attributes the
 * default is A256GCM.
 */
export async function selectProtection(
  kms: KmsClient,
  kid: string,
  asked: Protection | undefined,
): Promise<Protection> {
  if (asked !== undefined) return asked
  const key = await fetchKey(kms, kid)
  if (key === undefined) return { alg: 'dir', enc: 'A256GCM' }
  if (key.kty === 'oct' && key.key_ops.includes('encrypt')) {
    return { alg: 'dir', enc: key.alg ?? `A${key.bits ?? 256}GCM` }
  }
  if (key.kty === 'RSA' && (key.alg === undefined || key.alg.startsWith('RSA-OAEP'))) {
    return { alg: key.alg ?? 'RSA-OAEP-256', enc: 'A256GCM' }
  }
  throw createWrongKeyError(key, 'cannot encrypt: create a key with warder keys create --alg A256GCM')
}

/** Selects the signature algorithm: as requested, or else that of the key, or else the default of its type. */
export async function selectSignature(
  kms: KmsClient,
  kid: string,
  asked: string | undefined,
): Promise<string> {
  if (asked !== undefined) return asked
  const key = requireReadable(await fetchKey(kms, kid), kid)
  const selected =
    key.alg ??
    curveSignatures.get(key.crv) ??
    { RSA: 'PS256', OKP: 'EdDSA', AKP: 'MLDSA44' }[key.kty as string]
  const signs = key.kty !== 'oct' && key.key_ops.includes('sign')
  if (selected === undefined || !signs) {
    throw createWrongKeyError(key, 'cannot sign: create a key with warder keys create --alg ES256')
  }
  return selected
}

/** Selects the algorithm of an HMAC key. */
export async function selectMac(kms: KmsClient, kid: string, asked: string | undefined): Promise<string> {
  if (asked !== undefined) return asked
  const key = requireReadable(await fetchKey(kms, kid), kid)
  if (key.kty === 'oct' && key.alg !== undefined && key.key_ops.includes('sign')) return key.alg
  throw createWrongKeyError(key, 'cannot compute MACs: create a key with warder keys create --alg HS256')
}

/**
 * Whether both ids belong to one pair, or to versions of it. The attributes of either half suffice.
 * @param found id in a file or a signature
 * @param said id or alias from the caller
 * @throws StartupError when the caller may read the attributes of neither
 */
export async function isSameKey(kms: KmsClient, found: string, said: string): Promise<boolean> {
  const named = await resolveAlias(kms, said)
  if (found === named) return true
  const whole = await resolveVersion(kms, found)
  if (whole === named) return true
  for (const [half, other] of [
    [named, whole],
    [whole, named],
  ] as const) {
    try {
      return (await kms.call('crypto.keys.get', { path: { kid: half } })).linked_kid === other
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
      if (error.kind !== 'forbidden' && error.kind !== 'not_found') throw error
    }
  }
  throw new StartupError(
    printable(
      `it names key ${found}, and it is unknown whether ${named} belongs to the same pair: you have no right getattributes on either, or they were destroyed`,
    ),
  )
}

/** Resolves a version to its key; returns the same id if it is not a version, or its attributes are not readable. */
async function resolveVersion(kms: KmsClient, kid: string): Promise<string> {
  try {
    return (await kms.call('crypto.keys.get', { path: { kid } })).version_of ?? kid
  } catch (error) {
    if (error instanceof ClientError && (error.kind === 'forbidden' || error.kind === 'not_found')) return kid
    throw error
  }
}

/** Resolves an alias to its key; returns an id unchanged. */
async function resolveAlias(kms: KmsClient, said: string): Promise<string> {
  if (!said.startsWith('alias/')) return said
  return (await withKeyErrors('alias', said, () => kms.call('crypto.aliases.get', { path: { alias: said } })))
    .kid
}

/** @returns undefined when the caller has rights on the key, but not getattributes */
async function fetchKey(kms: KmsClient, kid: string): Promise<KeyDescription | undefined> {
  return withKeyErrors('key', kid, async () => {
    try {
      return await kms.call('crypto.keys.get', { path: { kid } })
    } catch (error) {
      if (error instanceof ClientError && error.kind === 'forbidden') return undefined
      throw error
    }
  })
}

function requireReadable(key: KeyDescription | undefined, kid: string): KeyDescription {
  if (key !== undefined) return key
  throw new StartupError(
    `you have no right getattributes on key ${printable(kid)}: give its algorithm with --alg`,
  )
}

function createWrongKeyError(key: KeyDescription, sentence: string): StartupError {
  const kind = key.alg ?? [key.kty, key.crv].filter(Boolean).join(' ')
  return new StartupError(printable(`key ${key.kid} (${kind}) ${sentence}`))
}
