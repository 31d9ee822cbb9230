import { isIP } from 'node:net'
import { checkServerIdentity } from 'node:tls'
import { endOfAccessKey, listAccessKeys } from '@warder/external-stores'
import { asObjectId, type ExternalStoreName, withheld } from '@warder/keys'
import { post } from '@warder/server'
import Type from 'typebox'
import { xksSuffix } from './aws-access-keys.ts'
import { externalAccess, NamePath, storeNamed } from './external-stores.ts'
import { define, type RestServices } from './services.ts'

type Store = RestServices['external']['enabled'][number]

/** A condition under which the cloud can use the store. */
interface Step {
  readonly what: string
  /** What is wrong, and the way out; undefined: nothing. */
  readonly problem: string | undefined
}

/** `POST /v1/external-stores/{name}/check`: what a cloud would stumble over. Sends nothing. */
export const checkStore = define({
  name: 'external.check',
  reach: ['reveal attributes'],
  route: post('/v1/external-stores/{name}/check'),
  summary:
    'Check whether a cloud can use its external key store, as far as this node can tell; changes nothing',
  tag: 'External key stores',
  access: externalAccess,
  pathParameters: NamePath,
  reply: Type.Object({
    name: Type.String(),
    ok: Type.Boolean(),
    steps: Type.Array(
      Type.Object({
        what: Type.String(),
        problem: Type.Union([Type.Null(), Type.String()], { description: 'With the way out.' }),
      }),
    ),
  }),
  errors: { 403: 'The caller does not manage external key stores.', 404: 'No such store.' },
  async act({ path }, context) {
    const name = storeNamed(path.name)
    context.audit({ object: name })
    const steps = await listSteps(name, context.services)
    return {
      name,
      ok: steps.every(({ problem }) => problem === undefined),
      steps: steps.map(({ what, problem }) => ({ what, problem: problem ?? null })),
    }
  },
})

async function listSteps(name: ExternalStoreName, services: RestServices): Promise<readonly Step[]> {
  const store = services.external.enabled.find((one) => one.name === name)
  if (store === undefined) {
    const problem = `The settings disable it: run warder external ${name} enable, and restart the service.`
    return [{ what: 'Settings', problem }]
  }
  const { stopped_at: stoppedAt } = await services.external.stopSwitch.state(name)
  const problem = stoppedAt === null ? undefined : 'It is stopped: start it.'
  return [
    { what: 'Settings', problem: undefined },
    { what: 'Stop switch', problem },
    { what: 'Address', problem: findAddressProblem(name, services.external.publicUrl) },
    { what: 'Certificate', problem: await findCertificateProblem(name, services) },
    ...(name === 'aws' ? await checkAccessKeys(store, services) : []),
    ...(await checkKeys(store, services)),
  ]
}

const addressRemedy = 'set kms_public_url to the address at which it reaches this service.'

function findAddressProblem(name: ExternalStoreName, publicUrl: string): string | undefined {
  const { hostname, port } = new URL(publicUrl)
  const host = hostname.replace(/^\[|\]$/g, '')
  if (host === 'localhost' || /^(?:127\.|::1$|0\.0\.0\.0$)/.test(host))
    return `The cloud cannot reach ${host}: ${addressRemedy}`
  if (isIP(host) !== 0) return `The cloud needs a name, not ${host}: ${addressRemedy}`
  if ((name === 'aws' || name === 'azure') && port !== '')
    return `The cloud connects to port 443 only, not to ${port}: ${addressRemedy}`
  return undefined
}

async function findCertificateProblem(
  name: ExternalStoreName,
  { external, clock, healthDetails, localAuthority }: RestServices,
): Promise<string | undefined> {
  const { certificates } = await healthDetails()
  const found = certificates.find(({ use }) => use === 'https')
  // A proxy has the certificate.
  if (found === undefined) return undefined
  const host = new URL(external.publicUrl).hostname
  const subject = { CN: /(?:^|, )CN=([^,]*)/.exec(found.subject)?.[1] ?? '' }
  const names = { subject, subjectaltname: found.names ?? '' }
  if (checkServerIdentity(host, names as Parameters<typeof checkServerIdentity>[1]) !== undefined)
    return `The certificate is not valid for ${host}: set tls_cert_file and tls_key_file to one that is.`
  if (Date.parse(found.not_after) <= clock.now()) return 'The certificate has expired: replace its files.'
  // Azure is given the root of the certificate.
  if (name !== 'azure' && (await localAuthority()) !== undefined)
    return 'The certificate is from the local authority, which the cloud does not trust: set tls_cert_file and tls_key_file to one of a public authority.'
  return undefined
}

/** An access key for each path; the one of the settings belongs to the first. */
async function checkAccessKeys(
  { paths = [], access_key_id }: Store,
  services: RestServices,
): Promise<readonly Step[]> {
  const now = services.clock.now()
  const keys = await listAccessKeys(services.db)
  const usable = new Set<string>(access_key_id === undefined ? [] : paths.slice(0, 1))
  for (const { uri_prefix: prefix, created_by: maker } of keys)
    if ((await endOfAccessKey(services, maker, now)) === undefined) usable.add(`${prefix}${xksSuffix}`)
  return paths.map((path) => ({
    what: `Access key for ${path}`,
    problem: usable.has(path) ? undefined : 'No access key of this path is accepted: create one.',
  }))
}

/** Keys that the settings of the store name. */
async function checkKeys(store: Store, services: RestServices): Promise<readonly Step[]> {
  const { wrapping_key: wrapping, signing_key: signing, keys = {} } = store
  const named = [
    ...(wrapping === undefined ? [] : [['Wrapping key', wrapping] as const]),
    ...(signing === undefined ? [] : [['Signing key', signing] as const]),
    ...Object.entries(keys).map(([label, kid]) => [`Key of ${label}`, kid] as const),
  ]
  return Promise.all(
    named.map(async ([what, kid]) => ({ what, problem: await findKeyProblem(kid, services) })),
  )
}

async function findKeyProblem(kid: string, { keys }: RestServices): Promise<string | undefined> {
  const id = asObjectId(kid)
  const key = id === undefined ? undefined : await keys.get(id)
  if (key === undefined) return `There is no key ${kid}: name another one in the settings.`
  if (key.state !== 'Active') return `Key ${kid} is ${key.state}: name another one in the settings.`
  if (withheld(key.object) !== undefined) return `Key ${kid} is disabled: enable it.`
  return undefined
}
