import { failure, type MaybePromise } from '@warder/base'
import {
  type AlgorithmPolicy,
  algorithmFor,
  algorithms,
  type ContentSealer,
  decodeBase64Url,
  type FlattenedJwe as Jwe,
  jweEncryptDirect,
  jweEncryptOaep,
  jweEncryptSent,
  sealNow,
  sendContentKey,
} from '@warder/crypto'
import {
  afterCountingUse,
  type Key,
  keyNotFound,
  keyRight,
  largeMember,
  type ObjectId,
  requireKeyUse,
  sealLarge,
} from '@warder/keys'
import { type OperationContext, post, type RawReply } from '@warder/server'
import Type, { type Static } from 'typebox'
import { abe } from './abe-keys.ts'
import { requireAbePermitted, sealAbe } from './abe-use.ts'
import { define, type RestServices } from './services.ts'

const EncryptRequest = Type.Object({
  kid: Type.String({
    description:
      'A symmetric key for `dir` and the key wrapping algorithms, either half of a pair for RSA-OAEP and ECDH-ES, the public key for ABE.',
  }),
  alg: Type.String({
    description:
      'dir, RSA-OAEP, RSA-OAEP-256, A192KW, A256KW, A128GCMKW to A256GCMKW, ECDH-ES+A128KW to ECDH-ES+A256KW or ABE; more if `jose_optional_algorithms` enables them.',
  }),
  enc: Type.String({ description: 'A128GCM, A192GCM or A256GCM' }),
  data: Type.String({ description: 'Plaintext, base64url.' }),
  aad: Type.Optional(Type.String({ description: 'Additional authenticated data, base64url.' })),
  policy: Type.Optional(
    Type.String({
      description: 'With ABE: who may read it, `Team::Blue && Level::Low`. `*` is every user key.',
    }),
  ),
})

export const FlattenedJwe = Type.Object({
  protected: Type.String(),
  encrypted_key: Type.String(),
  iv: Type.String(),
  ciphertext: Type.String(),
  tag: Type.String(),
  aad: Type.Optional(Type.String()),
})

const access = keyRight<RestServices, Request>('encrypt', {
  read: (input, { services }) => read(input.body as Static<typeof EncryptRequest>, input.large, services),
  kid: ({ kid }) => kid,
  version: 'protect',
  algorithm: ({ alg, enc }) => `${alg} ${enc.name}`,
})

function read(body: Static<typeof EncryptRequest>, large: Uint8Array | undefined, services: RestServices) {
  const { policy } = services
  const { kid, alg, enc, data, aad } = body
  requirePolicy(body)
  if (alg === abe) requireAbePermitted(enc, policy)
  const management = planManagement(alg, policy)
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

type Request = ReturnType<typeof read>

/** @throws failure('bad_request') */
function requirePolicy({ alg, policy }: Static<typeof EncryptRequest>): void {
  if (alg === abe && policy === undefined)
    throw failure('bad_request', 'policy: is required; `*` means all users.')
  if (alg !== abe && policy !== undefined) throw failure('bad_request', 'policy: is only for alg ABE.')
}

/** The key may have come to its end while there was something to wait for. */
async function stillProtecting(id: ObjectId, context: OperationContext<RestServices>): Promise<void> {
  const now = await context.services.keys.get(id)
  if (now === undefined) throw keyNotFound()
  requireKeyUse(now, 'encrypt', context)
}

/** `POST /v1/crypto/encrypt`: a flattened JWE whose header names the key that will decrypt it. */
export const encrypt = define({
  name: 'crypto.encrypt',
  reach: ['make ciphertext'],
  route: post('/v1/crypto/encrypt'),
  summary: 'Encrypt with a symmetric key, a public key, or for a policy',
  description:
    'With alg ABE the reply is shaped as a JWE and is none: encrypted_key is the encapsulation, and the additional data are `aad` alone.',
  tag: 'Crypto',
  access,
  request: EncryptRequest,
  largeBody: largeMember('data'),
  reply: FlattenedJwe,
  errors: {
    403: 'The caller has no right to encrypt with it.',
    404: 'No such key.',
    422: 'Wrong algorithm, key type, size or state.',
  },
  act(_input, context) {
    const { key, request } = access.resolved(context)
    const { data, large, aad, policy } = request
    requireKeyUse(key, 'encrypt', context)
    const { id } = key.object
    // Transferred, the data has no length here any more.
    const bytes = data.length
    const whileProtecting = async <R>(sealing: Promise<R>): Promise<R> => {
      const sealed = await sealing
      await stillProtecting(id, context)
      return sealed
    }
    const seal: ContentSealer<MaybePromise<Jwe | RawReply>> = large
      ? (contentKey, plan, content) => whileProtecting(sealLarge(contentKey, plan, content))
      : sealNow
    const made =
      policy === undefined
        ? sealFor(seal, key, request, context)
        : whileProtecting(sealAbe(key, { policy, data, aad: decodeBase64Url(aad ?? '', 'aad') }, context))
    return key.object.usageLimits === undefined ? made : afterCountingUse(context, key, bytes, made)
  },
})

/**
 * Seals data for a key that may encrypt. One AES key encrypts as often as its budget allows.
 * @throws failure('crypto_failure') for a key that is made for something else
 */
export function sealFor<R>(
  seal: ContentSealer<MaybePromise<R>>,
  key: Key,
  { alg, management, enc, data, aad }: Pick<Request, 'alg' | 'management' | 'enc' | 'data' | 'aad'>,
  context: OperationContext<RestServices>,
): MaybePromise<R> {
  const { object } = key
  const { id, type, linkedId } = object
  const { budgets, policy } = context.services
  if (management === undefined) {
    requireContentKey(key, enc.name)
    // The key's type is checked first: only AES keys have a budget.
    const direct = () => jweEncryptDirect(seal, key.described, id, enc, data, aad)
    const waiting = object.algorithm === 'AES' ? budgets.take(object) : undefined
    return waiting === undefined ? direct() : waiting.then(() => stillProtecting(id, context)).then(direct)
  }
  key.requireBoundTo(alg)
  const opener = type === 'PublicKey' ? (linkedId ?? id) : id
  if (management.use !== 'other key management') {
    const recipient = { name: alg, algorithm: management }
    return jweEncryptOaep(seal, key.publicMaterial, opener, recipient, enc, data, aad)
  }
  const send = async () => {
    if (management.way === 'gcm key wrap' && object.algorithm === 'AES') {
      await budgets.take(object)
      await stillProtecting(id, context)
    }
    const sent = await sendContentKey(key, { alg: { name: alg, algorithm: management }, enc, policy })
    sent.bytes.fill(0)
    return jweEncryptSent(seal, sent, alg, opener, enc, data, aad)
  }
  return send()
}

/**
 * A key that is bound to wrap keys encrypts no content: it would be used in two ways that know nothing of each other.
 * @param enc of `dir`, whose name is that of the algorithm that such a key is bound to
 * @throws failure('crypto_failure')
 */
export function requireContentKey(key: Key, enc: string): void {
  if (key.object.boundAlg?.endsWith('KW') === true) key.requireBoundTo(enc)
}

/**
 * How a content key travels; undefined if the key is the content key, or encrypts for a policy.
 * @throws failure('unsupported_algorithm')
 */
export function planManagement(alg: string, policy: AlgorithmPolicy) {
  if (alg === 'dir' || alg === abe) return undefined
  return algorithms[alg]?.use === 'other key management'
    ? algorithmFor('other key management', alg, policy)
    : algorithmFor('key management', alg, policy)
}
