import { failure } from '@warder/base'
import { openNow, readJweHeader, sealNow } from '@warder/crypto'
import {
  afterCountingUse,
  type Key,
  keyNotFound,
  keyRight,
  protectingVersion,
  requireKeyUse,
} from '@warder/keys'
import { type OperationContext, post } from '@warder/server'
import Type, { type Static } from 'typebox'
import { abe } from './abe-keys.ts'
import { openSealed, readSealed, sealedMembers } from './decrypt.ts'
import { FlattenedJwe, sealFor } from './encrypt.ts'
import { define, type RestServices } from './services.ts'

/** It is opened and closed in one turn: larger data is wrapped by a key of its own. */
const bodyLimit = 8 * 1024 * 1024

const RewrapRequest = Type.Object(sealedMembers)

const access = keyRight<RestServices, ReturnType<typeof read>>('encrypt', {
  read: (input, { services }) => read(input.body as Static<typeof RewrapRequest>, services),
  kid: ({ kid }) => kid,
  use: 'private half',
  version: 'process',
  algorithm: ({ alg, enc }) => `${alg} ${enc.name}`,
})

function read(body: Static<typeof RewrapRequest>, { policy }: RestServices) {
  if (readJweHeader(body.protected).alg === abe)
    throw failure(
      'unsupported_algorithm',
      'Data that was encrypted for a policy cannot be rewrapped: rotate its master key.',
    )
  return readSealed(body, policy)
}

/**
 * `POST /v1/crypto/rewrap`: re-encrypts a ciphertext of any version of a key with its newest version. The plaintext
 * does not leave the service, so the caller needs only the right to encrypt, also for ciphertexts of other users.
 */
export const rewrap = define({
  name: 'crypto.rewrap',
  reach: ['make ciphertext'],
  asks: ['decrypt'],
  route: post('/v1/crypto/rewrap'),
  summary: 'Re-encrypt a flattened JWE with the newest version of its key',
  description:
    'Accepts a reply of /v1/crypto/encrypt, and returns the same form for the newest version. The plaintext stays in the service.',
  tag: 'Crypto',
  access,
  bodyLimit,
  request: RewrapRequest,
  reply: FlattenedJwe,
  errors: {
    403: 'The caller has no right to encrypt with it.',
    404: 'No such key.',
    422: 'The decryption failed, or the key does not support it.',
  },
  async act(_input, context) {
    const { key, request } = access.resolved(context)
    requireKeyUse(key, 'decrypt', context)
    const newest = await findNewest(key, context)
    requireKeyUse(newest, 'encrypt', context)
    context.audit({ details: { version: newest.object.generation + 1 } })
    const data = await openSealed(openNow, key, request, context)
    const jwe = await sealFor(sealNow, newest, { ...request, data, aad: request.sealed.aad }, context)
    data.fill(0)
    return await afterCountingUse(context, newest, data.length, jwe)
  },
})

/** The newest version of the key that a version belongs to. */
async function findNewest(
  version: Key,
  { services: { keys } }: OperationContext<RestServices>,
): Promise<Key> {
  const { chainId } = version.object
  if (chainId === undefined) return version
  const first = await keys.get(chainId)
  if (first === undefined) throw keyNotFound()
  return protectingVersion(keys, first)
}
