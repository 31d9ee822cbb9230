import { failure } from '@warder/foundation/errors'
import { del, get, type Operation, post } from '@warder/foundation/operations'
import { GuardFailed } from '@warder/foundation/sql'
import Type from 'typebox'
import { approvalNeeded, principalOf } from '../../access/index.ts'
import {
  type AccessKeyRow,
  insertAccessKey,
  listAccessKeys,
  mostAccessKeys,
  newAccessKey,
  regionProblem,
  removeAccessKey,
  uriPrefixProblem,
} from '../../external/aws/index.ts'
import { define, type KmsServices } from '../../services.ts'
import { externalAccess } from './external-stores.ts'

const members = {
  id: Type.String({ description: 'AccessKeyId' }),
  uri_prefix: Type.String(),
  region: Type.String(),
  created_at: Type.String({ format: 'date-time' }),
  created_by: Type.String(),
}
const path = '/v1/external-stores/aws/access-keys'

function shown({ id, uri_prefix, region, created_at, created_by }: AccessKeyRow) {
  return { id, uri_prefix, region, created_at: new Date(created_at).toISOString(), created_by }
}

const common = { tag: 'External key stores', access: externalAccess }
const forbidden = 'The caller does not look after external key stores.'

const list = define({
  ...common,
  name: 'external.aws.keys.list',
  route: get(path),
  summary: 'Access keys that AWS KMS may sign with, without their secrets',
  reply: Type.Array(Type.Object(members)),
  errors: { 403: forbidden },
  act: async (_input, { services }) => (await listAccessKeys(services.db)).map(shown),
})

/** A prefix that is not served would make an access key that opens nothing. */
function requireServed(prefix: string, { external }: KmsServices): void {
  const aws = external.enabled.find(({ name }) => name === 'aws')
  const paths = Array.isArray(aws?.paths) ? aws.paths : undefined
  if (paths === undefined || paths.includes(`${prefix}/kms/xks/v1`)) return
  throw failure('bad_request', `uri_prefix: this server has the paths ${paths.join(', ')}.`)
}

const create = define({
  ...common,
  name: 'external.aws.keys.create',
  route: post(path),
  summary: 'Make an access key for AWS KMS',
  description:
    'Its secret is in this reply and nowhere else in clear. Two at a time are the way of a rotation: make the new one, give it to AWS KMS, delete the old one when it is not used any more.',
  request: Type.Object({
    region: Type.String({ maxLength: 64, description: 'AWS region of the key store.' }),
    uri_prefix: Type.Optional(
      Type.String({ maxLength: 128, description: 'Path before `/kms/xks/v1`; default /aws.' }),
    ),
  }),
  reply: Type.Object({ ...members, secret: Type.String({ description: 'RawSecretAccessKey' }) }),
  errors: { 403: forbidden, 409: 'There are as many as there may be.' },
  async act({ body }, context) {
    const { services } = context
    const { region, uri_prefix = '/aws' } = body
    const problem = regionProblem(region) ?? uriPrefixProblem(uri_prefix)
    if (problem !== undefined) throw failure('bad_request', `${problem}.`)
    requireServed(uri_prefix, services)
    if ((await listAccessKeys(services.db)).length >= mostAccessKeys)
      throw failure('conflict', `There are ${mostAccessKeys} access keys: delete one that is not used.`)
    const { id, secret } = newAccessKey()
    const created_by = principalOf(context).name
    const row = { id, uri_prefix, region, created_at: services.clock.now(), created_by }
    context.audit({ object: 'aws', details: { access_key_id: id, uri_prefix, region } })
    await context.commit([insertAccessKey(services.seal, row, Buffer.from(secret, 'utf8'))])
    return { ...shown(row), secret }
  },
})

const remove = define({
  ...common,
  name: 'external.aws.keys.delete',
  route: del(`${path}/{id}`),
  summary: 'Take an access key away: what it signs is refused from the next request on',
  pathParameters: Type.Object({ id: Type.String({ maxLength: 64 }) }),
  status: 204,
  errors: {
    403: `${forbidden} Or it is the last one, and cutting the store off takes approvals.`,
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

export const awsAccessKeyOperations: readonly Operation<KmsServices>[] = [list, create, remove]
