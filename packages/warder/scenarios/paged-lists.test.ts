import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { type AuthClient, authClient, type KmsClient, kmsClient, type PagedName } from '@warder/client'
import { newUser } from '../testing/in-process.ts'
import { type Installation, runWarder, startInstallation } from '../testing/installation.ts'
import { until } from '../testing/until.ts'

// `kms.page('access.owned')` ended after one page.

let warder: Installation
let kms: KmsClient
let ann: KmsClient
let auth: AuthClient
before(async () => {
  const env = { KMS_ROLES_CRYPTO_OFFICER_USERS: 'admin,ann,ben', KMS_APPROVALS_OPERATIONS: 'export' }
  warder = await startInstallation({ env })
  const place = { url: warder.kmsUrl, ca: readFileSync(warder.caFile, 'utf8') }
  const session = await warder.adminToken()
  kms = kmsClient({ ...place, credentials: { bearer: session } })
  ann = kmsClient({ ...place, credentials: { bearer: await newUser(warder, 'ann') } })
  auth = authClient({ ...place, url: warder.authUrl, credentials: { session } })
})
after(async () => {
  for (const client of [kms, ann, auth]) client.close()
  await warder.stop()
})

interface Page {
  readonly rows: unknown
  readonly next: string | undefined
}

/** Reads page by page. @returns all rows, and how many pages there were */
async function follow(page: (after: string | undefined) => Promise<Page>, member?: string) {
  const rows: unknown[] = []
  let pages = 0
  let after: string | undefined
  do {
    const { rows: found, next } = await page(after)
    rows.push(...((member === undefined ? found : (found as Record<string, unknown>)[member]) as unknown[]))
    pages += 1
    after = next
    assert.ok(pages < 50)
  } while (after !== undefined)
  return { rows, pages }
}

/** Calls so many at a time. */
async function many(count: number, call: (index: number) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < count; from += 25)
    await Promise.all(Array.from({ length: Math.min(25, count - from) }, (_, index) => call(from + index)))
}

test('the client follows the pages of each operation of the kms that has them', async () => {
  const aes = { kty: 'oct', alg: 'A256GCM' } as const
  const kids: string[] = []
  for (let count = 0; count < 3; count += 1)
    kids.push((await kms.call('crypto.keys.create', { body: aes })).kid)
  const [kid = ''] = kids
  for (const one of kids) {
    await kms.call('access.approvals.ask', { body: { operation: 'export', key: one } })
    const path = { kid }
    await kms.call('crypto.keys.rotate', { path, body: {} })
    const { kid: own } = await ann.call('crypto.keys.create', { body: aes })
    const right = { unique_identifier: own, user_id: 'admin', operation_types: ['getattributes'] }
    await ann.call('access.grant', { body: right })
  }
  const authorities: string[] = []
  for (let count = 0; count < 3; count += 1) {
    const body = { subject: `CN=${count}`, alg: 'ES256' }
    authorities.push((await kms.call('pki.authorities.create', { body })).id)
  }
  const path = { id: authorities[0] ?? '' }
  for (let count = 0; count < 3; count += 1)
    await kms.call('pki.certificates.issue', { path, body: { alg: 'ES256', names: [`${count}.example`] } })
  await kms.call('pki.acme.open', { path, body: {} })
  await many(101, () => kms.call('pki.acme.credentials.create', { path, body: {} }))
  await many(1000, (index) => kms.call('crypto.aliases.create', { body: { alias: `a${index}`, kid } }))
  await many(1001, (index) => kms.call('access.block', { body: { user_id: `u${index}` } }))
  // With that of the first run.
  for (const name of ['disk-1', 'disk-2', 'disk-3']) {
    const made = await runWarder([
      'kmip',
      'certificate',
      name,
      '--home',
      warder.home,
      '--out',
      `${warder.home}/${name}`,
    ])
    assert.equal(made.code, 0, made.err)
  }
  const devices = async () => (await kms.page('kmip.devices.list', {})).rows.length
  await until('the service lists them', async () => (await devices()) === 4)
  // One after the other, since each change of a group is planned on the one before.
  for (let index = 0; index < 1001; index += 1)
    await kms.call('access.groups.replace', { path: { name: `g${index}` }, body: { members: [] } })

  const limit = '2'
  const query = (after: string | undefined) => ({ limit, ...(after !== undefined && { after }) })
  const only = (after: string | undefined) => (after === undefined ? {} : { after })
  const cases: Readonly<Record<string, readonly [Promise<{ rows: unknown[]; pages: number }>, number]>> = {
    'access.owned': [follow((after) => kms.page('access.owned', { query: query(after) })), 0],
    'access.obtained': [follow((after) => kms.page('access.obtained', { query: query(after) })), 3],
    'access.blocked': [follow((after) => kms.page('access.blocked', { query: only(after) })), 1001],
    'access.groups.list': [follow((after) => kms.page('access.groups.list', { query: only(after) })), 1001],
    'access.report': [follow((after) => kms.page('access.report', { query: query(after) })), 0],
    'audit.records': [
      follow((after) => {
        const records = { ...query(after), operation: 'pki.authorities.create', outcome: 'success' } as const
        return kms.page('audit.records', { query: records })
      }, 'records'),
      3,
    ],
    'access.approvals.list': [
      follow((after) => kms.page('access.approvals.list', { query: query(after) })),
      3,
    ],
    'crypto.aliases.list': [follow((after) => kms.page('crypto.aliases.list', { query: only(after) })), 1000],
    'crypto.keys.list': [follow((after) => kms.page('crypto.keys.list', { query: query(after) }), 'keys'), 0],
    'crypto.keys.versions': [
      follow((before) => {
        const range = { limit, ...(before !== undefined && { before }) }
        return kms.page('crypto.keys.versions', { path: { kid }, query: range })
      }, 'versions'),
      4,
    ],
    'pki.authorities.list': [follow((after) => kms.page('pki.authorities.list', { query: query(after) })), 3],
    'pki.certificates.list': [
      follow((after) => kms.page('pki.certificates.list', { path, query: query(after) })),
      0,
    ],
    'pki.acme.credentials.list': [
      follow((after) => kms.page('pki.acme.credentials.list', { path, query: only(after) }), 'credentials'),
      101,
    ],
    'kmip.devices.list': [follow((after) => kms.page('kmip.devices.list', { query: query(after) })), 4],
  }
  for (const [name, [found, expected]] of Object.entries(cases)) {
    const { rows, pages } = await found
    assert.ok(pages > 1, `${name}: ${pages} page`)
    if (expected > 0) assert.equal(rows.length, expected, name)
    assert.equal(new Set(rows.map((row) => JSON.stringify(row))).size, rows.length, name)
  }
  const owned = JSON.stringify((await cases['access.owned']?.[0])?.rows)
  assert.ok(kids.every((one) => owned.includes(one)))
  const { rows, next } = await kms.page('pki.acme.accounts.list', { path })
  assert.deepEqual([rows.accounts, next], [[], undefined])
  const others = ['pki.acme.accounts.list', 'acme.account.orders', 'audit.counts']
  await coversAll('kms', [...Object.keys(cases), ...others])
})

test('the client follows the pages of each operation of auth that has them', async () => {
  const idp = { jwt_issuer_uri: 'https://idp.example', jwks_uri: 'https://idp.example/keys' }
  for (const id of ['r1', 'r2', 'r3']) {
    const auth_params = {
      username_password_params: { allow_expired_passwords: false },
      jwt_params: { idp_params: [idp] },
    }
    const times = { session_max_age_seconds: 3600, session_max_stale_age_seconds: 600 }
    await auth.call('realms.create', { body: { id, auth_params, ...times } })
    await auth.call('admins.create', { body: { id, realms: [id] } })
    const path = { realm_id: 'r1' }
    const password_input = { plaintext: 'correct horse battery' }
    await auth.call('credentials.create', { path, body: { username: id, password_input } })
    const body = { jwt_issuer_uri: idp.jwt_issuer_uri }
    await auth.call('jwt_subjects.assign', { path: { ...path, subject: `jwt-${id}` }, body })
    await warder.adminToken()
  }
  const path = { realm_id: 'r1' }
  const query = (after: string | undefined) => ({ limit: '2', ...(after !== undefined && { after }) })
  const cases = {
    'realms.list': [await follow((after) => auth.page('realms.list', { query: query(after) })), 4],
    'admins.list': [await follow((after) => auth.page('admins.list', { query: query(after) })), 4],
    'credentials.list': [
      await follow((after) => auth.page('credentials.list', { path, query: query(after) })),
      3,
    ],
    'credentials.list_all': [
      await follow((after) => auth.page('credentials.list_all', { query: query(after) })),
      5,
    ],
    'jwt_subjects.list': [
      await follow((after) => auth.page('jwt_subjects.list', { path, query: query(after) })),
      3,
    ],
    'sessions.own': [
      await follow((after) => auth.page('sessions.own', { query: query(after) }), 'sessions'),
      0,
    ],
    'sessions.of_realm': [
      await follow(
        (after) => auth.page('sessions.of_realm', { path: { realm_id: '_' }, query: query(after) }),
        'sessions',
      ),
      0,
    ],
    'audit.records': [
      await follow((after) => {
        const records = { ...query(after), operation: 'realms.create', outcome: 'success' } as const
        return auth.page('audit.records', { query: records })
      }, 'records'),
      3,
    ],
  } as const
  for (const [name, [{ rows, pages }, expected]] of Object.entries(cases)) {
    assert.ok(pages > 1, `${name}: ${pages} page`)
    if (expected > 0) assert.equal(rows.length, expected, name)
  }
  await coversAll('auth', [...Object.keys(cases), 'ended.follow', 'audit.counts'])
})

/**
 * Each operation that takes `after` or `before` is one of these; `ended.follow` and ACME have their own ways to go on, and
 * a page of counts ends after an amount of work.
 */
async function coversAll(service: 'auth' | 'kms', names: readonly string[]): Promise<void> {
  const client = warder.client(service)
  const { paths } = JSON.parse((await client.ask('/openapi.json')).text) as {
    readonly paths: Record<
      string,
      Record<
        string,
        {
          operationId: string
          parameters?: { in: string; name: string }[]
          responses: Record<string, { headers?: object }>
        }
      >
    >
  }
  client.close()
  const all = Object.values(paths).flatMap((item) => Object.values(item))
  const goesOn = all.filter(({ parameters = [] }) =>
    parameters.some((each) => each.in === 'query' && ['after', 'before'].includes(each.name)),
  )
  assert.deepEqual(goesOn.map(({ operationId }) => operationId).toSorted(), names.toSorted())
  const paged = all.filter(({ responses }) =>
    JSON.stringify(responses['200']?.headers ?? {}).includes('X-Next-After'),
  )
  const others = ['ended.follow', 'acme.account.orders']
  assert.deepEqual(
    paged.map(({ operationId }) => operationId).toSorted(),
    names.filter((name) => !others.includes(name)).toSorted(),
  )
}

test('page is typed for the operations that have pages alone', () => {
  const typed = (): unknown[] => [
    kms.page('access.owned'),
    // @ts-expect-error one key is no page
    kms.page('crypto.keys.get', { path: { kid: 'x' } }),
    // @ts-expect-error nor is a session
    auth.page('whoami'),
  ]
  assert.equal(typeof typed, 'function')
  const name: PagedName<{ a: { reply: 1; paged: true }; b: { reply: 1 } }> = 'a'
  // @ts-expect-error b has no pages
  const other: PagedName<{ a: { reply: 1; paged: true }; b: { reply: 1 } }> = 'b'
  assert.deepEqual([name, other], ['a', 'b'])
})
