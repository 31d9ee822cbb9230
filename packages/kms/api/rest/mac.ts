import { failure } from '@warder/foundation/errors'
import { post } from '@warder/foundation/operations'
import { andThen } from '@warder/foundation/promises'
import Type, { type Static } from 'typebox'
import { keyRight } from '../../access/index.ts'
import { algorithmFor, sameTag } from '../../crypto/index.ts'
import { decodeBase64Url, encodeBase64Url } from '../../jose/index.ts'
import { define, type KmsServices } from '../../services.ts'
import { counted, requireUse } from './key-use.ts'

const MacRequest = Type.Object({
  kid: Type.String(),
  alg: Type.String({ description: 'HS256, HS384 or HS512' }),
  data: Type.String({ description: 'base64url' }),
  mac: Type.Optional(Type.String({ description: 'To be verified; absent: computed.' })),
})

const access = keyRight<KmsServices, ReturnType<typeof read>>('mac', {
  read: (input, { services }) => read(input.body as Static<typeof MacRequest>, services),
  kid: ({ kid }) => kid,
  algorithm: ({ alg }) => alg,
})

function read({ kid, alg, data, mac }: Static<typeof MacRequest>, services: KmsServices) {
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
  route: post('/v1/crypto/mac'),
  summary: 'Compute or verify a MAC',
  tag: 'Crypto',
  access,
  request: MacRequest,
  reply: Type.Union([
    Type.Object({ kid: Type.String(), mac: Type.String() }),
    Type.Object({ kid: Type.String(), valid: Type.Boolean() }),
  ]),
  errors: {
    403: 'No right to MAC with it.',
    404: 'No such key.',
    422: 'Wrong algorithm, key type or state.',
  },
  act(_input, context) {
    const { key, request } = access.resolved(context)
    const { kid, alg, algorithm, data, mac: given } = request
    requireUse(key, given === undefined ? 'macGenerate' : 'macVerify', context)
    key.requireBoundTo(alg)
    const { described } = key
    if (described.algorithm !== 'HMAC') throw failure('crypto_failure', 'The key is not an HMAC key.')
    const made = described.held.mac(algorithm.plan, data)
    if (given !== undefined) return andThen(made, (right) => ({ kid, valid: sameTag(right, given) }))
    const reply = andThen(made, (tag) => ({ kid, mac: encodeBase64Url(tag) }))
    return counted(context, key, data.length, reply)
  },
})
