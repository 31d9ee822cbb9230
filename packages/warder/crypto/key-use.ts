import { ClientError, type KmsClient, type Reply } from '@warder/client'
import { StartupError } from '@warder/foundation/errors'
import { UsageError } from '../cli/command.ts'
import { printable } from '../cli/table.ts'
import { keyAlgorithms } from '../kms/declared.gen.ts'
import { withKeyErrors } from '../kms/refusal.ts'

/** `alg` and `enc` of a JWE (RFC 7516). */
export interface Protection {
  readonly alg: string
  readonly enc: string
}

/** Values of `--alg` in encrypting verbs: how the key is used. Of the rows, the longest keys stand first. */
const protections: ReadonlyMap<string, Protection> = new Map(
  [...keyAlgorithms].toReversed().flatMap(([name, { use }]): (readonly [string, Protection])[] => {
    if (use === 'content encryption') return [[name, { alg: 'dir', enc: name }]]
    return use === 'key management' ? [[name, { alg: name, enc: 'A256GCM' }]] : []
  }),
)

/** Each curve is bound to one algorithm. */
const curveSignatures: ReadonlyMap<string | undefined, string> = new Map(
  [...keyAlgorithms].flatMap(([name, { use, crv }]) =>
    use === 'signature' && crv !== undefined ? [[crv, name] as const] : [],
  ),
)

type KeyDescription = Reply<'crypto.keys.get'>

/** @throws UsageError for an `--alg` that encrypts nothing */
export function readProtection(alg: string | undefined): Protection | undefined {
  if (alg === undefined) return undefined
  const found = protections.get(alg)
  if (found === undefined) throw new UsageError(`--alg is one of ${[...protections.keys()].join(', ')}`)
  return found
}

/**
 * How to encrypt with a key: as asked for, else as its type says. Who may encrypt with a key but not read about it
 * gets the usual form.
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
  throw createWrongKeyError(key, 'encrypts nothing: make one with warder keys create --alg A256GCM')
}

/** The algorithm to sign with: as asked for, else the one that the key is bound to, else its type's usual one. */
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
    throw createWrongKeyError(key, 'signs nothing: make one with warder keys create --alg ES256')
  }
  return selected
}

/** The algorithm of an HMAC key. */
export async function selectMac(kms: KmsClient, kid: string, asked: string | undefined): Promise<string> {
  if (asked !== undefined) return asked
  const key = requireReadable(await fetchKey(kms, kid), kid)
  if (key.kty === 'oct' && key.alg !== undefined && key.key_ops.includes('sign')) return key.alg
  throw createWrongKeyError(key, 'makes no MACs: make one with warder keys create --alg HS256')
}

/**
 * Whether both ids are of one pair, or of versions of it. Either half tells of the other: the caller need be allowed to read about one alone.
 * @param found the key that a file or a signature names
 * @param said the key that the caller names, or its alias
 * @throws StartupError when neither can be read about, so that nobody knows
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
      `it names key ${found}; whether ${named} is its other half cannot be told: you may read about neither of them, or they were destroyed`,
    ),
  )
}

/** The key that a version belongs to; the same id where it is none, or the caller may not read about it. */
async function resolveVersion(kms: KmsClient, kid: string): Promise<string> {
  try {
    return (await kms.call('crypto.keys.get', { path: { kid } })).version_of ?? kid
  } catch (error) {
    if (error instanceof ClientError && (error.kind === 'forbidden' || error.kind === 'not_found')) return kid
    throw error
  }
}

/** The key of an alias; an id as it is. */
async function resolveAlias(kms: KmsClient, said: string): Promise<string> {
  if (!said.startsWith('alias/')) return said
  return (await withKeyErrors('alias', said, () => kms.call('crypto.aliases.get', { path: { alias: said } })))
    .kid
}

/** undefined: the caller has rights on it, but not the one to read about it. */
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
  throw new StartupError(`you may not read about key ${printable(kid)}: name its algorithm with --alg`)
}

function createWrongKeyError(key: KeyDescription, sentence: string): StartupError {
  const kind = key.alg ?? [key.kty, key.crv].filter(Boolean).join(' ')
  return new StartupError(printable(`key ${key.kid} (${kind}) ${sentence}`))
}
