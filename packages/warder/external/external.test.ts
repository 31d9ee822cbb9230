import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { issueCertificate } from '@warder/server'
import { newUser, runInProcess } from '../testing/in-process.ts'
import { type Installation, startInstallation, temporaryHome } from '../testing/installation.ts'

const home = temporaryHome()
let warder: Installation = await startInstallation({ home })
after(async () => {
  await warder.stop()
  rmSync(home, { recursive: true, force: true })
})
const restart = async (): Promise<void> => {
  await warder.stop()
  warder = await startInstallation({ home })
}
const run = async (...words: string[]) => runInProcess(warder, ['external', ...words])
const runOk = async (...words: string[]) => {
  const ran = await run(...words)
  assert.equal(ran.code, 0, ran.err)
  return ran.out
}

test('AWS: a fresh installation is set up, tried, and cut off, with what has to be entered at AWS', async () => {
  const before = await run('aws', 'test')
  assert.equal(before.code, 1)
  assert.match(before.err, /disabled in the settings/)
  const out = await runOk('aws', 'enable', '--region', 'eu-west-1')
  const [, kid = ''] = /External key ID +(\S+)/.exec(out) ?? []
  const [, id = ''] = /Access key ID +([A-Z2-7]{20,30})$/m.exec(out) ?? []
  const [, secret = ''] = /Secret access key +([A-Za-z0-9+/=]{43,64})$/m.exec(out) ?? []
  assert.ok(kid !== '' && id !== '' && secret !== '', out)
  assert.match(out, /now enables it: restart/)
  assert.match(out, /\/aws\/kms\/xks\/v1/)
  assert.match(out, /Clouds cannot reach (127\.0\.0\.1|localhost): set kms_public_url/)
  assert.match(out, /only port 443/)
  assert.match(readFileSync(join(home, 'kms.toml'), 'utf8'), /\[aws_xks_config\]\naws_xks_enable = true/)
  await restart()
  const tried = await runOk('aws', 'test')
  assert.doesNotMatch(tried, /FAILED/)
  assert.match(tried, /^ok +https:.*\/aws\/kms\/xks\/v1\/health$/m)
  // The access key of the request is removed.
  const shown = await runOk('aws', 'show')
  assert.ok(shown.includes(id) && shown.startsWith('aws: enabled'))
  assert.equal(shown.trim().split('\n').length, 3)
  assert.ok(!shown.includes(secret))

  assert.match(await runOk('aws', 'disable'), /every request is refused on every node/)
  assert.equal((await run('aws', 'test')).code, 1)
  const file = join(home, 'xks.json')
  const again = await runOk('aws', 'enable', '--region', 'eu-west-1', '--key', kid, '--out', file)
  assert.doesNotMatch(again, /restart the service/)
  const written = JSON.parse(readFileSync(file, 'utf8'))
  assert.equal(written.XksProxyUriPath, '/aws/kms/xks/v1')
  assert.ok(!again.includes(written.XksProxyAuthenticationCredential.RawSecretAccessKey))
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.match(await runOk('aws', 'test'), /responds as aws expects/)
  assert.match(await runOk('aws', 'remove-credential', id), /are rejected from now on/)
  assert.equal((await run('aws', 'remove-credential', id)).code, 1)
  assert.match(await runOk('aws', 'new-credential', '--region', 'eu-west-1'), /Secret access key/)
  const json = JSON.parse(await runOk('aws', 'test', '--json'))
  assert.deepEqual([json.store, json.ok], ['aws', true])

  // From the next start on requests need the client certificate of AWS KMS, too.
  const ca = join(home, 'amazon.pem')
  writeFileSync(ca, '-')
  assert.match(
    (await run('aws', 'enable', '--region', 'eu-west-1', '--client-ca', ca)).err,
    /no certificate in PEM/,
  )
  const now = Date.now()
  const plan = { hostnames: [], addresses: [], notBefore: new Date(now - 1e6), notAfter: new Date(now + 1e9) }
  const amazon = await issueCertificate({ ...plan, commonName: 'Amazon', purpose: 'authority' }, undefined)
  writeFileSync(ca, amazon.certificatePem)
  const certified = await runOk('aws', 'enable', '--region', 'eu-west-1', '--key', kid, '--client-ca', ca)
  const [lines = ''] =
    /^ {2}aws_xks_client_names = .*\n {2}aws_xks_client_ca_cert_file = .*$/m.exec(certified) ?? []
  assert.match(lines, /"cks\.kms\.eu-west-1\.amazonaws\.com"/)
  const toml = join(home, 'kms.toml')
  const enabled = 'aws_xks_enable = true'
  writeFileSync(toml, readFileSync(toml, 'utf8').replace(enabled, `${enabled}\n${lines}`))
})

test('Azure: a fresh installation is set up, tried, and cut off, with what has to be entered at Azure', async () => {
  const now = Date.now()
  const plan = {
    hostnames: [],
    addresses: [],
    notBefore: new Date(now - 1e6),
    notAfter: new Date(now + 1e9),
  } as const
  const authority = await issueCertificate({ ...plan, commonName: 'Azure', purpose: 'authority' }, undefined)
  const pool = join(home, 'pool.json')
  const der = new X509Certificate(authority.certificatePem).raw.toString('base64')
  writeFileSync(
    pool,
    JSON.stringify({ caCertificates: [der], subjectCommonName: 'contoso.managedhsmclient.azure.net' }),
  )
  const out = await runOk('azure', 'enable', '--certificates', pool)
  assert.match(out, /az keyvault ekm-connection create --hsm-name HSM --host localhost|--host 127\.0\.0\.1/)
  assert.match(out, /--path-prefix \/azureekm$/m)
  assert.match(out, /--external-key-id [0-9a-f-]{36}/)
  assert.match(out, /now enables it: restart/)
  // The following is printed with the public address, before its store is on, too.
  const toml = join(home, 'kms.toml')
  writeFileSync(toml, `kms_public_url = "https://kms.example.com/"\n${readFileSync(toml, 'utf8')}`)
  await restart()
  assert.match(await runOk('azure', 'test'), /^ok +https:.*\/azureekm\/info$/m)
  assert.match(await runOk('azure', 'show'), /^azure: enabled\n {2}https:.*\/azureekm$/m)
  assert.match(await runOk('azure', 'disable'), /stopped by/)
  assert.equal((await run('azure', 'test')).code, 1)
  const again = await runOk('azure', 'enable', '--certificates', pool)
  assert.match(again, /may be used by azure:contoso/)
  assert.match(again, /--host kms\.example\.com /)
  assert.doesNotMatch(again, /Clouds cannot reach/)
  assert.ok(existsSync(join(home, 'azure-ekm', 'test-client.crt')))
  const authorities = readFileSync(join(home, 'azure-ekm', 'authorities.pem'), 'utf8')
  assert.equal(authorities.match(/BEGIN CERTIFICATE/g)?.length, 2)
  // One cloud that is stopped leaves the other alone.
  assert.match(await runOk('aws', 'show'), /^aws: enabled/)
  assert.match(await runOk('aws', 'test'), /^ok +https:.*health$/m)
})

test('Google: a fresh installation is set up, tried, and cut off, with what has to be entered at Google', async () => {
  const idp = 'https://idp.example.com,https://idp.example.com/jwks,client-id'
  const words = ['google', 'enable', '--domain', 'example.com', '--idp', idp, '--admin', 'ann@example.com']
  const out = await runOk(...words)
  assert.match(out, /now enables it: restart/)
  assert.match(out, /External key service +name Warder, URL https:\/\/kms\.example\.com\/google_cse$/m)
  const toml = readFileSync(join(home, 'kms.toml'), 'utf8')
  assert.match(toml, /\[google_cse_config\]\ngoogle_cse_enable = true/)
  assert.match(toml, /google_cse_administrators = \[ ?"ann@example\.com" ?\]/)
  const twice = await run(...words)
  assert.equal(twice.code, 1)
  assert.match(twice.err, /already enables it: restart the service/)
  assert.equal(readFileSync(join(home, 'kms.toml'), 'utf8'), toml)
  await restart()
  assert.match(await runOk('google', 'test'), /^ok +https:.*\/google_cse\/status$/m)
  const shown = await runOk('google', 'show')
  assert.match(shown, /^google: enabled\n {2}key service URL +https:.*\/google_cse$/m)
  // The key of its tokens is not among those that users publish.
  const kms = warder.client('kms')
  const { keys } = (await kms.ask('/.well-known/jwks.json')).json as { keys: readonly { kid: string }[] }
  const certs = (await kms.ask('/google_cse/certs')).json as { keys: readonly { kid: string }[] }
  kms.close()
  assert.ok(!keys.some(({ kid }) => kid === certs.keys[0]?.kid))

  const next = JSON.parse(await runOk('google', 'new-key', '--json'))
  assert.ok(shown.includes(next.before) && next.wrapping_key !== next.before)
  writeFileSync(join(home, 'kms.toml'), toml.replace(next.before, next.wrapping_key))
  await restart()
  assert.match(await runOk('google', 'test'), /responds as google expects/)
  assert.ok((await runOk('google', 'show')).includes(next.wrapping_key))

  assert.match(await runOk('google', 'disable'), /every request is refused on every node/)
  assert.equal((await run('google', 'test')).code, 1)
  assert.match(await runOk(...words), /enabled with the current settings/)
  assert.match(await runOk('google', 'test'), /responds as google expects/)
})

test('Microsoft: a fresh installation is set up, tried, and cut off, with what has to be entered at Microsoft', async () => {
  const tenant = '2ec40e65-ba09-4853-bcde-bcb60029e596'
  const words = ['microsoft', 'enable', '--tenant', tenant, '--name', 'finance', '--email', 'Ann@Contoso.com']
  const out = await runOk(...words, '--role', 'Finance')
  assert.match(out, /now enables it: restart/)
  assert.match(out, /Application ID URI +https:\/\/kms\.example\.com \(/)
  assert.match(out, /Key service URL +https:\/\/kms\.example\.com\/ms_dke\/finance$/m)
  assert.match(out, /decrypts for microsoft:ann@contoso\.com, microsoft:role:Finance/)
  await restart()
  const tried = await runOk('microsoft', 'test')
  assert.match(tried, /^ok +https:.*\/ms_dke\/finance\nok +https:.*\/ms_dke\/warder-trial$/m)
  assert.match(await runOk('microsoft', 'show'), /^microsoft: enabled\n {2}https:.*\/ms_dke\/finance$/m)

  const next = JSON.parse(await runOk('microsoft', 'new-key', '--name', 'finance', '--json'))
  const listed = await runInProcess(warder, ['access', 'list', next.key, '--json'])
  assert.deepEqual(
    JSON.parse(listed.out).map(({ user_id }: { user_id: string }) => user_id),
    ['microsoft:ann@contoso.com', 'microsoft:role:Finance'],
  )
  const file = join(home, 'kms.toml')
  writeFileSync(file, readFileSync(file, 'utf8').replace(next.before, next.key))
  await restart()
  assert.match(await runOk('microsoft', 'test'), /responds as microsoft expects/)
  assert.equal((await run('microsoft', 'new-key', '--name', 'legal')).code, 1)

  assert.match(await runOk('microsoft', 'disable'), /stopped by/)
  assert.equal((await run('microsoft', 'test')).code, 1)
  assert.match(await runOk(...words), /enabled with the current settings/)
  assert.match(await runOk('google', 'show'), /^google: enabled/)
})

test('what is said wrongly is told, and nobody else may', async () => {
  for (const [words, says] of [
    [['aws'], /name the action/],
    [['aws', 'start'], /not 'start'/],
    [['aws', 'enable'], /--region/],
    [['aws', 'remove-credential'], /name the access key/],
    [['azure', 'enable'], /--certificates/],
    [['azure', 'test', 'more'], /unknown argument/],
    [['google', 'enable'], /--domain/],
    [['google', 'enable', '--domain', 'example.com'], /--idp/],
    [['microsoft', 'enable'], /--tenant/],
    [['microsoft', 'enable', '--tenant', 'x'], /--email/],
    [['microsoft', 'enable', '--tenant', 'x', '--role', 'r', '--name', 'a b'], /--name/],
    [['microsoft', 'new-key'], /--name/],
  ] as const) {
    const { code, err } = await run(...words)
    assert.equal(code, 2, words.join(' '))
    assert.match(err, says)
  }
  const wrong = join(home, 'wrong.json')
  for (const text of [
    '{',
    '{}',
    '{"subjectCommonName":"a","caCertificates":[]}',
    '{"subjectCommonName":"a","caCertificates":["x"]}',
  ]) {
    writeFileSync(wrong, text)
    const { code, err } = await run('azure', 'enable', '--certificates', wrong)
    assert.equal(code, 1, text)
    assert.match(err, /is not the output of/)
  }
  assert.equal((await run('aws', 'enable', '--region', 'nowhere')).code, 1)
  const token = await newUser(warder, 'eve')
  for (const words of [
    ['aws', 'show'],
    ['aws', 'disable'],
    ['aws', 'test'],
    ['azure', 'disable'],
    ['google', 'show'],
    ['google', 'test'],
    ['google', 'new-key'],
    ['microsoft', 'disable'],
    ['microsoft', 'new-key', '--name', 'finance'],
  ]) {
    const { code, err } = await runInProcess(warder, ['external', ...words], { token })
    assert.equal(code, 1)
    assert.match(err, /Access denied/)
  }
})
