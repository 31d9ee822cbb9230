import { post } from '@warder/server'
import Type, { type Static } from 'typebox'
import { define } from '../scope/services.ts'
import { maxPlaintextBytes } from './encrypt.ts'
import { xksFailure } from './errors.ts'
import { awsRight, gcmPlan, joinAuthenticatedData, requireResolvedKey, requireXksUse } from './key.ts'
import { decodeBase64, KeyPath, KeyRequestMetadata, requireAesGcm } from './request.ts'
import type { XksRoute } from './route.ts'

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

/** A missing or malformed part of a ciphertext is reported as a ciphertext that does not open ("Error codes"). */
function read(body: Static<typeof DecryptRequest>) {
  requireAesGcm(body.encryptionAlgorithm)
  const { ciphertext, initializationVector, authenticationTag } = body
  if (ciphertext === undefined || initializationVector === undefined || authenticationTag === undefined)
    throw invalidCiphertext('ciphertext, initializationVector or authenticationTag is missing.')
  const data = decode(ciphertext, 'ciphertext')
  const aad = decode(body.additionalAuthenticatedData ?? '', 'additionalAuthenticatedData')
  if (data.length > maxPlaintextBytes || aad.length > maxPlaintextBytes)
    throw xksFailure('UnsupportedOperationException', `Data must have at most ${maxPlaintextBytes} bytes.`)
  const iv = decode(initializationVector, 'initializationVector')
  const tag = decode(authenticationTag, 'authenticationTag')
  const metadata = decode(body.ciphertextMetadata ?? '', 'ciphertextMetadata')
  if (iv.length !== 12 && iv.length !== 16)
    throw invalidCiphertext('initializationVector must have 12 or 16 bytes.')
  if (tag.length !== 16) throw invalidCiphertext('authenticationTag must have 16 bytes.')
  if (metadata.length > 20) throw invalidCiphertext('ciphertextMetadata must have at most 20 bytes.')
  return { data, iv, tag, aad: joinAuthenticatedData(aad, metadata) }
}

function decode(text: string, member: string): Buffer {
  const bytes = decodeBase64(text)
  if (bytes === undefined) throw invalidCiphertext(`${member} must be Base64 with padding.`)
  return bytes
}

function invalidCiphertext(sentence: string): Error {
  // The kind has one fixed sentence: this one is for the log.
  return xksFailure('InvalidCiphertextException', sentence)
}

/** XKS Proxy API, Decrypt. */
export function decryptOperation(route: XksRoute) {
  return define({
    ...route.common('decrypt'),
    route: post(route.path('/keys/{externalKeyId}/decrypt')),
    summary: 'Decrypt with AES-GCM for AWS KMS',
    access: awsRight(route, 'decrypt', 'of the ciphertext'),
    pathParameters: KeyPath,
    request: DecryptRequest,
    reply: Type.Object({ plaintext: Type.String() }),
    async act({ body }, context) {
      const input = read(body)
      const key = requireResolvedKey(context)
      requireXksUse(key, 'decrypt', context)
      const opened = await key.held.decrypt(gcmPlan(context.services.policy), input)
      const plaintext = opened.toString('base64')
      opened.fill(0)
      return { plaintext }
    },
  })
}
