import assert from 'node:assert/strict'
import { readFileSync, rmSync } from 'node:fs'
import type { Agent } from 'node:https'
import { type Answer, type Call, type Caller, type CallerOptions, caller } from '@warder/kms/testing'
import { type Installation, startInstallation, temporaryHome } from '../../../testing/installation.ts'

const services = ['auth', 'kms'] as const
export type Service = (typeof services)[number]

/** A caller whose every request has to succeed. */
export interface Walker {
  get(path: string): Promise<Answer>
  post(path: string, json?: unknown): Promise<Answer>
  put(path: string, json?: unknown): Promise<Answer>
  patch(path: string, json: unknown): Promise<Answer>
  del(path: string, json?: unknown): Promise<Answer>
  call(method: string, path: string, call?: Call): Promise<Answer>
  /** The same caller, whose answers are not checked. */
  readonly wire: Caller
}

/** An installation whose operations are called, one after the other, and counted by the services themselves. */
export interface Walked {
  readonly installation: Installation
  /** PEM of the authority of the home. */
  readonly ca: string
  /** The super administrator. */
  readonly admin: Readonly<Record<Service, Walker>>
  /** A user of the realm `_`, who is made when first asked for. */
  user(name: string): Promise<Walker>
  /** A caller of a service by its own credential; answers are not checked. */
  wire(service: Service, identity?: Partial<CallerOptions>): Caller
}

/** One installation over several starts with other settings, and how often its operations succeeded. */
export interface Walk extends AsyncDisposable {
  readonly home: string
  /** Runs it with these settings. */
  run(env: Readonly<Record<string, string>>, steps: (walked: Walked) => Promise<void>): Promise<void>
  /** All operations in the OpenAPI documents of all starts, by service and name, and the statuses of their answers. */
  readonly operations: ReadonlyMap<string, ReadonlySet<number>>
}

/** Requires success. */
export async function ok(answer: Answer | Promise<Answer>): Promise<Answer> {
  const { status, text } = await answer
  assert.ok(status < 400, `${status} ${text}`)
  return answer
}

export function walkerOf(wire: Caller): Walker {
  const call: Walker['call'] = async (method, path, more) => {
    const answer = await wire.call(method, path, more)
    assert.ok(answer.status < 400, `${method} ${path}: ${answer.status} ${answer.text}`)
    return answer
  }
  const withJson = (method: string) => (path: string, json?: unknown) =>
    call(method, path, json === undefined ? {} : { json })
  return {
    get: (path) => call('GET', path),
    post: withJson('POST'),
    put: withJson('PUT'),
    patch: withJson('PATCH'),
    del: withJson('DELETE'),
    call,
    wire,
  }
}

export function startWalk(): Walk {
  const home = temporaryHome()
  const operations = new Map<string, Set<number>>()
  let password: string | undefined
  return {
    home,
    operations,
    async run(env, steps) {
      const installation = await startInstallation({
        home,
        env: { AUTH_METRICS_PORT: '0', KMS_METRICS_PORT: '0', ...env },
      })
      const agents: Agent[] = []
      try {
        password ??= installation.password
        const exchanges: Exchange[] = []
        const walked = await walkedOf(installation, password, agents, exchanges)
        await steps(walked)
        await count(walked, exchanges, operations)
      } finally {
        for (const agent of agents) agent.destroy()
        assert.equal(await installation.stop(), 0)
      }
    },
    async [Symbol.asyncDispose]() {
      rmSync(home, { recursive: true, force: true })
    },
  }
}

/** A request that a caller of the walk sent. */
interface Exchange {
  readonly service: Service
  readonly method: string
  readonly path: string
  readonly status: number
}

async function walkedOf(
  installation: Installation,
  password: string,
  agents: Agent[],
  exchanges: Exchange[],
): Promise<Walked> {
  const ca = readFileSync(installation.caFile, 'utf8')
  const wire: Walked['wire'] = (service, identity = {}) => {
    const url = service === 'auth' ? installation.authUrl : installation.kmsUrl
    const one = caller({ port: Number(new URL(url).port), ca, ...identity }, agents)
    const call: Caller['call'] = async (method, path, more) => {
      const answer = await one.call(method, path, more)
      exchanges.push({ service, method, path: path.replace(/\?.*$/, ''), status: answer.status })
      return answer
    }
    return {
      call,
      get: (path) => call('GET', path),
      post: (path, json) => call('POST', path, { json }),
      del: (path, json) => call('DELETE', path, json === undefined ? {} : { json }),
    }
  }
  const logIn = async (name: string, secret: string): Promise<string> => {
    const authorization = `Basic ${Buffer.from(`${name}:${secret}`).toString('base64')}`
    const answer = await ok(
      wire('auth').call('POST', '/login?realm=_', { json: {}, headers: { authorization } }),
    )
    return /^_ea_=([^;]+)/.exec(String(answer.headers['set-cookie']))?.[1] ?? ''
  }
  const users = new Map<string, Walker>()
  const token = await logIn('admin', password)
  const admin = {
    auth: walkerOf(wire('auth', { headers: { cookie: `_ea_=${token}` } })),
    kms: walkerOf(wire('kms', { headers: { authorization: `Bearer ${token}` } })),
  }
  return {
    installation,
    ca,
    admin,
    wire,
    async user(name) {
      const known = users.get(name)
      if (known !== undefined) return known
      const secret = `the password of ${name}`
      const { json } = await admin.auth.get('/realms/_/userpass?limit=1000')
      if (!JSON.stringify(json).includes(`"${name}"`))
        await admin.auth.post('/realms/_/userpass', { username: name, password_input: { plaintext: secret } })
      const made = walkerOf(
        wire('kms', { headers: { authorization: `Bearer ${await logIn(name, secret)}` } }),
      )
      users.set(name, made)
      return made
    },
  }
}

/**
 * Adds the statuses of each operation: of what the callers of the walk sent, and, for what the services ask each other, of
 * the metrics. These count a verb that only some clients use with its operation, so that they are no proof for what is sent.
 */
async function count(
  { installation, admin, wire }: Walked,
  exchanges: readonly Exchange[],
  operations: Map<string, Set<number>>,
): Promise<void> {
  for (const service of services) {
    const { paths } = (await admin[service].get('/openapi.json')).json as {
      paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>
    }
    const named = new RegExp(`"service":"${service}".*"metrics_port":(\\d+)`)
    const port = Number(named.exec(installation.output())?.[1])
    const metrics = (await ok(wire(service, { port }).get('/metrics'))).text
    const templates = Object.keys(paths)
    const sent = exchanges
      .filter((each) => each.service === service)
      .map((each) => ({ ...each, template: templateOf(templates, each.path) }))
    for (const [path, item] of Object.entries(paths)) {
      for (const [method, { operationId }] of Object.entries(item)) {
        const statuses = operations.get(`${service} ${operationId}`) ?? new Set()
        operations.set(`${service} ${operationId}`, statuses)
        const own = sent.filter((each) => each.method === method.toUpperCase() && each.template === path)
        for (const { status } of own) statuses.add(status)
        if (own.length > 0) continue
        const counted = new RegExp(
          `^warder_operations_total\\{operation="${RegExp.escape(operationId)}",status="(\\d+)"\\} `,
          'gm',
        )
        for (const [, status] of metrics.matchAll(counted)) statuses.add(Number(status))
      }
    }
  }
}

/** The template that serves a path: the one with the fewest parameters, of which the last may stand for several segments. */
function templateOf(templates: readonly string[], path: string): string | undefined {
  const patternOf = (template: string, last: string): RegExp => {
    const [first = '', ...rest] = template.split(/\{[^}]+\}/).map((text) => RegExp.escape(text))
    const middle = rest.map((text, index) => (index === rest.length - 1 ? last : '[^/]+') + text)
    return new RegExp(`^${first}${middle.join('')}$`)
  }
  const matching = (last: string) => templates.filter((each) => patternOf(each, last).test(path))
  const parameters = (template: string) => template.split('{').length
  const best = [matching('[^/]+'), matching('.+')].find((found) => found.length > 0) ?? []
  return best.toSorted((one, other) => parameters(one) - parameters(other))[0]
}
