import { setImmediate } from 'node:timers/promises'
import { andThen, failure } from '@warder/base'
import { algorithmFor, type DescribedKey, decodeBase64Url, encodeBase64Url, sameTag } from '@warder/crypto'
import {
  afterCountingUse,
  Key,
  keyRight,
  type ObjectId,
  processingVersion,
  protectingVersion,
  requireKeyUse,
  versionsToTry,
} from '@warder/keys'
import { type OperationContext, post } from '@warder/server'
import Type, { type Static } from 'typebox'
import { define, type RestServices } from './services.ts'

const MacRequest = Type.Object({
  kid: Type.String(),
  alg: Type.String({ description: 'HS256, HS384 or HS512' }),
  data: Type.String({ description: 'base64url' }),
  mac: Type.Optional(Type.String({ description: 'MAC to verify; absent: a MAC is computed.' })),
})

const access = keyRight<RestServices, ReturnType<typeof read>>('mac', {
  read: (input, { services }) => read(input.body as Static<typeof MacRequest>, services),
  kid: ({ kid }) => kid,
  algorithm: ({ alg }) => alg,
})

function read({ kid, alg, data, mac }: Static<typeof MacRequest>, services: RestServices) {
  return {
    kid,
    alg,
    algorithm: algorithmFor('mac', alg, services.policy),
    data: decodeBase64Url(data, 'data'),
    mac: mac === undefined ? undefined : decodeBase64Url(mac, 'mac'),
  }
}

/** `POST /v1/crypto/mac`: computes, or verifies when a MAC comes along. */
export const mac = define({
  name: 'crypto.mac',
  reach: ['make mac', 'reveal validity'],
  route: post('/v1/crypto/mac'),
  summary: 'Compute or verify a MAC',
  tag: 'Crypto',
  access,
  request: MacRequest,
  reply: Type.Union([
    Type.Object({
      kid: Type.String(),
      mac: Type.String(),
      version_kid: Type.Optional(
        Type.String({
          description: 'For a rotated key: the only version that can verify it.',
        }),
      ),
    }),
    Type.Object({ kid: Type.String(), valid: Type.Boolean() }),
  ]),
  errors: {
    403: 'The caller has no right to compute MACs with it.',
    404: 'No such key.',
    422: 'Wrong algorithm, key type or state.',
  },
  act(_input, context) {
    const { key, kid, request } = access.resolved(context)
    if (request.mac !== undefined) return verifyMac(key, kid, { ...request, mac: request.mac }, context)
    // Most keys were never rotated.
    if (key.object.chainId === undefined) return computeMac(key, kid, request, context)
    return computeMacOfNewest(key, kid, request, context)
  },
})

type Request = ReturnType<typeof read>
type Context = OperationContext<RestServices>

async function computeMacOfNewest(key: Key, kid: ObjectId, request: Request, context: Context) {
  return computeMac(await protectingVersion(context.services.keys, key), kid, request, context)
}

function computeMac(key: Key, kid: ObjectId, { alg, algorithm, data }: Request, context: Context) {
  requireKeyUse(key, 'macGenerate', context).requireBoundTo(alg)
  const made = hmacKey(key).mac(algorithm.plan, data)
  const { chainId, id } = key.object
  const reply = andThen(made, (tag) => ({
    kid,
    mac: encodeBase64Url(tag),
    ...(chainId !== undefined && { version_kid: id }),
  }))
  return key.object.usageLimits === undefined ? reply : afterCountingUse(context, key, data.length, reply)
}

/** A MAC does not identify its version: if the request names the key and not a version, all versions are tried. */
async function verifyMac(
  key: Key,
  kid: ObjectId,
  request: Request & { readonly mac: Uint8Array },
  context: Context,
): Promise<{ readonly kid: string; readonly valid: boolean }> {
  const { keys } = context.services
  if (key.object.newestId !== undefined) return verifyWithAny(key, kid, request, context)
  const version = await processingVersion(keys, key)
  return { kid, valid: await isMadeBy(version, request, context) }
}

async function isMadeBy(
  key: Key,
  { alg, algorithm, data, mac: given }: Request & { readonly mac: Uint8Array },
  context: Context,
): Promise<boolean> {
  requireKeyUse(key, 'macVerify', context).requireBoundTo(alg)
  return sameTag(await hmacKey(key).mac(algorithm.plan, data), given)
}

/** Bytes that are tried before others get their turn. */
const bytesPerTick = 1_000_000

async function verifyWithAny(
  key: Key,
  kid: ObjectId,
  request: Request & { readonly mac: Uint8Array },
  context: Context,
): Promise<{ readonly kid: string; readonly valid: boolean }> {
  const { data } = request
  let refusal: unknown
  let tried = 0
  let bytes = 0
  for await (const version of versionsToTry(context.services, key)) {
    if (!version.mayUse('macVerify', context.services.clock.now()).allowed) {
      refusal ??= version
      continue
    }
    tried += 1
    if (await isMadeBy(version, request, context)) return { kid, valid: true }
    bytes += data.length + bytesPerTick / 1000
    if (bytes < bytesPerTick) continue
    bytes = 0
    await setImmediate()
  }
  // No version could be tried: report the reason, as for a key with one version.
  if (tried === 0 && refusal instanceof Key) requireKeyUse(refusal, 'macVerify', context)
  return { kid, valid: false }
}

function hmacKey({ described }: Key): DescribedKey['held'] {
  if (described.algorithm !== 'HMAC') throw failure('crypto_failure', 'The key is not an HMAC key.')
  return described.held
}
