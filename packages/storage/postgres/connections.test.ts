import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { issueCertificate } from '@warder/server'
import { StorageUnavailable } from '../sql/errors.ts'
import { openPostgres } from '../sql/open-database.ts'
import { change, query } from '../sql/query.ts'
import { startTestPostgres } from '../sql/testing/postgres.ts'
import { writeServerFile } from '../sql/testing/server.ts'
import type { Database } from '../sql/types.ts'

// A server with TLS, passwords and client certificates, as administrators set one up.

const folder = mkdtempSync(join(tmpdir(), 'warder-pgtls-'))
const dayMs = 86_400_000
const dates = { notBefore: new Date(Date.now() - dayMs), notAfter: new Date(Date.now() + dayMs) }

/** An authority, a server certificate for localhost by name alone, and one for a client. */
async function makeAuthority(name: string): Promise<void> {
  const common = { hostnames: [], addresses: [], ...dates } as const
  const root = await issueCertificate({ ...common, commonName: name, purpose: 'authority' }, undefined)
  const database = {
    ...common,
    commonName: 'A database',
    purpose: 'server',
    hostnames: ['localhost'],
  } as const
  const server = await issueCertificate(database, root)
  const client = await issueCertificate({ ...common, commonName: 'bycert', purpose: 'client' }, root)
  mkdirSync(join(folder, name))
  writeFileSync(join(folder, name, 'ca.crt'), root.certificatePem)
  for (const [file, { certificatePem, keyPem }] of Object.entries({ server, bycert: client })) {
    writeFileSync(join(folder, name, `${file}.crt`), certificatePem)
    writeFileSync(join(folder, name, `${file}.key`), keyPem, { mode: 0o600 })
  }
}
await makeAuthority('right')
await makeAuthority('other')
const file = (name: string, authority = 'right'): string => join(folder, authority, name)

const rules = [
  'host all postgres 127.0.0.1/32 trust',
  'hostssl all warder all scram-sha-256',
  'hostssl all bycert all cert',
  '',
]
const server = await startTestPostgres({
  own: true,
  settings: ['ssl=on', 'ssl_cert_file=server.crt', 'ssl_key_file=server.key', 'ssl_ca_file=ca.crt'],
  prepare(cluster) {
    const put = (name: string, text: string) => writeServerFile(cluster, join(cluster.data, name), text)
    for (const name of ['server.crt', 'server.key', 'ca.crt']) put(name, readFileSync(file(name), 'utf8'))
    put('pg_hba.conf', rules.join('\n'))
  },
})
const skip = 'missing' in server ? server.missing : false
const opened: Database[] = []
after(async () => {
  for (const db of opened) await db.close()
  if ('stop' in server) await server.stop()
  rmSync(folder, { recursive: true })
})

const passwordFile = join(folder, 'password')
const whoami = query<[], { readonly name: string; readonly ssl: boolean }>(
  'SELECT CAST(current_user AS TEXT) AS name, ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()',
)

/** TLS from the first byte is known from 17 on; the machine's own server may be older. */
const version = query<[], { readonly number: string }>(
  "SELECT current_setting('server_version_num') AS number",
)

let admin: Database
let database: string
async function prepare(): Promise<void> {
  assert.ok('database' in server)
  database = await server.database()
  admin = await openPostgres({ url: database })
  opened.push(admin)
  await setPassword('first', 'CREATE')
  await admin.commit([change(query('CREATE ROLE bycert LOGIN'), [])])
}
const setPassword = (password: string, how: 'CREATE' | 'ALTER') =>
  admin.commit([change(query(`${how} ROLE warder LOGIN PASSWORD '${password}'`), [])])

async function open(user: string, parameters: string): Promise<Database> {
  const url = new URL(database)
  url.username = user
  url.hostname = 'localhost'
  const db = await openPostgres({
    url: `${url.href}?${parameters}`,
    folder,
    ...(user === 'warder' && { passwordFile }),
    readers: 1,
    writers: 1,
  })
  opened.push(db)
  return db
}

const assertRefused = (user: string, parameters: string, message: RegExp) =>
  assert.rejects(open(user, parameters), { name: 'StartupError', message }, parameters)

test('TLS proves the server by chain and name, and the client by certificate', { skip }, async () => {
  await prepare()
  writeFileSync(passwordFile, 'first\n', { mode: 0o600 })
  const ca = 'sslrootcert=right/ca.crt'
  const direct = Number((await admin.get(version, []))?.number) >= 170_000
  for (const [user, parameters] of [
    ['warder', `sslmode=verify-full&${ca}`],
    ['warder', `sslmode=require&${ca}`],
    ...(direct ? [['warder', `sslmode=verify-full&${ca}&sslnegotiation=direct`] as const] : []),
    ['warder', 'sslmode=no-verify'],
    ['bycert', `${ca}&sslcert=right/bycert.crt&sslkey=right/bycert.key`],
  ] as const) {
    const db = await open(user, parameters)
    assert.deepEqual(await db.get(whoami, []), { name: user, ssl: true }, parameters)
  }
  if (!direct)
    await assertRefused(
      'warder',
      `sslmode=verify-full&${ca}&sslnegotiation=direct`,
      /cannot reach PostgreSQL/,
    )
  await assertRefused('warder', 'sslmode=disable', /no pg_hba.conf entry/)
  // A server is not trusted because it is configured.
  for (const mode of ['require', 'verify-full'])
    await assertRefused('warder', `sslmode=${mode}`, /certificate/)
  await assertRefused('warder', 'sslrootcert=other/ca.crt', /certificate/)
  await assertRefused(
    'bycert',
    `${ca}&sslcert=other/bycert.crt&sslkey=other/bycert.key`,
    /unknown ca|certificate/i,
  )
  await assertRefused('warder', 'sslrootcert=none.crt', /sslrootcert: cannot read .*none\.crt/)
  await assertRefused(
    'warder',
    'sslrootcert=password',
    /sslrootcert: .*password contains no certificate in PEM/,
  )
  await assertRefused('bycert', `${ca}&sslcert=right/bycert.crt&sslkey=none.key`, /sslkey: cannot read/)
  if (process.platform !== 'win32') {
    chmodSync(file('bycert.key'), 0o644)
    await assertRefused(
      'bycert',
      `${ca}&sslcert=right/bycert.crt&sslkey=right/bycert.key`,
      /sslkey: .*read by others/,
    )
    chmodSync(file('bycert.key'), 0o600)
  }
})

test('the name in the certificate counts for verify-full, and not for verify-ca', { skip }, async () => {
  const url = new URL(database)
  url.username = 'warder'
  url.hostname = '127.0.0.1'
  const openAt = (parameters: string) =>
    openPostgres({ url: `${url.href}?${parameters}`, folder, passwordFile, readers: 1 })
  await assert.rejects(openAt('sslmode=verify-full&sslrootcert=right/ca.crt'), /IP|altnames/i)
  const db = await openAt('sslmode=verify-ca&sslrootcert=right/ca.crt')
  opened.push(db)
  assert.equal((await db.get(whoami, []))?.ssl, true)
})

const cut = query<[], unknown>(
  "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'warder'",
)
const nothing = query<[], { readonly one: number }>('SELECT 1 AS one')

test('a password that was changed counts at the next connection, and a wrong one is told without itself', {
  skip,
}, async () => {
  writeFileSync(passwordFile, 'first\n', { mode: 0o600 })
  const db = await open('warder', 'sslrootcert=right/ca.crt')
  await db.commit([change(nothing, [])])
  await setPassword('second', 'ALTER')
  await admin.all(cut, [])
  // The server has the new one, the file not yet: it is unavailable, not broken.
  const assertLost = async (): Promise<void> => {
    const outcomes = await Promise.allSettled([db.get(nothing, []), db.commit([change(nothing, [])])])
    for (const outcome of outcomes) {
      assert.equal(outcome.status, 'rejected')
      assert.ok(outcome.reason instanceof StorageUnavailable, String(outcome.reason))
      assert.doesNotMatch(`${outcome.reason.message} ${outcome.reason.stack}`, /first|second/)
    }
  }
  await assertLost()
  await assertRefused('warder', 'sslrootcert=right/ca.crt', /password authentication failed/)
  chmodSync(passwordFile, 0o644)
  if (process.platform !== 'win32') await assertLost()
  writeFileSync(passwordFile, 'second\n')
  chmodSync(passwordFile, 0o600)
  assert.equal((await db.get(nothing, []))?.one, 1)
  await db.commit([change(nothing, [])])
})
