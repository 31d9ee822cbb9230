import { failure } from '@warder/base'
import {
  type AccessKeyRow,
  endOfAccessKey,
  insertAccessKey,
  listAccessKeys,
  maxAccessKeys,
  newAccessKey,
  regionProblem,
  removeAccessKey,
  uriPrefixProblem,
  useBeyond,
  type XksStore,
} from '@warder/external-stores'
import { approvalNeeded, requireApprovedCredential, requirePrincipal } from '@warder/keys'
import { del, get, type Operation, post } from '@warder/server'
import { type Change, GuardFailed } from '@warder/storage'
import Type from 'typebox'
import { externalAccess } from './external-stores.ts'
import { define, type RestServices } from './services.ts'

const members = {
  id: Type.String({ description: 'AccessKeyId' }),
  uri_prefix: Type.String(),
  region: Type.String(),
  created_at: Type.String({ format: 'date-time' }),
  created_by: Type.String(),
  ended: Type.Union([Type.Null(), Type.Enum(['maker_blocked', 'maker_gone', 'maker_without_right'])], {
    description: 'Why the access key no longer works: it ends with the user who created it.',
  }),
}
const path = '/v1/external-stores/aws/access-keys'

async function formatAccessKey(row: AccessKeyRow, services: RestServices) {
  const { id, uri_prefix, region, created_at, created_by } = row
  const ended = (await endOfAccessKey(services, created_by, services.clock.now())) ?? null
  return { id, uri_prefix, region, created_at: new Date(created_at).toISOString(), created_by, ended }
}

const common = { tag: 'External key stores', access: externalAccess }
const forbidden = 'The caller does not manage external key stores.'

const list = define({
  ...common,
  name: 'external.aws.keys.list',
  reach: ['reveal attributes'],
  route: get(path),
  summary: 'Access keys of AWS KMS, without their secrets',
  reply: Type.Array(Type.Object(members)),
  errors: { 403: forbidden },
  act: async (_input, { services }) =>
    Promise.all((await listAccessKeys(services.db)).map((row) => formatAccessKey(row, services))),
})

/** Paths of the key stores that the settings of this node serve, in their order; undefined: AWS is switched off. */
export function xksPaths({
  enabled,
}: Pick<RestServices['external'], 'enabled'>): readonly string[] | undefined {
  const paths = enabled.find(({ name }) => name === 'aws')?.paths
  if (!Array.isArray(paths)) return undefined
  return paths.map((one) => String(one).slice(0, -xksSuffix.length))
}

export const xksSuffix = '/kms/xks/v1'

/** The key store at a path. One that is not served would make an access key that opens nothing. */
function storeAt(prefix: string, { external }: RestServices): XksStore {
  const paths = xksPaths(external)
  // While AWS is switched off, the first path is not known yet.
  if (paths === undefined) return { uriPrefix: prefix, isFirst: true }
  if (paths.includes(prefix)) return { uriPrefix: prefix, isFirst: paths[0] === prefix }
  const known = paths.map((one) => `${one}${xksSuffix}`)
  throw failure('bad_request', `uri_prefix: this server has the paths ${known.join(', ')}.`)
}

/**
 * An access key uses every key that was granted to its store. Its creator must have each of these uses or an
 * access key of the store already, or the officers must approve it.
 * @returns the changes to commit with it, so that an approval is used only once
 * @throws failure('forbidden')
 */
async function requireMayMake(
  services: RestServices,
  caller: string,
  store: XksStore,
  region: string,
): Promise<readonly Change[]> {
  const { db, roles, clock } = services
  const credential = { uriPrefix: store.uriPrefix, region }
  if (roles.approvals.takes('access_key'))
    return [await requireApprovedCredential(services, caller, credential, clock.now())]
  const beyond = await useBeyond(db, caller, store)
  if (beyond === undefined) return []
  throw failure(
    'forbidden',
    `An access key of this store could ${beyond.operation} with ${beyond.id}, and you lack that right: its owner can grant you ${beyond.operation}, or the crypto officers can approve if [approvals] operations contains access_key.`,
  )
}

const create = define({
  ...common,
  name: 'external.aws.keys.create',
  reach: ['make credential'],
  route: post(path),
  summary: 'Create an access key for AWS KMS',
  description:
    'Only this reply contains its secret in clear. To rotate: create a new one, enter it at AWS KMS, and delete the old one when it is no longer used.',
  request: Type.Object({
    region: Type.String({ maxLength: 64, description: 'AWS region of the key store.' }),
    uri_prefix: Type.Optional(
      Type.String({ maxLength: 128, description: 'Path before `/kms/xks/v1`; default /aws.' }),
    ),
  }),
  reply: Type.Object({ ...members, secret: Type.String({ description: 'RawSecretAccessKey' }) }),
  errors: {
    403: `${forbidden} Or the access key would permit uses that the caller has no right to, or it requires an approval.`,
    409: 'The maximum number of access keys exists already.',
  },
  async act({ body }, context) {
    const { services } = context
    const { region, uri_prefix = '/aws' } = body
    const problem = regionProblem(region) ?? uriPrefixProblem(uri_prefix)
    if (problem !== undefined) throw failure('bad_request', `${problem}.`)
    const store = storeAt(uri_prefix, services)
    if ((await listAccessKeys(services.db)).length >= maxAccessKeys)
      throw failure('conflict', `There are ${maxAccessKeys} access keys, the maximum: delete an unused one.`)
    const created_by = requirePrincipal(context).name
    const approved = await requireMayMake(services, created_by, store, region)
    const { id, secret } = newAccessKey()
    const row = { id, uri_prefix, region, created_at: services.clock.now(), created_by }
    context.audit({ object: 'aws', details: { access_key_id: id, uri_prefix, region } })
    await context.commit([...approved, insertAccessKey(services.seal, row, Buffer.from(secret, 'utf8'))])
    return { ...(await formatAccessKey(row, services)), secret }
  },
})

const remove = define({
  ...common,
  name: 'external.aws.keys.delete',
  reach: ['end credential'],
  route: del(`${path}/{id}`),
  summary: 'Delete an access key: its requests are rejected from then on',
  pathParameters: Type.Object({ id: Type.String({ maxLength: 64 }) }),
  status: 204,
  errors: {
    403: `${forbidden} Or it is the last one, and stopping the store requires approval.`,
    404: 'No such access key.',
  },
  async act({ path: { id } }, context) {
    context.audit({ object: 'aws', details: { access_key_id: id } })
    const { db, roles } = context.services
    const others = (await listAccessKeys(db)).some((key) => key.id !== id)
    if (!others && roles.approvals.takes('stop_store')) throw approvalNeeded('stop_store', roles.officers)
    try {
      await context.commit(removeAccessKey(db, id))
    } catch (error) {
      if (error instanceof GuardFailed) throw failure('not_found', 'There is no access key with this id.')
      throw error
    }
  },
})

export const awsAccessKeyOperations: readonly Operation<RestServices>[] = [list, create, remove]
