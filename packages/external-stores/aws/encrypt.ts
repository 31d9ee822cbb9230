import { hash } from 'node:crypto'
import { afterCountingUse, type CipherPlan, type Encrypted, type Key } from '@warder/keys'
import { post } from '@warder/server'
import Type, { type Static } from 'typebox'
import { define, type ExternalStoreServices } from '../scope/services.ts'
import { metadataFor } from './ciphertext-metadata.ts'
import { xksFailure } from './errors.ts'
import {
  awsRight,
  gcmPlan,
  joinAuthenticatedData,
  requireResolvedKey,
  requireXksUse,
  rethrowRefusal,
} from './key.ts'
import { decodeBase64, KeyPath, KeyRequestMetadata, requireAesGcm } from './request.ts'
import type { XksRoute } from './route.ts'

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
export const maxPlaintextBytes = 8192

function read(body: Static<typeof EncryptRequest>) {
  requireAesGcm(body.encryptionAlgorithm)
  const cdiv = body.ciphertextDataIntegrityValueAlgorithm
  if (cdiv !== undefined && cdiv !== 'SHA_256')
    throw xksFailure('ValidationException', 'ciphertextDataIntegrityValueAlgorithm must be SHA_256.')
  const plaintext = decode(body.plaintext, 'plaintext')
  const aad = decode(body.additionalAuthenticatedData ?? '', 'additionalAuthenticatedData')
  return { plaintext, aad, cdiv: cdiv !== undefined }
}

function decode(text: string, member: string): Buffer {
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
    access: awsRight(route, 'encrypt', 'newest'),
    pathParameters: KeyPath,
    request: EncryptRequest,
    reply: EncryptReply,
    async act({ path, body }, context) {
      const { services } = context
      const { plaintext, aad, cdiv } = read(body)
      const key = requireResolvedKey(context)
      const metadata = metadataFor(path.externalKeyId, key.object.id)
      requireXksUse(key, 'encrypt', context)
      // An integrity value promises that the ciphertext opens: that is tried.
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

  /** The key may have come to its end while there was something to wait for. */
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
  // Before the trial decryption, as appendix C has it: what changes after it would go unnoticed.
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
