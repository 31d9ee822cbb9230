import { failure } from '@warder/base'
import { planSignature, softwareKey } from '@warder/keys'
import { type OperationContext, post } from '@warder/server'
import Type from 'typebox'
import { decodeBase64 } from '../../scope/base64.ts'
import { define, type ExternalStoreServices } from '../../scope/services.ts'
import { requireSpkiHash } from '../keys/private-key.ts'
import { signatureNamed } from '../keys/private-key-algorithms.ts'
import { byAdministrator, byBothTokens, callerNamed, requireAuthorization } from '../scope/callers.ts'
import type { GoogleScope } from '../scope/scope.ts'
import type { Authorization } from '../tokens/authorization.ts'
import { administrators, common, denied, limits, members, path, requirePerimeter, roles } from './common.ts'
import { decryptDataKey, encryptedDataKey } from './decrypt-data-key.ts'
import { openWrappedPrivateKey } from './open-private-key.ts'

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
