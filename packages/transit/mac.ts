import { failure } from '@warder/base'
import { algorithmFor, type BackendKey, type MacPlan, planMac, sameTag } from '@warder/crypto'
import { afterCountingUse, type Key, requireHmacKeyUse, requireKeyUse } from '@warder/keys'
import { methods, type Operation } from '@warder/server'
import Type from 'typebox'
import { batchable, each } from './batch.ts'
import { hmacHashes, readHmacHash } from './hash-name.ts'
import { findKeyType, typeNames } from './key-type.ts'
import { type Context, commonByUse, newestToProtect, transitRight, versionAt, writing } from './row.ts'
import { define, type TransitServices } from './services.ts'
import { decodeBase64, readVersioned, VersionNumber, withVersion } from './text.ts'

/** The hash if a request names none, as in Vault. */
const defaultHash = 'sha2-256'

/** An HMAC key, and how it computes. */
interface HmacUse {
  readonly held: BackendKey
  readonly plan: MacPlan
}

/**
 * The HMAC key of a version: a key of type hmac is used itself, with its one hash; every other type has an HMAC key
 * beside it, which is used with the requested hash (docs/adr/transit.md).
 * @throws failure('bad_request'); failure('crypto_failure'); failure('unsupported_algorithm')
 */
async function planHmac(
  key: Key,
  use: 'macGenerate' | 'macVerify',
  hash: string | undefined,
  context: Context,
): Promise<HmacUse> {
  const { policy } = context.services
  const type = findKeyType(key.object)
  if (type === undefined || key.object.type === 'PublicKey')
    throw failure(
      'bad_request',
      `hmac supports secret and private keys of the types ${typeNames.join(', ')}: create a key of one of them`,
    )
  if (type.name === 'hmac') {
    const alg = key.object.boundAlg ?? ''
    if (hash !== undefined && hash !== hmacHashes[alg])
      throw failure(
        'bad_request',
        `algorithm: this key of type hmac computes HMACs only with ${hmacHashes[alg]}: use this hash or none`,
      )
    requireKeyUse(key, use, context)
    return { held: key.described.held, plan: algorithmFor('mac', alg, policy).plan }
  }
  const hashingAlgorithm = readHmacHash(hash ?? defaultHash)
  // A key has one purpose there (SP 800-57 part 1 §5.2).
  if (policy.fips)
    throw failure('unsupported_algorithm', 'in FIPS mode hmac requires a key of type hmac: create one')
  if (key.object.form.hsm !== undefined)
    throw failure('unsupported_algorithm', 'in an HSM hmac requires a key of type hmac: create one')
  requireHmacKeyUse(key, use, context)
  const held = await key.held.openHmacKey()
  return { held, plan: planMac({ algorithm: 'HMAC', key: held.shape }, { hashingAlgorithm }, policy) }
}

/** Whether an HMAC is right; any other bytes are false. */
export async function verifyMac(
  context: Context,
  key: Key,
  input: Buffer,
  text: string,
  hash: string | undefined,
): Promise<{ readonly valid: boolean }> {
  const { version, text: encoded } = readVersioned(text, 'signature')
  const given = decodeBase64(encoded, 'hmac')
  const { key: own } = await versionAt(context, key, version)
  const { held, plan } = await planHmac(own, 'macVerify', hash, context)
  return { valid: sameTag(await held.mac(plan, input), given) }
}

const access = transitRight('mac')
const Text = Type.Optional(Type.String())
const request = batchable(
  { input: Text, reference: Text },
  { algorithm: Text, hash_algorithm: Text, key_version: VersionNumber },
)

const rows = (
  [
    ['', '', Type.Object({ name: Type.String() })],
    ['.hash', '/{hash}', Type.Object({ name: Type.String(), hash: Type.String() })],
  ] as const
).map(([suffix, more, pathParameters]) =>
  define({
    ...commonByUse,
    name: `transit.hmac${suffix}`,
    route: methods(writing, `/v1/transit/hmac/{name}${more}`),
    summary: 'Compute an HMAC',
    reach: ['make mac'],
    access,
    pathParameters,
    request,
    act({ body, path }, whole) {
      const { key } = access.resolved(whole)
      const named = 'hash' in path ? path.hash : (body.hash_algorithm ?? body.algorithm)
      const act = async (item: { readonly input?: string }, context: Context) => {
        if (item.input === undefined) throw failure('bad_request', 'missing input for HMAC')
        const input = decodeBase64(item.input, 'input')
        const version = await newestToProtect(context, key, body.key_version)
        const { held, plan } = await planHmac(version.key, 'macGenerate', named, context)
        const tag = await held.mac(plan, input)
        const hmac = withVersion(version.number, tag.toString('base64'))
        return await afterCountingUse(context, version.key, input.length, { hmac })
      }
      return each(body, whole, { name: `transit.hmac${suffix}`, key, act })
    },
  }),
)

export const macRows: readonly Operation<TransitServices>[] = rows
