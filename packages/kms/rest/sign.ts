import {
  afterCountingUse,
  algorithmFor,
  algorithmNames,
  decodeBase64Url,
  jwsSign,
  keyRight,
  requireKeyUse,
} from '@warder/keys'
import { post } from '@warder/server'
import Type, { type Static } from 'typebox'
import { define, type RestServices } from './services.ts'

const SignRequest = Type.Object({
  kid: Type.String({ description: 'The private key.' }),
  alg: Type.String({ description: algorithmNames('signature').join(', ') }),
  data: Type.String({ description: 'Payload, base64url.' }),
})

const access = keyRight<RestServices, ReturnType<typeof read>>('sign', {
  read: (input, { services }) => read(input.body as Static<typeof SignRequest>, services),
  kid: ({ kid }) => kid,
  version: 'protect',
  algorithm: ({ alg }) => alg.name,
})

function read({ kid, alg, data }: Static<typeof SignRequest>, services: RestServices) {
  const algorithm = algorithmFor('signature', alg, services.policy)
  decodeBase64Url(data, 'data')
  return { kid, alg: { name: alg, algorithm }, data }
}

/** `POST /v1/crypto/sign`: a detached JWS whose header names the key that verifies it. */
export const sign = define({
  name: 'crypto.sign',
  route: post('/v1/crypto/sign'),
  summary: 'Sign with a private key',
  tag: 'Crypto',
  access,
  request: SignRequest,
  reply: Type.Object({ protected: Type.String(), signature: Type.String() }),
  errors: {
    403: 'No right to sign with it.',
    404: 'No such key.',
    422: 'Wrong algorithm, key type or state.',
  },
  act(_input, context) {
    const { key, request } = access.resolved(context)
    requireKeyUse(key, 'sign', context).requireBoundTo(request.alg.name)
    const { id, linkedId } = key.object
    const signed = jwsSign(key.described, linkedId ?? id, request.alg, request.data)
    return afterCountingUse(context, key, Buffer.byteLength(request.data, 'base64url'), signed)
  },
})
