import { failure } from '@warder/foundation/errors'
import { get, type OperationContext, post } from '@warder/foundation/operations'
import { retryOnGuard } from '@warder/foundation/sql'
import Type from 'typebox'
import {
  abeAlgorithm,
  abeMaterial,
  abeThread,
  inFailures,
  type RotationAction,
  readAction,
  requireAbe,
  rotateMaster,
  shownAction,
  userKeysOf,
} from '../../abe/index.ts'
import { keyNotFound, keyRight, permittedKey, principalOf, type Right } from '../../access/index.ts'
import { keyFacts, requirePermitted } from '../../crypto/index.ts'
import { linkedObject, type ManagedObject, stateAt, UnitOfWork } from '../../keys/index.ts'
import { define, type KmsServices } from '../../services.ts'

type Context = OperationContext<KmsServices>

const attempts = 10
const pathParameters = Type.Object({ kid: Type.String() })
const Names = Type.Array(Type.String())

const RotationRequest = Type.Object({
  RekeyAccessPolicy: Type.Optional(Type.String({ description: 'Renews the rights of this policy.' })),
  PruneAccessPolicy: Type.Optional(Type.String({ description: 'Forgets their former secrets.' })),
  AddAttribute: Type.Optional(
    Type.Array(Type.Array(Type.Union([Type.String(), Type.Null()])), {
      description:
        '`["Dimension::Name", "Classic" | "PostQuantum" | "Hybridized", null | "attribute just below in a hierarchy"]`',
    }),
  ),
  RenameAttribute: Type.Optional(Type.Array(Names, { description: '`["Dimension::Name", "NewName"]`' })),
  DisableAttribute: Type.Optional(Names),
  DeleteAttribute: Type.Optional(Names),
})

const rotation = keyRight<KmsServices, { readonly kid: string; readonly body: unknown }>('rekey', {
  read: ({ path: { kid }, body }) => ({ kid: kid ?? '', body }),
  kid: ({ kid }) => kid,
  algorithm: () => abeAlgorithm,
})

/** `POST /v1/crypto/keys/{kid}/rotate`: changes a master key, its public key and its user keys, in one commit. */
export const rotateKey = define({
  name: 'crypto.keys.rotate',
  route: post('/v1/crypto/keys/{kid}/rotate'),
  summary: 'Rotate an attribute-based master key, or change its access structure',
  description:
    'One action. Active user keys that the master key made are refreshed with it, whoever owns them.',
  tag: 'Keys',
  access: rotation,
  pathParameters,
  request: RotationRequest,
  reply: Type.Object({
    kid: Type.String(),
    kid_public: Type.String(),
    digest: Type.String({ description: 'SHA-256 of the public key, base64url.' }),
    refreshed: Names,
    not_refreshed: Type.Array(Type.String(), { description: 'User keys that the master key does not know.' }),
  }),
  errors: {
    403: 'No right to rotate the master key, or its public key.',
    404: 'No such key.',
    409: 'Changed by others at the same time.',
    422: 'The key is no master key, or may not be changed.',
  },
  async act(_input, context) {
    const { key, request } = rotation.resolved(context)
    requirePermitted(context.services.policy, keyFacts({ algorithm: abeAlgorithm }))
    const work = async () => {
      const action = readAction(request.body)
      context.audit({ details: { action: shownAction(action).slice(0, 1024) } })
      return retryOnGuard(attempts, () => rotated(key.object.id, action, context))
    }
    return inFailures(work())
  },
})

async function rotated(id: string, action: RotationAction, context: Context) {
  const { services } = context
  const now = services.clock.now()
  const objects = new UnitOfWork(services, now)
  try {
    const master = await objects.read(id)
    if (master === undefined) throw keyNotFound()
    const publicKey = await publicKeyOf(objects, master, 'rekey', context)
    const done = await rotateMaster(objects, services.db, { master, publicKey }, action, now)
    const changed = await objects.read(publicKey.id)
    context.audit({ details: { linked: publicKey.id, refreshed: done.refreshed.length } })
    await objects.commit(context.commit)
    return {
      kid: master.id,
      kid_public: publicKey.id,
      digest: changed?.form.abe?.digest ?? '',
      refreshed: [...done.refreshed],
      not_refreshed: [...done.foreign],
    }
  } finally {
    objects.clear()
  }
}

async function publicKeyOf(
  objects: UnitOfWork,
  master: ManagedObject,
  right: Right,
  { services, ...context }: Context,
): Promise<ManagedObject> {
  requireAbe(master, 'master')
  const id = master.linkedId ?? linkedObject(master, 'PublicKeyLink')
  const found = id === undefined ? undefined : await objects.read(id)
  if (found?.form.abe?.kind !== 'public' || found.owner !== master.owner)
    throw failure('crypto_failure', 'The public key of this master key is not here.')
  await permittedKey(services, principalOf({ services, ...context }), found.id, right)
  return found
}

const reading = keyRight<KmsServices, string>('getattributes', {
  read: ({ path: { kid } }) => kid ?? '',
  kid: (kid) => kid,
})

/** `GET /v1/crypto/keys/{kid}/structure`: the attributes of a master key, and who has which policy. Nothing secret. */
export const getStructure = define({
  name: 'crypto.keys.structure',
  route: get('/v1/crypto/keys/{kid}/structure'),
  summary: 'The access structure of an attribute-based master key, and its user keys',
  tag: 'Keys',
  access: reading,
  pathParameters,
  reply: Type.Object({
    kid: Type.String(),
    kid_public: Type.String(),
    digest: Type.String({ description: 'SHA-256 of the public key, base64url.' }),
    dimensions: Type.Array(
      Type.Object({
        name: Type.String(),
        ordered: Type.Boolean({ description: 'A hierarchy; its attributes are listed from the lowest.' }),
        attributes: Type.Array(
          Type.Object({ name: Type.String(), mode: Type.String(), enabled: Type.Boolean() }),
        ),
      }),
    ),
    user_keys: Type.Array(
      Type.Object({
        kid: Type.String(),
        owner: Type.String(),
        state: Type.String(),
        policy: Type.Optional(Type.String()),
      }),
    ),
  }),
  errors: {
    403: 'No right to read attributes of both keys.',
    404: 'No such key.',
    422: 'The key is no master key.',
  },
  async act(_input, context) {
    const { key } = reading.resolved(context)
    const { services } = context
    const now = services.clock.now()
    const objects = new UnitOfWork(services, now)
    const publicKey = await publicKeyOf(objects, key.object, 'getattributes', context)
    const material = await abeMaterial(objects, publicKey)
    const dimensions = await inFailures(abeThread.run({ type: 'describe', publicKey: material }))
    const users = await userKeysOf(services.db, key.object.id)
    return {
      kid: key.object.id,
      kid_public: publicKey.id,
      digest: publicKey.form.abe?.digest ?? '',
      dimensions: dimensions.map((one) => ({ ...one, attributes: [...one.attributes] })),
      user_keys: users.map((user) => ({
        kid: user.id,
        owner: user.owner,
        state: stateAt(user, now),
        ...(user.form.abe?.policy !== undefined && { policy: user.form.abe.policy }),
      })),
    }
  },
})
