import { andThen, failure, type MaybePromise } from '@warder/base'
import {
  type AlgorithmPolicy,
  algorithmFor,
  type ContentOpener,
  decodeBase64Url,
  encodeBase64Url,
  isDirect,
  jweDecryptDirect,
  jweDecryptOaep,
  jweDecryptReceived,
  openNow,
  readJweHeader,
  readManagementParameters,
  readUnprotected,
  receiveContentKey,
} from '@warder/crypto'
import { type Key, keyNotFound, keyRight, largeMember, openLarge, requireKeyUse } from '@warder/keys'
import { type OperationContext, post, type RawReply } from '@warder/server'
import Type, { type Static } from 'typebox'
import { abe } from './abe-keys.ts'
import { openAbe, requireAbePermitted } from './abe-use.ts'
import { planManagement, requireContentKey } from './encrypt.ts'
import { define, type RestServices } from './services.ts'

/** The members of a flattened JWE (RFC 7516 §7.2.2) that is opened. */
export const sealedMembers = {
  protected: Type.String({ description: 'Contains alg, enc and kid; base64url.' }),
  encrypted_key: Type.Optional(
    Type.String({ description: 'Required for RSA-OAEP; empty or absent for `dir`.' }),
  ),
  iv: Type.String({ description: '12 bytes, base64url.' }),
  ciphertext: Type.String(),
  tag: Type.String({ description: '16 bytes, base64url.' }),
  aad: Type.Optional(Type.String()),
  header: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'May have epk, apu, apv, iv and tag instead of `protected`.',
    }),
  ),
  unprotected: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'As `header`.' })),
}
const Sealed = Type.Object(sealedMembers)
const DecryptRequest = Type.Object({
  ...sealedMembers,
  kid: Type.Optional(Type.String({ description: 'With ABE, and only then: the user key to open it with.' })),
})

const access = keyRight<RestServices, ReturnType<typeof read>>('decrypt', {
  read: (input, { services }) => read(input.body as Static<typeof DecryptRequest>, input.large, services),
  kid: ({ kid }) => kid,
  use: 'private half',
  version: 'process',
  algorithm: ({ alg, enc }) => `${alg} ${enc.name}`,
})

function read(body: Static<typeof DecryptRequest>, large: Uint8Array | undefined, services: RestServices) {
  const { alg, enc, kid: named } = readJweHeader(body.protected)
  const kid = requireKid(body, alg, named)
  if (alg === abe) requireAbePermitted(enc, services.policy)
  return { ...readSealed(body, services.policy, large), kid, large: large !== undefined }
}

/**
 * Parses the input without decrypting it; `kid` is that of its header.
 * @param large the ciphertext, if it was read separately from the body
 * @throws failure('bad_request'), failure('unsupported_algorithm')
 */
export function readSealed(body: Static<typeof Sealed>, policy: AlgorithmPolicy, large?: Uint8Array) {
  const { alg, enc, kid } = readJweHeader(body.protected)
  const management = planManagement(alg, policy)
  const unprotected = readUnprotected(body.unprotected, body.header)
  const parameters =
    management?.use === 'other key management'
      ? readManagementParameters(body.protected, unprotected)
      : undefined
  const encryption = algorithmFor('content encryption', enc, policy)
  const encryptedKey = decodeBase64Url(body.encrypted_key ?? '', 'encrypted_key')
  const direct = alg === 'dir' || (management?.use === 'other key management' && isDirect(management))
  if (direct && encryptedKey.length > 0)
    throw failure('bad_request', `encrypted_key: must be empty or absent for ${alg}.`)
  if (!direct && encryptedKey.length === 0)
    throw failure('bad_request', `encrypted_key: is required for ${alg}.`)
  const { aad } = body
  if (aad !== undefined) decodeBase64Url(aad, 'aad')
  const sealed = {
    protected: body.protected,
    iv: decodeSized(body.iv, 'iv', 12),
    ciphertext: large ?? decodeBase64Url(body.ciphertext, 'ciphertext'),
    tag: decodeSized(body.tag, 'tag', 16),
    aad,
  }
  return { kid, alg, management, parameters, enc: { name: enc, encryption }, encryptedKey, sealed }
}

/** The key that decrypts it: that of the header, but for ABE a user key, which the header does not contain. */
function requireKid({ kid }: Static<typeof DecryptRequest>, alg: string, named: string): string {
  if (alg !== abe && kid === undefined) return named
  if (alg === abe && kid !== undefined) return kid
  throw failure(
    'bad_request',
    alg === abe ? 'kid: must name the user key for decryption.' : 'kid: is only for alg ABE.',
  )
}

function decodeSized(text: string, member: string, bytes: number): Buffer {
  const value = decodeBase64Url(text, member)
  if (value.length !== bytes) throw failure('bad_request', `${member}: must be ${bytes} bytes.`)
  return value
}

/** `POST /v1/crypto/decrypt`. All failed decryptions have the same error, whichever part was wrong. */
export const decrypt = define({
  name: 'crypto.decrypt',
  reach: ['reveal plaintext'],
  route: post('/v1/crypto/decrypt'),
  summary: 'Decrypt a flattened JWE, or data that was encrypted for a policy',
  tag: 'Crypto',
  access,
  request: DecryptRequest,
  largeBody: largeMember('ciphertext'),
  reply: Type.Object({ kid: Type.String(), data: Type.String() }),
  errors: {
    403: 'The caller has no right to decrypt with it.',
    404: 'No such key.',
    422: 'The decryption failed, or the key does not support it.',
  },
  act(_input, context) {
    const { key, kid, request } = access.resolved(context)
    const { alg, encryptedKey, sealed, large } = request
    requireKeyUse(key, 'decrypt', context)
    if (alg === abe) {
      const { iv, ciphertext, tag, aad } = sealed
      const parts = { encryptedKey, iv, ciphertext, tag, aad: decodeBase64Url(aad ?? '', 'aad') }
      return openAbe(key, parts, context).then((data) =>
        stillProcessing(key, context).then(() => formatDecrypted(kid, data)),
      )
    }
    const open: ContentOpener<MaybePromise<Opened>> = large
      ? (contentKey, plan, content, additional) =>
          openLarge(kid)(contentKey, plan, content, additional).then((reply) =>
            stillProcessing(key, context).then(() => reply),
          )
      : (contentKey, plan, content, additional) =>
          andThen(openNow(contentKey, plan, content, additional), (data) => formatDecrypted(kid, data))
    return openSealed(open, key, request, context)
  },
})

/**
 * Decrypts content with a key that may decrypt.
 * @throws failure('decryption_failed') for all causes; failure('crypto_failure') for a key of another purpose
 */
export function openSealed<R>(
  open: ContentOpener<MaybePromise<R>>,
  key: Key,
  request: ReturnType<typeof readSealed>,
  { services }: OperationContext<RestServices>,
): MaybePromise<R> {
  const { alg, management, parameters, enc, encryptedKey, sealed } = request
  const { encryption } = enc
  if (management === undefined) {
    requireContentKey(key, enc.name)
    return jweDecryptDirect(open, key.described, encryption, sealed)
  }
  key.requireBoundTo(alg)
  if (management.use !== 'other key management')
    return jweDecryptOaep(
      open,
      services.contentKeys,
      key.described,
      management,
      encryption,
      encryptedKey,
      sealed,
    )
  const kinds = { alg: { name: alg, algorithm: management }, enc, policy: services.policy }
  const said = parameters ?? readManagementParameters(sealed.protected)
  return receiveContentKey(key.described, kinds, said, encryptedKey).then((contentKey) =>
    jweDecryptReceived(open, contentKey, encryption, sealed),
  )
}

type Opened = RawReply | { readonly kid: string; readonly data: string }

/** The key may have been deactivated while the data was decrypted in another thread. */
async function stillProcessing({ object }: Key, context: OperationContext<RestServices>): Promise<void> {
  const now = await context.services.keys.get(object.id)
  if (now === undefined) throw keyNotFound()
  requireKeyUse(now, 'decrypt', context)
}

function formatDecrypted(kid: string, data: Uint8Array): { readonly kid: string; readonly data: string } {
  const reply = { kid, data: encodeBase64Url(data) }
  data.fill(0)
  return reply
}
