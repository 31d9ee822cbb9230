import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import { after, before, test } from 'node:test'
import { type Installation, startInstallation } from '../testing/installation.ts'

// What /openapi.json says of a path is what the path answers.

interface Schema {
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly minItems?: number
  readonly minLength?: number
  readonly minimum?: number
}

interface Described {
  readonly description?: string
  readonly requestBody?: {
    readonly required: boolean
    readonly content: { readonly 'application/json': { readonly schema: Schema } }
  }
  readonly responses: Readonly<Record<string, unknown>>
}

interface Sent {
  readonly status: number
  readonly allow: string | undefined
}

const services = ['auth', 'kms'] as const
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH']
/** Ends a session or the like: the administrator who asks would be nobody afterwards. */
const endsTheCaller = /^\/(?:sessions$|password|ui\/logout)/

let warder: Installation
let token = ''
before(
  async () => {
    warder = await startInstallation()
    token = await warder.adminToken()
  },
  { timeout: 90_000 },
)
after(() => warder.stop())

/** @param length is announced, and nothing is sent: only a refusal comes before the body */
function send(
  url: string,
  method: string,
  body?: string,
  length = Buffer.byteLength(body ?? ''),
): Promise<Sent> {
  const headers = {
    authorization: `Bearer ${token}`,
    cookie: `auth_session=${token}; _ea_=${token}`,
    ...(length > 0 && { 'content-type': 'application/json', 'content-length': length }),
  }
  return new Promise((resolve, reject) => {
    const ca = readFileSync(warder.caFile)
    const sent = request(url, { method, headers, ca, agent: false, timeout: 20_000 }, (answer) => {
      resolve({ status: answer.statusCode ?? 0, allow: answer.headers.allow })
      sent.destroy()
    })
    sent.on('timeout', () => sent.destroy(new Error(`${method} ${url}: no answer`)))
    sent.on('error', reject)
    if (length === Buffer.byteLength(body ?? '')) sent.end(body)
    else sent.flushHeaders()
  })
}

const urlOf = (service: 'auth' | 'kms'): string => (service === 'auth' ? warder.authUrl : warder.kmsUrl)

async function described(service: 'auth' | 'kms'): Promise<[string, Readonly<Record<string, Described>>][]> {
  const client = warder.client(service)
  try {
    const { paths } = (await client.ask('/openapi.json')).json as {
      paths: Record<string, Record<string, Described>>
    }
    assert.ok(Object.keys(paths).length > 20)
    return Object.entries(paths)
  } finally {
    client.close()
  }
}

const filled = (path: string): string => path.replace(/\{.*?\}/g, 'unheard-of')

/** A value that fits: with the members that are required, or with all of them. */
function sample(schema: Schema, whole = false): unknown {
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return schema.enum[0]
  if (schema.anyOf?.[0] !== undefined) return sample(schema.anyOf[0], whole)
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  if (type === 'string') return 'a'.repeat(Math.max(1, schema.minLength ?? 1))
  if (type === 'integer' || type === 'number') return schema.minimum ?? 1
  if (type === 'boolean') return true
  if (type === 'array')
    return schema.items === undefined ? [] : Array(schema.minItems ?? 0).fill(sample(schema.items, whole))
  if (type !== 'object') return null
  const names = whole ? Object.keys(schema.properties ?? {}) : (schema.required ?? [])
  return Object.fromEntries(names.map((name) => [name, sample(schema.properties?.[name] ?? {}, whole)]))
}

for (const service of services) {
  test(`${service}: a path answers the methods that are described and names them in Allow`, {
    timeout: 90_000,
  }, async () => {
    for (const [path, operations] of await described(service)) {
      const own = Object.keys(operations).map((method) => method.toUpperCase())
      if (own.includes('GET')) own.push('HEAD')
      // OpenAPI 3.1 has no place for it among the methods.
      if (/\bLIST is also accepted\b/.test(operations.get?.description ?? '')) own.push('LIST')
      const url = urlOf(service) + filled(path)
      const listed = (allow: string | undefined): string[] => (allow ?? '').split(', ').sort()
      assert.deepEqual(listed((await send(url, 'OPTIONS')).allow), [...own, 'OPTIONS'].sort(), path)
      for (const method of methods.filter((name) => !own.includes(name))) {
        const { status, allow } = await send(url, method)
        assert.deepEqual([status, listed(allow)], [405, own.toSorted()], `${method} ${path}`)
      }
    }
  })

  test(`${service}: 413 is described where a body is read, and nowhere else`, {
    timeout: 90_000,
  }, async () => {
    for (const [path, operations] of await described(service)) {
      for (const [method, { responses }] of Object.entries(operations)) {
        assert.equal('413' in responses, method !== 'get', `${method} ${path}`)
        if (method === 'get') continue
        const { status } = await send(urlOf(service) + filled(path), method.toUpperCase(), undefined, 2 ** 40)
        assert.equal(status, 413, `${method} ${path}`)
      }
    }
  })

  test(`${service}: of something that does not exist every answer is described`, {
    timeout: 90_000,
  }, async () => {
    const missing: string[] = []
    for (const [path, operations] of await described(service)) {
      for (const [method, { requestBody, responses }] of Object.entries(operations)) {
        if (endsTheCaller.test(path)) continue
        const schema = requestBody?.content['application/json'].schema
        const bodies =
          schema === undefined
            ? [undefined]
            : [...[true, false].map((whole) => JSON.stringify(sample(schema, whole))), '{}', '[']
        for (const body of bodies) {
          const { status } = await send(urlOf(service) + filled(path), method.toUpperCase(), body)
          if (!(String(status) in responses)) missing.push(`${method} ${path}: ${status}`)
        }
      }
    }
    assert.deepEqual(missing, [])
  })
}
