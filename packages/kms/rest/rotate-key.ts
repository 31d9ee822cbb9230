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
  kid: Type.String({ description: 'The key: as before.' }),
  version: Type.Integer({ description: 'The version that protects from now on, counted from 1.' }),
  version_kid: Type.String({ description: 'Its own id, which headers of JWE and JWS name.' }),
  version_kid_public: Type.Optional(
    Type.String({ description: 'Of a pair: the public half of the version.' }),
  ),
})

/** `POST /v1/crypto/keys/{kid}/rotate`: a new version of a key, or a change of an attribute-based master key. */
export const rotateKey = define({
  name: 'crypto.keys.rotate',
  route: post('/v1/crypto/keys/{kid}/rotate'),
  summary: 'Give a key a new version, or change an attribute-based master key',
  description:
    'With an empty body: the kid stays, and everything is protected by a new key from now on; what was protected before is opened as ever. ' +
    'With one action: of a master key of attribute-based encryption. Active user keys that it made are refreshed with it, whoever owns them.',
  tag: 'Keys',
  access,
  pathParameters: Type.Object({ kid: Type.String() }),
  request: AbeRotation,
  reply: Type.Union([VersionReply, AbeRotationReply]),
  errors: {
    403: 'No right to rotate the key, or the public key of a master key; or the owner has no room for one more.',
    404: 'No such key.',
    409: 'Changed by others at the same time.',
    422: 'The key cannot be rotated, or may not be changed.',
  },
  async act(_input, context) {
    const { key, request } = access.resolved(context)
    if (key.object.form.abe !== undefined) return rotateAbe(key.object.id, request.body, context)
    for (const name of Object.keys(request.body))
      throw failure('bad_request', `${name}: is for attribute-based master keys.`)
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
    if (key.newestId !== asked.newestId)
      throw failure('conflict', 'Somebody else rotated the key at the same time.')
    try {
      return await commit()
    } catch (error) {
      if (!(error instanceof GuardFailed)) throw error
      if (attempt >= attempts)
        throw failure('conflict', 'Another request changed it at the same time: try again.', { cause: error })
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
