import type { KeyObject } from 'node:crypto'
import { failure } from '@warder/base'
import { modulusBits, planRsa, planSignature, softwareKey } from '@warder/crypto'
import { type OperationContext, post } from '@warder/server'
import Type from 'typebox'
import { decodeBase64, define, type ExternalStoreServices } from '../scope/scope.ts'
import { byAdministrator, byBothTokens, callerNamed, requireAuthorization } from './callers.ts'
import {
  administrators,
  common,
  denied,
  limits,
  members,
  path,
  requirePerimeter,
  requireShort,
  roles,
} from './operation-parts.ts'
import {
  encryptionNamed,
  maxPrivateKeyBytes,
  openPrivateKey,
  privateKeyBytes,
  readPrivateKey,
  requireSpkiHash,
  signatureNamed,
} from './private-key.ts'
import type { GoogleScope } from './scope.ts'
import type { Authorization } from './tokens.ts'
import { unwrapSecret, wrapSecret } from './wrapping-key.ts'

/** `POST /google_cse/wrapprivatekey`: for the S/MIME certificate that an administrator uploads to Gmail. */
export const wrapPrivateKey = (scope: GoogleScope) =>
  define({
    ...common,
    name: 'google_cse.wrapprivatekey',
    reach: ['make ciphertext'],
    asks: ['encrypt'],
    route: post(path('wrapprivatekey')),
    summary: "Wrap a user's private key as an administrator",
    authenticate: byAdministrator(scope),
    access: administrators,
    request: Type.Object({
      authentication: members.authentication,
      perimeter_id: Type.Optional(Type.String()),
      private_key: Type.String({ description: 'RSA: PEM, or DER (PKCS#8, PKCS#1) in base64.' }),
      reason: members.reason,
    }),
    reply: Type.Object({ wrapped_private_key: Type.String() }),
    errors: denied,
    async act({ body }, context) {
      const perimeterId = requireShort(body.perimeter_id ?? '', 'perimeter_id', limits.perimeterId)
      const text = requireShort(body.private_key, 'private_key', 2 * maxPrivateKeyBytes)
      const secret = privateKeyBytes(readPrivateKey(text))
      const { name } = callerNamed(context.request)
      const binding = { kind: 'private key', resourceName: '', perimeterId } as const
      try {
        return { wrapped_private_key: await wrapSecret(context, scope.wrappingKey, name, binding, secret) }
      } finally {
        secret.fill(0)
      }
    },
  })

/** Unwraps a private key for S/MIME for one request. */
async function openWrappedPrivateKey(
  scope: GoogleScope,
  context: OperationContext<ExternalStoreServices>,
  principal: string,
  wrapped: string,
): Promise<{ readonly key: KeyObject; readonly perimeterId: string }> {
  const member = 'wrapped_private_key'
  const bytes = decodeBase64(wrapped, member, limits.wrappedPrivateKey)
  const { wrappingKey } = scope
  const { secret, perimeterId } = await unwrapSecret(
    context,
    wrappingKey,
    principal,
    'private key',
    '',
    bytes,
    member,
  )
  try {
    return { key: openPrivateKey(secret), perimeterId }
  } finally {
    secret.fill(0)
  }
}

/** Members of a request with the ciphertext and its parameters. */
const encryptedDataKey = {
  algorithm: Type.String({
    description: 'RSA/ECB/PKCS1Padding, or RSA/ECB/OAEPwithSHA-1|256|512andMGF1Padding',
  }),
  encrypted_data_encryption_key: Type.String({ description: 'base64; 1 KB at most.' }),
  rsa_oaep_label: Type.Optional(Type.String({ description: 'The label of OAEP, base64.' })),
}

interface Encrypted {
  readonly algorithm: string
  readonly encrypted_data_encryption_key: string
  readonly rsa_oaep_label?: string
}

async function decryptDataKey(
  context: OperationContext<ExternalStoreServices>,
  key: KeyObject,
  body: Encrypted,
): Promise<{ readonly data_encryption_key: string }> {
  const { rsa_oaep_label: text = '' } = body
  const label = text === '' ? undefined : decodeBase64(text, 'rsa_oaep_label', limits.encryptedDataKey)
  const parameters = encryptionNamed(body.algorithm, label)
  context.audit({ algorithm: body.algorithm.slice(0, 64) })
  const encrypted = decodeBase64(
    body.encrypted_data_encryption_key,
    'encrypted_data_encryption_key',
    limits.encryptedDataKey,
  )
  const plan = planRsa(modulusBits(key), parameters, context.services.policy)
  const opened = await softwareKey(key).decryptRsa(plan, encrypted)
  const data_encryption_key = opened.toString('base64')
  opened.fill(0)
  return { data_encryption_key }
}

const gmail = {
  authentication: members.authentication,
  authorization: members.authorization,
  reason: members.reason,
  wrapped_private_key: members.wrappedPrivateKey,
}

/** Requires the private key that Google's token names: the wrapped key itself does not identify its owner. */
async function requireAllowedPrivateKey(
  scope: GoogleScope,
  context: OperationContext<ExternalStoreServices>,
  name: string,
  { spkiHash, perimeterId }: Authorization,
  wrapped: string,
) {
  if (spkiHash === undefined) throw failure('forbidden', 'The authorization token has no spki_hash.')
  const opened = await openWrappedPrivateKey(scope, context, name, wrapped)
  requireSpkiHash(opened.key, spkiHash)
  requirePerimeter(opened.perimeterId, perimeterId)
  return opened.key
}

/** `POST /google_cse/privatekeysign`. */
export const privateKeySign = (scope: GoogleScope) =>
  define({
    ...common,
    name: 'google_cse.privatekeysign',
    reach: ['make signature'],
    asks: ['decrypt'],
    route: post(path('privatekeysign')),
    summary: 'Sign a digest with a wrapped private key',
    authenticate: byBothTokens(scope),
    access: roles('signer'),
    request: Type.Object({
      ...gmail,
      algorithm: Type.String({
        description: 'SHA1withRSA, SHA256withRSA, SHA512withRSA, or the same with /PSS.',
      }),
      digest: Type.String({ description: 'Of the DER of SignedAttributes, base64.' }),
      rsa_pss_salt_length: Type.Optional(Type.Integer({ minimum: 0, maximum: 1024 })),
    }),
    reply: Type.Object({ signature: Type.String() }),
    errors: denied,
    async act({ body }, context) {
      const { name, authorization } = requireAuthorization(context.request)
      const asked = signatureNamed(body.algorithm, body.rsa_pss_salt_length)
      const digest = decodeBase64(body.digest, 'digest', limits.digest)
      if (digest.length !== asked.digestBytes)
        throw failure('bad_request', `digest: must be ${asked.digestBytes} bytes for this algorithm.`)
      const key = await requireAllowedPrivateKey(
        scope,
        context,
        name,
        authorization,
        body.wrapped_private_key,
      )
      context.audit({ algorithm: body.algorithm.slice(0, 64) })
      const held = softwareKey(key)
      const plan = planSignature(held.shape, asked.parameters, context.services.policy, 'sign', digest.length)
      return { signature: (await held.sign(plan, { digest })).toString('base64') }
    },
  })

/** `POST /google_cse/privatekeydecrypt`. */
export const privateKeyDecrypt = (scope: GoogleScope) =>
  define({
    ...common,
    name: 'google_cse.privatekeydecrypt',
    reach: ['reveal plaintext'],
    asks: ['decrypt'],
    route: post(path('privatekeydecrypt')),
    summary: 'Decrypt a content key with a wrapped private key',
    authenticate: byBothTokens(scope),
    access: roles('decrypter'),
    request: Type.Object({ ...gmail, ...encryptedDataKey }),
    reply: Type.Object({ data_encryption_key: Type.String() }),
    errors: denied,
    async act({ body }, context) {
      const { name, authorization } = requireAuthorization(context.request)
      const key = await requireAllowedPrivateKey(
        scope,
        context,
        name,
        authorization,
        body.wrapped_private_key,
      )
      return decryptDataKey(context, key, body)
    },
  })

/** `POST /google_cse/privilegedprivatekeydecrypt`: of exported mail (takeout). */
export const privilegedPrivateKeyDecrypt = (scope: GoogleScope) =>
  define({
    ...common,
    name: 'google_cse.privilegedprivatekeydecrypt',
    reach: ['reveal plaintext'],
    asks: ['decrypt'],
    route: post(path('privilegedprivatekeydecrypt')),
    summary: 'Decrypt a content key of exported mail as an administrator',
    authenticate: byAdministrator(scope),
    access: administrators,
    request: Type.Object({
      authentication: members.authentication,
      reason: members.reason,
      wrapped_private_key: members.wrappedPrivateKey,
      ...encryptedDataKey,
      spki_hash: Type.String({ description: 'SHA-256 of the DER of SubjectPublicKeyInfo, base64.' }),
      spki_hash_algorithm: Type.String({ description: 'SHA-256' }),
    }),
    reply: Type.Object({ data_encryption_key: Type.String() }),
    errors: denied,
    async act({ body }, context) {
      if (body.spki_hash_algorithm.toUpperCase() !== 'SHA-256')
        throw failure('unsupported_algorithm', 'spki_hash_algorithm: only SHA-256 is supported.')
      const { name } = callerNamed(context.request)
      const { key } = await openWrappedPrivateKey(scope, context, name, body.wrapped_private_key)
      requireSpkiHash(key, body.spki_hash)
      return decryptDataKey(context, key, body)
    },
  })
