import { failure } from '@warder/base'
import {
  computeRotationPlan,
  findReservedInvocations,
  findRotationPlan,
  getChainId,
  isLaterVersion,
  keyNotFound,
  keyRight,
  type ManagedObject,
  maxInterval,
  maxMessages,
  minInterval,
  type ObjectChange,
  type ObjectId,
  requireAllowed,
  requirePrincipal,
  resolveSchedule,
  UnitOfWork,
  verdictOn,
  versionNumber,
  withRotation,
} from '@warder/keys'
import { get, type Operation, type OperationContext, put } from '@warder/server'
import { retryOnGuard } from '@warder/storage'
import Type, { type Static } from 'typebox'
import { define, type RestServices } from './services.ts'

type Context = OperationContext<RestServices>

const attempts = 10
const path = '/v1/crypto/keys/{kid}/rotation'
const KidPath = Type.Object({ kid: Type.String() })

const RotationSettings = Type.Object({
  min_decrypt_version: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: 'Versions below it can no longer decrypt, verify or unwrap. It may be lowered again.',
    }),
  ),
  rotate_every: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: maxInterval,
      description: 'Seconds between automatic rotations, at least 3600; 0 = no rotation by time.',
    }),
  ),
  rotate_after_messages: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: maxMessages,
      description:
        'AES-GCM messages of one version after which the service rotates, counted in blocks; 0 = no rotation by use. A version encrypts at most 2^32.',
    }),
  ),
})

const RotationReply = Type.Object({
  kid: Type.String(),
  version: Type.Integer({ description: 'The newest.' }),
  min_decrypt_version: Type.Integer(),
  rotate_every: Type.Optional(Type.Integer({ description: 'Seconds.' })),
  rotates_at: Type.Optional(
    Type.String({
      description: 'Time of the next rotation, by its own interval or by the policy: RFC 3339, UTC.',
    }),
  ),
  rotate_after_messages: Type.Optional(Type.Integer()),
  messages: Type.Optional(
    Type.Integer({
      description:
        'AES-GCM messages of the newest version, counted in blocks. At 4294967296 (2^32) it stops encrypting.',
    }),
  ),
  policy: Type.Optional(
    Type.Object(
      {
        rotate_every: Type.Optional(Type.Integer({ description: 'Seconds.' })),
        rotate_after_messages: Type.Optional(Type.Integer()),
      },
      {
        description:
          'Values from the rules in the settings. Its own rotate_every and rotate_after_messages take precedence.',
      },
    ),
  ),
})

async function reply(
  { db, clock, rotation }: RestServices,
  objects: UnitOfWork,
  key: ManagedObject,
): Promise<Static<typeof RotationReply>> {
  const newest = (key.newestId === undefined ? undefined : await objects.read(key.newestId)) ?? key
  const rotates = key.type === 'SymmetricKey' || key.type === 'PrivateKey'
  const { every, afterMessages } = rotation.of(
    rotates ? key.algorithm : undefined,
    rotates ? await objects.tags(key) : [],
  )
  const schedule = resolveSchedule(key, { every, afterMessages })
  const { at } = computeRotationPlan(
    { key, newest, schedule },
    await findRotationPlan(db, key.id),
    clock.now(),
  )
  const messages = newest.algorithm === 'AES' ? await findReservedInvocations(db, newest.id) : undefined
  return {
    kid: key.id,
    version: versionNumber(newest),
    min_decrypt_version: key.minGeneration + 1,
    ...(key.rotateEvery !== undefined && { rotate_every: key.rotateEvery }),
    ...(at !== undefined && { rotates_at: new Date(at).toISOString() }),
    ...(key.rotateAfter !== undefined && { rotate_after_messages: key.rotateAfter }),
    ...(messages !== undefined && { messages }),
    ...((every !== undefined || afterMessages !== undefined) && {
      policy: {
        ...(every !== undefined && { rotate_every: every }),
        ...(afterMessages !== undefined && { rotate_after_messages: afterMessages }),
      },
    }),
  }
}

const readAccess = keyRight<RestServices, string>('getattributes', {
  read: ({ path: { kid } }) => kid ?? '',
  kid: (kid) => kid,
})

const getRotation = define({
  name: 'crypto.keys.rotation.get',
  reach: ['reveal attributes', 'reveal public'],
  route: get(path),
  summary: 'Rotation of a key, and the versions that it still uses',
  tag: 'Keys',
  access: readAccess,
  pathParameters: KidPath,
  reply: RotationReply,
  errors: { 403: 'The caller has no right to read attributes.', 404: 'No such key.' },
  act(_input, context) {
    const { services } = context
    const { object } = readAccess.resolved(context).key
    return reply(services, new UnitOfWork(services, services.clock.now()), object)
  },
})

const setAccess = keyRight<RestServices, string>('setattribute', {
  read: ({ path: { kid } }) => kid ?? '',
  kid: (kid) => kid,
})

/** `PUT /v1/crypto/keys/{kid}/rotation`: absent members stay unchanged. For a pair it applies to both halves. */
export const setRotation = define({
  name: 'crypto.keys.rotation.set',
  reach: ['change attributes', 'change versions'],
  route: put(path),
  summary: 'Set the rotation of a key, and the versions that it still uses',
  tag: 'Keys',
  access: setAccess,
  pathParameters: KidPath,
  request: RotationSettings,
  reply: RotationReply,
  errors: {
    403: 'The caller has no right to set attributes.',
    404: 'No such key.',
    409: 'Changed concurrently by another request.',
    422: 'It is a version, not a key.',
  },
  act({ body }, context) {
    const { id } = setAccess.resolved(context).key.object
    context.audit({ details: body })
    return retryOnGuard(attempts, () => changeRotation(context, id, body))
  },
})

async function changeRotation(context: Context, id: ObjectId, body: Static<typeof RotationSettings>) {
  const { services } = context
  const objects = new UnitOfWork(services, services.clock.now())
  try {
    const key = await objects.read(id)
    if (key === undefined) throw keyNotFound()
    requireAllowed(
      await verdictOn(services.db, services.roles, key, requirePrincipal(context), 'setattribute'),
    )
    if (isLaterVersion(key))
      throw failure('crypto_failure', `This is a version: use its key, ${getChainId(key)}.`)
    const newest = key.newestId === undefined ? key : await objects.read(key.newestId)
    const { min_decrypt_version: min } = body
    if (min !== undefined && newest !== undefined && min > versionNumber(newest))
      throw failure('bad_request', `min_decrypt_version: the newest version is ${versionNumber(newest)}.`)
    const schedule = ownSchedule(key, newest ?? key, body)
    if (Object.keys(schedule).length > 0) objects.update(key, schedule)
    if (body.rotate_every !== undefined)
      for (const part of newest === undefined || newest.id === key.id ? [key] : [key, newest])
        objects.update(part, withRotation(part, schedule.rotateEvery))
    for (const half of await findHalves(objects, key))
      objects.update(half, min === undefined ? {} : { minGeneration: min - 1 })
    const answer = await reply(services, objects, (await objects.read(id)) ?? key)
    await objects.commit(context.commit)
    return answer
  } finally {
    objects.clear()
  }
}

/** @throws failure('bad_request' | 'crypto_failure') */
function ownSchedule(
  key: ManagedObject,
  newest: ManagedObject,
  { rotate_every: every, rotate_after_messages: after }: Static<typeof RotationSettings>,
): ObjectChange {
  if (every !== undefined && every !== 0 && every < minInterval)
    throw failure('bad_request', `rotate_every: must be 0 or at least ${minInterval} seconds.`)
  const rotates = (every ?? 0) > 0 || (after ?? 0) > 0
  if (rotates && key.type !== 'SymmetricKey' && key.type !== 'PrivateKey')
    throw failure('crypto_failure', 'Only symmetric keys, and pairs by their private key, can be rotated.')
  if ((after ?? 0) > 0 && key.algorithm !== 'AES')
    throw failure('crypto_failure', 'Messages are counted only for AES keys.')
  return {
    ...(every !== undefined && {
      rotateEvery: every === 0 ? undefined : every,
      rotateAt: every === 0 ? undefined : newest.createdAt + every * 1000,
      rotateOffset: undefined,
    }),
    ...(after !== undefined && { rotateAfter: after === 0 ? undefined : after }),
  }
}

async function findHalves(objects: UnitOfWork, key: ManagedObject): Promise<readonly ManagedObject[]> {
  const other = key.linkedId === undefined ? undefined : await objects.read(key.linkedId)
  return other?.linkedId === key.id && other.owner === key.owner ? [key, other] : [key]
}

export const rotationOperations: readonly Operation<RestServices>[] = [getRotation, setRotation]
