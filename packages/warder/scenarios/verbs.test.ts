import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHmac, generateKeyPairSync } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { sharedKey, TestIdp } from '@warder/auth/testing'
import { createAgeIdentity } from '@warder/crypto/testing'
import { missingSofthsm } from '@warder/pkcs11/testing'
import { issueCertificate } from '@warder/server'
import { loadAll } from '../commands.ts'
import { addRetiredNode, logInUser } from '../testing/in-process.ts'
import { cleanEnvironment, type Installation, runWarder, startInstallation } from '../testing/installation.ts'
import { command } from '../testing/program.ts'
import { createWalkedHsm } from './operations/testing/keys.ts'

// What a command loads when it is first called has to be in what ships: each verb is called once, with success.

const folder = mkdtempSync(join(tmpdir(), 'warder-verbs-'))
const home = join(folder, 'home')
const called = new Set<string>()
const declared = (await loadAll()).flatMap(({ name, verbs = [] }) =>
  verbs.length === 0 ? [name] : verbs.map((verb) => `${name} ${verb.name}`),
)
let warder: Installation

const hsm = await createWalkedHsm()
before(() => start({ KMS_PENDING_DESTRUCTION_DAYS_BY: 'tag:waits=7', ...hsm?.env }))
after(() => hsm?.softhsm[Symbol.dispose]())
after(async () => {
  await warder.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function start(env: Readonly<Record<string, string>> = {}): Promise<void> {
  warder = await startInstallation({ home, env })
  called.add('start')
}

/** Runs a verb, which has to succeed. @returns its output, as JSON where `--json` is among the words */
async function run(
  verb: string,
  words: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},

  // biome-ignore lint/suspicious/noExplicitAny: tests read members of whatever was printed
): Promise<any> {
  const all = [...verb.split(' '), ...words]
  const { code, out, err } = await runWarder(all, { WARDER_HOME: home, WARDER_PROGRAM: 'warder', ...env })
  assert.equal(code, 0, `warder ${all.join(' ')}: ${err}${out}`)
  called.add(verb)
  return words.includes('--json') ? JSON.parse(out) : out
}

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

const json = '--json'
const idIn = (out: string): string => /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(out)?.[0] ?? ''
const create = async (...words: string[]): Promise<string> => idIn(await run('keys create', words))

/** RFC 6238, SHA-1, 30 seconds. */
function totpCode(secret: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
  const bits = [...secret].map((char) => alphabet.indexOf(char).toString(2).padStart(5, '0')).join('')
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)))
  const digest = createHmac('sha1', key).update(counter).digest()
  const number = digest.readUInt32BE((digest.at(-1) ?? 0) & 15) & 0x7fffffff
  return String(number % 1_000_000).padStart(6, '0')
}

/** A service that says that it serves begins in the same turn to listen for signals. */
const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 500))

/** Runs a verb that serves, until its output says that it does; it has to end with 0 when it is told to. */
async function serve(
  verb: string,
  words: readonly string[],
  started: RegExp,
  meanwhile?: () => Promise<unknown>,
) {
  const [program, ...first] = command
  const child = spawn(program, [...first, verb, ...words], { env: cleanEnvironment({ WARDER_HOME: home }) })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  let output = ''
  await new Promise<void>((resolve, reject) => {
    const collect = (chunk: Buffer): void => {
      output += chunk.toString()
      if (started.test(output)) resolve()
    }
    child.stdout.on('data', collect)
    child.stderr.on('data', collect)
    ended.then(() => reject(new Error(output)))
  })
  await meanwhile?.()
  child.kill('SIGTERM')
  assert.equal(await ended, 0, output)
  called.add(verb)
}

/** Runs a verb with an input. @returns its output */
async function pipe(verb: string, words: readonly string[], input: Uint8Array): Promise<Buffer> {
  const [program, ...first] = command
  const child = spawn(program, [...first, ...verb.split(' '), ...words], {
    env: cleanEnvironment({ WARDER_HOME: home }),
  })
  child.stdin.end(input)
  const chunks: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  assert.equal(await new Promise((resolve) => child.once('close', resolve)), 0, verb)
  called.add(verb)
  return Buffer.concat(chunks)
}

test('verbs of keys in an HSM', { skip: missingSofthsm }, async () => {
  await run('keys hsm list', ['main'])
  await run('keys hsm register', ['main', 'theirs', '--alg', 'A256GCM'])
  await run('keys hsm wrapping', ['main', '--check'])
})

test('verbs of keys', async () => {
  const key = await create('--alg', 'A256GCM')
  await run('keys import', [
    file(
      'key.pem',
      generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }) as string,
    ),
  ])
  await run('keys list')
  await run('keys show', [key])
  await run('keys tag', [key, 'backup'])
  await run('keys untag', [key, 'backup'])
  await run('keys alias', ['invoices', key])
  await run('keys rotate', [key])
  await run('keys versions', [key])
  for (const verb of ['disable', 'enable', 'revoke', 'destroy'])
    await run(`keys version ${verb}`, [key, '1', '--yes'])
  await run('keys set-rotation', [key, '--every', '90d'])
  await run('keys set-dates', [key, '--end', '2099-01-01'])
  await run('keys disable', [key])
  await run('keys enable', [key])
  const waits = await create('--alg', 'A256GCM', '--tag', 'waits')
  await run('keys rotate', [waits])
  await run('keys version destroy', [waits, '1', '--yes'])
  await run('keys version restore', [waits, '1'])
  await run('keys destroy', [waits, '--yes'])
  await run('keys restore', [waits])

  const structure = file('structure.json', '{"Team":["blue","red"],"Level::<":["low","high"]}')
  const { kid: master } = await run('keys abe create', [structure, json])
  await run('keys abe user', [master, '--policy', 'Team::blue && Level::low'])
  await run('keys abe show', [master])
  await run('keys abe rekey', [master, '--policy', 'Team::blue'])
  await run('keys abe prune', [master, '--policy', 'Team::blue'])
  await run('keys abe add', [master, 'Team::green'])
  await run('keys abe rename', [master, 'Team::red', 'crimson'])
  await run('keys abe disable', [master, 'Team::crimson', '--yes'])
  await run('keys abe delete', [master, 'Team::crimson', '--yes'])
})

test('verbs of crypto and access', async () => {
  const text = file('text', 'some text')
  const key = await create('--alg', 'A256GCM')
  const signing = await create('--alg', 'ES256')
  const mac = await create('--alg', 'HS256')
  await run('crypto encrypt', [text, '--key', key])
  await run('crypto decrypt', [`${text}.warder`, '--output', join(folder, 'again')])
  assert.equal(readFileSync(join(folder, 'again'), 'utf8'), 'some text')
  await run('keys rotate', [key])
  await run('crypto rewrap', [`${text}.warder`])
  await run('crypto sign', [text, '--key', signing])
  await run('crypto verify', [text, '--key', signing])
  await run('crypto mac', [text, '--key', mac])
  const sealed = await pipe('crypto encrypt-data', ['--key', key], Buffer.from('a secret'))
  assert.equal(String(await pipe('crypto decrypt-data', [], sealed)), 'a secret')

  await run('access grant', [key, 'bob', 'decrypt', '--anyway'])
  for (const verb of ['list', 'revoke'])
    await run(`access ${verb}`, verb === 'list' ? [key] : [key, 'bob', 'decrypt'])
  await run('access of', ['bob'])
  await run('access group put', ['ops', 'bob'])
  await run('access group show', ['ops'])
  await run('access group list')
  await run('access grant', ['--tag', 'prod', 'group:ops', 'decrypt'])
  await run('access explain', ['--as', 'admin', '--key', key, '--use', 'decrypt'])
  await run('access report', ['--csv'])
  await run('access report', ['--leaver', 'bob'])
  await run('access group delete', ['ops', '--yes'])
  await run('access me')
  await run('access grant-create', ['bob', '--anyway'])
  await run('access revoke-create', ['bob'])
  await run('access grant-audit', ['bob', '--anyway'])
  await run('access revoke-audit', ['bob'])
  await run('audit find', ['--outcome', 'success', '--limit', '2'])
  const login = ['--service', 'auth', '--operation', 'login', '--limit', '2', json]
  const { records, gaps } = await run('audit find', login)
  assert.deepEqual([records[0].service, records[0].principal, gaps], ['auth', 'admin', []])
  await run('audit count', ['--since', '1h'])
  await run('access block', ['mallory'])
  await run('access blocked')
  await run('access unblock', ['mallory'])
  await run('access transfer', ['bob', 'carol', '--yes'])
})

test('verbs of certificates and KMIP', async () => {
  const idOf = async (verb: string, words: string[]): Promise<string> =>
    (await run(verb, [...words, json])).id
  const authority = await idOf('pki create', ['CN=Root', '--days', '30', '--out', join(folder, 'root.pem')])
  await run('pki authorities')
  const issue = (name: string): Promise<string> =>
    idOf('pki issue', [authority, '--alg', 'ES256', '--name', name, '--out', join(folder, name)])
  const certificate = await issue('a.example')
  await run('pki list', [authority])
  await run('pki show', [certificate])
  await run('pki auto-renew', [certificate])
  await run('pki renew', [certificate, '--out', join(folder, 'b.pem')])
  await run('pki expiring', ['--days', '1'])
  await run('pki request', ['CN=Request'])
  const held = await issue('b.example')
  await run('pki revoke', [held, '--reason', 'certificateHold', '--yes'])
  await run('pki release', [held])
  const { certificatePem, keyPem } = await issueCertificate(
    {
      commonName: 'Imported',
      purpose: 'authority',
      hostnames: [],
      addresses: [],
      notBefore: new Date(Date.now() - 86_400_000),
      notAfter: new Date(Date.now() + 86_400_000),
    },
    undefined,
  )
  await run('pki import', [file('imported.pem', certificatePem), '--key-file', file('imported.key', keyPem)])
  await run('pki acme open', [authority])
  const { kid } = await run('pki acme credential', [authority, json])
  await run('pki acme list', [authority])
  await run('pki acme remove', [authority, kid, '--credential'])
  await run('pki acme close', [authority])

  await run('kmip certificate', ['storage-1', '--out', join(folder, 'storage-1')])
  await run('kmip query')
  await run('kmip send', [file('locate.json', '{"tag":"Locate","value":[]}')])
  await run('kmip explain', [
    '42007801000000304200770100000028420069010000002042006a0200000004000000010000000042006b02000000040000000000000000',
  ])
  assert.match(await run('kmip certificates', ['--expiring', '400d']), /^storage-1 /m)
  await run('kmip devices', ['--search', 'storage'])
  await run('kmip revoke-certificate', ['storage-1', '--cert', join(folder, 'storage-1.crt')])
})

test('verbs of administration', async () => {
  const realm = ['--realm', 'shop']
  const idp = new TestIdp({
    key: await sharedKey('idp'),
    spEntityId: 'https://auth.example.com/saml/shop',
    acsUrl: 'https://auth.example.com/saml/shop/acs',
  })
  await run('admin create-realm', ['shop', '--login', 'password'])
  const provider = 'https://idp.example,https://idp.example/keys'
  await run('admin change-realm', ['shop', '--jwt-provider', provider, '--yes'])
  await run('admin show-realm', ['shop'])
  await run('admin create-realm', ['club'])
  await run('admin delete-realm', ['club', '--yes'])
  const base = ['--base-url', 'https://auth.example.com']
  await run('admin set-saml', ['shop', '--metadata', file('idp.xml', idp.metadata()), ...base])
  const password = file('password', 'correct horse battery staple')
  await run('admin realms')
  await run('admin add-user', ['ann', ...realm, '--new-password-file', password])
  await run('admin users', realm)
  await run('admin reset-password', ['ann', ...realm, '--new-password-file', password, '--yes'])
  await run('admin show-user', ['ann', ...realm])
  await run('admin change-user', ['ann', ...realm, '--add-role', 'seller', '--yes'])
  await run('admin add-admin', ['chief', ...realm, '--user', 'ann'])
  await run('admin show-admin', ['chief'])
  await run('admin change-admin', ['chief', '--add-realm', '_', '--yes'])
  await run('admin admins')
  await run('admin delete-admin', ['chief', '--yes'])
  const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'
  const device = ['--secret-file', file('secret', secret), '--code', totpCode(secret)]
  await run('admin enroll-totp', ['ann', ...realm, ...device])
  await run('admin totp-token', ['ann', ...realm])
  await run('admin disable-totp', ['ann', ...realm, '--yes'])
  await run('admin delete-user', ['ann', ...realm, '--yes'])
  await run('admin assign-jwt-subject', ['sue', ...realm, '--issuer', 'https://idp.example', '--yes'])
  await run('admin jwt-subjects', realm)
  await run('admin release-jwt-subject', ['sue', ...realm, '--yes'])
  await run('admin saml', ['show', 'shop'])
  await run('admin sessions', ['--realm', '_'])
  await run('admin end-sessions', [...realm, '--all', '--yes'])
  await run('admin add-approle', ['till', '--realm', '_'])
  await run('admin approles')
  await run('admin change-approle', ['till', '--token-ttl', '60', '--yes'])
  await run('admin show-approle', ['till'])
  await run('admin new-secret-id', ['till'])
  const [{ secret_id_accessor: accessor }] = await run('admin secret-ids', ['till', json])
  await run('admin destroy-secret-id', ['till', accessor, '--yes'])
  await run('admin delete-approle', ['till', '--yes'])

  await run('login', ['--no-keyring'])
  await run('whoami')
  await run('logout')
  const next = file('next', 'violet harbour 7 lanterns')
  await run('admin add-user', ['eve', ...realm, '--new-password-file', password])
  await run('password', ['--user', 'eve', ...realm, '--password-file', password, '--new-password-file', next])
  const asEve = ['--user', 'eve', ...realm, '--password-file', next]
  await run('login', ['--no-keyring', ...asEve])
  await run('account show')
  const { secret_base32: own, enrollment } = await run('account enroll-totp', ['--begin', json])
  await run('account enroll-totp', ['--enrollment', enrollment, '--code', totpCode(own)])
  await run('account recovery-codes', ['--yes'])
  await run('account disable-totp', ['--yes'])
  // The next verbs are those of the default user.
  await run('logout')

  // Services elsewhere are remembered only without a home.
  const remembered = { XDG_CONFIG_HOME: join(folder, 'config'), WARDER_HOME: '' }
  const places = ['--url', warder.kmsUrl, '--auth-url', warder.authUrl, '--ca-file', warder.caFile]
  await run('login', ['--no-keyring', ...places, ...asEve, '--context', 'here'], remembered)
  await run('context list', [], remembered)
  await run('context show', [], remembered)
  await run('context use', ['local'], remembered)
  await run('context delete', ['here', '--force'], remembered)
  await run('health')
  for (const service of ['auth', 'kms']) await run(`status ${service}`)
  await run('unseal')
  await run('try')
  for (const name of ['kms', 'auth']) await run('config print', [name])
  await run('config explain', ['kms'])
  await run('config check')
  await run('config show')
  await run('config migrate', [
    file('other.toml', '[http]\nport = 9998\n'),
    '--output',
    join(folder, 'kms.toml'),
  ])
  await run('check')
  await run('completion', ['bash'])
  await run('man', ['keys'])
})

test('verbs of the clouds, and the provider of Kubernetes', async () => {
  await run('external aws', ['enable', '--region', 'eu-west-1', '--out', join(folder, 'xks.json')])
  await run('external google', [
    'enable',
    '--domain',
    'example.com',
    '--idp',
    'https://idp.example,https://idp.example/jwks,cse',
  ])
  await run('external microsoft', [
    'enable',
    '--tenant',
    '2ec40e65-ba09-4853-bcde-bcb60029e596',
    '--name',
    'finance',
    '--email',
    'ann@contoso.com',
  ])
  const dates = { notBefore: new Date(Date.now() - 1000), notAfter: new Date(Date.now() + 1e9) }
  const azure = await issueCertificate(
    { commonName: 'Azure', purpose: 'authority', hostnames: [], addresses: [], ...dates },
    undefined,
  )
  const der = azure.certificatePem.replaceAll(/-----[A-Z ]+-----|\s/g, '')
  const pool = { caCertificates: [der], subjectCommonName: 'contoso.managedhsmclient.azure.net' }
  await run('external azure', ['enable', '--certificates', file('pool.json', JSON.stringify(pool))])

  const key = await create('--alg', 'A256GCM')
  const socket = join(folder, 'run', 'kms.sock')
  mkdirSync(join(folder, 'run'), { mode: 0o700 })
  const token = file('token', await warder.adminToken())
  const words = ['--socket', socket, '--key', key, '--token-file', token]
  await serve('kubernetes-kms', words, /"msg":"/, () =>
    run('kubernetes-kms', ['--socket', socket, '--check']),
  )
})

test('verbs of officers', async (context) => {
  const passwords = (name: string) => `the password of ${name}`
  for (const name of ['ann', 'ben', 'cid', 'dora']) {
    const path = file(`password-${name}`, passwords(name))
    await run('admin add-user', [name, '--realm', '_', '--new-password-file', path, '--keep-password'])
  }
  assert.equal(await warder.stop(), 0)
  await addRetiredNode(join(home, 'kms.db'))
  const [cert, key] = ['kms.crt', 'kms.key'].map((name) => readFileSync(join(home, 'tls', name)))
  const webhook = createServer({ cert, key }, (_request, response) => response.writeHead(204).end())
  context.after(() => {
    webhook.closeAllConnections()
    webhook.close()
  })
  await new Promise<void>((resolve) => webhook.listen(0, '127.0.0.1', resolve))
  await start({
    KMS_APPROVALS_WEBHOOK_URL: `https://127.0.0.1:${(webhook.address() as AddressInfo).port}/`,
    KMS_APPROVALS_WEBHOOK_SECRET: 'a secret of more than thirty-two characters',
    KMS_OUTBOUND_ALLOW_PRIVATE_NETWORKS: 'true',
    KMS_OUTBOUND_CA_FILE: join(home, 'tls', 'ca.crt'),
    KMS_ROLES_CRYPTO_OFFICER_USERS: 'ann,ben,cid',
    KMS_ROLES_CRYPTO_OFFICER_REQUIRE_CEREMONY: 'true',
    KMS_APPROVALS_CREDENTIAL_WAIT: '0',
    KMS_APPROVALS_OPERATIONS: 'destroy',
  })
  const as = async (name: string) => ({ WARDER_TOKEN: await logInUser(warder, name, passwords(name)) })
  const [ann, ben, dora] = [await as('ann'), await as('ben'), await as('dora')]
  await run('officers begin', [], ann)
  await run('officers give', ['ann'], ben)
  await run('officers activate', [], ann)
  await run('officers give', ['ben'], ann)
  await run('officers activate', [], ben)
  await run('officers status', [], ann)
  await run('access grant-create', ['dora'], ann)
  const kid = idIn(await run('keys create', ['--alg', 'A256GCM'], dora))
  const ask = async (): Promise<string> => (await run('officers ask', ['destroy', kid, json], dora)).id
  await run('officers withdraw', [await ask()], dora)
  const refused = await ask()
  await run('officers refuse', [refused, '--yes'], ann)
  await run('officers requests', [], ann)
  await run('officers approve', [await ask(), '--yes'], ann)
  await run('audit forget-node', ['retired', '--yes'], ann)
  await run('notify test', [], ann)
  await run('officers disable', [], ann)
})

test('verbs of the audit log and of copies, and those that need the services stopped', async () => {
  await run('audit verify')
  await run('audit export')
  await run('audit tail')
  await run('audit archive', ['--before', '90d'])
  await run('audit prune', ['--before', '2016-01-01', '--yes'])
  const secret = ['--passphrase-file', file('passphrase', 'correct horse battery staple')]
  const copy = join(folder, 'nightly.backup')
  await run('backup', [copy, ...secret])
  await run('drill', [copy, ...secret])
  const from = ['--from', join(home, 'backup-signing.pub')]
  await run('restore', [copy, ...secret, ...from, '--home', join(folder, 'restored')])
  assert.equal(await warder.stop(), 0)
  await run('officers reset-policy', ['--yes'])
  await run('admin recover', ['--yes'])
  await run('root-key show')
  await run('root-key test')
  await run('root-key rotate')
  const passphrase = { WARDER_ROOT_KEY_PASSPHRASE: 'correct horse battery staple' }
  await run('root-key move', ['--to', 'passphrase'], passphrase)
  await run('root-key move', ['--to', 'file'], passphrase)
  const holders = ['ann', 'ben'].map((name) => ({ name, ...createAgeIdentity() }))
  const list = file('holders', holders.map(({ name, recipient }) => `${name} ${recipient}\n`).join(''))
  const output = join(folder, 'shares')
  await run('root-key recovery create', ['--holders', list, '--threshold', '2', '--output', output])
  const shares = holders.map(({ name, decrypt }) => {
    const written = readdirSync(output).find((one) => one.endsWith(`-${name}.age`)) ?? ''
    return decrypt(readFileSync(join(output, written), 'utf8'))
  })
  await pipe('root-key recover', ['--to', 'file'], Buffer.concat(shares))
  for (const service of ['auth', 'kms']) await serve(service, [], /"msg":"serving"/, settled)
})

test('every verb of the command was called with success', () => {
  assert.ok(declared.length > 100)
  assert.deepEqual(
    declared.filter((name) => !called.has(name) && (hsm !== undefined || !name.startsWith('keys hsm '))),
    [],
  )
})
