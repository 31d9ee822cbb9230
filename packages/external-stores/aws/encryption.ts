import { hash } from 'node:crypto'
import type { CipherPlan, Encrypted } from '@warder/crypto'
import { afterCountingUse, type Key } from '@warder/keys'
import { post } from '@warder/server'
import Type, { type Static } from 'typebox'
import { define, type ExternalStoreServices } from '../scope/scope.ts'
import {
  awsRight,
  gcmPlan,
  joinAuthenticatedData,
  requireResolvedKey,
  requireXksUse,
  rethrowRefusal,
} from './key.ts'
import {
  decodeBase64,
  KeyPath,
  KeyRequestMetadata,
  metadataFor,
  requireAesGcm,
  type XksRoute,
  xksFailure,
} from './request.ts'

const EncryptRequest = Type.Object({
  requestMetadata: KeyRequestMetadata,
  plaintext: Type.String({ description: 'Base64' }),
  encryptionAlgorithm: Type.String({ description: 'AES_GCM' }),
  additionalAuthenticatedData: Type.Optional(Type.String({ description: 'Base64' })),
  ciphertextDataIntegrityValueAlgorithm: Type.Optional(Type.String({ description: 'SHA_256' })),
})

const EncryptReply = Type.Object({
  ciphertext: Type.String(),
  ciphertextMetadata: Type.String(),
  initializationVector: Type.String(),
  authenticationTag: Type.String(),
  ciphertextDataIntegrityValue: Type.Optional(Type.String()),
})

/** The API requires 4300 and 8192 bytes; a proxy reports larger sizes as not supported. */
const maxPlaintextBytes = 8192

function readEncrypt(body: Static<typeof EncryptRequest>) {
  requireAesGcm(body.encryptionAlgorithm)
  const cdiv = body.ciphertextDataIntegrityValueAlgorithm
  if (cdiv !== undefined && cdiv !== 'SHA_256')
    throw xksFailure('ValidationException', 'ciphertextDataIntegrityValueAlgorithm must be SHA_256.')
  const plaintext = decodeEncrypt(body.plaintext, 'plaintext')
  const aad = decodeEncrypt(body.additionalAuthenticatedData ?? '', 'additionalAuthenticatedData')
  return { plaintext, aad, cdiv: cdiv !== undefined }
}

function decodeEncrypt(text: string, member: string): Buffer {
  const bytes = decodeBase64(text)
  if (bytes === undefined) throw xksFailure('ValidationException', `${member} must be Base64 with padding.`)
  if (bytes.length > maxPlaintextBytes)
    throw xksFailure(
      'UnsupportedOperationException',
      `${member} must have at most ${maxPlaintextBytes} bytes.`,
    )
  return bytes
}

/** XKS Proxy API, Encrypt. */
export function encryptOperation(route: XksRoute) {
  return define({
    ...route.common('encrypt'),
    route: post(route.path('/keys/{externalKeyId}/encrypt')),
    summary: 'Encrypt with AES-GCM for AWS KMS',
    reach: ['make ciphertext'],
    access: awsRight(route, 'encrypt', 'newest'),
    pathParameters: KeyPath,
    request: EncryptRequest,
    reply: EncryptReply,
    async act({ path, body }, context) {
      const { services } = context
      const { plaintext, aad, cdiv } = readEncrypt(body)
      const key = requireResolvedKey(context)
      const metadata = metadataFor(path.externalKeyId, key.object.id)
      requireXksUse(key, 'encrypt', context)
      // An integrity value asserts that the ciphertext can be decrypted, so it is decrypted once.
      if (cdiv) requireXksUse(key, 'decrypt', context)
      const plan = gcmPlan(services.policy)
      const waiting = services.budgets.take(key.object)
      try {
        const usable = waiting === undefined ? key : await waiting.then(() => stillUsable(key, services))
        const made = await encryptWith(usable, plaintext, { aad, metadata, plan }, cdiv)
        return await afterCountingUse(context, key, plaintext.length, made)
      } catch (thrown) {
        return rethrowRefusal(thrown)
      }
    },
  })

  /** The key may have become unusable while the request waited. */
  async function stillUsable(key: Key, services: ExternalStoreServices): Promise<Key> {
    const now = await services.keys.get(key.object.id)
    if (now?.mayUse('encrypt', services.clock.now()).allowed !== true)
      throw xksFailure('KeyNotFoundException')
    return now
  }
}

async function encryptWith(
  key: Key,
  plaintext: Buffer,
  { aad, metadata, plan }: { readonly aad: Buffer; readonly metadata: Buffer; readonly plan: CipherPlan },
  cdiv: boolean,
): Promise<Static<typeof EncryptReply>> {
  const data = joinAuthenticatedData(aad, metadata)
  const sealed = await key.held.encrypt(plan, { data: plaintext, iv: undefined, aad: data })
  const { data: ciphertext, iv, tag } = sealed
  if (iv === undefined || tag === undefined)
    throw xksFailure('InternalException', 'the cipher returned no IV or tag')
  const reply = {
    ciphertext: ciphertext.toString('base64'),
    ciphertextMetadata: metadata.toString('base64'),
    initializationVector: iv.toString('base64'),
    authenticationTag: tag.toString('base64'),
  }
  if (!cdiv) return reply
  // Computed before the trial decryption (appendix C): a later change would go unnoticed.
  const value = integrityValue({ aad, metadata, iv, ciphertext, tag })
  await requireOpens(key, { ...sealed, plan }, data, plaintext)
  return { ...reply, ciphertextDataIntegrityValue: value }
}

async function requireOpens(
  key: Key,
  { data, iv, tag, plan }: Encrypted & { readonly plan: CipherPlan },
  aad: Buffer,
  plaintext: Buffer,
): Promise<void> {
  const opened = await key.held.decrypt(plan, { data, iv, tag, aad })
  const same = opened.equals(plaintext)
  opened.fill(0)
  if (!same) throw xksFailure('InternalException', 'a ciphertext did not decrypt to its plaintext')
}

/** Parts covered by an integrity value, in order. */
interface CoveredParts {
  readonly aad: Uint8Array
  readonly metadata: Uint8Array
  readonly iv: Uint8Array
  readonly ciphertext: Uint8Array
  readonly tag: Uint8Array
}

/** The ciphertext data integrity value in Base64 (XKS Proxy API, appendix C). */
export function integrityValue({ aad, metadata, iv, ciphertext, tag }: CoveredParts): string {
  return hash('sha256', Buffer.concat([aad, metadata, iv, ciphertext, tag]), 'base64')
}

const Base64 = Type.Optional(Type.String({ description: 'Base64' }))
const DecryptRequest = Type.Object({
  requestMetadata: KeyRequestMetadata,
  encryptionAlgorithm: Type.String({ description: 'AES_GCM' }),
  ciphertext: Base64,
  ciphertextMetadata: Base64,
  additionalAuthenticatedData: Base64,
  initializationVector: Base64,
  authenticationTag: Base64,
})

/**
 * A missing or malformed part of a ciphertext is reported like a ciphertext that cannot be decrypted ("Error codes").
 */
function readDecrypt(body: Static<typeof DecryptRequest>) {
  requireAesGcm(body.encryptionAlgorithm)
  const { ciphertext, initializationVector, authenticationTag } = body
  if (ciphertext === undefined || initializationVector === undefined || authenticationTag === undefined)
    throw invalidCiphertext('ciphertext, initializationVector or authenticationTag is missing.')
  const data = decodeDecrypt(ciphertext, 'ciphertext')
  const aad = decodeDecrypt(body.additionalAuthenticatedData ?? '', 'additionalAuthenticatedData')
  if (data.length > maxPlaintextBytes || aad.length > maxPlaintextBytes)
    throw xksFailure('UnsupportedOperationException', `Data must have at most ${maxPlaintextBytes} bytes.`)
  const iv = decodeDecrypt(initializationVector, 'initializationVector')
  const tag = decodeDecrypt(authenticationTag, 'authenticationTag')
  const metadata = decodeDecrypt(body.ciphertextMetadata ?? '', 'ciphertextMetadata')
  if (iv.length !== 12 && iv.length !== 16)
    throw invalidCiphertext('initializationVector must have 12 or 16 bytes.')
  if (tag.length !== 16) throw invalidCiphertext('authenticationTag must have 16 bytes.')
  if (metadata.length > 20) throw invalidCiphertext('ciphertextMetadata must have at most 20 bytes.')
  return { data, iv, tag, aad: joinAuthenticatedData(aad, metadata) }
}

function decodeDecrypt(text: string, member: string): Buffer {
  const bytes = decodeBase64(text)
  if (bytes === undefined) throw invalidCiphertext(`${member} must be Base64 with padding.`)
  return bytes
}

function invalidCiphertext(sentence: string): Error {
  // Callers get the fixed sentence of this error kind; this text is for the log.
  return xksFailure('InvalidCiphertextException', sentence)
}

/** XKS Proxy API, Decrypt. */
export function decryptOperation(route: XksRoute) {
  return define({
    ...route.common('decrypt'),
    route: post(route.path('/keys/{externalKeyId}/decrypt')),
    summary: 'Decrypt with AES-GCM for AWS KMS',
    reach: ['reveal plaintext'],
    access: awsRight(route, 'decrypt', 'of the ciphertext'),
    pathParameters: KeyPath,
    request: DecryptRequest,
    reply: Type.Object({ plaintext: Type.String() }),
    async act({ body }, context) {
      const input = readDecrypt(body)
      const key = requireResolvedKey(context)
      requireXksUse(key, 'decrypt', context)
      const opened = await key.held.decrypt(gcmPlan(context.services.policy), input)
      const plaintext = opened.toString('base64')
      opened.fill(0)
      return { plaintext }
    },
  })
}
