import { failure } from '@warder/base'
import { stopChanges } from '@warder/external-stores'
import {
  approvalNeeded,
  type ExternalStoreName,
  externalStoreNames,
  hasExternalRight,
  requirePrincipal,
} from '@warder/keys'
import { type Access, get, type Operation, type OperationContext, post } from '@warder/server'
import { retryOnGuard } from '@warder/storage'
import Type, { type Static } from 'typebox'
import { define, type RestServices } from './services.ts'

/** Requires a user who manages the external key stores; see `hasExternalRight`. */
export const externalAccess: Access<RestServices> = {
  name: 'external key stores',
  async check(_input, context) {
    const { db, roles, defaultUsername } = context.services
    const { name } = requirePrincipal(context)
    if (!(await hasExternalRight(db, roles, defaultUsername, name))) throw failure('forbidden')
  },
}

const Store = Type.Object({
  name: Type.String(),
  enabled: Type.Boolean({ description: 'Whether the settings of this node enable it.' }),
  public_url: Type.String({
    description: 'Address of this service for clouds: `kms_public_url`, if it is set.',
  }),
  stopped: Type.Union([
    Type.Null(),
    Type.Object({ at: Type.String({ format: 'date-time' }), by: Type.String() }),
  ]),
  // What administrators of the cloud enter there, while the store is enabled: `StoreFacts`.
  endpoint: Type.Optional(Type.String({ description: 'AWS and Azure: URL of this service.' })),
  access_key_id: Type.Optional(
    Type.String({ description: 'AWS: access key of the settings, for the first path.' }),
  ),
  paths: Type.Optional(Type.Array(Type.String(), { description: 'AWS and Azure: one for each store.' })),
  client_names: Type.Optional(
    Type.Array(Type.String(), {
      description: 'AWS, if it needs a client certificate, and Azure: permitted Common Names.',
    }),
  ),
  kacls_url: Type.Optional(Type.String({ description: 'Google: URL of the key service.' })),
  wrapping_key: Type.Optional(Type.String({ description: 'Google: key that wraps.' })),
  signing_key: Type.Optional(Type.String({ description: 'Google: key that signs tokens of the service.' })),
  trial_key: Type.Optional(Type.String({ description: 'Google and Microsoft: key of tests.' })),
  service_url: Type.Optional(Type.String({ description: 'Microsoft: URL before the names of keys.' })),
  key_urls: Type.Optional(Type.Array(Type.String(), { description: 'Microsoft: one for each key.' })),
  keys: Type.Optional(
    Type.Record(Type.String(), Type.String(), { description: 'Microsoft: ids of keys by their names.' }),
  ),
})

export const NamePath = Type.Object({ name: Type.String({ description: 'aws, google, microsoft or azure' }) })

async function formatStore(
  name: ExternalStoreName,
  { external }: RestServices,
): Promise<Static<typeof Store>> {
  const { stopped_at: at, stopped_by: by } = await external.stopSwitch.state(name)
  const enabled = external.enabled.find((store) => store.name === name)
  const stopped = at === null ? null : { at: new Date(at).toISOString(), by: by ?? '' }
  return { ...enabled, name, enabled: enabled !== undefined, public_url: external.publicUrl, stopped }
}

const list = define({
  name: 'external.list',
  reach: ['reveal attributes'],
  route: get('/v1/external-stores'),
  summary: 'The external key stores, and which of them are stopped',
  tag: 'External key stores',
  access: externalAccess,
  reply: Type.Array(Store),
  errors: { 403: 'The caller does not manage external key stores.' },
  act: (_input, { services }) => Promise.all(externalStoreNames.map((name) => formatStore(name, services))),
})

/** @throws failure('not_found') */
export function storeNamed(wanted: string | undefined): ExternalStoreName {
  const name = externalStoreNames.find((known) => known === wanted)
  if (name !== undefined) return name
  const names = externalStoreNames.join(', ')
  throw failure('not_found', `There is no such external key store; known: ${names}.`)
}

async function setStopped(
  context: OperationContext<RestServices>,
  wanted: string,
  stop: boolean,
): Promise<Static<typeof Store>> {
  const { services } = context
  const name = storeNamed(wanted)
  const operation = stop ? 'stop_store' : 'start_store'
  const by = requirePrincipal(context).name
  context.audit({ object: name })
  await retryOnGuard(10, async () => {
    const { stopped_at, version } = await services.external.stopSwitch.state(name)
    if ((stopped_at !== null) === stop) return
    const { approvals, officers } = services.roles
    if (approvals.takes(operation)) throw approvalNeeded(operation, officers)
    const stopped = stop ? { at: services.clock.now(), by } : undefined
    await context.commit(stopChanges(services.db, name, version, stopped))
  })
  return formatStore(name, services)
}

const common = {
  tag: 'External key stores',
  access: externalAccess,
  pathParameters: NamePath,
  reply: Store,
  errors: {
    403: 'The caller does not manage external key stores, or the operation requires approval.',
    404: 'No such store.',
  },
}

const stop = define({
  ...common,
  name: 'external.stop',
  reach: ['change settings'],
  route: post('/v1/external-stores/{name}/stop'),
  summary: 'Stop an external key store: all requests of the cloud are rejected on every node',
  act: ({ path }, context) => setStopped(context, path.name, true),
})

const start = define({
  ...common,
  name: 'external.start',
  reach: ['change settings'],
  route: post('/v1/external-stores/{name}/start'),
  summary: 'Start a stopped external key store again',
  act: ({ path }, context) => setStopped(context, path.name, false),
})

export const externalStoreOperations: readonly Operation<RestServices>[] = [list, stop, start]
