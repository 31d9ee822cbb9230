import { failure } from '@warder/base'
import {
  keyNotFound,
  keyRight,
  type ManagedObject,
  type ObjectId,
  stageRotation,
  UnitOfWork,
  versionNumber,
} from '@warder/keys'
import { type OperationContext, post } from '@warder/server'
import { GuardFailed } from '@warder/storage'
import Type from 'typebox'
import { AbeRotation, AbeRotationReply, rotateAbe } from './abe-rotate.ts'
import { define, type RestServices } from './services.ts'

const attempts = 10

const access = keyRight<RestServices, { readonly kid: string; readonly body: object }>('rekey', {
  read: ({ path: { kid }, body }) => ({ kid: kid ?? '', body: body as object }),
  kid: ({ kid }) => kid,
})

const VersionReply = Type.Object({
  kid: Type.String({ description: 'The id of the key, unchanged.' }),
  version: Type.Integer({ description: 'The version that protects from now on, from 1.' }),
  version_kid: Type.String({ description: 'Id of the version, used in headers of JWE and JWS.' }),
  version_kid_public: Type.Optional(
    Type.String({ description: 'For a pair: the public half of the version.' }),
  ),
})

/** `POST /v1/crypto/keys/{kid}/rotate`: a new version of a key, or a change of an attribute-based master key. */
export const rotateKey = define({
  name: 'crypto.keys.rotate',
  reach: ['change versions'],
  route: post('/v1/crypto/keys/{kid}/rotate'),
  summary: 'Rotate a key to a new version, or change an attribute-based master key',
  description:
    'With an empty body: the kid stays, and new data are protected by a new key from now on; existing ciphertexts can still be decrypted. ' +
    'With one action: changes a master key of attribute-based encryption. Its Active user keys are refreshed with it, also those of other owners.',
  tag: 'Keys',
  access,
  pathParameters: Type.Object({ kid: Type.String() }),
  request: AbeRotation,
  reply: Type.Union([VersionReply, AbeRotationReply]),
  errors: {
    403: 'The caller has no right to rotate the key, or the public key of a master key; or the owner has the maximum number of objects.',
    404: 'No such key.',
    409: 'Changed concurrently by another request.',
    422: 'The key cannot be rotated or changed.',
  },
  async act(_input, context) {
    const { key, request } = access.resolved(context)
    if (key.object.form.abe !== undefined) return rotateAbe(key.object.id, request.body, context)
    for (const name of Object.keys(request.body))
      throw failure('bad_request', `${name}: is only for attribute-based master keys.`)
    await requireRoom(context, key.object)
    return rotateVersion(context, key.object)
  },
})

/** @throws failure('forbidden') */
async function requireRoom(
  { services }: OperationContext<RestServices>,
  { owner }: ManagedObject,
): Promise<void> {
  const { quota } = services.roles
  if (quota !== undefined && !(await quota.hasRoom(owner)))
    throw failure('forbidden', 'The owner of the key has the maximum number of objects.')
}

/** Of two concurrent rotations one succeeds; the other one fails and creates no second version. */
async function rotateVersion(context: OperationContext<RestServices>, asked: ManagedObject) {
  for (let attempt = 1; ; attempt += 1) {
    const { key, commit } = await prepareRotation(context, asked.id)
    if (key.newestId !== asked.newestId) throw failure('conflict', 'The key was rotated concurrently.')
    try {
      return await commit()
    } catch (error) {
      if (!(error instanceof GuardFailed)) throw error
      if (attempt >= attempts)
        throw failure('conflict', 'Another request changed the same data concurrently: try again.', {
          cause: error,
        })
    }
  }
}

async function prepareRotation(context: OperationContext<RestServices>, id: ObjectId) {
  const { services } = context
  const now = services.clock.now()
  const objects = new UnitOfWork(services, now)
  try {
    const key = await objects.read(id)
    if (key === undefined) throw keyNotFound()
    const { version, publicVersion } = await stageRotation(objects, services, key, now)
    const number = versionNumber(version)
    context.audit({
      ...(version.algorithm !== undefined && { algorithm: version.algorithm }),
      details: { version: number, version_kid: version.id },
    })
    return {
      key,
      async commit() {
        await objects.commit(context.commit)
        return {
          kid: key.id,
          version: number,
          version_kid: version.id,
          ...(publicVersion !== undefined && { version_kid_public: publicVersion.id }),
        }
      },
    }
  } catch (error) {
    objects.clear()
    throw error
  }
}
