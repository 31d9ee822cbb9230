import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHmac, createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { algorithms } from '@warder/crypto'
import { newUser, runInProcess, startCommandFixture } from '../testing/in-process.ts'
import { runWarder } from '../testing/installation.ts'
import { program } from '../testing/program.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-keys-'))

const { warder, admin, run, ok, json, fails } = await startCommandFixture()
const bob = await newUser(warder, 'bob')
after(() => rmSync(folder, { recursive: true, force: true }))

let counter = 0
function file(text: string | Buffer): string {
  const path = join(folder, `key-${counter++}`)
  writeFileSync(path, text)
  return path
}

const pemOf = (type: 'rsa' | 'ec' | 'ed25519' | 'x448' | 'ml-dsa-44', options: object = {}) => {
  const pair = generateKeyPairSync(
    type as 'rsa',
    { modulusLength: 2048, namedCurve: 'P-256', ...options } as never,
  )
  return pair as unknown as {
    privateKey: import('node:crypto').KeyObject
    publicKey: import('node:crypto').KeyObject
  }
}

test('the algorithm alone says which key to make, and the ids are printed', async () => {
  for (const alg of ['A128GCM', 'A256GCM', 'HS512']) {
    assert.match(
      (await ok(['keys', 'create', '--alg', alg])).out,
      new RegExp(`^[0-9a-f-]{36} {2}oct, ${alg}$`),
    )
  }
  for (const [alg, kty] of [
    ['ES384', 'EC'],
    ['EdDSA', 'OKP'],
    ['MLDSA44', 'AKP'],
    ['PS256', 'RSA'],
    ['RSA-OAEP', 'RSA'],
  ]) {
    const { out } = await ok(['keys', 'create', '--alg', `${alg}`])
    assert.match(
      out,
      new RegExp(`^[0-9a-f-]{36} {2}${kty}, ${alg}, private\n[0-9a-f-]{36} {2}${kty}, ${alg}, public$`),
    )
  }
  assert.equal((await json(['keys', 'create', '--kty', 'RSA', '--bits', '3072'])).kty, 'RSA')
  await fails(['keys', 'create'], /give the kind of key: --alg ALG, or --kty TYPE/, {}, 2)
  const unknown = await fails(['keys', 'create', '--alg', 'ROT13'], /--alg must be one of RSA-OAEP, /, {}, 2)
  const named = /--alg must be one of ([^;]+)/.exec(unknown.err)?.[1]?.split(', ') ?? []
  assert.deepEqual(named.toSorted(), [...Object.keys(algorithms), 'ML-DSA-44'].toSorted())
  await fails(
    ['keys', 'create', '--alg', 'ROT13', '--kty', 'oct'],
    /ROT13.*\(unsupported_algorithm, request /,
  )
  await fails(['keys', 'create', '--alg', 'PS256', '--bits', '1024'], /bad_request/)
  await fails(['keys', 'create', '--alg', 'PS256', '--bits', 'many'], /whole number/, {}, 2)
  await fails(['keys', 'create', '--alg', 'A256GCM', '--colour', 'red'], /unknown option: --colour/, {}, 2)
})

test('a key is shown with its state, owner, tags and public half, and with nothing secret', async () => {
  const { kid, kid_public } = await json(['keys', 'create', '--alg', 'ES256', '--tag', 'a', '--tag', 'b'])
  const { out } = await ok(['keys', 'show', kid])
  for (const line of [
    /^key {9}/m,
    /^bound to +ES256$/m,
    /^state +Active$/m,
    /^owner +admin$/m,
    /^tags +a, b$/m,
  ]) {
    assert.match(out, line)
  }
  assert.match(out, new RegExp(`^other half +${kid_public}$`, 'm'))
  const shown = await json(['keys', 'show', kid])
  assert.equal(shown.public_jwk.d, undefined)
  createPublicKey({ key: shown.public_jwk, format: 'jwk' })
  await fails(['keys', 'show', kid], /key does not exist, was destroyed, or you have no right/, {
    token: bob,
  })
  await fails(['keys', 'show'], /name the key/, {}, 2)
})

test('tags are added and taken off, and jwks publishes the public half', async () => {
  const { kid, kid_public } = await json(['keys', 'create', '--alg', 'ES256'])
  const published = async (): Promise<boolean> => {
    const kms = warder.client('kms')
    const { text } = await kms.ask('/.well-known/jwks.json')
    kms.close()
    return text.includes(kid_public)
  }
  assert.ok(await published())
  assert.equal((await ok(['keys', 'untag', kid_public, 'jwks'])).out, `${kid_public}  no tags`)
  assert.ok(!(await published()))
  assert.equal((await ok(['keys', 'tag', kid_public, 'x', 'jwks'])).out, `${kid_public}  jwks, x`)
  assert.ok(await published())
  assert.match((await ok(['keys', 'tag', kid, 'naïve [31m'])).out, /naïve/)
  await fails(['keys', 'tag', kid, '_system'], /bad_request/)
  await fails(['keys', 'tag', kid], /name the key and at least one tag/, {}, 2)
  await fails(['keys', 'tag', kid, 'x'], /key does not exist/, { token: bob })
})

test('an alias is made, used, moved and deleted from the command', async () => {
  const [one, two] = [
    (await json(['keys', 'create', '--alg', 'A256GCM'])).kid,
    (await json(['keys', 'create', '--alg', 'A256GCM'])).kid,
  ]
  assert.equal((await ok(['keys', 'alias', 'invoices', one])).out, `alias/invoices is ${one}`)
  assert.equal((await ok(['keys', 'alias', 'alias/invoices'])).out, `alias/invoices@admin is ${one}`)
  assert.equal((await json(['keys', 'show', 'alias/invoices'])).kid, one)
  assert.equal((await json(['keys', 'show', 'invoices'])).kid, one)
  await fails(['keys', 'show', 'invoices'], /^key invoices: .*key does not exist/, { token: bob })
  await fails(['keys', 'show', 'invoice'], /^key invoice: .*key does not exist/)
  const plain = file('hello')
  await ok(['crypto', 'encrypt', plain, '--key', 'invoices'])
  const output = `${plain}.back`
  await ok(['crypto', 'decrypt', `${plain}.warder`, '--key', 'alias/invoices', '--output', output])
  assert.equal(readFileSync(output, 'utf8'), 'hello')
  assert.equal(
    (await ok(['keys', 'alias', 'invoices', two, '--move'])).out,
    `alias/invoices is ${two} from now on`,
  )
  await ok(['crypto', 'decrypt', `${plain}.warder`, '--output', output, '--force'])
  const moved = [
    'crypto',
    'decrypt',
    `${plain}.warder`,
    '--key',
    'alias/invoices',
    '--output',
    output,
    '--force',
  ]
  assert.equal((await run(moved)).code, 1, 'only the key of today may have encrypted it')
  assert.match((await ok(['keys', 'alias'])).out, new RegExp(`^alias/invoices +${two} `, 'm'))
  await fails(['keys', 'alias', 'invoices', one], /move it, or delete it first/)
  await fails(['keys', 'alias', 'invoices', '--move'], /--move needs the alias and its new key/, {}, 2)
  await fails(['keys', 'alias', '--delete'], /--delete needs one alias/, {}, 2)
  await fails(['keys', 'alias', 'a', 'b', 'c'], /one alias, and at most one key/, {}, 2)
  await fails(['keys', 'alias', 'invoices@admin'], /key does not exist/, { token: bob })
  assert.match((await ok(['keys', 'alias', 'invoices', '--delete'])).out, /deleted; the key stays/)
  assert.deepEqual((await json(['keys', 'alias'])).aliases, [])
})

test('lists go page by page, and the last line says how to go on', async () => {
  for (let count = 0; count < 5; count += 1) await ok(['keys', 'create', '--alg', 'HS256'], { token: bob })
  const all = await json(['keys', 'list'], { token: bob })
  assert.deepEqual([all.keys.length, all.next], [5, null])
  const first = await ok(['keys', 'list', '--limit', '2'], { token: bob })
  const next = /^there are more: warder (keys list --limit 2 --after \S+)$/m.exec(first.out)?.[1]
  assert.ok(next !== undefined, first.out)
  const second = await json(next.split(' '), { token: bob })
  assert.deepEqual(second.keys, all.keys.slice(2, 4))
  const last = await json(['keys', 'list', '--after', second.next], { token: bob })
  assert.deepEqual([last.keys, last.next], [all.keys.slice(4), null])
  const other = ['keys', 'list', '--tag', 'none', '--after', second.next]
  await fails(other, /another filter/, { token: bob })
  const five = await ok(['keys', 'list', '--limit', '5'], { token: bob })
  assert.doesNotMatch(five.out, /there are more/)
  assert.match(
    five.out,
    /^KEY +NAME +KIND +STATE +MADE +ENDS +LAST USED +TAGS\n[0-9a-f-]{36} +HS256 +Active +\d{4}-\d\d-\d\d +never$/m,
  )
  for (const limit of ['0', '1000001', '-1', 'all']) {
    await fails(['keys', 'list', '--limit', limit], /--limit must be/, {}, 2)
  }
  await fails(['keys', 'list', '--type', 'Key'], /--type must be any, or one of SymmetricKey, /, {}, 2)
  await fails(['keys', 'list', '--obtained', '--type', 'any', '--tag', 'x'], /--obtained cannot be/, {}, 2)
})

test('keys of others are listed with what one may do', async () => {
  const { kid } = await json(['keys', 'create', '--alg', 'A256GCM'])
  assert.equal(
    (await ok(['keys', 'list', '--obtained'], { token: bob })).out,
    'you have no rights on keys of other users',
  )
  await ok(['access', 'grant', kid, 'bob', 'encrypt', 'getattributes'])
  const { out } = await ok(['keys', 'list', '--obtained'], { token: bob })
  assert.match(out, new RegExp(`^${kid} +admin +Active +encrypt getattributes$`, 'm'))
})

test('a key is destroyed only when it is confirmed, with its other half, for ever', async () => {
  const { kid, kid_public } = await json(['keys', 'create', '--alg', 'ES256'])
  await fails(['keys', 'destroy', kid], /nothing was changed: confirmation needs a terminal; use --yes/)
  for (const answer of ['', 'n', 'yes please']) {
    const ran = await fails(['keys', 'destroy', kid], /^nothing was changed$/, { answers: [answer] })
    assert.deepEqual(ran.asked, [
      `Destroy ${kid} (ES256, Active, with its other half ${kid_public})? Data that it encrypted becomes unreadable. [y/N] `,
    ])
  }
  await ok(['keys', 'show', kid])
  const { out } = await ok(['keys', 'destroy', kid, kid_public], { answers: ['y'] })
  assert.equal(out, `${kid}  destroyed\n${kid_public}  was already destroyed`)
  for (const half of [kid, kid_public]) await fails(['keys', 'show', half], /key does not exist/)
  await fails(['keys', 'destroy', kid, '--yes'], /key does not exist/)
})

test('nothing is destroyed when one of several keys is not there, or not one’s own', async () => {
  const [mine, others] = [
    await json(['keys', 'create', '--alg', 'HS256']),
    (await json(['keys', 'list'], { token: bob })).keys[0].object_id,
  ]
  for (const second of ['unknown', others]) {
    await fails(['keys', 'destroy', mine.kid, second, '--yes'], new RegExp(`key ${second}: Key not found`))
  }
  await ok(['keys', 'show', mine.kid])
  await ok(['access', 'grant', mine.kid, 'bob', 'destroy'])
  await fails(['keys', 'destroy', mine.kid, '--yes'], /forbidden/, { token: bob })
  await ok(['access', 'grant', mine.kid, 'bob', 'Destroy'])
  assert.equal((await ok(['keys', 'destroy', mine.kid, '--yes'], { token: bob })).code, 0)
})

test('keys in PEM are imported and work: RSA, EC, Ed25519, ML-DSA, old forms and encrypted ones', async () => {
  const pkcs8 = { type: 'pkcs8', format: 'pem' } as const
  const passphrase = 'correct horse'
  const secret = file(`${passphrase}\n`)
  const cases: [string, string[], string][] = [
    [pemOf('rsa').privateKey.export(pkcs8).toString(), ['--alg', 'PS256'], 'RSA'],
    [pemOf('rsa').privateKey.export({ type: 'pkcs1', format: 'pem' }).toString(), [], 'RSA'],
    [pemOf('ec').privateKey.export({ type: 'sec1', format: 'pem' }).toString(), ['--alg', 'ES256'], 'EC'],
    [pemOf('ed25519').privateKey.export(pkcs8).toString(), [], 'OKP'],
    [pemOf('ml-dsa-44').privateKey.export(pkcs8).toString(), [], 'AKP'],
    [
      pemOf('ec')
        .privateKey.export({ ...pkcs8, cipher: 'aes-256-cbc', passphrase })
        .toString(),
      ['--passphrase-file', secret],
      'EC',
    ],
  ]
  for (const [pem, options, kty] of cases) {
    const made = await json(['keys', 'import', file(`some words before\n${pem}`), ...options])
    assert.deepEqual([made.kty, made.kid_public], [kty, null])
    const signed = file(randomBytes(10))
    await ok(['crypto', 'sign', signed, '--key', made.kid])
    await ok(['crypto', 'verify', signed, '--key', made.kid])
  }
  const encrypted = file(cases[5]?.[0] ?? '')
  await fails(
    ['keys', 'import', encrypted],
    /the key is encrypted: give its passphrase with --passphrase-file F/,
  )
  await fails(
    ['keys', 'import', encrypted, '--passphrase-file', file('wrong')],
    /the passphrase is wrong, or the key is invalid/,
  )
})

test('a JWK is imported from a file or from a pipe, and its own kid is not taken over', async () => {
  const k = randomBytes(32)
  const jwk = JSON.stringify({
    kty: 'oct',
    alg: 'HS256',
    k: k.toString('base64url'),
    kid: 'mine',
    use: 'sig',
  })
  const expected = createHmac('sha256', k).update('x').digest('base64url')
  for (const [words, options] of [
    [['keys', 'import', file(jwk)], {}],
    [['keys', 'import', '-'], { input: Buffer.from(jwk) }],
  ] as const) {
    const { kid } = await json([...words], options)
    assert.notEqual(kid, 'mine')
    assert.equal((await ok(['crypto', 'mac', file('x'), '--key', kid])).out, expected)
  }
})

test('a key that must stay here is made, or taken in, as one that is given to nobody', async () => {
  const extOf = async (...words: string[]) => (await json(['keys', ...words])).ext
  const jwk = { kty: 'oct', alg: 'HS256', k: randomBytes(32).toString('base64url') }
  const plain = file(JSON.stringify(jwk))
  assert.equal(await extOf('create', '--alg', 'A256GCM', '--not-extractable'), false)
  assert.equal(await extOf('create', '--alg', 'ES256', '--not-extractable'), false)
  assert.equal(await extOf('create', '--alg', 'A256GCM'), undefined)
  assert.equal(await extOf('import', plain, '--not-extractable'), false)
  assert.equal(await extOf('import', plain), undefined)
  assert.equal(await extOf('import', file(JSON.stringify({ ...jwk, ext: false }))), false)
  assert.equal(await extOf('import', file(JSON.stringify({ ...jwk, ext: true }))), undefined)
})

test('what is not one whole private key is refused without showing it, and without making another', async () => {
  const { privateKey, publicKey } = pemOf('rsa')
  const jwk = privateKey.export({ format: 'jwk' })
  const spki = publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const before = (await json(['keys', 'list', '--limit', '1000'])).keys.length
  const cases: [string, RegExp, number?][] = [
    ['', /is neither a JWK/],
    ['null', /is neither a JWK/],
    ['{"kty":"oct","k":"secret-that-is-cut', /is neither a JWK/],
    ['{"kty":"oct","alg":"A256GCM"}', /contains no private or secret key/],
    ['{"k":"AAAA"}', /the member kty is missing/],
    ['{"keys":[]}', /is a JWK set/],
    ['{"kty":"oct","alg":"A256GCM","k":7}', /the member k is not a string/],
    [
      '{"kty":"oct","alg":"A128GCM","k":"AAAAAAAAAAAAAAAAAAAAAA","ext":"false"}',
      /ext is neither true nor false/,
    ],
    [JSON.stringify({ ...jwk, p: jwk.q, q: jwk.p, dp: 'AQAB' }), /bad_request/],
    [JSON.stringify(publicKey.export({ format: 'jwk' })), /contains no private or secret key/],
    [spki, /contains no private key/],
    [pem + pem, /contains several private keys/],
    [pem.replace(/[A-Za-z0-9]{40}/, 'A'.repeat(40)), /it is invalid|bad_request/],
    [pemOf('x448').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), /bad_request/],
    ['x'.repeat(70_000), /too large for one key/],
  ]
  for (const [text, told] of cases) {
    const { err } = await fails(['keys', 'import', file(text)], told)
    assert.ok(!err.includes('secret-that') && !err.includes(String(jwk.d)), err)
  }
  await fails(['keys', 'import', join(folder, 'none')], /none: no such file or directory/)
  await fails(['keys', 'import', folder], /directory/)
  await fails(['keys', 'import', '-'], /more than 64 KiB/, { input: Buffer.alloc(70_000) })
  assert.equal((await json(['keys', 'list', '--limit', '1000'])).keys.length, before)
})

test('it runs as a process, also in a pipe that is closed early, and asks nobody where nobody is', async () => {
  const home = ['--home', warder.home]
  const table = await runWarder(['keys', 'list', '--limit', '1', ...home])
  assert.deepEqual([table.code, table.err], [0, ''])
  assert.match(table.out, /^KEY /)
  const piped = execFileSync(
    'sh',
    ['-c', `"${process.execPath}" "$0" keys list --home "$1" | head -n 1`, program, warder.home],
    { env: { ...process.env, WARDER_TOKEN: admin }, encoding: 'utf8' },
  )
  assert.match(piped, /^KEY /)
  assert.match(
    (await runWarder(['keys', 'tag', '--help'])).out,
    /^warder keys tag KEY [\s\S]*After warder keys rotate/,
  )
  const nobody = await runWarder(['keys', 'list', '--user', 'bob', ...home])
  assert.deepEqual([nobody.code, nobody.out], [1, ''])
  assert.match(nobody.err, /not logged in: run warder login, or give --token-file/)
})

test('a machine works with its token, under a name that rights can be granted to', async () => {
  const home = ['--home', warder.home]
  const added = await runWarder(['admin', 'add-approle', 'till', '--realm', '_', '--json', ...home])
  const { role_id, secret_id } = JSON.parse(added.out)
  const auth = warder.client('auth')
  const answer = await auth.ask('/auth/approle/login', { json: { role_id, secret_id } })
  auth.close()
  const { client_token: token } = (answer.json as { auth: { client_token: string } }).auth
  const { user } = await json(['access', 'me'], { token })
  assert.match(user, /^app:/)
  const { kid } = await json(['keys', 'create', '--alg', 'HS256'])
  const words = ['crypto', 'mac', file('x'), '--key', kid, '--alg', 'HS256']
  await fails(words, /key does not exist/, { token })
  await ok(['access', 'grant', kid, user, 'mac'])
  await ok(words, { token })
})

test('credentials come from where the help says, and a wrong one is told without being shown', async () => {
  const tokenFile = file(`${admin}\n`)
  const me = (words: string[], env: Record<string, string> = {}) =>
    runInProcess(warder, ['access', 'me', '--json', ...words], { env })
  const named = async (ran: ReturnType<typeof me>) => JSON.parse((await ran).out).user
  assert.equal(await named(me(['--token-file', tokenFile])), 'admin')
  assert.equal(await named(me([], { WARDER_TOKEN: bob })), 'bob')
  assert.equal(
    await named(me(['--user', 'bob', '--password-file', join(warder.home, 'password-bob')])),
    'bob',
  )
  assert.equal(await named(me(['--user', 'bob'], { WARDER_PASSWORD: 'the password of bob' })), 'bob')
  const both = { WARDER_TOKEN: admin, WARDER_PASSWORD: 'the password of bob' }
  assert.equal(await named(me(['--user', 'bob'], both)), 'bob', 'who is named on the line comes first')
  const twice = await me(['--user', 'bob', '--token-file', tokenFile])
  assert.deepEqual([twice.code, twice.out], [2, ''])
  assert.match(twice.err, /--token-file cannot be combined with --user/)
  const wrong = await me(['--user', 'bob'], { WARDER_PASSWORD: 'wrong-password' })
  assert.equal(wrong.code, 1)
  assert.match(wrong.err, /the login of bob to realm _ was refused/)
  assert.ok(!wrong.err.includes('wrong-password'))
  const odd = await me([], { WARDER_TOKEN: 'two words' })
  assert.deepEqual([odd.code, odd.err], [1, 'the token contains invalid characters'])
  const machine = await me([], { WARDER_TOKEN: 'wt.unknown' })
  assert.match(machine.err, /Check that the token is still valid/)
  assert.ok(!machine.err.includes('unknown\n'))
  const broken = mkdtempSync(join(tmpdir(), 'warder-broken-'))
  for (const text of ['', '{', 'null', '{"auth":{},"kms":7}']) {
    writeFileSync(join(broken, 'endpoints.json'), text)
    const { err } = await runInProcess({ ...warder, home: broken }, ['access', 'me'], { token: admin })
    assert.match(err, /endpoints\.json contains no addresses of the services: restart them$/)
  }
  rmSync(broken, { recursive: true })
  const other = await runWarder(['access', 'me', '--home', folder])
  assert.match(other.err, /endpoints\.json does not exist: are the services running\?/)
  const untrusted = await me(['--url', warder.kmsUrl], { WARDER_TOKEN: admin })
  assert.match(untrusted.err, /cannot be reached: .*certificate.*--ca-file/)
  const trusted = me(['--url', warder.kmsUrl, '--ca-file', warder.caFile], { WARDER_TOKEN: admin })
  assert.equal(await named(trusted), 'admin')
  assert.ok(!readFileSync(tokenFile, 'utf8').includes('wt.'))
})

test('a key is rotated and shows its versions; what cannot be rotated says why', async () => {
  const { kid } = await json(['keys', 'create', '--alg', 'A256GCM'])
  const rotated = await json(['keys', 'rotate', kid])
  assert.deepEqual([rotated.kid, rotated.version], [kid, 2])
  const { out } = await ok(['keys', 'versions', kid])
  const lines = out.trimEnd().split('\n')
  assert.equal(lines.length, 2)
  assert.match(lines[0] ?? '', new RegExp(`^ +2 {2}${rotated.version_kid} {2}Active .* protects$`))
  assert.match(lines[1] ?? '', new RegExp(`^ +1 {2}${kid} {2}Active .*Z$`))
  await fails(['keys', 'rotate', rotated.version_kid], new RegExp(kid))
  await fails(['keys', 'versions', kid], /Key not found/, { token: bob })
})
