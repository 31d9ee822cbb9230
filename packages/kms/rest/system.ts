import { getFips } from 'node:crypto'
import { memoizeFor, version } from '@warder/base'
import type { ExternalServices } from '@warder/external-stores'
import { openSessions, sessionCookieName } from '@warder/identity'
import { publicAccess, requirePrincipal, signedIn } from '@warder/keys'
import { readFipsProvider } from '@warder/runtime'
import { fromProbes, get, type Operation, type OperationContext, type Principal } from '@warder/server'
import Type, { type Static } from 'typebox'
import { define, type RestServices } from './services.ts'

/** `GET /version`: one JSON string, as clients of the reference read it. */
const versionOperation = define({
  name: 'version',
  reach: ['reveal public'],
  route: get('/version'),
  summary: 'Version of the service and of its cryptographic library',
  tag: 'Diagnostics',
  access: publicAccess,
  foreignParameters: fromProbes,
  reply: Type.String(),
  audited: false,
  act: (_input, { services }) =>
    `${version} (OpenSSL ${process.versions.openssl}-${services.fips ? 'FIPS' : 'non-FIPS'})`,
})

const HsmInstance = Type.Object({
  prefix: Type.String({ description: 'Prefix of the identifiers of its keys, hsm::NAME.' }),
  model: Type.String(),
  slots: Type.Array(
    Type.Object({
      slot_id: Type.Union([Type.Integer(), Type.Null()]),
      accessible: Type.Boolean({ description: 'Whether its token can be used now.' }),
    }),
  ),
})

async function describeHsms(services: RestServices): Promise<Static<typeof HsmInstance>[]> {
  return (await services.describeHsms()).map((hsm) => ({ ...hsm, slots: [...hsm.slots] }))
}

/** `GET /hsm/status`, as clients of the reference read it. */
const hsmStatus = define({
  name: 'server.hsms',
  reach: ['reveal public'],
  route: get('/hsm/status'),
  summary: 'HSMs of the settings, and whether each can be used now',
  tag: 'Diagnostics',
  access: signedIn,
  reply: Type.Array(HsmInstance),
  act: (_input, { services }) => describeHsms(services),
})

const ServerInfo = Type.Object({
  version: Type.String(),
  fips_mode: Type.Boolean({ description: 'Whether only algorithms of FIPS builds are accepted.' }),
  fips_provider: Type.Boolean({ description: 'Whether the FIPS provider of OpenSSL is active.' }),
  fips_provider_details: Type.Optional(
    Type.Object(
      {
        name: Type.String(),
        version: Type.String(),
        build: Type.String(),
        status: Type.Union([Type.Literal('active'), Type.Literal('error')]),
        self_tests: Type.Union([Type.Literal('passed'), Type.Literal('failed')]),
      },
      { description: 'The name, version and status that the active FIPS provider reports.' },
    ),
  ),
  hsm_instances: Type.Array(HsmInstance),
  default_username: Type.String(),
  external_stores: Type.Array(
    Type.Object(
      { name: Type.String(), stopped: Type.Boolean() },
      { additionalProperties: true, description: 'A cloud that may use keys of this service.' },
    ),
  ),
})

const serverInfo = define({
  name: 'server.info',
  reach: ['reveal public'],
  route: get('/server-info'),
  summary: 'Version and capabilities of this server',
  tag: 'Diagnostics',
  access: signedIn,
  reply: ServerInfo,
  act: async (_input, { services }) => ({
    version,
    fips_mode: services.fips,
    ...(await describeFipsProvider()),
    hsm_instances: await describeHsms(services),
    default_username: services.defaultUsername,
    external_stores: await Promise.all(services.external.enabled.map((store) => withState(store, services))),
  }),
})

/** Another process reads these values, at most once in ten minutes. */
const readProvider = memoizeFor(
  () => readFipsProvider(),
  600_000,
  () => performance.now(),
)

async function describeFipsProvider(): Promise<
  Pick<Static<typeof ServerInfo>, 'fips_provider' | 'fips_provider_details'>
> {
  if (getFips() !== 1) return { fips_provider: false }
  const { name, version, buildinfo, status, selfTest } = await readProvider()
  return {
    fips_provider: true,
    fips_provider_details: {
      ...{ name, version, build: buildinfo },
      status: status ? 'active' : 'error',
      self_tests: selfTest ? 'passed' : 'failed',
    },
  }
}

async function withState(
  store: ExternalServices['enabled'][number],
  { external }: RestServices,
): Promise<Readonly<Record<string, unknown>> & { readonly name: string; readonly stopped: boolean }> {
  const { stopped_at } = await external.stopSwitch.state(store.name)
  return { ...store, stopped: stopped_at !== null }
}

const whoAmI = define({
  name: 'server.me',
  reach: ['reveal attributes'],
  route: get('/me'),
  summary: 'Identity of the caller',
  tag: 'Diagnostics',
  access: signedIn,
  reply: Type.Object({
    user: Type.String(),
    roles: Type.Optional(
      Type.Array(Type.String(), { description: 'Roles of the credential, as grants name them.' }),
    ),
    until: Type.Optional(
      Type.String({
        description: 'Latest end of the session of the web page; absent for other credentials.',
      }),
    ),
  }),
  async act(_input, context) {
    const principal = requirePrincipal(context)
    const { name: user, roles } = principal
    const until = await findSessionEnd(context, principal)
    return {
      user,
      ...(roles !== undefined && { roles }),
      ...(until !== undefined && { until: new Date(until).toISOString() }),
    }
  },
})

/** @returns Unix milliseconds; undefined: the caller has no session of the web page */
async function findSessionEnd(
  { services, request }: OperationContext<RestServices>,
  { name, method }: Principal,
): Promise<number | undefined> {
  if (method !== 'session') return undefined
  const sessions = await openSessions(services, request.cookies(sessionCookieName))
  return sessions.find((session) => session.name === name)?.until
}

export const systemOperations: readonly Operation<RestServices>[] = [
  versionOperation,
  serverInfo,
  hsmStatus,
  whoAmI,
]
