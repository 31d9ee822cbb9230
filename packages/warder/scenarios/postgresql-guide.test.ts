import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { issueCertificate } from '@warder/server'
import { startTestPostgres, writeServerFile } from '@warder/storage/testing'
import { missingPrograms, readCommands, runCommands } from '../testing/guide.ts'

// The commands and the settings of the page on PostgreSQL, on a server with TLS and passwords.

const page = 'docs/how-to/postgresql.md'
const folder = mkdtempSync(join(tmpdir(), 'warder-pgguide-'))
const home = join(folder, 'home')
mkdirSync(join(home, 'tls'), { recursive: true, mode: 0o700 })
const dayMs = 86_400_000
const common = {
  addresses: [],
  notBefore: new Date(Date.now() - dayMs),
  notAfter: new Date(Date.now() + dayMs),
} as const
const authority = await issueCertificate(
  { ...common, commonName: 'Databases', purpose: 'authority', hostnames: [] },
  undefined,
)
const certificate = await issueCertificate(
  { ...common, commonName: 'A database', purpose: 'server', hostnames: ['localhost'] },
  authority,
)
writeFileSync(join(home, 'tls', 'db-ca.crt'), authority.certificatePem)
writeFileSync(join(folder, 'db-password'), 'a password of a database\n', { mode: 0o600 })

const server = await startTestPostgres({
  own: true,
  settings: ['ssl=on', 'ssl_cert_file=server.crt', 'ssl_key_file=server.key'],
  prepare(cluster) {
    const put = (name: string, text: string) => writeServerFile(cluster, join(cluster.data, name), text)
    put('server.crt', certificate.certificatePem)
    put('server.key', certificate.keyPem)
    put('pg_hba.conf', 'host all postgres 127.0.0.1/32 trust\nhostssl all warder all scram-sha-256\n')
  },
})
const skip = 'missing' in server ? server.missing : missingPrograms('psql')
after(async () => {
  if ('stop' in server) await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** The settings of the page, with this server in place of the first host and nobody at the second. */
function settingsFor(service: string, port: string): string {
  const text = readFileSync(new URL(`../../../${page}`, import.meta.url), 'utf8')
  const [, settings = ''] = /```toml\n([\s\S]*?)```/.exec(text) ?? []
  return settings
    .replace('db1.example,db2.example/kms', `localhost:${port},localhost:1/${service}`)
    .replace('/run/secrets/', `${folder}/`)
}

test('the settings and the commands of the page on PostgreSQL work', { skip }, async () => {
  assert.ok('database' in server)
  const { port } = new URL(await server.database())
  for (const service of ['auth', 'kms'])
    writeFileSync(join(home, `${service}.toml`), settingsFor(service, port), { mode: 0o600 })
  const commands = readCommands(page).map((block) =>
    block
      .replaceAll('/var/lib/warder', home)
      .replaceAll('/run/secrets/', `${folder}/`)
      .replaceAll('host=db1.example', `host=127.0.0.1 port=${port}`),
  )
  const { status, text } = await runCommands(commands, folder, {})
  assert.equal(status, 0, text)
  for (const service of ['auth', 'kms'])
    assert.match(
      text,
      new RegExp(`^${service} +PostgreSQL: does not exist yet; the first start creates it`, 'm'),
      text,
    )
  assert.match(text, /application_name/)
})
