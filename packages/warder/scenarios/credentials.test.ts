import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { Agent } from 'node:https'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { caller } from '@warder/kms/testing'
import { type Installation, runWarder, startInstallation } from '../testing/installation.ts'

// 92 operations listed eight credentials each, and none of auth listed any.

const peerSecret = 'a-secret-of-both-services-0123456789'
const agents: Agent[] = []
let warder: Installation
let certificate: { readonly cert: string; readonly key: string }
before(async () => {
  warder = await startInstallation({
    env: { KMS_AUTH_VERIFIER_REALM: '_', KMS_TRANSIT_ENABLED: 'true', WARDER_PEER_SECRET: peerSecret },
  })
  const out = join(warder.home, 'storage-1')
  const made = await runWarder(['kmip', 'certificate', 'storage-1', '--out', out, '--home', warder.home])
  assert.equal(made.code, 0, made.err)
  const pem = (ending: string) => readFileSync(`${out}.${ending}`, 'utf8')
  certificate = { cert: pem('crt'), key: pem('key') }
})
after(async () => {
  for (const agent of agents) agent.destroy()
  await warder.stop()
})

type Service = 'auth' | 'kms'
type Headers = Readonly<Record<string, string>>

function wire(service: Service, headers: Headers = {}, identity: object = {}) {
  const { port } = new URL(service === 'auth' ? warder.authUrl : warder.kmsUrl)
  const ca = readFileSync(warder.caFile, 'utf8')
  return caller({ port: Number(port), ca, headers, ...identity }, agents)
}

interface Described {
  readonly operationId: string
  readonly security: readonly Headers[]
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema } } }
}

interface Schema {
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly minLength?: number
  readonly minimum?: number
}

/** The least that a schema takes. */
function minimalValue(schema: Schema): unknown {
  if (schema.allOf !== undefined) return Object.assign({}, ...schema.allOf.map(minimalValue))
  if (schema.anyOf !== undefined) return minimalValue(schema.anyOf[0] ?? {})
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return schema.enum[0]
  if (schema.type === 'array') return []
  if (schema.type === 'string') return 'a'.repeat(Math.max(4, schema.minLength ?? 0))
  if (schema.type === 'integer' || schema.type === 'number') return schema.minimum ?? 60
  if (schema.type === 'boolean') return false
  const { properties = {}, required = [] } = schema
  return Object.fromEntries(required.map((name) => [name, minimalValue(properties[name] ?? {})]))
}

async function describedBy(service: Service) {
  const { json } = await wire(service).get('/openapi.json')
  const paths = json.paths as Record<string, Record<string, Described>>
  const schemes = Object.keys(json.components.securitySchemes)
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, one]) => ({
      ...one,
      method: method.toUpperCase(),
      path: path.replaceAll(/\{[^}]+\}/g, (name) => (name === '{generation}' ? '9' : 'x')),
      takes: one.security.flatMap((each) => Object.keys(each)),
    })),
  )
  return { schemes, operations }
}

const basic = (): string => `Basic ${Buffer.from(`admin:${warder.password}`).toString('base64')}`

async function machineToken(): Promise<string> {
  const admin = wire('auth', { cookie: `_ea_=${await warder.adminToken()}` })
  await admin.post('/auth/approle/role/job?realm=_', { bind_secret_id: false })
  const { role_id } = (await admin.get('/auth/approle/role/job/role-id')).json.data
  return (await wire('auth').post('/auth/approle/login', { role_id })).json.auth.client_token
}

async function pageSession(): Promise<string> {
  const answer = await wire('kms').post('/ui/login', { username: 'admin', password: warder.password })
  return String(answer.headers['set-cookie']).split(';')[0] ?? ''
}

/** A caller who shows one credential, newly made: what an operation ends is not missed afterwards. */
const callers: Readonly<Record<Service, Readonly<Record<string, () => Promise<ReturnType<typeof wire>>>>>> = {
  auth: {
    sessionCookie: async () => wire('auth', { cookie: `_ea_=${await warder.adminToken()}` }),
    secretToken: async () => wire('auth', { 'x-secret-token': await machineToken() }),
    vaultToken: async () => wire('auth', { 'x-vault-token': await machineToken() }),
    bearer: async () => wire('auth', { authorization: `Bearer ${await machineToken()}` }),
    basic: async () => wire('auth', { authorization: basic() }),
    peerSecret: async () => wire('auth', { 'x-warder-peer': peerSecret }),
  },
  kms: {
    bearer: async () => wire('kms', { authorization: `Bearer ${await warder.adminToken()}` }),
    secretToken: async () => wire('kms', { 'x-secret-token': await machineToken() }),
    vaultToken: async () => wire('kms', { 'x-vault-token': await machineToken() }),
    certificate: async () => wire('kms', {}, certificate),
    sessionCookie: async () => wire('kms', { cookie: await pageSession() }),
  },
}
/** At the login, bearer tokens and certificates are those that the settings of the realm let in: the realm _ lets in none here. */
const byRealm = ['login bearer', 'login certificate']
const ends = /token\.|logout|password|sessions/

for (const service of ['auth', 'kms'] as const)
  test(`OpenAPI of ${service} lists for each operation the credentials that the service takes`, async () => {
    const { schemes, operations } = await describedBy(service)
    const known = Object.keys(callers[service])
    assert.deepEqual(
      schemes.filter((name) => !known.includes(name) && !['certificate', 'acme', 'auditNode'].includes(name)),
      [],
    )
    const wrong: string[] = []
    for (const [name, make] of Object.entries(callers[service])) {
      let one = await make()
      for (const { operationId, method, path, takes, requestBody } of operations) {
        // What takes none is open to everybody, and what ACME signs is signed in the body.
        if (takes.length === 0 || takes.includes('acme') || byRealm.includes(`${operationId} ${name}`))
          continue
        if (ends.test(operationId)) one = await make()
        const query = operationId === 'login' || operationId === 'password.change' ? '?realm=_' : ''
        // Bodies are checked before rights: one that is refused says that the caller came in.
        const schema = requestBody?.content['application/json'].schema ?? {}
        const json = takes.includes(name) ? {} : minimalValue(schema)
        const sent = requestBody === undefined && method === 'GET' ? {} : { json }
        const { status } = await one.call(method, path + query, sent)
        // Clients of Vault are told 403 where they have no token.
        const isIn = status !== 401 && !(operationId.includes('token.') && status === 403)
        if (isIn !== takes.includes(name)) wrong.push(`${operationId} ${name}: ${status}, ${takes.join()}`)
      }
    }
    assert.deepEqual(wrong, [])
  })
