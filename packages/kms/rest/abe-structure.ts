import { failure } from '@warder/base'
import {
  abeMaterial,
  abeThread,
  findLinkTarget,
  inFailures,
  keyRight,
  listUserKeys,
  type ManagedObject,
  type Right,
  requireAbe,
  requirePermittedKey,
  stateAt,
  UnitOfWork,
} from '@warder/keys'
import { get, type OperationContext } from '@warder/server'
import Type from 'typebox'
import { define, type RestServices } from './services.ts'

export const PublicDigest = Type.String({ description: 'SHA-256 of the public key, base64url.' })

/** Max user keys in one response. */
const maxShown = 1000

const reading = keyRight<RestServices, { readonly kid: string; readonly policy: string | undefined }>(
  'getattributes',
  {
    read: ({ path: { kid }, query }) => ({ kid: kid ?? '', policy: query.policy }),
    kid: ({ kid }) => kid,
  },
)

/** `GET /v1/crypto/keys/{kid}/structure`: the attributes of a master key, and who has which policy. Nothing secret. */
export const getStructure = define({
  name: 'crypto.keys.structure',
  reach: ['reveal attributes', 'reveal public'],
  route: get('/v1/crypto/keys/{kid}/structure'),
  summary: 'The access structure of an attribute-based master key, and its user keys',
  tag: 'Keys',
  access: reading,
  pathParameters: Type.Object({ kid: Type.String() }),
  queryParameters: Type.Object({ policy: Type.Optional(Type.String()) }),
  reply: Type.Object({
    kid: Type.String(),
    kid_public: Type.String(),
    digest: PublicDigest,
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
        policy: Type.Optional(Type.String({ description: 'Policy with which it was created.' })),
        reads: Type.Array(Type.String(), {
          description: 'Attributes such that the key decrypts data that is encrypted for each of them alone.',
        }),
        opens: Type.Optional(
          Type.Boolean({ description: 'Whether it decrypts data that is encrypted for `policy`.' }),
        ),
      }),
    ),
  }),
  errors: {
    403: 'The caller has no right to read the attributes of both keys.',
    404: 'No such key.',
    422: 'The key is not a master key.',
  },
  async act(_input, context) {
    const { key, request } = reading.resolved(context)
    const { services } = context
    const now = services.clock.now()
    const objects = new UnitOfWork(services, now)
    const publicKey = await findPublicKey(objects, key.object, 'getattributes', context)
    const material = await abeMaterial(objects, publicKey)
    const found = (await listUserKeys(services.db, key.object.id)).filter(
      (user) => user.destroyedAt === undefined,
    )
    const users = found.slice(0, maxShown)
    const secrets: Uint8Array[] = []
    for (const user of users) secrets.push(await abeMaterial(objects, user))
    const job = { type: 'describe', publicKey: material, users: secrets, policy: request.policy } as const
    const described = await inFailures(abeThread.run(job)).finally(() => {
      for (const secret of secrets) secret.fill(0)
    })
    return {
      kid: key.object.id,
      kid_public: publicKey.id,
      digest: publicKey.form.abe?.digest ?? '',
      dimensions: described.dimensions.map((one) => ({ ...one, attributes: [...one.attributes] })),
      user_keys: users.map((user, index) => ({
        kid: user.id,
        owner: user.owner,
        state: stateAt(user, now),
        ...(user.form.abe?.policy !== undefined && { policy: user.form.abe.policy }),
        reads: [...(described.users[index]?.reads ?? [])],
        ...(request.policy !== undefined && { opens: described.users[index]?.opens === true }),
      })),
    }
  },
})

type Context = OperationContext<RestServices>

/**
 * The public key of a master key, which its owner has here.
 * @param right that the caller needs on it
 * @throws failure('crypto_failure') for objects that are not a master key, or have no public key here; as
 *   `requirePermittedKey`
 */
export async function findPublicKey(
  objects: UnitOfWork,
  master: ManagedObject,
  right: Right,
  context: Context,
): Promise<ManagedObject> {
  requireAbe(master, 'master')
  const id = master.linkedId ?? findLinkTarget(master, 'PublicKeyLink')
  const found = id === undefined ? undefined : await objects.read(id)
  if (found?.form.abe?.kind !== 'public' || found.owner !== master.owner)
    throw failure('crypto_failure', 'The public key of this master key is not here.')
  await requirePermittedKey(context, found.id, right)
  return found
}
