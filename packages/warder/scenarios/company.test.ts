import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { client, sharedKey, TestIdp } from '@warder/auth/testing'
import type { Answer, HttpsClient } from '@warder/command-line/https-client'
import { publicJwk, signToken } from '@warder/server'
import { startTestPostgres } from '@warder/storage/testing'
import { type Installation, startInstallation } from '../testing/installation.ts'
import { until } from '../testing/until.ts'

// A company: employees log in at an identity provider (SAML), partners with passwords, and jobs of the build system bring
// tokens of a second provider (JWT). Three teams are groups, and keys belong to teams by their tags.

const room = mkdtempSync(join(tmpdir(), 'warder-company-'))
const postgres = await startTestPostgres()
after(async () => {
  if (!('missing' in postgres)) await postgres.stop()
  rmSync(room, { recursive: true, force: true })
})

const provider = 'https://build.company.test'
const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const jwk = publicJwk(pair.publicKey)
const keySet = join(room, 'build.json')
writeFileSync(keySet, JSON.stringify({ keys: [jwk] }))
const password = 'correct horse battery staple'
const teams = ['payments', 'web', 'data'] as const
type Team = (typeof teams)[number]

type Headers = Readonly<Record<string, string>>
type Row = Readonly<Record<string, unknown>>

/** One node of the company, or two with one database. */
class Company implements AsyncDisposable {
  readonly #nodes: readonly Installation[]
  readonly #clients: HttpsClient[] = []
  readonly #kms: readonly HttpsClient[]
  readonly #auth: HttpsClient
  readonly idp: TestIdp
  admin: Headers = {}

  constructor(nodes: readonly Installation[], idp: TestIdp) {
    this.#nodes = nodes
    this.idp = idp
    const open = (node: Installation, service: 'auth' | 'kms'): HttpsClient => {
      const client = node.client(service)
      this.#clients.push(client)
      return client
    }
    this.#kms = nodes.map((node) => open(node, 'kms'))
    this.#auth = open(nodes[0] as Installation, 'auth')
  }

  static async start(env: Headers, home: string | undefined): Promise<Company> {
    const settings = {
      ...env,
      KMS_JWT_AUTH_PROVIDER: `${provider},file:${keySet}`,
      KMS_ROLE_SOURCES: `staff,session,staff;partner,session,partner;build,jwt,${provider},groups`,
    }
    const nodes = [await startInstallation({ ...(home !== undefined && { home }), env: settings })]
    const [near] = nodes as [Installation]
    if (home !== undefined) {
      const other = `${home}-other`
      cpSync(home, other, {
        recursive: true,
        filter: (path) => !/\/(?:audit|endpoints\.json|.*\.lock|\.writable-.*)$/.test(path),
      })
      nodes.push(await startInstallation({ home: other, env: settings }))
    }
    const service = {
      spEntityId: `${near.authUrl}/saml/staff`,
      acsUrl: `${near.authUrl}/saml/staff/acs`,
    }
    const company = new Company(nodes, new TestIdp({ key: await sharedKey('company'), ...service }))
    company.admin = { authorization: `Bearer ${await near.adminToken()}` }
    await company.#makeRealms(near)
    return company
  }

  async #makeRealms({ kmsUrl }: Installation): Promise<void> {
    const saml_params = {
      metadata_xml: this.idp.metadata(),
      sp_entity_id: this.idp.spEntityId,
      sp_acs_url: this.idp.acsUrl,
      role_attribute: 'groups',
      allowed_return_origins: [kmsUrl],
      default_return_url: `${kmsUrl}/`,
    }
    const passwords = { username_password_params: { allow_expired_passwords: false } }
    for (const [id, auth_params] of Object.entries({ staff: { saml_params }, partner: passwords })) {
      const realm = { id, auth_params, session_max_age_seconds: 3600, session_max_stale_age_seconds: 600 }
      await this.atAuth('POST', '/admins/realms', realm)
    }
  }

  /** A request of the administrator to the authentication service. */
  async atAuth(method: string, path: string, json?: object): Promise<Answer> {
    const cookie = String(this.admin.authorization).replace('Bearer ', '_ea_=')
    const answer = await this.#auth.ask(path, { method, json, headers: { cookie } })
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`)
    return answer
  }

  /** A request to the first node that has to succeed. */
  async done(as: Headers, method: string, path: string, json?: object): Promise<Row> {
    const answer = await this.#kms[0]?.ask(path, { method, json, headers: as })
    assert.ok(answer !== undefined && answer.status < 300, `${method} ${path}: ${answer?.text}`)
    return (answer.json ?? {}) as Row
  }

  /** Statuses at all nodes, the last one first: it did not make the change that is tested. */
  async statuses(as: Headers, method: string, path: string, json?: object): Promise<readonly number[]> {
    const found: number[] = []
    for (const client of this.#kms.toReversed())
      found.push((await client.ask(path, { method, json, headers: as })).status)
    return found
  }

  /** The node of the change refuses at once, others after a notification of the database, for which no reply waits. */
  async untilRefused(as: Headers): Promise<void> {
    const near = await this.#kms[0]?.ask('/me', { headers: as })
    assert.equal(near?.status, 401)
    await until('all nodes refuse the user', async () =>
      (await this.statuses(as, 'GET', '/me')).every((status) => status === 401),
    )
  }

  /** A login of an employee at the identity provider, through a browser. @returns the session of the web page */
  async employee(nameId: string, groups: readonly string[]): Promise<Headers> {
    const [near] = this.#nodes as [Installation]
    const kms = this.#kms[0] as HttpsClient
    const begun = await kms.ask('/ui/login_saml?realm=staff')
    const sent = await this.#auth.ask(String(begun.headers.location).slice(near.authUrl.length))
    const RelayState = new URL(String(sent.headers.location)).searchParams.get('RelayState') ?? ''
    const now = Math.floor(Date.now() / 1000)
    const response = this.idp.response({ requestId: RelayState, now, nameId, attributes: { groups } })
    const browser = client(Number(new URL(near.authUrl).port), readFileSync(near.caFile, 'utf8'))
    const answered = await browser.call('POST', '/saml/staff/acs', {
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        origin: 'https://idp.example',
        cookie: cookiesSet(sent),
      },
      body: `${new URLSearchParams({ SAMLResponse: Buffer.from(response).toString('base64'), RelayState })}`,
    })
    browser.close()
    const back = /<a href="([^"]+)"/.exec(answered.text)?.[1]?.replaceAll('&amp;', '&') ?? ''
    assert.ok(back.startsWith(near.kmsUrl), answered.text)
    const headers = { cookie: cookiesSet(begun) }
    const ended = await kms.ask(back.slice(near.kmsUrl.length), { headers })
    const cookie = cookiesSet(ended)
    assert.match(cookie, /auth_session=/, ended.text)
    return { cookie }
  }

  async addPartner(username: string, roles: readonly string[]): Promise<void> {
    const credential = { username, password_input: { plaintext: password }, roles }
    await this.atAuth('POST', '/realms/partner/userpass', credential)
  }

  async partner(username: string): Promise<Headers> {
    const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
    const answer = await this.#auth.ask('/login?realm=partner', { json: {}, headers: { authorization } })
    const token = /_ea_=([^;]+)/.exec(String(answer.headers['set-cookie']))?.[1]
    assert.ok(token !== undefined, answer.text)
    return { authorization: `Bearer ${token}` }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client.close()
    for (const node of this.#nodes) await node.stop()
  }
}

/** The cookies that a reply sets, as the next request sends them. */
function cookiesSet({ headers }: Pick<Answer, 'headers'>): string {
  return [headers['set-cookie'] ?? []]
    .flat()
    .filter((line) => !/Max-Age=0/.test(line))
    .map((line) => line.split(';')[0])
    .join('; ')
}

/** A token of the build system. */
function job(sub: string, groups: readonly string[]): Headers {
  const header = { alg: 'ES256', typ: 'JWT', kid: jwk.kid ?? '' }
  const exp = Math.floor(Date.now() / 1000) + 600
  return {
    authorization: `Bearer ${signToken(header, { iss: provider, sub, exp, groups }, pair.privateKey)}`,
  }
}

const encryption = (kid: unknown) => ({ kid, alg: 'dir', enc: 'A256GCM', data: 'cGF5' })

async function run(company: Company): Promise<void> {
  const lena = await company.employee('lena', ['lead'])
  const keys = new Map<Team, string>()
  const makeKey = async (team: Team): Promise<string> => {
    const json = { kty: 'oct', alg: 'A256GCM', tags: [team] }
    return String((await company.done(lena, 'POST', '/v1/crypto/keys', json)).kid)
  }
  const putTeam = (team: Team, members: readonly string[]) =>
    company.done(lena, 'PUT', `/access/groups/${team}`, { members })
  const grant = (body: object) => company.done(lena, 'POST', '/access/grant', body)
  const members: Record<Team, readonly string[]> = {
    payments: ['staff/paula', 'partner/pete'],
    web: ['staff/wim', 'build-web-*'],
    data: ['dana'],
  }
  for (const team of teams) {
    keys.set(team, await makeKey(team))
    await putTeam(team, members[team])
    await grant({ tag: team, user_id: `group:${team}`, operation_types: ['encrypt', 'decrypt'] })
    await grant({ tag: team, user_id: 'role:staff/auditor', operation_types: ['get_attributes'] })
  }
  await grant({ tag: 'data', user_id: 'role:build/auditor', operation_types: ['get_attributes'] })
  await company.addPartner('pete', ['auditor'])

  const people: Record<string, Headers> = {
    paula: await company.employee('paula', ['auditor']),
    wim: await company.employee('wim', []),
    pete: await company.partner('pete'),
    dana: job('dana', ['auditor']),
    build: job('build-web-7', ['staff/auditor', 'role:staff/auditor']),
    // Equal names of other issuers.
    'paula elsewhere': job('paula', ['lead']),
  }
  const as = (name: string): Headers => people[name] ?? assert.fail(name)
  /** Teams whose keys a person uses, or reads, at all nodes alike. */
  const reached = async (name: string, use: (kid: string) => Promise<readonly number[]>) => {
    const found: Team[] = []
    for (const [team, kid] of keys) {
      const statuses = await use(kid)
      assert.equal(new Set(statuses).size, 1, `${name} ${team}: ${statuses}`)
      if (statuses[0] === 200) found.push(team)
    }
    return found
  }
  const uses = (name: string) =>
    reached(name, (kid) => company.statuses(as(name), 'POST', '/v1/crypto/encrypt', encryption(kid)))
  const reads = (name: string) =>
    reached(name, (kid) => company.statuses(as(name), 'GET', `/v1/crypto/keys/${kid}`))
  const expected: Readonly<Record<string, readonly [uses: readonly Team[], reads: readonly Team[]]>> = {
    paula: [['payments'], [...teams]],
    wim: [['web'], []],
    pete: [['payments'], []],
    dana: [['data'], ['data']],
    build: [['web'], []],
    'paula elsewhere': [[], []],
  }
  for (const [name, sets] of Object.entries(expected))
    assert.deepEqual([await uses(name), await reads(name)], sets, name)

  // A change of membership, of a tag and of a key counts on the next request, at each node.
  await putTeam('web', [...members.web, 'dana'])
  assert.deepEqual(await uses('dana'), ['web', 'data'])
  await putTeam('web', members.web)
  assert.deepEqual(await uses('dana'), ['data'])
  const web = `/v1/crypto/keys/${keys.get('web')}/tags`
  await company.done(lena, 'DELETE', web, { tags: ['web'] })
  assert.deepEqual(await uses('wim'), [])
  await company.done(lena, 'POST', web, { tags: ['web'] })
  assert.deepEqual(await uses('wim'), ['web'])
  keys.set('web', await makeKey('web'))
  assert.deepEqual(await uses('build'), ['web'], 'a key that was made later')

  await leave(company, { lena, pete: as('pete'), keys })
  assert.deepEqual(await uses('paula'), ['payments'], 'the others stay')
  assert.deepEqual(await uses('dana'), ['data'])

  // An employee has no credential here: the name ends.
  await company.atAuth('DELETE', '/realms/staff/persons/wim')
  await company.untilRefused(as('wim'))
  await until('the membership has ended', async () => {
    const { members: left } = await company.done(lena, 'GET', '/access/groups/web')
    return !(left as readonly string[]).includes('staff/wim')
  })
  const next = await company.employee('wim', [])
  for (const status of await company.statuses(
    next,
    'POST',
    '/v1/crypto/encrypt',
    encryption(keys.get('web') ?? ''),
  ))
    assert.equal(status, 404)
}

/** A partner leaves: sessions, memberships and grants end, and the keys get another owner. */
async function leave(
  company: Company,
  {
    lena,
    pete,
    keys,
  }: { readonly lena: Headers; readonly pete: Headers; readonly keys: ReadonlyMap<Team, string> },
): Promise<void> {
  const own = await company.done(pete, 'POST', '/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
  const granted = {
    unique_identifier: keys.get('data'),
    user_id: 'partner/pete',
    operation_types: ['encrypt'],
  }
  await company.done(lena, 'POST', '/access/grant', granted)
  await company.done(pete, 'PUT', '/access/groups/pete-and-friends', { members: ['staff/wim'] })
  const share = {
    unique_identifier: own.kid,
    user_id: 'group:pete-and-friends',
    operation_types: ['encrypt'],
  }
  await company.done(pete, 'POST', '/access/grant', share)
  const listed = async (user: string): Promise<Row> => {
    const path = `/access/leaver?user_id=${encodeURIComponent(user)}`
    const { items } = (await company.done(company.admin, 'GET', path)) as { items: readonly Row[] }
    return Object.fromEntries(items.map(({ kind, count, outcome }) => [String(kind), `${count} ${outcome}`]))
  }
  assert.deepEqual(await listed('partner/pete'), {
    keys: '1 needs_new_owner',
    grants: '1 deleted',
    memberships: '1 deleted',
    sole_groups: '1 needs_new_owner',
  })
  const [, payload = ''] = String(pete.authorization).split('.')
  const { as_sid: subject } = JSON.parse(Buffer.from(payload, 'base64url').toString())

  await company.atAuth('DELETE', '/realms/partner/userpass/pete')
  await company.untilRefused(pete)
  const former = `ended:partner/pete:${subject}`
  await until('the kms has ended the name', async () => (await listed(former)).keys !== undefined)
  assert.deepEqual(await listed('partner/pete'), {})
  const team = await company.done(lena, 'GET', '/access/groups/payments')
  assert.deepEqual(team.members, ['staff/paula'])

  // The next partner of the name has nothing of the former one.
  await company.addPartner('pete', ['auditor'])
  const next = await company.partner('pete')
  for (const kid of [...keys.values(), own.kid])
    for (const status of await company.statuses(next, 'POST', '/v1/crypto/encrypt', encryption(kid)))
      assert.equal(status, 404)
  assert.deepEqual(await company.done(next, 'GET', '/access/obtained'), [])
  assert.deepEqual(await company.done(next, 'GET', '/access/groups'), [])

  // The keys go to an employee, with the grants on them.
  const heir = { from_user_id: former, to_user_id: 'staff/lena' }
  assert.deepEqual(await company.done(company.admin, 'POST', '/access/transfer', heir), {
    objects: 1,
    grants: 0,
  })
  for (const [who, status] of [
    [lena, 200],
    [next, 404],
  ] as const)
    for (const found of await company.statuses(who, 'POST', '/v1/crypto/encrypt', encryption(own.kid)))
      assert.equal(found, status)
  assert.deepEqual(await listed(former), {})
}

test('a company with two realms, two identity providers and three teams, and one who leaves, on SQLite', async () => {
  await using company = await Company.start({}, undefined)
  await run(company)
})

test('the same on PostgreSQL, with two nodes', {
  skip: 'missing' in postgres && postgres.missing,
}, async () => {
  assert.ok(!('missing' in postgres))
  const databases = {
    AUTH_DATABASE_URL: await postgres.database(),
    KMS_DATABASE_URL: await postgres.database(),
  }
  await using company = await Company.start(databases, join(room, 'one'))
  await run(company)
})
