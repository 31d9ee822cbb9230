import { failure } from '@warder/base'
import { keyFacts, requirePermitted } from '@warder/crypto'
import {
  abeAlgorithm,
  abeThread,
  type Extractability,
  getChainId,
  inFailures,
  issueUserKey,
  keyNotFound,
  type NewAbeObjects,
  newMasterObjects,
  newUserObject,
  requirePermittedKey,
  requirePrincipal,
  stageNew,
  UnitOfWork,
} from '@warder/keys'
import type { OperationContext } from '@warder/server'
import { retryOnGuard } from '@warder/storage'
import Type, { type Static } from 'typebox'
import type { RestServices } from './services.ts'

/** `kty` and `alg` of attribute-based keys. */
export const abe = 'ABE'

/** Times that a user key is made again because another one was made meanwhile. */
const attempts = 10

export const abeMembers = {
  access_structure: Type.Optional(
    Type.Record(Type.String(), Type.Array(Type.String()), {
      description:
        'ABE, a master key: dimension to attributes. `::<` after a dimension makes it a hierarchy, lowest first; `::+` after an attribute adds post-quantum protection.',
    }),
  ),
  master: Type.Optional(
    Type.String({ description: 'ABE, a user key: its master key. Requires the right derivekey on it.' }),
  ),
  policy: Type.Optional(
    Type.String({ description: 'ABE, a user key: its policy, such as `Team::Blue && Level::High`.' }),
  ),
} as const

type AbeRequest = { readonly [Name in keyof typeof abeMembers]?: Static<(typeof abeMembers)[Name]> } & {
  readonly alg?: string
}

interface Wanted {
  readonly tags: readonly string[]
  readonly extractability: Extractability | undefined
}

/** A master key with its public key, or a user key. */
export async function createAbeKey(
  body: AbeRequest,
  wanted: Wanted,
  context: OperationContext<RestServices>,
) {
  if (body.alg !== undefined && body.alg !== abe)
    throw failure('bad_request', 'alg: must be ABE for kty ABE.')
  requirePermitted(context.services.policy, keyFacts({ algorithm: abeAlgorithm }))
  const { access_structure: structure, master, policy } = body
  if (structure !== undefined && master === undefined && policy === undefined)
    return createMaster(structure, wanted, context)
  if (structure === undefined && master !== undefined && policy !== undefined)
    return inFailures(retryOnGuard(attempts, () => createUser(master, policy, wanted, context)))
  throw failure(
    'bad_request',
    'A master key requires only access_structure; a user key requires master and policy.',
  )
}

function readCommon(wanted: Wanted, context: OperationContext<RestServices>): NewAbeObjects {
  return { owner: requirePrincipal(context).name, now: context.services.clock.now(), ...wanted }
}

async function createMaster(structure: unknown, wanted: Wanted, context: OperationContext<RestServices>) {
  const { services } = context
  const made = await inFailures(abeThread.run({ type: 'createMaster', structure }))
  const common = readCommon(wanted, context)
  const objects = new UnitOfWork(services, common.now)
  const pair = newMasterObjects(common, made)
  const [master, publicKey] = await stageNew(objects, services, common, pair)
  if (master === undefined || publicKey === undefined)
    throw failure('internal_error', 'a pair has two halves')
  context.audit({ object: master.id, algorithm: abe, details: { origin: 'generated', linked: publicKey.id } })
  await objects.commit(context.commit)
  const { digest } = publicKey.form.abe ?? {}
  return { ...reply(master.id, []), kid_public: publicKey.id, ...(digest !== undefined && { digest }) }
}

async function createUser(
  master: string,
  policy: string,
  wanted: Wanted,
  context: OperationContext<RestServices>,
) {
  const { services } = context
  const common = readCommon(wanted, context)
  const objects = new UnitOfWork(services, common.now)
  const { object } = await requirePermittedKey(context, master, 'derivekey')
  const current = await objects.read(object.id)
  if (current === undefined) throw keyNotFound()
  try {
    const { material, form, rights } = await issueUserKey(objects, current, policy, common.now)
    services.uses.note(getChainId(current), common.owner, common.now)
    const user = newUserObject(common, material, form)
    const [created] = await stageNew(objects, services, common, [user])
    if (created === undefined) throw failure('internal_error', 'a user key was not staged')
    const details = { origin: 'generated', master: object.id, policy: policy.slice(0, 1024), rights }
    context.audit({ object: created.id, algorithm: abe, details })
    await objects.commit(context.commit)
    return reply(created.id, ['decrypt'])
  } finally {
    objects.clear()
  }
}

function reply(kid: string, ops: readonly string[]) {
  return { kid, kty: abe, alg: abe, key_ops: [...ops] }
}
