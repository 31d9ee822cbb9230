import { algorithmFor, decodeBase64Url, jwsVerify, readJwsHeader } from '@warder/crypto'
import { keyRight, requireKeyUse } from '@warder/keys'
import { post } from '@warder/server'
import Type, { type Static } from 'typebox'
import { define, type RestServices } from './services.ts'

const VerifyRequest = Type.Object({
  protected: Type.String({ description: 'Contains alg and kid, the public key; base64url.' }),
  data: Type.String({ description: 'Payload, base64url.' }),
  signature: Type.String(),
})

const access = keyRight<RestServices, ReturnType<typeof read>>('signatureverify', {
  read: (input, { services }) => read(input.body as Static<typeof VerifyRequest>, services),
  kid: ({ kid }) => kid,
  version: 'process',
  algorithm: ({ alg }) => alg,
})

function read(body: Static<typeof VerifyRequest>, services: RestServices) {
  const { alg, kid } = readJwsHeader(body.protected)
  const algorithm = algorithmFor('signature', alg, services.policy)
  decodeBase64Url(body.data, 'data')
  const signature = decodeBase64Url(body.signature, 'signature')
  return { kid, alg, algorithm, header: body.protected, data: body.data, signature }
}

/** `POST /v1/crypto/verify`: any wrong signature, of any length, is `valid: false`. */
export const verify = define({
  name: 'crypto.verify',
  reach: ['reveal validity'],
  route: post('/v1/crypto/verify'),
  summary: 'Verify a detached JWS',
  tag: 'Crypto',
  access,
  request: VerifyRequest,
  reply: Type.Object({ kid: Type.String(), valid: Type.Boolean() }),
  errors: {
    403: 'The caller has no right to verify with it.',
    404: 'No such key.',
    422: 'Wrong algorithm, key type or state.',
  },
  async act(_input, context) {
    const { key, kid, request } = access.resolved(context)
    const { alg, algorithm, header, data, signature } = request
    requireKeyUse(key, 'verify', context).requireBoundTo(alg)
    const valid = await jwsVerify(key.publicMaterial, algorithm, header, data, signature)
    return { kid, valid }
  },
})
