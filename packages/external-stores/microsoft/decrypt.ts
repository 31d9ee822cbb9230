import { failure } from '@warder/base'
import { Key, planRsa, requireKeyUse } from '@warder/keys'
import { type Access, type OperationContext, post } from '@warder/server'
import Type from 'typebox'
import { decodeBase64 } from '../scope/base64.ts'
import { define, type ExternalStoreServices } from '../scope/services.ts'
import { decryptionKey, requireRsa } from './key.ts'
import { dkePath, type MicrosoftScope, trialName } from './scope.ts'
import { byEntraToken, readCaller } from './token.ts'

const algorithm = 'RSA-OAEP-256'
const parameters = { paddingMethod: 'OAEP', hashingAlgorithm: 'SHA_256' } as const
/** Of RSA of 8192 bits. */
const maxBytes = 1024

/** Requires a user to whom the key was granted. */
function access(scope: MicrosoftScope): Access<ExternalStoreServices> {
  return {
    name: 'key right granted to microsoft: decrypt',
    async check({ path }, context) {
      const { key_name: name = '', key_id: kid = '' } = path
      context.audit({ object: kid.slice(0, 256), algorithm, details: { key_name: name } })
      const caller = readCaller(context.request)
      if (caller.trial !== (name === trialName))
        throw failure('forbidden', `The key ${trialName} and trial tokens can be used only with each other.`)
      context.found = await decryptionKey(context, scope, caller, name, kid)
    },
  }
}

function requireResolvedKey({ found }: OperationContext<ExternalStoreServices>): Key {
  if (found instanceof Key) return found
  throw failure('internal_error', 'the access check did not run')
}

/** `POST /ms_dke/{key_name}/{key_id}/decrypt`: the second half of a document's key, for users who may read it. */
export const decrypt = (scope: MicrosoftScope) =>
  define({
    name: 'ms_dke.decrypt',
    route: post(`${dkePath}/{key_name}/{key_id}/{action}`),
    summary: 'Decrypt the key of a document with a version of a key',
    tag: 'Microsoft DKE',
    bodyLimit: 16 * 1024,
    authenticate: byEntraToken(scope),
    security: ['entraToken'],
    access: access(scope),
    pathParameters: Type.Object({
      key_name: Type.String(),
      key_id: Type.String({ description: 'The version, as in `kid` of the public key.' }),
      // The sample's routes are read without regard to case.
      action: Type.String({ pattern: '^[Dd][Ee][Cc][Rr][Yy][Pp][Tt]$', description: 'decrypt' }),
    }),
    request: Type.Object({
      alg: Type.String({ description: algorithm }),
      value: Type.String({ description: 'The ciphertext, base64.' }),
    }),
    reply: Type.Object({ value: Type.String({ description: 'base64' }) }),
    errors: {
      400: 'There is no such key, or it cannot decrypt this.',
      403: 'The user has no right on the key.',
    },
    async act({ body }, context) {
      if (body.alg !== algorithm) throw failure('bad_request', `alg: only ${algorithm} is supported.`)
      const encrypted = decodeBase64(body.value, 'value', maxBytes)
      const key = requireRsa(requireResolvedKey(context))
      requireKeyUse(key, 'decrypt', context)
      const plan = planRsa(key.object.bits ?? 0, parameters, context.services.policy)
      const opened = await key.held.decryptRsa(plan, encrypted)
      const value = opened.toString('base64')
      opened.fill(0)
      return { value }
    },
  })
