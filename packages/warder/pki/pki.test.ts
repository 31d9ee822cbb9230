import assert from 'node:assert/strict'
import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { missingOpenssl, opensslFolder } from '@warder/pki/testing'
import { runInProcess, startCommandFixture } from '../testing/in-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-pki-'))

const fixture = await startCommandFixture(['pki'])
const { warder, admin, run } = fixture
const ok = (...words: string[]) => fixture.output(words)
const json = (...words: string[]) => fixture.json(words)
const fails = (told: RegExp, code: number, ...words: string[]) => fixture.fails(words, told, {}, code)

after(() => rmSync(folder, { recursive: true, force: true }))

test('an authority is warned of whose revocation list nobody would find', async () => {
  const root = await run(['create', 'CN=No address'])
  assert.equal(root.code, 0)
  assert.match(
    root.err,
    /^warning: .* contain no addresses of a revocation list and an OCSP responder.*: set pki_public_url /,
  )
  const issuing = await run(['create', 'CN=Below', '--issuer', root.out.split(' ')[0] ?? '', '--json'])
  assert.match(issuing.err, /^warning: /)
  assert.equal(JSON.parse(issuing.out).crl_url, undefined)
})

test('a root and an intermediate in two lines, a certificate, its list, its end', async () => {
  const root = (await json('create', 'CN=Acme Root, O=Acme', '--days', '7300')).id
  const ca = (
    await json(
      'create',
      'CN=Acme Issuing, O=Acme',
      '--issuer',
      root,
      '--path-length',
      '0',
      '--permit',
      'acme.example',
    )
  ).id
  const listed = await ok('authorities')
  assert.match(listed, new RegExp(`${ca} +CN=Acme Issuing,O=Acme +20`))
  const out = join(folder, 'www.pem')
  const issued = await json('issue', ca, '--alg', 'ES256', '--name', 'www.acme.example', '--out', out)
  const pems =
    readFileSync(out, 'utf8').match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  const [leaf, issuing, top] = pems.map((pem) => new X509Certificate(pem))
  assert.ok(leaf !== undefined && issuing !== undefined && top !== undefined && pems.length === 3)
  assert.ok(leaf.verify(issuing.publicKey) && issuing.verify(top.publicKey) && top.verify(top.publicKey))
  assert.equal(leaf.subjectAltName, 'DNS:www.acme.example')

  const shown = await ok('show', issued.id)
  for (const line of [
    /^state +valid$/m,
    /^names +DNS:www\.acme\.example$/m,
    /^purposes +serverAuth$/m,
    /^issuer +CN=Acme Issuing,O=Acme$/m,
  ])
    assert.match(shown, line)
  assert.match(shown, /^warning: It has no address of a CRL or an OCSP responder\. \(RFC 5280/m)
  assert.match(await ok('show', ca), /^authority +yes, path length 0\npermitted names +DNS:acme\.example$/m)
  assert.equal(new X509Certificate(await ok('show', ca, '--pem')).subject, 'O=Acme\nCN=Acme Issuing')

  const renewed = await json('renew', issued.id, '--days', '30')
  assert.notEqual(renewed.serial, issued.serial)
  assert.match(await ok('revoke', issued.id, '--reason', 'superseded', '--yes'), /revoked, superseded/)
  assert.match(await ok('show', issued.id), /^state +revoked: superseded, 20/m)
  assert.match(await ok('revoke', renewed.id, '--reason', 'certificateHold'), /hold/)
  assert.match(await ok('release', renewed.id), /valid/)
  const { certificates } = await json('list', ca, '--state', 'valid', '--subject', 'OCSP')
  assert.equal(certificates.length, 1)
  const ids = (await json('list', ca, '--limit', '10')).certificates.map(({ id }: { id?: string }) => id)
  assert.ok(ids.includes(issued.id) && ids.includes(renewed.id))
  const [first] = (await ok('list', ca, '--limit', '1')).split('\n').slice(-1)
  const again = /--after (\S+)$/.exec(first ?? '')?.[1]
  assert.equal((await json('list', ca, '--limit', '1', '--after', String(again))).certificates.length, 1)
})

test('an intermediate is signed by an outside root and taken in; so is an authority with its key', {
  skip: missingOpenssl,
}, async () => {
  using openssl = opensslFolder()
  const config =
    '[v3]\nbasicConstraints=critical,CA:TRUE,pathlen:0\nkeyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n'
  openssl.write('v3.cnf', config)
  const made = openssl.run(
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-keyout',
    'root.key',
    '-out',
    'root.pem',
    '-subj',
    '/CN=Outside',
    '-days',
    '30',
  )
  assert.equal(made.status, 0, made.text)
  const { csr, kid } = await json('request', 'CN=Inside, O=Acme')
  openssl.write('inside.csr', csr)
  const signed = openssl.run(
    'x509',
    '-req',
    '-in',
    'inside.csr',
    '-CA',
    'root.pem',
    '-CAkey',
    'root.key',
    '-CAcreateserial',
    '-days',
    '20',
    '-extfile',
    'v3.cnf',
    '-extensions',
    'v3',
    '-out',
    'inside.pem',
  )
  assert.equal(signed.status, 0, signed.text)
  const chain = join(folder, 'inside.pem')
  writeFileSync(chain, Buffer.concat([signed.file('inside.pem'), made.file('root.pem')]))
  const { id } = await json('import', chain, '--key', kid)
  const out = join(folder, 'below.pem')
  await ok('issue', id, '--alg', 'ES256', '--name', 'a.example', '--days', '5', '--out', out)
  openssl.write('below.pem', readFileSync(out))
  openssl.write('untrusted.pem', readFileSync(chain))
  assert.match(
    openssl.run('verify', '-CAfile', 'root.pem', '-untrusted', 'untrusted.pem', 'below.pem').text,
    /below\.pem: OK/,
  )
  await fails(
    /expire after that of the authority/,
    1,
    'issue',
    id,
    '--alg',
    'ES256',
    '--name',
    'a.example',
    '--days',
    '25',
  )

  const rootKey = join(folder, 'root.key')
  writeFileSync(rootKey, made.file('root.key'))
  const rootPem = join(folder, 'root.pem')
  writeFileSync(rootPem, made.file('root.pem'))
  assert.match(await ok('import', rootPem, '--key-file', rootKey), /authority, imported/)
  const alone = join(folder, 'alone.pem')
  writeFileSync(alone, signed.file('inside.pem'))
  await fails(/must be followed by its chain/, 1, 'import', alone, '--key', kid)
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
    format: 'pem',
    type: 'pkcs8',
  })
  writeFileSync(join(folder, 'other.key'), other)
  const ownedKeys = async () => {
    const ran = await runInProcess(warder, ['keys', 'list', '--type', 'any', '--json'], { token: admin })
    assert.equal(ran.code, 0, ran.err)
    return ran.out
  }
  const before = await ownedKeys()
  const listTypes = async (...words: string[]) => {
    const { keys } = JSON.parse(
      (await runInProcess(warder, ['keys', 'list', '--json', ...words], { token: admin })).out,
    )
    return new Set(keys.map(({ object_type: type }: { object_type: string }) => type))
  }
  assert.ok(!(await listTypes()).has('Certificate'))
  assert.deepEqual(await listTypes('--type', 'certificate'), new Set(['Certificate']))
  assert.deepEqual(await listTypes('--type', 'any'), new Set([...(await listTypes()), 'Certificate']))
  await fails(
    /does not belong to the certificate/,
    1,
    'import',
    rootPem,
    '--key-file',
    join(folder, 'other.key'),
  )
  assert.equal(await ownedKeys(), before, 'a failed import leaves nothing behind')
})

test('expiring leaves out what has a successor; auto-renew says when one is made', async () => {
  const ca = (await json('create', 'CN=Soon')).id
  const issued = await json('issue', ca, '--alg', 'ES256', '--name', 'soon.example', '--days', '5')
  const expiring = async () => {
    const { out } = await run(['expiring', '--days', '20', '--json'])
    const found: readonly { id: string; profile: string }[] = JSON.parse(out).certificates
    assert.ok(!found.some(({ profile }) => profile === 'ocsp_responder'), 'they renew themselves')
    return found.map(({ id }) => id)
  }
  assert.ok((await expiring()).includes(issued.id))
  const renewed = await json('renew', issued.id)
  const left = await expiring()
  assert.deepEqual([left.includes(issued.id), left.includes(renewed.id)], [false, true])
  assert.match(
    await ok('auto-renew', renewed.id, '--new-key', '--every', '3'),
    /is renewed with a new key, next 20/,
  )
  assert.match(await ok('auto-renew', renewed.id, '--show'), /with a new key/)
  assert.match(await ok('auto-renew', renewed.id, '--off'), /is not renewed automatically/)
  await fails(/cannot be combined/, 2, 'auto-renew', renewed.id, '--off', '--every', '3')
  await ok('revoke', renewed.id, '--yes')
  await fails(/is revoked and cannot be renewed/, 1, 'auto-renew', renewed.id)
})

test('what is typed wrongly is told before anybody is asked', async () => {
  await fails(/name the subject/, 2, 'create')
  await fails(/one of --csr, --public-key, --key and --alg/, 2, 'issue', 'CA')
  await fails(/--profile must be one of server/, 2, 'issue', 'CA', '--alg', 'ES256', '--profile', 'email')
  await fails(/--reason must be one of/, 2, 'revoke', 'C', '--reason', 'lost')
  await fails(/--state must be one of/, 2, 'list', 'CA', '--state', 'new')
  await fails(/give the key/, 2, 'import', process.argv[1] ?? '')
  await fails(/authority nobody: There is no such|authority nobody: .*not_found/, 1, 'list', 'nobody')
  await fails(/not an id/, 2, 'show', '..')
})
