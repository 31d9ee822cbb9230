import { failure } from '@warder/foundation/errors'
import { type OperationContext, post, type RawReply } from '@warder/foundation/operations'
import type { MaybePromise } from '@warder/foundation/promises'
import Type, { type Static } from 'typebox'
import { keyNotFound, keyRight } from '../../access/index.ts'
import { largeMember, sealLarge } from '../../bulk/index.ts'
import { algorithmFor } from '../../crypto/index.ts'
import {
  type ContentSealer,
  decodeBase64Url,
  type FlattenedJwe as Jwe,
  jweEncryptDirect,
  jweEncryptOaep,
  sealNow,
} from '../../jose/index.ts'
import type { ObjectId } from '../../keys/index.ts'
import { define, type KmsServices } from '../../services.ts'
import { abe } from './abe-keys.ts'
import { requireAbePermitted, sealAbe } from './abe-use.ts'
import { counted, requireUse } from './key-use.ts'

const EncryptRequest = Type.Object({
  kid: Type.String({
    description:
      'A symmetric key for `dir`, either half of an RSA pair for RSA-OAEP, the public key for ABE.',
  }),
  alg: Type.String({ description: 'dir, RSA-OAEP, RSA-OAEP-256 or ABE' }),
  enc: Type.String({ description: 'A128GCM, A192GCM or A256GCM' }),
  data: Type.String({ description: 'Plaintext, base64url.' }),
  aad: Type.Optional(Type.String({ description: 'Additional authenticated data, base64url.' })),
  policy: Type.Optional(
    Type.String({
      description: 'With ABE: who may read it, `Team::Blue && Level::Low`. `*` is every user key.',
    }),
  ),
})

const FlattenedJwe = Type.Object({
  protected: Type.String(),
  encrypted_key: Type.String(),
  iv: Type.String(),
  ciphertext: Type.String(),
  tag: Type.String(),
  aad: Type.Optional(Type.String()),
})

const access = keyRight<KmsServices, ReturnType<typeof read>>('encrypt', {
  read: (input, { services }) => read(input.body as Static<typeof EncryptRequest>, input.large, services),
  kid: ({ kid }) => kid,
  algorithm: ({ alg, enc }) => `${alg} ${enc.name}`,
})

function read(body: Static<typeof EncryptRequest>, large: Uint8Array | undefined, services: KmsServices) {
  const { policy } = services
  const { kid, alg, enc, data, aad } = body
  requirePolicy(body)
  if (alg === abe) requireAbePermitted(enc, policy)
  const management = alg === 'dir' || alg === abe ? undefined : algorithmFor('key management', alg, policy)
  const encryption = algorithmFor('content encryption', enc, policy)
  if (aad !== undefined) decodeBase64Url(aad, 'aad')
  return {
    kid,
    alg,
    management,
    enc: { name: enc, encryption },
    data: large ?? decodeBase64Url(data, 'data'),
    large: large !== undefined,
    aad,
    policy: body.policy,
  }
}

/** @throws failure('bad_request') */
function requirePolicy({ alg, policy }: Static<typeof EncryptRequest>): void {
  if (alg === abe && policy === undefined)
    throw failure('bad_request', 'policy: is missing; `*` is everybody.')
  if (alg !== abe && policy !== undefined) throw failure('bad_request', 'policy: is for alg ABE.')
}

/** The key may have come to its end while there was something to wait for. */
async function stillProtecting(id: ObjectId, context: OperationContext<KmsServices>): Promise<void> {
  const now = await context.services.keys.get(id)
  if (now === undefined) throw keyNotFound()
  requireUse(now, 'encrypt', context)
}

/** `POST /v1/crypto/encrypt`: a flattened JWE whose header names the key that will decrypt it. */
export const encrypt = define({
  name: 'crypto.encrypt',
  route: post('/v1/crypto/encrypt'),
  summary: 'Encrypt with a symmetric key, for an RSA key, or for a policy',
  description:
    'With alg ABE the reply is shaped as a JWE and is none: encrypted_key is the encapsulation, and the additional data are `aad` alone.',
  tag: 'Crypto',
  access,
  request: EncryptRequest,
  largeBody: largeMember('data'),
  reply: FlattenedJwe,
  errors: {
    403: 'No right to encrypt with it.',
    404: 'No such key.',
    422: 'Wrong algorithm, key type, size or state.',
  },
  act(_input, context) {
    const { key, request } = access.resolved(context)
    const { alg, management, enc, data, large, aad, policy } = request
    requireUse(key, 'encrypt', context)
    const { id, type, linkedId } = key.object
    // Transferred, the data has no length here any more.
    const bytes = data.length
    const whole = <R>(made: MaybePromise<R>) => counted(context, key, bytes, made)
    if (policy !== undefined) {
      const content = { policy, data, aad: decodeBase64Url(aad ?? '', 'aad') }
      return whole(sealAbe(key, content, context).then((jwe) => stillProtecting(id, context).then(() => jwe)))
    }
    const seal: ContentSealer<MaybePromise<Jwe | RawReply>> = large
      ? (contentKey, plan, content) =>
          sealLarge(contentKey, plan, content).then((reply) => stillProtecting(id, context).then(() => reply))
      : sealNow
    if (management === undefined) {
      const { budgets } = context.services
      // The key's type is looked at first: only AES keys have a budget.
      const direct = () => jweEncryptDirect(seal, key.described, id, enc, data, aad)
      if (key.object.algorithm !== 'AES') return whole(direct())
      const waiting = budgets.take(key.object)
      return whole(
        waiting === undefined ? direct() : waiting.then(() => stillProtecting(id, context)).then(direct),
      )
    }
    key.requireBoundTo(alg)
    const opener = type === 'PublicKey' ? (linkedId ?? id) : id
    const recipient = { name: alg, algorithm: management }
    return whole(jweEncryptOaep(seal, key.publicMaterial, opener, recipient, enc, data, aad))
  },
})
