import { failure } from '@warder/base'
import {
  type CryptographicParameters,
  planSignature,
  type SignaturePlan,
  type ToSign,
  verifyOffLoop,
} from '@warder/crypto'
import { afterCountingUse, type Key, requireKeyUse, requirePermittedKey } from '@warder/keys'
import { methods, type Operation } from '@warder/server'
import Type from 'typebox'
import { batchable, each } from './batch.ts'
import { readHash } from './hash-name.ts'
import { verifyMac } from './mac.ts'
import {
  type Context,
  commonByUse,
  newestToProtect,
  requireNotDerived,
  toAlias,
  transitRight,
  versionAt,
  writing,
} from './row.ts'
import { define, type TransitServices } from './services.ts'
import { decodeBase64, readVersioned, VersionNumber, withVersion } from './text.ts'

const Text = Type.Optional(Type.String())
const how = {
  hash_algorithm: Text,
  algorithm: Text,
  prehashed: Type.Optional(Type.Boolean()),
  signature_algorithm: Text,
  marshaling_algorithm: Text,
  salt_length: Type.Optional(Type.Union([Type.String(), Type.Integer()])),
}
interface How {
  readonly context?: string
  readonly hash_algorithm?: string
  readonly algorithm?: string
  readonly prehashed?: boolean
  readonly signature_algorithm?: string
  readonly marshaling_algorithm?: string
  readonly salt_length?: string | number
}
const Item = { input: Text, context: Text, reference: Text }
const SignPath = Type.Object({ name: Type.String() })
const HashPath = Type.Object({ name: Type.String(), hash: Type.String() })

interface Planned {
  readonly plan: SignaturePlan
  readonly what: ToSign
  /** Encoding of the signature: base64url if it is raw (`jws`). */
  readonly encoding: 'base64' | 'base64url'
}

/** @throws failure('bad_request'); failure('unsupported_algorithm'); failure('crypto_failure') */
function planFor(
  key: Key,
  input: Buffer,
  asked: How,
  named: string | undefined,
  use: 'sign' | 'verify',
  context: Context,
): Planned {
  const { algorithm } = key.object
  const pure = algorithm === 'Ed25519'
  const hash = named ?? asked.hash_algorithm ?? asked.algorithm ?? 'sha2-256'
  const prehashed = asked.prehashed === true && !pure
  if (pure && asked.prehashed === true)
    throw failure('bad_request', 'Ed25519 keys sign the input, not its digest')
  const parameters: CryptographicParameters = pure
    ? {}
    : { hashingAlgorithm: readHash(hash), ...choosePadding(key, asked) }
  const plan = planSignature(
    key.held.shape,
    parameters,
    context.services.policy,
    use,
    prehashed ? input.length : undefined,
  )
  const marshaling = asked.marshaling_algorithm ?? 'asn1'
  if (marshaling !== 'asn1' && marshaling !== 'jws')
    throw failure('bad_request', 'marshaling_algorithm must be asn1 or jws')
  const raw = marshaling === 'jws' && plan.scheme === 'ecdsa'
  return {
    plan: raw ? { ...plan, raw: true } : chooseSalt(plan, asked, use),
    what: prehashed ? { digest: input } : { data: input },
    encoding: marshaling === 'jws' ? 'base64url' : 'base64',
  }
}

function choosePadding(key: Key, { signature_algorithm: name = 'pss' }: How): CryptographicParameters {
  if (key.object.algorithm !== 'RSA') return {}
  if (name !== 'pss' && name !== 'pkcs1v15')
    throw failure('bad_request', 'signature_algorithm must be pss or pkcs1v15')
  return { paddingMethod: name === 'pss' ? 'PSS' : 'PKCS1V1_5' }
}

/** `auto` is the length of the hash for signing, which every verifier accepts, and any length for verification. */
function chooseSalt(
  plan: SignaturePlan,
  { salt_length: salt = 'auto' }: How,
  use: 'sign' | 'verify',
): SignaturePlan {
  if (plan.scheme !== 'pss') return plan
  if (salt === 'auto') return use === 'sign' ? { ...plan, saltLength: plan.hash.bytes } : plan
  const length = salt === 'hash' ? plan.hash.bytes : Number(salt)
  if (!Number.isInteger(length) || length < 0 || length > 512)
    throw failure('bad_request', 'salt_length must be auto, hash or a number of bytes')
  return { ...plan, saltLength: length }
}

async function signWith(
  context: Context,
  key: Key,
  item: { readonly input?: string },
  asked: How,
  wanted: number | string | undefined,
  named: string | undefined,
) {
  requireNotDerived(asked)
  if (item.input === undefined) throw failure('bad_request', 'missing input to sign')
  const input = decodeBase64(item.input, 'input')
  const version = await newestToProtect(context, key, wanted)
  requireKeyUse(version.key, 'sign', context)
  requireUnbound(version.key)
  const { plan, what, encoding } = planFor(version.key, input, asked, named, 'sign', context)
  const signature = await afterCountingUse(
    context,
    version.key,
    input.length,
    version.key.held.sign(plan, what),
  )
  return {
    signature: withVersion(version.number, signature.toString(encoding)),
    key_version: version.number,
  }
}

/** Refuses a key bound to one algorithm, which signs over `/v1/crypto` only. @throws failure('crypto_failure') */
function requireUnbound({ object }: Key): void {
  if (object.boundAlg !== undefined)
    throw failure('crypto_failure', `The key is bound to ${object.boundAlg}: use it with /v1/crypto.`)
}

async function verifyWith(
  context: Context,
  key: Key,
  item: { readonly input?: string; readonly signature?: string; readonly hmac?: string },
  asked: How,
  named: string | undefined,
): Promise<{ readonly valid: boolean }> {
  requireNotDerived(asked)
  if (item.input === undefined) throw failure('bad_request', 'missing input to verify')
  const input = decodeBase64(item.input, 'input')
  const { signature: text, hmac } = item
  if ((text === undefined) === (hmac === undefined))
    throw failure('bad_request', 'signature or hmac is required')
  if (hmac !== undefined)
    return verifyMac(context, key, input, hmac, named ?? asked.hash_algorithm ?? asked.algorithm)
  const { version: number, text: encoded } = readVersioned(text ?? '', 'signature')
  const version = await versionAt(context, key, number)
  requireKeyUse(version.key, 'verify', context)
  requireUnbound(version.key)
  const { plan, what, encoding } = planFor(version.key, input, asked, named, 'verify', context)
  const signature = Buffer.from(encoded, encoding)
  const { publicKey } = version.key.held
  if (publicKey === undefined) throw failure('bad_request', 'keys of this type cannot verify signatures')
  return { valid: await verifyOffLoop(publicKey, plan, what, signature) }
}

const signAccess = transitRight('sign')
const verifyAccess = transitRight('signatureverify')

/** The hash is named in the path, in the body, or not at all. */
const forms = [
  ['', '', SignPath],
  ['.hash', '/{hash}', HashPath],
] as const

const signRows = forms.map(([suffix, more, pathParameters]) =>
  define({
    ...commonByUse,
    name: `transit.sign${suffix}`,
    route: methods(writing, `/v1/transit/sign/{name}${more}`),
    summary: 'Sign with a key',
    reach: ['make signature'],
    access: signAccess,
    pathParameters,
    request: batchable({ ...Item, key_version: VersionNumber, ...how }),
    act({ body, path }, whole) {
      const { key } = signAccess.resolved(whole)
      const named = 'hash' in path ? path.hash : undefined
      return each(body, whole, {
        name: `transit.sign${suffix}`,
        key,
        act: (item, context) =>
          signWith(context, key, item, { ...body, ...item }, item.key_version ?? body.key_version, named),
      })
    },
  }),
)

const verifyRows = forms.map(([suffix, more, pathParameters]) =>
  define({
    ...commonByUse,
    name: `transit.verify${suffix}`,
    route: methods(writing, `/v1/transit/verify/{name}${more}`),
    summary: 'Verify a signature or an HMAC',
    reach: ['reveal validity'],
    asks: ['mac'],
    access: verifyAccess,
    pathParameters,
    request: batchable({ ...Item, signature: Text, hmac: Text, ...how }),
    async act({ body, path }, whole) {
      const { key } = verifyAccess.resolved(whole)
      const named = 'hash' in path ? path.hash : undefined
      // An HMAC is verified with the right that verifies it everywhere else.
      if ([body, ...(body.batch_input ?? [])].some(({ hmac }) => hmac !== undefined))
        await requirePermittedKey(whole, toAlias(path.name), 'mac')
      return each(body, whole, {
        name: `transit.verify${suffix}`,
        key,
        act: (item, context) => verifyWith(context, key, item, { ...body, ...item }, named),
      })
    },
  }),
)

export const signatureRows: readonly Operation<TransitServices>[] = [...signRows, ...verifyRows]
